//! Each tier from the bottom up: what it holds, what it would take, and what to do about it. Which
//! release it takes is in `conveyor`, whether it may merge in `gate`.

use alloc::vec::Vec;

use crate::desk::{Base, Desk};
use crate::gate::{self, Standing};
use crate::ledger::{Change, Superseded, Wave, Withdrawn};
use crate::model::Tier;
use crate::plan::{Action, Finding, Identity, Proposal, Verdict};
use crate::snapshot::{Mergeable, Pull, PullState};
use crate::{Reason, Version, conveyor, cooldown, hotfix, release, report, rollback, settle};

/// Decides every tier of one plugin.
pub(crate) fn decide(desk: &mut Desk<'_>) {
    for rung in 0..desk.policy.tiers.len() {
        let tier = &desk.policy.tiers[rung];
        let troubles = gate::preconditions(desk, tier);
        if !troubles.is_empty() {
            report::blocked(desk, rung, troubles);
            continue;
        }
        if let Some(wave) = climbing(desk, tier) {
            open_wave(desk, rung, &wave);
        } else if let Some(wave) =
            occupant(desk, tier).filter(|wave| wave.stalled.is_some() || !conveyor::passes(desk, rung, wave))
        {
            report::landed(desk, rung, &wave);
        } else {
            free_tier(desk, rung);
        }
        watch_what_runs(desk, tier);
    }
}

/// What runs here and has not finished soaks whatever else is said about the tier; nothing else would
/// ring.
fn watch_what_runs(desk: &mut Desk<'_>, tier: &Tier) {
    let Base::Uniform(running) = desk.base(&tier.name) else { return };
    let standing = desk.page.wave(&tier.name, &running);
    if standing.is_some_and(|wave| wave.landed.is_some() && !wave.is_over()) {
        desk.look_again();
    }
}

/// The wave whose pull request is open or about to be.
fn climbing(desk: &Desk<'_>, tier: &Tier) -> Option<Wave> {
    desk.page.climbing(&tier.name).cloned()
}

/// The wave that keeps the tier occupied: on the base branch by the bot, and not yet finished. What
/// others put there is watched but keeps nobody out.
fn occupant(desk: &Desk<'_>, tier: &Tier) -> Option<Wave> {
    let Base::Uniform(running) = desk.base(&tier.name) else { return None };
    let wave = desk.page.wave(&tier.name, &running)?;
    // What failed elsewhere after it came here is watched, and a newer release may take its place.
    let kept = wave.stalled.is_some() || (wave.head().is_some() && release::held(desk, &running).is_none());
    (wave.landed.is_some() && !wave.is_over() && kept).then(|| wave.clone())
}

/// A tier with an open wave: close it, move it, tell, or merge.
fn open_wave(desk: &mut Desk<'_>, rung: usize, wave: &Wave) {
    let tier = &desk.policy.tiers[rung];
    let pulls = desk.pulls(&tier.name).unwrap_or_default();
    let pull = settle::own_pull(wave, &pulls).or_else(|| desk.open_pull(&tier.name));
    let back = rollback::of(wave).is_some();
    let given_up = || conveyor::given_up(desk, rung, wave, pull).filter(|_| !back);
    if let Some(why) = withdrawal(desk, rung, wave).or_else(given_up) {
        withdraw(desk, rung, wave, pull, why);
        return;
    }
    let Some(pull) = pull else {
        // The intent is written and the hub shows nothing: finish the opening that was cut off.
        let proposal = proposal(desk, rung, wave.version.clone(), Some(wave));
        report::opening(desk, rung, wave);
        desk.act(Action::Open(proposal));
        desk.look_again();
        return;
    };
    let standing = Standing::of(desk, rung, wave, pull);
    if let Some(newer) = conveyor::overtaking(desk, rung, wave, pull, &standing).filter(|_| !back) {
        let superseded = Superseded { at: desk.now, by: newer.clone() };
        desk.record(&tier.name, &wave.version, Change::Superseded(superseded));
        update(desk, rung, pull, newer, None);
        return;
    }
    cooldown::wake(desk, rung);
    let mut findings = gate::findings(desk, rung, wave, pull, &standing);
    let forced = gate::grace::consider(desk, tier, wave, pull, &standing, &mut findings);
    if forced.is_none() {
        hotfix::through_windows(desk, wave, &mut findings);
    }
    desk_alarms(desk, &findings);
    let passes = findings.iter().all(|finding| finding.verdict.lets_through());
    report::open(desk, rung, wave, pull, findings);
    if passes && pull.state == PullState::Open {
        merge(desk, rung, wave, pull, &standing, forced);
    } else if standing.rewrite && pull.state == PullState::Open {
        // Its members stay as they were fixed; what is stale is written already, a conflict is written anew.
        let mut proposal = proposal(desk, rung, wave.version.clone(), Some(wave));
        proposal.written = proposal.written.filter(|_| standing.stale);
        desk.act(Action::Update { pull: pull.number, head: pull.head.clone(), proposal });
        desk.look_again();
    }
}

