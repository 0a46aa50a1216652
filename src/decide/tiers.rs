//! Each tier from the bottom up: what it holds, what it would take, and what to do about it. Which
//! release it takes is in `next_release`, whether it may merge in `gate`.

mod findings;
mod occupant;
mod proposal;

use alloc::vec::Vec;

use occupant::Occupancy;
use proposal::{again, proposal};

use crate::facts::{Draft, Facts, Fresh, Merges, Noted};
use crate::gate;
use crate::gate::asked::{Asked, AskedOpen, PullStatus};

use crate::ledger::{Change, Superseded, Wave, Withdrawn};
use crate::model::Tier;
use crate::obstacle::{Lasts, Obstacle};
use crate::plan::{Action, Alarm, Finding, Gate, Identity, Proposal, Verdict, WaveReport};
use crate::slice::{self, Portion};
use crate::snapshot::{Pull, PullState};
use crate::{
    Reason, Version, cooldown, dates, hotfix, next_release, overtaking, proof, release, report, rollback, stale_pull,
};

/// Decides every tier of one plugin.
pub(crate) fn decide(draft: &mut Draft<'_>) {
    draft.ring(dates::of_the_file(&draft.facts));
    for tier_index in 0..draft.facts.policy.tiers.len() {
        let tier = &draft.facts.policy.tiers[tier_index];
        match occupant::occupancy(&draft.facts, tier_index) {
            Occupancy::Blocked(troubles) => {
                blocked(draft, tier_index, troubles);
                continue;
            }
            Occupancy::Open(wave) => open_wave(draft, tier_index, &wave),
            Occupancy::Landed(wave) => landed_wave(draft, tier_index, &wave),
            Occupancy::Free => free_tier(draft, tier_index),
        }
        draft.ring(dates::watch(&draft.facts, tier));
    }
}

/// A tier about which nothing can be decided.
fn blocked(draft: &mut Draft<'_>, tier_index: usize, troubles: Vec<Finding>) {
    if let Some((noted, closing)) = stale_pull::turned_back(&draft.facts, tier_index, &troubles) {
        draft.note(&draft.facts.policy.tiers[tier_index].name, noted);
        closing.into_iter().for_each(|action| draft.act(action));
    }
    draft.tell(report::blocked(&draft.facts, tier_index, troubles));
    draft.ring(draft.facts.soon());
}

/// A climb on the base branch: its next slice, as soon as all that have moved are healthy.
fn landed_wave(draft: &mut Draft<'_>, tier_index: usize, wave: &Wave) {
    let facts = &draft.facts;
    let tier = &facts.policy.tiers[tier_index];
    // A tier that follows releases by itself since brings the others there, too.
    let Some(next) = slice::following(facts, tier, wave).filter(|_| !tier.follows) else {
        let dispatch = gate::verify::dispatch_at_the_end(facts, tier, wave);
        draft.tell(findings::landed(&draft.facts, tier_index, wave));
        dispatch.into_iter().for_each(|action| draft.act(action));
        return;
    };
    let mut findings = gate::before_next_slice(&Asked::of(facts, tier_index, &wave.version), wave, &next);
    let urgent = hotfix::entry(facts, &wave.version).is_some();
    let passes = wave.converged.is_some() && may_open(draft, tier, urgent, &findings);
    let facts = &draft.facts;
    let stale_pull = facts.open_pull(&tier.name);
    if let Some(pull) = stale_pull.filter(|pull| stale_pull::is_known(facts, tier, pull)) {
        // The list lags behind the merge, or somebody keeps a pull request of ours open.
        tidy_up(draft, tier_index, pull);
        draft.tell(findings::landed(&draft.facts, tier_index, wave));
    } else if let Some(theirs) = stale_pull.and_then(|pull| stale_pull::theirs(facts, tier, pull)) {
        draft.tell(findings::between(&draft.facts, tier_index, wave, alloc::vec![theirs]));
    } else if passes {
        draft.ring(alarms(facts, &findings));
        draft.tell(report::portion(&draft.facts, tier_index, &wave.version, &next, findings));
        match stale_pull {
            Some(pull) => rewrite(draft, tier_index, pull, wave.version.clone(), next),
            None => open(draft, tier_index, wave.version.clone(), next),
        }
    } else {
        let dispatch = gate::verify::dispatch(facts, tier, wave, &next, &findings).filter(|_| stale_pull.is_none());
        findings.retain(|finding| finding.gate != Gate::Health && !finding.verdict.lets_through());
        draft.ring(alarms(facts, &findings));
        draft.tell(findings::between(&draft.facts, tier_index, wave, findings));
        dispatch.into_iter().for_each(|action| draft.act(action));
    }
}

