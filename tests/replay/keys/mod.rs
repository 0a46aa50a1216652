//! Every key of the policy file and of the operator's limits has a case here: two texts that differ in that
//! key alone, and what comes of it. Every reason that the planner can give occurs in a case or a story.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod case;
mod reasons;
mod schema;
mod set;

use std::collections::BTreeSet;

use coldframe::tell::reasons::Occasion;

use case::{Case, Sheet};
use schema::Schema;

/// What came of every case: the keys that it is about, and what the planner said.
struct Outcome {
    covered: BTreeSet<String>,
    occasions: BTreeSet<Occasion>,
    wrong: String,
}

/// Tells every case of every sheet of one schema.
fn outcome(of: &str) -> Outcome {
    let schema = Schema::read(of);
    let mut outcome = Outcome { covered: BTreeSet::new(), occasions: BTreeSet::new(), wrong: String::new() };
    for sheet in case::sheets().iter().filter(|sheet| sheet.schema == of) {
        for case in &sheet.cases {
            let wrong = match schema.name_of(&case.key) {
                Some(name) => {
                    outcome.covered.insert(name);
                    one(sheet, case, &mut outcome.occasions)
                }
                None => Err("the schema has no such key".to_string()),
            };
            if let Err(why) = wrong {
                outcome.wrong.push_str(&format!("\n{}: {}: {why}\n", sheet.name, case.key));
            }
        }
    }
    outcome
}

fn one(sheet: &Sheet, case: &Case, occasions: &mut BTreeSet<Occasion>) -> Result<(), String> {
    // What only stands in another place of the wiring changes no plan; then a mistake in it is shown.
    if case.shows.is_none() && case.error.is_none() {
        return Err("it `shows` nothing, and no value is an `error`".to_string());
    }
    if let Some(shows) = &case.shows {
        let (first, second) = (case.tell(sheet, &case.from)?, case.tell(sheet, &case.to)?);
        for told in [&first, &second] {
            if !told.kept {
                return Err(told.text.clone());
            }
        }
        alone(&first.text, &second.text, shows)?;
        occasions.extend(first.occasions);
        occasions.extend(second.occasions);
    }
    if let Some(resolves) = &case.resolves {
        alone(&case.resolve(sheet, &case.from)?, &case.resolve(sheet, &case.to)?, resolves)?;
    }
    if let Some(error) = &case.error {
        case.refuse(sheet, error)?;
    }
    Ok(())
}

/// The words must stand in the second text, and must not in the first.
fn alone(first: &str, second: &str, words: &str) -> Result<(), String> {
    if first.contains(words) {
        return Err(format!("`{words}` stands on both sides:\n{first}"));
    }
    if !second.contains(words) {
        return Err(format!("`{words}` is not in\n{second}\nwithout the key's second value:\n{first}"));
    }
    Ok(())
}

#[test]
fn every_key_of_the_policy_has_its_case() {
    check("policies/schema.json");
}

#[test]
fn every_limit_of_the_operator_has_its_case() {
    check("policies/limits.schema.json");
}

fn check(of: &str) {
    let outcome = outcome(of);
    let missing: Vec<String> = Schema::read(of).keys().difference(&outcome.covered).cloned().collect();
    assert!(outcome.wrong.is_empty(), "{}", outcome.wrong);
    assert!(missing.is_empty(), "keys without a case:\n  {}", missing.join("\n  "));
    println!("{} keys of {of}", outcome.covered.len());
}
