//! What a story says once it is read: who and what there is, what happens when, and what is expected.

use std::collections::{BTreeMap, BTreeSet};

use decide::selector::Labels;
use decide::snapshot::{CheckState, Cluster, CommandKind};
use decide::{ClusterName, Person, PluginName, TierName, Version};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::words::Place;
use crate::policy::Loaded;
use crate::rehearse::fleet::Condition;
use crate::rehearse::workflows::Ending;

/// A story that was read.
#[derive(Debug)]
pub(crate) struct Story {
    /// What it is about, in a few words.
    pub title: String,
    /// The zone in which its times are written and told.
    pub zone: TimeZone,
    /// The policy at the beginning.
    pub policy: Loaded,
    /// The clusters at the beginning.
    pub clusters: Vec<Cluster>,
    /// What runs everywhere at the beginning; a plugin without a version runs nowhere yet.
    pub running: BTreeMap<PluginName, Option<Version>>,
    /// Who there is.
    pub people: People,
    /// How long a cluster takes from a change of the base branch until it is healthy.
    pub rollout: SignedDuration,
    /// What happens and what is expected then, in order.
    pub lines: Vec<Line>,
    /// What must not happen at any time.
    pub never: Vec<(Place, Deed)>,
}

/// The people of a story.
#[derive(Clone, Debug, Default)]
pub(crate) struct People {
    /// Owners of every path.
    pub owners: BTreeSet<Person>,
    /// Owners of the paths of one tier, instead of the others.
    pub owners_of: BTreeMap<TierName, BTreeSet<Person>>,
    /// Who may write and owns nothing.
    pub writers: BTreeSet<Person>,
    /// Who may only read.
    pub strangers: BTreeSet<Person>,
    /// Who administers the repository.
    pub admins: BTreeSet<Person>,
}

impl People {
    /// Everybody.
    pub fn all(&self) -> BTreeSet<&Person> {
        let of_tiers = self.owners_of.values().flatten();
        self.owners.iter().chain(of_tiers).chain(&self.writers).chain(&self.strangers).chain(&self.admins).collect()
    }

    /// Who owns the paths of a tier.
    pub fn owners_on(&self, tier: &TierName) -> &BTreeSet<Person> {
        self.owners_of.get(tier).unwrap_or(&self.owners)
    }
}

/// One line of a story.
#[derive(Debug)]
pub(crate) struct Line {
    /// When.
    pub at: Timestamp,
    /// Where it stands.
    pub place: Place,
    /// As it was written, without its time.
    pub text: String,
    /// What it says.
    pub what: What,
}

/// What a line says.
#[derive(Debug)]
pub(crate) enum What {
    /// Something happens.
    Event(Event),
    /// Something must be so now.
    Expect(Expect),
    /// Nothing: the story goes on until here.
    End,
}

/// Clusters that a line speaks of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// One.
    Cluster(ClusterName),
    /// Those of a tier.
    Tier(TierName),
}

/// Something that happens.
#[derive(Debug)]
pub(crate) enum Event {
    /// A release appears at the source.
    Release { plugin: PluginName, version: Version, marks: Marks },
    /// The source does not list a release any more.
    Yank { plugin: PluginName, version: Version },
    /// The same version appears with other content.
    Republish { plugin: PluginName, version: Version },
    /// A person does something at the open pull request of a plugin on a tier.
    AtPull { who: Person, plugin: PluginName, tier: TierName, act: PullAct },
    /// A person says that the migration notes were read.
    Acknowledge { who: Person, plugin: PluginName, version: Version },
    /// From now on a person approves each new head of each pull request, so long after it was written.
    ApproveAll { who: Person, after: SignedDuration },
    /// From now on a person acknowledges whatever is proposed.
    AcknowledgeAll { who: Person },
    /// A person writes a version to the base branch, past every pull request.
    Commit { plugin: PluginName, version: Version, tier: TierName },
    /// A person writes a range to the base branch, where a version belongs.
    CommitRange { plugin: PluginName, range: String, tier: TierName },
    /// A person writes a freeze into the policy file.
    Freeze { who: Person, tiers: Vec<TierName>, plugins: Vec<PluginName>, why: String },
    /// A person takes every freeze out of the policy file.
    Thaw,
    /// Something happens to clusters.
    Clusters { which: Subject, what: ClusterEvent },
    /// A cluster joins the inventory.
    Join { cluster: ClusterName, labels: Labels },
    /// A cluster leaves it.
    Leave { cluster: ClusterName },
    /// The hub answers nothing, or answers again.
    Hub { answers: bool },
    /// Branch rules ask for a review of each pull request.
    ReviewsAsked,
    /// There is no second App that branch rules let pass without a review.
    NobodyBypasses,
    /// A required check of the open pull request of a plugin on a tier.
    Check { name: String, state: CheckState, plugin: PluginName, tier: TierName },
    /// A check of the commit that released a version.
    ReleaseCheck { name: String, state: CheckState, plugin: PluginName, version: Version },
    /// The runs of a workflow end like this.
    Workflow { file: String, ending: Ending },
    /// The ledger branch.
    Ledger(LedgerEvent),
    /// The bot's clock runs ahead of the hub's by so much.
    Clock { ahead: SignedDuration },
    /// The policy file is another one.
    Policy(Box<Loaded>),
    /// The newest policy file cannot be read.
    PolicyBroken { why: String },
}

