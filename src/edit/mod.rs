//! Text in, text out: replaces exactly one scalar of a file and leaves every other byte alone. One
//! file per format. Which file and which value is decided elsewhere; nothing here touches a disk.

pub mod chart_lock;
mod document;
pub mod find;
mod format;
mod given;
mod hcl;
mod json;
mod lines;
mod marker;
mod option;
pub mod pin;
pub mod place;
mod refusal;
pub mod template;
mod toml;
mod version;
mod yaml;

use serde_json::Value;

pub use document::{Document, Parsed, Place, Spot, Style};
pub use format::{Format, MAX_BYTES, MAX_DEPTH};
pub use given::{Given, given};
use jsonpath::{Path, Step, place_of};
pub use option::{with_option, without_option};
pub use place::FileFormat;
use place::{DocumentSelector, Scalar, Write};
pub use refusal::Refusal;
pub use version::versioned;
use version::{is_range, is_template};
use yaml::Yaml;

impl FileFormat {
    fn reader(self) -> &'static dyn Format {
        match self {
            Self::Yaml => &Yaml,
            Self::Json => &json::Json,
            Self::Toml => &toml::Toml,
            Self::Hcl => &hcl::Hcl,
            Self::Text => &marker::Marker,
        }
    }
}

/// The scalar that `path` names: its value, byte range and line. `document` is needed where the path
/// is found in more than one document of the file.
///
/// # Errors
/// Where the path does not name exactly one scalar that can be edited; the refusal says why and
/// what to do.
pub fn read(format: FileFormat, text: &str, document: Option<&DocumentSelector>, path: &str) -> Result<Spot, Refusal> {
    let (_, spot) = locate(format.reader(), text, document, path)?;
    Ok(spot)
}

/// The same in a text that was read already.
///
/// # Errors
/// As [`read`].
pub fn read_in(parsed: &Parsed, scalar: &Scalar) -> Result<Spot, Refusal> {
    replaceable(scalar_at(parsed, scalar.document.as_ref(), &scalar.path)?, &scalar.path)
}

/// The same, and whom it moves as far as its document says so.
///
/// # Errors
/// As [`read`].
pub fn read_with_reach(format: FileFormat, text: &str, scalar: &Scalar) -> Result<(Spot, find::Reach), Refusal> {
    let (parsed, spot) = locate(format.reader(), text, scalar.document.as_ref(), &scalar.path)?;
    let query = Path::parse(&scalar.path).map_err(Refusal::BadPath)?;
    let (document, places) = named(&parsed, scalar.document.as_ref(), &query)?;
    let reach = places.first().map_or(find::Reach::Unsaid, |steps| find::reach(&document.tree, steps));
    Ok((spot, reach))
}

/// The text with exactly that scalar replaced, in the quotes that it had; the same text where it
/// already says so.
///
/// # Errors
/// As [`read`]; and where `to` cannot stand there, or the result would not read back as the same
/// file with this one value changed.
pub fn set(
    format: FileFormat,
    text: &str,
    document: Option<&DocumentSelector>,
    path: &str,
    to: &str,
) -> Result<String, Refusal> {
    replace(format.reader(), text, document, path, to)
}

/// The place that a policy names, or else the only one where a file says that the version of this chart stands.
///
/// # Errors
/// Where there is none, or several.
pub fn place(write: &Write, file: &str, text: &str, wanted: find::Wanted<'_>) -> Result<Scalar, Refusal> {
    if let Some(scalar) = &write.scalar {
        return Ok(scalar.clone());
    }
    let mut found = find::find(write.format(), file, text, wanted)?;
    let chart = wanted.chart.to_string();
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only.scalar),
        (None, _) => Err(pin::why_none(write.format(), text, wanted)),
        (Some(last), false) => {
            let paths = found.into_iter().chain([last]).map(|one| one.scalar.path).collect();
            Err(Refusal::SeveralPlaces { chart, paths })
        }
    }
}

