//! Which part of a climb a wave is, and what is waited for before it.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::model::Verify;
use crate::{Clusters, Version};

/// Which part of a release's climb on one tier a wave is. A release that moves in slices has one wave
/// per slice, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Part {
    /// What it is for.
    #[serde(default)]
    pub purpose: Purpose,
    /// Which slice, from 0.
    #[serde(default)]
    pub slice: u32,
    /// The clusters of every slice, fixed when the first one is opened; empty = one slice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partition: Vec<Clusters>,
    /// What is waited for before each slice, in order. Empty = nothing at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Vec<Wait>>,
    /// Failed members that were tolerated when the first slice was opened; none = as the tier says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
}

impl Part {
    /// Whether it is the whole of an ordinary climb.
    pub fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    /// The number of slices.
    pub fn slices(&self) -> usize {
        self.partition.len().max(1)
    }

    /// Whether two are the same slice of a climb for the same purpose.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.purpose == other.purpose && self.slice == other.slice
    }

    /// The places of this slice's clusters among all of them, from 1, and how many there are; none
    /// where there is one slice. Of clusters that have left since the place is kept.
    pub fn span(&self) -> Option<(usize, usize, usize)> {
        let sizes: Vec<usize> = self.partition.iter().map(|slice| slice.len()).collect();
        let size = *sizes.get(self.slice as usize)?;
        let before: usize = sizes.iter().take(self.slice as usize).sum();
        Some((before + 1, before + size, sizes.iter().sum()))
    }
}

/// What is waited for before a slice, beside the health of those that have moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Wait {
    /// A workflow of the hub has to succeed.
    Verify(Verify),
    /// A time; none = until somebody resumes.
    Pause(Option<SignedDuration>),
}

/// A workflow that the bot dispatched, or was about to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    /// What its run is found by; no other one has it.
    pub id: String,
    /// Before which slice, from 0.
    pub slice: u32,
    /// Which of the waits before that slice, from 0; of what verifies the whole tier the largest number.
    pub step: u32,
    /// When it was about to be dispatched.
    pub at: Timestamp,
    /// When its success was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<Timestamp>,
}

/// What a wave is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Purpose {
    /// The climb of a release.
    #[default]
    Promotion,
    /// Clusters that joined the tier, or whose pin ended, after the release had finished it.
    CatchUp,
    /// Clusters that are ahead of their tier.
    Early,
    /// The version before a failed release comes back.
    RollBack {
        /// The release that failed.
        of: Version,
    },
}
