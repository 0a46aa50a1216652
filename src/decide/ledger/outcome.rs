//! What is known of a wave: what was written and said for it, and what has become of it.

use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::reason::MemberTrouble;
use crate::{Person, PullNumber, Reason, Sha, Version};

/// A commit that the bot wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The commit.
    pub commit: Sha,
    /// When it was written; approvals count only after it.
    pub at: Timestamp,
    /// Whether it changes what the one before it changes, on a newer base: what was said of that one is said of it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub repeats: bool,
}

/// The pull request as the hub showed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Announced {
    /// Its number.
    pub number: PullNumber,
    /// When the hub says it was opened.
    pub at: Timestamp,
}

/// A running grace period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grace {
    /// From when it counts.
    pub since: Timestamp,
    /// The deadline as it was last announced; it never moves earlier.
    pub deadline: Timestamp,
    /// Notices that were really sent, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<crate::snapshot::SentNotice>,
    /// The one that is about to be given, and since when; the hub does not show it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub giving: Option<crate::snapshot::SentNotice>,
}

/// Proof that the version is on the base branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Landed {
    /// When: the hub's merge time, or our first sight of it.
    pub at: Timestamp,
    /// The commit on the base branch, when one pull request did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Sha>,
    /// Who merged it, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Person>,
}

/// How far a soak has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Soaked {
    /// Time in which all members were healthy.
    pub healthy_for: SignedDuration,
    /// The instant up to which that was observed.
    pub until: Timestamp,
    /// Whether it stood still at that instant: somebody progressing, suspended or unknown.
    #[serde(default)]
    pub paused: bool,
    /// Since when we have seen somebody degraded, look after look; for signals that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ailing: Option<Timestamp>,
    /// The first look at which all were healthy since it landed, or since somebody was degraded; none
    /// while nobody has looked better since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Timestamp>,
}

/// What was not waited for any more (`soak.max`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LetThrough {
    /// When.
    pub at: Timestamp,
    /// How long it had been on the base branch, at least.
    pub after: SignedDuration,
    /// Members whose health was missing or slow then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberTrouble>,
}

/// Why a wave failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failed {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub why: Reason,
}

impl Failed {
    /// Who said so, and why in their words; none where it was seen.
    pub(crate) fn said(&self) -> Option<(&Person, &str)> {
        let Reason::FailedBy { by, why } = &self.why else { return None };
        Some((by, why))
    }

    /// Whether it failed because it was taken from the base branch.
    pub(crate) fn is_reverted(&self) -> bool {
        matches!(self.why, Reason::Reverted { .. })
    }
}

/// Who said no to a release on a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rejected {
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// Who; none when the hub does not say.
    pub by: Option<Person>,
    /// The pull request that was closed.
    pub pull: PullNumber,
}

/// Which release took a wave's place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Superseded {
    /// When.
    pub at: Timestamp,
    /// The newer one.
    pub by: Version,
}

/// Why the bot took a pull request back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Withdrawn {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub why: Reason,
}
