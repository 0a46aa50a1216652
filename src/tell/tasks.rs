//! What people have to do for a release, made of what breaks in it and of what their files set; with a patch where the
//! new value is known. Which differences count for the gates is in `observe/compared`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use compare::{Change, Effect, Settings, What};
use serde_json::Value;

use super::inert;
use crate::edit;
use crate::policy::wiring::{FileFormat, Scalar};

/// The most tasks of one pull request.
const MOST: usize = 30;
/// The most tasks that come of the author's own words.
const MOST_SAID: usize = 10;
/// Names of files in a sentence.
const NAMED: usize = 4;
/// The longest patch, in characters.
const LONGEST: usize = 6_000;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// What, in a sentence: foreign words in it are not inert yet.
    pub words: String,
    /// What `git apply` makes of it, where that is known.
    pub patch: Option<String>,
}

/// One place of the plugin, with what is set there.
pub struct Setting {
    /// The file.
    pub file: String,
    /// Its text.
    pub text: Arc<str>,
    /// Its form.
    pub format: FileFormat,
    /// Where the version stands in it.
    pub scalar: Scalar,
    /// What it sets.
    pub settings: Settings,
    /// Whether that is all, as far as its document says.
    pub whole: bool,
}

impl Task {
    /// What it is known by in the text of a pull request, for the ticks of people: FNV-1a of its words.
    pub fn id(&self) -> String {
        let hash = self
            .words
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        format!("{hash:016x}")
    }
}

/// The tasks of the releases on the way, oldest first, given what the files of the tier set and those of others do. What
/// a later release takes back is none.
pub fn tasks(releases: &[&[Change]], said: &[&str], (own, others): (&[Setting], &[Setting]), chart: &str) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    let mut known = BTreeSet::new();
    for (index, changes) in releases.iter().enumerate() {
        let later = releases.get(index + 1..).unwrap_or_default();
        let stands =
            |change: &&Change| !later.iter().flat_map(|changes| changes.iter()).any(|one| takes_back(one, change));
        for change in changes.iter().filter(stands) {
            // A value and the schema of it go together.
            if known.insert((change.what.effect() as u8, change.at.as_str()))
                && let Some(task) = task(change, own, others, chart)
            {
                tasks.push(task);
            }
        }
    }
    let breaking = said.iter().flat_map(|text| text.lines()).filter(|line| is_breaking(line));
    let words = breaking.take(MOST_SAID).map(|line| inert::line(line.trim_start_matches(['-', '*', ' '])));
    tasks.extend(words.map(|words| Task { words: format!("The author says: {words}"), patch: None }));
    tasks.truncate(MOST);
    tasks
}

/// Whether the notes of a release say that it breaks something, in a line that its author marks so.
pub fn are_breaking(notes: &str) -> bool {
    notes.lines().any(is_breaking)
}

fn is_breaking(line: &str) -> bool {
    let line = line.trim_start_matches(['-', '*', ' ', '"', '\'']);
    ["changed: ", "removed: "]
        .iter()
        .fold(line, |line, kind| line.strip_prefix(kind).unwrap_or(line))
        .starts_with("BREAKING")
}

/// Whether a difference of a later release makes one of an earlier release void.
fn takes_back(later: &Change, earlier: &Change) -> bool {
    later.at == earlier.at
        && match earlier.what.effect() {
            Effect::Requires => {
                let no_more = [What::OptionOptional, What::OptionRemoved, What::OptionRequiredWithDefault];
                no_more.contains(&later.what)
            }
            Effect::Removes => matches!(later.what, What::OptionAdded | What::ValueAdded),
            Effect::Retypes | Effect::Narrows | Effect::Breaks | Effect::Informs => false,
        }
}

