//! The message of a ledger commit: what was decided, for a person who reads the history.

use decide::Entry;
use decide::sentence::weight;

const MAX_LINES: usize = 200;
const MAX_CHARACTERS: usize = 400;

/// The headline is the weightiest entry; the body has a line for each. `writer` names the process,
/// so that two of them never write the same commit and each takes it for its own.
pub(super) fn compose(entries: &[Entry], writer: &str) -> String {
    let first = entries.iter().rev().max_by_key(|entry| weight(entry));
    let mut text = first.map_or_else(|| "the ledger begins".to_string(), |entry| inert(&entry.to_string()));
    let others = entries.len().saturating_sub(1);
    if others > 0 {
        text.push_str(&format!(", and {others} more"));
    }
    text.push_str("\n\n");
    for entry in entries.iter().take(MAX_LINES) {
        text.push_str(&format!("- {}\n", inert(&format!("{entry:#}"))));
    }
    if entries.len() > MAX_LINES {
        text.push_str(&format!("- and {} more\n", entries.len() - MAX_LINES));
    }
    text.push_str(&format!("\nColdframe-Writer: {writer}\n"));
    text
}

/// One line that mentions nobody and hides nothing.
fn inert(text: &str) -> String {
    let hidden =
        |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let mut line = String::new();
    for (count, c) in text.chars().filter(|c| !hidden(*c)).enumerate() {
        if count >= MAX_CHARACTERS {
            line.push('…');
            break;
        }
        match c {
            '@' => line.push_str("(at)"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => line.push(' '),
            c => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use decide::ledger::{Change, Outage, Seen};
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn the_weightiest_entry_is_the_headline() {
        let at: Timestamp = "2026-11-21T09:12:00Z".parse().unwrap();
        let seen = |patch: usize| Entry::Seen {
            plugin: "loki".into(),
            seen: Seen { version: format!("1.0.{patch}").parse().unwrap(), digest: None, first_seen: at },
        };
        let finished = |tier: &str| Entry::Wave {
            plugin: "loki".into(),
            tier: tier.into(),
            version: "1.0.0".parse().unwrap(),
            change: Change::Finished(at),
        };
        let entries = [seen(1), finished("qa"), finished("gold")];
        assert_eq!(
            compose(&entries, "0815"),
            "loki 1.0.0 on qa: finished, and 2 more\n\
             \n\
             - loki 1.0.1: first seen at 2026-11-21T09:12:00Z\n\
             - loki 1.0.0 on qa: finished at 2026-11-21T09:12:00Z\n\
             - loki 1.0.0 on gold: finished at 2026-11-21T09:12:00Z\n\
             \n\
             Coldframe-Writer: 0815\n"
        );
        let one = compose(&[Entry::Outage(Outage { from: at, to: at })], "0815");
        assert!(one.starts_with("the hub was out of reach for 0 s\n\n- "), "{one}");
        let many: Vec<Entry> = (0..300).map(seen).collect();
        let text = compose(&many, "0815");
        assert!(text.starts_with("loki 1.0.0: first seen, and 299 more\n"), "{text}");
        assert!(text.contains("\n- and 100 more\n") && text.lines().count() == 205, "{text}");
    }

    #[test]
    fn a20_text_from_outside_stays_one_dead_line() {
        assert_eq!(inert("a\r\nFixes: @b\u{202e}c\u{2028}d"), "a  Fixes: (at)bc d");
        assert_eq!(inert(&"x".repeat(1000)).chars().count(), MAX_CHARACTERS + 1);
    }
}
