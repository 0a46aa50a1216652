//! Places sorted into plugins: what can be promoted from tier to tier, how it is written, and what cannot and why.

use std::collections::{BTreeMap, BTreeSet};

use super::flux::Applied;
use super::ladder::Ladder;
use super::proposal::{Proposed, Stands};
use super::sight::Sight;
use super::survey::Survey;
use super::things;
use super::words::with_tier;
use crate::edit::find::{Origin, Reach};
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

/// So many files are told of one `write` that cannot be.
const MOST_SHOWN: usize = 3;

/// What was made of everything that holds a version.
pub(super) struct Sorted {
    pub plugins: Vec<Plugin>,
    pub left_out: Vec<(String, String)>,
    /// Charts that several things are installed from, with the plugins that these became.
    pub split: Vec<(String, Vec<String>)>,
}

/// Sights of one plugin that one `write` reaches.
#[derive(Default)]
struct Group<'a> {
    sights: Vec<(&'a Sight, Option<String>)>,
    problem: Option<String>,
}

pub(super) fn sorted(survey: &Survey, ladder: &Ladder, applied: &Applied) -> Sorted {
    let mut by_name: BTreeMap<&str, Vec<&Sight>> = BTreeMap::new();
    for sight in survey.sights.iter().filter(|sight| !is_no_chart(sight)) {
        by_name.entry(sight.found.names.first().map_or("", String::as_str)).or_default().push(sight);
    }
    let mut sorted = Sorted { plugins: Vec::new(), left_out: unread(survey), split: Vec::new() };
    if is_of_charts(survey) {
        return sorted;
    }
    let mut taken: BTreeSet<String> = by_name.keys().map(|name| (*name).to_string()).collect();
    for (chart, all) in by_name {
        let parts = things::parted(chart, &all, ladder, applied, survey, &mut taken);
        let several = parts.len() > 1;
        let mut names = Vec::new();
        for (name, sights) in parts {
            match plugin(&Part { name: &name, chart, sights: &sights, all: &all }, survey, ladder, &mut sorted.left_out)
            {
                Ok(Some(plugin)) => {
                    sorted.plugins.push(plugin);
                    names.push(name);
                }
                Ok(None) => {}
                Err(why) => sorted.left_out.push((format!("{name} in {}", first_file(&sights)), why)),
            }
        }
        if several && names.len() > 1 {
            sorted.split.push((chart.to_string(), names));
        }
    }
    sorted
}

/// What holds versions and was not looked at.
fn unread(survey: &Survey) -> Vec<(String, String)> {
    let archived = survey.archived.iter().filter(|(_, count)| **count > 0);
    let archived = archived.map(|(folder, count)| {
        let what = if *count == 1 { "a version".to_string() } else { format!("{count} versions") };
        (folder.clone(), format!("an archive, going by its name, so that what it holds ({what}) is passed over"))
    });
    let patched: BTreeSet<&String> =
        survey.sights.iter().filter_map(|sight| Some(&sight.found.object.as_ref()?.name)).collect();
    let bare = survey.bare.iter().filter(|(name, _)| !patched.contains(name)).map(|(name, file)| {
        let why =
            "it has no `spec.ref.tag`, and no patch in a file of its own brings one; write the version that runs now";
        (format!("{name} in {file}"), why.to_string())
    });
    // A patch of another file may bring it.
    let release = |name: &str| survey.releases.iter().any(|release| release.object.name == name);
    let floating = survey.floating.iter().filter(|(name, _)| !(release(name) && patched.contains(name)));
    let floating = floating.map(|(name, file)| {
        let why = "it says no version, so that the newest release comes by itself; write the version that runs now";
        (format!("{name} in {file}"), why.to_string())
    });
    archived.chain(bare).chain(floating).collect()
}

/// Whether these files are charts, each with templates of its own, and none says where one runs.
pub(super) fn is_of_charts(survey: &Survey) -> bool {
    let own = |sight: &Sight| {
        let folder = sight.file.strip_suffix("Chart.yaml");
        sight.found.kind == "dependency of a chart" && folder.is_some_and(|folder| survey.templates.contains(folder))
    };
    let charts = survey.charts.iter().filter(|folder| survey.templates.contains(*folder)).count();
    survey.engines.is_empty() && survey.inventory.is_none() && charts > 0 && survey.sights.iter().all(own)
}

