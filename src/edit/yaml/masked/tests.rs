//! Templates made of parts, and what becomes of them whichever branches are taken: an edit changes one value in each,
//! or was refused.
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

use proptest::prelude::*;
use serde::Deserialize as _;

use crate::find::{Wanted, find};
use crate::{FileFormat, set};

const LINES: [&str; 9] = [
    "releases:\n",
    "  - name: a\n",
    "    namespace: {{ .ns }}\n",
    "    chart: b/redis\n",
    "    version: 6.6.2\n",
    "    wait: true\n",
    "  - name: b\n",
    "    chart: b/nginx\n",
    "    version: 6.6.2\n",
];

const PARTS: [&str; 26] = [
    "{{ if .a }}\n",
    "{{- if .a }}\n",
    "    {{- if .a }}\n",
    "{{ if .a -}}\n",
    "{{ else }}\n",
    "{{- else -}}\n",
    "{{ end }}\n",
    "{{- end }}\n",
    "{{- end -}}\n",
    "    {{- end }}\n",
    "{{ range .r }}\n",
    "{{ $x := 1 -}}\n",
    "{{- $x := 1 }}\n",
    "{{/* a\n b */}}\n",
    "    {{ .out }}\n",
    "    {{- .out }}\n",
    "    label: {{ if .a }}x{{ else }}y{{ end }}\n",
    "    list: [{{ .y }}]\n",
    "    '{{ .key }}': \"{{ .value }}\"\n",
    "    text: |\n      {{ .line }}\n",
    "  - name: c\n    chart: b/redis\n",
    "# {{ .comment }}\n",
    "---\n",
    "other: {{ .a -}} b\n",
    "  - version: 6.6.2\n    chart: b/redis\n",
    "    {{ .out -}}\n",
];

/// A text, or what stands in a marker.
type Piece = Result<String, String>;

/// What a template becomes; `choose` says which branch is taken, and what a marker stands for. None where branches do
/// not end.
fn rendered(text: &str, choose: &mut dyn FnMut() -> u8) -> Option<String> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut rest = text;
    let mut takes = false;
    while let Some((before, inner)) = rest.split_once("{{") {
        let (inner, behind) = inner.split_once("}}")?;
        let before = if takes { before.trim_start() } else { before };
        pieces.push(Ok(if inner.starts_with("- ") { before.trim_end() } else { before }.to_string()));
        pieces.push(Err(inner.trim_matches('-').trim().to_string()));
        (takes, rest) = (inner.ends_with(" -"), behind);
    }
    pieces.push(Ok(if takes { rest.trim_start() } else { rest }.to_string()));
    let (out, end) = sequence(&pieces, 0, choose)?;
    (end == pieces.len()).then_some(out)
}

/// What the pieces become up to an `else` or `end` of their own, and where that is.
fn sequence(pieces: &[Piece], mut at: usize, choose: &mut dyn FnMut() -> u8) -> Option<(String, usize)> {
    let mut out = String::new();
    while let Some(piece) = pieces.get(at) {
        match piece {
            Ok(text) => out.push_str(text),
            Err(inner) if inner == "else" || inner == "end" => break,
            Err(inner) if inner.starts_with("if ") || inner.starts_with("range ") => {
                let wanted = choose() % 3;
                let mut branch = 0;
                while pieces.get(at)? != &Err("end".to_string()) {
                    let (one, end) = sequence(pieces, at + 1, choose)?;
                    out.push_str(if branch == wanted { &one } else { "" });
                    (branch, at) = (branch + 1, end);
                }
            }
            Err(inner) if inner.starts_with('$') || inner.starts_with("/*") => {}
            Err(_) => out.push_str(["x", "7", "'a b'", "[a, b]"].get(usize::from(choose() % 4)).unwrap()),
        }
        at += 1;
    }
    Some((out, at))
}

fn leaves(text: &str) -> Option<Vec<(String, String)>> {
    fn walk(value: &serde_yaml::Value, at: &str, leaves: &mut Vec<(String, String)>) {
        match value {
            serde_yaml::Value::Sequence(list) => {
                list.iter().enumerate().for_each(|(index, value)| walk(value, &format!("{at}[{index}]"), leaves));
            }
            serde_yaml::Value::Mapping(map) => {
                map.iter().for_each(|(key, value)| walk(value, &format!("{at}.{key:?}"), leaves));
            }
            other => leaves.push((at.to_string(), format!("{other:?}"))),
        }
    }
    let mut found = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        walk(&serde_yaml::Value::deserialize(document).ok()?, "", &mut found);
    }
    Some(found)
}

#[test]
fn a_template_becomes_what_its_branches_say() {
    let text = "a:\n{{- if .x }}\n  b: {{ .y }}\n{{- else }}\n  c: 1\n{{- end }}\nd: 1\n";
    for (choices, expected) in [([0, 0], "a:\n  b: x\nd: 1\n"), ([1, 1], "a:\n  c: 1\nd: 1\n"), ([2, 0], "a:\nd: 1\n")]
    {
        let mut choices = choices.into_iter().cycle();
        assert_eq!(rendered(text, &mut || choices.next().unwrap()).unwrap(), expected);
    }
    let mut none = || 0;
    assert_eq!(rendered("a: 1\n{{ $x := 1 -}}\n  b: 2\n", &mut none).unwrap(), "a: 1\nb: 2\n");
    assert_eq!(rendered("{{ if .x }}", &mut none), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whichever_branches_are_taken_one_value_changes(
        parts in prop::collection::vec((0..=LINES.len(), prop::sample::select(PARTS.to_vec())), 0..5),
        choices in prop::collection::vec(any::<u8>(), 16),
    ) {
        let mut lines: Vec<&str> = LINES.to_vec();
        for (place, part) in parts {
            lines.insert(place, part);
        }
        let text = lines.concat();
        let wanted = Wanted { chart: "redis", plugin: "redis", address: None };
        let Ok(found) = find(FileFormat::Yaml, "helmfile.yaml", &text, wanted) else { return Ok(()) };
        for one in found {
            let document = one.scalar.document.as_ref();
            let Ok(after) = set(FileFormat::Yaml, &text, document, &one.scalar.path, "9.8.7-new") else { continue };
            for turn in 0..choices.len() {
                let becomes = |text: &str| {
                    let mut choices = choices.iter().cycle().skip(turn);
                    rendered(text, &mut || choices.next().copied().unwrap_or_default())
                };
                let (Some(before), Some(after)) = (becomes(&text), becomes(&after)) else { continue };
                let Some(first) = leaves(&before) else { continue };
                let second = leaves(&after);
                prop_assert!(second.is_some(), "{text}\n---\n{after}");
                let second = second.unwrap_or_default();
                let changed: Vec<_> = first.iter().zip(&second).filter(|(was, is)| was != is).collect();
                prop_assert_eq!(first.len(), second.len(), "{}\n---\n{}", text, after);
                prop_assert_eq!(changed.len(), 1, "{}\n---\n{}", text, after);
                let (was, is) = changed[0];
                let version = |(at, value): &(String, String), is: &str| at.ends_with(".String(\"version\")") && value == &format!("String({is:?})");
                prop_assert!(was.0 == is.0 && version(was, "6.6.2") && version(is, "9.8.7-new"), "{text}\n---\n{after}");
                let chart = was.0.replace("\"version\"", "\"chart\"");
                let charts: Vec<&str> = first.iter().filter(|(at, _)| *at == chart).map(|(_, value)| value.as_str()).collect();
                prop_assert_eq!(charts, ["String(\"b/redis\")"], "{}\n---\n{}", text, after);
            }
        }
    }
}
