//! What the world shows becomes entries of the ledger: first sights, openings, noes, verdicts.
//! Nothing is started here. What the base branch proves is in `landing`.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use crate::clusters::Finder;
use crate::facts::{Base, Draft, Facts, Noted, follow};
use crate::ledger::{Announced, Change, Closed, Entry, Grace, Rejected, Seen, Soaked, State, Wave, Withdrawn};
use crate::model::Tier;
use crate::plan::Alarm;
use crate::snapshot::{LedgerState, Pull, PullState, Release};
use crate::{Reason, Version, blocks, expiry, gate, hotfix, landing, member, proof, regression, slice, soak};

/// Settles everything about one plugin. With a ledger that cannot be believed nothing is settled:
/// an entry would rest on it.
pub(crate) fn settle(draft: &mut Draft<'_>) {
    match draft.facts.snapshot.ledger_state {
        LedgerState::Intact { .. } => {}
        LedgerState::Lost { .. } | LedgerState::Unread(_) => return,
    }
    draft.enter(first_sights(&draft.facts));
    draft.enter(hotfix::fresh(&draft.facts));
    if let Some(hotfixes) = hotfix::known(&draft.facts) {
        draft.facts.hotfixes = Cow::Owned(hotfixes);
    }
    draft.enter(blocks::fresh(&draft.facts));
    for tier in &draft.facts.policy.tiers {
        announced_and_closed(draft, tier);
        draft.note(&tier.name, leavers(&draft.facts, tier));
        base(draft, tier);
        verdicts(draft, tier);
        for pull in draft.facts.pulls(&tier.name).unwrap_or_default() {
            draft.note(&tier.name, regression::said(&draft.facts, tier, pull));
        }
        let (noted, alarms) = regression::watched(&draft.facts, tier);
        draft.note(&tier.name, noted);
        draft.ring(alarms);
        draft.note(&tier.name, grace(&draft.facts, tier));
    }
}

/// What the base branch says about one tier.
fn base(draft: &mut Draft<'_>, tier: &Tier) {
    let (gone, alarm) = landing::merged_and_gone(&draft.facts, tier);
    draft.note(&tier.name, gone);
    draft.ring(alarm);
    // Where nothing is installed on the others, clusters ahead of their tier may have theirs all the same.
    if let Base::Unread(_) = draft.facts.base(&tier.name) {
        return;
    }
    draft.note(&tier.name, landing::arrivals(&draft.facts, tier));
    draft.note(&tier.name, landing::adopted(&draft.facts, tier));
    draft.note(&tier.name, landing::departures(&draft.facts, tier));
}

/// The digest of a release is pinned when we first see it whole.
fn first_sights(facts: &Facts<'_>) -> Vec<Entry> {
    let Ok(releases) = facts.releases() else { return Vec::new() };
    let mut fresh: Vec<_> = releases.iter().filter(|release| release.incomplete.is_none()).collect();
    fresh.sort_by(|a, b| a.version.cmp(&b.version).then_with(|| a.version.as_str().cmp(b.version.as_str())));
    fresh.dedup_by(|a, b| a.version == b.version);
    let mut seen: Vec<&Version> = facts.page.releases.iter().map(|seen| &seen.version).collect();
    seen.sort();
    let mut seen = seen.into_iter().peekable();
    fresh.retain(|release| {
        while seen.next_if(|seen| **seen < release.version).is_some() {}
        seen.peek().is_none_or(|seen| **seen != release.version)
    });
    let entry = |release: &Release| {
        let seen = Seen { version: release.version.clone(), digest: release.digest.clone(), first_seen: facts.now };
        Entry::Seen { plugin: facts.plugin().clone(), seen }
    };
    fresh.into_iter().map(entry).collect()
}

/// Openings that the hub shows, and closings by people. One missing pull request is no closing: it
/// has to be seen closed.
fn announced_and_closed(draft: &mut Draft<'_>, tier: &Tier) {
    let Some((wave, pull)) = climbing_with(&draft.facts, tier) else { return };
    let note = |change| Noted::new(&wave.version, change);
    if wave.pull.is_none() {
        let announced = Announced { number: pull.number, at: pull.opened_at };
        draft.note(&tier.name, [note(Change::Announced(announced))]);
    }
    let shown = gate::force_command::shown_late(&draft.facts, tier, &wave, pull);
    draft.note(&tier.name, shown.map(|shown| note(Change::Shown(shown))));
    draft.note(&tier.name, closed(&draft.facts, tier, &wave, pull).map(note));
}