fn first_file(sights: &[&Sight]) -> String {
    sights.first().map_or_else(String::new, |sight| sight.file.clone())
}

/// Images and remote bases have versions, and no chart repository that would say which there are.
fn is_no_chart(sight: &Sight) -> bool {
    matches!(sight.found.kind, "image of a Kustomization" | "remote base")
}

/// One plugin to be: its places among those of the same chart.
struct Part<'a> {
    name: &'a str,
    chart: &'a str,
    sights: &'a [&'a Sight],
    all: &'a [&'a Sight],
}

/// None where no place of it can be promoted; the reason for each was noted.
fn plugin(
    part: &Part<'_>,
    survey: &Survey,
    ladder: &Ladder,
    left_out: &mut Vec<(String, String)>,
) -> Result<Option<Plugin>, String> {
    let Part { name, chart, sights, all } = *part;
    let is_defined = |sight: &&&Sight| OF_DEFINITIONS.iter().any(|kind| sight.found.kind.starts_with(kind));
    let catalog = |sight: &&Sight| sight.found.origin.as_ref().is_some_and(|origin| origin.definition.is_some());
    if let Some(sight) = sights.iter().find(is_defined).filter(|_| !sights.iter().any(catalog)) {
        let held = sight.holds.as_deref().unwrap_or("1.0.0");
        return Err(format!(
            "{held} is the version of the plugin's definition, and no file says which catalog that is in; name it in `chart: {{catalog: …, path: …}}`"
        ));
    }
    if sights.iter().any(|sight| sight.found.kind == "chart of a definition") {
        let why =
            "it is what a definition brings, whose own version moves with that of its chart; `write` names one of them";
        return Err(why.to_string());
    }
    if let Some(sight) = sights.iter().find(|sight| sight.found.kind == "dependency of a chart")
        && survey.definitions.iter().any(|folder| sight.file.starts_with(folder.as_str()))
    {
        let why = "the chart that depends on it is published by a plugin definition beside it; nothing runs from here";
        return Err(why.to_string());
    }
    let origin = origin(chart, sights, survey)?;
    let mut groups: BTreeMap<WriteAt, Group<'_>> = BTreeMap::new();
    for sight in sights {
        let (write, tier, problem) = write_of(sight, sights, all, ladder);
        let group = groups.entry(write).or_default();
        group.sights.push((sight, tier));
        group.problem = group.problem.take().or(problem).or_else(|| outweighed(sight, survey));
    }
    let mut writes = BTreeMap::new();
    let mut unfit = BTreeMap::new();
    for (write, group) in groups {
        match group.problem.clone().or_else(|| unfit_for(&write.file, &group, ladder)) {
            None => writes.insert(write, group).map(drop),
            Some(why) => unfit.insert(write, (why, group)).map(drop),
        };
    }
    let patched: BTreeSet<String> =
        writes.values().flat_map(|group| &group.sights).filter_map(|(sight, _)| patch_of(sight)).collect();
    for (write, (why, group)) in unfit {
        // What every overlay has of its own, the base need not have.
        let object = |sight: &Sight| sight.found.object.as_ref().map(|object| object.name.clone());
        if group.sights.iter().any(|(sight, _)| object(sight).is_none_or(|name| !patched.contains(&name))) {
            left_out.push((format!("{name} in {}", write.file), why));
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

/// Kinds of places that hold the version of a definition of Greenhouse.
const OF_DEFINITIONS: [&str; 3] = ["source of a Catalog", "version of a definition", "alias of a definition"];

/// The name of the object that a place patches.
fn patch_of(sight: &Sight) -> Option<String> {
    let object = sight.found.object.as_ref().filter(|_| sight.found.kind.starts_with("patch of"));
    object.map(|object| object.name.clone())
}

/// Flux: a range or a digest in the OCIRepository wins over the tag of a patch.
fn outweighed(sight: &Sight, survey: &Survey) -> Option<String> {
    let oci = survey.oci.get(&patch_of(sight).filter(|_| sight.found.kind == "patch of an OCIRepository")?)?;
    let why = "the OCIRepository that it patches has a `digest` or `semver`, which wins over every tag; take that out";
    oci.outweighed.then(|| why.to_string())
}

/// Where the chart comes from; every place that says it says the same.
fn origin(chart: &str, sights: &[&Sight], survey: &Survey) -> Result<Origin, String> {
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
            Some(source) => (chart, source.as_str()),
            None => base
                .filter_map(|one| one.chart.as_ref())
                .map(|(chart, source)| (chart.as_str(), source.as_str()))
                .next()?,
        };
        let (url, chart) = (survey.repositories.get(source)?.clone(), Some(chart.to_string()));
        Some(Origin { url, chart, definition: None })
    });
    let oci = || sights.iter().find_map(|sight| survey.oci.get(&patch_of(sight)?));
    let patched = || oci().map(|oci| Origin { url: oci.url.clone(), chart: None, definition: None });
    let only = said.into_iter().next().or(through).or_else(patched);
    let only = only.ok_or_else(|| "no file says where its chart comes from".to_string())?;
    match only.url.split_once("://") {
        Some(("file", _)) => {
            Err(format!("its chart lies in this repository ({}), which has no releases to wait for", only.url))
        }
        Some((scheme, _)) if !SCHEMES.contains(&scheme) => {
            Err(format!("`{}` is no address that releases are read from", only.url))
        }
        Some(_) => Ok(only),
        None if only.url.starts_with(['.', '/']) => {
            Err(format!("its chart lies in a folder (`{}`), which has no releases to wait for", only.url))
        }
        // An alias of `helm repo add`.
        None if only.url.starts_with('@') => Err(format!("`{}` is no address that releases are read from", only.url)),
        None => Ok(only),
    }
}

