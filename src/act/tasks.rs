//! What people have to do for the release of a pull request: the files of its members are read once for each release and
//! base, or head that people added to. What comes of them is in `tell/tasks`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use compare::Change;
use decide::plan::{WaveReport, WaveState};
use decide::{ClusterName, PluginName, Sha, TierName, Version};

use crate::git::{GitError, Store};
use crate::observe::{Context, Seen, SettingsReader, Spot};
use crate::tell::{Setting, Task, are_breaking, tasks};

/// So many files of a tier, and of the others, are read.
const MOST: usize = 500;

/// What was found for the release of each tier, at which base.
pub type Known = BTreeMap<(PluginName, TierName), (About, Sha, Arc<[Task]>)>;

/// What the tasks of a wave are made of, beside files.
#[derive(PartialEq)]
pub struct About {
    to: Version,
    from: Option<Version>,
    /// The releases on the way that were compared so far.
    compared: usize,
    /// What authors say, as far as it was read.
    said: Vec<String>,
}

/// The tasks of a wave; none where nothing breaks on its way.
pub(super) async fn of(
    (context, known): (&mut Context, &mut Known),
    seen: &Seen,
    wave: &WaveReport,
) -> anyhow::Result<Arc<[Task]>> {
    let none = || Arc::from(Vec::new());
    let (Some(to), Some((_, base))) = (&wave.version, seen.base(&wave.tier)) else { return Ok(none()) };
    let base = seen.added(wave).unwrap_or(base);
    let (releases, said) = seen.on_the_way(wave);
    let breaks = releases.iter().flat_map(|changes| changes.iter()).any(|change| change.what.is_breaking());
    let key = (wave.plugin.clone(), wave.tier.clone());
    if !breaks && !said.iter().any(|notes| are_breaking(notes)) {
        known.remove(&key);
        return Ok(none());
    }
    // What has landed, or has ended without that, is not read again with each commit.
    let is_ahead = matches!(wave.state, WaveState::Waiting | WaveState::Open { .. });
    let about = About { to: to.clone(), from: wave.from.clone(), compared: releases.len(), said };
    if let Some((known, at, tasks)) = known.get(&key)
        && *known == about
        && (at == base || !is_ahead)
    {
        return Ok(Arc::clone(tasks));
    }
    let Some(wiring) = seen.loaded.wiring.plugins.get(&wave.plugin) else { return Ok(none()) };
    let chart = wiring.chart.name().to_string();
    let members: BTreeSet<&ClusterName> = wave.members.clusters().iter().collect();
    let of = |spot: &&Spot| spot.cluster.as_ref().is_none_or(|name| members.contains(name));
    // Where only its author says what breaks, nobody's files have a part in it.
    let most = if breaks { MOST } else { 0 };
    let own: Vec<Spot> = seen.spots(&wave.plugin, &wave.tier).iter().filter(of).take(most).cloned().collect();
    let own = vec![(base.clone(), own)];
    let others = seen.loaded.ladder.iter().filter(|tier| tier.name != wave.tier).filter_map(|tier| {
        let (_, base) = seen.base(&tier.name)?;
        Some((base.clone(), seen.spots(&wave.plugin, &tier.name).iter().take(most).cloned().collect()))
    });
    let others: Vec<(Sha, Vec<Spot>)> = others.collect();
    let releases: Vec<Vec<Change>> = releases.into_iter().map(<[Change]>::to_vec).collect();
    let said = about.said.clone();
    let found = context.repo.git(move |store, _| {
        let (own, others) = (read(store, &own, &chart)?, read(store, &others, &chart)?);
        let releases: Vec<&[Change]> = releases.iter().map(Vec::as_slice).collect();
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        Ok(tasks(&releases, &said, (&own, &others), &chart))
    });
    let found: Arc<[Task]> = Arc::from(found.await?);
    known.insert(key, (about, base.clone(), Arc::clone(&found)));
    Ok(found)
}

/// What is set at these places; one of which nobody can tell is left out.
fn read(store: &Store, places: &[(Sha, Vec<Spot>)], chart: &str) -> Result<Vec<Setting>, GitError> {
    let mut reader = SettingsReader::new(store, chart);
    let places = places.iter().flat_map(|(commit, spots)| spots.iter().map(move |spot| (commit, spot)));
    places.filter_map(|(commit, spot)| reader.read(commit, spot).transpose()).collect()
}
