//! Pull requests as GraphQL writes them, and their translation. Fields and words that we do not
//! know are passed over; a missing part is unread, never empty.

use decide::snapshot::{Mergeable, Read, ReviewDecision};
use decide::{Person, PullNumber, Sha};
use jiff::Timestamp;
use serde::Deserialize;

use super::HubError;
use super::check_wire::{WireRollup, checks};
use super::graphql::Fault;
use super::pull::{Author, HubPull, HubState, InQueue, TakenOut};
use super::pulls::{malformed, partial};
use super::talk::{WireComment, WireReview, comments, reviews};

/// A list of GraphQL, with as much of its page as was asked for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireConnection<T> {
    nodes: Option<Vec<Option<T>>>,
    page_info: Option<PageInfo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    #[serde(default)]
    has_next_page: bool,
    #[serde(default)]
    has_previous_page: bool,
    #[serde(default)]
    end_cursor: Option<String>,
    #[serde(default)]
    start_cursor: Option<String>,
}

impl<T> WireConnection<T> {
    /// The cursor of the next page.
    pub(super) fn next(&self, what: &str) -> Result<Option<String>, HubError> {
        match self.page_info.as_ref().filter(|info| info.has_next_page) {
            None => Ok(None),
            Some(info) if info.end_cursor.is_some() => Ok(info.end_cursor.clone()),
            Some(_) => Err(malformed(what, "a next page without its cursor")),
        }
    }

    /// Every entry; a hole in the list is an error, because nobody knows what it hides.
    pub(super) fn entries(self, what: &str) -> Result<Vec<T>, HubError> {
        let nodes = self.nodes.ok_or_else(|| malformed(what, "a list without entries"))?;
        nodes.into_iter().map(|node| node.ok_or_else(|| malformed(what, "a list with a hole"))).collect()
    }

    /// Every entry of a part that may be unread.
    pub(super) fn part(self, longest: &str) -> Read<Vec<T>> {
        let more = self.page_info.as_ref().is_some_and(|info| info.has_next_page || info.has_previous_page);
        match self.nodes.map(|nodes| nodes.into_iter().collect::<Option<Vec<T>>>()) {
            Some(Some(nodes)) if !more => Read::Known(nodes),
            Some(Some(_)) => Read::Unread(format!("there are more than {longest}")),
            Some(None) | None => Read::Unread("the hub left some out".to_owned()),
        }
    }

    /// The cursor of the page before, where there is one; empty where the hub does not say it.
    pub(super) fn previous(&self) -> Option<String> {
        let info = self.page_info.as_ref().filter(|info| info.has_previous_page)?;
        Some(info.start_cursor.clone().unwrap_or_default())
    }

