//! The keys of a plugin: its chart, its releases, the places that hold its version.

use crate::file::PolicyFile;
use decide::model::Next;

use crate::wiring::FileFormat;

use super::signal::SignalFile;
use super::strategy::{PinFile, StrategyFile, StrategyWord};
use super::tier::OverrideFile;
use super::versions::{AfterFile, HotfixFile, VersionsFile};
use super::windows::WindowsFile;
use crate::address::{ChartName, DefinitionPath, FolderPath, OciAddress, Repository, TagPattern};
use crate::file::Word;
use parse::forms::{Either, List, Table, Words};
use parse::read::record;
use parse::scalar::{File, Files, Kind, Name, ObjectName, ValuePattern, VersionPath};
use parse::when::Length;

record! {
    /// A plugin: where its releases are, which places hold its version, what proves that it runs.
    PluginFile = "plugin" {
        /// Its name. It stands in branch names and titles.
        required name "name": Name,
        /// Where its releases are: `oci`, `repository` with `name`, `catalog` with `path`, or `git` with `tag`.
        required chart "chart": ChartFile,
        /// How often the source is asked when nothing rings. Default `15m`: registries count requests, and a release that waited a quarter of an hour is still fresh.
        optional poll "poll": Length,
        /// Which releases are accepted. Default every one that is no pre-release.
        optional versions "versions": VersionsFile,
        /// When merges of this plugin may happen, beside the file's and the tier's windows. Default always.
        optional windows "windows": WindowsFile,
        /// The places that hold its version; all of them change in one commit.
        required write "write": List<WriteFile>,
        /// The questions to each cluster; all must agree. Required, because nothing climbs without proof.
        required signals "signals": List<SignalFile>,
        /// Which release a free tier takes. Default `newestFinished`: over a real history of 965 releases it brought more than twice as many to the last tier as starting anew with each release, and nobody waited longer than 12 days.
        optional next "next": Word<Next>,
        /// Releases that are published within this time are taken together at the first tier: it waits so long from when it first saw one that it has not taken, and takes the newest then. Default `0s`: each is taken when it comes.
        optional cooldown "cooldown": Length,
        /// Releases that may pass a climbing one. Default none.
        optional hotfixes "hotfixes": List<HotfixFile>,
        /// Plugins that go before this one on each tier: a wave opens only while they have no unfinished wave there. By name, or `{plugin, version}` where they must run a version. Default none.
        optional after "after": List<Either<Name, AfterFile>>,
        /// What this plugin has different on a tier, by the tier's name. Default nothing.
        optional tiers "tiers": Table<Name, OverrideFile>,
        /// In what order the members move, on every tier. Default as each tier has it.
        optional strategy "strategy": Either<Word<StrategyWord>, StrategyFile>,
        /// Clusters that stay on a version: they are members of no wave, and their files are not touched. Default none.
        optional pins "pins": List<PinFile>,
    }
    unsupported []
}

record! {
    /// Where the releases of a chart are: `{oci: oci://host/path}`, `{repository: https://…, name: …}`, `{catalog: https://…, path: …}` for a definition of Greenhouse, or `{git: https://…, tag: "v{version}"}` for the tags of a repository.
    ChartFile = "chart" {
        /// A repository of an OCI registry whose tags are versions. `oci+http://` is for loopback only.
        optional oci "oci": OciAddress,
        /// A chart repository with an `index.yaml`. `http://` is for loopback only.
        optional repository "repository": Repository,
        /// The name of the chart in `repository`.
        optional name "name": ChartName,
        /// A catalog of Greenhouse: the git repository of definitions. A release of a plugin is a version of its definition, at the tag `name/version`. `http://` is for loopback only.
        optional catalog "catalog": Repository,
        /// The file of the definition in `catalog`, such as `perses/plugindefinition.yaml`.
        optional path "path": DefinitionPath,
        /// A git repository whose tags are versions: of a chart, of a module, of a base. `http://` is for loopback only.
        optional git "git": Repository,
        /// The tag of each version in `git`.
        optional tag "tag": TagPattern,
        /// The folder of the chart in `git`, such as `charts/loki`. Default none: releases are neither compared nor read.
        optional folder "folder": FolderPath,
    }
    unsupported []
}

record! {
    /// One place that holds the version.
    WriteFile = "write" {
        /// The file. `{tier}` and `{cluster}` stand for their names; with more than one tier, one of them must be in it or in `path`.
        required file "file": Files,
        /// What the file is. Default as its name tells: `.json`, `.toml`, `.tf` and `.tfvars`, else `yaml`.
        optional format "format": Word<FileFormat>,
        /// Which document of a file of several. Default the one that has the path.
        optional document "document": DocumentFile,
        /// The scalar. It must name exactly one place. Default where the file itself says that the chart's version stands.
        optional path "path": VersionPath,
        /// What stands around the version there, such as `{plugin}/{version}`. Default the version alone.
        optional value "value": ValuePattern,
        /// A file of the repository from which the file is made for a cluster or a tier that has none yet. Default none: the first one is written by hand.
        optional template "template": File,
    }
    unsupported [super::REPOSITORY, super::BRANCH]
}

record! {
    /// A document of a YAML file, by what every manifest carries.
    DocumentFile = "document" {
        /// Its `kind`.
        required kind "kind": Kind,
        /// Its `metadata.name`. Default any.
        optional name "name": ObjectName,
    }
    unsupported []
}

impl Words<PolicyFile> for FileFormat {
    const NAME: &'static str = "FileFormat";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("yaml", Self::Yaml, "YAML, of several documents or one."),
        ("json", Self::Json, "JSON, with comments or without."),
        ("toml", Self::Toml, "TOML."),
        ("hcl", Self::Hcl, "HCL: Terraform and its variables; blocks stand under their names and labels."),
        ("text", Self::Text, "Any text: the version on the line with a comment `coldframe: <plugin>`."),
    ];
}

impl Words<PolicyFile> for Next {
    const NAME: &'static str = "Next";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        (
            "newestFinished",
            Self::NewestFinished,
            "The newest that has finished the tier below; those before it are passed over.",
        ),
        ("every", Self::Every, "The next one; none is skipped, on any tier."),
        (
            "restart",
            Self::Restart,
            "Only the newest climbs: a new release abandons the climb of the old one and begins at the first tier, as Argo CD's ApplicationSet does.",
        ),
    ];
}
