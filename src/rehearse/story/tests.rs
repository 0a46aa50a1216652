//! Stories as people write them: what is told, and what is said about each mistake.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

use super::*;

const HEAD: &str = "\
zone: Europe/Berlin
policy:
  tiers:
    - {name: qa, select: {matchLabels: {tier: qa}}, merge: automatic}
    - {name: gold, select: {matchLabels: {tier: gold}}, soak: 1h}
clusters: qa-1  tier=qa
clusters: gold-1 gold-2  tier=gold
plugins: app 1.0.0
owners: maria
people: kim
strangers: eve
";

/// The same with somebody who administers the repository.
fn with_admin() -> String {
    HEAD.replace("people: kim", "people: kim\nadmins: pat")
}

fn told(lines: &str) -> Told {
    tell(Path::new("my.story"), &format!("{HEAD}{lines}\n"))
}

/// What is said about one line in the place of the first one of the body.
fn said(line: &str) -> String {
    let told = told(line);
    assert!(!told.kept, "{line}\n{}", told.text);
    told.text
}

#[test]
fn mistakes_have_a_place_and_a_fix() {
    for (line, place, words) in [
        ("2026-11-23 09:00 release ap 1.0.1", "12:26", "did you mean `app`?"),
        ("2026-11-23 09:00 release app 1.0", "12:30", "is not a SemVer 2 version"),
        ("2026-11-23 09:00 release app 1.0.1 today", "12:36", "`today` stands where `breaking` belongs"),
        ("2026-11-23 release app 1.0.1", "12:1", "write `2026-11-23 09:00`"),
        ("2026-11-31 09:00 release app 1.0.1", "12:1", "is not a day"),
        ("2026-11-23 25:00 release app 1.0.1", "12:12", "is not an hour"),
        ("+2x release app 1.0.1", "12:1", "is after no line above"),
        ("2026-11-23 09:00 maria aproves app on gold", "12:24", "did you mean `approves`?"),
        ("2026-11-23 09:00 mariia approves app on gold", "12:18", "did you mean `maria`?"),
        ("2026-11-23 09:00 maria approves app gold", "12:37", "`gold` stands where `on` belongs"),
        ("2026-11-23 09:00 maria approves app on glod", "12:40", "did you mean `gold`?"),
        ("2026-11-23 09:00 maria holds app on gold because", "12:42", "a reason stands after a colon"),
        ("2026-11-23 09:00 qa-1 degrades app", "12:32", "`app` stands where `on` belongs"),
        ("2026-11-23 09:00 qa-1 explodes", "12:23", "is nothing that a cluster does here"),
        ("2026-11-23 09:00 qa-1 takes 5", "12:29", "is not a duration"),
        ("2026-11-23 09:00 hub sleeps", "12:22", "`hub falls silent`, `hub answers`"),
        ("2026-11-23 09:00 hub lets everybody bypass", "12:27", "`everybody` stands where `nobody` belongs"),
        ("2026-11-23 09:00 yank app 1.0.1 now", "12:33", "one word too many"),
        ("2026-11-23 09:00 release app 1.0.1, same 1.0.0", "12:42", "`1.0.0` stands where `as` belongs"),
        ("2026-11-23 09:00 release app 1.0.1, breaking a lot", "12:46", "a reason stands after a colon"),
        ("2026-11-23 09:00 check lint burns on app on gold", "12:29", "is nothing that a check does"),
        ("2026-11-23 09:00 ledger is lost", "12:28", "`ledger is open`"),
        ("2026-11-23 09:00 clock runs fast", "12:29", "is not a duration"),
        ("2026-11-23 09:00 clock runs 5s", "12:31", "`ahead` is missing"),
        ("2026-11-23 09:00 qa-1 lacks replicas app", "12:38", "`app` stands where `for` belongs"),
        ("2026-11-23 09:00 qa-1 pulls something", "12:29", "`something` stands where `other` belongs"),
        ("2026-11-23 09:00 kim commits app one to gold", "12:34", "is not a SemVer 2 version"),
        ("2026-11-23 09:00 policy breaks because", "12:32", "a reason stands after a colon"),
        ("2026-11-23 09:00 expect app on gold is opne", "12:40", "did you mean `open`?"),
        ("2026-11-23 09:00 expect gold rns app 1.0.0", "12:30", "did you mean `runs`?"),
        ("2026-11-23 09:00 expect 3 things", "12:27", "cannot be counted"),
        ("2026-11-23 09:00 expect", "12:24", "nothing is expected"),
        ("2026-11-23 09:00 policy becmes:", "12:25", "stands where `becomes` belongs"),
        ("2026-11-23 09:00", "12:17", "nothing happens at this time"),
        ("2026-11-23 09:00 end now", "12:22", "one word too many"),
        ("2026-11-23 09:00 release app 1.0.1\nexpect never gold opens app 1.0.2", "13:1", "there are `1.0.0`, `1.0.1`"),
        ("# nothing", "12:1", "nothing happens in this story"),
    ] {
        let text = said(line);
        assert!(text.starts_with(&format!("my.story:{place}: ")), "{line}\n{text}");
        assert!(text.contains(words), "{line}\n{text}");
    }
}

