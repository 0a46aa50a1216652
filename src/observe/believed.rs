//! Whether the ledger can be believed: fetched anew, sealed, and holding every commit that our pull requests cite. What
//! follows from it is decided in `decide`.

use decide::Sha;
use decide::snapshot::{LedgerGuard, LedgerState, Read};
use jiff::Timestamp;

use super::pulls;
use crate::git::{Access, Store};
use crate::hub::HubPull;
use crate::ledger::{Branch, LedgerError};
use crate::rooms::Rooms;
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

/// Reads the ledger branch anew and holds it against what is cited.
pub async fn ledger_state(rooms: &mut Rooms, page: &[HubPull]) -> LedgerState {
    // A commit that could not be read may cite what is lost.
    if let Some(Read::Unread(why)) = page.iter().map(|pull| &pull.message).find(|message| message.known().is_none()) {
        return LedgerState::Unread(format!("what a pull request cites: {why}"));
    }
    let citation = |pull: &HubPull| {
        Some(Citation { at: pull.opened_at, cited: pulls::trailers(pull).ledger?, head: pull.head.clone() })
    };
    let mut citations: Vec<Citation> = page.iter().filter_map(citation).collect();
    citations.sort_by(|a, b| (a.at, &a.cited).cmp(&(b.at, &b.cited)));
    let seal = rooms.seal.clone();
    let looked = rooms
        .with_ledger(move |branch, store, access| {
            branch.reload(store, access)?;
            Ok((lost(branch, store, access, &seal, &citations)?, branch.tip().cloned()))
        })
        .await;
    match looked {
        Err(error) => LedgerState::Unread(format!("{error:#}")),
        Ok((lost, tip)) if !lost.is_empty() => LedgerState::Lost { cited: lost, tip },
        Ok(_) => LedgerState::Intact { guarded: guard(rooms) },
    }
}

/// The cited commits that the branch does not hold, and the newest that this process has seen on it.
fn lost(
    branch: &Branch,
    store: &Store,
    access: &Access,
    seal: &Seal,
    citations: &[Citation],
) -> Result<Vec<Sha>, LedgerError> {
    let mut lost: Vec<Sha> = Vec::new();
    for Citation { cited, head, .. } in citations {
        let fresh = !lost.contains(cited) && branch.missing(store, std::slice::from_ref(cited))?.is_some();
        if fresh && may_cite(store, access, seal, head)? {
            lost.push(cited.clone());
        }
    }
    let known = branch.known().filter(|known| !lost.contains(known)).cloned();
    if let Some(known) = known
        && branch.missing(store, std::slice::from_ref(&known))?.is_some()
    {
        lost.push(known);
    }
    Ok(lost)
}

/// Whether a head is ours: who pushes to our branch may write what he likes into a trailer. Where nothing is sealed
/// every head may be.
fn may_cite(store: &Store, access: &Access, seal: &Seal, head: &Sha) -> Result<bool, LedgerError> {
    // One that cannot be had may be ours.
    if !seal.is_there() || !store.fetch_commit(access, head)? {
        return Ok(true);
    }
    Ok(seal.is_on(Kind::Promotion, &store.raw(head)?))
}

/// Whether others could write the branch unnoticed.
fn guard(rooms: &Rooms) -> LedgerGuard {
    if rooms.hub.is_workflow_token() {
        let why = "with the token of a workflow every workflow of the repository is the bot; give it an App";
        return LedgerGuard::Open(why.to_string());
    }
    if !rooms.seal.is_there() {
        let why = "the bot runs with a plain token and no ledger key, so its commits carry no seal";
        return LedgerGuard::Open(why.to_string());
    }
    LedgerGuard::Sealed
}
