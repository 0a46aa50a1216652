//! A fact that may not have been read. Everything that the planner is told from outside comes as one.

use alloc::string::String;

use serde::{Deserialize, Serialize};

/// A fact, or why it could not be read. An unread fact is never taken for a yes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Read<T> {
    /// It was read.
    Known(T),
    /// It was not, and why, in words for people.
    Unread(String),
}

impl<T> Read<T> {
    /// The fact, when it was read.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(fact) => Some(fact),
            Self::Unread(_) => None,
        }
    }
}
