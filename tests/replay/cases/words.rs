//! A plan in plain words: what is remembered, what is done, where each wave stands and why, and when
//! to look again.

use std::fmt::Write as _;

use decide::ledger::{Change, Entry};
use decide::plan::{Action, Plan, Verdict, WaveReport};

pub fn of(plan: &Plan) -> String {
    let mut text = String::new();
    for record in &plan.entries {
        writeln!(text, "remember {}", entry(&record.entry)).unwrap();
    }
    for step in &plan.actions {
        writeln!(text, "do {}", action(step)).unwrap();
    }
    for wave in &plan.waves {
        report(&mut text, wave);
    }
    match &plan.alarm {
        Some(alarm) => writeln!(text, "look again {}, because {}", alarm.at, alarm.why).unwrap(),
        None => text.push_str("look again when something rings\n"),
    }
    text
}

fn report(text: &mut String, wave: &WaveReport) {
    let version = wave.version.as_ref().map_or("nothing".to_string(), ToString::to_string);
    writeln!(text, "{} {}: {version}, {}", wave.plugin, wave.tier, state(wave)).unwrap();
    for finding in wave.findings.iter().filter(|finding| finding.verdict != Verdict::Pass) {
        let verdict = match finding.verdict {
            Verdict::Pass => "passes".to_string(),
            Verdict::Wait { until: None } => "waits".to_string(),
            Verdict::Wait { until: Some(until) } => format!("waits until {until}"),
            Verdict::Fail => "fails".to_string(),
            Verdict::Unknown => "unknown".to_string(),
            Verdict::Waived { since } => format!("waived since {since}"),
        };
        write!(text, "  {} {verdict}: {}", finding.gate, finding.because).unwrap();
        match finding.because.unblock() {
            Some(who) => writeln!(text, " [{who}]").unwrap(),
            None => text.push('\n'),
        }
    }
}

/// The name of the state and what is in it, as the ledger's own text has it.
fn state(wave: &WaveReport) -> String {
    let yaml = serde_yaml::to_string(&wave.state).unwrap();
    yaml.trim().replace('!', "").replace("\n", " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn entry(entry: &Entry) -> String {
    match entry {
        Entry::Seen { plugin, seen } => format!("{plugin} {} was first seen at {}", seen.version, seen.first_seen),
        Entry::Wave { plugin, tier, version, change } => format!("{plugin} {version} on {tier}: {}", what(change)),
        Entry::Outage(outage) => format!("the hub was silent from {} to {}", outage.from, outage.to),
        Entry::Stopped(_)
        | Entry::Frozen(_)
        | Entry::Thawed(_)
        | Entry::Hotfix { .. }
        | Entry::Labelled { .. }
        | Entry::Unlabelled { .. } => entry.to_string(),
        Entry::Rebuilt(rebuild) => format!("{} gave up ledger commit {}", rebuild.by, rebuild.cited),
    }
}

fn what(change: &Change) -> String {
    match change {
        Change::Found { members, .. } => format!("found on the base branch, {} clusters", members.len()),
        Change::Intent { head, .. } => format!("about to push {}", head.commit.short()),
        Change::Announced(announced) => format!("{} is open since {}", announced.number, announced.at),
        Change::Grace(grace) => format!("grace until {}, {} notices sent", grace.deadline, grace.notices.len()),
        Change::Shown(head) => format!("{} is shown since {}", head.commit.short(), head.at),
        Change::GraceEnded => "no grace any more".to_string(),
        Change::Merging(merging) => format!("about to merge {}", merging.head.short()),
        Change::Refused { head, .. } => format!("{} was not merged", head.short()),
        Change::Left { clusters } => format!("{} clusters left", clusters.len()),
        Change::Landed(landed) => format!("landed at {}", landed.at),
        Change::Converged(at) => format!("all healthy at {at}"),
        Change::Soaked(soaked) => format!("healthy for {:#} until {}", soaked.healthy_for, soaked.until),
        Change::LetThrough(through) => {
            format!("let through at {} without {} clusters", through.at, through.members.len())
        }
        Change::Finished(at) => format!("finished at {at}"),
        Change::Stalled(stalled) => format!("stalled: {}", stalled.why),
        Change::Dispatching(one) => format!("{} is about to be dispatched", one.id),
        Change::Verified { id, .. } => format!("{id} has succeeded"),
        Change::Resumed(at) => format!("resumed at {at}"),
        Change::Failed(failed) => format!("failed: {}", failed.why),
        Change::Rejected(rejected) => format!("rejected by the closing of {}", rejected.pull),
        Change::Superseded(superseded) => format!("superseded by {}", superseded.by),
        Change::Withdrawn(withdrawn) => format!("withdrawn: {}", withdrawn.why),
    }
}

fn action(action: &Action) -> String {
    match action {
        Action::Open(to) => format!("open {} {} on {}, {} clusters", to.plugin, to.to, to.tier, to.members.len()),
        Action::Update { pull, proposal, .. } => format!("move {pull} to {} {}", proposal.plugin, proposal.to),
        Action::Merge { pull, head, via, forced, .. } => {
            let how = if forced.is_some() { ", without the missing approvals" } else { "" };
            format!("merge {pull} at {} as {via:?}{how}", head.short())
        }
        Action::Close { pull, why, .. } => format!("close {pull}: {why}"),
        Action::Dispatch { workflow, verification, clusters, .. } => {
            format!("dispatch {workflow} as {} for {} clusters", verification.id, clusters.len())
        }
        Action::Notice { pull, deadline, .. } => format!("tell people on {pull} that it merges at {deadline}"),
    }
}
