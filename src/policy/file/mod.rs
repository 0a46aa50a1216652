//! The keys of the policy file, each with its description, its default and the reason for it: the
//! one list that the parser and the JSON Schema are made from. What the values mean together is in
//! `resolve`.

mod body;
mod clusters;
mod notify;
mod plugin;
mod pulls;
mod signal;
mod strategy;
mod tier;
mod versions;
mod windows;

use crate::pinned::Extended;
use crate::wiring::Right;
pub use clusters::{ClustersFile, InventoryKind};
pub use notify::{EmailFile, IssueFile, NotifyFile, NotifySelectFile, SecretFile, SlackFile, TeamsFile, WebhookFile};
use parse::forms::{List, Words as WordList};
use parse::read::{Shape, record};
use parse::scalar::Count;
use parse::when::Length;
pub use plugin::{ChartFile, DocumentFile, PluginFile, WriteFile};
pub use pulls::PullRequestsFile;
#[cfg(test)]
pub use signal::title as kind_title;
pub use signal::{SignalFile, told};
pub use strategy::{
    BlueGreenFile, CanaryFile, EarlyFile, PauseFile, PinFile, RollingUpdateFile, StepFile, StrategyFile, StrategyWord,
    VerifyFile,
};
pub use tier::{
    ApprovalsFile, ExpressionFile, ForceFile, HealthFile, MergeByBumpFile, MergeWord, OnFailureFile, OverrideFile,
    RollBackFile, SelectFile, SoakFile, TierFile,
};
pub use versions::{AfterFile, BlockFile, ChecksFile, ExpiryFile, HotfixFile, KeylessFile, SignedFile, VersionsFile};
pub use windows::{ClosedFile, CronFile, FreezeFile, MaintenanceFile, WindowsFile};

/// One of a closed list of words of this file.
pub type Word<T> = parse::forms::Word<T, PolicyFile>;

record! {
    /// The policy of Coldframe: which releases climb which ladder of clusters, and what each tier asks for.
    PolicyFile = "file" {
        /// The format of this file. Default 1: a file that names none was written for the first one. A newer format than Coldframe knows is an error, so that no key is silently misread.
        optional version "version": Count<1>,
        /// Presets that this file builds on, in order: those of Coldframe by name, and files of other repositories, each at a commit (`acme/presets/strict.yaml@` and its 40 digits). What stands here wins over them, and tiers merge by name. Default none.
        optional extends "extends": List<Extended>,
        /// Where the clusters are listed. Default `{from: file, path: clusters.yaml}`: a list in this repository is the one inventory that is reviewed like everything else.
        optional clusters "clusters": ClustersFile,
        /// When merges may happen, for the whole file. A tier and a plugin may have windows of their own; all of them must be open. Default always: pull requests are opened at any time, and who wants hours says which.
        optional windows "windows": WindowsFile,
        /// When clusters may be changed, by their labels: a pull request merges while the windows of all clusters that it changes are open, beside those of file, tier and plugin. Default none. Where hours differ, let the clusters move in pull requests of their own (`rollingUpdate: {by: …}`).
        optional maintenance_windows "maintenanceWindows": List<MaintenanceFile>,
        /// Stops of every merge in scope, at once; force does not pass them. Default none.
        optional freeze "freeze": List<FreezeFile>,
        /// The ladder: the order in this file is the order of promotion. Default one tier `all` with every cluster, because a list of plugins alone should be a policy.
        optional tiers "tiers": List<TierFile>,
        /// The plugins that are promoted. More of them may stand in `coldframe.d/*.yaml`, so that teams own their files. Default none.
        optional plugins "plugins": List<PluginFile>,
        /// Who may give which command in a comment. Default `write` for what stops or informs, `codeOwners` for what hurries.
        optional people "people": PeopleFile,
        /// Caps that all plugins share. Default none: windows, soaks and approvals already slow things down.
        optional limits "limits": LimitsFile,
        /// What every pull request gets beside its text. Default nothing: code owners are asked by the hub.
        optional pull_requests "pullRequests": PullRequestsFile,
        /// How often `coldframe once` runs, by a workflow's or a cron's own schedule. A reading is then fresh for twice as long where a tier names no `maxAge`, so that a soak counts from one pass to the next. Default unknown: a reading is fresh for 5 minutes, and soaks count as far as the objects' own times prove them. `coldframe serve` does not need it.
        optional schedule "schedule": Length,
        /// Who is told of what happens, beside the pull request. Default nobody: the hub tells those who watch its pull requests.
        optional notify "notify": List<NotifyFile>,
    }
    unsupported [GROUP]
}

record! {
    /// A file of `coldframe.d`: plugins only, so that teams own their files and the ladder stays in one place.
    PluginsFile = "file" {
        /// The format of this file. Default 1.
        optional version "version": Count<1>,
        /// The plugins that are promoted.
        required plugins "plugins": List<PluginFile>,
    }
    unsupported []
}

