//! A furnished sandbox GitHub that keeps a record of what it is asked and what it answers.

use std::collections::{BTreeMap, BTreeSet};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use demo::github::{Access, AppSettings, GitHub, Options, Protection, Role, Rule};
use serde_json::{Value, json};

use crate::openapi::Exchange;

pub const REPO: &str = "acme/config";

/// `acme/config` with a protected main branch and a bound ledger branch. Carol administers, bob
/// writes, alice is in the team of code owners; the bot is an App.
pub struct Town {
    pub hub: GitHub,
    pub bot: AppSettings,
    pub exchanges: Vec<Exchange>,
    /// Routes that answered with success.
    pub driven: BTreeSet<String>,
    pub tokens: BTreeMap<&'static str, String>,
    http: reqwest::Client,
    _folder: tempfile::TempDir,
}

impl Town {
    pub async fn build() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hub = GitHub::start(Options::new(folder.path().join("hub"))).await.unwrap();
        hub.add_org("acme");
        hub.add_team("acme", "platform", &["alice"]);
        let files = [
            ("README.md", "# Config\n"),
            (".github/CODEOWNERS", "/clusters/silver/ @acme/platform\n/elsewhere/ @nobody-here\n"),
            (
                ".github/workflows/smoke.yml",
                "run-name: Smoke ${{ inputs.id }}\non: {workflow_dispatch: {inputs: {id: {}}}}\n",
            ),
            ("clusters/qa/app.yaml", "version: 1.0.0\n"),
            ("clusters/silver/app.yaml", "version: 1.0.0\n"),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        hub.add_repository("acme", "config", &files).unwrap();
        for (who, role) in [("acme/platform", Role::Write), ("bob", Role::Write), ("carol", Role::Admin)] {
            hub.set_permission(REPO, who, role).unwrap();
        }
        let write =
            ["actions", "contents", "pull_requests", "issues", "checks", "statuses"].map(|name| (name, Access::Write));
        let read = ["members", "metadata"].map(|name| (name, Access::Read));
        let bot = hub.add_app("coldframe", &[&write[..], &read[..]].concat()).unwrap();
        hub.install_app(bot.id, REPO).unwrap();
        let protection = Protection { require_code_owner_reviews: true, ..Protection::default() };
        hub.protect(REPO, "main", protection).unwrap();
        hub.add_ruleset(REPO, "coldframe-ledger", &[Rule::Update, Rule::Deletion, Rule::NonFastForward], &[bot.id])
            .unwrap();
        let mut tokens = BTreeMap::from(["alice", "bob", "carol"].map(|login| (login, hub.add_token(login))));
        tokens.insert("app", jwt(&bot));
        let http = reqwest::Client::new();
        let (exchanges, driven) = (Vec::new(), BTreeSet::new());
        let mut town = Self { hub, bot, exchanges, driven, tokens, http, _folder: folder };
        let path = format!("/app/installations/{}/access_tokens", town.bot.installation_id);
        let minted = town.does("app", "POST", &path, json!({})).await;
        town.tokens.insert("bot", minted["token"].as_str().unwrap().to_owned());
        town
    }

    /// Somebody asks; recorded. `~` stands for the repository.
    pub async fn asks(&mut self, who: &str, method: &str, path: &str, body: Value) -> (u16, Value) {
        let path = path.replace('~', "/repos/acme/config");
        let before = self.hub.requests();
        let verb = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.http.request(verb, format!("{}/api/v3{path}", self.hub.url()));
        let request = match self.tokens.get(who) {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let request = if body.is_null() { request } else { request.json(&body) };
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        let answer = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() };
        if status < 300 {
            let asked = self.hub.requests();
            self.driven
                .extend(asked.into_iter().filter(|(route, count)| before.get(route) != Some(count)).map(|one| one.0));
        }
        let path = path.split('?').next().unwrap_or_default().to_owned();
        let exchange = Exchange { method: method.to_owned(), path, status, request: body, answer: answer.clone() };
        self.exchanges.push(exchange);
        (status, answer)
    }

    /// Somebody asks and gets it.
    pub async fn does(&mut self, who: &str, method: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.asks(who, method, path, body).await;
        assert!(status < 300, "{who}: {method} {path}: {status} {answer}");
        answer
    }

    pub async fn reads(&mut self, who: &str, path: &str) -> Value {
        self.does(who, "GET", path, Value::Null).await
    }
}

/// A token as git sends it.
pub fn basic(token: &str) -> String {
    STANDARD.encode(format!("x-access-token:{token}"))
}

/// A JWT of an App, as GitHub wants it.
fn jwt(app: &AppSettings) -> String {
    let now = coldframe::clock::now().as_second();
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = json!({"iss": app.id, "iat": now - 60, "exp": now + 500});
    let signed = format!("{}.{}", part(json!({"alg": "RS256", "typ": "JWT"})), part(claims));
    let text: String = app.key_pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let key = RsaKeyPair::from_pkcs8(&STANDARD.decode(text).unwrap()).unwrap();
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}
