//! Places sorted into plugins: what can be promoted from tier to tier, how it is written, and what cannot and why.

use std::collections::{BTreeMap, BTreeSet};

use super::ladder::{Ladder, glob};
use super::survey::{Sight, Survey};
use super::words::with_tier;
use super::{Proposed, Stands};
use crate::act::edit::find::{Origin, Reach};
use crate::policy::wiring::{DocumentSelector, Scalar};

/// A plugin that can be promoted.
pub(super) struct Plugin {
    pub name: String,
    pub origin: Origin,
    pub writes: Vec<WriteAt>,
    /// What its places show.
    pub shown: Proposed,
    /// Where they are.
    pub sights: Vec<Sight>,
}

/// A `write` of the policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WriteAt {
    pub file: String,
    /// The place, where the file does not say whose its places are.
    pub at: Option<Scalar>,
}

/// What was made of everything that holds a version.
pub(super) struct Sorted {
    pub plugins: Vec<Plugin>,
    pub left_out: Vec<(String, String)>,
}

/// Sights of one plugin that one `write` reaches.
#[derive(Default)]
struct Group<'a> {
    sights: Vec<(&'a Sight, Option<String>)>,
    problem: Option<String>,
}

pub(super) fn sorted(survey: &Survey, ladder: &Ladder) -> Sorted {
    let all: Vec<Sight> = survey.sights.iter().cloned().chain(from_files(survey)).collect();
    let mut by_name: BTreeMap<&str, Vec<&Sight>> = BTreeMap::new();
    for sight in all.iter().filter(|sight| !is_no_chart(sight)) {
        by_name.entry(sight.found.names.first().map_or("", String::as_str)).or_default().push(sight);
    }
    let mut sorted = Sorted { plugins: Vec::new(), left_out: Vec::new() };
    for (name, sights) in by_name {
        match plugin(name, &sights, survey, ladder, &mut sorted.left_out) {
            Ok(plugin) => sorted.plugins.extend(plugin),
            Err(why) => sorted.left_out.push((format!("{name} in {}", first_file(&sights)), why)),
        }
    }
    sorted
}

fn first_file(sights: &[&Sight]) -> String {
    sights.first().map_or_else(String::new, |sight| sight.file.clone())
}

/// Images and remote bases have versions, and no chart repository that would say which there are.
fn is_no_chart(sight: &Sight) -> bool {
    matches!(sight.found.kind, "image of a Kustomization" | "remote base")
}

/// Files that git generators read, as places of their own.
fn from_files(survey: &Survey) -> Vec<Sight> {
    let mut sights = Vec::new();
    for one in &survey.from_files {
        for (file, tree) in survey.values.iter().filter(|(file, _)| glob(&one.files, file)) {
            let keys: Vec<&str> = one.keys.iter().map(String::as_str).collect();
            let Some(version) = super::survey::at(tree, &keys).and_then(serde_json::Value::as_str) else { continue };
            let found = crate::act::edit::find::Found::in_file(
                &one.keys,
                one.chart.clone(),
                one.origin.clone(),
                one.object.clone(),
            );
            let holds = version.parse::<decide::Version>().map(|_| version.to_string()).map_err(|why| why.to_string());
            sights.push(Sight { file: file.clone(), found, holds });
        }
    }
    sights
}

/// None where no place of it can be promoted; the reason for each was noted.
fn plugin(
    name: &str,
    sights: &[&Sight],
    survey: &Survey,
    ladder: &Ladder,
    left_out: &mut Vec<(String, String)>,
) -> Result<Option<Plugin>, String> {
    let origin = origin(name, sights, survey)?;
    let mut groups: BTreeMap<WriteAt, Group<'_>> = BTreeMap::new();
    for sight in sights {
        let (write, tier, problem) = write_of(sight, sights, ladder);
        let group = groups.entry(write).or_default();
        group.sights.push((sight, tier));
        group.problem = group.problem.take().or(problem);
    }
    let mut writes = BTreeMap::new();
    for (write, group) in groups {
        match group.problem.clone().or_else(|| unfit(&group, ladder)) {
            None => {
                writes.insert(write, group);
            }
            Some(why) => left_out.push((format!("{name} in {}", write.file), why)),
        }
    }
    if writes.is_empty() {
        return Ok(None);
    }
    let places = writes.iter().map(|(write, group)| stands(write, group, ladder)).collect();
    let sights = writes.values().flat_map(|group| &group.sights).map(|(sight, _)| (*sight).clone()).collect();
    let shown = Proposed { name: name.to_string(), places };
    Ok(Some(Plugin { name: name.to_string(), origin, writes: writes.into_keys().collect(), shown, sights }))
}

/// Where the chart comes from; every place that says it says the same.
fn origin(name: &str, sights: &[&Sight], survey: &Survey) -> Result<Origin, String> {
    let said: BTreeSet<Origin> = sights.iter().filter_map(|sight| sight.found.origin.clone()).collect();
    let addresses: BTreeSet<String> = said.iter().map(Origin::address).collect();
    if addresses.len() > 1 {
        let all = addresses.into_iter().collect::<Vec<_>>().join(" and ");
        return Err(format!("charts of this name come from {all}: give each a plugin of its own"));
    }
    // A HelmRelease names its repository, and a patch the release.
    let through = sights.iter().find_map(|sight| {
        let named = sight.found.object.as_ref().map(|object| object.name.as_str());
        let base = survey.releases.iter().filter(|one| Some(one.object.name.as_str()) == named);
        let (chart, source) = match &sight.found.source {
            Some(source) => (name, source.as_str()),
            None => base
                .filter_map(|one| one.chart.as_ref())
                .map(|(chart, source)| (chart.as_str(), source.as_str()))
                .next()?,
        };
        Some(Origin { url: survey.repositories.get(source)?.clone(), chart: Some(chart.to_string()) })
    });
    let only = said.into_iter().next().or(through).or_else(|| survey.catalogs.get(name).cloned());
    only.ok_or_else(|| "no file says where its chart comes from".to_string())
}

