//! Fetching against the real `git http-backend`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use super::*;
use crate::git::testing::{Fault, Server, TOKEN, draft, store};
use crate::git::{Draft, Pushed};

#[test]
fn a_shallow_fetch_a_commit_and_a_push_are_a_one_line_diff() {
    let server = Server::start();
    for count in 0..5 {
        server.commit("main", &[("clusters/eu-1.yaml", &format!("a: 1\nversion: 1.14.{count}\nz: 2\n"))]);
    }
    let (_folder, store) = store();
    let base = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
    assert_eq!(base.as_str(), server.git(&["rev-parse", "main"]).trim());
    assert!(store.repo.is_shallow(), "one commit is enough");
    assert_eq!(server.seen().len(), 3, "refs, depth, pack");

    let draft = draft(&base, "clusters/eu-1.yaml", "a: 1\nversion: 1.15.0\nz: 2\n");
    let commit = store.commit(&draft).unwrap();
    assert_eq!(store.commit(&draft).unwrap(), commit, "the same draft makes the same commit");
    let branch = "coldframe/cert-manager/silver";
    assert_eq!(store.push(&server.access(), branch, &commit, None).unwrap(), Pushed::Done);
    let sent: usize = server.seen().iter().map(|seen| seen.bytes).sum();
    assert!(sent < 2_000, "only the new objects go out, not {sent} bytes");

    assert_eq!(server.git(&["rev-parse", branch]).trim(), commit.as_str());
    assert_eq!(
        server.git(&["diff", "--shortstat", "main", branch]).trim(),
        "1 file changed, 1 insertion(+), 1 deletion(-)"
    );
    assert_eq!(
        server.git(&["log", "-1", "--format=%an <%ae> %ct", branch]).trim(),
        "coldframe[bot] <bot@example.org> 1760000000"
    );
    server.git(&["fsck", "--strict"]);

    server.seen();
    assert_eq!(store.push(&server.access(), branch, &commit, None).unwrap(), Pushed::Done, "found, not made again");
    assert_eq!(store.fetch(&server.access(), branch, Some(1)).unwrap(), Some(commit));
    assert_eq!(server.seen().len(), 2, "nothing is sent or fetched twice");
}

#[test]
fn a_shallow_cache_that_was_opened_anew_can_be_pushed_from() {
    let server = Server::start();
    (0..3).for_each(|count| drop(server.commit("main", &[("a", &count.to_string())])));
    let (folder, store) = store();
    let base = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
    drop(store);
    let opened = || Store::open(folder.path()).unwrap();
    let (early, store) = (opened(), opened());
    let commit = store.commit(&draft(&base, "a", "new")).unwrap();
    assert_eq!(store.push(&server.access(), "topic", &commit, None).unwrap(), Pushed::Done);
    // Another process fetches: this one finds the commit there, and does not ask the server for it.
    (0..3).for_each(|count| drop(server.commit("main", &[("b", &count.to_string())])));
    let base = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
    let commit = early.commit(&draft(&base, "b", "new")).unwrap();
    assert_eq!(early.push(&server.access(), "other", &commit, None).unwrap(), Pushed::Done);
}

#[test]
fn a_base_that_moves_is_fetched_again() {
    let server = Server::start();
    let (_folder, store) = store();
    for count in 0..4 {
        let made = server.commit("main", &[("a", &count.to_string()), (&format!("b{count}"), "same")]);
        let base = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
        assert_eq!(base.as_str(), made);
        assert_eq!(store.read(&base, "a").unwrap().unwrap(), count.to_string().into_bytes());
    }
    // A commit on the older base can still be pushed, and a whole branch lives beside it.
    let older = Sha::new(server.git(&["rev-parse", "main~1"]).trim());
    let commit = store.commit(&draft(&older, "a", "new")).unwrap();
    assert_eq!(store.push(&server.access(), "topic", &commit, None).unwrap(), Pushed::Done);
    server.git(&["fsck", "--strict"]);
    let first = server.commit("notes", &[("n", "1")]);
    let second = server.commit("notes", &[("n", "2")]);
    let tip = store.fetch(&server.access(), "notes", None).unwrap().unwrap();
    assert_eq!(tip.as_str(), second);
    assert!(store.contains(&tip, &Sha::new(first)).unwrap());
    let third = server.commit("notes", &[("n", "3")]);
    let tip = store.fetch(&server.access(), "notes", None).unwrap().unwrap();
    assert!(tip.as_str() == third && store.contains(&tip, &Sha::new(second)).unwrap());
}

