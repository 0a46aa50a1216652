//! Where the clusters are listed, and what follows from what they are called.

use super::*;

/// A plugin that writes this file and asks these signals.
fn with(clusters: &str, write: &str, signals: &str) -> String {
    format!(
        "clusters: {clusters}\nplugins:\n  - name: loki\n    chart: {{oci: oci://registry.example/loki}}\n    \
         write: [{{file: \"{write}\", path: $.version}}]\n    signals: [{signals}]\n"
    )
}

const PLUGIN_OF_ALL: &str = "{plugin: {namespace: acme, name: \"loki-{cluster}\"}, connection: hub}";
const PLUGIN_OF_EACH: &str = "{plugin: {namespace: \"{organization}\", name: \"loki-{cluster}\"}, connection: hub}";
const RELEASE: &str = "{helmRelease: {namespace: loki, name: loki}}";

#[test]
fn a_listing_is_resolved_and_written_out() {
    for (text, expected) in [
        ("{from: argocd, connection: hub}", "from: argocd\n  connection: hub\n  namespace: argocd\n"),
        ("{from: greenhouse, connection: hub}", "from: greenhouse\n  connection: hub\n"),
        (
            "{connection: hub, from: cluster-api, namespace: fleet, select: {matchLabels: {a: b}}}",
            "from: cluster-api\n  connection: hub\n  namespace: fleet\n  select:\n    matchLabels:\n      a: b\n",
        ),
    ] {
        let text = format!("clusters: {text}\n");
        let (told, good) = super::super::check_resolved(&[file("coldframe.yaml", &text)], &Setting::default());
        assert!(good && told.contains(&format!("clusters:\n  {expected}")), "{told}");
        let again = of(&told).wiring.inventory;
        assert_eq!(again, of(&text).wiring.inventory);
    }
}

#[test]
fn check_says_what_it_could_not_check() {
    let told = |clusters: &str, signals: &str| {
        let (told, good) = check(&[file("coldframe.yaml", &with(clusters, "{cluster}.yaml", signals))]);
        assert!(good, "{told}");
        told.split("A release climbs:").next().unwrap().to_string()
    };
    assert_eq!(
        told("{from: greenhouse, connection: hub}", PLUGIN_OF_EACH),
        "The policy is in order.\n\nClusters are the clusters.greenhouse.sap of connection hub in every namespace (not \
         asked here, so that neither they nor their labels are checked).\n"
    );
    assert_eq!(
        told("{from: argocd, connection: hub, select: {matchLabels: {env: prod}}}", RELEASE),
        "The policy is in order.\n\nClusters are the secrets of connection hub in argocd, env=prod (not asked here, so \
         that neither they nor their labels are checked).\nEach cluster is asked itself about loki, by the operator's \
         connection of its name, or, where there is none, with the credentials in a Secret there.\n"
    );
    let ocm = told("{from: ocm, connection: hub}", RELEASE);
    assert!(
        ocm.contains("by the operator's connection of its name, which each needs: ocm has no credentials."),
        "{ocm}"
    );
}

#[test]
fn an_organization_stands_where_there_is_one_and_leads_to_one_cluster() {
    let all = "{from: greenhouse, connection: hub}";
    of(&with(all, "{organization}/{cluster}.yaml", PLUGIN_OF_EACH));
    of(&with("{from: file}", "{organization}/{cluster}.yaml", PLUGIN_OF_EACH));
    let told = problems(&with(all, "{organization}/loki.yaml", PLUGIN_OF_EACH));
    assert!(told.len() == 1 && told[0].starts_with("5:20: `write` of plugin `loki`: all clusters of an"), "{told:?}");
}

#[test]
fn an_organization_where_clusters_have_none_is_a_mistake() {
    for clusters in ["{from: argocd, connection: hub}", "{from: cluster-api, connection: hub, namespace: fleet}"] {
        let told = problems(&with(clusters, "{cluster}.yaml", PLUGIN_OF_EACH));
        assert!(
            told.len() == 1 && told[0].starts_with("6:15: `signals` of plugin `loki`: `{organization}`"),
            "{told:?}"
        );
        let told = problems(&with(clusters, "{organization}/{cluster}.yaml", RELEASE));
        assert!(told.len() == 1 && told[0].contains("`{organization}` stands for nothing: the inventory"), "{told:?}");
    }
}

#[test]
fn two_clusters_of_one_name_must_not_be_read_as_one() {
    let warnings = |clusters: &str, signals: &str| of(&with(clusters, "{cluster}.yaml", signals)).warnings;
    let all = "{from: greenhouse, connection: hub}";
    let told = warnings(all, PLUGIN_OF_ALL);
    assert!(told.len() == 1 && told[0].message.contains("two clusters of one name would be read as one"), "{told:?}");
    assert!(warnings(all, PLUGIN_OF_EACH).is_empty());
    assert!(
        warnings("{from: greenhouse, connection: hub, namespace: acme}", PLUGIN_OF_ALL).is_empty(),
        "it has no two"
    );
    assert!(warnings(all, RELEASE).is_empty(), "each is asked itself");
    assert!(warnings("{from: argocd, connection: hub}", PLUGIN_OF_ALL).is_empty());
}
