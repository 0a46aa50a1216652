//! Whose a place is, by what its document says.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use decide::selector::Selector;
use decide::{ClusterName, Tier, TierName};

use super::*;
use crate::edit::FileFormat;
use crate::edit::find::{Wanted, find};

/// Two clusters per tier, and one that no tier has.
fn clusters() -> Vec<ListedCluster> {
    let tier_of = |name: &str| name.split('-').next().unwrap().to_string();
    ["qa-1", "qa-2", "gold-1", "gold-2", "lab-1"]
        .map(|name| ListedCluster {
            name: name.into(),
            labels: [("tier".to_string(), tier_of(name)), ("all".to_string(), "yes".to_string())].into(),
            credential: name.to_string(),
            secret_ref: None,
            stale: None,
        })
        .into()
}

fn tiers() -> Vec<Tier> {
    ["qa", "gold"]
        .map(|name| {
            let select = Selector { match_labels: [("tier".into(), name.into())].into(), ..Selector::default() };
            Tier::new(TierName::from(name), select)
        })
        .into()
}

/// What is chosen for a tier: paths with the clusters that they move, or the refusal.
fn chosen(text: &str, tier: &str, captured: bool) -> Result<Vec<String>, String> {
    let (clusters, tiers) = (clusters(), tiers());
    let names = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    let fleet = Fleet { clusters: &clusters, names: &names, tiers: &tiers };
    let tier = tiers.iter().find(|known| known.name.as_str() == tier).unwrap();
    let whose = Whose { members: fleet.members(tier), captured };
    let wanted = Wanted { chart: "loki", plugin: "loki", address: None };
    let found = find(FileFormat::Yaml, "a.yaml", text, wanted).map_err(|refusal| refusal.to_string())?;
    let theirs = fleet.choose(found, &whose, "loki").map_err(|refusal| refusal.to_string())?;
    let told = |one: Theirs| {
        let moves: Option<Vec<String>> = one.moves.map(|all| all.iter().map(ToString::to_string).collect());
        format!("{} {}", one.found.scalar.path, moves.map_or("unsaid".to_string(), |all| all.join("+")))
    };
    Ok(theirs.into_iter().map(told).collect())
}

fn set(generators: &str, version: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: loki}}\nspec:\n  generators: \
         {generators}\n  template:\n    spec:\n      source: {{repoURL: https://charts.example, chart: loki, \
         targetRevision: '{version}'}}\n"
    )
}

#[test]
fn a_selector_or_a_name_in_the_document_says_whose_a_place_is() {
    let tier =
        |name: &str| format!("{{clusters: {{selector: {{matchLabels: {{tier: {name}}}}}, values: {{v: 1.2.0}}}}}}");
    let each = set(&format!("[{}, {}]", tier("qa"), tier("gold")), "{{values.v}}");
    assert_eq!(chosen(&each, "gold", false).unwrap(), ["$.spec.generators[1].clusters.values.v gold-1+gold-2"]);
    assert_eq!(chosen(&each, "qa", true).unwrap(), ["$.spec.generators[0].clusters.values.v qa-1+qa-2"]);

    let only = set(&format!("[{}]", tier("gold")), "{{values.v}}");
    assert_eq!(chosen(&only, "qa", false).unwrap_err(), only_others("gold-1, gold-2"));
    assert_eq!(chosen(&only, "qa", true).unwrap_err(), only_others("gold-1, gold-2"));

    let list = set("[{list: {elements: [{env: qa, v: 1.2.0}, {env: gold, v: 1.1.0}]}}]", "{{.v}}");
    assert_eq!(chosen(&list, "gold", false).unwrap(), ["$.spec.generators[0].list.elements[1].v gold-1+gold-2"]);
    let list = set("[{list: {elements: [{cluster: gold-1, v: 1.2.0}, {cluster: gold-2, v: 1.1.0}]}}]", "{{v}}");
    let path = "$.spec.generators[0].list.elements";
    assert_eq!(chosen(&list, "gold", false).unwrap(), [format!("{path}[0].v gold-1"), format!("{path}[1].v gold-2")]);
    let list = set("[{list: {elements: [{cluster: gold-1, env: qa, v: 1.2.0}]}}]", "{{v}}");
    assert_eq!(chosen(&list, "gold", false).unwrap(), [format!("{path}[0].v gold-1")], "a cluster's name wins");
}

#[test]
fn what_moves_others_too_is_refused() {
    let shared = set("[{clusters: {selector: {matchLabels: {all: 'yes'}}}}]", "1.2.0");
    let others = "what stands there also moves lab-1, qa-1, qa-2; give these clusters a place of their own";
    assert_eq!(chosen(&shared, "gold", true).unwrap_err(), others);
    assert_eq!(chosen(&shared, "gold", false).unwrap_err(), others);

    // Without a selector: all that its Argo CD knows, which may be one tier's where the policy gives it the file.
    let everyone = set("[{clusters: {}}]", "1.2.0");
    let place = "$.spec.template.spec.source.targetRevision";
    assert_eq!(chosen(&everyone, "gold", true).unwrap(), [format!("{place} unsaid")]);
    assert_eq!(chosen(&everyone, "gold", false).unwrap_err(), others);

    // Labels that the inventory does not have say nothing against the policy, and nothing for it.
    let unknown = set("[{clusters: {selector: {matchLabels: {addons: 'yes'}}}}]", "1.2.0");
    assert_eq!(chosen(&unknown, "gold", true).unwrap(), [format!("{place} unsaid")]);
    let nobody = "what stands there moves no cluster of the inventory";
    assert!(chosen(&unknown, "gold", false).unwrap_err().starts_with(nobody));
    assert!(chosen("a: b", "gold", false).unwrap_err().starts_with("no version of the chart `loki` is found"));

    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: loki}\n\
                   spec: {chart: {spec: {chart: loki, version: 1.2.0}}}\n";
    assert!(chosen(release, "gold", false).unwrap_err().starts_with("nothing says which clusters"));
    assert_eq!(chosen(release, "gold", true).unwrap(), ["$.spec.chart.spec.version unsaid"]);
    let labelled = release.replace("{name: loki}", "{name: loki, labels: {tier: gold}}");
    assert_eq!(chosen(&labelled, "gold", false).unwrap(), ["$.spec.chart.spec.version gold-1+gold-2"]);
    assert!(chosen(&labelled, "qa", true).is_err(), "its labels say gold");
}

