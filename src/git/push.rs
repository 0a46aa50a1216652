//! Pushing branches: several in one conversation, with an end for each. How the bytes travel is in `transport`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use decide::Sha;
use git2::{Oid, PushOptions, RemoteCallbacks, Repository};

use super::error::GitError;
use super::remote::{Access, full};
use super::store::{Store, oid, opened, sha};
use super::transport::ADDRESS;

/// What the server says beside the status of a push, at most.
const MAX_WORDS: usize = 8 << 10;

/// A branch that is to be at a commit, if it is where the caller believes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The branch.
    pub branch: String,
    /// Where it goes.
    pub commit: Sha,
    /// Where it is; none = it must not exist.
    pub expected: Option<Sha>,
}

/// How the push of a branch ended.
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
        self.push_one(access, (branch, commit, expected), true)
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
        self.push_one(access, (branch, commit, expected), false)
    }

    /// The same for branches with different names, in one conversation; the ends come in the order of the moves. One
    /// that moved or is refused keeps none of the others back.
    ///
    /// # Errors
    /// As `push`; some of the branches may have been moved then.
    pub fn push_all(&self, access: &Access, moves: &[Move]) -> Result<Vec<Pushed>, GitError> {
        let repo = self.afresh()?;
        let aims = moves.iter().map(|moved| Aim::of(self, &repo, moved, false)).collect::<Result<Vec<_>, _>>()?;
        let mut ends: BTreeMap<&str, Pushed> = BTreeMap::new();
        let mut together = true;
        loop {
            let left: Vec<&Aim<'_>> = aims.iter().filter(|aim| !ends.contains_key(aim.moved.branch.as_str())).collect();
            let some = if together { left.as_slice() } else { &left[..left.len().min(1)] };
            if some.is_empty() {
                break;
            }
            let round = self.send(access, &repo, some)?;
            // A hook may refuse all for the sake of one: each of those is tried by itself.
            together &= !round.refused_together;
            ends.extend(round.ends);
        }
        Ok(moves.iter().filter_map(|moved| ends.get(moved.branch.as_str()).cloned()).collect())
    }

    fn push_one(
        &self,
        access: &Access,
        (branch, commit, expected): (&str, &Sha, Option<&Sha>),
        forward: bool,
    ) -> Result<Pushed, GitError> {
        let repo = self.afresh()?;
        let moved = Move { branch: branch.to_string(), commit: commit.clone(), expected: expected.cloned() };
        let aim = Aim::of(self, &repo, &moved, forward)?;
        let end = self.send(access, &repo, &[&aim])?.ends.pop().map(|(_, end)| end);
        end.ok_or_else(|| GitError::local("pushing a branch", "it came to no end"))
    }

    /// Another process of ours may have fetched since this one was opened, and moved the end of a shallow history.
    fn afresh(&self) -> Result<Repository, GitError> {
        opened(self.repo.path()).map_err(|error| GitError::local("opening the cache", error.message()))
    }

    /// One conversation.
    fn send<'a>(&self, access: &Access, repo: &Repository, aims: &[&Aim<'a>]) -> Result<Round<'a>, GitError> {
        let session = self.session(access)?;
        let talk = Talk::default();
        let result = session.during(|| {
            let mut remote = repo.remote_anonymous(ADDRESS)?;
            let mut options = PushOptions::new();
            options.remote_callbacks(talk.callbacks(aims)).packbuilder_parallelism(1);
            // Always with `+`: the comparison is ours, in the callback, where the server's word is seen.
            let specs: Vec<String> = aims.iter().map(|aim| format!("+{}:{}", aim.id, aim.name)).collect();
            remote.push(&specs, Some(&mut options))
        });
        let Heard { stopped, statuses, words } = talk.0.into_inner();
        let failed = match result {
            Err(_) if !stopped.is_empty() => None,
            Err(error) if !session.pack_sent() => return Err(session.explain(&error)),
            Err(error) => Some(session.explain(&error)),
            Ok(()) => None,
        };
        let mut round = Round { ends: Vec::new(), refused_together: false };
        for aim in aims {
            let end = match (stopped.get(&aim.name), statuses.get(&aim.name)) {
                (Some(stop), _) => stop.clone(),
                // The others of a conversation that came to no push.
                (None, _) if !stopped.is_empty() => continue,
                (None, Some(Ok(()))) if failed.is_none() => Pushed::Done,
                (None, Some(Err(_))) if aims.len() > 1 => {
                    round.refused_together = true;
                    continue;
                }
                (None, Some(Err(status))) => self.settle(access, aim, Ok(session.clean(&joined(status, &words))))?,
                (None, Some(Ok(())) | None) => {
                    let silent =
                        || GitError::malformed(session.url(), "it took the push and said nothing of the branch");
                    self.settle(access, aim, Err(failed.clone().unwrap_or_else(silent)))?
                }
            };
            if end == Pushed::Done {
                let noted = self.remember(&aim.moved.branch, Some(aim.id));
                noted.map_err(|error| GitError::local("noting a push", error.message()))?;
            }
            round.ends.push((&aim.moved.branch, end));
        }
        Ok(round)
    }

    /// Looks at the server after a push that was refused or whose answer was lost.
    fn settle(&self, access: &Access, aim: &Aim<'_>, refusal: Result<String, GitError>) -> Result<Pushed, GitError> {
        let branch = &aim.moved.branch;
        match (self.tip(access, branch), refusal) {
            (Ok(found), _) if found == Some(sha(aim.id)) => Ok(Pushed::Done),
            (Ok(found), _) if found != aim.wanted.map(sha) => Ok(Pushed::Moved { found }),
            (Ok(_) | Err(_), Ok(why)) => Ok(Pushed::Refused { why }),
            (Ok(_), Err(error)) => Err(error),
            (Err(second), Err(_)) => Err(GitError::Unreachable {
                url: access.url.clone(),
                why: format!("it broke off during a push to {branch}, whose outcome is unknown ({second})"),
            }),
        }
    }
}

