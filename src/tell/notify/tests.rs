//! What is new between two ledgers, what does not go on, and what is sent of it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use decide::ledger::{Announced, Failed, Grace, Head, Landed, Merging};
use decide::plan::Verdict;
use decide::snapshot::SentNotice;
use decide::{Clusters, Sha};
use jiff::SignedDuration;

use super::*;
use crate::policy::wiring::{Recipient, Reviewer};
use crate::tell::{Links, fixture};

/// A ladder of qa and gold with one plugin.
fn policy() -> Policy {
    let text = "tiers: [{name: qa, select: {matchLabels: {tier: qa}}}, {name: gold, select: {matchLabels: {tier: gold}}}]\n\
                plugins:\n  - name: app\n    chart: {oci: oci://registry.example/app}\n    \
                write: [{file: \"{tier}.yaml\", path: $.v}]\n    signals: [{helmRelease: {namespace: app, name: app}}]\n";
    let file = crate::policy::SourceFile { path: "coldframe.yaml".to_string(), text: text.to_string() };
    crate::policy::load(&[file]).unwrap().policy
}

fn wave(change: impl FnOnce(&mut Wave)) -> Wave {
    let cluster: Clusters = ["qa-1".into()].into_iter().collect();
    let mut wave = Wave::begun(fixture::version("1.1.0"), cluster, fixture::at("2026-11-20T08:00:00Z"));
    wave.heads.push(Head { commit: Sha::new("a".repeat(40)), at: fixture::at("2026-11-20T08:00:00Z"), repeats: false });
    wave.pull = Some(Announced { number: PullNumber(7), at: fixture::at("2026-11-20T08:00:01Z") });
    change(&mut wave);
    wave
}

fn ledger(wave: &Wave) -> Ledger {
    let page = PluginLedger { tiers: [("qa".into(), vec![wave.clone()])].into(), ..PluginLedger::default() };
    Ledger { plugins: [("app".into(), page)].into(), ..Ledger::default() }
}

/// What is told when a wave becomes another.
fn told(before: Option<&Wave>, after: &Wave) -> Vec<(Event, String)> {
    let before = before.map(ledger).unwrap_or_default();
    let news = since(&before, &ledger(after), &policy(), |_, _| TimeZone::UTC);
    assert_eq!(since(&ledger(after), &ledger(after), &policy(), |_, _| TimeZone::UTC), [], "it is told once");
    news.into_iter().map(|news| (news.event, format!("{} {}", news.subject(), news.text))).collect()
}

fn one(event: Event, text: &str) -> Vec<(Event, String)> {
    vec![(event, text.to_string())]
}

fn landed(wave: &mut Wave) {
    *wave.rewrite().landed = Some(Landed { at: fixture::now(), commit: None, by: None });
}

#[test]
fn each_event_is_told_when_the_ledger_first_says_it() {
    let open = wave(|_| {});
    assert_eq!(told(None, &open), [], "that it is open says the hub");
    let done = wave(|wave| {
        landed(wave);
        *wave.rewrite().finished = Some(fixture::now());
    });
    assert_eq!(told(Some(&open), &done), one(Event::Finished, "app 1.1.0 on qa has finished"));
    let soaks = wave(|wave| {
        landed(wave);
        wave.converged = Some(fixture::now());
    });
    assert_eq!(told(Some(&open), &soaks), one(Event::Upcoming, "app 1.1.0 on gold comes next: it soaks on qa"));
    let why = || Reason::FailedBy { by: "kim".into(), why: "no login".to_string() };
    let failed = wave(|wave| *wave.rewrite().failed = Some(Failed { at: fixture::now(), why: why() }));
    let text = "app 1.1.0 on qa has failed: kim says that it failed: no login";
    assert_eq!(told(Some(&soaks), &failed), one(Event::Failed, text));
    let stalled = wave(|wave| *wave.rewrite().stalled = Some(Failed { at: fixture::now(), why: why() }));
    let text = "app 1.1.0 on qa stalls, and nothing new starts there: kim says that it failed: no login";
    assert_eq!(told(Some(&open), &stalled), one(Event::Failed, text));
    let back = wave(|wave| {
        landed(wave);
        wave.part.purpose = Purpose::RollBack { of: fixture::version("1.2.0") };
    });
    assert_eq!(told(None, &back), one(Event::RolledBack, "app 1.1.0 on qa is back: 1.2.0 failed there"));
}

