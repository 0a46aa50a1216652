//! The text of a proposed policy file. Every line that a person has to look at says so.

use std::collections::BTreeSet;

use super::agree::agreed;
use super::flux::Applied;
use super::ladder::{CLUSTERS, Clusters, Ladder, Listed, ONLY};
use super::notes::notes;
use super::plugins::{Plugin, Sorted, WriteAt};
use super::proposal::{Proposal, Proposed};
use super::sight::Engine;
use super::signals::Said;
use super::survey::Survey;
use super::text::{comment, scalar, wrapped};
use crate::edit::find::Origin;
use crate::policy::wiring::{DocumentSelector, Scalar};
use crate::policy::{self, Setting, SourceFile};

pub(super) fn compose(survey: &Survey, ladder: &Ladder, applied: &Applied, mut sorted: Sorted) -> Proposal {
    let said = Said { survey, ladder, applied };
    let head = format!("version: 1\n\n{}{}", clusters(survey, ladder), tiers(ladder));
    let written = sound(&head, &said, &mut sorted);
    sorted.left_out.extend(survey.flux.in_sets());
    let notes = notes(survey, ladder, &sorted);
    let policy = policy(&head, &written, &notes, &sorted);
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
        notes,
        files: survey.files,
    }
}

/// The texts of the plugins. One that the reader of policies refuses is left out with what it says.
fn sound(head: &str, said: &Said<'_>, sorted: &mut Sorted) -> Vec<String> {
    let mut written = Vec::new();
    let mut kept = Vec::new();
    for one in std::mem::take(&mut sorted.plugins) {
        let text = plugin(&one, said);
        match unfilled(&text).or_else(|| refused(&format!("{head}plugins:\n{text}"))) {
            None => {
                written.push(text);
                kept.push(one);
            }
            Some(why) => {
                let file = one.writes.first().map_or("", |write| write.file.as_str());
                sorted.left_out.push((format!("{} in {file}", one.name), why));
            }
        }
    }
    sorted.plugins = kept;
    together(head, written, sorted)
}

/// The same for what plugins have in common. One by one only where something is wrong, since that takes long.
fn together(head: &str, written: Vec<String>, sorted: &mut Sorted) -> Vec<String> {
    let whole = |texts: &[String]| refused(&format!("{head}plugins:\n{}", texts.join("\n")));
    if whole(&written).is_none() || written.is_empty() {
        return written;
    }
    let mut good: Vec<String> = Vec::new();
    for (one, text) in std::mem::take(&mut sorted.plugins).into_iter().zip(written) {
        good.push(text);
        match whole(&good) {
            None => sorted.plugins.push(one),
            Some(why) => {
                good.pop();
                sorted.left_out.push((one.name, why));
            }
        }
    }
    good
}

/// A name that is only known once Flux has filled it in.
fn unfilled(text: &str) -> Option<String> {
    let (name, _) = text.split_once("${")?.1.split_once('}')?;
    Some(format!("`${{{name}}}` stands in its name or address, and no Kustomization here says what for"))
}

/// What is wrong with a policy of one plugin.
fn refused(text: &str) -> Option<String> {
    let files = [SourceFile { path: "coldframe.yaml".to_string(), text: text.to_string() }];
    let problems = policy::load_in(&files, &Setting::default()).err()?;
    problems.first().map(|problem| match &problem.help {
        Some(help) => format!("{} ({help})", problem.message),
        None => problem.message.clone(),
    })
}

fn policy(head: &str, written: &[String], notes: &[String], sorted: &Sorted) -> String {
    let mut out = String::from(
        "# Proposed by `coldframe init` from the files of this repository. `coldframe check` reads it, `coldframe plan`\n\
         # shows what the bot would do.\n",
    );
    for note in notes {
        out.push_str(&format!("#\n{}", wrapped(&comment(note))));
    }
    out.push_str(head);
    if written.is_empty() {
        out.push_str("plugins: []\n");
    } else {
        out.push_str("plugins:\n");
        out.push_str(&written.join("\n"));
    }
    if !sorted.left_out.is_empty() {
        out.push_str("\n# Versions that are left out:\n");
        for (what, why) in &sorted.left_out {
            out.push_str(&format!("#   {}: {}\n", comment(what), comment(why)));
        }
    }
    out
}

