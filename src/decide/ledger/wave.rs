//! One release on one tier, as the ledger keeps it: evidence, from which its state is derived.

use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Announced, Failed, Grace, Head, Landed, LetThrough, Merging, Part, Purpose, Refused, Rejected, Soaked, State,
    Superseded, Verification, Withdrawn,
};
use crate::clusters::Finder;
use crate::{ClusterName, Clusters, Digest, Version};

mod fields;

pub use fields::Fields;

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
    pub(super) landed: Option<Landed>,
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
    pub(super) finished: Option<Timestamp>,
    /// What was not waited for, when it finished because the longest soak was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub let_through: Option<LetThrough>,
    /// Since when and why nothing new starts on the tier until all are healthy on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stalled: Option<Failed>,
    /// When and why it failed here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failed: Option<Failed>,
    /// Who said no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rejected: Option<Rejected>,
    /// Which newer release took its place before it landed or finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) superseded: Option<Superseded>,
    /// Why the bot took its pull request back, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) withdrawn: Option<Withdrawn>,
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
        self.merging.as_ref().filter(|_| self.landed.is_some() || !self.is_refused())
    }

    /// Whether the hub has said no to the merge that the bot asked for last.
    pub(crate) fn is_refused(&self) -> bool {
        let no = |(merging, refused): (&Merging, &Refused)| {
            !refused.unsure && refused.head == merging.head && refused.at >= merging.at
        };
        self.merging.as_ref().zip(self.refused.as_ref()).is_some_and(no)
    }

    /// The commits of the bot that change what the newest one changes, which is the first.
    pub fn alike(&self) -> impl Iterator<Item = &Head> {
        let mut goes_on = true;
        self.heads.iter().rev().take_while(move |head| core::mem::replace(&mut goes_on, head.repeats))
    }

    /// Whether nothing more can come of it: finished, failed, rejected, superseded or withdrawn.
    pub fn is_over(&self) -> bool {
        self.state().is_over()
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
        let stands = match self.state() {
            State::Landed(_) => true,
            State::Open | State::Closed(_) => self.may_come_again(),
            State::LandedAnyway(_) | State::Overtaken(_) | State::Finished(_) | State::Failed(_) => false,
        };
        self.part.purpose == Purpose::Promotion && stands && self.clusters().is_empty()
    }

    /// The release that it takes back; none where it is no rollback.
    pub(crate) fn rolls_back(&self) -> Option<&Version> {
        match &self.part.purpose {
            Purpose::RollBack { of } => Some(of),
            Purpose::Promotion | Purpose::CatchUp | Purpose::Early => None,
        }
    }

    /// Whether the release of another wave took its place.
    pub(crate) fn gave_way_to(&self, other: &Self) -> bool {
        self.superseded.as_ref().is_some_and(|superseded| superseded.by == other.version)
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

#[cfg(test)]
mod tests;
