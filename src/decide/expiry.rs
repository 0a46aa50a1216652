//! Versions that clusters must leave: deprecated ones, ones that expire by a date or because too many
//! run at once, and those of pins that have ended (policy, section 6). When they may be merged without
//! approvals is in `gate::grace`.

use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use crate::facts::Facts;
use crate::gate::asked::AskedOpen;
use crate::gate::window;
use crate::ledger::{Purpose, Wave};
use crate::model::{Expiry, Force, Tier};
use crate::plan::{Finding, Gate, Verdict};
use crate::snapshot::Place;
use crate::{Reason, Version};

/// How people are told where the tier has no `force` of its own: two weeks, three days and a day before.
pub(crate) const NOTICE: [SignedDuration; 3] =
    [SignedDuration::from_hours(14 * 24), SignedDuration::from_hours(3 * 24), SignedDuration::from_hours(24)];
/// The grace period of a version that expires because too many run, where the tier has none.
const GRACE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// What presses on clusters to leave what they run: by when, and why.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pressing {
    pub by: Timestamp,
    pub why: Reason,
}

/// The grace period of a wave that was announced at `since`: the tier's, and a shorter one where its
/// clusters must leave what they run. Nothing forces a pre-release.
pub(crate) fn force<'a>(facts: &Facts<'_>, tier: &'a Tier, wave: &Wave, since: Timestamp) -> Option<Cow<'a, Force>> {
    // Who is ahead may get a release early; nobody has to.
    if wave.part.purpose == Purpose::Early {
        return None;
    }
    let own = tier.force.as_ref();
    let Some(pressing) = pressing(facts, tier, wave, since) else { return own.map(Cow::Borrowed) };
    let left = pressing.by.duration_since(since).max(SignedDuration::ZERO);
    let after = own.map_or(left, |own| own.after.min(left));
    let notice = own.map_or_else(|| NOTICE.to_vec(), |own| own.notice.clone());
    Some(Cow::Owned(Force { after, notice }))
}

/// What presses most on the clusters of a wave.
fn pressing(facts: &Facts<'_>, tier: &Tier, wave: &Wave, since: Timestamp) -> Option<Pressing> {
    let early = wave.part.purpose == Purpose::Early;
    if wave.version.is_prerelease() || early || wave.rolls_back().is_some() {
        return None;
    }
    let places = facts.places_of(&tier.name, &wave.own());
    let mut running: Vec<&Version> = places.iter().filter_map(|place: &&Place| place.version.known()).collect();
    running.retain(|running| **running < wave.version);
    let dated = running.iter().filter_map(|running| expiring(facts, running));
    let dated = dated.map(|(expiry, version)| Pressing { by: expiry.at, why: expires(expiry, version) });
    let crowd = running.iter().find_map(|running| crowded(facts, running));
    let grace = tier.force.as_ref().map_or(GRACE, |force| force.after);
    let crowd = crowd.map(|why| Pressing { by: since + grace, why });
    dated.chain(crowd).chain(unpinned(facts, wave)).min_by_key(|pressing| pressing.by)
}

/// The entry by which a version expires first.
fn expiring<'a, 'v>(facts: &Facts<'a>, version: &'v Version) -> Option<(&'a Expiry, &'v Version)> {
    let entries = facts.policy.expires.iter().filter(|expiry| expiry.versions.covers(version));
    entries.min_by_key(|expiry| expiry.at).map(|expiry| (expiry, version))
}

fn expires(expiry: &Expiry, version: &Version) -> Reason {
    Reason::Expires { version: version.clone(), at: expiry.at, why: expiry.why.clone() }
}

/// A version that is older than the newest ones of which so many may run at once.
fn crowded(facts: &Facts<'_>, version: &Version) -> Option<Reason> {
    let most = facts.policy.max_live?;
    let mut live: Vec<Version> = facts.policy.tiers.iter().flat_map(|tier| facts.running(tier)).collect();
    live.sort();
    live.dedup();
    let newer = live.iter().filter(|live| *live > version).count();
    (newer >= most as usize).then(|| Reason::TooManyLive { version: version.clone(), most })
}

/// Clusters that catch up because their pins have ended, all of them.
fn unpinned(facts: &Facts<'_>, wave: &Wave) -> Option<Pressing> {
    match wave.part.purpose {
        Purpose::CatchUp => {}
        Purpose::Promotion | Purpose::Early | Purpose::RollBack { .. } => return None,
    }
    let ended = |name| {
        let labels = facts.labels(name)?;
        let pins = facts.policy.pins.iter().filter(|pin| pin.select.matches(labels));
        pins.filter_map(|pin| pin.until).filter(|until| *until <= facts.now).max()
    };
    let ended: Option<Vec<Timestamp>> = wave.own().into_iter().map(ended).collect();
    let by = ended?.into_iter().max()?;
    Some(Pressing { by, why: Reason::PinEnded { at: by } })
}

/// Why a version is not taken any more: it is deprecated, or has expired.
pub(crate) fn refused(facts: &Facts<'_>, version: &Version) -> Option<Reason> {
    let expired = expiring(facts, version).filter(|(expiry, _)| expiry.at <= facts.now);
    expired.map(|(expiry, version)| expires(expiry, version)).or_else(|| deprecated(facts, version))
}

fn deprecated(facts: &Facts<'_>, version: &Version) -> Option<Reason> {
    let deprecated = facts.policy.deprecated.as_ref().filter(|deprecated| deprecated.covers(version))?;
    Some(Reason::Deprecated { version: version.clone(), versions: deprecated.as_str().to_string() })
}

/// What has expired is left one consecutive stop a window (policy, section 6): where another release was
/// forced on this tier in the window that is open now, the next one waits for the next window.
pub(crate) fn one_stop(facts: &Facts<'_>, tier: &Tier, wave: &Wave, since: Timestamp) -> Option<Finding> {
    pressing(facts, tier, wave, since)?;
    let others = facts.page.tiers.get(&tier.name)?.iter().filter(|other| other.version != wave.version);
    let forced = |other: &Wave| {
        let merging = other.merging.as_ref().filter(|merging| merging.forced.is_some() && other.landed().is_some())?;
        Some((merging.at, other.version.clone()))
    };
    let (at, version) = others.filter_map(forced).max()?;
    let (closes, until) = window::after(facts, tier, wave, at)?;
    let because = Reason::OneStopAWindow { version };
    (facts.now < closes).then(|| Finding::new(Gate::Grace, Verdict::Wait { until }, because))
}

/// Says on an open wave why its clusters must leave what they run.
pub(crate) fn finding(open: &AskedOpen<'_>) -> Option<Finding> {
    let AskedOpen { facts, tier, wave, .. } = *open;
    let since = wave.grace.as_ref().map_or(facts.now, |grace| grace.since);
    pressing(facts, tier, wave, since).map(|pressing| Finding::pass(Gate::Release, pressing.why))
}

/// What people should know of the versions that run on a tier about which nothing else is said.
pub(crate) fn marks(facts: &Facts<'_>, tier: &Tier) -> Vec<Finding> {
    let marked = |version: &Version| {
        let dated = expiring(facts, version).map(|(expiry, version)| expires(expiry, version));
        dated.or_else(|| crowded(facts, version)).or_else(|| deprecated(facts, version))
    };
    let policy = facts.policy;
    if policy.expires.is_empty() && policy.max_live.is_none() && policy.deprecated.is_none() {
        return Vec::new();
    }
    let running = facts.running(tier);
    running.iter().filter_map(marked).map(|why| Finding::pass(Gate::Release, why)).collect()
}

#[cfg(test)]
mod tests;
