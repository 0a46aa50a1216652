//! What people said by command and by label, where it outlives the pull request on which they said it.

use alloc::string::String;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::Hotfix;
use crate::{Person, PluginName, PullNumber, Sha, TierName, Version};

/// A rebuild of a lost ledger that a person confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rebuild {
    /// The commit that was given up.
    pub cited: Sha,
    /// Who confirmed it.
    pub by: Person,
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// The pull request on which they did.
    pub pull: PullNumber,
}

/// A freeze that a person set by a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Frozen {
    /// Only this plugin; none = every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginName>,
    /// Only this tier; none = every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<TierName>,
    /// Who froze it.
    pub by: Person,
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// Why, in their words.
    #[serde(default)]
    pub why: String,
    /// Until when; none = until somebody lifts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// On which pull request they said so.
    pub pull: PullNumber,
    /// Who lifted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifted: Option<Lifted>,
}

impl Frozen {
    /// Whether a plugin on a tier is in its scope.
    pub fn covers(&self, plugin: &PluginName, tier: &TierName) -> bool {
        self.plugin.as_ref().is_none_or(|own| own == plugin) && self.tier.as_ref().is_none_or(|own| own == tier)
    }

    /// Whether it still stops anything.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.lifted.is_none() && self.until.is_none_or(|until| now < until)
    }
}

/// A merge that the bot asked for and that did not land as planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The pull request.
    pub pull: PullNumber,
    /// The head that was to be merged; a person names it to clear the stop.
    pub head: Sha,
    /// When it was found out.
    pub at: Timestamp,
    /// What is wrong with it.
    pub why: String,
    /// Who cleared it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleared: Option<Lifted>,
}

/// Who lifted a freeze, or cleared a stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lifted {
    /// Who.
    pub by: Person,
    /// When, by the hub's clock.
    pub at: Timestamp,
}

/// The end of a freeze: which one (pull request, time, author), and who lifted it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thawed {
    /// On which pull request it was set.
    pub pull: PullNumber,
    /// When it was set.
    pub at: Timestamp,
    /// Who set it.
    pub by: Person,
    /// Who lifted it.
    pub lifted: Lifted,
}

/// A release that a person made a hotfix by a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hotfixed {
    /// As an entry of `hotfixes` in the policy file would say it.
    pub hotfix: Hotfix,
    /// Who.
    pub by: Person,
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// On which pull request they said so.
    pub pull: PullNumber,
}

/// A pull request whose label keeps its release from the tiers above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labelled {
    /// Which one.
    pub pull: PullNumber,
    /// Of which tier.
    pub tier: TierName,
    /// Of which release.
    pub version: Version,
    /// When we saw the label.
    pub at: Timestamp,
}
