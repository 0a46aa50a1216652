//! Coldframe promotes plugin chart releases through tiers of clusters, one pull request at a time.
//!
//! The line is wake → observe → decide → act → tell; `src/README.md` is the architecture page.

// Tests start servers and the real git; the bans of clippy.toml are about the bot.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

// Rooms that are packages of their own.
pub use parse::branches;
pub use {edit, inventory, jsonpath, kubeconfig, parse, policy, signal};

pub mod act;
pub mod cli;
pub mod clock;
pub mod command;
pub mod git;
pub mod hub;
pub mod init;
pub mod ledger;
pub mod metrics;
pub mod observe;
pub mod onboard;
pub mod process;
pub mod proxies;
pub mod rehearse;
pub mod repo;
pub mod seal;
pub mod secret;
pub mod tell;
pub mod tick;
pub mod trace;
pub mod wake;
