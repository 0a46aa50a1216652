//! Each tier from the bottom up: what it holds, what it would take, and what to do about it. Which
//! release it takes is in `next_release`, whether it may merge in `gate`.

mod occupant;

use alloc::vec::Vec;

use crate::desk::{Desk, Fresh, Merges};
use crate::gate;
use crate::gate::pull_status::PullStatus;
use crate::ledger::{Change, Head, Purpose, Superseded, Wave, Withdrawn};
use crate::model::Tier;
use crate::obstacle::{Lasts, Obstacle};
use crate::plan::{Action, Finding, Gate, Identity, Proposal, Verdict};
use crate::slice::{self, Portion};
use crate::snapshot::{Pull, PullState};
use crate::{
    Reason, Version, cooldown, dates, hotfix, next_release, overtaking, proof, release, report, rollback, source,
    stale_pull,
};

/// Decides every tier of one plugin.
pub(crate) fn decide(desk: &mut Desk<'_>) {
    dates::wake(desk);
    for tier_index in 0..desk.policy.tiers.len() {
        let tier = &desk.policy.tiers[tier_index];
        let troubles = gate::preconditions(desk, tier);
        if !troubles.is_empty() {
            stale_pull::turn_back(desk, tier_index, &troubles);
            report::blocked(desk, tier_index, troubles);
            continue;
        }
        if let Some(wave) = occupant::climbing(desk, tier) {
            open_wave(desk, tier_index, &wave);
        } else if let Some(wave) = occupant::occupant(desk, tier_index)
            .filter(|wave| wave.stalled.is_some() || !overtaking::passes(desk, tier_index, wave))
        {
            landed_wave(desk, tier_index, &wave);
        } else {
            free_tier(desk, tier_index);
        }
        dates::watch(desk, tier);
    }
}

/// A climb on the base branch: its next slice, as soon as all that have moved are healthy.
fn landed_wave(desk: &mut Desk<'_>, tier_index: usize, wave: &Wave) {
    let tier = &desk.policy.tiers[tier_index];
    // A tier that follows releases by itself since brings the others there, too.
    let Some(next) = slice::following(desk, tier, wave).filter(|_| !tier.follows) else {
        report::landed(desk, tier_index, wave);
        return;
    };
    let mut findings = gate::before_opening(desk, tier_index, &wave.version);
    findings.push(gate::pause::finding(desk, tier, wave, &next));
    findings.push(gate::health::of_earlier_slices(desk, tier, wave));
    let urgent = hotfix::entry(desk, &wave.version).is_some();
    let passes = wave.converged.is_some() && may_open(desk, tier, urgent, &findings);
    let stale_pull = desk.open_pull(&tier.name);
    if let Some(pull) = stale_pull.filter(|pull| stale_pull::is_known(desk, tier, pull)) {
        // The list lags behind the merge, or somebody keeps a pull request of ours open.
        stale_pull::tidy_up(desk, tier_index, pull);
        report::landed(desk, tier_index, wave);
    } else if let Some(theirs) = stale_pull.and_then(|pull| stale_pull::theirs(desk, tier, pull)) {
        report::between(desk, tier_index, wave, alloc::vec![theirs]);
    } else if passes {
        desk_alarms(desk, &findings);
        report::portion(desk, tier_index, &wave.version, &next, findings);
        match stale_pull {
            Some(pull) => rewrite(desk, tier_index, pull, wave.version.clone(), next),
            None => open(desk, tier_index, wave.version.clone(), next),
        }
    } else {
        let dispatch = gate::verify::dispatch(desk, tier, wave, &next, &findings).filter(|_| stale_pull.is_none());
        findings.retain(|finding| finding.gate != Gate::Health && !finding.verdict.lets_through());
        desk_alarms(desk, &findings);
        report::between(desk, tier_index, wave, findings);
        dispatch.into_iter().for_each(|action| desk.act(action));
    }
}

/// Writes an open pull request anew, with this content.
fn rewrite(desk: &mut Desk<'_>, tier_index: usize, pull: &Pull, version: Version, portion: Portion) {
    let proposal = proposal(desk, tier_index, version, portion, None);
    desk.act(Action::Update { pull: pull.number, head: pull.head.clone(), proposal });
    desk.look_again();
}

fn open(desk: &mut Desk<'_>, tier_index: usize, version: Version, portion: Portion) {
    desk.shared.openings.open();
    let proposal = proposal(desk, tier_index, version, portion, None);
    desk.act(Action::Open(proposal));
    desk.look_again();
}

