//! A realistic plan for the tests of this room: a release open on silver, one held there while its
//! fix climbs, one soaking, one forced onto gold, one about to be, and one where nothing is new.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use decide::ledger::{ForceEvidence, Grace, Seen};
use decide::plan::{
    Action, Alarm, Climb, ClimbTier, Finding, Gate, Identity, Member, MemberState, Members, Plan, Proposal, Verdict,
    WaveReport, WaveState,
};
use decide::reason::{MemberTrouble, Scope};
use decide::snapshot::SentNotice;
use decide::{Digest, PluginName, PullNumber, Reason, Version};
use jiff::{SignedDuration, Timestamp};

use super::{ReleaseNote, View};
use crate::git::{Changes, Hunk};
pub(crate) use hostile::HOSTILE;
pub(crate) use releases::{differences, differences_that_say, no_differences, note, tasks};
pub(crate) use world::snapshot;

mod hostile;
mod releases;
mod world;

const TIERS: [&str; 4] = ["qa", "bronze", "silver", "gold"];
const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The instant at which everything below is looked at.
pub(crate) fn now() -> Timestamp {
    at("2026-11-21T08:14:05Z")
}

pub(crate) fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn seconds(number: i64) -> SignedDuration {
    SignedDuration::from_secs(number)
}

fn digest(byte: &str) -> Digest {
    Digest::new(format!("sha256:{}", byte.repeat(32)))
}

fn clusters(tier: &str) -> Vec<&'static str> {
    match tier {
        "qa" => vec!["qa-1", "qa-2"],
        "bronze" => vec!["eu-b1", "eu-b2", "us-b1"],
        "silver" => vec!["eu-1", "eu-2", "us-1", "ap-1"],
        _ => vec!["eu-g1", "eu-g2", "eu-g3", "us-g1", "us-g2", "us-g3", "ap-g1", "ap-g2"],
    }
}

pub(crate) fn members(tier: &str, state: &MemberState) -> Members {
    clusters(tier).into_iter().map(|name| Member { cluster: name.into(), state: state.clone() }).collect()
}

fn healthy(since: &str) -> MemberState {
    MemberState::Healthy { since: Some(at(since)) }
}

fn trouble(cluster: &str, what: &str, evidence: &str, since: &str) -> MemberTrouble {
    MemberTrouble {
        cluster: cluster.into(),
        what: what.to_string(),
        evidence: evidence.to_string(),
        since: Some(at(since)),
    }
}

fn finding(gate: Gate, verdict: Verdict, because: Reason) -> Finding {
    Finding { gate, verdict, because }
}

/// A wave of which only the names are known.
pub(crate) fn wave(plugin: &str, tier: &str, to: &str, from: &str, state: WaveState) -> WaveReport {
    WaveReport {
        plugin: plugin.into(),
        tier: tier.into(),
        tier_index: TIERS.iter().position(|name| *name == tier).unwrap() as u32 + 1,
        of: 4,
        version: Some(version(to)),
        from: Some(version(from)),
        digest: Some(digest("4f")),
        part: decide::ledger::Part::default(),
        state,
        findings: Vec::new(),
        members: members(tier, &MemberState::NotAsked),
        pinned: Vec::new(),
        grace: None,
        rollback_of: None,
        forced: None,
        pull: None,
    }
}

/// The gates before landing as they stand when nothing is in the way.
pub(crate) fn gates(below: &str, to: &str) -> Vec<Finding> {
    let pass = |gate, because| finding(gate, Verdict::Pass, because);
    vec![
        pass(Gate::Ledger, Reason::LedgerIntact),
        pass(Gate::Release, Reason::Accepted),
        pass(Gate::TierBelow, Reason::TierBelowFinished { tier: below.into(), version: version(to) }),
        pass(Gate::Breaking, Reason::NotBreaking),
        pass(Gate::Rejection, Reason::NotRejected),
        pass(Gate::Hold, Reason::NotHeld),
        pass(Gate::Freeze, Reason::NotFrozen),
        pass(Gate::Window, Reason::WindowOpen),
        pass(Gate::Approvals, Reason::Approved { by: vec!["alice".into()] }),
        pass(Gate::Head, Reason::ChecksGreen),
        pass(Gate::Limits, Reason::WithinLimits),
        pass(Gate::Grace, Reason::GraceOff),
    ]
}

