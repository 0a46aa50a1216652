//! What is known of everything that is asked through one connection, and how old that is. Pure: what comes from
//! where is in `feed`, what is asked anew in `mod`.

mod read;
mod slot;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

pub(super) use self::slot::FeedId;
use self::slot::{Slot, Want, Wants};
use super::once::Once;
use super::scope::{self, FEW, scope};
use super::shared_answer::SharedAnswer;
use crate::observe::cluster::{Ask, ReadError};
use crate::signal::{Answer, Signal, Target};

/// Everything that is asked through one connection.
pub(super) struct State {
    feeds: Vec<Feed>,
    by_scope: BTreeMap<Target, FeedId>,
    slots: Vec<Slot>,
    /// Whether something is asked for because it may not be watched.
    denied: bool,
    /// The names of objects, which are the same in many clusters.
    names: Arc<Once<str>>,
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
    wants: BTreeMap<Arc<str>, Wants>,
    /// Who looks at a list.
    lists: Vec<u32>,
    /// Names that the list under way has shown.
    shown: BTreeSet<Arc<str>>,
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

/// Who looks at an object.
#[derive(Default)]
pub(super) struct Wanting {
    /// Those that can judge by it alone.
    pub judged: Vec<(u32, Box<dyn Signal>)>,
    /// Whether others have to be asked anew.
    pub stale: bool,
}

/// A question that has to be asked anew.
pub(super) struct Stale {
    pub slot: u32,
    turn: u32,
}

impl State {
    /// Collections of which fewer than `least` objects are wanted are not listed; each of them is asked for.
    pub fn new(asks: &[Ask], least: usize, names: &Arc<Once<str>>) -> Self {
        let names = Arc::clone(names);
        let (feeds, by_scope, slots) = (Vec::new(), BTreeMap::new(), Vec::with_capacity(asks.len()));
        let mut state = Self { feeds, by_scope, slots, denied: false, names };
        let mut spread: BTreeMap<Target, BTreeSet<String>> = BTreeMap::new();
        for target in asks.iter().filter_map(|ask| ask.target().ok()) {
            spread.entry(scope(&target, true)).or_default().extend(target.namespace);
        }
        let wide: BTreeSet<Target> =
            spread.into_iter().filter(|(_, namespaces)| namespaces.len() > FEW).map(|(scope, _)| scope).collect();
        for (slot, ask) in (0..).zip(asks) {
            let Ok(target) = ask.target() else {
                state.slots.push(Slot::default());
                continue;
            };
            let feed = state.feed(scope(&target, wide.contains(&scope(&target, true))));
            state.slots.push(Slot::new(Some(feed), scope::key(&target).is_none()));
            state.want(feed, &target, Want { slot, first: true });
        }
        for feed in state.feeds.iter_mut().filter(|feed| feed.wants.len() + feed.lists.len() < least) {
            feed.stage = Stage::Asked;
        }
        state
    }

    fn at(&self, feed: FeedId) -> &Feed {
        &self.feeds[feed as usize]
    }

    fn at_mut(&mut self, feed: FeedId) -> &mut Feed {
        &mut self.feeds[feed as usize]
    }