/// A tier with an open wave: close it, move it, tell, or merge.
fn open_wave(desk: &mut Desk<'_>, tier_index: usize, wave: &Wave) {
    let tier = &desk.policy.tiers[tier_index];
    let pulls = desk.pulls(&tier.name).unwrap_or_default();
    let pull = proof::own_pull(wave, &pulls).or_else(|| desk.open_pull(&tier.name));
    let back = wave.rolls_back().is_some();
    let given_up = || overtaking::given_up(desk, tier_index, wave, pull).filter(|_| !back);
    if let Some(why) = withdrawal(desk, tier_index, wave).or_else(given_up) {
        withdraw(desk, tier_index, wave, pull, why);
        return;
    }
    let Some(pull) = pull else {
        finish(desk, tier_index, wave);
        return;
    };
    let status = PullStatus::of(desk, tier_index, wave, pull);
    let apart = slice::apart(desk, tier).is_some();
    if let Some(newer) = overtaking::overtaking(desk, tier_index, wave, pull, &status).filter(|_| !back && !apart) {
        let superseded = Superseded { at: desk.now, by: newer.clone() };
        desk.record(&tier.name, &wave.version, Change::Superseded(superseded));
        update(desk, tier_index, pull, newer, None);
        return;
    }
    cooldown::wake(desk, tier_index);
    let mut findings = gate::findings(desk, tier_index, wave, pull, &status);
    let forced = gate::grace::consider(desk, tier, wave, pull, &status, &mut findings);
    if forced.is_none() {
        hotfix::through_windows(desk, wave, &mut findings);
    }
    gate::head::let_pass(desk, wave, pull, &mut findings);
    desk_alarms(desk, &findings);
    let passes = findings.iter().all(|finding| finding.verdict.lets_through());
    let behind = gate::head::lacks_only_its_base(&findings) && pull.state == PullState::Open && !apart;
    let comes_up = behind && desk.shared.comes_up(gate::limits::turn(desk, wave, pull));
    gate::limits::in_turn(desk, wave, pull, &findings).into_iter().for_each(|ready| desk.shared.is_ready(ready));
    report::open(desk, tier_index, wave, pull, findings);
    if passes && pull.state == PullState::Open {
        merge(desk, tier_index, wave, pull, &status, forced);
    } else if (status.rewrite || comes_up) && pull.state == PullState::Open && !apart {
        // Its members stay as they were fixed; what is stale is written already, a conflict is written anew.
        let proposal = again(desk, tier_index, wave, status.stale);
        desk.act(Action::Update { pull: pull.number, head: pull.head.clone(), proposal });
        desk.look_again();
    }
}

/// The intent is written and the hub shows nothing: finishes the opening that was cut off, as soon as the
/// cap of open ones has room for it.
fn finish(desk: &mut Desk<'_>, tier_index: usize, wave: &Wave) {
    let mut room = gate::limits::finishing(desk);
    // What cannot be read, or is not listed at this look, is not taken up.
    let unlisted = || release::stopped(desk, tier_index, &wave.version).filter(|_| wave.rolls_back().is_none());
    match unlisted() {
        // Who took it from the source will hardly bring it back, and nobody sees a pull request to close.
        Some(Obstacle { lasts: Lasts::Unlisted, why })
            if wave.pull.is_none() && next_release::candidate(desk, tier_index).is_some() =>
        {
            withdraw(desk, tier_index, wave, None, why);
            desk.look_again();
            return;
        }
        Some(obstacle) => room = Finding::wait(Gate::Release, obstacle.why),
        None => {}
    }
    if room.verdict.lets_through() {
        // What was written would move who is gone or pinned now. One that was shown once is there, and the
        // hub's list lacks it.
        let good = wave.pull.is_some()
            || desk.still(&desk.policy.tiers[tier_index], &wave.members).len() == wave.members.len();
        let proposal = again(desk, tier_index, wave, good);
        desk.shared.openings.finish();
        report::opening(desk, tier_index, wave);
        desk.act(Action::Open(proposal));
    } else {
        report::waiting(desk, tier_index, &wave.version, alloc::vec![room]);
    }
    desk.look_again();
}

fn merge(
    desk: &mut Desk<'_>,
    tier_index: usize,
    wave: &Wave,
    pull: &Pull,
    status: &PullStatus,
    forced: Option<crate::ledger::ForceEvidence>,
) {
    let members = u32::try_from(wave.members.len()).unwrap_or(u32::MAX);
    desk.shared.changed.push((desk.now, members));
    desk.shared.bringing = true;
    let merges = Merges { hotfix: hotfix::is_one(desk, wave), fresh: Fresh::of(wave, pull, desk.now) };
    desk.shared.merges.push(merges);
    let past = forced.is_some() && gate::approvals::review_missing(pull);
    let via = if past { Identity::Bypass } else { status.identity };
    let action = Action::Merge {
        plugin: desk.plugin().clone(),
        tier: desk.policy.tiers[tier_index].name.clone(),
        version: wave.version.clone(),
        pull: pull.number,
        head: pull.head.clone(),
        via,
        forced,
    };
    desk.act(action);
    desk.look_again();
}

