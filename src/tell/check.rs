//! The check run on the pull request, and the one-line status where only a plain token is there.

use decide::plan::{Gate, WaveReport, WaveState};
use decide::{Reason, Verdict};
use serde::Serialize;

use super::climb::{Forced, forced};
use super::page::{NAMES, capped, listed};
use super::{Links, TellError, inert, render, words};

/// The longest description of a commit status that the hub takes.
const STATUS_CAP: usize = 140;
/// The most clusters in the table, the unhealthy ones first; half of them beside what a commit changes.
const MEMBERS: usize = 120;

/// How the check ends. `neutral` would satisfy a required check, and an unfinished run goes stale
/// after 14 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// It waits for something.
    ActionRequired,
    /// The bot may merge, or has.
    Success,
    /// It never will.
    Failure,
}

impl Conclusion {
    /// The hub's word for a check run's conclusion.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ActionRequired => "action_required",
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }

    /// The hub's word for a commit status, which knows no `action_required`.
    pub fn as_status(self) -> &'static str {
        match self {
            Self::ActionRequired => "pending",
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }
}

/// A completed check run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckText {
    /// How it ends.
    pub conclusion: Conclusion,
    /// `Waiting: 2 of 9 gates (approvals, window)`.
    pub title: String,
    /// The gate table and the members, in Markdown.
    pub summary: String,
}

/// A commit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusText {
    /// How it stands; `as_status` is the hub's word.
    pub conclusion: Conclusion,
    /// At most 140 characters.
    pub description: String,
}

#[derive(Serialize)]
struct Page {
    name: String,
    lead: String,
    gates: Vec<Row>,
    passed: Vec<Row>,
    passing: String,
    changes: Option<String>,
    members: Vec<MemberRow>,
    more: usize,
    clusters: String,
    names: String,
    forced: Option<Forced>,
}

#[derive(Serialize)]
struct Row {
    gate: String,
    emoji: &'static str,
    verdict: &'static str,
    because: String,
    until: String,
    who: String,
}

#[derive(Serialize)]
struct MemberRow {
    cluster: String,
    emoji: &'static str,
    state: &'static str,
    since: String,
    evidence: String,
}

/// The check run of a wave, with what its commit changes, told by [`changes`](super::changes()), where that is more
/// than anybody reads. It is about the merge: of what is merged, the text of the pull request says how it goes.
///
/// # Errors
/// Only when a built-in template is broken.
pub fn check(wave: &WaveReport, links: &Links, changes: Option<&str>) -> Result<CheckText, TellError> {
    let zone = links.zone(&wave.plugin, &wave.tier);
    let when = |at| words::when(at, &zone);
    let row = |finding: &decide::Finding| {
        let look = words::verdict(finding);
        Row {
            gate: finding.gate.to_string(),
            emoji: look.emoji,
            verdict: look.word,
            because: finding.because.to_string(),
            until: words::until(finding).map(when).unwrap_or_default(),
            who: words::who(finding).unwrap_or_default(),
        }
    };
    let landed = has_landed(&wave.state);
    let findings: &[decide::Finding] = if landed { &[] } else { &wave.findings };
    let (passed, mut told): (Vec<_>, Vec<_>) = findings.iter().partition(|f| f.verdict == Verdict::Pass);
    told.sort_by_key(|finding| finding.verdict.lets_through()); // stable: what was waived stands below what waits
    let passing = words::count(passed.len(), "gate");
    let mut members: Vec<_> = wave.members.iter().collect();
    members.sort_by_key(|member| words::member(&member.state).tone); // stable: else in the wave's order
    let most = if changes.is_some() { MEMBERS / 2 } else { MEMBERS };
    let members = members.into_iter().take(most).map(|member| {
        let look = words::member(&member.state);
        let (since, evidence) = words::member_facts(&member.state);
        let evidence = inert::cut(&evidence, 240);
        let since = since.map(when).unwrap_or_default();
        MemberRow { cluster: member.cluster.to_string(), emoji: look.emoji, state: look.word, since, evidence }
    });
    let asked = wave.members.asked();
    let names: Vec<String> = wave.members.clusters().iter().map(ToString::to_string).collect();
    let title = headline(wave);
    let page = Page {
        name: words::name(wave),
        lead: lead(wave, &title),
        gates: told.into_iter().map(row).collect(),
        passed: passed.into_iter().map(row).collect(),
        passing,
        changes: changes.map(str::to_string),
        members: if asked && !landed { members.collect() } else { Vec::new() },
        more: if asked { names.len().saturating_sub(most) } else { 0 },
        clusters: words::clusters(wave),
        names: if asked || landed { String::new() } else { listed(&names, NAMES) },
        forced: forced(wave, &zone),
    };
    let summary = capped(render::markdown("check", &page)?) + &links.on_dashboard(&wave.plugin, &wave.tier);
    Ok(CheckText { conclusion: conclusion(wave), title, summary })
}