record! {
    /// Who may give which command in a comment.
    PeopleFile = "people" {
        /// `hold` and `resume`. Default `write`: who sees trouble must be able to stop.
        optional hold "hold": Word<Right>,
        /// `acknowledge`. Default `write`: who read the migration notes is who changes the values.
        optional acknowledge "acknowledge": Word<Right>,
        /// `fail`: a release has failed on a tier after all. Default `write`: who sees trouble must be able to say so, and a newer release can always come.
        optional fail "fail": Word<Right>,
        /// `freeze` and `unfreeze`. Default `write`: who sees trouble must be able to stop everything at once.
        optional freeze "freeze": Word<Right>,
        /// `force`: this release is merged on this tier without the missing approvals. Default `codeOwners`, of every path that the pull request changes: who could give most of what is missing.
        optional force "force": Word<Right>,
        /// How many people have to say `force` on the same pull request. Default 2: nobody passes everybody's approval alone.
        optional force_by "forceBy": Count<1>,
        /// `hotfix`: a release may pass a climbing one. Default `codeOwners`, of every path that the plugin's tiers write: a hotfix hurries on each of them and may pass windows, so the word is theirs who answer for all of these paths.
        optional hotfix "hotfix": Word<Right>,
        /// `rebuild`. Default `admin`: it gives up what the ledger remembers, or says that the base is as it should be.
        optional rebuild "rebuild": Word<Right>,
    }
    unsupported []
}

record! {
    /// Caps that all plugins share.
    LimitsFile = "limits" {
        /// Pull requests of the bot that are open at once. Default no limit.
        optional open_pulls "openPulls": Count<1>,
        /// Clusters whose version the bot's merges change in any sixty minutes. Default no limit.
        optional clusters_per_hour "clustersPerHour": Count<1>,
    }
    unsupported []
}

impl WordList<PolicyFile> for Right {
    const NAME: &'static str = "Right";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("write", Self::Write, "Who may write to the repository."),
        ("codeOwners", Self::CodeOwners, "Who owns every path that the pull request changes."),
        ("admin", Self::Admin, "Who administers the repository."),
    ];
}

/// Every mapping of the file.
pub fn shapes() -> impl Iterator<Item = &'static Shape> {
    SHAPES.iter().copied().chain(SignalFile::shapes())
}

/// Those that are records.
const SHAPES: &[&Shape] = &[
    &PolicyFile::SHAPE,
    &ClustersFile::SHAPE,
    &WindowsFile::SHAPE,
    &CronFile::SHAPE,
    &ClosedFile::SHAPE,
    &MaintenanceFile::SHAPE,
    &FreezeFile::SHAPE,
    &TierFile::SHAPE,
    &SelectFile::SHAPE,
    &ExpressionFile::SHAPE,
    &MergeByBumpFile::SHAPE,
    &SoakFile::SHAPE,
    &OnFailureFile::SHAPE,
    &RollBackFile::SHAPE,
    &ApprovalsFile::SHAPE,
    &ForceFile::SHAPE,
    &HealthFile::SHAPE,
    &StrategyFile::SHAPE,
    &RollingUpdateFile::SHAPE,
    &CanaryFile::SHAPE,
    &StepFile::SHAPE,
    &PauseFile::SHAPE,
    &VerifyFile::SHAPE,
    &BlueGreenFile::SHAPE,
    &PinFile::SHAPE,
    &PluginFile::SHAPE,
    &OverrideFile::SHAPE,
    &ChartFile::SHAPE,
    &VersionsFile::SHAPE,
    &BlockFile::SHAPE,
    &ExpiryFile::SHAPE,
    &ChecksFile::SHAPE,
    &SignedFile::SHAPE,
    &KeylessFile::SHAPE,
    &EarlyFile::SHAPE,
    &HotfixFile::SHAPE,
    &AfterFile::SHAPE,
    &WriteFile::SHAPE,
    &DocumentFile::SHAPE,
    &PeopleFile::SHAPE,
    &LimitsFile::SHAPE,
    &PullRequestsFile::SHAPE,
    &NotifyFile::SHAPE,
    &SlackFile::SHAPE,
    &TeamsFile::SHAPE,
    &WebhookFile::SHAPE,
    &EmailFile::SHAPE,
    &IssueFile::SHAPE,
    &SecretFile::SHAPE,
    &NotifySelectFile::SHAPE,
];

/// Keys that people look for, and what to do instead.
const GROUP: (&str, &str) = (
    "group",
    "a pull request is about one plugin; `after` puts plugins in order, `limits.openPulls` keeps their pull requests few",
);
const MAX_SURGE: (&str, &str) = (
    "maxSurge",
    "clusters do not surge: none is added for an update, and one moves when its version changes; `maxUpdate` says how many move at once",
);
const WINDOW: (&str, &str) = (
    "window",
    "a step is one pull request, and the next one waits for it; write `health: {maxFailures: 1}` on the tier, and one cluster that is stuck past its `progressDeadline` does not hold up the others",
);
const REPOSITORY: (&str, &str) = ("repository", "take it out");
const BRANCH: (&str, &str) = ("branch", "take it out");

/// Where a key belongs that stands at the wrong place: "a tier or a plugin".
pub fn homes(key: &str) -> Option<String> {
    let places: Vec<String> = shapes()
        .filter(|shape| shape.keys.iter().any(|known| known.name == key))
        .map(|shape| match shape.what {
            "file" => "the policy file's top level".to_string(),
            what @ ("tier" | "plugin" | "document" | "resource" | "cron window" | "hotfix" | "notification"
            | "secret") => format!("a {what}"),
            what @ ("expression" | "override" | "object" | "after") => format!("an {what}"),
            what @ "notification's select" => format!("a {what}"),
            what => format!("`{what}`"),
        })
        .take(3)
        .collect();
    if places.is_empty() { None } else { Some(places.join(" or ")) }
}
