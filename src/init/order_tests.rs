//! Which tier goes first, and what is left out or said beside a proposal.
#![allow(clippy::unwrap_used)]

use super::tests::proposed;
use super::words::{tier_in, with_tier};

fn application(name: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\n\
         spec: {{source: {{repoURL: registry.example/charts, chart: loki, targetRevision: 6.0.0}}}}\n"
    )
}

/// Two folders with a file each, or two files of one folder.
fn beside(first: &str, second: &str) -> super::Proposal {
    let (one, other) = (application(&format!("loki-{first}")), application(&format!("loki-{second}")));
    proposed(&[(&format!("apps/{first}/loki.yaml"), &one), (&format!("apps/{second}/loki.yaml"), &other)])
}

#[test]
fn nothing_comes_after_production_because_its_name_is_unknown() {
    for (before, production) in [("lower", "prod"), ("main", "production"), ("demo", "prd"), ("nonlive", "live")] {
        let found = beside(before, production);
        assert_eq!(found.tiers, [before, production]);
        let guess = format!("- name: {before}   # check: its place in the order is a guess");
        assert!(found.policy.contains(&guess), "{}", found.policy);
    }
    assert_eq!(beside("qa", "main").tiers, ["qa", "main"]);
}

#[test]
fn words_for_what_is_not_production_are_known() {
    for (before, production) in
        [("nonprod", "prod"), ("non-prod", "prod"), ("nonprd", "prd"), ("sbx", "prd"), ("acc", "prd"), ("perf", "prod")]
    {
        let found = beside(before, production);
        assert_eq!(found.tiers, [before, production]);
        assert!(found.policy.contains("file: \"apps/{tier}/loki.yaml\""), "{}", found.policy);
        assert!(!found.policy.contains("a guess"), "{}", found.policy);
        let (one, other) = (application(&format!("loki-{before}")), application(&format!("loki-{production}")));
        let found =
            proposed(&[(&format!("apps/loki-{before}.yaml"), &one), (&format!("apps/loki-{production}.yaml"), &other)]);
        assert_eq!(found.tiers, [before, production]);
        assert!(found.policy.contains("file: \"apps/loki-{tier}.yaml\""), "{}", found.policy);
    }
    let tiers = ["prod", "non-prod"].map(str::to_string).into();
    assert_eq!(tier_in("loki-non-prod.yaml", &tiers), Some("non-prod"));
    assert_eq!(tier_in("loki-prod", &tiers), Some("prod"));
    assert_eq!((with_tier("eu-pre-prod-1", "pre-prod"), with_tier("pre-prod", "pre-prod")).0, "eu-{tier}-1");
    assert_eq!(with_tier("production-prod", "prod"), "production-{tier}");
}

#[test]
fn production_with_nothing_before_it_is_said() {
    let found = proposed(&[("apps/prod/loki.yaml", &application("loki"))]);
    assert!(found.tiers.is_empty());
    let said = "Nothing goes before production: by their names, loki move it with each release.";
    assert!(found.notes.iter().any(|note| note.starts_with(said)), "{:?}", found.notes);
    let found = proposed(&[("apps/loki.yaml", &application("loki"))]);
    assert!(!found.notes.iter().any(|note| note.contains("production")), "{:?}", found.notes);
}

#[test]
fn what_says_no_version_is_left_out_by_name() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: certs, namespace: certs}\n\
                   spec: {chart: {spec: {chart: cert-manager, sourceRef: {kind: HelmRepository, name: jetstack}}}}\n";
    let kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n\
                         helmCharts: [{name: velero, repo: 'https://charts.example'}]\n";
    let helmfile = "releases:\n- {name: web, chart: stable/nginx-ingress}\n- {name: own, chart: ./charts/own}\n";
    let files = [("certs.yaml", release), ("velero/kustomization.yaml", kustomization), ("helmfile.yaml", helmfile)];
    let found = proposed(&files);
    let left: Vec<&str> = found.left_out.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(
        left,
        ["certs in certs.yaml", "stable/nginx-ingress in helmfile.yaml", "velero in velero/kustomization.yaml"]
    );
    assert!(found.left_out[0].1.contains("the newest release comes by itself"), "{:?}", found.left_out);
    // An overlay may say it.
    let patch = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: certs}\n\
                 spec: {chart: {spec: {version: 1.2.0}}}\n";
    let found = proposed(&[("base/certs.yaml", release), ("qa/certs.yaml", patch)]);
    assert!(!found.left_out.iter().any(|(what, _)| what == "certs in base/certs.yaml"), "{:?}", found.left_out);
}

#[test]
fn charts_of_others_and_of_definitions_are_no_places() {
    let chart = "name: forgejo\nversion: 15.0.3\ndependencies:\n- {name: common, version: 2.31.4, repository: 'oci://registry.example/charts'}\n";
    let pulled = proposed(&[("apps/forgejo/charts/forgejo-15.0.3/forgejo/Chart.yaml", chart)]);
    assert!(pulled.plugins.is_empty() && pulled.left_out.is_empty(), "{}", pulled.policy);
    let definition = "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginDefinition\nmetadata: {name: forgejo}\nspec: {version: 1.0.0}\n";
    let published = proposed(&[("forgejo/plugindefinition.yaml", definition), ("forgejo/charts/Chart.yaml", chart)]);
    assert!(published.plugins.is_empty(), "{}", published.policy);
    let why = published.left_out.iter().find(|(what, _)| what.starts_with("common"));
    assert!(why.is_some_and(|(_, why)| why.contains("published by a plugin definition")), "{:?}", published.left_out);
}

#[test]
fn a_reason_is_true_and_names_the_file_once() {
    let local = proposed(&[("helmfile.yaml", "releases:\n- {name: tw, chart: ./charts/tw, version: 1.0.0}\n")]);
    assert!(local.left_out[0].1.contains("lies in a folder (`./charts/tw`)"), "{:?}", local.left_out);
    let range = application("loki").replace("6.0.0", "6.x");
    let found = proposed(&[("apps/loki.yaml", &range)]);
    let (what, why) = &found.left_out[0];
    assert!(what.contains("apps/loki.yaml") && !why.contains("apps/loki.yaml"), "{:?}", found.left_out);
    let templates = "{{ range .Values.charts }}\napiVersion: argoproj.io/v1alpha1\nkind: Application\n{{ end }}\n";
    let found = proposed(&[
        ("deploy/Chart.yaml", "name: deploy\nversion: 0.1.0\n"),
        ("deploy/templates/applications.yaml", templates),
        ("deploy/values.yaml", "charts: {loki: {version: 7.3.0}}\n"),
    ]);
    assert!(
        found.notes.iter().any(|note| note.contains("The chart in deploy makes Applications")),
        "{:?}",
        found.notes
    );
    assert!(!found.notes.iter().any(|note| note.contains("repository of charts")), "{:?}", found.notes);
}

#[test]
fn a_range_is_mended_only_where_that_helps() {
    let range = |name: &str| application(name).replace("6.0.0", "6.x").replace("chart: loki", "chart: other");
    let found = proposed(&[
        ("apps/qa/loki.yaml", &application("loki")),
        ("apps/prod/other.yaml", &range("other")),
        ("apps/prod/x.yaml", "a: b\n"),
        ("infra/other.yaml", &range("other")),
    ]);
    assert!(found.plugins.is_empty(), "{}", found.policy);
    assert!(!found.notes.iter().any(|note| note.contains("infra/other.yaml")) || found.tiers.is_empty(), "{:?}", found);
}
