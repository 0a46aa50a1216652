//! What a repository and an account are when they begin.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};

use super::super::git::{Git, ZERO};
use super::super::rules::HOOK;
use super::super::signature::hub_signature;
use super::super::state::{Account, Installation, Kind, Method, Repository, World};
use super::super::webhooks;

impl World {
    /// Adds an account unless there is one of that login.
    pub fn account_add(&mut self, login: &str, kind: Kind) {
        if self.account(login).is_none() {
            let id = self.id();
            self.accounts.insert(login.to_owned(), Account { id, login: login.to_owned(), kind });
        }
    }

    /// Installs an App in a repository.
    pub fn install(&mut self, app: u64, repository: &str) -> anyhow::Result<()> {
        let id = self.named(repository)?;
        let owner = self.repositories.get(&id).map(|repo| repo.owner.clone()).unwrap_or_default();
        let next = self.id();
        let found = self.apps.get_mut(&app).with_context(|| format!("no App {app}"))?;
        let known = found.installations.values().find(|one| one.account == owner).map(|one| one.id);
        let number = known.unwrap_or(if found.installations.is_empty() { found.first } else { next });
        let fresh = Installation { id: number, account: owner, repositories: BTreeSet::new(), suspended_at: None };
        let here = found.installations.entry(number).or_insert(fresh);
        let first = here.repositories.is_empty();
        here.repositories.insert(id);
        webhooks::installed(self, app, id, first);
        Ok(())
    }

    /// The id of `owner/name`.
    pub fn named(&self, repository: &str) -> anyhow::Result<u64> {
        let found = repository.split_once('/').and_then(|(owner, name)| self.find(owner, name));
        found.with_context(|| format!("no repository {repository}"))
    }

    pub(super) fn repository_add(
        &mut self,
        owner: &str,
        name: &str,
        files: &[(String, String)],
    ) -> anyhow::Result<u64> {
        if self.find(owner, name).is_some() {
            bail!("{owner}/{name} exists");
        }
        self.account_add(owner, Kind::User);
        self.moved.remove(&format!("{owner}/{name}").to_lowercase());
        let (id, now) = (self.id(), self.now());
        let git = Git::create(&self.dir.join(format!("{id}.git")), "main", HOOK)?;
        let bytes: Vec<(&str, Option<&[u8]>)> =
            files.iter().map(|(path, text)| (path.as_str(), Some(text.as_bytes()))).collect();
        let mut refs = BTreeMap::new();
        if !files.is_empty() {
            let tree = git.write_tree(None, &bytes)?;
            let signature = self.signature(owner);
            let sha = git.commit_tree(&tree, &[], &signature, &hub_signature(), now, "Initial commit")?;
            git.update_ref("refs/heads/main", &sha, ZERO)?;
            refs.insert("refs/heads/main".to_owned(), sha);
        }
        let repository = Repository {
            id,
            owner: owner.to_owned(),
            name: name.to_owned(),
            private: false,
            archived: false,
            default_branch: "main".to_owned(),
            created_at: now,
            pushed_at: now,
            delete_branch_on_merge: false,
            merge_methods: vec![Method::Merge, Method::Squash],
            refs,
            git,
            roles: BTreeMap::new(),
            protections: BTreeMap::new(),
            rulesets: Vec::new(),
            last_number: 0,
            pulls: BTreeMap::new(),
            issues: BTreeMap::new(),
            comments: BTreeMap::new(),
            checks: BTreeMap::new(),
            statuses: Vec::new(),
            deployments: Vec::new(),
            releases: Vec::new(),
            runs: BTreeMap::new(),
            merges: BTreeMap::new(),
            compared: BTreeMap::new(),
            activities: Vec::new(),
            queue: Vec::new(),
        };
        self.repositories.insert(id, repository);
        Ok(id)
    }
}
