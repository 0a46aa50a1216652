//! Two releases of a chart or of a definition, held against each other, and values that people set, taken out and put in.

use std::collections::BTreeMap;

use coldframe::edit::{FileFormat, parsed, with_option, without_option};
use coldframe::policy::wiring::Scalar;
use compare::{Chart, Definition, Report, What, compare, compare_definitions};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::asked;

/// Ends the older release and begins the newer one.
const BETWEEN: &str = "\n######\n";
/// Begins a file of a chart, with its path behind it.
const FILE: &str = "=== ";

/// The files of two charts. Every input is read as a package as well.
pub fn chart(input: &[u8]) {
    let _ = Chart::read(input);
    let text = String::from_utf8_lossy(input);
    let (old, new) = text.split_once(BETWEEN).unwrap_or((&text, &text));
    let [Ok(old), Ok(new)] = [old, new].map(|text| Chart::of_files(files(text))) else { return };
    holds(&compare(&old, &new), &compare(&old, &new));
    let same = compare(&old, &old).changes.into_iter().find(|change| change.what != What::Unread);
    assert_eq!(same, None, "a chart differs from itself");
}

fn files(text: &str) -> BTreeMap<String, Vec<u8>> {
    let parts = text.split(FILE).skip(1).filter_map(|part| part.split_once('\n'));
    parts.map(|(path, text)| (path.trim().to_string(), text.as_bytes().to_vec())).collect()
}

/// Two definitions of a catalog.
pub fn definition(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (old, new) = text.split_once(BETWEEN).unwrap_or((&text, &text));
    let [Ok(old), Ok(new)] = [old, new].map(Definition::read) else { return };
    holds(&compare_definitions(&old, &new), &compare_definitions(&old, &new));
    assert_eq!(compare_definitions(&old, &old).changes, [], "a definition differs from itself");
}

/// The same each time, bounded, and a line each.
fn holds(report: &Report, again: &Report) {
    assert_eq!(report, again);
    assert!(report.changes.len() <= 1_000 && report.changes.is_sorted());
    for change in &report.changes {
        let said = change.to_string();
        assert!(!said.contains(['\n', '\r', '\u{1b}']), "{said:?}");
    }
}

/// An option and its value, and the file in which it is set: whole lines come and go, and the rest reads as before.
pub fn option(input: &[u8]) {
    let ([name, value], text) = asked::<2>(input);
    let value: Value = serde_json::from_str(&value).unwrap_or_else(|_| json!(value));
    let scalar = Scalar { document: None, path: "$.x".to_string(), value: None };
    let parts = compare::parts(&name);
    if let Some(less) = without_option(&text, &scalar, "loki", (&name, &parts)) {
        assert!(is_within(&less, &text), "more than lines was taken out");
        assert!(less.len() < text.len() && parsed(FileFormat::Yaml, &less).is_ok());
    }
    if let Some(more) = with_option(&text, &scalar, "loki", (&name, &parts), &value) {
        assert!(is_within(&text, &more) || !text.ends_with('\n'), "more than lines was put in");
        assert!(more.len() > text.len() && parsed(FileFormat::Yaml, &more).is_ok());
    }
}

/// Keys, and behind them a text that one of them may have signed. With mathematics that believe everything, what comes out is
/// a part of the text.
pub fn openpgp(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (keys, signed) = text.split_once(BETWEEN).unwrap_or((&text, &text));
    let Ok(keys) = openpgp::certificates(keys) else { return };
    let Ok(good) = openpgp::signed_text(signed, &keys, |_| true, Timestamp::UNIX_EPOCH) else { return };
    for line in good.text.lines().map(str::trim) {
        assert!(signed.contains(line), "{line:?} is not in what was signed");
    }
}

/// Whether the lines of one text stand in another one, in their order.
fn is_within(less: &str, more: &str) -> bool {
    let mut lines = more.split_inclusive('\n');
    less.split_inclusive('\n').all(|line| lines.any(|other| other == line))
}
