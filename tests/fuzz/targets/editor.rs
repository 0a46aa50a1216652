//! The formats of the editor: whatever is asked of whatever text, the editor refuses, or replaces one run of bytes
//! that reads back as the new value, and others read the same of everything else.

use coldframe::edit::{FileFormat, Place, Refusal, Spot, parsed, read, set};
use coldframe::jsonpath::Step;
use coldframe::policy::wiring::DocumentSelector;
use serde_json::Value;

use super::{asked, second};

/// Places of one document that are asked for; which ones, the length of the text says.
const MOST_PLACES: usize = 4;

pub fn yaml(input: &[u8]) {
    edits(FileFormat::Yaml, input);
}

pub fn json(input: &[u8]) {
    edits(FileFormat::Json, input);
}

pub fn toml(input: &[u8]) {
    edits(FileFormat::Toml, input);
}

pub fn hcl(input: &[u8]) {
    edits(FileFormat::Hcl, input);
}

pub fn text(input: &[u8]) {
    edits(FileFormat::Text, input);
}

/// The first line is the new value and a path; beside that path every scalar is asked for.
fn edits(format: FileFormat, input: &[u8]) {
    let ([to, path], text) = asked(input);
    let to = if to.is_empty() { "9.8.7-new".to_string() } else { to };
    if !path.is_empty() {
        edit(format, &text, None, &path, &to);
    }
    let known = match parsed(format, &text) {
        Ok(known) => known,
        Err(refusal) => return said(&refusal),
    };
    for document in &known.documents {
        let selector = selector(&document.tree);
        let scalars: Vec<(&Vec<Step>, &Spot)> = document.places.iter().filter_map(scalar).collect();
        let apart = scalars.len().div_ceil(MOST_PLACES).max(1);
        for (steps, spot) in scalars.into_iter().skip(text.len() % apart).step_by(apart) {
            assert!(text.get(spot.range.clone()).is_some(), "{spot:?} is not in the text");
            assert!(known.tokens.get(spot.token).is_some(), "{spot:?} is no token");
            // What has a key twice is not read by us, and by others in their own ways.
            if document.problem.is_none() {
                second::agrees(format, &text, known.documents.len(), steps, spot);
            }
            let path = spelled(steps);
            let found = edit(format, &text, selector.as_ref(), &path, &to);
            if let Some(found) = &found {
                assert_eq!(found, spot, "{path} leads to another place than {steps:?}");
                assert_eq!(document.problem, None, "a document with a problem was edited");
            }
        }
    }
}

fn scalar<'a>((steps, place): (&'a Vec<Step>, &'a Place)) -> Option<(&'a Vec<Step>, &'a Spot)> {
    match place {
        Place::Scalar(spot) => Some((steps, spot)),
        Place::Block { .. }
        | Place::Expression { .. }
        | Place::Several { .. }
        | Place::Empty { .. }
        | Place::Collection { .. }
        | Place::Alias { .. }
        | Place::Templated { .. }
        | Place::Merged { .. } => None,
    }
}

fn selector(tree: &Value) -> Option<DocumentSelector> {
    let name = tree.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
    let kind = tree.get("kind").and_then(Value::as_str)?;
    Some(DocumentSelector { kind: kind.to_string(), name: name.map(str::to_string) })
}

/// Reads and edits one place, and returns it where it was edited.
pub fn edit(format: FileFormat, text: &str, document: Option<&DocumentSelector>, path: &str, to: &str) -> Option<Spot> {
    let (spot, after) = match (read(format, text, document, path), set(format, text, document, path, to)) {
        (Ok(spot), Ok(after)) => (spot, after),
        (Ok(_), Err(refusal)) => {
            said(&refusal);
            return None;
        }
        (Err(refusal), edited) => {
            said(&refusal);
            assert_eq!(edited, Err(refusal), "what cannot be read is not edited");
            return None;
        }
    };
    if spot.value == to {
        assert_eq!(after, text, "it said so already");
        return Some(spot);
    }
    let (head, tail) = (&text[..spot.range.start], &text[spot.range.end..]);
    assert!(after.starts_with(head) && after[head.len()..].ends_with(tail), "other bytes changed\n{after}");
    let again = read(format, &after, document, path).unwrap_or_else(|refusal| panic!("{refusal}\n{after}"));
    assert_eq!((again.value.as_str(), again.line), (to, spot.line), "{after}");
    assert_eq!(again.range, spot.range.start..after.len() - tail.len(), "{after}");
    assert_eq!(set(format, &after, document, path, to).as_deref(), Ok(after.as_str()), "again");
    second::differ_in_one(format, text, &after, to);
    Some(spot)
}

/// A refusal is a sentence.
pub fn said(refusal: &Refusal) {
    assert!(!refusal.to_string().is_empty());
}

/// A path to exactly this place, as RFC 9535 writes it.
pub fn spelled(steps: &[Step]) -> String {
    let mut path = "$".to_string();
    for step in steps {
        match step {
            Step::Index(index) => path.push_str(&format!("[{index}]")),
            Step::Key(key) => {
                path.push_str("['");
                for c in key.chars() {
                    match c {
                        '\'' | '\\' => path.extend(['\\', c]),
                        c if c.is_ascii_control() => path.push_str(&format!("\\u{:04x}", u32::from(c))),
                        c => path.push(c),
                    }
                }
                path.push_str("']");
            }
        }
    }
    path
}
