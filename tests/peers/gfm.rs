//! What is said of a release, read by the parser that GitHub uses: nothing of it is alive there either.

use serde_json::{Value, json};

use crate::peers::{python, script};

/// The texts of `src/tell/hostile.rs`, which reads them with a parser of its own.
const TEXTS: &str = include_str!("../fixtures/tell/hostile.json");

#[test]
fn a19_a20_a21_nothing_comes_alive_for_githubs_own_parser() {
    let texts: Value = serde_json::from_str(TEXTS).unwrap();
    assert!(texts.as_object().unwrap().len() > 40);
    assert_eq!(script(python(), "gfm.py", &texts), json!({}));
}

#[test]
fn the_reader_of_what_it_makes_sees_life() {
    let alive =
        ["hi @alice", "see #1", "<b>x</b>", "![x](https://y.example)", "see https://a.example", "- [x] done", "[a](b)"];
    let texts: serde_json::Map<String, Value> = alive.into_iter().map(|text| (text.to_owned(), text.into())).collect();
    let found = script(python(), "gfm.py", &Value::Object(texts));
    assert_eq!(found.as_object().unwrap().len(), alive.len(), "{found}");
}
