//! Whose a path is: the file of code owners of a base branch, what the hub finds wrong with it, and the people
//! whom it names. Which words ask for an owner is in `pulls`.

use std::collections::{BTreeMap, BTreeSet};

use decide::snapshot::{OwnedPath, Read};
use decide::{Person, PluginName, Sha};
use jiff::Timestamp;

use super::base::{Base, Line, POLICY_FOLDER};
use super::hub_cache::HubCache;
use crate::hub::{CodeOwners, RepoHub, Role};
use crate::observe::context::Context;

/// A file of code owners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnersFile {
    /// Where it stands.
    pub path: &'static str,
    /// Its text.
    pub text: String,
}

/// The file of code owners of a base branch.
pub struct Owners<'a> {
    /// The hub, for people, teams and what it finds wrong.
    pub hub: &'a RepoHub,
    /// The commit that it was read at.
    pub commit: &'a Sha,
    /// The file, when there is one.
    pub file: &'a Read<Option<OwnersFile>>,
    /// When this look began.
    pub now: Timestamp,
}

impl Owners<'_> {
    /// The owned ones among these paths, with everybody who may speak for them. A path whose owners nobody
    /// knows for sure makes all of it unread.
    pub async fn of(&self, paths: &[String], hub_cache: &mut HubCache) -> Read<Vec<OwnedPath>> {
        let file = match self.file {
            Read::Known(Some(file)) => file,
            Read::Known(None) => return Read::Known(Vec::new()),
            Read::Unread(why) => return Read::Unread(why.clone()),
        };
        let rules = match CodeOwners::parse(&file.text) {
            Ok(rules) => rules,
            Err(error) => return Read::Unread(error.to_string()),
        };
        let reported = match hub_cache.owner_problems(self.hub, self.commit, self.now).await {
            Read::Known(problems) => problems,
            Read::Unread(why) => return Read::Unread(format!("{}: {why}", file.path)),
        };
        let mut owned = Vec::new();
        for path in paths {
            let owners = match rules.known_owners_of(path, &reported) {
                Ok(owners) => owners.to_vec(),
                Err(problem) => return Read::Unread(format!("{}, {problem}", file.path)),
            };
            if owners.is_empty() {
                continue;
            }
            let mut people = BTreeSet::new();
            for owner in &owners {
                match hub_cache.people(self.hub, owner, self.now).await {
                    Ok(of_owner) => people.extend(of_owner),
                    Err(error) => return Read::Unread(format!("the people of {owner}: {error}")),
                }
            }
            owned.push(OwnedPath { path: path.clone(), owners, people });
        }
        Read::Known(owned)
    }

    /// Whether somebody with this role speaks for all of these paths. Nobody's path is not everybody's: where
    /// it has no owner who may write, an administrator speaks for it; so where nothing is named at all.
    pub async fn speaks(&self, person: &Person, role: Role, paths: &[String], hub_cache: &mut HubCache) -> Read<bool> {
        let owned = match self.of(paths, hub_cache).await {
            Read::Known(owned) => owned,
            Read::Unread(why) => return Read::Unread(why),
        };
        let valid = |path: &String| owned.iter().find(|owned| owned.path == *path && !owned.people.is_empty());
        let each = |path: &String| valid(path).map_or(role == Role::Admin, |owned| owned.people.contains(person));
        let all = if paths.is_empty() { role == Role::Admin } else { paths.iter().all(each) };
        Read::Known(all && role >= Role::Write)
    }
}

/// Plugins whose own file may set nothing for the files that it names: CODEOWNERS gives these to somebody, and the
/// file in `coldframe.d` to nobody. What stands there is no matter then, and nothing of the plugin moves.
pub(super) async fn strays(context: &mut Context, base: &Base, now: Timestamp) -> BTreeMap<PluginName, String> {
    let hub = context.repo.hub.clone();
    let hub_cache = &mut context.memory.hub;
    let mut strays = BTreeMap::new();
    for (plugin, wiring) in &base.loaded.wiring.plugins {
        let declared = &wiring.declared;
        if !declared.starts_with(POLICY_FOLDER) {
            continue;
        }
        let of_file = owned(&hub, base.main(), std::slice::from_ref(declared), hub_cache, now).await;
        let answered = match of_file {
            Read::Known(owned) => owned.iter().any(|owned| !owned.people.is_empty()),
            Read::Unread(why) => {
                strays.insert(plugin.clone(), format!("whose {declared} is: {why}"));
                continue;
            }
        };
        let of_plugin = base.spots.iter().filter(|((name, _), _)| name == plugin && !answered);
        for ((_, tier), spots) in of_plugin {
            let files: BTreeSet<String> = spots.iter().map(|spot| spot.file.clone()).collect();
            let files: Vec<String> = files.into_iter().collect();
            let why = match owned(&hub, base.line(tier), &files, hub_cache, now).await {
                Read::Known(owned) => owned.first().map(|owned| {
                    let owners = owned.owners.join(" ");
                    format!(
                        "{declared} has no owner in CODEOWNERS, and {} has; write `/{declared} {owners}`",
                        owned.path
                    )
                }),
                Read::Unread(why) => Some(format!("whose its files are: {why}")),
            };
            strays.extend(why.map(|why| (plugin.clone(), why)));
        }
    }
    strays
}

async fn owned(
    hub: &RepoHub,
    line: Result<&Line, &str>,
    files: &[String],
    hub_cache: &mut HubCache,
    now: Timestamp,
) -> Read<Vec<OwnedPath>> {
    match line {
        Ok(line) => Owners { hub, commit: &line.commit, file: &line.owners, now }.of(files, hub_cache).await,
        Err(why) => Read::Unread(why.to_string()),
    }
}
