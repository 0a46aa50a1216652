//! The page of one tier: what each plugin does there, and how its clusters stand, all plugins together.

use std::collections::{BTreeMap, BTreeSet};

use decide::plan::{MemberState, WaveReport};
use decide::{ClusterName, TierName};
use jiff::Timestamp;
use serde::Serialize;

use super::super::{TellError, View, inert, render, words};
use super::clusters::{self, Group, Standing, Troubled};
use super::filter::{Filter, Form};
use super::ladder::{Row, rows, tiers};
use super::paths::Paths;
use super::pieces::{Frame, Link};

/// The most rows of each table.
const ROWS: usize = 200;

#[derive(Serialize)]
struct Page {
    frame: Frame,
    name: String,
    others: Vec<Link>,
    tiers: Vec<Link>,
    rows: Vec<Row>,
    more_rows: usize,
    form: Form,
    /// How many clusters there are, in words.
    number: String,
    groups: Vec<Group>,
    troubled: Vec<Troubled>,
    more: usize,
    pinned: Vec<Pinned>,
    more_pinned: usize,
}

/// A cluster that stays where it is.
#[derive(Serialize)]
struct Pinned {
    cluster: String,
    plugin: Link,
    version: String,
    until: String,
    why: String,
}

/// The page of a tier. The filter is about its clusters.
///
/// # Errors
/// When the plan has no such tier; else only when a built-in template is broken.
pub fn tier_page(view: &View, tier: &TierName, filter: &Filter, now: Timestamp) -> Result<String, TellError> {
    let all = tiers(view);
    if !all.contains(&tier) {
        let there = all.iter().map(|tier| tier.as_str()).collect::<Vec<_>>().join(", ");
        return Err(TellError::NotInPlan { asked: inert::line(&format!("tier `{tier}`")), there });
    }
    let paths = Paths::below(3);
    let waves: Vec<&WaveReport> = view.plan.waves.iter().filter(|wave| wave.tier == *tier).collect();
    let to_tier = |tier: &&TierName| Link { text: tier.to_string(), href: paths.tier(view, tier) };
    let mut rows = rows(view, &[tier], &Filter::default(), &paths, now);
    let more_rows = rows.len().saturating_sub(ROWS);
    rows.truncate(ROWS);
    let mut standings = standings(&waves);
    let number = words::count(standings.len(), "cluster");
    let states: BTreeSet<_> = standings.iter().map(|one| (one.look.tone, one.look.word)).collect();
    let shown =
        |name: &str, word: &str| (filter.state.is_empty() || filter.state == word) && filter.finds(&[name, word]);
    standings.retain(|one| shown(&one.name, one.look.word));
    let ill = waves.iter().flat_map(|wave| clusters::ill(wave));
    let ill = ill.filter(|(_, cluster, state)| shown(cluster.as_str(), words::member(state).word));
    let (troubled, more) = clusters::worst(ill, ROWS, |one| {
        let plugin = &one.0.plugin;
        let link = Link { text: plugin.to_string(), href: paths.wave(view, plugin, tier) };
        clusters::troubled(one, Some(link), &view.links.zone(plugin, tier), now)
    });
    let (pinned, more_pinned) = pinned(view, &waves, &paths);
    let page = Page {
        frame: Frame::of(view, &paths, tier.as_str(), Vec::new(), now),
        name: tier.to_string(),
        others: all.iter().filter(|other| **other != tier).map(to_tier).collect(),
        tiers: vec![to_tier(&tier)],
        rows,
        more_rows,
        form: Form::of_clusters(filter, states.into_iter().map(|(_, word)| word.to_string()).collect()),
        number,
        groups: clusters::groups(standings, clusters::NAMES),
        troubled,
        more,
        pinned,
        more_pinned,
    };
    render::html("tier", &page)
}

/// Each cluster of some waves, as it stands where it stands worst.
fn standings(waves: &[&WaveReport]) -> Vec<Standing> {
    let mut all: Vec<(&ClusterName, &MemberState)> = Vec::new();
    let mut places: BTreeMap<&ClusterName, usize> = BTreeMap::new();
    for wave in waves {
        // Most waves of a tier list the same clusters in the same order: then nothing has to be looked up.
        for (at, (cluster, state)) in wave.members.glance().enumerate() {
            let same = all.get(at).is_some_and(|(name, _)| *name == cluster);
            let place = if same { Some(at) } else { places.get(cluster).copied() };
            match place.and_then(|place| all.get_mut(place)) {
                Some((_, worst)) if words::member(state).tone < words::member(worst).tone => *worst = state,
                Some(_) => {}
                None => {
                    places.insert(cluster, all.len());
                    all.push((cluster, state));
                }
            }
        }
    }
    all.into_iter().map(|(name, state)| Standing::of(name.to_string(), state, None)).collect()
}

/// Clusters that stay on a version.
fn pinned(view: &View, waves: &[&WaveReport], paths: &Paths) -> (Vec<Pinned>, usize) {
    let all = || waves.iter().flat_map(|wave| wave.pinned.iter().map(move |pin| (wave, pin)));
    let shown = all().take(ROWS).map(|(wave, pin)| Pinned {
        cluster: pin.cluster.to_string(),
        plugin: Link { text: wave.plugin.to_string(), href: paths.wave(view, &wave.plugin, &wave.tier) },
        version: pin.version.as_ref().map_or("what it has", |version| version.as_str()).to_string(),
        until: pin.until.map_or_else(String::new, |at| words::when(at, &view.links.zone(&wave.plugin, &wave.tier))),
        why: inert::line(&pin.why),
    });
    (shown.collect(), all().count().saturating_sub(ROWS))
}
