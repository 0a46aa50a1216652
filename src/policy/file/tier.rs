//! The keys of a rung of the ladder, and of what a plugin has different there.

use crate::file::PolicyFile;
use decide::model::{Each, Empty, Merge, OnFailure};
use decide::selector::Operator;

use super::pulls::TeamName;
use super::strategy::{EarlyFile, StrategyFile, StrategyWord, VerifyFile};
use super::windows::WindowsFile;
use crate::file::Word;
use parse::forms::{Either, List, Table, Words as WordList};
use parse::read::record;
use parse::scalar::{Branch, Count, Flag, Helm, LabelKey, LabelValue, Name};
use parse::when::Length;

record! {
    /// A tier of the ladder.
    TierFile = "tier" {
        /// Its name. It stands in branch names, titles and `{tier}`.
        required name "name": Name,
        /// Which clusters belong to it, as a Kubernetes LabelSelector. Required where there is more than one tier, because an empty selector takes every cluster and a cluster in two tiers is an error.
        optional select "select": SelectFile,
        /// Who merges: one word, or one per size of the step. Default `approved`: a person says yes to each step until the file says that none is needed.
        optional merge "merge": Either<Word<MergeWord>, MergeByBumpFile>,
        /// How long all members must be healthy on the release before it has finished this tier. Default `0s`: proved healthy once is enough.
        optional soak "soak": Either<Length, SoakFile>,
        /// Whose approval lets a wave through where `merge` asks for one. Default one person, the code owners of each path among them.
        optional approvals "approvals": ApprovalsFile,
        /// No merge on this tier, automatic, forced or of a rollback, sooner than this after people were told, which is when the pull request was open and held the release. Default `0s`: approvals and windows give people their time.
        optional announce "announce": Length,
        /// When merges on this tier may happen, beside the file's and the plugin's windows. Default always.
        optional windows "windows": WindowsFile,
        /// Versions that this tier takes at all, beside the plugin's own constraint. Default every accepted one.
        optional constraint "constraint": Helm,
        /// The grace period: what happens when nobody approves. Default nothing, the pull request waits.
        optional force "force": ForceFile,
        /// What happens after a failed wave: one word, or `{rollBack: {merge: automatic}}`. Default `hold`: what broke once is not tried on more clusters, and nothing is undone that nobody asked to undo.
        optional on_failure "onFailure": Either<Word<OnFailure>, OnFailureFile>,
        /// In what order the members move. Default `allAtOnce`: a tier is the slice; who wants smaller steps makes more tiers.
        optional strategy "strategy": Either<Word<StrategyWord>, StrategyFile>,
        /// What a tier without clusters does. Default `error`: a selector that takes nobody is most likely a typo.
        optional empty "empty": Word<Empty>,
        /// When a member of a wave counts as failed. Default after two hours on the way or five minutes degraded, with none tolerated.
        optional health "health": HealthFile,
        /// For how long after finishing a lost health still un-finishes the release, which stops it on the tiers above. Default `0s`: the soak is the time to look; `/coldframe fail <why>` on its pull request works at any time.
        optional watch "watch": Length,
        /// A workflow of this repository that has to succeed, once all members were healthy, before the release has finished this tier. Default none.
        optional verify "verify": VerifyFile,
        /// Clusters that may get, before this tier's turn, what has finished the first tier. Their health counts against the release; they do not finish this tier. Each `write` needs a place per cluster. Default none.
        optional early "early": List<EarlyFile>,
        /// The branch that holds this tier's places: what runs is read there, its pull requests go there, and that branch's rules and code owners decide about reviews. The policy file and the inventory are those of the repository's default branch all the same. Default that branch: one branch shows the whole ladder.
        optional branch "branch": Branch,
    }
    unsupported []
}

record! {
    /// What a plugin has different on one tier. A key here replaces the tier's key as a whole.
    OverrideFile = "override" {
        /// Other clusters. Default the tier's.
        optional select "select": SelectFile,
        /// Who merges. Default the tier's.
        optional merge "merge": Either<Word<MergeWord>, MergeByBumpFile>,
        /// How long all members must be healthy. Default the tier's.
        optional soak "soak": Either<Length, SoakFile>,
        /// Whose approval is needed. Default the tier's.
        optional approvals "approvals": ApprovalsFile,
        /// When merges may happen, instead of the tier's own windows. Default the tier's.
        optional windows "windows": WindowsFile,
        /// Versions that are taken on this tier. Default the tier's.
        optional constraint "constraint": Helm,
        /// The grace period. Default the tier's.
        optional force "force": ForceFile,
    }
    unsupported []
}

record! {
    /// A Kubernetes LabelSelector: every part must hold; an empty one takes every cluster.
    SelectFile = "select" {
        /// Labels that must be there with this value. Default none.
        optional match_labels "matchLabels": Table<LabelKey, LabelValue>,
        /// Expressions that must hold. Default none.
        optional match_expressions "matchExpressions": List<ExpressionFile>,
    }
    unsupported []
}

record! {
    /// One expression about a label.
    ExpressionFile = "expression" {
        /// The label's key.
        required key "key": LabelKey,
        /// How the label is compared.
        required operator "operator": Word<Operator>,
        /// What it is compared with: at least one for `In` and `NotIn`, none for `Exists` and `DoesNotExist`.
        optional values "values": List<LabelValue>,
    }
    unsupported []
}

record! {
    /// Who merges, by the size of the step. A size that is not named here is `approved`.
    MergeByBumpFile = "merge" {
        /// Patch releases. Default `approved`.
        optional patch "patch": Word<Merge>,
        /// Minor releases. Default `approved`.
        optional minor "minor": Word<Merge>,
        /// Major releases and first installs. Default `approved`.
        optional major "major": Word<Merge>,
    }
    unsupported []
}

