//! What is known of everything that is asked through one connection, and how old that is. Pure: what comes from
//! where is in `feed`, what is asked anew in `mod`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decide::snapshot::Health;
use jiff::Timestamp;
use serde_json::Value;

use super::said::Said;
use super::scope::{self, FEW, scope};
use crate::observe::cluster::{Ask, ReadError};
use crate::observe::signal::{Answer, Signal, Target};

/// A collection that is watched, by its place in the list.
pub(super) type FeedId = usize;

/// Everything that is asked through one connection.
pub(super) struct State {
    feeds: Vec<Feed>,
    by_scope: BTreeMap<Target, FeedId>,
    slots: Vec<Slot>,
    /// Whether something is asked for because it may not be watched.
    denied: bool,
}

/// One collection that is listed and watched.
struct Feed {
    scope: Target,
    stage: Stage,
    /// Up to here everything is known.
    alive: Timestamp,
    /// Why it is broken.
    trouble: Option<ReadError>,
    /// Who looks at an object of this name.
    wants: BTreeMap<Box<str>, Vec<Want>>,
    /// Who looks at a list.
    lists: Vec<usize>,
    /// Names that the list under way has shown.
    shown: BTreeSet<Box<str>>,
}

/// How far a collection is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nobody keeps it yet.
    New,
    /// It was not listed to its end yet.
    Listing,
    /// It is watched.
    Watched,
    /// Each object is asked for: the cluster allows no more, or there are too few of them for a list.
    Asked,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Want {
    slot: u32,
    /// It is what the signal looks at first.
    first: bool,
}

/// One question, and what is known.
#[derive(Default)]
struct Slot {
    held: Option<Said>,
    /// Something has changed that only a new question tells.
    dirty: bool,
    /// How often something has changed.
    turn: u32,
    /// The collections that show every change; the first one is that of its first object.
    feeds: Vec<FeedId>,
    /// What it looks at beside its first object.
    more: Vec<Target>,
}

/// Who looks at an object.
#[derive(Default)]
pub(super) struct Wanting {
    /// Those that can judge by it alone.
    pub judged: Vec<(usize, Arc<dyn Signal>)>,
    /// Whether others have to be asked anew.
    pub stale: bool,
}

/// A question that has to be asked anew.
pub(super) struct Stale {
    pub slot: usize,
    turn: u32,
}

impl State {
    /// Collections of which fewer than `least` objects are wanted are not listed; each of them is asked for.
    pub fn new(asks: &[Ask], least: usize) -> Self {
        let mut state = Self { feeds: Vec::new(), by_scope: BTreeMap::new(), slots: Vec::new(), denied: false };
        let targets: Vec<Target> = asks.iter().map(|ask| ask.signal.target()).collect();
        let mut spread: BTreeMap<Target, BTreeSet<&str>> = BTreeMap::new();
        for target in &targets {
            spread.entry(scope(target, true)).or_default().extend(target.namespace.as_deref());
        }
        let wide: BTreeSet<Target> =
            spread.into_iter().filter(|(_, namespaces)| namespaces.len() > FEW).map(|(scope, _)| scope).collect();
        for (slot, target) in targets.iter().enumerate() {
            state.slots.push(Slot { dirty: scope::key(target).is_none(), ..Slot::default() });
            let feed = state.feed(scope(target, wide.contains(&scope(target, true))));
            state.want(slot, feed, target, true);
        }
        for feed in state.feeds.iter_mut().filter(|feed| feed.wants.len() + feed.lists.len() < least) {
            feed.stage = Stage::Asked;
        }
        state
    }

    /// The feed of a collection, which begins now if there is none yet.
    fn feed(&mut self, scope: Target) -> FeedId {
        if let Some(known) = self.by_scope.get(&scope) {
            return *known;
        }
        let id = self.feeds.len();
        self.by_scope.insert(scope.clone(), id);
        self.feeds.push(Feed {
            scope,
            stage: Stage::New,
            alive: Timestamp::UNIX_EPOCH,
            trouble: None,
            wants: BTreeMap::new(),
            lists: Vec::new(),
            shown: BTreeSet::new(),
        });
        id
    }

    #[allow(clippy::cast_possible_truncation)] // nobody asks four thousand million questions
    fn want(&mut self, slot: usize, feed: FeedId, target: &Target, first: bool) {
        match scope::key(target) {
            Some(key) => self.feeds[feed].wants.entry(key).or_default().push(Want { slot: slot as u32, first }),
            None => self.feeds[feed].lists.push(slot),
        }
        if !self.slots[slot].feeds.contains(&feed) {
            self.slots[slot].feeds.push(feed);
        }
    }