#[test]
fn in_a_merge_later_values_win_and_in_a_matrix_both_choose() {
    let tier =
        |name: &str, v: &str| format!("{{clusters: {{selector: {{matchLabels: {{tier: {name}}}}}, values: {{{v}}}}}}}");
    let base = "{clusters: {selector: {matchLabels: {all: 'yes'}}, values: {v: 1.0.0}}}";
    let merge = |others: &[String]| {
        let all = others.join(", ");
        set(&format!("[{{merge: {{mergeKeys: [server], generators: [{base}, {all}]}}}}]"), "{{values.v}}")
    };
    let path = "$.spec.generators[0].merge.generators";
    let both = merge(&[tier("qa", "v: 1.2.0"), tier("gold", "v: 1.1.0")]);
    assert_eq!(chosen(&both, "gold", false).unwrap(), [format!("{path}[2].clusters.values.v gold-1+gold-2")]);
    assert_eq!(chosen(&both, "qa", false).unwrap(), [format!("{path}[1].clusters.values.v qa-1+qa-2")]);
    // What gold does not say comes from the base, which moves the lab, too.
    let one = merge(&[tier("qa", "v: 1.2.0"), tier("gold", "x: 1.1.0")]);
    assert_eq!(
        chosen(&one, "gold", false).unwrap_err(),
        "what stands there also moves lab-1; give these clusters a place of their own"
    );
    let matrix = set(
        &format!("[{{matrix: {{generators: [{}, {{list: {{elements: [{{v: 1.2.0}}]}}}}]}}}}]", tier("gold", "a: b")),
        "{{v}}",
    );
    let path = "$.spec.generators[0].matrix.generators[1].list.elements[0].v";
    assert_eq!(chosen(&matrix, "gold", false).unwrap(), [format!("{path} gold-1+gold-2")]);
}

#[test]
fn a_preset_and_a_plugin_say_it_themselves() {
    let preset = |select: &str| {
        format!(
            "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginPreset\nmetadata: {{name: loki}}\nspec:\n  \
             clusterSelector: {select}\n  plugin: {{pluginDefinition: {{name: loki, version: 1.2.0}}}}\n"
        )
    };
    let place = "$.spec.plugin.pluginDefinition.version";
    let gold = preset("{matchLabels: {tier: gold}}");
    assert_eq!(chosen(&gold, "gold", false).unwrap(), [format!("{place} gold-1+gold-2")]);
    assert!(chosen(&gold, "qa", false).is_err());
    let both = format!("{gold}---\n{}", preset("{matchLabels: {tier: qa}}"));
    assert_eq!(chosen(&both, "qa", false).unwrap(), [format!("{place} qa-1+qa-2")]);
    let expression = preset("{matchExpressions: [{key: tier, operator: NotIn, values: [qa, lab]}]}");
    assert_eq!(chosen(&expression, "gold", false).unwrap(), [format!("{place} gold-1+gold-2")]);
    let plugin = "apiVersion: greenhouse.sap/v1alpha1\nkind: Plugin\nmetadata: {name: loki}\nspec:\n  clusterName: \
                  gold-1\n  pluginDefinition: {name: loki, version: 1.2.0}\n";
    assert_eq!(chosen(plugin, "gold", false).unwrap(), ["$.spec.pluginDefinition.version gold-1"]);
}

#[test]
fn a_path_of_the_policy_is_held_against_the_document_too() {
    let (clusters, tiers) = (clusters(), tiers());
    let names = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    let fleet = Fleet { clusters: &clusters, names: &names, tiers: &tiers };
    let selected = |value: &str| {
        Reach::Selected(Selector { match_labels: [("tier".into(), value.into())].into(), ..Selector::default() })
    };
    let allow = |reach: &Reach, members: &[&str]| {
        let members: Vec<ClusterName> = members.iter().map(|name| ClusterName::from(*name)).collect();
        let whose = Whose { members: members.iter().collect::<BTreeSet<_>>(), captured: true };
        fleet.allow(reach, &whose).map(|moved| moved.map(|moved| moved.len())).map_err(|refusal| refusal.to_string())
    };
    assert_eq!(allow(&selected("gold"), &["gold-1", "gold-2"]), Ok(Some(2)));
    assert!(allow(&selected("gold"), &["gold-1"]).unwrap_err().contains("also moves gold-2"));
    assert_eq!(allow(&selected("gold"), &["qa-1"]).unwrap_err(), only_others("gold-1, gold-2"));
    for silent in [Reach::Unsaid, Reach::Everyone, selected("silver"), Reach::Named(vec!["elsewhere".to_string()])] {
        assert_eq!(allow(&silent, &["qa-1"]), Ok(None), "{silent:?}");
    }
}

fn only_others(names: &str) -> String {
    format!("what stands there moves {names} and none of these clusters; name the place by a path")
}
