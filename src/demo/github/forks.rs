//! Pull requests from forks. A fork is no repository of this world: of it there is what the hub keeps of each pull
//! request, a head below `refs/pull` whose commits may be fetched and whose branch is in no list.

use anyhow::Context as _;

use super::GitHub;
use super::git::Signature;
use super::setup::plainly;
use super::state::{Repository, World};
use super::webhooks;

/// Files that are written; none = taken away.
pub type Files<'a> = [(&'a str, Option<&'a str>)];

impl GitHub {
    /// Somebody without any right forks a repository, changes files on a branch there, and opens a pull request; gives its
    /// number.
    ///
    /// # Errors
    /// No such repository or branch, or nothing differs.
    pub fn open_fork_pull(
        &self,
        repository: &str,
        login: &str,
        (branch, base): (&str, &str),
        files: &Files<'_>,
    ) -> anyhow::Result<u64> {
        self.add_user(login);
        let mut world = self.world();
        let id = world.named(repository)?;
        let repo = world.repositories.get(&id).context("it was just found")?;
        let tip = repo.head(base).context("no such base branch")?.to_owned();
        let head = commit(&world, repo, login, &tip, files)?;
        // It is opened as one of this repository, whose branch is gone at once.
        let name = format!("refs/heads/{branch}");
        anyhow::ensure!(repo.head(branch).is_none(), "this world wants another name for the branch of a fork");
        let fork = format!("{login}/{}", repo.name);
        repo.git.update_ref(&name, &head, super::git::ZERO)?;
        world.repo_mut(id).map_err(plainly)?.refs.insert(name.clone(), head.clone());
        let number = world.open_pull(id, login, branch, base, "From a fork", "", false).map_err(plainly);
        let repo = world.repo_mut(id).map_err(plainly)?;
        repo.git.update_ref(&name, super::git::ZERO, &head)?;
        repo.refs.remove(&name);
        let number = number?;
        repo.pulls.get_mut(&number).context("it was just opened")?.fork = Some(fork);
        Ok(number)
    }

    /// Its author changes files on the branch of the fork; gives the new head.
    ///
    /// # Errors
    /// No such pull request, or none from a fork.
    pub fn push_to_fork(&self, repository: &str, number: u64, files: &Files<'_>) -> anyhow::Result<String> {
        let mut world = self.world();
        let (id, now) = (world.named(repository)?, world.now());
        let pull = world.pull_of(id, number).map_err(plainly)?.clone();
        anyhow::ensure!(pull.fork.is_some(), "#{number} is from no fork");
        let repo = world.repositories.get(&id).context("it was just found")?;
        let head = commit(&world, repo, &pull.author, &pull.head_sha, files)?;
        repo.git.run(&["update-ref", &format!("refs/pull/{number}/head"), &head])?;
        let repo = world.repo_mut(id).map_err(plainly)?;
        let pull = repo.pulls.get_mut(&number).context("it was just found")?;
        (pull.head_sha, pull.updated_at) = (head.clone(), now);
        let author = pull.author.clone();
        webhooks::pull_request(&mut world, id, number, "synchronize", &author);
        Ok(head)
    }
}

fn commit(world: &World, repo: &Repository, login: &str, parent: &str, files: &Files<'_>) -> anyhow::Result<String> {
    let files: Vec<(&str, Option<&[u8]>)> = files.iter().map(|(path, text)| (*path, text.map(str::as_bytes))).collect();
    let tree = repo.git.write_tree(Some(parent), &files)?;
    let who: Signature = world.signature(login);
    repo.git.commit_tree(&tree, &[parent], &who, &who, world.now(), "A change of a fork")
}
