//! The page of one release of a plugin: where it is on every tier, what is different in it, what its authors say of it.

use compare::Change;
use decide::plan::WaveReport;
use decide::{PluginName, TierName, Version};
use jiff::Timestamp;
use serde::Serialize;

use super::super::words::{self, Tone};
use super::super::{Differences, TellError, View, inert, render};
use super::ladder::tiers;
use super::moments::{self, Moment};
use super::paths::Paths;
use super::pieces::{Frame, Link, Time, time};
use super::plugin::standing;

/// The most differences that are listed.
const CHANGES: usize = 200;
/// The most characters of what its authors say.
const NOTES: usize = 16_000;

#[derive(Serialize)]
struct Page {
    frame: Frame,
    plugin: Link,
    version: String,
    seen: Option<Time>,
    digest: String,
    tiers: Vec<Rung>,
    compared: Option<Compared>,
    notes: Option<String>,
    /// The hub's page of it.
    url: Option<String>,
    moments: Vec<Moment>,
}

/// Where it is on one tier.
#[derive(Serialize)]
struct Rung {
    tier: Link,
    tone: &'static str,
    mark: &'static str,
    word: &'static str,
    since: Option<Time>,
    /// What ran there before it.
    from: String,
    clusters: String,
    pull: Option<String>,
    url: String,
}

/// What is different beside the release before it.
#[derive(Serialize)]
struct Compared {
    from: Link,
    /// Why nobody knows.
    unknown: Option<String>,
    breaking: Vec<String>,
    others: Vec<String>,
    more: usize,
    nothing: bool,
}

/// The page of a release that the ledger, the plan or its source knows.
///
/// # Errors
/// When none of them does; else only when a built-in template is broken.
pub fn release_page(view: &View, plugin: &PluginName, version: &Version, now: Timestamp) -> Result<String, TellError> {
    let paths = Paths::below(5);
    let zone = view.links.shared_zone();
    let mut own = tiers(view);
    own.retain(|tier| view.plan.waves.iter().any(|wave| wave.plugin == *plugin && wave.tier == **tier));
    let page = view.pages.get(plugin);
    let seen = page.and_then(|page| page.seen(version));
    let note = view.notes.get(&(plugin.clone(), version.clone()));
    let rungs: Vec<Rung> = own.iter().map(|tier| rung(view, plugin, tier, version, &paths, now)).collect();
    let is_known = seen.is_some() || note.is_some() || rungs.iter().any(|rung| rung.since.is_some());
    if !is_known && !own.iter().any(|tier| standing(view, plugin, tier, version).is_some()) {
        let there = if own.is_empty() { "no such plugin" } else { "no such release" };
        return Err(TellError::NotInPlan {
            asked: inert::line(&format!("{plugin} {version}")),
            there: there.to_string(),
        });
    }
    let mut happened = page.map_or_else(Vec::new, moments::of_plugin);
    happened.retain(|happened| happened.version == version);
    let happened = happened.into_iter().map(|happened| {
        let tier = happened.tier.map(|tier| Link { text: tier.to_string(), href: paths.wave(view, plugin, tier) });
        happened.shown(None, tier, &zone, now)
    });
    let to_plugin = Link { text: plugin.to_string(), href: paths.plugin(view, plugin) };
    let differences = note.and_then(|note| note.differences.as_ref());
    let facts = Page {
        frame: Frame::of(view, &paths, &format!("{plugin} {version}"), vec![to_plugin.clone()], now),
        plugin: to_plugin,
        version: version.to_string(),
        seen: seen.map(|seen| time(seen.first_seen, &zone, now)),
        digest: seen.and_then(|seen| seen.digest.as_ref()).map_or_else(String::new, ToString::to_string),
        tiers: rungs,
        compared: differences.map(|found| compared(view, plugin, found, &paths)),
        notes: note.and_then(|note| note.text.as_deref()).map(|text| inert::cut(text, NOTES)),
        url: note.and_then(|note| note.page.clone()),
        moments: happened.collect(),
    };
    render::html("release", &facts)
}

fn rung(view: &View, plugin: &PluginName, tier: &TierName, version: &Version, paths: &Paths, now: Timestamp) -> Rung {
    let is_here =
        |wave: &&WaveReport| wave.plugin == *plugin && wave.tier == *tier && wave.version.as_ref() == Some(version);
    let present = view.plan.waves.iter().find(is_here);
    let past = view.wave(plugin, tier, version);
    let look = standing(view, plugin, tier, version);
    let pull = present.and_then(|wave| wave.pull).or_else(|| past?.pull.as_ref().map(|pull| pull.number));
    let from = present.and_then(|wave| wave.from.as_ref()).or_else(|| past?.from.as_ref());
    Rung {
        tier: Link { text: tier.to_string(), href: paths.wave(view, plugin, tier) },
        tone: look.map_or(Tone::Quiet, |(look, _)| look.tone).class(),
        mark: look.map_or("", |(look, _)| look.mark),
        word: look.map_or("not there", |(look, _)| look.word),
        since: look.and_then(|(_, since)| since).map(|at| time(at, &view.links.zone(plugin, tier), now)),
        from: from.map_or_else(String::new, ToString::to_string),
        clusters: match (present, past) {
            (Some(wave), _) if wave.members.asked() => words::clusters(wave),
            (Some(wave), _) => words::count(wave.members.len(), "cluster"),
            (None, Some(wave)) => words::count(wave.members.len(), "cluster"),
            (None, None) => String::new(),
        },
        pull: pull.map(|pull| pull.to_string()),
        url: pull.map_or_else(String::new, |pull| view.links.pull(pull)),
    }
}

fn compared(view: &View, plugin: &PluginName, found: &Differences, paths: &Paths) -> Compared {
    let from = Link { text: found.from.to_string(), href: paths.release(view, plugin, &found.from) };
    let report = match &found.became {
        Ok(report) => report,
        Err(why) => {
            let unknown = Some(inert::line(why));
            return Compared { from, unknown, breaking: Vec::new(), others: Vec::new(), more: 0, nothing: false };
        }
    };
    let shown = report.changes.iter().take(CHANGES);
    let (breaking, others): (Vec<&Change>, Vec<&Change>) = shown.partition(|change| change.what.is_breaking());
    let sentences = |changes: Vec<&Change>| changes.iter().map(|change| inert::line(&change.to_string())).collect();
    Compared {
        from,
        unknown: None,
        breaking: sentences(breaking),
        others: sentences(others),
        more: report.changes.len().saturating_sub(CHANGES) + report.more,
        nothing: report.changes.is_empty(),
    }
}
