//! The keys of `clusters`: which inventory, and where it is. The inventories that hub clusters have are listed in
//! `inventory`; which keys go together is in `resolve`.

use super::SelectFile;
use crate::file::PolicyFile;
use crate::file::Word;
use inventory::{KINDS, Kind};
use parse::forms::Words;
use parse::read::record;
use parse::scalar::{Credential, File, Namespace};

record! {
    /// Where the clusters are listed: in a file of this repository, or by a hub cluster.
    ClustersFile = "clusters" {
        /// The kind of inventory. Default `file`: it needs no connection, and is reviewed like everything else.
        optional from "from": Word<InventoryKind>,
        /// The file, `clusters: [{name, labels, credential}]`. Default `clusters.yaml`. Only with `file`.
        optional path "path": File,
        /// The operator's connection to the hub cluster that lists them. It must stand here unless they are in a file.
        optional connection "connection": Credential,
        /// The namespace of the hub's objects. Default `argocd` with `argocd`, and all of them with `greenhouse`, `cluster-api`, `cluster-profile` and `flux`. Where all are listed, clusters are called `namespace/name`; those of a Greenhouse always are.
        optional namespace "namespace": Namespace,
        /// Which of the hub's objects, by their labels. Default all; with `flux` it must stand here, because nothing else tells a kubeconfig from another Secret.
        optional select "select": SelectFile,
    }
    unsupported []
}

/// The kinds of inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InventoryKind {
    /// A YAML file of the repository.
    File,
    /// What a hub cluster lists.
    Listed(&'static Kind),
}

impl Words<PolicyFile> for InventoryKind {
    const NAME: &'static str = "InventoryKind";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &words();
}

/// The file, and every kind that hub clusters have.
const fn words() -> [(&'static str, InventoryKind, &'static str); KINDS.len() + 1] {
    let mut words = [("file", InventoryKind::File, "A YAML file of this repository."); KINDS.len() + 1];
    let mut at = 0;
    while at < KINDS.len() {
        words[at + 1] = (KINDS[at].name, InventoryKind::Listed(KINDS[at]), KINDS[at].about);
        at += 1;
    }
    words
}
