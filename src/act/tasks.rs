//! What people have to do for the release of a pull request: the files of its members are read once for each release and
//! base. What comes of them is in `tell/tasks`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use compare::{Change, Settings};
use decide::plan::WaveReport;
use decide::{ClusterName, PluginName, Sha, TierName, Version};

use crate::edit;
use crate::git::{GitError, Store};
use crate::observe::{Context, Seen, Spot};
use crate::policy::wiring::FileFormat;
use crate::tell::{Setting, Task, tasks};

/// So many files of a tier, and of the others, are read.
const MOST: usize = 500;

/// What was found for the release of each tier, at which base.
pub type Known = BTreeMap<(PluginName, TierName), (Version, Option<Version>, Sha, Arc<[Task]>)>;

/// The tasks of a wave; none where nothing breaks on its way.
pub(super) async fn of(
    (context, known): (&mut Context, &mut Known),
    seen: &Seen,
    wave: &WaveReport,
) -> anyhow::Result<Arc<[Task]>> {
    let none = || Arc::from(Vec::new());
    let (Some(to), Some((_, base))) = (&wave.version, seen.base(&wave.tier)) else { return Ok(none()) };
    let (releases, said) = seen.on_the_way(wave);
    let key = (wave.plugin.clone(), wave.tier.clone());
    if releases.iter().flat_map(|changes| changes.iter()).all(|change| !change.what.is_breaking()) && said.is_empty() {
        known.remove(&key);
        return Ok(none());
    }
    if let Some((version, from, at, tasks)) = known.get(&key)
        && (version, from, at) == (to, &wave.from, base)
    {
        return Ok(Arc::clone(tasks));
    }
    let Some(wiring) = seen.loaded.wiring.plugins.get(&wave.plugin) else { return Ok(none()) };
    let chart = wiring.chart.name().to_string();
    let members: BTreeSet<&ClusterName> = wave.members.clusters().iter().collect();
    let of = |spot: &&Spot| spot.cluster.as_ref().is_none_or(|name| members.contains(name));
    let own: Vec<Spot> = seen.spots(&wave.plugin, &wave.tier).iter().filter(of).take(MOST).cloned().collect();
    let own = vec![(base.clone(), own)];
    let others = seen.loaded.ladder.iter().filter(|tier| tier.name != wave.tier).filter_map(|tier| {
        let (_, base) = seen.base(&tier.name)?;
        Some((base.clone(), seen.spots(&wave.plugin, &tier.name).iter().take(MOST).cloned().collect()))
    });
    let others: Vec<(Sha, Vec<Spot>)> = others.collect();
    let releases: Vec<Vec<Change>> = releases.into_iter().map(<[Change]>::to_vec).collect();
    let found = context.repo.git(move |store, _| {
        let (own, others) = (read(store, &own, &chart)?, read(store, &others, &chart)?);
        let releases: Vec<&[Change]> = releases.iter().map(Vec::as_slice).collect();
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        Ok(tasks(&releases, &said, (&own, &others), &chart))
    });
    let found: Arc<[Task]> = Arc::from(found.await?);
    known.insert(key, (to.clone(), wave.from.clone(), base.clone(), Arc::clone(&found)));
    Ok(found)
}

/// What is set at these places; one of which nobody can tell is left out.
fn read(store: &Store, places: &[(Sha, Vec<Spot>)], chart: &str) -> Result<Vec<Setting>, GitError> {
    let mut settings = Vec::new();
    for (commit, spot) in places.iter().flat_map(|(commit, spots)| spots.iter().map(move |spot| (commit, spot))) {
        let Some(scalar) = spot.scalar.clone().filter(|_| !spot.vacant && spot.write.format() == FileFormat::Yaml)
        else {
            continue;
        };
        let Some(text) = store.read(commit, &spot.file)?.and_then(|bytes| String::from_utf8(bytes).ok()) else {
            continue;
        };
        let Some(given) = edit::given(FileFormat::Yaml, &text, &scalar, chart) else { continue };
        let set = Settings::new(given.values, given.names).naming(given.named);
        settings.push(Setting { file: spot.file.clone(), text, scalar, settings: set, whole: given.whole });
    }
    Ok(settings)
}
