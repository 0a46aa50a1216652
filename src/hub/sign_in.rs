//! Signing people in by our App, and what each of them may read: asked with a token of theirs, which stays in memory.
//! Who asks, and for how long an answer holds, is `wake/sign_in`; what they propose with it, `proposal`.

use std::fmt;

use http::{HeaderValue, StatusCode};
use jiff::{SignedDuration, Timestamp};
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::budget::Budget;
use super::error::harmless;
use super::line::{Answer, Call, Line};
use super::wire::Wire;
use super::{Bases, HubError};
use crate::secret::Secret;

/// The longest that somebody stays signed in; tokens of Apps for people end then, too (docs.github.com, "Refreshing user
/// access tokens").
const LONGEST: SignedDuration = SignedDuration::from_hours(8);
/// The longest token that is taken for one.
const LONGEST_TOKEN: usize = 512;

/// Our App, as it signs people in.
pub struct SignIn {
    line: Line,
    /// All of them go over the same connections.
    wire: Wire,
    crab: Octocrab,
    /// A limit of the hub keeps all of them away together.
    budget: Budget,
    client_id: String,
    client_secret: Secret,
    /// Where the hub sends people back to.
    back: Url,
}

/// Somebody who has signed in, with a token of theirs.
pub struct Visitor {
    /// Their number at the hub.
    pub id: u64,
    /// Their login there.
    pub login: String,
    /// When their token ends, or earlier.
    pub until: Timestamp,
    line: Line,
    crab: Octocrab,
    budget: Budget,
}

/// Why somebody was not signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The hub does not take the code: it is unknown, used, too old, or was asked for by somebody else.
    #[error("the hub does not know the code, or not any more")]
    Code,
    /// The hub refuses for another reason: our settings are wrong.
    #[error("the hub refuses it: {0}")]
    Refused(String),
    /// There was no answer that makes sense.
    #[error(transparent)]
    Hub(#[from] HubError),
}

impl SignIn {
    /// The App with this client id and secret; people come back to `back`, one of its callback URLs.
    ///
    /// # Errors
    /// There is no HTTP client to be had.
    pub fn new(bases: Bases, (client_id, client_secret): (String, Secret), back: Url) -> Result<Self, HubError> {
        // With numbers of its own, which nobody reads: what people use of their budgets is none of the App's.
        let line = Line::new(bases, crate::clock::now, std::time::Duration::ZERO);
        let wire = Wire::new(&line.bases)?;
        let crab = crab(&wire, AuthState::None);
        Ok(Self { line, wire, crab, budget: Budget::default(), client_id, client_secret, back })
    }

    /// Where the hub asks somebody for consent. `challenge` is the SHA-256 of what will be shown with the code (PKCE).
    pub fn page(&self, state: &str, challenge: &str) -> Url {
        let mut url = self.line.bases.web.clone();
        url.set_path("/login/oauth/authorize");
        url.query_pairs_mut()
            .append_pair("client_id", &self.client_id)
            .append_pair("redirect_uri", self.back.as_str())
            .append_pair("state", state)
            .append_pair("code_challenge", challenge)
            .append_pair("code_challenge_method", "S256");
        url
    }

    /// Takes the code that the hub has sent somebody back with.
    ///
    /// # Errors
    /// The hub does not take it, or does not answer.
    pub async fn take(&self, code: &str, verifier: &str) -> Result<Visitor, SignInError> {
        #[derive(Deserialize)]
        struct Given {
            access_token: Option<String>,
            expires_in: Option<i64>,
            error: Option<String>,
        }
        let call = Call::web(
            "/login/oauth/access_token",
            json!({
                "client_id": self.client_id, "client_secret": self.client_secret.reveal(), "code": code,
                "redirect_uri": self.back.as_str(), "code_verifier": verifier,
            }),
        );
        let answer = self.line.exchange(&self.crab, &self.budget, &call).await?.success(&call)?;
        // A refusal is a success to HTTP.
        let given: Given = answer.json(&call)?;
        let token = match (given.error.as_deref(), given.access_token) {
            (None, Some(token)) if (1..=LONGEST_TOKEN).contains(&token.len()) => token,
            (Some("bad_verification_code"), _) => return Err(SignInError::Code),
            (Some(other), _) => return Err(SignInError::Refused(harmless(other))),
            (None, _) => return Err(SignInError::Refused("it gave no token".to_owned())),
        };
        let life = given.expires_in.map_or(LONGEST, SignedDuration::from_secs).min(LONGEST);
        Ok(self.visitor(token, life).await?)
    }

    /// Somebody without a token that counts anywhere.
    #[cfg(test)]
    pub(crate) fn nobody(&self, id: u64, until: Timestamp) -> Visitor {
        let crab = crab(&self.wire, AuthState::None);
        Visitor { id, login: format!("person{id}"), until, line: self.line.clone(), crab, budget: Budget::default() }
    }

    async fn visitor(&self, token: String, life: SignedDuration) -> Result<Visitor, HubError> {
        #[derive(Deserialize)]
        struct Account {
            id: u64,
            login: String,
        }
        let (line, budget, now) = (self.line.clone(), Budget::default(), (self.line.clock)());
        let crab = crab(&self.wire, AuthState::AccessToken { token: token.into() });
        let call = Call::get("/user");
        let answer = line.exchange(&crab, &budget, &call).await?.success(&call)?;
        let Account { id, login } = answer.json(&call)?;
        let until = now.saturating_add(life).unwrap_or(now);
        Ok(Visitor { id, login, until, line, crab, budget })
    }
}

impl Visitor {
    /// Whether they may read a repository, by its number. `known` is what the hub named its last yes by: where nothing
    /// has changed, it says so at no cost, and still looks whether they may. A yes comes with its name.
    ///
    /// # Errors
    /// The hub did not say; nobody may take that for a yes.
    pub async fn may_read(
        &self,
        id: u64,
        known: Option<&HeaderValue>,
    ) -> Result<Option<Option<HeaderValue>>, HubError> {
        #[derive(Deserialize)]
        struct Repository {
            id: u64,
        }
        let call = Call::get(format!("/repositories/{id}"));
        let asked = known.map_or_else(|| call.clone(), |known| call.unless(known));
        let answer = self.exchange(&asked).await?;
        if let (StatusCode::NOT_MODIFIED, Some(known)) = (answer.status, known) {
            return Ok(Some(Some(known.clone())));
        }
        let name = answer.headers.get(http::header::ETAG).cloned();
        match answer.success(&call) {
            Ok(answer) if answer.json::<Repository>(&call)?.id == id => Ok(Some(name)),
            Ok(_) => Err(HubError::Malformed { what: call.what().to_owned(), why: "it is another one".to_owned() }),
            Err(HubError::NotFound { .. } | HubError::Forbidden { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Asks with their token.
    pub(super) async fn exchange(&self, call: &Call) -> Result<Answer, HubError> {
        self.line.exchange(&self.crab, &self.budget, call).await
    }
}

impl fmt::Debug for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignIn").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

impl fmt::Debug for Visitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visitor").field("login", &self.login).finish_non_exhaustive()
    }
}

fn crab(wire: &Wire, auth: AuthState) -> Octocrab {
    match OctocrabBuilder::new_empty().with_service(wire.clone()).with_auth(auth).build() {
        Ok(crab) => crab,
        Err(never) => match never {},
    }
}
