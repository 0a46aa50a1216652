//! What is proposed where Kustomizations rename, patch and share: several tiers of one cluster, patches with a target,
//! HelmReleases for another cluster.
#![allow(clippy::unwrap_used)]

use super::Proposal;
use super::tests::{kustomization, proposed, release};

/// Where a base without a version lies.
const BASE: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts}\n\
                    spec: {url: https://charts.example}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n\
                    metadata: {name: redis}\n\
                    spec: {chart: {spec: {chart: redis, sourceRef: {name: charts}}}}\n";

fn patch(name: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}}}\n\
         spec: {{chart: {{spec: {{version: 1.2.0}}}}}}\n"
    )
}

/// An overlay of a tier: its namespace, what else it says, and the target of its patch.
fn overlay(tier: &str, more: &str, target: &str) -> String {
    format!("namespace: {tier}\nresources: [../base]\n{more}patches: [{{path: values.yaml{target}}}]\n")
}

const BY_NAME: &str = ", target: {kind: HelmRelease, name: redis}";

/// Overlays for staging and production above a base, both on cluster `one`.
fn overlays(staging: &str, production: &str, staging_patch: &str, production_patch: &str) -> Proposal {
    let reader = |tier: &str| kustomization(tier, &format!("path: ./apps/{tier}"));
    let readers = format!("{}---\n{}", reader("production"), reader("staging"));
    let (of_staging, of_production) = (patch(staging_patch), patch(production_patch));
    proposed(&[
        ("clusters/one/apps.yaml", readers.as_str()),
        ("apps/base/kustomization.yaml", "resources: [release.yaml]\n"),
        ("apps/base/release.yaml", BASE),
        ("apps/staging/kustomization.yaml", staging),
        ("apps/staging/values.yaml", &of_staging),
        ("apps/production/kustomization.yaml", production),
        ("apps/production/values.yaml", &of_production),
    ])
}

#[test]
fn a_cluster_of_several_tiers_has_an_entry_for_each() {
    let found = overlays(&overlay("staging", "", BY_NAME), &overlay("production", "", BY_NAME), "redis", "redis");
    assert_eq!(found.tiers, ["staging", "production"]);
    let clusters = found.clusters.unwrap_or_default();
    for tier in ["staging", "production"] {
        let line =
            format!("  - {{name: one-{tier}, labels: {{tier: {tier}}}, credential: one}}   # check: cluster one");
        assert!(clusters.contains(&line), "{clusters}");
    }
    assert!(
        found.notes.iter().any(|note| note.starts_with("Cluster one runs staging and production.")),
        "{:?}",
        found.notes
    );
    assert!(found.policy.contains("- helmRelease: {namespace: \"{tier}\", name: redis}\n"), "{}", found.policy);
    // Its files are called as it is, and not as its entries are.
    let one = release("redis", ", namespace: db", "1.2.0");
    let files = ["clusters/one/staging/redis.yaml", "clusters/one/production/redis.yaml"];
    let reader = kustomization("apps", "path: ./clusters/one");
    let found = proposed(&[(files[0], &one), (files[1], &one), ("clusters/one/apps.yaml", &reader)]);
    assert!(found.policy.contains("file: \"clusters/one/{tier}/redis.yaml\""), "{}", found.policy);
    assert!(found.clusters.unwrap_or_default().contains("name: one-staging, labels: {tier: staging}, credential: one"));
}

#[test]
fn a_tier_that_runs_nowhere_is_said() {
    let one = release("redis", ", namespace: db", "1.2.0");
    let reader = kustomization("apps", "path: ./apps/staging");
    let files =
        [("apps/staging/r.yaml", one.as_str()), ("apps/production/r.yaml", &one), ("clusters/a/apps.yaml", &reader)];
    let found = proposed(&files);
    assert!(found.notes.iter().any(|note| note.contains("No file shows a cluster of production")), "{:?}", found.notes);
}

#[test]
fn names_that_differ_between_tiers_are_one_signal_to_check() {
    let staging = overlay("staging", "namePrefix: staging-\n", BY_NAME);
    let found = overlays(&staging, &overlay("production", "", BY_NAME), "redis", "redis");
    assert_eq!(found.policy.matches("- helmRelease:").count(), 1, "{}", found.policy);
    let told = "   # check: one signal is for all, and the files make staging/staging-redis on staging, \
                production/redis on production\n";
    assert!(found.policy.contains(told), "{}", found.policy);
    // What all of them agree in holds for all.
    let production = overlay("production", "namePrefix: production-\n", BY_NAME);
    let found = overlays(&staging, &production, "redis", "redis");
    assert!(
        found.policy.contains("- helmRelease: {namespace: \"{tier}\", name: \"{tier}-redis\"}\n"),
        "{}",
        found.policy
    );
    // Clusters, too: most of them say what is kept.
    let plain = release("redis", ", namespace: db", "1.2.0");
    let own = |cluster: &str, file: &str| (format!("clusters/{cluster}/{file}"), plain.clone());
    let mut files: Vec<(String, String)> = ["a", "b", "c"].iter().map(|cluster| own(cluster, "redis.yaml")).collect();
    files.push(("clusters/a/kustomization.yaml".into(), "namePrefix: big-\nresources: [redis.yaml]\n".into()));
    let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
    let found = proposed(&files);
    let told = "- helmRelease: {namespace: db, name: redis}   # check: one signal is for all, and the files make db/big-redis on a";
    assert!(found.policy.contains(told), "{}", found.policy);
}

