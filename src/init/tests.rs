//! What is proposed for repositories laid out as public ones are, and how names of files are read.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use super::words::capture;
use super::*;
use crate::policy::{self, Setting, SourceFile};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/repositories")
}

/// `tests/bot/init.rs` shows that the bot finds every one of these places.
#[test]
fn each_layout_gets_a_policy_or_is_told_why_not() {
    let names =
        ["applications", "argo-cd", "charts", "flux", "greenhouse", "main-staging", "odd", "overlays", "ranges"];
    for name in names {
        let proposal = propose(&samples().join(name), &|_| ()).unwrap();
        let files = [SourceFile { path: "coldframe.yaml".to_string(), text: proposal.policy.clone() }];
        let loaded = policy::load_in(&files, &Setting::default()).unwrap();
        assert_eq!(loaded.policy.plugins.len(), proposal.plugins.len(), "{name}");
        let clusters = proposal.clusters.map(|text| format!("# ---- clusters.yaml\n{text}")).unwrap_or_default();
        let text = format!("{}{clusters}", proposal.policy);
        let file = samples().join(format!("{name}.proposed.yaml"));
        if std::env::var_os("COLDFRAME_BLESS").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(&file).unwrap_or_default(), "{name}");
    }
}

/// A repository of these files.
pub(super) fn proposed(files: &[(&str, &str)]) -> Proposal {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    propose(folder.path(), &|_| ()).unwrap()
}

fn application(cluster: &str, version: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: loki-{cluster}, namespace: argocd}}\n\
         spec: {{source: {{repoURL: registry.example/charts, chart: loki, targetRevision: {version}}}}}\n"
    )
}

#[test]
fn folders_that_differ_between_tiers_are_clusters() {
    let (a, b, c) = (application("a1", "1.2.0"), application("b1", "1.2.0"), application("b2", "1.1.0"));
    let files = [
        ("clusters/qa/a1/loki.yaml", a.as_str()),
        ("clusters/gold/b1/loki.yaml", &b),
        ("clusters/gold/b2/loki.yaml", &c),
    ];
    let found = proposed(&files);
    assert_eq!(found.tiers, ["qa", "gold"]);
    assert!(found.policy.contains("file: \"clusters/{tier}/{cluster}/loki.yaml\""), "{}", found.policy);
    assert!(found.policy.contains("- application: {namespace: argocd, name: \"loki-{cluster}\"}"), "{}", found.policy);
    assert!(found.policy.contains("chart: {oci: oci://registry.example/charts/loki}"), "{}", found.policy);
    let clusters = found.clusters.unwrap();
    for line in ["{name: a1, labels: {tier: qa}}", "{name: b2, labels: {tier: gold}}"] {
        assert!(clusters.contains(line), "{clusters}");
    }
    let listed = "clusters:\n  - {name: a1, labels: {env: qa}}\n  - {name: b1, labels: {env: gold}}\n";
    let found = proposed(&[files[0], files[1], ("fleet.yaml", listed)]);
    assert!(found.policy.contains("clusters: {from: file, path: fleet.yaml}"), "{}", found.policy);
    assert!(found.policy.contains("select: {matchLabels: {env: gold}}") && found.clusters.is_none());
}

#[test]
fn what_cannot_be_promoted_is_left_out_with_the_reason() {
    let range = application("b1", "\">=1.0.0\"");
    let whole = application("a1", "1.2.0");
    let found = proposed(&[("qa/loki.yaml", &whole), ("gold/loki.yaml", &range), ("qa/only/loki.yaml", &whole)]);
    assert!(found.plugins.is_empty(), "{}", found.policy);
    let why: Vec<&str> = found.left_out.iter().map(|(_, why)| why.as_str()).collect();
    assert!(why.iter().any(|why| why.contains("is the range `>=1.0.0`")), "{why:?}");
    assert!(why.iter().any(|why| why.contains("it is not on gold")), "{why:?}");
    let other = whole.replace("registry.example", "mirror.example");
    let found = proposed(&[("qa/loki.yaml", &whole), ("gold/loki.yaml", &other)]);
    assert!(found.left_out[0].1.contains("charts of this name come from"), "{:?}", found.left_out);
}

