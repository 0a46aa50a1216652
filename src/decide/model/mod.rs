//! The policy as the planner reads it: ladders with every default filled in. How a person writes
//! it, and where errors point, is the `policy` room of the bot.

mod merge;
mod plugin;
mod strategy;
mod tier;

use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::selector::Selector;
use crate::window::Windows;
use crate::{Person, PluginName, TierName};

pub use merge::{Merge, MergeRule};
pub use plugin::{After, Block, Expiry, Hotfix, Next, Pin, PluginPolicy};
pub use strategy::{MaxUpdate, OnFailure, Promote, Step, Strategy, Verify};
pub use tier::{Approvals, Each, Early, Empty, Force, HealthRule, Soak, Tier};

/// How many people have to ask for a merge by force where the file does not say: nobody passes everybody alone.
pub const FORCED_BY: u32 = 2;

/// One policy file, resolved: presets merged, defaults filled in, overrides of plugins applied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// Windows of the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
    /// Windows of the operator of the bot, which every repository must obey beside its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_windows: Option<Windows>,
    /// Windows of single clusters, beside those of file, tier and plugin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub maintenance: Vec<Maintenance>,
    /// When pull requests are opened; none = at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<Windows>,
    /// Freezes written in the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub freezes: Vec<Freeze>,
    /// Shared caps.
    #[serde(default)]
    pub limits: Limits,
    /// How many people have to ask for the same merge by force; none = two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force_by: Option<u32>,
    /// Plugins in the order of the file.
    pub plugins: Vec<PluginPolicy>,
}

impl Policy {
    /// How many people have to ask for the same merge by force.
    pub fn force_by(&self) -> usize {
        usize::try_from(self.force_by.unwrap_or(FORCED_BY)).unwrap_or(usize::MAX).max(1)
    }
}

/// Shared caps of a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// Pull requests of the bot open at once; none = no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_pulls: Option<u32>,
    /// Clusters whose version the bot's merges change in any sixty minutes; none = no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters_per_hour: Option<u32>,
}

/// Windows of some clusters, on whichever tier they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Maintenance {
    /// Whose.
    pub select: Selector,
    /// When a merge may change one of them.
    pub windows: Windows,
}

/// A stop of every merge in scope. It cannot be waived by force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Freeze {
    /// Why, in the words of who wrote it.
    pub why: String,
    /// Who, when the file says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Person>,
    /// Only these tiers; empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierName>,
    /// Only these plugins; empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<PluginName>,
    /// Only waves with a cluster that this selects; none = all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<Selector>,
    /// Ends by itself; none = when somebody takes it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Freeze {
    /// Whether it stops this plugin on this tier at `now`, whichever clusters it selects.
    pub fn covers(&self, plugin: &PluginName, tier: &TierName, now: Timestamp) -> bool {
        (self.tiers.is_empty() || self.tiers.contains(tier))
            && (self.plugins.is_empty() || self.plugins.contains(plugin))
            && self.until.is_none_or(|until| now < until)
    }
}
