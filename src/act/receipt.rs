//! What became of one planned thing, in words for people and for the log.

use std::fmt;

use decide::plan::Proposal;

/// What became of one planned thing.
#[derive(Clone, Debug, PartialEq)]
pub enum Receipt {
    /// Entries are on the ledger branch.
    Noted(String),
    /// It is done.
    Done(String),
    /// The world moved: nothing was changed, the next look decides anew.
    Moved(String),
    /// It was refused for a reason that a person has to see.
    Refused(String),
}

impl Receipt {
    /// Whether the world is different now, so that another look is due at once.
    pub fn changed(&self) -> bool {
        match self {
            Self::Noted(_) | Self::Done(_) | Self::Moved(_) => true,
            Self::Refused(_) => false,
        }
    }

    /// Whether what was planned beside it still holds. What is refused is that pull request's matter alone: else a branch
    /// that somebody calls as we would call ours stopped all others for good.
    pub(super) fn goes_on(&self) -> bool {
        match self {
            Self::Done(_) | Self::Refused(_) => true,
            Self::Noted(_) | Self::Moved(_) => false,
        }
    }

    /// Why it was refused.
    pub fn refusal(&self) -> Option<&str> {
        match self {
            Self::Refused(why) => Some(why),
            Self::Noted(_) | Self::Done(_) | Self::Moved(_) => None,
        }
    }

    /// A refusal says what was not done.
    pub(super) fn about(self, proposal: &Proposal, done: &str) -> Self {
        let Proposal { plugin, tier, to, .. } = proposal;
        match self {
            Self::Refused(why) => Self::Refused(format!("{plugin} {to} → {tier} is not {done}: {why}")),
            other @ (Self::Noted(_) | Self::Done(_) | Self::Moved(_)) => other,
        }
    }

    /// Whether it is about the ledger and not about a planned action.
    pub fn is_note(&self) -> bool {
        matches!(self, Self::Noted(_))
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Noted(what) => write!(f, "noted: {what}"),
            Self::Done(what) => write!(f, "done: {what}"),
            Self::Moved(what) => write!(f, "not done, the world moved: {what}"),
            Self::Refused(what) => write!(f, "refused: {what}"),
        }
    }
}

/// Another process was faster: what it wrote is read first.
pub(super) fn fenced() -> Receipt {
    Receipt::Moved("another writer moved the ledger branch".to_string())
}
