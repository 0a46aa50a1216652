//! Reads pull requests: one GraphQL page for all, and the same for one. What is asked of a branch before one is opened
//! is in `branch_pulls`.

use std::collections::BTreeMap;

use decide::PullNumber;
use serde::Deserialize;
use serde_json::{Value, json};

use super::graphql::{Envelope, Fault};
use super::other_pulls::{OtherPull, PullPage, kept};
use super::pull_wire::{WireConnection, WirePull};
use super::{HubError, HubPull, RepoHub};
use crate::branches;

const DOCUMENT: &str = include_str!("queries/pulls.graphql");
/// Pull requests on a page; halved when the hub cannot answer so much.
const PAGE: u64 = 50;
/// GitHub advises against more than a thousand open ones on a base; this is twice that.
const MOST_PAGES: usize = 40;

#[derive(Deserialize)]
struct Page {
    repository: Option<Lists>,
}

#[derive(Deserialize)]
struct Lists {
    open: Option<WireConnection<WirePull>>,
    #[serde(default)]
    closed: Option<WireConnection<WirePull>>,
}

#[derive(Deserialize)]
struct One {
    repository: Option<OnePull>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OnePull {
    pull_request: Option<WirePull>,
}

impl RepoHub {
    /// The pull requests against `base` whose branch begins with `coldframe/`: every open one and
    /// those among the last fifty that were closed (fewer when the hub cannot answer so much at
    /// once), by number. Whose they are, see [`HubPull::is_by`]. One that is missing here is not proven to be closed.
    /// Beside them what is kept of the other open ones.
    ///
    /// # Errors
    /// The page was not read, or lacks more than the parts that a [`HubPull`] can lack.
    pub async fn pulls(&self, base: &str) -> Result<PullPage, HubError> {
        let mut size = PAGE;
        loop {
            match self.pulls_by(base, size).await {
                // Too much at once for the hub (it gives up after ten seconds) or for us.
                Err(HubError::Failed { status: 502..=504, .. } | HubError::TooMuch { .. }) if size > 5 => size /= 2,
                other => return other,
            }
        }
    }

    async fn pulls_by(&self, base: &str, size: u64) -> Result<PullPage, HubError> {
        let what = "GraphQL Pulls";
        let repository = self.repository();
        let mut variables =
            json!({ "owner": repository.owner, "name": repository.name, "base": base, "open": size, "closed": size });
        let (mut found, mut others) = (BTreeMap::new(), Vec::new());
        let mut operation = "Pulls";
        for _ in 0..MOST_PAGES {
            let envelope = self.main().query(DOCUMENT, operation, variables.clone()).await?;
            let faults = envelope.faults();
            let lists = data::<Page>(what, envelope, &faults)?.repository;
            let Some(lists) = lists else { return Err(not_there(what, &faults)) };
            let Some(open) = lists.open else { return Err(partial(what, &faults)) };
            let next = open.next(what)?;
            // Open ones last: who was reopened between two pages is open.
            for (part, list) in [("closed", lists.closed), ("open", Some(open))] {
                let Some(list) = list else { continue };
                for (index, pull) in list.entries(what)?.into_iter().enumerate() {
                    let faults = faults_of(what, &faults, &["repository", part, "nodes"], index)?;
                    if !pull.is_on(base) {
                        continue;
                    }
                    if pull.branch().starts_with(branches::PREFIX) {
                        let pull = self.with_older(pull.read(what, &faults)?).await;
                        found.insert(pull.number, pull);
                    } else if part == "open"
                        && let Ok(pull) = pull.read(what, &faults)
                    {
                        others.push(OtherPull::of(pull, self));
                    }
                }
            }
            if let Some(stray) = faults.iter().find(|fault| !is_within_a_pull(fault)) {
                return Err(partial(what, std::slice::from_ref(stray)));
            }
            let Some(after) = next else {
                return Ok(PullPage { ours: found.into_values().collect(), others: kept(others) });
            };
            operation = "MorePulls";
            variables = json!({ "owner": repository.owner, "name": repository.name, "base": base, "open": size, "after": after });
        }
        Err(HubError::TooMuch { what: what.to_owned(), why: format!("more than {MOST_PAGES} pages of open ones") })
    }