#[test]
fn a_name_that_cannot_be_said_is_to_be_checked() {
    let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: loki, namespace: argocd}\nspec:\n  \
               generators: [{list: {elements: [{env: qa, id: a, v: 1.2.0}, {env: gold, id: b, v: 1.2.0}]}}]\n  template:\n    \
               metadata: {name: '{{id}}-loki'}\n    spec: {source: {repoURL: registry.example/charts, chart: loki, \
               targetRevision: '{{v}}'}}\n";
    let found = proposed(&[("loki.yaml", set)]);
    let line = "- application: {namespace: argocd, name: \"loki-{cluster}\"}";
    assert!(found.policy.lines().any(|one| one.trim().starts_with(line)), "{}", found.policy);
    assert!(found.policy.contains("# check: the files do not say this"), "{}", found.policy);
    let known = proposed(&[("loki.yaml", &set.replace("{{id}}-loki", "{{env}}-loki"))]);
    assert!(known.policy.contains("name: \"{tier}-loki\"") && !known.policy.contains("# check"), "{}", known.policy);
}

#[test]
fn nothing_is_proposed_for_nothing() {
    let found = proposed(&[("README.yaml", "hello: world\n")]);
    assert!(found.plugins.is_empty() && found.tiers.is_empty() && found.policy.ends_with("plugins: []\n"));
}

#[test]
fn a_name_is_read_by_its_parts() {
    let tiers = ["qa", "prod"].map(str::to_string).into();
    let clusters = ["eu-prod-1".to_string()].into();
    for (file, pattern, tier, cluster) in [
        ("clusters/qa/loki.yaml", "clusters/{tier}/loki.yaml", Some("qa"), None),
        ("apps/values-prod.yaml", "apps/values-{tier}.yaml", Some("prod"), None),
        ("prod/values-prod.yaml", "{tier}/values-{tier}.yaml", Some("prod"), None),
        ("eu-prod-1/loki.yaml", "{cluster}/loki.yaml", None, Some("eu-prod-1")),
        ("prod/eu-prod-1/loki.yaml", "{tier}/{cluster}/loki.yaml", Some("prod"), Some("eu-prod-1")),
        ("qa/prod/loki.yaml", "qa/prod/loki.yaml", None, None),
        ("qa/test-prod/loki.yaml", "{tier}/test-prod/loki.yaml", Some("qa"), None),
        ("production/loki", "production/loki", None, None),
        ("versions/prod", "versions/{tier}", Some("prod"), None),
        ("a.b/qa", "a.b/{tier}", Some("qa"), None),
    ] {
        let found = capture(file, &tiers, &clusters);
        assert_eq!((found.pattern.as_str(), found.tier.as_deref(), found.cluster.as_deref()), (pattern, tier, cluster));
    }
}

#[test]
fn a_glob_of_a_generator_means_what_it_says() {
    use super::walk::glob;
    for (pattern, file, is_it) in [
        ("envs/*/config.yaml", "envs/qa/config.yaml", true),
        ("envs/*/config.yaml", "envs/a/b/config.yaml", false),
        ("envs/**/config.yaml", "envs/a/b/config.yaml", true),
        ("envs/**/config.yaml", "envs/config.yaml", true),
        ("envs/q*/*.yaml", "envs/qa/config.yaml", true),
        ("envs/q*/*.yaml", "envs/prod/config.yaml", false),
        ("*", "envs", true),
    ] {
        assert_eq!(glob(pattern, file), is_it, "{pattern} {file}");
    }
}

