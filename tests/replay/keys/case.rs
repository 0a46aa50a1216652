//! Cases as people write them: a sheet of YAML per subject, a case per key, and the story that is told on
//! both sides of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use coldframe::policy::{Mode, OperatorLimits, Setting, SourceFile, check_resolved, load_in};
use coldframe::rehearse::{Told, tell};
use serde::Deserialize;
use serde_yaml::Value;

use super::set::set;

/// One file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sheet {
    #[serde(skip)]
    pub name: String,
    /// What its keys are about, for people.
    #[allow(dead_code)] // read by people
    about: String,
    /// Whose keys these are.
    #[serde(default = "policy_schema")]
    pub schema: String,
    /// Keys that every case of the sheet has on both sides.
    #[serde(default)]
    also: BTreeMap<String, Value>,
    pub cases: Vec<Case>,
}

fn policy_schema() -> String {
    "policies/schema.json".to_string()
}

/// One key.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its path, with the names of tiers and plugins.
    pub key: String,
    /// Other keys that both sides have.
    #[serde(default)]
    also: BTreeMap<String, Value>,
    /// The key's values on both sides; `absent` takes it out.
    #[serde(default = "absent")]
    pub from: Value,
    pub to: Value,
    /// More of the head of the story.
    #[serde(default)]
    head: String,
    /// What happens.
    #[serde(default = "story")]
    story: String,
    /// What stands in the second telling and not in the first.
    pub shows: Option<String>,
    /// What stands in `coldframe check --resolved` of the second and not of the first.
    pub resolves: Option<String>,
    /// What is said about `wrong`, or about `to` where there is none, at the line of its value.
    pub error: Option<String>,
    wrong: Option<Value>,
}

fn absent() -> Value {
    Value::from("absent")
}

/// A release, and two days.
fn story() -> String {
    "2026-11-23 09:00 release app 1.1.0\n+2d end\n".to_string()
}

const BASE: &str = include_str!("../../keys/base.yaml");
const HEAD: &str = include_str!("../../keys/head.txt");

/// Every sheet of keys.
pub fn sheets() -> Vec<Sheet> {
    read_all("").into_iter().map(|(name, sheet)| Sheet { name, ..sheet }).collect()
}

/// The files of a folder beside this one, by name.
fn read_all<T: serde::de::DeserializeOwned>(folder: &str) -> Vec<(String, T)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keys").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "yaml") && !path.ends_with("base.yaml"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().to_string();
        let text = fs::read_to_string(&path).unwrap();
        let file = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, file)
    };
    paths.into_iter().map(read).collect()
}

/// A reason, and a story in which it is given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// Its name.
    pub reason: String,
    /// Keys of the policy.
    #[serde(default)]
    also: BTreeMap<String, Value>,
    /// More of the head of the story.
    #[serde(default)]
    head: String,
    story: String,
}

/// One file of such reasons.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaidSheet {
    /// For people.
    #[allow(dead_code)]
    about: String,
    #[serde(default)]
    also: BTreeMap<String, Value>,
    cases: Vec<Said>,
}

/// Every reason of the folder `said` with what its story tells.
pub fn said() -> Vec<(String, Told)> {
    let tell_one = |sheet: &SaidSheet, said: &Said| {
        let mut policy: Value = serde_yaml::from_str(BASE).unwrap();
        for (path, other) in sheet.also.iter().chain(&said.also) {
            set(&mut policy, path, other);
        }
        (said.reason.clone(), played(&said.head, &serde_yaml::to_string(&policy).unwrap(), "", &said.story))
    };
    let sheets: Vec<(String, SaidSheet)> = read_all("said");
    sheets.iter().flat_map(|(_, sheet)| sheet.cases.iter().map(|said| tell_one(sheet, said))).collect()
}

/// A story over the common head.
fn played(head: &str, policy: &str, limits: &str, story: &str) -> Told {
    let block = |key: &str, text: &str| match text.trim() {
        "" | "{}" => String::new(),
        _ => format!("{key}:\n{}", text.lines().map(|line| format!("  {line}\n")).collect::<String>()),
    };
    let (policy, limits) = (block("policy", policy), block("limits", limits));
    tell(Path::new("case.story"), &format!("{HEAD}{head}\n{policy}{limits}{story}\n"))
}

impl Case {
    fn of_limits(&self, sheet: &Sheet) -> bool {
        sheet.schema != policy_schema()
    }

