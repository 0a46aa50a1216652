//! A release that changes more files than anybody reads: what stands on the pull request of its commit, checked by
//! the command that stands there.

use std::path::PathBuf;
use std::process::Command;

use demo::github::PullView;

use crate::support::{REPOSITORY, Stage, is_merged};

const PLUGIN: &str = "cert-manager";
/// Places of the plugin on each cluster, beside its manifest.
const PLACES: usize = 11;

/// The part of a text from one mark to the next.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("`{from}` is not in\n{text}"));
    rest.split_once(to).unwrap_or_else(|| panic!("`{to}` is not in\n{rest}")).0
}

/// The repository that the sandbox serves.
fn bare(stage: &Stage, commit: &str) -> PathBuf {
    let folders = std::fs::read_dir(stage.folder.path().join("world/github/repositories")).unwrap();
    let has = |folder: &PathBuf| {
        let look = Command::new("git").arg("-C").arg(folder).args(["cat-file", "-e", commit]).output();
        folder.is_dir() && look.unwrap().status.success()
    };
    folders.map(|entry| entry.unwrap().path()).find(has).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_many_files_says_what_it_comes_to() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let mut writes = String::new();
    for place in 0..PLACES {
        for cluster in ["qa-1", "qa-2"] {
            let odd = if (place, cluster) == (3, "qa-2") { " # by hand" } else { "" };
            let (path, text) = (format!("extra/{place:02}/{cluster}.yaml"), format!("  - version: 1.14.7{odd}\n"));
            github.push_file(REPOSITORY, "many", "vera", &path, &text, "A place").unwrap();
        }
        writes.push_str(&format!("      - file: extra/{place:02}/{{cluster}}.yaml\n        path: $[0].version\n"));
    }
    let number = github.open_pull(REPOSITORY, "vera", "many", "main", "Places", "").unwrap();
    github.approve(REPOSITORY, number, "maria").unwrap();
    github.merge_as(REPOSITORY, number, "vera").unwrap();
    let path = "        document: {kind: HelmRelease, name: cert-manager}\n        path: $.spec.chart.spec.version\n";
    stage.edit_policy(path, &format!("{path}{writes}"));
    let bot = stage.serve();
    let opened = stage.until("it is opened on qa", |stage| stage.pull(PLUGIN, "qa")).await;
    let section = between(&opened.body, "### What changes", "### If something is wrong").to_string();
    assert!(section.contains("**24 changes, 3 distinct hunks.**"), "{section}");
    assert!(section.contains("```diff\n-  - version: 1.14.7\n+  - version: 1.15.0\n```\n\n- `extra/"), "{section}");
    assert!(section.contains("# by hand\n```\n\n- `extra/03/qa-2.yaml`\n"), "{section}");

    let command = between(&section, "```sh\n", "\n```");
    let counted =
        Command::new("sh").args(["-ec", command]).current_dir(bare(&stage, &opened.head_sha)).output().unwrap();
    let counted = String::from_utf8(counted.stdout).unwrap();
    let hashes: Vec<(&str, &str)> = counted.lines().filter_map(|line| line.split_once(' ')).collect();
    assert_eq!(hashes.iter().map(|(count, _)| *count).collect::<Vec<_>>(), ["21", "2", "1"], "{counted}");
    for (count, hash) in &hashes {
        let times = if *count == "1" { "Once".to_string() } else { format!("{count} times") };
        let told = format!("**{times}**, SHA-256 `{}`", hash.trim_end_matches([' ', '-']));
        assert!(section.contains(&told), "{told} is not in\n{section}");
    }

    let told = |check: &demo::github::CheckView| {
        check.summary.as_ref().is_some_and(|summary| summary.contains("**24 changes, 3 distinct hunks.**"))
    };
    let says = |pull: &PullView| is_merged(pull) && pull.checks.iter().any(told);
    let merged = stage
        .until("it is merged on qa, and its check says it, too", |stage| stage.pull(PLUGIN, "qa").filter(says))
        .await;
    drop(bot);
    // Without the clone the commit is not at hand any more; the text is the same.
    std::fs::remove_dir_all(stage.data()).unwrap();
    github.edit_pull(REPOSITORY, merged.number, "vera", &merged.title, "Somebody wrote here.").unwrap();
    let _bot = stage.serve();
    let again = stage.until("the text is put back", |stage| {
        stage.pull(PLUGIN, "qa").filter(|pull| pull.body.contains("### What changes"))
    });
    // Of what is merged nobody asks any more whether it breaks something.
    let summed = |text: &str| between(text, "**24 changes, ", "### If something is wrong").to_string();
    assert_eq!(summed(&again.await.body), summed(&opened.body));
}