/// The `write` that reaches a place, the tier that it is for, and what is in the way.
fn write_of(sight: &Sight, all: &[&Sight], ladder: &Ladder) -> (WriteAt, Option<String>, Option<String>) {
    let captured = ladder.capture(&sight.file);
    let alone = all.iter().filter(|other| other.file == sight.file).count() == 1;
    let file = captured.pattern;
    let known = matches!(sight.found.reach, Reach::Unsaid | Reach::Labelled(_)) || sight.found.is_read_elsewhere();
    if captured.tier.is_some() || captured.cluster.is_some() {
        let at = (!alone || sight.found.is_read_elsewhere()).then(|| general(sight, None));
        return (WriteAt { file, at }, captured.tier, None);
    }
    if !known {
        // A selector or a name in the document says whose it is, and the bot reads that itself.
        return (WriteAt { file, at: None }, None, None);
    }
    let names = sight.found.object.iter().map(|object| object.name.as_str());
    let tier =
        names.chain(sight.found.scalar.path.split('\'').skip(1).step_by(2)).find_map(|text| ladder.tier_in(text));
    match tier {
        Some(tier) => (WriteAt { file, at: Some(general(sight, Some(tier))) }, Some(tier.to_string()), None),
        None if alone => (WriteAt { file, at: None }, None, None),
        None => {
            let why = "its version stands there several times, and nothing says for whom".to_string();
            (WriteAt { file, at: None }, None, Some(why))
        }
    }
}

/// The place with `{tier}` for the tier's name.
fn general(sight: &Sight, tier: Option<&str>) -> Scalar {
    let named = |name: &String| tier.map_or_else(|| name.clone(), |tier| with_tier(name, tier));
    let document = sight.found.scalar.document.as_ref();
    let document = document.map(|one| DocumentSelector { kind: one.kind.clone(), name: one.name.as_ref().map(named) });
    Scalar { document, path: path(sight, tier), value: value(sight) }
}

/// A path that holds for every tier: a source of a catalog is named by its tag, not by its number.
fn path(sight: &Sight, tier: Option<&str>) -> String {
    let path = &sight.found.scalar.path;
    let named: Vec<String> = path
        .split('\'')
        .enumerate()
        .map(|(index, part)| match tier {
            Some(tier) if index % 2 == 1 => with_tier(part, tier),
            Some(_) | None => part.to_string(),
        })
        .collect();
    let path = named.join("'");
    match (path.rfind("sources["), value(sight), sight.found.names.first()) {
        (Some(start), Some(_), Some(plugin)) => {
            let rest = path[start..].split_once(']').map_or("", |(_, rest)| rest);
            format!("{}sources[?search(@.ref.tag, '^{plugin}/')]{rest}", &path[..start])
        }
        (_, _, _) => path,
    }
}

fn value(sight: &Sight) -> Option<String> {
    let plugin = sight.found.names.first()?;
    let value = sight.found.scalar.value.as_ref()?;
    Some(value.strip_prefix(&format!("{plugin}/")).map_or(value.clone(), |rest| format!("{{plugin}}/{rest}")))
}

/// Why a `write` cannot be promoted.
fn unfit(group: &Group<'_>, ladder: &Ladder) -> Option<String> {
    let wrong =
        |(sight, _): &(&Sight, Option<String>)| Some(format!("{}: {}", sight.file, sight.holds.as_ref().err()?));
    if let Some(why) = group.sights.iter().find_map(wrong) {
        return Some(why);
    }
    let tiers: BTreeSet<&String> = group.sights.iter().filter_map(|(_, tier)| tier.as_ref()).collect();
    let unsaid = group.sights.iter().all(|(sight, _)| matches!(sight.found.reach, Reach::Unsaid | Reach::Labelled(_)));
    if ladder.tiers.len() > 1
        && tiers.is_empty()
        && unsaid
        && group.sights.iter().all(|(sight, _)| ladder.capture(&sight.file).cluster.is_none())
    {
        return Some("one place for all tiers: every cluster would move at once; give each tier its own".to_string());
    }
    let missing: Vec<&str> =
        ladder.tiers.iter().filter(|tier| !tiers.is_empty() && !tiers.contains(tier)).map(String::as_str).collect();
    (!missing.is_empty()).then(|| format!("it is not on {}; a plugin climbs through all tiers", missing.join(", ")))
}

fn stands(write: &WriteAt, group: &Group<'_>, ladder: &Ladder) -> Stands {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (sight, tier) in &group.sights {
        let Ok(version) = &sight.holds else { continue };
        versions.entry(tier.clone().unwrap_or_default()).or_default().insert(version.clone());
    }
    let order = |tier: &String| ladder.tiers.iter().position(|known| known == tier);
    let mut versions: Vec<(String, Vec<String>)> =
        versions.into_iter().map(|(tier, all)| (tier, all.into_iter().collect())).collect();
    versions.sort_by_key(|(tier, _)| order(tier));
    let kind = group.sights.first().map_or("", |(sight, _)| sight.found.kind);
    Stands { file: write.file.clone(), kind, versions, count: group.sights.len() }
}