    fn slot(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    /// The feed of a collection, which begins now if there is none yet.
    #[allow(clippy::cast_possible_truncation)] // nobody watches four thousand million collections
    fn feed(&mut self, scope: Target) -> FeedId {
        if let Some(known) = self.by_scope.get(&scope) {
            return *known;
        }
        let id = self.feeds.len() as FeedId;
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

    fn want(&mut self, feed: FeedId, target: &Target, want: Want) {
        match scope::key(target).map(|key| self.names.share(key)) {
            Some(key) => self.at_mut(feed).want(key, want),
            None => self.at_mut(feed).lists.push(want.slot),
        }
    }

    /// Collections that nobody keeps yet: whoever asks keeps them from now on.
    pub fn take_new(&mut self) -> Vec<(FeedId, Target)> {
        let new = (0..).zip(&mut self.feeds).filter(|(_, feed)| feed.stage == Stage::New);
        new.map(|(id, feed)| {
            feed.stage = Stage::Listing;
            (id, feed.scope.clone())
        })
        .collect()
    }

    /// Whose first object this is, for those that can judge by it alone; the others are asked anew. Both only when
    /// somebody looks at it.
    pub fn wanting(&mut self, feed: FeedId, object: &Value, asks: &[Ask]) -> Wanting {
        let mut wanting = Wanting::default();
        let Some(key) = scope::key_of(object) else { return wanting };
        let Feed { scope, wants, lists, shown, stage, .. } = &mut self.feeds[feed as usize];
        let bare = scope::is_metadata(scope);
        let found = wants.get_key_value(&*key);
        for want in found.into_iter().flat_map(|(_, wants)| wants.all()) {
            let slot = &mut self.slots[want.slot as usize];
            slot.turn += 1;
            let signal = asks[want.slot as usize].signal().ok().filter(|_| want.first && !bare);
            match signal.filter(|signal| signal.more(object).is_empty()) {
                Some(signal) => wanting.judged.push((want.slot, signal)),
                None => (wanting.stale, slot.dirty) = (true, true),
            }
        }
        for slot in lists.iter().filter(|slot| is_listed(&asks[**slot as usize], object)) {
            let slot = &mut self.slots[*slot as usize];
            slot.turn += 1;
            (wanting.stale, slot.dirty) = (true, true);
        }
        if let Some((key, _)) = found.filter(|_| *stage == Stage::Listing) {
            shown.insert(Arc::clone(key));
        }
        wanting
    }

    /// What a signal says of its first object. Whether that is something new.
    pub fn judged(&mut self, slot: u32, said: SharedAnswer) -> bool {
        // What it looked at before, it does not look at now.
        self.look_at(slot, Vec::new());
        let slot = self.slot(slot);
        slot.dirty = false;
        put(&mut slot.held, said)
    }

    /// A list begins.
    pub fn begins(&mut self, feed: FeedId) {
        let feed = self.at_mut(feed);
        feed.shown.clear();
        feed.stage = Stage::Listing;
    }

    /// A list has come to its end; it was asked for at this instant. Whether something is not there any more.
    pub fn listed(&mut self, feed: FeedId, asked: Timestamp, asks: &[Ask]) -> bool {
        let this = self.at_mut(feed);
        (this.stage, this.alive, this.trouble) = (Stage::Watched, asked, None);
        let shown = std::mem::take(&mut this.shown);
        let gone = this.wants.iter().filter(|(key, _)| !shown.contains(*key));
        let gone: Vec<Want> = gone.flat_map(|(_, wants)| wants.all()).copied().collect();
        // A list may have lost what nobody saw go.
        this.lists.clone().into_iter().for_each(|slot| self.slot(slot).dirty = true);
        let mut changed = false;
        for want in gone {
            changed |= self.is_gone(want, asked, asks);
        }
        changed
    }

    /// An object is not there any more.
    pub fn gone(&mut self, feed: FeedId, object: &Value, at: Timestamp, asks: &[Ask]) -> bool {
        let Some(key) = scope::key_of(object) else { return false };
        let wants = self.at(feed).wants.get(&*key).cloned();
        let mut changed = false;
        for want in wants.iter().flat_map(|wants| wants.all()) {
            changed |= self.is_gone(*want, at, asks);
        }
        for slot in self.at(feed).lists.clone() {
            if is_listed(&asks[slot as usize], object) {
                let slot = self.slot(slot);
                slot.turn += 1;
                slot.dirty = true;
                changed = true;
            }
        }
        changed
    }

    fn is_gone(&mut self, want: Want, at: Timestamp, asks: &[Ask]) -> bool {
        let slot = self.slot(want.slot);
        slot.turn += 1;
        match asks[want.slot as usize].target().ok().filter(|_| want.first) {
            Some(target) => self.judged(want.slot, SharedAnswer::alone(Answer::not_there(&target, at))),
            None => {
                slot.dirty = true;
                true
            }
        }
    }

    /// Everything up to this instant is known.
    pub fn alive(&mut self, feed: FeedId, at: Timestamp) {
        let feed = self.at_mut(feed);
        (feed.alive, feed.trouble) = (feed.alive.max(at), None);
    }

    /// When it was last known to be so.
    pub fn alive_at(&self, feed: FeedId) -> Timestamp {
        self.at(feed).alive
    }

    /// A watch is open again.
    pub fn reopened(&mut self, feed: FeedId) {
        self.at_mut(feed).trouble = None;
    }

    /// A list or a watch has failed.
    pub fn fails(&mut self, feed: FeedId, error: ReadError, asks: &[Ask]) {
        if matches!(error, ReadError::Denied { status: 403, .. }) {
            self.denied(feed, asks);
        }
        self.at_mut(feed).trouble = Some(error);
    }

    /// Where the whole cluster may not be watched, its namespaces may; and else each object is asked for.
    fn denied(&mut self, feed: FeedId, asks: &[Ask]) {
        let this = self.at_mut(feed);
        this.stage = Stage::Asked;
        if this.scope.namespace.is_some() {
            self.denied = true;
            return;
        }
        let (wants, lists) = (std::mem::take(&mut this.wants), std::mem::take(&mut this.lists));
        for (key, wants) in wants {
            let narrow = self.narrowed(feed, scope::namespace(&key));
            for want in wants.all() {
                self.slot(want.slot).moved(feed, narrow);
                self.at_mut(narrow).want(Arc::clone(&key), *want);
            }
        }
        for slot in lists {
            let namespace = asks[slot as usize].target().ok().and_then(|target| target.namespace);
            let narrow = self.narrowed(feed, namespace.as_deref());
            self.slot(slot).moved(feed, narrow);
            self.at_mut(narrow).lists.push(slot);
        }
    }

    /// The same collection in one namespace; itself where its kind has none.
    fn narrowed(&mut self, feed: FeedId, namespace: Option<&str>) -> FeedId {
        match namespace {
            Some(namespace) => self.feed(scope::within(&self.at(feed).scope.clone(), namespace)),
            None => {
                self.denied = true;
                feed
            }
        }
    }

    /// What a question was answered; what changed meanwhile is asked once more.
    pub fn asked(&mut self, stale: &Stale, said: SharedAnswer, more: Vec<Target>) {
        let Stale { slot, turn } = *stale;
        if self.slot(slot).turn != turn {
            self.slot(slot).dirty = true;
            return;
        }
        put(&mut self.slot(slot).held, said);
        self.look_at(slot, more);
        // What nobody watched while it was read may have changed since.
        let unwatched = self.slots[slot as usize].feeds().any(|feed| self.at(feed).stage != Stage::Watched);
        self.slot(slot).dirty = unwatched;
    }

    /// From now on a slot depends on these objects, too, and on no others.
    fn look_at(&mut self, slot: u32, more: Vec<Target>) {
        let this = &self.slots[slot as usize];
        if this.objects() == more {
            return;
        }
        let old: Vec<FeedId> = this.feeds().collect();
        for key in this.objects().iter().filter_map(scope::key) {
            old.iter().for_each(|feed| self.feeds[*feed as usize].forgets(&key, slot));
        }
        let mut feeds = Vec::new();
        for target in &more {
            let Some(feed) = self.covering(slot, target) else { continue };
            self.want(feed, target, Want { slot, first: false });
            if self.slots[slot as usize].first() != Some(feed) && !feeds.contains(&feed) {
                feeds.push(feed);
            }
        }
        self.slot(slot).look_at(more, feeds);
    }

    /// The collection that shows a further object: one that is watched already, if it is in one.
    fn covering(&mut self, slot: u32, target: &Target) -> Option<FeedId> {
        let own = self.slot(slot).first()?;
        let first = &self.at(own).scope;
        // Such as the Secret of a release beside the list of its Secrets.
        let same = first.kind == target.kind && first.group == target.group;
        if same && (first.namespace.is_none() || first.namespace == target.namespace) {
            return Some(own);
        }
        let wide = self.by_scope.get(&scope(target, true)).copied();
        match wide.filter(|feed| matches!(self.at(*feed).stage, Stage::Watched | Stage::Listing)) {
            Some(feed) if self.at(feed).trouble.is_none() => Some(feed),
            Some(_) | None => Some(self.feed(scope(target, false))),
        }
    }
}

impl Feed {
    fn want(&mut self, key: Arc<str>, want: Want) {
        match self.wants.entry(key) {
            Entry::Vacant(place) => {
                place.insert(Wants::One(want));
            }
            Entry::Occupied(mut wants) => wants.get_mut().add(want),
        }
    }

    /// A slot does not look at this object any more, unless it is its first.
    fn forgets(&mut self, key: &str, slot: u32) {
        let Some((key, wants)) = self.wants.remove_entry(key) else { return };
        if let Some(left) = wants.without(|want| !want.first && want.slot == slot) {
            self.wants.insert(key, left);
        }
    }
}

/// Whether an object is in the list that an ask is about.
fn is_listed(ask: &Ask, object: &Value) -> bool {
    ask.target().is_ok_and(|target| scope::is_in(&target, object))
}

/// Keeps an answer; whether it says something new.
fn put(held: &mut Option<SharedAnswer>, said: SharedAnswer) -> bool {
    let changed = held.as_ref().is_none_or(|held| held.differs(&said));
    *held = Some(said);
    changed
}
