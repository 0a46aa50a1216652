//! The text of a proposed policy file. Every line that a person has to look at says so.

use super::ladder::{Clusters, Ladder};
use super::plugins::{Plugin, Sorted, WriteAt};
use super::signals::signals;
use super::survey::{Engine, Survey};
use super::{Proposal, Proposed};
use crate::act::edit::find::Origin;
use crate::policy::wiring::{DocumentSelector, Scalar};

/// Where the file with new clusters goes.
pub(super) const CLUSTERS: &str = "clusters.yaml";

pub(super) fn compose(survey: &Survey, ladder: &Ladder, sorted: Sorted) -> Proposal {
    let policy = policy(survey, ladder, &sorted);
    let plugins: Vec<Proposed> = sorted.plugins.into_iter().map(|plugin| plugin.shown).collect();
    Proposal {
        policy,
        clusters: match &ladder.clusters {
            Clusters::New(clusters) => Some(inventory(clusters.iter(), &ladder.label)),
            Clusters::Known(_) | Clusters::Hub(_) => None,
        },
        tiers: ladder.tiers.clone(),
        plugins,
        left_out: sorted.left_out,
        files: survey.files,
    }
}

fn policy(survey: &Survey, ladder: &Ladder, sorted: &Sorted) -> String {
    let mut out = String::from(
        "# Proposed by `coldframe init` from the files of this repository. `coldframe check` reads it, `coldframe plan`\n\
         # shows what the bot would do.\nversion: 1\n\n",
    );
    out.push_str(&clusters(ladder));
    out.push_str(&tiers(ladder));
    if sorted.plugins.is_empty() {
        out.push_str("plugins: []\n");
    } else {
        out.push_str("plugins:\n");
        let all: Vec<String> = sorted.plugins.iter().map(|one| plugin(one, survey, ladder)).collect();
        out.push_str(&all.join("\n"));
    }
    if !sorted.left_out.is_empty() {
        out.push_str("\n# Versions that are left out:\n");
        for (what, why) in &sorted.left_out {
            out.push_str(&format!("#   {}: {}\n", comment(what), comment(why)));
        }
    }
    out
}

fn clusters(ladder: &Ladder) -> String {
    let line = match &ladder.clusters {
        Clusters::Known(file) => format!("clusters: {{from: file, path: {}}}", scalar(file)),
        Clusters::New(_) => format!("clusters: {{from: file, path: {CLUSTERS}}}"),
        Clusters::Hub(Engine::ArgoCd) => {
            "clusters: {from: argocd, connection: argocd}   # the operator's connection to the cluster of Argo CD"
                .into()
        }
        Clusters::Hub(Engine::Greenhouse) => {
            "clusters: {from: greenhouse, connection: greenhouse}   # the operator's connection to the hub".into()
        }
        Clusters::Hub(Engine::Flux) => "clusters: {from: flux, connection: flux, namespace: flux-system}".into(),
    };
    format!("{line}\n\n")
}

/// Approval on every tier is the default; how long each is watched is for people to say.
fn tiers(ladder: &Ladder) -> String {
    if ladder.tiers.len() < 2 {
        return String::new();
    }
    let mut out = String::from("tiers:   # in the order of promotion\n");
    for (index, tier) in ladder.tiers.iter().enumerate() {
        let guessed = if ladder.guessed.contains(tier) { "   # check: its place in the order is a guess" } else { "" };
        out.push_str(&format!("  - name: {}{guessed}\n", scalar(tier)));
        out.push_str(&format!("    select: {{matchLabels: {{{}: {}}}}}\n", scalar(&ladder.label), scalar(tier)));
        if index == 0 {
            out.push_str("    soak: 1h\n");
        } else {
            out.push_str("    soak: 1d\n    approvals: {codeOwners: true, atLeast: 1}\n");
        }
    }
    out + "\n"
}

fn plugin(plugin: &Plugin, survey: &Survey, ladder: &Ladder) -> String {
    let mut out = format!("  - name: {}\n    chart: {}\n    write:\n", scalar(&plugin.name), chart(&plugin.origin));
    for write in &plugin.writes {
        out.push_str(&spot(write));
    }
    out.push_str("    signals:\n");
    for line in signals(plugin, survey, ladder) {
        out.push_str(&format!("      {line}\n"));
    }
    out
}

fn spot(write: &WriteAt) -> String {
    let mut out = format!("      - file: {}\n", scalar(&write.file));
    if let Some(Scalar { document, path, value }) = &write.at {
        if let Some(DocumentSelector { kind, name }) = document {
            let name = name.as_ref().map_or(String::new(), |name| format!(", name: {}", scalar(name)));
            out.push_str(&format!("        document: {{kind: {kind}{name}}}\n"));
        }
        out.push_str(&format!("        path: {}\n", scalar(path)));
        out.push_str(&value.as_ref().map_or(String::new(), |value| format!("        value: {}\n", scalar(value))));
    }
    out
}

/// As the policy names a chart: by a repository with an index, or as an OCI address.
fn chart(origin: &Origin) -> String {
    let Origin { url, chart } = origin;
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    match (scheme, chart) {
        (Some("http" | "https"), Some(chart)) => {
            format!("{{repository: {}, name: {}}}", scalar(url.trim_end_matches('/')), scalar(chart))
        }
        (_, chart) => {
            let scheme = if scheme.is_some_and(|scheme| scheme == "oci+http") { "oci+http" } else { "oci" };
            let bare = url.split_once("://").map_or(url.as_str(), |(_, bare)| bare);
            let whole = [Some(bare.trim_end_matches('/')), chart.as_deref()];
            let whole = whole.into_iter().flatten().collect::<Vec<_>>().join("/");
            format!("{{oci: {}}}", scalar(&format!("{scheme}://{whole}")))
        }
    }
}

fn inventory<'a>(clusters: impl Iterator<Item = (&'a String, &'a String)>, label: &str) -> String {
    let mut out = String::from("# The clusters, as `coldframe init` saw them in the names of files.\nclusters:\n");
    for (name, tier) in clusters {
        out.push_str(&format!("  - {{name: {}, labels: {{{}: {}}}}}\n", scalar(name), scalar(label), scalar(tier)));
    }
    out
}

/// A text as YAML: plain where that is plainly a text.
fn scalar(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:+".contains(c))
        && !text.ends_with(':')
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if plain { text.to_string() } else { serde_json::Value::String(text.to_string()).to_string() }
}

/// One line, whatever a file is called.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
