//! What allowed a merge without the missing approvals, as the ledger keeps it. Who decides that is
//! `gate::grace` and `gate::said`.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;
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
