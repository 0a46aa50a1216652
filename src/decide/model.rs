//! The policy as the planner reads it: ladders with every default filled in. How a person writes
//! it, and where errors point, is the `policy` room of the bot.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::constraint::Constraint;
use crate::selector::Selector;
use crate::window::Windows;
use crate::{Person, PluginName, TierName, Version};

/// One policy file, resolved: presets merged, defaults filled in, overrides of plugins applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// Windows of the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
    /// Freezes written in the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub freezes: Vec<Freeze>,
    /// Shared caps.
    #[serde(default)]
    pub limits: Limits,
    /// Plugins in the order of the file.
    pub plugins: Vec<PluginPolicy>,
}

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
}

/// One rung of a plugin's ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tier {
    /// Its name.
    pub name: TierName,
    /// Which clusters belong to it.
    #[serde(default)]
    pub select: Selector,
    /// Who merges, by bump.
    #[serde(default)]
    pub merge: MergeRule,
    /// Whose approval is needed where the rule says `approved` or `manual`.
    #[serde(default)]
    pub approvals: Approvals,
    /// How long all members must be healthy before the release has finished this tier.
    #[serde(default)]
    pub soak: Soak,
    /// When a member counts as failed.
    #[serde(default)]
    pub health: HealthRule,
    /// Windows of this tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
    /// Versions accepted on this tier, beside the plugin's own constraint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<Constraint>,
    /// The grace period, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<Force>,
    /// What happens after a failed wave.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// In what order the members move.
    #[serde(default)]
    pub strategy: Strategy,
}

/// Who merges, by size of the step; a pre-release counts as the step that its numbers make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergeRule {
    /// Patch releases.
    pub patch: Merge,
    /// Minor releases.
    pub minor: Merge,
    /// Major releases.
    pub major: Merge,
}

impl Default for MergeRule {
    fn default() -> Self {
        Self::all(Merge::Approved)
    }
}

impl MergeRule {
    /// The same rule for each size of step.
    pub const fn all(merge: Merge) -> Self {
        Self { patch: merge, minor: merge, major: merge }
    }

    /// The rule for the step from `from` to `to`; a first install is a major step.
    pub fn of(&self, from: Option<&Version>, to: &Version) -> Merge {
        let Some(from) = from else { return self.major };
        let ((major, minor, _), (was_major, was_minor, _)) = (to.core(), from.core());
        if major != was_major {
            self.major
        } else if minor != was_minor {
            self.minor
        } else {
            self.patch
        }
    }
}

/// Who presses the button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Merge {
    /// The bot, when the gates pass; no approval is asked for.
    Automatic,
    /// The bot, when the gates pass and the approvals are there.
    #[default]
    Approved,
    /// A person; the check says when.
    Manual,
}

/// Whose approval lets a wave through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Approvals {
    /// Every changed path that CODEOWNERS gives an owner needs one of them.
    pub code_owners: bool,
    /// The number of people, at least.
    pub at_least: u32,
}

impl Default for Approvals {
    fn default() -> Self {
        Self { code_owners: true, at_least: 1 }
    }
}

/// How long a tier must be healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Soak {
    /// Time in which all members are healthy; zero = convergence is enough.
    pub min: SignedDuration,
}

/// When a member of a wave counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HealthRule {
    /// From landing until every member is healthy; a member that is not by then has failed.
    pub progress_deadline: SignedDuration,
    /// A member that is degraded this long has failed.
    pub degraded_for: SignedDuration,
    /// Failed members that are tolerated.
    pub max_failures: u32,
    /// Members of unknown health that are tolerated.
    pub max_unknown: u32,
    /// A reading older than this says nothing any more.
    pub max_age: SignedDuration,
}

impl Default for HealthRule {
    /// Two hours to converge: a Greenhouse tier retries for up to 105 minutes before it gives up
    /// (design: health of Greenhouse). Five minutes degraded: shorter than a person's patience,
    /// longer than a rolling restart.
    fn default() -> Self {
        Self {
            progress_deadline: SignedDuration::from_hours(2),
            degraded_for: SignedDuration::from_mins(5),
            max_failures: 0,
            max_unknown: 0,
            max_age: SignedDuration::from_mins(5),
        }
    }
}

/// A grace period: what happens when nobody approves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Force {
    /// From the opened and announced pull request to the merge without the missing approvals.
    pub after: SignedDuration,
    /// How long before the deadline people are told, longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notice: Vec<SignedDuration>,
}

/// What happens after a failed wave. `stall` and `rollBack` of the policy page are yet to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnFailure {
    /// The release climbs no further; a newer one may overtake it.
    #[default]
    Hold,
}

/// In what order members move. The strategies with slices are yet to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Strategy {
    /// All members in one pull request.
    #[default]
    AllAtOnce,
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

/// A stop of every merge in scope. It cannot be waived by force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Ends by itself; none = when somebody takes it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Freeze {
    /// Whether it stops this plugin on this tier at `now`.
    pub fn covers(&self, plugin: &PluginName, tier: &TierName, now: Timestamp) -> bool {
        (self.tiers.is_empty() || self.tiers.contains(tier))
            && (self.plugins.is_empty() || self.plugins.contains(plugin))
            && self.until.is_none_or(|until| now < until)
    }
}