/// Closes a pull request of ours that is open though its wave is over.
fn tidy_up(draft: &mut Draft<'_>, tier_index: usize, pull: &Pull) {
    let closing = stale_pull::tidied_up(&draft.facts, tier_index, pull);
    closing.into_iter().for_each(|action| draft.act(action));
}

/// Writes an open pull request anew, with this content.
fn rewrite(draft: &mut Draft<'_>, tier_index: usize, pull: &Pull, version: Version, portion: Portion) {
    let proposal = proposal(&draft.facts, tier_index, version, portion, None);
    draft.act(Action::Update { pull: pull.number, head: pull.head.clone(), proposal });
}

fn open(draft: &mut Draft<'_>, tier_index: usize, version: Version, portion: Portion) {
    draft.facts.shared.openings.open();
    let proposal = proposal(&draft.facts, tier_index, version, portion, None);
    draft.act(Action::Open(proposal));
}

/// A tier with an open wave: close it, move it, tell, or merge.
fn open_wave(draft: &mut Draft<'_>, tier_index: usize, wave: &Wave) {
    let facts = &draft.facts;
    let tier = &facts.policy.tiers[tier_index];
    let pulls = facts.pulls(&tier.name).unwrap_or_default();
    let pull = proof::own_pull(wave, &pulls).or_else(|| facts.open_pull(&tier.name));
    let back = wave.rolls_back().is_some();
    let given_up = || overtaking::given_up(facts, tier_index, wave, pull).filter(|_| !back);
    if let Some(why) = occupant::withdrawal(facts, tier_index, wave).or_else(given_up) {
        withdraw(draft, tier_index, wave, pull, why);
        return;
    }
    let Some(pull) = pull else {
        finish(draft, tier_index, wave);
        return;
    };
    let status = PullStatus::of(facts, tier_index, wave, pull);
    let apart = slice::apart(facts, tier).is_some();
    if let Some(newer) = overtaking::overtaking(facts, tier_index, wave, pull, &status).filter(|_| !back && !apart) {
        let superseded = Superseded { at: facts.now, by: newer.clone() };
        draft.note(&tier.name, [Noted::new(&wave.version, Change::Superseded(superseded))]);
        update(draft, tier_index, pull, newer, None);
        return;
    }
    let cooled = cooldown::alarm(facts, tier_index);
    let asked = AskedOpen { facts, tier_index, tier, wave, pull, status: &status };
    let mut findings = gate::findings(&asked);
    let considered = gate::grace::consider(facts, tier, wave, pull, &status, &mut findings);
    if considered.forced.is_none() {
        hotfix::through_windows(facts, wave, &mut findings);
    }
    gate::head::let_pass(facts, wave, pull, &mut findings);
    let alarms: Vec<Alarm> = cooled.into_iter().chain(considered.alarms).chain(alarms(facts, &findings)).collect();
    let passes = findings.iter().all(|finding| finding.verdict.lets_through());
    let behind = gate::head::lacks_only_its_base(&asked, &findings) && pull.state == PullState::Open && !apart;
    let turn = gate::limits::turn(facts, wave, pull);
    let ready = gate::limits::in_turn(facts, wave, pull, &findings);
    let comes_up = behind && draft.facts.shared.comes_up(turn);
    ready.into_iter().for_each(|ready| draft.facts.shared.is_ready(ready));
    considered.notice.into_iter().for_each(|notice| draft.act(notice));
    draft.ring(alarms);
    draft.tell(report::open(&draft.facts, tier_index, wave, pull, findings));
    if passes && pull.state == PullState::Open {
        merge(draft, tier_index, wave, pull, &status, considered.forced);
    } else if (status.rewrite || comes_up) && pull.state == PullState::Open && !apart {
        // Its members stay as they were fixed; what is stale is written already, a conflict is written anew.
        let proposal = again(&draft.facts, tier_index, wave, status.stale);
        draft.act(Action::Update { pull: pull.number, head: pull.head.clone(), proposal });
    }
}

/// The intent is written and the hub shows nothing: finishes the opening that was cut off, as soon as the
/// cap of open ones has room for it.
fn finish(draft: &mut Draft<'_>, tier_index: usize, wave: &Wave) {
    let facts = &draft.facts;
    let mut room = gate::limits::finishing(facts);
    // What cannot be read, or is not listed at this look, is not taken up.
    match release::stopped(facts, tier_index, &wave.version).filter(|_| wave.rolls_back().is_none()) {
        // Who took it from the source will hardly bring it back, and nobody sees a pull request to close.
        Some(Obstacle { lasts: Lasts::Unlisted, why })
            if wave.pull.is_none() && next_release::candidate(facts, tier_index).is_some() =>
        {
            withdraw(draft, tier_index, wave, None, why);
            draft.ring(draft.facts.soon());
            return;
        }
        Some(obstacle) => room = Finding::wait(Gate::Release, obstacle.why),
        // Somebody was pinned, or went ahead, since its intent was written.
        None => room = slice::apart(facts, &facts.policy.tiers[tier_index]).unwrap_or(room),
    }
    if room.verdict.lets_through() {
        // What was written would move who is gone or pinned now. One that was shown once is there, and the
        // hub's list lacks it.
        let good = wave.pull.is_some()
            || facts.still(&facts.policy.tiers[tier_index], &wave.members).len() == wave.members.len();
        let proposal = again(facts, tier_index, wave, good);
        draft.facts.shared.openings.finish();
        draft.tell(findings::opening(&draft.facts, tier_index, wave));
        draft.act(Action::Open(proposal));
    } else {
        draft.tell(report::waiting(facts, tier_index, &wave.version, alloc::vec![room]));
        draft.ring(draft.facts.soon());
    }
}

