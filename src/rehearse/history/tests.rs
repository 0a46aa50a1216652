//! The figures of a replay, and what is said about a file that is no history.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;

/// The first part of the catalogue of cloudoperators/greenhouse-extensions: who released what when.
const CATALOGUE: &str = include_str!("../../../tests/fixtures/rehearse/greenhouse-releases.json");

fn replay(text: &str, policy: Option<&str>, acknowledge: Vec<bool>) -> Replayed {
    let policy = policy.map(|text| SourceFile { path: "policy.yaml".into(), text: text.into() });
    let replay = Replay { policy, approve_after: SignedDuration::from_hours(4), acknowledge };
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
