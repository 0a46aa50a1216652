//! What a state says: what is known and up to when, what has to be asked anew. Nothing is changed here.

use decide::snapshot::Health;
use jiff::Timestamp;

use super::slot::Slot;
use super::{FeedId, Stage, Stale, State};
use crate::observe::cluster::{Ask, ReadError};
use crate::observe::watch::shared_answer::SharedAnswer;
use crate::signal::Answer;

impl State {
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
        let in_trouble = |slot: &Slot| slot.first().is_some_and(|feed| self.at(feed).trouble.is_some());
        let over = |slot: &Slot| slot.held.is_some() || in_trouble(slot);
        self.slots.iter().filter(|slot| over(slot)).count()
    }

    /// What has to be asked anew: what has changed in a way that only a question tells, what may not be watched, and
    /// what was not heard of for long. What does not answer is not asked.
    pub fn stale(&self, asks: &[Ask], now: Timestamp) -> Vec<Stale> {
        let stage = |feed: FeedId| self.at(feed).stage;
        let needs = |(slot, ask): (&Slot, &Ask)| {
            let is_watched = slot.feeds().all(|feed| stage(feed) == Stage::Watched);
            match slot.first().map(stage) {
                Some(Stage::Asked) => true,
                Some(Stage::Watched) => slot.dirty || !is_watched || self.is_old(slot, ask, now),
                Some(Stage::New | Stage::Listing) => self.trouble(slot).is_some() && self.is_old(slot, ask, now),
                None => false,
            }
        };
        let slots = (0..).zip(self.slots.iter().zip(asks));
        let slots = slots.filter(|(_, both)| self.silent(both.0).is_none() && needs(*both));
        slots.map(|(index, (slot, _))| Stale { slot: index, turn: slot.turn }).collect()
    }

    /// Whether nothing was heard for so long that it is better to ask.
    fn is_old(&self, slot: &Slot, ask: &Ask, now: Timestamp) -> bool {
        self.observed_at(slot).is_none_or(|at| at + ask.fresh() < now)
    }

    /// Why something is not read, where that is so.
    fn trouble(&self, slot: &Slot) -> Option<&ReadError> {
        let feeds = slot.feeds().map(|feed| self.at(feed)).filter(|feed| feed.stage != Stage::Asked);
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
        let feeds = || slot.feeds().map(|feed| self.at(feed));
        let watched = !slot.dirty && feeds().all(|feed| feed.stage == Stage::Watched);
        let alive = feeds().map(|feed| feed.alive).min().filter(|_| watched);
        slot.held.as_ref().map(|held| held.observed_at.max(alive.unwrap_or(Timestamp::MIN)))
    }

    /// What is known, in the order of the asks. What was not heard of for long is unknown.
    pub fn answers(&self, asks: &[Ask], now: Timestamp) -> impl Iterator<Item = SharedAnswer> {
        self.slots.iter().zip(asks).map(move |(slot, ask)| self.answer(slot, ask, now))
    }

    fn answer(&self, slot: &Slot, ask: &Ask, now: Timestamp) -> SharedAnswer {
        let unknown = |why: &str| match ask.target() {
            Ok(target) => SharedAnswer::alone(Answer::absent(&target, Health::Unknown, why, now)),
            Err(error) => SharedAnswer::alone(Answer::unasked("signal", &error.to_string(), now)),
        };
        let (Some(held), Some(observed_at)) = (&slot.held, self.observed_at(slot)) else {
            return unknown(&self.trouble(slot).map_or("it is being read".to_string(), ToString::to_string));
        };
        match self.silent(slot).filter(|_| self.is_old(slot, ask, now)) {
            Some(error) => unknown(&error.to_string()),
            None => held.known_until(observed_at),
        }
    }
}