    /// The policy, and the operator's limits, with the key at this value. In a sheet of limits other
    /// keys are the policy's.
    fn texts(&self, sheet: &Sheet, value: &Value) -> (String, String) {
        let mut policy: Value = serde_yaml::from_str(BASE).unwrap();
        let mut limits = Value::Null;
        for (path, other) in sheet.also.iter().chain(&self.also) {
            match path.strip_prefix("limits: ") {
                Some(path) => set(&mut limits, path, other),
                None => set(&mut policy, path, other),
            }
        }
        set(if self.of_limits(sheet) { &mut limits } else { &mut policy }, &self.key, value);
        let text = |value: &Value| if value.is_null() { String::new() } else { serde_yaml::to_string(value).unwrap() };
        (text(&policy), text(&limits))
    }

    /// The story with the key at this value.
    pub fn tell(&self, sheet: &Sheet, value: &Value) -> Result<Told, String> {
        let (policy, limits) = self.texts(sheet, value);
        Ok(played(&self.head, &policy, &limits, &self.story))
    }

    /// The resolved policy with the key at this value, as a single pass of the bot reads it.
    pub fn resolve(&self, sheet: &Sheet, value: &Value) -> Result<String, String> {
        let (policy, limits) = self.texts(sheet, value);
        let setting = setting(&limits).map_err(|problems| problems.0)?;
        let (text, good) = check_resolved(&[file("case.yaml", policy)], &setting);
        if good { Ok(text) } else { Err(text) }
    }

    /// A wrong value, and what is said at its line.
    pub fn refuse(&self, sheet: &Sheet, words: &str) -> Result<(), String> {
        let good = self.texts(sheet, &self.from);
        let bad = self.texts(sheet, self.wrong.as_ref().unwrap_or(&self.to));
        if let Err(problems) = problems_of(&good) {
            return Err(format!("the first side is wrong already: {}", problems.0));
        }
        let Err((_, problems)) = problems_of(&bad) else { return Err("nothing is said about the wrong value".into()) };
        let (policy, limits) = (&bad.0, &bad.1);
        // Where the limit is the key, what goes beyond it stands in the policy.
        let mut changed: Vec<usize> = match self.of_limits(sheet) {
            true if problems.iter().any(|(file, ..)| file == "case.yaml") => (1..=policy.lines().count()).collect(),
            true => changed_lines(&good.1, limits),
            false => changed_lines(&good.0, policy),
        };
        // The key of a mapping or a list stands in the line above its first.
        let whole = self.wrong.as_ref().unwrap_or(&self.to);
        if whole.is_mapping() || whole.is_sequence() {
            changed.extend(changed.first().map(|first| first - 1));
        }
        let there = problems.iter().find(|(_, _, said)| said.contains(words));
        match there {
            Some((_, line, _)) if changed.contains(line) => Ok(()),
            Some((_, line, _)) => {
                Err(format!("it is said at line {line}, and the key stands at {changed:?}:\n{policy}"))
            }
            None => Err(format!("`{words}` is not said, but {problems:?}")),
        }
    }
}

/// Lines of the second text that the first does not have at their place from the top, until the texts meet
/// again from the bottom.
fn changed_lines(first: &str, second: &str) -> Vec<usize> {
    let (first, second): (Vec<&str>, Vec<&str>) = (first.lines().collect(), second.lines().collect());
    let same = first.iter().zip(&second).take_while(|(a, b)| a == b).count();
    let tail = first.iter().rev().zip(second.iter().rev()).take_while(|(a, b)| a == b).count();
    // What was put in is that much longer, also where it looks like what stands around it.
    let more = second.len().saturating_sub(first.len()).max(1);
    let end = second.len().saturating_sub(tail).max(same + more);
    (same..end).map(|index| index + 1).collect()
}

/// File, line and words of each problem, and all of them as text.
type Wrong = (String, Vec<(String, usize, String)>);

fn problems_of((policy, limits): &(String, String)) -> Result<(), Wrong> {
    let setting = setting(limits)?;
    load_in(&[file("case.yaml", policy.clone())], &setting).map(drop).map_err(|problems| listed(&problems))
}

fn setting(limits: &str) -> Result<Setting, Wrong> {
    let limits = match limits.trim() {
        "" | "{}" => OperatorLimits::default(),
        _ => OperatorLimits::read(&file("limits.yaml", limits.to_string())).map_err(|problems| listed(&problems))?,
    };
    Ok(Setting { limits, mode: Mode::Once })
}

fn listed(problems: &coldframe::policy::Problems) -> Wrong {
    let each = problems.iter().map(|problem| (problem.file.clone(), problem.line, problem.message.clone()));
    (format!("{problems:?}"), each.collect())
}

fn file(path: &str, text: String) -> SourceFile {
    SourceFile { path: path.to_string(), text }
}
