//! Every reason occurs in a case or a story, and where it occurs is what the page of reasons says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use coldframe::rehearse::tell;
use coldframe::tell::reasons::{Occasion, occasions, samples};
use decide::Reason;

use super::{case, outcome};
use crate::cases::read as facts;

/// What is said in the cases of this folder, in the stories of the manual and in `tests/cases`.
fn said() -> BTreeSet<Occasion> {
    let mut said = outcome("policies/schema.json").occasions;
    said.extend(outcome("policies/limits.schema.json").occasions);
    let mut wrong = String::new();
    for (reason, told) in case::said() {
        if !told.kept || !told.occasions.iter().any(|(_, name)| *name == reason) {
            wrong.push_str(&format!("{reason}:\n{}\n", told.text));
        }
        said.extend(told.occasions);
    }
    assert!(wrong.is_empty(), "these are not said, or not as expected:\n{wrong}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for path in fs::read_dir(root.join("docs/stories")).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_some_and(|end| end == "story") {
            let told = tell(&path, &fs::read_to_string(&path).unwrap());
            assert!(told.kept, "{}", told.text);
            said.extend(told.occasions);
        }
    }
    let folder = root.join("tests/cases");
    for path in facts::yaml_files(&folder) {
        let case: facts::Case = serde_yaml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let snapshot = facts::snapshot(&folder, &case).unwrap();
        said.extend(occasions(&decide::plan(&snapshot, case.now)));
    }
    said
}

#[test]
fn every_reason_occurs_where_the_page_says() {
    let said = said();
    let never: Vec<&str> =
        Reason::names().iter().copied().filter(|name| !said.iter().any(|(_, reason)| reason == name)).collect();
    assert!(never.is_empty(), "reasons that occur in no case and no story:\n  {}", never.join("\n  "));
    let listed: BTreeSet<Occasion> = samples()
        .unwrap()
        .iter()
        .flat_map(|sample| sample.at.iter().map(|at| (at.clone(), sample.reason.name())))
        .collect();
    let lines = |some: Vec<&Occasion>| some.iter().map(|(at, name)| format!("\n  {name}: {at}")).collect::<String>();
    let forgotten: Vec<&Occasion> = said.difference(&listed).collect();
    assert!(forgotten.is_empty(), "src/tell/reasons.yaml does not say that:{}", lines(forgotten));
    let invented: Vec<&Occasion> = listed.difference(&said).collect();
    assert!(invented.is_empty(), "src/tell/reasons.yaml says what no case shows:{}", lines(invented));
}

#[test]
fn every_reason_has_one_sample() {
    let samples = samples().unwrap();
    let names: Vec<String> = samples.iter().map(|sample| sample.reason.name()).collect();
    assert_eq!(names, Reason::names(), "one sample for each, in the order of the enum");
}
