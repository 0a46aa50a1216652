//! Whether the ledger can be believed.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::Sha;

/// Whether the ledger branch is what it was (house rule 3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LedgerState {
    /// The tip descends from every ledger commit that a pull request or promotion commit cites.
    Intact {
        /// Whether others can write it; where they can, nothing is forced and no branch rule is bypassed.
        guarded: LedgerGuard,
    },
    /// It does not: it was rolled back or deleted.
    Lost {
        /// The cited commits that the tip does not contain; at least one.
        cited: Vec<Sha>,
        /// The tip, when the branch exists.
        tip: Option<Sha>,
    },
    /// It could not be read.
    Unread(String),
}

/// Whether somebody else's commit on the ledger branch would be found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LedgerGuard {
    /// Each of its commits carries a keyed hash, and the key is not in the repository.
    Sealed,
    /// It has no such hash; the text says why.
    Open(String),
}