/// Puts another finding in the place of the one of its gate.
pub(crate) fn put(wave: &mut WaveReport, gate: Gate, verdict: Verdict, because: Reason) {
    let place = wave.findings.iter_mut().find(|finding| finding.gate == gate).unwrap();
    *place = finding(gate, verdict, because);
}

fn idle(plugin: &str, tier: &str, running: &str) -> WaveReport {
    let state = WaveState::Idle { running: Some(version(running)) };
    WaveReport {
        version: None,
        from: None,
        digest: None,
        members: Members::default(),
        ..wave(plugin, tier, running, running, state)
    }
}

fn finished(plugin: &str, tier: &str, to: &str, from: &str, when: &str, pull: u64) -> WaveReport {
    let mut wave = wave(plugin, tier, to, from, WaveState::Finished { at: at(when) });
    wave.members = members(tier, &healthy(when));
    wave.pull = Some(PullNumber(pull));
    wave
}

/// cert-manager 1.15.0, open on silver: waits for an approval and a window while a grace runs.
pub(crate) fn open() -> WaveReport {
    let state = WaveState::Open { pull: Some(PullNumber(12)), since: at("2026-11-02T08:12:00Z") };
    let mut wave = wave("cert-manager", "silver", "1.15.0", "1.14.7", state);
    wave.findings = gates("bronze", "1.15.0");
    wave.pull = Some(PullNumber(12));
    let deadline = at("2026-11-30T08:12:00Z");
    wave.grace = Some(Grace {
        since: at("2026-11-02T08:12:00Z"),
        deadline,
        notices: vec![SentNotice { before: seconds(14 * DAY), at: at("2026-11-16T08:13:10Z") }],
        giving: None,
    });
    let owners = vec!["@acme/platform".to_string()];
    put(&mut wave, Gate::Approvals, Verdict::Wait { until: None }, Reason::NeedsApproval { owners, missing: 1 });
    let monday = Some(at("2026-11-23T07:00:00Z"));
    put(&mut wave, Gate::Window, Verdict::Wait { until: monday }, Reason::WindowClosed { whose: Scope::Tier });
    put(&mut wave, Gate::Grace, Verdict::Wait { until: Some(deadline) }, Reason::GraceRunning { deadline });
    wave
}

/// trust-manager 0.12.0, failed on silver.
pub(crate) fn held() -> WaveReport {
    let broken = trouble(
        "eu-2",
        "degraded",
        "HelmRelease trust-manager/trust-manager: UpgradeFailed, timed out waiting for the condition",
        "2026-11-21T09:04:00+02:00",
    );
    let why = Reason::MembersFailed { members: vec![broken.clone()], tolerated: 0 };
    let mut wave = wave(
        "trust-manager",
        "silver",
        "0.12.0",
        "0.11.4",
        WaveState::Failed { at: at("2026-11-21T07:09:00Z"), why: why.clone() },
    );
    wave.members = members("silver", &healthy("2026-11-21T06:58:00Z"));
    wave.members.change(1, |member| member.state = MemberState::Failed(broken));
    wave.pull = Some(PullNumber(9));
    wave.findings = vec![
        finding(Gate::Health, Verdict::Fail, why),
        finding(Gate::ProgressDeadline, Verdict::Pass, Reason::InTime),
        finding(Gate::Soak, Verdict::Wait { until: None }, Reason::SoakPaused { of: seconds(2 * DAY) }),
    ];
    wave
}

/// ingress-nginx 4.11.3, soaking on bronze.
pub(crate) fn soaking() -> WaveReport {
    let state = WaveState::Soaking {
        landed: at("2026-11-21T00:40:00Z"),
        healthy_for: seconds(7 * HOUR + 12 * 60),
        until: now(),
        of: seconds(DAY),
        paused: false,
    };
    let mut wave = wave("ingress-nginx", "bronze", "4.11.3", "4.11.2", state);
    wave.members = members("bronze", &healthy("2026-11-21T01:02:05Z"));
    wave.pull = Some(PullNumber(11));
    let until = Some(at("2026-11-22T01:02:05Z"));
    wave.findings = vec![
        finding(Gate::Health, Verdict::Pass, Reason::AllHealthy { members: 3, tolerated: 0 }),
        finding(Gate::ProgressDeadline, Verdict::Pass, Reason::InTime),
        finding(Gate::Soak, Verdict::Wait { until }, Reason::Soaking { of: seconds(DAY) }),
    ];
    wave
}

