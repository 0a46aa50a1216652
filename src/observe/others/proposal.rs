//! The policy that a pull request proposes, and the facts that are here already as that policy would have them seen. What
//! it names is not asked: no chart, no cluster, no page.

use std::collections::BTreeMap;
use std::sync::Arc;

use decide::snapshot::{PluginFacts, Read, Snapshot};
use decide::{PluginName, TierName};
use jiff::Timestamp;

use super::{Found, Known, commits, is_policy, texts};
use crate::hub::{ChangedFile, OtherPull};
use crate::inventory::{self, ListedCluster};
use crate::ledger::Branch;
use crate::observe::Seen;
use crate::observe::base::{self, POLICY_FILES};
use crate::observe::context::Context;
use crate::observe::presets;
use crate::observe::spots::{self, Spot};
use crate::observe::vacant;
use crate::policy::wiring::Inventory;
use crate::policy::{self, Loaded, Part, Problems, SourceFile};

/// So many are kept.
const MOST: usize = 20;
/// A policy of somebody else may have so many places for versions, and as many more as the present one has.
const PLACES: usize = 20_000;

/// What a pull request proposes in place of the policy and the inventory.
pub struct Proposal {
    /// The policy files, and the inventory where it is one.
    pub files: Vec<SourceFile>,
    /// The policy, or what is wrong with it.
    pub read: Result<Proposed, Problems>,
}

/// A proposed policy without mistakes.
pub struct Proposed {
    /// The policy.
    pub loaded: Loaded,
    /// The clusters that it would be about.
    clusters: Read<Vec<ListedCluster>>,
    /// Where versions would be looked for, and what stands there now.
    spots: Read<Spots>,
}

type Spots = BTreeMap<(PluginName, TierName), Vec<Spot>>;

/// The policy that a pull request proposes: that of the default branch with its changes.
pub async fn proposal(
    known: &mut Known,
    context: &Context,
    seen: &Seen,
    (pull, files): (&OtherPull, &[ChangedFile]),
    now: Timestamp,
) -> Read<Arc<Proposal>> {
    let key = (pull.head.clone(), commits(seen));
    let known = &mut known.proposals;
    if let Some(held) = known.get(&key).and_then(|found| found.held(now)) {
        return held;
    }
    known.retain(|(head, _), _| *head != pull.head);
    if known.len() >= MOST {
        return Read::Unread(format!("{MOST} other open pull requests change the policy"));
    }
    let said = made(context, seen, files).await.map(Arc::new);
    let found = Found { at: now, said };
    let read = found.read();
    known.insert(key, found);
    read
}

async fn made(context: &Context, seen: &Seen, files: &[ChangedFile]) -> Result<Proposal, String> {
    let texts = texts(&context.repo.hub, files).await?;
    let commit = seen.snapshot.policy_commit.clone();
    let found = context.repo.git(move |store, _| base::policy_files(store, &commit)).await;
    let mut files = changed(found.map_err(|error| format!("{error:#}"))?, &texts);
    if !policy_of(&files).is_empty() {
        // Anybody may read them: by asking for them a stranger learns nothing.
        let mut known = context.memory.presets.clone();
        files = presets::with_presets(&context.repo.hub.leisurely(), &mut known, files).await?;
    }
    let loaded = match policy::load_in(policy_of(&files), &context.setting) {
        Ok(loaded) => loaded,
        Err(problems) => return Ok(Proposal { files, read: Err(problems) }),
    };
    match clusters(context, seen, &loaded, &files, &texts).await? {
        Ok(clusters) => {
            let spots = spots_of(context, seen, &loaded, &clusters).await?;
            Ok(Proposal { files, read: Ok(Proposed { loaded, clusters, spots }) })
        }
        Err((problems, inventory)) => {
            let files = files.into_iter().chain(inventory).collect();
            Ok(Proposal { files, read: Err(problems) })
        }
    }
}

