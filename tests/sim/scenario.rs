//! What a world is made of before its first instant: policy, fleet, branch rules, and everything
//! that will happen to it. Nothing happens in here; how it is drawn from a seed is in `draw`.

use std::collections::{BTreeMap, BTreeSet};

use decide::model::{Policy, Tier};
use decide::snapshot::{Cluster, FreezeScope};
use decide::{ClusterName, PluginName, TierName};
use jiff::Timestamp;

use crate::first::Bare;
use crate::merges::{False, Hand};

/// A whole world before its first instant.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub seed: u64,
    pub policy: Policy,
    pub clusters: Vec<Cluster>,
    /// Plugins that have one file per cluster; the others have one per tier.
    pub per_cluster: BTreeSet<PluginName>,
    /// Plugins whose missing files a template makes, and who has none before the first instant.
    pub templated: BTreeSet<PluginName>,
    pub bare: Bare,
    /// Plugins whose clusters prove the digest of what they run.
    pub digests: BTreeSet<PluginName>,
    /// How releases of some plugins are spelled.
    pub spelled: BTreeMap<PluginName, Spelling>,
    pub rules: BranchRules,
    /// A second App may merge without a review.
    pub bypass: bool,
    /// Only bots can push the ledger branch.
    pub guarded: bool,
    /// Readings say since when.
    pub since_known: bool,
    /// Two processes run, each with its own memory of the ledger.
    pub replicas: bool,
    pub start: Timestamp,
    /// From here on nothing goes wrong any more; in safety mode the world ends here instead.
    pub calm: Timestamp,
    pub mode: Mode,
    /// In the calm releases come faster than they climb, for a while.
    pub storm: bool,
    pub happenings: Vec<(Timestamp, Happening)>,
    /// What goes wrong inside a tick, by the number of the tick.
    pub cuts: Vec<(u32, Cut)>,
    pub hand: Hand,
}

/// How the versions of a plugin are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spelling {
    /// With a leading `v`: this share of them.
    pub v: u64,
    /// With build metadata: this share of them.
    pub build: u64,
    /// Clusters append metadata of their own to what they say that they run, as Flux does.
    pub appended: bool,
}

/// What becomes of a world's troubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They last to the end; only what must never happen is checked.
    Safety,
    /// They end, people answer at once, a last good release comes out: it has to arrive.
    Answered,
    /// They end and nobody ever answers: what nobody is asked for has to arrive, the rest has to say
    /// whom it waits for.
    Silent,
}

/// What the base branch asks of a merge.
#[derive(Clone, Copy, Debug)]
pub struct BranchRules {
    pub review: bool,
    pub dismiss_stale: bool,
    pub check: bool,
    /// A head has to contain its base branch.
    pub strict: bool,
}

/// How a release behaves once it is rolled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    Good,
    /// Degraded on this tier of the ladder and above, after it looked healthy for a while.
    Degrades(usize),
    /// Degraded now and then on this tier and above, healthy between.
    Flaps(usize),
    /// Given up by its controller.
    Fails(usize),
    /// Never gets ready.
    Stuck(usize),
}

