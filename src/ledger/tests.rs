//! The ledger over a real git server.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use decide::ledger::{
    Announced, Failed, ForceEvidence, Frozen, Grace, Head, Landed, Lifted, Merging, Outage, Rebuild, Rejected, Said,
    Seen, Soaked, Superseded, Wave,
};
use decide::reason::MemberTrouble;
use decide::snapshot::SentNotice;
use decide::{Digest, PullNumber, Reason, Version};
use tempfile::TempDir;

use super::*;
use crate::git::testing::{Server, store};
use crate::secret::Secret;

struct Bot {
    store: Store,
    branch: Branch,
    access: Access,
    _folder: TempDir,
}

impl Bot {
    fn start(server: &Server) -> Self {
        Self::try_start(server, &[]).unwrap()
    }

    /// One that has these keys.
    fn try_start(server: &Server, keys: &[&str]) -> Result<Self, LedgerError> {
        let (folder, store) = store();
        let author = Author { name: "coldframe[bot]".to_string(), email: "bot@example.org".to_string() };
        let keys: Vec<Secret> = keys.iter().map(|key| Secret::new(key)).collect();
        let branch = Branch::load(&store, &server.access(), author, Seal::new(&keys).of(7))?;
        Ok(Self { store, branch, access: server.access(), _folder: folder })
    }

    fn append(&mut self, records: &[Record], now: Timestamp) -> Appended {
        self.branch.append(&self.store, &self.access, records, now).unwrap()
    }

    fn pushed(&mut self, records: &[Record], now: Timestamp) -> Sha {
        let Appended::Pushed { tip } = self.append(records, now) else { panic!("a push was due") };
        assert_eq!(self.branch.tip(), Some(&tip));
        tip
    }

    fn reload(&mut self) {
        self.branch.reload(&self.store, &self.access).unwrap();
    }

    fn missing(&self, cited: &[&Sha]) -> Option<Sha> {
        self.branch.missing(&self.store, &cited.iter().map(|sha| (*sha).clone()).collect::<Vec<_>>()).unwrap()
    }
}

