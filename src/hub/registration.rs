//! How an App is registered at the hub and where it is installed: what `setup` makes and `doctor` examines. The bot at
//! work asks none of it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use octocrab::{AuthState, OctocrabBuilder};
use serde::Deserialize;
use serde_json::{Value, json};

use super::access::Account;
use super::budget::Budget;
use super::client::segment;
use super::error::harmless;
use super::line::{Call, Line};
use super::wire::Wire;
use super::{Bases, Hub, HubError, RepoHub};
use crate::secret::Secret;

/// The newest deliveries that are looked at.
const DELIVERIES: usize = 30;

/// An App that was registered just now. Its key is told once: whoever loses it makes another in the App's settings.
#[derive(Debug)]
pub struct Registered {
    /// Its number.
    pub id: u64,
    /// Its name in addresses.
    pub slug: String,
    /// Its page.
    pub page: String,
    /// Its private key, PEM.
    pub key: Secret,
    /// What its webhooks are signed with; none where it has none.
    pub webhook_secret: Option<Secret>,
    /// The id and the secret by which it signs people in; none where the hub gave none out.
    pub client: Option<(String, Secret)>,
}

/// Takes an App that was registered by a manifest, by the code that the hub gave to the browser (docs.github.com,
/// "Registering a GitHub App from a manifest"). A code is good for an hour, and once.
///
/// # Errors
/// The hub does not know the code, or does not answer.
pub async fn take(bases: Bases, code: &str) -> Result<Registered, HubError> {
    #[derive(Deserialize)]
    struct Made {
        id: u64,
        slug: String,
        html_url: String,
        pem: String,
        webhook_secret: Option<String>,
        client_id: Option<String>,
        client_secret: Option<String>,
    }
    let line = Line::new(bases, crate::clock::now, std::time::Duration::ZERO);
    let wire = Wire::new(&line.bases)?;
    let crab = match OctocrabBuilder::new_empty().with_service(wire).with_auth(AuthState::None).build() {
        Ok(crab) => crab,
        Err(never) => match never {},
    };
    let call = Call::mint(format!("/app-manifests/{}/conversions", segment(code)), json!({}));
    let answer = line.exchange(&crab, &Budget::default(), &call).await?.success(&call)?;
    let made: Made = answer.json(&call)?;
    Ok(Registered {
        id: made.id,
        slug: made.slug,
        page: made.html_url,
        key: Secret::new(&made.pem),
        webhook_secret: made.webhook_secret.filter(|secret| !secret.is_empty()).map(|secret| Secret::new(&secret)),
        client: made.client_id.zip(made.client_secret.map(|secret| Secret::new(&secret))),
    })
}

/// One of our Apps, as the hub describes it to itself.
#[derive(Clone, Debug)]
pub struct OwnApp {
    /// Its number.
    pub id: u64,
    /// Its name in addresses.
    pub slug: String,
    /// Its page.
    pub page: String,
    /// Who registered it, where the hub says so, and whether that is an organization.
    pub owner: Option<(String, bool)>,
    /// The events that it gets.
    pub events: Vec<String>,
}

impl OwnApp {
    /// Where its settings are, below the address of the hub's pages.
    pub fn settings(&self) -> String {
        let slug = segment(&self.slug);
        match &self.owner {
            Some((owner, true)) => format!("/organizations/{}/settings/apps/{slug}", segment(owner)),
            Some((_, false)) | None => format!("/settings/apps/{slug}"),
        }
    }
}

/// An installation of our App.
#[derive(Clone, Debug)]
pub struct Installed {
    /// Where its settings are.
    pub page: String,
    /// What it may do, by the name of the permission.
    pub permissions: BTreeMap<String, String>,
    /// Since when it is held back.
    pub suspended: Option<String>,
}

/// A delivery of a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct HookDelivery {
    /// When.
    pub delivered_at: Timestamp,
    /// What the receiver answered; 0 where there was no answer.
    pub status_code: u16,
    /// In words of the hub.
    pub status: String,
}

/// Who may push a branch beside us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Rulesets let nobody but those on their lists push, rewind or delete it, and we are on them.
    Ours,
    /// We may not push it ourselves, by the ruleset of this name.
    Shut(String),
    /// These are allowed to everybody who may write: of `push`, `rewind` and `delete`.
    Open(Vec<&'static str>),
    /// Something protects it that only administrators can read.
    Hidden,
}

#[derive(Deserialize)]
struct WireApp {
    id: u64,
    slug: String,
    html_url: String,
    owner: Option<Value>,
    #[serde(default)]
    events: Vec<String>,
}

