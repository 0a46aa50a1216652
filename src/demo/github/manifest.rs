//! Apps that are registered by a manifest: what the hub takes, and the code by which the App is handed over. The pages
//! of it are in `pages/app`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::answer::Answer;
use super::auth::random_text;
use super::setup::key_pair;
use super::state::{Access, App, EVENTS, Hook, Kind, World};

/// A code is good for so long, and once (docs.github.com, "Registering a GitHub App from a manifest").
const CODE_LIFE: SignedDuration = SignedDuration::from_hours(1);
/// The longest name of an App.
const LONGEST_NAME: usize = 34;
/// Permissions that an App of this world can have.
const PERMISSIONS: [&str; 14] = [
    "actions",
    "administration",
    "checks",
    "contents",
    "deployments",
    "issues",
    "members",
    "merge_queues",
    "metadata",
    "packages",
    "pull_requests",
    "secrets",
    "statuses",
    "workflows",
];
/// Events that every App gets and none subscribes to.
const UNASKED: [&str; 2] = ["installation", "installation_repositories"];

/// What a manifest says, as far as the hub reads it here.
#[derive(Clone, Debug, Deserialize)]
pub struct Manifest {
    /// What the App is called.
    pub name: String,
    url: String,
    hook_attributes: HookOf,
    /// Where the browser goes with the code.
    pub redirect_url: String,
    #[serde(default)]
    callback_urls: Vec<String>,
    #[serde(default)]
    public: bool,
    /// What it may do.
    pub default_permissions: BTreeMap<String, String>,
    /// What it is told.
    #[serde(default)]
    pub default_events: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct HookOf {
    url: String,
    #[serde(default = "yes")]
    active: bool,
}

fn yes() -> bool {
    true
}

/// An App that waits to be taken.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The App.
    pub app: u64,
    /// Its private key, PEM.
    pub pem: String,
    /// What signs its webhooks; none where it has none.
    pub secret: Option<String>,
    until: Timestamp,
}

impl Manifest {
    /// Reads one, in the hub's words where it refuses.
    pub fn read(world: &World, text: &str) -> Result<Self, Answer> {
        let refused = |why: String| Answer::error(422, &why);
        let manifest: Self = serde_json::from_str(text).map_err(|error| {
            refused(format!("The configuration does not appear to be a valid GitHub App manifest. ({error})"))
        })?;
        let name = manifest.name.clone();
        let manifest = manifest.called(world, &name)?;
        let urls = [&manifest.url, &manifest.hook_attributes.url, &manifest.redirect_url];
        for url in urls.into_iter().chain(&manifest.callback_urls) {
            if url::Url::parse(url).is_err() {
                return Err(refused(format!("Url is not a valid URL: {url}")));
            }
        }
        if manifest.public {
            return Err(refused("this world has no public Apps".to_owned()));
        }
        let unknown: Vec<&str> = manifest
            .default_permissions
            .iter()
            .filter(|(name, level)| {
                !PERMISSIONS.contains(&name.as_str()) || !["read", "write"].contains(&level.as_str())
            })
            .map(|(name, _)| name.as_str())
            .collect();
        if !unknown.is_empty() {
            return Err(refused(format!(
                "Default permission records resource is not included in the list: {}",
                unknown.join(", ")
            )));
        }
        let events = manifest.default_events.iter().map(String::as_str);
        let known = |event: &str| EVENTS.iter().find(|(name, _)| *name == event);
        let unheard: Vec<&str> =
            events.clone().filter(|event| UNASKED.contains(event) || known(event).is_none()).collect();
        if !unheard.is_empty() {
            return Err(refused(format!("Default events unsupported: {}", unheard.join(" and "))));
        }
        let unfounded: Vec<&str> = events
            .filter(|event| known(event).is_some_and(|(_, takes)| !manifest.default_permissions.contains_key(*takes)))
            .collect();
        if !unfounded.is_empty() {
            return Err(refused(format!(
                "Default events are not supported by permissions: {}",
                unfounded.join(" and ")
            )));
        }
        Ok(manifest)
    }

    /// The same under the name that somebody has chosen.
    pub fn called(self, world: &World, name: &str) -> Result<Self, Answer> {
        let refused = |why: String| Answer::error(422, &why);
        if name.is_empty() || name.chars().count() > LONGEST_NAME {
            return Err(refused(format!("Name is too long (maximum is {LONGEST_NAME} characters)")));
        }
        if world.apps.values().any(|app| app.slug == slug(name)) {
            return Err(refused("Name is already in use".to_owned()));
        }
        Ok(Self { name: name.to_owned(), ..self })
    }
}

/// A name as addresses have it.
fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(plain).collect::<String>().trim_matches('-').to_owned()
}

impl World {
    /// Registers an App for an account; gives the code by which it is taken.
    pub fn register(&mut self, manifest: &Manifest, owner: &str) -> Result<String, Answer> {
        let (pem, public_key) = key_pair().map_err(Answer::from)?;
        let (id, first, now) = (self.id(), self.id(), self.now());
        let slug = slug(&manifest.name);
        self.account_add(&format!("{slug}[bot]"), Kind::Bot);
        let access = |level: &String| if level == "write" { Access::Write } else { Access::Read };
        let permissions = manifest.default_permissions.iter().map(|(name, level)| (name.clone(), access(level)));
        let secret = manifest.hook_attributes.active.then(|| random_text(40));
        let hook = secret.clone().map(|secret| Hook { url: manifest.hook_attributes.url.clone(), secret });
        let wanted = |event: &str| UNASKED.contains(&event) || manifest.default_events.iter().any(|one| one == event);
        let app = App {
            id,
            slug,
            public_key,
            permissions: permissions.chain([("metadata".to_owned(), Access::Read)]).collect(),
            unheard: EVENTS.iter().map(|(event, _)| *event).filter(|event| !wanted(event)).collect(),
            hook,
            callbacks: manifest.callback_urls.clone(),
            client_secret: None,
            owner: owner.to_owned(),
            first,
            installations: BTreeMap::new(),
            created_at: now,
        };
        self.apps.insert(id, app);
        let code = random_text(40);
        let until = now.checked_add(CODE_LIFE).unwrap_or(now);
        self.waiting.insert(code.clone(), Waiting { app: id, pem, secret, until });
        Ok(code)
    }

    /// Hands an App over, once.
    pub fn take(&mut self, code: &str) -> Result<Waiting, Answer> {
        let waiting = self.waiting.remove(code).ok_or_else(Answer::not_found)?;
        if waiting.until <= self.now() { Err(Answer::not_found()) } else { Ok(waiting) }
    }

    /// The repositories that an App can be installed on: those of its owner that this person may administer.
    pub fn offered(&self, app: &App, login: &str) -> BTreeSet<String> {
        let own = self.repositories.values().filter(|repo| repo.owner == app.owner);
        let own = own.filter(|repo| self.role(repo, login) == super::state::Role::Admin);
        own.map(super::state::Repository::full_name).collect()
    }
}