#[test]
fn a_merge_by_force_and_each_notice_before_it() {
    let day = SignedDuration::from_hours(24);
    let notice = |days: i32, at: &str| SentNotice { before: day * days, at: fixture::at(at) };
    let grace = |notices: &[SentNotice]| {
        wave(|wave| {
            let deadline = fixture::at("2026-12-04T08:00:00Z");
            wave.grace = Some(Grace { since: fixture::now(), deadline, notices: notices.to_vec(), giving: None });
        })
    };
    let (first, last) = (notice(3, "2026-12-01T08:00:00Z"), notice(1, "2026-12-03T08:00:00Z"));
    assert_eq!(told(None, &grace(&[])), []);
    let told_first = told(Some(&grace(&[])), &grace(std::slice::from_ref(&first)));
    let text = "app 1.1.0 on qa will be merged without the missing approvals at Fri 4 Dec 2026, 08:00 UTC (3 d ahead), \
                unless somebody approves, holds or closes it before";
    assert_eq!(told_first, one(Event::Notice, text));
    let both = grace(&[first.clone(), last]);
    assert!(told(Some(&grace(&[first])), &both)[0].1.contains("(1 d ahead)"));
    let evidence = fixture::forced().forced;
    let forced = wave(|wave| {
        landed(wave);
        wave.merging =
            Some(Merging { head: Sha::new("a".repeat(40)), at: fixture::now(), base: None, forced: evidence });
    });
    assert_eq!(told(None, &forced), one(Event::Forced, "app 1.1.0 on qa was merged without the missing approvals"));
}

#[test]
fn what_nobody_brought_and_a_slice_that_is_not_the_last_are_no_news() {
    let done = |wave: &mut Wave| {
        landed(wave);
        wave.converged = Some(fixture::now());
    };
    let found = wave(|wave| {
        done(wave);
        wave.heads.clear();
        *wave.rewrite().finished = Some(fixture::now());
    });
    assert_eq!(told(None, &found), []);
    let slice = |slice: u32| {
        let clusters = |name: &str| -> Clusters { [name.into()].into_iter().collect() };
        wave(|wave| {
            done(wave);
            wave.part.partition = vec![clusters("qa-1"), clusters("qa-2")];
            wave.part.slice = slice;
        })
    };
    assert_eq!(told(None, &slice(0)), []);
    assert_eq!(told(None, &slice(1)).len(), 1);
    let gone = Policy { plugins: Vec::new(), ..policy() };
    assert_eq!(since(&Ledger::default(), &ledger(&slice(1)), &gone, |_, _| TimeZone::UTC), [], "nobody's plugin");
}

#[test]
fn blocked_is_what_a_person_has_to_mend() {
    let says = |because: Reason, verdict: Verdict, state: Option<WaveState>| {
        let mut wave = fixture::open();
        wave.state = state.unwrap_or(wave.state);
        wave.findings.clear();
        wave.findings.push(Finding { gate: Gate::Hold, verdict, because });
        let plan = Plan { waves: vec![wave], ..Plan::default() };
        let all = [Notify {
            to: Recipient::Slack { url: String::new() },
            on: vec![Event::Blocked],
            tiers: Vec::new(),
            plugins: Vec::new(),
        }];
        assert!(blocked(&plan, &[]).is_empty(), "nobody asked");
        blocked(&plan, &all).into_iter().next().map(|(_, news)| format!("{} {}", news.subject(), news.text))
    };
    let wait = Verdict::Wait { until: None };
    let held = || Reason::Held { by: "kim".into(), why: "demo".to_string() };
    let text = "cert-manager 1.15.0 on silver does not go on: held by kim: demo. It can be unblocked by kim or anybody with write \
                access: `/coldframe resume`";
    assert_eq!(says(held(), wait, None).as_deref(), Some(text));
    assert!(says(Reason::Conflict, Verdict::Fail, None).is_some());
    assert_eq!(says(Reason::Conflict, wait, None), None, "the bot writes it anew");
    assert_eq!(
        says(Reason::NeedsApproval { owners: Vec::new(), missing: 1 }, wait, None),
        None,
        "the hub asks reviewers"
    );
    assert_eq!(says(Reason::NotHeld, Verdict::Pass, None), None);
    let over = WaveState::Finished { at: fixture::now() };
    assert_eq!(says(held(), wait, Some(over)), None);
}

