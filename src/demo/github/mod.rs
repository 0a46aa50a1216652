//! A GitHub of our own: REST, GraphQL, git over HTTP, pages and signed webhooks over one world with
//! state, on a loopback port, in the layout of GitHub Enterprise (`/api/v3`, `/api/graphql`).
//! Faithful where the bot touches it; what it does not model answers 404 and is counted.

mod acts;
mod answer;
mod auth;
mod authors;
mod budget;
mod by_hand;
mod demands;
mod faults;
mod forks;
mod git;
mod git_http;
mod graphql;
mod groups;
mod http;
mod incoming;
mod look;
mod manifest;
mod markdown;
mod merge;
mod moves;
mod oauth;
mod owners;
mod pages;
mod queue;
mod rest;
mod rules;
mod runs;
mod setup;
mod signature;
mod standing;
mod state;
#[cfg(test)]
mod tests;
mod told;
mod webhooks;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::Context as _;

pub use self::acts::{Act, IssueAct};
pub use self::faults::{CreateFault, Faults, MergeFault, Webhooks};
pub use self::git::Commit;
pub use self::look::{CheckView, CommentView, PullStanding, PullView, ReviewView};
pub use self::runs::RunView;
pub use self::setup::AppSettings;
pub use self::state::{Access, Annotation, Delivered, Issue, Method, Protection, Role, Rule, Told};
use crate::clock::Clock;

/// How to start one.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where its repositories lie; made when missing, emptied by nobody.
    pub dir: PathBuf,
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Its clock; a test may run it ahead.
    pub clock: Clock,
    /// Requests that each App or person may make in an hour; GitHub's own figure is 5,000.
    pub requests_per_hour: u64,
}

impl Options {
    /// A free loopback port and this machine's time.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            clock: Clock::default(),
            requests_per_hour: 5_000,
        }
    }
}

/// A running GitHub; clones are the same one. It ends with its last clone.
#[derive(Clone)]
pub struct GitHub {
    inner: Arc<Inner>,
}

struct Inner {
    world: state::Shared,
    url: String,
    tasks: Vec<tokio::task::AbortHandle>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl GitHub {
    /// Starts it with nobody and nothing in it.
    pub async fn start(options: Options) -> anyhow::Result<Self> {
        let dir = options.dir.join("repositories");
        std::fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
        let dir = dir.canonicalize()?;
        let listener = tokio::net::TcpListener::bind(options.listen)
            .await
            .with_context(|| format!("listen on {}", options.listen))?;
        let url = format!("http://{}", listener.local_addr()?);
        let (outbox, inbox) = tokio::sync::mpsc::unbounded_channel();
        let world = Arc::new(Mutex::new(state::World {
            dir,
            url: url.clone(),
            requests_per_hour: options.requests_per_hour,
            started_at: options.clock.now(),
            clock: options.clock,
            outbox,
            last_id: 1_000,
            visitor: None,
            accounts: Default::default(),
            teams: Default::default(),
            apps: Default::default(),
            tokens: Default::default(),
            waiting: Default::default(),
            consents: Default::default(),
            repositories: Default::default(),
            moved: Default::default(),
            events: Vec::new(),
            requests: Default::default(),
            limits: Default::default(),
            faults: Faults::default(),
            delivered: Vec::new(),
            told: Vec::new(),
        }));
        state::lock(&world).account_add(signature::WEB_FLOW, state::Kind::User);
        let router = axum::Router::new().fallback(http::serve).with_state(world.clone());
        let server = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "the sandbox's GitHub stopped");
            }
        });
        let sender = tokio::spawn(webhooks::send(inbox, Arc::downgrade(&world)));
        let tasks = vec![server.abort_handle(), sender.abort_handle()];
        Ok(Self { inner: Arc::new(Inner { world, url, tasks }) })
    }

    /// `http://127.0.0.1:port`, the `--hub` of the bot.
    pub fn url(&self) -> &str {
        &self.inner.url
    }

    fn world(&self) -> MutexGuard<'_, state::World> {
        state::lock(&self.inner.world)
    }

    /// Moves its clock by so much, forwards or backwards; the bot's stays as it is.
    pub fn shift_clock(&self, by: jiff::SignedDuration) {
        self.world().clock.shift(by);
    }

    /// Changes what goes wrong on purpose.
    pub fn faults(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.world().faults);
    }
}