/// Why an open wave has to be taken back: its release was stopped, or lost the tier below.
fn withdrawal(desk: &Desk<'_>, tier_index: usize, wave: &Wave) -> Option<Reason> {
    if desk.policy.tiers[tier_index].follows {
        return Some(Reason::Follows);
    }
    if wave.rolls_back().is_some() {
        return rollback::withdrawal(desk, tier_index, wave);
    }
    let stopped = release::stopped(desk, tier_index, &wave.version).filter(Obstacle::is_final);
    // A slice waits for the healing of those before it, where the file says `stall`.
    let stalls = wave.stalled.is_some() && wave.failed.is_none();
    if let Some(obstacle) = stopped.filter(|obstacle| !(stalls && obstacle.lasts == Lasts::Failed)) {
        return Some(obstacle.why);
    }
    // Somebody put a newer version on the base branch: merging would take it back. Or the tier below has gone on
    // without it: it would wait there for ever, approved or not.
    if let Some(by) = occupant::ahead(desk, tier_index, wave).or_else(|| occupant::passed_below(desk, tier_index, wave))
    {
        return Some(Reason::Superseded { by });
    }
    let tier = desk.policy.tiers.get(tier_index)?;
    if desk.still(tier, &wave.own()).is_empty() {
        return Some(gate::release::nobody(desk, tier));
    }
    gate::tier_below::in_the_way(desk, tier_index, wave).or_else(|| gate::after::in_the_way(desk, tier_index, wave))
}

/// Takes an open wave back. A branch that somebody edited is theirs and stays, as long as its pull request
/// is open.
fn withdraw(desk: &mut Desk<'_>, tier_index: usize, wave: &Wave, pull: Option<&Pull>, why: Reason) {
    let tier = &desk.policy.tiers[tier_index];
    let open = pull.filter(|pull| pull.state == PullState::Open);
    let ours = open.is_none_or(|pull| PullStatus::of(desk, tier_index, wave, pull).ours());
    if !ours {
        let findings = pull
            .map(|pull| gate::findings(desk, tier_index, wave, pull, &PullStatus::of(desk, tier_index, wave, pull)));
        if let (Some(pull), Some(findings)) = (pull, findings) {
            report::open(desk, tier_index, wave, pull, findings);
        }
        return;
    }
    desk.record(&tier.name, &wave.version, Change::Withdrawn(Withdrawn { at: desk.now, why: why.clone() }));
    stale_pull::close(desk, tier_index, pull, why);
    report::withdrawn(desk, tier_index, &wave.version);
}

/// A tier without a wave: take the next release, if there is one.
fn free_tier(desk: &mut Desk<'_>, tier_index: usize) {
    let tier = &desk.policy.tiers[tier_index];
    let stale_pull = desk.open_pull(&tier.name);
    if desk.is_passed(tier) {
        report::passed(desk, tier_index);
        return;
    }
    if let Some(theirs) = stale_pull.and_then(|pull| stale_pull::theirs(desk, tier, pull)) {
        report::blocked(desk, tier_index, alloc::vec![theirs]);
        return;
    }
    if let Some(pull) = stale_pull
        && stale_pull::moot(desk, tier_index, pull)
    {
        stale_pull::tidy_up(desk, tier_index, pull);
        report::idle(desk, tier_index);
        return;
    }
    if let Some(Ok(proposal)) = rollback::due(desk, tier_index) {
        roll_back(desk, tier_index, stale_pull, proposal);
        return;
    }
    let Some(version) = next_release::candidate(desk, tier_index) else {
        let beside = || slice::catch_up(desk, tier_index).or_else(|| slice::early(desk, tier_index));
        match (stale_pull, beside()) {
            (None, Some((version, portion))) => {
                beside_the_turn(desk, tier_index, version, portion);
                return;
            }
            (Some(pull), _) => stale_pull::tidy_up(desk, tier_index, pull),
            (None, None) => {}
        }
        match slice::early_wave(desk, tier).cloned() {
            Some(wave) => report::landed(desk, tier_index, &wave),
            None => report::idle(desk, tier_index),
        }
        return;
    };
    let findings = gate::before_opening(desk, tier_index, &version);
    let urgent = hotfix::entry(desk, &version).is_some();
    let may = may_open(desk, tier, urgent, &findings);
    desk_alarms(desk, &findings);
    match stale_pull {
        // Ours by author and branch, but no wave of the ledger knows it (it was lost): write it anew.
        Some(pull) if may => update(desk, tier_index, pull, version, Some(findings)),
        Some(pull)
            if stale_pull::is_condemned(desk, tier_index, pull) || stale_pull::keeps_a_place(desk, &findings) =>
        {
            stale_pull::give_way(desk, tier_index, pull, &version, findings)
        }
        _ => {
            report::waiting(desk, tier_index, &version, findings);
            if may {
                let portion = slice::first(desk, &desk.policy.tiers[tier_index]);
                open(desk, tier_index, version, portion);
            }
        }
    }
}

