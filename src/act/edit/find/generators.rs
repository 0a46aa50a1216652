//! Argo CD `ApplicationSet`: the version stands in the template, or in the generator whose value the template names.

use serde_json::Value;

use super::{Place, Wanted, argo, at, list};
use crate::jsonpath::Step;

const KIND: &str = "ApplicationSet";
/// Generators within generators: matrix and merge hold no deeper ones in Argo CD.
const DEEPEST: usize = 3;

/// The place in the template where it is literal; else every element of a generator that gives it.
pub(super) fn application_set(tree: &Value, wanted: Wanted<'_>) -> Vec<Place> {
    let mut found = Vec::new();
    for place in argo(tree, &["spec", "template", "spec"], wanted, KIND) {
        let value = place.steps.iter().try_fold(tree, |tree, step| match step {
            Step::Key(key) => tree.get(key),
            Step::Index(index) => tree.get(index),
        });
        match value.and_then(Value::as_str).and_then(parameter) {
            None => found.push(place),
            Some(keys) => {
                let begin = vec![Step::Key("spec".to_string()), Step::Key("generators".to_string())];
                given(at(tree, &["spec", "generators"]), &begin, &keys, DEEPEST, &mut found);
            }
        }
    }
    found
}

/// The keys of `{{chartVersion}}`, `{{.values.chartVersion}}` or `{{ index .metadata … }}`, of which only the first
/// two stand in the set itself.
fn parameter(text: &str) -> Option<Vec<String>> {
    let name = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim().trim_matches('-').trim();
    Some(name.trim_start_matches('.').split('.').map(str::to_string).collect())
}

fn given(generators: Option<&Value>, begin: &[Step], keys: &[String], deepest: usize, found: &mut Vec<Place>) {
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
fn take(tree: &Value, mut steps: Vec<Step>, keys: &[String], found: &mut Vec<Place>) {
    let value = keys.iter().try_fold(tree, |tree, key| tree.get(key));
    if value.is_some_and(|value| value.is_string() || value.is_number()) {
        steps.extend(keys.iter().cloned().map(Step::Key));
        found.push(Place { kind: KIND, steps, value: None });
    }
}