fn merge(
    draft: &mut Draft<'_>,
    tier_index: usize,
    wave: &Wave,
    pull: &Pull,
    status: &PullStatus,
    forced: Option<crate::ledger::ForceEvidence>,
) {
    let facts = &mut draft.facts;
    let members = u32::try_from(wave.members.len()).unwrap_or(u32::MAX);
    let merges = Merges { hotfix: hotfix::is_one(facts, wave), fresh: Fresh::of(wave, pull, facts.now) };
    facts.shared.changed.push((facts.now, members));
    facts.shared.bringing = true;
    facts.shared.merges.push(merges);
    let past = forced.is_some() && gate::approvals::review_missing(pull);
    let via = if past { Identity::Bypass } else { status.identity };
    let action = Action::Merge {
        plugin: facts.plugin().clone(),
        tier: facts.policy.tiers[tier_index].name.clone(),
        version: wave.version.clone(),
        pull: pull.number,
        head: pull.head.clone(),
        via,
        forced,
    };
    draft.act(action);
}

/// Takes an open wave back. A branch that somebody edited is theirs and stays, as long as its pull request
/// is open.
fn withdraw(draft: &mut Draft<'_>, tier_index: usize, wave: &Wave, pull: Option<&Pull>, why: Reason) {
    let facts = &draft.facts;
    let tier = &facts.policy.tiers[tier_index];
    if let Some(open) = pull.filter(|pull| pull.state == PullState::Open) {
        let status = PullStatus::of(facts, tier_index, wave, open);
        if !status.ours() {
            let findings = gate::findings(&AskedOpen { facts, tier_index, tier, wave, pull: open, status: &status });
            draft.tell(report::open(facts, tier_index, wave, open, findings));
            return;
        }
    }
    let withdrawn = Change::Withdrawn(Withdrawn { at: facts.now, why: why.clone() });
    let closing = stale_pull::closing(facts, tier_index, pull, why);
    draft.note(&tier.name, [Noted::new(&wave.version, withdrawn)]);
    closing.into_iter().for_each(|action| draft.act(action));
    if let Some(report) = findings::withdrawn(&draft.facts, tier_index, &wave.version) {
        draft.tell(report);
    }
}

/// A tier without a wave: take the next release, if there is one.
fn free_tier(draft: &mut Draft<'_>, tier_index: usize) {
    let facts = &draft.facts;
    let tier = &facts.policy.tiers[tier_index];
    let stale_pull = facts.open_pull(&tier.name);
    if facts.is_passed(tier) {
        draft.tell(findings::passed(facts, tier_index));
        return;
    }
    if let Some(theirs) = stale_pull.and_then(|pull| stale_pull::theirs(facts, tier, pull)) {
        draft.tell(report::blocked(facts, tier_index, alloc::vec![theirs]));
        draft.ring(draft.facts.soon());
        return;
    }
    if let Some(pull) = stale_pull.filter(|pull| stale_pull::moot(facts, tier_index, pull)) {
        tidy_up(draft, tier_index, pull);
        draft.tell(findings::idle(&draft.facts, tier_index));
        return;
    }
    if let Some(Ok(proposal)) = rollback::due(facts, tier_index) {
        roll_back(draft, tier_index, stale_pull, proposal);
        return;
    }
    let Some(version) = next_release::candidate(facts, tier_index) else {
        nothing_next(draft, tier_index, stale_pull);
        return;
    };
    let findings = gate::before_opening(&Asked::of(facts, tier_index, &version));
    let urgent = hotfix::entry(facts, &version).is_some();
    let may = may_open(draft, tier, urgent, &findings);
    let facts = &draft.facts;
    draft.ring(alarms(facts, &findings));
    match stale_pull {
        // Ours by author and branch, but no wave of the ledger knows it (it was lost): write it anew.
        Some(pull) if may => update(draft, tier_index, pull, version, Some(findings)),
        // The next release gets one of its own.
        Some(pull)
            if stale_pull::is_condemned(&draft.facts, tier_index, pull)
                || stale_pull::keeps_a_place(&draft.facts, &findings) =>
        {
            draft.tell(report::waiting(&draft.facts, tier_index, &version, findings));
            tidy_up(draft, tier_index, pull);
        }
        _ => {
            draft.tell(report::waiting(&draft.facts, tier_index, &version, findings));
            if may {
                let portion = slice::first(&draft.facts, tier);
                open(draft, tier_index, version, portion);
            }
        }
    }
}

