//! Which signals are proposed, in repositories laid out as public ones are.
#![allow(clippy::unwrap_used)]

use super::Proposal;
use super::tests::proposed;

/// The signals of all plugins, each with what stands behind it.
fn signals(found: &Proposal) -> Vec<&str> {
    let kinds = ["- application:", "- helmSecret:", "- helmRelease:", "- ociRepository:"];
    let lines = found.policy.lines().map(str::trim);
    lines.filter(|line| kinds.iter().any(|kind| line.starts_with(kind))).collect()
}

fn shows(files: &[(&str, &str)], expected: &[&str]) {
    let found = proposed(files);
    assert_eq!(signals(&found), expected, "{}", found.policy);
}

#[test]
fn a_release_of_a_helmfile_is_where_the_helmfile_puts_it() {
    let file = |releases: &str| {
        format!("repositories: [{{name: stable, url: https://charts.example}}]\nreleases:\n{releases}")
    };
    let both = file(
        "- {name: jenkins, namespace: devops, chart: stable/jenkins, version: 1.18.0}\n\
         - {name: strimzi, namespace: kafka, chart: stable/strimzi-kafka-operator, version: 0.17.0}\n",
    );
    let known =
        ["- helmSecret: {namespace: devops, release: jenkins}", "- helmSecret: {namespace: kafka, release: strimzi}"];
    shows(&[("helmfile.yaml", &both)], &known);
    let forced = format!("namespace: ci\n{both}");
    let known = ["- helmSecret: {namespace: ci, release: jenkins}", "- helmSecret: {namespace: ci, release: strimzi}"];
    shows(&[("helmfile.yaml", &forced)], &known);
    let unsaid = file("- {name: jenkins, chart: stable/jenkins, version: 1.18.0}\n");
    let line = "- helmSecret: {namespace: default, release: jenkins}   # check: no file says its namespace";
    shows(&[("helmfile.yaml", &unsaid)], &[line]);
    let made = file("- {name: '{{ .Values.name }}', namespace: ci, chart: stable/jenkins, version: 1.18.0}\n");
    let line = "- helmSecret: {namespace: jenkins, release: jenkins}   # check: the files do not say this";
    shows(&[("helmfile.yaml", &made)], &[line]);
    let of = |tier: &str| {
        file(&format!("- {{name: jenkins-{tier}, namespace: ci, chart: stable/jenkins, version: 1.18.0}}\n"))
    };
    let line = "- helmSecret: {namespace: ci, release: \"jenkins-{tier}\"}";
    shows(&[("qa/helmfile.yaml", &of("qa")), ("prod/helmfile.yaml", &of("prod"))], &[line]);
}

#[test]
fn a_release_of_terraform_is_where_its_resource_puts_it() {
    let file = |name: &str, namespace: &str| {
        format!(
            "resource \"helm_release\" \"ingress\" {{\n  name       = {name}\n  repository = \"https://charts.example\"\n  \
             chart      = \"ingress-nginx\"\n  version    = \"4.10.1\"\n{namespace}}}\n"
        )
    };
    let said = file("\"edge\"", "  namespace  = \"edge-system\"\n");
    shows(&[("edge.tf", &said)], &["- helmSecret: {namespace: edge-system, release: edge}"]);
    let line = "- helmSecret: {namespace: default, release: edge}   # check: no file says its namespace";
    shows(&[("edge.tf", &file("\"edge\"", ""))], &[line]);
    let elsewhere = "  namespace  = kubernetes_namespace.edge.metadata[0].name\n";
    shows(&[("edge.tf", &file("\"edge\"", elsewhere))], &[line]);
    let line = "- helmSecret: {namespace: ingress-nginx, release: ingress-nginx}   # check: the files do not say this";
    for name in ["var.name", "\"${var.name}-edge\"", "local.name"] {
        shows(&[("edge.tf", &file(name, "  namespace  = \"edge-system\"\n"))], &[line]);
    }
}

