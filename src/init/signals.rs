//! Which signals would prove a plugin's releases, by the engines whose objects hold its versions.

use std::collections::BTreeSet;

use super::compose::scalar;
use super::flux::Applied;
use super::ladder::{Clusters, Ladder};
use super::plugins::Plugin;
use super::survey::{Engine, Release, Sight, Survey};
use crate::act::edit::find::Object;

/// What a repository says, for all that is asked of it.
pub(super) struct Said<'a> {
    pub survey: &'a Survey,
    pub ladder: &'a Ladder,
    pub applied: &'a Applied,
}

/// The signals of a plugin, one line of YAML each, with what is to be checked by a person.
pub(super) fn signals(plugin: &Plugin, said: &Said<'_>) -> Vec<String> {
    let lines: BTreeSet<String> = plugin.sights.iter().flat_map(|sight| signal(sight, plugin, said)).collect();
    if !lines.is_empty() {
        return lines.into_iter().collect();
    }
    let name = scalar(&plugin.name);
    vec![format!("- helmSecret: {{namespace: {name}, release: {name}}}{CHECK}")]
}

/// Said where the files do not say what an object is called.
const CHECK: &str = "   # check: the files do not say this";

fn signal(sight: &Sight, plugin: &Plugin, said: &Said<'_>) -> Vec<String> {
    let Said { survey, ladder, applied } = said;
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
                return vec![format!("- ociRepository: {}", in_cluster(object, "flux-system", sight, ladder))];
            }
            let beside = object.namespace.as_deref();
            releases.iter().map(|one| helm_release(&one.object, &one.file, beside, sight, said)).collect()
        }
        "Application" => vec![format!("- application: {}{}", in_cluster(object, "argocd", sight, ladder), hub(ladder))],
        "ApplicationSet" => {
            let Some(template) = survey.applications.get(&object.name) else { return Vec::new() };
            let namespace = scalar(object.namespace.as_deref().unwrap_or("argocd"));
            let (name, check) = application(template, &plugin.name, ladder);
            let name = scalar(&name);
            vec![format!("- application: {{namespace: {namespace}, name: {name}}}{}{check}", hub(ladder))]
        }
        _ => Vec::new(),
    }
}

/// A HelmRelease in the namespace into which Flux puts it, by the name that it gets there. A patch has none of its own;
/// the release that it patches has.
fn helm_release(object: &Object, file: &str, beside: Option<&str>, sight: &Sight, said: &Said<'_>) -> String {
    let Said { survey, ladder, applied } = said;
    let filled = |text: &str| ladder.general(&survey.flux.filled(text, file, applied), &sight.file);
    let all = |found: BTreeSet<String>| found.iter().map(|one| filled(one)).collect::<BTreeSet<String>>();
    let (found, names) = (all(applied.namespaces(file, object)), all(applied.names(file, object)));
    let name = names.first().filter(|_| names.len() == 1).cloned().unwrap_or_else(|| filled(&object.name));
    let beside = || beside.map(str::to_string);
    match found.first().cloned().or_else(beside).filter(|_| found.len() < 2 && names.len() == 1) {
        Some(namespace) => format!("- helmRelease: {}", placed(&namespace, &name)),
        None => format!("- helmRelease: {}{CHECK}", placed(found.first().unwrap_or(&name), &name)),
    }
}

fn in_cluster(object: &Object, namespace: &str, sight: &Sight, ladder: &Ladder) -> String {
    placed(object.namespace.as_deref().unwrap_or(namespace), &ladder.general(&object.name, &sight.file))
}

fn placed(namespace: &str, name: &str) -> String {
    format!("{{namespace: {}, name: {}}}", scalar(namespace), scalar(name))
}

/// The name that an ApplicationSet gives an application, with our placeholders for its own; the usual one, to be
/// checked, where it is made of something else.
fn application(template: &str, plugin: &str, ladder: &Ladder) -> (String, &'static str) {
    let mut name = template.to_string();
    for parameter in ["name", "cluster", "nameNormalized", "clusterName", "cluster.name"] {
        for form in [format!("{{{{{parameter}}}}}"), format!("{{{{.{parameter}}}}}"), format!("{{{{ .{parameter} }}}}")]
        {
            name = name.replace(&form, "{cluster}");
        }
    }
    for key in [ladder.label.as_str(), "tier", "env", "environment", "stage"] {
        for form in [format!("{{{{{key}}}}}"), format!("{{{{.{key}}}}}"), format!("{{{{ .{key} }}}}")] {
            name = name.replace(&form, "{tier}");
        }
    }
    if name.contains("{{") { (format!("{plugin}-{{cluster}}"), CHECK) } else { (name, "") }
}

/// Engines that run in a hub report there.
fn hub(ladder: &Ladder) -> &'static str {
    match &ladder.clusters {
        Clusters::Hub(Engine::ArgoCd) => "\n        connection: argocd",
        Clusters::Hub(Engine::Greenhouse) => "\n        connection: greenhouse",
        Clusters::Hub(Engine::Flux) | Clusters::Known(_) | Clusters::New(_) => "",
    }
}