async fn app_of(account: &Account) -> Result<Option<OwnApp>, HubError> {
    let Some(signed) = account.signed() else { return Ok(None) };
    let WireApp { id, slug, html_url, owner, events } = signed.get("/app").await?;
    let text = |owner: &Value, key: &str| owner.get(key).and_then(Value::as_str).map(str::to_owned);
    let owner = owner.and_then(|owner| {
        let organization = text(&owner, "type").is_some_and(|kind| kind == "Organization");
        Some((text(&owner, "login")?, organization))
    });
    Ok(Some(OwnApp { id, slug, page: harmless(&html_url), owner, events }))
}

impl Hub {
    /// Our App; none with a plain token.
    ///
    /// # Errors
    /// The hub does not know it, or its key.
    pub async fn own_app(&self) -> Result<Option<OwnApp>, HubError> {
        app_of(&self.main).await
    }

    /// Our login there.
    ///
    /// # Errors
    /// The hub does not know us.
    pub async fn login(&self) -> Result<String, HubError> {
        self.main.bot().await.map(ToString::to_string)
    }

    /// The App that may pass branch rules; none where none is set up.
    ///
    /// # Errors
    /// As [`Self::own_app`].
    pub async fn bypass_app(&self) -> Result<Option<OwnApp>, HubError> {
        match &self.bypass {
            Some(account) => app_of(account).await,
            None => Ok(None),
        }
    }

    /// The installation of our App in a repository, `owner/name`; none with a plain token.
    ///
    /// # Errors
    /// It is not installed there, as far as the hub says.
    pub async fn installed(&self, full_name: &str) -> Result<Option<Installed>, HubError> {
        #[derive(Deserialize)]
        struct Wire {
            html_url: String,
            #[serde(default)]
            permissions: BTreeMap<String, String>,
            suspended_at: Option<String>,
        }
        let Some(signed) = self.main.signed() else { return Ok(None) };
        let wire: Wire = signed.get(&format!("/repos/{full_name}/installation")).await?;
        let suspended = wire.suspended_at.map(|at| harmless(&at));
        Ok(Some(Installed { page: harmless(&wire.html_url), permissions: wire.permissions, suspended }))
    }

    /// Where the webhooks of our App go; none where it has none.
    ///
    /// # Errors
    /// The hub did not say.
    pub async fn hook(&self) -> Result<Option<String>, HubError> {
        #[derive(Deserialize)]
        struct Hook {
            url: Option<String>,
        }
        let Some(signed) = self.main.signed() else { return Ok(None) };
        match signed.get::<Hook>("/app/hook/config").await {
            Ok(hook) => Ok(hook.url.filter(|url| !url.is_empty())),
            Err(HubError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The newest deliveries of our App's webhooks, newest first.
    ///
    /// # Errors
    /// The hub did not say.
    pub async fn deliveries(&self) -> Result<Vec<HookDelivery>, HubError> {
        let Some(signed) = self.main.signed() else { return Ok(Vec::new()) };
        signed.get(&format!("/app/hook/deliveries?per_page={DELIVERIES}")).await
    }

    /// How far this machine's clock is ahead of the hub's, by its last answer.
    pub fn skew(&self) -> jiff::SignedDuration {
        self.main.skew()
    }
}

impl RepoHub {
    /// Who may push a branch of ours, as far as rulesets say.
    ///
    /// # Errors
    /// They could not be read.
    pub async fn guard(&self, branch: &str) -> Result<Guard, HubError> {
        let rules = self.rules(branch).await?;
        let of =
            |kind: &'static str| rules.iter().filter(move |rule| rule.kind == kind).filter_map(|rule| rule.ruleset_id);
        let pushes: BTreeSet<u64> = ["creation", "update", "pull_request"].into_iter().flat_map(of).collect();
        for id in pushes {
            let set = self.ruleset(id).await?;
            if set.current_user_can_bypass.as_deref() != Some("always") {
                return Ok(Guard::Shut(harmless(&set.name)));
            }
        }
        let has = |kind: &'static str| of(kind).next().is_some();
        let mut open = Vec::new();
        if !has("update") {
            open.push("push");
            // Who may not push cannot rewind either.
            open.extend((!has("non_fast_forward")).then_some("rewind"));
        }
        open.extend((!has("deletion")).then_some("delete"));
        if open.is_empty() {
            return Ok(Guard::Ours);
        }
        if self.is_protected(branch).await? { Ok(Guard::Hidden) } else { Ok(Guard::Open(open)) }
    }

    async fn is_protected(&self, branch: &str) -> Result<bool, HubError> {
        #[derive(Deserialize)]
        struct Branch {
            #[serde(default)]
            protected: bool,
        }
        match self.main().get::<Branch>(&self.path(&format!("/branches/{}", segment(branch)))).await {
            Ok(branch) => Ok(branch.protected),
            // It comes with the first promotion.
            Err(HubError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
