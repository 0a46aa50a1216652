//! What `doctor` looks at beyond the hub: the policy, and whether the clusters, the sources of charts and the secrets
//! that it names can be used.

use std::collections::{BTreeMap, BTreeSet};

use decide::snapshot::Read;
use futures_util::StreamExt as _;

use super::report::Report;
use crate::act::Line;
use crate::observe::cluster::{Ask, ReadError};
use crate::observe::readings::Round;
use crate::observe::{NoGoodPolicy, NoPolicy, Seen};
use crate::signal::Target;
use crate::tick;

/// Clusters that are asked at once.
const AT_ONCE: usize = 32;
/// Names that a line has at most.
const MOST_NAMED: usize = 8;

/// Looks at the policy of a repository and at all that it names.
pub async fn reach(report: &mut Report, line: &mut Line) -> anyhow::Result<()> {
    let seen = match tick::look(line).await {
        Ok((seen, _)) => seen,
        Err(error) if error.is::<NoPolicy>() => {
            return report.doubt(
                &error.to_string(),
                "`coldframe init` in a checkout proposes one, and `serve` does so by a pull request.",
            );
        }
        Err(error) => {
            let mend = if error.is::<NoGoodPolicy>() { "`coldframe check` in a checkout says the same." } else { "" };
            return report.bad(&format!("{error:#}"), mend);
        }
    };
    policy(report, &seen)?;
    clusters(report, line, &seen).await?;
    charts(report, &seen)?;
    secrets(report, line, &seen)
}

fn policy(report: &mut Report, seen: &Seen) -> anyhow::Result<()> {
    let policy = &seen.snapshot.policy;
    if let Some(problem) = &seen.snapshot.policy_problem {
        report.bad(
            &format!("the policy has mistakes, so that nothing is merged:\n{problem}"),
            "`coldframe check` in a checkout says the same.",
        )?;
    } else {
        let (plugins, tiers) = (policy.plugins.len(), seen.loaded.ladder.len());
        report.good(&format!("the policy reads well: {} and {}", count(plugins, "plugin"), count(tiers, "tier")))?;
    }
    match &seen.snapshot.clusters {
        Read::Known(clusters) => report.good(&format!("the inventory has {}", count(clusters.len(), "cluster"))),
        Read::Unread(why) => report.bad(
            &format!("the clusters are not known: {why}"),
            "Look at `clusters` in the policy, and at the file or the connection that it names.",
        ),
    }
}

