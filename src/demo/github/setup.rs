//! How a world is furnished: people, teams, repositories, Apps, rules.

mod begin;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, anyhow, bail};
use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::GitHub;
use super::answer::{Answer, Body};
use super::auth::random_text;
use super::manifest::Manifest;
use super::state::{
    Access, Account, Actor, App, Hook, Kind, Method, Protection, Repository, Role, Rule, Ruleset, Token,
};

/// What an App's owner gets when registering it.
#[derive(Clone, Debug)]
pub struct AppSettings {
    /// Its id, the `iss` of its JWTs.
    pub id: u64,
    /// Its private key, PKCS#8 PEM.
    pub key_pem: String,
    /// Its slug; its login is `<slug>[bot]`.
    pub slug: String,
    /// The id of its installation.
    pub installation_id: u64,
}

/// An answer's message, as an error for callers inside this process.
pub fn plainly(answer: Answer) -> anyhow::Error {
    match answer.body {
        Some(Body::Json(value)) => anyhow!("{}: {value}", answer.status),
        Some(Body::Raw(_, _)) | None => anyhow!("{}", answer.status),
    }
}

impl GitHub {
    /// Whoever comes with a browser is this person until somebody else is chosen.
    pub fn welcome(&self, login: &str) {
        self.world().visitor = Some(login.to_owned());
    }

    /// Adds a person.
    pub fn add_user(&self, login: &str) {
        self.world().account_add(login, Kind::User);
    }

    /// Adds an organization. To own repositories as one, it must be added before them.
    pub fn add_org(&self, login: &str) {
        self.world().account_add(login, Kind::Organization);
    }

    /// Adds a team, or more members to it. Its role in a repository is given by
    /// [`Self::set_permission`] under the name `org/slug`; without write its approvals do not count.
    pub fn add_team(&self, org: &str, slug: &str, members: &[&str]) {
        let mut world = self.world();
        world.account_add(org, Kind::Organization);
        for member in members {
            world.account_add(member, Kind::User);
        }
        let team = world.teams.entry((org.to_owned(), slug.to_owned())).or_default();
        team.extend(members.iter().map(|&member| member.to_owned()));
    }

    /// Takes a person out of a team.
    pub fn leave_team(&self, org: &str, slug: &str, member: &str) {
        if let Some(team) = self.world().teams.get_mut(&(org.to_owned(), slug.to_owned())) {
            team.remove(member);
        }
    }

    /// Makes a public repository with one commit of these files on `main`, or an empty one without files; gives its id.
    pub fn add_repository(&self, owner: &str, name: &str, files: &[(String, String)]) -> anyhow::Result<u64> {
        self.world().repository_add(owner, name, files)
    }

    /// Gives a repository another name, `owner/name`; under another owner it is a transfer. Its old name leads to
    /// it until somebody takes that; Apps of the old owner do not reach it any more.
    pub fn rename(&self, repository: &str, to: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let (owner, name) = to.split_once('/').with_context(|| format!("`{to}` is not `owner/name`"))?;
        if world.find(owner, name).is_some() {
            bail!("{to} exists");
        }
        world.account_add(owner, Kind::User);
        world.moved.insert(repository.to_lowercase(), id);
        world.moved.remove(&to.to_lowercase());
        let repo = world.repositories.get_mut(&id).context("it was just found")?;
        let transferred = repo.owner != owner;
        (repo.owner, repo.name) = (owner.to_owned(), name.to_owned());
        if transferred {
            let here = world.apps.values_mut().flat_map(|app| app.installations.values_mut());
            for one in here.filter(|one| one.account != owner) {
                one.repositories.remove(&id);
            }
        }
        Ok(())
    }

    /// Gives an account another name, with all that it owns and where it has installed Apps. Whoever wants may take its
    /// old one.
    pub fn rename_account(&self, login: &str, to: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        let account = world.accounts.remove(login).with_context(|| format!("no account {login}"))?;
        world.accounts.insert(to.to_owned(), Account { login: to.to_owned(), ..account });
        let world = &mut *world;
        for repository in world.repositories.values_mut().filter(|one| one.owner == login) {
            world.moved.insert(repository.full_name().to_lowercase(), repository.id);
            repository.owner = to.to_owned();
        }
        for app in world.apps.values_mut() {
            let here = app.installations.values_mut().filter(|one| one.account == login);
            here.for_each(|one| one.account = to.to_owned());
            if app.owner == login {
                app.owner = to.to_owned();
            }
        }
        Ok(())
    }

    /// Makes another branch the default one.
    pub fn set_default_branch(&self, repository: &str, branch: &str) -> anyhow::Result<()> {
        self.edit(repository, |_, repo| repo.default_branch = branch.to_owned())
    }

    /// Hides a repository from everybody without a role, or shows it.
    pub fn set_private(&self, repository: &str, private: bool) -> anyhow::Result<()> {
        self.edit(repository, |_, repo| repo.private = private)
    }

    /// Archives a repository, or takes it out of the archive.
    pub fn set_archived(&self, repository: &str, archived: bool) -> anyhow::Result<()> {
        self.edit(repository, |_, repo| repo.archived = archived)
    }

