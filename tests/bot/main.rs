//! The bot as people run it, a child process, against the sandbox over HTTP: crashes, lost webhooks,
//! stubborn clusters, lost ledgers. What `decide` alone does is in `tests/sim`.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod ledger;
mod settings;
mod story;
mod stubborn;
mod support;
