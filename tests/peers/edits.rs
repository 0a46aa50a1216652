//! What the editor wrote, read by others: ruamel.yaml and PyYAML, Python's JSON and TOML, python-hcl2, and Helm.

use std::path::Path;
use std::process::Command;

use coldframe::edit::FileFormat;
use serde_json::{Value, json};

use crate::corpus::{Case, End, cases};
use crate::peers::{python, script};

fn format_of(case: &Case) -> &'static str {
    let given = case.arguments.iter().any(|word| word == "--format");
    let format = if given { FileFormat::Text } else { FileFormat::of(&case.arguments[0]) };
    FileFormat::ALL.iter().find(|(_, known)| *known == format).unwrap().0
}

#[test]
fn other_parsers_see_one_value_change_and_nothing_else() {
    let cases: Vec<Case> = cases().into_iter().filter(|case| matches!(case.end, End::Becomes(_))).collect();
    let files = |case: &Case| {
        let (before, after) = (&case.text, &case.after()[0].1);
        // A branch that becomes a tag is the one edit of a key; what is at a tag already only moves.
        let branches = |text: &str| text.matches("branch").count();
        let keys: &[&str] = if branches(before) > branches(after) { &["branch", "tag"] } else { &[] };
        json!({"format": format_of(case), "before": before, "after": after, "keys": keys})
    };
    let all: Vec<Value> = cases.iter().map(files).collect();
    let answers = script(python(), "edits.py", &Value::Array(all));
    let mut read = std::collections::BTreeMap::new();
    for (case, answer) in cases.iter().zip(answers.as_array().unwrap()) {
        let to = case.arguments.last().unwrap();
        for (parser, seen) in answer.as_object().unwrap() {
            // Such as comments in JSON, which Python does not take.
            let Some(seen) = seen.as_array() else { continue };
            let what = format!("{}: {}: {parser} sees {seen:?}", case.layout, case.name);
            let several = case.text.contains(": &");
            assert!(seen.len() == 1 || (several && !seen.is_empty()), "{what}");
            assert!(seen.iter().all(|change| change[1].as_str().unwrap().contains(to)), "{what}");
            *read.entry(parser.clone()).or_insert(0) += 1;
        }
    }
    for (parser, least) in [("ruamel.yaml", 90), ("PyYAML", 90), ("json", 6), ("tomllib", 7), ("python-hcl2", 9)] {
        assert!(read.get(parser).is_some_and(|count| *count >= least), "{parser}: {read:?}");
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn digest(lock: &str) -> &str {
    lock.lines().find_map(|line| line.strip_prefix("digest: ")).unwrap()
}

/// Helm locks a chart, we move a version, and Helm builds from what we wrote.
#[test]
fn helm_takes_the_lock_that_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let (shop, home) = (folder.path().join("shop"), folder.path().join("home"));
    let helm = |what: &str| {
        let mut command = python();
        command.env_clear().env("HOME", &home);
        let Value::Array(mut done) = script(command, "helm.py", &json!([{"do": what, "chart": shop}])) else {
            panic!()
        };
        done.remove(0)
    };
    let lock = || std::fs::read_to_string(shop.join("Chart.lock")).unwrap();
    let library = |name: &str, version: &str| {
        let text = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
        write(folder.path(), &format!("{name}/Chart.yaml"), &text);
        write(folder.path(), &format!("{name}/values.yaml"), "a: 1\n");
    };
    library("common", "1.0.0");
    library("cache", "2.0.0");
    let text = "apiVersion: v2\nname: shop\nversion: 0.1.0\ndependencies:\n  - name: common\n    version: 1.0.0 # ours\n    \
                repository: file://../common\n  - name: cache\n    version: \"2.0.0\"\n    repository: file://../cache\n    \
                condition: cache.enabled\n    tags: [a, b]\n    alias: kept\n    import-values:\n      - child: a\n        \
                parent: b\n";
    write(&shop, "Chart.yaml", text);
    write(&shop, "values.yaml", "cache: {enabled: true}\n");
    write(&shop, "templates/it.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: it}\n");
    helm("update");
    for (name, version) in [("common", "1.1.0"), ("cache", "2.1.0-rc.1"), ("cache", "2.1.0")] {
        library(name, version);
        std::fs::remove_dir_all(shop.join("charts")).unwrap();
        let before = lock();
        let edit = Command::new(env!("CARGO_BIN_EXE_coldframe"))
            .args(["edit", "Chart.yaml", "--chart", name, "--to", version, "--in-place"])
            .current_dir(&shop)
            .output()
            .unwrap();
        assert!(edit.status.success(), "{}", String::from_utf8_lossy(&edit.stderr));
        let ours = lock();
        assert_ne!(digest(&before), digest(&ours));
        helm("build");
        assert!(shop.join(format!("charts/{name}-{version}.tgz")).exists(), "built from our lock");
        let found = helm("lint");
        assert_eq!(found["errors"], json!([]), "{found}");
        helm("update");
        assert_eq!(digest(&lock()), digest(&ours), "Helm computes the same for {name} {version}");
    }
}
