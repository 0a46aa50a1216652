//! What the author of a chart says about a version: notes, home, and whether it breaks. All of it
//! is untrusted text, cut to a bounded length; who shows it makes it inert.

use std::collections::BTreeMap;

use decide::snapshot::ChartBlock;
use decide::{Digest, Version};
use serde_json::Value;

use super::found::{Found, Origin};

/// The longest notes that are kept, in bytes.
const MAX_NOTES: usize = 32 * 1024;
/// The longest home that is kept, in bytes.
const MAX_HOME: usize = 1024;
/// Longer lists of changes are not parsed; their beginning is kept as it is.
const MAX_CHANGES: usize = 64 * 1024;
/// The annotation with the list of changes, as Artifact Hub defines it.
const CHANGES: &str = "artifacthub.io/changes";
/// The annotation by which an author marks a version as breaking.
const BREAKING: &str = "coldframe.dev/breaking";

/// The annotation by which an author blocks steps to a version, one on a line: `<1.15: why`.
const BLOCK: &str = "coldframe.dev/block";
/// The most steps that one version blocks; what stands behind them blocks every step.
const MAX_BLOCKS: usize = 20;
/// The longest reason of a block that is kept, in bytes.
const MAX_WHY: usize = 300;
/// The repository of the commit that something was made from, as the OCI names the annotation.
const SOURCE: &str = "org.opencontainers.image.source";
/// That commit.
const REVISION: &str = "org.opencontainers.image.revision";
/// So many addresses of repositories are kept.
const MAX_SOURCES: usize = 8;

/// Only what [`found`] looks at.
pub(super) fn trimmed(mut chart: Value) -> Value {
    if let Some(map) = chart.as_object_mut() {
        map.retain(|key, _| matches!(key.as_str(), "annotations" | "home" | "sources"));
        if let Some(annotations) = map.get_mut("annotations").and_then(Value::as_object_mut) {
            let known = [CHANGES, BREAKING, BLOCK, SOURCE, REVISION];
            annotations.retain(|key, _| known.contains(&key.as_str()));
        }
    }
    chart
}

/// One version from the metadata of its chart (`Chart.yaml`, an entry of `index.yaml`).
pub(super) fn found(version: Version, digest: Option<Digest>, chart: &Value) -> Found {
    let none = BTreeMap::new();
    found_with(version, digest, chart, &none)
}

/// The same where the artefact around the chart has annotations of its own, which go before the chart's.
pub(super) fn found_with(
    version: Version,
    digest: Option<Digest>,
    chart: &Value,
    around: &BTreeMap<String, String>,
) -> Found {
    let annotation = |key: &str| chart.get("annotations").and_then(|annotations| annotations.get(key));
    let changes = annotation(CHANGES).and_then(Value::as_str).map(Changes::read);
    let marked = annotation(BREAKING).is_some_and(|mark| mark == true || mark == "true");
    let home = chart.get("home").or_else(|| chart.get("sources")?.get(0)).and_then(Value::as_str);
    Found {
        version,
        digest,
        marked_breaking: marked || changes.as_ref().is_some_and(|changes| changes.breaking),
        blocks: annotation(BLOCK).map(blocks).unwrap_or_default(),
        notes: changes.map(|changes| changes.notes).filter(|notes| !notes.is_empty()),
        home: home.filter(|home| !home.is_empty() && home.len() <= MAX_HOME).map(ToString::to_string),
        origin: origin(chart, around),
        incomplete: None,
        definition: None,
    }
}

/// A `Chart.yaml` as a value; none where it does not parse.
pub(super) fn chart_file(text: &str) -> Option<Value> {
    parsed(text).filter(Value::is_object)
}

fn origin(chart: &Value, around: &BTreeMap<String, String>) -> Origin {
    let annotation = |key: &str| {
        let own = || chart.get("annotations").and_then(|annotations| annotations.get(key)).and_then(Value::as_str);
        around.get(key).map(String::as_str).or_else(own)
    };
    let listed = chart.get("sources").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let home = chart.get("home").and_then(Value::as_str);
    let good = |text: &&str| !text.is_empty() && text.len() <= MAX_HOME;
    let sources = annotation(SOURCE).into_iter().chain(listed).chain(home).filter(good).take(MAX_SOURCES);
    Origin {
        sources: sources.map(ToString::to_string).collect(),
        revision: annotation(REVISION).filter(good).map(ToString::to_string),
    }
}