    /// Collections that nobody keeps yet: whoever asks keeps them from now on.
    pub fn take_new(&mut self) -> Vec<(FeedId, Target)> {
        let new = self.feeds.iter_mut().enumerate().filter(|(_, feed)| feed.stage == Stage::New);
        new.map(|(id, feed)| {
            feed.stage = Stage::Listing;
            (id, feed.scope.clone())
        })
        .collect()
    }

    /// Whether everything was listed, or failed.
    pub fn is_settled(&self) -> bool {
        self.feeds.iter().all(|feed| match feed.stage {
            Stage::Watched | Stage::Asked => true,
            Stage::New | Stage::Listing => feed.trouble.is_some(),
        })
    }

    /// Whether something is asked for again and again because it may not be watched.
    pub fn is_denied(&self) -> bool {
        self.denied
    }

    /// How many of the questions are answered for the first time, or cannot be.
    pub fn known(&self) -> usize {
        let stage = |slot: &Slot| slot.feeds.first().map(|feed| &self.feeds[*feed]);
        let over = |slot: &Slot| slot.held.is_some() || stage(slot).is_some_and(|feed| feed.trouble.is_some());
        self.slots.iter().filter(|slot| over(slot)).count()
    }

    /// Whose first object this is, for those that can judge by it alone; the others are asked anew. Both only when
    /// somebody looks at it.
    pub fn wanting(&mut self, feed: FeedId, object: &Value, asks: &[Ask]) -> Wanting {
        let mut wanting = Wanting::default();
        let Some(key) = scope::key_of(object) else { return wanting };
        let Feed { scope, wants, lists, shown, stage, .. } = &mut self.feeds[feed];
        let bare = scope::is_metadata(scope);
        for want in wants.get(&key).into_iter().flatten() {
            let slot = want.slot as usize;
            let signal = &asks[slot].signal;
            self.slots[slot].turn += 1;
            if want.first && !bare && signal.more(object).is_empty() {
                wanting.judged.push((slot, Arc::clone(signal)));
            } else {
                wanting.stale = true;
                self.slots[slot].dirty = true;
            }
        }
        for slot in lists.iter().filter(|slot| scope::is_in(&asks[**slot].signal.target(), object)) {
            self.slots[*slot].turn += 1;
            self.slots[*slot].dirty = true;
            wanting.stale = true;
        }
        if *stage == Stage::Listing && wants.contains_key(&key) {
            shown.insert(key);
        }
        wanting
    }

    /// What a signal says of its first object. Whether that is something new.
    pub fn judged(&mut self, slot: usize, said: Said) -> bool {
        let slot = &mut self.slots[slot];
        // What it looked at before, it does not look at now.
        slot.dirty = false;
        slot.feeds.truncate(1);
        slot.more.clear();
        put(&mut slot.held, said)
    }

    /// A list begins.
    pub fn begins(&mut self, feed: FeedId) {
        self.feeds[feed].shown.clear();
        self.feeds[feed].stage = Stage::Listing;
    }

    /// A list has come to its end; it was asked for at this instant. Whether something is not there any more.
    pub fn listed(&mut self, feed: FeedId, asked: Timestamp, asks: &[Ask]) -> bool {
        let this = &mut self.feeds[feed];
        (this.stage, this.alive, this.trouble) = (Stage::Watched, asked, None);
        let shown = std::mem::take(&mut this.shown);
        let gone: Vec<Want> =
            this.wants.iter().filter(|(key, _)| !shown.contains(*key)).flat_map(|(_, wants)| wants.clone()).collect();
        let lists = this.lists.clone();
        // A list may have lost what nobody saw go.
        lists.into_iter().for_each(|slot| self.slots[slot].dirty = true);
        let mut changed = false;
        for want in gone {
            changed |= self.is_gone(want, asked, asks);
        }
        changed
    }

    /// An object is not there any more.
    pub fn gone(&mut self, feed: FeedId, object: &Value, at: Timestamp, asks: &[Ask]) -> bool {
        let Some(key) = scope::key_of(object) else { return false };
        let wants = self.feeds[feed].wants.get(&key).cloned().unwrap_or_default();
        let mut changed = false;
        for want in wants {
            changed |= self.is_gone(want, at, asks);
        }
        for slot in self.feeds[feed].lists.clone() {
            if scope::is_in(&asks[slot].signal.target(), object) {
                self.slots[slot].turn += 1;
                self.slots[slot].dirty = true;
                changed = true;
            }
        }
        changed
    }

