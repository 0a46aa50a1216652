//! People outside of the hub are told what happens: once, also across a crash, and later where their chat
//! does not answer.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const OWNER: &str = "maria";
const SECRET: &str = "OPS_CHAT";
/// The path of the webhook's address: who knows it can write.
const PATH: &str = "/services/T0/B0/very-secret";

/// A chat that takes incoming webhooks, or is down.
#[derive(Clone, Default)]
struct Chat(Arc<Mutex<(bool, Vec<String>)>>);

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
    let chat = Chat::default();
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
    let remembered = |stage: &Stage| {
        let text = stage.world.github().file(REPOSITORY, "coldframe-notified", "notified.yaml").ok()??;
        text.contains("gate: hold").then_some(())
    };
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
    // Two processes may both tell it before one of them has remembered that: it has one id.
    let mut command = stage.command(&["serve"]);
    command.envs(settings).env("COLDFRAME_DATA", stage.folder.path().join("second"));
    let _second = stage.start_at(command, "127.0.0.1:0", "127.0.0.1:0");
    stage.until("bronze opens", |stage| stage.pull("cert-manager", "bronze").filter(is_open)).await;
    stage.until("it is told", got("dev.coldframe.upcoming", "cert-manager 1.15.0 on bronze")).await;
    let mut ids = std::collections::BTreeMap::new();
    for [id, _, _, body] in inbox.lock().unwrap().iter() {
        let event: serde_json::Value = serde_json::from_str(body).unwrap();
        let known = ids.insert((event["type"].to_string(), event["subject"].to_string()), id.clone());
        assert!(known.is_none_or(|known| known == *id), "{body} has another id than before");
    }
    assert!(ids.len() >= 2, "{ids:?}");
}