record! {
    /// What happens after a failed wave.
    OnFailureFile = "onFailure" {
        /// A pull request restores what ran before on this tier.
        required roll_back "rollBack": RollBackFile,
    }
    unsupported []
}

record! {
    /// How a rollback is merged.
    RollBackFile = "rollBack" {
        /// Who merges it. Default `approved`, as for any other step. `automatic` asks nobody; windows, freezes, holds and caps keep it back all the same, because a closed window also says that nobody is there to watch it.
        optional merge "merge": Word<Merge>,
    }
    unsupported []
}

record! {
    /// How long all members must be healthy.
    SoakFile = "soak" {
        /// The time in which all members are healthy on the release; progressing and unknown pause it, degraded starts it again.
        required min "min": Length,
        /// After this long on the base branch a missing or slow signal (progressing, suspended, unknown) keeps the release no longer, with a loud mark; a failed or degraded cluster, a block and a hold always do, and `progressDeadline` fails a cluster that never arrived. Default never: what nobody has seen healthy is not proved.
        optional max "max": Length,
    }
    unsupported []
}

record! {
    /// Whose approval lets a wave through.
    ApprovalsFile = "approvals" {
        /// Every changed path that CODEOWNERS gives an owner needs an approval of one of them. Default true: the owners of a path are who the repository says must agree.
        optional code_owners "codeOwners": Flag,
        /// The number of people, at least. Default 1: one pair of eyes beside the bot's.
        optional at_least "atLeast": Count<0>,
        /// The team whose members these people have to be, such as `acme/sre`; a code owner outside of it still speaks for a path. It needs write access. Default none: whoever may write counts.
        optional team "team": TeamName,
        /// How often a tier that moves in slices asks: once, or for each slice. Default `tier`: the later slices bring the same release from the same version.
        optional each "each": Word<Each>,
        /// Tiers that an approval given on this tier's pull request covers too: this one and tiers above, for the same release with the same digest. Each of them still asks for its own number of people and its own code owners, and health gates each. Default none: a yes for few clusters is no yes for many.
        optional covers "covers": List<Name>,
    }
    unsupported []
}

record! {
    /// The grace period: after it, the bot merges without the missing approvals. Force waives approvals and nothing else.
    ForceFile = "force" {
        /// From the opened and announced pull request to the merge.
        required after "after": Length,
        /// How long before the deadline people are told. Default never: say when, so that nobody is surprised.
        optional notice "notice": List<Length>,
    }
    unsupported []
}

record! {
    /// When a member of a wave counts as failed.
    HealthFile = "health" {
        /// From landing until every member is healthy; who is not by then has failed. Default `2h`: a tier of Greenhouse tries for up to 105 minutes before it gives up.
        optional progress_deadline "progressDeadline": Length,
        /// A member that is degraded this long has failed. Default `5m`: shorter than a person's patience, longer than a rolling restart.
        optional degraded_for "degradedFor": Length,
        /// Failed members that are tolerated; one more fails the wave. Default 0: a tier is small enough that each counts.
        optional max_failures "maxFailures": Count<0>,
        /// Members of unknown health that are tolerated. Default 0: what cannot be read is not proved.
        optional max_unknown "maxUnknown": Count<0>,
        /// A reading older than this says nothing any more. Default `5m`: as often as a full pass looks; under `coldframe once` twice the file's `schedule`.
        optional max_age "maxAge": Length,
    }
    unsupported []
}

impl WordList<PolicyFile> for Merge {
    const NAME: &'static str = "Merge";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("automatic", Self::Automatic, "The bot merges when the gates pass; no approval is asked for."),
        ("approved", Self::Approved, "The bot merges when the gates pass and the approvals are there."),
        ("manual", Self::Manual, "A person merges; the check says when."),
    ];
}

/// Who merges on a tier, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeWord {
    /// The same for each size of step.
    All(Merge),
    /// Nobody: the tier follows releases by itself.
    Nobody,
}

impl WordList<PolicyFile> for MergeWord {
    const NAME: &'static str = "MergeWord";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("automatic", Self::All(Merge::Automatic), "The bot merges when the gates pass; no approval is asked for."),
        ("approved", Self::All(Merge::Approved), "The bot merges when the gates pass and the approvals are there."),
        ("manual", Self::All(Merge::Manual), "A person merges; the check says when."),
        (
            "none",
            Self::Nobody,
            "On the first tier only: it follows releases by itself (a branch, a range, an image automation). The bot opens nothing there, proves the health of what runs and promotes from it.",
        ),
    ];
}

impl WordList<PolicyFile> for OnFailure {
    const NAME: &'static str = "OnFailureWord";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("hold", Self::Hold, "The release climbs no further; a newer one may overtake it."),
        (
            "stall",
            Self::Stall,
            "Nothing new starts on this tier until all members are healthy on the release; then it soaks anew and may finish.",
        ),
        (
            "rollBack",
            Self::RollBack { merge: Merge::Approved },
            "A pull request restores what ran before on this tier, merged like any other after an approval; windows and freezes hold it. Never across a breaking step, never the rollback of a rollback: then it is as with `hold`.",
        ),
    ];
}

impl WordList<PolicyFile> for Empty {
    const NAME: &'static str = "Empty";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("error", Self::Error, "The climb stops here and says that no cluster belongs to the tier."),
        ("pass", Self::Pass, "Releases pass it as if they had finished it."),
    ];
}

impl WordList<PolicyFile> for Operator {
    const NAME: &'static str = "Operator";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("In", Self::In, "The label is there with one of the values."),
        ("NotIn", Self::NotIn, "The label is absent, or has none of the values."),
        ("Exists", Self::Exists, "The label is there."),
        ("DoesNotExist", Self::DoesNotExist, "The label is absent."),
    ];
}