/// A tier that has no next release: who came late or is ahead of it, or what runs there.
fn nothing_next(draft: &mut Draft<'_>, tier_index: usize, stale_pull: Option<&Pull>) {
    let facts = &draft.facts;
    let beside = slice::catch_up(facts, tier_index).or_else(|| slice::early(facts, tier_index));
    match (stale_pull, beside) {
        (None, Some((version, portion))) => {
            beside_the_turn(draft, tier_index, version, portion);
            return;
        }
        (Some(pull), _) => tidy_up(draft, tier_index, pull),
        (None, None) => {}
    }
    let facts = &draft.facts;
    let told = match slice::early_wave(facts, &facts.policy.tiers[tier_index]) {
        Some(wave) => findings::landed(facts, tier_index, wave),
        None => findings::idle(facts, tier_index),
    };
    draft.tell(told);
}

/// Clusters that came late get the release that has finished this tier, and clusters ahead of it one
/// that has finished the first tier, under the tier's gates.
fn beside_the_turn(draft: &mut Draft<'_>, tier_index: usize, version: Version, portion: Portion) {
    let facts = &draft.facts;
    let tier = &facts.policy.tiers[tier_index];
    let asked = Asked::of(facts, tier_index, &version).of_part(&portion.part, &portion.members);
    let findings = gate::before_opening(&asked);
    let urgent = hotfix::entry(facts, &version).is_some();
    let may = may_open(draft, tier, urgent, &findings);
    draft.ring(alarms(&draft.facts, &findings));
    draft.tell(report::portion(&draft.facts, tier_index, &version, &portion, findings));
    if may {
        open(draft, tier_index, version, portion);
    }
}

/// Whether a pull request may be opened by these findings. Where it lacks nothing but perhaps room under the cap of
/// open ones, the tier stands in line.
fn may_open(draft: &mut Draft<'_>, tier: &Tier, urgent: bool, findings: &[Finding]) -> bool {
    if let Some(place) = gate::limits::in_line(&draft.facts, tier, urgent, findings) {
        draft.facts.shared.stands_in_line(place);
    }
    findings.iter().all(|finding| finding.verdict.lets_through())
}

/// A tier whose wave failed, and which shall have back what ran before.
fn roll_back(draft: &mut Draft<'_>, tier_index: usize, stale_pull: Option<&Pull>, proposal: Proposal) {
    let tier = &draft.facts.policy.tiers[tier_index];
    let findings = rollback::before_opening(&Asked::of(&draft.facts, tier_index, &proposal.to));
    let may = may_open(draft, tier, true, &findings);
    draft.ring(alarms(&draft.facts, &findings));
    let waiting = report::waiting(&draft.facts, tier_index, &proposal.to, findings);
    draft.tell(WaveReport { rollback_of: proposal.from.clone(), ..waiting });
    match stale_pull {
        Some(pull) if may => draft.act(Action::Update { pull: pull.number, head: pull.head.clone(), proposal }),
        None if may => {
            draft.facts.shared.openings.open();
            draft.act(Action::Open(proposal));
        }
        Some(_) | None => draft.ring(draft.facts.soon()),
    }
}

/// Moves the open pull request to `version`, or writes it anew.
fn update(draft: &mut Draft<'_>, tier_index: usize, pull: &Pull, version: Version, findings: Option<Vec<Finding>>) {
    let facts = &draft.facts;
    let findings = findings.unwrap_or_else(|| gate::before_opening(&Asked::of(facts, tier_index, &version)));
    let portion = slice::first(facts, &facts.policy.tiers[tier_index]);
    draft.tell(report::waiting(facts, tier_index, &version, findings));
    rewrite(draft, tier_index, pull, version, portion);
}

/// Every dated wait is a reason to look again at that date.
fn alarms(facts: &Facts<'_>, findings: &[Finding]) -> Vec<Alarm> {
    let alarm = |finding: &Finding| match finding.verdict {
        Verdict::Wait { until: Some(until) } => facts.alarm(until, finding.because.clone()),
        Verdict::Unknown => facts.soon(),
        Verdict::Wait { until: None } | Verdict::Pass | Verdict::Fail | Verdict::Waived { .. } => None,
    };
    findings.iter().filter_map(alarm).collect()
}

#[cfg(test)]
mod tests;