#[test]
fn mistakes_of_the_head() {
    for (change, to, words) in [
        ("zone: Europe/Berlin", "zone: Europe/Berlim", "1:7: `Europe/Berlim` is not a time zone"),
        ("merge: automatic", "merg: automatic", "4:53: unknown key `merg` in tier `qa`"),
        ("clusters: qa-1  tier=qa", "clusers: qa-1  tier=qa", "did you mean `clusters:`?"),
        ("gold-1 gold-2", "gold-1 gold-1", "`gold-1` is listed twice"),
        ("people: kim", "people: gold-1", "`gold-1` is the name of two things"),
        ("owners: maria", "owners platinum: maria", "there is no tier `platinum`"),
        ("plugins: app 1.0.0", "plugins: app one", "is not a SemVer 2 version"),
        ("policy:\n", "policy: nowhere.yaml\n", "cannot be read"),
        ("people: kim", "limits:\n  longestSok: 1d\npeople: kim", "11:3: unknown key `longestSok`"),
        (
            "people: kim",
            "limits:\n  longestSoak: 30m\npeople: kim",
            "5:63: `soak` of tier `gold`: 1 h is beyond the 30 min",
        ),
        ("people: kim", "admins: pat\npeople: pat qa", "`qa` is the name of two things"),
    ] {
        let text = format!("{}2026-11-23 09:00 release app 1.0.1\n", HEAD.replace(change, to));
        let told = tell(Path::new("my.story"), &text);
        assert!(!told.kept && told.text.contains(words), "{words}\n{}", told.text);
    }
}

#[test]
fn what_cannot_happen_and_what_does_not_hold_is_shown_at_its_line() {
    let text = said("2026-11-23 09:00 maria approves app on gold");
    assert!(text.contains("my.story:12:18: there is no open pull request for app on gold now"), "{text}");
    let lines =
        "2026-11-23 09:00 release app 1.0.1\n10:00 expect gold runs app 1.0.1\nexpect never gold opens app 1.0.1";
    let text = said(lines);
    assert!(text.contains("my.story:13:7: this is not so") && text.contains("it runs 1.0.0"), "{text}");
    assert!(text.contains("my.story:14:1: this must never happen, and it did at Mon 23 Nov 2026 09:10"), "{text}");
    assert!(text.ends_with("2 lines do not hold.\n"), "{text}");
}

/// Each kind of expectation must be able to fail.
#[test]
fn every_expectation_can_fail() {
    let lines = "2026-11-23 09:00 release app 1.0.1\n09:30 ";
    for (holds, fails) in [
        ("expect qa runs app 1.0.1", "expect qa runs app 1.0.0"),
        ("expect qa-1 runs app 1.0.1", "expect gold-1 runs app 1.0.1"),
        ("expect qa finished app 1.0.1", "expect gold finished app 1.0.1"),
        ("expect gold opened app 1.0.1", "expect gold merged app 1.0.1"),
        ("expect not gold forced app 1.0.1", "expect not qa merged app 1.0.1"),
        ("expect app on gold is open", "expect app on gold is soaking"),
        ("expect app on gold says an approval by @maria", "expect app on gold says frozen"),
        ("expect 2 pull requests", "expect 3 pull requests"),
        ("expect 1 merge", "expect 2 merges"),
        ("expect 0 forced merges", "expect 1 forced merge"),
        ("expect 0 notices", "expect 1 notice"),
        ("expect never gold merges app 1.0.1", "expect never qa finishes app 1.0.1"),
    ] {
        let (good, bad) = (told(&format!("{lines}{holds}")), told(&format!("{lines}{fails}")));
        assert!(good.kept, "{holds}\n{}", good.text);
        assert!(!bad.kept, "{fails}\n{}", bad.text);
    }
}