    /// The entries as they came.
    pub(super) fn into_nodes(self) -> Option<Vec<Option<T>>> {
        self.nodes
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WirePull {
    number: u64,
    #[serde(default)]
    id: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    body: String,
    editor: Option<WireActor>,
    state: String,
    #[serde(default)]
    is_draft: bool,
    #[serde(default)]
    mergeable: String,
    #[serde(default)]
    merge_state_status: String,
    review_decision: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
    closed_at: Option<Timestamp>,
    merged_at: Option<Timestamp>,
    merged_by: Option<WireActor>,
    auto_merge_request: Option<WireAutoMerge>,
    merge_queue_entry: Option<WireEntry>,
    taken_out: Option<WireConnection<WireTakenOut>>,
    merge_commit: Option<WireOid>,
    author: Option<WireActor>,
    is_cross_repository: bool,
    base_ref_name: String,
    base_ref_oid: Option<String>,
    head_ref_name: String,
    head_ref_oid: String,
    labels: Option<WireConnection<WireLabel>>,
    timeline_items: Option<WireConnection<WireClosed>>,
    reviews: Option<WireConnection<WireReview>>,
    comments: Option<WireConnection<WireComment>>,
    commits: Option<WireConnection<WirePullCommit>>,
}

#[derive(Deserialize)]
pub(super) struct WireActor {
    #[serde(rename = "__typename", default)]
    kind: String,
    login: String,
}

impl WireActor {
    pub(super) fn read(self) -> Author {
        // GraphQL leaves the suffix out that REST and people know an App by.
        let app = self.kind == "Bot" || self.login.ends_with("[bot]");
        let login = if app && !self.login.ends_with("[bot]") { format!("{}[bot]", self.login) } else { self.login };
        Author { login: Person::new(login), human: self.kind == "User" && !app }
    }
}

#[derive(Deserialize)]
pub(super) struct WireOid {
    pub(super) oid: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAutoMerge {
    enabled_by: Option<WireActor>,
}

impl WireAutoMerge {
    fn by(self) -> Person {
        self.enabled_by.map_or_else(|| Person::from("somebody"), |actor| actor.read().login)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireEntry {
    #[serde(default)]
    position: u64,
    enqueuer: Option<WireActor>,
    head_commit: Option<WireOid>,
}

impl WireEntry {
    fn read(self) -> InQueue {
        let group = self.head_commit.map(|commit| Sha::new(commit.oid));
        InQueue { by: self.enqueuer.map(WireActor::read), position: self.position, group }
    }
}

/// An empty object for an event of another type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTakenOut {
    created_at: Option<Timestamp>,
    actor: Option<WireActor>,
    reason: Option<String>,
}

impl WireTakenOut {
    fn read(self) -> Option<TakenOut> {
        let why = self.reason.as_deref().map(super::error::harmless).unwrap_or_default();
        Some(TakenOut { at: self.created_at?, by: self.actor.map(WireActor::read), why })
    }
}

#[derive(Deserialize)]
struct WireLabel {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireClosed {
    actor: Option<WireActor>,
}

#[derive(Deserialize)]
struct WirePullCommit {
    commit: WireCommit,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCommit {
    oid: String,
    #[serde(default)]
    message: String,
    status_check_rollup: Option<WireRollup>,
}

/// Names of labels; a part that is not there is unread.
fn labels(part: Option<WireConnection<WireLabel>>) -> Read<Vec<String>> {
    match part.map(|part| part.part("a hundred labels")) {
        Some(Read::Known(labels)) => Read::Known(labels.into_iter().map(|label| label.name).collect()),
        Some(Read::Unread(why)) => Read::Unread(why),
        None => Read::Unread("the hub left its labels out".to_owned()),
    }
}

impl WirePull {
    pub(super) fn branch(&self) -> &str {
        &self.head_ref_name
    }

    pub(super) fn is_on(&self, base: &str) -> bool {
        self.base_ref_name == base
    }

    /// Translates it; `faults` are the errors about it, relative to it. Reviews, comments and
    /// checks can be unread; everything else has to be there.
    pub(super) fn read(self, what: &str, faults: &[Fault]) -> Result<HubPull, HubError> {
        let vital = |fault: &&Fault| {
            let path: Vec<&str> = fault.path.iter().map(String::as_str).collect();
            let apart = matches!(path.as_slice(), ["reviews" | "comments" | "mergeQueueEntry" | "takenOut", ..])
                || (path.first() == Some(&"commits") && path.contains(&"statusCheckRollup"));
            !apart
        };
        if let Some(fault) = faults.iter().find(vital) {
            return Err(partial(what, std::slice::from_ref(fault)));
        }
        let fault = |part: &str| {
            let about = |fault: &&Fault| fault.path.iter().any(|name| name == part);
            faults.iter().find(about).map(|fault| fault.message.clone())
        };
        let head = Sha::new(self.head_ref_oid);
        let commit = self.commits.map(|commits| commits.entries(what)).transpose()?.and_then(|mut list| list.pop());
        let commit = commit.map(|commit| commit.commit);
        // Just after a push the two can differ: then nothing is known of the new head.
        let (message, checks) = match commit.filter(|commit| commit.oid == head.as_str()) {
            Some(commit) => {
                (Read::Known(commit.message), checks(commit.status_check_rollup, fault("statusCheckRollup")))
            }
            None => {
                let why = format!("the hub does not show the commit {} yet", head.short());
                (Read::Unread(why.clone()), Read::Unread(why))
            }
        };
        let closed_by = self.timeline_items.and_then(|items| items.nodes).into_iter().flatten().flatten().next_back();
        let closed_by = closed_by.and_then(|closed| closed.actor).map(WireActor::read);
        let taken_out = self.taken_out.and_then(|items| items.nodes).into_iter().flatten().flatten().next_back();
        let taken_out = taken_out.and_then(WireTakenOut::read);
        let at = |time: Option<Timestamp>| time.ok_or_else(|| malformed(what, "a state without its time"));
        let state = match self.state.as_str() {
            "OPEN" => HubState::Open,
            "MERGED" => HubState::Merged {
                at: at(self.merged_at)?,
                by: self.merged_by.map(WireActor::read),
                commit: self.merge_commit.map(|commit| Sha::new(commit.oid)),
            },
            "CLOSED" => HubState::Closed { at: at(self.closed_at)?, by: closed_by },
            other => return Err(malformed(what, &format!("a pull request that is `{other}`"))),
        };
        let older_comments = self.comments.as_ref().and_then(WireConnection::previous);
        let older_reviews = self.reviews.as_ref().and_then(WireConnection::previous);
        Ok(HubPull {
            auto_merge: self.auto_merge_request.map(WireAutoMerge::by),
            queued: self.merge_queue_entry.map(WireEntry::read),
            taken_out,
            number: PullNumber(self.number),
            node: self.id,
            title: self.title,
            body: self.body,
            editor: self.editor.map(WireActor::read),
            state,
            draft: self.is_draft,
            mergeable: match self.mergeable.as_str() {
                "MERGEABLE" => Mergeable::Yes,
                "CONFLICTING" => Mergeable::Conflict,
                _ => Mergeable::Unknown,
            },
            behind: self.merge_state_status == "BEHIND",
            review_decision: match self.review_decision.as_deref() {
                None => ReviewDecision::NotRequired,
                Some("APPROVED") => ReviewDecision::Approved,
                Some("CHANGES_REQUESTED") => ReviewDecision::ChangesRequested,
                // A word that we do not know is no yes.
                Some(_) => ReviewDecision::Required,
            },
            author: self.author.map(WireActor::read),
            foreign: self.is_cross_repository,
            base: self.base_ref_name,
            base_commit: self.base_ref_oid.map(Sha::new),
            branch: self.head_ref_name,
            head,
            opened_at: self.created_at,
            updated_at: self.updated_at,
            labels: labels(self.labels),
            reviews: reviews(self.reviews, fault("reviews")),
            comments: comments(self.comments, fault("comments")),
            older_reviews,
            older_comments,
            checks,
            message,
        })
    }
}
