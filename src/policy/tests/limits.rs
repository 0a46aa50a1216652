//! The operator's limits: how they are read, and what they say about a policy file.

use decide::snapshot::Snapshot;

use super::*;

fn setting(text: &str) -> Setting {
    let limits =
        OperatorLimits::read(&file("limits.yaml", text)).unwrap_or_else(|problems| panic!("{text}\n{problems}"));
    Setting { limits, mode: Mode::Serve }
}

fn under(limits: &str, text: &str) -> Result<Loaded, Vec<String>> {
    load_in(&[file("c", text)], &setting(limits)).map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

const LADDER: &str = "\
windows: {zone: Europe/Berlin, open: ['Mon-Thu 08:00-16:00']}
tiers:
  - name: gold
    soak: {min: 3d}
    force: {after: 30d, notice: [1d]}
limits: {openPulls: 4, clustersPerHour: 30}
plugins:
  - name: loki
    chart: {oci: oci://registry.example/loki}
    write: [{file: loki.yaml, path: $.version}]
    signals: [{helmRelease: {namespace: loki, name: loki}}]
    tiers: {gold: {soak: 5d}}
";

#[test]
fn a_policy_beyond_a_limit_is_an_error_at_its_line() {
    for (limits, expected) in [
        ("longestSoak: 5d", None),
        (
            "longestSoak: 4d",
            Some("c:12:26: `soak` of tier `gold`: 5 d is beyond the 4 d that the operator of the bot allows"),
        ),
        ("longestGrace: 30d", None),
        ("longestGrace: 29d", Some("c:5:20: `force` of tier `gold`: 30 d is beyond the 29 d")),
        ("openPulls: 4", None),
        (
            "openPulls: 3",
            Some("c:6:21: `openPulls` of `limits`: 4 is beyond the 3 that the operator of the bot allows"),
        ),
        ("clustersPerHour: 30", None),
        ("clustersPerHour: 29", Some("c:6:41: `clustersPerHour` of `limits`: 30 is beyond the 29")),
        ("windows: {required: true}", None),
        // From Thursday 16:00 to Monday 08:00 are 88 hours.
        ("windows: {longestGap: 89h}", None),
        (
            "windows: {longestGap: 87h}",
            Some("c:3:11: tier `gold`: windows keep every merge out for more than the 3 d 15 h"),
        ),
        (
            "windows: {zone: UTC, open: ['Thu 15:00-23:00']}",
            Some("c:3:11: tier `gold`: its windows are never open together"),
        ),
        ("windows: {zone: UTC, open: ['Thu 13:00-23:00']}", None),
    ] {
        match (under(limits, LADDER), expected) {
            (Ok(_), None) => {}
            (Err(told), Some(expected)) => {
                assert!(told[0].starts_with(expected), "{limits}\n  told     {told:#?}\n  expected {expected}");
            }
            (Ok(_), Some(expected)) => panic!("{limits}: nothing was said; expected {expected}"),
            (Err(told), None) => panic!("{limits}: {told:#?}"),
        }
    }
}

#[test]
fn closed_days_count_as_a_gap() {
    let text = LADDER.replace("16:00']}", "16:00'], closed: [{from: 2026-12-20, to: 2027-01-04}]}");
    let told = under("windows: {longestGap: 14d}", &text).unwrap_err();
    assert!(
        told[0].contains("more than the 14 d that the operator of the bot allows, from 2026-12-17 on"),
        "{told:#?}"
    );
    assert!(under("windows: {longestGap: 21d}", &text).is_ok());
}

#[test]
fn required_windows() {
    let bare = LADDER.replace("windows: {zone: Europe/Berlin, open: ['Mon-Thu 08:00-16:00']}", "");
    let told = under("windows: {required: true}", &bare).unwrap_err();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(
        told[0].starts_with("c:3:11: tier `gold` has no windows, and the operator of the bot requires them"),
        "{told:#?}"
    );
    let own = bare.replace("signals:", "windows: {zone: UTC, open: ['08:00-10:00']}\n    signals:");
    assert!(under("windows: {required: true}", &own).is_ok(), "the plugin has its own");
    let days = LADDER.replace("open: ['Mon-Thu 08:00-16:00']", "closed: [{from: 2026-12-20, to: 2027-01-04}]");
    assert!(under("windows: {required: true}", &days).is_err(), "closed days are no hours");
}

#[test]
fn what_a_file_does_not_set_is_the_operators() {
    let limits = "openPulls: 3\nclustersPerHour: 20\nwindows: {zone: UTC, open: ['Mon 08:00-16:00'], room: 1h}";
    let bare = LADDER.replace("limits: {openPulls: 4, clustersPerHour: 30}", "");
    let policy = under(limits, &bare).unwrap().policy;
    assert_eq!(policy.limits, Limits { open_pulls: Some(3), clusters_per_hour: Some(20) });
    let windows = policy.operator_windows.unwrap();
    assert_eq!((windows.zone.iana_name(), windows.room), (Some("UTC"), SignedDuration::from_hours(1)));
    assert_eq!(of(LADDER).policy.operator_windows, None);
    let loose = under("openPulls: 9", LADDER).unwrap().policy.limits;
    assert_eq!(loose, Limits { open_pulls: Some(4), clusters_per_hour: Some(30) }, "below the operator's");
}

#[test]
fn mistakes_of_the_operator() {
    for (text, expected) in [
        ("", "limits.yaml:1:1: the file is empty"),
        (
            "longestSoka: 3d",
            "limits.yaml:1:1: unknown key `longestSoka` at the top level (did you mean `longestSoak`?)",
        ),
        ("longestSoak: 0s", "limits.yaml:1:14: no time at all cannot be kept"),
        ("version: 2", "limits.yaml:1:10: `version`: this file is of format 2"),
        ("clustersPerHour: 0", "limits.yaml:1:18: `clustersPerHour`: 0 is not in 1 to"),
        ("windows: {open: ['08:00-10:00']}", "limits.yaml:1:1: `windows`: a `zone` is missing"),
        (
            "windows: {zone: Mars, open: ['08:00-10:00']}",
            "limits.yaml:1:17: `zone` of `windows`: `Mars` is not a time zone",
        ),
        ("windows: {required: 1}", "limits.yaml:1:21: `required` of `windows`"),
    ] {
        let problems = OperatorLimits::read(&file("limits.yaml", text)).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems}");
        assert!(problems[0].to_string().starts_with(expected), "{text}\n  told     {problems}\n  expected {expected}");
    }
}

#[test]
fn the_page_about_windows_is_right() {
    let manual = include_str!("../../../docs/windows.md");
    let mut examples = 0;
    for block in manual.split("```yaml").skip(1) {
        let (kind, rest) = block.split_once('\n').unwrap();
        let text = rest.split_once("```").unwrap().0;
        examples += 1;
        if kind.trim() == "limits" {
            let limits = setting(text).limits;
            assert!(limits.required && limits.windows.is_some() && limits.longest_gap.is_some());
        } else {
            of(text);
        }
    }
    assert_eq!(examples, 5);
    for key in super::super::limits::SHAPES.iter().flat_map(|shape| shape.keys) {
        let named = |name: &str| manual.contains(&format!("{name}:")) || manual.contains(&format!("`{name}`"));
        assert!(key.name == "version" || named(key.name), "the page does not name `{}`", key.name);
    }
}

#[test]
fn the_committed_schema_of_limits_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/limits.schema.json");
    let text = format!("{}\n", serde_json::to_string_pretty(&limits_schema()).unwrap());
    if std::env::var_os("COLDFRAME_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "policies/limits.schema.json is not current; COLDFRAME_BLESS=1 cargo test writes it");
}

/// `schedule` says how old a reading may be under single passes, unless a tier says it.
#[test]
fn a_reading_lasts_from_one_pass_to_the_next() {
    let age = |text: &str, mode| {
        let setting = Setting { mode, ..Setting::default() };
        let loaded = load_in(&[file("c", text)], &setting).unwrap();
        loaded.ladder[0].health.max_age.as_mins()
    };
    for (text, mode, minutes) in [
        ("schedule: 15m", Mode::Once, 30),
        ("schedule: 1h", Mode::Once, 120),
        ("schedule: 1h", Mode::Serve, 5),
        ("version: 1", Mode::Once, 5),
        ("schedule: 1h\ntiers: [{name: a}]", Mode::Once, 120),
        ("schedule: 1h\ntiers: [{name: a, health: {maxFailures: 1}}]", Mode::Once, 120),
        ("schedule: 1h\ntiers: [{name: a, health: {maxAge: 10m}}]", Mode::Once, 10),
    ] {
        assert_eq!(age(text, mode), minutes, "{text} {mode:?}");
    }
}

/// Two files that differ in `schedule` alone: with it, an answer of 20 minutes ago still proves that
/// the cluster is healthy, and the release finishes the tier.
#[test]
fn schedule_alone_changes_the_plan() {
    let plan = |schedule: &str| {
        let text = format!("{schedule}\n{PLUGIN}");
        let policy = load_in(&[file("c", &text)], &Setting { mode: Mode::Once, ..Setting::default() }).unwrap().policy;
        let text = r#"{"policy": {"plugins": []}, "policyCommit": "a1", "clusters": {"known": [{"name": "eu-1"}]},
            "hub": {"bot": "bot", "bypass": true, "skew": "PT0S"}, "ledger": {"plugins": {"loki": {"tiers": {"all": [{"version": "1.0.0", "members": ["eu-1"],
              "begun": "2026-11-23T11:00:00Z", "landed": {"at": "2026-11-23T11:00:00Z"}}]}}}},
            "ledgerState": {"intact": {"guarded": "sealed"}},
            "plugins": {"loki": {"releases": {"known": [{"version": "1.0.0"}]}, "pulls": {"known": []},
              "base": {"known": {"all": [{"file": "loki.yaml", "version": {"known": "1.0.0"}}]}},
              "readings": {"eu-1": [{"signal": "HelmRelease loki/loki", "health": "healthy", "running": "1.0.0",
                "observedAt": "2026-11-23T11:40:00Z"}]}}}}"#;
        let mut world: Snapshot = serde_json::from_str(text).unwrap();
        world.policy = policy;
        decide::plan(&world, "2026-11-23T12:00:00Z".parse().unwrap())
    };
    let finished = |plan: &decide::Plan| {
        let says = plan.entries.iter().map(|record| record.entry.to_string());
        says.into_iter().any(|entry| entry.ends_with("finished"))
    };
    assert!(finished(&plan("schedule: 15m")), "{:#?}", plan("schedule: 15m"));
    assert!(!finished(&plan("")), "{:#?}", plan(""));
}
