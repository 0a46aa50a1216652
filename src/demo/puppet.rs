//! A bot on strings, for the tests of the sandbox: over REST, git and the clusters' API it does what
//! the story needs, and one thing wrong when it is told to. It is no model of the real one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use reqwest::Method;
use serde_json::{Value, json};

use super::clock::now;
use super::clusters::State;
use super::story::fleet::{BREAKING, Fate, GRACE, HUB, LACKING, PLUGINS, Plugin, TIERS, TROUBLED};
use super::story::scene::Scene;
use super::{Settings, World};

/// What it does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Good,
    /// Opens gold as soon as silver landed.
    Hasty,
}

struct Puppet<'a> {
    world: &'a World,
    settings: &'a Settings,
    http: reqwest::Client,
    manner: Manner,
    tokens: [String; 2],
    clone: tempfile::TempDir,
    said: bool,
}

fn jwt(app: u64, key: &Path) -> String {
    let pem = std::fs::read_to_string(key).unwrap();
    let der: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let key = RsaKeyPair::from_pkcs8(&BASE64_STANDARD.decode(der).unwrap()).unwrap();
    let now = now().as_second();
    let part = |value: Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let head = part(json!({"alg": "RS256", "typ": "JWT"}));
    let text = format!("{head}.{}", part(json!({"iss": app.to_string(), "iat": now - 30, "exp": now + 300})));
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).unwrap();
    format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

impl<'a> Puppet<'a> {
    async fn new(world: &'a World, manner: Manner) -> Self {
        let settings = world.settings();
        let (http, clone) = (reqwest::Client::new(), tempfile::tempdir().unwrap());
        let tokens = [String::new(), String::new()];
        let mut puppet = Self { world, settings, http, manner, tokens, clone, said: false };
        for (place, (app, key)) in
            [(settings.app_id, &settings.app_key), (settings.bypass_app_id, &settings.bypass_app_key)]
                .iter()
                .enumerate()
        {
            let jwt = jwt(*app, key);
            let found = puppet.ask(Method::GET, "/app/installations", &jwt, &Value::Null).await;
            let path = format!("/app/installations/{}/access_tokens", found[0]["id"]);
            let token = puppet.ask(Method::POST, &path, &jwt, &json!({})).await;
            puppet.tokens[place] = token["token"].as_str().unwrap().to_owned();
        }
        puppet.git(&["clone", "--quiet", &puppet.remote(), "."]);
        puppet.git(&["checkout", "--quiet", "--orphan", "coldframe-ledger"]);
        puppet.git(&["commit", "--quiet", "--allow-empty", "--message=The ledger begins"]);
        puppet.git(&["push", "--quiet", "origin", "coldframe-ledger"]);
        puppet
    }

    fn remote(&self) -> String {
        let host = self.settings.hub.trim_start_matches("http://");
        format!("http://x-access-token:{}@{host}/{}.git", self.tokens[0], self.settings.repository)
    }