/// The status of a wave, for tokens that cannot write check runs.
pub fn status(wave: &WaveReport) -> StatusText {
    let title = headline(wave);
    let description = match words::first(wave).filter(|finding| !is_for_a_person(&finding.because)) {
        Some(first) if words::end(&wave.state).is_none() && !has_landed(&wave.state) => {
            format!("{title}: {}", first.because)
        }
        Some(_) | None => title,
    };
    let description = inert::cut(&inert::line(&description), STATUS_CAP);
    StatusText { conclusion: conclusion(wave), description }
}

/// What people are told of a wave at once: where it stands, what holds it back, and when it is merged without approvals.
/// What members say while they roll out and soak is no part of it.
pub fn urgent(wave: &WaveReport) -> String {
    let word = match &wave.state {
        WaveState::Converging { .. } | WaveState::Soaking { paused: false, .. } => "merged",
        WaveState::Idle { .. }
        | WaveState::Waiting
        | WaveState::Open { .. }
        | WaveState::Soaking { paused: true, .. }
        | WaveState::Finished { .. }
        | WaveState::Failed { .. }
        | WaveState::Rejected { .. }
        | WaveState::Superseded { .. }
        | WaveState::Withdrawn { .. } => words::wave(wave).word,
    };
    let holding = words::holding(wave).filter(|_| words::before_landing(&wave.state));
    let holding: Vec<String> = holding.map(|finding| format!("{}: {}", finding.gate, finding.because)).collect();
    let deadline = wave.grace.as_ref().map(|grace| grace.deadline.to_string()).unwrap_or_default();
    format!("{}, {word}, {deadline}\n{}", super::title(wave), holding.join("\n"))
}

/// Whether it is merged, and nothing has come of it that the check would have to take back.
fn has_landed(state: &WaveState) -> bool {
    match state {
        WaveState::Converging { .. } | WaveState::Soaking { .. } | WaveState::Finished { .. } => true,
        WaveState::Idle { .. }
        | WaveState::Waiting
        | WaveState::Open { .. }
        | WaveState::Failed { .. }
        | WaveState::Rejected { .. }
        | WaveState::Superseded { .. }
        | WaveState::Withdrawn { .. } => false,
    }
}

/// A merge that is a person's, by the policy or because they added to the branch: the check lets them.
fn is_for_a_person(because: &Reason) -> bool {
    matches!(because, Reason::ManualMerge | Reason::HeadAdded { .. })
}

fn conclusion(wave: &WaveReport) -> Conclusion {
    let never = |finding: &decide::Finding| {
        finding.verdict == Verdict::Fail && matches!(finding.gate, Gate::Release | Gate::Rejection)
    };
    match wave.state {
        WaveState::Failed { .. }
        | WaveState::Rejected { .. }
        | WaveState::Superseded { .. }
        | WaveState::Withdrawn { .. } => Conclusion::Failure,
        WaveState::Converging { .. } | WaveState::Soaking { .. } | WaveState::Finished { .. } => Conclusion::Success,
        WaveState::Idle { .. } | WaveState::Waiting | WaveState::Open { .. } => {
            if words::holding(wave).any(never) {
                Conclusion::Failure
            } else if words::holding(wave).any(|finding| !is_for_a_person(&finding.because)) {
                Conclusion::ActionRequired
            } else {
                Conclusion::Success
            }
        }
    }
}

