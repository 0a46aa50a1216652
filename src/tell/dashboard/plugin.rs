//! The page of one plugin: what stands on each tier and why, its releases, what happened so far.

use decide::plan::{WaveReport, WaveState};
use decide::{PluginName, TierName, Version};
use jiff::Timestamp;
use serde::Serialize;

use super::super::words::{self, Look};
use super::super::{TellError, View, inert, render};
use super::clusters::{self, Group, Troubled};
use super::filter::Filter;
use super::ladder::{Row, rows, tiers};
use super::moments::{self, Moment, stood};
use super::paths::Paths;
use super::pieces::{Frame, Gate, Link, Time, gates, time};

/// The most releases that are listed, and things that happened; of each the newest.
const RELEASES: usize = 30;
const MOMENTS: usize = 200;
/// The most clusters of one tier that are named, and of which it is said what is wrong; the page of the wave has all.
const NAMES: usize = 200;
const TROUBLED: usize = 50;

#[derive(Serialize)]
struct Page {
    frame: Frame,
    name: String,
    tiers: Vec<Link>,
    rows: Vec<Row>,
    standings: Vec<Standing>,
    releases: Vec<Release>,
    older: usize,
    moments: Vec<Moment>,
    earlier: usize,
}

/// What stands on one tier, and why.
#[derive(Serialize)]
struct Standing {
    tier: String,
    href: String,
    tone: &'static str,
    mark: &'static str,
    word: &'static str,
    /// How many gates hold it back, in words.
    held: String,
    holds: bool,
    gates: Vec<Gate>,
    groups: Vec<Group>,
    troubled: Vec<Troubled>,
    more: usize,
}

/// One release, and where it stands on each tier.
#[derive(Serialize)]
struct Release {
    version: Link,
    seen: Option<Time>,
    marks: Vec<Mark>,
}

/// Where a release stands on one tier.
#[derive(Serialize)]
pub(crate) struct Mark {
    tier: String,
    tone: &'static str,
    mark: &'static str,
    word: &'static str,
}

/// The page of a plugin.
///
/// # Errors
/// When the plan has no such plugin; else only when a built-in template is broken.
pub fn plugin_page(view: &View, plugin: &PluginName, now: Timestamp) -> Result<String, TellError> {
    let waves: Vec<&WaveReport> = view.plan.waves.iter().filter(|wave| wave.plugin == *plugin).collect();
    if waves.is_empty() {
        return Err(TellError::not_in_plan(&view.plan, plugin, None));
    }
    let paths = Paths::below(3);
    let mut own = tiers(view);
    own.retain(|tier| waves.iter().any(|wave| wave.tier == **tier));
    let filter = Filter { plugin: plugin.to_string(), ..Filter::default() };
    let zone = view.links.shared_zone();
    let page = view.pages.get(plugin);
    let mut happened = page.map_or_else(Vec::new, moments::of_plugin);
    let earlier = happened.len().saturating_sub(MOMENTS);
    let happened = happened.drain(earlier..).rev().map(|happened| {
        let release = Link { text: happened.version.to_string(), href: paths.release(view, plugin, happened.version) };
        let tier = happened.tier.map(|tier| Link { text: tier.to_string(), href: paths.wave(view, plugin, tier) });
        happened.shown(Some(release), tier, &zone, now)
    });
    let mut known = versions(view, plugin);
    let older = known.len().saturating_sub(RELEASES);
    known.truncate(RELEASES);
    let release = |version: &Version| Release {
        version: Link { text: version.to_string(), href: paths.release(view, plugin, version) },
        seen: page.and_then(|page| page.seen(version)).map(|seen| time(seen.first_seen, &zone, now)),
        marks: own.iter().map(|tier| mark(tier, standing(view, plugin, tier, version).map(|(look, _)| look))).collect(),
    };
    let facts = Page {
        frame: Frame::of(view, &paths, plugin.as_str(), Vec::new(), now),
        name: plugin.to_string(),
        tiers: own.iter().map(|tier| Link { text: tier.to_string(), href: paths.tier(view, tier) }).collect(),
        rows: rows(view, &own, &filter, &paths, now),
        standings: waves.iter().filter_map(|wave| standing_of(view, wave, &paths, now)).collect(),
        releases: known.iter().map(release).collect(),
        older,
        moments: happened.collect(),
        earlier,
    };
    render::html("plugin", &facts)
}