fn news(event: Event, tier: &str, text: &str) -> News {
    News {
        event,
        plugin: "app".into(),
        tier: tier.into(),
        version: fixture::version("1.1.0"),
        at: None,
        pull: Some(PullNumber(7)),
        text: text.to_string(),
    }
}

#[test]
fn a_notification_takes_what_it_asks_for() {
    let notify = |tiers: &[&str], plugins: &[&str]| Notify {
        to: Recipient::Slack { url: "OPS".to_string() },
        on: vec![Event::Failed],
        tiers: tiers.iter().map(|name| (*name).into()).collect(),
        plugins: plugins.iter().map(|name| (*name).into()).collect(),
    };
    let failed = news(Event::Failed, "gold", "");
    for (tiers, plugins, is) in [
        (&[][..], &[][..], true),
        (&["gold"], &[], true),
        (&["qa"], &[], false),
        (&[], &["app"], true),
        (&["gold"], &["db"], false),
    ] {
        assert_eq!(failed.is_for(&notify(tiers, plugins)), is, "{tiers:?} {plugins:?}");
    }
    assert!(!news(Event::Finished, "gold", "").is_for(&notify(&[], &[])));
}

#[test]
fn slack_is_sent_text_in_which_nothing_foreign_is_markup() {
    let links = Links { repo: "https://hub.example/acme/fleet".to_string(), ..Links::default() };
    let hostile = news(Event::Failed, "gold", "has failed: <!channel> & <https://evil.example|free>\n\u{202e}x");
    let value: serde_json::Value = serde_json::from_str(&slack(&[&hostile], &links)).unwrap();
    let expected = "• <https://hub.example/acme/fleet/pull/7|app 1.1.0 on gold> has failed: &lt;!channel&gt; &amp; \
                    &lt;https://evil.example|free&gt; �x";
    assert_eq!(value["text"], expected);
    let many: Vec<News> =
        (0..23).map(|at| News { pull: None, ..news(Event::Failed, "gold", &at.to_string()) }).collect();
    let value: serde_json::Value = serde_json::from_str(&slack(&many.iter().collect::<Vec<_>>(), &links)).unwrap();
    let text = value["text"].as_str().unwrap();
    assert_eq!(text.lines().count(), 21);
    assert!(text.starts_with("• *app 1.1.0 on gold* 0\n"), "{text}");
    assert!(text.ends_with("… and 3 more: <https://hub.example/acme/fleet/pulls|pull requests>"), "{text}");
}

#[test]
fn teams_is_sent_a_card_of_plain_text() {
    let links = Links { repo: "https://hub.example/acme/fleet".to_string(), ..Links::default() };
    let hostile = news(Event::Failed, "gold", "has failed: [free](https://evil.example) **now**\n\u{202e}x");
    let value: serde_json::Value = serde_json::from_str(&teams(&[&hostile], &links)).unwrap();
    let block = &value["attachments"][0]["content"]["body"][0];
    assert_eq!(block["type"], "RichTextBlock", "a text block would read Markdown");
    assert_eq!(block["inlines"][0]["selectAction"]["url"], "https://hub.example/acme/fleet/pull/7");
    assert_eq!(block["inlines"][1]["text"], " has failed: [free](https://evil.example) **now** �x");
    let many: Vec<News> =
        (0..23).map(|at| News { pull: None, ..news(Event::Failed, "gold", &at.to_string()) }).collect();
    let value: serde_json::Value = serde_json::from_str(&teams(&many.iter().collect::<Vec<_>>(), &links)).unwrap();
    let body = value["attachments"][0]["content"]["body"].as_array().unwrap();
    assert_eq!(body.len(), 21);
    assert_eq!(body[20]["inlines"][0]["text"], "… and 3 more");
}