    /// One pull request, whatever its branch.
    ///
    /// # Errors
    /// As [`RepoHub::pulls`]; one answer that it is not there proves nothing.
    pub async fn pull(&self, number: PullNumber) -> Result<HubPull, HubError> {
        let what = &format!("GraphQL Pull {number}");
        let repository = self.repository();
        let variables = json!({ "owner": repository.owner, "name": repository.name, "number": number.0 });
        let envelope = self.main().query(DOCUMENT, "Pull", variables).await?;
        let faults = envelope.faults();
        let pull = data::<One>(what, envelope, &faults)?.repository.and_then(|repository| repository.pull_request);
        let Some(pull) = pull else { return Err(not_there(what, &faults)) };
        let below: Option<Vec<Fault>> =
            faults.iter().map(|fault| relative(fault, &["repository", "pullRequest"])).collect();
        let Some(below) = below else { return Err(partial(what, &faults)) };
        Ok(self.with_older(pull.read(what, &below)?).await)
    }

    /// Its text now.
    ///
    /// # Errors
    /// It was not read.
    pub async fn pull_body(&self, number: PullNumber) -> Result<String, HubError> {
        #[derive(Deserialize)]
        struct Text {
            body: Option<String>,
        }
        let found: Text = self.main().get(&self.path(&format!("/pulls/{}", number.0))).await?;
        Ok(found.body.unwrap_or_default())
    }
}

/// The data of an answer; an answer without any is its errors.
pub(super) fn data<T: serde::de::DeserializeOwned>(
    what: &str,
    envelope: Envelope,
    faults: &[Fault],
) -> Result<T, HubError> {
    match envelope.data {
        None | Some(Value::Null) => Err(partial(what, faults)),
        Some(data) => serde_json::from_value(data).map_err(|error| malformed(what, &error.to_string())),
    }
}

/// Whether an error is about one pull request of a list.
fn is_within_a_pull(fault: &Fault) -> bool {
    ["open", "closed"]
        .iter()
        .any(|part| relative(fault, &["repository", part, "nodes"]).is_some_and(|below| below.path.len() >= 2))
}

/// The errors about one pull request of a list, relative to it.
fn faults_of(what: &str, faults: &[Fault], list: &[&str], index: usize) -> Result<Vec<Fault>, HubError> {
    let index = index.to_string();
    let mut place = list.to_vec();
    place.push(&index);
    let mut below = Vec::new();
    for fault in faults {
        match relative(fault, &place) {
            Some(relative) if relative.path.is_empty() => return Err(partial(what, std::slice::from_ref(fault))),
            Some(relative) => below.push(relative),
            None => {}
        }
    }
    Ok(below)
}

/// An error relative to a place; none = it is about something else.
fn relative(fault: &Fault, place: &[&str]) -> Option<Fault> {
    let (head, rest) = fault.path.split_at_checked(place.len())?;
    head.iter().zip(place).all(|(a, b)| a == b).then(|| Fault { path: rest.to_vec(), ..fault.clone() })
}

pub(super) fn not_there(what: &str, faults: &[Fault]) -> HubError {
    if faults.is_empty() || faults.iter().any(|fault| fault.kind == "NOT_FOUND") {
        HubError::NotFound { what: what.to_owned() }
    } else {
        partial(what, faults)
    }
}

pub(super) fn partial(what: &str, faults: &[Fault]) -> HubError {
    let said = faults.iter().take(3).map(|fault| {
        let place = fault.path.join(".");
        if place.is_empty() { fault.message.clone() } else { format!("{place}: {}", fault.message) }
    });
    let why = said.collect::<Vec<_>>().join("; ");
    let why = if why.is_empty() { "no data and no error".to_owned() } else { super::error::harmless(&why) };
    HubError::Partial { what: what.to_owned(), why }
}

pub(super) fn malformed(what: &str, why: &str) -> HubError {
    HubError::Malformed { what: what.to_owned(), why: super::error::harmless(why) }
}
