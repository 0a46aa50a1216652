//! What the pages show, and to whom: the last view of each repository, and the people who read it. The pages themselves
//! are in `pages`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::news::News;
use super::sign_in::Session;
use crate::act::Receipt;
use crate::clock;
use crate::hub::Repository;
use crate::metrics::{Metrics, Outcome};
use crate::observe::Written;
use crate::tell::{self, DashboardState, View};
use crate::tick::Ticked;

/// What the pages show: the last view of each repository.
#[derive(Clone, Default)]
pub struct Pages {
    metrics: Metrics,
    shown: Arc<Mutex<Shown>>,
    news: News,
}

#[derive(Default)]
struct Shown {
    listed: bool,
    /// By name.
    all: BTreeMap<String, Known>,
}

/// What is known of a repository.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) of: Repository,
    pub(super) view: Arc<View>,
    /// Its policy files, where nothing is wrong with them.
    pub(super) files: Option<Written>,
}

/// Who reads the pages.
#[derive(Clone)]
pub(super) enum Reader {
    /// Whoever reaches them: all of it.
    Anybody,
    /// Somebody who is not known yet: nothing.
    Nobody,
    /// A person.
    Person {
        /// As the pages name them.
        person: tell::Person,
        /// These repositories, by their numbers.
        may: Arc<BTreeSet<u64>>,
        /// By which they ask for more than to read.
        session: Arc<Session>,
    },
}

impl Reader {
    fn may(&self, repository: u64) -> bool {
        match self {
            Self::Anybody => true,
            Self::Nobody => false,
            Self::Person { may, .. } => may.contains(&repository),
        }
    }

    /// Whether somebody has signed in.
    pub(super) fn is_person(&self) -> bool {
        matches!(self, Self::Person { .. })
    }
}

impl Pages {
    /// Pages without a repository yet, and these numbers.
    pub fn new(metrics: Metrics) -> Self {
        Self { metrics, ..Self::default() }
    }

    /// The numbers, for whoever counts beside passes.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What tells open pages that something has changed.
    pub(super) fn news(&self) -> &News {
        &self.news
    }

    /// The list of repositories was read: the server is ready.
    pub fn listed(&self) {
        self.shown().listed = true;
    }

    /// Whether it was.
    pub(super) fn is_listed(&self) -> bool {
        self.shown().listed
    }

    /// The numbers of the repositories that are shown.
    pub(super) fn numbers(&self) -> BTreeSet<u64> {
        self.shown().all.values().map(|known| known.of.id).collect()
    }

    /// Shows and counts a pass.
    pub fn ticked(&self, of: &Repository, begun: Timestamp, ticked: &anyhow::Result<Ticked>) {
        let (name, now) = (of.full_name(), clock::now());
        let repository = name.as_str();
        let took = std::time::Duration::try_from(now.duration_since(begun)).unwrap_or_default();
        let Ok(ticked) = ticked else {
            self.metrics.tick(repository, took, Outcome::Failed, now);
            return;
        };
        self.metrics.tick(repository, took, Outcome::Done, now);
        self.metrics.plan(repository, &ticked.plan, &ticked.seen.snapshot.ledger);
        let done = ticked.receipts.iter().filter(|receipt| !receipt.is_note());
        for (action, receipt) in ticked.plan.actions.iter().zip(done) {
            let outcome = if matches!(receipt, Receipt::Done(_)) { Outcome::Done } else { Outcome::Failed };
            self.metrics.action(action, outcome);
        }
        let view = View::new(repository, &ticked.seen.web, &ticked.seen.snapshot, ticked.plan.clone(), now);
        let trouble =
            view.trouble.clone().or_else(|| refused(&ticked.receipts)).or_else(|| ticked.notify_error.clone());
        let notes = ticked.seen.notes(&ticked.plan);
        let view = Arc::new(View { links: ticked.seen.links(), trouble, notes, ..view });
        let known = Known { of: of.clone(), view: Arc::clone(&view), files: ticked.seen.files.clone() };
        let before = self.shown().all.insert(name, known);
        if before.is_none_or(|before| before.of.id != of.id || !before.view.is_like(&view)) {
            self.news.ring();
        }
    }

    /// Says on the pages that the last pass failed; what was seen before stays.
    pub fn failed(&self, repository: &str, error: &str) {
        let trouble = Some(format!("the last look failed: {error}"));
        if let Some(known) = self.shown().all.get_mut(repository).filter(|known| known.view.trouble != trouble) {
            known.view = Arc::new(View { trouble, ..View::clone(&known.view) });
            self.news.ring();
        }
    }

    /// A repository is not looked after any more, or has another name: the pages forget it.
    pub fn left(&self, repository: &str) {
        self.shown().all.remove(repository);
        self.metrics.left(repository);
        self.news.ring();
    }

    /// A repository as it was seen last, for those who may read it: to all others there is none.
    pub(super) fn known(&self, reader: &Reader, name: &str) -> Option<Known> {
        self.shown().all.get(name).filter(|known| reader.may(known.of.id)).cloned()
    }

    /// What the first page shows to somebody.
    pub(super) fn state(&self, reader: &Reader) -> DashboardState {
        let shown = self.shown();
        let known = shown.all.values().filter(|known| reader.may(known.of.id));
        let views = known.map(|known| Arc::clone(&known.view)).collect();
        let person = match reader {
            Reader::Anybody | Reader::Nobody => None,
            Reader::Person { person, .. } => Some(person.clone()),
        };
        DashboardState { views, person }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was not done for a reason that a person has to see: the pages would only say that it comes with the next look.
fn refused(receipts: &[Receipt]) -> Option<String> {
    let refused: Vec<&str> = receipts.iter().filter_map(Receipt::refusal).collect();
    match refused.as_slice() {
        [] => None,
        [one] => Some((*one).to_string()),
        all => Some(format!("{} steps were refused:\n{}", all.len(), all.join("\n"))),
    }
}
