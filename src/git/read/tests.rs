//! What is read from a clone, and what is not.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::git::testing::{Server, store};

#[test]
fn a16_only_regular_files_are_read() {
    let server = Server::start();
    server.commit_with("main", |work| {
        fs::create_dir_all(work.join("clusters/gold")).unwrap();
        fs::write(work.join("clusters/gold/eu.yaml"), "a: 1\r\n").unwrap();
        fs::write(work.join("clusters/qa.yaml"), [0xff, 0]).unwrap();
        fs::write(work.join("large"), vec![b'x'; MAX_FILE + 1]).unwrap();
        fs::create_dir(work.join("module")).unwrap();
        symlink("clusters", work.join("linked")).unwrap();
        symlink("/etc/passwd", work.join("passwd")).unwrap();
        crate::git::testing::git(
            work,
            &["update-index", "--add", "--cacheinfo", &format!("160000,{},module", "1".repeat(40))],
        );
    });
    let (_folder, store) = store();
    let commit = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
    assert_eq!(store.read(&commit, "clusters/gold/eu.yaml").unwrap().unwrap(), b"a: 1\r\n");
    assert_eq!(store.read(&commit, "clusters/qa.yaml").unwrap().unwrap(), [0xff, 0]);
    for absent in ["nothing", "clusters/nothing.yaml", "clusters/qa.yaml/below"] {
        assert_eq!(store.read(&commit, absent).unwrap(), None, "{absent}");
    }
    let refused = [
        ("passwd", "is a symlink"),
        ("linked/qa.yaml", "is a symlink"),
        ("clusters", "is a folder"),
        ("module", "is a submodule"),
        ("module/x", "is a submodule"),
        ("large", "1048576 are the most"),
        ("../x", "no path"),
        ("/etc/passwd", "no path"),
        ("a//b", "no path"),
        ("a/.GIT/config", "no path"),
        ("a/.git./config", "no path"),
        ("git~1/config", "no path"),
        (".git::$INDEX_ALLOCATION", "no path"),
        ("", "no path"),
    ];
    for (path, why) in refused {
        let error = store.read(&commit, path).unwrap_err();
        assert!(matches!(&error, GitError::Malformed { .. }) && error.to_string().contains(why), "{path}: {error}");
    }
    assert!(store.read_up_to(&commit, "large", MAX_FILE + 1).unwrap().is_some());
    let all = ["clusters/gold/eu.yaml", "clusters/qa.yaml", "large"];
    assert_eq!(store.list(&commit, "").unwrap(), all);
    assert_eq!(store.list(&commit, "clusters/").unwrap(), all[..2]);
    assert_eq!(store.list(&commit, "absent").unwrap(), [""; 0]);
    for path in ["linked", "large", "module"] {
        assert!(store.list(&commit, path).is_err(), "{path}");
    }
    let unknown = Sha::new("1".repeat(40));
    assert!(matches!(store.read(&unknown, "a"), Err(GitError::Missing { .. })));
}

#[test]
fn history_is_known_as_far_as_it_was_fetched() {
    let server = Server::start();
    let shas: Vec<Sha> =
        (0..4).map(|n| Sha::new(server.commit("main", &[("a", &n.to_string()), (&format!("b{n}"), "")]))).collect();
    let aside = Sha::new(server.commit("aside", &[("c", "")]));
    let (_folder, store) = store();
    let tip = store.fetch(&server.access(), "main", None).unwrap().unwrap();
    assert_eq!(&tip, &shas[3]);
    for sha in &shas {
        assert!(store.contains(&tip, sha).unwrap());
        assert_eq!(store.contains(sha, &tip).unwrap(), *sha == tip);
    }
    assert!(!store.contains(&tip, &aside).unwrap(), "not fetched");
    store.fetch(&server.access(), "aside", None).unwrap();
    assert!(!store.contains(&tip, &aside).unwrap(), "fetched and elsewhere");
    assert!(!store.contains(&tip, &Sha::new("no id")).unwrap());
    assert!(matches!(store.contains(&Sha::new("1".repeat(40)), &tip), Err(GitError::Missing { .. })));
    let first = |commits: &[&Sha]| {
        store.first_not_in(&tip, &commits.iter().map(|sha| (*sha).clone()).collect::<Vec<_>>()).unwrap()
    };
    let no_id = Sha::new("no id");
    assert_eq!(first(&[&shas[0], &shas[2]]), None);
    assert_eq!(first(&[&shas[0], &aside, &no_id]), Some(aside.clone()));
    assert_eq!(first(&[&shas[0], &no_id, &aside]), Some(no_id));

    assert_eq!(store.message(&tip).unwrap(), "a person's commit\n");
    assert_eq!(store.time(&tip).unwrap().as_second().to_string(), server.git(&["log", "-1", "--format=%ct"]).trim());
    assert_eq!(store.paths_changed(&shas[1], &shas[3]).unwrap(), ["a", "b2", "b3"]);
    assert_eq!(store.paths_changed(&tip, &aside).unwrap(), ["a", "b0", "b1", "b2", "b3", "c"]);
    assert_eq!(store.paths_changed(&tip, &tip).unwrap(), [""; 0]);
}