fn headline(wave: &WaveReport) -> String {
    match &wave.state {
        WaveState::Failed { .. } => "Failed here".to_string(),
        WaveState::Rejected { .. } => "Rejected".to_string(),
        WaveState::Superseded { by, .. } => format!("Superseded by {by}"),
        WaveState::Withdrawn { .. } => "Taken back".to_string(),
        WaveState::Converging { .. } | WaveState::Soaking { .. } | WaveState::Finished { .. } => "Merged".to_string(),
        WaveState::Idle { .. } | WaveState::Waiting | WaveState::Open { .. } => {
            let waits: Vec<&decide::Finding> =
                words::holding(wave).filter(|finding| !is_for_a_person(&finding.because)).collect();
            let names: Vec<String> = waits.iter().map(|finding| finding.gate.to_string()).collect();
            if !waits.is_empty() {
                let word = if conclusion(wave) == Conclusion::Failure { "Stopped" } else { "Waiting" };
                format!("{word}: {} of {} gates ({})", waits.len(), wave.findings.len(), names.join(", "))
            } else if words::holding(wave).next().is_some() {
                "May merge: a person presses the button".to_string()
            } else {
                "May merge".to_string()
            }
        }
    }
}

/// The one sentence above the table: why, else what the title says.
fn lead(wave: &WaveReport, title: &str) -> String {
    if has_landed(&wave.state) {
        return "merged; the text of the pull request says how its clusters take it".to_string();
    }
    let why = words::end(&wave.state).or_else(|| words::first(wave).map(|finding| finding.because.clone()));
    why.map_or_else(|| title.to_string(), |why| why.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::fixture::{self, gates, put, version, wave};
    use super::*;
    use decide::plan::MemberState;
    use decide::{PullNumber, Version};
    use jiff::SignedDuration;

    fn open(change: impl FnOnce(&mut WaveReport)) -> WaveReport {
        let state = WaveState::Open { pull: Some(PullNumber(12)), since: fixture::now() };
        let mut wave = wave("cert-manager", "silver", "1.15.0", "1.14.7", state);
        wave.findings = gates("bronze", "1.15.0");
        change(&mut wave);
        wave
    }

    fn in_state(state: WaveState) -> WaveReport {
        open(|wave| wave.state = state)
    }

    fn held(why: &str) -> Reason {
        Reason::Held { by: "bob".into(), why: why.to_string() }
    }

    #[test]
    fn what_waits_for_a_person_is_urgent_and_a_member_more_is_not() {
        let soaking = |paused, healthy_for| {
            let (landed, until) = (fixture::now(), fixture::now());
            WaveState::Soaking { landed, healthy_for, of: SignedDuration::from_hours(1), until, paused }
        };
        let rolling = in_state(WaveState::Converging { landed: fixture::now(), healthy: 0 });
        let mut one = rolling.clone();
        one.members = fixture::members("silver", &MemberState::Healthy { since: None });
        assert_ne!(words::healthy(&rolling), words::healthy(&one));
        assert_eq!(urgent(&rolling), urgent(&one));
        assert_eq!(urgent(&one), urgent(&in_state(soaking(false, SignedDuration::ZERO))));
        let ready = open(|_| {});
        let on_hold = open(|wave| put(wave, Gate::Hold, Verdict::Wait { until: None }, held("lunch")));
        let otherwise = open(|wave| put(wave, Gate::Hold, Verdict::Wait { until: None }, held("tea")));
        let paused = in_state(soaking(true, SignedDuration::ZERO));
        let finished = in_state(WaveState::Finished { at: fixture::now() });
        let all: std::collections::BTreeSet<String> =
            [&rolling, &ready, &on_hold, &otherwise, &paused, &finished].map(urgent).into();
        assert_eq!(all.len(), 6, "{all:#?}");
    }

    #[test]
    fn each_state_has_its_conclusion() {
        let wait = Verdict::Wait { until: None };
        let at = fixture::now();
        let owners = || Reason::NeedsApproval { owners: vec!["@acme/platform".to_string()], missing: 1 };
        let held = || held("lunch");
        let outside = || Reason::OutsideConstraint { constraint: "^1.14".to_string() };
        let deadline = at;
        let newer: Version = version("1.15.1");
        let cases = [
            (
                "action_required",
                "Waiting: 1 of 12 gates (approvals)",
                open(|w| put(w, Gate::Approvals, wait, owners())),
            ),
            ("action_required", "Waiting: 1 of 12 gates (hold)", open(|w| put(w, Gate::Hold, Verdict::Fail, held()))),
            ("action_required", "Waiting: 1 of 12 gates (head and checks)", {
                open(|w| put(w, Gate::Head, Verdict::Unknown, Reason::MergeabilityUnknown))
            }),
            ("success", "May merge", open(|_| ())),
            ("success", "May merge", open(|w| put(w, Gate::Grace, wait, Reason::GraceRunning { deadline }))),
            ("success", "May merge", open(|w| put(w, Gate::Approvals, Verdict::Waived { since: at }, owners()))),
            ("success", "May merge: a person presses the button", {
                open(|w| put(w, Gate::Approvals, wait, Reason::ManualMerge))
            }),
            ("failure", "Stopped: 1 of 12 gates (release)", open(|w| put(w, Gate::Release, Verdict::Fail, outside()))),
            ("failure", "Failed here", fixture::held()),
            ("failure", "Rejected", in_state(WaveState::Rejected { at, by: None, pull: PullNumber(12) })),
            ("failure", "Superseded by 1.15.1", in_state(WaveState::Superseded { at, by: newer })),
            ("success", "Merged", fixture::soaking()),
            ("success", "Merged", fixture::forced()),
            ("success", "Merged", in_state(WaveState::Finished { at })),
        ];
        for (conclusion, title, wave) in cases {
            let check = check(&wave, &Links::default(), None).unwrap();
            assert_eq!((check.conclusion.as_str(), check.title.as_str()), (conclusion, title));
            assert_eq!(status(&wave).conclusion, check.conclusion);
        }
    }

    #[test]
    fn a_status_names_the_first_thing_and_fits() {
        let text = status(&fixture::open());
        assert_eq!(text.conclusion.as_status(), "pending");
        assert_eq!(
            text.description,
            "Waiting: 2 of 12 gates (window, approvals): waits for an approval by @acme/platform"
        );
        let names = vec!["x".repeat(500)];
        let long = open(|w| put(w, Gate::Head, Verdict::Fail, Reason::ChecksFailed { names }));
        assert_eq!(status(&long).description.chars().count(), STATUS_CAP);
        assert_eq!(status(&fixture::held()).description, "Failed here");
    }

    /// Else it was written again for each cluster that moves, beside the text that says the same.
    #[test]
    fn what_is_merged_has_one_check_however_it_goes_on() {
        let text = |wave: &WaveReport| {
            let CheckText { conclusion, title, summary } = check(wave, &Links::default(), None).unwrap();
            (conclusion, title, summary, status(wave).description)
        };
        let rolling = in_state(WaveState::Converging { landed: fixture::now(), healthy: 0 });
        let mut one = rolling.clone();
        one.members = fixture::members("silver", &MemberState::Healthy { since: None });
        let finished = in_state(WaveState::Finished { at: fixture::now() });
        assert_eq!(text(&rolling), text(&one));
        assert_eq!(text(&one), text(&finished));
        assert_ne!(text(&one), text(&open(|_| {})));
        assert!(text(&fixture::forced()).2.contains("### Merged by force"), "the evidence stays");
    }

    #[test]
    fn unhealthy_clusters_come_first() {
        let landed = fixture::forced();
        let failed = WaveState::Failed { at: fixture::now(), why: Reason::ManualMerge };
        let summary = check(&WaveReport { state: failed, ..landed }, &Links::default(), None).unwrap().summary;
        let place = |name: &str| summary.find(name).unwrap_or_else(|| panic!("{name} is not in {summary}"));
        assert!(place("| us-g3 |") < place("| us-g1 |") && place("| ap-g1 |") < place("| eu-g1 |"), "{summary}");
    }
}
