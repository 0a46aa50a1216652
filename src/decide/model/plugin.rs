//! What one plugin follows: its ladder, and which of its releases are taken.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::Tier;
use crate::constraint::Constraint;
use crate::selector::Selector;
use crate::window::Windows;
use crate::{PluginName, TierName, Version};

/// What one plugin follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginPolicy {
    /// Its name.
    pub name: PluginName,
    /// Versions that are accepted at all; none = every release that is not a pre-release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<Constraint>,
    /// Windows of this plugin, beside the file's and the tier's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
    /// The ladder in order of promotion, with this plugin's overrides applied.
    pub tiers: Vec<Tier>,
    /// Whether pre-releases are accepted where no constraint names one.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub prereleases: bool,
    /// Edges that must not be taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// Checks that must be green on the releasing commit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Whether a release has to be signed; by whom, the observer knows.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub signed: bool,
    /// Which release a free tier takes.
    #[serde(default, skip_serializing_if = "Next::is_default")]
    pub next: Next,
    /// Releases within this time of each other are taken together at the first tier.
    #[serde(default, skip_serializing_if = "SignedDuration::is_zero")]
    pub cooldown: SignedDuration,
    /// Releases that may pass a climbing one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hotfixes: Vec<Hotfix>,
    /// Plugins that go before this one on each tier.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<After>,
    /// Clusters that stay on a version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pin>,
    /// Versions that people are told to leave (Gardener's classification).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<Constraint>,
    /// Versions that clusters must leave by a date.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expires: Vec<Expiry>,
    /// The number of versions that may run at once; the oldest beyond it expires after the grace
    /// period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_live: Option<u32>,
}

impl PluginPolicy {
    /// A plugin with every default.
    pub fn new(name: PluginName, tiers: Vec<Tier>) -> Self {
        Self {
            name,
            constraint: None,
            windows: None,
            tiers,
            prereleases: false,
            blocks: Vec::new(),
            checks: Vec::new(),
            signed: false,
            next: Next::default(),
            cooldown: SignedDuration::ZERO,
            hotfixes: Vec::new(),
            after: Vec::new(),
            pins: Vec::new(),
            deprecated: None,
            expires: Vec::new(),
            max_live: None,
        }
    }
}

/// An edge that must not be taken, from the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Block {
    /// Where the edge begins; none = anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Constraint>,
    /// Where it ends.
    pub to: Constraint,
    /// Why.
    pub why: String,
    /// The version that mends it, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_in: Option<Version>,
    /// Only above this tier; none = everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<TierName>,
}

/// Which release a free tier takes (policy, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Next {
    /// The newest that finished the tier below.
    #[default]
    NewestFinished,
    /// The next one; none is skipped.
    Every,
    /// A new release abandons the climb of the old one (the rule of Argo CD's `ApplicationSet`).
    Restart,
}

impl Next {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A release that may pass a climbing one. It never skips the proof of its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hotfix {
    /// Which one.
    pub version: Version,
    /// Why.
    pub why: String,
    /// Its own soak on every tier; none = the tier's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<SignedDuration>,
    /// Whether it may be merged through closed windows (never through a freeze).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub through_windows: bool,
}

/// A plugin that goes before another on each tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// Which one.
    pub plugin: PluginName,
    /// What must run there; none = whatever does, with no unfinished wave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Constraint>,
}

/// Clusters that stay on a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// Which clusters.
    pub select: Selector,
    /// On which version; none = on the one that stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Until when; past it the cluster is brought up like a forced one. None = until somebody takes
    /// it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Why.
    pub why: String,
}

/// Versions that clusters must leave by a date.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expiry {
    /// Which versions.
    pub versions: Constraint,
    /// From when on clusters on them are brought up even where force is off.
    pub at: Timestamp,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}
