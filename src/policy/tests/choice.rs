//! A version chosen on a tier: the file says so, and nothing else of it is touched.
use super::*;
use crate::choose;
use decide::{PluginName, TierName, Version};

const HEAD: &str = "tiers: # the ladder\n  - {name: qa, select: {matchLabels: {tier: qa}}}\n  - {name: gold, select: {matchLabels: {tier: gold}}}\n";

fn policy(plugin: &str) -> String {
    format!(
        "{HEAD}plugins:\n  - name: loki # logs\n    chart: {{oci: oci://registry.example/loki}}\n{plugin}    # how it is written\n    \
         signals: [{{helmRelease: {{namespace: a, name: b}}}}]\n    write: [{{file: \"{{tier}}.yaml\", path: $.version}}]\n\n  # the next\n  \
         - name: mimir\n    chart: {{oci: oci://registry.example/mimir}}\n    signals: [{{helmRelease: {{namespace: a, name: b}}}}]\n    \
         write: [{{file: \"{{tier}}-m.yaml\", path: $.version}}]\n"
    )
}

fn chosen(text: &str, tier: &str, version: Option<&str>) -> Result<String, String> {
    let files = [file("coldframe.yaml", text)];
    let version: Option<Version> = version.map(|version| version.parse().unwrap());
    let choice = choose(&files, &PluginName::new("loki"), &TierName::new(tier), version.as_ref())?;
    assert_eq!(choice.path, "coldframe.yaml");
    // It is what a reader of policies understands by it.
    let loaded = load(&[file("coldframe.yaml", &choice.text)]).unwrap_or_else(|why| panic!("{}\n{why:?}", choice.text));
    let plugin = loaded.policy.plugins.iter().find(|plugin| plugin.name.as_str() == "loki").unwrap();
    let on = plugin.tiers.iter().find(|at| at.name.as_str() == tier).unwrap();
    let says = on.constraint.as_ref().map(|constraint| constraint.as_str().to_owned());
    assert_eq!(says, version.map(|version| format!("={version}")));
    Ok(choice.text)
}

#[test]
fn a_choice_goes_into_the_form_that_is_there() {
    for (before, after) in [
        ("", "    tiers:\n      gold:\n        constraint: \"=1.2.3\"\n"),
        ("    tiers: {}\n", "    tiers: {gold: {constraint: \"=1.2.3\"}}\n"),
        ("    tiers: {qa: {soak: 1h}} # so\n", "    tiers: {qa: {soak: 1h}, gold: {constraint: \"=1.2.3\"}} # so\n"),
        ("    tiers: {gold: {merge: manual}}\n", "    tiers: {gold: {merge: manual, constraint: \"=1.2.3\"}}\n"),
        (
            "    tiers: {\n      gold: {soak: {min: 1h}},\n    }\n",
            "    tiers: {\n      gold: {soak: {min: 1h}, constraint: \"=1.2.3\"},\n    }\n",
        ),
        ("    tiers: {gold: {constraint: ^1}}\n", "    tiers: {gold: {constraint: \"=1.2.3\"}}\n"),
        ("    tiers: {gold: {constraint: '=1.2.2'}}\n", "    tiers: {gold: {constraint: \"=1.2.3\"}}\n"),
        (
            "    tiers:\n      qa:\n        soak: 1h # short\n",
            "    tiers:\n      qa:\n        soak: 1h # short\n      gold:\n        constraint: \"=1.2.3\"\n",
        ),
        (
            "    tiers:\n        gold:\n            merge: {patch: automatic}\n        qa: {}\n",
            "    tiers:\n        gold:\n            merge: {patch: automatic}\n            constraint: \"=1.2.3\"\n        qa: {}\n",
        ),
    ] {
        let wanted = policy(after);
        // A new key goes to the end of what the plugin has.
        let wanted = if before.is_empty() {
            let place = "path: $.version}]\n";
            policy("").replacen(place, &format!("{place}{after}"), 1)
        } else {
            wanted
        };
        assert_eq!(chosen(&policy(before), "gold", Some("1.2.3")).unwrap(), wanted, "{before}");
    }
    let windows = policy("").replace('\n', "\r\n");
    let text = chosen(&windows, "gold", Some("1.2.3")).unwrap();
    assert!(text.contains("      gold:\r\n        constraint: \"=1.2.3\"\r\n\r\n  # the next"), "{text}");
    let last = policy("").split("\n\n").next().unwrap().to_owned();
    let text = chosen(&last, "gold", Some("1.2.3")).unwrap();
    assert_eq!(
        text,
        format!("{last}\n    tiers:\n      gold:\n        constraint: \"=1.2.3\"\n"),
        "no end of line before"
    );
    chosen(&policy(""), "gold", Some("1.3.0-rc.1")).unwrap();
}

