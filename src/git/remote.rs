//! What a server has, and fetching it. Pushing is in `push`, how the bytes travel in `transport`.

use std::collections::BTreeMap;
use std::time::Duration;

use decide::Sha;
use git2::{AutotagOption, Direction, ErrorCode, FetchOptions, ObjectType, Oid};
use jiff::{SignedDuration, Timestamp};

use super::error::{GitError, one_line};
use super::read::has_commit;
use super::store::{Store, oid, sha};
use super::transport::ADDRESS;
use crate::clock;
use crate::secret::Secret;

/// A local reference that is locked is tried so often, with a pause in between.
const TRIES: usize = 40;
const PAUSE: Duration = Duration::from_millis(50);
/// Writing a reference takes milliseconds: a lock of this age belongs to nobody.
const LEFT: SignedDuration = SignedDuration::from_secs(10);

/// Where a repository is and what opens it. The token goes out as a password, and only to this address.
#[derive(Clone, Debug)]
pub struct Access {
    /// The https address, bare of users and tokens.
    pub url: String,
    /// Whose password it is; none = `x-access-token`, as GitHub wants it. A deploy token of GitLab has a user of its own.
    pub user: Option<String>,
    /// An installation token or any other that the server takes.
    pub token: Option<Secret>,
}

impl Store {
    /// Where a branch is at the server; none when it does not exist there. Fetches nothing.
    ///
    /// # Errors
    /// `Unreachable`, `Denied`, `Missing` (the whole repository) or `Malformed`.
    pub fn tip(&self, access: &Access, branch: &str) -> Result<Option<Sha>, GitError> {
        Ok(self.tips(access, &[branch.to_string()])?.remove(branch))
    }

    /// The same of several, at one moment; those that do not exist are missing.
    ///
    /// # Errors
    /// As `tip`.
    pub fn tips(&self, access: &Access, branches: &[String]) -> Result<BTreeMap<String, Sha>, GitError> {
        let names = branches.iter().map(|branch| Ok((branch, full(branch)?))).collect::<Result<Vec<_>, GitError>>()?;
        let session = self.session(access)?;
        let found = session.during(|| {
            let mut remote = self.repo.remote_anonymous(ADDRESS)?;
            let connection = remote.connect_auth(Direction::Fetch, None, None)?;
            let list = connection.list()?;
            let here = names.iter().filter_map(|(branch, name)| Some(((*branch).clone(), sha(head(list, name)?))));
            Ok(here.collect())
        });
        found.map_err(|error: git2::Error| session.explain(&error))
    }

    /// Brings a branch here and says where it is; none when it does not exist at the server.
    /// `depth` counts commits, none = the whole history. A branch is fetched either always whole or
    /// always with a depth.
    ///
    /// # Errors
    /// `Unreachable`, `Denied`, `Missing` (the whole repository), `Malformed` or `Local`.
    pub fn fetch(&self, access: &Access, branch: &str, depth: Option<u32>) -> Result<Option<Sha>, GitError> {
        let name = full(branch)?;
        let session = self.session(access)?;
        let found = session.during(|| {
            let mut remote = self.repo.remote_anonymous(ADDRESS)?;
            let mut connection = remote.connect_auth(Direction::Fetch, None, None)?;
            let found = head(connection.list()?, &name);
            if let Some(id) = found.filter(|id| !has_commit(self, *id)) {
                let mut options = FetchOptions::new();
                options.download_tags(AutotagOption::None).update_fetchhead(false);
                if let Some(depth) = depth {
                    options.depth(i32::try_from(depth.max(1)).unwrap_or(i32::MAX));
                }
                connection.remote().download(&[format!("+{name}:{name}")], Some(&mut options))?;
                self.repo.find_commit(id)?;
            }
            self.remember(branch, found)?;
            Ok(found)
        });
        found.map(|id| id.map(sha)).map_err(|error: git2::Error| session.explain(&error))
    }

