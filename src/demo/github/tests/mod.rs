//! Over real HTTP and with the real git: each rule of this world has a case here.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod apps;
mod faults;
mod forks;
mod git;
mod graphql;
mod hooks;
mod merging;
mod oauth;
mod pages;
mod rest;
mod workflows;

use std::path::Path;
use std::process::{Command, Output};

use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::*;

/// A world with `acme/config`: main is protected by code owners, alice owns silver, bob writes,
/// carol administers, eve only reads; the bot writes, the second App may bypass.
struct Town {
    hub: GitHub,
    bot: AppSettings,
    bypass: AppSettings,
    token: String,
    http: reqwest::Client,
    dir: tempfile::TempDir,
}

const REPO: &str = "acme/config";

const PERMISSIONS: [(&str, Access); 8] = [
    ("actions", Access::Write),
    ("contents", Access::Write),
    ("pull_requests", Access::Write),
    ("issues", Access::Write),
    ("checks", Access::Write),
    ("statuses", Access::Write),
    ("members", Access::Read),
    ("metadata", Access::Read),
];

fn files() -> Vec<(String, String)> {
    [
        ("README.md", "# Config\n\nWelcome."),
        (".github/CODEOWNERS", "/clusters/silver/ @acme/platform\n"),
        ("clusters/qa/app.yaml", "version: 1.0.0\n"),
        ("clusters/silver/app.yaml", "version: 1.0.0\n"),
    ]
    .into_iter()
    .map(|(path, text)| (path.to_owned(), text.to_owned()))
    .collect()
}

async fn town() -> Town {
    let dir = tempfile::tempdir().unwrap();
    let hub = GitHub::start(Options::new(dir.path().join("hub"))).await.unwrap();
    hub.add_org("acme");
    hub.add_team("acme", "platform", &["alice"]);
    hub.add_repository("acme", "config", &files()).unwrap();
    for (who, role) in
        [("acme/platform", Role::Write), ("bob", Role::Write), ("carol", Role::Admin), ("eve", Role::Read)]
    {
        hub.set_permission(REPO, who, role).unwrap();
    }
    let bot = hub.add_app("coldframe", &PERMISSIONS).unwrap();
    let bypass = hub.add_app("coldframe-force", &PERMISSIONS).unwrap();
    hub.install_app(bot.id, REPO).unwrap();
    hub.install_app(bypass.id, REPO).unwrap();
    let protection = Protection {
        require_code_owner_reviews: true,
        dismiss_stale: true,
        bypass_apps: vec![bypass.id],
        ..Protection::default()
    };
    hub.protect(REPO, "main", protection).unwrap();
    let mut town = Town { hub, bot, bypass, token: String::new(), http: reqwest::Client::new(), dir };
    town.token = town.installation_token(&town.bot.clone()).await;
    town
}

/// Signs a JWT for an App, issued and expiring at these offsets from now.
fn jwt(hub: &GitHub, app: &AppSettings, issued: i64, expires: i64) -> String {
    let now = hub.world().now().as_second();
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let head = part(json!({"alg": "RS256", "typ": "JWT"}));
    let claims = part(json!({"iss": app.id, "iat": now + issued, "exp": now + expires}));
    let text: String = app.key_pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let key = RsaKeyPair::from_pkcs8(&STANDARD.decode(text).unwrap()).unwrap();
    let signed = format!("{head}.{claims}");
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &aws_lc_rs::rand::SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

impl Town {
    async fn installation_token(&self, app: &AppSettings) -> String {
        let path = format!("/app/installations/{}/access_tokens", app.installation_id);
        let answer = self.ask(Method::POST, &path, &jwt(&self.hub, app, -60, 500), json!({})).await;
        assert_eq!(answer.0, 201, "{}", answer.1);
        answer.1["token"].as_str().unwrap().to_owned()
    }

    async fn send(&self, method: Method, path: &str, token: &str, body: Value) -> Response {
        let request = self.http.request(method, format!("{}/api/v3{path}", self.hub.url())).bearer_auth(token);
        let request = if body.is_null() { request } else { request.json(&body) };
        request.send().await.unwrap()
    }

    async fn ask(&self, method: Method, path: &str, token: &str, body: Value) -> (u16, Value) {
        let answer = self.send(method, path, token, body).await;
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.ask(Method::GET, path, &self.token, Value::Null).await
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.ask(Method::POST, path, &self.token, body).await
    }

    async fn put(&self, path: &str, body: Value) -> (u16, Value) {
        self.ask(Method::PUT, path, &self.token, body).await
    }

    async fn patch(&self, path: &str, body: Value) -> (u16, Value) {
        self.ask(Method::PATCH, path, &self.token, body).await
    }

    /// A branch that bumps one cluster's file, by the bot's own git push; gives its head.
    fn branch(&self, name: &str, path: &str, version: &str) -> String {
        self.commit(name, path, &format!("version: {version}\n"))
    }

    fn commit(&self, branch: &str, path: &str, text: &str) -> String {
        let clone = self.dir.path().join("clone");
        if !clone.exists() {
            self.git(self.dir.path(), &["clone", "-q", &self.remote(&self.token), "clone"]);
        }
        self.git(&clone, &["fetch", "-q", "origin"]);
        let known = self.hub.head(REPO, branch).unwrap().is_some();
        let from = if known { format!("origin/{branch}") } else { "origin/main".to_owned() };
        self.git(&clone, &["checkout", "-q", "-B", branch, &from]);
        let file = clone.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
        self.git(&clone, &["add", "-A"]);
        self.git(&clone, &["commit", "-q", "-m", &format!("{path} on {branch}")]);
        self.git(&clone, &["push", "-q", &self.remote(&self.token), branch]);
        self.hub.head(REPO, branch).unwrap().unwrap()
    }

    fn remote(&self, token: &str) -> String {
        format!("{}/{REPO}.git", self.hub.url().replace("http://", &format!("http://x-access-token:{token}@")))
    }

    fn git(&self, dir: &Path, arguments: &[&str]) -> String {
        let output = self.try_git(dir, arguments);
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn try_git(&self, dir: &Path, arguments: &[&str]) -> Output {
        Command::new("git")
            .current_dir(dir)
            .args(["-c", "user.name=Bot", "-c", "user.email=bot@example.com", "-c", "credential.helper="])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .output()
            .unwrap()
    }

    /// Opens a pull request for a branch as the bot; gives its number.
    async fn open(&self, branch: &str) -> u64 {
        let body = json!({"title": format!("Bump on {branch}"), "head": branch, "base": "main", "body": "**why**"});
        let (status, pull) = self.post("/repos/acme/config/pulls", body).await;
        assert_eq!(status, 201, "{pull}");
        pull["number"].as_u64().unwrap()
    }

    async fn merge(&self, number: u64, token: &str, sha: &str) -> (u16, Value) {
        let path = format!("/repos/acme/config/pulls/{number}/merge");
        self.ask(Method::PUT, &path, token, json!({"sha": sha})).await
    }

    async fn query(&self, text: &str, variables: Value) -> Value {
        let request = self.http.post(format!("{}/api/graphql", self.hub.url())).bearer_auth(&self.token);
        let answer = request.json(&json!({"query": text, "variables": variables})).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.json().await.unwrap()
    }
}

/// An error's message.
fn message(answer: &Value) -> &str {
    answer["message"].as_str().unwrap_or_default()
}
