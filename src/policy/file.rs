//! The keys of the policy file, each with its description, its default and the reason for it: the
//! one list that the parser and the JSON Schema are made from. What the values mean together is in
//! `resolve`.

use decide::model::{Merge, OnFailure, Strategy};
use decide::selector::Operator;

use super::address::{ChartName, OciAddress, Repository};
use super::forms::{Either, List, Table, Word, Words as WordList};
use super::preset::Preset;
use super::read::{Shape, record};
use super::scalar::{
    ApiVersion, Count, File, Files, Flag, Helm, JsonPath, Kind, LabelKey, LabelValue, Name, ObjectName, Plural, Words,
};
use super::when::{Day, Hours, Length, Until, Zone};
use super::wiring::Right;

record! {
    /// The policy of Coldframe: which releases climb which ladder of clusters, and what each rung asks for.
    PolicyFile = "file" {
        /// The format of this file. Default 1: a file that names none was written for the first one. A newer format than Coldframe knows is an error, so that no key is silently misread.
        optional version "version": Count<1>,
        /// Presets that this file builds on, in order; what stands here wins over them, and tiers merge by name. Default none.
        optional extends "extends": List<Word<Preset>>,
        /// Where the clusters are listed. Default `{from: file, path: clusters.yaml}`: a list in this repository is the one source that is reviewed like everything else.
        optional clusters "clusters": ClustersFile,
        /// When merges may happen, for the whole file. A tier and a plugin may have windows of their own; all of them must be open. Default always: pull requests are opened at any time, and who wants hours says which.
        optional windows "windows": WindowsFile,
        /// Stops of every merge in scope, at once; force does not pass them. Default none.
        optional freeze "freeze": List<FreezeFile>,
        /// The ladder: the order in this file is the order of promotion. Default one tier `all` with every cluster, because a list of plugins alone should be a policy.
        optional tiers "tiers": List<TierFile>,
        /// The plugins that are promoted. More of them may stand in `coldframe.d/*.yaml`, so that teams own their files. Default none.
        optional plugins "plugins": List<PluginFile>,
        /// Who may give which command in a comment. Default `write` for each.
        optional people "people": PeopleFile,
        /// Caps that all plugins share. Default none: windows, soaks and approvals already slow things down.
        optional limits "limits": LimitsFile,
    }
    later ["group", "schedule", "notify"]
}

record! {
    /// A file of `coldframe.d`: plugins only, so that teams own their files and the ladder stays in one place.
    PluginsFile = "file" {
        /// The format of this file. Default 1.
        optional version "version": Count<1>,
        /// The plugins that are promoted.
        required plugins "plugins": List<PluginFile>,
    }
    later []
}

record! {
    /// Where the clusters are listed.
    ClustersFile = "clusters" {
        /// The kind of inventory. Default `file`, the only one so far.
        optional from "from": Word<InventoryKind>,
        /// The file, `clusters: [{name, labels, credential}]`. Default `clusters.yaml`.
        optional path "path": File,
    }
    later []
}

record! {
    /// The instants at which a merge may happen. A window is judged by the zone's rules at that instant: in the gap of a clock change nothing exists, in its overlap both hours count.
    WindowsFile = "windows" {
        /// The zone of all hours and dates here. Windows of a tier or plugin take the zone of the file's windows by default; without those it must stand here, because a guess would be an hour off twice a year.
        optional zone "zone": Zone,
        /// Weekdays and hours. Default always open, `closed` aside.
        optional open "open": List<Hours>,
        /// Days on which nothing merges; they win over `open`. Default none.
        optional closed "closed": List<ClosedFile>,
        /// Merges stop this long before a window closes, so that somebody is there when a rollout goes wrong. Default `0s`: the progress deadline watches a late one.
        optional room "room": Length,
    }
    later []
}

record! {
    /// Whole days on which nothing merges, both ends included.
    ClosedFile = "closed" {
        /// The first day.
        required from "from": Day,
        /// The last day, included.
        required to "to": Day,
        /// Why; shown on every pull request that waits for it. Default nothing.
        optional why "why": Words,
    }
    later []
}

record! {
    /// A stop of every merge in scope.
    FreezeFile = "freeze" {
        /// Why; shown on every pull request that it stops. Required, because who is stopped asks.
        required why "why": Words,
        /// Who froze. Default nobody named; git knows who wrote the line.
        optional by "by": Words,
        /// Only these tiers. Default all.
        optional tiers "tiers": List<Name>,
        /// Only these plugins. Default all.
        optional plugins "plugins": List<Name>,
        /// Ends by itself: a date (that day included) or an instant. Default when somebody takes it out.
        optional until "until": Until,
    }
    later []
}