/// What stands on a tier; nothing where nothing was asked about it.
fn standing_of(view: &View, wave: &WaveReport, paths: &Paths, now: Timestamp) -> Option<Standing> {
    if !wave.members.asked() && (wave.findings.is_empty() || !is_on_its_way(wave)) {
        return None;
    }
    let zone = view.links.zone(&wave.plugin, &wave.tier);
    let look = words::wave(wave);
    let holding = words::holding(wave).count();
    let (troubled, more) =
        clusters::worst(clusters::ill(wave), TROUBLED, |one| clusters::troubled(one, None, &zone, now));
    Some(Standing {
        tier: inert::line(&words::name(wave)),
        href: paths.wave(view, &wave.plugin, &wave.tier),
        tone: look.tone.class(),
        mark: look.mark,
        word: look.word,
        held: match holding {
            0 => format!("{}, none of which holds it back", words::count(wave.findings.len(), "gate")),
            1 => format!("1 of {} holds it back", words::count(wave.findings.len(), "gate")),
            many => format!("{many} of {} hold it back", words::count(wave.findings.len(), "gate")),
        },
        holds: holding > 0,
        gates: if is_on_its_way(wave) { gates(wave, &zone, now) } else { Vec::new() },
        groups: clusters::of_wave(wave, NAMES, &zone),
        troubled,
        more,
    })
}

/// Whether its gates say something about it, and not only about what comes after it.
fn is_on_its_way(wave: &WaveReport) -> bool {
    match wave.state {
        WaveState::Waiting
        | WaveState::Open { .. }
        | WaveState::Converging { .. }
        | WaveState::Soaking { .. }
        | WaveState::Failed { .. } => true,
        WaveState::Idle { .. }
        | WaveState::Finished { .. }
        | WaveState::Rejected { .. }
        | WaveState::Superseded { .. }
        | WaveState::Withdrawn { .. } => false,
    }
}

/// Every release that is known of a plugin, the newest first.
pub(crate) fn versions(view: &View, plugin: &PluginName) -> Vec<Version> {
    let page = view.pages.get(plugin);
    let seen = page.into_iter().flat_map(|page| page.releases.iter().map(|seen| &seen.version));
    let moved = page.into_iter().flat_map(|page| page.tiers.values().flatten().map(|wave| &wave.version));
    let planned = view.plan.climbs.iter().filter(|climb| climb.plugin == *plugin).map(|climb| &climb.version);
    let mut all: Vec<Version> = seen.chain(moved).chain(planned).cloned().collect();
    all.sort_by(|a, b| b.cmp(a));
    all.dedup();
    all
}

/// Where a release stands on a tier and since when: as it was planned last, else as the ledger has it.
pub(crate) fn standing(
    view: &View,
    plugin: &PluginName,
    tier: &TierName,
    version: &Version,
) -> Option<(Look, Option<Timestamp>)> {
    let present = view.plan.waves.iter().find(|wave| wave.plugin == *plugin && wave.tier == *tier);
    if let Some(wave) = present.filter(|wave| words::version(wave) == Some(version)) {
        return Some((words::wave(wave), words::since(&wave.state)));
    }
    let state = stood(view.wave(plugin, tier, version)?);
    Some((words::state(&state), words::since(&state)))
}

pub(crate) fn mark(tier: &TierName, look: Option<Look>) -> Mark {
    let tier = tier.to_string();
    match look {
        Some(look) => Mark { tier, tone: look.tone.class(), mark: look.mark, word: look.word },
        None => Mark { tier, tone: words::Tone::Quiet.class(), mark: "", word: "–" },
    }
}
