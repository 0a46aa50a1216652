//! What reasons are made of: whose rule it is, what is wrong with a cluster, and how durations, lists and
//! people are spelled. The reasons are in the room above.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::ClusterName;

/// Whose window, freeze or rule it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// The operator of the bot.
    Operator,
    /// The whole file.
    File,
    /// The tier.
    Tier,
    /// The plugin.
    Plugin,
    /// The clusters that a pull request changes.
    Clusters,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Operator => "bot's operator",
            Self::File => "policy file",
            Self::Tier => "tier",
            Self::Plugin => "plugin",
            Self::Clusters => "clusters",
        })
    }
}

/// One member that is not where it should be, with the evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemberTrouble {
    /// The cluster.
    pub cluster: ClusterName,
    /// What is wrong: `degraded`, `still on 1.14.7`, `not read`.
    pub what: String,
    /// The signal and its evidence, as data.
    #[serde(default)]
    pub evidence: String,
    /// Since when, by the object's own times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

impl fmt::Display for MemberTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.cluster, self.what)?;
        if self.evidence.is_empty() { Ok(()) } else { write!(f, " ({})", self.evidence) }
    }
}

/// `2 h 5 min`, `3 d`, `45 s`: at most two units, for people.
pub fn spell(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    let parts =
        [(seconds / 86_400, "d"), (seconds % 86_400 / 3_600, "h"), (seconds % 3_600 / 60, "min"), (seconds % 60, "s")];
    let Some(first) = parts.iter().position(|(amount, _)| *amount > 0) else { return "0 s".to_string() };
    let mut text = format!("{} {}", parts[first].0, parts[first].1);
    if let Some((amount, unit)) = parts.get(first + 1).filter(|(amount, _)| *amount > 0) {
        text.push_str(&format!(" {amount} {unit}"));
    }
    text
}

pub(super) fn list<T: fmt::Display>(items: &[T]) -> String {
    let mut text = String::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        text.push_str(&item.to_string());
    }
    text
}

pub(super) fn people(owners: &[String], missing: u32) -> String {
    match (owners.is_empty(), missing) {
        (true, 1) => "waits for an approval by somebody with write access".to_string(),
        (true, _) => format!("waits for {missing} approvals by people with write access"),
        (false, 1) => format!("waits for an approval by {}", list(owners)),
        (false, _) => format!("waits for {missing} approvals, among them {}", list(owners)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_two_units_at_most_and_no_empty_one() {
        for (seconds, words) in [
            (-5, "0 s"),
            (0, "0 s"),
            (45, "45 s"),
            (60, "1 min"),
            (61, "1 min 1 s"),
            (3_600, "1 h"),
            (3_661, "1 h 1 min"),
            (7_500, "2 h 5 min"),
            (86_400, "1 d"),
            (90_061, "1 d 1 h"),
            (86_460, "1 d"),
        ] {
            assert_eq!(spell(SignedDuration::from_secs(seconds)), words, "{seconds}");
        }
    }
}