record! {
    /// A rung of the ladder.
    TierFile = "tier" {
        /// Its name. It stands in branch names, titles and `{tier}`.
        required name "name": Name,
        /// Which clusters belong to it, as a Kubernetes LabelSelector. Required where there is more than one tier, because an empty selector takes every cluster and a cluster in two tiers is an error.
        optional select "select": SelectFile,
        /// Who merges: one word, or one per size of the step. Default `approved`: a person says yes to each step until the file says that none is needed.
        optional merge "merge": Either<Word<Merge>, MergeByBumpFile>,
        /// How long all members must be healthy on the release before it has finished this tier. Default `0s`: proved healthy once is enough.
        optional soak "soak": Either<Length, SoakFile>,
        /// Whose approval lets a wave through where `merge` asks for one. Default one person, the code owners of each path among them.
        optional approvals "approvals": ApprovalsFile,
        /// When merges on this tier may happen, beside the file's and the plugin's windows. Default always.
        optional windows "windows": WindowsFile,
        /// Versions that this tier takes at all, beside the plugin's own constraint. Default every accepted one.
        optional constraint "constraint": Helm,
        /// The grace period: what happens when nobody approves. Default nothing, the pull request waits.
        optional force "force": ForceFile,
        /// What happens after a failed wave. Default `hold`: what broke once is not tried on more clusters.
        optional on_failure "onFailure": Word<OnFailure>,
        /// In what order the members move. Default `allAtOnce`: a tier is the slice; who wants smaller steps makes more tiers.
        optional strategy "strategy": Word<Strategy>,
        /// When a member of a wave counts as failed. Default after two hours on the way or five minutes degraded, with none tolerated.
        optional health "health": HealthFile,
    }
    later ["announce", "branch", "empty", "watch", "early"]
}

record! {
    /// What a plugin has different on one tier. A key here replaces the tier's key as a whole.
    OverrideFile = "override" {
        /// Other clusters. Default the tier's.
        optional select "select": SelectFile,
        /// Who merges. Default the tier's.
        optional merge "merge": Either<Word<Merge>, MergeByBumpFile>,
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
    later []
}

record! {
    /// A Kubernetes LabelSelector: every part must hold; an empty one takes every cluster.
    SelectFile = "select" {
        /// Labels that must be there with this value. Default none.
        optional match_labels "matchLabels": Table<LabelKey, LabelValue>,
        /// Expressions that must hold. Default none.
        optional match_expressions "matchExpressions": List<ExpressionFile>,
    }
    later []
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
    later []
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
    later []
}

record! {
    /// How long all members must be healthy.
    SoakFile = "soak" {
        /// The time in which all members are healthy on the release; progressing and unknown pause it, degraded starts it again.
        required min "min": Length,
    }
    later ["max"]
}

record! {
    /// Whose approval lets a wave through.
    ApprovalsFile = "approvals" {
        /// Every changed path that CODEOWNERS gives an owner needs an approval of one of them. Default true: the owners of a path are who the repository says must agree.
        optional code_owners "codeOwners": Flag,
        /// The number of people, at least. Default 1: one pair of eyes beside the bot's.
        optional at_least "atLeast": Count<0>,
    }
    later ["covers", "each"]
}

record! {
    /// The grace period: after it, the bot merges without the missing approvals. Force waives approvals and nothing else.
    ForceFile = "force" {
        /// From the opened and announced pull request to the merge.
        required after "after": Length,
        /// How long before the deadline people are told. Default never: say when, so that nobody is surprised.
        optional notice "notice": List<Length>,
    }
    later []
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
        /// A reading older than this says nothing any more. Default `5m`: as often as a full pass looks.
        optional max_age "maxAge": Length,
    }
    later []
}

record! {
    /// A plugin: where its releases are, which spots hold its version, what proves that it runs.
    PluginFile = "plugin" {
        /// Its name. It stands in branch names and titles.
        required name "name": Name,
        /// Where its releases are: `oci`, or `repository` with `name`.
        required chart "chart": ChartFile,
        /// How often the source is asked when nothing rings. Default `15m`: registries count requests, and a release that waited a quarter of an hour is still fresh.
        optional poll "poll": Length,
        /// Which releases are accepted. Default every one that is no pre-release.
        optional versions "versions": VersionsFile,
        /// When merges of this plugin may happen, beside the file's and the tier's windows. Default always.
        optional windows "windows": WindowsFile,
        /// The spots that hold its version; all of them change in one commit.
        required write "write": List<WriteFile>,
        /// The questions to each cluster; all must agree. Required, because nothing climbs without proof.
        required signals "signals": List<SignalFile>,
        /// What this plugin has different on a tier, by the tier's name. Default nothing.
        optional tiers "tiers": Table<Name, OverrideFile>,
    }
    later ["after", "pins", "next", "cooldown", "hotfixes", "strategy"]
}

