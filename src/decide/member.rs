//! How each cluster of a wave stands: version proof, then freshness, then state
//! (`docs/signals/README.md`). How long that has to last is in `soak`.

use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use jiff::Timestamp;

use crate::clusters::Finder;
use crate::facts::Facts;
use crate::ledger::Wave;
use crate::model::{HealthRule, Tier};
use crate::plan::{MemberState, Members, Since};
use crate::readings::{Fact, Readings, Row, Stamp};
use crate::reason::MemberTrouble;
use crate::snapshot::Health;
use crate::{ClusterName, slice, source};

mod assessment;
mod question;

use assessment::Turn;
pub(crate) use assessment::{Assessment, past_deadline};
use question::Order;
pub(crate) use question::Question;

impl Order {
    fn of(facts: &Facts<'_>, wave: &Wave) -> Self {
        let since = wave.landed().map_or(wave.begun, |landed| landed.at);
        // What others put there before its source could be read had no digest then, and may have one by now.
        let digest = wave.digest.clone().or_else(|| source::pinned(facts, &wave.version));
        let (clusters, version) = (wave.members.clone(), wave.version.clone());
        Self { clusters, version, digest, since }
    }
}

/// Judges every cluster that has moved with a wave's climb, each since the slice that moved it landed;
/// of a wave that is nowhere yet, and of no slice after others, its own clusters.
pub(crate) fn assess(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Rc<Assessment> {
    let slices = facts.page.landed_with(&tier.name, wave);
    let newest = slices.last().copied().unwrap_or(wave);
    let clusters = match (wave.landed(), wave.part.slice) {
        (None, 0) => facts.still(tier, &wave.own()),
        (Some(_), _) | (None, _) => slice::moved(facts, tier, wave),
    };
    let mut orders: Vec<Order> = slices.iter().map(|slice| Order::of(facts, slice)).collect();
    if orders.is_empty() {
        orders.push(Order::of(facts, newest));
    }
    let HealthRule { max_age, degraded_for, progress_deadline, max_failures, .. } = tier.health;
    let tolerates = max_failures > 0;
    let landed = newest.landed().map(|landed| landed.at);
    let converged = newest.converged;
    let sliced = !newest.part.partition.is_empty();
    let question =
        Question { clusters, orders, sliced, landed, converged, max_age, degraded_for, progress_deadline, tolerates };
    facts.health(question, |question| match facts.observed {
        Some(observed) => question.answer(&observed.readings, facts.now),
        None => question.answer(&Readings::default(), facts.now),
    })
}

impl Question {
    /// One pass over the clusters and their answers side by side. Who is plainly healthy is a line in a
    /// table; everybody else is judged at length.
    fn answer(&self, readings: &Readings, now: Timestamp) -> Assessment {
        let mut cursor = readings.cursor();
        let mut orders = Orders::new(self, now);
        let mut since = Since::Rows(readings.clone(), 0);
        let mut odd = Vec::new();
        let mut all = Together::default();
        let (mut turn, mut early) = (Turn::default(), Turn::default());
        for (at, cluster) in self.clusters.iter().enumerate() {
            let (begin, rows) = cursor.of(cluster);
            let (order, ahead) = orders.of(cluster);
            let state = match rows {
                [row] if order.plainly_healthy(row) => Ok(row.since_stamp()),
                rows => match judge(self, (order.order, ahead), cluster, rows, now) {
                    MemberState::Healthy { since } => Ok(Stamp::maybe(since)),
                    other @ (MemberState::NotAsked
                    | MemberState::Progressing(_)
                    | MemberState::Suspended(_)
                    | MemberState::Unknown(_)
                    | MemberState::Degraded(_)
                    | MemberState::Failed(_)) => Err(other),
                },
            };
            if ahead {
                early.add(&state)
            } else {
                turn.add(&state)
            }
            match state {
                Ok(healthy) => {
                    all.add(rows, healthy);
                    since.note(at, begin, rows.len(), healthy);
                }
                Err(other) => {
                    odd.push((at, other));
                    since.note(at, begin, rows.len(), Stamp::NONE);
                }
            }
        }
        Assessment {
            members: Members::healthy_but(self.clusters.clone(), since, odd),
            observed_until: all.observed_until.and_then(Stamp::get),
            healthy_since: all.since.filter(|_| !all.unsaid).and_then(Stamp::get),
            turn: if turn.members > 0 { turn } else { early },
        }
    }
}

/// The healthy ones taken together.
#[derive(Default)]
struct Together {
    observed_until: Option<Stamp>,
    since: Option<Stamp>,
    /// One of them has no time of its own.
    unsaid: bool,
}

impl Together {
    #[inline]
    fn add(&mut self, rows: &[Row], since: Stamp) {
        for row in rows {
            let seen = row.observed();
            self.observed_until = self.observed_until.filter(|oldest| oldest.key() <= seen.key()).or(Some(seen));
        }
        self.unsaid |= since.is_none();
        self.since = self.since.filter(|latest| latest.key() >= since.key()).or(Some(since));
    }
}

/// Which order is about which cluster.
struct Orders<'a> {
    orders: Vec<OrderState<'a>>,
    finders: Vec<Finder<'a>>,
}

