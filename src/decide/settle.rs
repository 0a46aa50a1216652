//! What the world shows becomes entries of the ledger: first sights, openings, noes, landings,
//! verdicts. Nothing is started here.

use alloc::vec::Vec;

use crate::desk::{Base, Desk};
use crate::ledger::{Announced, Change, Entry, Failed, Grace, Landed, Rejected, Seen, Superseded, Wave, Withdrawn};
use crate::model::Tier;
use crate::snapshot::{LedgerState, Pull, PullState};
use crate::{Reason, Version, afterwards, gate, hotfix, member, rollback, soak};

/// Settles everything about one plugin. With a ledger that cannot be believed nothing is settled:
/// an entry would rest on it.
pub(crate) fn settle(desk: &mut Desk<'_>) {
    match desk.snapshot.ledger_state {
        LedgerState::Intact { .. } => {}
        LedgerState::Lost { .. } | LedgerState::Unread(_) => return,
    }
    first_sights(desk);
    for tier in &desk.policy.tiers {
        announced_and_closed(desk, tier);
        landings(desk, tier);
        verdicts(desk, tier);
        afterwards::settle(desk, tier);
        grace(desk, tier);
    }
}

/// The digest of a release is pinned when we first see it.
fn first_sights(desk: &mut Desk<'_>) {
    let Ok(releases) = desk.releases() else { return };
    let mut fresh: Vec<_> = releases.iter().filter(|release| desk.page.seen(&release.version).is_none()).collect();
    fresh.sort_by(|a, b| a.version.cmp(&b.version).then_with(|| a.version.as_str().cmp(b.version.as_str())));
    fresh.dedup_by(|a, b| a.version == b.version);
    for release in fresh {
        let seen = Seen { version: release.version.clone(), digest: release.digest.clone(), first_seen: desk.now };
        let plugin = desk.plugin().clone();
        desk.record_entry(Entry::Seen { plugin, seen });
    }
}

/// Openings that the hub shows, and closings by people. One missing pull request is no closing: it
/// has to be seen closed.
fn announced_and_closed(desk: &mut Desk<'_>, tier: &Tier) {
    let Some(pulls) = desk.pulls(&tier.name) else { return };
    let Some(wave) = desk.page.climbing(&tier.name).cloned() else { return };
    let Some(pull) = own_pull(&wave, &pulls).or_else(|| inherited(desk, tier, &wave, &pulls)) else { return };
    if wave.pull.is_none() {
        let announced = Announced { number: pull.number, at: pull.opened_at };
        desk.record(&tier.name, &wave.version, Change::Announced(announced));
    }
    if let PullState::Closed { at, by } = &pull.state
        && !wave.is_over()
        && wave.landed.is_none()
        && by.as_ref() != Some(&desk.snapshot.hub.bot)
    {
        let rejected = Rejected { at: *at, by: by.clone(), pull: pull.number };
        desk.record(&tier.name, &wave.version, Change::Rejected(rejected));
    }
    // Taken back by ourselves, and a ledger that was rolled back has forgotten why.
    if let PullState::Closed { by: Some(by), .. } = &pull.state
        && wave.pull.is_some()
        && *by == desk.snapshot.hub.bot
    {
        let why = Reason::NothingNewer { version: desk.base(&tier.name).highest().cloned() };
        desk.record(&tier.name, &wave.version, Change::Withdrawn(Withdrawn { at: desk.now, why }));
    }
}

/// The pull request of a wave: the one it knows by number, or the one that holds its commit.
pub(crate) fn own_pull<'a>(wave: &Wave, pulls: &[&'a Pull]) -> Option<&'a Pull> {
    let written = |pull: &&&Pull| wave.head().is_some_and(|head| head.commit == pull.head);
    // Somebody may have pushed to it before we first saw it; the branch and the author were checked.
    let since = |pull: &&&Pull| pull.opened_at.as_second() >= wave.begun.as_second();
    match &wave.pull {
        Some(known) => pulls.iter().rfind(|pull| known.number == pull.number).copied(),
        None => pulls.iter().rfind(written).or_else(|| pulls.iter().rfind(since)).copied(),
    }
}

