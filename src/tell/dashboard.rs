//! The dashboard: the ladder of each repository, what needs a person first. The page of a wave is
//! in `wave_page`, what the pages look like in `templates/style.css`.

use std::collections::BTreeMap;
use std::sync::Arc;

use decide::plan::{Gate, Verdict, WaveReport, WaveState};
use decide::reason::spell;
use decide::{PluginName, Reason, TierName};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::words::{self, Tone};
use super::{TellError, View, board, inert, render, wave_href};

/// What the dashboard shows.
#[derive(Clone, Debug, Default)]
pub struct DashboardState {
    /// The repositories that the bot looks after, in the order in which they are shown.
    pub views: Vec<Arc<View>>,
}

#[derive(Serialize)]
struct Page {
    refresh: i64,
    tiles: Vec<Tile>,
    ladders: Vec<Ladder>,
    now: String,
}

/// One number on the strip, and what it is about.
#[derive(Serialize)]
struct Tile {
    name: &'static str,
    value: String,
    tone: &'static str,
    items: Vec<Item>,
    more: usize,
}

#[derive(Clone, Serialize)]
struct Item {
    text: String,
    href: Option<String>,
    before: &'static str,
    time: Option<Time>,
}

#[derive(Serialize)]
struct Ladder {
    name: String,
    url: String,
    trouble: Option<String>,
    /// What follows the first line of it.
    details: Option<String>,
    looked: Time,
    next: String,
    tiers: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    plugin: String,
    cells: Vec<Cell>,
}

#[derive(Serialize)]
struct Cell {
    tier: String,
    there: bool,
    href: String,
    version: String,
    tone: &'static str,
    mark: &'static str,
    word: &'static str,
    says: String,
    until: Option<Time>,
    bar: Option<Bar>,
    ago: Option<Time>,
}

/// How far a soak or a grace period has come.
#[derive(Clone, Serialize)]
pub(crate) struct Bar {
    percent: i64,
    label: String,
    time: Option<Time>,
}

/// An instant, and how far off it is; the page's script keeps the second one right.
#[derive(Clone, Serialize)]
pub(crate) struct Time {
    iso: String,
    text: String,
    relative: String,
}

pub(crate) fn time(at: Timestamp, zone: &TimeZone, now: Timestamp) -> Time {
    Time { iso: at.to_string(), text: words::when(at, zone), relative: words::relative(at, now) }
}

/// After how many seconds a page loads itself anew: soon after the bot's next look, at least every
/// minute, at most every five seconds.
pub(crate) fn refresh_seconds<'a>(views: impl IntoIterator<Item = &'a View>, now: Timestamp) -> i64 {
    let next = views.into_iter().filter_map(|view| view.plan.alarm.as_ref()).map(|alarm| alarm.at).min();
    next.map_or(60, |next| next.duration_since(now).as_secs() + 2).clamp(5, 60)
}

/// The dashboard as one HTML page.
///
/// # Errors
/// When the page is longer than its cap; else only when a built-in template is broken.
pub fn dashboard(state: &DashboardState, now: Timestamp) -> Result<String, TellError> {
    let views: Vec<&View> = state.views.iter().map(AsRef::as_ref).collect();
    let zone = views.first().map_or(TimeZone::UTC, |view| view.links.shared_zone());
    let page = Page {
        refresh: refresh_seconds(views.iter().copied(), now),
        tiles: vec![approvals(&views), stopped(&views), next_force(&views, now), freezes(&views, now)],
        ladders: views.iter().map(|view| ladder(view, now)).collect(),
        now: words::when(now, &zone),
    };
    render::html("dashboard", &page)
}

/// Every wave of every repository.
fn waves<'a>(views: &'a [&'a View]) -> impl Iterator<Item = (&'a View, &'a WaveReport)> {
    views.iter().flat_map(|view| view.plan.waves.iter().map(move |wave| (*view, wave)))
}

fn item(view: &View, wave: &WaveReport) -> Item {
    Item { text: words::name(wave), href: Some(wave_href(view, &wave.plugin, &wave.tier)), before: "", time: None }
}

fn tile(name: &'static str, value: String, tone: Tone, mut items: Vec<Item>) -> Tile {
    let more = items.len().saturating_sub(3);
    items.truncate(3);
    Tile { name, value, tone: tone.class(), items, more }
}

