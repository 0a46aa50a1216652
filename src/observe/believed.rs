//! Whether the ledger can be believed: fetched anew, sealed, and holding every commit of it that is known: those that
//! our pull requests cite, the newest that this process has seen, and the newest that the hub has noted as ours. What
//! follows from it is decided in `decide`.

use decide::Sha;
use decide::snapshot::{LedgerGuard, LedgerState, Read};
use jiff::Timestamp;

use super::pulls;
use crate::git::{Access, GitError, Store};
use crate::hub::HubPull;
use crate::ledger::{self, Branch, LedgerError};
use crate::observe::context::Context;
use crate::seal::{Kind, Seal};

/// A commit of the ledger that the head of a pull request cites.
struct Citation {
    /// When the pull request was opened.
    at: Timestamp,
    /// Which ledger commit.
    cited: Sha,
    /// By which head.
    head: Sha,
}

/// What the branch has to hold, and what proves that it is to.
struct Known {
    citations: Vec<Citation>,
    /// Where the hub has noted that we moved the branch, newest first.
    moves: Vec<Sha>,
    seal: Seal,
}

/// Reads the ledger branch anew and holds it against what is known of it.
pub async fn ledger_state(context: &mut Context, page: &[HubPull]) -> LedgerState {
    // A commit that could not be read may cite what is lost.
    if let Some(Read::Unread(why)) = page.iter().map(|pull| &pull.message).find(|message| message.known().is_none()) {
        return LedgerState::Unread(format!("what a pull request cites: {why}"));
    }
    // Before the branch: what the hub has noted by now is on it.
    let moves = match context.memory.hub.ledger_moves(&context.repo.hub).await {
        Read::Known(moves) => moves,
        Read::Unread(why) => return LedgerState::Unread(format!("who moved it: {why}")),
    };
    let citation = |pull: &HubPull| {
        Some(Citation { at: pull.opened_at, cited: pulls::trailers(pull).ledger?, head: pull.head.clone() })
    };
    let mut citations: Vec<Citation> = page.iter().filter_map(citation).collect();
    citations.sort_by(|a, b| (a.at, &a.cited).cmp(&(b.at, &b.cited)));
    let known = std::sync::Arc::new(Known { citations, moves, seal: context.repo.seal.clone() });
    let held = std::sync::Arc::clone(&known);
    let looked = context
        .repo
        .with_ledger(move |branch, store, access| {
            branch.reload(store, access)?;
            Ok((held.lost(branch, store, access)?, branch.tip().cloned()))
        })
        .await;
    match looked {
        Err(error) => LedgerState::Unread(format!("{:#}", pointed(context, known, error).await)),
        Ok((lost, tip)) if !lost.is_empty() => {
            // No page says it while every tier is busy.
            let newest = lost.last().map_or("", Sha::as_str);
            tracing::warn!(repository = %context.repo.full_name(), %newest, "the ledger branch has lost what it held");
            context.memory.hub.forget_moves();
            LedgerState::Lost { cited: lost, tip }
        }
        Ok(_) => LedgerState::Intact { guarded: guard(context) },
    }
}

impl Known {
    /// The commits that the branch does not hold though it has to; the newest that is known comes last.
    fn lost(&self, branch: &Branch, store: &Store, access: &Access) -> Result<Vec<Sha>, LedgerError> {
        let mut lost: Vec<Sha> = Vec::new();
        let is_lost =
            |commit: &Sha| Ok::<_, LedgerError>(branch.missing(store, std::slice::from_ref(commit))?.is_some());
        for Citation { cited, head, .. } in &self.citations {
            if !lost.contains(cited) && is_lost(cited)? && self.may_cite(branch, store, access, head)? {
                lost.push(cited.clone());
            }
        }
        for commit in branch.known().cloned().into_iter().chain(self.anchor(store, access)?) {
            if !lost.contains(&commit) && is_lost(&commit)? {
                lost.push(commit);
            }
        }
        if let Some(newest) = newest(store, lost.clone()) {
            lost.retain(|commit| *commit != newest);
            lost.push(newest);
        }
        Ok(lost)
    }

