//! The bot as people run it, a child process, against the sandbox over HTTP: crashes, lost webhooks,
//! stubborn clusters, lost ledgers. What `decide` alone does is in `tests/sim`.
// A test may start processes and ask the time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, clippy::print_stdout, missing_docs)]

mod action;
mod blocks;
mod branches;
mod broken;
mod budget;
mod calls;
mod checks;
mod dashboard;
mod demo;
mod differences;
mod engines;
mod faults;
mod force;
mod freeze;
mod hands;
mod heads;
mod hotfix;
mod init;
mod installs;
mod inventory;
mod layouts;
mod ledger;
mod many;
mod merge;
mod metrics;
mod notify;
mod onboarding;
mod ordinary;
mod owners;
mod permit;
mod policy;
mod port;
mod proxy;
mod queue;
mod rules;
mod secrets;
mod settings;
mod several;
mod shed;
mod slices;
mod sources;
mod spelling;
mod statements;
mod story;
mod strangers;
mod stubborn;
mod support;
mod tenants;
mod told;
mod vain;
mod verify;
mod wake;
mod words;
