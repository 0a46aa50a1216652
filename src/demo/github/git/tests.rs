//! The git of the sandbox, asked as a client would.
#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn me() -> Signature {
    Signature { name: "A".into(), email: "a@example.com".into() }
}

fn write(git: &Git, parents: &[&str], files: &[(&str, Option<&[u8]>)]) -> String {
    let tree = git.write_tree(parents.first().copied(), files).unwrap();
    git.commit_tree(&tree, parents, &me(), &me(), Timestamp::from_second(1_000).unwrap(), "m\n\nbody").unwrap()
}

#[test]
fn merges_and_conflicts_are_gits_own() {
    let dir = tempfile::tempdir().unwrap();
    let git = Git::create(&dir.path().join("r.git"), "main", "#!/bin/sh\n").unwrap();
    let root = write(&git, &[], &[("a", Some(b"1\n")), ("b", Some(b"1\n"))]);
    let one = write(&git, &[&root], &[("a", Some(b"2\n"))]);
    let other = write(&git, &[&root], &[("b", Some(b"2\n")), ("d/c", Some(b"new\n"))]);
    let clash = write(&git, &[&root], &[("a", None)]);
    assert!(git.merge_tree(&one, &other).unwrap().is_some());
    assert_eq!(git.merge_tree(&one, &clash).unwrap(), None);
    let changes = git.changes(&root, &other).unwrap();
    assert_eq!(
        changes.iter().map(|c| (c.status, c.path.as_str())).collect::<Vec<_>>(),
        [("modified", "b"), ("added", "d/c")]
    );
    assert_eq!(git.commit(&one).unwrap().message, "m\n\nbody");
    assert_eq!(git.commit(&one).unwrap().parents, [root]);
    assert_eq!(git.tree(&other, true).unwrap().iter().filter(|e| e.kind == "blob").count(), 3);
}

#[test]
fn a_ref_only_moves_from_where_it_was_seen() {
    let dir = tempfile::tempdir().unwrap();
    let git = Git::create(&dir.path().join("r.git"), "main", "#!/bin/sh\n").unwrap();
    let root = write(&git, &[], &[("a", Some(b"1\n"))]);
    git.update_ref("refs/heads/main", &root, ZERO).unwrap();
    assert!(git.update_ref("refs/heads/main", &root, ZERO).is_err());
    assert_eq!(git.refs().unwrap(), [("refs/heads/main".to_owned(), root)]);
}
