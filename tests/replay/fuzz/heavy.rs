//! Inputs that no fuzzer grows to in minutes: one fragment again and again. What
//! nests without an end must be refused before a stack is used up, and nothing may take more than a straight walk.

use std::time::Duration;

use coldframe::edit::{FileFormat, read};
use coldframe::policy::{SourceFile, check};
use coldframe::signal::prometheus::promql::Query;

/// How long one of them may take where tests are built without optimisation.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long they are, in bytes: enough to use up a stack by nesting, and to be slow by more than a straight walk.
const SIZE: usize = 64 * 1024;

/// What is repeated: what begins something, what continues it, what ends it.
const FRAGMENTS: [&str; 68] = [
    "[",
    "{",
    "(",
    "\"",
    "'",
    "]",
    "}",
    "a: ",
    "- ",
    "? ",
    "&a ",
    "*a ",
    "!t ",
    "a: &a [",
    "a: {b: ",
    "#\n",
    "\n",
    ",",
    "a: *a\n",
    "- - ",
    "|\n",
    "\"\\",
    "<<: ",
    "---\n",
    "%A b\n",
    "...\n",
    "{a: 1, ",
    "[1, ",
    "a: b: ",
    "{\"a\":",
    "[[",
    "[{",
    "//\n",
    "/*",
    "a.",
    "a.b = 1\n",
    "[a.b]\n",
    "[[a]]\n",
    "a = [",
    "a = {b = ",
    "'''\n",
    "\"\"\"\n",
    "a {\n",
    "a = ",
    "1 + ",
    "1+",
    "!",
    "-",
    "b ? c : ",
    "b[",
    "b.*.",
    "b(",
    "${",
    "\"${",
    "%{ if a }",
    "<<E\n",
    "[for a in ",
    "{for a, b in ",
    "=> ",
    "a \"b\" ",
    "coldframe: a ",
    "1.2.3 ",
    "# coldframe: a\n",
    "\u{feff}",
    "{{ a }}",
    "{{- if a -}}\n",
    "{{ if a }}b{{ end }}\n",
    "b: {{ a }}\n{{ if a }}\n{{ end }}\n",
];

/// What stands before them.
const BEFORE: [&str; 4] = ["", "a = ", "a: ", "a = \""];

#[test]
fn no_repetition_uses_up_the_stack_or_the_time() {
    for (name, format) in FileFormat::ALL {
        for before in BEFORE {
            for fragment in FRAGMENTS {
                let text = format!("{before}{}", fragment.repeat(SIZE / fragment.len()));
                within(&format!("{name}: {before:?} and {fragment:?}"), move || drop(read(format, &text, None, "$.a")));
            }
        }
    }
}

#[test]
fn nor_in_a_policy_or_in_a_query() {
    for fragment in FRAGMENTS {
        let text = format!("version: 1\nplugins: {}", fragment.repeat(SIZE / fragment.len()));
        let query = fragment.repeat(SIZE / fragment.len());
        let path = "coldframe.yaml".to_string();
        within(&format!("a policy of {fragment:?}"), move || drop(check(&[SourceFile { path, text }])));
        within(&format!("a query of {fragment:?}"), move || drop(Query::parse(&query)));
    }
    for query in ["offset + ", "offset", "+ ", "offset +", "[5m] offset "] {
        let query = format!("x offset {}", query.repeat(100_000));
        within("offsets", move || drop(Query::parse(&query)));
    }
}

/// Aliases of what is nested deeply, in each other: few bytes, and a tree as deep as one likes.
#[test]
fn a25_aliases_nest_no_deeper_than_brackets() {
    let mut text = format!("a0: &a0 {}1{}\n", "[".repeat(60), "]".repeat(60));
    for n in 1..200 {
        text.push_str(&format!("a{n}: &a{n} {}*a{}{}\n", "[".repeat(60), n - 1, "]".repeat(60)));
    }
    let policy = SourceFile { path: "coldframe.yaml".to_string(), text: format!("version: 1\n{text}") };
    within("a policy", move || drop(check(&[policy])));
    within("a file", move || drop(read(FileFormat::Yaml, &text, None, "$.a1[0]")));
}

/// A thread of the runtime has 2 MiB; without optimisation each frame takes some four times as much.
const STACK: usize = if cfg!(debug_assertions) { 8 << 20 } else { 2 << 20 };

/// Runs on a stack as small as it may be.
fn within(what: &str, work: impl FnOnce() + Send + 'static) {
    let (done, over) = std::sync::mpsc::channel();
    let began = std::thread::Builder::new().name(what.replace("\0", "")).stack_size(STACK).spawn(move || {
        work();
        let _ = done.send(());
    });
    began.unwrap();
    over.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// A regular expression is made anew for every value that it is held against.
#[test]
fn a_filter_is_a_few_walks_over_the_document() {
    let items: Vec<String> = (0..2_000).map(|n| format!("{{\"b\":\"{n}\"}}")).collect();
    let text = format!("{{\"a\":[{}]}}", items.join(","));
    for filter in
        ["match(@.b,'((a{50}){50}){20}')", "search(@.b,'[\\\\p{L}]{500}')", "match(@.b,'(a|1)*[0-9]+x?')", "@.b=='1'"]
    {
        let path = format!("$.a[?{filter}]");
        let text = text.clone();
        within(&path.clone(), move || drop(read(FileFormat::Json, &text, None, &path)));
    }
}
