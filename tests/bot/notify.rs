//! People outside of the pull requests are told what happens: once, also across a crash and by several processes, and later
//! where their chat does not answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;

use crate::support::{BOT, REPOSITORY, Stage, is_merged, is_open};

const OWNER: &str = "maria";
const SECRET: &str = "OPS_CHAT";
/// The path of the webhook's address: who knows it can write.
const PATH: &str = "/services/T0/B0/very-secret";

/// The branch that remembers how far people were told.
const NOTIFIED: &str = "coldframe-notified";
const MARK: &str = "notified.yaml";

/// A chat that takes incoming webhooks, or is down.
#[derive(Clone, Default)]
struct Chat(Arc<Mutex<(bool, Vec<String>)>>, Duration);

impl Chat {
    fn up(&self, up: bool) {
        self.0.lock().unwrap().0 = up;
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().1.clone()
    }

    /// Lines that say this.
    fn said(&self, words: &str) -> usize {
        self.lines().iter().filter(|line| line.contains(words)).count()
    }
}

async fn message(State(chat): State<Chat>, body: String) -> StatusCode {
    tokio::time::sleep(chat.1).await;
    let mut chat = chat.0.lock().unwrap();
    if !chat.0 {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    let message: serde_json::Value = serde_json::from_str(&body).unwrap();
    chat.1.extend(message["text"].as_str().unwrap().lines().map(ToOwned::to_owned));
    StatusCode::OK
}

/// Opens a chat, gives its address to the bot as a secret, and says in the policy file who is told what.
async fn open(stage: &Stage) -> (Chat, String) {
    open_slow(stage, Duration::ZERO).await
}

/// The same with a chat that takes its time for each message.
async fn open_slow(stage: &Stage, slow: Duration) -> (Chat, String) {
    let chat = Chat(Arc::default(), slow);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let router = Router::new().route(PATH, post(message)).with_state(chat.clone());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let id = stage.world.github().repository_id(REPOSITORY).unwrap();
    let folder = stage.secrets().join(id.to_string());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(SECRET), format!("http://{host}{PATH}\n")).unwrap();
    let notify = format!("notify: [{{slack: {{url: {{secret: {SECRET}}}}}, on: [upcoming, blocked, finished]}}]\n");
    stage.edit_policy("plugins:\n", &format!("{notify}plugins:\n"));
    (chat, host)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_thing_is_told_once_also_across_a_crash() {
    let stage = Stage::set().await;
    let (chat, host) = open(&stage).await;
    let (secrets, allowed) = (stage.secrets().display().to_string(), stage.allowed(&host));
    let settings = [("COLDFRAME_SECRETS", secrets.as_str()), ("COLDFRAME_ALLOW_HOSTS", allowed.as_str())];
    let bot = stage.serve_with(&settings);
    chat.up(true);
    let pull = stage.until("bronze opens", |stage| stage.pull("cert-manager", "bronze").filter(is_open)).await;
    stage.until("qa is told", |_| (chat.said("|cert-manager 1.15.0 on qa> has finished") == 1).then_some(())).await;
    assert_eq!(chat.said("cert-manager 1.15.0 on bronze* comes next: it soaks on qa"), 1, "{:?}", chat.lines());
    let link = format!("/{REPOSITORY}/pull/");
    assert!(chat.lines().iter().any(|line| line.contains(&link)), "{:?}", chat.lines());

    stage.world.github().comment(REPOSITORY, pull.number, OWNER, "/coldframe hold a customer's demo").unwrap();
    let held = "cert-manager 1.15.0 on bronze> does not go on: held by maria: a customer's demo";
    stage.until("the hold is told", |_| (chat.said(held) == 1).then_some(())).await;
    // Who is killed between the message and remembering it tells it once more.
    let remembered = |stage: &Stage| marked(stage).filter(|text| text.contains("gate: hold")).map(drop);
    stage.until("it is remembered", remembered).await;
    drop(bot);
    let _bot = stage.serve_with(&settings);
    stage.never(6, "it was told again", |_| chat.said(held) != 1).await;

    // A chat that is down keeps nothing from going on, and is told later.
    chat.up(false);
    stage.world.github().comment(REPOSITORY, pull.number, OWNER, "/coldframe resume").unwrap();
    stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    stage.until("bronze is merged", |stage| stage.pull("cert-manager", "bronze").filter(is_merged)).await;
    stage.until("silver opens", |stage| stage.pull("cert-manager", "silver").filter(is_open)).await;
    let done = "cert-manager 1.15.0 on bronze> has finished";
    assert_eq!(chat.said(done), 0);
    stage.until("the log says so", |stage| stage.logged().contains("answered 503").then_some(())).await;
    chat.up(true);
    stage.until("it is told now", |_| (chat.said(done) == 1).then_some(())).await;
    let log = stage.whole_log();
    assert!(!log.contains("very-secret"), "the address is a secret: {log}");
}

fn marked(stage: &Stage) -> Option<String> {
    stage.world.github().file(REPOSITORY, NOTIFIED, MARK).ok()?
}

/// What the chat was told of what the ledger says, and how often.
fn counted(chat: &Chat) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for line in chat.lines().into_iter().filter(|line| !line.contains("does not go on")) {
        *counted.entry(line).or_default() += 1;
    }
    counted
}

