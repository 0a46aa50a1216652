//! Who merges a step of which size.

use serde::{Deserialize, Serialize};

use crate::Version;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::version;

    #[test]
    fn the_size_of_the_step_says_who_merges() {
        let rule = MergeRule { patch: Merge::Automatic, minor: Merge::Approved, major: Merge::Manual };
        for (from, to, expected) in [
            (Some("1.2.3"), "1.2.4", Merge::Automatic),
            (Some("1.2.3"), "1.3.3", Merge::Approved),
            (Some("1.2.3"), "2.2.3", Merge::Manual),
            (Some("1.2.3"), "2.3.4", Merge::Manual),
            (None, "1.2.3", Merge::Manual),
        ] {
            assert_eq!(rule.of(from.map(version).as_ref(), &version(to)), expected, "{from:?} to {to}");
        }
    }
}