#[test]
fn a_long_history_is_fetched_in_steps() {
    let server = Server::start();
    let ((_one, writer), (_two, reader)) = (store(), store());
    let access = server.access();
    let root = Draft { parents: vec![], tree_of: None, ..draft(&Sha::new(""), "n", "0") };
    let (mut tip, mut expected) = (writer.commit(&root).unwrap(), None);
    let mut shas = vec![tip.clone()];
    for round in 0..4 {
        for count in 0..150 {
            tip = writer.commit(&draft(&tip, "n", &format!("{round} {count}"))).unwrap();
            shas.push(tip.clone());
        }
        assert_eq!(writer.push(&access, "notes", &tip, expected.as_ref()).unwrap(), Pushed::Done);
        expected = Some(tip.clone());
        server.seen();
        assert_eq!(reader.fetch(&access, "notes", None).unwrap(), expected);
        assert!(server.seen().len() < 20, "a bounded talk");
        assert_eq!(reader.first_not_in(&tip, &shas).unwrap(), None);
    }
    // A reader whose branch was wound back and written anew.
    let aside = writer.commit(&draft(&shas[10], "n", "aside")).unwrap();
    assert_eq!(writer.push_forced(&access, "notes", &aside, Some(&tip)).unwrap(), Pushed::Done);
    assert_eq!(reader.fetch(&access, "notes", None).unwrap(), Some(aside.clone()));
    assert_eq!(reader.first_not_in(&aside, &[shas[10].clone(), tip.clone()]).unwrap(), Some(tip));
}

#[test]
fn a_branch_may_lie_where_another_was() {
    let server = Server::start();
    let (_folder, store) = store();
    server.commit("main", &[("a", "0")]);
    server.git(&["branch", "topic", "main"]);
    assert!(store.fetch(&server.access(), "topic", Some(1)).unwrap().is_some());
    server.git(&["branch", "-D", "topic"]);
    server.git(&["branch", "topic/deep", "main"]);
    assert!(store.fetch(&server.access(), "topic/deep", Some(1)).unwrap().is_some());
    assert_eq!(store.fetch(&server.access(), "topic", Some(1)).unwrap(), None);
}

#[tokio::test]
async fn it_works_from_spawn_blocking() {
    let done = tokio::task::spawn_blocking(|| {
        let server = Server::start();
        let (_folder, store) = store();
        server.commit("main", &[("a", "0")]);
        store.fetch(&server.access(), "main", None).map(|tip| tip.is_some())
    });
    assert_eq!(done.await.unwrap(), Ok(true));
}

/// A process that was killed while it wrote a reference leaves its lock for good; one that runs beside us
/// holds it for a moment.
#[test]
fn a_lock_that_was_left_behind_is_taken_away_and_another_is_waited_for() {
    let server = Server::start();
    let tip = server.commit("main", &[("a", "1")]);
    let (_folder, store) = store();
    assert_eq!(store.fetch(&server.access(), "main", Some(1)).unwrap(), Some(Sha::new(tip)));
    let mut locks = Vec::new();
    for name in store.repo.references_glob("refs/coldframe/*").unwrap().names() {
        locks.push(store.repo.path().join(format!("{}.lock", name.unwrap())));
    }
    let [lock] = &locks[..] else { panic!("one reference: {locks:?}") };
    let left = std::fs::File::create(lock).unwrap();
    left.set_modified((crate::clock::now() - LEFT).into()).unwrap();
    let second = server.commit("main", &[("a", "2")]);
    assert_eq!(store.fetch(&server.access(), "main", Some(1)).unwrap(), Some(Sha::new(second)));
    assert!(!lock.exists());

    std::fs::File::create(lock).unwrap();
    let third = server.commit("main", &[("a", "3")]);
    let fetched = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(PAUSE * 4);
            std::fs::remove_file(lock).unwrap();
        });
        store.fetch(&server.access(), "main", Some(1))
    });
    assert_eq!(fetched.unwrap(), Some(Sha::new(third)));
}

#[test]
fn a_commit_is_brought_by_its_hash_where_the_server_gives_it() {
    let server = Server::start();
    let first = Sha::new(server.commit("main", &[("a", "1")]));
    server.commit("main", &[("a", "2")]);
    let (_folder, store) = store();
    store.fetch(&server.access(), "main", Some(1)).unwrap();
    assert!(!store.has(&first), "only the newest came");
    server.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    assert_eq!(store.fetch_commit(&server.access(), &first), Ok(true));
    assert_eq!(store.read(&first, "a").unwrap().as_deref(), Some(b"1".as_slice()));
    server.seen();
    assert_eq!(store.fetch_commit(&server.access(), &first), Ok(true));
    assert_eq!(server.seen().len(), 0, "it is here");
    let nowhere = Sha::new("9".repeat(40));
    assert_ne!(store.fetch_commit(&server.access(), &nowhere), Ok(true));
    assert!(!store.has(&nowhere) && !store.has(&Sha::new("main")));
}