/// What a policy knows how to ask.
const SCHEMES: [&str; 4] = ["https", "http", "oci", "oci+http"];

/// The `write` that reaches a place, the tier that it is for, and what is in the way.
fn write_of(
    sight: &Sight,
    own: &[&Sight],
    all: &[&Sight],
    ladder: &Ladder,
) -> (WriteAt, Option<String>, Option<String>) {
    let captured = ladder.capture(&sight.file);
    let alone_in = |sights: &[&Sight]| sights.iter().filter(|other| other.file == sight.file).count() == 1;
    let (alone, alone_of_own) = (alone_in(all), alone_in(own));
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
        None if alone && !sight.found.is_read_elsewhere() => (WriteAt { file, at: None }, None, None),
        None if alone_of_own => (WriteAt { file, at: Some(general(sight, None)) }, None, None),
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
    Scalar { document, path: path(sight, tier), value: sight.found.scalar.value.clone() }
}

/// A path that holds for every tier.
fn path(sight: &Sight, tier: Option<&str>) -> String {
    let named = |(index, part): (usize, &str)| match tier {
        Some(tier) if index % 2 == 1 => with_tier(part, tier),
        Some(_) | None => part.to_string(),
    };
    sight.found.scalar.path.split('\'').enumerate().map(named).collect::<Vec<_>>().join("'")
}

/// Why a `write` to this file cannot be promoted.
fn unfit_for(file: &str, group: &Group<'_>, ladder: &Ladder) -> Option<String> {
    let wrong = |(sight, _): &(&Sight, Option<String>)| {
        let why = sight.holds.as_ref().err()?;
        Some(if sight.file == file { why.clone() } else { format!("{}: {why}", sight.file) })
    };
    let wrong: Vec<String> = group.sights.iter().filter_map(wrong).collect();
    if !wrong.is_empty() {
        let more = wrong.len().saturating_sub(MOST_SHOWN);
        let tail = if more > 0 { format!("; and in {more} more files") } else { String::new() };
        return Some(wrong.into_iter().take(MOST_SHOWN).collect::<Vec<_>>().join("; ") + &tail);
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