/// The wave that climbs to a tier, and its pull request.
fn climbing_with<'a>(facts: &Facts<'a>, tier: &Tier) -> Option<(Wave, &'a Pull)> {
    let pulls = facts.pulls(&tier.name)?;
    let wave = facts.page.climbing(&tier.name)?;
    let own = proof::own_pull(wave, &pulls).or_else(|| inherited(facts, tier, wave, &pulls));
    Some((wave.clone(), own.or_else(|| unclaimed(facts, tier, wave))?))
}

/// What it means that the pull request of a wave was closed.
fn closed(facts: &Facts<'_>, tier: &Tier, wave: &Wave, pull: &Pull) -> Option<Change> {
    match &pull.state {
        PullState::Closed { at, by } if by.as_ref() != Some(&facts.snapshot.hub.bot) => {
            Some(Change::Rejected(Rejected { at: *at, by: by.clone(), pull: pull.number }))
        }
        // Taken back by ourselves, and a ledger that was rolled back has forgotten why.
        PullState::Closed { at, .. } if wave.pull.is_some() => {
            let why = Reason::NothingNewer { version: facts.base(&tier.name).highest().cloned() };
            Some(match regression::taken_back_for(facts, wave, pull, *at) {
                Some(failed) => Change::Failed(failed),
                None => Change::Withdrawn(Withdrawn { at: facts.now, why }),
            })
        }
        PullState::Closed { .. } | PullState::Open | PullState::Merged { .. } => None,
    }
}

/// The pull request that was moved from an older release to this one, whatever its head is by now:
/// somebody may have pushed to it or closed it before we saw it moved.
fn inherited<'a>(facts: &Facts<'_>, tier: &Tier, wave: &Wave, pulls: &[&'a Pull]) -> Option<&'a Pull> {
    let mut waves = facts.page.tiers.get(&tier.name)?.iter().rev();
    let older = waves.find(|older| older.gave_way_to(wave))?;
    let number = older.pull.as_ref()?.number;
    // What has landed is nobody else's: a later slice gets a pull request of its own.
    let mut all = facts.page.tiers.get(&tier.name)?.iter();
    if all.any(|other| other.landed().is_some() && other.pull.as_ref().is_some_and(|pull| pull.number == number)) {
        return None;
    }
    let by_us = |pull: &Pull| matches!(&pull.state, PullState::Closed { by, .. } if by.as_ref() == Some(&facts.snapshot.hub.bot));
    pulls.iter().rfind(|pull| pull.number == number && !by_us(pull)).copied()
}

/// How much our clock may have been ahead of the hub's when an intent was written.
const CLOCKS: SignedDuration = SignedDuration::from_hours(1);

/// The open pull request of the tier, where the wave knows none and no other wave says it is its own. What
/// its head was a ledger that was rolled back may not tell, and the hub's clock is not ours.
fn unclaimed<'a>(facts: &Facts<'a>, tier: &Tier, wave: &Wave) -> Option<&'a Pull> {
    let pull = facts.open_pull(&tier.name).filter(|_| wave.pull.is_none())?;
    if pull.opened_at + CLOCKS < wave.begun {
        return None;
    }
    let claims = |wave: &Wave| wave.pull.as_ref().is_some_and(|known| known.number == pull.number);
    let claimed = facts.page.tiers.get(&tier.name).into_iter().flatten().any(claims);
    (!claimed).then_some(pull)
}

/// Clusters that a climb had for members and that the tier has no more, or only pinned.
fn leavers(facts: &Facts<'_>, tier: &Tier) -> Vec<Noted> {
    let base = facts.base(&tier.name);
    // Where nobody is left, what had finished last is what ran.
    let last =
        || facts.page.present(&tier.name, |wave| wave.finished().is_some()).next_back().map(|wave| &wave.version);
    let running = base.highest().or_else(last);
    let counts = |wave: &Wave| {
        let runs = wave.finished().is_some() && Some(&wave.version) == running;
        !wave.is_over() || runs || wave.may_come_again()
    };
    let left = |wave: &Wave| {
        let all = wave.clusters();
        let here = facts.still(tier, &all);
        let mut finder = Finder::new(&here);
        let gone = || all.iter().filter(|name| !finder.has(name)).cloned().collect();
        (here.len() < all.len()).then(gone).map(|clusters| Noted::new(&wave.version, Change::Left { clusters }))
    };
    facts.page.present(&tier.name, counts).filter_map(left).collect()
}

