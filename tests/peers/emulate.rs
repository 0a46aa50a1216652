//! A stateful GitHub that others wrote (npm `emulate`) beside the sandbox's: the bot signs in there as an App, its
//! webhooks are believed, and what the bot writes is answered there as in the sandbox, but for what is listed.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use coldframe::metrics::Metrics;
use coldframe::secret::Secret;
use coldframe::wake::Bell;
use coldframe::wake::webhook::router;
use serde_json::{Value, json};

use crate::peers::{Running, here, node, serve};
use crate::town::{REPO, Town};

const SECRET: &str = "emulated";

/// Where both answer otherwise, and what GitHub does, as its description of the API has it.
const DIFFERENT: [(&str, &str); 13] = [
    ("open again", "422: one pull request for a head and a base"),
    ("open what is not there", "422: the head has to be a branch"),
    ("check", "a check run says whose App wrote it"),
    ("check of a person", "403: Apps alone write check runs"),
    ("check again", "as `check`"),
    ("checks", "there is none of a person"),
    ("own approval", "422: nobody approves their own pull request"),
    ("approval", "200"),
    ("reviews", "the bot has not approved its own"),
    ("files", "the other one compares no contents"),
    ("merge another head", "409: the head is not the one that was named"),
    ("merge again", "405: it is not open"),
    ("branch away again", "422: the reference does not exist"),
];

/// Somebody to be asked, and what was answered.
struct Server {
    base: String,
    tokens: BTreeMap<&'static str, String>,
    /// What stands for values that differ by their nature.
    names: BTreeMap<String, &'static str>,
    said: Vec<(&'static str, String)>,
    http: reqwest::Client,
}

impl Server {
    /// Somebody asks; the status and these places of the answer are kept under the step's name.
    async fn does(&mut self, step: &'static str, who: &str, ask: (&str, &str), body: Value, places: &[&str]) -> Value {
        let (method, path) = (ask.0, ask.1.replace('~', "/repos/acme/config"));
        let verb = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.http.request(verb, format!("{}{path}", self.base)).bearer_auth(&self.tokens[who]);
        let request = if body.is_null() { request } else { request.json(&body) };
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default();
        let picked: Vec<String> = places
            .iter()
            .map(|place| {
                let text = answer.pointer(place).map_or_else(|| "absent".to_owned(), Value::to_string);
                let named = self.names.iter().find(|(value, _)| text.trim_matches('"') == value.as_str());
                format!("{place}={}", named.map_or(text.as_str(), |(_, name)| name))
            })
            .collect();
        self.said.push((step, format!("{status} {}", picked.join(" "))));
        answer
    }

