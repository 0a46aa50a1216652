//! The figures of a replay, and what is said about a file that is no history.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use jiff::Timestamp;

use super::*;

/// The first part of the catalogue of cloudoperators/greenhouse-extensions: who released what when.
const CATALOGUE: &str = include_str!("../../../tests/fixtures/rehearse/greenhouse-releases.json");

fn replay(text: &str, policy: Option<&str>, acknowledge: Vec<bool>) -> Replayed {
    let policy = policy.map(|text| SourceFile { path: "policy.yaml".into(), text: text.into() });
    let replay = Replay { policy, approve_after: SignedDuration::from_hours(4), acknowledge, soaks: Vec::new() };
    replay.run(&History::parse(text).unwrap()).unwrap()
}

fn one(version: &str, date: &str) -> String {
    format!(r#"{{"plugin": "app", "version": "{version}", "date": "{date}"}}"#)
}

fn list(entries: &[String]) -> String {
    format!("[{}]", entries.join(","))
}

/// The acceptance of the whole: over a real stream of releases the conveyor brings at least twice as
/// many to the last tier as starting anew with each release does.
#[test]
fn the_conveyor_brings_twice_as_many_to_gold() {
    let replayed = replay(CATALOGUE, None, vec![true, false]);
    let gold = |case: usize, column: usize| replayed.cases[case].columns[column].figures.top().unwrap().clone();
    let (conveyor, restart) = (gold(0, 0), gold(0, 1));
    assert!(conveyor.reached >= 2 * restart.reached, "{} and {}", conveyor.reached, restart.reached);
    let worst = conveyor.worst.unwrap();
    assert!(worst <= SignedDuration::from_hours(12 * 24) && conveyor.reached > 350, "{worst:?} {conveyor:?}");
    let waited = |column: usize| replayed.cases[0].columns[column].figures.longest_wait.clone().unwrap().lasted;
    assert!(waited(1) > waited(0) * 5, "{:?} {:?}", waited(0), waited(1));
    assert!(gold(1, 0).reached < conveyor.reached, "what nobody acknowledges does not climb");
    let all = replayed.cases.iter().flat_map(|case| &case.columns);
    assert!(all.clone().all(|column| column.figures.restless.is_empty()));
    assert!(all.clone().all(|column| column.figures.forced == 0));
    let text = replayed.text();
    for words in
        ["conveyor", "restart", "acknowledged at once", "never acknowledged", "reached gold", "longest wait for gold"]
    {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let svg = replayed.svg();
    assert!(svg.contains("prefers-color-scheme:dark") && svg.len() < 20_000, "{}", svg.len());
}

#[test]
fn lags_are_those_of_the_ladder() {
    let text = list(&[
        one("1.0.0", "2026-01-01T00:00:00Z"),
        one("1.0.1", "2026-03-01T00:00:00Z"),
        one("1.0.2", "2026-05-01T00:00:00Z"),
    ]);
    let replayed = replay(&text, None, vec![true]);
    let figures = &replayed.cases[0].columns[0].figures;
    let days: Vec<i64> = figures.tiers.iter().map(|tier| tier.median.unwrap().as_hours() / 24).collect();
    assert_eq!(days, [0, 3, 6, 9]);
    // The last one came out when the history ended.
    let reached: Vec<usize> = figures.tiers.iter().map(|tier| tier.reached).collect();
    assert_eq!(reached, [3, 2, 2, 2]);
    assert_eq!(figures.pulls, 9);
}

#[test]
fn approvals_force_and_windows_are_the_policys() {
    let text = list(&[
        one("1.0.0", "2026-01-01T00:00:00Z"),
        one("1.0.1", "2026-03-01T00:00:00Z"),
        one("1.0.2", "2026-06-01T00:00:00Z"),
    ]);
    let approved = replay(&text, Some("tiers: [{name: all, approvals: {atLeast: 2}}]"), vec![true]);
    let lag = approved.cases[0].columns[0].figures.tiers[0].median.unwrap();
    assert_eq!(lag.as_hours(), 4, "two people approve after four hours");
    let manual = replay(&text, Some("tiers: [{name: all, merge: manual}]"), vec![true]);
    assert_eq!(manual.cases[0].columns[0].figures.tiers[0].reached, 2, "a person presses the button");
    let impatient = Replay {
        policy: Some(SourceFile {
            path: "policy.yaml".into(),
            text: "tiers: [{name: all, force: {after: 10d, notice: [2d]}}]".into(),
        }),
        approve_after: SignedDuration::from_hours(24 * 30),
        acknowledge: vec![true],
        soaks: Vec::new(),
    };
    let figures = impatient.run(&History::parse(&text).unwrap()).unwrap().cases[0].columns[0].figures.clone();
    assert_eq!((figures.forced, figures.tiers[0].median.unwrap().as_hours() / 24), (2, 10));
}

#[test]
fn what_is_left_out_is_said() {
    let entries = [
        one("1.0.0", "2026-01-01T00:00:00Z"),
        one("1.0.0", "2026-01-02T00:00:00Z"),
        one("main", "2026-01-03T00:00:00Z"),
        r#"{"plugin": "app", "event": "removed", "date": "2026-02-01T00:00:00Z"}"#.to_string(),
    ];
    let history = History::parse(&list(&entries)).unwrap();
    let text = history.to_string();
    assert!(text.contains("1 release of 1 plugin") && text.contains("1 change of content"), "{text}");
    assert!(text.contains("1 release without a SemVer 2 version"), "{text}");
}

#[test]
fn a_file_that_is_no_history_is_refused_with_its_place() {
    for (text, words) in [
        ("", "EOF while parsing"),
        ("{}", "a history is a list"),
        (r#"[{"plugin": "app"}]"#, "missing field `date` at line 1 column"),
        ("[]", "holds no release"),
        (r#"[{"plugin": "app", "version": "1.0.0", "date": "yesterday"}]"#, "line 1 column"),
    ] {
        let error = format!("{:#}", History::parse(text).unwrap_err());
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn names_of_others_are_text_in_the_picture() {
    let text = r#"[{"plugin": "app", "version": "1.0.0", "date": "2026-01-01T00:00:00Z"},
        {"plugin": "app", "version": "1.0.1", "date": "2026-02-01T00:00:00Z"}]"#;
    let mut replayed = replay(text, None, vec![true]);
    replayed.about = "<script>& \u{1b}[31m".to_string();
    let svg = replayed.svg();
    assert!(!svg.contains("<script>") && !svg.contains('\u{1b}') && svg.contains("&lt;script&gt;&amp;"), "{svg}");
}

/// One plugin has its breaking release acknowledged or waits for that; another one climbs when the history ends.
#[test]
fn who_waits_and_who_climbs_is_told_plugin_by_plugin() {
    let other = |version: &str, date: &str| one(version, date).replace("\"app\"", "\"other\"");
    let text = list(&[
        one("1.0.0", "2026-01-01T00:00:00Z"),
        other("1.0.0", "2026-01-01T00:00:00Z"),
        one("2.0.0", "2026-02-01T00:00:00Z"),
        other("1.1.0", "2026-03-01T00:00:00Z"),
        other("1.1.1", "2026-03-02T00:00:00Z"),
        other("1.1.2", "2026-03-05T00:00:00Z"),
    ]);
    let replayed = replay(&text, None, vec![true, false]);
    let figures = |case: usize| &replayed.cases[case].columns[0].figures;
    assert_eq!([figures(0), figures(1)].map(|figures| (figures.climbing(), figures.acknowledged)), [(2, 1), (3, 0)]);
    let app = |case: usize| &figures(case).plugins[0];
    assert_eq!((app(0).waits, app(0).reached.clone()), (None, vec![2, 2, 2, 2]));
    assert_eq!((app(1).waits, app(1).reached.clone()), ("2026-02-01T00:00:00Z".parse().ok(), vec![1, 1, 1, 1]));
    let told = replayed.text();
    let stuck = "app           2    1        1        1      1   since 1 Feb 2026 (32 d) 2.0.0 on qa: ";
    let line = told.lines().find(|line| line.contains("since 1 Feb 2026")).unwrap();
    assert!(line.trim_start().starts_with(stuck) && line.contains("1.0.0 to 2.0.0 may break"), "{line}");
    assert!(told.contains("since 1 Mar 2026 (4 d) 1.1.0 on bronze and 1 more"), "{told}");
    assert!(told.contains("acknowledgements to give") && told.contains("still climbing at the end"), "{told}");
}

/// What has finished a tier and waits until the one above it is free has not been overtaken.
#[test]
fn what_waits_for_a_free_tier_still_climbs() {
    let ladder = "tiers:
  - {name: qa, select: {matchLabels: {tier: qa}}, merge: automatic}
  - {name: gold, select: {matchLabels: {tier: gold}}, merge: automatic, soak: 9d}";
    let text = list(&[
        one("1.0.0", "2026-01-01T00:00:00Z"),
        one("1.0.1", "2026-02-01T00:00:00Z"),
        one("1.0.2", "2026-02-03T00:00:00Z"),
        one("1.0.3", "2026-02-05T00:00:00Z"),
        one("1.0.4-rc.1", "2026-02-06T00:00:00Z"),
    ]);
    let replayed = replay(&text, Some(ladder), vec![true]);
    let figures = &replayed.cases[0].columns[0].figures;
    assert_eq!((figures.climbing(), figures.plugins[0].reached.clone()), (1, vec![4, 2]));
    let told = replayed.text();
    assert!(told.contains("since 3 Feb 2026 (3 d) 1.0.3 on qa: gold has another release"), "{told}");
}

#[test]
fn soaks_are_tried_beside_each_other_in_one_picture() {
    let soaks = [1, 2, 3].map(|days| SignedDuration::from_hours(24 * days));
    let replay =
        Replay { policy: None, approve_after: SignedDuration::ZERO, acknowledge: vec![true], soaks: soaks.to_vec() };
    let text = list(&[one("1.0.0", "2026-01-01T00:00:00Z"), one("1.0.1", "2026-03-01T00:00:00Z")]);
    let replayed = replay.run(&History::parse(&text).unwrap()).unwrap();
    let columns = &replayed.cases[0].columns;
    let lag = |column: &Column| column.figures.top().unwrap().worst.unwrap().as_hours() / 24;
    let lags: Vec<_> = columns.iter().map(|column| (column.name.as_str(), lag(column))).collect();
    assert_eq!(lags, [("soak 1 d", 3), ("soak 2 d", 6), ("soak 3 d", 9)]);
    assert!(
        replayed.about.contains("qa, bronze, silver, gold, each with a soak of 1 d, 2 d, 3 d in turn."),
        "{replayed:?}"
    );
    let svg = replayed.svg();
    assert!(["l s1", "l s2", "l s3", "1 soak 1 d", "1 soak 3 d"].iter().all(|part| svg.contains(part)), "{svg}");
    let widest = svg.split("<text class=\"m\"").skip(1).filter_map(|rest| rest.split(['>', '<']).nth(1));
    let widest = widest.map(|text| text.chars().count()).max();
    assert!(widest.is_some_and(|widest| widest <= 118), "no line runs out of the picture: {widest:?}");
}

#[test]
fn what_one_cluster_per_tier_hides_is_said() {
    let text = list(&[one("1.0.0", "2026-01-01T00:00:00Z"), one("1.0.1", "2026-03-01T00:00:00Z")]);
    let canary = "tiers:
  - {name: qa, select: {matchLabels: {tier: qa}}}
  - {name: gold, select: {matchLabels: {tier: gold}}, strategy: {canary: {steps: [{setWeight: 50}]}}}";
    let told = replay(&text, Some(canary), vec![true]).text();
    assert!(told.contains("Each tier has one cluster here, so that slices take no time (gold canary)"), "{told}");
    assert!(!replay(&text, None, vec![true]).text().contains("one cluster"));
}

/// What this thread has spent of the processor, however busy the machine is.
#[cfg(target_os = "linux")]
fn spent() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Four times the releases of one plugin take about four times as long, and not sixteen times.
#[cfg(target_os = "linux")]
#[test]
fn a_long_past_makes_no_look_slower() {
    let began: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let takes = |many: usize| {
        let release = |number: usize| {
            let date = began + SignedDuration::from_hours(40) * i32::try_from(number).unwrap();
            one(&format!("1.{}.{}", number / 10, number % 10), &date.to_string())
        };
        let text = list(&(0..many).map(release).collect::<Vec<_>>());
        let before = spent();
        let replayed = replay(&text, None, vec![true]);
        let took = spent() - before;
        assert!(replayed.cases[0].columns[0].figures.top().unwrap().reached > many / 3);
        took
    };
    let (short, long) = (takes(120), takes(480));
    assert!(long < 8 * short, "{short} ns and {long} ns");
}