/// Each line in which something happens changes what is expected after it.
#[test]
fn every_event_makes_a_difference() {
    let climb = "2026-11-23 09:00 release app 1.0.1\n10:00 ";
    for (event, after) in [
        ("maria approves app on gold", "expect gold merged app 1.0.1"),
        ("maria approves everything", "+1m expect gold merged app 1.0.1"),
        (
            "maria approves everything after 2h",
            "+119m expect not gold merged app 1.0.1\n+2m expect gold merged app 1.0.1",
        ),
        ("maria merges app on gold", "expect gold merged app 1.0.1"),
        ("maria closes app on gold", "expect app on gold is rejected"),
        ("maria requests changes to app on gold", "expect app on gold says maria requested changes"),
        ("kim holds app on gold: wait", "expect app on gold says held by kim: wait"),
        ("kim pushes to app on gold", "expect app on gold says somebody pushed"),
        ("kim commits app 1.0.0 to qa", "expect qa failed app 1.0.1"),
        ("kim freezes gold: audit", "expect app on gold says frozen by kim: audit"),
        ("kim comments on app on gold: freeze plugin audit", "expect app on gold says frozen by kim with a command"),
        ("kim freezes everything", "expect app on gold says frozen by kim"),
        ("republish app 1.0.1", "expect app on gold is withdrawn"),
        ("gold-2 takes 30m", "maria approves app on gold\n+15m expect gold-2 runs app 1.0.0"),
        ("gold-2 hangs on app 1.0.1", "maria approves app on gold\n+3h expect gold failed app 1.0.1"),
        ("gold breaks on app 1.0.1: oh", "maria approves app on gold\n+20m expect gold failed app 1.0.1"),
        ("gold-1 fails on app", "maria approves app on gold\n+1m expect not gold failed app 1.0.1"),
        ("gold-9 joins tier=gold", "maria approves app on gold\n+30m expect not gold failed app 1.0.1"),
        ("yank app 1.0.1", "expect app on gold says the source does not list 1.0.1 any more"),
        ("release app 1.0.2, breaking: new CRDs", "expect app on qa says its author marked it: new CRDs"),
        ("release app 1.0.2, same as 1.0.1", "expect app on qa says 1.0.2 is the same artefact as 1.0.1"),
        ("kim fails app on gold: no", "expect gold failed app 1.0.1"),
        ("kim drafts app on gold", "expect app on gold says the pull request is a draft"),
        (
            "kim drafts app on gold\n10:01 kim readies app on gold",
            "maria approves app on gold\n+1m expect gold merged app 1.0.1",
        ),
        ("check lint fails on app on gold", "expect app on gold says required checks failed: lint"),
        ("check lint runs on app on gold", "expect app on gold says required checks are missing or running: lint"),
        ("check lint passes on app on gold", "maria approves app on gold\n+1m expect gold merged app 1.0.1"),
        (
            "hub asks for reviews\nhub lets nobody bypass\nrelease app 1.0.2",
            "expect app on qa says no bypassing App is set up",
        ),
        ("ledger loses its end", "expect app on gold says the ledger branch has lost commit"),
        (
            "ledger loses its end\n10:01 pat rebuilds app on gold",
            "maria approves app on gold\n+1m expect gold merged app 1.0.1",
        ),
        ("kim commits app ^1.0 to gold", "expect app on gold says holds the range `^1.0`"),
        (
            "gold-1 lacks replicas for app 1.0.1",
            "expect app on gold says a required value is missing: `replicas` for gold-1",
        ),
        (
            "gold-1 lacks replicas for app 1.0.1\n10:01 gold-1 has replicas for app 1.0.1",
            "maria approves app on gold\n+1m expect gold merged app 1.0.1",
        ),
        ("gold-1 pulls other content of app", "maria approves app on gold\n+3h expect gold failed app 1.0.1"),
        ("gold-2 leaves", "maria approves app on gold\n+2h expect gold finished app 1.0.1"),
        ("hub falls silent", "expect app on gold says the hub does not answer"),
        (
            "policy becomes:\n  freeze: [{why: moved}]\n  tiers:\n    - {name: qa, select: {matchLabels: {tier: qa}}}\n    - {name: gold, select: {matchLabels: {tier: gold}}}",
            "expect app on gold says frozen: moved",
        ),
    ] {
        let story = tell(Path::new("my.story"), &format!("{}{climb}{event}\n{after}\n", with_admin()));
        assert!(story.kept, "{event}\n{}", story.text);
    }
}

