//! One question and what is known of it, small because a fleet has hundreds of thousands. What comes in is in `mod`.

use crate::observe::watch::shared_answer::SharedAnswer;
use crate::signal::Target;

/// A collection that is watched, by its place in the list.
pub(in crate::observe::watch) type FeedId = u32;

/// One question, and what is known.
#[derive(Default)]
pub(super) struct Slot {
    pub held: Option<SharedAnswer>,
    /// The collection of its first object; none where nobody can be asked.
    first: Option<FeedId>,
    /// What it depends on beside that, for the few that do.
    beside: Option<Box<Beside>>,
    /// How often something has changed.
    pub turn: u32,
    /// Something has changed that only a new question tells.
    pub dirty: bool,
}

#[derive(Default)]
struct Beside {
    feeds: Vec<FeedId>,
    objects: Vec<Target>,
}

impl Slot {
    pub fn new(first: Option<FeedId>, dirty: bool) -> Self {
        Self { first, dirty, ..Self::default() }
    }

    pub fn first(&self) -> Option<FeedId> {
        self.first
    }

    /// The collections that show every change.
    pub fn feeds(&self) -> impl Iterator<Item = FeedId> {
        let beside = self.beside.iter().flat_map(|beside| &beside.feeds).copied();
        self.first.into_iter().chain(beside)
    }

    /// What it looks at beside its first object.
    pub fn objects(&self) -> &[Target] {
        self.beside.as_ref().map_or(&[], |beside| &beside.objects)
    }

    /// It looks at these, which are shown by these.
    pub fn look_at(&mut self, objects: Vec<Target>, feeds: Vec<FeedId>) {
        self.beside = (!objects.is_empty()).then(|| Box::new(Beside { feeds, objects }));
    }

    /// A collection is shown by another one.
    pub fn moved(&mut self, from: FeedId, to: FeedId) {
        let beside = self.beside.iter_mut().flat_map(|beside| &mut beside.feeds);
        self.first.iter_mut().chain(beside).filter(|feed| **feed == from).for_each(|feed| *feed = to);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Want {
    pub slot: u32,
    /// It is what the signal looks at first.
    pub first: bool,
}

/// Who looks at one object: nearly always a single one.
#[derive(Clone)]
pub(super) enum Wants {
    One(Want),
    More(Vec<Want>),
}

impl Wants {
    pub fn all(&self) -> &[Want] {
        match self {
            Self::One(want) => std::slice::from_ref(want),
            Self::More(wants) => wants,
        }
    }

    pub fn add(&mut self, want: Want) {
        match self {
            Self::One(only) => *self = Self::More(vec![*only, want]),
            Self::More(wants) => wants.push(want),
        }
    }

    /// What is left when those are gone for whom this holds.
    pub fn without(&self, gone: impl Fn(&Want) -> bool) -> Option<Self> {
        let left: Vec<Want> = self.all().iter().filter(|want| !gone(want)).copied().collect();
        match left.as_slice() {
            [] => None,
            [only] => Some(Self::One(*only)),
            [..] => Some(Self::More(left)),
        }
    }
}
