//! The JSON Schema of the policy file, out of the same list of keys that the parser reads by.

use schemars::generate::SchemaSettings;

use super::file::PolicyFile;

/// The schema (draft 2020-12) for editors.
pub fn schema() -> serde_json::Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<PolicyFile>();
    schema.insert("title".to_string(), "Coldframe policy".into());
    schema.to_value()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::file::shapes;
    use crate::{SourceFile, load};

    /// The mappings of the schema: where they stand, and their keys.
    fn mappings(schema: &serde_json::Value) -> Vec<(String, BTreeSet<String>, serde_json::Value)> {
        let mut found = vec![("Policy".to_string(), schema.clone())];
        for (name, part) in schema["$defs"].as_object().unwrap() {
            found.push((name.clone(), part.clone()));
        }
        let keys = |part: &serde_json::Value| part["properties"].as_object().map(|map| map.keys().cloned().collect());
        found.into_iter().filter_map(|(name, part)| Some((name, keys(&part)?, part))).collect()
    }

    #[test]
    fn the_committed_schema_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/schema.json");
        let text = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
        if std::env::var_os("COLDFRAME_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == text, "policies/schema.json is not current; COLDFRAME_BLESS=1 cargo test writes it");
    }

    #[test]
    fn schema_and_parser_know_the_same_keys() {
        let of_schema: BTreeSet<BTreeSet<String>> = mappings(&schema()).into_iter().map(|(_, keys, _)| keys).collect();
        let of_parser: BTreeSet<BTreeSet<String>> =
            shapes().map(|shape| shape.keys.iter().map(|key| key.name.to_string()).collect()).collect();
        assert_eq!(of_schema, of_parser);
    }

    /// The parser itself is asked: a mapping with every key of the schema at its place in a file
    /// must bring no "unknown key", and one with a key more must.
    #[test]
    fn the_parser_takes_every_key_of_the_schema() {
        let places = [
            ("Policy", "@"),
            ("Clusters", "clusters: @"),
            ("Windows", "windows: @"),
            ("Cron", "windows: {open: [@]}"),
            ("Closed", "windows: {closed: [@]}"),
            ("Maintenance", "maintenanceWindows: [@]"),
            ("Freeze", "freeze: [@]"),
            ("Tier", "tiers: [@]"),
            ("Select", "tiers: [{select: @}]"),
            ("Expression", "tiers: [{select: {matchExpressions: [@]}}]"),
            ("MergeByBump", "tiers: [{merge: @}]"),
            ("Soak", "tiers: [{soak: @}]"),
            ("OnFailure", "tiers: [{onFailure: @}]"),
            ("RollBack", "tiers: [{onFailure: {rollBack: @}}]"),
            ("Approvals", "tiers: [{approvals: @}]"),
            ("Force", "tiers: [{force: @}]"),
            ("Health", "tiers: [{health: @}]"),
            ("Strategy", "tiers: [{strategy: @}]"),
            ("Strategy", "plugins: [{strategy: @}]"),
            ("RollingUpdate", "tiers: [{strategy: {rollingUpdate: @}}]"),
            ("Canary", "tiers: [{strategy: {canary: @}}]"),
            ("Step", "tiers: [{strategy: {canary: {steps: [@]}}}]"),
            ("Pause", "tiers: [{strategy: {canary: {steps: [{pause: @}]}}}]"),
            ("Verify", "tiers: [{strategy: {canary: {steps: [{verify: @}]}}}]"),
            ("Pin", "plugins: [{pins: [@]}]"),
            ("BlueGreen", "tiers: [{strategy: {blueGreen: @}}]"),
            ("Early", "tiers: [{early: [@]}]"),
            ("Plugin", "plugins: [@]"),
            ("Override", "plugins: [{tiers: {gold: @}}]"),
            ("Chart", "plugins: [{chart: @}]"),
            ("Versions", "plugins: [{versions: @}]"),
            ("Block", "plugins: [{versions: {block: [@]}}]"),
            ("Expiry", "plugins: [{versions: {expires: [@]}}]"),
            ("Checks", "plugins: [{versions: {checks: @}}]"),
            ("Signed", "plugins: [{versions: {signed: @}}]"),
            ("Keyless", "plugins: [{versions: {signed: {keyless: @}}}]"),
            ("Hotfix", "plugins: [{hotfixes: [@]}]"),
            ("After", "plugins: [{after: [@]}]"),
            ("Write", "plugins: [{write: [@]}]"),
            ("Document", "plugins: [{write: [{document: @}]}]"),
            ("Signal", "plugins: [{signals: [@]}]"),
            ("State", "plugins: [{signals: [{resource: {state: @}}]}]"),
            ("State", "plugins: [{signals: [{http: {state: @}}]}]"),
            ("Baseline", "plugins: [{signals: [{prometheus: {baseline: @}}]}]"),
            ("People", "people: @"),
            ("Limits", "limits: @"),
            ("PullRequests", "pullRequests: @"),
            ("Notify", "notify: [@]"),
            ("Slack", "notify: [{slack: @}]"),
            ("Teams", "notify: [{teams: @}]"),
            ("Webhook", "notify: [{webhook: @}]"),
            ("Email", "notify: [{email: @}]"),
            ("Issue", "notify: [{issue: @}]"),
            ("Secret", "notify: [{slack: {url: @}}]"),
            ("NotifySelect", "notify: [{select: @}]"),
        ];
        // Each kind of signal is a mapping of its own.
        let kind = |kind: &&signal::Kind| {
            let name = kind.name;
            (crate::file::kind_title(kind), format!("plugins: [{{signals: [{{{name}: @}}]}}]"))
        };
        let places = places.map(|(name, place)| (name.to_string(), place.to_string())).into_iter();
        let places: Vec<(String, String)> = places.chain(signal::KINDS.iter().map(kind)).collect();
        let mappings = mappings(&schema());
        for (name, keys, _) in &mappings {
            let here: Vec<_> = places.iter().filter(|(place, _)| place == name).collect();
            assert!(!here.is_empty(), "no place for {name} in this test");
            for (_, place) in here {
                let unknown = |keys: &[&str]| {
                    let map = keys.iter().map(|key| format!("{key}: [[]]")).collect::<Vec<_>>().join(", ");
                    let text = place.replace('@', &format!("{{{map}}}"));
                    let problems = load(&[SourceFile { path: "x".into(), text }]).unwrap_err();
                    problems.iter().filter(|problem| problem.message.starts_with("unknown key")).count()
                };
                let mut keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                assert_eq!(unknown(&keys), 0, "{name}");
                keys.push("qqqqqq");
                assert_eq!(unknown(&keys), 1, "{name}");
            }
        }
        assert_eq!(places.iter().map(|(name, _)| name).collect::<BTreeSet<_>>().len(), mappings.len());
    }

    #[test]
    fn every_key_is_described_and_every_optional_one_says_its_default() {
        for (name, _, part) in mappings(&schema()) {
            assert_eq!(part["additionalProperties"], false, "{name}");
            let required: Vec<&str> = part["required"]
                .as_array()
                .map(|list| list.iter().filter_map(|key| key.as_str()).collect())
                .unwrap_or_default();
            for (key, property) in part["properties"].as_object().unwrap() {
                let about = property["description"].as_str().unwrap_or_default();
                assert!(about.len() > 8 && about.ends_with('.'), "{name}.{key}: {about:?}");
                let choice = matches!(name.as_str(), "Chart" | "Signal");
                let needed = required.contains(&key.as_str())
                    || about.contains("equired where")
                    || about.contains("must stand here");
                assert!(
                    needed || choice || about.contains("Default") || about.contains("at least one"),
                    "{name}.{key} says no default"
                );
            }
        }
    }
}
