//! Tiers and clusters as the files speak of them: in names of folders and files, in selectors, in an inventory.

use std::collections::{BTreeMap, BTreeSet};

use super::survey::{Engine, Sight, Survey};
use super::words::{Captured, KEYS, capture, rank, tier_in};
use crate::act::edit::find::Reach;

/// Where the clusters are to be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Clusters {
    /// A file that is there.
    Known(String),
    /// A file to be written: each cluster with its tier.
    New(BTreeMap<String, String>),
    /// A hub that an engine runs in.
    Hub(Engine),
}

/// The tiers and the clusters of a repository.
#[derive(Clone, Debug)]
pub(super) struct Ladder {
    /// In the order of promotion.
    pub tiers: Vec<String>,
    /// Tiers whose place in that order is not known by their names.
    pub guessed: Vec<String>,
    /// The label by which clusters are told apart.
    pub label: String,
    pub clusters: Clusters,
    names: BTreeSet<String>,
    words: BTreeSet<String>,
}

impl Ladder {
    /// What a file's name says.
    pub fn capture(&self, file: &str) -> Captured {
        capture(file, &self.words, &self.names)
    }

    /// The tier that a text names.
    pub fn tier_in<'a>(&self, text: &'a str) -> Option<&'a str> {
        tier_in(text, &self.words)
    }
}

pub(super) fn ladder(survey: &Survey) -> Ladder {
    let (label, said) = said(survey);
    let words = if said.is_empty() { named(survey) } else { with_siblings(survey, said) };
    let known = survey.inventory.iter().flat_map(|(_, clusters)| clusters).map(|cluster| cluster.name.to_string());
    let mut names: BTreeSet<String> = known.collect();
    let mut tier_of = BTreeMap::new();
    if names.is_empty() {
        names.extend(bootstrapped(survey, &words));
        names.extend(varying(&survey.sights, &words));
        tier_of = tiers_of(survey, &words, &names);
    }
    let mut tiers: Vec<String> = words.iter().cloned().collect();
    tiers.sort_by_key(|word| (rank(word).unwrap_or(usize::MAX), word.clone()));
    let guessed = tiers.iter().filter(|word| rank(word).is_none()).cloned().collect();
    let clusters = match &survey.inventory {
        Some((file, _)) => Clusters::Known(file.clone()),
        None if !tier_of.is_empty() => Clusters::New(tier_of),
        None if survey.engines.contains(&Engine::Greenhouse) => Clusters::Hub(Engine::Greenhouse),
        None if survey.engines.contains(&Engine::ArgoCd) => Clusters::Hub(Engine::ArgoCd),
        None => Clusters::New(tiers.iter().map(|tier| (tier.clone(), tier.clone())).collect()),
    };
    Ladder { tiers, guessed, label, clusters, names, words }
}

/// The label that selectors or the inventory tell tiers apart by, and its values.
fn said(survey: &Survey) -> (String, BTreeSet<String>) {
    let mut labels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for cluster in survey.inventory.iter().flat_map(|(_, clusters)| clusters) {
        for (key, value) in cluster.labels.iter().filter(|(key, _)| KEYS.contains(&key.as_str())) {
            labels.entry(key.clone()).or_default().insert(value.clone());
        }
    }
    if labels.is_empty() {
        labels.clone_from(&survey.labels);
    }
    let most = labels.into_iter().max_by_key(|(key, values)| (values.len(), std::cmp::Reverse(key.clone())));
    most.filter(|(_, values)| !values.is_empty()).unwrap_or_else(|| (KEYS[0].to_string(), BTreeSet::new()))
}

/// The tiers that selectors speak of, and those that stand beside them: in names of files that differ in nothing else,
/// and in other elements of a list.
fn with_siblings(survey: &Survey, said: BTreeSet<String>) -> BTreeSet<String> {
    let mut around: BTreeMap<(Vec<&str>, Vec<&str>), BTreeSet<&str>> = BTreeMap::new();
    for file in files(survey) {
        let parts: Vec<&str> = file.split('/').collect();
        for (index, part) in parts.iter().enumerate() {
            let (head, tail) = parts.split_at(index);
            around.entry((head.to_vec(), tail.iter().skip(1).copied().collect())).or_default().insert(part);
        }
    }
    let mut lists: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for sight in &survey.sights {
        if let Reach::Named(names) = &sight.found.reach {
            lists.entry(&sight.file).or_default().extend(names.iter().map(String::as_str));
        }
    }
    let with_one = |words: &&BTreeSet<&str>| words.iter().any(|word| said.contains(*word));
    let beside = around.values().chain(lists.values()).filter(with_one).flatten();
    let more: Vec<String> = beside.filter(|word| rank(word).is_some()).map(|word| (*word).to_string()).collect();
    said.into_iter().chain(more).collect()
}

/// Files that hold versions.
fn files(survey: &Survey) -> Vec<&String> {
    let read = |one: &super::survey::FromFiles| -> Vec<_> {
        survey.values.keys().filter(|file| glob(&one.files, file)).collect()
    };
    survey.sights.iter().map(|sight| &sight.file).chain(survey.from_files.iter().flat_map(read)).collect()
}

