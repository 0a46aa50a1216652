//! Tiers by what stands beside what: folders and files that differ in a word for a tier, or that hold the same objects
//! as such a folder does. What selectors and inventories say is in `ladder`.

use std::collections::{BTreeMap, BTreeSet};

use super::flux::Applied;
use super::sight::Sight;
use super::survey::Survey;
use super::words::{rank, tiers_in, with_tier_in};
use crate::edit::find::Reach;

/// So many folders with the same files may be tiers that nobody calls so; more are clusters.
const MOST_UNNAMED: usize = 5;
/// Folders of these names are read by their neighbours.
const SHARED: [&str; 12] = [
    "base",
    "bases",
    "common",
    "shared",
    "global",
    "all",
    "default",
    "defaults",
    "component",
    "components",
    "lib",
    "templates",
];

/// Where folders stand beside each other, and which.
type Around<'a> = (Vec<&'a str>, Vec<&'a str>);

/// Words for tiers in the names of files; where none is a tier's, within them, and in what the documents are called.
/// A word is a tier's only where another one stands in its place somewhere.
pub(super) fn named(survey: &Survey, applied: &Applied) -> BTreeSet<String> {
    let stems: Vec<Vec<&str>> = files(survey).iter().map(|file| stem(file)).collect();
    let mut heads: BTreeMap<&[&str], BTreeSet<&str>> = BTreeMap::new();
    let mut within: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for parts in &stems {
        let exact = parts.iter().enumerate().filter(|(_, part)| rank(part).is_some());
        let mut any = false;
        for (index, part) in exact {
            any = true;
            heads.entry(&parts[..index]).or_default().insert(part);
        }
        if !any {
            differing(&parts.join("/"), &mut within);
        }
    }
    for sight in &survey.sights {
        let object = sight.found.object.iter().map(|object| object.name.as_str());
        object.chain(quoted(&sight.found.scalar.path)).for_each(|text| differing(text, &mut within));
    }
    let several = heads.values().filter(|words| words.len() > 1).flatten().map(|word| (*word).to_string());
    let mut words: BTreeSet<String> = several.collect();
    words.extend(within.into_values().filter(|words| words.len() > 1).flatten());
    let mut listed = BTreeSet::new();
    for sight in &survey.sights {
        if let Reach::Named(names) = &sight.found.reach {
            listed.extend(names.iter().filter(|name| rank(name).is_some()).cloned());
        }
    }
    if listed.len() > 1 {
        words.extend(listed);
    }
    words.extend(twins(survey, applied, &words));
    words
}

/// Files that hold versions, or that say where the files with them are applied.
pub(super) fn files(survey: &Survey) -> Vec<&String> {
    let readers = survey.flux.readers.iter().map(|reader| &reader.file);
    survey.sights.iter().map(|sight| &sight.file).chain(readers).collect()
}

/// What stands in quotes in a path.
fn quoted(path: &str) -> impl Iterator<Item = &str> {
    path.split('\'').skip(1).step_by(2)
}

/// The parts of a file's name, without its ending.
fn stem(file: &str) -> Vec<&str> {
    let dot = file.rfind('.').filter(|dot| !file[*dot..].contains('/'));
    dot.map_or(file, |dot| &file[..dot]).split('/').collect()
}

/// Notes each word for a tier in a text under the text without it.
fn differing(text: &str, shapes: &mut BTreeMap<String, BTreeSet<String>>) {
    for word in text.split('/').flat_map(tiers_in) {
        shapes.entry(with_tier_in(text, word)).or_default().insert(word.to_string());
    }
}

/// Folders that hold what a tier's folder holds are tiers, whatever they are called: `main` beside `staging`. Where no
/// tier is known, a few folders that hold the same, and hold most of all, are.
fn twins(survey: &Survey, applied: &Applied, words: &BTreeSet<String>) -> BTreeSet<String> {
    let is_word = |part: &&str| words.contains(*part) || rank(part).is_some();
    let mut found = BTreeSet::new();
    let mut unnamed: BTreeMap<Around<'_>, BTreeSet<&str>> = BTreeMap::new();
    for here in places(survey, applied, with_tier_in).into_values() {
        let here = apart(here, applied);
        if here.len() > 1 && here.iter().any(is_word) {
            found.extend(here.into_iter().map(str::to_string));
        }
    }
    if !found.is_empty() || !words.is_empty() {
        return found;
    }
    // A name made of the folder's may be another application there.
    for ((head, tail, _), here) in places(survey, applied, |name, _| name.to_string()) {
        let here = apart(here, applied);
        if (2..=MOST_UNNAMED).contains(&here.len()) {
            unnamed.entry((head, here)).or_default().insert(tail.last().copied().unwrap_or_default());
        }
    }
    let most = |(head, parts): &Around<'_>| {
        let below = |sight: &&Sight| {
            let own: Vec<&str> = sight.file.split('/').collect();
            own.starts_with(head) && own.get(head.len()).is_some_and(|part| parts.contains(part))
        };
        survey.sights.iter().filter(below).count() * 2 > survey.sights.len()
    };
    let best = unnamed.into_iter().filter(|(place, _)| most(place)).max_by_key(|(_, tails)| tails.len());
    best.into_iter().flat_map(|((_, parts), _)| parts).map(str::to_string).collect()
}

/// What stands before a folder, what behind it, and what its file holds; with the folders that agree in all of that.
type Places<'a> = BTreeMap<(Vec<&'a str>, Vec<&'a str>, String), BTreeMap<&'a str, &'a Sight>>;

fn places<'a>(survey: &'a Survey, applied: &Applied, named: impl Fn(&str, &str) -> String) -> Places<'a> {
    let mut places = Places::new();
    for sight in &survey.sights {
        let Some((chart, name, namespaces)) = what(sight, applied) else { continue };
        let parts: Vec<&str> = sight.file.split('/').collect();
        for (index, part) in parts.iter().enumerate().take(parts.len() - 1) {
            let spaces: Vec<String> = namespaces.iter().map(|one| named(one, part)).collect();
            let thing = format!("{chart} {} {}", named(&name, part), spaces.join(" "));
            let around = (parts[..index].to_vec(), parts[index + 1..].to_vec(), thing);
            places.entry(around).or_default().insert(part, sight);
        }
    }
    places
}

/// The folders that are not read by their neighbours.
fn apart<'a>(here: BTreeMap<&'a str, &'a Sight>, applied: &Applied) -> Vec<&'a str> {
    let read = |part: &str, sight: &Sight| {
        let mut others = here.iter().filter(|(other, _)| **other != part);
        SHARED.contains(&part) || others.any(|(_, other)| applied.together(&sight.file, &other.file))
    };
    here.iter().filter(|(part, sight)| !read(part, sight)).map(|(part, _)| *part).collect()
}

/// The chart of a place, what it is installed as and where: two folders with the same are not on one cluster.
fn what<'a>(sight: &'a Sight, applied: &Applied) -> Option<(&'a str, String, BTreeSet<String>)> {
    let chart = sight.found.names.first()?;
    let object = sight.found.object.as_ref();
    let name = object.map(|object| object.name.as_str()).or(sight.thing.as_deref())?;
    let file = sight.of.as_ref().unwrap_or(&sight.file);
    let of_flux = object.filter(|object| matches!(object.kind.as_str(), "HelmRelease" | "OCIRepository"));
    let namespaces = of_flux.map(|object| applied.namespaces(file, object));
    Some((chart, name.to_string(), namespaces.unwrap_or_default()))
}
