//! Which repositories `serve` looks after: those that the operator names, or else those of the account that owns the
//! App. Who installs a public App is not looked after for that. What is done for each is in `serve`.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::Discriminant;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::hub::{Hub, HubError, Listed, Owner, Repository};

/// So long one look waits for answers. Who is slower is heard at one of the next looks, and keeps nobody waiting.
const PATIENCE: Duration = Duration::from_secs(3);

/// Strangers who are named in the log; of more it is said that there are more.
const MOST_TOLD: usize = 20;
/// What it is called that the log was told of them.
const EVENTS: &str = "the App's events";
/// What an account and all of its repositories are called by.
const ALL: &str = "/*";

/// Whom the operator wants to be looked after.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Repositories, `owner/name`.
    names: Vec<String>,
    /// Accounts, each with everything that the App reaches there.
    accounts: Vec<String>,
}

/// What one look at the list found.
#[derive(Debug, Default)]
pub struct List {
    /// Repositories to be looked after, by number.
    pub here: BTreeMap<u64, Repository>,
    /// Accounts that could not be read: what is looked after there goes on.
    pub unread: BTreeSet<String>,
}

/// Keeps the list.
pub struct Tenants {
    wanted: Wanted,
    /// What a name stood for when it was seen first: whoever takes it over later is somebody else.
    known: BTreeMap<String, Repository>,
    /// The same for accounts, by their names in small letters.
    accounts: BTreeMap<String, u64>,
    /// The account that owns the App, under its name of today.
    registrar: Option<Owner>,
    /// Questions under way.
    asked: BTreeSet<Ask>,
    answers: JoinSet<(Ask, Result<Listed, HubError>)>,
    told: BTreeSet<String>,
    /// What kept each account from being read when that was told last.
    troubles: BTreeMap<String, Discriminant<HubError>>,
}

/// What the hub is asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ask {
    Name(String),
    Account(String),
}

impl Ask {
    async fn answer(self, hub: Arc<Hub>) -> (Self, Result<Listed, HubError>) {
        let answer = match &self {
            Self::Name(name) => hub.repository(name).await.map(|one| Listed { owner: None, repositories: vec![one] }),
            Self::Account(account) => hub.repositories(account).await,
        };
        (self, answer)
    }

    fn account(&self) -> &str {
        match self {
            Self::Name(name) => name.split('/').next().unwrap_or_default(),
            Self::Account(account) => account,
        }
    }
}

impl Wanted {
    /// From the entries of `--repository`. Without one it is the account that owns the App, which a token has not.
    pub fn read(entries: &[String], token: bool) -> anyhow::Result<Self> {
        let (mut names, mut accounts) = (Vec::new(), Vec::new());
        for entry in entries.iter().map(|entry| entry.trim()).filter(|entry| !entry.is_empty()) {
            match entry.strip_suffix(ALL) {
                Some(account) if !account.is_empty() && !account.contains(['/', '*']) => {
                    accounts.push(account.to_owned())
                }
                None if entry.split('/').count() == 2 && !entry.contains('*') => names.push(entry.to_owned()),
                Some(_) | None => bail!("`{entry}` in --repository is neither `OWNER/NAME` nor `OWNER/*`"),
            }
        }
        if names.is_empty() && accounts.is_empty() && token {
            bail!(
                "a token reaches whatever its owner was ever invited to; say what to look after with \
                 --repository OWNER/NAME, or 'OWNER/*'"
            );
        }
        Ok(Self { names, accounts })
    }

    /// Whether there is one repository, which was named: what the operator gives is for it alone.
    pub fn is_one(&self) -> bool {
        self.names.len() == 1 && self.accounts.is_empty()
    }
}

impl List {
    /// Whether a repository that is looked after goes on to be.
    pub fn keeps(&self, repository: &Repository) -> bool {
        self.here.contains_key(&repository.id) || self.unread.contains(&repository.owner.to_lowercase())
    }

    fn add(&mut self, repository: Repository) {
        self.here.entry(repository.id).or_insert(repository);
    }
}

