//! The second, independent look before a pull request is opened: what was ever opened from its branch. One branch is
//! asked for by REST, several in one GraphQL request.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use decide::{Person, PullNumber, Sha};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use super::client::Client;
use super::pull_wire::{WireActor, WireConnection};
use super::pulls::{data, not_there, partial};
use super::{HubError, RepoHub};

/// Branches in one request. Each is a list of its own, and GitHub gives up on a request after ten seconds.
const TOGETHER: usize = 20;
/// The newest of each. The release of today is among them, and so is whatever is open.
const NEWEST: usize = 50;

/// A pull request of a branch, as far as it may be in the way of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchPull {
    /// Its number.
    pub number: PullNumber,
    /// Open.
    pub open: bool,
    /// When it was merged.
    pub merged_at: Option<Timestamp>,
    /// The head commit.
    pub head: Sha,
    /// Its branch.
    pub branch: String,
    /// The branch that it goes to.
    pub base: String,
    /// Who opened it; none for a deleted account.
    pub author: Option<Person>,
}

impl RepoHub {
    /// Every pull request of one of our branches, open or not.
    ///
    /// # Errors
    /// The list was not read.
    pub async fn pulls_of_branch(&self, branch: &str) -> Result<Vec<BranchPull>, HubError> {
        list_of_branch(self.main(), &self.path(""), &self.repository().owner, branch).await
    }

    /// The same of several branches, the newest fifty of each. Each branch that was asked for has an entry.
    ///
    /// # Errors
    /// One of the lists was not read.
    pub async fn pulls_of_branches(&self, branches: &[String]) -> Result<BTreeMap<String, Vec<BranchPull>>, HubError> {
        let mut found = BTreeMap::new();
        if let [branch] = branches {
            found.insert(branch.clone(), self.pulls_of_branch(branch).await?);
            return Ok(found);
        }
        for some in branches.chunks(TOGETHER) {
            match self.lists_of(some, &mut found).await {
                // Too much at once for the hub.
                Err(HubError::Failed { status: 502..=504, .. }) => {
                    for branch in some {
                        found.insert(branch.clone(), self.pulls_of_branch(branch).await?);
                    }
                }
                other => other?,
            }
        }
        Ok(found)
    }

    async fn lists_of(
        &self,
        branches: &[String],
        found: &mut BTreeMap<String, Vec<BranchPull>>,
    ) -> Result<(), HubError> {
        let what = "GraphQL PullsOfBranches";
        let repository = self.repository();
        let mut variables = Map::new();
        variables.insert("owner".to_owned(), json!(repository.owner));
        variables.insert("name".to_owned(), json!(repository.name));
        variables.extend(branches.iter().enumerate().map(|(index, branch)| (format!("b{index}"), json!(branch))));
        let document = document(branches.len());
        let envelope = self.main().query(&document, "PullsOfBranches", Value::Object(variables)).await?;
        let faults = envelope.faults();
        let lists = data::<Lists>(what, envelope, &faults)?.repository;
        let Some(mut lists) = lists else { return Err(not_there(what, &faults)) };
        for (index, branch) in branches.iter().enumerate() {
            let list = lists.remove(&format!("b{index}")).flatten();
            let Some(list) = list.filter(|_| faults.is_empty()) else { return Err(partial(what, &faults)) };
            let pulls = list.entries(what)?.into_iter();
            // A fork may have a branch of the same name; and the filter is the hub's.
            let ours = pulls.filter(|pull| !pull.is_cross_repository && pull.head_ref_name == *branch);
            found.insert(branch.clone(), ours.map(WireBranchPull::read).collect());
        }
        Ok(())
    }
}

/// GraphQL has no list of names: one alias for each branch.
fn document(branches: usize) -> String {
    let (mut names, mut lists) = (String::new(), String::new());
    for index in 0..branches {
        let _ = write!(names, ", $b{index}: String!");
        let _ = write!(
            lists,
            " b{index}: pullRequests(headRefName: $b{index}, first: {NEWEST}, orderBy: {{field: CREATED_AT, direction: \
             DESC}}) {{ nodes {{ ...Earlier }} }}"
        );
    }
    format!(
        "query PullsOfBranches($owner: String!, $name: String!{names}) {{ repository(owner: $owner, name: $name) \
         {{{lists} }} }} fragment Earlier on PullRequest {{ number state mergedAt headRefOid headRefName baseRefName \
         isCrossRepository author {{ __typename login }} }}"
    )
}

#[derive(Deserialize)]
struct Lists {
    repository: Option<BTreeMap<String, Option<WireConnection<WireBranchPull>>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireBranchPull {
    number: u64,
    state: String,
    merged_at: Option<Timestamp>,
    head_ref_oid: String,
    head_ref_name: String,
    base_ref_name: String,
    is_cross_repository: bool,
    author: Option<WireActor>,
}

impl WireBranchPull {
    fn read(self) -> BranchPull {
        BranchPull {
            number: PullNumber(self.number),
            open: self.state == "OPEN",
            merged_at: self.merged_at,
            head: Sha::new(self.head_ref_oid),
            branch: self.head_ref_name,
            base: self.base_ref_name,
            author: self.author.map(|actor| actor.read().login),
        }
    }
}

/// The pull requests with this head, by REST.
pub(super) async fn list_of_branch(
    client: &Client,
    root: &str,
    owner: &str,
    branch: &str,
) -> Result<Vec<BranchPull>, HubError> {
    #[derive(Deserialize)]
    struct Wire {
        number: u64,
        state: String,
        merged_at: Option<Timestamp>,
        head: End,
        base: End,
        user: Option<User>,
    }
    #[derive(Deserialize)]
    struct End {
        #[serde(rename = "ref")]
        branch: String,
        sha: String,
    }
    #[derive(Deserialize)]
    struct User {
        login: String,
    }
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("head", &format!("{owner}:{branch}"))
        .append_pair("state", "all")
        .append_pair("per_page", "100")
        .finish();
    let list: Vec<Wire> = client.pages(&format!("{root}/pulls?{query}"), None).await?;
    // The filter is the hub's; a hub that ignores it would show strangers.
    let ours = list.into_iter().filter(|pull| pull.head.branch == branch);
    Ok(ours
        .map(|pull| BranchPull {
            number: PullNumber(pull.number),
            open: pull.state == "open",
            merged_at: pull.merged_at,
            head: Sha::new(pull.head.sha),
            branch: pull.head.branch,
            base: pull.base.branch,
            author: pull.user.map(|user| Person::new(user.login)),
        })
        .collect())
}
