//! Pushes against the real `git http-backend`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::git::testing::{Fault, Server, draft, store};

#[test]
fn a_push_compares_before_it_moves() {
    let server = Server::start();
    let (_folder, store) = store();
    server.commit("main", &[("a", "0")]);
    let base = store.fetch(&server.access(), "main", None).unwrap().unwrap();
    let ours = store.commit(&draft(&base, "a", "ours")).unwrap();
    let other = store.commit(&draft(&base, "a", "other")).unwrap();
    let next = store.commit(&draft(&ours, "a", "next")).unwrap();
    let moved = |found: Option<&Sha>| Pushed::Moved { found: found.cloned() };
    let access = server.access();
    let cases: &[(&str, &Sha, Option<&Sha>, bool, Pushed)] = &[
        ("expected there, is not", &ours, Some(&base), false, moved(None)),
        ("a new branch", &ours, None, false, Pushed::Done),
        ("expected absent, is there", &other, None, false, moved(Some(&ours))),
        ("stale", &next, Some(&base), false, moved(Some(&ours))),
        ("stale, forced", &next, Some(&base), true, moved(Some(&ours))),
        ("does not build on it", &other, Some(&ours), false, moved(Some(&ours))),
        ("written anew", &other, Some(&ours), true, Pushed::Done),
        ("and back", &ours, Some(&other), true, Pushed::Done),
        ("forward", &next, Some(&ours), false, Pushed::Done),
        ("again, with an old belief", &next, Some(&ours), false, Pushed::Done),
    ];
    for (case, commit, expected, forced, end) in cases {
        let before = store.tip(&access, "topic").unwrap();
        let push = if *forced { Store::push_forced } else { Store::push };
        assert_eq!(&push(&store, &access, "topic", commit, *expected).unwrap(), end, "{case}");
        let after = store.tip(&access, "topic").unwrap();
        let wanted = if *end == Pushed::Done { Some((*commit).clone()) } else { before };
        assert_eq!(after, wanted, "{case}");
    }
    let unknown = Sha::new("1".repeat(40));
    assert!(matches!(store.push(&access, "topic", &unknown, None), Err(GitError::Missing { .. })));
}

#[test]
fn a_refusal_comes_in_the_words_of_the_server() {
    let server = Server::start();
    let (_folder, store) = store();
    server.commit("main", &[("a", "0")]);
    let base = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
    let commit = store.commit(&draft(&base, "a", "1")).unwrap();
    server.hook("pre-receive", "echo 'error: GH006: Protected branch update failed' >&2\nexit 1");
    let Pushed::Refused { why } = store.push(&server.access(), "main", &commit, Some(&base)).unwrap() else {
        panic!("the hook says no")
    };
    assert!(why.starts_with("pre-receive hook declined: ") && why.contains("GH006: Protected branch"), "{why}");
    // Somebody else's push during ours makes it a move.
    server.hook("pre-receive", "exit 0");
    server.hook(
        "update",
        "git update-ref refs/heads/main $(git -c user.name=x -c user.email=x commit-tree -m x $3^{tree}) && exit 1",
    );
    let end = store.push(&server.access(), "main", &commit, Some(&base)).unwrap();
    assert_eq!(end, Pushed::Moved { found: Some(Sha::new(server.git(&["rev-parse", "main"]).trim())) });
}

#[test]
fn a_push_whose_answer_is_lost_is_settled_by_looking() {
    let server = Server::start();
    let (_folder, store) = store();
    server.commit("main", &[("a", "0")]);
    let base = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
    let commit = store.commit(&draft(&base, "a", "1")).unwrap();
    server.fault("git-receive-pack", Fault::Status(502, "bad gateway"));
    let error = store.push(&server.access(), "main", &commit, Some(&base)).unwrap_err();
    assert!(error.passes() && !error.to_string().contains("unknown"), "{error}");
    server.fault("/git-receive-pack", Fault::BreakOff);
    assert_eq!(store.push(&server.access(), "main", &commit, Some(&base)).unwrap(), Pushed::Done);
    assert_eq!(server.git(&["rev-parse", "main"]).trim(), commit.as_str());
}

