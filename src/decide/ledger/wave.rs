//! One release on one tier, as the ledger keeps it: evidence, from which its state is derived.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Merging, Refused};
use crate::clusters::Finder;
use crate::reason::MemberTrouble;
use crate::{ClusterName, Clusters, Digest, Person, PullNumber, Reason, Sha, Version};

/// One release on one tier: the evidence from which its state is derived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wave {
    /// The version.
    pub version: Version,
    /// The version before it, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Version>,
    /// The digest that this wave is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Which part of a tier's climb it is.
    #[serde(default, skip_serializing_if = "Part::is_whole")]
    pub part: Part,
    /// Its clusters, fixed when it was opened.
    pub members: Clusters,
    /// Those of its climb's clusters that have left the tier or were pinned since. Who comes back comes as
    /// a new one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<ClusterName>,
    /// When this wave began, by our clock: intent written, or version found on the base branch.
    pub begun: Timestamp,
    /// The commits that the bot wrote for it, the newest last; none for a wave that others put on the
    /// base branch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<Head>,
    /// The pull request, once it was seen at the hub, and when the hub says it was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull: Option<Announced>,
    /// Its commit and since when an older pull request shows it, by the hub's clock: what was said before was not of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Head>,
    /// The grace period, while the file has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<Grace>,
    /// The merge that the bot asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merging: Option<Merging>,
    /// Why it was not merged when that was last tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// Proof that the version is on the base branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed: Option<Landed>,
    /// When all members were first healthy on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converged: Option<Timestamp>,
    /// Workflows that were dispatched to verify what has moved, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verifications: Vec<Verification>,
    /// How far the soak has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<Soaked>,
    /// When it finished this tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Timestamp>,
    /// What was not waited for, when it finished because the longest soak was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub let_through: Option<LetThrough>,
    /// Since when and why nothing new starts on the tier until all are healthy on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled: Option<Failed>,
    /// When and why it failed here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failed>,
    /// Who said no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Rejected>,
    /// Which newer release took its place before it landed or finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded: Option<Superseded>,
    /// Why the bot took its pull request back, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<Withdrawn>,
}

impl Wave {
    /// A wave of which only the beginning is known.
    pub fn begun(version: Version, members: Clusters, at: Timestamp) -> Self {
        Self {
            version,
            from: None,
            digest: None,
            part: Part::default(),
            members,
            left: Vec::new(),
            begun: at,
            heads: Vec::new(),
            pull: None,
            shown: None,
            grace: None,
            merging: None,
            refused: None,
            landed: None,
            converged: None,
            verifications: Vec::new(),
            soak: None,
            finished: None,
            let_through: None,
            stalled: None,
            failed: None,
            rejected: None,
            superseded: None,
            withdrawn: None,
        }
    }

    /// The merge that the bot asked for, unless the hub has said no to it since: nothing has come of that one. Where it
    /// did not answer, or its yes was not to be seen, something may come still.
    pub fn asked(&self) -> Option<&Merging> {
        let refused = |merging: &Merging| {
            let no = |refused: &Refused| !refused.unsure && refused.head == merging.head && refused.at >= merging.at;
            self.refused.as_ref().is_some_and(no)
        };
        self.merging.as_ref().filter(|merging| self.landed.is_some() || !refused(merging))
    }

    /// The commits of the bot that change what the newest one changes, which is the first.
    pub fn alike(&self) -> impl Iterator<Item = &Head> {
        let mut goes_on = true;
        self.heads.iter().rev().take_while(move |head| core::mem::replace(&mut goes_on, head.repeats))
    }

    /// Whether nothing more can come of it: finished, failed, rejected, superseded or withdrawn.
    pub fn is_over(&self) -> bool {
        self.finished.is_some()
            || self.failed.is_some()
            || self.rejected.is_some()
            || self.superseded.is_some()
            || self.withdrawn.is_some()
    }

    /// Whether the bot took its pull request back or moved it on before it landed.
    pub(super) fn is_shelved(&self) -> bool {
        self.landed.is_none() && (self.superseded.is_some() || self.withdrawn.is_some())
    }

    /// Whether it is a later slice that the bot took back: the climb stands where it was, and may go on.
    pub(crate) fn may_come_again(&self) -> bool {
        let open = self.superseded.is_none() && self.rejected.is_none() && self.failed.is_none();
        self.part.slice > 0 && self.withdrawn.is_some() && self.landed.is_none() && open
    }

    /// Whether it stands on the base branch, unfinished, and everybody of its climb has left: whoever runs it now
    /// came with it, and nobody would ever soak, or end what stalls.
    pub(crate) fn is_deserted(&self) -> bool {
        let stands = self.landed.is_some() && !self.is_over();
        let climbs = self.part.purpose == Purpose::Promotion && self.finished.is_none();
        climbs && (stands || self.may_come_again()) && self.clusters().is_empty()
    }