/// The steps that an annotation blocks. One that cannot be read blocks every step: its author meant something.
fn blocks(annotation: &Value) -> Vec<ChartBlock> {
    let unread = |text: &str| ChartBlock { from: None, why: format!("`{BLOCK}` says {}", cut(text, MAX_WHY)) };
    let Some(text) = annotation.as_str() else { return vec![unread(&annotation.to_string())] };
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() || lines.len() > MAX_BLOCKS {
        return vec![unread(text.trim())];
    }
    let block = |line: &str| {
        let (from, why) = line.split_once(':')?;
        let (from, why) = (from.trim(), why.trim());
        let from = if from == "*" { None } else { Some(from.parse().ok()?) };
        (!why.is_empty()).then(|| ChartBlock { from, why: cut(why, MAX_WHY) })
    };
    lines.into_iter().map(|line| block(line).unwrap_or_else(|| unread(line))).collect()
}

/// The annotation `artifacthub.io/changes`: a list of texts, or of `{kind, description}`, as YAML
/// inside of a string.
struct Changes {
    notes: String,
    breaking: bool,
}

impl Changes {
    fn read(text: &str) -> Self {
        let list = if text.len() <= MAX_CHANGES { list(text) } else { None };
        // `- two: and a half` is a mapping to YAML; what was not understood is shown as it is.
        let said = |change: &Value| change.as_str().or_else(|| change.get("description")?.as_str()).is_some();
        let Some(list) = list.filter(|list| list.iter().all(said)) else {
            return Self { notes: cut(text.trim(), MAX_NOTES), breaking: text.lines().any(is_breaking) };
        };
        let mut changes = Self { notes: String::new(), breaking: false };
        for change in &list {
            let field = |key: &str| change.get(key).and_then(Value::as_str);
            let (kind, what) = match change.as_str() {
                Some(what) => (None, what),
                None => (field("kind"), field("description").unwrap_or_default()),
            };
            let what = what.trim();
            changes.breaking |= matches!(kind, None | Some("removed" | "changed")) && is_breaking(what);
            changes.notes.push_str("- ");
            if let Some(kind) = kind {
                changes.notes.push_str(&format!("{kind}: "));
            }
            changes.notes.push_str(what);
            changes.notes.push('\n');
        }
        changes.notes = cut(changes.notes.trim_end(), MAX_NOTES);
        changes
    }
}

fn is_breaking(text: &str) -> bool {
    text.trim_start_matches(['-', '*', ' ', '"', '\'']).starts_with("BREAKING")
}

fn list(text: &str) -> Option<Vec<Value>> {
    match parsed(text)? {
        Value::Array(list) => Some(list),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
    }
}

fn parsed(text: &str) -> Option<Value> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! { max_nodes: 20_000, max_depth: 16 },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000 },
    };
    serde_saphyr::from_str_with_options::<Value>(text, options).ok()
}

