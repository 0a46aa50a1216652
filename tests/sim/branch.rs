//! The ledger branch: it moves by fast-forward only, until somebody rolls it back.

use std::collections::BTreeSet;

use decide::Sha;
use decide::ledger::Ledger;

use crate::check::Kept;

/// Older pushes are not kept: nobody rolls back further.
const DEPTH: usize = 40;

/// One push, with what the checkers could know by then.
#[derive(Clone)]
pub struct Push {
    pub id: u64,
    pub ledger: Ledger,
    pub kept: Kept,
}

/// The branch at the hub.
#[derive(Default)]
pub struct Branch {
    pushes: Vec<Push>,
    ids: u64,
    /// Pushes that a commit of the bot names.
    cited: BTreeSet<u64>,
    /// What somebody else put on top, with its name.
    foreign: Option<(u64, Ledger)>,
    gone: BTreeSet<u64>,
}

/// Somebody else moved the branch first.
#[derive(Debug)]
pub struct Fenced;

impl Branch {
    pub fn tip(&self) -> Option<&Push> {
        self.pushes.last()
    }

    pub fn tip_id(&self) -> Option<u64> {
        self.foreign.as_ref().map(|(id, _)| *id).or(self.tip().map(|push| push.id))
    }

    /// Somebody else pushes a ledger of his own.
    pub fn forge(&mut self, ledger: Ledger) {
        self.ids += 1;
        self.foreign = Some((self.ids, ledger));
    }

    /// Somebody puts the branch back to the bot's last push.
    pub fn mend(&mut self) {
        self.foreign = None;
    }

    /// What somebody else wrote, where that lies on top.
    pub fn foreign(&self) -> Option<&Ledger> {
        self.foreign.as_ref().map(|(_, ledger)| ledger)
    }

    pub fn push(&mut self, onto: Option<u64>, ledger: Ledger, kept: Kept) -> Result<u64, Fenced> {
        if self.tip_id() != onto {
            return Err(Fenced);
        }
        self.ids += 1;
        self.pushes.push(Push { id: self.ids, ledger, kept });
        if self.pushes.len() > 2 * DEPTH {
            self.pushes.drain(..DEPTH);
        }
        Ok(self.ids)
    }

    pub fn cite_tip(&mut self) {
        self.cited.extend(self.tip().map(|push| push.id));
    }

    /// Takes the newest pushes away, or the whole branch when there are no more.
    pub fn lose(&mut self, pushes: usize) {
        self.foreign = None;
        let from = self.pushes.len().saturating_sub(pushes);
        self.gone.extend(self.pushes.drain(from..).map(|push| push.id));
    }

    /// Cited pushes that are gone and that nobody gave up.
    pub fn lost(&self) -> Vec<Sha> {
        let given_up: Vec<&Sha> =
            self.tip().into_iter().flat_map(|push| &push.ledger.rebuilds).map(|given| &given.cited).collect();
        let lost = self.cited.intersection(&self.gone).map(|id| sha(*id));
        lost.filter(|sha| !given_up.contains(&sha)).collect()
    }

    pub fn tip_sha(&self) -> Option<Sha> {
        self.tip().map(|push| sha(push.id))
    }
}

/// Commits of the ledger are no commits of the repository: a word about one of them must not name the other, too.
fn sha(id: u64) -> Sha {
    Sha::new(format!("{:07x}{:033x}", 0x1ed_0000 + id, 0x1ed6e5))
}
