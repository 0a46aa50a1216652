//! One tier of a ladder.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{MergeRule, OnFailure, Strategy, Verify};
use crate::TierName;
use crate::constraint::Constraint;
use crate::selector::Selector;
use crate::window::Windows;

/// One tier of a plugin's ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tier {
    /// Its name.
    pub name: TierName,
    /// Which clusters belong to it.
    #[serde(default)]
    pub select: Selector,
    /// Its base branch; none = the repository's default. Places and pull requests are read there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Who merges, by bump.
    #[serde(default)]
    pub merge: MergeRule,
    /// `merge: none`: the tier follows releases by itself (a branch, a range, an image automation). The
    /// bot opens nothing there, proves the health of what runs and promotes from it. First tier only.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub follows: bool,
    /// Whose approval is needed where the rule says `approved` or `manual`.
    #[serde(default)]
    pub approvals: Approvals,
    /// Merges wait this long after people were told of the pull request, automatic and forced ones
    /// alike; zero = not at all.
    #[serde(default, skip_serializing_if = "SignedDuration::is_zero")]
    pub announce: SignedDuration,
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
    /// For how long after finishing a lost health still counts against the release; zero = not.
    #[serde(default, skip_serializing_if = "SignedDuration::is_zero")]
    pub watch: SignedDuration,
    /// A workflow that has to succeed, once all members were healthy, before the release has finished this tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// What a tier without clusters does.
    #[serde(default, skip_serializing_if = "Empty::is_default")]
    pub empty: Empty,
    /// Clusters that may get, before this tier's turn, a release that finished the first tier.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub early: Vec<Early>,
}

impl Tier {
    /// A tier with every default.
    pub fn new(name: TierName, select: Selector) -> Self {
        Self {
            name,
            select,
            branch: None,
            merge: MergeRule::default(),
            follows: false,
            approvals: Approvals::default(),
            announce: SignedDuration::ZERO,
            soak: Soak::default(),
            health: HealthRule::default(),
            windows: None,
            constraint: None,
            force: None,
            on_failure: OnFailure::default(),
            strategy: Strategy::default(),
            watch: SignedDuration::ZERO,
            verify: None,
            empty: Empty::default(),
            early: Vec::new(),
        }
    }
}

/// What a tier without clusters does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Empty {
    /// The climb stops here with the reason: a selector that matches nothing is most likely a typo.
    #[default]
    Error,
    /// Releases pass it as if they had finished it.
    Pass,
}

impl Empty {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Clusters that are ahead of their tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Early {
    /// Which clusters of the tier.
    pub select: Selector,
    /// Until when; none = until somebody takes it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Whose approval lets a wave through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Approvals {
    /// Every changed path that CODEOWNERS gives an owner needs one of them.
    pub code_owners: bool,
    /// The number of people, at least.
    pub at_least: u32,
    /// The team of the hub that these people are in (`@acme/sre`); none = whoever may write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// Once per tier, or anew for each slice.
    #[serde(default, skip_serializing_if = "Each::is_default")]
    pub each: Each,
    /// Tiers that an approval of this release given here covers, beside this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covers: Vec<TierName>,
}

/// How often a wave of several slices asks for approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Each {
    /// The first slice asks; the others rest on its approval.
    #[default]
    Tier,
    /// Each slice asks.
    Slice,
}

impl Each {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Approvals {
    fn default() -> Self {
        Self { code_owners: true, at_least: 1, team: None, each: Each::Tier, covers: Vec::new() }
    }
}

/// How long a tier must be healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Soak {
    /// Time in which all members are healthy; zero = convergence is enough.
    pub min: SignedDuration,
    /// After this long on the base branch, a missing or slow signal keeps the release no longer; a
    /// failed one always does. None = it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<SignedDuration>,
}

impl Soak {
    /// At least so long, and no end to waiting.
    pub const fn at_least(min: SignedDuration) -> Self {
        Self { min, max: None }
    }
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
    /// (`docs/signals/plugin.md`). Five minutes degraded: shorter than a person's patience,
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
