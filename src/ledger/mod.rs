//! The branch that remembers what leaves no trace elsewhere. It only moves forward, which is the fence between two
//! bots: who did not see the newest commit cannot add one; and each commit is sealed, so that nobody else can add one
//! that is believed. What an entry changes is in `decide::ledger`; how bytes travel is in `git`.

pub(crate) mod compact;
mod message;
pub mod pages;
#[cfg(test)]
mod tests;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use decide::ledger::Change;
use decide::plan::{Record, Urgency};
use decide::sentence::replaces;
use decide::{Entry, Ledger, Sha};
use jiff::{SignedDuration, Timestamp};

use crate::git::{Access, Author, Draft, GitError, Pushed, Store};
use crate::seal::{self, Kind, Seal};

use crate::branches::LEDGER;

/// Progress waits this long for a transition that takes it along.
const PATIENCE: SignedDuration = SignedDuration::from_mins(15);

/// Why the ledger could not be read or written. Nothing may merge then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// Git did not work.
    #[error("the ledger branch: {0}")]
    Git(#[from] GitError),
    /// Another version of Coldframe wrote it.
    #[error("the ledger branch has format {found}, this Coldframe knows {known}; run the newer Coldframe")]
    Format {
        /// The number on the branch.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// A file of the branch is not what it must be.
    #[error("`{file}` on the ledger branch: {why}")]
    Broken {
        /// The file.
        file: String,
        /// What is wrong, with line and column where known.
        why: String,
    },
    /// Somebody else wrote its newest commit.
    #[error("its newest commit {} is not sealed by this bot, so somebody else wrote it; {}", tip.short(), way_back(last.as_ref()))]
    Foreign {
        /// That commit.
        tip: Sha,
        /// The newest one that is known to be ours, when there is one.
        last: Option<Sha>,
    },
    /// Its commits are sealed, and we have no key.
    #[error("it is sealed by a bot that has a key, and this one has none; run one of them, or give both the same key")]
    Keyless,
    /// The server does not let us push the branch.
    #[error("the hub refuses the push of the ledger branch: {why}; let the bot push `{LEDGER}` past its branch rules")]
    Refused {
        /// In the server's words, as data.
        why: String,
    },
}

impl LedgerError {
    /// What git said, where it is git that did not work.
    pub fn of_git(&self) -> Option<&GitError> {
        if let Self::Git(error) = self { Some(error) } else { None }
    }
}

/// The ledger as a commit of the branch has it.
///
/// # Errors
/// When the commit is not on disk, or holds what is not understood.
pub fn at(store: &Store, commit: &Sha) -> Result<Ledger, LedgerError> {
    pages::read(store, commit)
}

/// How the branch becomes one again that is believed.
fn way_back(last: Option<&Sha>) -> String {
    match last {
        Some(last) => {
            let back = format!("git fetch origin {last} && git push --force origin {last}:{LEDGER}");
            format!("look at what it changed, and move the branch back: {back}")
        }
        None => format!("none of them is; delete the branch to begin anew: git push origin --delete {LEDGER}"),
    }
}

/// What became of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    /// They change nothing.
    Nothing,
    /// Progress, kept in memory until the next push.
    Waiting,
    /// They are on the branch.
    Pushed {
        /// The commit that holds them.
        tip: Sha,
    },
    /// Somebody else moved the branch. Nothing was written and memory is as before: `reload` and
    /// decide again.
    Fenced,
}

/// The ledger in memory, with the commit it was read from.
pub struct Branch {
    author: Author,
    seal: Seal,
    writer: String,
    tip: Option<Sha>,
    /// The newest commit that this process has believed, wherever the branch is now.
    known: Option<Sha>,
    pushed_at: Option<Timestamp>,
    stored: Ledger,
    pending: Vec<Entry>,
    ledger: Ledger,
}

impl Branch {
    /// Reads the branch; an absent one is an empty ledger. `author` is who its commits say wrote them, `seal` what
    /// proves it.
    ///
    /// # Errors
    /// When it cannot be fetched, has a format of another number, or holds what is not understood.
    pub fn load(store: &Store, access: &Access, author: Author, seal: Seal) -> Result<Self, LedgerError> {
        let mut branch = Self {
            author,
            seal,
            // Random in each process; two writers never make the same commit.
            writer: format!("{:016x}", RandomState::new().build_hasher().finish()),
            tip: None,
            known: None,
            pushed_at: None,
            stored: Ledger::default(),
            pending: Vec::new(),
            ledger: Ledger::default(),
        };
        branch.reload(store, access)?;
        Ok(branch)
    }