#[test]
fn a_helm_chart_of_k3s_is_where_its_controller_puts_it() {
    let file = |about: &str, target: &str| {
        format!(
            "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {{name: sso{about}}}\n\
             spec: {{repo: https://charts.example, chart: authentik, version: 2026.5.3{target}}}\n"
        )
    };
    let line = "- helmSecret: {namespace: identity, release: sso}";
    shows(&[("sso.yaml", &file(", namespace: kube-system", ", targetNamespace: identity"))], &[line]);
    let line = "- helmSecret: {namespace: kube-system, release: sso}";
    shows(&[("sso.yaml", &file(", namespace: kube-system", ""))], &[line]);
    let line = "- helmSecret: {namespace: default, release: sso}   # check: no file says its namespace";
    shows(&[("sso.yaml", &file("", ""))], &[line]);
    let line = "- helmSecret: {namespace: kube-system, release: my-sso}";
    let outer = "namespace: kube-system\nnamePrefix: my-\nresources: [sso.yaml]\n";
    shows(&[("sso.yaml", &file("", "")), ("kustomization.yaml", outer)], &[line]);
}

const LOKI: &str = "helmCharts:\n- {name: loki, version: 7.0.0, repo: 'https://charts.example', releaseName: loki-main, \
                    namespace: logging}\n";

fn applies(name: &str, source: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\n\
         spec: {{{source}}}\n"
    )
}

#[test]
fn what_argo_cd_makes_of_a_folder_is_proved_by_its_application() {
    let git = |path: &str| format!("source: {{repoURL: https://github.com/o/r, targetRevision: main, path: {path}}}");
    let app = applies("loki-app", &git("./apps/loki/"));
    let line = "- application: {namespace: argocd, name: loki-app}";
    shows(&[("apps/loki/kustomization.yaml", LOKI), ("argo/loki.yaml", &app)], &[line]);
    // An overlay leads to it.
    let app = applies("loki-app", &git("apps/prod"));
    let overlay = "resources: [../loki]\n";
    let files = [("apps/loki/kustomization.yaml", LOKI), ("apps/prod/kustomization.yaml", overlay), ("a.yaml", &app)];
    shows(&files, &[line]);
    let chart = "name: cnpg\nversion: 0.1.0\ndependencies:\n- {name: cloudnative-pg, version: 0.26.0, repository: \
                 'https://charts.example'}\n";
    let app = applies("pg", &git("charts/cnpg"));
    let line = "- application: {namespace: argocd, name: pg}";
    shows(&[("charts/cnpg/Chart.yaml", chart), ("argo/pg.yaml", &app)], &[line]);
    let several = "sources: [{repoURL: https://charts.example, chart: x, targetRevision: '*'}, {repoURL: \
                   https://github.com/o/r, path: charts/cnpg}]";
    let line = "- application: {namespace: argocd, name: pg, source: 1}";
    shows(&[("charts/cnpg/Chart.yaml", chart), ("argo/pg.yaml", &applies("pg", several))], &[line]);
    let line = "- application: {namespace: argocd, name: loki}   # check: no Application here applies \
                apps/loki/kustomization.yaml";
    let other = applies("other", &git("apps/other"));
    shows(&[("apps/loki/kustomization.yaml", LOKI), ("argo/other.yaml", &other)], &[line]);
    let known = "- application: {namespace: argocd, name: loki-app}   # check: no Application here applies \
                 legacy/loki/kustomization.yaml";
    let app = applies("loki-app", &git("apps/loki"));
    shows(
        &[("apps/loki/kustomization.yaml", LOKI), ("legacy/loki/kustomization.yaml", LOKI), ("argo/loki.yaml", &app)],
        &[known],
    );
    let line = "- helmSecret: {namespace: loki, release: loki}   # check: Kustomize leaves no release of Helm; ask a \
                `workload` instead";
    shows(&[("apps/loki/kustomization.yaml", LOKI)], &[line]);
}

fn set(generators: &str, name: &str, spec: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: all, namespace: argocd}}\nspec:\n  \
         generators: {generators}\n  template: {{metadata: {{name: '{name}'}}, spec: {{{spec}}}}}\n"
    )
}