    fn git(&self, arguments: &[&str]) {
        let identity = ["-c", "user.name=coldframe[bot]", "-c", "user.email=bot@example.invalid"];
        let done = Command::new("git").args(identity).args(arguments).current_dir(self.clone.path()).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    async fn ask(&self, method: Method, path: &str, token: &str, body: &Value) -> Value {
        let url = format!("{}/api/v3{path}", self.settings.hub);
        let request = self.http.request(method, &url).bearer_auth(token).header("user-agent", "puppet");
        let request = if body.is_null() { request } else { request.json(body) };
        let answer = request.send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Looks at every object of every cluster, as a reader of health does.
    async fn read_clusters(&self) {
        for (cluster, url) in self.world.clusters().urls() {
            let file = self.settings.clusters.join(format!("{cluster}-reader.yaml"));
            let config: Value = serde_yaml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
            let token = config["users"][0]["user"]["token"].as_str().unwrap();
            let other =
                if cluster == HUB { "greenhouse.sap/v1alpha1/plugins" } else { "argoproj.io/v1alpha1/applications" };
            for list in ["helm.toolkit.fluxcd.io/v2/helmreleases", other] {
                let answer = self.http.get(format!("{url}/apis/{list}")).bearer_auth(token).send().await.unwrap();
                assert!(answer.status().is_success());
            }
        }
    }

    /// Plays until it is dropped.
    async fn play(mut self) {
        loop {
            self.read_clusters().await;
            let scene = self.world.chronicle().scene;
            for plugin in PLUGINS {
                for place in 0..TIERS.len() {
                    self.move_on(&scene, &plugin, place).await;
                }
            }
            tokio::time::sleep(Duration::from_millis(400)).await;
        }
    }

    async fn move_on(&mut self, scene: &Scene, plugin: &Plugin, place: usize) {
        let (tier, _) = TIERS[place];
        let Some(here) = scene.together(plugin.name, tier) else { return };
        if let Some(pull) = scene.open(plugin.name, tier) {
            let grace = plugin.fate == Fate::Forced && tier == "gold";
            let over = now().duration_since(pull.opened_at).as_secs() >= GRACE;
            let token = &self.tokens[usize::from(grace)];
            let breaks = matches!(plugin.fate, Fate::Breaking { .. });
            let chronicle = self.world.chronicle();
            let unread = breaks && tier == "qa" && chronicle.acknowledged.is_none();
            if unread || (breaks && tier == LACKING && chronicle.mended.is_none()) {
                return;
            }
            if (grace && over) || (!grace && (tier == "qa" || !pull.approved_by.is_empty())) {
                if grace {
                    let body = json!({"body": "Merged by force. Notices sent: 2. Waived: the approval."});
                    self.ask(Method::PATCH, &self.pulls(pull.number), &self.tokens[0], &body).await;
                }
                let path = format!("{}/merge", self.pulls(pull.number));
                let body = json!({"sha": pull.head, "merge_method": "squash"});
                self.ask(Method::PUT, &path, token, &body).await;
            }
            return;
        }
        let failed = here.ill.iter().any(|cluster| cluster == TROUBLED);
        if failed && !self.said {
            self.said = true;
            let mut merged = scene
                .pulls
                .values()
                .filter(|pull| pull.rung.as_ref().is_some_and(|rung| rung.plugin == plugin.name && rung.tier == tier));
            let number = merged.next_back().unwrap().number;
            let body = json!({"body": format!("**Held.** {TROUBLED} failed: UpgradeFailed")});
            self.ask(Method::PATCH, &self.pulls(number), &self.tokens[0], &body).await;
        }
        let order = |version: &str| semver::Version::parse(version).unwrap();
        let next = match place.checked_sub(1) {
            None => self.world.charts().versions(plugin.name).into_iter().max_by_key(|version| order(version)),
            Some(below) => {
                let below = scene.together(plugin.name, TIERS[below].0).unwrap();
                let finished = below.well == below.members || (self.manner == Manner::Hasty && tier == "gold");
                finished.then_some(below.wanted)
            }
        };
        if let Some(next) = next.filter(|next| order(next) > order(&here.wanted)) {
            self.open(plugin, tier, &next).await;
        }
    }

    fn pulls(&self, number: u64) -> String {
        format!("/repos/{}/pulls/{number}", self.settings.repository)
    }

    async fn open(&self, plugin: &Plugin, tier: &str, version: &str) {
        let branch = format!("coldframe/{}/{tier}", plugin.name);
        self.git(&["fetch", "--quiet", "origin", "main"]);
        self.git(&["checkout", "--quiet", "-B", &branch, "FETCH_HEAD"]);
        let spelled = plugin.spelled(version);
        for path in plugin.manifests(tier) {
            let path = self.clone.path().join(path);
            let text = std::fs::read_to_string(&path).unwrap();
            let line = text.lines().find(|line| line.contains("# exact")).unwrap();
            let old = line.split_whitespace().nth(1).unwrap();
            if old == spelled {
                return; // landed already; the controllers are on their way
            }
            std::fs::write(&path, text.replace(line, &line.replace(old, &spelled))).unwrap();
        }
        let title = format!("{} {version} → {tier}", plugin.name);
        self.git(&["commit", "--quiet", "--all", &format!("--message={title}")]);
        self.git(&["push", "--quiet", "--force", &self.remote(), &branch]);
        let body = json!({"title": title, "head": branch, "base": "main", "body": waiting(plugin)});
        let path = format!("/repos/{}/pulls", self.settings.repository);
        self.ask(Method::POST, &path, &self.tokens[0], &body).await;
    }
}

/// What stands on a pull request of it.
fn waiting(plugin: &Plugin) -> String {
    let notes: String = BREAKING.iter().map(|one| format!("[{}](x)\n{}\n", one.version, one.text)).collect();
    match plugin.fate {
        Fate::Breaking { .. } => format!("To do for it.\n/coldframe acknowledge {}\n{notes}", plugin.climbs),
        Fate::Clean | Fate::Broken { .. } | Fate::Forced => "It waits for an approval.".to_owned(),
    }
}

async fn told(manner: Manner) -> BTreeMap<String, Result<String, String>> {
    let folder = tempfile::tempdir().unwrap();
    let world = World::start(super::Options::new(folder.path())).await.unwrap();
    for line in world.env_lines() {
        eprintln!("{line}");
    }
    let puppet = Puppet::new(&world, manner).await;
    let outcome = tokio::select! {
        outcome = super::board::show(&world, "http://127.0.0.1:1/dashboard", false) => outcome.unwrap(),
        () = puppet.play() => unreachable!(),
    };
    assert!(world.clusters().look().values().flatten().all(|(_, seen)| seen.state == State::Healthy));
    outcome.expectations.into_iter().map(|expectation| (expectation.sentence, expectation.held)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a minute; the bot's own tests tell the story with the bot"]
async fn the_story_is_told_to_a_good_end() {
    let broken: Vec<_> = told(Manner::Good).await.into_iter().filter(|(_, held)| held.is_err()).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a minute; the bot's own tests tell the story with the bot"]
async fn a_bot_that_does_not_wait_is_found_out() {
    let broken: Vec<_> = told(Manner::Hasty).await.into_iter().filter(|(_, held)| held.is_err()).collect();
    assert!(broken.iter().any(|(sentence, _)| sentence.contains("before the whole tier below")), "{broken:#?}");
}
