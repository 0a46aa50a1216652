//! Every file of the corpus, spoilt in all the ways that a person or another tool spoils files: the editor refuses,
//! or replaces one run of bytes and nothing else, which a second parser confirms.

use coldframe::edit::find::{Wanted, find};
use coldframe::edit::{FileFormat, read, set};
use proptest::prelude::*;
use serde::Deserialize as _;

use super::corpus::{Case, cases};

/// What is done to a line.
#[derive(Clone, Debug)]
enum Harm {
    CommentBefore,
    CommentBehind,
    Indent,
    Outdent,
    Twice,
    Away,
    Quote(char),
    Anchor,
    Alias,
    Tab,
    Bracket(char),
    Blank,
    Emoji,
}

fn harm() -> impl Strategy<Value = Harm> {
    let quote = prop::sample::select(vec!['\'', '"', '`']).prop_map(Harm::Quote);
    let bracket = prop::sample::select(vec!['{', '}', '[', ']', ',', ':', '#', '|', '>', '&', '*', '!']);
    prop_oneof![
        Just(Harm::CommentBefore),
        Just(Harm::CommentBehind),
        Just(Harm::Indent),
        Just(Harm::Outdent),
        Just(Harm::Twice),
        Just(Harm::Away),
        quote,
        Just(Harm::Anchor),
        Just(Harm::Alias),
        Just(Harm::Tab),
        bracket.prop_map(Harm::Bracket),
        Just(Harm::Blank),
        Just(Harm::Emoji),
    ]
}

fn spoil(text: &str, line: usize, column: usize, harm: &Harm) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    if lines.is_empty() {
        return text.to_string();
    }
    let place = line % lines.len();
    let one = lines[place].clone();
    let indent: String = one.chars().take_while(|c| *c == ' ').collect();
    let split = one.char_indices().map(|(at, _)| at).nth(column % (one.chars().count() + 1)).unwrap_or(one.len());
    match harm {
        Harm::CommentBefore => lines.insert(place, format!("{indent}# version: 6.6.2")),
        Harm::CommentBehind => lines[place] = format!("{one} # {one}"),
        Harm::Indent => lines[place] = format!("  {one}"),
        Harm::Outdent => lines[place] = one.strip_prefix("  ").unwrap_or(&one).to_string(),
        Harm::Twice => lines.insert(place, one),
        Harm::Away => drop(lines.remove(place)),
        Harm::Quote(c) | Harm::Bracket(c) => lines[place].insert(split, *c),
        Harm::Anchor => lines[place] = one.replacen(": ", ": &it ", 1),
        Harm::Alias => lines[place] = one.split_once(": ").map_or(one.clone(), |(key, _)| format!("{key}: *it")),
        Harm::Tab => lines[place] = format!("\t{one}"),
        Harm::Blank => lines.insert(place, "   ".to_string()),
        Harm::Emoji => lines[place].insert(split, '🌱'),
    }
    lines.join("\n") + "\n"
}

/// What is asked of a case: its place by path, or by what the file is.
fn place(case: &Case, text: &str) -> Option<(FileFormat, Option<coldframe::policy::wiring::DocumentSelector>, String)> {
    let of = |name: &str| case.arguments.iter().position(|word| word == name).map(|at| case.arguments[at + 1].as_str());
    let file = case.arguments[0].as_str();
    let format = of("--format").map_or(FileFormat::of(file), |_| FileFormat::Text);
    if let Some(path) = of("--path") {
        return Some((format, None, path.to_string()));
    }
    let chart = of("--chart")?;
    let found = find(format, file, text, Wanted { chart, plugin: chart, address: None }).ok()?;
    let [one] = found.as_slice() else { return None };
    Some((format, one.scalar.document.clone(), one.scalar.path.clone()))
}

/// The leaves of all documents by another parser; none where it does not understand them.
fn leaves(text: &str) -> Option<Vec<String>> {
    fn walk(value: &serde_yaml::Value, at: &str, leaves: &mut Vec<String>) {
        match value {
            serde_yaml::Value::Sequence(list) => {
                list.iter().enumerate().for_each(|(index, value)| walk(value, &format!("{at}[{index}]"), leaves));
            }
            serde_yaml::Value::Mapping(map) => {
                map.iter().for_each(|(key, value)| walk(value, &format!("{at}.{key:?}"), leaves))
            }
            serde_yaml::Value::Tagged(tagged) => walk(&tagged.value, &format!("{at}!{}", tagged.tag), leaves),
            other => leaves.push(format!("{at} {other:?}")),
        }
    }
    let mut found = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let value = serde_yaml::Value::deserialize(document).ok()?;
        walk(&value, "", &mut found);
    }
    Some(found)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_spoilt_file_is_refused_or_changes_in_one_place(
        which in any::<prop::sample::Index>(),
        harms in prop::collection::vec((any::<usize>(), any::<usize>(), harm()), 0..4),
    ) {
        static CASES: std::sync::LazyLock<Vec<Case>> = std::sync::LazyLock::new(cases);
        let case = &CASES[which.index(CASES.len())];
        let text = harms.iter().fold(case.text.clone(), |text, (line, column, harm)| spoil(&text, *line, *column, harm));
        let Some((format, document, path)) = place(case, &text) else { return Ok(()) };
        let to = "9.8.7-new";
        let Ok(after) = set(format, &text, document.as_ref(), &path, to) else { return Ok(()) };
        let spot = read(format, &text, document.as_ref(), &path).unwrap();
        let (head, tail) = (&text[..spot.range.start], &text[spot.range.end..]);
        prop_assert!(after.starts_with(head) && after.ends_with(tail), "{text}\n---\n{after}");
        let new = &after[head.len()..after.len() - tail.len()];
        prop_assert_eq!(new.trim_matches(['\'', '"']), to);
        let again = set(format, &after, document.as_ref(), &path, to);
        prop_assert_eq!(again.as_deref(), Ok(after.as_str()), "again");
        if format == FileFormat::Yaml && let (Some(before), Some(after)) = (leaves(&text), leaves(&after)) {
            prop_assert_eq!(before.len(), after.len());
            // An anchor of its own takes its aliases along; all else is as it was.
            let changed: Vec<_> = before.iter().zip(&after).filter(|(before, after)| before != after).collect();
            prop_assert!(changed.iter().all(|(_, after)| after.contains(to)), "{changed:#?}\n{text}");
        }
    }
}
