//! In what order members move, and who stays where they are: what is written, and what it means.

use decide::model::{Each, Empty, MaxUpdate, Promote, Step, Strategy, Verify};
use decide::selector::Selector;
use jiff::SignedDuration;

use super::{PLUGIN, of, problems};

#[test]
fn strategies() {
    let tiers = |strategy: &str| format!("tiers: [{{name: gold, strategy: {strategy}}}]");
    let per_cluster = PLUGIN.replace("loki.yaml", "\"{cluster}/loki.yaml\"");
    let strategy =
        |text: &str| of(&format!("{}{per_cluster}", tiers(text))).policy.plugins[0].tiers[0].strategy.clone();
    let quarters = Strategy::Canary { steps: [25, 50, 75].map(Step::SetWeight).to_vec() };
    let rolling = |max_update| Strategy::RollingUpdate { max_update, by: None };
    let hour = Some(SignedDuration::from_hours(1));
    let smoke =
        |minutes| Step::Verify { workflow: "smoke.yml".to_string(), timeout: SignedDuration::from_mins(minutes) };
    let selector = Selector { match_labels: [("t".to_string(), "p".to_string())].into(), match_expressions: vec![] };
    for (text, expected) in [
        ("allAtOnce", Strategy::AllAtOnce),
        ("delegated", Strategy::Delegated),
        ("{delegated: true}", Strategy::Delegated),
        ("{delegated: false}", Strategy::AllAtOnce),
        ("{rollingUpdate: {maxUpdate: 3}}", rolling(MaxUpdate::Count(3))),
        ("{rollingUpdate: {maxUpdate: 25%}}", rolling(MaxUpdate::Percent(25))),
        ("{rollingUpdate: {maxUnavailable: \"25%\"}}", rolling(MaxUpdate::Percent(25))),
        ("{rollingUpdate: {maxUpdate: 0}}", rolling(MaxUpdate::All)),
        ("{rollingUpdate: {maxUpdate: 0%}}", rolling(MaxUpdate::All)),
        ("{rollingUpdate: {}}", rolling(MaxUpdate::All)),
        (
            "{rollingUpdate: {by: topology.kubernetes.io/region}}",
            Strategy::RollingUpdate {
                max_update: MaxUpdate::All,
                by: Some("topology.kubernetes.io/region".to_string()),
            },
        ),
        (
            "{canary: {steps: [{setWeight: 10}, {pause: {duration: 1h}}, {setWeight: 50}, {pause: {}}]}}",
            Strategy::Canary {
                steps: vec![Step::SetWeight(10), Step::Pause(hour), Step::SetWeight(50), Step::Pause(None)],
            },
        ),
        ("{canary: {}}", quarters.clone()),
        ("{canary: {steps: []}}", quarters),
        (
            "{canary: {steps: [{setWeight: 10}, {verify: {workflow: smoke.yml, timeout: 1h}}]}}",
            Strategy::Canary { steps: vec![Step::SetWeight(10), smoke(60)] },
        ),
        (
            "{canary: {steps: [{setWeight: 10}, {verify: {workflow: smoke.yml}}]}}",
            Strategy::Canary { steps: vec![Step::SetWeight(10), smoke(30)] },
        ),
        (
            "{blueGreen: {preview: {matchLabels: {t: p}}}}",
            Strategy::BlueGreen { preview: selector.clone(), verify: None, promote: Promote::Automatic },
        ),
        (
            "{blueGreen: {preview: {matchLabels: {t: p}}, promote: manual}}",
            Strategy::BlueGreen { preview: selector.clone(), verify: None, promote: Promote::Manual },
        ),
        (
            "{blueGreen: {preview: {matchLabels: {t: p}}, verify: {workflow: smoke.yml}}}",
            Strategy::BlueGreen {
                preview: selector.clone(),
                verify: Some(Verify { workflow: "smoke.yml".into(), timeout: SignedDuration::from_mins(30) }),
                promote: Promote::Automatic,
            },
        ),
    ] {
        assert_eq!(strategy(text), expected, "{text}");
    }
    assert_eq!(of(&tiers("allAtOnce")).ladder[0].approvals.each, Each::Tier);
    assert_eq!(of("tiers: [{name: gold, approvals: {each: slice}}]").ladder[0].approvals.each, Each::Slice);
    assert_eq!(of(&tiers("allAtOnce")).ladder[0].empty, Empty::Error);
    assert_eq!(of("tiers: [{name: gold, empty: pass}]").ladder[0].empty, Empty::Pass);
    // A file that all clusters share cannot move for some of them.
    let shared = format!("{}{PLUGIN}", tiers("{rollingUpdate: {maxUpdate: 1}}"));
    let found = problems(&shared);
    let expected = "1:22: clusters of tier `gold` cannot move one after the other for plugin `loki`";
    assert!(found.len() == 1 && found[0].starts_with(expected), "{found:?}");
    let own = format!("{shared}    strategy: allAtOnce\n");
    assert_eq!(of(&own).policy.plugins[0].tiers[0].strategy, Strategy::AllAtOnce);
    let own = format!("{PLUGIN}    strategy: {{rollingUpdate: {{maxUpdate: 1}}}}\n");
    assert_eq!(problems(&own).len(), 1);
}

