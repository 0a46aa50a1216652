//! Cases: with these facts, at this time, the plan in words. One file per case; what a case does not
//! say it has from its base. `COLDFRAME_BLESS=1 cargo test --test replay cases` writes the plans anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

pub mod read;
mod words;

use std::fs;
use std::path::Path;

use read::{Case, patch, snapshot, yaml_files};
use serde_yaml::Value;

#[test]
fn each_case_gives_its_plan() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let files = yaml_files(&folder);
    assert!(!files.is_empty(), "no case in {}", folder.display());
    let mut wrong = String::new();
    for path in &files {
        let text = fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        let case: Case = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let snapshot = snapshot(&folder, &case).unwrap_or_else(|error| panic!("{name}: {error}"));
        let plan = words::of(&decide::plan(&snapshot, case.now));
        if std::env::var_os("COLDFRAME_BLESS").is_some() {
            fs::write(path, blessed(&text, &plan)).unwrap();
        } else if case.plan != plan {
            wrong.push_str(&format!("\n{name}: {}\n{}", case.what, difference(&case.plan, &plan)));
        }
    }
    assert!(wrong.is_empty(), "{wrong}\nCOLDFRAME_BLESS=1 cargo test --test replay cases takes the new plans over");
    println!("{} cases", files.len());
}

fn blessed(text: &str, plan: &str) -> String {
    let head = text.split_inclusive('\n').take_while(|line| !line.starts_with("plan:"));
    let lines: String =
        plan.lines().map(|line| if line.is_empty() { "\n".to_string() } else { format!("  {line}\n") }).collect();
    format!("{}plan: |\n{lines}", head.collect::<String>())
}

/// Both texts line by line, with a sign before those that only one of them has.
fn difference(wanted: &str, found: &str) -> String {
    let (wanted, found): (Vec<&str>, Vec<&str>) = (wanted.lines().collect(), found.lines().collect());
    let gone = wanted.iter().filter(|line| !found.contains(line)).map(|line| format!("  - {line}\n"));
    let new = found.iter().map(|line| format!("  {} {line}\n", if wanted.contains(line) { ' ' } else { '+' }));
    gone.chain(new).collect()
}

#[test]
fn a_patch_replaces_adds_and_takes_out() {
    let yaml = |text: &str| serde_yaml::from_str::<Value>(text).unwrap();
    let mut facts = yaml("{a: {b: 1, c: [1, 2]}, d: {known: {x: 1}}, e: 5}");
    patch(&mut facts, &yaml("{a: {c: [3], f: 6}, d: {unread: no answer}, e: null}"));
    assert_eq!(facts, yaml("{a: {b: 1, c: [3], f: 6}, d: {unread: no answer}}"));
    assert_eq!(blessed("what: x\nplan: |\n  old\n", "new\n\nlines\n"), "what: x\nplan: |\n  new\n\n  lines\n");
}