#[test]
fn what_an_application_set_makes_of_a_folder_says_so() {
    let all = set("[{clusters: {}}]", "loki-{{ .name }}", "source: {path: 'clusters/{{ .name }}/loki'}");
    let line = "- application: {namespace: argocd, name: \"loki-{cluster}\"}   # check: the ApplicationSet all makes it \
                from `clusters/{{ .name }}/loki`";
    let files = [("clusters/a1/loki/kustomization.yaml", LOKI), ("clusters/a2/loki/kustomization.yaml", LOKI)];
    shows(&[files[0], files[1], ("all.yaml", &all)], &[line]);
    // What generators find in the repository is known.
    let all = set("[{git: {directories: [{path: apps/*}]}}]", "{{path.basename}}-x", "source: {path: '{{path}}'}");
    let line = "- application: {namespace: argocd, name: loki-x}";
    shows(&[("apps/loki/kustomization.yaml", LOKI), ("all.yaml", &all)], &[line]);
    let all = set("[{git: {files: [{path: apps/*/config.json}]}}]", "{{ .id }}", "source: {path: '{{ .path.path }}'}");
    let line = "- application: {namespace: argocd, name: logs}";
    let config = "{\"id\": \"logs\"}\n";
    let other = "{\"id\": \"other\"}\n";
    let files = [("apps/loki/config.json", config), ("apps/other/config.json", other)];
    shows(&[files[0], files[1], ("apps/loki/kustomization.yaml", LOKI), ("all.yaml", &all)], &[line]);
}

const OF_CHART: &str =
    "source: {repoURL: 'registry.example/charts', chart: '{{ .chart }}', targetRevision: '{{ .version }}'}";

#[test]
fn applications_are_called_as_elements_of_a_list_say() {
    let generators = "[{matrix: {generators: [{clusters: {}}, {list: {elements: [{addon: kro, chart: kro, version: \
                      0.9.4}, {addon: ack-sqs, chart: sqs-chart, version: 1.7.1}]}}]}}]";
    let all = set(generators, "addon-{{ .addon }}-{{ .name }}", OF_CHART);
    let known = [
        "- application: {namespace: argocd, name: \"addon-kro-{cluster}\"}",
        "- application: {namespace: argocd, name: \"addon-ack-sqs-{cluster}\"}",
    ];
    shows(&[("all.yaml", &all)], &known);
    let literal = "source: {repoURL: registry.example/charts, chart: worker, targetRevision: 1.0.0}";
    let one = set("[{list: {elements: [{tenant: tenant-a, env: prod}]}}]", "{{tenant}}-{{env}}", literal);
    shows(&[("all.yaml", &one)], &["- application: {namespace: argocd, name: tenant-a-prod}"]);
    let two =
        set("[{list: {elements: [{app: orders, env: dev}, {app: orders, env: test}]}}]", "{{app}}-{{env}}", literal);
    let known = [
        "- application: {namespace: argocd, name: orders-dev}",
        "- application: {namespace: argocd, name: orders-test}",
    ];
    shows(&[("all.yaml", &two)], &known);
    // A name is a cluster's where the Application goes there.
    let (apps, clusters) = ("{name: orders}", "{name: a1, server: 'https://a1.example'}");
    let both = format!("{literal}, destination: {{server: '{{{{server}}}}'}}");
    let of = |element: &str| set(&format!("[{{list: {{elements: [{element}]}}}}]"), "{{name}}-x", &both);
    let line = "- application: {namespace: argocd, name: orders-x}";
    shows(&[("all.yaml", &of(apps))], &[line]);
    let line = "- application: {namespace: argocd, name: \"{cluster}-x\"}";
    shows(&[("all.yaml", &of(clusters))], &[line]);
}

#[test]
fn what_is_to_be_checked_stands_behind_the_name() {
    let literal = "source: {repoURL: registry.example/charts, chart: worker, targetRevision: 1.0.0}";
    let all = set("[{clusters: {}}]", "{{ .metadata.labels.short }}-worker", literal);
    let found = proposed(&[("all.yaml", &all)]);
    let lines: Vec<&str> = found.policy.lines().skip_while(|line| !line.contains("- application:")).take(2).collect();
    let line = "- application: {namespace: argocd, name: \"worker-{cluster}\"}   # check: the files do not say this; the \
                ApplicationSet all calls it `{{ .metadata.labels.short }}-worker`";
    assert_eq!(lines.iter().map(|line| line.trim()).collect::<Vec<_>>(), [line, "connection: argocd"]);
}