/// One order, and what it takes to be plainly healthy on it.
struct OrderState<'a> {
    order: &'a Order,
    /// Answers from before this say nothing.
    fresh: Stamp,
    /// The last fact that was looked at, and whether it speaks of this version in health.
    last: Option<(&'a Arc<Fact>, bool)>,
}

impl<'a> Orders<'a> {
    fn new(question: &'a Question, now: Timestamp) -> Self {
        let oldest = now.saturating_sub(question.max_age).unwrap_or(Timestamp::MAX);
        let state = |order: &'a Order| OrderState { order, fresh: Stamp::at(oldest.max(order.since)), last: None };
        let orders: Vec<OrderState<'a>> = question.orders.iter().map(state).collect();
        let finders = if orders.len() > 1 || question.sliced {
            question.orders.iter().map(|order| Finder::new(&order.clusters)).collect()
        } else {
            Vec::new()
        };
        Self { orders, finders }
    }

    /// The order of a cluster, and whether it moved ahead of its own.
    fn of(&mut self, cluster: &ClusterName) -> (&mut OrderState<'a>, bool) {
        let newest = self.orders.len() - 1;
        let own = self.finders.iter_mut().position(|finder| finder.has(cluster));
        let ahead = own.is_none() && !self.finders.is_empty();
        (&mut self.orders[own.unwrap_or(newest)], ahead)
    }
}

impl<'a> OrderState<'a> {
    #[inline]
    fn plainly_healthy(&mut self, row: &'a Row) -> bool {
        row.observed().key() >= self.fresh.key() && self.speaks_well(&row.fact)
    }

    /// Most answers share the few facts there are.
    #[inline]
    fn speaks_well(&mut self, fact: &'a Arc<Fact>) -> bool {
        match self.last {
            Some((last, well)) if Arc::ptr_eq(last, fact) => well,
            Some(_) | None => {
                let well = fact.health == Health::Healthy && self.order.is_proved(fact) && !self.order.is_other(fact);
                self.last = Some((fact, well));
                well
            }
        }
    }
}

impl Order {
    /// Whether what runs is this version.
    fn is_proved(&self, fact: &Fact) -> bool {
        fact.running.as_ref().is_some_and(|running| running.proves(&self.version))
    }

    /// Whether what runs has other content than was pinned for this version.
    fn is_other(&self, fact: &Fact) -> bool {
        matches!((&fact.digest, &self.digest), (Some(found), Some(pinned)) if found != pinned)
    }
}

impl MemberState {
    /// What is wrong, when something is.
    pub fn trouble(&self) -> Option<&MemberTrouble> {
        match self {
            Self::NotAsked | Self::Healthy { .. } => None,
            Self::Progressing(trouble)
            | Self::Suspended(trouble)
            | Self::Unknown(trouble)
            | Self::Degraded(trouble)
            | Self::Failed(trouble) => Some(trouble),
        }
    }
}

/// Whether a member that is not healthy has run out of time. Where the wave converged after the
/// deadline, because the late ones are tolerated, they stay failed; who was healthy then and is on its
/// way again is not late. By a signal that does not say since when, it may be one of those that are tolerated, where
/// any are.
fn late(trouble: &MemberTrouble, asked: &Question, now: Timestamp) -> bool {
    let Some(landed) = asked.landed else { return false };
    let deadline = landed + asked.progress_deadline;
    match asked.converged {
        None => now >= deadline,
        Some(converged) => converged >= deadline && trouble.since.map_or(asked.tolerates, |since| since <= converged),
    }
}

