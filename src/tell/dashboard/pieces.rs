//! What every page of the dashboard has: the frame around it, instants, bars of progress, links, the gates of a wave.

use decide::plan::{WaveReport, WaveState};
use decide::reason::spell;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::super::{View, inert, words};
use super::paths::Paths;

/// What stands around a page.
#[derive(Serialize)]
pub(crate) struct Frame {
    title: String,
    /// After how many seconds the page is asked for anew.
    refresh: i64,
    /// From here to what the pages share.
    root: String,
    /// The way here, from the ladder of all repositories on.
    crumbs: Vec<Link>,
    now: String,
    looked: Option<Time>,
    /// What is wrong with the repository as a whole, in one line.
    pub(crate) trouble: Option<String>,
}

impl Frame {
    /// Of a page that is about several repositories.
    pub(crate) fn of_all<'a>(views: impl IntoIterator<Item = &'a View> + Clone, paths: &Paths, now: Timestamp) -> Self {
        let zone = views.clone().into_iter().next().map_or(TimeZone::UTC, |view| view.links.shared_zone());
        Self {
            title: "Coldframe".to_string(),
            refresh: refresh_seconds(views, now),
            root: paths.root().to_string(),
            crumbs: Vec::new(),
            now: words::when(now, &zone),
            looked: None,
            trouble: None,
        }
    }

    /// Of a page that is about something in one repository.
    pub(crate) fn of(view: &View, paths: &Paths, title: &str, crumbs: Vec<Link>, now: Timestamp) -> Self {
        let repository = Link { text: view.name.clone(), href: paths.repository(view) };
        Self {
            title: format!("{title} · Coldframe"),
            crumbs: [repository].into_iter().chain(crumbs).collect(),
            looked: Some(time(view.looked, &view.links.shared_zone(), now)),
            trouble: view.trouble.as_deref().map(|trouble| inert::headed(trouble).0),
            ..Self::of_all([view], paths, now)
        }
    }
}

/// Something that has a page.
#[derive(Clone, Serialize)]
pub(crate) struct Link {
    pub(crate) text: String,
    pub(crate) href: String,
}

/// An instant, and how far off it is; the page's script keeps the second one right.
#[derive(Clone, Serialize)]
pub(crate) struct Time {
    iso: String,
    text: String,
    relative: String,
}

pub(crate) fn time(at: Timestamp, zone: &TimeZone, now: Timestamp) -> Time {
    // Nobody reads more than seconds, and a page has thousands of them.
    let iso = Timestamp::from_second(at.as_second()).unwrap_or(at).to_string();
    Time { iso, text: words::when(at, zone), relative: words::relative(at, now) }
}

/// After how many seconds a page is asked for anew: soon after the bot's next look, at least every
/// minute, at most every five seconds.
fn refresh_seconds<'a>(views: impl IntoIterator<Item = &'a View>, now: Timestamp) -> i64 {
    let next = views.into_iter().filter_map(|view| view.plan.alarm.as_ref()).map(|alarm| alarm.at).min();
    next.map_or(60, |next| next.duration_since(now).as_secs() + 2).clamp(5, 60)
}

/// How far a soak or a grace period has come.
#[derive(Clone, Serialize)]
pub(crate) struct Bar {
    percent: i64,
    label: String,
    time: Option<Time>,
}

/// The progress of a soak, else of a grace period.
pub(crate) fn bar(wave: &WaveReport, zone: &TimeZone, now: Timestamp) -> Option<Bar> {
    let percent = |part: i64, whole: i64| if whole <= 0 { 100 } else { (part.max(0) * 100 / whole).clamp(0, 100) };
    if let WaveState::Soaking { healthy_for, of, .. } = &wave.state {
        let label = format!("healthy for {} of {}", spell(*healthy_for), spell(*of));
        return Some(Bar { percent: percent(healthy_for.as_secs(), of.as_secs()), label, time: None });
    }
    let grace = wave.grace.as_ref().filter(|_| words::before_landing(&wave.state))?;
    let run = now.duration_since(grace.since).as_secs();
    let whole = grace.deadline.duration_since(grace.since).as_secs();
    let word = if grace.deadline <= now { "grace period over" } else { "by force" };
    let label = format!("{word} {}", words::brief(grace.deadline, zone));
    Some(Bar { percent: percent(run, whole), label, time: Some(time(grace.deadline, zone, now)) })
}

/// What one gate says.
#[derive(Serialize)]
pub(crate) struct Gate {
    gate: String,
    tone: &'static str,
    mark: &'static str,
    verdict: &'static str,
    because: String,
    until: Option<Time>,
    who: String,
}

/// Every gate that applies to a wave.
pub(crate) fn gates(wave: &WaveReport, zone: &TimeZone, now: Timestamp) -> Vec<Gate> {
    let gate = |finding: &decide::Finding| {
        let look = words::verdict(finding);
        Gate {
            gate: finding.gate.to_string(),
            tone: look.tone.class(),
            mark: look.mark,
            verdict: look.word,
            because: finding.because.to_string(),
            until: words::until(finding).map(|at| time(at, zone, now)),
            who: words::who(finding).unwrap_or_default(),
        }
    };
    wave.findings.iter().map(gate).collect()
}
