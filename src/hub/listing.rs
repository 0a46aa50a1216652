//! Which repositories there are for us: by name, by number, and what an account lets us work on. Which of them
//! are looked after is in `cli/tenants`.

use serde::Deserialize;

use super::access::ORDINARY;
use super::client::segment;
use super::{Hub, HubError, Repository, error, plain};

/// The hub's description, as far as we read it.
#[derive(Deserialize)]
struct WireRepository {
    id: u64,
    name: String,
    owner: WireAccount,
    default_branch: String,
    #[serde(default)]
    private: bool,
    #[serde(default)]
    archived: bool,
    allow_merge_commit: Option<bool>,
    allow_squash_merge: Option<bool>,
    allow_rebase_merge: Option<bool>,
    delete_branch_on_merge: Option<bool>,
}

#[derive(Deserialize)]
struct WireAccount {
    id: Option<u64>,
    login: String,
}

/// An account at the hub. Its number stays when it takes another name, and whoever takes its old one has another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub login: String,
}

/// What an account lets us work on.
#[derive(Debug, Default)]
pub struct Listed {
    /// Whose number goes by that name now; none where the App reaches nothing there.
    pub owner: Option<u64>,
    /// Its repositories.
    pub repositories: Vec<Repository>,
}

#[derive(Deserialize)]
struct WireInstallation {
    id: u64,
    /// An enterprise has no login, and is no tenant.
    account: Option<serde_json::Value>,
    suspended_at: Option<String>,
}

impl WireRepository {
    fn of(self, installation: Option<u64>) -> Repository {
        Repository {
            id: self.id,
            owner: self.owner.login,
            name: self.name,
            default_branch: self.default_branch,
            installation,
            private: self.private,
            archived: self.archived,
            merge_commits: self.allow_merge_commit,
            squash_merges: self.allow_squash_merge,
            rebase_merges: self.allow_rebase_merge,
            deletes_merged: self.delete_branch_on_merge,
        }
    }
}

/// What people wait to be answered after, and checks that a merge waits for.
const AWAITED: [&str; 6] = ["check_run", "issue_comment", "pull_request", "pull_request_review", "push", "status"];

impl Hub {
    /// The account that registered the App; none for a token, and for the App of an enterprise.
    ///
    /// # Errors
    /// The hub did not say.
    pub async fn registrar(&self) -> Result<Option<Owner>, HubError> {
        #[derive(Deserialize)]
        struct App {
            owner: Option<serde_json::Value>,
        }
        let Some(signed) = self.main.signed() else { return Ok(None) };
        Ok(signed.get::<App>("/app").await?.owner.as_ref().and_then(owner))
    }