/// Something that happens to the world and that the bot did not do.
#[derive(Clone, Debug)]
pub enum Happening {
    Publish {
        plugin: PluginName,
        version: String,
        quality: Quality,
        marked_breaking: bool,
    },
    Retag {
        plugin: PluginName,
        version: String,
    },
    Yank {
        plugin: PluginName,
        version: String,
    },
    // people, at the pull request that is open for this plugin and tier, if there is one
    Review {
        plugin: PluginName,
        tier: TierName,
        what: Opinion,
    },
    Hold {
        plugin: PluginName,
        tier: TierName,
    },
    Resume {
        plugin: PluginName,
        tier: TierName,
    },
    Acknowledge {
        plugin: PluginName,
        tier: TierName,
        right: bool,
    },
    Close {
        plugin: PluginName,
        tier: TierName,
    },
    PushToBranch {
        plugin: PluginName,
        tier: TierName,
    },
    MergeByHand {
        plugin: PluginName,
        tier: TierName,
    },
    Draft {
        plugin: PluginName,
        tier: TierName,
        on: bool,
    },
    // people, at the base branch
    CommitByHand {
        plugin: PluginName,
        tier: TierName,
        back: bool,
    },
    Freeze {
        tier: Option<TierName>,
        hours: u64,
    },
    /// `/coldframe fail` on the newest pull request of a tier.
    Fail {
        plugin: PluginName,
        tier: TierName,
        allowed: bool,
    },
    /// The file names a release as a hotfix, with a soak of its own in minutes.
    Hotfix {
        plugin: PluginName,
        version: String,
        soak: Option<u64>,
        through: bool,
    },
    /// The file keeps a cluster on what it runs.
    Pin {
        plugin: PluginName,
        cluster: ClusterName,
        hours: u64,
    },
    /// Somebody writes a range where the bot writes versions, for a while.
    Range {
        plugin: PluginName,
        tier: TierName,
        hours: u64,
    },
    EditPolicy {
        tier: TierName,
        edit: Edit,
    },
    /// A tier's selector takes the next tier's clusters too, for a while.
    Overlap {
        tier: TierName,
        hours: u64,
    },
    BreakPolicy {
        hours: u64,
    },
    // of `rare`
    /// `/coldframe freeze …` on the newest pull request of a tier.
    FreezeByCommand {
        plugin: PluginName,
        tier: TierName,
        scope: FreezeScope,
        hours: Option<u64>,
        allowed: bool,
    },
    /// `/coldframe unfreeze` on it.
    UnfreezeByCommand {
        plugin: PluginName,
        tier: TierName,
        allowed: bool,
    },
    /// The file puts a cluster ahead of its tier.
    Early {
        plugin: PluginName,
        cluster: ClusterName,
        hours: Option<u64>,
    },
    /// The file says by when clusters leave versions below this one.
    Expire {
        plugin: PluginName,
        below: String,
        hours: u64,
    },
    /// The file narrows what is accepted, on one tier or on all, for a while.
    Constrain {
        plugin: PluginName,
        tier: Option<TierName>,
        hours: u64,
    },
    /// The first tier follows releases by itself, for a while.
    Follow {
        plugin: PluginName,
        hours: u64,
    },
    /// Somebody merges the open pull request and takes it off again minutes later.
    MergeAndRevert {
        plugin: PluginName,
        tier: TierName,
        minutes: u64,
    },
    /// The source names no digests of what it published before, for a while.
    NoDigests {
        plugin: PluginName,
        hours: u64,
    },
    /// Somebody points the open pull request at another branch; it comes back after a while.
    Retarget {
        plugin: PluginName,
        tier: TierName,
        hours: u64,
    },
    // of `merges`
    /// The hub refuses to merge there, for a while.
    RefuseMerges {
        plugin: PluginName,
        tier: TierName,
        hours: u64,
    },
    /// The hub's next yes there is false; somebody clears what follows from it after a while.
    FalseYes {
        plugin: PluginName,
        tier: TierName,
        what: False,
        hours: u64,
    },
    /// Somebody pushes a ledger of his own; it is put right after a while.
    ForgeLedger {
        hours: u64,
    },
    /// In the head of the open pull request is something else than what the bot would write.
    Doctor {
        plugin: PluginName,
        tier: TierName,
    },
    /// The branch asks for one thing more than reviews and checks, for a while.
    ChangeRules {
        hours: u64,
    },
    // clusters
    Flap {
        cluster: ClusterName,
        minutes: u64,
    },
    Suspend {
        cluster: ClusterName,
        minutes: u64,
    },
    Vanish {
        cluster: ClusterName,
        minutes: u64,
        stale: bool,
    },
    Lie {
        cluster: ClusterName,
        minutes: u64,
        lie: Lie,
    },
    Join {
        cluster: ClusterName,
        tier: TierName,
    },
    Leave {
        cluster: ClusterName,
    },
    Retier {
        cluster: ClusterName,
        tier: TierName,
    },
    // the hub, the registry, our own machine
    Outage {
        minutes: u64,
    },
    Lag {
        minutes: u64,
        seconds: u64,
    },
    WrongMissing {
        plugin: PluginName,
        minutes: u64,
    },
    Unreadable {
        minutes: u64,
        what: Unreadable,
    },
    Skew {
        minutes: u64,
        seconds: i64,
    },
    NoRegistry {
        minutes: u64,
    },
    NoInventory {
        minutes: u64,
    },
    LoseLedger {
        pushes: u64,
        hours: u64,
    },
    /// A webhook: look now, for no reason that it names.
    Ring,
    /// `/coldframe hotfix` on the newest pull request of a tier.
    SayHotfix {
        plugin: PluginName,
        tier: TierName,
        version: String,
        soak: Option<u64>,
        through: bool,
        allowed: bool,
    },
    /// The label that blocks comes to the newest pull request of a tier, or goes from all of them.
    Label {
        plugin: PluginName,
        tier: TierName,
        on: bool,
    },
    /// `/coldframe force` on the newest pull request of a tier.
    SayForce {
        plugin: PluginName,
        tier: TierName,
        allowed: bool,
    },
}

/// What a reviewer does.
#[derive(Clone, Copy, Debug)]
pub enum Opinion {
    Approve,
    RequestChanges,
    TakeBack,
    /// Approvals that must count for nothing: of an App, of a stranger, of somebody who owns nothing.
    Noise,
}

/// What somebody changes in the policy file of a tier.
#[derive(Clone, Copy, Debug)]
pub enum Edit {
    LongerSoak,
    ShorterSoak,
    ForceOn,
    ForceOff,
    LongerForce,
    ShorterForce,
    Automatic,
    Approved,
    MoreApprovals,
    FewerApprovals,
    WindowsOff,
    RollBackOn,
    RollBackOff,
    StallOn,
    LongerAnnounce,
}

/// What a cluster says that proves nothing about the present release.
#[derive(Clone, Copy, Debug)]
pub enum Lie {
    /// Healthy, of the version before.
    OldVersion,
    /// The status speaks of an older generation: on the way, whatever it says.
    OldGeneration,
    /// Healthy, without naming a version.
    NoVersion,
    /// Healthy, on this version, with other content.
    OtherContent,
}

/// A fact that cannot be read for a while though the hub answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    Checks,
    Owners,
    Rights,
    Files,
}

/// What goes wrong in the middle of a tick.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// The process dies after so many steps and starts again without its memory.
    Crash { after: u32 },
    /// The hub does what it is asked and answers with an error.
    LostAnswer,
    /// Somebody pushes to the branch that is about to be merged.
    PushBeforeMerge,
    /// Somebody holds what is about to be merged.
    HoldBeforeMerge,
    /// The rules change when something is about to be merged.
    RulesBeforeMerge,
    /// The process freezes between its permit and the call; meanwhile somebody may hold what is to be merged.
    FreezeBeforeMerge { seconds: u64, hold: bool },
    /// So many minutes pass between looking and acting.
    Stall { minutes: u64 },
    /// The other process looks and acts between our look and our deeds.
    Overtaken,
}

impl Scenario {
    pub fn tiers(&self) -> &[Tier] {
        &self.policy.plugins[0].tiers
    }
}
