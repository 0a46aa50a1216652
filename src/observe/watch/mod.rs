//! What clusters say, kept up to date by lists and watches, so that a look asks only what has changed: for a process
//! that stays. What an answer means is judged by signals; a run that ends asks each object once (`cluster`).

mod feed;
mod once;
mod scope;
mod shared_answer;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

use self::feed::{Feed, Pace, Pulse};
use self::once::Once;
pub use self::shared_answer::SharedAnswer;
use self::shared_answer::Words;
use self::state::{FeedId, Stale, State};
use super::cluster::{Ask, Asked, Clusters, ReadError};
use crate::clock;
use crate::inventory::ListedCluster;
use crate::signal::{Answer, Signal};

/// Collections that are listed at once, over all connections.
const AT_ONCE: usize = 32;
/// The longest that a look waits for clusters that are listed for the first time; who is late is heard later.
const FIRST: Duration = Duration::from_secs(45);
/// What may not be watched is tried again after so long.
const AGAIN: SignedDuration = SignedDuration::from_mins(10);

/// How far a look is: called with the questions that are answered, and how many there are.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(usize, usize) + Send + Sync>);

impl Progress {
    /// Somebody sees it.
    pub fn new(show: impl Fn(usize, usize) + Send + Sync + 'static) -> Self {
        Self(Arc::new(show))
    }

    /// Nobody sees it.
    pub fn none() -> Self {
        Self::new(|_, _| {})
    }

    fn at(&self, done: usize, of: usize) {
        (self.0)(done, of);
    }
}

/// Everything that is asked, by connection. Whoever drops it ends its watches.
pub struct Watches {
    clusters: Arc<Clusters>,
    groups: BTreeMap<String, Running>,
    permits: Arc<Semaphore>,
    words: Arc<Once<Words>>,
    names: Arc<Once<str>>,
    pulse: Arc<Pulse>,
    pace: Pace,
    /// Something that is asked has changed.
    news: Arc<Notify>,
    /// Some list has come to its end, or failed.
    progress: Arc<Notify>,
    /// Where somebody sees how far the first look is.
    shown: Progress,
    alive: JoinSet<()>,
    /// What was asked last, and by which connection each of it goes.
    asks: Option<Arc<Vec<Ask>>>,
    order: Vec<usize>,
    /// Something is asked that was not asked before.
    waits: bool,
}

/// One connection and who keeps its collections.
struct Running {
    group: Arc<Group>,
    begun: Timestamp,
    feeds: JoinSet<()>,
}

/// Everything that is asked through one connection.
struct Group {
    clusters: Arc<Clusters>,
    cluster: Arc<ListedCluster>,
    asks: Vec<Ask>,
    state: Mutex<State>,
    words: Arc<Once<Words>>,
    news: Arc<Notify>,
    progress: Arc<Notify>,
}

impl Watches {
    /// For a process that stays: what is asked is listed and watched. `ring` is called when something of it has
    /// changed.
    pub fn that_stays(clusters: Arc<Clusters>, ring: impl Fn() + Send + 'static) -> Self {
        let mut this = Self::new(clusters, Pace::STAYS, Progress::none());
        this.alive.spawn(Arc::clone(&this.pulse).beat());
        let answers = Arc::clone(&this.news);
        this.alive.spawn(async move {
            loop {
                answers.notified().await;
                ring();
            }
        });
        this
    }

    /// For a run that ends: what is asked is listed once, or asked for one by one where it is little.
    pub fn that_ends(clusters: Arc<Clusters>, shown: Progress) -> Self {
        Self::new(clusters, Pace::ENDS, shown)
    }

    fn new(clusters: Arc<Clusters>, pace: Pace, shown: Progress) -> Self {
        Self {
            clusters,
            groups: BTreeMap::new(),
            permits: Arc::new(Semaphore::new(AT_ONCE)),
            words: Arc::default(),
            names: Arc::default(),
            pulse: Arc::default(),
            pace,
            news: Arc::default(),
            progress: Arc::default(),
            shown,
            alive: JoinSet::new(),
            asks: None,
            order: Vec::new(),
            waits: false,
        }
    }

    /// What is known of every ask, in their order. The first time it waits for the lists; what has changed since in
    /// a way that only a question tells is asked now.
    pub async fn answers(&mut self, asks: &Arc<Vec<Ask>>) -> Vec<SharedAnswer> {
        self.arrange(asks);
        self.settle().await;
        self.ask_anew().await;
        let now = clock::now();
        let mut answers: Vec<_> = self.groups.values().map(|running| running.group.answers(now).into_iter()).collect();
        // Each connection's answers are in the order of its asks.
        self.order.iter().filter_map(|group| answers.get_mut(*group)?.next()).collect()
    }