fn at(minutes: i64) -> Timestamp {
    "2026-11-21T09:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_mins(minutes)
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn commit(digits: &str) -> Sha {
    Sha::new(digits.repeat(40 / digits.len()))
}

fn now(entry: Entry) -> Record {
    Record { entry, urgency: Urgency::Transition }
}

fn wave(change: Change) -> Entry {
    Entry::Wave { plugin: "cert-manager".into(), tier: "silver".into(), version: version("1.15.0"), change }
}

fn landed(minutes: i64) -> Record {
    let landed = Landed { at: at(minutes), commit: None, by: None };
    now(wave(Change::Found { members: vec!["eu-1".into()], digest: None, landed }))
}

fn soaked(minutes: i64) -> Record {
    let soaked = Soaked {
        healthy_for: SignedDuration::from_mins(minutes),
        until: at(minutes),
        paused: false,
        ailing: None,
        begun: None,
    };
    Record { entry: wave(Change::Soaked(soaked)), urgency: Urgency::Progress }
}

fn seen(plugin: &str, text: &str) -> Record {
    now(Entry::Seen {
        plugin: plugin.into(),
        seen: Seen { version: version(text), digest: Some(Digest::new("sha256:12")), first_seen: at(0) },
    })
}

fn log(server: &Server) -> Vec<String> {
    server.git(&["log", "--format=%s", LEDGER]).lines().map(str::to_string).collect()
}

#[test]
fn the_branch_reads_as_a_history() {
    let server = Server::start();
    server.commit("main", &[("a", "1")]);
    let mut bot = Bot::start(&server);
    assert_eq!(bot.branch.tip(), None);
    assert_eq!(bot.append(&[], at(0)), Appended::Nothing);
    bot.pushed(&[seen("cert-manager", "1.15.0"), seen("loki", "6.0.0")], at(0));
    bot.pushed(&[landed(1)], at(1));
    assert_eq!(bot.append(&[landed(1), seen("loki", "6.0.0")], at(2)), Appended::Nothing, "nothing new");
    let tip = bot.pushed(&[now(wave(Change::Finished(at(60))))], at(60));
    assert_eq!(
        log(&server),
        [
            "cert-manager 1.15.0 on silver: finished",
            "cert-manager 1.15.0 on silver: found on the base branch, which nobody had recorded",
            "cert-manager 1.15.0: first seen, and 1 more",
        ]
    );
    assert_eq!(
        server.git(&["log", "-1", "--format=%an %ct%n%b", LEDGER]).lines().take(2).collect::<Vec<_>>(),
        ["coldframe[bot] 1795255200", "- cert-manager 1.15.0 on silver: finished at 2026-11-21T10:00:00Z"]
    );
    let files = server.git(&["ls-tree", "-r", "--name-only", LEDGER]);
    assert_eq!(files, "README.md\nledger.yaml\nplugins/cert-manager.yaml\nplugins/loki.yaml\n");
    let changed = server.git(&["diff", "--stat=200", &format!("{LEDGER}~1"), LEDGER]);
    assert!(changed.contains("plugins/cert-manager.yaml | 1 +") && changed.contains("1 file changed"), "{changed}");
    let page = server.git(&["show", &format!("{LEDGER}:plugins/cert-manager.yaml")]);
    assert_eq!(
        page,
        "# What Coldframe remembers of cert-manager; README.md explains it.\n\
         releases:\n\
         - version: 1.15.0\n\
         \x20 digest: sha256:12\n\
         \x20 firstSeen: 2026-11-21T09:00:00Z\n\
         tiers:\n\
         \x20 silver:\n\
         \x20 - version: 1.15.0\n\
         \x20   members:\n\
         \x20   - eu-1\n\
         \x20   begun: 2026-11-21T09:01:00Z\n\
         \x20   landed:\n\
         \x20     at: 2026-11-21T09:01:00Z\n\
         \x20   finished: 2026-11-21T10:00:00Z\n"
    );
    server.git(&["fsck", "--strict"]);
    let other = Bot::start(&server);
    assert_eq!(other.branch.ledger(), bot.branch.ledger());
    assert_eq!(other.branch.tip(), Some(&tip));
}

#[test]
fn progress_waits_for_a_transition_or_fifteen_minutes() {
    let server = Server::start();
    let mut bot = Bot::start(&server);
    let first = bot.pushed(&[landed(0)], at(0));
    assert_eq!(bot.append(&[soaked(5)], at(5)), Appended::Waiting);
    assert_eq!(bot.append(&[soaked(5)], at(6)), Appended::Waiting, "still waits");
    assert_eq!(bot.append(&[soaked(10)], at(10)), Appended::Waiting);
    assert_eq!(bot.branch.tip(), Some(&first));
    let kept = |bot: &Bot| {
        let page = &bot.branch.ledger().plugins[&"cert-manager".into()];
        page.last(&"silver".into()).unwrap().soak.unwrap().until
    };
    assert_eq!(kept(&bot), at(10), "in memory at once");
    bot.pushed(&[], at(15));
    assert_eq!(log(&server)[0], "cert-manager 1.15.0 on silver: healthy for 10 min");
    assert_eq!(bot.append(&[], at(40)), Appended::Nothing, "nothing is pushed when nothing moved");
    assert_eq!(bot.append(&[soaked(20)], at(20)), Appended::Waiting);
    bot.pushed(&[now(wave(Change::Converged(at(1))))], at(21));
    assert_eq!(log(&server)[0], "cert-manager 1.15.0 on silver: every cluster is healthy on it, and 1 more");
    assert_eq!(bot.append(&[soaked(25)], at(25)), Appended::Waiting);
    assert!(matches!(bot.branch.flush(&bot.store, &bot.access, at(26)), Ok(Appended::Pushed { .. })));
    assert_eq!(bot.branch.flush(&bot.store, &bot.access, at(27)), Ok(Appended::Nothing));
    assert_eq!(kept(&Bot::start(&server)), at(25));
    assert_eq!(log(&server).len(), 4);
    // After a restart the time of the last commit counts.
    let mut again = Bot::start(&server);
    assert_eq!(again.append(&[soaked(30)], at(30)), Appended::Waiting);
    again.pushed(&[soaked(41)], at(41));
}

#[test]
fn of_two_writers_one_is_fenced() {
    let server = Server::start();
    let (mut one, mut two) = (Bot::start(&server), Bot::start(&server));
    one.pushed(&[landed(0)], at(0));
    assert_eq!(two.append(&[landed(0)], at(0)), Appended::Fenced, "the very same decision is fenced too");
    assert_eq!((two.branch.tip(), two.branch.ledger()), (None, &Ledger::default()), "memory is as before");
    two.reload();
    assert_eq!(two.branch.ledger(), one.branch.ledger());
    assert_eq!(two.append(&[landed(0)], at(1)), Appended::Nothing);

    assert_eq!(one.append(&[soaked(5)], at(5)), Appended::Waiting);
    two.pushed(&[seen("loki", "6.0.0")], at(6));
    let before = one.branch.ledger().clone();
    assert_eq!(one.append(&[now(wave(Change::Converged(at(6))))], at(7)), Appended::Fenced);
    assert_eq!(one.branch.ledger(), &before, "memory is as before");
    one.reload();
    assert_eq!(one.append(&[], at(8)), Appended::Waiting, "progress of the fenced writer still applies");
    one.pushed(&[now(wave(Change::Converged(at(6))))], at(9));
    assert!(server.git(&["log", "-1", "--format=%b", LEDGER]).contains("healthy for 5 min"));

    two.reload();
    assert_eq!(two.append(&[soaked(10)], at(10)), Appended::Waiting);
    one.pushed(&[now(wave(Change::Finished(at(10))))], at(10));
    two.reload();
    assert_eq!(two.append(&[], at(30)), Appended::Nothing, "progress of a wave that is over is dropped");
    assert_eq!(two.branch.ledger(), one.branch.ledger());
}

#[test]
fn a_ledger_that_lost_a_cited_commit_names_it() {
    let server = Server::start();
    let mut bot = Bot::start(&server);
    let tips: Vec<Sha> = (0..6).map(|n| bot.pushed(&[seen("loki", &format!("6.0.{n}"))], at(n))).collect();
    assert_eq!(bot.missing(&[&tips[0], &tips[5]]), None);
    assert_eq!(bot.append(&[soaked(5)], at(6)), Appended::Nothing, "no such wave");

    server.git(&["update-ref", &format!("refs/heads/{LEDGER}"), tips[2].as_str()]);
    assert_eq!(bot.append(&[seen("loki", "7.0.0")], at(7)), Appended::Fenced);
    bot.reload();
    assert_eq!(bot.missing(&[&tips[0], &tips[5], &tips[3]]), Some(tips[5].clone()));
    assert_eq!(Bot::start(&server).missing(&[&tips[2], &tips[3]]), Some(tips[3].clone()), "unknown there altogether");
    assert_eq!(bot.branch.ledger().plugins[&"loki".into()].releases.len(), 3);

    let give_up = |cited: &Sha| {
        now(Entry::Rebuilt(Rebuild { cited: cited.clone(), by: "pat".into(), at: at(8), pull: PullNumber(7) }))
    };
    bot.pushed(&[give_up(&tips[5])], at(8));
    assert_eq!(log(&server)[0], format!("what became of {} settled by pat", tips[5].short()));
    assert_eq!(bot.missing(&[&tips[5]]), None);
    assert_eq!(bot.missing(&[&tips[5], &tips[3]]), Some(tips[3].clone()), "one at a time");

    server.git(&["update-ref", "-d", &format!("refs/heads/{LEDGER}")]);
    assert_eq!(bot.append(&[seen("loki", "7.0.0")], at(9)), Appended::Fenced);
    bot.reload();
    assert_eq!((bot.branch.tip(), bot.branch.ledger()), (None, &Ledger::default()));
    assert_eq!(bot.missing(&[]), None);
    assert_eq!(bot.missing(&[&tips[0], &tips[5]]), Some(tips[0].clone()));
    bot.pushed(&[give_up(&tips[0])], at(10));
    assert_eq!(bot.missing(&[&tips[0]]), None);
}

/// Somebody with write access adds a commit to the branch: an entry that lets a release through.
fn forge(server: &Server) -> String {
    server.commit_with(LEDGER, |work| {
        let page = work.join("plugins/loki.yaml");
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        std::fs::create_dir_all(page.parent().unwrap()).unwrap();
        std::fs::write(page, format!("{text}# forged\n")).unwrap();
    })
}

#[test]
fn f40_what_the_bot_did_not_write_is_not_believed() {
    let server = Server::start();
    let mut bot = Bot::try_start(&server, &["a key"]).unwrap();
    let first = bot.pushed(&[seen("loki", "1.0.0")], at(0));
    let last = bot.pushed(&[seen("loki", "1.0.1")], at(1));
    assert!(Bot::try_start(&server, &["a key"]).is_ok());
    let forged = forge(&server);
    for error in
        [bot.branch.reload(&bot.store, &bot.access).unwrap_err(), Bot::try_start(&server, &["a key"]).err().unwrap()]
    {
        let LedgerError::Foreign { tip, last: back } = &error else { panic!("{error}") };
        assert_eq!((tip.as_str(), back.as_ref()), (forged.as_str(), Some(&last)));
        assert!(error.to_string().ends_with(&format!("git push --force origin {last}:{LEDGER}")), "{error}");
    }
    assert_eq!(bot.branch.ledger().plugins.len(), 1, "memory is as it was");
    // Nor is anything written on top of it.
    assert_eq!(bot.append(&[seen("loki", "1.0.2")], at(2)), Appended::Fenced);
    server.git(&["update-ref", &format!("refs/heads/{LEDGER}"), last.as_str()]);
    assert!(bot.branch.reload(&bot.store, &bot.access).is_ok(), "moved back, it is believed again");
    // A sealed commit of another day is ours, and older than what this process knows.
    server.git(&["update-ref", &format!("refs/heads/{LEDGER}"), first.as_str()]);
    bot.branch.reload(&bot.store, &bot.access).unwrap();
    let known = bot.branch.known().cloned().unwrap();
    assert_eq!(bot.branch.missing(&bot.store, &[known]).unwrap(), Some(last));
}

#[test]
fn a_branch_without_a_seal_is_nobodys_and_one_with_a_seal_is_for_those_who_have_the_key() {
    let server = Server::start();
    let mut plain = Bot::start(&server);
    plain.pushed(&[seen("loki", "1.0.0")], at(0));
    let error = Bot::try_start(&server, &["a key"]).err().unwrap();
    assert!(error.to_string().ends_with(&format!("git push origin --delete {LEDGER}")), "{error}");
    server.git(&["update-ref", "-d", &format!("refs/heads/{LEDGER}")]);
    Bot::try_start(&server, &["a key"]).unwrap().pushed(&[seen("loki", "1.0.0")], at(0));
    assert!(matches!(Bot::try_start(&server, &["another"]).err(), Some(LedgerError::Foreign { last: None, .. })));
    assert_eq!(Bot::try_start(&server, &[]).err(), Some(LedgerError::Keyless));
    assert!(Bot::try_start(&server, &["another", "a key"]).is_ok(), "one key follows the other");
}

#[test]
fn progress_does_not_survive_a_rollback() {
    let server = Server::start();
    let mut bot = Bot::start(&server);
    let first = bot.pushed(&[landed(0)], at(0));
    bot.pushed(&[seen("loki", "6.0.0")], at(1));
    assert_eq!(bot.append(&[soaked(5)], at(5)), Appended::Waiting);
    server.git(&["update-ref", &format!("refs/heads/{LEDGER}"), first.as_str()]);
    bot.reload();
    assert_eq!(bot.branch.ledger().plugins[&"cert-manager".into()].last(&"silver".into()).unwrap().soak, None);
}

#[test]
fn what_is_not_understood_is_refused() {
    let server = Server::start();
    let root = "format: 1\n";
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
    let cases: &[Case<'_>] = &[
        ("newer", &[("ledger.yaml", "format: 2\nnews: {}\n")], "has format 2, this Coldframe knows 1"),
        ("no ledger", &[("README.md", "my branch")], "not a ledger"),
        ("no number", &[("ledger.yaml", "outages: []\n")], "missing field `format`"),
        ("unknown field", &[("ledger.yaml", "format: 1\nmood: good\n")], "unknown field `mood`"),
        (
            "unknown field in a page",
            &[
                ("ledger.yaml", root),
                (
                    "plugins/loki.yaml",
                    "tiers: {qa: [{version: 1.0.0, members: [], begun: 2026-11-21T09:00:00Z, mood: good}]}",
                ),
            ],
            "`plugins/loki.yaml` on the ledger branch: tiers.qa[0]: unknown field `mood`",
        ),
        (
            "a reason of tomorrow",
            &[
                ("ledger.yaml", root),
                (
                    "plugins/loki.yaml",
                    "tiers: {qa: [{version: 1.0.0, members: [], begun: 2026-11-21T09:00:00Z, failed: {at: 2026-11-21T09:00:00Z, why: boredom}}]}",
                ),
            ],
            "unknown variant `boredom`",
        ),
        ("a name", &[("ledger.yaml", root), ("plugins/a/b.yaml", "{}")], "a plugin's name"),
        ("no YAML", &[("ledger.yaml", root), ("plugins/loki.yaml", "[[[")], "plugins/loki.yaml"),
    ];
    for (index, (case, files, words)) in cases.iter().enumerate() {
        let made = server.commit(&format!("case-{index}"), files);
        server.git(&["update-ref", &format!("refs/heads/{LEDGER}"), &made]);
        let (_folder, store) = store();
        let author = Author { name: "bot".to_string(), email: "bot@example.org".to_string() };
        let error = Branch::load(&store, &server.access(), author, Seal::default()).err().unwrap();
        assert!(error.to_string().contains(words), "{case}: {error}");
    }
}

#[test]
fn a_refused_push_says_what_to_do() {
    let server = Server::start();
    let mut bot = Bot::start(&server);
    server.hook("pre-receive", "echo 'GH013: Repository rule violations' >&2; exit 1");
    let error = bot.branch.append(&bot.store, &bot.access, &[landed(0)], at(0)).unwrap_err();
    assert!(matches!(&error, LedgerError::Refused { .. }) && error.to_string().contains("GH013"), "{error}");
    assert_eq!(bot.branch.ledger(), &Ledger::default(), "memory is as before");
    let entry = Entry::Seen {
        plugin: "../../etc".into(),
        seen: Seen { version: version("1.0.0"), digest: None, first_seen: at(0) },
    };
    let error = bot.branch.append(&bot.store, &bot.access, &[now(entry)], at(0)).unwrap_err();
    assert!(error.to_string().contains("a plugin's name"), "{error}");
}

#[test]
fn a_full_ledger_comes_back_as_it_was() {
    let server = Server::start();
    let mut bot = Bot::start(&server);
    let notice = SentNotice { before: SignedDuration::from_hours(72), at: at(3) };
    let trouble = MemberTrouble {
        cluster: "acme/eu-1".into(),
        what: "degraded".to_string(),
        evidence: "HelmRelease x/y: \"no\"\n---\n# not a comment: {{ }} \u{1F4A5}".to_string(),
        since: Some(at(2)),
    };
    let forced = ForceEvidence {
        deadline: Some(at(9)),
        said: Some(Said { by: "off".into(), at: at(8), why: "!!x".to_string() }),
        notices: vec![notice.clone()],
        held: vec!["every window is open".to_string(), "- yes: no".to_string()],
        waived: "1 approval".to_string(),
        policy: commit("12345e6789"),
    };
    let inner =
        Reason::PastProgressDeadline { deadline: SignedDuration::from_hours(2), members: vec![trouble.clone()] };
    let reasons = [
        Reason::MembersFailed { members: vec![trouble], tolerated: 1 },
        Reason::ReleaseHeld { version: version("1.0.0"), tier: "qa".into(), why: Box::new(inner) },
        Reason::InTime,
        Reason::GraceOver { deadline: at(1) },
    ];
    let mut full = Wave::begun(version("v1.15.0+k8s.1"), vec!["eu-1".into(), "acme/no".into()].into(), at(1));
    full.from = Some(version("1.14.7-rc.1"));
    full.digest = Some(Digest::new("sha256:0123456789"));
    full.heads = vec![Head { commit: commit("1"), at: at(1), repeats: false }];
    full.shown = Some(Head { commit: commit("1"), at: at(2), repeats: false });
    full.pull = Some(Announced { number: PullNumber(7), at: at(2) });
    full.grace = Some(Grace { since: at(2), deadline: at(9), notices: vec![notice], giving: None });
    full.merging = Some(Merging { head: commit("1"), at: at(9), base: None, forced: Some(forced) });
    *full.rewrite().landed = Some(Landed { at: at(10), commit: Some(commit("0e12")), by: Some("null".into()) });
    full.converged = Some(at(11));
    full.soak = Some(Soaked {
        healthy_for: SignedDuration::new(3723, 500_000_000),
        until: at(12),
        paused: true,
        ailing: None,
        begun: None,
    });
    *full.rewrite().finished = Some(at(13));
    *full.rewrite().rejected = Some(Rejected { at: at(14), by: Some("true".into()), pull: PullNumber(8) });
    *full.rewrite().superseded = Some(Superseded { at: at(15), by: version("1.16.0") });
    let waves: Vec<Wave> = reasons
        .into_iter()
        .map(|why| {
            let mut wave = full.clone();
            *wave.rewrite().failed = Some(Failed { at: at(14), why });
            wave
        })
        .collect();
    let mut ledger = Ledger {
        outages: vec![Outage { from: at(1), to: at(2) }],
        rebuilds: vec![Rebuild { cited: commit("2"), by: "pat".into(), at: at(3), pull: PullNumber(9) }],
        freezes: vec![Frozen {
            plugin: Some("yes".into()),
            tier: None,
            by: "null".into(),
            at: at(3),
            why: "~".into(),
            until: Some(at(9)),
            pull: PullNumber(9),
            lifted: Some(Lifted { by: "1e3".into(), at: at(4) }),
        }],
        ..Ledger::default()
    };
    let page = ledger.plugins.entry("0".into()).or_default();
    page.releases.push(Seen { version: version("1.15.0"), digest: None, first_seen: at(0) });
    page.tiers.insert("yes".into(), waves);
    bot.branch.push(&bot.store, &bot.access, ledger.clone(), vec![], at(20)).unwrap();
    assert_eq!(Bot::start(&server).branch.ledger(), &ledger);
}