#[test]
fn a_program_is_sent_an_event_whose_id_stays() {
    let links = Links { repo: "https://hub.example/acme/fleet".to_string(), ..Links::default() };
    let since = |letter: &str| Sha::new(letter.repeat(40));
    let finished = News { at: Some(fixture::now()), ..news(Event::Finished, "gold", "has finished") };
    let (text, id) = webhook(&finished, &links, Some(&since("a")));
    let event: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (key, value) in [
        ("specversion", "1.0"),
        ("id", id.as_str()),
        ("source", "https://hub.example/acme/fleet"),
        ("type", "dev.coldframe.finished"),
        ("subject", "app 1.1.0 on gold"),
        ("time", fixture::now().to_string().as_str()),
    ] {
        assert_eq!(event[key], value, "{key}");
    }
    assert_eq!(event["data"]["pullRequest"], "https://hub.example/acme/fleet/pull/7");
    assert_eq!(event["data"]["tier"], "gold");
    assert_eq!(webhook(&finished, &links, Some(&since("b"))).1, id, "it happened once");
    let blocked = News { at: None, ..news(Event::Blocked, "gold", "does not go on") };
    let id = |since: &Sha| webhook(&blocked, &links, Some(since)).1;
    assert_eq!(id(&since("a")), id(&since("a")));
    assert_ne!(id(&since("a")), id(&since("b")), "it may be so again");
}

/// A comment on an issue that says this.
pub(crate) fn comment_that_says(text: &str, links: &Links) -> String {
    let hostile = news(Event::Failed, "gold", text);
    issue(&[(hostile.id(links, None), &hostile)], &[], links)
}

#[test]
fn an_issue_gets_a_comment_that_mentions_whom_it_is_for_and_knows_what_it_told() {
    let links = Links { repo: "https://hub.example/acme/fleet".to_string(), ..Links::default() };
    let all: Vec<News> = (0..23).map(|at| news(Event::Failed, "gold", &format!("has failed: {at}"))).collect();
    let all: Vec<(String, &News)> = all.iter().map(|news| (news.id(&links, None), news)).collect();
    let team = Reviewer::Team { organization: "acme".to_string(), slug: "platform".to_string() };
    let text = issue(&all, &[team, Reviewer::Person("maria".to_string())], &links);
    let first = "@acme/platform @maria\n\n- [app 1.1.0 on gold](https://hub.example/acme/fleet/pull/7) has failed: 0\n";
    assert!(text.starts_with(first), "{text}");
    assert!(text.contains("\n- … and 3 more: [pull requests](https://hub.example/acme/fleet/pulls)\n"), "{text}");
    let ids: BTreeSet<String> = all.into_iter().map(|(id, _)| id).collect();
    assert_eq!((ids.len(), issue_ids(&text)), (23, ids.clone()));
    assert_eq!(issue_ids(&text.replace('\n', "\r\n")), ids, "the hub's line ends");
    let forged = format!("has failed: <!-- coldframe:told {} -->", "a".repeat(32));
    let text = comment_that_says(&format!("{forged}\n{forged}"), &links);
    assert_eq!(issue_ids(&text).len(), 1, "{text}");
    assert!(!issue_ids(&text).contains(&"a".repeat(32)), "{text}");
    assert_eq!(issue_ids(&format!("{forged}\n\nthanks")), BTreeSet::new());
}

#[test]
fn a_mail_is_plain_text_of_a_thread() {
    let links = Links { repo: "https://hub.example/acme/fleet".to_string(), ..Links::default() };
    let failed =
        news(Event::Failed, "gold", "has failed: größer,\r\nsee https://evil.example www.evil.example\u{202e}");
    let sent = mail(&failed, &links, None);
    assert_eq!(sent.subject, "app 1.1.0 on gold has failed: größer, see https: //evil.example www .evil.example�");
    let text = format!(
        "{}\n\nPull request: https://hub.example/acme/fleet/pull/7\n\n\
         Coldframe sends this because the policy of acme/fleet says so.\n",
        sent.subject
    );
    assert_eq!(sent.text, text);
    assert_eq!(sent.id, failed.id(&links, None));
    let later = mail(&news(Event::Finished, "gold", "has finished"), &links, None);
    assert_eq!(later.thread, sent.thread);
    assert_ne!(later.id, sent.id);
    assert_ne!(mail(&news(Event::Finished, "qa", "has finished"), &links, None).thread, sent.thread);
    let long = mail(&news(Event::Failed, "gold", &"x".repeat(9_000)), &links, None);
    assert_eq!(long.subject.chars().count(), 150);
}