#[test]
fn what_was_chosen_is_taken_back_without_a_trace() {
    for (before, after) in [
        ("    tiers: {gold: {constraint: \"=1.2.3\"}}\n", ""),
        ("    tiers:\n      gold:\n        constraint: \"=1.2.3\" # chosen\n", ""),
        ("    tiers: {qa: {soak: 1h}, gold: {constraint: \"=1.2.3\"}}\n", "    tiers: {qa: {soak: 1h}}\n"),
        ("    tiers: {gold: {constraint: \"=1.2.3\"}, qa: {soak: 1h}}\n", "    tiers: {qa: {soak: 1h}}\n"),
        ("    tiers: {gold: {merge: manual, constraint: ^1}}\n", "    tiers: {gold: {merge: manual}}\n"),
        (
            "    tiers:\n      gold:\n        soak: 1h\n        constraint: \"=1.2.3\"\n      qa:\n        soak: 1h\n",
            "    tiers:\n      gold:\n        soak: 1h\n      qa:\n        soak: 1h\n",
        ),
        (
            "    tiers:\n      # the last one\n      gold:\n        constraint: ^1\n      qa: {}\n",
            "    tiers:\n      # the last one\n      qa: {}\n",
        ),
    ] {
        assert_eq!(chosen(&policy(before), "gold", None).unwrap(), policy(after), "{before}");
        if after.is_empty() {
            let there = chosen(&policy(""), "gold", Some("1.2.3")).unwrap();
            assert_eq!(chosen(&there, "gold", None).unwrap(), policy(""), "there and back");
        }
    }
}

#[test]
fn what_cannot_be_proved_is_left_to_people() {
    let refused = |text: &str, version: Option<&str>| chosen(text, "gold", version).unwrap_err();
    let said = refused(&policy("    tiers: {gold: {constraint: \"=1.2.3\"}}\n"), Some("1.2.3"));
    assert_eq!(said, "coldframe.yaml says so already: `loki` takes 1.2.3 alone on `gold`");
    assert_eq!(refused(&policy(""), None), "`loki` has no constraint of its own on `gold`");
    assert!(refused(HEAD, Some("1.2.3")).contains("it may come from a preset"));
    for written in
        ["    tiers:\n", "    tiers: {gold: {soak: 1h # why\n      }}\n", "    tiers: &t {gold: {soak: 1h}}\n"]
    {
        let text = policy(written).replace("- name: mimir\n", "- name: mimir\n    tiers: *t\n");
        let text = if written.contains("&t") { text } else { policy(written) };
        let said = refused(&text, Some("1.2.3"));
        assert!(said.contains("left to people: say `tiers: {gold: {constraint: \"=1.2.3\"}}` there"), "{said}");
    }
}

#[test]
fn the_file_that_has_the_plugin_is_the_one_that_changes() {
    let files = [file("coldframe.yaml", HEAD), file("coldframe.d/logs.yaml", &policy("")[HEAD.len()..])];
    let version = "1.2.3".parse().unwrap();
    let choice = choose(&files, &PluginName::new("mimir"), &TierName::new("qa"), Some(&version)).unwrap();
    assert_eq!(choice.path, "coldframe.d/logs.yaml");
    assert_eq!(choice.text, format!("{}    tiers:\n      qa:\n        constraint: \"=1.2.3\"\n", files[1].text));
    load(&[files[0].clone(), file(&choice.path, &choice.text)]).unwrap();
}
