//! What a person has to know or to decide about a proposal, beside what was left out.

use std::collections::{BTreeMap, BTreeSet};

use super::ladder::{CLUSTERS, Clusters, Ladder, Listed, ONLY};
use super::plugins::{Sorted, is_of_charts};
use super::sight::{Engine, Sight};
use super::survey::Survey;
use super::words::{is_production, tiers_in};
use crate::edit::find::Reach;

/// So many names stand in one sentence.
const MOST_NAMED: usize = 8;

pub(super) fn notes(survey: &Survey, ladder: &Ladder, sorted: &Sorted) -> Vec<String> {
    let mut notes: Vec<String> = survey.of_applications.iter().map(|folder| of_applications(folder)).collect();
    if is_of_charts(survey) && notes.is_empty() {
        let why = "This is a repository of charts: each has templates of its own, and no file says where one runs. Its \
                   releases are watched from elsewhere: run `coldframe init` in the repository from which clusters get \
                   their versions.";
        return vec![why.to_string()];
    }
    if sorted.plugins.is_empty() {
        notes.extend(ranges(survey, ladder));
        return notes;
    }
    notes.extend(clusters(survey, ladder));
    notes.extend(production(ladder, sorted));
    if let Clusters::New(known) = &ladder.clusters {
        notes.extend(of_several_tiers(known, ladder));
    }
    notes.extend(sorted.split.iter().map(|(chart, names)| {
        format!(
            "The chart {chart} is installed as {}: each is a plugin of its own and climbs by itself. Where some belong \
             together, put their `write` and `signals` under one name.",
            listed(names)
        )
    }));
    notes
}

/// A chart that makes Applications: what they install is said by its values.
fn of_applications(folder: &str) -> String {
    let folder = if folder.is_empty() { "this folder" } else { folder.trim_end_matches('/') };
    format!(
        "The chart in {folder} makes Applications of its values, and only Helm knows which. Where their versions stand in \
         its values, put the comment `# coldframe: NAME` on the line of each, and write the plugin NAME by hand with \
         `write: [{{file: …, format: text}}]`."
    )
}

/// Where every version is a range, what to write is all that there is to say. What is one for all tiers would be left
/// out all the same.
fn ranges(survey: &Survey, ladder: &Ladder) -> Option<String> {
    let range = |sight: &&Sight| {
        let is_range = sight.holds.as_ref().is_err_and(|why| why.contains(" is the range "));
        let captured = ladder.capture(&sight.file);
        let whose = captured.tier.is_some() || captured.cluster.is_some() || sight.found.reach != Reach::Unsaid;
        is_range && (ladder.tiers.is_empty() || whose)
    };
    let files: Vec<String> = survey.sights.iter().filter(range).map(|sight| sight.file.clone()).collect();
    (!files.is_empty()).then(|| {
        format!(
            "A range moves without a commit, so that no release can climb. Write the version that runs now in its place, \
             in {}, and run this again.",
            listed(&files)
        )
    })
}

/// Where there are no tiers, what is called production moves with nothing before it.
fn production(ladder: &Ladder, sorted: &Sorted) -> Option<String> {
    let is_so = |text: &str| text.split('/').flat_map(tiers_in).any(is_production);
    let plugins = sorted.plugins.iter().filter(|_| ladder.tiers.is_empty());
    let named: Vec<String> = plugins
        .filter(|plugin| is_so(&plugin.name) || plugin.writes.iter().any(|write| is_so(&write.file)))
        .map(|plugin| plugin.name.clone())
        .collect();
    (!named.is_empty()).then(|| {
        format!(
            "Nothing goes before production: by their names, {} move it with each release. Say by `tiers` what comes \
             first, and give each plugin one `write` for all tiers (`{{tier}}`).",
            listed(&named)
        )
    })
}

fn clusters(survey: &Survey, ladder: &Ladder) -> Vec<String> {
    match &ladder.clusters {
        Clusters::Known(file) if survey.inventory.as_ref().is_some_and(|(_, known)| known.is_empty()) => {
            vec![format!("{file} lists no cluster: until it does, nothing is promoted.")]
        }
        Clusters::New(known) if known.is_empty() => {
            vec![format!(
                "No file shows a cluster: {CLUSTERS} names one, `{ONLY}`, which is to be called as the operator's connection is."
            )]
        }
        Clusters::New(known) => {
            let lost: Vec<String> =
                known.iter().filter(|(_, one)| one.tier.is_none()).map(|(name, _)| name.clone()).collect();
            if lost.is_empty() {
                return Vec::new();
            }
            if ladder.tiers.is_empty() && known.len() > 1 {
                return vec![format!(
                    "No file says in which order {} get a release: all of them are one step. Give them labels in {CLUSTERS}, and \
                     write `tiers`.",
                    listed(&lost)
                )];
            }
            if ladder.tiers.is_empty() {
                return Vec::new();
            }
            vec![format!("No file says of which tier {} is: give it its label in {CLUSTERS}.", listed(&lost))]
        }
        Clusters::Known(_) | Clusters::Hub(Engine::ArgoCd | Engine::Flux | Engine::Greenhouse) => Vec::new(),
    }
}

/// Clusters that run several tiers, and tiers that run nowhere.
fn of_several_tiers(known: &BTreeMap<String, Listed>, ladder: &Ladder) -> Vec<String> {
    let on = |tier: &&String, cluster: &String| {
        known.values().any(|one| one.part_of.as_ref() == Some(cluster) && one.tier.as_ref() == Some(*tier))
    };
    let shared: BTreeSet<&String> = known.values().filter_map(|one| one.part_of.as_ref()).collect();
    let told = shared.into_iter().map(|cluster| {
        let tiers: Vec<String> = ladder.tiers.iter().filter(|tier| on(tier, cluster)).cloned().collect();
        let names: Vec<String> = known
            .iter()
            .filter(|(_, one)| one.part_of.as_ref() == Some(cluster))
            .map(|(name, _)| name.clone())
            .collect();
        format!(
            "Cluster {cluster} runs {}. {CLUSTERS} lists it once for each, as {}, all by the operator's connection \
             `{cluster}`, so that one tier still goes before the other.",
            tiers.join(" and "),
            listed(&names)
        )
    });
    let empty = |tier: &&String| !known.is_empty() && !known.values().any(|one| one.tier.as_ref() == Some(*tier));
    let all_known = known.values().all(|one| one.tier.is_some());
    let empty: Vec<String> = ladder.tiers.iter().filter(|_| all_known).filter(empty).cloned().collect();
    let lost = (!empty.is_empty()).then(|| {
        format!("No file shows a cluster of {}: list one in {CLUSTERS}, or take it out of `tiers`.", listed(&empty))
    });
    told.chain(lost).collect()
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