    /// Reads the branch again. Progress in memory is kept where it still applies: the branch only
    /// moved forward, the wave is not over, and nobody recorded more of it.
    ///
    /// # Errors
    /// As `load`; memory is then as before.
    pub fn reload(&mut self, store: &Store, access: &Access) -> Result<(), LedgerError> {
        let tip = store.fetch(access, LEDGER, None)?;
        if tip == self.tip {
            return Ok(());
        }
        tip.as_ref().map_or(Ok(()), |tip| self.believe(store, tip))?;
        let (stored, pushed_at) = match &tip {
            Some(tip) => (pages::read(store, tip)?, Some(store.time(tip)?)),
            None => (Ledger::default(), None),
        };
        let forward = match (&self.tip, &tip) {
            (Some(old), Some(new)) => store.contains(new, old)?,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        let pending = if forward { std::mem::take(&mut self.pending) } else { Vec::new() };
        let mut ledger = stored.clone();
        self.pending = pending.into_iter().filter(|entry| holds(&ledger, entry)).collect();
        self.pending.retain(|entry| apply(&mut ledger, entry));
        if forward {
            self.known.clone_from(&tip);
        }
        (self.tip, self.pushed_at, self.stored, self.ledger) = (tip, pushed_at, stored, ledger);
        Ok(())
    }

    /// Refuses a commit that is not ours. Its history is: whoever sealed it had seen what it builds on.
    fn believe(&self, store: &Store, tip: &Sha) -> Result<(), LedgerError> {
        let raw = store.raw(tip)?;
        match (self.seal.is_there(), self.seal.is_on(Kind::Ledger, &raw)) {
            (true, true) => Ok(()),
            (true, false) => {
                Err(LedgerError::Foreign { tip: tip.clone(), last: self.seal.newest(store, Kind::Ledger, tip) })
            }
            (false, _) if raw.message.contains(seal::TRAILER) => Err(LedgerError::Keyless),
            (false, _) => Ok(()),
        }
    }

    /// Whether a commit that somebody else wrote would be found out.
    pub fn is_sealed(&self) -> bool {
        self.seal.is_there()
    }

    /// The newest commit that this process has believed; the branch has lost it when it does not hold it any more.
    pub fn known(&self) -> Option<&Sha> {
        self.known.as_ref()
    }

    /// The newest commit that was read or written; none = the branch does not exist.
    pub fn tip(&self) -> Option<&Sha> {
        self.tip.as_ref()
    }

    /// The ledger, with the progress that waits in memory.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Remembers records. Transitions are pushed at once, all in one commit that takes waiting
    /// progress along; progress alone waits until fifteen minutes after the last push.
    ///
    /// # Errors
    /// When the push did not work; memory is then as before.
    pub fn append(
        &mut self,
        store: &Store,
        access: &Access,
        records: &[Record],
        now: Timestamp,
    ) -> Result<Appended, LedgerError> {
        let mut next = self.ledger.clone();
        let mut entries = self.pending.clone();
        let mut urgent = false;
        for record in records {
            if apply(&mut next, &record.entry) {
                urgent |= record.urgency == Urgency::Transition;
                entries.retain(|earlier| !replaces(&record.entry, earlier));
                entries.push(record.entry.clone());
            }
        }
        if entries.is_empty() {
            return Ok(Appended::Nothing);
        }
        // A clock that was set back must not make progress wait for long.
        let due = self.pushed_at.is_none_or(|at| at.duration_until(now).abs() >= PATIENCE);
        if urgent || due {
            return self.push(store, access, next, entries, now);
        }
        (self.pending, self.ledger) = (entries, next);
        Ok(Appended::Waiting)
    }

    /// Pushes the progress that waits; for a process that is about to end.
    ///
    /// # Errors
    /// As `append`.
    pub fn flush(&mut self, store: &Store, access: &Access, now: Timestamp) -> Result<Appended, LedgerError> {
        if self.pending.is_empty() {
            return Ok(Appended::Nothing);
        }
        self.push(store, access, self.ledger.clone(), self.pending.clone(), now)
    }

    /// The first of the commits cited by pull requests and promotion commits that the branch has
    /// lost; those that a person gave up are left out. Some = the ledger cannot be believed.
    ///
    /// # Errors
    /// When the branch's commits are not on disk.
    pub fn missing(&self, store: &Store, cited: &[Sha]) -> Result<Option<Sha>, LedgerError> {
        let given_up = |sha: &Sha| self.ledger.rebuilds.iter().any(|rebuild| rebuild.cited == *sha);
        let held: Vec<Sha> = cited.iter().filter(|sha| !given_up(sha)).cloned().collect();
        match &self.tip {
            Some(tip) => Ok(store.first_not_in(tip, &held)?),
            None => Ok(held.into_iter().next()),
        }
    }

    fn push(
        &mut self,
        store: &Store,
        access: &Access,
        next: Ledger,
        entries: Vec<Entry>,
        now: Timestamp,
    ) -> Result<Appended, LedgerError> {
        let mut files = pages::changed(&self.stored, &next, self.tip.is_none())?;
        if files.is_empty() {
            (self.pending, self.ledger) = (Vec::new(), next);
            return Ok(Appended::Nothing);
        }
        files.extend(pages::readme(store, self.tip.as_ref())?);
        let draft = Draft {
            parents: self.tip.iter().cloned().collect(),
            tree_of: self.tip.clone(),
            files,
            message: message::compose(&entries, &self.writer),
            author: self.author.clone(),
            at: now,
        };
        let (parents, seal) = (draft.parents.clone(), self.seal.clone());
        let commit = store.commit_with(&draft, |tree| seal.put(Kind::Ledger, tree, &parents, &draft.message))?;
        match store.push(access, LEDGER, &commit, self.tip.as_ref())? {
            Pushed::Done => {
                self.tip = Some(commit.clone());
                self.known = Some(commit.clone());
                self.pushed_at = Some(now);
                self.pending = Vec::new();
                self.stored = next.clone();
                self.ledger = next;
                Ok(Appended::Pushed { tip: commit })
            }
            Pushed::Moved { .. } => Ok(Appended::Fenced),
            Pushed::Refused { why } => Err(LedgerError::Refused { why }),
        }
    }
}

/// Writes an entry into a ledger as the branch would keep it; whether that changed anything.
fn apply(ledger: &mut Ledger, entry: &Entry) -> bool {
    match entry {
        Entry::Seen { plugin, .. }
        | Entry::Wave { plugin, .. }
        | Entry::Hotfix { plugin, .. }
        | Entry::Labelled { plugin, .. }
        | Entry::Unlabelled { plugin, .. } => {
            let before = ledger.plugins.get(plugin).cloned().unwrap_or_default();
            ledger.apply(entry);
            let page = ledger.plugins.entry(plugin.clone()).or_default();
            compact::page(page);
            let changed = *page != before;
            if *page == decide::PluginLedger::default() {
                ledger.plugins.remove(plugin);
            }
            changed
        }
        Entry::Outage(_) | Entry::Rebuilt(_) | Entry::Stopped(_) | Entry::Frozen(_) | Entry::Thawed(_) => {
            let root = |ledger: &Ledger| {
                let Ledger { outages, rebuilds, freezes, stops, plugins: _ } = ledger;
                (outages.clone(), rebuilds.clone(), freezes.clone(), stops.clone())
            };
            let before = root(ledger);
            ledger.apply(entry);
            compact::root(ledger);
            before != root(ledger)
        }
    }
}

/// Whether progress from before still says something about this ledger.
fn holds(ledger: &Ledger, entry: &Entry) -> bool {
    let Entry::Wave { plugin, tier, version, change: Change::Soaked(soaked) } = entry else { return true };
    let wave = ledger.plugins.get(plugin).and_then(|page| page.wave(tier, version));
    wave.is_some_and(|wave| {
        !wave.is_over() && wave.landed().is_some() && wave.soak.is_none_or(|kept| kept.until < soaked.until)
    })
}