fn task(change: &Change, own: &[Setting], others: &[Setting], chart: &str) -> Option<Task> {
    let at = change.at.as_str();
    let set: Vec<&Setting> = own.iter().filter(|one| one.settings.has(at)).collect();
    let effect = change.what.effect();
    let (these, words) = match effect {
        Effect::Requires => {
            let lacking: Vec<&Setting> = own.iter().filter(|one| !one.settings.has(at)).collect();
            let elsewhere = if lacking.iter().all(|one| one.whole) { "" } else { "; it may be set elsewhere, too" };
            let words = format!("Set `{at}` in {}: it is required now and has no default{elsewhere}", files(&lacking));
            (lacking, words)
        }
        Effect::Removes => (set.clone(), format!("Take `{at}` out of {}: it is gone", files(&set))),
        Effect::Retypes => {
            let (from, to) =
                (change.from.as_deref().unwrap_or("of one type"), change.to.as_deref().unwrap_or("another"));
            (set.clone(), format!("Write `{at}` anew in {}: it was {from} and is {to} now", files(&set)))
        }
        Effect::Narrows => (set.clone(), format!("Look at `{at}` in {}: {change}", files(&set))),
        Effect::Breaks => return Some(Task { words: format!("See to this: {change}"), patch: None }),
        Effect::Informs => return None,
    };
    if these.is_empty() {
        return None;
    }
    let parts = compare::parts(at);
    let edited = |one: &Setting, text: &str| match effect {
        _ if one.format != FileFormat::Yaml => None,
        Effect::Removes => edit::without_option(text, &one.scalar, chart, (at, &parts)),
        Effect::Requires => {
            let value = agreed(at, own, others)?;
            edit::with_option(text, &one.scalar, chart, (at, &parts), value)
        }
        Effect::Retypes | Effect::Narrows | Effect::Breaks | Effect::Informs => None,
    };
    Some(Task { words, patch: patch(&these, edited) })
}

/// The value of an option where everybody who sets it sets the same.
fn agreed<'s>(at: &str, own: &'s [Setting], others: &'s [Setting]) -> Option<&'s Value> {
    let mut values = own.iter().chain(others).filter(|one| one.settings.has(at)).map(|one| one.settings.value(at));
    let first = values.next()??;
    values.all(|value| value == Some(first)).then_some(first)
}

/// The patch of all these files; none where one of them cannot be edited, or where nobody would read it.
fn patch(these: &[&Setting], edited: impl Fn(&Setting, &str) -> Option<String>) -> Option<String> {
    let mut texts: BTreeMap<&str, (&str, String)> = BTreeMap::new();
    for one in these {
        let (_, text) = texts.entry(&one.file).or_insert_with(|| (&one.text, one.text.to_string()));
        *text = edited(one, text)?;
    }
    let mut patch = String::new();
    for (file, (before, after)) in texts {
        patch.push_str(&compare::patch(file, before, &after));
        if patch.len() > LONGEST {
            return None;
        }
    }
    (!patch.is_empty() && inert::is_inert(&patch)).then_some(patch)
}