    /// Those events that ring for what people do and wait for, and that the App does not get; none for a token.
    ///
    /// # Errors
    /// The hub did not say.
    pub async fn unheard(&self) -> Result<Vec<&'static str>, HubError> {
        #[derive(Deserialize)]
        struct App {
            events: Vec<String>,
        }
        let Some(signed) = self.main.signed() else { return Ok(Vec::new()) };
        let App { events } = signed.get("/app").await?;
        Ok(AWAITED.into_iter().filter(|one| !events.iter().any(|event| event == one)).collect())
    }

    /// Some of the accounts that have the App installed, a hundred at most: enough to say who is left out, and no
    /// more work however many strangers there are.
    ///
    /// # Errors
    /// The hub did not say.
    pub async fn accounts(&self) -> Result<Vec<String>, HubError> {
        let Some(signed) = self.main.signed() else { return Ok(Vec::new()) };
        let some: Vec<WireInstallation> = signed.get("/app/installations?per_page=100").await?;
        Ok(some.iter().filter_map(|one| Some(owner(one.account.as_ref()?)?.login)).collect())
    }

    /// Every repository of an account that we may work on; none where the App is not installed or suspended.
    ///
    /// # Errors
    /// The list could not be read whole.
    pub async fn repositories(&self, account: &str) -> Result<Listed, HubError> {
        let Some(signed) = self.main.signed() else {
            let all = self.main.listing(0, None)?.pages::<WireRepository>("/user/repos?per_page=100", None).await?;
            let of_account = |one: &WireRepository| one.owner.login.eq_ignore_ascii_case(account);
            let all: Vec<WireRepository> = all.into_iter().filter(of_account).collect();
            let owner = all.first().and_then(|one| one.owner.id);
            return Ok(Listed { owner, repositories: all.into_iter().map(|one| one.of(None)).collect() });
        };
        let name = segment(account);
        let here = match signed.get::<WireInstallation>(&format!("/orgs/{name}/installation")).await {
            Err(HubError::NotFound { .. }) => signed.get(&format!("/users/{name}/installation")).await,
            found => found,
        };
        let here = match here {
            Ok(here) if here.suspended_at.is_none() => here,
            // To stop is safe, even on a wrong answer: the next look finds it again.
            Ok(_) | Err(HubError::NotFound { .. }) => return Ok(Listed::default()),
            Err(error) => return Err(error),
        };
        let client = self.main.listing(here.id, None)?;
        let all: Vec<WireRepository> =
            client.pages("/installation/repositories?per_page=100", Some("repositories")).await?;
        let owner = here.account.as_ref().and_then(owner).ok_or_else(|| HubError::Malformed {
            what: format!("the installation on {account}"),
            why: "it does not say on whose account it is".to_owned(),
        })?;
        let repositories = all.into_iter().map(|one| one.of(Some(here.id))).collect();
        Ok(Listed { owner: Some(owner.id), repositories })
    }

    /// One repository by `owner/name`.
    ///
    /// # Errors
    /// Not a name, not found, or moved: then look it up anew by its number.
    pub async fn repository(&self, full_name: &str) -> Result<Repository, HubError> {
        let Some((owner, name)) = full_name.split_once('/').filter(|(owner, name)| plain(owner) && plain(name)) else {
            return Err(HubError::Setup(format!("`{}` is not `owner/name`", error::harmless(full_name))));
        };
        let main = &self.main;
        let path = format!("/repos/{owner}/{name}");
        if main.is_token() {
            return Ok(main.listing(0, None)?.get::<WireRepository>(&path).await?.of(None));
        }
        let installation = main.installation(full_name).await?;
        let client = main.listing(installation, Some(name))?;
        Ok(client.get::<WireRepository>(&path).await?.of(Some(installation)))
    }

    /// What an operator has to look at where a repository or an account could not be read; none where no setting of
    /// theirs is to blame.
    pub async fn look_at(&self, error: &HubError) -> Option<&'static str> {
        let token = self.main.is_token();
        match error {
            HubError::Unauthorized { .. } if token => Some("look at the token: it has ended, or is of another hub"),
            HubError::Unauthorized { .. } => {
                Some("look at --app-key and --app-id: the key is none of that App's, or this machine's clock is wrong")
            }
            HubError::NotFound { .. } if token => {
                Some("look at --repository: nothing is called so, or the token does not reach it")
            }
            HubError::NotFound { .. } => match self.main.bot().await {
                Err(HubError::NotFound { .. }) => Some("look at --app-id: the hub knows no such App"),
                Ok(_) | Err(_) => Some("look at --repository: nothing is called so, or the App is not installed there"),
            },
            HubError::Setup(_)
            | HubError::Unreachable { .. }
            | HubError::Unsettled { .. }
            | HubError::Failed { .. }
            | HubError::Limited { .. }
            | HubError::Stale { .. }
            | HubError::Forbidden { .. }
            | HubError::Moved { .. }
            | HubError::Refused { .. }
            | HubError::Malformed { .. }
            | HubError::TooMuch { .. }
            | HubError::Partial { .. }
            | HubError::Owner { .. } => None,
        }
    }

    /// A repository that we know, as it is now: by its number, so that another one that took over its name is
    /// never taken for it. An App that was taken out and installed anew is found.
    ///
    /// # Errors
    /// It could not be read, or what is called so now is another one.
    pub async fn again(&self, known: &Repository) -> Result<Repository, HubError> {
        let by_number = async {
            let client = self.main.client(known, known.installation, ORDINARY).await?;
            client.get::<WireRepository>(&format!("/repositories/{}", known.id)).await
        };
        let found = match by_number.await {
            // One such answer is no proof; the name leads to the installation of today, where there is one.
            Err(HubError::NotFound { .. } | HubError::Refused { .. }) => self.repository(&known.full_name()).await?,
            found => found?.of(known.installation),
        };
        if found.id == known.id {
            return Ok(found);
        }
        let (name, was, is) = (known.full_name(), known.id, found.id);
        Err(HubError::Setup(format!("`{name}` is another repository now: number {is}, not {was}; it is left alone")))
    }
}

/// An account; an enterprise has no login.
fn owner(account: &serde_json::Value) -> Option<Owner> {
    Some(Owner { id: account.get("id")?.as_u64()?, login: account.get("login")?.as_str()?.to_owned() })
}