impl Tenants {
    /// Nothing is known yet.
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            known: BTreeMap::new(),
            accounts: BTreeMap::new(),
            registrar: None,
            asked: BTreeSet::new(),
            answers: JoinSet::new(),
            told: BTreeSet::new(),
            troubles: BTreeMap::new(),
        }
    }

    /// The list as it is now. What cannot be read of one account, or not in time, says nothing about the others.
    ///
    /// # Errors
    /// Nobody is named, and the App has no owner that could be meant.
    pub async fn look(&mut self, hub: &Arc<Hub>) -> anyhow::Result<List> {
        let mut list = List::default();
        self.say_unheard(hub).await;
        if self.wanted.names.is_empty() && self.wanted.accounts.is_empty() {
            self.ask_for_the_registrar(hub, &mut list).await?;
        }
        let accounts = self.wanted.accounts.iter().cloned();
        let accounts = accounts.chain(self.registrar.iter().map(|owner| owner.login.clone())).map(Ask::Account);
        let mut asks: Vec<Ask> = accounts.collect();
        for name in &self.wanted.names {
            match self.known.get(name) {
                Some(known) => list.add(known.clone()),
                None => asks.push(Ask::Name(name.clone())),
            }
        }
        for ask in asks {
            if self.asked.insert(ask.clone()) {
                self.answers.spawn(ask.answer(Arc::clone(hub)));
            }
        }
        let mut answers = Vec::new();
        let all = async {
            while let Some(answer) = self.answers.join_next().await {
                answers.push(answer);
            }
        };
        timeout(PATIENCE, all).await.ok();
        for answer in answers {
            match answer {
                Ok((ask, answer)) => {
                    self.asked.remove(&ask);
                    match answer {
                        Ok(listed) => {
                            self.troubles.remove(&ask.account().to_lowercase());
                            self.listed(&mut list, &ask, listed);
                        }
                        Err(error) => self.unread(&mut list, ask.account(), &error, hub).await,
                    }
                }
                Err(error) => tracing::error!(%error, "a question for the list of repositories ended"),
            }
        }
        list.unread.extend(self.asked.iter().map(|ask| ask.account().to_lowercase()));
        if self.answers.is_empty() {
            self.asked.clear();
        }
        Ok(list)
    }

    /// Says once which events the App does not get: without them nothing is lost, and all of it is slow.
    async fn say_unheard(&mut self, hub: &Hub) {
        if self.told.contains(EVENTS) {
            return;
        }
        let Ok(unheard) = hub.unheard().await else { return };
        self.told.insert(EVENTS.to_owned());
        if !unheard.is_empty() {
            let events = unheard.join(", ");
            tracing::warn!(
                events,
                "the App does not get these events, so that the bot finds what they tell at its sweeps only; subscribe it to them, which takes the permissions in README.md"
            );
        }
    }

    /// The account that owns the App, by its number: it may take another name, and whoever has its old one then is a
    /// stranger.
    async fn ask_for_the_registrar(&mut self, hub: &Hub, list: &mut List) -> anyhow::Result<()> {
        match (hub.registrar().await, &mut self.registrar) {
            (Ok(Some(owner)), known @ None) => *known = Some(owner),
            (Ok(Some(owner)), Some(known)) if owner.id == known.id => known.login = owner.login,
            (Ok(Some(owner)), Some(_)) => {
                if self.told.insert(format!("the App is {}'s", owner.id)) {
                    let account = owner.login;
                    tracing::warn!(
                        account,
                        "the App has another owner now; start the bot anew to look after what is theirs"
                    );
                }
            }
            (Ok(None), None) => {
                bail!("the hub names no account that owns the App; give --repository OWNER/NAME or 'OWNER/*'")
            }
            (Ok(None), Some(_)) => {}
            (Err(error), known) => {
                let account = known.as_ref().map(|owner| owner.login.clone()).unwrap_or_default();
                self.unread(list, &account, &error, hub).await;
            }
        }
        if let Some(owner) = &self.registrar {
            self.accounts.insert(owner.login.to_lowercase(), owner.id);
        }
        Ok(())
    }

    /// Takes an answer in, if it is about whom it was about at first.
    fn listed(&mut self, list: &mut List, ask: &Ask, listed: Listed) {
        match ask {
            Ask::Name(name) => {
                for found in listed.repositories {
                    self.known.insert(name.clone(), found.clone());
                    list.add(found);
                }
            }
            Ask::Account(account) => {
                let Some(id) = listed.owner else {
                    if self.told.insert(account.clone()) {
                        tracing::warn!(account, "the App reaches nothing there: install it, or lift its suspension");
                    }
                    return;
                };
                let first = *self.accounts.entry(account.to_lowercase()).or_insert(id);
                if first == id {
                    listed.repositories.into_iter().filter(|one| !one.archived).for_each(|one| list.add(one));
                } else if self.told.insert(format!("{account} is {id}")) {
                    let why = format!("another account has this name now: number {id}, not {first}; name it anew");
                    tracing::warn!(account, why, "is left out");
                }
            }
        }
    }

    /// An account could not be read. The same trouble once more is no news.
    async fn unread(&mut self, list: &mut List, account: &str, error: &HubError, hub: &Hub) {
        let account = account.to_lowercase();
        let kind = std::mem::discriminant(error);
        if self.troubles.insert(account.clone(), kind) != Some(kind) {
            let look_at = hub.look_at(error).await.map(|words| format!("; {words}")).unwrap_or_default();
            let error = format!("{error}{look_at}");
            tracing::warn!(account, error, "repositories not listed; those that are looked after there go on");
        }
        list.unread.insert(account);
    }

    /// Says once of each account that has the App why nothing is done there.
    pub async fn say_who_is_left_out(&mut self, hub: &Hub) {
        let Ok(installed) = hub.accounts().await else { return };
        let accounts = self.wanted.accounts.iter().chain(self.registrar.iter().map(|owner| &owner.login));
        let owners = self.wanted.names.iter().filter_map(|name| name.split('/').next());
        let ours: BTreeSet<String> = owners.chain(accounts.map(String::as_str)).map(str::to_lowercase).collect();
        for account in installed.into_iter().filter(|account| !ours.contains(&account.to_lowercase())) {
            if self.told.len() > MOST_TOLD || !self.told.insert(account.clone()) {
                continue;
            }
            if self.told.len() > MOST_TOLD {
                tracing::warn!("more accounts have installed the App, and are left out");
            } else {
                let why = format!("nobody named it: add '{account}{ALL}' or one of its repositories to --repository");
                tracing::warn!(account, why, "has installed the App and is left out");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_wanted_is_a_repository_or_all_of_an_account() {
        let read = |entries: &[&str], token| {
            Wanted::read(&entries.iter().map(|entry| (*entry).to_string()).collect::<Vec<_>>(), token)
        };
        assert!(read(&["acme/fleet"], true).unwrap().is_one());
        for several in [&["acme/*"][..], &["acme/fleet", "acme/other"], &["acme/fleet", "beta/*"], &[], &[""]] {
            assert!(!read(several, false).unwrap().is_one(), "{several:?}");
        }
        for wrong in ["acme", "*/*", "/*", "*", "a/b/*", "acme/f*", "a/b/c"] {
            let error = read(&[wrong], false).unwrap_err().to_string();
            assert!(error.contains("neither `OWNER/NAME` nor `OWNER/*`"), "{error}");
        }
        assert!(read(&[], true).unwrap_err().to_string().contains("say what to look after"));
    }
}
