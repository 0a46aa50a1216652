//! From a branch to a tag: a source of a Greenhouse Catalog that follows a branch is put at the tag of a version. The
//! one edit that replaces a key, so that it is made where a person asks for it and never by the bot.

use serde_json::Value;

use super::find::Wanted;
use super::{FileFormat, Parsed, Refusal, locate_any, parsed, read, set};
use crate::place::DocumentSelector;

const BRANCH: &str = "branch";
const TAG: &str = "tag";
/// Keys of a `ref` that name something else than a branch.
const OTHERS: [&str; 2] = [TAG, "commit"];

/// A source that follows a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follower {
    document: Option<DocumentSelector>,
    /// The path of its `ref`.
    at: String,
    /// What stands in it beside the branch.
    beside: Option<&'static str>,
}

impl Follower {
    /// Where the name of the branch stands.
    pub fn path(&self) -> String {
        format!("{}.{BRANCH}", self.at)
    }
}

/// The reason why no version of the chart is found: a source of it follows a branch, or nothing is known of it.
pub fn why_none(format: FileFormat, text: &str, wanted: Wanted<'_>) -> Refusal {
    if let Some(one) = followers(format, text, wanted).ok().and_then(|all| all.into_iter().next())
        && let Ok(spot) = read(format, text, one.document.as_ref(), &one.path())
    {
        return Refusal::Follows { path: one.path(), line: spot.line, branch: spot.value };
    }
    Refusal::NoPlace { chart: wanted.chart.to_string() }
}

/// Every source that brings the definition of the plugin from a branch.
///
/// # Errors
/// Where the text cannot be read.
pub fn followers(format: FileFormat, text: &str, wanted: Wanted<'_>) -> Result<Vec<Follower>, Refusal> {
    let mut found = Vec::new();
    if !matches!(format, FileFormat::Yaml | FileFormat::Json) {
        return Ok(found);
    }
    let known = parsed(format, text)?;
    for document in &known.documents {
        let (tree, several) = (&document.tree, known.documents.len() > 1);
        let kind = tree.get("kind").and_then(Value::as_str);
        let group = tree.get("apiVersion").and_then(Value::as_str).and_then(|version| version.split('/').next());
        let selector = kind.filter(|_| several).map(|kind| DocumentSelector {
            kind: kind.to_string(),
            name: tree.pointer("/metadata/name").and_then(Value::as_str).map(str::to_string),
        });
        let mut lists = Vec::new();
        if (group, kind) == (Some("greenhouse.sap"), Some("Catalog")) {
            lists.push(("$.spec".to_string(), tree.pointer("/spec/sources")));
        }
        // Catalogs among the values of a chart.
        for (name, catalog) in tree.get("catalogs").and_then(Value::as_object).into_iter().flatten() {
            lists.push((format!("$.catalogs[{}]", Value::from(name.as_str())), catalog.get("sources")));
        }
        for (below, sources) in lists {
            for (index, source) in sources.and_then(Value::as_array).into_iter().flatten().enumerate() {
                let Some(reference) = source.get("ref").filter(|it| it.get(BRANCH).is_some()) else { continue };
                if brings(source, wanted.plugin) {
                    let beside = OTHERS.into_iter().find(|key| reference.get(key).is_some());
                    let (document, at) = (selector.clone(), format!("{below}.sources[{index}].ref"));
                    found.push(Follower { document, at, beside });
                }
            }
        }
    }
    Ok(found)
}

/// Whether the definition of the plugin is among what a source brings.
fn brings(source: &Value, plugin: &str) -> bool {
    let resources = source.get("resources").and_then(Value::as_array).into_iter().flatten();
    let mut folders = resources.filter_map(|path| path.as_str()?.strip_suffix("/plugindefinition.yaml"));
    folders.any(|folder| folder.rsplit('/').next() == Some(plugin))
}

/// The text with the branch of that source replaced by the tag `to`: the key `branch` becomes `tag`, its value the new
/// one, and every other byte stays.
///
/// # Errors
/// Where something stands beside the branch, or what stands there cannot be replaced, as [`set`]; and where the result
/// does not read back as the same file with this one key and value changed.
pub fn pin(format: FileFormat, text: &str, follower: &Follower, to: &str) -> Result<String, Refusal> {
    let (path, document) = (follower.path(), follower.document.as_ref());
    let unproven = |why| Refusal::Unproven { path: path.clone(), why };
    let spot = read(format, text, document, &path)?;
    if let Some(key) = follower.beside {
        return Err(Refusal::Outweighed { path, line: spot.line, by: format!("{}.{key}", follower.at) });
    }
    // First the value, as every other edit; then the key right before it, which takes other bytes.
    let valued = set(format, text, document, &path, to)?;
    let head = text.get(..spot.range.start).unwrap_or_default();
    let key = head.trim_end().strip_suffix(':').map(str::trim_end).unwrap_or_default();
    let key = key.strip_suffix(['"', '\'']).unwrap_or(key);
    let Some(before) = key.strip_suffix(BRANCH).filter(|_| !head.ends_with('\n')) else {
        return Err(unproven("its key does not stand right before its value"));
    };
    let behind = valued.get(before.len() + BRANCH.len()..).unwrap_or_default();
    let edited = [before, TAG, behind].concat();
    let (was, is) = (parsed(format, &valued)?, parsed(format, &edited)?);
    if !one_key_differs(&was, &is, spot.token) {
        return Err(unproven("something else changed with it"));
    }
    let (_, new) = locate_any(format.reader(), &edited, document, &format!("{}.{TAG}", follower.at))
        .map_err(|_| unproven("the place was lost"))?;
    let gone = locate_any(format.reader(), &edited, document, &path);
    if new.value != to || new.token != spot.token || !matches!(gone, Err(Refusal::NotFound { .. })) {
        return Err(unproven("the place holds another value"));
    }
    Ok(edited)
}

/// Whether all tokens are the same but one before the value, which says `tag` where it said `branch`.
fn one_key_differs(was: &Parsed, is: &Parsed, value: usize) -> bool {
    let differ = |(was, is): &(&String, &String)| was != is;
    let changed: Vec<(&String, &String)> = was.tokens.iter().zip(&is.tokens).filter(differ).collect();
    let before = was.tokens.iter().zip(&is.tokens).take(value).filter(differ).count();
    let [(old, new)] = changed[..] else { return false };
    was.tokens.len() == is.tokens.len() && before == 1 && old.replacen(BRANCH, TAG, 1) == *new
}