/// Waves that a person's approval would move.
fn approvals(views: &[&View]) -> Tile {
    let asked = |wave: &WaveReport| {
        // Before there is a pull request nobody can approve it.
        matches!(wave.state, WaveState::Open { .. })
            && words::holding(wave).any(|finding| finding.gate == Gate::Approvals || finding.gate == Gate::Breaking)
    };
    let items: Vec<Item> = waves(views).filter(|(_, wave)| asked(wave)).map(|(view, wave)| item(view, wave)).collect();
    let tone = if items.is_empty() { Tone::Quiet } else { Tone::Attention };
    tile("Open approvals", items.len().to_string(), tone, items)
}

/// Waves that stand still until somebody acts.
fn stopped(views: &[&View]) -> Tile {
    // What a person refused waits for nobody.
    let refused = |wave: &WaveReport| matches!(wave.state, WaveState::Rejected { .. });
    let stands = |wave: &WaveReport| words::wave(wave).tone == Tone::Bad && !refused(wave);
    let items: Vec<Item> = waves(views).filter(|(_, wave)| stands(wave)).map(|(view, wave)| item(view, wave)).collect();
    let tone = if items.is_empty() { Tone::Quiet } else { Tone::Bad };
    tile("Stopped", items.len().to_string(), tone, items)
}

/// The next merge without the missing approvals.
fn next_force(views: &[&View], now: Timestamp) -> Tile {
    let mut running: Vec<_> = waves(views)
        .filter(|(_, wave)| words::before_landing(&wave.state) && misses_approvals(wave))
        .filter_map(|(view, wave)| wave.grace.as_ref().map(|grace| (grace.deadline, view, wave)))
        .collect();
    running.sort_by_key(|(deadline, ..)| *deadline);
    let items: Vec<Item> = running
        .iter()
        .map(|(deadline, view, wave)| {
            let zone = view.links.zone(&wave.plugin, &wave.tier);
            Item { time: Some(time(*deadline, &zone, now)), ..item(view, wave) }
        })
        .collect();
    match running.first() {
        Some((deadline, ..)) if *deadline <= now => tile("Next force", "due now".to_string(), Tone::Attention, items),
        Some((deadline, view, wave)) => {
            let zone = view.links.zone(&wave.plugin, &wave.tier);
            tile("Next force", words::brief(*deadline, &zone), Tone::Attention, items)
        }
        None => tile("Next force", "none".to_string(), Tone::Quiet, items),
    }
}

/// Whether approvals are missing, or were and are not waited for any more.
fn misses_approvals(wave: &WaveReport) -> bool {
    wave.findings.iter().any(|finding| finding.gate == Gate::Approvals && finding.verdict != Verdict::Pass)
}

/// Freezes that are in force.
fn freezes(views: &[&View], now: Timestamp) -> Tile {
    let mut items = Vec::new();
    for view in views {
        for freeze in view.freezes.iter().filter(|freeze| freeze.until.is_none_or(|until| now < until)) {
            let until = freeze.until.map(|until| time(until, &view.links.shared_zone(), now));
            items.push(Item { text: words::freeze(freeze), href: None, before: "ends", time: until });
        }
    }
    let (value, tone) = if items.is_empty() { ("none", Tone::Quiet) } else { ("in force", Tone::Bad) };
    tile("Freeze", value.to_string(), tone, items)
}

/// How soon somebody should look at a wave; the smaller, the sooner.
pub(crate) fn urgency(wave: &WaveReport) -> u8 {
    let open = words::before_landing(&wave.state);
    match words::wave(wave).tone {
        Tone::Bad => 0,
        Tone::Attention if open => match words::first(wave).map(|finding| finding.gate) {
            Some(Gate::Approvals | Gate::Breaking | Gate::Head) => 1,
            Some(_) => 2,
            None => 3,
        },
        Tone::Attention => 1,
        Tone::Moving => 3,
        Tone::Quiet if open => 3,
        Tone::Good | Tone::Quiet => 4,
    }
}

