//! What the line works with for one repository, and what it remembers of what it did. What is done with it is in `tick`.

use std::collections::{BTreeMap, BTreeSet};

use decide::ledger::Outage;
use decide::{PluginName, PullNumber, Sha, TierName};
use jiff::{SignedDuration, Timestamp};

use crate::hub::WordId;
use crate::observe::Context;

/// A text that tells nothing urgent is written so seldom at most.
const SELDOM: SignedDuration = SignedDuration::from_mins(5);

/// One repository's line.
pub struct Line {
    /// What it is observed with.
    pub context: Context,
    /// What was done, as far as lists may not show it yet, or people were told of it.
    pub memory: Memory,
}

/// What was done before. Losing it costs calls, never correctness.
#[derive(Default)]
pub struct Memory {
    /// How many looks there were.
    pub looks: u64,
    /// Since when the hub has not answered.
    pub silent: Option<Timestamp>,
    /// Outages that are over and not yet in the ledger.
    pub outages: Vec<Outage>,
    /// What the commits of open pull requests change, for people.
    pub changes: super::changes::Told,
    /// What people have to do for them.
    pub tasks: super::tasks::Known,
    /// What was last told of each pull request that could not wait, and when its texts were written.
    pub published: BTreeMap<PullNumber, (String, Timestamp)>,
    /// The dashboard issue.
    pub dashboard: super::dashboard::Dashboard,
    /// How far people were told.
    pub telling: super::notify::Telling,
    /// What was said last of a repository without a policy.
    pub offered: Option<String>,
    /// What was said of pull requests of others.
    pub others: super::other_pulls::Told,
    /// What was said of merge groups.
    pub groups: super::groups::Told,
    /// Comments that were reacted to, and reviews that were answered.
    pub answered: BTreeSet<WordId>,
    /// Why what is planned to be opened was refused, when that was tried last.
    pub refused: BTreeMap<(PluginName, TierName), String>,
    /// Pull requests that were opened, by branch: lists may not show them for a while.
    pub opened: BTreeMap<String, Opened>,
}

/// A pull request that the hub said to have opened.
pub struct Opened {
    /// Its number.
    pub number: PullNumber,
    /// The head that it was opened with.
    pub head: Sha,
    /// When.
    pub at: Timestamp,
}

impl Line {
    /// That of a repository for which nothing was done yet.
    pub fn new(context: Context) -> Self {
        Self { context, memory: Memory::default() }
    }

    /// How long a text waits that tells nothing urgent.
    pub(super) fn seldom(&self) -> SignedDuration {
        SELDOM.min(self.context.look_again * 10)
    }
}