    /// Its own clusters, those that have left not among them.
    pub fn own(&self) -> Clusters {
        self.staying(core::slice::from_ref(&self.members))
    }

    /// The clusters that have moved: those of every slice that is on the base branch.
    pub fn moved(&self) -> Clusters {
        match &self.landed {
            Some(_) if self.part.partition.is_empty() => self.own(),
            _ => self.staying(&self.part.partition[..self.begun_slices()]),
        }
    }

    /// The slices of its climb that have not moved.
    pub(crate) fn later(&self) -> &[Clusters] {
        &self.part.partition[self.begun_slices()..]
    }

    /// How many slices of its climb are on the base branch.
    fn begun_slices(&self) -> usize {
        let landed = usize::from(self.landed.is_some());
        (self.part.slice as usize + landed).min(self.part.partition.len())
    }

    /// The clusters of every slice, also of those that are still to come.
    pub fn clusters(&self) -> Clusters {
        if self.part.partition.is_empty() { self.own() } else { self.staying(&self.part.partition) }
    }

    /// Those of some slices that have not left.
    pub(crate) fn staying(&self, slices: &[Clusters]) -> Clusters {
        if let ([whole], []) = (slices, self.left.as_slice()) {
            return whole.clone();
        }
        let mut gone = Finder::new(&self.left);
        slices.iter().flatten().filter(|name| !gone.has(name)).cloned().collect()
    }

    /// Whether another wave is a slice of the same climb.
    pub fn climbs_with(&self, other: &Self) -> bool {
        self.version == other.version
            && self.part.purpose == other.part.purpose
            && !self.part.partition.is_empty()
            && self.part.partition == other.part.partition
    }

    /// The commit that its pull request shall have.
    pub fn head(&self) -> Option<&Head> {
        self.heads.last()
    }
}

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

/// A workflow that verifies what has moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// Its file.
    pub workflow: String,
    /// How long it may take.
    pub timeout: SignedDuration,
}

/// A workflow that the bot dispatched, or was about to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    /// What its run is found by; no other one has it.
    pub id: String,
    /// Before which slice, from 0.
    pub slice: u32,
    /// Which of the waits before that slice, from 0.
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

/// A commit that the bot wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The commit.
    pub commit: Sha,
    /// When it was written; approvals count only after it.
    pub at: Timestamp,
    /// Whether it changes what the one before it changes, on a newer base: what was said of that one is said of it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub repeats: bool,
}

/// The pull request as the hub showed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Announced {
    /// Its number.
    pub number: PullNumber,
    /// When the hub says it was opened.
    pub at: Timestamp,
}

/// A running grace period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grace {
    /// From when it counts.
    pub since: Timestamp,
    /// The deadline as it was last announced; it never moves earlier.
    pub deadline: Timestamp,
    /// Notices that were really sent, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<crate::snapshot::SentNotice>,
    /// The one that is about to be given, and since when; the hub does not show it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub giving: Option<crate::snapshot::SentNotice>,
}

/// Proof that the version is on the base branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Landed {
    /// When: the hub's merge time, or our first sight of it.
    pub at: Timestamp,
    /// The commit on the base branch, when one pull request did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Sha>,
    /// Who merged it, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Person>,
}

/// How far a soak has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Soaked {
    /// Time in which all members were healthy.
    pub healthy_for: SignedDuration,
    /// The instant up to which that was observed.
    pub until: Timestamp,
    /// Whether it stood still at that instant: somebody progressing, suspended or unknown.
    #[serde(default)]
    pub paused: bool,
    /// Since when we have seen somebody degraded, look after look; for signals that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ailing: Option<Timestamp>,
    /// The first look at which all were healthy since it landed, or since somebody was degraded; none
    /// while nobody has looked better since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Timestamp>,
}

/// What was not waited for any more (`soak.max`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LetThrough {
    /// When.
    pub at: Timestamp,
    /// How long it had been on the base branch, at least.
    pub after: SignedDuration,
    /// Members whose health was missing or slow then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberTrouble>,
}

/// Why a wave failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failed {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub why: Reason,
}

/// Who said no to a release on a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rejected {
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// Who; none when the hub does not say.
    pub by: Option<Person>,
    /// The pull request that was closed.
    pub pull: PullNumber,
}

/// Which release took a wave's place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Superseded {
    /// When.
    pub at: Timestamp,
    /// The newer one.
    pub by: Version,
}

/// Why the bot took a pull request back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Withdrawn {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub why: Reason,
}

#[cfg(test)]
mod tests;