/// What a release says of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// Its author marks it as breaking, in these words.
    pub breaking: Option<String>,
    /// It has the content of this version.
    pub same_as: Option<Version>,
}

/// What happens to the ledger branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LedgerEvent {
    /// Others than the bots can push it.
    Open,
    /// Only the bots can.
    Sealed,
    /// It loses its last commit.
    Lost,
}

/// What a person does at a pull request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PullAct {
    Approve,
    RequestChanges,
    Close,
    Merge,
    Push,
    Hold {
        why: String,
    },
    Resume,
    Fail {
        why: String,
    },
    /// A command, word for word.
    Comment {
        what: CommandKind,
    },
    Draft {
        draft: bool,
    },
    Rebuild,
}

/// What happens to a cluster.
#[derive(Clone, Debug)]
pub(crate) enum ClusterEvent {
    /// What runs there of a plugin changes state.
    Turn { plugin: PluginName, to: Condition, why: String },
    /// Everything is healthy again.
    Mend { plugin: Option<PluginName> },
    /// Whenever this version gets there, it ends like this.
    Fate { plugin: PluginName, version: Version, ends: Condition, why: String },
    /// It does not answer.
    Vanish,
    /// It answers again.
    Return,
    /// Its config lacks, or has, a value that a release requires.
    Value { plugin: PluginName, version: Version, option: String, lacks: bool },
    /// From now on it runs other content under the versions of a plugin.
    OtherContent { plugin: PluginName },
    /// From now on it takes so long to follow the base branch.
    Pace { takes: SignedDuration },
}

/// Something that the bot does with a release on a tier.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deed {
    pub tier: TierName,
    pub verb: Verb,
    pub plugin: PluginName,
    pub version: Version,
}

/// What is done with a release on a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    /// Its pull request was opened, or moved to it.
    Opened,
    /// It was merged, by whomever.
    Merged,
    /// It was merged without the missing approvals.
    Forced,
    /// It finished the tier.
    Finished,
    /// It failed there.
    Failed,
}

/// Something that must be so at a time.
#[derive(Debug)]
pub(crate) enum Expect {
    /// The base branch of a tier, or a cluster, has this version.
    Runs { which: Subject, plugin: PluginName, version: Version },
    /// Something has been done by now.
    Done(Deed),
    /// Something has not been done by now.
    NotDone(Deed),
    /// The present wave of a tier is in this state.
    State { plugin: PluginName, tier: TierName, word: StateWord },
    /// A gate of the present wave does not let it through and says this.
    Says { plugin: PluginName, tier: TierName, words: String },
    /// So many things have happened by now.
    Count { what: Counted, count: usize },
}

/// A state of a wave, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateWord {
    Idle,
    Waiting,
    Open,
    RollingOut,
    Soaking,
    Paused,
    Finished,
    Failed,
    Rejected,
    Superseded,
    Withdrawn,
}

/// What can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    PullRequests,
    Merges,
    ForcedMerges,
    Notices,
}