/// One cluster: the worst of its signals; all must agree. `order` moved it; it is late by the deadline of
/// the newest slice. Whom somebody moved `ahead` of its slice is not: nobody knows since when it could have been
/// there.
fn judge(
    asked: &Question,
    (order, ahead): (&Order, bool),
    cluster: &ClusterName,
    rows: &[Row],
    now: Timestamp,
) -> MemberState {
    let worst = rows
        .iter()
        .map(|row| judge_row(asked, order, cluster, row, now))
        .reduce(worse)
        .unwrap_or_else(|| MemberState::Unknown(trouble(cluster, "not read", "", None)));
    match worst {
        MemberState::Progressing(trouble) | MemberState::Suspended(trouble) | MemberState::Degraded(trouble)
            if !ahead && late(&trouble, asked, now) =>
        {
            let what = format!("{} past the progress deadline", trouble.what);
            MemberState::Failed(MemberTrouble { what, ..trouble })
        }
        MemberState::NotAsked
        | MemberState::Healthy { .. }
        | MemberState::Unknown(_)
        | MemberState::Failed(_)
        | MemberState::Progressing(_)
        | MemberState::Suspended(_)
        | MemberState::Degraded(_) => worst,
    }
}

fn judge_row(asked: &Question, order: &Order, cluster: &ClusterName, row: &Row, now: Timestamp) -> MemberState {
    let fact = row.fact.as_ref();
    let says = |what: &str| trouble(cluster, what, &fact.evidence, row.since());
    // Freshness of the look itself: what was read before landing, or long ago, says nothing. Who answered just
    // before it landed is about to answer again, which is no silence that `maxUnknown` could tolerate.
    if row.observed_at() + asked.max_age < now {
        return MemberState::Unknown(says("not read lately"));
    }
    if row.observed_at() < order.since {
        return MemberState::Progressing(says("not read since it landed"));
    }
    let proven = order.is_proved(fact);
    match fact.health {
        Health::Unknown => MemberState::Unknown(says("not read")),
        Health::NotFound => MemberState::Progressing(says("without the object")),
        Health::Suspended => MemberState::Suspended(says("suspended")),
        // The failure of another version, which this one may well mend.
        Health::Failed | Health::Degraded if about_another(fact, order) => {
            MemberState::Progressing(says(&format!("{}, still failing", behind(fact))))
        }
        Health::Failed => MemberState::Failed(says("failed")),
        Health::Degraded => {
            let since = row.since().map_or(row.observed_at(), |since| since.max(order.since));
            if now >= since + asked.degraded_for {
                MemberState::Failed(says("degraded"))
            } else {
                MemberState::Degraded(says("degraded"))
            }
        }
        Health::Progressing if proven => MemberState::Progressing(says("progressing")),
        Health::Progressing => MemberState::Progressing(says(&behind(fact))),
        Health::Healthy if !proven => MemberState::Progressing(says(&behind(fact))),
        Health::Healthy if order.is_other(fact) => {
            MemberState::Degraded(says("running other content under this version"))
        }
        Health::Healthy => MemberState::Healthy { since: row.since() },
    }
}

/// Whether a failure is about another version than this one.
fn about_another(fact: &Fact, order: &Order) -> bool {
    let about = fact.attempted.as_ref().or(fact.running.as_ref());
    about.is_some_and(|version| !version.proves(&order.version))
}

fn behind(fact: &Fact) -> String {
    match &fact.running {
        Some(version) => format!("on {version}"),
        None => "without proof of a version".to_string(),
    }
}

fn trouble(cluster: &ClusterName, what: &str, evidence: &str, since: Option<Timestamp>) -> MemberTrouble {
    MemberTrouble { cluster: cluster.clone(), what: what.to_string(), evidence: evidence.to_string(), since }
}

/// The worse of two states of one member; of two healthy ones the one that is so for less time.
fn worse(a: MemberState, b: MemberState) -> MemberState {
    if let (MemberState::Healthy { since: one }, MemberState::Healthy { since: two }) = (&a, &b) {
        let since = match (one, two) {
            (Some(one), Some(two)) => Some(*one.max(two)),
            _ => None,
        };
        return MemberState::Healthy { since };
    }
    if rank(&b) > rank(&a) { b } else { a }
}

fn rank(state: &MemberState) -> u8 {
    match state {
        MemberState::NotAsked | MemberState::Healthy { .. } => 0,
        MemberState::Progressing(_) => 1,
        MemberState::Suspended(_) => 2,
        MemberState::Unknown(_) => 3,
        MemberState::Degraded(_) => 4,
        MemberState::Failed(_) => 5,
    }
}

#[cfg(test)]
mod tests;
