//! Coldframe against what others made: Helm, a Docker registry, Prometheus, GitHub's own description of its API,
//! its example webhooks and its GraphQL schema, the `gh` program, Renovate, a mail server, a GitHub that is not GitHub's. `tests/peers/install.sh` brings them;
//! nothing here is skipped where one is missing. All listen on loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods, missing_docs)]

mod alerts;
mod answers;
#[path = "../bot/browser.rs"]
mod browser;
mod charts;
mod chats;
mod compare;
#[path = "../replay/edits/corpus.rs"]
mod corpus;
mod deploy;
mod edits;
mod emulate;
mod gfm;
mod gh;
mod graphql;
mod mail;
mod openapi;
mod page;
mod peers;
mod prometheus;
mod provenance;
mod quickstart;
mod recorder;
mod rendered;
mod renovate;
mod requests;
mod signatures;
#[allow(dead_code)] // the bot's own tests use all of it
#[path = "../bot/support.rs"]
mod support;
mod town;
mod webhooks;