/// A HelmRelease of a chart, whose repository is beside it.
pub(super) fn release(name: &str, namespace: &str, version: &str) -> String {
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: charts}}\n\
         spec: {{url: https://charts.example}}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n\
         metadata: {{name: {name}{namespace}}}\n\
         spec: {{chart: {{spec: {{chart: redis, version: \"{version}\", sourceRef: {{name: charts}}}}}}}}\n"
    )
}

pub(super) fn kustomization(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n"
    )
}

#[test]
fn one_odd_plugin_does_not_cost_the_others() {
    let found = propose(&samples().join("odd"), &|_| ()).unwrap();
    let names: Vec<&str> = found.plugins.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["loki", "mysql-metrics", "redis"]);
    for (plugin, why) in [
        ("plain", "plain HTTP is for loopback only"),
        ("shop", "`${APP}` stands in its name"),
        ("sibling", "lies in this repository (file://../sibling)"),
        ("templated", "holds `{{`"),
    ] {
        let said = found.left_out.iter().find(|(what, _)| what.starts_with(&format!("{plugin} in ")));
        assert!(said.is_some_and(|(_, said)| said.contains(why)), "{plugin}: {said:?}");
    }
}

#[test]
fn a_release_is_where_flux_puts_it() {
    let outer = "namespace: outer\nresources: [inner]\n";
    let inner = "namespace: inner\nresources: [redis.yaml]\n";
    let plain = release("redis", "", "1.2.0");
    let files =
        [("a/kustomization.yaml", outer), ("a/inner/kustomization.yaml", inner), ("a/inner/redis.yaml", &plain)];
    let said = |files: &[(&str, &str)], namespace: &str| {
        let found = proposed(files).policy;
        assert!(found.contains(&format!("helmRelease: {{namespace: {namespace}, name: redis}}\n")), "{found}");
    };
    said(&files, "outer");
    let forced = kustomization("a", "path: ./a, targetNamespace: forced");
    said(&[files[0], files[1], files[2], ("ks.yaml", &forced)], "forced");
    let unforced = kustomization("a", "path: ./a");
    said(&[files[0], files[1], files[2], ("ks.yaml", &unforced)], "outer");
    let own = release("redis", ", namespace: own", "1.2.0");
    said(&[("a/redis.yaml", &own)], "own");
    said(&[("a/redis.yaml", &own), ("ks.yaml", &forced)], "forced");
    let other = release("redis", ", namespace: other", "1.2.0");
    said(&[files[0], files[1], files[2], ("b/redis.yaml", &other), ("ks.yaml", &forced)], "other");
    let filled = release("\"${NAME}\"", "", "1.2.0");
    let fills = kustomization("a", "path: a, targetNamespace: forced, postBuild: {substitute: {NAME: redis}}");
    said(&[("a/redis.yaml", &filled), ("ks.yaml", &fills)], "forced");
    let unsaid = proposed(&[("a/redis.yaml", &plain)]).policy;
    assert!(unsaid.contains("name: redis}   # check: the files do not say this"), "{unsaid}");
}

#[test]
fn a_release_is_asked_for_by_the_name_that_kustomizations_give_it() {
    let plain = release("redis", ", namespace: db", "1.2.0");
    let inner = "namePrefix: a-\nnameSuffix: -z\nresources: [redis.yaml]\n";
    let outer = "namePrefix: big-\nresources: [inner]\n";
    let files =
        [("a/kustomization.yaml", outer), ("a/inner/kustomization.yaml", inner), ("a/inner/redis.yaml", &plain)];
    let said = |files: &[(&str, &str)], name: &str| {
        let found = proposed(files).policy;
        assert!(found.contains(&format!("helmRelease: {{namespace: db, name: {name}}}\n")), "{found}");
    };
    said(&files[1..], "a-redis-z");
    said(&files, "big-a-redis-z");
    let flux = kustomization("a", "path: ./a, namePrefix: our-, nameSuffix: '-1'");
    said(&[files[0], files[1], files[2], ("ks.yaml", &flux)], "our-big-a-redis-z-1");
    // Each tier its own: the name says which.
    let of = |tier: &str| format!("namePrefix: {tier}-\nresources: [redis.yaml]\n");
    let (qa, gold) = (of("qa"), of("gold"));
    let tiers = [
        ("qa/kustomization.yaml", qa.as_str()),
        ("qa/redis.yaml", &plain),
        ("gold/kustomization.yaml", &gold),
        ("gold/redis.yaml", &plain),
    ];
    said(&tiers, "\"{tier}-redis\"");
    // Two names of one release in one place: nobody knows which is asked for.
    let twice = [
        ("base/redis.yaml", plain.as_str()),
        ("one/kustomization.yaml", "namePrefix: one-\nresources: [../base/redis.yaml]\n"),
        ("two/kustomization.yaml", "namePrefix: two-\nresources: [../base/redis.yaml]\n"),
    ];
    let found = proposed(&twice).policy;
    assert!(found.contains("name: redis}   # check: the files do not say this"), "{found}");
}

#[test]
fn a_variable_of_flux_is_written_where_each_cluster_has_it() {
    let chart = release("redis", ", namespace: db", "${redis_version:=1.0.0}");
    let at = |file: &str, more: &str, version: &str| {
        (
            format!("clusters/{file}/apps.yaml"),
            kustomization("apps", &format!("path: ./apps, postBuild: {{{more}}}")),
            version.to_string(),
        )
    };
    let own =
        [at("qa", "substitute: {redis_version: 1.3.0}", ""), at("gold", "substitute: {redis_version: 1.2.0}", "")];
    let files = [("apps/redis.yaml", chart.as_str()), (&own[0].0, &own[0].1), (&own[1].0, &own[1].1)];
    let found = proposed(&files);
    assert!(
        found.policy.contains(
            "file: \"clusters/{tier}/apps.yaml\"\n        path: \"$.spec.postBuild.substitute.redis_version\""
        ),
        "{}",
        found.policy
    );
    assert_eq!(
        found.plugins[0].places[0].versions,
        [("qa".into(), vec!["1.3.0".into()]), ("gold".into(), vec!["1.2.0".into()])]
    );
    let from = "substituteFrom: [{kind: ConfigMap, name: settings}]";
    let from = [at("qa", from, "1.3.0"), at("gold", from, "1.2.0")];
    let map = |version: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata: {{redis_version: {version}}}\n")
    };
    let (qa, gold) = (map("1.3.0"), map("1.2.0"));
    let files = [
        ("apps/redis.yaml", chart.as_str()),
        (&from[0].0, &from[0].1),
        (&from[1].0, &from[1].1),
        ("clusters/qa/settings.yaml", &qa),
        ("clusters/gold/settings.yaml", &gold),
    ];
    let found = proposed(&files);
    assert!(
        found.policy.contains("file: \"clusters/{tier}/settings.yaml\"\n        path: \"$.data.redis_version\""),
        "{}",
        found.policy
    );
    // What only some clusters have cannot be promoted, and is not taken from the default.
    let found = proposed(&files[..4]);
    assert!(found.plugins.is_empty(), "{}", found.policy);
    let found = proposed(&files[..1]);
    assert!(found.left_out[0].1.contains("no Kustomization here gives it one"), "{:?}", found.left_out);
}

#[test]
fn a_tag_that_an_overlay_patches_in_is_found_there() {
    let base = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: web}\n\
                spec: {url: oci://registry.example/charts/podinfo}\n";
    let patch = |version: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {{name: web}}\nspec: {{ref: {{tag: {version}}}}}\n"
        )
    };
    let (qa, gold) = (patch("6.7.1"), patch("6.7.0"));
    let files = [("base/web.yaml", base), ("qa/web.yaml", &qa), ("gold/web.yaml", &gold)];
    let found = proposed(&files);
    assert!(
        found.policy.contains("name: web\n    chart: {oci: oci://registry.example/charts/podinfo}"),
        "{}",
        found.policy
    );
    assert!(found.policy.contains("file: \"{tier}/web.yaml\"") && found.left_out.is_empty(), "{}", found.policy);
    let ranged = base.replace("podinfo}", "podinfo, ref: {semver: \">=6\"}}");
    let found = proposed(&[("base/web.yaml", ranged.as_str()), files[1], files[2]]);
    assert!(found.left_out.iter().any(|(_, why)| why.contains("wins over every tag")), "{:?}", found.left_out);
    let found = proposed(&files[..1]);
    assert!(found.left_out[0].1.contains("no patch in a file of its own brings one"), "{:?}", found.left_out);
}

#[test]
fn several_things_of_one_chart_are_several_plugins() {
    let found = propose(&samples().join("applications"), &|_| ()).unwrap();
    let names: Vec<&str> = found.plugins.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["blog", "shop", "wiki", "redis-blog", "redis-shop"]);
    assert!(found.plugins.iter().all(|one| one.places.len() == 1 && one.places[0].count == 1));
    assert!(
        found.notes.iter().any(|note| note.contains("app-template is installed as blog, shop, wiki")),
        "{:?}",
        found.notes
    );
    // One name in two namespaces is two things, in two folders of tiers it is one.
    let (a, b) = (release("redis", ", namespace: a", "1.2.0"), release("redis", ", namespace: b", "1.2.0"));
    let found = proposed(&[("one/redis.yaml", &a), ("two/redis.yaml", &b)]);
    let names: Vec<&str> = found.plugins.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["redis-a", "redis-b"]);
    let oci = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: template}\n\
               spec: {url: oci://registry.example/template, ref: {tag: 1.2.0}}\n";
    let into = |name: &str| kustomization(name, &format!("path: ./apps/{name}, targetNamespace: {name}"));
    let (blog, shop) = (into("blog"), into("shop"));
    let files = [("apps/blog/o.yaml", oci), ("apps/shop/o.yaml", oci), ("blog.yaml", &blog), ("shop.yaml", &shop)];
    let found = proposed(&files);
    let names: Vec<&str> = found.plugins.iter().map(|one| one.name.as_str()).collect();
    assert_eq!((names, found.tiers.len()), (vec!["template-blog", "template-shop"], 0));
    let found = proposed(&[("qa/redis.yaml", &a), ("gold/redis.yaml", &a)]);
    assert_eq!(found.plugins.len(), 1, "{}", found.policy);
}

