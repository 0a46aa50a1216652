//! Argo CD `ApplicationSet`: the version stands in the template, or in the generator whose value the template names.

use serde_json::Value;

use super::kinds::argo;
use super::{Origin, Place, at, last, list, text};
use crate::jsonpath::Step;

const KIND: &str = "ApplicationSet";
/// Generators within generators: matrix and merge hold no deeper ones in Argo CD.
const DEEPEST: usize = 3;

/// The place in the template where it is literal; else every element of a generator that gives it.
pub(super) fn application_set(tree: &Value) -> Vec<Place> {
    let generators = at(tree, &["spec", "generators"]);
    let begin = vec![Step::Key("spec".to_string()), Step::Key("generators".to_string())];
    let all = |keys: &[String]| {
        let mut found = Vec::new();
        given(generators, &begin, keys, DEEPEST, &mut found);
        found
    };
    let mut found = Vec::new();
    for place in argo(tree, &["spec", "template", "spec"], KIND) {
        let place = named(tree, place, &all);
        match held(tree, &place.steps).and_then(Value::as_str).and_then(parameter) {
            None => found.push(place),
            Some(keys) => found.extend(all(&keys).into_iter().map(|steps| Place {
                steps,
                names: place.names.clone(),
                origin: place.origin.clone(),
                ..Place::of_chart(KIND, Vec::new(), "")
            })),
        }
    }
    found
}

fn held<'a>(tree: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(tree, |tree, step| match step {
        Step::Key(key) => tree.get(key),
        Step::Index(index) => tree.get(index),
    })
}

/// The place with the chart's own name, where the template names a value that the generators give.
fn named(tree: &Value, place: Place, all: &dyn Fn(&[String]) -> Vec<Vec<Step>>) -> Place {
    let source = place.steps.split_last().and_then(|(_, source)| held(tree, source));
    let values = |key: &str| -> Option<Vec<String>> {
        let keys = parameter(text(source?, &[key])?)?;
        let given = all(&keys);
        let mut given: Vec<String> =
            given.iter().filter_map(|steps| Some(held(tree, steps)?.as_str()?.to_string())).collect();
        given.sort();
        given.dedup();
        Some(given)
    };
    let (charts, repositories) = (values("chart"), values("repoURL"));
    if charts.is_none() && repositories.is_none() {
        return place;
    }
    let names = match &charts {
        Some(charts) => charts.iter().map(|chart| last(chart).to_string()).collect(),
        None => place.names.clone(),
    };
    let origin = match (repositories.as_deref(), text(source.unwrap_or_default(), &["repoURL"]), names.as_slice()) {
        (Some([repository]), _, [chart]) => Some(Origin::within(repository, chart)),
        (None, Some(repository), [chart]) => Some(Origin::within(repository, chart)),
        _ => None,
    };
    Place { names, origin, ..place }
}

/// The keys of `{{chartVersion}}`, `{{.values.chartVersion}}` or `{{ index .metadata … }}`, of which only the first
/// two stand in the set itself.
pub(super) fn parameter(text: &str) -> Option<Vec<String>> {
    let name = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim().trim_matches('-').trim();
    Some(name.trim_start_matches('.').split('.').map(str::to_string).collect())
}

fn given(generators: Option<&Value>, begin: &[Step], keys: &[String], deepest: usize, found: &mut Vec<Vec<Step>>) {
    let Some(generators) = generators.filter(|_| deepest > 0) else { return };
    for (index, generator) in list(generators, &[]) {
        let below = |more: &[&str]| -> Vec<Step> {
            let more = more.iter().map(|key| Step::Key((*key).to_string()));
            begin.iter().cloned().chain([Step::Index(index)]).chain(more).collect()
        };
        for (place, element) in list(generator, &["list", "elements"]) {
            let start = [below(&["list", "elements"]), vec![Step::Index(place)]].concat();
            take(element, start, keys, found);
        }
        for kind in ["list", "clusters", "git", "matrix", "merge"] {
            if let (Some(values), Some((first, rest))) = (at(generator, &[kind, "values"]), keys.split_first())
                && first == "values"
            {
                take(values, below(&[kind, "values"]), rest, found);
            }
        }
        for kind in ["matrix", "merge"] {
            given(at(generator, &[kind, "generators"]), &below(&[kind, "generators"]), keys, deepest - 1, found);
        }
    }
}

/// The value under these keys, where there is one.
fn take(tree: &Value, mut steps: Vec<Step>, keys: &[String], found: &mut Vec<Vec<Step>>) {
    let value = keys.iter().try_fold(tree, |tree, key| tree.get(key));
    if value.is_some_and(|value| value.is_string() || value.is_number()) {
        steps.extend(keys.iter().cloned().map(Step::Key));
        found.push(steps);
    }
}

/// Charts whose version stands in files that a git generator reads: the chart, where it comes from, the glob of the
/// files, and the keys within them.
pub fn from_files(tree: &Value) -> Vec<(String, Option<Origin>, String, Vec<String>)> {
    let mut globs = Vec::new();
    collect(at(tree, &["spec", "generators"]), DEEPEST, &mut globs);
    let mut found = Vec::new();
    for place in argo(tree, &["spec", "template", "spec"], KIND) {
        let keys = held(tree, &place.steps).and_then(Value::as_str).and_then(parameter);
        let (Some(keys), Some(chart)) = (keys, place.names.first()) else { continue };
        found.extend(globs.iter().map(|glob| (chart.clone(), place.origin.clone(), glob.clone(), keys.clone())));
    }
    found
}

fn collect(generators: Option<&Value>, deepest: usize, globs: &mut Vec<String>) {
    let Some(generators) = generators.filter(|_| deepest > 0) else { return };
    for (_, generator) in list(generators, &[]) {
        globs.extend(list(generator, &["git", "files"]).filter_map(|(_, one)| Some(text(one, &["path"])?.to_string())));
        for kind in ["matrix", "merge"] {
            collect(at(generator, &[kind, "generators"]), deepest - 1, globs);
        }
    }
}