    /// Whether merging deletes the head branch.
    pub fn set_delete_branch_on_merge(&self, repository: &str, delete: bool) -> anyhow::Result<()> {
        self.edit(repository, |_, repo| repo.delete_branch_on_merge = delete)
    }

    /// How pull requests may be merged: merge commits and squashes, where nobody says otherwise.
    pub fn set_merge_methods(&self, repository: &str, methods: &[Method]) -> anyhow::Result<()> {
        self.edit(repository, |_, repo| repo.merge_methods = methods.to_vec())
    }

    fn edit(&self, repository: &str, change: impl FnOnce(u64, &mut Repository)) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let repo = world.repositories.get_mut(&id).context("it was just found")?;
        change(id, repo);
        Ok(())
    }

    /// Registers an App with a fresh key. Permissions are GitHub's names with read or write.
    pub fn add_app(&self, slug: &str, permissions: &[(&str, Access)]) -> anyhow::Result<AppSettings> {
        let (key_pem, public_key) = key_pair()?;
        let mut world = self.world();
        let (id, installation, now) = (world.id(), world.id(), world.now());
        world.account_add(&format!("{slug}[bot]"), Kind::Bot);
        let permissions = permissions.iter().map(|(name, access)| ((*name).to_owned(), *access));
        let permissions = permissions.chain([("metadata".to_owned(), Access::Read)]).collect();
        let app = App {
            id,
            slug: slug.to_owned(),
            public_key,
            permissions,
            unheard: BTreeSet::new(),
            hook: None,
            callbacks: Vec::new(),
            client_secret: None,
            owner: String::new(),
            first: installation,
            installations: BTreeMap::new(),
            created_at: now,
        };
        world.apps.insert(id, app);
        Ok(AppSettings { id, key_pem, slug: slug.to_owned(), installation_id: installation })
    }

    /// Lets an App sign people in, who come back to this address; gives its client id and secret.
    pub fn sign_in_at(&self, app: u64, callback: &str) -> anyhow::Result<(String, String)> {
        let mut world = self.world();
        let app = world.apps.get_mut(&app).with_context(|| format!("no App {app}"))?;
        let secret = random_text(40);
        app.callbacks.push(callback.to_owned());
        app.client_secret = Some(secret.clone());
        Ok((app.client_id(), secret))
    }

    /// Registers an App by a manifest, as a person does in the browser; gives the code by which it is taken.
    pub fn register_app(&self, manifest: &str, owner: &str) -> anyhow::Result<String> {
        let mut world = self.world();
        let manifest = Manifest::read(&world, manifest).map_err(plainly)?;
        world.register(&manifest, owner).map_err(plainly)
    }

    /// Gives an App another permission, or takes one from it: also from the tokens that it has.
    pub fn set_app_permission(&self, app: u64, name: &str, access: Option<Access>) -> anyhow::Result<()> {
        let mut world = self.world();
        let world = &mut *world;
        let found = world.apps.get_mut(&app).with_context(|| format!("no App {app}"))?;
        let of_tokens = world.tokens.values_mut().filter_map(|token| match &mut token.actor {
            Actor::Installation { app: of, permissions, .. } if *of == app => Some(permissions),
            Actor::Installation { .. } | Actor::Anonymous | Actor::User(_) | Actor::App(_) => None,
        });
        for permissions in of_tokens.chain([&mut found.permissions]) {
            permissions.remove(name);
            permissions.extend(access.map(|access| (name.to_owned(), access)));
        }
        Ok(())
    }

    /// Says which account registered an App.
    pub fn set_app_owner(&self, app: u64, owner: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        world.apps.get_mut(&app).with_context(|| format!("no App {app}"))?.owner = owner.to_owned();
        Ok(())
    }

    /// Holds an App's installation on an account back, or lets it go on.
    pub fn suspend_app(&self, app: u64, account: &str, suspended: bool) -> anyhow::Result<()> {
        let mut world = self.world();
        let now = world.now();
        let found = world.apps.get_mut(&app).with_context(|| format!("no App {app}"))?;
        let here = found.installations.values_mut().find(|one| one.account == account);
        let here = here.with_context(|| format!("App {app} is not installed on {account}"))?;
        here.suspended_at = suspended.then_some(now);
        let id = here.id;
        if suspended {
            world.tokens.retain(
                |_, token| !matches!(token.actor, Actor::Installation { installation, .. } if installation == id),
            );
        }
        Ok(())
    }

    /// Installs an App in a repository.
    pub fn install_app(&self, app: u64, repository: &str) -> anyhow::Result<()> {
        self.world().install(app, repository)
    }

    /// Takes an event off those that an App is subscribed to.
    pub fn unsubscribe(&self, app: u64, event: &'static str) -> anyhow::Result<()> {
        let mut world = self.world();
        world.apps.get_mut(&app).with_context(|| format!("no App {app}"))?.unheard.insert(event);
        Ok(())
    }

    /// The installation through which an App reaches a repository.
    pub fn installation(&self, app: u64, repository: &str) -> anyhow::Result<u64> {
        let world = self.world();
        let id = world.named(repository)?;
        let found = world.apps.get(&app).and_then(|app| app.installed_in(id));
        found.map(|here| here.id).with_context(|| format!("App {app} is not installed in {repository}"))
    }

    /// Leaves everybody so many requests in the present hour.
    pub fn leave_requests(&self, left: u64) {
        let mut world = self.world();
        let used = world.requests_per_hour.saturating_sub(left);
        world.limits.values_mut().for_each(|limit| limit.used = used);
    }

    /// The token that a run of a workflow in this repository is given: the bot's of all workflows.
    pub fn workflow_token(&self, repository: &str) -> anyhow::Result<String> {
        use Access::Write;
        let known = self.world().apps.values().find(|app| app.slug == "github-actions").map(|app| app.id);
        let app = match known {
            Some(app) => app,
            None => {
                self.add_app("github-actions", &[("contents", Write), ("pull_requests", Write), ("statuses", Write)])?
                    .id
            }
        };
        self.install_app(app, repository)?;
        let here = self.installation(app, repository)?;
        let mut world = self.world();
        let id = world.named(repository)?;
        let permissions = world.apps.get(&app).map(|app| app.permissions.clone()).unwrap_or_default();
        Ok(world.mint((app, here), BTreeSet::from([id]), permissions).0)
    }

    /// Takes an App out of a repository.
    pub fn uninstall_app(&self, app: u64, repository: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let found = world.apps.get_mut(&app).with_context(|| format!("no App {app}"))?;
        for here in found.installations.values_mut() {
            here.repositories.remove(&id);
        }
        for token in world.tokens.values_mut() {
            if let Actor::Installation { app: of, repositories, .. } = &mut token.actor
                && *of == app
            {
                repositories.remove(&id);
            }
        }
        Ok(())
    }

    /// Where an App's webhooks go, and the secret that signs them.
    pub fn set_webhook(&self, app: u64, url: &str, secret: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        let app = world.apps.get_mut(&app).with_context(|| format!("no App {app}"))?;
        app.hook = Some(Hook { url: url.to_owned(), secret: secret.to_owned() });
        Ok(())
    }

    /// A token of a person, good for REST, GraphQL and git.
    pub fn add_token(&self, login: &str) -> String {
        let mut world = self.world();
        world.account_add(login, Kind::User);
        let text = format!("ghp_{}", random_text(36));
        world.tokens.insert(text.clone(), Token { actor: Actor::User(login.to_owned()), expires_at: None, by: None });
        text
    }

    /// What a person (`alice`) or a team (`acme/platform`) may do in a repository.
    pub fn set_permission(&self, repository: &str, who: &str, role: Role) -> anyhow::Result<()> {
        if !who.contains('/') {
            self.add_user(who);
        }
        self.edit(repository, |_, repo| {
            repo.roles.insert(who.to_owned(), role);
        })
    }

    /// Protects a branch, in place of what protected it before.
    pub fn protect(&self, repository: &str, branch: &str, protection: Protection) -> anyhow::Result<()> {
        self.edit(repository, |_, repo| {
            repo.protections.insert(branch.to_owned(), protection);
        })
    }

    /// Adds a ruleset on branches that match a pattern; gives its id.
    pub fn add_ruleset(
        &self,
        repository: &str,
        pattern: &str,
        rules: &[Rule],
        bypass_apps: &[u64],
    ) -> anyhow::Result<u64> {
        let mut world = self.world();
        let (repo, id, now) = (world.named(repository)?, world.id(), world.now());
        let set = Ruleset {
            id,
            name: format!("rules for {pattern}"),
            pattern: pattern.to_owned(),
            rules: rules.to_vec(),
            bypass_apps: bypass_apps.to_vec(),
            created_at: now,
        };
        world.repositories.get_mut(&repo).context("it was just found")?.rulesets.push(set);
        Ok(id)
    }

    /// Takes one ruleset off a repository.
    pub fn remove_ruleset(&self, repository: &str, id: u64) -> anyhow::Result<()> {
        self.edit(repository, |_, repo| repo.rulesets.retain(|set| set.id != id))?;
        self.clear_queues(repository)
    }

    /// Takes all rulesets off a repository.
    pub fn clear_rulesets(&self, repository: &str) -> anyhow::Result<()> {
        self.edit(repository, |_, repo| repo.rulesets.clear())?;
        self.clear_queues(repository)
    }
}

/// A fresh RSA key: the private half as PEM, the public half as PKCS#1 DER.
pub fn key_pair() -> anyhow::Result<(String, Vec<u8>)> {
    let pair = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048)
        .map_err(|_| anyhow!("the machine gave no randomness for a key"))?;
    let der = pair.as_der().map_err(|_| anyhow!("the key could not be written"))?;
    let text = STANDARD.encode(der.as_ref());
    let mut pem = String::from("-----BEGIN PRIVATE KEY-----\n");
    for start in (0..text.len()).step_by(64) {
        pem.push_str(&text[start..text.len().min(start + 64)]);
        pem.push('\n');
    }
    pem.push_str("-----END PRIVATE KEY-----\n");
    Ok((pem, pair.public_key().as_ref().to_vec()))
}
