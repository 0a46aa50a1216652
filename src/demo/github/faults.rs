//! What goes wrong on purpose. Each fault is one that the real hub is known for; the tests set it,
//! the request that meets it uses it up.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// All faults of one world; the default is a hub that works.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Webhooks on their way out.
    pub webhooks: Webhooks,
    /// What the next merges meet, in order.
    pub merges: VecDeque<MergeFault>,
    /// What every merge of a pull request from one of these branches meets.
    pub always: BTreeMap<String, MergeFault>,
    /// Merges of pull requests from these branches are refused for ever with 405 and these words.
    pub never_merges: BTreeMap<String, String>,
    /// What the next creations (pull requests, comments, check runs, refs by REST) meet, in order.
    pub creations: VecDeque<CreateFault>,
    /// New pull requests stay out of lists and GraphQL connections, and answer 404, for so long; new comments stay out of
    /// GraphQL connections, moves of branches out of the list of activities.
    pub list_lag: Duration,
    /// One of so many reads of a repository, by REST or by GraphQL, answers 404 although the thing exists; 0 = never.
    /// Which ones follows no rhythm: who asks for the same things in the same order does not lose the same one for ever.
    pub not_found_every: u64,
    /// So many reads of a pull request see `mergeable` as not yet known.
    pub mergeable_unknown_reads: u32,
    /// The hourly budget is used up: 403 with `x-ratelimit-remaining: 0` (GraphQL: 200 with an error).
    pub rate_limit_exhausted: bool,
    /// How soon the budget starts anew, as the hub says while it is used up; none = within its hour.
    pub resets_in: Option<Duration>,
    /// The next so many requests meet the secondary limit: 403 with `retry-after` of so many seconds.
    pub secondary_limit: Option<(u32, u32)>,
    /// Limits hold for the tokens of this installation alone; none = for everybody.
    pub limited_installation: Option<u64>,
    /// Whatever has to do with this installation is answered so much later.
    pub slow_installation: Option<(u64, Duration)>,
    /// Requests that a limit refused so far.
    pub refused: u64,
    /// Whatever has to do with this installation is answered with 500.
    pub broken_installation: Option<u64>,
    /// Reads of repositories so far.
    pub reads: u64,
}

/// Faults of webhooks. Lost ones stay lost: the hub does not send twice by itself.
#[derive(Clone, Debug, Default)]
pub struct Webhooks {
    /// None leaves.
    pub drop_all: bool,
    /// The next so many are lost.
    pub drop_next: u32,
    /// Each is sent so many times more, with the same delivery id.
    pub duplicates: u32,
    /// Each leaves so much later.
    pub delay: Duration,
    /// Every second one waits twice the delay plus this, so that order changes.
    pub shuffle: Duration,
}

/// What a merge meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeFault {
    /// 500, and nothing happened.
    ErrorBefore,
    /// 500, although it was merged.
    ErrorAfter,
    /// 500; the base branch has the merge commit, the pull request stays open.
    BranchMergedPullOpen,
    /// Somebody pushes to the head inside the call: the sha does not match any more.
    HeadMoves,
    /// 405 "Base branch was modified", and nothing happened.
    BaseModified,
    /// `merged: true`, but the base got the content of the base before.
    WrongContent,
    /// `merged: true`, and nothing happened.
    FalseYes,
    /// 409, and nothing happened: the head is where it was.
    HeadSaidToMove,
    /// `merged: true`, and another pull request was merged instead, with everything that belongs to it.
    Another,
}

/// What a creation meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateFault {
    /// 500, and nothing happened.
    ErrorBefore,
    /// 500, although it was created.
    ErrorAfter,
}

impl Faults {
    /// Counts a read, and says whether it is to be answered with a wrong 404.
    pub fn lose_read(&mut self) -> bool {
        self.reads += 1;
        self.not_found_every > 0 && scattered(self.reads).is_multiple_of(self.not_found_every)
    }

    /// Counts a read of `mergeable`, and says whether it is not known yet.
    pub fn hide_mergeable(&mut self) -> bool {
        let hide = self.mergeable_unknown_reads > 0;
        self.mergeable_unknown_reads = self.mergeable_unknown_reads.saturating_sub(1);
        hide
    }
}

/// A number without any rhythm in what it is made of (the finalizer of SplitMix64). A product alone has one: at every so
/// many reads it moves by the same amount, and may stay a multiple of the same number for dozens of them.
fn scattered(count: u64) -> u64 {
    let mut mixed = count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pass that asks for so many things loses now this one and now that one.
    #[test]
    fn no_rhythm_loses_the_same_thing_again_and_again() {
        for pass in 1..200 {
            let mut faults = Faults { not_found_every: 7, ..Faults::default() };
            let lost: Vec<bool> = (0..pass * 60).map(|_| faults.lose_read()).collect();
            for thing in 0..pass {
                let in_a_row = lost[thing..].iter().step_by(pass).take_while(|lost| **lost).count();
                assert!(in_a_row < 8, "thing {thing} of {pass} is lost in {in_a_row} passes");
            }
        }
    }

    #[test]
    fn faults_are_used_up() {
        let mut faults = Faults { not_found_every: 3, mergeable_unknown_reads: 2, ..Faults::default() };
        let lost = (0..300).filter(|_| faults.lose_read()).count();
        assert!((80..120).contains(&lost), "{lost}");
        assert_eq!((0..3).map(|_| faults.hide_mergeable()).collect::<Vec<_>>(), [true, true, false]);
        assert!(!Faults::default().lose_read());
    }
}
