//! The example repositories of the manual: each reads well as the checkout that it would be, and its story keeps what it
//! expects.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples")
}

fn folders() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        let to = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy(&entry, &to);
        } else {
            std::fs::copy(&entry, &to).unwrap();
        }
    }
}

/// What a command says in a folder; it has to go well.
fn said(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    let output = command.env("HOME", folder).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?} in {}:\n{said}", folder.display());
    said
}

#[test]
fn every_example_is_checked_and_rehearsed() {
    let folders = folders();
    assert!(folders.len() >= 4, "{folders:?}");
    let bot = env!("CARGO_BIN_EXE_coldframe");
    for folder in folders {
        let work = tempfile::tempdir().unwrap();
        let checkout = work.path().join("checkout");
        copy(&folder, &checkout);
        said(&checkout, "git", &["init", "--quiet", "--initial-branch=main", "."]);
        let checked = said(&checkout, bot, &["check"]);
        for wrong in ["warning", "Not looked at", "not known"] {
            assert!(!checked.contains(wrong), "{}:\n{checked}", folder.display());
        }
        let told = said(&checkout, bot, &["rehearse", "rehearsal.story"]);
        assert!(told.contains("expectations are kept"), "{}:\n{told}", folder.display());
    }
}

/// The page that lists them leads to each.
#[test]
fn every_example_is_listed_and_says_what_it_is() {
    let page = std::fs::read_to_string(examples().join("README.md")).unwrap();
    let listed: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("| [")?.split(']').next()).collect();
    let there: Vec<PathBuf> = folders();
    let names: BTreeSet<&str> = there.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(listed, names);
    for folder in &there {
        let words = std::fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(words.starts_with("# ") && words.lines().count() < 20, "{}", folder.display());
    }
}
