//! Which repositories `serve` looks after: those that the operator names, or else those of the account that owns the
//! App. Who installs a public App is not looked after for that. What is done for each is in `serve`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;

use crate::hub::{Hub, Repository};

/// Strangers who are named in the log; of more it is said that there are more.
const MOST_TOLD: usize = 20;
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
    told: BTreeSet<String>,
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
        Self { wanted, known: BTreeMap::new(), told: BTreeSet::new() }
    }

    /// The list as it is now. What cannot be read of one account says nothing about the others.
    ///
    /// # Errors
    /// Nobody is named, and the App has no owner that could be meant.
    pub async fn look(&mut self, hub: &Hub) -> anyhow::Result<List> {
        let mut list = List::default();
        if self.wanted.names.is_empty() && self.wanted.accounts.is_empty() {
            match hub.registrar().await {
                Ok(Some(owner)) => self.wanted.accounts.push(owner),
                Ok(None) => {
                    bail!("the hub names no account that owns the App; give --repository OWNER/NAME or 'OWNER/*'")
                }
                Err(error) => {
                    self.unread(&mut list, "", &error);
                    return Ok(list);
                }
            }
        }
        for name in self.wanted.names.clone() {
            if let Some(known) = self.known.get(&name) {
                list.add(known.clone());
                continue;
            }
            match hub.repository(&name).await {
                Ok(found) => {
                    self.known.insert(name, found.clone());
                    list.add(found);
                }
                Err(error) => self.unread(&mut list, name.split('/').next().unwrap_or_default(), &error),
            }
        }
        let asked = self.wanted.accounts.iter().map(|account| hub.repositories(account));
        let answers = futures_util::future::join_all(asked).await;
        for (account, answer) in self.wanted.accounts.clone().iter().zip(answers) {
            match answer {
                Ok(found) => {
                    if found.is_empty() && self.told.insert(account.clone()) {
                        tracing::warn!(account, "the App reaches nothing there: install it, or lift its suspension");
                    }
                    found.into_iter().filter(|one| !one.archived).for_each(|one| list.add(one));
                }
                Err(error) => self.unread(&mut list, account, &error),
            }
        }
        self.say_who_is_left_out(hub).await;
        Ok(list)
    }

    fn unread(&mut self, list: &mut List, account: &str, error: &crate::hub::HubError) {
        tracing::warn!(account, %error, "repositories not listed; those that are looked after there go on");
        list.unread.insert(account.to_lowercase());
    }

    /// Says once of each account that has the App why nothing is done there.
    async fn say_who_is_left_out(&mut self, hub: &Hub) {
        let Ok(accounts) = hub.accounts().await else { return };
        let owners = self.wanted.names.iter().filter_map(|name| name.split('/').next());
        let ours: BTreeSet<String> =
            owners.chain(self.wanted.accounts.iter().map(String::as_str)).map(str::to_lowercase).collect();
        for account in accounts.into_iter().filter(|account| !ours.contains(&account.to_lowercase())) {
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
