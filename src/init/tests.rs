//! What is proposed for repositories laid out as public ones are, and how names of files are read.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use super::words::capture;
use super::*;

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/repositories")
}

/// `tests/bot/init.rs` shows that the bot finds every one of these places.
#[test]
fn repositories_of_the_three_engines_get_a_policy() {
    for name in ["flux", "argo-cd", "greenhouse"] {
        let proposal = propose(&samples().join(name), &|_| ()).unwrap();
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
fn proposed(files: &[(&str, &str)]) -> Proposal {
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
    use super::ladder::glob;
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
