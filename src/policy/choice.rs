//! One version chosen for a plugin on one tier: the policy file that says so, with nothing else in it changed. Who
//! proposes it is `wake/choice`.

use decide::constraint::Constraint;
use decide::{PluginName, TierName, Version};
use serde_json::{Map, Value as Json, json};

use super::SourceFile;
use parse::report::Report;
use parse::tree::{self, Entry, Node, Value};

/// A file of the policy, and what it says once the choice stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its path from the repository's root.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The policy in which a plugin takes this version and no other on a tier, or, without one, every accepted version
/// again: the key `constraint` of the plugin's `tiers`.
///
/// # Errors
/// It says so already; or no text can be proved to say so and nothing else. The sentence is for people.
pub fn choose(
    files: &[SourceFile],
    plugin: &PluginName,
    tier: &TierName,
    version: Option<&Version>,
) -> Result<Choice, String> {
    let mut report = Report::with_homes(super::file::homes);
    let found = files.iter().enumerate().find_map(|(index, file)| {
        let tree = tree::parse(index, &file.text, &mut report)?;
        let named = |item: &Node| item.get("name").and_then(|entry| entry.node.text()) == Some(plugin.as_str());
        let at = tree.get("plugins")?.node.items().iter().position(named)?;
        Some((file, tree, at))
    });
    let Some((file, tree, at)) = found else {
        return Err(format!("no policy file of this repository has a plugin `{plugin}`; it may come from a preset"));
    };
    let keys = ["tiers", tier.as_str(), "constraint"];
    let wanted = version.map(|version| format!("={version}"));
    let takes = |text: &str, version| text.parse::<Constraint>().is_ok_and(|constraint| constraint.allows(version));
    if let (Some(text), Some(version)) = (&wanted, version)
        && !takes(text, version)
    {
        return Err(format!("{version} cannot be named by a constraint"));
    }
    let before = shape(&tree);
    let mut after = before.clone();
    let own = after.pointer_mut(&format!("/plugins/{at}")).ok_or("the file is not read as before")?;
    set(own, &keys, wanted.as_deref());
    if before == after {
        return Err(match version {
            Some(version) => format!("{} says so already: `{plugin}` takes {version} alone on `{tier}`", file.path),
            None => format!("`{plugin}` has no constraint of its own on `{tier}`"),
        });
    }
    let item =
        tree.get("plugins").and_then(|entry| entry.node.items().get(at)).ok_or("the file is not read as before")?;
    let text = match &wanted {
        Some(text) => with(&file.text, item, &keys, &format!("\"{text}\"")),
        None => without(&file.text, item, &keys),
    };
    let proved = text.filter(|text| {
        let mut report = Report::with_homes(super::file::homes);
        let read = tree::parse(0, text, &mut report);
        report.is_empty() && read.is_some_and(|read| shape(&read) == after)
    });
    proved.map(|text| Choice { path: file.path.clone(), text }).ok_or_else(|| {
        let what = match &wanted {
            Some(text) => format!("say `tiers: {{{tier}: {{constraint: \"{text}\"}}}}`"),
            None => format!("take away `constraint` of `{tier}`"),
        };
        format!("`{plugin}` is written in a way in {} that is left to people: {what} there", file.path)
    })
}

/// What a file says, without where.
fn shape(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Unresolved => json!([]),
        Value::Scalar { text, plain } => json!({"text": text, "plain": plain}),
        Value::List(items) => items.iter().map(shape).collect(),
        Value::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), shape(&entry.node))).collect(),
    }
}

/// The same with the constraint, or without it and the mappings that held nothing else.
fn set(at: &mut Json, keys: &[&str], wanted: Option<&str>) {
    let Some((key, below)) = keys.split_first() else { return };
    if let (Some(text), true) = (wanted, at.is_null()) {
        *at = Map::new().into();
        return set(at, keys, Some(text));
    }
    let Json::Object(map) = at else { return };
    match (wanted, below.is_empty()) {
        (Some(text), true) => drop(map.insert((*key).to_owned(), json!({"text": text, "plain": false}))),
        (None, true) => drop(map.remove(*key)),
        (Some(_), false) => set(map.entry(*key).or_insert(Json::Null), below, wanted),
        (None, false) => {
            let Some(inner) = map.get_mut(*key) else { return };
            set(inner, below, None);
            if inner.as_object().is_some_and(Map::is_empty) {
                map.remove(*key);
            }
        }
    }
}

