//! What keeps a release from a tier. Callers branch on how long it lasts; people read why.

use crate::Reason;

/// Something that keeps a release from a tier.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Obstacle {
    pub lasts: Lasts,
    pub why: Reason,
}

/// How long an obstacle lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasts {
    /// Until it can be read.
    Unread,
    /// Until the source lists the release again; whoever took it away will hardly do that.
    Unlisted,
    /// Until the checks of its commit have run.
    Pending,
    /// Until it is healthy on the tier where it stalls; for good where it failed.
    Failed,
    /// For good: it is not what the policy file takes.
    Outside,
    /// Until a person, the file or the source says something else.
    Refused,
}

impl Obstacle {
    pub(crate) fn new(lasts: Lasts, why: Reason) -> Self {
        Self { lasts, why }
    }

    pub(crate) fn refused(why: Reason) -> Self {
        Self::new(Lasts::Refused, why)
    }

    /// Whether an open pull request is taken back for it: for what could not be read, is not listed at this look or has
    /// checks that still run, its gate waits.
    pub(crate) fn is_final(&self) -> bool {
        match self.lasts {
            Lasts::Unread | Lasts::Unlisted | Lasts::Pending => false,
            Lasts::Failed | Lasts::Outside | Lasts::Refused => true,
        }
    }
}
