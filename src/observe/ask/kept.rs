//! What was answered a moment ago is not asked again: a look may come with every ring, and a fleet is many
//! questions to one server. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use decide::Version;
use decide::snapshot::Health;
use jiff::{SignedDuration, Timestamp};

use super::{About, Ask};
use crate::observe::whose::Whose;
use crate::signal::prometheus::{Ground, Judged};

/// What could not be read is asked again so much later, where that is sooner.
const AGAIN: SignedDuration = SignedDuration::from_secs(30);

/// Answers that still count.
#[derive(Default)]
pub struct Kept(BTreeMap<(Whose, usize), One>);

struct One {
    about: About,
    ground: Option<(Version, Timestamp)>,
    asked: Timestamp,
    said: Judged,
}

impl Kept {
    /// The answer to the same question on the same ground, where it is young enough.
    pub fn of(&self, ask: &Ask, ground: Option<&Ground>, now: Timestamp) -> Option<&Judged> {
        let one = self.0.get(&(ask.whose.clone(), ask.index))?;
        let same = one.about.is(&ask.about) && one.ground == ground.map(part);
        let lasts = if one.said.reading.health == Health::Unknown { ask.fresh.min(AGAIN) } else { ask.fresh };
        let age = now.duration_since(one.asked);
        (same && !age.is_negative() && age < lasts).then_some(&one.said)
    }

    /// Keeps an answer in the place of one before.
    pub fn put(&mut self, ask: &Ask, ground: Option<&Ground>, asked: Timestamp, said: Judged) {
        let one = One { about: ask.about.clone(), ground: ground.map(part), asked, said };
        self.0.insert((ask.whose.clone(), ask.index), one);
    }

    /// Lets go what nobody asks any more.
    pub fn only<'a>(&mut self, asks: impl Iterator<Item = &'a Ask>) {
        let mut before = std::mem::take(&mut self.0);
        self.0 = asks.filter_map(|ask| before.remove_entry(&(ask.whose.clone(), ask.index))).collect();
    }
}

impl About {
    /// Whether both are one question: it is made once for a policy and its clusters.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Page(one), Self::Page(other)) => Arc::ptr_eq(one, other),
            (Self::Metrics(one), Self::Metrics(other)) => Arc::ptr_eq(one, other),
            (Self::Page(_), Self::Metrics(_)) | (Self::Metrics(_), Self::Page(_)) => false,
        }
    }
}

fn part(ground: &Ground) -> (Version, Timestamp) {
    (ground.version.clone(), ground.from)
}