fn replace(
    format: &dyn Format,
    text: &str,
    document: Option<&DocumentSelector>,
    path: &str,
    to: &str,
) -> Result<String, Refusal> {
    let (before, spot) = locate(format, text, document, path)?;
    if spot.value == to {
        return Ok(text.to_string());
    }
    if is_template(to) || is_range(to) {
        return Err(Refusal::BadValue { to: to.to_string(), why: "it is a range or a template, and no version" });
    }
    let (Some(head), Some(tail)) = (text.get(..spot.range.start), text.get(spot.range.end..)) else {
        return Err(Refusal::Unproven { path: path.to_string(), why: "its bytes were not found again" });
    };
    let edited = [head, &format.spell(to, spot.style)?, tail].concat();
    prove(format, &before, &spot, &edited, document, path, to)?;
    Ok(edited)
}

/// Reads the edited text again: the same tokens but one, and the path names the new value.
fn prove(
    format: &dyn Format,
    before: &Parsed,
    spot: &Spot,
    edited: &str,
    document: Option<&DocumentSelector>,
    path: &str,
    to: &str,
) -> Result<(), Refusal> {
    let unproven = |why| Refusal::Unproven { path: path.to_string(), why };
    let (after, found) = locate_any(format, edited, document, path).map_err(|_| unproven("the place was lost"))?;
    if found.value != to || found.token != spot.token {
        return Err(unproven("the place holds another value"));
    }
    let same_elsewhere = before.tokens.len() == after.tokens.len()
        && before
            .tokens
            .iter()
            .zip(&after.tokens)
            .enumerate()
            .all(|(index, (was, is))| index == spot.token || was == is);
    if same_elsewhere { Ok(()) } else { Err(unproven("something else changed with it")) }
}

/// [`locate_any`], and what stands there is a value that may be replaced.
fn locate(
    format: &dyn Format,
    text: &str,
    document: Option<&DocumentSelector>,
    path: &str,
) -> Result<(Parsed, Spot), Refusal> {
    let (parsed, spot) = locate_any(format, text, document, path)?;
    Ok((parsed, replaceable(spot, path)?))
}

fn replaceable(spot: Spot, path: &str) -> Result<Spot, Refusal> {
    if is_template(&spot.value) {
        return Err(Refusal::Template { line: spot.line });
    }
    if is_range(&spot.value) {
        return Err(Refusal::Range { path: path.to_string(), line: spot.line, value: spot.value });
    }
    Ok(spot)
}

fn locate_any(
    format: &dyn Format,
    text: &str,
    document: Option<&DocumentSelector>,
    path: &str,
) -> Result<(Parsed, Spot), Refusal> {
    let parsed = within_bounds(format, text)?;
    let spot = scalar_at(&parsed, document, path)?;
    Ok((parsed, spot))
}

fn scalar_at(parsed: &Parsed, document: Option<&DocumentSelector>, path: &str) -> Result<Spot, Refusal> {
    let (candidate, places) = named(parsed, document, &Path::parse(path).map_err(Refusal::BadPath)?)?;
    single(candidate, &places, path)
}

/// The one document in which a path leads anywhere, and whereto.
fn named<'a>(
    parsed: &'a Parsed,
    document: Option<&DocumentSelector>,
    query: &Path,
) -> Result<(&'a Document, Vec<Vec<Step>>), Refusal> {
    if let Some(problem) = parsed.documents.iter().find_map(|any| any.problem.clone()) {
        return Err(problem);
    }
    let mut found = Vec::new();
    for candidate in select(&parsed.documents, document)? {
        let nodes = query.find(&candidate.tree).map_err(Refusal::BadPath)?;
        let places: Vec<Vec<Step>> = nodes.into_iter().filter_map(|node| place_of(&candidate.tree, node)).collect();
        if !places.is_empty() {
            found.push((candidate, places));
        }
    }
    let lines = found.iter().map(|(document, _)| document.line).collect();
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(_), false) => Err(Refusal::AmbiguousDocument { path: query.as_str().to_string(), lines }),
        (None, _) => Err(Refusal::NotFound { path: query.as_str().to_string() }),
    }
}

