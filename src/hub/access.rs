//! Who we are to the hub: an App that signs with its key and mints a token for one repository and
//! the permissions it needs, or a plain token. What is asked with it is elsewhere.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use decide::Person;
use jiff::{SignedDuration, Timestamp};
use octocrab::auth::{AppAuth, EncodingKey};
use octocrab::models::AppId;
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::budget::Budget;
use super::client::{Client, Key};
use super::line::{Call, Line};
use super::wire::Wire;
use super::{HubError, Repository};
use crate::metrics::Metrics;
use crate::secret::Secret;

/// How we prove who we are.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A GitHub App.
    App {
        /// Its number.
        id: u64,
        /// Its RSA key in PEM.
        key: Secret,
    },
    /// A token that somebody made: an Actions token, a personal one.
    Token(Secret),
}

/// A permission and the level that is asked for.
pub(crate) type Permission = (&'static str, &'static str);

/// What the ordinary identity needs. `workflows` and `administration` are never asked for.
pub(crate) const ORDINARY: &[Permission] = &[
    ("metadata", "read"),
    ("contents", "write"),
    ("pull_requests", "write"),
    ("checks", "write"),
    ("statuses", "read"),
    ("deployments", "read"),
    ("members", "read"),
    ("actions", "write"),
    ("issues", "write"),
];
/// What the bypassing identity needs: it merges, nothing else.
pub(crate) const BYPASS: &[Permission] = &[("metadata", "read"), ("contents", "write"), ("pull_requests", "write")];
/// What listing repositories needs.
const LISTING: &[Permission] = &[("metadata", "read")];

/// One set of credentials, with everything it has minted.
pub(crate) struct Account {
    line: Line,
    proof: Proof,
    bot: OnceCell<Person>,
    installations: Mutex<BTreeMap<u64, Arc<Budget>>>,
    minted: Mutex<BTreeMap<u64, Arc<Minting>>>,
    granted: Arc<Mutex<BTreeMap<u64, Granted>>>,
}

/// What an installation may do, by the name of the permission.
type Permissions = BTreeMap<String, String>;

/// What an installation was granted, and when the hub said so.
type Granted = (Timestamp, Permissions);

/// For so long a token is minted by what was just read of an installation. Later it is read again: people grant more.
const JUST_READ: SignedDuration = SignedDuration::from_secs(60);

enum Proof {
    App { id: u64, signed: Client, crab: Octocrab },
    Token { client: Client },
}

impl Account {
    /// The numbers that its calls are counted into.
    pub(crate) fn metrics(&self) -> Metrics {
        self.line.metrics.clone()
    }

