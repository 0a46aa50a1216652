//! Any text: the version on a line that a comment `coldframe: <plugin>` marks. What it is to somebody else is not
//! known here, so that nothing but the marked line is looked at.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};

use super::lines::plain;
use super::{Document, Format, Parsed, Place, Refusal, Spot, Style};
use jsonpath::Step;

/// The format.
pub(super) struct Marker;

const MARK: &str = "coldframe:";
/// What begins a comment, somewhere.
const COMMENTS: [&str; 7] = ["#", "//", "--", ";", "<!--", "/*", "%"];

impl Format for Marker {
    fn parse(&self, text: &str) -> Result<Parsed, Refusal> {
        let (mut marked, mut tokens) = (BTreeMap::<String, Vec<Place>>::new(), Vec::new());
        let mut start = 0;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let (begin, number) = (start, index + 1);
            start += line.len();
            let Some((plugin, end)) = mark(line) else {
                tokens.push(line.to_string());
                continue;
            };
            let found = versions(line.get(..end).unwrap_or_default());
            let token = tokens.len();
            let place = match found.as_slice() {
                [one] => {
                    let range = begin + one.start..begin + one.end;
                    let value = line.get(one.clone()).unwrap_or_default().to_string();
                    let around = [line.get(..one.start), line.get(one.end..)].map(Option::unwrap_or_default);
                    tokens.push(format!("={value}"));
                    tokens.push(around.join("\0"));
                    Place::Scalar(Spot { value, range, line: number, style: Style::Plain, token })
                }
                [] => Place::Empty { line: number },
                [..] => Place::Several { lines: vec![number; found.len()] },
            };
            if !matches!(place, Place::Scalar(_)) {
                tokens.push(line.to_string());
            }
            marked.entry(plugin.to_string()).or_default().push(place);
        }
        Ok(Parsed { documents: vec![document(marked)], tokens, template: None })
    }

    fn spell(&self, to: &str, _: Style) -> Result<String, Refusal> {
        let whole = versions(to);
        if whole.len() != 1 || whole.first() != Some(&(0..to.len())) {
            return Err(Refusal::BadValue { to: to.to_string(), why: "a marked line holds a bare version" });
        }
        plain(to).map(str::to_string)
    }
}

/// The tree that readers see: a version under the name of each plugin.
fn document(marked: BTreeMap<String, Vec<Place>>) -> Document {
    let (mut map, mut places) = (Map::new(), BTreeMap::new());
    places.insert(Vec::new(), Place::Collection { line: 1 });
    for (plugin, mut found) in marked {
        let place = match (found.pop(), found.is_empty()) {
            (Some(only), true) => only,
            (last, _) => Place::Several { lines: found.iter().chain(&last).map(Place::line).collect() },
        };
        let value = match &place {
            Place::Scalar(spot) => Value::String(spot.value.clone()),
            Place::Expression { .. }
            | Place::Several { .. }
            | Place::Block { .. }
            | Place::Empty { .. }
            | Place::Collection { .. }
            | Place::Alias { .. }
            | Place::Templated { .. }
            | Place::Merged { .. } => Value::Null,
        };
        places.insert(vec![Step::Key(plugin.clone())], place);
        map.insert(plugin, value);
    }
    Document { tree: Value::Object(map), places, line: 1, problem: None }
}

/// The plugin that a line is marked for, and where the comment begins.
fn mark(line: &str) -> Option<(&str, usize)> {
    let at = line.find(MARK)?;
    let before = line.get(..at)?.trim_end();
    let comment = COMMENTS.iter().find(|comment| before.ends_with(**comment))?;
    let name = line.get(at + MARK.len()..)?.split_whitespace().next()?;
    Some((name, before.len() - comment.len()))
}

/// Where versions stand in a text: three numbers, with a `v`, a pre-release and a build or without.
fn versions(text: &str) -> Vec<Range<usize>> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some(start) = text.get(rest..).and_then(|left| left.find(word)).map(|at| rest + at) {
        let whole = text.get(start..).unwrap_or_default();
        let end = start + whole.find(|c| !word(c)).unwrap_or(whole.len());
        let one = text.get(start..end).unwrap_or_default();
        if semver::Version::parse(one.strip_prefix('v').unwrap_or(one)).is_ok() {
            found.push(start..end);
        }
        rest = end;
    }
    found
}
