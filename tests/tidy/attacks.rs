//! The attacks and failures that are expected, each by its number: `tests/attacks.yaml` says what comes of it,
//! and the tests whose names begin with the number prove it. `docs/attacks.md` is written from both.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::source::{File, repository};

const ROWS: &str = "tests/attacks.yaml";
const PAGE: &str = "docs/attacks.md";
/// What a number begins with, how many there are, and the heading of their part of the page.
const KINDS: [(char, usize, &str); 2] = [('A', 47, "Attacks"), ('F', 50, "Failures")];
const BLESS: &str = "COLDFRAME_BLESS=1 ./tests/run generated";

/// One row of the page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    number: String,
    /// The attack or the failure.
    what: String,
    /// What comes of it.
    outcome: String,
    /// Why no test can be about it; only where there is none.
    untested: Option<String>,
}

/// A test whose name begins with a number.
struct Named {
    name: String,
    path: String,
}

#[test]
fn every_attack_and_failure_has_its_test() {
    let files = repository();
    let text = &files.iter().find(|file| file.path == ROWS).unwrap().text;
    let rows: Vec<Row> = serde_yaml::from_str(text).unwrap();
    let (tests, mut problems) = numbered(&files);
    problems.extend(problems_of(&rows, &tests));
    let page = page(&rows, &tests);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    if std::env::var_os("COLDFRAME_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    if std::fs::read_to_string(&path).ok().as_ref() != Some(&page) {
        problems.push(format!("{PAGE} is not current; {BLESS} writes it"));
    }
    assert!(problems.is_empty(), "\n  {}", problems.join("\n  "));
}

/// The tests by their numbers, and what has a number and cannot be counted.
fn numbered(files: &[File]) -> (BTreeMap<String, Vec<Named>>, Vec<String>) {
    let (mut tests, mut problems) = (BTreeMap::<String, Vec<Named>>::new(), Vec::new());
    for file in files.iter().filter(|file| file.is_rust()) {
        let mut attributes = String::new();
        for (number, line) in file.code() {
            if line.trim_start().starts_with("#[") {
                attributes.push_str(line.trim());
                continue;
            }
            let name = line.split_once("fn ").map(|(_, rest)| rest.split(['(', '<']).next().unwrap_or_default());
            let numbers = name.map(numbers_of).unwrap_or_default();
            let runs = ["#[test]", "#[tokio::test"].iter().any(|kind| attributes.contains(kind));
            for found in &numbers {
                if !runs || attributes.contains("#[ignore") {
                    let name = name.unwrap_or_default();
                    problems.push(format!("{}:{number} `{name}` is named as a test of {found} and none", file.path));
                } else {
                    let named = Named { name: name.unwrap_or_default().to_owned(), path: file.path.clone() };
                    tests.entry(found.clone()).or_default().push(named);
                }
            }
            if !line.trim().is_empty() {
                attributes.clear();
            }
        }
    }
    (tests, problems)
}

/// The numbers that a name begins with: `a02_f12_slow` is about A02 and F12.
fn numbers_of(name: &str) -> Vec<String> {
    let is_number = |part: &&str| {
        let digits = part.strip_prefix(['a', 'f']).unwrap_or_default();
        digits.len() == 2 && digits.chars().all(|digit| digit.is_ascii_digit())
    };
    name.split('_').take_while(is_number).map(str::to_ascii_uppercase).collect()
}

fn problems_of(rows: &[Row], tests: &BTreeMap<String, Vec<Named>>) -> Vec<String> {
    let wanted: Vec<String> =
        KINDS.iter().flat_map(|(kind, last, _)| (1..=*last).map(move |number| format!("{kind}{number:02}"))).collect();
    let mut problems = Vec::new();
    if rows.iter().map(|row| &row.number).ne(&wanted) {
        problems.push(format!("{ROWS} does not list {} to {} in their order", wanted[0], wanted[wanted.len() - 1]));
    }
    for row in rows {
        let lower = row.number.to_ascii_lowercase();
        match (&row.untested, tests.get(&row.number)) {
            (None, None) => problems.push(format!(
                "{} ({}) has no test; name one `{lower}_…`, or say in {ROWS} why none can be (`untested`)",
                row.number, row.what
            )),
            (Some(_), Some(found)) => {
                problems.push(format!("{} has a test, {}; take `untested` out of {ROWS}", row.number, found[0].name));
            }
            (None, Some(_)) | (Some(_), None) => {}
        }
    }
    for (number, found) in tests.iter().filter(|(number, _)| !wanted.contains(number)) {
        problems.push(format!("{} `{}`: there is no {number} in {ROWS}", found[0].path, found[0].name));
    }
    problems
}

fn page(rows: &[Row], tests: &BTreeMap<String, Vec<Named>>) -> String {
    let mut page = format!(
        "# Attacks and failures\n\n<!-- Written by `{BLESS}` from {ROWS} and the names of the tests; do not edit. -->\n\n\
         What people, clusters, registries and the hub itself can do to Coldframe, what comes of it, and the tests \
         that prove it: their names begin with the number. Whom Coldframe trusts stands in [security.md](security.md).\n"
    );
    for (kind, _, heading) in KINDS {
        page.push_str(&format!(
            "\n## {heading}\n\n| | what happens | what comes of it | proved by |\n|---|---|---|---|\n"
        ));
        for row in rows.iter().filter(|row| row.number.starts_with(kind)) {
            let found = tests.get(&row.number).into_iter().flatten();
            let links: Vec<String> = found.map(|test| format!("[`{}`](../{})", test.name, test.path)).collect();
            let proof = if links.is_empty() { row.untested.clone().unwrap_or_default() } else { links.join("<br>") };
            page.push_str(&format!("| {} | {} | {} | {proof} |\n", row.number, row.what, row.outcome));
        }
    }
    page
}

#[test]
fn what_is_missing_or_wrong_is_found() {
    let row = |number: &str, untested: Option<&str>| Row {
        number: number.to_owned(),
        what: "it".to_owned(),
        outcome: "nothing".to_owned(),
        untested: untested.map(str::to_owned),
    };
    let source = "#[test]\nfn a01_f02_x() {}\n\n#[test]\n#[ignore = \"slow\"]\nfn a03_y() {}\nfn a04_z() {}\n\
                  // fn a05_v() {}\n#[tokio::test(flavor = \"x\")]\n#[allow(w)]\nasync fn f99_w() {}\nfn a_6() {}\n";
    let (tests, problems) = numbered(&[File::new("src/x.rs".to_owned(), source.to_owned())]);
    assert_eq!(tests.keys().collect::<Vec<_>>(), ["A01", "F02", "F99"]);
    assert_eq!(problems.len(), 2, "{problems:?}");
    let mut rows: Vec<Row> = Vec::new();
    for (kind, last, _) in KINDS {
        rows.extend((1..=last).map(|number| row(&format!("{kind}{number:02}"), Some("it cannot be"))));
    }
    let found = |rows: &[Row]| problems_of(rows, &tests).join("\n");
    assert!(found(&rows).contains("A01 has a test") && found(&rows).contains("there is no F99"), "{}", found(&rows));
    (rows[0].untested, rows[1].untested) = (None, None);
    assert!(!found(&rows).contains("A01") && found(&rows).contains("A02 (it) has no test"), "{}", found(&rows));
    rows.remove(1);
    assert!(found(&rows).contains("does not list A01 to F50"), "{}", found(&rows));
}