fn ladder(view: &View, now: Timestamp) -> Ladder {
    let tiers = tiers(view);
    let mut by_plugin: BTreeMap<&PluginName, Vec<&WaveReport>> = BTreeMap::new();
    for wave in &view.plan.waves {
        by_plugin.entry(&wave.plugin).or_default().push(wave);
    }
    let mut rows: Vec<(u8, Option<Timestamp>, Row)> = Vec::new();
    for plugin in board::plugins(&view.plan) {
        let waves = by_plugin.remove(plugin).unwrap_or_default();
        let urgency = waves.iter().map(|wave| urgency(wave)).min().unwrap_or(u8::MAX);
        let deadline = waves.iter().filter_map(|wave| wave.grace.as_ref()).map(|grace| grace.deadline).min();
        let cells = tiers.iter().map(|tier| match waves.iter().find(|wave| wave.tier == **tier) {
            Some(wave) => cell(view, wave, now),
            None => nothing(tier),
        });
        rows.push((urgency, deadline, Row { plugin: plugin.to_string(), cells: cells.collect() }));
    }
    // stable: the order of the file where nothing else speaks
    rows.sort_by_key(|(urgency, deadline, _)| (*urgency, deadline.is_none(), *deadline));
    let trouble = view.trouble.as_deref().map(inert::headed);
    Ladder {
        name: view.name.clone(),
        url: view.links.repo.clone(),
        details: trouble.as_ref().and_then(|(_, rest)| rest.clone()),
        trouble: trouble.map(|(first, _)| first),
        looked: time(view.looked, &view.links.shared_zone(), now),
        next: board::next_look(view, now),
        tiers: tiers.iter().map(ToString::to_string).collect(),
        rows: rows.into_iter().map(|(_, _, row)| row).collect(),
    }
}

/// The tiers of all ladders in the order of promotion: by their place in the ladder, then as they first appear.
pub(crate) fn tiers(view: &View) -> Vec<&TierName> {
    let mut tiers: Vec<(&TierName, u32)> = Vec::new();
    for wave in &view.plan.waves {
        match tiers.iter_mut().find(|(tier, _)| *tier == &wave.tier) {
            Some((_, tier_index)) => *tier_index = (*tier_index).max(wave.tier_index),
            None => tiers.push((&wave.tier, wave.tier_index)),
        }
    }
    tiers.sort_by_key(|(_, tier_index)| *tier_index);
    tiers.into_iter().map(|(tier, _)| tier).collect()
}

/// The cell of a tier that a plugin's ladder does not have.
fn nothing(tier: &TierName) -> Cell {
    Cell {
        tier: tier.to_string(),
        there: false,
        href: String::new(),
        version: String::new(),
        tone: Tone::Quiet.class(),
        mark: "",
        word: "",
        says: String::new(),
        until: None,
        bar: None,
        ago: None,
    }
}

fn cell(view: &View, wave: &WaveReport, now: Timestamp) -> Cell {
    let zone = view.links.zone(&wave.plugin, &wave.tier);
    let look = words::wave(wave);
    let (version, says, until) = match &wave.state {
        WaveState::Idle { running } => (running.as_ref(), String::new(), None),
        WaveState::Waiting | WaveState::Open { .. } => {
            let first = words::first(wave);
            let says = first.map_or_else(|| words::next(wave).to_string(), |finding| finding.because.to_string());
            (wave.version.as_ref(), says, first.and_then(words::until))
        }
        WaveState::Converging { .. } => {
            let (healthy, of) = words::healthy(wave);
            (wave.version.as_ref(), format!("{healthy} of {of} healthy on it"), None)
        }
        WaveState::Soaking { .. } => {
            let (healthy, of) = words::healthy(wave);
            (wave.version.as_ref(), format!("{healthy} of {of} healthy"), None)
        }
        WaveState::Finished { .. } => (wave.version.as_ref(), String::new(), None),
        WaveState::Failed { why, .. } => (wave.version.as_ref(), why.to_string(), None),
        WaveState::Rejected { by, pull, .. } => {
            (wave.version.as_ref(), Reason::Rejected { by: by.clone(), pull: *pull }.to_string(), None)
        }
        WaveState::Withdrawn { why, .. } => (wave.version.as_ref(), why.to_string(), None),
        WaveState::Superseded { by, .. } => {
            (wave.version.as_ref(), Reason::Superseded { by: by.clone() }.to_string(), None)
        }
    };
    Cell {
        tier: wave.tier.to_string(),
        there: true,
        href: wave_href(view, &wave.plugin, &wave.tier),
        version: match (&wave.from, version) {
            // What is proposed does not run yet.
            (Some(from), Some(to)) if !runs(wave) => format!("{from} → {to}"),
            (_, version) => version.map_or_else(|| "none".to_string(), ToString::to_string),
        },
        tone: look.tone.class(),
        mark: look.mark,
        word: look.word,
        says: inert::cut(&inert::line(&says), 160),
        until: until.map(|at| time(at, &zone, now)),
        bar: bar(wave, &zone, now),
        ago: words::since(&wave.state)
            .filter(|_| matches!(wave.state, WaveState::Finished { .. }) || words::end(&wave.state).is_some())
            .map(|at| time(at, &zone, now)),
    }
}

/// Whether a cell names what is on the base branch.
fn runs(wave: &WaveReport) -> bool {
    words::landed(wave) || matches!(wave.state, WaveState::Idle { .. })
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