#[test]
fn a_patch_goes_to_its_target_whatever_it_is_called() {
    let production = overlay("production", "", BY_NAME);
    for target in [BY_NAME, ", target: {kind: HelmRelease}", ", target: {kind: HelmRelease, name: 're.*|x'}"] {
        let found = overlays(&overlay("staging", "", target), &production, "any-name", "redis");
        assert!(found.left_out.is_empty(), "{target}: {:?}", found.left_out);
        let write = "  - name: redis\n    chart: {repository: https://charts.example, name: redis}\n    write:\n      \
                     - file: \"apps/{tier}/values.yaml\"\n        path: \"$.spec.chart.spec.version\"\n";
        assert!(found.policy.contains(write), "{target}: {}", found.policy);
        assert!(found.policy.contains("- helmRelease: {namespace: \"{tier}\", name: redis}\n"), "{}", found.policy);
    }
    // The whole name has to fit.
    let found = overlays(&overlay("staging", "", ", target: {name: 're'}"), &production, "any-name", "redis");
    assert!(found.plugins.is_empty(), "{}", found.policy);
}

#[test]
fn a_patch_may_rename() {
    let renamed = |target: &str| format!("{target}, options: {{allowNameChange: true}}");
    let staging = overlay("staging", "namePrefix: a-\n", &renamed(BY_NAME));
    let production = overlay("production", "namePrefix: a-\n", &renamed(", target: {kind: HelmRelease}"));
    let found = overlays(&staging, &production, "cache", "cache");
    assert!(found.policy.contains("- helmRelease: {namespace: \"{tier}\", name: a-cache}\n"), "{}", found.policy);
    assert!(found.policy.contains("  - name: redis\n"), "{}", found.policy);
}

#[test]
fn a_patch_of_several_releases_is_left_out() {
    let two = format!("{BASE}---\n{}", BASE.replace("name: redis}", "name: valkey}"));
    let of = |target: &str| {
        proposed(&[
            ("base/kustomization.yaml", "resources: [release.yaml]\n"),
            ("base/release.yaml", two.as_str()),
            ("qa/kustomization.yaml", &overlay("qa", "", target)),
            ("qa/values.yaml", &patch("redis")),
        ])
    };
    let found = of(", target: {kind: HelmRelease}");
    let why = "this patch goes to several HelmReleases (redis, valkey)";
    assert!(found.left_out.iter().any(|(_, said)| said.contains(why)), "{:?}", found.left_out);
    // Which of them have a label is not known: the patch's own name says it.
    let found = of(", target: {kind: HelmRelease, labelSelector: app=redis}");
    assert_eq!(found.plugins.len(), 1, "{}", found.policy);
}

#[test]
fn a_release_for_another_cluster_is_asked_for_at_the_hub() {
    let plain = release("redis", ", namespace: db", "1.2.0");
    let remote = plain.replace("spec: {chart: {spec", "spec: {kubeConfig: {secretRef: {name: spoke}}, chart: {spec");
    let asked = "- helmRelease: {namespace: db, name: redis}\n        connection: hub   # check: by `spec.kubeConfig` the HelmRelease is on the hub";
    let at_hub = |files: &[(&str, &str)], is_it: bool| {
        let found = proposed(files).policy;
        assert_eq!(found.contains(asked), is_it, "{found}");
        assert_eq!(found.contains("connection:"), is_it, "{found}");
    };
    at_hub(&[("apps/redis.yaml", &remote)], true);
    at_hub(&[("apps/redis.yaml", &plain)], false);
    let operations = "patch: '[{op: add, path: /spec/kubeConfig, value: {secretRef: {name: spoke}}}]'";
    let merged = "patch: '{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: redis}, spec: {kubeConfig: {secretRef: {name: spoke}}}}'";
    for (patch, is_it) in [
        (format!("{{target: {{kind: HelmRelease}}, {operations}}}"), true),
        (format!("{{target: {{kind: Deployment}}, {operations}}}"), false),
        (format!("{{{merged}}}"), true),
    ] {
        let reader = kustomization("apps", &format!("path: ./apps, patches: [{patch}]"));
        at_hub(&[("apps/redis.yaml", &plain), ("ks.yaml", &reader)], is_it);
        let folder = format!("resources: [redis.yaml]\npatches: [{patch}]\n");
        at_hub(&[("apps/redis.yaml", &plain), ("apps/kustomization.yaml", &folder)], is_it);
    }
    // A Kustomization that applies to another cluster puts the HelmRelease there.
    let reader = kustomization("apps", "path: ./apps, kubeConfig: {secretRef: {name: spoke}}");
    at_hub(&[("apps/redis.yaml", &plain), ("ks.yaml", &reader)], false);
}

#[test]
fn what_a_resource_set_makes_is_left_out_by_name() {
    let set = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: apps}\nspec:\n  resources:\n  \
               - {apiVersion: source.toolkit.fluxcd.io/v1, kind: OCIRepository, metadata: {name: web}, spec: {url: 'oci://registry.example/web', ref: {tag: 1.2.0}}}\n  \
               - {apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: web}}\n  \
               - {apiVersion: v1, kind: Namespace, metadata: {name: web}}\n";
    let found = proposed(&[("apps.yaml", set)]);
    let what: Vec<&str> = found.left_out.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(what, ["HelmRelease web in apps.yaml", "OCIRepository web in apps.yaml"]);
    assert!(found.left_out[0].1.contains("it stands in the ResourceSet apps"), "{:?}", found.left_out);
}