/// Health and soak of what runs on the tier.
fn verdicts(draft: &mut Draft<'_>, tier: &Tier) {
    let open = |wave: &Wave| match wave.state() {
        State::Open | State::Landed(_) | State::LandedAnyway(_) => true,
        State::Closed(Closed::Rejected(_) | Closed::Withdrawn(_)) => true,
        State::Closed(Closed::Superseded(_)) | State::Overtaken(_) | State::Finished(_) | State::Failed(_) => false,
    };
    let present: Vec<Wave> = draft.facts.page.present(&tier.name, open).cloned().collect();
    for wave in present {
        let facts = &draft.facts;
        let noted = match wave.state() {
            State::Landed(_) | State::LandedAnyway(_) if slice::is_there(facts, tier, &wave) => {
                verdict(facts, tier, &wave)
            }
            State::Landed(_) | State::LandedAnyway(_) if tier.follows => silence(facts, tier, &wave),
            State::Open if wave.part.slice > 0 => {
                let (noted, alarm) = between_slices(facts, tier, &wave);
                draft.ring(alarm);
                noted
            }
            State::Closed(Closed::Withdrawn(_)) if slice::ends_early(facts, tier, &wave) => verdict(facts, tier, &wave),
            State::Closed(Closed::Withdrawn(_)) => taken_back(facts, tier, &wave),
            State::Open | State::Closed(_) | State::Landed(_) | State::LandedAnyway(_) => Vec::new(),
            State::Overtaken(_) | State::Finished(_) | State::Failed(_) => Vec::new(),
        };
        draft.note(&tier.name, noted);
    }
}