#[test]
fn the_hour_is_that_of_the_zone() {
    let lines =
        "2026-10-24 09:00 release app 1.0.1\nSun 09:00 maria approves app on gold\n+70m expect gold finished app 1.0.1";
    let told = told(lines);
    assert!(told.kept, "{}", told.text);
    assert!(told.text.contains("Sun 25 Oct 2026\n  09:00  ▸ maria approves"), "{}", told.text);
}

#[test]
fn the_same_story_is_told_alike() {
    let lines = "2026-11-23 09:00 release app 1.0.1\n+3h maria approves app on gold\n+1d end";
    assert_eq!(told(lines).text, told(lines).text);
}

/// What keeps force off after the deadline: each alone.
#[test]
fn a_story_can_take_away_what_force_needs() {
    let head = HEAD.replace("soak: 1h}", "soak: 1h, force: {after: 2d, notice: [1d]}}");
    let tell = |event: &str, after: &str| {
        let lines = format!("2026-11-23 09:00 release app 1.0.1\n10:00 {event}\n+3d {after}\n");
        tell(Path::new("my.story"), &format!("{head}{lines}"))
    };
    assert!(tell("end", "expect gold forced app 1.0.1").kept);
    for (event, says) in [
        ("clock runs 45s ahead", "our clock and the hub's differ by 45 s"),
        ("ledger is open", "others can write the ledger branch unnoticed"),
        ("policy breaks: unknown key", "the newest policy file has errors (unknown key)"),
    ] {
        let told = tell(event, &format!("expect app on gold says {says}"));
        assert!(told.kept, "{event}\n{}", told.text);
    }
    for (event, back) in [("clock runs 45s ahead", "clock runs right"), ("ledger is open", "ledger is sealed")] {
        let told = tell(&format!("{event}\n10:01 {back}"), "expect gold forced app 1.0.1");
        assert!(told.kept, "{event}\n{}", told.text);
    }
}

/// Who may give which command is the policy's to say.
#[test]
fn people_have_the_rights_that_the_policy_gives_them() {
    for (rights, who, holds) in [
        ("{}", "kim", true),
        ("{}", "eve", false),
        ("{hold: codeOwners}", "kim", false),
        ("{hold: codeOwners}", "maria", true),
        ("{hold: admin}", "maria", false),
        ("{hold: admin}", "pat", true),
    ] {
        let head = with_admin().replace("policy:\n", &format!("policy:\n  people: {rights}\n"));
        let lines = format!(
            "2026-11-23 09:00 release app 1.0.1\n10:00 {who} holds app on gold\n10:01 maria approves app on gold\n10:02 end"
        );
        let told = tell(Path::new("my.story"), &format!("{head}{lines}\n"));
        assert_eq!(!told.text.contains("is merged by the bot: 1.0.1 on gold"), holds, "{rights} {who}\n{}", told.text);
    }
}

/// The operator's limits hold for the policy of a story, and for the one that it becomes.
#[test]
fn limits_of_the_operator_hold_in_a_story() {
    let limits = "limits:\n  windows: {zone: UTC, open: [\"Tue 09:00-10:00\"]}\npeople: kim";
    let head = HEAD.replace("people: kim", limits);
    let lines =
        "2026-11-23 12:00 release app 1.0.1\n12:30 expect app on qa says the window of the bot's operator is closed";
    let told = tell(Path::new("my.story"), &format!("{head}{lines}\nThu 12:00 expect qa merged app 1.0.1\n"));
    assert!(told.kept, "{}", told.text);
}