#[test]
fn clusters_that_a_set_selects_are_named() {
    let literal = "source: {repoURL: registry.example/charts, chart: worker, targetRevision: 1.0.0}";
    let all = set("[{clusters: {selector: {matchLabels: {clusterType: utility}}}}]", "worker-{{ .name }}", literal);
    let line = "- application: {namespace: argocd, name: \"worker-{cluster}\"}";
    let checked = format!("{line}   # check: only clusters with clusterType=utility have it");
    shows(&[("all.yaml", &all)], &[&checked]);
    let some =
        "clusters:\n  - {name: a1, labels: {clusterType: utility}}\n  - {name: a2, labels: {clusterType: app}}\n";
    shows(&[("all.yaml", &all), ("clusters.yaml", some)], &[&checked]);
    shows(&[("all.yaml", &all), ("clusters.yaml", &some.replace("app", "utility"))], &[line]);
    let generators = "[{clusters: {selector: {matchExpressions: [{key: gpu, operator: Exists}, {key: zone, operator: \
                      NotIn, values: [a, b]}]}}}]";
    let all = set(generators, "worker-{{ .name }}", literal);
    let checked = format!("{line}   # check: only clusters with gpu,zone notin (a,b) have it");
    shows(&[("all.yaml", &all)], &[&checked]);
}

/// The clusters of Greenhouse are in no file: what tells its tiers apart is what presets select by.
#[test]
fn presets_say_the_label_of_tiers_and_the_organization() {
    let catalog = |tier: &str| {
        format!(
            "apiVersion: greenhouse.sap/v1alpha1\nkind: Catalog\nmetadata: {{name: own-{tier}, namespace: shop}}\nspec: \
             {{sources: [{{repository: 'https://github.com/shop/extensions', ref: {{tag: perses/0.9.3}}, resources: \
             [perses/plugindefinition.yaml], overrides: [{{name: perses, alias: perses-{tier}}}]}}]}}\n"
        )
    };
    let preset = |tier: &str, selector: &str| {
        format!(
            "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginPreset\nmetadata: {{name: perses-{tier}, namespace: shop}}\n\
             spec: {{clusterSelector: {{{selector}}}, plugin: {{pluginDefinitionRef: {{name: perses-{tier}}}}}}}\n"
        )
    };
    let exact = "matchLabels: {metadata.greenhouse.sap/tier: qa}";
    let some = "matchExpressions: [{key: metadata.greenhouse.sap/tier, operator: In, values: [gold]}]";
    let found = proposed(&[
        ("qa/catalog.yaml", &catalog("qa")),
        ("qa/perses.yaml", &preset("qa", exact)),
        ("gold/catalog.yaml", &catalog("gold")),
        ("gold/perses.yaml", &preset("gold", some)),
    ]);
    for line in [
        "clusters: {from: greenhouse, connection: greenhouse, namespace: shop}",
        "    select: {matchLabels: {metadata.greenhouse.sap/tier: qa}}",
        "    select: {matchLabels: {metadata.greenhouse.sap/tier: gold}}",
        "      - pluginPreset: {namespace: shop, name: \"perses-{tier}\", catalog: \"own-{tier}\"}",
    ] {
        assert!(found.policy.contains(line), "{line}\n{}", found.policy);
    }
    // A definition of all organizations moves the clusters of all.
    let for_all = |tier: &str| preset(tier, exact).replace("Ref: {", "Ref: {kind: ClusterPluginDefinition, ");
    let (qa, gold) = (catalog("qa"), catalog("gold"));
    let found = proposed(&[
        ("qa/c.yaml", &qa),
        ("qa/p.yaml", &for_all("qa")),
        ("gold/c.yaml", &gold),
        ("gold/p.yaml", &for_all("gold")),
    ]);
    assert!(found.policy.contains("clusters: {from: greenhouse, connection: greenhouse}"), "{}", found.policy);
}