record! {
    /// Where the releases of a chart are: `{oci: oci://host/path}`, or `{repository: https://…, name: …}`.
    ChartFile = "chart" {
        /// A repository of an OCI registry whose tags are versions. `oci+http://` is for loopback only.
        optional oci "oci": OciAddress,
        /// A chart repository with an `index.yaml`. `http://` is for loopback only.
        optional repository "repository": Repository,
        /// The name of the chart in `repository`.
        optional name "name": ChartName,
    }
    later []
}

record! {
    /// Which releases are accepted.
    VersionsFile = "versions" {
        /// The versions that are accepted at all. Default every release that is no pre-release.
        optional constraint "constraint": Helm,
    }
    later ["block", "checks", "prereleases", "deprecated", "expires", "maxLive"]
}

record! {
    /// One spot that holds the version.
    WriteFile = "write" {
        /// The file. `{tier}` and `{cluster}` stand for their names; with more than one tier, one of them must be in it.
        required file "file": Files,
        /// Which document of a file of several. Default the one that has the path.
        optional document "document": DocumentFile,
        /// The scalar. It must name exactly one place.
        required path "path": JsonPath,
    }
    later ["value", "repository", "branch"]
}

record! {
    /// A document of a YAML file, by what every manifest carries.
    DocumentFile = "document" {
        /// Its `kind`.
        required kind "kind": Kind,
        /// Its `metadata.name`. Default any.
        optional name "name": ObjectName,
    }
    later []
}

record! {
    /// A question to a cluster: one of the kinds below.
    SignalFile = "signal" {
        /// Flux: a HelmRelease of `helm.toolkit.fluxcd.io/v2`.
        optional helm_release "helmRelease": ObjectFile,
        /// Argo CD: an Application of `argoproj.io/v1alpha1`.
        optional application "application": ObjectFile,
        /// Any object, by JSONPath.
        optional resource "resource": ResourceFile,
    }
    later ["prometheus"]
}

record! {
    /// An object in a cluster. `{cluster}` and `{tier}` in it stand for their names.
    ObjectFile = "object" {
        /// Its namespace.
        required namespace "namespace": ObjectName,
        /// Its name.
        required name "name": ObjectName,
    }
    later []
}

record! {
    /// Any object, and where its proof stands.
    ResourceFile = "resource" {
        /// Its API version, such as `apps/v1`.
        required api_version "apiVersion": ApiVersion,
        /// Its kind.
        required kind "kind": Kind,
        /// The plural of its kind. Default the kind in lower case with an `s`.
        optional plural "plural": Plural,
        /// Its namespace. Default none, for a kind that belongs to the whole cluster.
        optional namespace "namespace": ObjectName,
        /// Its name.
        required name "name": ObjectName,
        /// Where the version stands that this object proves to run.
        required version "version": JsonPath,
        /// Where the generation stands that the status speaks of; it is compared with `$.metadata.generation`. Default none: the status is taken as fresh.
        optional generation "generation": JsonPath,
        /// Where the state stands, and which values mean what.
        required state "state": StateFile,
        /// Where the time of the last change of state stands. Default none: the state counts from when it was first read.
        optional since "since": JsonPath,
    }
    later []
}

record! {
    /// Where a state stands, and what its values mean. A value in no list is progressing.
    StateFile = "state" {
        /// The place.
        required path "path": JsonPath,
        /// Values that mean healthy.
        required healthy "healthy": List<Words>,
        /// Values that mean degraded. Default none.
        optional degraded "degraded": List<Words>,
        /// Values that mean suspended. Default none.
        optional suspended "suspended": List<Words>,
    }
    later []
}

record! {
    /// Who may give which command in a comment.
    PeopleFile = "people" {
        /// `hold` and `resume`. Default `write`: who sees trouble must be able to stop.
        optional hold "hold": Word<Right>,
        /// `acknowledge`. Default `write`: who read the migration notes is who changes the values.
        optional acknowledge "acknowledge": Word<Right>,
        /// `rebuild`. Default `write`: a lost ledger stops everything until somebody confirms.
        optional rebuild "rebuild": Word<Right>,
    }
    later ["force"]
}

