//! Versions that pull requests of others change by hand: what stands in the files at their heads, read as the policy of
//! the default branch says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decide::snapshot::Read;
use decide::{PluginName, TierName};
use jiff::Timestamp;

use super::{Found, Known, Matters, commits, texts};
use crate::hub::{ChangedFile, OtherPull};
use crate::observe::Seen;
use crate::observe::context::Context;
use crate::observe::spots::{self, Files, Spot};
use crate::tell::MovedVersion;

/// The versions on tiers that the bot moves which would be others with these files.
pub async fn moved(
    known: &mut Known,
    context: &Context,
    (seen, matters): (&Seen, &Matters<'_>),
    (pull, files): (&OtherPull, &[ChangedFile]),
    now: Timestamp,
) -> Read<Vec<MovedVersion>> {
    let key = (pull.head.clone(), pull.base.clone(), commits(seen));
    let known = &mut known.moved;
    if let Some(held) = known.get(&key).and_then(|found| found.held(now)) {
        return held;
    }
    known.retain(|(head, base, _), _| (head, base) != (&pull.head, &pull.base));
    let mine =
        files.iter().filter(|file| matters.0.get(pull.base.as_str()).is_some_and(|all| all.holds_versions(file)));
    let mine: Vec<ChangedFile> = mine.cloned().collect();
    let found = Found { at: now, said: read(context, seen, &pull.base, &mine).await };
    let read = found.read();
    known.insert(key, found);
    read
}

async fn read(context: &Context, seen: &Seen, base: &str, files: &[ChangedFile]) -> Result<Vec<MovedVersion>, String> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let default = context.repo.repository.default_branch.clone();
    let texts = texts(&context.repo.hub, files).await?.into_iter();
    let texts: Files = texts.map(|(path, text)| (path, text.ok_or_else(|| "it is taken away".to_string()))).collect();
    let (lines, loaded, clusters) = (seen.lines.clone(), Arc::clone(&seen.loaded), Arc::clone(&seen.clusters));
    let (branch, asked) = (base.to_string(), texts.clone());
    let found = context.repo.git(move |store, _| {
        let branches = spots::Branches { lines: &lines, default: &default, called: spots::DEFAULT };
        spots::with(store, branches, &loaded, &clusters, (&branch, &asked))
    });
    let found = found.await.map_err(|error| format!("{error:#}"))?;
    let here: BTreeSet<&String> = texts.keys().collect();
    Ok(differing(seen, &here, &found))
}

fn differing(
    seen: &Seen,
    files: &BTreeSet<&String>,
    found: &BTreeMap<(PluginName, TierName), Vec<Spot>>,
) -> Vec<MovedVersion> {
    let follows = |plugin: &PluginName, tier: &TierName| {
        let plugin = seen.loaded.policy.plugins.iter().find(|known| known.name == *plugin);
        plugin.is_some_and(|plugin| plugin.tiers.iter().any(|known| known.name == *tier && known.follows))
    };
    let mut moved = Vec::new();
    for (key @ (plugin, tier), now) in found {
        if follows(plugin, tier) {
            continue;
        }
        let here = |spot: &&Spot| files.contains(&spot.file);
        let before = seen.spots.get(key).into_iter().flatten().filter(here);
        let mut rest: Vec<&Spot> = now.iter().collect();
        for spot in before {
            let same = |other: &&Spot| (&other.file, &other.cluster) == (&spot.file, &spot.cluster);
            let at = rest.iter().position(same);
            let after = at.map(|at| rest.remove(at)).and_then(said);
            // What was not there may be written by hand.
            if let Some(from) = said(spot).filter(|from| after.as_ref() != Some(from)) {
                let (plugin, tier, file) = (plugin.clone(), tier.clone(), spot.file.clone());
                moved.push(MovedVersion { plugin, tier, file, from, to: after });
            }
        }
    }
    moved
}

/// The version at a spot, or the range that stands there.
fn said(spot: &Spot) -> Option<String> {
    spot.range.clone().or_else(|| spot.version.known().map(ToString::to_string))
}
