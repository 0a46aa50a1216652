//! What of a release may break, as facts. Who finds them compares two charts and the values of the
//! clusters; what follows from them is in `gate::breaking`.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{ClusterName, Version};

/// One thing that makes a release breaking (policy, section 2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreakingFact {
    /// What it is.
    pub what: Breaking,
    /// When it was found.
    pub at: Timestamp,
}

impl fmt::Display for BreakingFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Breaking::OptionRequired { option } => write!(f, "`{option}` is required and has no default"),
            Breaking::OptionRemoved { option } => write!(f, "`{option}`, which the config sets, is gone"),
            Breaking::OptionRetyped { option } => write!(f, "`{option}`, which the config sets, has another type"),
            Breaking::Annotated { words } if words.is_empty() => f.write_str("its author marked it"),
            Breaking::Annotated { words } => write!(f, "its author marked it: {words}"),
            Breaking::CommitMarked { words } if words.is_empty() => f.write_str("a commit marks it"),
            Breaking::CommitMarked { words } => write!(f, "a commit marks it: {words}"),
            Breaking::Changed { words } => f.write_str(words),
            Breaking::Uncompared { from, why } => write!(f, "nobody could compare it with {from}: {why}"),
            Breaking::KubeVersion { asks, members } => {
                write!(f, "it asks for Kubernetes {asks}, which excludes ")?;
                for (index, member) in members.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{member}")?;
                }
                Ok(())
            }
        }
    }
}

/// The kinds of breaking facts. A major bump (minor for 0.x) is compared by the planner itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Breaking {
    /// A required option or value without a default appeared.
    OptionRequired {
        /// Its name.
        option: String,
    },
    /// An option that the config sets was removed.
    OptionRemoved {
        /// Its name.
        option: String,
    },
    /// An option that the config sets changed its type.
    OptionRetyped {
        /// Its name.
        option: String,
    },
    /// An annotation of the chart says so, in these words; data, never markup.
    Annotated {
        /// The words.
        words: String,
    },
    /// The message of a commit says so.
    CommitMarked {
        /// The words.
        words: String,
    },
    /// Something else of the chart has changed, in these words; data, never markup.
    Changed {
        /// The words.
        words: String,
    },
    /// It was not compared with the release before it.
    Uncompared {
        /// That release.
        from: Version,
        /// Why not.
        why: String,
    },
    /// `kubeVersion` excludes members.
    KubeVersion {
        /// The constraint.
        asks: String,
        /// Whom it excludes.
        members: Vec<ClusterName>,
    },
}

/// A required value that the config of a member lacks. Neither acknowledgement nor force passes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MissingValue {
    /// Whose config.
    pub cluster: ClusterName,
    /// Which value.
    pub option: String,
}

impl fmt::Display for MissingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` for {}", self.option, self.cluster)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn each_fact_is_a_sentence() {
        let option = || "host".to_string();
        let facts = [
            (Breaking::OptionRequired { option: option() }, "`host` is required and has no default"),
            (Breaking::OptionRemoved { option: option() }, "`host`, which the config sets, is gone"),
            (Breaking::OptionRetyped { option: option() }, "`host`, which the config sets, has another type"),
            (Breaking::Changed { words: "the chart is a library now".to_string() }, "the chart is a library now"),
            (
                Breaking::Uncompared { from: "1.0.0".parse().unwrap(), why: "it is not there".to_string() },
                "nobody could compare it with 1.0.0: it is not there",
            ),
        ];
        for (what, said) in facts {
            assert_eq!(BreakingFact { what, at: Timestamp::UNIX_EPOCH }.to_string(), said);
        }
    }
}
