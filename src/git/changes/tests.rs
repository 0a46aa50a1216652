//! Hunks against the ordinary git and the command that readers are given.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::process::Command;

use proptest::prelude::*;

use super::*;
use crate::git::testing::{Server, store};
use crate::git::{Author, Draft, Pushed};
use crate::tell;

fn commit(store: &Store, base: &Sha, files: &[(&str, Option<&[u8]>)]) -> Sha {
    let files = files.iter().map(|(path, text)| (path.to_string(), text.map(<[u8]>::to_vec))).collect();
    let author = Author { name: "bot".to_string(), email: "bot@example.org".to_string() };
    let at = jiff::Timestamp::from_second(1_760_000_000).unwrap();
    let (parents, tree_of) = (vec![base.clone()], Some(base.clone()));
    store.commit(&Draft { parents, tree_of, files, message: "words\n".to_string(), author, at }).unwrap()
}

/// What the command prints that stands on the pull request: how often, and which hash.
fn by_command(store: &Store, changes: &Changes) -> Vec<(usize, String)> {
    let command = tell::changes_command(changes);
    let mut shell = Command::new("sh");
    shell.args(["-ec", &command]).current_dir(store.repo.path());
    // Whatever somebody likes to see, the command prints the same.
    let likes = ["color.ui=always", "diff.renames=copies", "diff.context=9", "diff.noprefix=true"];
    shell.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    shell.env("GIT_CONFIG_COUNT", likes.len().to_string());
    for (index, (key, value)) in likes.iter().filter_map(|like| like.split_once('=')).enumerate() {
        shell.env(format!("GIT_CONFIG_KEY_{index}"), key).env(format!("GIT_CONFIG_VALUE_{index}"), value);
    }
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[0].parse().unwrap(), words[1].to_string())
    };
    let mut found: Vec<_> = text.lines().map(line).collect();
    found.sort();
    found
}

fn ours(changes: &Changes) -> Vec<(usize, String)> {
    let mut ours: Vec<_> = changes.hunks.iter().map(|hunk| (hunk.files.len(), hunk.sha256.clone())).collect();
    ours.sort();
    ours
}

#[test]
fn equal_hunks_are_one_and_odd_ones_stand_out() {
    let server = Server::start();
    let text = |version: &str| format!("kind: HelmRelease\nspec:\n      version: {version}\n  end: 1\n");
    let names: Vec<String> = (0..25).map(|number| format!("clusters/gold/eu-{number}/a.yaml")).collect();
    let odd = ["1.14.7 # pinned", "\"1.14.7\"", "1.14.7\r"];
    let before = |number: usize| text(odd.get(number).copied().unwrap_or("1.14.7"));
    let files: Vec<(&str, String)> = names.iter().enumerate().map(|(n, name)| (name.as_str(), before(n))).collect();
    server.commit("main", &files.iter().map(|(name, text)| (*name, text.as_str())).collect::<Vec<_>>());
    let (_folder, store) = store();
    let base = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
    let after: Vec<String> = files.iter().map(|(_, text)| text.replace("1.14.7", "1.15.0")).collect();
    let edits: Vec<_> = names.iter().zip(&after).map(|(name, text)| (name.as_str(), Some(text.as_bytes()))).collect();
    let head = commit(&store, &base, &edits);
    let changes = store.changes(&head).unwrap();
    assert_eq!((changes.files, changes.count(), changes.hunks.len(), changes.others.len()), (25, 25, 4, 0));
    assert_eq!((&changes.base, &changes.commit), (&base, &head));
    let first = &changes.hunks[0];
    assert_eq!((first.files.len(), first.whole), (22, true));
    assert_eq!(first.lines, b"-      version: 1.14.7\n+      version: 1.15.0\n");
    // printf '%s\n' '-      version: 1.14.7' '+      version: 1.15.0' | sha256sum
    assert_eq!(first.sha256, "f817d8577dc2ec201fd78e64e15ada1f1ee2523c2c1ea9a5fb168e5964e7cb4e");
    let rare: Vec<&str> = changes.hunks[1..].iter().map(|hunk| hunk.files[0].as_str()).collect();
    assert_eq!(rare, [&names[1], &names[2], &names[0]], "in the order of their lines");
    assert_eq!(by_command(&store, &changes), ours(&changes));
    assert_eq!(store.changes(&head).unwrap(), changes);

    // Another clone, which has neither the commit nor its parent.
    assert_eq!(store.push(&server.access(), "topic", &head, None).unwrap(), Pushed::Done);
    server.commit("main", &[("other", "1")]);
    server.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let (_folder, other) = crate::git::testing::store();
    other.fetch(&server.access(), "main", Some(1)).unwrap();
    assert_eq!(other.fetch_commit(&server.access(), &head), Ok(true));
    assert_eq!(other.parent(&head).unwrap(), Some(base.clone()));
    assert!(other.changes(&head).is_err(), "its parent is not here");
    assert_eq!(other.fetch_commit(&server.access(), &base), Ok(true));
    assert_eq!(other.changes(&head).unwrap(), changes);
}

