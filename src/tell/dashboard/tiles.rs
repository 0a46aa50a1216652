//! The strip above the ladders: how much needs a person, and what first.

use decide::plan::{Gate, Verdict, WaveReport, WaveState};
use jiff::Timestamp;
use serde::Serialize;

use super::super::View;
use super::super::words::{self, Tone};
use super::paths::Paths;
use super::pieces::{Time, time};

/// One number on the strip, and what it is about.
#[derive(Serialize)]
pub(crate) struct Tile {
    name: &'static str,
    value: String,
    tone: &'static str,
    items: Vec<Item>,
    more: usize,
    /// Whether the rows that need a person are all of them.
    listed: bool,
}

#[derive(Clone, Serialize)]
struct Item {
    text: String,
    href: Option<String>,
    before: &'static str,
    time: Option<Time>,
}

/// The whole strip.
pub(crate) fn tiles(views: &[&View], paths: &Paths, now: Timestamp) -> Vec<Tile> {
    vec![approvals(views, paths), stopped(views, paths), next_force(views, paths, now), freezes(views, now)]
}

/// Every wave of every repository.
fn waves<'a>(views: &'a [&'a View]) -> impl Iterator<Item = (&'a View, &'a WaveReport)> {
    views.iter().flat_map(|view| view.plan.waves.iter().map(move |wave| (*view, wave)))
}

fn item(view: &View, wave: &WaveReport, paths: &Paths) -> Item {
    let href = Some(paths.wave(view, &wave.plugin, &wave.tier));
    Item { text: words::name(wave), href, before: "", time: None }
}

fn tile(name: &'static str, value: String, tone: Tone, mut items: Vec<Item>) -> Tile {
    let more = items.len().saturating_sub(3);
    items.truncate(3);
    Tile { name, value, tone: tone.class(), items, more, listed: false }
}

/// How many waves there are of a kind, and the first of them.
fn counted(name: &'static str, tone: Tone, items: Vec<Item>) -> Tile {
    let tone = if items.is_empty() { Tone::Quiet } else { tone };
    Tile { listed: true, ..tile(name, items.len().to_string(), tone, items) }
}

/// Waves that a person's approval would move.
fn approvals(views: &[&View], paths: &Paths) -> Tile {
    let asked = |wave: &WaveReport| {
        // Before there is a pull request nobody can approve it.
        matches!(wave.state, WaveState::Open { .. })
            && words::holding(wave).any(|finding| finding.gate == Gate::Approvals || finding.gate == Gate::Breaking)
    };
    let items = waves(views).filter(|(_, wave)| asked(wave)).map(|(view, wave)| item(view, wave, paths));
    counted("Open approvals", Tone::Attention, items.collect())
}

/// Waves that stand still until somebody acts.
fn stopped(views: &[&View], paths: &Paths) -> Tile {
    // What a person refused waits for nobody.
    let refused = |wave: &WaveReport| matches!(wave.state, WaveState::Rejected { .. });
    let stands = |wave: &WaveReport| words::wave(wave).tone == Tone::Bad && !refused(wave);
    let items = waves(views).filter(|(_, wave)| stands(wave)).map(|(view, wave)| item(view, wave, paths));
    counted("Stopped", Tone::Bad, items.collect())
}

/// The next merge without the missing approvals.
fn next_force(views: &[&View], paths: &Paths, now: Timestamp) -> Tile {
    let mut running: Vec<_> = waves(views)
        .filter(|(_, wave)| words::before_landing(&wave.state) && misses_approvals(wave))
        .filter_map(|(view, wave)| wave.grace.as_ref().map(|grace| (grace.deadline, view, wave)))
        .collect();
    running.sort_by_key(|(deadline, ..)| *deadline);
    let items: Vec<Item> = running
        .iter()
        .map(|(deadline, view, wave)| {
            let zone = view.links.zone(&wave.plugin, &wave.tier);
            Item { time: Some(time(*deadline, &zone, now)), ..item(view, wave, paths) }
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
