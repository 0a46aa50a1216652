//! In what order members move, and what happens when that goes wrong.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::Merge;
use crate::selector::Selector;

/// What happens after a failed wave (policy, section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnFailure {
    /// The release climbs no further; a newer one may overtake it.
    #[default]
    Hold,
    /// Nothing new starts on this tier until all members are healthy on the release (the rule of Argo
    /// CD's `ApplicationSet`).
    Stall,
    /// The previous version is restored on this tier by a pull request.
    RollBack {
        /// Who merges that pull request.
        merge: Merge,
    },
}

/// In what order the members of a wave move (policy, section 4).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Strategy {
    /// All members in one pull request.
    #[default]
    AllAtOnce,
    /// So many at a time, in a stable order.
    RollingUpdate {
        /// How many.
        max_update: MaxUpdate,
        /// The key of a label: the clusters of one of its values move after those of another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// By weight, with pauses; no steps = all at once.
    Canary {
        /// In order.
        steps: Vec<Step>,
    },
    /// A preview first, then the rest at once.
    BlueGreen {
        /// Which members are the preview.
        preview: Selector,
        /// A workflow that has to succeed before the rest follows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verify: Option<Verify>,
        /// Who lets the rest follow.
        promote: Promote,
    },
    /// One pull request; the controller in the clusters orders the syncs, the bot reads.
    Delegated,
}

/// How many members move at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MaxUpdate {
    /// All of them: the key is absent, or 0.
    #[default]
    All,
    /// So many.
    Count(u32),
    /// This share, rounded down, at least one.
    Percent(u8),
}

impl MaxUpdate {
    /// The number for so many members; at least one, at most all.
    pub fn of(self, members: usize) -> usize {
        let most = members.max(1);
        match self {
            Self::All | Self::Count(0) | Self::Percent(0) => most,
            Self::Count(count) => (count as usize).min(most),
            Self::Percent(share) => (members * usize::from(share) / 100).clamp(1, most),
        }
    }
}

/// One step of a canary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// The share of members on the new version, in percent.
    SetWeight(u8),
    /// Waits this long after convergence; none = until a person resumes.
    Pause(Option<SignedDuration>),
    /// Dispatches a workflow of the hub for this release and waits for its success.
    Verify {
        /// Its file.
        workflow: String,
        /// How long it may take.
        timeout: SignedDuration,
    },
}

/// A workflow of the hub that verifies what has moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// Its file.
    pub workflow: String,
    /// How long it may take.
    pub timeout: SignedDuration,
}

/// Who lets the rest of a blue-green wave follow its preview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Promote {
    /// The bot, when the preview is healthy.
    #[default]
    Automatic,
    /// A person: `/coldframe resume`.
    Manual,
}