fn evidence() -> ForceEvidence {
    let notice = |days: i64, when: &str| SentNotice { before: seconds(days * DAY), at: at(when) };
    ForceEvidence {
        deadline: Some(at("2026-11-20T09:00:00Z")),
        said: None,
        notices: vec![
            notice(14, "2026-11-06T09:00:20Z"),
            notice(3, "2026-11-17T09:00:12Z"),
            notice(1, "2026-11-19T09:00:15Z"),
        ],
        held: vec![
            "6.6.2 has finished silver".to_string(),
            "every window is open".to_string(),
            "the branch holds what the bot wrote".to_string(),
            "every required check is green".to_string(),
            "not a breaking step".to_string(),
        ],
        waived: "an approval by @acme/platform".to_string(),
        policy: "c0ffee1234567890c0ffee1234567890c0ffee12".into(),
    }
}

/// loki 6.6.2, forced onto gold, rolling out.
pub(crate) fn forced() -> WaveReport {
    let state = WaveState::Converging { landed: at("2026-11-21T08:00:30Z"), healthy: 5 };
    let mut wave = wave("loki", "gold", "6.6.2", "6.5.0", state);
    wave.forced = Some(evidence());
    wave.pull = Some(PullNumber(4));
    wave.members = members("gold", &healthy("2026-11-21T08:09:00Z"));
    let slow =
        |name: &str| trouble(name, "still on 6.5.0", "HelmRelease loki/loki: Progressing", "2026-11-21T08:01:00Z");
    let unread = trouble("us-g3", "not read", "connection refused", "2026-11-21T08:10:00Z");
    wave.members.change(3, |member| member.state = MemberState::Progressing(slow("us-g1")));
    wave.members.change(5, |member| member.state = MemberState::Unknown(unread.clone()));
    wave.members.change(6, |member| member.state = MemberState::Progressing(slow("ap-g1")));
    let behind = vec![slow("us-g1"), unread, slow("ap-g1")];
    let until = Some(at("2026-11-21T10:00:30Z"));
    wave.findings = vec![
        finding(Gate::Health, Verdict::Wait { until: None }, Reason::MembersBehind { members: behind }),
        finding(Gate::ProgressDeadline, Verdict::Wait { until }, Reason::InTime),
        finding(Gate::Soak, Verdict::Wait { until: None }, Reason::SoakPaused { of: seconds(3 * DAY) }),
    ];
    wave
}

/// external-dns 1.14.5, whose grace on gold is over.
fn overdue() -> WaveReport {
    let state = WaveState::Open { pull: Some(PullNumber(3)), since: at("2026-10-22T08:00:00Z") };
    let mut wave = wave("external-dns", "gold", "1.14.5", "1.14.4", state);
    wave.findings = gates("silver", "1.14.5");
    wave.pull = Some(PullNumber(3));
    let deadline = at("2026-11-21T08:00:00Z");
    wave.grace = Some(Grace { since: at("2026-10-22T08:00:00Z"), deadline, notices: evidence().notices, giving: None });
    let owners = vec!["@acme/platform".to_string()];
    put(&mut wave, Gate::Approvals, Verdict::Waived { since: deadline }, Reason::NeedsApproval { owners, missing: 1 });
    put(&mut wave, Gate::Grace, Verdict::Pass, Reason::GraceOver { deadline });
    wave
}

fn waits(plugin: &str, tier: &str, to: &str, from: &str, below: &str) -> WaveReport {
    let mut wave = wave(plugin, tier, to, from, WaveState::Waiting);
    let because = Reason::TierBelowUnfinished { tier: below.into(), version: version(to) };
    wave.findings = vec![finding(Gate::TierBelow, Verdict::Wait { until: None }, because)];
    wave
}