fn clusters(survey: &Survey, ladder: &Ladder) -> String {
    let line = match &ladder.clusters {
        Clusters::Known(file) => format!("clusters: {{from: file, path: {}}}", scalar(file)),
        Clusters::New(_) => format!("clusters: {{from: file, path: {CLUSTERS}}}"),
        Clusters::Hub(Engine::ArgoCd) => {
            "clusters: {from: argocd, connection: argocd}   # the operator's connection to the cluster of Argo CD"
                .into()
        }
        Clusters::Hub(Engine::Greenhouse) => {
            let organization =
                organization(survey).map_or(String::new(), |name| format!(", namespace: {}", scalar(name)));
            format!(
                "clusters: {{from: greenhouse, connection: greenhouse{organization}}}   # the operator's connection to the hub"
            )
        }
        Clusters::Hub(Engine::Flux) => "clusters: {from: flux, connection: flux, namespace: flux-system}".into(),
    };
    format!("{line}\n\n")
}

/// The one organization whose presets these are, where what they install concerns no other.
fn organization(survey: &Survey) -> Option<&str> {
    let all: BTreeSet<Option<&str>> = survey.presets.iter().map(|(preset, _)| preset.namespace.as_deref()).collect();
    all.first().copied().flatten().filter(|_| all.len() == 1 && !survey.for_all)
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
            out.push_str("    merge: approved   # automatic: without an approval\n    soak: 1h\n");
        } else {
            out.push_str("    soak: 1d\n    approvals: {codeOwners: true, atLeast: 1}\n");
        }
    }
    out + "\n"
}

fn plugin(plugin: &Plugin, said: &Said<'_>) -> String {
    let mut out = format!("  - name: {}\n    chart: {}\n    write:\n", scalar(&plugin.name), chart(&plugin.origin));
    for write in &plugin.writes {
        out.push_str(&spot(write));
    }
    out.push_str("    signals:\n");
    for line in agreed(plugin, said) {
        out.push_str(&format!("      {line}\n"));
    }
    out
}

fn spot(write: &WriteAt) -> String {
    let mut out = format!("      - file: {}\n", scalar(&write.file));
    if let Some(Scalar { document, path, value }) = &write.at {
        if let Some(DocumentSelector { kind, name }) = document {
            let name = name.as_ref().map_or(String::new(), |name| format!(", name: {}", scalar(name)));
            out.push_str(&format!("        document: {{kind: {}{name}}}\n", scalar(kind)));
        }
        out.push_str(&format!("        path: {}\n", scalar(path)));
        out.push_str(&value.as_ref().map_or(String::new(), |value| format!("        value: {}\n", scalar(value))));
    }
    out
}

/// As the policy names a chart: by a repository with an index, or as an OCI address.
fn chart(origin: &Origin) -> String {
    let Origin { url, chart, definition } = origin;
    if let Some(path) = definition {
        return format!("{{catalog: {}, path: {}}}", scalar(url), scalar(path));
    }
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

fn inventory<'a>(clusters: impl Iterator<Item = (&'a String, &'a Listed)>, label: &str) -> String {
    let mut lines = String::new();
    for (name, Listed { tier, part_of }) in clusters {
        let labels = tier.as_ref().map(|tier| format!(", labels: {{{}: {}}}", scalar(label), scalar(tier)));
        let (connection, check) = part_of.as_ref().map_or_else(Default::default, |cluster| {
            let check = format!("   # check: cluster {}, which has an entry for each tier", comment(cluster));
            (format!(", credential: {}", scalar(cluster)), check)
        });
        let labels = labels.unwrap_or_default();
        lines.push_str(&format!("  - {{name: {}{labels}{connection}}}{check}\n", scalar(name)));
    }
    if lines.is_empty() {
        return format!(
            "# No file shows a cluster. Call this one as the operator's connection to it is called.\nclusters:\n  - {{name: {ONLY}}}\n"
        );
    }
    format!("# The clusters, as `coldframe init` saw them in the names of files.\nclusters:\n{lines}")
}