/// Health and soak of a landed wave and of the slices before it. The soak of a climb runs once, over
/// all members, when the last of them have moved.
fn verdict(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Vec<Noted> {
    let rules = hotfix::rules(facts, tier, &wave.version);
    let tier = &*slice::as_begun(&rules, wave);
    let health = member::assess(facts, tier, wave);
    if let Some(why) = health.failure(tier, wave, facts.now) {
        return regression::fail(tier, wave, why, facts.now);
    }
    let (verified, why) = gate::verify::settled(facts, tier, wave);
    let mut noted: Vec<Noted> = verified.into_iter().collect();
    if let Some(why) = why {
        noted.extend(regression::fail(tier, wave, why, facts.now));
        return noted;
    }
    let healthy = health.all_healthy(&tier.health);
    let mut note = |change| noted.push(Noted::new(&wave.version, change));
    if wave.stalled().is_some() && healthy {
        note(Change::Resumed(facts.now));
    }
    if healthy && wave.converged.is_none() {
        note(Change::Converged(facts.now));
    }
    let whole = slice::following(facts, tier, wave).is_none();
    // While slices are still to come, only unhealthy members are noted: the soak runs once, over all members.
    let soaked = soak::advance(wave, &health, tier, facts.now).map(|soaked| match whole {
        true => soaked,
        false => {
            let until = wave.soak.map_or(soaked.until, |before| before.until);
            Soaked { healthy_for: SignedDuration::ZERO, until, paused: true, begun: None, ..soaked }
        }
    });
    let moved = soaked.filter(|_| soaked != wave.soak);
    noted.extend(moved.map(|soaked| Noted::progress(&wave.version, Change::Soaked(soaked))));
    if !whole || !gate::verify::is_over(facts, tier, wave) {
        return noted;
    }
    let mut note = |change| noted.push(Noted::new(&wave.version, change));
    if healthy && soaked.is_some_and(|soaked| soaked.healthy_for >= tier.soak.min) {
        note(Change::Finished(facts.now));
    } else if let Some(through) = soak::overdue(facts, tier, wave, &health, soaked) {
        note(Change::LetThrough(through));
        note(Change::Finished(facts.now));
    }
    noted
}

/// Where a tier that follows has a cluster that does not say what it runs, nothing is judged, and the soak stands still
/// as for anybody who is not known.
fn silence(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Vec<Noted> {
    let members = slice::moved(facts, tier, wave);
    if follow::running(facts, facts.plugin(), &members).is_ok() {
        return Vec::new();
    }
    let degraded = member::assess(facts, tier, wave).degraded(&tier.health);
    let still = |before| Soaked { paused: true, ..before };
    let soaked = if degraded { Some(soak::reset(wave, facts.now)) } else { wave.soak.map(still) };
    let moved = soaked.filter(|_| soaked != wave.soak);
    moved.map(|soaked| Noted::progress(&wave.version, Change::Soaked(soaked))).into_iter().collect()
}

/// A cluster that fails while the pull request of a later slice is open fails the release all the
/// same, or stalls it until all are healthy. For signals that do not say since when, the wave keeps
/// that somebody ails.
fn between_slices(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> (Vec<Noted>, Option<Alarm>) {
    let tier = &*slice::as_begun(tier, wave);
    let health = member::assess(facts, tier, wave);
    let resumed = || Noted::new(&wave.version, Change::Resumed(facts.now));
    if health.members.is_empty() {
        // Nobody is left who could be healthy again: this slice is the first one now.
        return (wave.stalled().is_some().then(resumed).into_iter().collect(), None);
    }
    // However long the pull request waits for a yes, those that have moved may fail meanwhile.
    let alarm = facts.soon();
    if let Some(why) = health.failure(tier, wave, facts.now) {
        return (regression::fail(tier, wave, why, facts.now), alarm);
    }
    let resumes = wave.stalled().is_some() && health.all_healthy(&tier.health);
    let mut noted: Vec<Noted> = resumes.then(resumed).into_iter().collect();
    let before = wave.soak.and_then(|soaked| soaked.ailing);
    let ailing = health.degraded(&tier.health).then(|| before.unwrap_or(facts.now));
    if ailing != before {
        let healthy_for = SignedDuration::ZERO;
        let soaked = Soaked { healthy_for, until: facts.now, paused: true, ailing, begun: None };
        noted.push(Noted::progress(&wave.version, Change::Soaked(soaked)));
    }
    (noted, alarm)
}

/// While a slice that was taken back may come again, what has moved may fail as ever, and the slice before it may be
/// verified.
fn taken_back(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Vec<Noted> {
    let earlier = slice::before(facts, tier, wave).filter(|_| wave.may_come_again());
    let Some(earlier) = earlier else { return Vec::new() };
    // Whoever is on the way rings by itself, and nothing else is waited for.
    let (noted, _) = between_slices(facts, tier, wave);
    if !noted.is_empty() {
        return noted;
    }
    let (verified, why) = gate::verify::settled(facts, tier, &earlier);
    let failed = why.map(|why| regression::fail(tier, wave, why, facts.now));
    verified.into_iter().chain(failed.into_iter().flatten()).collect()
}

/// The grace period: it begins with the announced pull request, or when the file first asks for
/// one; notices count from when the hub shows them; the deadline never moves earlier.
fn grace(facts: &Facts<'_>, tier: &Tier) -> Option<Noted> {
    let wave = facts.page.climbing(&tier.name)?;
    if wave.rolls_back().is_some() {
        return None;
    }
    let announced = wave.pull.as_ref()?;
    let (since, announced_deadline) = clock(facts, tier, wave, announced);
    let Some(force) = expiry::force(facts, tier, wave, since) else {
        return wave.grace.is_some().then(|| Noted::new(&wave.version, Change::GraceEnded));
    };
    let fresh = || Grace { since, deadline: announced_deadline, notices: Vec::new(), giving: None };
    let mut next = wave.grace.clone().unwrap_or_else(fresh);
    let pulls = facts.pulls(&tier.name).unwrap_or_default();
    for notice in proof::own_pull(wave, &pulls).into_iter().flat_map(|pull| &pull.notices) {
        if !next.notices.iter().any(|sent| sent.before == notice.before)
            && notice.at.as_second() >= next.since.as_second()
        {
            next.notices.push(notice.clone());
        }
    }
    if next.notices.iter().any(|sent| next.giving.as_ref().is_some_and(|giving| giving.before == sent.before)) {
        next.giving = None;
    }
    next.deadline = gate::grace::deadline(&next, &force, facts.ledger, facts.now);
    (wave.grace.as_ref() != Some(&next)).then(|| Noted::new(&wave.version, Change::Grace(next)))
}

/// From when the grace period of a wave counts, and the deadline that was announced already.
fn clock(facts: &Facts<'_>, tier: &Tier, wave: &Wave, announced: &Announced) -> (Timestamp, Timestamp) {
    if let Some(grace) = &wave.grace {
        return (grace.since, grace.deadline);
    }
    let known_before =
        facts.snapshot.ledger.plugins.get(facts.plugin()).and_then(|page| page.wave(&tier.name, &wave.version));
    let anew = hotfix::restarts_clock(facts, &tier.name, wave);
    let inherited = gate::grace::inherited(&facts.page, &tier.name, announced.number);
    // Seen much later than the look after its opening, force may have been switched on meanwhile.
    let now = facts.hub_now();
    let lately = now <= announced.at + facts.snapshot.look_again * 2;
    let known = known_before.is_some_and(|wave| wave.pull.is_some());
    let fresh = if lately && !known { announced.at } else { now };
    let (since, before) = match inherited {
        // It was here before without a clock: force was off, whatever ran for an older release before that.
        Some((_, before)) if known => (fresh, before),
        Some(running) => running,
        None => (fresh, fresh),
    };
    (if anew { now } else { since }, before)
}

#[cfg(test)]
mod tests;