    fn name(&mut self, value: &Value, name: &'static str) -> String {
        let text = value.as_str().unwrap().to_owned();
        self.names.insert(text.clone(), name);
        text
    }
}

/// The town's sandbox, and the other one with the same App; what the bot counts of its webhooks.
async fn both() -> (Town, Server, Server, Metrics, Running) {
    let town = Town::build().await;
    let metrics = Metrics::new();
    let host = serve(router(Bell::default(), &[Secret::new(SECRET)], metrics.clone())).await;
    let port = demo::free_port().unwrap();
    let given = json!({
        "port": port, "app": town.bot.id, "key": town.bot.key_pem, "installation": town.bot.installation_id,
        "people": ["alice", "bob", "carol"], "webhook": format!("http://{host}/webhook"), "secret": SECRET,
    });
    let child = node().arg(here().join("emulate.mjs")).arg(given.to_string()).stdout(Stdio::null()).spawn().unwrap();
    let running = Running(child);
    let server = |base: String, tokens| {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Server { base, tokens, names: BTreeMap::new(), said: Vec::new(), http }
    };
    let ours = server(format!("{}/api/v3", town.hub.url()), town.tokens.clone());
    let people = ["alice", "bob", "carol"].map(|login| (login, format!("of-{login}")));
    let mut tokens = BTreeMap::from(people);
    tokens.insert("app", town.tokens["app"].clone());
    let mut theirs = server(format!("http://127.0.0.1:{port}/api/v3"), tokens);
    for _ in 0..300 {
        if theirs.http.get(&theirs.base).send().await.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let path = format!("/app/installations/{}/access_tokens", town.bot.installation_id);
    let minted = theirs.does("sign in", "app", ("POST", &path), json!({}), &[]).await;
    theirs.tokens.insert("bot", minted["token"].as_str().unwrap().to_owned());
    theirs.said.clear();
    let content = STANDARD.encode("version: 1.0.0\n");
    let file = json!({"message": "Begin", "content": content, "branch": "main"});
    theirs.does("begin", "carol", ("PUT", "~/contents/clusters/qa/app.yaml"), file, &[]).await;
    theirs.said.clear();
    (town, ours, theirs, metrics, running)
}

/// What the bot and the people around it write for one promotion.
async fn promotion(to: &mut Server) {
    to.does(
        "repository",
        "bot",
        ("GET", "~"),
        Value::Null,
        &["/full_name", "/owner/login", "/default_branch", "/archived"],
    )
    .await;
    let main = to.does("base", "bot", ("GET", "~/git/ref/heads/main"), Value::Null, &["/ref", "/object/type"]).await;
    let main = to.name(&main["object"]["sha"], "BASE");
    let branch = json!({"ref": "refs/heads/coldframe/app/qa", "sha": main});
    to.does("branch", "bot", ("POST", "~/git/refs"), branch.clone(), &["/ref", "/object/sha"]).await;
    to.does("branch again", "bot", ("POST", "~/git/refs"), branch, &["/message"]).await;
    let file = ("PUT", "~/contents/clusters/qa/app.yaml");
    let blob = to.does("file", "bot", ("GET", file.1), Value::Null, &["/path", "/encoding", "/type"]).await;
    let bump = json!({
        "message": "Bump", "content": STANDARD.encode("version: 1.1.0\n"), "branch": "coldframe/app/qa", "sha": blob["sha"],
    });
    let commit = to.does("commit", "bot", file, bump.clone(), &["/content/path", "/commit/message"]).await;
    to.does("commit on a blob that is gone", "bot", file, bump, &[]).await;
    let head = to.name(&commit["commit"]["sha"], "HEAD");
    let open = json!({"title": "app 1.1.0 → qa", "head": "coldframe/app/qa", "base": "main", "body": "why"});
    let of_pull = [
        "/number",
        "/state",
        "/title",
        "/body",
        "/draft",
        "/merged",
        "/user/login",
        "/user/type",
        "/head/ref",
        "/head/sha",
        "/base/ref",
        "/base/sha",
        "/head/repo/full_name",
    ];
    let pull = to.does("open", "bot", ("POST", "~/pulls"), open.clone(), &of_pull).await;
    let number = &pull["number"];
    to.does("open again", "bot", ("POST", "~/pulls"), open, &["/message", "/errors/0/message"]).await;
    let absent = json!({"title": "t", "head": "absent", "base": "main"});
    to.does("open what is not there", "bot", ("POST", "~/pulls"), absent, &["/message"]).await;
    let one = format!("~/pulls/{number}");
    let text = json!({"title": "app 1.1.0 → qa (1 of 4)", "body": "because"});
    to.does("edit", "bot", ("PATCH", &one), text, &["/title", "/body", "/state"]).await;
    checks(to, &head).await;
    words(to, number).await;
    merge(to, &one, &head).await;
}

async fn checks(to: &mut Server, head: &str) {
    let output = json!({"title": "Waiting: 1 of 9 gates (approvals)", "summary": "why"});
    let run = json!({
        "name": "coldframe", "head_sha": head, "status": "completed", "conclusion": "action_required",
        "external_id": "mark", "output": output,
    });
    let of_run = ["/name", "/head_sha", "/status", "/conclusion", "/external_id", "/output/title", "/app/slug"];
    let made = to.does("check", "bot", ("POST", "~/check-runs"), run.clone(), &of_run).await;
    to.does("check of a person", "bob", ("POST", "~/check-runs"), run, &[]).await;
    let green = json!({"conclusion": "success", "output": {"title": "May merge", "summary": "now"}});
    let path = format!("~/check-runs/{}", made["id"]);
    to.does("check again", "bot", ("PATCH", &path), green, &of_run).await;
    let path = format!("~/commits/{head}/check-runs");
    let places = ["/total_count", "/check_runs/0/name", "/check_runs/0/conclusion", "/check_runs/0/external_id"];
    to.does("checks", "bot", ("GET", &path), Value::Null, &places).await;
}

async fn words(to: &mut Server, number: &Value) {
    let comments = format!("~/issues/{number}/comments");
    let of_comment = ["/body", "/user/login", "/user/type"];
    let made = to.does("comment", "bot", ("POST", &comments), json!({"body": "It waits."}), &of_comment).await;
    let path = format!("~/issues/comments/{}", made["id"]);
    to.does("edit of a comment", "bot", ("PATCH", &path), json!({"body": "It waits no more."}), &of_comment).await;
    to.does("command", "bob", ("POST", &comments), json!({"body": "/coldframe hold lunch"}), &of_comment).await;
    let places = ["/0/body", "/0/user/login", "/1/body", "/1/user/login"];
    to.does("comments", "bot", ("GET", &comments), Value::Null, &places).await;
    let news = json!({"title": "Coldframe", "body": "- [ ] look"});
    let issue = to.does("issue", "bot", ("POST", "~/issues"), news, &["/title", "/state", "/user/login"]).await;
    let issue = format!("~/issues/{}", issue["number"]);
    to.does("tick", "bob", ("PATCH", &issue), json!({"body": "- [x] look"}), &["/body", "/state"]).await;
    to.does("close the issue", "bot", ("PATCH", &issue), json!({"state": "closed"}), &["/state"]).await;
    let path = "~/collaborators/bob/permission";
    to.does("what bob may", "bot", ("GET", path), Value::Null, &["/user/login"]).await;
}

async fn merge(to: &mut Server, one: &str, head: &str) {
    let reviews = format!("{one}/reviews");
    let of_review = ["/state", "/user/login", "/commit_id"];
    to.does("own approval", "bot", ("POST", &reviews), json!({"event": "APPROVE"}), &["/message"]).await;
    to.does("approval", "alice", ("POST", &reviews), json!({"event": "APPROVE"}), &of_review).await;
    to.does("reviews", "bot", ("GET", &reviews), Value::Null, &["/0/state", "/0/user/login"]).await;
    let files = format!("{one}/files");
    to.does("files", "bot", ("GET", &files), Value::Null, &["/0/filename", "/0/status", "/0/additions", "/1"]).await;
    let path = format!("{one}/merge");
    let wrong = json!({"sha": "0".repeat(40), "merge_method": "merge"});
    to.does("merge another head", "bot", ("PUT", &path), wrong, &[]).await;
    to.does("merge", "bot", ("PUT", &path), json!({"sha": head, "merge_method": "merge"}), &["/merged"]).await;
    to.does("merge again", "bot", ("PUT", &path), json!({"sha": head}), &[]).await;
    let merged = ["/state", "/merged", "/merged_by/login", "/head/sha"];
    to.does("merged", "bot", ("GET", one), Value::Null, &merged).await;
    let branch = ("DELETE", "~/git/refs/heads/coldframe/app/qa");
    to.does("branch away", "bot", branch, Value::Null, &[]).await;
    to.does("branch away again", "bot", branch, Value::Null, &["/message"]).await;
    to.does("branch is gone", "bot", ("GET", "~/git/ref/heads/coldframe/app/qa"), Value::Null, &["/message"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_answer_alike_what_the_bot_writes() {
    let (town, mut ours, mut theirs, metrics, _running) = both().await;
    promotion(&mut ours).await;
    promotion(&mut theirs).await;
    let known: BTreeSet<&str> = DIFFERENT.iter().map(|(step, _)| *step).collect();
    let mut wrong = Vec::new();
    for ((step, ours), (_, theirs)) in ours.said.iter().zip(&theirs.said) {
        if (ours != theirs) != known.contains(step) {
            wrong.push(format!("{step}\n  sandbox: {ours}\n  emulate: {theirs}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((ours.said.len(), town.hub.head(REPO, "coldframe/app/qa").unwrap()), (theirs.said.len(), None));
    let believed = metrics.render().unwrap();
    let believed = believed.lines().find(|line| line.starts_with("coldframe_deliveries_total{sender=\"github\""));
    assert!(believed.is_some_and(|line| !line.ends_with(" 0")), "its webhooks are signed: {believed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bot_signs_in_there_and_does_nothing_where_it_cannot_read() {
    let (town, _, mut theirs, _, _running) = both().await;
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key.pem");
    std::fs::write(&key, &town.bot.key_pem).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldframe"));
    command.arg("once").env_clear().stdin(Stdio::null()).env("COLDFRAME_HUB", theirs.base.replace("/api/v3", ""));
    command.env("COLDFRAME_APP_ID", town.bot.id.to_string()).env("COLDFRAME_APP_KEY", key);
    command.env("COLDFRAME_REPOSITORY", REPO).env("COLDFRAME_DATA", folder.path().join("data"));
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // It has no GraphQL.
    assert!(!output.status.success() && said.contains("coldframe: GraphQL Pulls: the hub does not find it"), "{said}");
    let tokens = theirs.does("tokens", "carol", ("GET", "/_emulate/installation-tokens"), Value::Null, &[]).await;
    let mut of_the_bot = tokens["installation_tokens"].as_array().unwrap().iter().skip(1);
    assert!(of_the_bot.clone().count() > 0, "{tokens}");
    assert!(of_the_bot.all(|token| token["repository_ids"] == json!([1])), "for this repository alone: {tokens}");
    for list in ["~/issues?state=all", "~/pulls?state=all"] {
        assert_eq!(theirs.does("list", "carol", ("GET", list), Value::Null, &[]).await, json!([]));
    }
}
