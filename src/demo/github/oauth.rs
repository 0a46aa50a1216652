//! Signing people in for an App (docs.github.com, "Generating a user access token for a GitHub App"): a consent gives a
//! code, which with the App's secret gives a token. The page that asks for consent is in `pages/consent`.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use axum::body::Body as HttpBody;
use axum::http::{HeaderValue, Method, Response, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use url::Url;

use super::answer::Answer;
use super::auth::random_text;
use super::incoming::{Incoming, plain};
use super::state::{Access, Actor, App, Role, Token, World};

/// A code is good for so long, and once.
const CODE_LIFE: SignedDuration = SignedDuration::from_mins(10);
/// A token of an App for a person, likewise.
const TOKEN_LIFE: SignedDuration = SignedDuration::from_hours(8);

/// What an App asks a person for.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The App.
    pub app: u64,
    redirect: Url,
    state: String,
    challenge: String,
}

/// A consent that was given and not taken yet.
#[derive(Clone, Debug)]
pub struct Consent {
    app: u64,
    login: String,
    redirect: String,
    challenge: String,
    until: Timestamp,
}

impl Wish {
    /// Reads the parameters of an address.
    pub fn read(world: &World, given: &BTreeMap<String, String>) -> Result<Self, Answer> {
        let field = |name: &str| given.get(name).map(String::as_str).unwrap_or_default();
        let asks = |app: &&App| app.client_id() == field("client_id");
        let app = world.apps.values().find(asks).ok_or_else(Answer::not_found)?;
        let redirect = match field("redirect_uri") {
            "" => app.callbacks.first().cloned().unwrap_or_default(),
            given => given.to_owned(),
        };
        if !app.callbacks.contains(&redirect) {
            return Err(Answer::error(400, "The redirect_uri is not associated with this application."));
        }
        let challenge = field("code_challenge").to_owned();
        if !challenge.is_empty() && field("code_challenge_method") != "S256" {
            return Err(Answer::error(400, "The code_challenge_method has to be S256."));
        }
        let redirect = Url::parse(&redirect).map_err(|_| Answer::not_found())?;
        Ok(Self { app: app.id, redirect, state: field("state").to_owned(), challenge })
    }

    /// Where a browser goes with what came of it.
    fn back(&self, name: &str, value: &str) -> Url {
        let mut back = self.redirect.clone();
        back.query_pairs_mut().append_pair(name, value);
        if !self.state.is_empty() {
            back.query_pairs_mut().append_pair("state", &self.state);
        }
        back
    }

    /// The same where the person does not consent.
    pub fn denied(&self) -> Url {
        self.back("error", "access_denied")
    }
}

impl World {
    /// A person consents; gives where the browser goes with the code.
    pub fn consent(&mut self, wish: &Wish, login: &str) -> Url {
        let now = self.now();
        let code = random_text(20);
        let consent = Consent {
            app: wish.app,
            login: login.to_owned(),
            redirect: wish.redirect.to_string(),
            challenge: wish.challenge.clone(),
            until: now.checked_add(CODE_LIFE).unwrap_or(now),
        };
        self.consents.insert(code.clone(), consent);
        wish.back("code", &code)
    }

    /// Gives a token for a code. Refusals are successes to HTTP, as at the hub.
    pub fn exchange(&mut self, incoming: &Incoming) -> Response<HttpBody> {
        let given: BTreeMap<String, String> = serde_json::from_slice(&incoming.body)
            .unwrap_or_else(|_| url::form_urlencoded::parse(&incoming.body).into_owned().collect());
        let said = self.token_for(&given).unwrap_or_else(|error| json!({ "error": error }));
        if incoming.header("accept").is_some_and(|accept| accept.contains("json")) {
            let mut response = plain(StatusCode::OK, &said.to_string());
            let kind = HeaderValue::from_static("application/json; charset=utf-8");
            response.headers_mut().insert("content-type", kind);
            return response;
        }
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in said.as_object().into_iter().flatten() {
            form.append_pair(name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
        plain(StatusCode::OK, &form.finish())
    }

    fn token_for(&mut self, given: &BTreeMap<String, String>) -> Result<Value, &'static str> {
        let field = |name: &str| given.get(name).map(String::as_str).unwrap_or_default();
        let knows = |app: &&App| {
            let secret = app.client_secret.as_deref();
            app.client_id() == field("client_id") && secret.is_some_and(|secret| secret == field("client_secret"))
        };
        let app = self.apps.values().find(knows).ok_or("incorrect_client_credentials")?.id;
        let now = self.now();
        let consent = self.consents.remove(field("code")).filter(|consent| consent.app == app && now < consent.until);
        let consent = consent.ok_or("bad_verification_code")?;
        if !["", consent.redirect.as_str()].contains(&field("redirect_uri")) {
            return Err("redirect_uri_mismatch");
        }
        let proof = URL_SAFE_NO_PAD.encode(digest(&SHA256, field("code_verifier").as_bytes()));
        if !consent.challenge.is_empty() && consent.challenge != proof {
            return Err("bad_verification_code");
        }
        let text = format!("ghu_{}", random_text(36));
        let until = now.checked_add(TOKEN_LIFE).unwrap_or(now);
        let token = Token { actor: Actor::User(consent.login), expires_at: Some(until), by: Some(app) };
        self.tokens.insert(text.clone(), token);
        Ok(json!({
            "access_token": text, "expires_in": TOKEN_LIFE.as_secs(), "refresh_token": format!("ghr_{}", random_text(36)),
            "refresh_token_expires_in": 15_897_600, "scope": "", "token_type": "bearer",
        }))
    }

    /// Refuses what the token of a person may not that an App has got, whatever they may themselves: it reads who they
    /// are and repositories that are public or that the App is installed on, and does with references, files and pull
    /// requests what the App may do. Nothing else of such tokens is modelled here.
    pub fn within_the_app(&self, header: Option<&str>, method: &Method, path: &str) -> Result<(), Answer> {
        let text = header.and_then(|header| header.split_once(' ')).map(|(_, text)| text.trim()).unwrap_or_default();
        let Some(app) = self.tokens.get(text).and_then(|token| token.by) else { return Ok(()) };
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let (id, permission) = match parts.as_slice() {
            ["user"] => return Ok(()),
            ["repositories", id] => (id.parse().ok(), "metadata"),
            ["repos", owner, name, "git", "refs", ..] | ["repos", owner, name, "contents", ..] => {
                (self.find(owner, name), "contents")
            }
            ["repos", owner, name, "pulls"] => (self.find(owner, name), "pull_requests"),
            _ => (None, ""),
        };
        let id = id.ok_or_else(Answer::not_found)?;
        let app = self.apps.get(&app).ok_or_else(Answer::not_found)?;
        let access = if method.is_safe() { Access::Read } else { Access::Write };
        let here = app.installed_in(id).filter(|here| here.suspended_at.is_none());
        let actor = here.map_or(Actor::Anonymous, |here| Actor::Installation {
            app: app.id,
            installation: here.id,
            repositories: here.repositories.clone(),
            permissions: app.permissions.clone(),
        });
        self.need(&actor, id, permission, access, Role::Read)
    }
}