fn merge(
    desk: &mut Desk<'_>,
    rung: usize,
    wave: &Wave,
    pull: &Pull,
    standing: &Standing,
    forced: Option<crate::ledger::ForceEvidence>,
) {
    let members = u32::try_from(wave.members.len()).unwrap_or(u32::MAX);
    desk.shared.changed.push((desk.now, members));
    let bypass = forced.is_some() && gate::approvals::review_missing(pull);
    let via = if bypass { Identity::Bypass } else { standing.identity };
    let action = Action::Merge {
        plugin: desk.plugin().clone(),
        tier: desk.policy.tiers[rung].name.clone(),
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
fn withdrawal(desk: &Desk<'_>, rung: usize, wave: &Wave) -> Option<Reason> {
    if desk.policy.tiers[rung].follows {
        return Some(Reason::Follows);
    }
    if rollback::of(wave).is_some() {
        return rollback::withdrawal(desk, rung, wave);
    }
    if let Some(why) = release::stopped(desk, rung, &wave.version).filter(release::is_final) {
        return Some(why);
    }
    // Somebody put a newer version on the base branch: merging would take it back.
    let running = desk.base(&desk.policy.tiers.get(rung)?.name);
    running.highest().filter(|highest| **highest > wave.version).map(|by| Reason::Superseded { by: by.clone() })
}

/// Takes an open wave back. A branch that somebody edited is theirs and stays.
fn withdraw(desk: &mut Desk<'_>, rung: usize, wave: &Wave, pull: Option<&Pull>, why: Reason) {
    let tier = &desk.policy.tiers[rung];
    let ours = pull.is_none_or(|pull| Standing::of(desk, rung, wave, pull).ours());
    if !ours {
        let findings = pull.map(|pull| gate::findings(desk, rung, wave, pull, &Standing::of(desk, rung, wave, pull)));
        if let (Some(pull), Some(findings)) = (pull, findings) {
            report::open(desk, rung, wave, pull, findings);
        }
        return;
    }
    desk.record(&tier.name, &wave.version, Change::Withdrawn(Withdrawn { at: desk.now, why: why.clone() }));
    close(desk, rung, pull, why);
    report::withdrawn(desk, rung, &wave.version);
}

fn close(desk: &mut Desk<'_>, rung: usize, pull: Option<&Pull>, why: Reason) {
    if let Some(pull) = pull.filter(|pull| pull.state == PullState::Open) {
        let plugin = desk.plugin().clone();
        let tier = desk.policy.tiers[rung].name.clone();
        desk.act(Action::Close { plugin, tier, pull: pull.number, head: pull.head.clone(), why });
        desk.look_again();
    }
}

/// A tier without a wave: take the next release, if there is one.
fn free_tier(desk: &mut Desk<'_>, rung: usize) {
    let tier = &desk.policy.tiers[rung];
    let leftover = desk.open_pull(&tier.name);
    if let Some(pull) = leftover
        && moot(desk, rung, pull)
    {
        tidy_up(desk, rung, pull);
        report::idle(desk, rung);
        return;
    }
    if let Some(Ok(proposal)) = rollback::due(desk, rung) {
        roll_back(desk, rung, leftover, proposal);
        return;
    }
    let Some(version) = conveyor::candidate(desk, rung) else {
        if let Some(pull) = leftover {
            tidy_up(desk, rung, pull);
        }
        report::idle(desk, rung);
        return;
    };
    let findings = gate::before_opening(desk, rung, &version);
    let may = findings.iter().all(|finding| finding.verdict.lets_through());
    desk_alarms(desk, &findings);
    match leftover {
        // Ours by author and branch, but no wave of the ledger knows it (it was lost): write it anew.
        Some(pull) if may => update(desk, rung, pull, version, Some(findings)),
        _ => {
            report::waiting(desk, rung, &version, findings);
            if may {
                desk.shared.open_pulls = desk.shared.open_pulls.saturating_add(1);
                let proposal = proposal(desk, rung, version, None);
                desk.act(Action::Open(proposal));
                desk.look_again();
            }
        }
    }
}

/// A tier whose wave failed, and which shall have back what ran before.
fn roll_back(desk: &mut Desk<'_>, rung: usize, leftover: Option<&Pull>, proposal: Proposal) {
    let findings = rollback::before_opening(desk, rung);
    let may = findings.iter().all(|finding| finding.verdict.lets_through());
    desk_alarms(desk, &findings);
    report::waiting(desk, rung, &proposal.to, findings);
    match leftover {
        Some(pull) if may => desk.act(Action::Update { pull: pull.number, head: pull.head.clone(), proposal }),
        None if may => {
            desk.shared.open_pulls = desk.shared.open_pulls.saturating_add(1);
            desk.act(Action::Open(proposal));
        }
        Some(_) | None => {}
    }
    desk.look_again();
}

/// Whether somebody put the release of an open pull request on the base branch past it.
fn moot(desk: &Desk<'_>, rung: usize, pull: &Pull) -> bool {
    let waves = desk.page.tiers.get(&desk.policy.tiers[rung].name).into_iter().flatten();
    waves.filter(|wave| wave.heads.iter().any(|head| head.commit == pull.head)).any(|wave| wave.landed.is_some())
}

/// A pull request of ours that is open though its wave is over: the closing was cut off. One that
/// no wave knows waits until a release is ready for this tier.
fn tidy_up(desk: &mut Desk<'_>, rung: usize, pull: &Pull) {
    let tier = &desk.policy.tiers[rung];
    let known = desk.page.tiers.get(&tier.name).into_iter().flatten();
    let why = known.filter(|wave| wave.heads.iter().any(|head| head.commit == pull.head)).find_map(|wave| {
        if let Some(failed) = wave.failed.as_ref().filter(|_| wave.landed.is_none()) {
            let (version, tier) = (wave.version.clone(), tier.name.clone());
            return Some(Reason::ReleaseHeld { version, tier, why: failed.why.clone().into() });
        }
        match (&wave.withdrawn, &wave.superseded, &wave.landed) {
            (Some(withdrawn), _, _) => Some(withdrawn.why.clone()),
            (None, Some(superseded), _) => Some(Reason::Superseded { by: superseded.by.clone() }),
            // Somebody put the release on the base branch past its pull request.
            (None, None, Some(_)) => Some(Reason::NothingNewer { version: Some(wave.version.clone()) }),
            (None, None, None) => None,
        }
    });
    if let Some(why) = why {
        close(desk, rung, Some(pull), why);
    }
}

/// Moves the open pull request to `version`, or writes it anew.
fn update(desk: &mut Desk<'_>, rung: usize, pull: &Pull, version: Version, findings: Option<Vec<Finding>>) {
    let findings = findings.unwrap_or_else(|| gate::before_opening(desk, rung, &version));
    report::waiting(desk, rung, &version, findings);
    let proposal = proposal(desk, rung, version, None);
    desk.act(Action::Update { pull: pull.number, head: pull.head.clone(), proposal });
    desk.look_again();
}

/// What a pull request shall contain. Members are fixed when its wave is begun.
fn proposal(desk: &Desk<'_>, rung: usize, to: Version, wave: Option<&Wave>) -> Proposal {
    let tier = &desk.policy.tiers[rung];
    if let Some(proposal) = rollback::again(desk, tier, &to, wave) {
        return proposal;
    }
    let members = match wave {
        Some(wave) => wave.members.clone(),
        None => desk.selected(tier).unwrap_or_default(),
    };
    Proposal {
        plugin: desk.plugin().clone(),
        tier: tier.name.clone(),
        from: desk.base(&tier.name).lowest().cloned(),
        digest: release::pinned(desk, &to),
        part: wave.map(|wave| wave.part.clone()).unwrap_or_default(),
        members,
        written: wave.and_then(|wave| wave.head().cloned()),
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

/// Whether the hub would have to write this pull request anew before it can merge.
pub(crate) fn conflicts(pull: &Pull) -> bool {
    pull.state == PullState::Open && pull.mergeable == Mergeable::Conflict
}
