//! What git says of a merge that the bot asked for.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::Read;
use crate::Sha;

/// What came to the base branch since a merge was asked for, as git has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Landing {
    /// One commit brought what the head changes and nothing else.
    Proven {
        /// That commit.
        commit: Sha,
    },
    /// Nothing of it has come.
    Absent,
    /// Something else has come in its name.
    Wrong {
        /// What is wrong, in words for people.
        why: String,
    },
}

/// What nobody has looked at.
pub(super) fn unproven() -> Read<Landing> {
    Read::Unread("nobody asked".into())
}

pub(super) fn is_unproven(landing: &Read<Landing>) -> bool {
    *landing == unproven()
}
