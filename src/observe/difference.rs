//! What the heads of open pull requests change, from git alone: the paths whose owners are asked. It is found
//! out once for each commit; whose the paths are is in `owners`.

use std::collections::{BTreeMap, BTreeSet};

use decide::Sha;
use decide::snapshot::Read;

use crate::git::{Access, GitError, Store};
use crate::hub::{HubPull, HubState};
use crate::observe::context::Context;

/// What a commit changes in its only parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it builds on.
    pub parent: Sha,
    /// The paths whose content, mode or existence differs.
    pub paths: Vec<String>,
}

/// What was found out already, by commit.
pub type Known = BTreeMap<Sha, Difference>;

/// The differences of the heads of all open pull requests.
pub async fn of_heads(context: &mut Context, page: &[HubPull]) -> BTreeMap<Sha, Read<Difference>> {
    let open = page.iter().filter(|pull| pull.state == HubState::Open).map(|pull| pull.head.clone());
    let heads: BTreeSet<Sha> = open.collect();
    context.memory.differences.retain(|head, _| heads.contains(head));
    let (known, new): (Vec<Sha>, Vec<Sha>) =
        heads.into_iter().partition(|head| context.memory.differences.contains_key(head));
    let mut found: BTreeMap<Sha, Read<Difference>> = BTreeMap::new();
    if !new.is_empty() {
        let asked = new.clone();
        let looked =
            context.repo.git(move |store, access| Ok(asked.iter().map(|head| look(store, access, head)).collect()));
        let looked: Vec<Result<Difference, String>> = match looked.await {
            Ok(looked) => looked,
            Err(error) => new.iter().map(|_| Err(format!("{error:#}"))).collect(),
        };
        for (head, difference) in new.into_iter().zip(looked) {
            match difference {
                Ok(difference) => {
                    context.memory.differences.insert(head.clone(), difference.clone());
                    found.insert(head, Read::Known(difference));
                }
                Err(why) => {
                    let why = format!("what {} changes: {why}", head.short());
                    found.insert(head, Read::Unread(why));
                }
            }
        }
    }
    for head in known {
        if let Some(difference) = context.memory.differences.get(&head) {
            found.insert(head, Read::Known(difference.clone()));
        }
    }
    found
}

/// The same of one that is about to be the head of one, and is on disk.
pub(super) async fn of_head(context: &mut Context, head: &Sha) {
    let asked = head.clone();
    let looked = context.repo.git(move |store, access| Ok(look(store, access, &asked))).await;
    context.memory.differences.extend(looked.ok().and_then(Result::ok).map(|found| (head.clone(), found)));
}

fn look(store: &Store, access: &Access, head: &Sha) -> Result<Difference, String> {
    let told = |error: GitError| error.to_string();
    let here = |commit: &Sha| match store.fetch_commit(access, commit) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("the repository does not give {}", commit.short())),
        Err(error) => Err(told(error)),
    };
    here(head)?;
    let parent = store.parent(head).map_err(told)?.ok_or("it has not one parent, so that others' changes are in it")?;
    here(&parent)?;
    let paths = store.paths_changed(&parent, head).map_err(told)?;
    Ok(Difference { parent, paths })
}