#[test]
fn folders_with_the_same_are_tiers_and_a_folder_alone_is_none() {
    let one = release("redis", ", namespace: db", "1.2.0");
    let tiers = |files: &[&str]| {
        let files: Vec<(&str, &str)> = files.iter().map(|file| (*file, one.as_str())).collect();
        let found = proposed(&files);
        let placed = found.policy.contains("{tier}");
        assert_eq!(placed, found.tiers.len() > 1, "{}", found.policy);
        found.tiers
    };
    assert_eq!(tiers(&["main/redis.yaml", "staging/redis.yaml"]), ["staging", "main"]);
    assert_eq!(tiers(&["home/redis.yaml", "cloud/redis.yaml"]), ["cloud", "home"]);
    assert_eq!(tiers(&["base/redis.yaml", "cloud/redis.yaml"]), [""; 0]);
    assert_eq!(tiers(&["apps/test/redis.yaml"]), [""; 0]);
    assert_eq!(tiers(&["_archive/qa/redis.yaml", "_archive/gold/redis.yaml", "now/redis.yaml"]), [""; 0]);
    assert_eq!(tiers(&["qa/redis.yaml", "gold/redis.yaml", "tools/dev/redis.yaml"]), ["qa", "gold"]);
}

#[test]
fn what_a_person_has_to_know_is_said() {
    let one = release("redis", ", namespace: db", "1.2.0");
    let note = |files: &[(&str, &str)], said: &str| {
        let found = proposed(files);
        assert!(found.notes.iter().any(|note| note.contains(said)), "{said}: {:?}", found.notes);
        found
    };
    let found = note(&[("redis.yaml", &one)], "No file shows a cluster");
    assert!(found.clusters.unwrap().ends_with("clusters:\n  - {name: default}\n"));
    note(&[("redis.yaml", &one), ("fleet.yaml", "clusters: []\n")], "fleet.yaml lists no cluster");
    let ranged = one.replace("1.2.0", ">=1.0.0");
    note(&[("redis.yaml", &ranged)], "Write the version that runs now in its place, in redis.yaml");
    let chart =
        "name: a\nversion: 1.0.0\ndependencies: [{name: c, version: 1.0.0, repository: 'https://charts.example'}]\n";
    let files = [("a/Chart.yaml", chart), ("a/templates/x.yaml", "kind: {{ .Values.kind }}\n")];
    assert!(note(&files, "This is a repository of charts").plugins.is_empty());
    assert_eq!(proposed(&files[..1]).plugins.len(), 1, "a chart of charts without templates says what runs");
    let reader = kustomization("apps", "path: ./apps");
    let files =
        [("apps/redis.yaml", one.as_str()), ("clusters/a/apps.yaml", &reader), ("clusters/b/apps.yaml", &reader)];
    let found = note(&files, "No file says in which order a, b get a release");
    assert!(found.clusters.unwrap().contains("  - {name: a}\n  - {name: b}\n"));
}

