//! Tiers and clusters as the files speak of them: in names of folders and files, in selectors, in an inventory.

use std::collections::{BTreeMap, BTreeSet};

use super::flux::{Applied, Reader};
use super::siblings::{files, named};
use super::sight::{Engine, Sight};
use super::survey::Survey;
use super::words::{Captured, USUAL_KEY, capture, order, rank, tells_tiers, tier_in, with_tier};
use crate::edit::find::Reach;

/// Where the file with new clusters goes.
pub(super) const CLUSTERS: &str = "clusters.yaml";

/// What the one cluster is called where no file shows any.
pub(super) const ONLY: &str = "default";

/// Where the clusters are to be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Clusters {
    /// A file that is there.
    Known(String),
    /// A file to be written, by the names of its entries.
    New(BTreeMap<String, Listed>),
    /// A hub that an engine runs in.
    Hub(Engine),
}

/// An entry of a new inventory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listed {
    /// Its tier, where there are tiers and its own is known.
    pub tier: Option<String>,
    /// The cluster that it stands for, where that one has an entry for each of its tiers.
    pub part_of: Option<String>,
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

impl Listed {
    fn on(tier: &str) -> Self {
        Self { tier: Some(tier.to_string()), part_of: None }
    }
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

    /// A name with `{tier}` and `{cluster}` in place of what stands for them in it: the file says which they are,
    /// else the name itself does.
    pub fn general(&self, name: &str, file: &str) -> String {
        let Captured { tier, cluster, .. } = self.capture(file);
        let named = || self.names.iter().filter(|one| !self.words.contains(*one)).find(|one| ends(name, one)).cloned();
        let name = match cluster.or_else(named) {
            Some(cluster) if name == cluster => return "{cluster}".to_string(),
            Some(cluster) => {
                match (name.strip_suffix(&format!("-{cluster}")), name.strip_prefix(&format!("{cluster}-"))) {
                    (Some(head), _) => format!("{head}-{{cluster}}"),
                    (None, Some(tail)) => format!("{{cluster}}-{tail}"),
                    (None, None) => name.to_string(),
                }
            }
            None => name.to_string(),
        };
        let tier = tier.filter(|tier| tier_in(&name, &BTreeSet::from([tier.clone()])).is_some());
        match tier.as_deref().or_else(|| self.tier_in(&name)) {
            Some(tier) => with_tier(&name, tier),
            None => name,
        }
    }
}

pub(super) fn ladder(survey: &Survey, applied: &Applied) -> Ladder {
    let (label, said) = said(survey);
    let mut words = if said.is_empty() { named(survey, applied) } else { with_siblings(survey, said) };
    // One tier is none: there is nothing to climb.
    if words.len() < 2 {
        words.clear();
    }
    let known = survey.inventory.iter().flat_map(|(_, clusters)| clusters).map(|cluster| cluster.name.to_string());
    let mut names: BTreeSet<String> = known.collect();
    let mut tier_of = BTreeMap::new();
    if names.is_empty() {
        names.extend(bootstrapped(survey, &words));
        names.extend(varying(&survey.sights, &words));
        tier_of = tiers_of(survey, &words, &names);
    }
    let mut tiers: Vec<String> = words.iter().cloned().collect();
    tiers.sort_by_key(|word| (order(word), word.clone()));
    let guessed = tiers.iter().filter(|word| rank(word).is_none()).cloned().collect();
    let clusters = match &survey.inventory {
        Some((file, _)) => Clusters::Known(file.clone()),
        None if !tier_of.is_empty() => Clusters::New(entries(&names, &tier_of)),
        None if survey.engines.contains(&Engine::ArgoCd) => Clusters::Hub(Engine::ArgoCd),
        None if survey.engines.contains(&Engine::Greenhouse) => Clusters::Hub(Engine::Greenhouse),
        None if tiers.is_empty() => Clusters::New(names.iter().map(|name| (name.clone(), Listed::default())).collect()),
        None => Clusters::New(tiers.iter().map(|tier| (tier.clone(), Listed::on(tier))).collect()),
    };
    // `{cluster}` is the name of an entry, which is not what files call a cluster of several tiers.
    names.retain(|name| tier_of.get(name).is_none_or(|tiers| tiers.len() < 2));
    Ladder { tiers, guessed, label, clusters, names, words }
}