fn waves() -> Vec<WaveReport> {
    let fix = WaveState::Converging { landed: at("2026-11-21T08:02:00Z"), healthy: 1 };
    let mut fix = wave("trust-manager", "bronze", "0.12.1", "0.12.0", fix);
    fix.pull = Some(PullNumber(14));
    fix.members = members("bronze", &healthy("2026-11-21T08:06:00Z"));
    let slow = trouble("us-b1", "still on 0.12.0", "", "2026-11-21T08:03:00Z");
    fix.members.change(2, |member| member.state = MemberState::Progressing(slow.clone()));
    let because = Reason::MembersBehind { members: vec![slow] };
    fix.findings = vec![finding(Gate::Health, Verdict::Wait { until: None }, because)];
    vec![
        finished("ingress-nginx", "qa", "4.11.3", "4.11.2", "2026-11-21T00:20:00Z", 10),
        soaking(),
        waits("ingress-nginx", "silver", "4.11.3", "4.11.2", "bronze"),
        idle("ingress-nginx", "gold", "4.11.2"),
        finished("cert-manager", "qa", "1.15.0", "1.14.7", "2026-10-30T10:00:00Z", 6),
        finished("cert-manager", "bronze", "1.15.0", "1.14.7", "2026-11-02T08:10:00Z", 8),
        open(),
        idle("cert-manager", "gold", "1.14.7"),
        finished("trust-manager", "qa", "0.12.1", "0.12.0", "2026-11-21T07:59:00Z", 13),
        fix,
        held(),
        idle("trust-manager", "gold", "0.11.4"),
        finished("loki", "qa", "6.6.2", "6.5.0", "2026-10-10T08:00:00Z", 1),
        finished("loki", "bronze", "6.6.2", "6.5.0", "2026-10-14T08:00:00Z", 2),
        finished("loki", "silver", "6.6.2", "6.5.0", "2026-10-20T08:00:00Z", 5),
        forced(),
        finished("external-dns", "qa", "1.14.5", "1.14.4", "2026-10-12T08:00:00Z", 31),
        finished("external-dns", "bronze", "1.14.5", "1.14.4", "2026-10-14T08:00:00Z", 32),
        finished("external-dns", "silver", "1.14.5", "1.14.4", "2026-10-21T08:00:00Z", 33),
        overdue(),
        idle("velero", "qa", "7.1.1"),
        idle("velero", "bronze", "7.1.1"),
        idle("velero", "silver", "7.1.1"),
        idle("velero", "gold", "7.1.1"),
    ]
}

/// One climb per release that a wave is about.
fn climbs(waves: &[WaveReport]) -> Vec<Climb> {
    let mut climbs: Vec<Climb> = Vec::new();
    for wave in waves {
        let Some(version) = &wave.version else { continue };
        if climbs.iter().any(|climb| climb.plugin == wave.plugin && climb.version == *version) {
            continue;
        }
        let tiers = TIERS.iter().map(|tier| {
            let there = waves.iter().find(|other| other.plugin == wave.plugin && other.tier.as_str() == *tier).unwrap();
            let same = there.version.as_ref() == Some(version);
            let passed = there.version.as_ref() > Some(version);
            let state = match (&there.state, same, passed) {
                (state, true, _) => state.clone(),
                (WaveState::Idle { running }, _, _) => WaveState::Idle { running: running.clone() },
                (_, _, true) => WaveState::Finished { at: at("2026-11-19T07:00:00Z") },
                (_, _, false) => WaveState::Idle { running: there.version.clone() },
            };
            let pull = if same { there.pull } else { None };
            ClimbTier { tier: (*tier).into(), state, members: clusters(tier).len() as u32, pull }
        });
        climbs.push(Climb { plugin: wave.plugin.clone(), version: version.clone(), tiers: tiers.collect() });
    }
    climbs
}