/// Clusters that came late get the release that has finished this tier, and clusters ahead of it one
/// that has finished the first tier, under the tier's gates.
fn beside_the_turn(desk: &mut Desk<'_>, tier_index: usize, version: Version, portion: Portion) {
    let findings = match portion.part.purpose {
        Purpose::Early => gate::before_opening_early(desk, tier_index, &portion.members, &version),
        Purpose::Promotion | Purpose::CatchUp | Purpose::RollBack { .. } => {
            gate::before_opening(desk, tier_index, &version)
        }
    };
    let urgent = hotfix::entry(desk, &version).is_some();
    let may = may_open(desk, &desk.policy.tiers[tier_index], urgent, &findings);
    desk_alarms(desk, &findings);
    report::portion(desk, tier_index, &version, &portion, findings);
    if may {
        open(desk, tier_index, version, portion);
    }
}

/// Whether a pull request may be opened by these findings. Where it lacks nothing but perhaps room under the cap of
/// open ones, the tier stands in line.
fn may_open(desk: &mut Desk<'_>, tier: &Tier, urgent: bool, findings: &[Finding]) -> bool {
    if let Some(place) = gate::limits::in_line(desk, tier, urgent, findings) {
        desk.shared.stands_in_line(place);
    }
    findings.iter().all(|finding| finding.verdict.lets_through())
}

/// A tier whose wave failed, and which shall have back what ran before.
fn roll_back(desk: &mut Desk<'_>, tier_index: usize, stale_pull: Option<&Pull>, proposal: Proposal) {
    let findings = rollback::before_opening(desk, tier_index);
    let may = may_open(desk, &desk.policy.tiers[tier_index], true, &findings);
    desk_alarms(desk, &findings);
    report::waiting(desk, tier_index, &proposal.to, findings);
    match stale_pull {
        Some(pull) if may => desk.act(Action::Update { pull: pull.number, head: pull.head.clone(), proposal }),
        None if may => {
            desk.shared.openings.open();
            desk.act(Action::Open(proposal));
        }
        Some(_) | None => {}
    }
    desk.look_again();
}

/// Moves the open pull request to `version`, or writes it anew.
fn update(desk: &mut Desk<'_>, tier_index: usize, pull: &Pull, version: Version, findings: Option<Vec<Finding>>) {
    let findings = findings.unwrap_or_else(|| gate::before_opening(desk, tier_index, &version));
    report::waiting(desk, tier_index, &version, findings);
    let portion = slice::first(desk, &desk.policy.tiers[tier_index]);
    rewrite(desk, tier_index, pull, version, portion);
}

/// What the pull request of a wave shall contain once more; members stay who they were when it was
/// begun, except for those who have left. `written`: the commit is there and is good.
fn again(desk: &Desk<'_>, tier_index: usize, wave: &Wave, written: bool) -> Proposal {
    let members = desk.still(&desk.policy.tiers[tier_index], &wave.own());
    let members = if written { wave.members.clone() } else { members };
    let portion = Portion { part: wave.part.clone(), members };
    let proposal = proposal(desk, tier_index, wave.version.clone(), portion, wave.head().filter(|_| written).cloned());
    // A rollback takes back what failed, also where somebody has restored a cluster already.
    Proposal { from: wave.rolls_back().cloned().or(proposal.from), ..proposal }
}

/// What a pull request shall contain.
fn proposal(desk: &Desk<'_>, tier_index: usize, to: Version, portion: Portion, written: Option<Head>) -> Proposal {
    let tier = &desk.policy.tiers[tier_index];
    Proposal {
        plugin: desk.plugin().clone(),
        tier: tier.name.clone(),
        from: slice::from(desk, tier, &portion.members),
        digest: source::pinned(desk, &to),
        part: portion.part,
        members: portion.members.to_vec(),
        written,
        to,
    }
}

/// Every dated wait is a reason to look again at that date.
fn desk_alarms(desk: &mut Desk<'_>, findings: &[Finding]) {
    for finding in findings {
        match finding.verdict {
            Verdict::Wait { until: Some(until) } => desk.wake(until, finding.because.clone()),
            Verdict::Unknown => desk.look_again(),
            Verdict::Wait { until: None } | Verdict::Pass | Verdict::Fail | Verdict::Waived { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests;
