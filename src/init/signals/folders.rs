//! Argo CD: which Applications apply the folder in which a version stands. Of a chart that Kustomize inflates, or that
//! a chart brings, Argo CD leaves no release of Helm: the Application shows the commit, and that the version.

use std::collections::BTreeSet;

use serde_json::Value;

use super::line::{Line, Said, hub, in_cluster};
use super::sets::{Made, made, name, selected};
use crate::init::plugins::Plugin;
use crate::init::sight::{Argo, Engine, Sight, at};
use crate::init::survey::Survey;
use crate::init::text::plain;
use crate::init::walk::{glob, join};

/// Whether Argo CD applies the folder of this place, rather than the chart itself.
pub(super) fn is_of(sight: &Sight, survey: &Survey) -> bool {
    matches!(sight.found.kind, "chart of a Kustomization" | "dependency of a chart")
        && survey.engines.contains(&Engine::ArgoCd)
}

/// A line for each Application that applies the folder of this place.
pub(super) fn applications(sight: &Sight, plugin: &Plugin, said: &Said<'_>) -> Vec<Line> {
    let folder = sight.file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let folders = leading_to(folder, said.survey);
    let of = |argo: &Argo| match argo.object.kind.as_str() {
        "ApplicationSet" => of_set(argo, &folders, sight, plugin, said),
        _ => of_application(argo, &folders, sight, said),
    };
    said.survey.argo.iter().flat_map(of).collect()
}

/// What to check of the places that no Application of this repository applies.
pub(super) fn missing(plugin: &Plugin, said: &Said<'_>) -> BTreeSet<String> {
    let alone = |sight: &&Sight| is_of(sight, said.survey) && applications(sight, plugin, said).is_empty();
    let file = |sight: &Sight| plain(&said.ladder.capture(&sight.file).pattern);
    let all = plugin.sights.iter().filter(alone);
    all.map(|sight| format!("no Application here applies {}", file(sight))).collect()
}

/// What an Application would usually be called.
pub(super) fn guessed(plugin: &Plugin, said: &Said<'_>) -> Line {
    Line::application("argocd", &plugin.name, None, hub(said.ladder))
}

fn of_application(argo: &Argo, folders: &BTreeSet<String>, sight: &Sight, said: &Said<'_>) -> Vec<Line> {
    let (namespace, name) = in_cluster(&argo.object, "argocd", sight, said.ladder);
    let here = |(source, path): (Option<usize>, &str)| {
        let applies = join("", path).is_some_and(|path| folders.contains(&path));
        applies.then(|| Line::application(&namespace, &name, source, hub(said.ladder)))
    };
    paths(&argo.tree, &["spec"]).into_iter().filter_map(here).collect()
}

fn of_set(argo: &Argo, folders: &BTreeSet<String>, sight: &Sight, plugin: &Plugin, said: &Said<'_>) -> Vec<Line> {
    let mut paths = paths(&argo.tree, &["spec", "template", "spec"]);
    paths.retain(|(_, path)| path.contains("{{") || leads(path, folders));
    if paths.is_empty() {
        return Vec::new();
    }
    let all = made(&argo.tree, folders, &said.survey.values);
    let mut lines = Vec::new();
    for (source, path) in paths {
        let here: Vec<&Made> = all.iter().filter(|one| leads(&one.filled(path), folders)).collect();
        if here.is_empty() {
            continue;
        }
        let namespace = argo.object.namespace.as_deref().unwrap_or("argocd");
        let line = |name: &str| Line::application(namespace, name, source, hub(said.ladder));
        let by = format!("the ApplicationSet {} makes it from `{}`", plain(&argo.object.name), plain(path));
        let known = here.iter().all(|one| folders.contains(&one.filled(path)));
        let made = name(argo, &here, sight, plugin, said).lines(line).into_iter();
        lines.extend(made.map(|line| {
            // Which clusters there are it does not say.
            let doubt = !known || line.text.contains("{cluster}");
            line.but_if(doubt.then(|| by.clone())).but_if(selected(argo, sight, said))
        }));
    }
    lines
}

/// Whether a path is one of these folders, where what nobody here knows of it may be anything.
fn leads(path: &str, folders: &BTreeSet<String>) -> bool {
    let mut pattern = String::new();
    let mut rest = path;
    while let Some((before, (_, behind))) = rest.split_once("{{").and_then(|(a, b)| Some((a, b.split_once("}}")?))) {
        pattern.push_str(before);
        pattern.push('*');
        rest = behind;
    }
    pattern.push_str(rest);
    let pattern = pattern.replace("{cluster}", "*");
    let says = pattern.contains(|c: char| c.is_ascii_alphanumeric());
    says && join("", &pattern).is_some_and(|pattern| folders.iter().any(|folder| glob(&pattern, folder)))
}

/// The folders that sources read, each with its number where there are several.
fn paths<'a>(tree: &'a Value, below: &[&str]) -> Vec<(Option<usize>, &'a str)> {
    let Some(spec) = at(tree, below) else { return Vec::new() };
    let path = |source: &'a Value| source.get("path")?.as_str();
    let several = spec.get("sources").and_then(Value::as_array).into_iter().flatten().enumerate();
    let several = several.filter_map(|(index, source)| Some((Some(index), path(source)?)));
    spec.get("source").and_then(path).map(|path| (None, path)).into_iter().chain(several).collect()
}

/// This folder, and those whose `kustomization.yaml` or `Chart.yaml` leads to it.
fn leading_to(folder: &str, survey: &Survey) -> BTreeSet<String> {
    let mut found = BTreeSet::from([folder.to_string()]);
    loop {
        let more = survey.folders.iter().filter(|(_, below)| below.iter().any(|one| found.contains(one)));
        let more: Vec<String> = more.map(|(above, _)| above.clone()).filter(|one| !found.contains(one)).collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}
