//! The names of all reasons, out of the closed enum itself, so that a new one cannot be forgotten; and
//! what a reason rests on. What they say is in the room above.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::forward_to_deserialize_any;

use super::Reason;

impl Reason {
    /// The name of every reason as the ledger writes it, in the order of the enum.
    pub fn names() -> &'static [&'static str] {
        match Self::deserialize(Asks) {
            Err(Answer(names)) => names,
            Ok(_) => &[],
        }
    }

    /// Its own name, as the ledger writes it.
    pub fn name(&self) -> String {
        let mut word = FirstWord(String::new());
        // It refuses everything after the name.
        let _ = write!(word, "{self:?}");
        let mut letters = word.0.chars();
        letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
    }

    /// This reason, then those that it rests on.
    pub fn chain(&self) -> Vec<&Self> {
        core::iter::successors(Some(self), |reason| reason.rests_on()).collect()
    }

    fn rests_on(&self) -> Option<&Self> {
        if let Self::HotfixThroughWindows { closed: why, .. }
        | Self::HotfixVoid { why, .. }
        | Self::ReleaseHeld { why, .. }
        | Self::HealthLost { why }
        | Self::Stalled { why }
        | Self::RollsBack { why, .. }
        | Self::NoRollBack { why }
        | Self::ForceWaits { why, .. }
        | Self::ForceBlocked { by: why } = self
        {
            return Some(why);
        }
        None
    }
}

/// Takes the first word and refuses the rest.
struct FirstWord(String);

impl fmt::Write for FirstWord {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
        self.0.push_str(&text[..end]);
        Err(fmt::Error)
    }
}

/// Has nothing to read, and answers with the variants that it was asked for.
struct Asks;

/// The variants.
#[derive(Debug)]
struct Answer(&'static [&'static str]);

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing is read here")
    }
}

impl core::error::Error for Answer {}

impl Error for Answer {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}

impl<'de> Deserializer<'de> for Asks {
    type Error = Answer;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Answer> {
        Err(Answer(&[]))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Answer> {
        Err(Answer(variants))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use alloc::string::ToString;

    #[test]
    fn names_come_from_the_enum() {
        assert_eq!(Reason::names().first(), Some(&"firstTier"));
        assert!(Reason::names().len() > 90, "{}", Reason::names().len());
        assert!(Reason::names().contains(&Reason::FirstTier.name().as_str()));
        assert_eq!(Reason::NeedsApproval { owners: Vec::new(), missing: 1 }.name(), "needsApproval");
    }

    #[test]
    fn a_chain_ends_with_what_everything_rests_on() {
        let held = Reason::HealthLost { why: Box::new(Reason::NotLanded) };
        let reason = Reason::ForceBlocked { by: Box::new(held) };
        let names: Vec<String> = reason.chain().into_iter().map(Reason::name).collect();
        assert_eq!(names, ["forceBlocked", "healthLost", "notLanded"]);
    }

    /// What people left out is not said with a colon and nothing behind it.
    #[test]
    fn what_is_empty_is_not_said() {
        use alloc::vec;
        let (by, why) = (crate::Person::from("noor"), String::new());
        let hour = jiff::SignedDuration::from_hours(1);
        let at = crate::testing::noon();
        let version = || crate::testing::version("1.1.0");
        let trouble = || crate::reason::MemberTrouble {
            cluster: "a".into(),
            what: "failed".into(),
            evidence: String::new(),
            since: None,
        };
        let fact = |words: &str| crate::snapshot::BreakingFact {
            what: crate::snapshot::Breaking::CommitMarked { words: words.into() },
            at,
        };
        let said = [
            (Reason::FrozenByCommand { by: by.clone(), why: why.clone() }, "frozen by noor with a command"),
            (Reason::FrozenByCommand { by: by.clone(), why: "x".into() }, "frozen by noor with a command: x"),
            (Reason::Held { by: by.clone(), why: why.clone() }, "held by noor"),
            (Reason::Held { by, why: "x".into() }, "held by noor: x"),
            (
                Reason::SoakOverdue { after: hour, members: vec![] },
                "let through after 1 h although the soak had stood still",
            ),
            (
                Reason::SoakOverdue { after: hour, members: vec![trouble()] },
                "let through after 1 h without: a is failed",
            ),
            (Reason::PastProgressDeadline { deadline: hour, members: vec![] }, "not healthy 1 h after it landed"),
            (
                Reason::PastProgressDeadline { deadline: hour, members: vec![trouble()] },
                "not healthy 1 h after it landed: a is failed",
            ),
            (Reason::Expires { version: version(), at, why }, "1.1.0 is to be left by 2026-11-23T12:00:00Z"),
            (
                Reason::BreakingUnacknowledged { from: version(), to: version(), facts: vec![] },
                "1.1.0 to 1.1.0 may break, and nobody has acknowledged the migration notes",
            ),
            (
                Reason::BreakingUnacknowledged { from: version(), to: version(), facts: vec![fact(""), fact("x")] },
                "1.1.0 to 1.1.0 may break (a commit marks it, a commit marks it: x), and nobody has acknowledged the migration notes",
            ),
        ];
        for (reason, words) in said {
            assert_eq!(reason.to_string(), words);
        }
        let annotated = crate::snapshot::Breaking::Annotated { words: String::new() };
        let annotated = crate::snapshot::BreakingFact { what: annotated, at };
        assert_eq!(annotated.to_string(), "its author marked it");
    }

    #[test]
    fn who_can_unblock_it_is_named() {
        let approval = |owners: &[&str]| {
            let owners = owners.iter().map(ToString::to_string).collect();
            Reason::NeedsApproval { owners, missing: 1 }.unblock()
        };
        assert_eq!(approval(&[]).as_deref(), Some("anybody with write access, by approving"));
        assert_eq!(approval(&["@acme/platform"]).as_deref(), Some("@acme/platform, by approving"));
        let team = |owners: &[&str]| {
            let owners = owners.iter().map(ToString::to_string).collect();
            Reason::NeedsTeam { team: "@acme/sre".into(), owners, missing: 1 }.unblock()
        };
        assert_eq!(team(&[]).as_deref(), Some("members of @acme/sre, by approving"));
        assert_eq!(team(&["@acme/platform"]).as_deref(), Some("members of @acme/sre and @acme/platform, by approving"));
        assert_eq!(Reason::FirstTier.unblock(), None);
    }
}