#[tokio::test(flavor = "multi_thread")]
async fn f38_of_two_processes_one_tells_each_thing() {
    let stage = Stage::set().await;
    let (chat, host) = open_slow(&stage, Duration::from_secs(3)).await;
    chat.up(true);
    let (secrets, allowed) = (stage.secrets().display().to_string(), stage.allowed(&host));
    let settings = [("COLDFRAME_SECRETS", secrets.as_str()), ("COLDFRAME_ALLOW_HOSTS", allowed.as_str())];
    let _first = stage.serve_with(&settings);
    let mut second = stage.command(&["serve"]);
    second.envs(settings).env("COLDFRAME_DATA", stage.folder.path().join("second"));
    let _second = stage.start_at(second, "127.0.0.1:0", "127.0.0.1:0");
    let plugins = ["cert-manager", "kube-state-metrics"];
    for tier in ["bronze", "silver"] {
        for plugin in plugins {
            let pull = stage.until("it opens", |stage| stage.pull(plugin, tier).filter(is_open)).await;
            stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
        }
    }
    let finished =
        |tier: &str| counted(&chat).keys().filter(|line| line.ends_with(&format!("on {tier}> has finished"))).count();
    stage.until("they have finished silver", |_| (finished("silver") >= plugins.len()).then_some(())).await;
    // What would still be told twice, is told now.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let counted = counted(&chat);
    assert!(counted.len() >= 10, "{counted:#?}");
    assert!(counted.values().all(|times| *times == 1), "{counted:#?}");
    let pushes = stage.world.github().log(REPOSITORY, NOTIFIED).unwrap();
    let claims = pushes.iter().filter(|commit| commit.message.starts_with("Who tells people now")).count();
    assert!(claims <= counted.len() && pushes.len() <= 3 * counted.len() + 6, "{claims} of {}", pushes.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn f38_what_a_dead_process_has_claimed_another_tells_later_and_no_claim_holds_for_long() {
    let stage = Stage::set().await;
    let (chat, host) = open(&stage).await;
    let (secrets, allowed) = (stage.secrets().display().to_string(), stage.allowed(&host));
    let settings = [("COLDFRAME_SECRETS", secrets.as_str()), ("COLDFRAME_ALLOW_HOSTS", allowed.as_str())];
    let bot = stage.serve_with(&settings);
    stage.until("bronze opens", |stage| stage.pull("cert-manager", "bronze").filter(is_open)).await;
    stage.until("the chat is down", |stage| stage.logged().contains("answered 503").then_some(())).await;
    drop(bot);
    chat.up(true);
    let claimed = |at: jiff::Timestamp| {
        let text = marked(&stage).unwrap();
        let kept = text.find("claim:\n").map_or(text.as_str(), |from| &text[..from]);
        let text = format!("{kept}claim:\n  by: 0011223344556677\n  at: {at}\n");
        stage.world.github().push_file(REPOSITORY, NOTIFIED, "vera", MARK, &text, "Mine").unwrap();
    };
    let ago = |seconds: i64| jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds);
    let done = "cert-manager 1.15.0 on qa> has finished";
    // It has twenty seconds left.
    claimed(ago(100));
    let begun = std::time::Instant::now();
    let bot = stage.serve_with(&settings);
    stage.never(10, "it was told while another process had it", |_| chat.said(done) > 0).await;
    stage.until("its time is up", |_| (chat.said(done) == 1).then_some(())).await;
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    // Who is killed between the message and remembering it tells it once more.
    let remembered = |stage: &Stage| marked(stage).is_some_and(|text| !text.contains("claim:")).then_some(());
    stage.until("it is remembered", remembered).await;
    drop(bot);
    // A claim from the future is none.
    let pull = stage.pull("cert-manager", "bronze").unwrap();
    stage.world.github().comment(REPOSITORY, pull.number, OWNER, "/coldframe hold a demo").unwrap();
    claimed(ago(-86_400));
    let _bot = stage.serve_with(&settings);
    let begun = std::time::Instant::now();
    stage.until("the hold is told", |_| (chat.said("held by maria: a demo") == 1).then_some(())).await;
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!(chat.said(done), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issue_gets_a_comment_for_each_thing_and_a_team_is_told() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let number = github.open_issue(REPOSITORY, "vera", "What happens", "").unwrap();
    let issue = format!("{{number: {number}, mention: [acme/platform]}}");
    let notify = format!(
        "notify:\n  - {{issue: {issue}, on: [upcoming, finished]}}\n  - {{issue: {{number: 999}}, on: [finished]}}\n"
    );
    stage.edit_policy("plugins:\n", &format!("{notify}plugins:\n"));
    let bot = stage.serve();
    let comments = |stage: &Stage| {
        let all = stage.world.github().comments(REPOSITORY).unwrap();
        all.into_iter().filter(|comment| comment.number == number).collect::<Vec<_>>()
    };
    let said = |stage: &Stage, words: &str| {
        comments(stage).iter().flat_map(|comment| comment.body.lines()).filter(|line| line.contains(words)).count()
    };
    let done = "- [cert-manager 1.15.0 on qa](";
    stage.until("it is told there", |stage| (said(stage, done) == 1).then_some(())).await;
    stage.until("an issue that is not there", |stage| stage.logged().contains("#999: ").then_some(())).await;
    // Who dies between the comment and remembering it finds it.
    let before = stage.world.github().log(REPOSITORY, NOTIFIED).unwrap();
    drop(bot);
    let first = &before.last().unwrap().sha;
    github.force_branch(REPOSITORY, NOTIFIED, "vera", Some(first)).unwrap();
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull("cert-manager", "bronze").filter(is_open)).await;
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    let next = "- [cert-manager 1.15.0 on bronze](";
    stage.until("more happens", |stage| (said(stage, next) == 1).then_some(())).await;
    assert_eq!(said(&stage, done), 1, "{:#?}", comments(&stage));
    for comment in comments(&stage) {
        assert_eq!(
            (comment.author.as_str(), comment.created_at),
            (BOT, comment.updated_at),
            "nobody is told of an edit"
        );
        let told = github.told();
        let told = told.iter().find(|told| told.comment == comment.id && told.who == OWNER).map(|told| told.why);
        assert_eq!(told, Some("team_mention"), "{}", comment.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_takes_the_secret_from_its_own_environment_and_says_when_there_is_none() {
    let stage = Stage::set().await;
    let (chat, host) = open(&stage).await;
    chat.up(true);
    let run = |secret: Option<String>| {
        let mut command = stage.command(&["once"]);
        command.env("COLDFRAME_ALLOW_HOSTS", stage.allowed(&host));
        command.envs(secret.map(|value| (format!("COLDFRAME_SECRET_{SECRET}"), value)));
        command.output().unwrap()
    };
    let address = format!("http://{host}{PATH}");
    stage
        .until("qa has finished", |_| {
            let run = run(Some(address.clone()));
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
            (chat.said("cert-manager 1.15.0 on qa> has finished") == 1).then_some(())
        })
        .await;
    let pull = stage.until("bronze opens", |stage| stage.pull("cert-manager", "bronze").filter(is_open)).await;
    stage.world.github().comment(REPOSITORY, pull.number, OWNER, "/coldframe hold a demo").unwrap();
    let without = run(None);
    let said = String::from_utf8_lossy(&without.stderr).into_owned();
    assert!(!without.status.success(), "nobody would see it");
    assert!(said.contains("gives this repository no secret OPS_CHAT: set COLDFRAME_SECRET_OPS_CHAT"), "{said}");
    assert!(run(Some(address)).status.success());
    assert_eq!(chat.said("held by maria: a demo"), 1, "{:?}", chat.lines());
}

/// A program that keeps what it is sent: an id, a time, a signature, and the event.
type Inbox = Arc<Mutex<Vec<[String; 4]>>>;

async fn event(State(inbox): State<Inbox>, headers: axum::http::HeaderMap, body: String) -> StatusCode {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    assert_eq!(said("content-type"), "application/cloudevents+json");
    inbox.lock().unwrap().push([said("webhook-id"), said("webhook-timestamp"), said("webhook-signature"), body]);
    StatusCode::NO_CONTENT
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_gets_signed_events_and_knows_which_it_has() {
    let stage = Stage::set().await;
    let inbox = Inbox::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let router = Router::new().route(PATH, post(event)).with_state(inbox.clone());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let id = stage.world.github().repository_id(REPOSITORY).unwrap();
    let folder = stage.secrets().join(id.to_string());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("EVENTS"), format!("http://{host}{PATH}\n")).unwrap();
    std::fs::write(folder.join("EVENTS_KEY"), "whsec_c2VjcmV0IG9mIHRoZSBldmVudHM=\n").unwrap();
    let notify = "notify: [{webhook: {url: {secret: EVENTS}, key: {secret: EVENTS_KEY}}, on: [upcoming, finished]}]\n";
    stage.edit_policy("plugins:\n", &format!("{notify}plugins:\n"));
    let (secrets, allowed) = (stage.secrets().display().to_string(), stage.allowed(&host));
    let settings = [("COLDFRAME_SECRETS", secrets.as_str()), ("COLDFRAME_ALLOW_HOSTS", allowed.as_str())];
    let _bot = stage.serve_with(&settings);
    let got = |kind: &'static str, subject: &'static str| {
        let inbox = inbox.clone();
        move |_: &Stage| {
            let all = inbox.lock().unwrap();
            let mut events = all.iter().map(|[id, time, signature, body]| {
                (id, time, signature, body, serde_json::from_str::<serde_json::Value>(body).unwrap())
            });
            let found = events.find(|(.., event)| event["type"] == kind && event["subject"] == subject);
            found.map(|(id, time, signature, body, event)| {
                assert_eq!(event["id"], id.as_str());
                (id.clone(), time.clone(), signature.clone(), body.clone())
            })
        }
    };
    let finished = got("dev.coldframe.finished", "cert-manager 1.15.0 on qa");
    let (id, time, signature, body) = stage.until("qa has finished", finished).await;
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, b"secret of the events");
    let tag = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, &signature["v1,".len()..]).unwrap();
    aws_lc_rs::hmac::verify(&key, format!("{id}.{time}.{body}").as_bytes(), &tag).unwrap();
    // Told twice, after a crash or by two processes, it has one id.
    let mut command = stage.command(&["serve"]);
    command.envs(settings).env("COLDFRAME_DATA", stage.folder.path().join("second"));
    let _second = stage.start_at(command, "127.0.0.1:0", "127.0.0.1:0");
    stage.until("bronze opens", |stage| stage.pull("cert-manager", "bronze").filter(is_open)).await;
    stage.until("it is told", got("dev.coldframe.upcoming", "cert-manager 1.15.0 on bronze")).await;
    let mut ids = BTreeMap::new();
    for [id, _, _, body] in inbox.lock().unwrap().iter() {
        let event: serde_json::Value = serde_json::from_str(body).unwrap();
        let known = ids.insert((event["type"].to_string(), event["subject"].to_string()), id.clone());
        assert!(known.is_none_or(|known| known == *id), "{body} has another id than before");
    }
    assert!(ids.len() >= 2, "{ids:?}");
}
