//! What comes of a merge, in every way that a hub can do it, over a real git server.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::git::testing::{Server, store};

const TEN_LINES: &str = "version: 1.0.0\na: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\ng: 1\nh: 1\nlast: 1\n";

/// `main` with two files, and a head on it that moves the version in one of them.
struct Stage {
    server: Server,
    before: Sha,
    head: Sha,
}

impl Stage {
    fn set() -> Self {
        let server = Server::start();
        server.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
        let before = Sha::new(server.commit("main", &[("gold.yaml", TEN_LINES), ("CODEOWNERS", "* @acme/platform\n")]));
        server.git(&["branch", "bot", "main"]);
        let head = Sha::new(server.commit("bot", &[("gold.yaml", &moved(TEN_LINES))]));
        Self { server, before, head }
    }

    /// A commit on `main` with the tree that `files` make of it, and these parents besides.
    fn came(&self, files: &[(&str, &str)], also: Option<&Sha>) -> Sha {
        let first = self.server.git(&["rev-parse", "main"]).trim().to_string();
        self.server.git(&["branch", "-f", "next", "main"]);
        let made = self.server.commit("next", files);
        let tree = self.server.git(&["rev-parse", &format!("{made}^{{tree}}")]).trim().to_string();
        let mut arguments = vec!["commit-tree", &tree, "-p", &first, "-m", "came"];
        if let Some(also) = also {
            arguments.extend(["-p", also.as_str()]);
        }
        let commit = self.server.git(&arguments).trim().to_string();
        self.server.git(&["update-ref", "refs/heads/main", &commit]);
        Sha::new(commit)
    }

    fn landing(&self, named: Option<&Sha>) -> Landing {
        let (_folder, store) = store();
        let tip = store.fetch(&self.server.access(), "main", Some(1)).unwrap().unwrap();
        let asked = Asked { head: self.head.clone(), before: self.before.clone(), named: named.cloned() };
        store.landing(&self.server.access(), &asked, &tip).unwrap()
    }
}

fn moved(text: &str) -> String {
    text.replace("1.0.0", "1.1.0")
}

fn wrong(landing: &Landing) -> &str {
    match landing {
        Landing::Wrong { why } => why,
        Landing::Proven { .. } | Landing::Absent => panic!("{landing:?}"),
    }
}

#[test]
fn f23_a_merge_is_proved_however_the_hub_does_it() {
    for merge_commit in [true, false] {
        let stage = Stage::set();
        assert_eq!(stage.landing(None), Landing::Absent);
        let came = stage.came(&[("gold.yaml", &moved(TEN_LINES))], Some(&stage.head).filter(|_| merge_commit));
        for named in [None, Some(&came)] {
            assert_eq!(stage.landing(named), Landing::Proven { commit: came.clone() }, "merge commit: {merge_commit}");
        }
        stage.came(&[("after.yaml", "a: 1\n")], None);
        assert_eq!(stage.landing(Some(&came)), Landing::Proven { commit: came.clone() }, "others came after it");
    }
}

#[test]
fn what_others_changed_meanwhile_is_theirs() {
    let stage = Stage::set();
    let edited = TEN_LINES.replace("last: 1", "last: 2");
    stage.came(&[("gold.yaml", &edited), ("other.yaml", "a: 1\n")], None);
    let came = stage.came(&[("gold.yaml", &moved(&edited))], Some(&stage.head));
    assert_eq!(stage.landing(Some(&came)), Landing::Proven { commit: came.clone() });
    // The same, and the line of the others is taken back by it.
    let stage = Stage::set();
    stage.came(&[("gold.yaml", &edited)], None);
    let came = stage.came(&[("gold.yaml", &moved(TEN_LINES))], Some(&stage.head));
    assert!(wrong(&stage.landing(Some(&came))).ends_with("it changes `gold.yaml` otherwise than planned"));
}

#[test]
fn f30_a_merge_with_anything_else_in_it_is_wrong() {
    type Case<'a> = (&'a [(&'a str, &'a str)], bool, &'a str);
    let with_version = moved(TEN_LINES);
    let cases: [Case<'_>; 4] = [
        (&[("gold.yaml", &with_version), ("CODEOWNERS", "* @eve\n")], true, "it also changes `CODEOWNERS`"),
        (&[("gold.yaml", &with_version), ("CODEOWNERS", "* @eve\n")], false, "it also changes `CODEOWNERS`"),
        (&[("gold.yaml", "version: 1.1.0\n")], true, "it changes `gold.yaml` otherwise than planned"),
        (&[], true, "it does not change `gold.yaml`"),
    ];
    for (files, merge_commit, why) in cases {
        let stage = Stage::set();
        let came = stage.came(files, Some(&stage.head).filter(|_| merge_commit));
        assert!(wrong(&stage.landing(Some(&came))).ends_with(why), "{:?}", stage.landing(Some(&came)));
        // A merge commit tells what it merges; a squashed one is nobody's unless the hub names it.
        match merge_commit {
            true => assert!(wrong(&stage.landing(None)).ends_with(why)),
            false => assert_eq!(stage.landing(None), Landing::Absent),
        }
    }
}

#[test]
fn a_base_that_was_rewritten_is_wrong() {
    let stage = Stage::set();
    stage.server.git(&["branch", "-D", "main"]);
    stage.server.commit("main", &[("gold.yaml", &moved(TEN_LINES))]);
    assert!(wrong(&stage.landing(None)).ends_with("is not in the history of the base branch any more"));
}

#[test]
fn a_commit_is_made_of_what_it_was_planned_to_be_or_not() {
    let stage = Stage::set();
    let (_folder, store) = store();
    for commit in [&stage.head, &stage.before] {
        assert!(store.fetch_commit(&stage.server.access(), commit).unwrap());
    }
    let made_of = |files: &[FileChange]| store.is_made_of(&stage.head, &stage.before, files).unwrap();
    let change = |path: &str, text: &str| (path.to_string(), Some(text.as_bytes().to_vec()));
    assert!(made_of(&[change("gold.yaml", &moved(TEN_LINES))]));
    assert!(!made_of(&[]));
    assert!(!made_of(&[change("gold.yaml", "version: 1.1.0\n")]));
    assert!(!made_of(&[change("gold.yaml", &moved(TEN_LINES)), change("more.yaml", "a: 1\n")]));
}
