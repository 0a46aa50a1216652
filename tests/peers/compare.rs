//! Two releases of a chart as Helm packages them: what was planted is found, and nothing else.

use compare::{Chart, What, compare};
use serde_json::{Value, json};

use crate::peers::{python, script};

#[path = "../../src/compare/tests/planted.rs"]
mod planted;

use planted::{PLANTED, Text, edited, text};

/// The packages of charts, in their order.
fn packages(charts: &[Text]) -> Vec<Chart> {
    let folder = tempfile::tempdir().unwrap();
    let steps: Vec<Value> = charts
        .iter()
        .enumerate()
        .map(|(number, files)| {
            let (chart, into) =
                (folder.path().join(format!("{number}/chart")), folder.path().join(format!("{number}/made")));
            for (path, text) in files {
                let file = chart.join(path);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, text).unwrap();
            }
            std::fs::create_dir_all(&into).unwrap();
            json!({"do": "package", "chart": chart, "into": into})
        })
        .collect();
    let mut command = python();
    command.env_clear().env("HOME", folder.path());
    let Value::Array(made) = script(command, "helm.py", &json!(steps)) else { panic!("no list") };
    let read = |made: &Value| Chart::read(&std::fs::read(made["archive"].as_str().unwrap()).unwrap()).unwrap();
    made.iter().map(read).collect()
}

#[test]
fn what_is_planted_is_found_in_the_packages_of_helm() {
    let charts: Vec<Text> = std::iter::once(text()).chain(PLANTED.iter().map(|(edits, _)| edited(edits))).collect();
    let packages = packages(&charts);
    let kinds: std::collections::BTreeSet<What> =
        PLANTED.iter().flat_map(|(_, wanted)| wanted.iter().map(|(what, _)| *what)).collect();
    assert!(kinds.len() >= 30, "{}", kinds.len());
    for ((edits, wanted), package) in PLANTED.iter().zip(&packages[1..]) {
        let report = compare(&packages[0], package);
        let found: Vec<(What, &str)> = report.changes.iter().map(|change| (change.what, change.at.as_str())).collect();
        assert_eq!(found, *wanted, "{edits:?}");
    }
}