/// At most so many bytes, cut between characters.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_string();
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use serde_json::json;

    fn describe(chart: &Value) -> Found {
        found("1.2.0".parse().unwrap(), None, chart)
    }

    fn with(changes: &str) -> Found {
        describe(&json!({"annotations": {"artifacthub.io/changes": changes}}))
    }

    #[test]
    fn both_forms_of_changes_become_notes() {
        let found = with(
            "- kind: added\n  description: a knob\n  links: [{name: x, url: y}]\n- kind: fixed\n  description: |\n    the rest\n",
        );
        assert_eq!(found.notes.unwrap(), "- added: a knob\n- fixed: the rest");
        assert_eq!(with("- one\n- two: and a half\n").notes.unwrap(), "- one\n- two: and a half");
        assert_eq!(with("- - nested\n").notes.unwrap(), "- - nested");
        assert_eq!(with("[unclosed").notes.unwrap(), "[unclosed");
        assert_eq!(with("").notes, None);
        assert_eq!(describe(&json!({})).notes, None);
    }

    #[test]
    fn what_its_author_marks_as_breaking() {
        for (changes, breaking) in [
            ("- kind: changed\n  description: 'BREAKING: values moved'\n", true),
            ("- kind: removed\n  description: BREAKING the old CRD\n", true),
            ("- kind: added\n  description: BREAKING news page\n", false),
            ("- kind: changed\n  description: nothing BREAKING\n", false),
            ("- BREAKING another default\n", true),
            ("- [unclosed\n- BREAKING x\n", true),
        ] {
            assert_eq!(with(changes).marked_breaking, breaking, "{changes}");
        }
        for (mark, breaking) in
            [(json!("true"), true), (json!(true), true), (json!("false"), false), (json!("yes"), false)]
        {
            let chart = json!({"annotations": {"coldframe.dev/breaking": mark}});
            assert_eq!(describe(&chart).marked_breaking, breaking, "{chart}");
        }
    }

    #[test]
    fn what_its_author_blocks() {
        let blocked = |mark: Value| {
            let found = describe(&json!({"annotations": {"coldframe.dev/block": mark}}));
            let from =
                |block: &ChartBlock| block.from.as_ref().map_or("anything".to_string(), |f| f.as_str().to_string());
            found.blocks.iter().map(|block| format!("{} {}", from(block), block.why)).collect::<Vec<_>>()
        };
        assert_eq!(blocked(json!("<1.15: CRD migration")), ["<1.15 CRD migration"]);
        assert_eq!(blocked(json!("\n>=1.2 <1.4: a: b\n*: all\n")), [">=1.2 <1.4 a: b", "anything all"]);
        assert_eq!(blocked(json!("soon: x")), ["anything `coldframe.dev/block` says soon: x"]);
        assert_eq!(blocked(json!("<1.15")), ["anything `coldframe.dev/block` says <1.15"]);
        assert_eq!(blocked(json!("<1.15:")), ["anything `coldframe.dev/block` says <1.15:"]);
        assert_eq!(blocked(json!(true)), ["anything `coldframe.dev/block` says true"]);
        assert_eq!(blocked(json!(" ")), ["anything `coldframe.dev/block` says "]);
        assert_eq!(describe(&json!({})).blocks, []);
    }

    #[test]
    fn home_is_the_first_that_is_named() {
        assert_eq!(describe(&json!({"home": "https://a", "sources": ["https://b"]})).home.unwrap(), "https://a");
        assert_eq!(describe(&json!({"sources": ["https://b"]})).home.unwrap(), "https://b");
        assert_eq!(describe(&json!({"home": "x".repeat(2000)})).home, None);
    }

    #[test]
    fn what_it_was_made_from() {
        let chart = json!({
            "home": "https://c",
            "sources": ["https://a", "https://b"],
            "annotations": {"org.opencontainers.image.source": "https://s", "org.opencontainers.image.revision": "abc"},
        });
        let found = describe(&chart).origin;
        assert_eq!(found.sources, ["https://s", "https://a", "https://b", "https://c"]);
        assert_eq!(found.revision.as_deref(), Some("abc"));
        assert_eq!(describe(&trimmed(chart.clone())).origin, found, "it is kept of an index, too");
        let around = BTreeMap::from([("org.opencontainers.image.revision".to_string(), "def".to_string())]);
        let found = found_with("1.2.0".parse().unwrap(), None, &chart, &around);
        assert_eq!(found.origin.revision.as_deref(), Some("def"), "the artefact's own word goes first");
        assert_eq!(describe(&json!({"sources": [1], "home": ""})).origin, Origin::default());
    }

    #[test]
    fn text_is_bounded() {
        let notes = with(&format!("- {}", "é".repeat(MAX_NOTES))).notes.unwrap();
        assert!(notes.len() <= MAX_NOTES + 3 && notes.ends_with('…'));
        let bomb = "- &a [x,x,x,x,x,x,x,x,x,x]\n- &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n- &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
            .repeat(50);
        assert!(with(&bomb).notes.unwrap().len() <= MAX_NOTES + 3);
        assert!(with(&"[".repeat(MAX_CHANGES + 1)).notes.unwrap().len() <= MAX_NOTES + 3);
    }
}