/// The policy files with these changes, the main one first.
fn changed(files: Vec<SourceFile>, texts: &BTreeMap<String, Option<String>>) -> Vec<SourceFile> {
    let there = files.into_iter().filter(|file| !texts.contains_key(&file.path));
    let new = texts.iter().filter(|(path, _)| is_policy(path));
    let new = new.filter_map(|(path, text)| Some(SourceFile { path: path.clone(), text: text.clone()? }));
    let mut all: Vec<SourceFile> = there.chain(new).collect();
    let place = |path: &str| POLICY_FILES.iter().position(|main| *main == path).unwrap_or(POLICY_FILES.len());
    all.sort_by(|a, b| (place(&a.path), &a.path).cmp(&(place(&b.path), &b.path)));
    all
}

/// Nothing where the main file is missing: the files of the folder are none without it.
fn policy_of(files: &[SourceFile]) -> &[SourceFile] {
    let main = files.first().is_some_and(|file| POLICY_FILES.contains(&file.path.as_str()));
    if main { files } else { &[] }
}

/// The clusters that a proposed policy would be about, or what is wrong with their list.
async fn clusters(
    context: &Context,
    seen: &Seen,
    loaded: &Loaded,
    files: &[SourceFile],
    texts: &BTreeMap<String, Option<String>>,
) -> Result<Result<Read<Vec<ListedCluster>>, (Problems, Option<SourceFile>)>, String> {
    let path = match &loaded.wiring.inventory {
        Inventory::File { path } => path.clone(),
        listed @ Inventory::Listed(_) if *listed == seen.loaded.wiring.inventory => {
            return Ok(Ok(match &seen.snapshot.clusters {
                Read::Known(_) => Read::Known(seen.clusters.to_vec()),
                Read::Unread(why) => Read::Unread(why.clone()),
            }));
        }
        Inventory::Listed(_) => {
            return Ok(Ok(Read::Unread("the new list of clusters is not asked for before this is merged".into())));
        }
    };
    let text = match texts.get(&path) {
        Some(text) => text.clone(),
        None => {
            let (commit, path) = (seen.snapshot.policy_commit.clone(), path.clone());
            let found = context.repo.git(move |store, _| store.read(&commit, &path)).await;
            let found = found.map_err(|error| format!("{error:#}"))?;
            found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        }
    };
    let Some(text) = text else {
        let message = format!("no clusters: there is no file `{path}`");
        let help = "write `clusters: [{name: …, labels: {…}}]` there, or name the file by `clusters: {path: …}`";
        return Ok(Err((Problems(vec![policy::about(files, Part::Inventory, message, help)]), None)));
    };
    Ok(match inventory::file::parse(&path, &text) {
        Ok(clusters) => Ok(Read::Known(clusters)),
        Err(problems) => Err((problems, Some(SourceFile { path, text }))),
    })
}

async fn spots_of(
    context: &Context,
    seen: &Seen,
    loaded: &Loaded,
    clusters: &Read<Vec<ListedCluster>>,
) -> Result<Read<Spots>, String> {
    let listed = clusters.known().map_or(0, Vec::len);
    let present = seen.spots.values().map(Vec::len).sum::<usize>();
    if places(loaded, listed) > PLACES + 2 * present {
        return Ok(Read::Unread("it names more places for versions than are looked at before this is merged".into()));
    }
    let (lines, default) = (seen.lines.clone(), context.repo.repository.default_branch.clone());
    let (loaded, clusters) = (loaded.clone(), clusters.known().cloned().unwrap_or_default());
    let found = context.repo.git(move |store, _| {
        let branches = spots::Branches { lines: &lines, default: &default, called: spots::DEFAULT };
        spots::read(store, branches, &loaded, &clusters)
    });
    found.await.map(Read::Known).map_err(|error| format!("{error:#}"))
}

