//! Fetching and pushing one branch. How the bytes travel is in `transport`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use decide::Sha;
use git2::{AutotagOption, Direction, ErrorCode, FetchOptions, ObjectType, Oid, PushOptions, RemoteCallbacks};
use jiff::{SignedDuration, Timestamp};

use super::error::{GitError, one_line};
use super::read::has_commit;
use super::session::Session;
use super::store::{Store, oid, opened, sha};
use super::transport::ADDRESS;
use crate::clock;
use crate::secret::Secret;

/// What the server says beside the status of a push, at most.
const MAX_WORDS: usize = 8 << 10;

/// A local reference that is locked is tried so often, with a pause in between.
const TRIES: usize = 40;
const PAUSE: Duration = Duration::from_millis(50);
/// Writing a reference takes milliseconds: a lock of this age belongs to nobody.
const LEFT: SignedDuration = SignedDuration::from_secs(10);

/// Where a repository is and what opens it. The token goes out as the password of
/// `x-access-token`, as GitHub wants it, and only to this address.
#[derive(Clone, Debug)]
pub struct Access {
    /// The https address, bare of users and tokens.
    pub url: String,
    /// An installation token or any other that the server takes.
    pub token: Option<Secret>,
}

/// How a push ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The branch is at the commit.
    Done,
    /// The branch is not where the caller believed, or the commit does not build on it; nothing was
    /// changed.
    Moved {
        /// Where it is; none = it does not exist.
        found: Option<Sha>,
    },
    /// The server did not want it: a branch rule or a hook.
    Refused {
        /// In the server's words, as data.
        why: String,
    },
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
        let session = Session::new(access, self.limits)?;
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
        let session = Session::new(access, self.limits)?;
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
        let session = Session::new(access, self.limits)?;
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

    /// Moves a branch to `commit` if it is at `expected` (none = it must not exist) and the commit
    /// builds on that. A branch that is at the commit already is `Done`.
    ///
    /// # Errors
    /// `Missing` when the commit is not on disk, else as `tip`. When a push may or may not have
    /// arrived, the server is asked again; only when that fails too the error says so.
    pub fn push(
        &self,
        access: &Access,
        branch: &str,
        commit: &Sha,
        expected: Option<&Sha>,
    ) -> Result<Pushed, GitError> {
        self.send(access, branch, commit, expected, true)
    }

    /// As `push`, but the commit need not build on `expected`: for the bot's own branches, which are
    /// written anew on the present base.
    ///
    /// # Errors
    /// As `push`.
    pub fn push_forced(
        &self,
        access: &Access,
        branch: &str,
        commit: &Sha,
        expected: Option<&Sha>,
    ) -> Result<Pushed, GitError> {
        self.send(access, branch, commit, expected, false)
    }

    fn send(
        &self,
        access: &Access,
        branch: &str,
        commit: &Sha,
        expected: Option<&Sha>,
        forward: bool,
    ) -> Result<Pushed, GitError> {
        let name = full(branch)?;
        let id = self.commit_at(commit)?.id();
        let wanted = expected.map(oid).transpose()?;
        // Another process of ours may have fetched since this one was opened, and moved the end of a shallow history.
        let repo = opened(self.repo.path()).map_err(|error| GitError::local("opening the cache", error.message()))?;
        let builds_on = match wanted {
            Some(wanted) if forward && wanted != id => repo.graph_descendant_of(id, wanted).unwrap_or(false),
            _ => true,
        };
        let session = Session::new(access, self.limits)?;
        let talk = Talk::default();
        let result = session.during(|| {
            let mut remote = repo.remote_anonymous(ADDRESS)?;
            let mut options = PushOptions::new();
            options.remote_callbacks(talk.callbacks(id, wanted, builds_on)).packbuilder_parallelism(1);
            // Always with `+`: the comparison is ours, in the callback, where the server's word is seen.
            remote.push(&[format!("+{id}:{name}")], Some(&mut options))
        });
        let talk = talk.0.into_inner();
        let end = match (result, talk.stopped, talk.status) {
            (_, Some(stop), _) => Ok(stop),
            (Ok(()), None, Some(Ok(()))) => Ok(Pushed::Done),
            (Ok(()), None, Some(Err(status))) => {
                let why = session.clean(&joined(&status, &talk.words));
                self.settle(access, branch, id, wanted, Ok(why))
            }
            (Ok(()), None, None) => {
                let silent = GitError::malformed(session.url(), "it took the push and said nothing about the branch");
                self.settle(access, branch, id, wanted, Err(silent))
            }
            (Err(error), None, _) if session.pack_sent() => {
                self.settle(access, branch, id, wanted, Err(session.explain(&error)))
            }
            (Err(error), None, _) => Err(session.explain(&error)),
        }?;
        if end == Pushed::Done {
            self.remember(branch, Some(id)).map_err(|error| GitError::local("noting a push", error.message()))?;
        }
        Ok(end)
    }

    /// Looks at the server after a push that was refused or whose answer was lost.
    fn settle(
        &self,
        access: &Access,
        branch: &str,
        id: Oid,
        expected: Option<Oid>,
        refusal: Result<String, GitError>,
    ) -> Result<Pushed, GitError> {
        match (self.tip(access, branch), refusal) {
            (Ok(found), _) if found == Some(sha(id)) => Ok(Pushed::Done),
            (Ok(found), _) if found != expected.map(sha) => Ok(Pushed::Moved { found }),
            (Ok(_) | Err(_), Ok(why)) => Ok(Pushed::Refused { why }),
            (Ok(_), Err(error)) => Err(error),
            (Err(second), Err(_)) => Err(GitError::Unreachable {
                url: access.url.clone(),
                why: format!("it broke off during a push to {branch}, whose outcome is unknown ({second})"),
            }),
        }
    }

    /// Keeps a local reference, from which the next fetch tells the server what is here. Its name is
    /// a hash: `a` that is gone must not stand in the way of `a/b`.
    fn remember(&self, branch: &str, id: Option<Oid>) -> Result<(), git2::Error> {
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

/// What was heard during one push.
#[derive(Default)]
struct Talk(RefCell<Heard>);

#[derive(Default)]
struct Heard {
    stopped: Option<Pushed>,
    status: Option<Result<(), String>>,
    words: Vec<u8>,
}

impl Talk {
    fn callbacks(&self, id: Oid, expected: Option<Oid>, builds_on: bool) -> RemoteCallbacks<'_> {
        let mut callbacks = RemoteCallbacks::new();
        callbacks.push_negotiation(move |updates| {
            let Some(update) = updates.first() else { return Ok(()) };
            let found = Some(update.src()).filter(|found| !found.is_zero());
            let stop = if found == Some(id) {
                Pushed::Done
            } else if found != expected || !builds_on {
                Pushed::Moved { found: found.map(sha) }
            } else {
                return Ok(());
            };
            self.0.borrow_mut().stopped = Some(stop);
            Err(git2::Error::from_str("the branch is not where it was expected"))
        });
        callbacks.push_update_reference(move |_, status| {
            self.0.borrow_mut().status = Some(status.map_or(Ok(()), |why| Err(why.to_string())));
            Ok(())
        });
        callbacks.sideband_progress(move |words| {
            let heard = &mut self.0.borrow_mut().words;
            let room = MAX_WORDS.saturating_sub(heard.len());
            heard.extend_from_slice(&words[..words.len().min(room)]);
            true
        });
        callbacks
    }
}

fn head(heads: &[git2::RemoteHead<'_>], name: &str) -> Option<Oid> {
    heads.iter().find(|head| head.name() == name).map(git2::RemoteHead::oid)
}

fn full(branch: &str) -> Result<String, GitError> {
    let name = format!("refs/heads/{branch}");
    if branch.len() > 200 || branch.starts_with('-') || !git2::Reference::is_valid_name(&name) {
        return Err(GitError::malformed(format!("branch `{}`", one_line(branch, 200)), "git takes no such name"));
    }
    Ok(name)
}

fn joined(status: &str, words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    if words.trim().is_empty() { status.to_string() } else { format!("{status}: {}", words.trim()) }
}

#[cfg(test)]
mod tests;
