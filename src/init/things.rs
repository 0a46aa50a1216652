//! What is installed from one chart: the same thing on several tiers and clusters is one plugin, several things of one
//! cluster are several plugins.

use std::collections::{BTreeMap, BTreeSet};

use super::flux::Applied;
use super::ladder::Ladder;
use super::sight::Sight;
use super::survey::Survey;
use crate::edit::find::By;

/// The places of one chart, by the plugins that they make. Where it is only one thing, the plugin is called as the
/// chart is; else each as its thing is.
pub(super) fn parted<'a>(
    chart: &str,
    sights: &[&'a Sight],
    ladder: &Ladder,
    applied: &Applied,
    survey: &Survey,
    taken: &mut BTreeSet<String>,
) -> Vec<(String, Vec<&'a Sight>)> {
    let mut by_thing: BTreeMap<(Option<String>, Option<String>), Vec<&'a Sight>> = BTreeMap::new();
    let mut spaces: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let known: Vec<_> = sights
        .iter()
        .map(|sight| (*sight, thing(sight, ladder, applied, survey), space(sight, ladder, applied)))
        .collect();
    for (_, thing, space) in &known {
        if let (Some(thing), Some(space)) = (thing, space) {
            spaces.entry(thing.clone()).or_default().insert(space.clone());
        }
    }
    for (sight, thing, space) in known {
        let several = thing.as_ref().and_then(|thing| spaces.get(thing)).is_some_and(|all| all.len() > 1);
        by_thing.entry((thing, space.filter(|_| several))).or_default().push(sight);
    }
    let called = |sights: &[&Sight]| {
        if sights.iter().all(|sight| sight.found.by == By::Chart) { spelled(chart) } else { chart.to_string() }
    };
    if by_thing.len() == 1 {
        return by_thing.into_values().map(|sights| (called(&sights), sights)).collect();
    }
    let mut parts = Vec::new();
    for ((thing, space), sights) in by_thing {
        let thing = thing.map(|thing| bare(&thing)).filter(|thing| !thing.is_empty());
        let space = space.map(|space| bare(&space)).filter(|space| !space.is_empty());
        let words: Vec<String> = [thing, space].into_iter().flatten().collect();
        let own = if words.is_empty() { called(&sights) } else { spelled(&words.join("-")) };
        let name = if own != chart && taken.contains(&own) { format!("{}-{own}", spelled(chart)) } else { own };
        taken.insert(name.clone());
        parts.push((name, sights));
    }
    parts
}

/// What a place belongs to, with placeholders for tier and cluster.
fn thing(sight: &Sight, ladder: &Ladder, applied: &Applied, survey: &Survey) -> Option<String> {
    let file = sight.of.as_ref().unwrap_or(&sight.file);
    let object = sight.found.object.as_ref().filter(|_| sight.found.kind != "chart of a Kustomization");
    let name = object.map(|object| survey.flux.filled(&object.name, file, applied)).or_else(|| sight.thing.clone())?;
    Some(ladder.general(&name, &sight.file))
}

/// The namespace of an object of Flux, where the files say it.
fn space(sight: &Sight, ladder: &Ladder, applied: &Applied) -> Option<String> {
    let object =
        sight.found.object.as_ref().filter(|object| matches!(object.kind.as_str(), "HelmRelease" | "OCIRepository"))?;
    let file = sight.of.as_ref().unwrap_or(&sight.file);
    let all: BTreeSet<String> =
        applied.namespaces(file, object).iter().map(|one| ladder.general(one, &sight.file)).collect();
    all.first().filter(|_| all.len() == 1).cloned()
}

/// A name without its placeholders.
fn bare(text: &str) -> String {
    let text = text.replace("{tier}", "").replace("{cluster}", "");
    let parts: Vec<&str> = text.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

/// As the name of a plugin is spelled, where only the signs between its words are others.
fn spelled(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let spelled: String =
        name.to_ascii_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    if plain { spelled.trim_matches('-').to_string() } else { name.to_string() }
}
