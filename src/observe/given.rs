//! What the config repository sets for a plugin beside its version, at each place that moves it. Only read where a
//! release has something to do with it. What people have to do about it is in `tell/tasks`.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use compare::Settings;
use decide::snapshot::{Pull, Read};
use decide::{ClusterName, PluginName, Sha, TierName};

use super::base::Base;
use super::compared::Place;
use super::context::Context;
use super::place_owner::Fleet;
use super::spots::Spot;
use crate::edit;
use crate::git::{GitError, Store};
use crate::tell::Setting;

/// What is to be read of one plugin.
struct Asked {
    plugin: PluginName,
    chart: String,
    spots: Vec<(Commits, Spot, BTreeSet<ClusterName>)>,
}

/// Where the files of a tier are read.
#[derive(Clone)]
struct Commits {
    base: Sha,
    /// The head of its pull request, and the commit of ours that people added to there.
    added: Option<(Sha, Sha)>,
}

impl Commits {
    /// Where a file is as it will be after the merge: at the head that people added to, unless the base branch has another
    /// one by now.
    fn of(&self, store: &Store, file: &str) -> &Sha {
        let Some((head, ours)) = &self.added else { return &self.base };
        let before = store.parent(ours).ok().flatten().and_then(|before| store.read(&before, file).ok());
        let same = before.is_some_and(|before| store.read(&self.base, file).is_ok_and(|now| now == before));
        if same { head } else { &self.base }
    }
}

/// What each place of these plugins sets; a place of which nobody can tell is left out.
pub(super) async fn places(
    context: &mut Context,
    base: &Base,
    plugins: Vec<PluginName>,
    pulls: &BTreeMap<PluginName, Vec<Pull>>,
) -> anyhow::Result<BTreeMap<PluginName, Vec<Place>>> {
    let asked: Vec<Asked> = plugins.into_iter().filter_map(|plugin| asked(base, plugin, pulls)).collect();
    if asked.is_empty() {
        return Ok(BTreeMap::new());
    }
    context
        .repo
        .git(move |store, _| asked.iter().map(|asked| Ok((asked.plugin.clone(), read(store, asked)?))).collect())
        .await
}

fn asked(base: &Base, plugin: PluginName, pulls: &BTreeMap<PluginName, Vec<Pull>>) -> Option<Asked> {
    let Read::Known(clusters) = &base.clusters else { return None };
    let policy = base.loaded.policy.plugins.iter().find(|known| known.name == plugin)?;
    let chart = base.loaded.wiring.plugins.get(&plugin)?.chart.name().to_string();
    let names = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    let fleet = Fleet { clusters, names: &names, tiers: &policy.tiers };
    let mut spots = Vec::new();
    for tier in &policy.tiers {
        let of = |tier: &TierName| base.spots.get(&(plugin.clone(), tier.clone())).into_iter().flatten();
        let Ok(line) = base.line(&tier.name) else { continue };
        let mut of_tier = pulls.get(&plugin).into_iter().flatten().filter(|pull| pull.tier == tier.name);
        let added = of_tier.find_map(|pull| Some((pull.head.clone(), pull.added_to.clone()?)));
        let commits = Commits { base: line.commit.clone(), added };
        let members: BTreeSet<ClusterName> = fleet.members(tier).into_iter().cloned().collect();
        for spot in of(&tier.name).filter(|spot| !spot.vacant) {
            let clusters = spot.cluster.clone().map_or_else(|| members.clone(), |cluster| [cluster].into());
            spots.push((commits.clone(), spot.clone(), clusters));
        }
    }
    Some(Asked { plugin, chart, spots })
}

fn read(store: &Store, asked: &Asked) -> Result<Vec<Place>, GitError> {
    let mut reader = SettingsReader::new(store, &asked.chart);
    let mut places = Vec::new();
    for (commits, spot, clusters) in &asked.spots {
        let commit = commits.of(store, &spot.file);
        if let Some(Setting { settings, whole, .. }) = reader.read(commit, spot)? {
            places.push(Place { clusters: clusters.clone(), settings, whole });
        }
    }
    Ok(places)
}

/// Reads what places set for a chart: each file once.
pub struct SettingsReader<'s> {
    store: &'s Store,
    chart: &'s str,
    texts: BTreeMap<(Sha, String), Option<Arc<str>>>,
}

impl<'s> SettingsReader<'s> {
    /// For the chart of this name.
    pub fn new(store: &'s Store, chart: &'s str) -> Self {
        Self { store, chart, texts: BTreeMap::new() }
    }

    /// What a place sets at a commit; none where nobody can tell.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read(&mut self, commit: &Sha, spot: &Spot) -> Result<Option<Setting>, GitError> {
        let Some(scalar) = spot.scalar.as_ref().filter(|_| !spot.vacant) else { return Ok(None) };
        let text = match self.texts.entry((commit.clone(), spot.file.clone())) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let bytes = self.store.read(commit, &spot.file)?;
                new.insert(bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map(Arc::from))
            }
        };
        let (Some(text), format) = (text, spot.write.format()) else { return Ok(None) };
        let Some(given) = edit::given(format, text, scalar, self.chart) else { return Ok(None) };
        let settings = Settings::new(given.values, given.names).naming(given.named);
        let (file, text, scalar) = (spot.file.clone(), Arc::clone(text), scalar.clone());
        Ok(Some(Setting { file, text, format, scalar, settings, whole: given.whole }))
    }
}