fn files(these: &[&Setting]) -> String {
    let names: BTreeSet<&str> = these.iter().map(|one| one.file.as_str()).collect();
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(NAMED) {
        0 => super::words::and(&shown),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn setting(file: &str, values: &str) -> Setting {
        let text = format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nspec:\n  chart: {{spec: {{chart: loki}}}}\n  values:\n{values}"
        );
        let scalar = Scalar { document: None, path: "$.x".to_string(), value: None };
        let given = edit::given(edit::FileFormat::Yaml, &text, &scalar, "loki").unwrap();
        let settings = Settings::new(given.values, given.names).naming(given.named);
        Setting {
            file: file.to_string(),
            text: text.into(),
            format: FileFormat::Yaml,
            scalar,
            settings,
            whole: given.whole,
        }
    }

    fn change(what: What, at: &str) -> Change {
        Change { what, at: at.to_string(), from: Some("a text".to_string()), to: Some("a list".to_string()) }
    }

    fn found(changes: &[Change], own: &[Setting], others: &[Setting]) -> Vec<Task> {
        tasks(&[changes], &[], (own, others), "loki")
    }

    #[test]
    fn what_is_required_is_set_as_others_set_it() {
        let (own, others) =
            ([setting("silver.yaml", "    a: 1\n")], [setting("qa.yaml", "    a: 1\n    host: x.org\n")]);
        let [task] = &found(&[change(What::OptionRequired, "host")], &own, &others)[..] else { panic!("one task") };
        assert_eq!(task.words, "Set `host` in `silver.yaml`: it is required now and has no default");
        let patch = task.patch.as_deref().unwrap();
        assert!(
            patch.starts_with("--- a/silver.yaml\n+++ b/silver.yaml\n@@ ") && patch.ends_with("\n+    host: x.org\n"),
            "{patch}"
        );
        let differing = [setting("qa.yaml", "    host: x.org\n"), setting("gold.yaml", "    host: y.org\n")];
        let [task] = &found(&[change(What::OptionRequired, "host")], &own, &differing)[..] else { panic!("one task") };
        assert_eq!(task.patch, None, "nobody knows which");
        assert_eq!(found(&[change(What::OptionRequired, "a")], &own, &others), [], "it is set");
        let json = [Setting { format: FileFormat::Json, ..setting("silver.yaml", "    a: 1\n") }];
        let [task] = &found(&[change(What::OptionRequired, "host")], &json, &others)[..] else { panic!("one task") };
        assert_eq!(task.patch, None, "lines of YAML have no place in it");
    }

    #[test]
    fn what_is_gone_is_taken_out() {
        let own = [setting("a.yaml", "    old: 1\n    b: 2\n"), setting("b.yaml", "    b: 2\n")];
        let changes = [change(What::ValueRemoved, "old"), change(What::OptionRemoved, "old"), change(What::Image, "b")];
        let [task] = &found(&changes, &own, &[])[..] else { panic!("one task") };
        assert_eq!(task.words, "Take `old` out of `a.yaml`: it is gone");
        assert!(task.patch.as_deref().unwrap().contains("\n-    old: 1\n"), "{task:?}");
    }

    #[test]
    fn what_a_later_release_takes_back_is_no_task() {
        let own = [setting("a.yaml", "    old: 1\n")];
        let (requires, drops) = ([change(What::OptionRequired, "host")], [change(What::OptionOptional, "host")]);
        assert_eq!(tasks(&[&requires, &drops], &[], (&own, &[]), "loki"), []);
        assert_eq!(tasks(&[&drops, &requires], &[], (&own, &[]), "loki").len(), 1);
        let (gone, back) = ([change(What::ValueRemoved, "old")], [change(What::ValueAdded, "old")]);
        assert_eq!(tasks(&[&gone, &back], &[], (&own, &[]), "loki"), []);
    }

    #[test]
    fn the_author_and_the_clusters_have_words_of_their_own() {
        let own = [setting("a.yaml", "    b: x\n")];
        let changes = [change(What::CrdRemoved, "x.example.org"), change(What::ValueRetyped, "b")];
        let said = ["- changed: BREAKING: move the CRDs\n- fixed: BREAKING news\n* BREAKING @all\n"];
        let words: Vec<String> =
            tasks(&[&changes], &said, (&own, &[]), "loki").into_iter().map(|task| task.words).collect();
        assert_eq!(
            words,
            [
                "See to this: the custom resource x.example.org is gone",
                "Write `b` anew in `a.yaml`: it was a text and is a list now",
                "The author says: changed: BREAKING: move the CRDs",
                "The author says: BREAKING @all",
            ]
        );
    }

    #[test]
    fn a_patch_that_a_hub_would_act_on_is_none() {
        let own = [setting("a.yaml", "    old: 1 # fixes #1 for @alice\n    b: 2\n")];
        let [task] = &found(&[change(What::ValueRemoved, "old")], &own, &[])[..] else { panic!("one task") };
        assert_eq!(task.patch, None);
        assert_ne!(task.id(), Task { words: String::new(), patch: None }.id());
    }
}