/// How many places a policy can have at most.
fn places(loaded: &Loaded, clusters: usize) -> usize {
    let of_plugin = |plugin: &decide::PluginPolicy| {
        let writes = loaded.wiring.plugins.get(&plugin.name).map_or(0, |wiring| wiring.write.len());
        writes.saturating_mul(plugin.tiers.len().saturating_add(clusters))
    };
    loaded.policy.plugins.iter().map(of_plugin).fold(0, usize::saturating_add)
}

impl Proposed {
    /// Why nobody can say what would follow from it; none where it can be said.
    pub fn unknown(&self) -> Option<&str> {
        match (&self.clusters, &self.spots) {
            (Read::Unread(why), _) | (Read::Known(_), Read::Unread(why)) => Some(why),
            (Read::Known(_), Read::Known(_)) => None,
        }
    }

    /// Whether it is about the clusters of the look.
    pub fn lists(&self, seen: &Seen) -> bool {
        self.clusters.known().is_some_and(|clusters| *clusters == *seen.clusters)
    }

    /// Whether what is known of a plugin would still be about it: same chart, same questions.
    pub fn is_about_the_same(&self, seen: &Seen, plugin: &PluginName) -> bool {
        let [old, new] = [&*seen.loaded, &self.loaded].map(|loaded| loaded.wiring.plugins.get(plugin));
        let (Some(old), Some(new)) = (old, new) else { return false };
        (&old.chart, &old.signals, &old.released) == (&new.chart, &new.signals, &new.released)
    }

    /// The facts of a look as this policy would have them seen. Of a plugin that nobody asked about nothing is known.
    pub fn snapshot(&self, context: &Context, seen: &Seen) -> Snapshot {
        let ledger = context.repo.ledger.as_ref().map(Branch::ledger);
        let mut places = self.spots.known().map(|spots| vacant::places(spots, ledger)).unwrap_or_default();
        let facts = self.loaded.policy.plugins.iter().map(|plugin| {
            let unasked = || "nobody asks about it before this is merged".to_string();
            let known = seen.snapshot.plugins.get(&plugin.name).cloned().unwrap_or_else(|| PluginFacts {
                releases: Read::Unread(unasked()),
                base: Read::Known(BTreeMap::new()),
                pulls: Read::Known(Vec::new()),
                readings: decide::Readings::default(),
                runs: Read::Unread(unasked()),
                open_now: BTreeMap::new(),
            });
            let base = match known.base {
                Read::Known(_) => Read::Known(places.remove(&plugin.name).unwrap_or_default()),
                Read::Unread(why) => Read::Unread(why),
            };
            (plugin.name.clone(), PluginFacts { base, ..known })
        });
        Snapshot {
            plugins: facts.collect(),
            policy: self.loaded.policy.clone(),
            policy_problem: None,
            clusters: base::planned(&self.clusters),
            ..seen.snapshot.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_string(), text: text.to_string() }
    }

    #[test]
    fn policy_files_are_those_of_the_branch_with_the_changes() {
        let there = vec![file(".github/coldframe.yaml", "1"), file("coldframe.d/a.yaml", "2")];
        let texts: BTreeMap<String, Option<String>> = [
            (".github/coldframe.yaml", None),
            ("coldframe.yaml", Some("3")),
            ("coldframe.d/b.yaml", Some("4")),
            ("clusters.yaml", Some("5")),
        ]
        .into_iter()
        .map(|(path, text)| (path.to_string(), text.map(str::to_string)))
        .collect();
        let all = changed(there.clone(), &texts);
        assert_eq!(
            all,
            [file("coldframe.yaml", "3"), file("coldframe.d/a.yaml", "2"), file("coldframe.d/b.yaml", "4")]
        );
        assert_eq!(policy_of(&all).len(), 3);
        let texts = [(".github/coldframe.yaml".to_string(), None)].into();
        assert!(policy_of(&changed(there, &texts)).is_empty(), "without the main file there is no policy");
    }
}
