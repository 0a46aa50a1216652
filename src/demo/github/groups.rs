//! Merge groups: the commits that a merge queue makes to have them checked, each on a branch of its own.

use std::collections::BTreeMap;

use super::answer::Answer;
use super::demands::{MergeRequest, Way};
use super::git::ZERO;
use super::queue::QUEUE;
use super::state::{Actor, Kind, MergeGroup, Pull, World};
use super::{GitHub, webhooks};

/// The branch of a group, as the hub names it.
fn branch(base: &str, number: u64, group: &MergeGroup) -> String {
    format!("refs/heads/gh-readonly-queue/{base}/pr-{number}-{}", group.parent)
}

impl World {
    /// Makes the groups anew that stand on something else than they did.
    pub fn regroup(&mut self, id: u64) -> Result<(), Answer> {
        let waiting = self.repo(id)?.queue.clone();
        let (mut tips, mut branches, mut made) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for queued in waiting {
            let pull = self.pull_of(id, queued.number)?.clone();
            let parent = match tips.get(&pull.base) {
                Some(tip) => String::clone(tip),
                None => self.tip(id, &pull)?,
            };
            let stands = |group: &MergeGroup| group.parent == parent && group.head == pull.head_sha;
            let group = match queued.group.filter(stands) {
                Some(group) => Some(group),
                None => {
                    let new = self.group(id, &pull, &parent)?;
                    made.extend(new.clone().map(|group| (pull.number, pull.base.clone(), group)));
                    new
                }
            };
            if let Some(group) = &group {
                branches.insert(branch(&pull.base, pull.number, group), group.commit.clone());
            }
            tips.insert(pull.base, group.as_ref().map_or(parent, |group| group.commit.clone()));
            let queue = &mut self.repo_mut(id)?.queue;
            if let Some(entry) = queue.iter_mut().find(|entry| entry.number == queued.number) {
                entry.group = group;
            }
        }
        self.show_groups(id, &branches)?;
        for (number, base, group) in made {
            webhooks::merge_group(self, id, &branch(&base, number, &group), &base, &group);
        }
        Ok(())
    }

    /// Brings the branches of groups to what there is.
    fn show_groups(&mut self, id: u64, wanted: &BTreeMap<String, String>) -> Result<(), Answer> {
        let (git, refs) = (self.repo(id)?.git.clone(), self.repo(id)?.refs.clone());
        let of_group = |(name, _): &(String, String)| name.starts_with("refs/heads/gh-readonly-queue/");
        let there: BTreeMap<String, String> = refs.into_iter().filter(of_group).collect();
        if there == *wanted {
            return Ok(());
        }
        for (name, commit) in there.iter().filter(|(name, commit)| wanted.get(*name) != Some(commit)) {
            git.update_ref(name, ZERO, commit)?;
        }
        for (name, commit) in wanted.iter().filter(|(name, commit)| there.get(*name) != Some(commit)) {
            git.update_ref(name, commit, ZERO)?;
        }
        self.account_add(QUEUE, Kind::Bot);
        self.sync(id, &Actor::User(QUEUE.to_owned()))
    }

    fn group(&mut self, id: u64, pull: &Pull, parent: &str) -> Result<Option<MergeGroup>, Answer> {
        let Some(tree) = self.merged_tree(id, parent, &pull.head_sha)? else { return Ok(None) };
        let (actor, method) = (Actor::User(QUEUE.to_owned()), Self::queue_method(self.repo(id)?));
        let wanted = MergeRequest { actor: &actor, method, sha: None, title: None, message: None, way: Way::Group };
        let commit = self.merge_commit(id, pull, (parent, &tree), &wanted, QUEUE)?;
        Ok(Some(MergeGroup { commit, parent: parent.to_owned(), head: pull.head_sha.clone() }))
    }

    /// The commit that the queue has made for a pull request on this very base.
    pub(super) fn group_on(&self, id: u64, number: u64, base: &str) -> Result<Option<String>, Answer> {
        let queued = self.repo(id)?.queue.iter().find(|queued| queued.number == number);
        let group = queued.and_then(|queued| queued.group.as_ref()).filter(|group| group.parent == base);
        Ok(group.map(|group| group.commit.clone()))
    }
}

impl GitHub {
    /// The commits of the merge queue's groups, the first one first.
    pub fn groups(&self, repository: &str) -> anyhow::Result<Vec<(u64, String)>> {
        let world = self.world();
        let id = world.named(repository)?;
        let queue = &world.repo(id).map_err(super::setup::plainly)?.queue;
        let of = |queued: &super::state::Queued| Some((queued.number, queued.group.as_ref()?.commit.clone()));
        Ok(queue.iter().filter_map(of).collect())
    }
}