/// The pull request that was moved from an older release to this one, whatever its head is by now:
/// somebody may have pushed to it or closed it before we saw it moved.
fn inherited<'a>(desk: &Desk<'_>, tier: &Tier, wave: &Wave, pulls: &[&'a Pull]) -> Option<&'a Pull> {
    let mut waves = desk.page.tiers.get(&tier.name)?.iter().rev();
    let older =
        waves.find(|older| older.superseded.as_ref().is_some_and(|superseded| superseded.by == wave.version))?;
    let number = older.pull.as_ref()?.number;
    let by_us = |pull: &Pull| matches!(&pull.state, PullState::Closed { by, .. } if by.as_ref() == Some(&desk.snapshot.hub.bot));
    pulls.iter().rfind(|pull| pull.number == number && !by_us(pull)).copied()
}

/// What the base branch proves: our version has landed, somebody put another one there, somebody
/// took it off again.
fn landings(desk: &mut Desk<'_>, tier: &Tier) {
    merged_and_gone(desk, tier);
    let Base::Uniform(running) = desk.base(&tier.name) else { return };
    match desk.page.wave(&tier.name, &running).cloned() {
        Some(wave) if wave.landed.is_none() => {
            let landed = landing(desk, tier, &wave);
            desk.record(&tier.name, &running, Change::Landed(landed));
        }
        Some(_) => {}
        None => adopt(desk, tier, &running),
    }
    let overtaken: Vec<Wave> = desk
        .page
        .tiers
        .get(&tier.name)
        .into_iter()
        .flatten()
        .filter(|wave| wave.landed.is_some() && wave.version != running && wave.failed.is_none())
        .cloned()
        .collect();
    for wave in overtaken {
        if wave.version > running && rollback::explains(desk, &tier.name, &running) {
            continue;
        }
        if wave.version > running {
            let why = Reason::Reverted { version: wave.version.clone() };
            desk.record(&tier.name, &wave.version, Change::Failed(Failed { at: desk.now, why }));
        } else if !wave.is_over() {
            let superseded = Superseded { at: desk.now, by: running.clone() };
            desk.record(&tier.name, &wave.version, Change::Superseded(superseded));
        }
    }
}

/// A pull request that the hub has shown as merged for a while, though the base branch does not hold
/// its version: somebody took it off again before we looked.
fn merged_and_gone(desk: &mut Desk<'_>, tier: &Tier) {
    let Some(wave) = desk.page.climbing(&tier.name).cloned() else { return };
    let base = desk.base(&tier.name);
    if base == Base::Uniform(wave.version.clone()) || base.highest().is_none() {
        return;
    }
    let pulls = desk.pulls(&tier.name).unwrap_or_default();
    let Some(PullState::Merged { at, .. }) = own_pull(&wave, &pulls).map(|pull| pull.state.clone()) else { return };
    if desk.now >= at + jiff::SignedDuration::from_mins(10) {
        let why = Reason::Reverted { version: wave.version.clone() };
        desk.record(&tier.name, &wave.version, Change::Failed(Failed { at: desk.now, why }));
    }
}

/// When and by whom a wave landed: as its merged pull request says, else as of this look.
fn landing(desk: &Desk<'_>, tier: &Tier, wave: &Wave) -> Landed {
    let pulls = desk.pulls(&tier.name).unwrap_or_default();
    match own_pull(wave, &pulls).map(|pull| &pull.state) {
        Some(PullState::Merged { at, by, commit }) => {
            Landed { at: *at, commit: Some(commit.clone()), by: Some(by.clone()) }
        }
        Some(PullState::Open | PullState::Closed { .. }) | None => Landed { at: desk.now, commit: None, by: None },
    }
}

/// A version on the base branch that nobody recorded counts as landed now (house rule 3).
fn adopt(desk: &mut Desk<'_>, tier: &Tier, running: &Version) {
    let Some(members) = desk.selected(tier) else { return };
    let digest = desk.page.seen(running).and_then(|seen| seen.digest.clone());
    let landed = Landed { at: desk.now, commit: None, by: None };
    desk.record(&tier.name, running, Change::Found { members, digest, landed });
}

/// Health and soak of what runs on the tier.
fn verdicts(desk: &mut Desk<'_>, tier: &Tier) {
    let Base::Uniform(running) = desk.base(&tier.name) else { return };
    let Some(wave) = desk.page.wave(&tier.name, &running).cloned() else { return };
    if wave.landed.is_none() || wave.failed.is_some() || wave.finished.is_some() || wave.superseded.is_some() {
        return;
    }
    let rules = hotfix::rules(desk.policy, tier, &running);
    let tier = rules.as_ref();
    let health = member::assess(desk, tier, &wave);
    if let Some(why) = health.failure(tier, &wave, desk.now) {
        afterwards::fail(desk, tier, &wave, why);
        return;
    }
    if wave.stalled.is_some() && health.all_healthy(&tier.health) {
        desk.record(&tier.name, &running, Change::Resumed(desk.now));
    }
    if health.all_healthy(&tier.health) && wave.converged.is_none() {
        desk.record(&tier.name, &running, Change::Converged(desk.now));
    }
    let soaked = soak::advance(&wave, &health, tier, desk.now);
    if soaked != wave.soak
        && let Some(soaked) = soaked
    {
        desk.record_progress(&tier.name, &running, Change::Soaked(soaked));
    }
    if health.all_healthy(&tier.health) && soaked.is_some_and(|soaked| soaked.healthy_for >= tier.soak.min) {
        desk.record(&tier.name, &running, Change::Finished(desk.now));
    } else if let Some(through) = soak::overdue(desk, tier, &wave, &health, soaked) {
        desk.record(&tier.name, &running, Change::LetThrough(through));
        desk.record(&tier.name, &running, Change::Finished(desk.now));
    }
}

/// The grace period: it begins with the announced pull request, or when the file first asks for
/// one; notices count from when the hub shows them; the deadline never moves earlier.
fn grace(desk: &mut Desk<'_>, tier: &Tier) {
    let Some(wave) = desk.page.climbing(&tier.name).cloned() else { return };
    if wave.landed.is_some() || wave.is_over() || rollback::of(&wave).is_some() {
        return;
    }
    let (Some(force), Some(announced)) = (&tier.force, &wave.pull) else {
        if wave.grace.is_some() && tier.force.is_none() {
            desk.record(&tier.name, &wave.version, Change::GraceEnded);
        }
        return;
    };
    let known_before =
        desk.snapshot.ledger.plugins.get(desk.plugin()).and_then(|page| page.wave(&tier.name, &wave.version));
    let mut next = match &wave.grace {
        Some(grace) => grace.clone(),
        None => {
            let anew = hotfix::restarts_clock(desk.policy, &desk.page, &tier.name, &wave);
            let carried = gate::grace::carried(&desk.page, &tier.name, announced.number);
            // Seen much later than the look after its opening, force may have been switched on meanwhile.
            let lately = desk.now <= announced.at + desk.snapshot.look_again * 2;
            let just_opened = lately && known_before.is_none_or(|wave| wave.pull.is_none());
            let fresh = if just_opened { announced.at } else { desk.now };
            let (since, before) = carried.unwrap_or((fresh, fresh));
            let since = if anew { desk.now } else { since };
            Grace { since, deadline: before.max(since + force.after), notices: Vec::new() }
        }
    };
    let pulls = desk.pulls(&tier.name).unwrap_or_default();
    for notice in own_pull(&wave, &pulls).into_iter().flat_map(|pull| &pull.notices) {
        if !next.notices.iter().any(|sent| sent.before == notice.before)
            && notice.at.as_second() >= next.since.as_second()
        {
            next.notices.push(notice.clone());
        }
    }
    next.deadline = gate::grace::deadline(&next, force, desk.ledger, desk.now);
    if wave.grace.as_ref() != Some(&next) {
        desk.record(&tier.name, &wave.version, Change::Grace(next));
    }
}