#[test]
fn pins() {
    let per_cluster = PLUGIN.replace("loki.yaml", "\"{cluster}/loki.yaml\"");
    let pins = |text: &str| of(&format!("{per_cluster}    pins: [{text}]\n")).policy.plugins[0].pins.clone();
    let one = "{select: {matchLabels: {customer: acme}}, version: 1.14.2, until: 2027-03-01T00:00:00Z, why: audit}";
    let pin = &pins(one)[0];
    assert_eq!((pin.version.as_ref().unwrap().as_str(), pin.why.as_str()), ("1.14.2", "audit"));
    assert_eq!(pin.until.unwrap().to_string(), "2027-03-01T00:00:00Z");
    let found = |text: &str| problems(&format!("{per_cluster}    pins: [{text}]\n")).join("; ");
    for (text, expected) in [
        ("{select: {}, version: 1.0.0, why: x}", "an empty selector pins every cluster"),
        ("{select: {matchLabels: {a: b}}, version: 1.0, why: x}", "write all three numbers"),
        ("{select: {matchLabels: {a: b}}, version: 1.0.0}", "has no `why`"),
        ("{select: {matchLabels: {a: b}}, version: 1.0.0, why: x, until: 2027-03-01}", "a date needs a zone"),
    ] {
        assert!(found(text).contains(expected), "{text}: {}", found(text));
    }
    let shared = problems(&format!("{PLUGIN}    pins: [{one}]\n")).join("; ");
    assert!(shared.contains("cannot leave single clusters where they are"), "{shared}");
}

#[test]
fn early_clusters() {
    let tiers = |early: &str| {
        let tiers = "tiers:\n  - {name: qa, select: {matchLabels: {t: qa}}}\n  - name: gold\n    select: {matchLabels: {t: gold}}\n";
        format!("{tiers}    early: [{early}]\n")
    };
    let several = PLUGIN.replace("loki.yaml", "\"{cluster}/loki.yaml\"");
    let one = "{select: {matchLabels: {customer: acme}}, until: 2027-03-01T00:00:00Z}";
    let gold = of(&format!("{}{several}", tiers(one))).policy.plugins[0].tiers[1].clone();
    assert_eq!(gold.early[0].until.unwrap().to_string(), "2027-03-01T00:00:00Z");
    assert_eq!(gold.early[0].select.match_labels["customer"], "acme");
    for (early, expected) in [
        ("{until: 2027-03-01T00:00:00Z}", "`early` of tier `gold` has no `select`"),
        ("{select: {}}", "an empty selector puts the whole tier ahead of itself"),
        ("{select: {matchLabels: {a: b}}, until: 2027-03-01}", "a date needs a zone"),
        ("{select: {matchLabels: {a: b}}, why: x}", "unknown key `why`"),
    ] {
        let found = problems(&tiers(early)).join("; ");
        assert!(found.contains(expected), "{early}: {found}");
    }
    let shared = problems(&format!("{}{}", tiers(one), PLUGIN.replace("loki.yaml", "\"{tier}/loki.yaml\""))).join("; ");
    assert!(shared.contains("5:5: no cluster of tier `gold` can be ahead of it for plugin `loki`"), "{shared}");
    let first = problems("tiers: [{name: qa, early: [{select: {matchLabels: {a: b}}}]}]").join("; ");
    assert!(first.contains("tier `qa` is the first, and no cluster can be ahead of it"), "{first}");
}