fn actions() -> Vec<Action> {
    let proposal = Proposal {
        plugin: "loki".into(),
        tier: "qa".into(),
        from: Some(version("6.6.2")),
        to: version("6.6.3"),
        digest: Some(digest("77")),
        part: decide::ledger::Part::default(),
        members: clusters("qa").into_iter().map(Into::into).collect(),
        written: None,
    };
    vec![
        Action::Merge {
            plugin: "external-dns".into(),
            tier: "gold".into(),
            version: version("1.14.5"),
            pull: PullNumber(3),
            head: "ab".repeat(20).as_str().into(),
            via: Identity::Bypass,
            forced: Some(evidence()),
        },
        Action::Open(proposal),
    ]
}

/// All of it as the terminal and the dashboard get it.
pub(crate) fn view() -> View {
    let waves = waves();
    let plan = Plan {
        entries: Vec::new(),
        actions: actions(),
        climbs: climbs(&waves),
        waves,
        alarm: Some(Alarm { at: at("2026-11-21T08:19:00Z"), why: Reason::LookAgain }),
    };
    View::new("acme/fleet", "https://github.com/acme/fleet", &snapshot(), plan, at("2026-11-21T08:14:00Z"))
}

/// The same with what is known of a release: when it was seen, what is different in it, what its authors say.
pub(crate) fn noted() -> View {
    let mut view = view();
    let plugin = PluginName::from("cert-manager");
    let page = view.pages.entry(plugin.clone()).or_default();
    for (text, seen) in [("1.14.7", "2026-10-01T10:00:00Z"), ("1.15.0", "2026-10-30T09:00:00Z")] {
        page.releases.push(Seen { version: version(text), digest: Some(digest("4f")), first_seen: at(seen) });
    }
    let note = note("1.15.0", "## Changes\n- Adds `nameConstraints` (#6500)\n", Some(differences()));
    let note =
        ReleaseNote { page: Some("https://github.com/cert-manager/cert-manager/releases/tag/v1.15.0".into()), ..note };
    view.notes.insert((plugin, version("1.15.0")), note);
    view
}

/// A commit that changes one line in each of 1,500 files, but for three odd ones.
pub(crate) fn changes() -> Changes {
    let hunk = |before: &str, after: &str, sha256: &str, files: Vec<String>| Hunk {
        lines: format!("-      version: {before}\n+      version: {after}\n").into_bytes(),
        whole: true,
        sha256: sha256.repeat(32),
        files,
    };
    let files =
        |range: std::ops::Range<usize>| range.map(|n| format!("clusters/gold/eu-{n:04}/cert-manager.yaml")).collect();
    Changes {
        commit: "c".repeat(40).as_str().into(),
        base: "b".repeat(40).as_str().into(),
        files: 1_501,
        hunks: vec![
            hunk("1.14.7 # exact", "1.15.0 # exact", "4f", files(0..1_490)),
            hunk("\"1.14.7\"", "\"1.15.0\"", "5a", files(1_490..1_500)),
            hunk("1.14.6 # not yet", "1.15.0 # not yet", "6b", files(1_498..1_500)),
            hunk("1.14.7", "1.15.0", "7c", vec!["charts/gold/Chart.yaml".to_string()]),
        ],
        others: Vec::new(),
    }
}

/// A commit of many files whose lines and paths say this.
pub(crate) fn changes_that_say(text: &str) -> Changes {
    let many = changes();
    let hunk = |lines: String, files: Vec<String>| Hunk { lines: lines.into_bytes(), files, ..many.hunks[0].clone() };
    let hunks = vec![
        hunk(format!("-{text}\n+{text} 2\n"), (0..30).map(|number| format!("{text}/{number}")).collect()),
        hunk(format!("-{text} 3\n"), vec![text.to_string()]),
    ];
    Changes { hunks, others: vec![text.to_string()], ..many }
}

/// All sections from the last to the first, with words that open whatever Markdown may leave open.
pub(crate) fn backwards() -> crate::policy::wiring::Body {
    use crate::policy::wiring::{Piece, Section};
    let sections = Section::ALL.into_iter().rev().map(Piece::Section);
    let words = ["> quoted", "- a list", "1. one", "a `tick", "**bold", "[a link", "| a | b |"];
    let pieces = sections.zip(words).flat_map(|(section, words)| [Piece::Text(words.to_string()), section]);
    crate::policy::wiring::Body { written: String::new(), pieces: pieces.collect() }
}
