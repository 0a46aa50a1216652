//! How often each reason, action, happening and fault occurred. The names come from the enums' own
//! sources, so that one that never occurs is seen.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};

use decide::Reason;

/// Counts by kind and name.
#[derive(Clone, Debug, Default)]
pub struct Tally(BTreeMap<&'static str, BTreeMap<String, u64>>);

/// Kinds of which every name has to occur, with the source and the enum that lists them.
const KINDS: [(&str, &str, &str); 6] = [
    ("reason", include_str!("../../src/decide/reason.rs"), "pub enum Reason {"),
    ("action", include_str!("../../src/decide/plan.rs"), "pub enum Action {"),
    ("change", include_str!("../../src/decide/ledger/mod.rs"), "pub enum Change {"),
    ("state", include_str!("../../src/decide/plan.rs"), "pub enum WaveState {"),
    ("happening", include_str!("scenario.rs"), "pub enum Happening {"),
    ("cut", include_str!("scenario.rs"), "pub enum Cut {"),
];

/// The name of a variant.
pub fn name_of(what: &impl Debug) -> String {
    let mut name = Name(String::new());
    let _ = write!(name, "{what:?}"); // stops after the name
    name.0
}

impl Tally {
    pub fn count(&mut self, kind: &'static str, name: &str) {
        let names = self.0.entry(kind).or_default();
        match names.get_mut(name) {
            Some(count) => *count += 1,
            None => {
                names.insert(name.to_string(), 1);
            }
        }
    }

    /// Counts a variant by its name.
    pub fn variant(&mut self, kind: &'static str, what: &impl Debug) {
        self.count(kind, &name_of(what));
    }

    /// Counts a reason, and what it rests on.
    pub fn reason(&mut self, why: &Reason) {
        self.variant("reason", why);
        match why {
            Reason::ForceBlocked { by: why }
            | Reason::HotfixThroughWindows { closed: why, .. }
            | Reason::HotfixVoid { why, .. }
            | Reason::ForceWaits { why, .. }
            | Reason::ReleaseHeld { why, .. }
            | Reason::HealthLost { why }
            | Reason::Stalled { why }
            | Reason::RollsBack { why, .. }
            | Reason::NoRollBack { why } => self.reason(why),
            _ => {}
        }
    }

    pub fn add(&mut self, other: &Self) {
        for (kind, names) in &other.0 {
            for (name, count) in names {
                *self.0.entry(kind).or_default().entry(name.clone()).or_default() += count;
            }
        }
    }

    /// Names that are listed and never occurred.
    pub fn silent(&self) -> Vec<String> {
        let of_kind = |(kind, source, opening): (&'static str, &str, &str)| {
            let counted = self.0.get(kind);
            let names = variants(source, opening);
            assert!(!names.is_empty(), "no variants of `{opening}` found");
            let silent = names.into_iter().filter(move |name| counted.is_none_or(|names| !names.contains_key(name)));
            silent.map(move |name| format!("{kind} {name}")).collect::<Vec<_>>()
        };
        KINDS.into_iter().flat_map(of_kind).collect()
    }

    /// A line a name, by kind, the most frequent first.
    #[cfg(not(test))]
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (kind, names) in &self.0 {
            let mut names: Vec<_> = names.iter().collect();
            names.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
            text.push_str(&format!("{kind}\n"));
            for (name, count) in names {
                text.push_str(&format!("  {count:>12}  {name}\n"));
            }
        }
        text
    }
}

/// Takes the first word and refuses the rest.
struct Name(String);

impl Write for Name {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
        self.0.push_str(&text[..end]);
        Err(std::fmt::Error)
    }
}

/// The names of an enum's variants, out of its source as rustfmt leaves it.
fn variants(source: &str, opening: &str) -> Vec<String> {
    let body = source.split_once(opening).map_or("", |(_, body)| body);
    let body = body.split_once("\n}").map_or("", |(body, _)| body);
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    names.map(|line| line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("").to_string()).collect()
}
