//! Coldframe's planner: every dated fact in, what to do and why out.
//!
//! Pure on purpose: no clock, disk, network, environment, thread or random order. `now` is a
//! parameter, the next alarm a return value. What reads the world is `observe`, what changes it is
//! `act`; neither is in here.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;

mod after;
mod blocks;
mod clusters;
mod commands;
pub mod constraint;
mod cooldown;
mod cut;
mod dates;
mod expiry;
mod facts;
mod fleet;
mod frozen;
mod gate;
mod hotfix;
pub mod ids;
mod landing;
pub mod ledger;
mod member;
pub mod model;
mod next_release;
mod obstacle;
mod overtaking;
pub mod plan;
mod planner;
mod proof;
pub mod readings;
pub mod reason;
mod regression;
mod release;
mod report;
mod rollback;
pub mod selector;
pub mod sentence;
mod settle;
mod slice;
pub mod snapshot;
mod soak;
mod source;
mod stale_pull;
#[cfg(test)]
mod testing;
mod tiers;
pub mod window;
pub mod zone;

pub use clusters::Clusters;
pub use ids::{ClusterName, Digest, Person, PluginName, PullNumber, Sha, TierName, Version};
pub use ledger::{Entry, Ledger, PluginLedger};
pub use model::{PluginPolicy, Policy, Tier};
pub use plan::{Action, Alarm, Finding, Gate, Plan, Verdict, WaveReport, WaveState};
pub use planner::plan;
pub use readings::Readings;
pub use reason::Reason;
pub use snapshot::{Read, Reading, Snapshot};