/// A server with a branch, a store, and commits for so many more branches.
fn several(count: usize) -> (Server, tempfile::TempDir, Store, Sha, Vec<Move>) {
    let server = Server::start();
    server.commit("main", &[("a", "0")]);
    let (folder, store) = store();
    let base = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
    let one = |number: usize| Move {
        branch: format!("coldframe/cert-manager/tier-{number}"),
        commit: store.commit(&draft(&base, "a", &format!("{number}"))).unwrap(),
        expected: None,
    };
    let moves = (0..count).map(one).collect();
    (server, folder, store, base, moves)
}

/// Conversations that pushed something.
fn pushes(server: &Server) -> usize {
    server.seen().iter().filter(|seen| seen.target.ends_with("/git-receive-pack")).count()
}

#[test]
fn several_branches_take_one_push_and_each_has_an_end_of_its_own() {
    let (server, _folder, store, base, mut moves) = several(5);
    let (access, main) = (server.access(), base.clone());
    assert_eq!(store.push(&access, &moves[1].branch, &base, None).unwrap(), Pushed::Done);
    assert_eq!(store.push(&access, &moves[2].branch, &moves[2].commit, None).unwrap(), Pushed::Done);
    assert_eq!(store.push(&access, &moves[3].branch, &base, None).unwrap(), Pushed::Done);
    moves[3].expected = Some(base);
    server.seen();
    let ends = store.push_all(&access, &moves).unwrap();
    let wanted = [Pushed::Done, Pushed::Moved { found: Some(main) }, Pushed::Done, Pushed::Done, Pushed::Done];
    assert_eq!(ends, wanted);
    assert_eq!(pushes(&server), 1);
    for (moved, _) in moves.iter().zip(&ends).filter(|(_, end)| **end == Pushed::Done) {
        assert_eq!(server.git(&["rev-parse", &moved.branch]).trim(), moved.commit.as_str());
        assert_eq!(store.tip(&access, &moved.branch).unwrap().as_ref(), Some(&moved.commit));
    }
    assert_eq!(store.push_all(&access, &[]).unwrap(), []);
    assert!(matches!(
        store.push_all(&access, &[Move { commit: Sha::new("1".repeat(40)), ..moves[0].clone() }]),
        Err(GitError::Missing { .. })
    ));
}

/// A rule may be about one branch, or refuse the whole push for the sake of one.
#[test]
fn what_is_refused_keeps_none_of_the_others_back() {
    for (hook, script) in [
        ("update", "case $1 in *tier-1) echo no >&2; exit 1;; esac"),
        ("pre-receive", "if grep -q tier-1; then echo no >&2; exit 1; fi"),
    ] {
        let (server, _folder, store, _, moves) = several(3);
        server.hook(hook, script);
        let ends = store.push_all(&server.access(), &moves).unwrap();
        let [Pushed::Done, Pushed::Refused { why }, Pushed::Done] = &ends[..] else { panic!("{hook}: {ends:?}") };
        assert!(why.contains("no"), "{hook}: {why}");
        for (index, moved) in moves.iter().enumerate() {
            let there = store.tip(&server.access(), &moved.branch).unwrap();
            assert_eq!(there, (index != 1).then(|| moved.commit.clone()), "{hook}");
        }
    }
}

#[test]
fn a_push_of_several_whose_answer_is_lost_is_settled_for_each() {
    let (server, _folder, store, _, moves) = several(3);
    server.hook("update", "case $1 in *tier-2) exit 1;; esac");
    server.fault("/git-receive-pack", Fault::BreakOff);
    // Two have arrived, and whether the third was refused nobody has heard.
    let error = store.push_all(&server.access(), &moves).unwrap_err();
    assert!(error.passes(), "{error}");
    server.mend();
    assert_eq!(store.tip(&server.access(), &moves[1].branch).unwrap(), Some(moves[1].commit.clone()));
    server.fault("/git-receive-pack", Fault::BreakOff);
    assert_eq!(store.push_all(&server.access(), &moves[..2]).unwrap(), [Pushed::Done, Pushed::Done]);
}