/// The label that selectors or the inventory tell tiers apart by, and its values.
fn said(survey: &Survey) -> (String, BTreeSet<String>) {
    let mut labels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for cluster in survey.inventory.iter().flat_map(|(_, clusters)| clusters) {
        for (key, value) in cluster.labels.iter().filter(|(key, _)| tells_tiers(key)) {
            labels.entry(key.clone()).or_default().insert(value.clone());
        }
    }
    if labels.is_empty() {
        labels.clone_from(&survey.labels);
    }
    let most = labels.into_iter().max_by_key(|(key, values)| (values.len(), std::cmp::Reverse(key.clone())));
    most.filter(|(_, values)| !values.is_empty()).unwrap_or_else(|| (USUAL_KEY.to_string(), BTreeSet::new()))
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

/// Whether the name of something ends in that of a cluster.
fn ends(name: &str, cluster: &str) -> bool {
    name.strip_suffix(cluster).is_some_and(|head| head.ends_with('-'))
}

/// Flux: each folder below `clusters` that its Kustomizations were put into is a cluster.
fn bootstrapped(survey: &Survey, tiers: &BTreeSet<String>) -> BTreeSet<String> {
    let cluster = |reader: &Reader| {
        let mut parts =
            reader.file.split('/').skip_while(|part| !matches!(*part, "clusters" | "cluster")).skip(1).peekable();
        let first = parts.next().filter(|_| parts.peek().is_some())?;
        let second = parts.next().filter(|_| parts.peek().is_some()).filter(|part| *part != "flux-system");
        Some(if tiers.contains(first) { second.unwrap_or(first) } else { first }.to_string())
    };
    survey.flux.readers.iter().filter_map(cluster).collect()
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

/// An entry for each cluster. One that runs several tiers has one for each of them: a cluster is a member of one tier
/// alone, and all of its entries are asked by one connection.
fn entries(names: &BTreeSet<String>, tiers: &BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, Listed> {
    let mut found = BTreeMap::new();
    for name in names {
        let own: Vec<&String> = tiers.get(name).into_iter().flatten().collect();
        match own.as_slice() {
            [] => drop(found.insert(name.clone(), Listed::default())),
            [tier] => drop(found.insert(name.clone(), Listed::on(tier))),
            several => found.extend(several.iter().map(|tier| {
                (format!("{name}-{tier}"), Listed { tier: Some((*tier).clone()), part_of: Some(name.clone()) })
            })),
        }
    }
    found
}

/// The tiers of each cluster: by files that name both, else by its own name, else by what it reads.
fn tiers_of(survey: &Survey, tiers: &BTreeSet<String>, names: &BTreeSet<String>) -> BTreeMap<String, BTreeSet<String>> {
    let mut read = Seen::default();
    for Reader { file, path, .. } in &survey.flux.readers {
        if let Some(cluster) = file.split('/').find(|part| names.contains(*part)) {
            read.add(cluster, path, capture(path, tiers, names).tier);
        }
    }
    let mut filed = Seen::default();
    for file in survey.sights.iter().map(|sight| &sight.file) {
        if let Captured { tier, cluster: Some(cluster), .. } = capture(file, tiers, names) {
            filed.add(&cluster, file, tier);
        }
    }
    let by_name = |name: &String| tier_in(name, tiers).map(|tier| BTreeSet::from([tier.to_string()]));
    let of = |name: &String| filed.of(name).or_else(|| by_name(name)).or_else(|| read.of(name));
    names.iter().filter_map(|name| Some((name.clone(), of(name)?))).collect()
}

/// Tiers that paths name for each cluster: a folder that is called so, before one that has it in its name.
#[derive(Default)]
struct Seen {
    exact: BTreeMap<String, BTreeSet<String>>,
    loose: BTreeMap<String, BTreeSet<String>>,
}

impl Seen {
    fn add(&mut self, cluster: &str, path: &str, tier: Option<String>) {
        let Some(tier) = tier else { return };
        let exact = path.split('/').any(|part| part.split('.').next() == Some(tier.as_str()));
        let all = if exact { &mut self.exact } else { &mut self.loose };
        all.entry(cluster.to_string()).or_default().insert(tier);
    }

    fn of(&self, cluster: &str) -> Option<BTreeSet<String>> {
        self.exact.get(cluster).or_else(|| self.loose.get(cluster)).cloned()
    }
}
