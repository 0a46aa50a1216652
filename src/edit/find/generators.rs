//! Argo CD `ApplicationSet`: the version stands in the template, or in the generator whose value the template names.

use std::collections::BTreeSet;

use serde_json::Value;

use super::kinds::argo;
use super::{Origin, Place, at, last, list, text};
use jsonpath::Step;

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
        let source = place.steps.split_last().and_then(|(_, source)| held(tree, source)).unwrap_or_default();
        let named = |place: Place, element: &[Step]| named(source, place, &|keys| values(tree, &all(keys), element));
        match held(tree, &place.steps).and_then(Value::as_str).and_then(parameter) {
            None => found.push(named(place, &[])),
            Some(keys) => found.extend(all(&keys).into_iter().map(|steps| {
                let element = steps.get(..steps.len().saturating_sub(1)).unwrap_or_default().to_vec();
                let (names, origin) = (place.names.clone(), place.origin.clone());
                named(Place { steps, names, origin, ..Place::of_chart(KIND, Vec::new(), "") }, &element)
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

/// The values at these places: those of the same element alone, where it has one.
fn values(tree: &Value, places: &[Vec<Step>], element: &[Step]) -> BTreeSet<String> {
    let own = |steps: &&Vec<Step>| steps.split_last().is_some_and(|(_, before)| before == element);
    let text = |steps: &Vec<Step>| Some(held(tree, steps)?.as_str()?.to_string());
    let of_element: BTreeSet<String> = places.iter().filter(own).filter_map(text).collect();
    if of_element.is_empty() { places.iter().filter_map(text).collect() } else { of_element }
}

/// The place with the chart's own name, where the template makes it of values that the generators give.
fn named(source: &Value, place: Place, values: &dyn Fn(&[String]) -> BTreeSet<String>) -> Place {
    let of = |key: &str| filled(text(source, &[key])?, values);
    let (charts, repositories) = (of("chart"), of("repoURL"));
    if charts.is_none() && repositories.is_none() {
        return place;
    }
    let names = match &charts {
        Some(charts) => {
            charts.iter().map(|chart| last(chart).to_string()).collect::<BTreeSet<_>>().into_iter().collect()
        }
        None => place.names.clone(),
    };
    let written = |key: &str| text(source, &[key]).map(str::to_string);
    let only = |all: Option<Vec<String>>, key: &str| match all {
        Some(all) => <[String; 1]>::try_from(all).ok().map(|[only]| only),
        None => written(key),
    };
    let origin = match (only(repositories, "repoURL"), only(charts, "chart")) {
        (Some(repository), Some(chart)) => Some(Origin::within(&repository, &chart)),
        (Some(repository), None) if text(source, &["chart"]).is_none() => Some(Origin::whole(&repository)),
        _ => None,
    };
    Place { names, origin, ..place }
}

/// So many texts may a template become.
const MOST_TEXTS: usize = 64;

/// What `{{values.group}}/{{values.chart}}` becomes; none where no value stands in it. What a value is that no
/// generator here gives stays as it is written.
fn filled(template: &str, values: &dyn Fn(&[String]) -> BTreeSet<String>) -> Option<Vec<String>> {
    let mut texts = vec![String::new()];
    let mut rest = template;
    let mut any = false;
    while let Some((before, (inner, behind))) =
        rest.split_once("{{").and_then(|(before, inner)| Some((before, inner.split_once("}}")?)))
    {
        any = true;
        let whole = format!("{{{{{inner}}}}}");
        let mut given = parameter(&whole).map(|keys| values(&keys)).unwrap_or_default();
        if given.is_empty() {
            given.insert(whole);
        }
        let with = |text: &String| given.iter().map(|value| format!("{text}{before}{value}")).collect::<Vec<_>>();
        texts = texts.iter().flat_map(with).take(MOST_TEXTS).collect();
        rest = behind;
    }
    any.then(|| texts.into_iter().map(|text| text + rest).collect())
}

/// The keys of `{{chartVersion}}`, `{{.values.chartVersion}}` or `{{ index .metadata … }}`, of which only the first
/// two stand in the set itself.
pub(super) fn parameter(text: &str) -> Option<Vec<String>> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let name = inner.trim().trim_matches('-').trim();
    let one = !inner.contains("{{") && !inner.contains("}}");
    one.then(|| name.trim_start_matches('.').split('.').map(str::to_string).collect())
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
