//! Definitions of a catalogue, among them the seven of a real one that asked for more without a major version.

use crate::{Definition, What, compare_definitions};

fn definition(version: &str, chart: &str, options: &[(&str, &str)]) -> Definition {
    let options: String = options.iter().map(|(name, rest)| format!("    - {{name: {name}, {rest}}}\n")).collect();
    let text = format!(
        "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginDefinition\nmetadata: {{name: logs}}\nspec:\n  version: {version}\n  \
         helmChart: {{name: logs, repository: oci://ghcr.io/acme/charts, version: {chart}}}\n  options:\n{options}"
    );
    Definition::read(&text).unwrap()
}

fn found(old: &[(&str, &str)], new: &[(&str, &str)]) -> Vec<(What, String)> {
    let report = compare_definitions(&definition("1.0.0", "2.0.0", old), &definition("1.0.1", "2.0.0", new));
    report.changes.into_iter().map(|change| (change.what, change.at)).collect()
}

#[test]
fn each_difference_of_a_definition_is_named_and_nothing_else() {
    let (plain, list) = ("type: string", "type: list");
    type Case<'c> = (&'c [(&'c str, &'c str)], &'c [(&'c str, &'c str)], &'c [(What, &'c str)]);
    let cases: &[Case<'_>] = &[
        (&[("a", plain)], &[("a", plain)], &[]),
        (&[], &[("a", plain)], &[(What::OptionAdded, "a")]),
        (&[("a", plain)], &[], &[(What::OptionRemoved, "a")]),
        (&[("a", plain)], &[("a", list)], &[(What::OptionRetyped, "a")]),
        (&[("a", "default: 1")], &[("a", "default: 2")], &[(What::DefaultChanged, "a")]),
        (&[("a", "default: 1")], &[("a", "type: string")], &[(What::DefaultChanged, "a")]),
        (&[("a", plain)], &[("a", "required: true")], &[(What::OptionRequired, "a")]),
        (&[("a", "required: true, default: 1")], &[("a", "required: true")], &[(What::OptionRequired, "a")]),
        (&[("a", "required: true")], &[("a", plain)], &[(What::OptionOptional, "a")]),
        (&[("a", plain)], &[("a", "regex: '^a'")], &[(What::OptionNarrowed, "a")]),
        (&[("a", "regex: '^a'")], &[("a", plain)], &[(What::OptionWidened, "a")]),
    ];
    for (old, new, wanted) in cases {
        let wanted: Vec<(What, String)> = wanted.iter().map(|(what, at)| (*what, (*at).to_owned())).collect();
        assert_eq!(found(old, new), wanted, "{old:?} {new:?}");
    }
    let report = compare_definitions(&definition("1.0.0", "2.0.0", &[]), &definition("1.0.1", "2.1.0", &[]));
    assert_eq!(
        report.changes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["the chart logs is 2.1.0 now; it was 2.0.0"]
    );
    assert_eq!((report.new.version.as_str(), report.new.app_version.as_str()), ("1.0.1", "2.1.0"));
}

/// opentelemetry 0.6.0 and 0.7.3, opensearch 0.0.12, 0.0.15 and 0.0.18 without a default, kube-monitoring 1.7.5 and
/// alerts 2.7.0 with one (cloudoperators/greenhouse-extensions, 2024-07 to 2025-06).
#[test]
fn an_option_that_is_required_from_one_patch_to_the_next_is_flagged() {
    for (options, breaks) in [
        (&["openTelemetry.openSearchLogs.password", "openTelemetry.openSearchLogs.username"][..], true),
        (
            &["openTelemetry.openSearchLogs.failover_password_a", "openTelemetry.openSearchLogs.failover_username_a"],
            true,
        ),
        (&["certManager.httpDnsNames"], true),
        (&["cluster.usersCredentials.logs.password", "cluster.usersCredentials.logs2.username"], true),
        (&["cluster.usersCredentials.admin.hash", "cluster.usersCredentials.admin.password"], true),
        (&["kubeMonitoring.prometheus.service.additionalPorts"], false),
        (&["alerts.certManager.enabled"], false),
    ] {
        let rest = if breaks { "required: true, type: secret" } else { "required: true, default: []" };
        let new: Vec<(&str, &str)> = options.iter().map(|name| (*name, rest)).collect();
        let found = found(&[], &new);
        let what = if breaks { What::OptionRequired } else { What::OptionRequiredWithDefault };
        let flagged = found.iter().filter(|(found, _)| *found == what).map(|(_, at)| at.as_str());
        assert_eq!(flagged.collect::<Vec<_>>(), options);
        assert_eq!(what.is_breaking(), breaks);
    }
}

#[test]
fn a_definition_that_cannot_be_read_says_why() {
    let read = |text: &str| Definition::read(text).unwrap_err().to_string();
    // As in the catalogue's gatekeeper since 2026-05-26.
    let unquoted =
        "kind: PluginDefinition\nmetadata: {name: a}\nspec:\n  description: Policies: enforced\n  version: 1.0.0\n";
    assert!(read(unquoted).starts_with("plugindefinition.yaml: "), "{}", read(unquoted));
    assert_eq!(read("kind: Plugin\n"), "plugindefinition.yaml: it has no PluginDefinition");
    assert_eq!(
        read("kind: PluginDefinition\nmetadata: {name: a}\n"),
        "plugindefinition.yaml: it has no `spec.version`"
    );
    let number =
        Definition::read("kind: ClusterPluginDefinition\nmetadata: {name: a}\nspec: {version: 1.10}\n").unwrap();
    assert_eq!((number.version.as_str(), number.chart), ("1.1", None));
}
