//! `coldframe access`: the rights that the bot needs in clusters, as objects of Kubernetes, and a script that gives them and
//! makes the kubeconfigs. Nobody is asked; what a policy asks for says `rights`.

mod rights;
mod text;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{bail, ensure};
use decide::ClusterName;

use self::rights::{Rights, of};
use super::Access as Arguments;
use super::check::{around, policy_files};
use super::run::say;
use crate::inventory::ListedCluster;
use crate::observe::checkout::{self, Listed};
use crate::policy::wiring::Inventory;
use crate::policy::{self, Loaded, Setting};

/// Prints the objects, or the script.
///
/// # Errors
/// The policy has mistakes, the clusters are not known, or one of those that are named is none.
pub fn access(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let files = policy_files(arguments.policy.as_deref())?;
    let loaded = match policy::load_in(&files, &Setting::default()) {
        Ok(loaded) => loaded,
        Err(problems) => bail!("the policy has mistakes:\n{}", policy::render(&problems.0, &files)),
    };
    let clusters = match &loaded.wiring.inventory {
        Inventory::File { .. } => listed(&files, &loaded)?,
        Inventory::Listed(_) => Vec::new(),
    };
    let named = &arguments.credentials;
    let all = of(&loaded, &clusters, named, arguments.once);
    let chosen = chosen(all, named)?;
    ensure!(!chosen.is_empty(), "no signal of the policy asks a cluster, so that no rights are needed");
    let groups = grouped(&chosen);
    let place = &arguments.namespace;
    let text = if arguments.script { text::script(&groups, place) } else { text::manifests(&groups, place) };
    say(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The clusters of the inventory in this checkout.
fn listed(files: &[policy::SourceFile], loaded: &Loaded) -> anyhow::Result<Vec<ListedCluster>> {
    let checkout = around(files).map_err(anyhow::Error::msg)?;
    match checkout::read(&checkout, loaded)?.listed {
        Listed::Known(clusters) => Ok(clusters),
        Listed::Missing(why) => bail!("{why}"),
        Listed::Broken(problems, file) => {
            bail!("the inventory has mistakes:\n{}", policy::render(&problems.0, &[file]))
        }
        Listed::Elsewhere => Ok(Vec::new()),
    }
}

/// Those that were asked for, or all.
fn chosen(mut all: BTreeMap<String, Rights>, named: &[String]) -> anyhow::Result<BTreeMap<String, Rights>> {
    if named.is_empty() {
        return Ok(all);
    }
    let mut chosen = BTreeMap::new();
    for name in named {
        match all.remove(name) {
            Some(rights) => chosen.insert(name.clone(), rights),
            None if chosen.contains_key(name) => continue,
            None => {
                let known: Vec<&str> = all.keys().map(String::as_str).take(20).collect();
                bail!("nothing is asked through `{name}`; what is used is {}", known.join(", "));
            }
        };
    }
    Ok(chosen)
}

/// Connections by their rights: a fleet mostly has the same everywhere.
fn grouped(all: &BTreeMap<String, Rights>) -> Vec<(&Rights, Vec<&str>)> {
    let mut groups: Vec<(&Rights, Vec<&str>)> = Vec::new();
    for (name, rights) in all {
        match groups.iter_mut().find(|(known, _)| *known == rights) {
            Some((_, names)) => names.push(name),
            None => groups.push((rights, vec![name])),
        }
    }
    groups
}

/// What a cluster is called where a hub lists them and nobody named any.
fn any() -> ClusterName {
    ClusterName::from("cluster")
}

#[cfg(test)]
mod tests;