    /// # Errors
    /// The key is no RSA key in PEM, or there is no tokio runtime around.
    pub(crate) fn new(line: &Line, credentials: Credentials) -> Result<Self, HubError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(HubError::Setup("the hub needs a tokio runtime around it".to_owned()));
        }
        let wire = Wire::new(&line.bases)?;
        let crab = |auth: AuthState| match OctocrabBuilder::new_empty().with_service(wire).with_auth(auth).build() {
            Ok(crab) => crab,
            Err(never) => match never {},
        };
        let proof = match credentials {
            Credentials::App { id, key } => {
                let key = EncodingKey::from_rsa_pem(key.reveal().as_bytes()).map_err(|_| {
                    let why = "the App's key is no RSA private key in PEM, as GitHub hands it out";
                    HubError::Setup(why.to_owned())
                })?;
                let crab = crab(AuthState::App(AppAuth { app_id: AppId(id), key }));
                let signed = Client::new(line.clone(), Arc::default(), Key::Fixed { crab: crab.clone(), token: None });
                Proof::App { id, signed, crab }
            }
            Credentials::Token(token) => {
                let crab = crab(AuthState::AccessToken { token: token.reveal().into() });
                let key = Key::Fixed { crab, token: Some(token) };
                Proof::Token { client: Client::new(line.clone(), Arc::default(), key) }
            }
        };
        let (installations, minted, granted) = (Mutex::default(), Mutex::default(), Arc::default());
        Ok(Self { line: line.clone(), proof, bot: OnceCell::new(), installations, minted, granted })
    }

    /// How far our clock is ahead of the hub's, by the last answer.
    pub(crate) fn skew(&self) -> SignedDuration {
        self.line.skew.get()
    }

    /// Whether this is a plain token.
    pub(crate) fn is_token(&self) -> bool {
        matches!(self.proof, Proof::Token { .. })
    }

    /// The App's number; none for a token.
    pub(crate) fn app(&self) -> Option<u64> {
        match &self.proof {
            Proof::App { id, .. } => Some(*id),
            Proof::Token { .. } => None,
        }
    }

    /// The App's signed calls; none for a token.
    pub(crate) fn signed(&self) -> Option<&Client> {
        match &self.proof {
            Proof::App { signed, .. } => Some(signed),
            Proof::Token { .. } => None,
        }
    }

    /// Our login there. An App's is its slug with `[bot]`.
    pub(crate) async fn bot(&self) -> Result<&Person, HubError> {
        #[derive(Deserialize)]
        struct App {
            slug: String,
        }
        #[derive(Deserialize)]
        struct User {
            login: String,
        }
        let ask = || async {
            match &self.proof {
                Proof::App { signed, .. } => {
                    let app: App = signed.get("/app").await?;
                    Ok(Person::new(format!("{}[bot]", app.slug)))
                }
                Proof::Token { client } => match client.get::<User>("/user").await {
                    Ok(user) => Ok(Person::new(user.login)),
                    // An Actions token has no user in REST.
                    Err(HubError::Forbidden { .. } | HubError::NotFound { .. }) => client.viewer().await,
                    Err(other) => Err(other),
                },
            }
        };
        self.bot.get_or_try_init(ask).await
    }

    /// A client for one repository: the token as it is, or one that is minted for this repository
    /// alone, with no more than `wanted`. The installation is looked up by name where it is not known.
    pub(crate) async fn client(
        &self,
        repository: &Repository,
        installation: Option<u64>,
        wanted: &'static [Permission],
    ) -> Result<Client, HubError> {
        let (signed, crab) = match &self.proof {
            Proof::Token { client } => return Ok(client.clone()),
            Proof::App { signed, crab, .. } => (signed, crab),
        };
        let known = lock(&self.minted).get(&repository.id).cloned();
        let minting = match known {
            Some(minting) if installation.is_none_or(|known| known == minting.installation) => minting,
            Some(_) | None => {
                let installation = match installation {
                    Some(known) => known,
                    None => self.installation(&repository.full_name()).await?,
                };
                let scope = json!({ "repository_ids": [repository.id] });
                let minting = self.minting((signed, crab), installation, scope, wanted);
                let minting = Arc::new(minting);
                let mut minted = lock(&self.minted);
                let held = minted.entry(repository.id).or_insert_with(|| Arc::clone(&minting));
                if held.installation != installation {
                    *held = minting;
                }
                Arc::clone(held)
            }
        };
        let budget = self.budget(minting.installation);
        let client = Client::new(self.line.clone(), budget, Key::Minted(Arc::clone(&minting)));
        match minting.get().await {
            Ok(_) => Ok(client),
            Err(error) => {
                // Taken out and installed again, the App has another installation here.
                if matches!(error, HubError::NotFound { .. }) {
                    lock(&self.minted).remove(&repository.id);
                }
                Err(error)
            }
        }
    }

    /// A client that may only read the names of an installation's repositories, all or one.
    pub(crate) fn listing(&self, installation: u64, name: Option<&str>) -> Result<Client, HubError> {
        match &self.proof {
            Proof::Token { client } => Ok(client.clone()),
            Proof::App { signed, crab, .. } => {
                let scope = name.map_or(json!({}), |name| json!({ "repositories": [name] }));
                let minting = self.minting((signed, crab), installation, scope, LISTING);
                Ok(Client::new(self.line.clone(), self.budget(installation), Key::Minted(Arc::new(minting))))
            }
        }
    }

    /// The installation of the App on a repository.
    pub(crate) async fn installation(&self, full_name: &str) -> Result<u64, HubError> {
        #[derive(Deserialize)]
        struct Installation {
            id: u64,
            #[serde(default)]
            permissions: Permissions,
        }
        let Some(signed) = self.signed() else {
            return Err(HubError::Setup("a plain token has no installation".to_owned()));
        };
        let installation: Installation = signed.get(&format!("/repos/{full_name}/installation")).await?;
        if !installation.permissions.is_empty() {
            lock(&self.granted).insert(installation.id, ((self.line.clock)(), installation.permissions));
        }
        Ok(installation.id)
    }

    fn minting(
        &self,
        (signed, crab): (&Client, &Octocrab),
        installation: u64,
        scope: Value,
        wanted: &'static [Permission],
    ) -> Minting {
        let (signed, crab) = (signed.clone(), crab.clone());
        let granted = Arc::clone(&self.granted);
        Minting { signed, crab, installation, scope, wanted, granted, now: tokio::sync::Mutex::default() }
    }

    /// Limits count per installation, whichever of its tokens asks.
    pub(super) fn budget(&self, installation: u64) -> Arc<Budget> {
        Arc::clone(lock(&self.installations).entry(installation).or_insert_with(|| Arc::new(Budget::of(installation))))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A token that is minted when it is needed and minted anew before it ends; however many ask at
/// once, one of them mints.
pub(crate) struct Minting {
    signed: Client,
    crab: Octocrab,
    installation: u64,
    scope: Value,
    wanted: &'static [Permission],
    granted: Arc<Mutex<BTreeMap<u64, Granted>>>,
    now: tokio::sync::Mutex<Option<Minted>>,
}

#[derive(Clone)]
pub(crate) struct Minted {
    pub(crate) token: Secret,
    pub(crate) crab: Octocrab,
    renew_at: Timestamp,
}

impl Minting {
    /// The token, good for some minutes at least.
    pub(crate) async fn get(&self) -> Result<Minted, HubError> {
        let mut held = self.now.lock().await;
        let now = (self.signed.line().clock)();
        match held.as_ref() {
            Some(minted) if now < minted.renew_at => Ok(minted.clone()),
            _ => {
                let minted = self.mint(now).await?;
                *held = Some(minted.clone());
                Ok(minted)
            }
        }
    }

    /// Drops the token that the hub did not accept, unless somebody has done so already.
    pub(crate) async fn forget(&self, refused: &Secret) {
        let mut held = self.now.lock().await;
        if held.as_ref().is_some_and(|minted| minted.token == *refused) {
            *held = None;
        }
    }

    async fn mint(&self, now: Timestamp) -> Result<Minted, HubError> {
        #[derive(Deserialize)]
        struct Token {
            token: String,
            expires_at: Timestamp,
        }
        let mut body = self.scope.clone();
        if let Some(body) = body.as_object_mut() {
            body.insert("permissions".to_owned(), self.permissions(now).await?);
        }
        let call = Call::mint(format!("/app/installations/{}/access_tokens", self.installation), body);
        let answer = self.signed.send(&call).await.inspect_err(|_| {
            // What it was granted may be what has changed.
            lock(&self.granted).remove(&self.installation);
        })?;
        let token: Token = answer.json(&call)?;
        // `expires_at` is the hub's time. A tenth of its life, at most five minutes, is kept back.
        let by_our_clock = token.expires_at.duration_since(now);
        let by_theirs = by_our_clock + self.signed.line().skew.get();
        // A wild `Date` on the way must not make every call mint.
        let life = if by_theirs.is_positive() { by_theirs } else { by_our_clock };
        let kept = (life / 10).clamp(SignedDuration::ZERO, SignedDuration::from_mins(5));
        let crab = self.crab.user_access_token(token.token.as_str());
        let crab = crab.map_err(|error| HubError::Setup(super::error::harmless(&error.to_string())))?;
        let renew_at = now.saturating_add(life - kept).unwrap_or(now);
        Ok(Minted { token: Secret::new(&token.token), crab, renew_at })
    }

    /// What is asked for, as far as the installation was granted it: asking for more is refused as
    /// a whole. A call that misses a permission later says which one.
    async fn permissions(&self, now: Timestamp) -> Result<Value, HubError> {
        let granted = self.granted(now).await?;
        let asked = self.wanted.iter().filter_map(|&(name, level)| {
            if granted.is_empty() {
                return Some((name.to_owned(), Value::from(level)));
            }
            let level = if granted.get(name)? == "read" { "read" } else { level };
            Some((name.to_owned(), Value::from(level)))
        });
        Ok(asked.collect::<serde_json::Map<_, _>>().into())
    }

    async fn granted(&self, now: Timestamp) -> Result<Permissions, HubError> {
        #[derive(Deserialize)]
        struct Installation {
            #[serde(default)]
            permissions: Permissions,
        }
        let known = lock(&self.granted).get(&self.installation).cloned();
        if let Some((_, permissions)) = known.filter(|(at, _)| now.duration_since(*at).abs() < JUST_READ) {
            return Ok(permissions);
        }
        let path = format!("/app/installations/{}", self.installation);
        let permissions = match self.signed.get::<Installation>(&path).await {
            Ok(installation) => installation.permissions,
            // If it is really gone, minting says so.
            Err(HubError::NotFound { .. }) => return Ok(Permissions::new()),
            Err(error) => return Err(error),
        };
        lock(&self.granted).insert(self.installation, (now, permissions.clone()));
        Ok(permissions)
    }
}