    fn is_gone(&mut self, want: Want, at: Timestamp, asks: &[Ask]) -> bool {
        let slot = want.slot as usize;
        self.slots[slot].turn += 1;
        if !want.first {
            self.slots[slot].dirty = true;
            return true;
        }
        self.judged(slot, Said::alone(Answer::not_there(&asks[slot].signal.target(), at)))
    }

    /// Everything up to this instant is known.
    pub fn alive(&mut self, feed: FeedId, at: Timestamp) {
        let feed = &mut self.feeds[feed];
        (feed.alive, feed.trouble) = (feed.alive.max(at), None);
    }

    /// When it was last known to be so.
    pub fn alive_at(&self, feed: FeedId) -> Timestamp {
        self.feeds[feed].alive
    }

    /// A watch is open again.
    pub fn reopened(&mut self, feed: FeedId) {
        self.feeds[feed].trouble = None;
    }

    /// A list or a watch has failed.
    pub fn fails(&mut self, feed: FeedId, error: ReadError, asks: &[Ask]) {
        if matches!(error, ReadError::Denied { status: 403, .. }) {
            self.denied(feed, asks);
        }
        self.feeds[feed].trouble = Some(error);
    }

    /// Where the whole cluster may not be watched, its namespaces may; and else each object is asked for.
    fn denied(&mut self, feed: FeedId, asks: &[Ask]) {
        self.feeds[feed].stage = Stage::Asked;
        if self.feeds[feed].scope.namespace.is_some() {
            self.denied = true;
            return;
        }
        let (wants, lists) = {
            let this = &mut self.feeds[feed];
            (std::mem::take(&mut this.wants), std::mem::take(&mut this.lists))
        };
        for (key, wants) in wants {
            let narrow = self.narrowed(feed, scope::namespace(&key));
            wants.iter().for_each(|want| self.moved(want.slot as usize, feed, narrow));
            self.feeds[narrow].wants.entry(key).or_default().extend(wants);
        }
        for slot in lists {
            let narrow = self.narrowed(feed, asks[slot].signal.target().namespace.as_deref());
            self.moved(slot, feed, narrow);
            self.feeds[narrow].lists.push(slot);
        }
    }

    /// The same collection in one namespace; itself where its kind has none.
    fn narrowed(&mut self, feed: FeedId, namespace: Option<&str>) -> FeedId {
        match namespace {
            Some(namespace) => self.feed(scope::within(&self.feeds[feed].scope.clone(), namespace)),
            None => {
                self.denied = true;
                feed
            }
        }
    }

    fn moved(&mut self, slot: usize, from: FeedId, to: FeedId) {
        self.slots[slot].feeds.iter_mut().filter(|feed| **feed == from).for_each(|feed| *feed = to);
    }

    /// What has to be asked anew: what has changed in a way that only a question tells, what may not be watched, and
    /// what was not heard of for long. What does not answer is not asked.
    pub fn stale(&self, asks: &[Ask], now: Timestamp) -> Vec<Stale> {
        let stage = |feed: &FeedId| self.feeds[*feed].stage;
        let needs = |(slot, ask): (&Slot, &Ask)| {
            let is_watched = slot.feeds.iter().all(|feed| stage(feed) == Stage::Watched);
            match slot.feeds.first().map(stage) {
                Some(Stage::Asked) => true,
                Some(Stage::Watched) => slot.dirty || !is_watched || self.is_old(slot, ask, now),
                Some(Stage::New | Stage::Listing) => self.trouble(slot).is_some() && self.is_old(slot, ask, now),
                None => false,
            }
        };
        let slots = self.slots.iter().zip(asks).enumerate();
        let slots = slots.filter(|(_, both)| self.silent(both.0).is_none() && needs(*both));
        slots.map(|(index, (slot, _))| Stale { slot: index, turn: slot.turn }).collect()
    }

    /// Whether nothing was heard for so long that it is better to ask.
    fn is_old(&self, slot: &Slot, ask: &Ask, now: Timestamp) -> bool {
        self.observed_at(slot).is_none_or(|at| at + ask.fresh < now)
    }