/// Words for tiers in the names of files; where none is a tier's, within them, and in what the documents are called.
fn named(survey: &Survey) -> BTreeSet<String> {
    let parts = |file: &str| -> Vec<String> {
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        stem.split('/').map(str::to_string).collect()
    };
    let is_word = |part: &String| rank(part).is_some();
    let mut words = BTreeSet::new();
    for file in files(survey) {
        let exact: Vec<String> = parts(file).into_iter().filter(is_word).collect();
        let within = || parts(file).into_iter().flat_map(|part| tokens(&part)).filter(is_word).collect();
        words.extend(if exact.is_empty() { within() } else { exact });
    }
    for sight in &survey.sights {
        if let Reach::Named(names) = &sight.found.reach {
            words.extend(names.iter().filter(|name| is_word(name)).cloned());
        }
        let object = sight.found.object.iter().map(|object| object.name.as_str());
        let texts = object.chain(quoted(&sight.found.scalar.path));
        words.extend(texts.flat_map(tokens).filter(is_word));
    }
    words
}

fn tokens(text: &str) -> Vec<String> {
    text.split(['-', '_', '.']).map(str::to_string).collect()
}

/// What stands in quotes in a path.
fn quoted(path: &str) -> impl Iterator<Item = &str> {
    path.split('\'').skip(1).step_by(2)
}

/// Whether a name is one that a generator's `envs/*/config.yaml` or `envs/**/config.json` means.
pub(super) fn glob(pattern: &str, file: &str) -> bool {
    fn parts(pattern: &[&str], file: &[&str]) -> bool {
        match (pattern, file) {
            ([], []) => true,
            (["**", rest @ ..], _) => (0..=file.len()).any(|skipped| parts(rest, &file[skipped..])),
            ([one, rest @ ..], [part, below @ ..]) => piece(one, part) && parts(rest, below),
            ([..], [..]) => false,
        }
    }
    fn piece(pattern: &str, text: &str) -> bool {
        match pattern.split_once('*') {
            None => pattern == text,
            Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| {
                rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| piece(tail, &rest[at..]))
            }),
        }
    }
    let (pattern, file): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), file.split('/').collect());
    pattern.len() <= 32 && parts(&pattern, &file)
}

/// Flux: each folder below `clusters` that its Kustomizations were put into is a cluster.
fn bootstrapped(survey: &Survey, tiers: &BTreeSet<String>) -> BTreeSet<String> {
    let cluster = |(file, _): &(String, String)| {
        let mut parts = file.split('/').skip_while(|part| !matches!(*part, "clusters" | "cluster")).skip(1).peekable();
        let first = parts.next().filter(|_| parts.peek().is_some())?;
        let second = parts.next().filter(|_| parts.peek().is_some()).filter(|part| *part != "flux-system");
        Some(if tiers.contains(first) { second.unwrap_or(first) } else { first }.to_string())
    };
    survey.kustomizations.iter().filter_map(cluster).collect()
}

/// Folders in which the files of one plugin differ and nothing else does are clusters, where no two tiers have the
/// same ones.
fn varying(sights: &[Sight], tiers: &BTreeSet<String>) -> BTreeSet<String> {
    type Seen<'a> = BTreeMap<&'a str, BTreeSet<Option<&'a str>>>;
    let mut groups: BTreeMap<(&str, usize, String), Seen<'_>> = BTreeMap::new();
    for sight in sights {
        let Some(name) = sight.found.names.first() else { continue };
        let parts: Vec<&str> = sight.file.split('/').collect();
        let tier = parts.iter().copied().find(|part| tiers.contains(*part));
        for index in 0..parts.len().saturating_sub(1) {
            let shape: Vec<&str> = (0..parts.len())
                .map(|at| {
                    if at == index {
                        "*"
                    } else if tiers.contains(parts[at]) {
                        "{tier}"
                    } else {
                        parts[at]
                    }
                })
                .collect();
            groups.entry((name, index, shape.join("/"))).or_default().entry(parts[index]).or_default().insert(tier);
        }
    }
    let mut found = BTreeSet::new();
    for ((_, index, shape), seen) in groups {
        let below = shape.split('/').take(index).any(|part| matches!(part, "clusters" | "cluster"));
        let own = seen.values().all(|tiers| tiers.len() == 1) && shape.contains("{tier}");
        let several_tiers = seen.values().flatten().collect::<BTreeSet<_>>().len() > 1;
        if seen.len() > 1 && !seen.keys().any(|part| tiers.contains(*part)) && (below || own && several_tiers) {
            found.extend(seen.keys().map(|part| (*part).to_string()));
        }
    }
    found
}

/// The tier of each cluster: by files that name both, by what it reads, by its own name.
fn tiers_of(survey: &Survey, tiers: &BTreeSet<String>, names: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut of = BTreeMap::new();
    for name in names {
        if let Some(tier) = tier_in(name, tiers) {
            of.insert(name.clone(), tier.to_string());
        }
    }
    for (file, path) in &survey.kustomizations {
        let read = capture(path.trim_start_matches("./"), tiers, names).tier;
        let cluster = file.split('/').find(|part| names.contains(*part));
        if let (Some(cluster), Some(tier)) = (cluster, read) {
            of.entry(cluster.to_string()).or_insert(tier);
        }
    }
    for file in survey.sights.iter().map(|sight| &sight.file) {
        if let Captured { tier: Some(tier), cluster: Some(cluster), .. } = capture(file, tiers, names) {
            of.insert(cluster, tier);
        }
    }
    of
}