/// The text with the constraint, in whatever form the mapping has that is there.
fn with(text: &str, plugin: &Node, keys: &[&str], value: &str) -> Option<String> {
    let (mut at, mut rest) = (plugin, keys);
    while let Some((key, below)) = rest.split_first() {
        let Some(entry) = at.get(key) else { break };
        (at, rest) = (&entry.node, below);
    }
    let (start, end) = (at.span.start, at.span.end);
    if rest.is_empty() {
        return Some(format!("{}{value}{}", text.get(..start)?, text.get(end..)?));
    }
    if is_flow(text, at) {
        let (last, above) = rest.split_last()?;
        let nested = above.iter().rev().fold(format!("{last}: {value}"), |inner, key| format!("{key}: {{{inner}}}"));
        let inside = text.get(..end)?.strip_suffix('}')?.trim_end();
        let inside = inside.strip_suffix(',').unwrap_or(inside);
        let comma = if inside.ends_with('{') { "" } else { ", " };
        return Some(format!("{inside}{comma}{nested}{}", text.get(inside.len()..)?));
    }
    let Value::Map(entries) = &at.value else { return None };
    let column = entries.first()?.at.column.checked_sub(1)?;
    let (head, tail) = text.split_at_checked(after_line(text, last(text, at)?))?;
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut lines = String::new();
    for (depth, key) in rest.iter().enumerate() {
        let said = if depth + 1 == rest.len() { format!(" {value}") } else { String::new() };
        lines.push_str(&format!("{}{key}:{said}{ending}", " ".repeat(column + 2 * depth)));
    }
    let open = if head.ends_with('\n') { "" } else { ending };
    Some(format!("{head}{open}{lines}{tail}"))
}

/// The text without the constraint, and without the mappings that hold nothing else.
fn without(text: &str, plugin: &Node, keys: &[&str]) -> Option<String> {
    // The outermost entry that holds nothing but the constraint, in the mapping that has it.
    let mut holder = plugin;
    let mut found: Option<(&Node, &Entry)> = None;
    for key in keys {
        let entry = holder.get(key)?;
        if found.is_none() || count(holder) > 1 {
            found = Some((holder, entry));
        }
        holder = &entry.node;
    }
    let (holder, entry) = found?;
    let Value::Map(entries) = &holder.value else { return None };
    let place = entries.iter().position(|other| other.at == entry.at)?;
    let range = if is_flow(text, holder) {
        match (place.checked_sub(1).and_then(|before| entries.get(before)), entries.get(place + 1)) {
            (Some(before), _) => last(text, &before.node)?..last(text, &entry.node)?,
            (None, Some(next)) => entry.at.start..next.at.start,
            (None, None) => return None,
        }
    } else {
        let start = text.get(..entry.at.start)?.rfind('\n').map_or(0, |end| end + 1);
        start..after_line(text, last(text, &entry.node)?)
    };
    Some(format!("{}{}", text.get(..range.start)?, text.get(range.end..)?))
}

fn count(node: &Node) -> usize {
    match &node.value {
        Value::Map(entries) => entries.len(),
        Value::Null | Value::Unresolved | Value::Scalar { .. } | Value::List(_) => 0,
    }
}

fn is_flow(text: &str, node: &Node) -> bool {
    text.get(node.span.start..).is_some_and(|rest| rest.starts_with(['{', '[']))
}

/// The byte after the last that says something of a node: the end of a block is no place of its own.
fn last(text: &str, node: &Node) -> Option<usize> {
    if is_flow(text, node) {
        return Some(node.span.end);
    }
    match &node.value {
        Value::Null | Value::Unresolved | Value::Scalar { .. } => Some(node.span.end),
        Value::List(items) => last(text, items.last()?),
        Value::Map(entries) => entries.last().and_then(|entry| match &entry.node.value {
            Value::Null => Some(entry.at.end.max(entry.node.span.end)),
            Value::Unresolved | Value::Scalar { .. } | Value::List(_) | Value::Map(_) => last(text, &entry.node),
        }),
    }
}

/// Where the line after this byte begins.
fn after_line(text: &str, at: usize) -> usize {
    let is_line = at > 0 && text.as_bytes().get(at - 1) == Some(&b'\n');
    if is_line { at } else { text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |end| at + end + 1) }
}