    /// Why something is not read, where that is so.
    fn trouble(&self, slot: &Slot) -> Option<&ReadError> {
        let feeds = slot.feeds.iter().map(|feed| &self.feeds[*feed]).filter(|feed| feed.stage != Stage::Asked);
        feeds.filter_map(|feed| feed.trouble.as_ref()).next()
    }

    /// The same where nobody answers at all.
    fn silent(&self, slot: &Slot) -> Option<&ReadError> {
        self.trouble(slot).filter(|error| match error {
            ReadError::NoConnection { .. } | ReadError::Unreachable { .. } => true,
            ReadError::Denied { .. }
            | ReadError::Expired { .. }
            | ReadError::NotServed { .. }
            | ReadError::Malformed { .. } => false,
        })
    }

    /// Up to when what is held is known to be so.
    fn observed_at(&self, slot: &Slot) -> Option<Timestamp> {
        let feeds = || slot.feeds.iter().map(|feed| &self.feeds[*feed]);
        let watched = !slot.dirty && feeds().all(|feed| feed.stage == Stage::Watched);
        let alive = feeds().map(|feed| feed.alive).min().filter(|_| watched);
        slot.held.as_ref().map(|held| held.observed_at.max(alive.unwrap_or(Timestamp::MIN)))
    }

    /// What a question was answered; what changed meanwhile is asked once more.
    pub fn asked(&mut self, stale: &Stale, said: Said, more: Vec<Target>) {
        let Stale { slot, turn } = *stale;
        if self.slots[slot].turn != turn {
            self.slots[slot].dirty = true;
            return;
        }
        put(&mut self.slots[slot].held, said);
        self.look_at(slot, more);
        // What nobody watched while it was read may have changed since.
        self.slots[slot].dirty = self.slots[slot].feeds.iter().any(|feed| self.feeds[*feed].stage != Stage::Watched);
    }

    /// From now on a slot depends on these objects, too.
    fn look_at(&mut self, slot: usize, more: Vec<Target>) {
        if self.slots[slot].more == more {
            return;
        }
        for old in std::mem::take(&mut self.slots[slot].more) {
            let Some(key) = scope::key(&old) else { continue };
            for feed in self.slots[slot].feeds.clone() {
                if let Some(wants) = self.feeds[feed].wants.get_mut(&key) {
                    wants.retain(|want| want.first || want.slot as usize != slot);
                }
            }
        }
        self.slots[slot].feeds.truncate(1);
        for target in &more {
            let feed = self.covering(slot, target);
            self.want(slot, feed, target, false);
        }
        self.slots[slot].more = more;
    }

    /// The collection that shows a further object: one that is watched already, if it is in one.
    fn covering(&mut self, slot: usize, target: &Target) -> FeedId {
        let first = &self.feeds[self.slots[slot].feeds[0]].scope;
        // Such as the Secret of a release beside the list of its Secrets.
        let same = first.kind == target.kind && first.group == target.group;
        if same && (first.namespace.is_none() || first.namespace == target.namespace) {
            return self.slots[slot].feeds[0];
        }
        let wide = self.by_scope.get(&scope(target, true)).copied();
        match wide.filter(|feed| matches!(self.feeds[*feed].stage, Stage::Watched | Stage::Listing)) {
            Some(feed) if self.feeds[feed].trouble.is_none() => feed,
            Some(_) | None => self.feed(scope(target, false)),
        }
    }

    /// What is known, in the order of the asks. What was not heard of for long is unknown.
    pub fn answers(&self, asks: &[Ask], now: Timestamp) -> impl Iterator<Item = Said> {
        self.slots.iter().zip(asks).map(move |(slot, ask)| self.answer(slot, ask, now))
    }

    fn answer(&self, slot: &Slot, ask: &Ask, now: Timestamp) -> Said {
        let unknown = |why: &str| Said::alone(Answer::absent(&ask.signal.target(), Health::Unknown, why, now));
        let (Some(held), Some(observed_at)) = (&slot.held, self.observed_at(slot)) else {
            return unknown(&self.trouble(slot).map_or("it is being read".to_string(), ToString::to_string));
        };
        match self.silent(slot).filter(|_| self.is_old(slot, ask, now)) {
            Some(error) => unknown(&error.to_string()),
            None => held.known_until(observed_at),
        }
    }
}

/// Keeps an answer; whether it says something new.
fn put(held: &mut Option<Said>, said: Said) -> bool {
    let changed = held.as_ref().is_none_or(|held| held.differs(&said));
    *held = Some(said);
    changed
}