/// Every connection is asked what the signals will ask it.
async fn clusters(report: &mut Report, line: &Line, seen: &Seen) -> anyhow::Result<()> {
    let round = Round::default().of(&seen.loaded, &seen.clusters, None);
    let mut by_connection: BTreeMap<String, Vec<(Ask, Target)>> = BTreeMap::new();
    let mut known = BTreeSet::new();
    for ask in round.asks().iter() {
        let target = ask.target()?;
        let connection = connection(ask);
        if known.insert((connection.clone(), target.clone())) {
            by_connection.entry(connection).or_default().push((ask.clone(), target));
        }
    }
    let connections = &line.context.clusters;
    let answers: Vec<(String, Vec<ReadError>)> = futures_util::stream::iter(by_connection)
        .map(|(name, asks)| async move {
            let mut errors = Vec::new();
            for (ask, target) in asks {
                match connections.read(&ask.cluster, &target).await {
                    // That it is not there yet is no mistake of anybody's.
                    Ok(_) => {}
                    Err(error) => {
                        let dead =
                            !matches!(error, ReadError::Denied { status: 403, .. } | ReadError::NotServed { .. });
                        errors.push(error);
                        if dead {
                            break;
                        }
                    }
                }
            }
            (name, errors)
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    told(report, answers)
}

/// Connections whose findings are the same share a line.
fn told(report: &mut Report, answers: Vec<(String, Vec<ReadError>)>) -> anyhow::Result<()> {
    let mut good = BTreeSet::new();
    let mut bad: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (name, errors) in answers {
        if errors.is_empty() {
            good.insert(name);
            continue;
        }
        for error in errors {
            // What differs by name alone is one finding.
            let what = error
                .to_string()
                .replace(&format!("`{name}`"), "of its name")
                .replace(&format!("{name}.yaml"), "NAME.yaml");
            bad.entry((what, mend(&error).to_string())).or_default().insert(name.clone());
        }
    }
    if !good.is_empty() {
        report.good(&format!(
            "{} may be read as the signals need it: {}",
            count(good.len(), "connection"),
            named(&good)
        ))?;
    }
    let mut together: BTreeMap<(BTreeSet<String>, String), Vec<String>> = BTreeMap::new();
    for ((what, mend), names) in bad {
        together.entry((names, mend)).or_default().push(what);
    }
    for ((names, mend), whats) in together {
        report.bad(&format!("{}: {}", named(&names), whats.join("\n")), &mend)?;
    }
    Ok(())
}

/// What makes a connection usable.
fn mend(error: &ReadError) -> &'static str {
    match error {
        ReadError::NoConnection { .. } => {
            "`coldframe access --script` makes the kubeconfigs; --clusters is the folder that they lie in."
        }
        ReadError::Denied { status: 401, .. } => "Make the kubeconfig anew (`coldframe access --script`).",
        ReadError::Denied { .. } => "`coldframe access` prints the rights that the policy needs; apply them there.",
        ReadError::Unreachable { .. } | ReadError::Expired { .. } | ReadError::Malformed { .. } => {
            "Look at the server of the kubeconfig, and whether this machine reaches it."
        }
        ReadError::NotServed { .. } => "Install what has that kind there, or look at the signals of the policy.",
    }
}

/// Through which of the operator's files a cluster is asked; the cluster itself where its credential is lent by a hub.
fn connection(ask: &Ask) -> String {
    match &ask.cluster.secret_ref {
        Some(_) => ask.cluster.name.to_string(),
        None => ask.cluster.credential.clone(),
    }
}

fn charts(report: &mut Report, seen: &Seen) -> anyhow::Result<()> {
    let mut good = BTreeSet::new();
    for (plugin, facts) in &seen.snapshot.plugins {
        match &facts.releases {
            Read::Known(releases) if !releases.is_empty() => {
                good.insert(plugin.to_string());
            }
            Read::Known(_) => report.doubt(
                &format!("{plugin}: its source has no release"),
                "Look at the address and the name of the chart in the policy.",
            )?,
            Read::Unread(why) => {
                let private = why.contains("let the operator allow");
                let mend = if private { "If the host is meant, name it in --allow-hosts." } else { "" };
                report.bad(&format!("{plugin}: {why}"), mend)?;
            }
        }
    }
    if good.is_empty() {
        return Ok(());
    }
    report.good(&format!("{} of charts can be read: {}", count(good.len(), "source"), named(&good)))
}

/// Whether the operator gives what the policy calls by name.
fn secrets(report: &mut Report, line: &Line, seen: &Seen) -> anyhow::Result<()> {
    let repository = line.context.repo.repository.id;
    let names: BTreeSet<&str> = seen.loaded.wiring.notify.iter().flat_map(|notify| notify.to.secrets()).collect();
    let mut good = BTreeSet::new();
    for name in names {
        match line.context.secrets.get(repository, name) {
            Ok(_) => {
                good.insert(name.to_string());
            }
            Err(why) => report.bad(&format!("`notify` tells nobody: {why}"), "")?,
        }
    }
    if good.is_empty() {
        return Ok(());
    }
    report.good(&format!("the secrets that `notify` names are there: {}", named(&good)))
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn named(names: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = names.iter().map(String::as_str).take(MOST_NAMED).collect();
    let more = names.len() - shown.len();
    let tail = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{tail}", shown.join(", "))
}