/// A move, in git's words.
struct Aim<'a> {
    moved: &'a Move,
    name: String,
    id: Oid,
    wanted: Option<Oid>,
    builds_on: bool,
}

impl<'a> Aim<'a> {
    fn of(store: &Store, repo: &Repository, moved: &'a Move, forward: bool) -> Result<Self, GitError> {
        let (name, id) = (full(&moved.branch)?, store.commit_at(&moved.commit)?.id());
        let wanted = moved.expected.as_ref().map(oid).transpose()?;
        let builds_on = match wanted {
            Some(wanted) if forward && wanted != id => repo.graph_descendant_of(id, wanted).unwrap_or(false),
            _ => true,
        };
        Ok(Self { moved, name, id, wanted, builds_on })
    }

    /// The end of a branch that is not pushed, as the server has it now.
    fn stop(&self, found: Option<Oid>) -> Option<Pushed> {
        if found == Some(self.id) {
            Some(Pushed::Done)
        } else if found != self.wanted || !self.builds_on {
            Some(Pushed::Moved { found: found.map(sha) })
        } else {
            None
        }
    }
}

/// What became of one conversation. A branch without an end has to be sent again.
struct Round<'a> {
    ends: Vec<(&'a str, Pushed)>,
    refused_together: bool,
}

/// What was heard during one push.
#[derive(Default)]
struct Talk(RefCell<Heard>);

#[derive(Default)]
struct Heard {
    /// By the full name of the branch, as all of these.
    stopped: BTreeMap<String, Pushed>,
    statuses: BTreeMap<String, Result<(), String>>,
    words: Vec<u8>,
}

impl Talk {
    fn callbacks<'a>(&'a self, aims: &'a [&'a Aim<'a>]) -> RemoteCallbacks<'a> {
        let mut callbacks = RemoteCallbacks::new();
        callbacks.push_negotiation(move |updates| {
            let stopped = &mut self.0.borrow_mut().stopped;
            for update in updates {
                let found = Some(update.src()).filter(|found| !found.is_zero());
                let aim = aims.iter().find(|aim| update.dst_refname().is_ok_and(|name| name == aim.name));
                stopped.extend(aim.and_then(|aim| Some((aim.name.clone(), aim.stop(found)?))));
            }
            if stopped.is_empty() {
                return Ok(());
            }
            Err(git2::Error::from_str("a branch is not where it was expected"))
        });
        callbacks.push_update_reference(move |name, status| {
            let status = status.map_or(Ok(()), |why| Err(why.to_string()));
            self.0.borrow_mut().statuses.insert(name.to_string(), status);
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

fn joined(status: &str, words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    if words.trim().is_empty() { status.to_string() } else { format!("{status}: {}", words.trim()) }
}

#[cfg(test)]
mod tests;
