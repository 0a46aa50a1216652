//! What came of a wave, for reading. It changes by the entries of the ledger alone ([`Change`](crate::ledger::Change)).

use jiff::Timestamp;

use super::{Failed, Landed, Rejected, Superseded, Wave, Withdrawn};

/// What came of a wave, to be set freely: see [`Wave::rewrite`].
pub struct Fields<'a> {
    /// Proof that the version is on the base branch.
    pub landed: &'a mut Option<Landed>,
    /// When it finished this tier.
    pub finished: &'a mut Option<Timestamp>,
    /// Since when and why nothing new starts on the tier.
    pub stalled: &'a mut Option<Failed>,
    /// When and why it failed here.
    pub failed: &'a mut Option<Failed>,
    /// Who said no.
    pub rejected: &'a mut Option<Rejected>,
    /// Which newer release took its place.
    pub superseded: &'a mut Option<Superseded>,
    /// Why the bot took its pull request back.
    pub withdrawn: &'a mut Option<Withdrawn>,
}

impl Wave {
    /// Proof that the version is on the base branch.
    pub fn landed(&self) -> Option<&Landed> {
        self.landed.as_ref()
    }

    /// When it finished this tier.
    pub fn finished(&self) -> Option<Timestamp> {
        self.finished
    }

    /// Since when and why nothing new starts on the tier until all are healthy on it.
    pub fn stalled(&self) -> Option<&Failed> {
        self.stalled.as_ref()
    }

    /// When and why it failed here.
    pub fn failed(&self) -> Option<&Failed> {
        self.failed.as_ref()
    }

    /// Who said no.
    pub fn rejected(&self) -> Option<&Rejected> {
        self.rejected.as_ref()
    }

    /// Which newer release took its place before it landed or finished.
    pub fn superseded(&self) -> Option<&Superseded> {
        self.superseded.as_ref()
    }

    /// Why the bot took its pull request back, when it did.
    pub fn withdrawn(&self) -> Option<&Withdrawn> {
        self.withdrawn.as_ref()
    }

    /// Sets what came of it without an entry, as tests and planted bugs do; the product never does, which the tidy test
    /// holds.
    pub fn rewrite(&mut self) -> Fields<'_> {
        let Self { landed, finished, stalled, failed, rejected, superseded, withdrawn, .. } = self;
        Fields { landed, finished, stalled, failed, rejected, superseded, withdrawn }
    }
}
