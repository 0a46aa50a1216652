//! The ladder of one repository: a row for each plugin, a cell for each tier, what needs a person first.

use std::collections::BTreeMap;

use decide::plan::{Gate, WaveReport, WaveState};
use decide::{PluginName, Reason, TierName};
use jiff::Timestamp;
use serde::Serialize;

use super::super::words::{self, Tone};
use super::super::{View, board, inert};
use super::filter::Filter;
use super::paths::Paths;
use super::pieces::{Bar, Link, Time, bar, time};

/// One plugin.
#[derive(Serialize)]
pub(crate) struct Row {
    plugin: Link,
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

/// How soon somebody should look at a wave; the smaller, the sooner.
fn urgency(wave: &WaveReport) -> u8 {
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

/// Whether a wave stands still until somebody does something. What a person refused waits for nobody.
pub(crate) fn needs_a_person(wave: &WaveReport) -> bool {
    urgency(wave) <= 1 && !matches!(wave.state, WaveState::Rejected { .. })
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

/// A row for each plugin of which something is asked for, with a cell for each of these tiers.
pub(crate) fn rows(view: &View, tiers: &[&TierName], filter: &Filter, paths: &Paths, now: Timestamp) -> Vec<Row> {
    let mut by_plugin: BTreeMap<&PluginName, Vec<&WaveReport>> = BTreeMap::new();
    for wave in view.plan.waves.iter().filter(|wave| tiers.contains(&&wave.tier)) {
        by_plugin.entry(&wave.plugin).or_default().push(wave);
    }
    let mut rows: Vec<(u8, Option<Timestamp>, Row)> = Vec::new();
    for plugin in board::plugins(&view.plan) {
        let Some(waves) = by_plugin.remove(plugin) else { continue };
        let urgency = waves.iter().map(|wave| urgency(wave)).min().unwrap_or(u8::MAX);
        let deadline = waves.iter().filter_map(|wave| wave.grace.as_ref()).map(|grace| grace.deadline).min();
        let mut asked = false;
        let cells = tiers.iter().map(|tier| match waves.iter().find(|wave| wave.tier == **tier) {
            Some(wave) => {
                let cell = cell(view, wave, paths, now);
                asked |= is_asked(filter, wave, &cell);
                cell
            }
            None => nothing(tier),
        });
        let cells = cells.collect();
        if asked {
            let plugin = Link { text: plugin.to_string(), href: paths.plugin(view, plugin) };
            rows.push((urgency, deadline, Row { plugin, cells }));
        }
    }
    // stable: the order of the file where nothing else speaks
    rows.sort_by_key(|(urgency, deadline, _)| (*urgency, deadline.is_none(), *deadline));
    rows.into_iter().map(|(_, _, row)| row).collect()
}

fn is_asked(filter: &Filter, wave: &WaveReport, cell: &Cell) -> bool {
    filter.takes(wave.plugin.as_str(), wave.tier.as_str(), cell.word)
        && (!filter.needs_a_person() || needs_a_person(wave))
        && filter.finds(&[wave.plugin.as_str(), wave.tier.as_str(), &cell.version, cell.word, &cell.says])
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

fn cell(view: &View, wave: &WaveReport, paths: &Paths, now: Timestamp) -> Cell {
    let zone = view.links.zone(&wave.plugin, &wave.tier);
    let look = words::wave(wave);
    let (says, until) = says(wave);
    Cell {
        tier: wave.tier.to_string(),
        there: true,
        href: paths.wave(view, &wave.plugin, &wave.tier),
        version: match (&wave.from, words::version(wave)) {
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

/// The one thing that a wave waits for or does, and until when that is.
fn says(wave: &WaveReport) -> (String, Option<Timestamp>) {
    let (healthy, of) = words::healthy(wave);
    match &wave.state {
        WaveState::Idle { .. } | WaveState::Finished { .. } => (String::new(), None),
        WaveState::Waiting | WaveState::Open { .. } => {
            let first = words::first(wave);
            let says = first.map_or_else(|| words::next(wave).to_string(), |finding| finding.because.to_string());
            (says, first.and_then(words::until))
        }
        WaveState::Converging { .. } => (format!("{healthy} of {of} healthy on it"), None),
        WaveState::Soaking { .. } => (format!("{healthy} of {of} healthy"), None),
        WaveState::Failed { why, .. } | WaveState::Withdrawn { why, .. } => (why.to_string(), None),
        WaveState::Rejected { by, pull, .. } => (Reason::Rejected { by: by.clone(), pull: *pull }.to_string(), None),
        WaveState::Superseded { by, .. } => (Reason::Superseded { by: by.clone() }.to_string(), None),
    }
}

/// Whether a cell names what is on the base branch.
pub(crate) fn runs(wave: &WaveReport) -> bool {
    words::landed(wave) || matches!(wave.state, WaveState::Idle { .. })
}