    /// Keeps the connections that are asked the same as before, begins those that are not, drops the rest.
    fn arrange(&mut self, asks: &Arc<Vec<Ask>>) {
        let now = clock::now();
        let tries_again = |running: &Running| running.begun + AGAIN < now && running.group.state().is_denied();
        let known = self.asks.as_ref().is_some_and(|known| Arc::ptr_eq(known, asks));
        if known && !self.groups.values().any(tries_again) {
            return;
        }
        let mut wanted: BTreeMap<&str, Vec<Ask>> = BTreeMap::new();
        for ask in asks.iter() {
            wanted.entry(&ask.cluster.credential).or_default().push(ask.clone());
        }
        self.groups.retain(|credential, running| {
            let same = wanted.get(credential.as_str()).is_some_and(|asks| same(asks, &running.group.asks));
            same && !tries_again(running)
        });
        let places: BTreeMap<&str, usize> = wanted.keys().enumerate().map(|(place, name)| (*name, place)).collect();
        self.order = asks.iter().filter_map(|ask| places.get(ask.cluster.credential.as_str()).copied()).collect();
        for (credential, asks) in wanted {
            let Some(first) = asks.first().filter(|_| !self.groups.contains_key(credential)) else { continue };
            let group = Group {
                clusters: Arc::clone(&self.clusters),
                cluster: Arc::clone(&first.cluster),
                state: Mutex::new(State::new(&asks, self.pace.least, &self.names)),
                asks,
                words: Arc::clone(&self.words),
                news: Arc::clone(&self.news),
                progress: Arc::clone(&self.progress),
            };
            let running = Running { group: Arc::new(group), begun: now, feeds: JoinSet::new() };
            self.groups.insert(credential.to_string(), running);
        }
        self.asks = Some(Arc::clone(asks));
        self.waits = true;
    }

    /// Begins to keep collections that nobody keeps yet.
    fn keep_new(&mut self) {
        for running in self.groups.values_mut() {
            for (id, scope) in running.group.state().take_new() {
                let (permits, pulse) = (Arc::clone(&self.permits), Arc::clone(&self.pulse));
                let feed = Feed { group: Arc::clone(&running.group), id, scope, permits, pulse, pace: self.pace };
                running.feeds.spawn(feed.keep());
            }
        }
    }

    /// Waits until whatever was never listed is listed, or has failed.
    async fn settle(&mut self) {
        if !std::mem::take(&mut self.waits) {
            return;
        }
        let end = tokio::time::sleep(FIRST);
        tokio::pin!(end);
        loop {
            let progress = Arc::clone(&self.progress);
            let more = progress.notified();
            self.keep_new();
            self.show();
            if self.groups.values().all(|running| running.group.state().is_settled()) {
                return;
            }
            tokio::select! {
                () = more => {}
                () = &mut end => return,
            }
        }
    }

    /// Shows how many questions are answered.
    fn show(&self) {
        let known = self.groups.values().map(|running| running.group.state().known()).sum();
        self.shown.at(known, self.order.len());
    }

    /// Asks what has changed in a way that only a question tells, and keeps what comes of it.
    async fn ask_anew(&mut self) {
        let now = clock::now();
        let mut stale = Vec::new();
        let mut asks = Vec::new();
        for running in self.groups.values() {
            for one in running.group.stale(now) {
                asks.push(running.group.asks[one.slot as usize].clone());
                stale.push((Arc::clone(&running.group), one));
            }
        }
        if asks.is_empty() {
            return;
        }
        let begun = self.order.len() - stale.len();
        let shown = |done| self.shown.at(begun + done, self.order.len());
        let asked: Vec<Asked> = self.clusters.answers(asks, &shown).await;
        for ((group, stale), asked) in stale.into_iter().zip(asked) {
            group.asked(&stale, asked);
        }
        self.keep_new();
    }
}

/// Whether two rounds ask the same.
fn same(some: &[Ask], others: &[Ask]) -> bool {
    some.len() == others.len() && some.iter().zip(others).all(|(one, other)| one.is_same(other))
}

impl Group {
    fn connection(&self) -> &str {
        &self.cluster.credential
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answers(&self, now: Timestamp) -> Vec<SharedAnswer> {
        self.state().answers(&self.asks, now).collect()
    }

    fn stale(&self, now: Timestamp) -> Vec<Stale> {
        self.state().stale(&self.asks, now)
    }

    fn asked(&self, stale: &Stale, asked: Asked) {
        let said = SharedAnswer::shared(asked.answer, &self.words);
        self.state().asked(stale, said, asked.more);
    }

    fn begins(&self, feed: FeedId) {
        self.state().begins(feed);
    }

    fn wanting(&self, feed: FeedId, object: &Value) -> Vec<(u32, Box<dyn Signal>)> {
        let wanting = self.state().wanting(feed, object, &self.asks);
        if wanting.stale {
            self.news.notify_one();
        }
        wanting.judged
    }

    fn judged(&self, slot: u32, answer: Answer) {
        let said = SharedAnswer::shared(answer, &self.words);
        if self.state().judged(slot, said) {
            self.news.notify_one();
        }
    }

    fn listed(&self, feed: FeedId, asked: Timestamp) {
        self.state().listed(feed, asked, &self.asks);
        self.news.notify_one();
        self.progress.notify_one();
    }

    fn gone(&self, feed: FeedId, object: &Value, at: Timestamp) {
        if self.state().gone(feed, object, at, &self.asks) {
            self.news.notify_one();
        }
    }

    fn alive(&self, feed: FeedId, at: Timestamp) {
        self.state().alive(feed, at);
    }

    fn alive_at(&self, feed: FeedId) -> Timestamp {
        self.state().alive_at(feed)
    }

    fn reopened(&self, feed: FeedId) {
        self.state().reopened(feed);
    }

    fn fails(&self, feed: FeedId, error: ReadError) {
        self.state().fails(feed, error, &self.asks);
        self.news.notify_one();
        self.progress.notify_one();
    }
}
