//! What libFuzzer begins with: the files of the project's own tests and pages, in the shape that each target reads.

use std::path::{Path, PathBuf};

use coldframe::edit::FileFormat;
use coldframe::ledger::pages;
use decide::Ledger;
use serde::Deserialize as _;

use crate::edits::corpus::{Case, cases};

/// A target, and an input for it.
pub type Seed = (&'static str, String);

/// Every one.
pub fn seeds() -> Vec<Seed> {
    let mut seeds: Vec<Seed> = cases().iter().flat_map(of_case).collect();
    for (path, text) in files("policies").into_iter().chain(files("docs")) {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("yaml") => seeds.push(("policy", text)),
            Some("story") => {
                seeds.extend(indented(&text, "policy:").map(|policy| ("policy", policy)));
                seeds.push(("story", text));
            }
            Some("md") => seeds.extend(of_page(&text)),
            _ => {}
        }
    }
    seeds.extend(files("tests/cases").iter().flat_map(|(_, text)| of_ledger(text)));
    seeds
}

/// Files below a folder that are texts, in order.
fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let (mut folders, mut found) = (vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)], Vec::new());
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

/// A case of the editor, for its format and for whoever finds its place or its lock.
fn of_case(case: &Case) -> Vec<Seed> {
    let of = |name: &str| case.arguments.iter().position(|word| word == name).map(|at| case.arguments[at + 1].as_str());
    let (file, to, text) = (case.arguments[0].as_str(), of("--to").unwrap_or_default(), &case.text);
    let format = of("--format").map_or(FileFormat::of(file), |_| FileFormat::Text);
    let target = match format {
        FileFormat::Yaml => "yaml",
        FileFormat::Json => "json",
        FileFormat::Toml => "toml",
        FileFormat::Hcl => "hcl",
        FileFormat::Text => "text",
    };
    let path = of("--path").unwrap_or_default();
    let mut seeds = vec![(target, format!("{to}\t{path}\n{text}"))];
    if let Some(chart) = of("--chart") {
        seeds.push(("find", format!("{file}\t{chart}\t{}\t{to}\n{text}", of("--plugin").unwrap_or_default())));
    }
    if let Some((_, lock)) = case.beside.iter().find(|(name, _)| name.ends_with("Chart.lock")) {
        seeds.push(("chart_lock", format!("{to}\t0\n{text}\n===\n{lock}")));
    }
    if format == FileFormat::Json && !path.is_empty() {
        seeds.push(("jsonpath", format!("{path}\n{text}")));
    }
    seeds
}

/// The examples of a page: policies, windows, and what is asked of Prometheus.
fn of_page(text: &str) -> Vec<Seed> {
    let mut seeds = Vec::new();
    for example in text.split("```yaml\n").skip(1).filter_map(|after| after.split("```").next()) {
        seeds.push(("policy", example.to_string()));
        seeds.extend(indented(example, "windows:").map(|below| ("windows", format!("1795000000\n{below}"))));
        seeds.extend(example.lines().filter_map(|line| Some(("promql", line.split_once("query:")?.1.trim().into()))));
    }
    seeds
}

/// The block below a key of the first column.
fn indented(text: &str, key: &str) -> Option<String> {
    let below = text.lines().skip_while(|line| *line != key).skip(1).take_while(|line| line.starts_with("  "));
    let block: String = below.map(|line| format!("{}\n", line.get(2..).unwrap_or_default())).collect();
    (!block.is_empty()).then_some(block)
}

/// The pages of the ledger in a case of the planner.
fn of_ledger(case: &str) -> Vec<Seed> {
    let tree = serde_yaml::from_str::<serde_yaml::Value>(case).ok();
    let facts = tree.as_ref().and_then(|tree| tree.get("snapshot")?.get("ledger"));
    let Some(ledger) = facts.and_then(|ledger| Ledger::deserialize(ledger).ok()) else { return Vec::new() };
    let files = pages::changed(&Ledger::default(), &ledger, true).unwrap_or_default();
    let page = |(path, bytes): (String, Option<Vec<u8>>)| {
        Some(("ledger", format!("{path}\n{}", String::from_utf8(bytes?).ok()?)))
    };
    files.into_iter().filter_map(page).collect()
}
