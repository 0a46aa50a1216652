//! A merge as the ledger keeps it: what was asked for, what allowed it without the missing approvals, what the hub
//! said to it. Who decides that is `gate::grace` and `gate::force_command`.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Person, Sha};

/// Why a merge without the missing approvals was allowed (policy, section 6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForceEvidence {
    /// The deadline that passed; none where somebody said so instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Who said that it shall not wait for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    /// Notices that went out.
    pub notices: Vec<crate::snapshot::SentNotice>,
    /// The gates that held, one sentence each.
    pub held: Vec<String>,
    /// What was waived, one sentence.
    pub waived: String,
    /// The policy at that moment.
    pub policy: Sha,
}

/// A person's word that a pull request shall merge without the missing approvals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// Who.
    pub by: Person,
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// Why.
    pub why: String,
}

/// A merge that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merging {
    /// The head that was to be merged.
    pub head: Sha,
    /// When the request was about to be sent.
    pub at: Timestamp,
    /// Where the base branch was; what came to it since then is the proof of the merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Sha>,
    /// What allowed it without the missing approvals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced: Option<ForceEvidence>,
}

/// A merge that the hub did not do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// Which head.
    pub head: Sha,
    /// When it said so last.
    pub at: Timestamp,
    /// What it said, as data.
    pub why: String,
    /// How often in a row; each time it is left alone for longer.
    pub times: u32,
    /// Whether the head has to be written anew before it is tried again.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub anew: bool,
    /// Whether a head before this one had to be written anew, too: then writing it anew waits like any other try.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub again: bool,
    /// Whether it may have merged it all the same: it did not answer, or its yes is not to be seen.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub unsure: bool,
    /// How often in a row it said of this head that it merged it, when the base branch had nothing of it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub false_yes: u32,
}

/// Why a merge did not come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Refusal {
    /// The hub said no, or was not asked: nothing can have come of it.
    No,
    /// The head is not what was planned: it has to be written anew before it is tried again.
    Flawed,
    /// The hub did not say, and the base branch has nothing of it.
    Unanswered,
    /// The hub said yes, and the base branch has nothing of it.
    FalseYes,
}

/// So many times in a row a hub may say of one head that it merged it, and have nothing of it: after that it lies.
pub(crate) const FALSE_YES: u32 = 3;

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Refused {
    /// What is kept after one more refusal.
    pub(super) fn after(before: Option<&Self>, (head, at): (Sha, Timestamp), why: String, kind: Refusal) -> Self {
        let yes = before.filter(|before| before.head == head).map_or(0, |before| before.false_yes);
        let (anew, unsure, false_yes) = match kind {
            Refusal::No => (false, false, 0),
            Refusal::Flawed => (true, false, 0),
            // Nobody asks again after so many lies, unless a person cleared them: then silence is not one more of them.
            Refusal::Unanswered => (false, true, yes.min(FALSE_YES - 1)),
            Refusal::FalseYes => (false, true, yes.saturating_add(1)),
        };
        let times = before.map_or(1, |before| before.times.saturating_add(1));
        let again = before.is_some_and(|before| before.anew || before.again);
        Self { head, at, why, times, anew, again, unsure, false_yes }
    }

    /// Whether the head is to be written anew now: the first time at once, whatever the hub refused before, and after that
    /// no sooner than it may be tried again.
    pub fn rewrites(&self, now: Timestamp) -> bool {
        self.anew && (!self.again || now >= self.until())
    }

    /// When it may be tried again: ten seconds after the first time, then four times as long after each, and never
    /// more than six hours (`docs/attacks.md`, F32).
    pub fn until(&self) -> Timestamp {
        let seconds = 10_i64.saturating_mul(4_i64.saturating_pow(self.times.saturating_sub(1)));
        self.at + SignedDuration::from_secs(seconds.min(6 * 3600))
    }
}
