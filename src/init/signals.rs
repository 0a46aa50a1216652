//! Which signals would prove a plugin's releases, by the engines whose objects hold its versions.

mod folders;
mod helm;
mod line;
mod sets;

use std::collections::{BTreeMap, BTreeSet};

use super::plugins::Plugin;
use super::sight::{Argo, Release, Sight};
use super::text::scalar;
use super::words::with_tier;
use crate::edit::find::Object;
pub(super) use line::Said;
use line::{Line, UNKNOWN, hub, in_cluster, placed};

/// So many things to check stand behind one signal.
const MOST_CHECKS: usize = 3;

/// The signals of a plugin, one item of YAML each, with what is to be checked by a person.
pub(super) fn signals(plugin: &Plugin, said: &Said<'_>) -> Vec<String> {
    let mut lines: BTreeMap<(String, &str), Vec<String>> = BTreeMap::new();
    let mut take = |line: Line| {
        let checks = lines.entry((line.text, line.connection)).or_default();
        line.checks.into_iter().for_each(|check| {
            if !checks.contains(&check) {
                checks.push(check)
            }
        });
    };
    plugin.sights.iter().flat_map(|sight| signal(sight, plugin, said)).for_each(&mut take);
    let missing = folders::missing(plugin, said);
    if lines.is_empty() {
        let guess = if missing.is_empty() { helm::guessed(plugin) } else { folders::guessed(plugin, said) };
        lines.insert((guess.text, guess.connection), guess.checks);
    }
    // One that nobody knows beside those that are known would never be there.
    lines.first_entry().into_iter().for_each(|mut first| first.get_mut().extend(missing.iter().cloned()));
    lines.into_iter().map(|((text, connection), checks)| format!("- {text}{}{connection}", check(&checks))).collect()
}

/// What to check stands behind what it is about.
fn check(checks: &[String]) -> String {
    if checks.is_empty() {
        return String::new();
    }
    let more = checks.len().saturating_sub(MOST_CHECKS);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let shown: Vec<&str> = checks.iter().take(MOST_CHECKS).map(String::as_str).collect();
    format!("   # check: {}{more}", shown.join("; "))
}

fn signal(sight: &Sight, plugin: &Plugin, said: &Said<'_>) -> Vec<Line> {
    let Said { survey, ladder, applied } = said;
    if folders::is_of(sight, survey) {
        return folders::applications(sight, plugin, said);
    }
    if sight.found.kind.starts_with("source of a Catalog") {
        return presets(sight, said);
    }
    if sight.helm.is_some() {
        return helm::secret(sight, said).into_iter().collect();
    }
    let Some(object) = sight.found.object.as_ref() else { return Vec::new() };
    let file = sight.of.as_ref().unwrap_or(&sight.file);
    match object.kind.as_str() {
        "HelmRelease" => vec![helm_release(object, file, None, sight, said)],
        "OCIRepository" => {
            let named = |one: &&Release| one.chart_ref.as_deref() == Some(&object.name);
            let all: Vec<&Release> = survey.releases.iter().filter(named).collect();
            let near: Vec<&Release> = all.iter().copied().filter(|one| applied.together(file, &one.file)).collect();
            let releases = if near.is_empty() { all } else { near };
            if releases.is_empty() {
                let (namespace, name) = in_cluster(object, "flux-system", sight, ladder);
                return vec![Line::of("ociRepository", &placed(&namespace, &name))];
            }
            let beside = object.namespace.as_deref();
            releases.iter().map(|one| helm_release(&one.object, &one.file, beside, sight, said)).collect()
        }
        "Application" => {
            let (namespace, name) = in_cluster(object, "argocd", sight, ladder);
            vec![Line::application(&namespace, &name, None, hub(ladder))]
        }
        "ApplicationSet" => application_set(object, sight, plugin, said),
        _ => Vec::new(),
    }
}

/// Greenhouse: the presets that install a definition, by its own name or by an alias that a tier is a part of.
fn presets(sight: &Sight, said: &Said<'_>) -> Vec<Line> {
    let Said { survey, ladder, .. } = said;
    let plugin = sight.found.names.first().map_or("", String::as_str);
    let known = [plugin.to_string(), format!("{plugin}-{{tier}}"), format!("{{tier}}-{plugin}")];
    let general = |name: &str| ladder.tier_in(name).map_or_else(|| name.to_string(), |tier| with_tier(name, tier));
    let installs = survey.presets.iter().filter(|(_, definition)| known.contains(&general(definition)));
    let catalog = sight.found.object.as_ref().filter(|object| object.kind == "Catalog");
    let catalog = catalog.map(|object| general(&object.name));
    let catalog = catalog.map_or_else(String::new, |name| format!(", catalog: {}", scalar(&name)));
    let line = |(object, _): &(Object, String)| {
        let namespace = object.namespace.as_deref().unwrap_or("greenhouse");
        let about = placed(namespace, &general(&object.name));
        let about = format!("{}{catalog}}}", about.trim_end_matches('}'));
        Line { connection: hub(ladder), ..Line::of("pluginPreset", &about) }
    };
    installs.map(line).collect()
}

fn application_set(object: &Object, sight: &Sight, plugin: &Plugin, said: &Said<'_>) -> Vec<Line> {
    let is_it = |one: &&Argo| one.object == *object;
    let here = said.survey.argo.iter().filter(is_it).find(|one| one.file == sight.file);
    let Some(set) = here.or_else(|| said.survey.argo.iter().find(is_it)) else { return Vec::new() };
    let all = sets::made(&set.tree, &BTreeSet::new(), &said.survey.values);
    let name = sets::name(set, &sets::concerned(&all, set, plugin), sight, plugin, said);
    let namespace = object.namespace.as_deref().unwrap_or("argocd");
    let lines = name.lines(|name| Line::application(namespace, name, None, hub(said.ladder)));
    lines.into_iter().map(|line| line.but_if(sets::selected(set, sight, said))).collect()
}

/// A HelmRelease in the namespace into which Flux puts it, by the name that it gets there. A patch has none of its own;
/// the release that it patches has.
fn helm_release(object: &Object, file: &str, beside: Option<&str>, sight: &Sight, said: &Said<'_>) -> Line {
    let Said { survey, ladder, applied } = said;
    let filled = |text: &str| ladder.general(&survey.flux.filled(text, file, applied), &sight.file);
    let all = |found: BTreeSet<String>| found.iter().map(|one| filled(one)).collect::<BTreeSet<String>>();
    let (found, names) = (all(applied.namespaces(file, object)), all(applied.names(file, object)));
    let name = names.first().filter(|_| names.len() == 1).cloned().unwrap_or_else(|| filled(&object.name));
    let beside = || beside.map(str::to_string);
    let line = |namespace: &str| Line::of("helmRelease", &placed(namespace, &name));
    match found.first().cloned().or_else(beside).filter(|_| found.len() < 2 && names.len() == 1) {
        Some(namespace) => line(&namespace),
        None => line(found.first().unwrap_or(&name)).but(UNKNOWN.to_string()),
    }
}
