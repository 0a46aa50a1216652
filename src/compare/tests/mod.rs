//! Charts with one difference each: it is named, and nothing else. The same with packages of Helm itself is in
//! `tests/peers`.
#![allow(clippy::unwrap_used, clippy::type_complexity)]

mod archives;
mod definitions;
pub mod planted;
mod settings;

use super::What;
use super::chart::Chart;
use super::package::Bounds;
use planted::{CRD, Edit, PLANTED, Text, edited, text};

fn chart(files: &Text) -> Chart {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.clone().into_bytes())).collect();
    Chart::of(files, &mut Bounds::new()).unwrap()
}

/// What is found where parts of the chart are replaced.
fn found(edits: &[Edit]) -> Vec<(What, String)> {
    let report = super::compare(&chart(&text()), &chart(&edited(edits)));
    report.changes.into_iter().map(|change| (change.what, change.at)).collect()
}

#[test]
fn each_difference_is_named_and_nothing_else() {
    for (edits, wanted) in PLANTED {
        let wanted: Vec<(What, String)> = wanted.iter().map(|(what, at)| (*what, (*at).to_owned())).collect();
        assert_eq!(found(edits), wanted, "{edits:?}");
    }
}

#[test]
fn a_schema_that_is_new_asks_for_what_has_no_default() {
    let mut old = text();
    old.remove("values.schema.json");
    let found = |edits: &[Edit]| {
        let report = super::compare(&chart(&old), &chart(&edited(edits)));
        report.changes.iter().map(|change| (change.what, change.at.clone())).collect::<Vec<_>>()
    };
    assert_eq!(found(&[]), []);
    let asks = ("values.schema.json", "\"required\": [\"replicas\"]", "\"required\": [\"license\", \"replicas\"]");
    assert_eq!(found(&[asks]), [(What::OptionRequired, "license".to_owned())]);
}

#[test]
fn a_version_that_objects_may_be_stored_in_must_be_served() {
    let moved = ("crds/rules.yaml", "served: true, storage: false", "served: true, storage: true");
    let gone = (
        "crds/rules.yaml",
        "  - name: v1\n    served: true\n    storage: true",
        "  - name: v1\n    served: false\n    storage: false",
    );
    let kept = ("crds/rules.yaml", "    storage: true", "    storage: false");
    let name = "rules.acme.example".to_owned();
    assert_eq!(found(&[moved, kept]), [(What::CrdStorage, name.clone())]);
    let found = found(&[moved, gone]);
    assert_eq!(found, [(What::CrdStoredVersionGone, format!("{name} v1")), (What::CrdStorage, name)]);
    assert!(found[0].0.is_breaking());
}

#[test]
fn a_custom_resource_in_a_template_is_read_as_far_as_it_goes() {
    let (head, rest) = CRD.split_once("spec:\n").unwrap();
    let template = format!(
        "{{{{- if .Values.crds }}}}\n{head}  # x\n  {{{{- with .Values.labels\n    | toYaml }}}}\n  labels: {{{{ . }}}}\n  \
         {{{{- end }}}}\nspec:\n{rest}{{{{- end }}}}\n"
    );
    let mut old = text();
    old.remove("crds/rules.yaml");
    old.insert("templates/crd.yaml", template.clone());
    let mut new = old.clone();
    new.insert("templates/crd.yaml", template.replace("text: {type: string}", "text: {type: boolean}"));
    let report = super::compare(&chart(&old), &chart(&new));
    let found: Vec<What> = report.changes.iter().map(|change| change.what).collect();
    assert_eq!(found, [What::CrdFieldRetyped, What::TemplateChanged]);
    assert!(
        report.diffs[0].text.contains("-              text: {type: string}\n+              text: {type: boolean}\n")
    );
    // What cannot be read is said.
    new.insert("templates/crd.yaml", format!("{template}: [\n"));
    let report = super::compare(&chart(&old), &chart(&new));
    assert_eq!(report.changes[0].what, What::CrdRemoved);
    assert_eq!(report.changes[1].what, What::Unread, "{:?}", report.changes);
}

#[test]
fn what_would_take_for_ever_is_said_and_left() {
    // A schema that refers to itself twice.
    let twice = |most: usize| {
        format!("{{\"maxLength\": {most}, \"properties\": {{\"a\": {{\"$ref\": \"#\"}}, \"b\": {{\"$ref\": \"#\"}}}}}}")
    };
    let (mut old, mut new) = (text(), text());
    old.insert("values.schema.json", twice(2));
    new.insert("values.schema.json", twice(1));
    // And a template in which no line is what it was.
    old.insert("templates/long.yaml", (0..30_000).map(|line| format!("a{line}\n")).collect());
    new.insert("templates/long.yaml", (0..30_000).map(|line| format!("b{line}\n")).collect());
    let report = super::compare(&chart(&old), &chart(&new));
    let said: Vec<String> = report.changes.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "values.schema.json could not be compared: it is too large, or refers to itself",
            "the file templates/long.yaml has changed: in too many lines to be shown",
        ]
    );
}

#[test]
fn what_an_author_writes_stays_one_short_line() {
    let evil = "\"\\u202e\\n::set-output\\u0007\": 1\n";
    let long = format!("long: {}\n", "x".repeat(5000));
    let mut new = text();
    new.get_mut("values.yaml").unwrap().push_str(&format!("{evil}{long}"));
    let report = super::compare(&chart(&text()), &chart(&new));
    assert_eq!(report.changes.len(), 2);
    for change in &report.changes {
        let line = change.to_string();
        assert!(line.len() < 300 && !line.chars().any(|c| c.is_control() || c == '\u{202e}'), "{line:?}");
    }
}