fn within_bounds(format: &dyn Format, text: &str) -> Result<Parsed, Refusal> {
    if text.len() > MAX_BYTES {
        return Err(Refusal::TooLarge { bytes: text.len() });
    }
    format.parse(text)
}

/// The text as it is understood: its documents, and what stands at each place of them.
///
/// # Errors
/// Where it is too large, or not of this format.
pub fn parsed(format: FileFormat, text: &str) -> Result<Parsed, Refusal> {
    within_bounds(format.reader(), text)
}

fn select<'a>(documents: &'a [Document], selector: Option<&DocumentSelector>) -> Result<Vec<&'a Document>, Refusal> {
    let Some(selector) = selector else { return Ok(documents.iter().collect()) };
    let chosen: Vec<&Document> = documents.iter().filter(|document| is_selected(&document.tree, selector)).collect();
    match chosen.as_slice() {
        [_] => Ok(chosen),
        [] => Err(Refusal::NoSuchDocument { kind: selector.kind.clone(), name: selector.name.clone() }),
        several => Err(Refusal::SeveralDocuments {
            kind: selector.kind.clone(),
            name: selector.name.clone(),
            lines: several.iter().map(|document| document.line).collect(),
        }),
    }
}

fn is_selected(tree: &Value, selector: &DocumentSelector) -> bool {
    let name = tree.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
    tree.get("kind").and_then(Value::as_str) == Some(selector.kind.as_str())
        && selector.name.as_deref().is_none_or(|wanted| name == Some(wanted))
}

fn single(document: &Document, places: &[Vec<Step>], path: &str) -> Result<Spot, Refusal> {
    let path = path.to_string();
    let [place] = places else {
        let lines = places.iter().filter_map(|place| line_of(document, place)).collect();
        return Err(Refusal::SeveralMatches { path, lines });
    };
    for length in 0..=place.len() {
        match place.get(..length).and_then(|steps| document.places.get(steps)) {
            Some(Place::Alias { line, name, anchor }) => {
                return Err(Refusal::Alias { path, line: *line, name: name.clone(), anchor: *anchor });
            }
            Some(Place::Merged { line }) => return Err(Refusal::Merged { path, line: *line }),
            Some(
                Place::Scalar(_)
                | Place::Expression { .. }
                | Place::Several { .. }
                | Place::Block { .. }
                | Place::Empty { .. }
                | Place::Templated { .. }
                | Place::Collection { .. },
            )
            | None => {}
        }
    }
    match document.places.get(place) {
        Some(Place::Scalar(spot)) => Ok(spot.clone()),
        Some(Place::Block { line }) => Err(Refusal::BlockScalar { path, line: *line }),
        Some(Place::Expression { line, text }) => Err(Refusal::Expression { path, line: *line, text: text.clone() }),
        Some(Place::Several { lines }) => Err(Refusal::SeveralMatches { path, lines: lines.clone() }),
        Some(Place::Templated { line }) => Err(Refusal::Template { line: *line }),
        Some(Place::Empty { line }) => Err(Refusal::Empty { path, line: *line }),
        Some(Place::Collection { line }) => Err(Refusal::NotAScalar { path, line: *line }),
        Some(Place::Alias { .. } | Place::Merged { .. }) | None => Err(Refusal::NotFound { path }),
    }
}

/// The line of a place, or of what it came in through.
fn line_of(document: &Document, place: &[Step]) -> Option<usize> {
    (0..=place.len()).rev().filter_map(|length| document.places.get(place.get(..length)?)).map(Place::line).next()
}

#[cfg(test)]
mod tests;