record! {
    /// Caps that all plugins share.
    LimitsFile = "limits" {
        /// Pull requests of the bot that are open at once. Default no limit.
        optional open_pulls "openPulls": Count<1>,
        /// Clusters whose version the bot's merges change in any sixty minutes. Default no limit.
        optional clusters_per_hour "clustersPerHour": Count<1>,
    }
    later []
}

/// The kinds of inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InventoryKind {
    /// A YAML file of the repository.
    File,
}

impl WordList for InventoryKind {
    const NAME: &'static str = "InventoryKind";
    const KNOWN: &'static [(&'static str, Self, &'static str)] =
        &[("file", Self::File, "A YAML file of this repository.")];
    const LATER: &'static [&'static str] = &["argocd", "greenhouse", "ocm", "cluster-api", "cluster-profile", "flux"];
}

impl WordList for Merge {
    const NAME: &'static str = "Merge";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("automatic", Self::Automatic, "The bot merges when the gates pass; no approval is asked for."),
        ("approved", Self::Approved, "The bot merges when the gates pass and the approvals are there."),
        ("manual", Self::Manual, "A person merges; the check says when."),
    ];
    const LATER: &'static [&'static str] = &["none"];
}

impl WordList for OnFailure {
    const NAME: &'static str = "OnFailure";
    const KNOWN: &'static [(&'static str, Self, &'static str)] =
        &[("hold", Self::Hold, "The release climbs no further; a newer one may overtake it.")];
    const LATER: &'static [&'static str] = &["stall", "rollBack"];
}

impl WordList for Strategy {
    const NAME: &'static str = "Strategy";
    const KNOWN: &'static [(&'static str, Self, &'static str)] =
        &[("allAtOnce", Self::AllAtOnce, "All members in one pull request.")];
    const LATER: &'static [&'static str] = &["rollingUpdate", "canary", "blueGreen", "delegated"];
}

impl WordList for Operator {
    const NAME: &'static str = "Operator";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("In", Self::In, "The label is there with one of the values."),
        ("NotIn", Self::NotIn, "The label is absent, or has none of the values."),
        ("Exists", Self::Exists, "The label is there."),
        ("DoesNotExist", Self::DoesNotExist, "The label is absent."),
    ];
    const LATER: &'static [&'static str] = &[];
}

impl WordList for Right {
    const NAME: &'static str = "Right";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("write", Self::Write, "Who may write to the repository."),
        ("codeOwners", Self::CodeOwners, "Who owns every path that the pull request changes."),
        ("admin", Self::Admin, "Who administers the repository."),
    ];
    const LATER: &'static [&'static str] = &[];
}

/// Every mapping of the file.
pub const SHAPES: &[&Shape] = &[
    &PolicyFile::SHAPE,
    &ClustersFile::SHAPE,
    &WindowsFile::SHAPE,
    &ClosedFile::SHAPE,
    &FreezeFile::SHAPE,
    &TierFile::SHAPE,
    &SelectFile::SHAPE,
    &ExpressionFile::SHAPE,
    &MergeByBumpFile::SHAPE,
    &SoakFile::SHAPE,
    &ApprovalsFile::SHAPE,
    &ForceFile::SHAPE,
    &HealthFile::SHAPE,
    &PluginFile::SHAPE,
    &OverrideFile::SHAPE,
    &ChartFile::SHAPE,
    &VersionsFile::SHAPE,
    &WriteFile::SHAPE,
    &DocumentFile::SHAPE,
    &SignalFile::SHAPE,
    &ObjectFile::SHAPE,
    &ResourceFile::SHAPE,
    &StateFile::SHAPE,
    &PeopleFile::SHAPE,
    &LimitsFile::SHAPE,
];

/// Where a key belongs that stands at the wrong place: "a tier or a plugin".
pub fn homes(key: &str) -> Option<String> {
    let places: Vec<String> = SHAPES
        .iter()
        .filter(|shape| shape.keys.iter().any(|known| known.name == key))
        .map(|shape| match shape.what {
            "file" => "the policy file's top level".to_string(),
            what @ ("tier" | "plugin" | "document" | "resource") => format!("a {what}"),
            what @ ("expression" | "override" | "object") => format!("an {what}"),
            what => format!("`{what}`"),
        })
        .take(3)
        .collect();
    if places.is_empty() { None } else { Some(places.join(" or ")) }
}