/// The tag of a catalog is that of a definition, and its number need not be the chart's.
#[test]
fn a_catalog_is_followed_by_the_versions_of_its_definitions() {
    let found = propose(&samples().join("greenhouse"), &|_| ()).unwrap();
    assert_eq!(found.plugins.len(), 2, "{}", found.policy);
    let catalog = "chart: {catalog: https://github.com/shop/extensions, path: perses/plugindefinition.yaml}";
    let preset = "- pluginPreset: {namespace: shop, name: \"perses-{tier}\"}";
    assert!(found.policy.contains(catalog) && found.policy.contains(preset), "{}", found.policy);
    // A definition itself is what a catalog has, and runs nowhere.
    let definition = "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginDefinition\nmetadata: {name: perses}\n\
                      spec: {version: 0.8.11, helmChart: {name: perses, repository: 'oci://registry.example/charts', version: 0.14.11}}\n";
    let found = proposed(&[("perses/plugindefinition.yaml", definition)]);
    assert!(
        found.plugins.is_empty() && found.left_out[0].1.contains("what a definition brings"),
        "{:?}",
        found.left_out
    );
    // A preset alone does not say which catalog it takes a definition from.
    let preset = |tier: &str| {
        format!(
            "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginPreset\nmetadata: {{name: perses-{tier}}}\n\
             spec: {{clusterSelector: {{matchLabels: {{tier: {tier}}}}}, plugin: {{pluginDefinition: perses, \
             pluginDefinitionVersion: 0.8.11}}}}\n"
        )
    };
    let found = proposed(&[("qa/perses.yaml", &preset("qa")), ("gold/perses.yaml", &preset("gold"))]);
    assert!(found.left_out[0].1.contains("no file says which catalog that is in"), "{:?}", found.left_out);
}

/// What stands between the markers of a template is found as the editor finds it, and what a chart makes is not.
#[test]
fn a_helmfile_with_markers_is_read() {
    let file = |version: &str| {
        format!(
            "repositories:\n- {{name: charts, url: 'https://charts.example'}}\nreleases:\n- name: cache\n  \
             namespace: {{{{ .Values.namespace }}}}\n  chart: charts/redis\n  version: {version}\n"
        )
    };
    let (qa, gold) = (file("1.3.0"), file("1.2.0"));
    let found = proposed(&[("qa/helmfile.yaml", &qa), ("gold/helmfile.yaml", &gold)]);
    assert_eq!(found.plugins[0].places[0].file, "{tier}/helmfile.yaml", "{}", found.policy);
    assert!(proposed(&[("x/templates/qa.yaml", &qa), ("x/templates/gold.yaml", &gold)]).plugins.is_empty());
}
