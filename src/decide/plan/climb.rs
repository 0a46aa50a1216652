//! The climb of a release over the ladder, and clusters that do not take part in it.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::WaveState;
use crate::{ClusterName, PluginName, PullNumber, TierName, Version};

/// The climb of one release over the ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Climb {
    /// The plugin.
    pub plugin: PluginName,
    /// The release.
    pub version: Version,
    /// One line per tier, in order of promotion.
    pub tiers: Vec<ClimbTier>,
}

/// One tier in the climb of a release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClimbTier {
    /// The tier.
    pub tier: TierName,
    /// Where the release stands there.
    pub state: WaveState,
    /// Its clusters there, once they are fixed.
    pub members: u32,
    /// Its pull request there.
    pub pull: Option<PullNumber>,
}

/// A cluster that stays on a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// The cluster.
    pub cluster: ClusterName,
    /// The version on which the policy keeps it, else the one that stands there; none = nobody can read it.
    pub version: Option<Version>,
    /// Until when; none = until somebody takes the pin out.
    pub until: Option<Timestamp>,
    /// Why, in the words of the policy file.
    pub why: String,
}