#[test]
fn what_is_no_line_of_text_is_named() {
    let server = Server::start();
    server.commit("main", &[("a", "1\n"), ("b", "1\n"), ("empty", ""), ("long", "x\n"), ("end", "1")]);
    let (_folder, store) = store();
    let base = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
    let long = "y".repeat(3 * SHOWN);
    let edits: &[(&str, Option<&[u8]>)] = &[
        ("a", Some(b"1\0\n")),
        ("b", None),
        ("new", Some(b"-- 1\n++ 2\n")),
        ("empty", Some(b"")),
        ("void", Some(b"")),
        ("long", Some(long.as_bytes())),
        ("end", Some(b"2")),
    ];
    let changes = store.changes(&commit(&store, &base, edits)).unwrap();
    assert_eq!((changes.files, changes.others.as_slice()), (6, &["a".to_string(), "void".to_string()][..]));
    let lines: Vec<&[u8]> = changes.hunks.iter().map(|hunk| hunk.lines.as_slice()).collect();
    assert!(lines.contains(&&b"+-- 1\n+++ 2\n"[..]) && lines.contains(&&b"-1\n"[..]), "{lines:?}");
    assert!(lines.contains(&&b"-1\n+2\n"[..]), "a last line without its line feed");
    let cut = changes.hunks.iter().find(|hunk| !hunk.whole).unwrap();
    assert_eq!((cut.lines.len(), cut.files.as_slice()), (SHOWN, &["long".to_string()][..]));
    assert_eq!(by_command(&store, &changes), ours(&changes));

    let root = store.commit(&Draft {
        parents: vec![],
        tree_of: None,
        files: vec![("a".to_string(), Some(b"1".to_vec()))],
        message: "words\n".to_string(),
        author: Author { name: "bot".to_string(), email: "bot@example.org".to_string() },
        at: jiff::Timestamp::UNIX_EPOCH,
    });
    assert!(store.changes(&root.unwrap()).unwrap_err().to_string().contains("not exactly one parent"));
    let shallow = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
    assert!(store.changes(&shallow).is_err(), "its parent was not fetched, or it has none");
}

/// Whatever a file says, git and we find the same hunks, the same number of times.
#[test]
fn hunks_are_those_of_git() {
    let server = Server::start();
    server.commit("main", &[("a", "")]);
    let (_folder, store) = store();
    let root = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
    let lines = ["a: 1", "  a: 1", "- x", "+ y", "@@ -1 +1 @@", "diff --git a/x b/x", "\\ z", "", "é\t\r", "--- q"];
    let text = prop::collection::vec(prop::sample::select(lines.to_vec()), 0..9).prop_map(|lines| lines.join("\n"));
    let config = ProptestConfig { cases: 24, ..ProptestConfig::default() };
    let pairs = prop::collection::vec((text.clone(), text), 1..6);
    proptest::test_runner::TestRunner::new(config)
        .run(&pairs, |pairs| {
            let names: Vec<String> = (0..pairs.len()).map(|number| format!("d/{number}")).collect();
            let of = |text: fn(&(String, String)) -> &String| -> Vec<(&str, Option<&[u8]>)> {
                names.iter().map(String::as_str).zip(pairs.iter().map(|pair| Some(text(pair).as_bytes()))).collect()
            };
            let base = commit(&store, &root, &of(|pair| &pair.0));
            let changes = store.changes(&commit(&store, &base, &of(|pair| &pair.1))).unwrap();
            prop_assert_eq!(by_command(&store, &changes), ours(&changes));
            Ok(())
        })
        .unwrap();
}
