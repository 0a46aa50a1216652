//! Coldframe promotes plugin chart releases through tiers of clusters, one pull request at a time.
//!
//! The line is wake → observe → decide → act → tell; `src/README.md` is the architecture page.

pub mod act;
pub mod cli;
pub mod clock;
pub mod demo;
pub mod git;
pub mod hub;
pub mod ledger;
pub mod observe;
pub mod policy;
pub mod rooms;
pub mod secret;
pub mod tell;
pub mod tick;
pub mod wake;