    /// Brings one commit here, without its history, wherever it stands; whether it is here now. For commits
    /// that somebody else names: a server may not have it, or not give it to us.
    ///
    /// # Errors
    /// As `fetch`; a server that does not give it says so in its own words.
    pub fn fetch_commit(&self, access: &Access, commit: &Sha) -> Result<bool, GitError> {
        self.fetch_id(access, commit, Some(1))
    }

    /// The same with its whole history: for commits of a branch that is fetched whole.
    ///
    /// # Errors
    /// As `fetch_commit`.
    pub fn fetch_history(&self, access: &Access, commit: &Sha) -> Result<bool, GitError> {
        self.fetch_id(access, commit, None)
    }

    /// The same with so much of its history, itself counted.
    ///
    /// # Errors
    /// As `fetch_commit`.
    pub fn fetch_last(&self, access: &Access, commit: &Sha, depth: u32) -> Result<bool, GitError> {
        self.fetch_id(access, commit, Some(i32::try_from(depth.max(1)).unwrap_or(i32::MAX)))
    }

    fn fetch_id(&self, access: &Access, commit: &Sha, depth: Option<i32>) -> Result<bool, GitError> {
        let id = oid(commit)?;
        if has_commit(self, id) {
            return Ok(true);
        }
        let session = self.session(access)?;
        let found = session.during(|| {
            let mut remote = self.repo.remote_anonymous(ADDRESS)?;
            let mut connection = remote.connect_auth(Direction::Fetch, None, None)?;
            let mut options = FetchOptions::new();
            options.download_tags(AutotagOption::None).update_fetchhead(false);
            if let Some(depth) = depth {
                options.depth(depth);
            }
            connection.remote().download(&[id.to_string()], Some(&mut options))?;
            Ok(has_commit(self, id))
        });
        found.map_err(|error: git2::Error| session.explain(&error))
    }

    /// Keeps a local reference, from which the next fetch tells the server what is here. Its name is
    /// a hash: `a` that is gone must not stand in the way of `a/b`.
    pub(super) fn remember(&self, branch: &str, id: Option<Oid>) -> Result<(), git2::Error> {
        let name = format!("refs/coldframe/{}", Oid::hash_object(ObjectType::Blob, branch.as_bytes())?);
        let write = || match id {
            Some(id) => self.repo.reference(&name, id, true, "").map(|_| ()),
            None => match self.repo.find_reference(&name) {
                Ok(mut reference) => reference.delete(),
                Err(_) => Ok(()),
            },
        };
        for _ in 0..TRIES {
            match write() {
                Err(error) if error.code() == ErrorCode::Locked => self.unlock(&name),
                done => return done,
            }
        }
        write()
    }

    /// Another process of ours, such as `explain` beside `serve`, holds a lock for a moment; one that was
    /// killed just then has left its lock for good.
    #[allow(clippy::disallowed_methods)] // git work has a thread of its own, which may wait
    fn unlock(&self, name: &str) {
        let lock = self.repo.path().join(format!("{name}.lock"));
        let written = std::fs::metadata(&lock).and_then(|found| found.modified()).ok();
        let written = written.and_then(|at| Timestamp::try_from(at).ok());
        if written.is_some_and(|at| clock::now().duration_since(at) >= LEFT) {
            tracing::warn!(lock = %lock.display(), "a lock that a process has left behind is taken away");
            let _ = std::fs::remove_file(&lock); // where that fails, the next try says why
        } else {
            std::thread::sleep(PAUSE);
        }
    }
}

fn head(heads: &[git2::RemoteHead<'_>], name: &str) -> Option<Oid> {
    heads.iter().find(|head| head.name() == name).map(git2::RemoteHead::oid)
}

/// The full name of a branch.
pub(super) fn full(branch: &str) -> Result<String, GitError> {
    let name = format!("refs/heads/{branch}");
    if branch.len() > 200 || branch.starts_with('-') || !git2::Reference::is_valid_name(&name) {
        return Err(GitError::malformed(format!("branch `{}`", one_line(branch, 200)), "git takes no such name"));
    }
    Ok(name)
}

#[cfg(test)]
mod tests;
