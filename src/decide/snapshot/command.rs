//! Commands that people write as comments on our pull requests. What each of them does is decided in
//! `gate`, `frozen` and `hotfix`.

use alloc::string::String;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::Read;
use crate::model::Hotfix;
use crate::{Person, Version};

/// A command that somebody wrote as a comment. One that was edited since can only stop something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Command {
    /// Who.
    pub by: Person,
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// What.
    pub what: CommandKind,
    /// Whether the policy lets this person give it.
    pub allowed: Read<bool>,
}

/// The commands that a person may give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandKind {
    /// `/coldframe hold <why>`: nothing merges here until `resume`.
    Hold {
        /// Why.
        why: String,
    },
    /// `/coldframe resume`.
    Resume,
    /// `/coldframe fail <why>`: this release has failed on the tier of the pull request.
    Fail {
        /// Why.
        why: String,
    },
    /// `/coldframe freeze everything|tier|plugin [for 2d] <why>`: nothing merges there until it is lifted.
    Freeze {
        /// What is frozen, seen from the pull request on which it stands.
        scope: FreezeScope,
        /// For how long; none = until somebody lifts it.
        lasts: Option<SignedDuration>,
        /// Why.
        why: String,
    },
    /// `/coldframe unfreeze`: lifts every such freeze that stops this pull request.
    Unfreeze,
    /// `/coldframe hotfix <version> [soak 30m] [through windows] <why>`: this release may pass a climbing
    /// one.
    Hotfix(Hotfix),
    /// `/coldframe force <why>`: it shall merge now, without the missing approvals.
    Force {
        /// Why.
        why: String,
    },
    /// `/coldframe acknowledge <version>`: the migration notes were read.
    Acknowledge {
        /// Of this version.
        version: Version,
    },
    /// `/coldframe rebuild <commit>`: the lost ledger commit is given up.
    Rebuild {
        /// The lost commit, or its first seven or more characters.
        cited: String,
    },
}

/// What a command freezes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FreezeScope {
    /// Every plugin on every tier of the repository.
    Everything,
    /// Every plugin on the tier of the pull request.
    Tier,
    /// The plugin of the pull request on every tier.
    Plugin,
}