#[test]
fn an_absent_branch_is_none_and_an_absent_repository_is_missing() {
    let server = Server::start();
    let (_folder, store) = store();
    assert_eq!(store.fetch(&server.access(), "main", Some(1)).unwrap(), None, "an empty repository");
    server.commit("main", &[("a", "1")]);
    assert_eq!(store.fetch(&server.access(), "other", None).unwrap(), None);
    assert_eq!(store.tip(&server.access(), "other").unwrap(), None);
    let elsewhere = Access { url: server.url.replace("fleet", "float"), ..server.access() };
    let error = store.tip(&elsewhere, "main").unwrap_err();
    assert!(matches!(&error, GitError::Missing { .. }), "{error}");
    let error = store.tip(&server.access(), "a..b").unwrap_err();
    assert!(matches!(&error, GitError::Malformed { .. }), "{error}");
}

#[test]
fn errors_say_what_to_do_and_never_hold_the_token() {
    let server = Server::start();
    server.commit("main", &[("a", "0")]);
    let (_folder, mut store) = store();
    store.limits.read = Duration::from_millis(300);
    store.limits.connect = Duration::from_millis(300);
    type Test = fn(&GitError) -> bool;
    let cases: Vec<(Fault, Test, &str)> = vec![
        (
            Fault::Status(403, "remote: Write access not granted."),
            |e| matches!(e, GitError::Denied { .. }),
            "Write access",
        ),
        (Fault::Status(503, ""), GitError::passes, "HTTP 503"),
        (Fault::Status(429, "slow down"), GitError::passes, "slow down"),
        (
            Fault::Redirect("https://evil.example/x?y".to_string()),
            |e| matches!(e, GitError::Malformed { .. }),
            "moved to https://evil.example/x;",
        ),
        (Fault::Page, |e| matches!(e, GitError::Malformed { .. }), "address of a repository"),
        (Fault::Silence, GitError::passes, "no answer"),
        (Fault::BreakOff, GitError::passes, "the answer broke off"),
    ];
    for (fault, right, words) in cases {
        server.fault("info/refs", fault.clone());
        let error = store.fetch(&server.access(), "main", Some(1)).unwrap_err();
        assert!(right(&error) && error.to_string().contains(words), "{fault:?}: {error}");
    }
    server.mend();
    let wrong = Access { token: Some(Secret::new("canary-wrong-0815")), ..server.access() };
    let error = store.fetch(&wrong, "main", Some(1)).unwrap_err();
    assert!(matches!(&error, GitError::Denied { .. }), "{error}");
    let encoded = "eC1hY2Nlc3MtdG9rZW46";
    assert!(
        !format!("{error} {error:?} {wrong:?}").contains("canary") && !error.to_string().contains(encoded),
        "{error}"
    );
    let other = Access { user: Some("gitlab+deploy-token-7".to_string()), ..server.access() };
    assert!(matches!(store.tip(&other, "main"), Err(GitError::Denied { .. })), "a password is its user's");
    let none = Access { token: None, ..server.access() };
    assert!(matches!(store.tip(&none, "main"), Err(GitError::Denied { .. })));
    let base = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
    let commit = store.commit(&draft(&base, "a", "1")).unwrap();
    assert!(matches!(store.push(&wrong, "main", &commit, Some(&base)), Err(GitError::Denied { .. })));
    let nobody = Access { url: "http://127.0.0.1:1/x.git".to_string(), user: None, token: None };
    assert!(store.tip(&nobody, "main").unwrap_err().passes());
    for url in ["ssh://git@host/x", "fleet.git", "https://u:canary@host/x", "https://host/x?t=canary"] {
        let error = store.tip(&Access { url: url.to_string(), user: None, token: None }, "main").unwrap_err();
        assert!(matches!(&error, GitError::Malformed { .. }) && !error.to_string().contains("canary"), "{error}");
    }
    store.limits.advertised = 100;
    let error = store.tip(&server.access(), "main").unwrap_err();
    assert!(error.to_string().contains("larger than we take"), "{error}");
    assert!(!format!("{:?}", server.access()).contains(TOKEN));
}
