//! The images that a chart runs where nobody sets anything: those of its values, and those that stand in a template as
//! they are.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::change::{Change, What};
use crate::chart::Chart;
use crate::path::below;

/// Images by where they stand.
pub(crate) type Images = BTreeMap<String, String>;

/// What two releases run, and the paths of values that are told of by it.
pub(crate) fn compare(old: (&Chart, &Value), new: (&Chart, &Value), found: &mut Vec<Change>) -> BTreeSet<String> {
    let ((before, told_before), (after, told_after)) = (images(old), images(new));
    for (at, image) in &before {
        match after.get(at) {
            Some(now) if now == image => {}
            Some(now) => found.push(Change::new(What::Image, at).from(image).to(now)),
            None => found.push(Change::new(What::ImageRemoved, at).from(image)),
        }
    }
    for (at, image) in after.iter().filter(|(at, _)| !before.contains_key(*at)) {
        found.push(Change::new(What::ImageAdded, at).to(image));
    }
    told_before.union(&told_after).cloned().collect()
}

fn images((chart, defaults): (&Chart, &Value)) -> (Images, BTreeSet<String>) {
    let (mut images, mut told) = (Images::new(), BTreeSet::new());
    in_values("", chart, defaults, &mut images, &mut told);
    in_templates("", chart, &mut images);
    (images, told)
}

/// Walks the values of a chart; those of a chart within it are told with that chart's version.
fn in_values(path: &str, chart: &Chart, values: &Value, images: &mut Images, told: &mut BTreeSet<String>) {
    let Value::Object(map) = values else { return };
    if let Some((image, keys)) = of_mapping(map, chart.app_version()) {
        images.insert(path.to_owned(), image);
        told.extend(keys.into_iter().map(|key| below(path, key)));
    }
    let parts = if path.is_empty() { chart.parts() } else { Vec::new() };
    for (key, value) in map {
        let path = below(path, key);
        if let Some((_, part)) = parts.iter().find(|(name, _)| name == key) {
            within(&path, part, value, images, told);
            continue;
        }
        match value {
            Value::Object(_) => in_values(&path, chart, value, images, told),
            Value::String(text) if is_key_of_image(key) && is_image(text) => {
                images.insert(path.clone(), text.clone());
                told.insert(path);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {}
        }
    }
}

/// The values of a chart within another one, whose paths go on.
fn within(path: &str, part: &Chart, values: &Value, images: &mut Images, told: &mut BTreeSet<String>) {
    let (mut inner, mut keys) = (Images::new(), BTreeSet::new());
    in_values("", part, values, &mut inner, &mut keys);
    let joined =
        |below: &str| if below.starts_with('[') { format!("{path}{below}") } else { format!("{path}.{below}") };
    images.extend(
        inner.into_iter().map(|(at, image)| (if at.is_empty() { path.to_owned() } else { joined(&at) }, image)),
    );
    told.extend(keys.iter().map(|key| joined(key)));
}

/// `{registry, repository, tag, digest}`, as charts write an image.
fn of_mapping<'m>(map: &'m Map<String, Value>, app_version: &str) -> Option<(String, Vec<&'m str>)> {
    let text = |key: &str| map.get_key_value(key).and_then(|(key, value)| Some((key.as_str(), value.as_str()?)));
    let (repository_key, repository) = text("repository").or_else(|| text("image"))?;
    if repository.is_empty() || !map.contains_key("tag") && !map.contains_key("digest") {
        return None;
    }
    let registry = text("registry").filter(|(_, registry)| !registry.is_empty());
    let tag = map.get_key_value("tag").map(|(key, value)| {
        let text = value
            .as_str()
            .map_or_else(|| if value.is_null() { String::new() } else { value.to_string() }, str::to_owned);
        (key.as_str(), text)
    });
    let digest = text("digest");
    let mut image = registry.map_or_else(|| repository.to_owned(), |(_, registry)| format!("{registry}/{repository}"));
    let version = tag.as_ref().map(|(_, tag)| tag.as_str()).filter(|tag| !tag.is_empty());
    // By convention an empty tag is the version of what is installed.
    if let Some(version) = version.or(Some(app_version)).filter(|version| !version.is_empty()) {
        image = format!("{image}:{version}");
    }
    if let Some((_, digest)) = digest.filter(|(_, digest)| !digest.is_empty()) {
        image = format!("{image}@{digest}");
    }
    let keys =
        [Some(repository_key), registry.map(|(key, _)| key), tag.map(|(key, _)| key), digest.map(|(key, _)| key)];
    Some((image, keys.into_iter().flatten().collect()))
}

fn is_key_of_image(key: &str) -> bool {
    key == "image" || key.ends_with("Image")
}

/// A reference with a tag or a digest.
fn is_image(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':' | '@');
    !text.is_empty() && text.len() < 300 && name.contains(':') && text.chars().all(plain)
}

/// `image: registry.example/x:1.0` in a template.
fn in_templates(prefix: &str, chart: &Chart, images: &mut Images) {
    for (path, text) in chart.texts.iter().filter(|(path, _)| path.starts_with("templates/")) {
        let mut number = 0;
        for line in text.lines() {
            let line = line.trim().trim_start_matches("- ");
            let Some(image) = line.strip_prefix("image:") else { continue };
            let image = image.trim().trim_matches(['"', '\'']);
            if is_image(image) {
                number += 1;
                images.insert(format!("{prefix}{path} {number}"), image.to_owned());
            }
        }
    }
    for (folder, part) in &chart.charts {
        in_templates(&format!("{prefix}charts/{folder}/"), part, images);
    }
}