    /// Whether a head is ours: who pushes to our branch may write what he likes into a trailer.
    fn may_cite(&self, branch: &Branch, store: &Store, access: &Access, head: &Sha) -> Result<bool, LedgerError> {
        if !self.seal.is_there() {
            let pages = branch.ledger().plugins.values();
            let mut waves = pages.flat_map(|page| page.tiers.values().flatten());
            return Ok(waves.any(|wave| wave.heads.iter().any(|known| known.commit == *head)));
        }
        // One that cannot be had may be ours.
        Ok(!store.fetch_commit(access, head)? || self.seal.is_on(Kind::Promotion, &store.raw(head)?))
    }

    /// The newest commit that the hub has noted as ours, and that is: where the token of a workflow is the bot, others
    /// push by our name, and what was pushed before there was a key proves nothing.
    fn anchor(&self, store: &Store, access: &Access) -> Result<Option<Sha>, GitError> {
        for commit in &self.moves {
            // One that cannot be had may be ours.
            let here = matches!(store.fetch_history(access, commit), Ok(true));
            if !here || !self.seal.is_there() || self.seal.is_on(Kind::Ledger, &store.raw(commit)?) {
                return Ok(Some(commit.clone()));
            }
        }
        Ok(None)
    }

    /// The newest commit of the branch that is known to be ours, wherever the branch is now; `last` is on it.
    fn best(
        &self,
        last: Option<Sha>,
        known: Option<Sha>,
        store: &Store,
        access: &Access,
    ) -> Result<Option<Sha>, GitError> {
        let given_up: Vec<Sha> = last.as_ref().map_or_else(Vec::new, |last| {
            let rebuilds = ledger::at(store, last).map(|ledger| ledger.rebuilds).unwrap_or_default();
            rebuilds.into_iter().map(|rebuild| rebuild.cited).collect()
        });
        let mut all: Vec<Sha> = last.into_iter().collect();
        for Citation { cited, head, .. } in &self.citations {
            let ours = store.fetch_commit(access, head)? && self.seal.is_on(Kind::Promotion, &store.raw(head)?);
            if ours && !given_up.contains(cited) {
                all.push(cited.clone());
            }
        }
        all.extend(known.into_iter().chain(self.anchor(store, access)?));
        Ok(newest(store, all))
    }
}

/// The last of these commits that none before it is known to descend from.
fn newest(store: &Store, commits: Vec<Sha>) -> Option<Sha> {
    let later = |best: Sha, next: Sha| match store.contains(&best, &next) {
        Ok(true) => best,
        Ok(false) | Err(_) => next,
    };
    commits.into_iter().reduce(later)
}

/// The same error, or where it says whereto the branch is to be moved back: never to less than is known.
async fn pointed(context: &Context, known: std::sync::Arc<Known>, error: anyhow::Error) -> anyhow::Error {
    let Some(LedgerError::Foreign { tip, last }) = error.downcast_ref::<LedgerError>().cloned() else { return error };
    let seen = context.repo.ledger.as_ref().and_then(|branch| branch.known().cloned());
    match context.repo.git(move |store, access| known.best(last, seen, store, access)).await {
        Ok(last) => LedgerError::Foreign { tip, last }.into(),
        // Better no advice than one that leads back to less than is known.
        Err(trouble) => trouble,
    }
}

/// Whether others could write the branch unnoticed.
fn guard(context: &Context) -> LedgerGuard {
    if context.repo.hub.is_workflow_token() {
        let why = "with the token of a workflow every workflow of the repository is the bot; give it an App";
        return LedgerGuard::Open(why.to_string());
    }
    if !context.repo.seal.is_there() {
        let why = "the bot runs with a plain token and no ledger key, so its commits carry no seal";
        return LedgerGuard::Open(why.to_string());
    }
    LedgerGuard::Sealed
}
