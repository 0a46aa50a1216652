//! What people said on a pull request: reviews and comments as GraphQL writes them, and the pages of them before the
//! one that came with it. Whoever talks all the time hides nothing that somebody else said.

use decide::snapshot::{Read, ReviewVerdict};
use decide::{PullNumber, Sha};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::pull::{HubComment, HubPull, HubReview, HubState};
use super::pull_wire::{WireActor, WireConnection, WireOid};
use super::pulls::{data, not_there, partial};
use super::{HubError, RepoHub};

const DOCUMENT: &str = include_str!("queries/pulls.graphql");
/// Pages of a hundred that are read of what one pull request has more than came with it.
const MOST_PAGES: usize = 10;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireReview {
    database_id: Option<u64>,
    state: String,
    submitted_at: Option<Timestamp>,
    last_edited_at: Option<Timestamp>,
    editor: Option<WireActor>,
    #[serde(default)]
    body: String,
    author: Option<WireActor>,
    commit: Option<WireOid>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireComment {
    database_id: Option<u64>,
    created_at: Timestamp,
    last_edited_at: Option<Timestamp>,
    editor: Option<WireActor>,
    reaction_groups: Option<Vec<WireReactions>>,
    #[serde(default)]
    body: String,
    author: Option<WireActor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireReactions {
    viewer_has_reacted: bool,
}

#[derive(Deserialize)]
struct Answer {
    repository: Option<OfRepository>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfRepository {
    pull_request: Option<OfPull>,
}

#[derive(Deserialize)]
struct OfPull {
    #[serde(default)]
    comments: Option<WireConnection<WireComment>>,
    #[serde(default)]
    reviews: Option<WireConnection<WireReview>>,
}

impl RepoHub {
    /// A pull request with the reviews and comments that did not come with it, if it is open. Where they could not be
    /// read, or are too many, its cursor of older ones stays.
    pub(super) async fn with_older(&self, mut pull: HubPull) -> HubPull {
        if pull.state != HubState::Open {
            return pull;
        }
        for _ in 0..MOST_PAGES {
            let (Read::Known(newer), Some(before)) = (&mut pull.comments, pull.older_comments.clone()) else { break };
            let page = self.older("OlderComments", pull.number, &before).await;
            let Some(list) = page.ok().and_then(|page| page.comments) else { break };
            let previous = list.previous();
            let Read::Known(mut older) = comments(Some(list), None) else { break };
            older.append(newer);
            (*newer, pull.older_comments) = (older, previous);
        }
        for _ in 0..MOST_PAGES {
            let (Read::Known(newer), Some(before)) = (&mut pull.reviews, pull.older_reviews.clone()) else { break };
            let page = self.older("OlderReviews", pull.number, &before).await;
            let Some(list) = page.ok().and_then(|page| page.reviews) else { break };
            let previous = list.previous();
            let Read::Known(mut older) = reviews(Some(list), None) else { break };
            older.append(newer);
            (*newer, pull.older_reviews) = (older, previous);
        }
        pull
    }

    /// One page of a pull request's talk.
    async fn older(&self, operation: &str, number: PullNumber, before: &str) -> Result<OfPull, HubError> {
        let what = &format!("GraphQL {operation} of {number}");
        if before.is_empty() {
            return Err(partial(what, &[]));
        }
        let repository = self.repository();
        let variables =
            json!({ "owner": repository.owner, "name": repository.name, "number": number.0, "before": before });
        let envelope = self.main().query(DOCUMENT, operation, variables).await?;
        let faults = envelope.faults();
        if !faults.is_empty() {
            return Err(partial(what, &faults));
        }
        let found = data::<Answer>(what, envelope, &faults)?.repository.and_then(|repository| repository.pull_request);
        found.ok_or_else(|| not_there(what, &faults))
    }
}

pub(super) fn reviews(list: Option<WireConnection<WireReview>>, fault: Option<String>) -> Read<Vec<HubReview>> {
    let list = match (fault, list) {
        (Some(why), _) => return Read::Unread(why),
        (None, None) => return Read::Unread("the hub left the reviews out".to_owned()),
        (None, Some(list)) => list,
    };
    let Some(known) = list.into_nodes().and_then(|nodes| nodes.into_iter().collect::<Option<Vec<WireReview>>>()) else {
        return Read::Unread("the hub left some reviews out".to_owned());
    };
    let read = |review: WireReview| {
        // One that is still being written is shown to its author only, and has no time.
        let at = review.submitted_at.filter(|_| review.state != "PENDING")?;
        let verdict = match review.state.as_str() {
            "APPROVED" => ReviewVerdict::Approved,
            "CHANGES_REQUESTED" => ReviewVerdict::ChangesRequested,
            "DISMISSED" => ReviewVerdict::Dismissed,
            _ => ReviewVerdict::Commented,
        };
        let commit = review.commit.map(|commit| Sha::new(commit.oid));
        Some(HubReview {
            // What has no number cannot be answered; it counts all the same.
            id: review.database_id.unwrap_or_default(),
            by: review.author.map(WireActor::read),
            verdict,
            at,
            commit,
            edited_at: review.last_edited_at,
            editor: review.editor.map(WireActor::read),
            body: review.body,
        })
    };
    let mut reviews: Vec<HubReview> = known.into_iter().filter_map(read).collect();
    reviews.sort_by_key(|review| review.at);
    Read::Known(reviews)
}

pub(super) fn comments(list: Option<WireConnection<WireComment>>, fault: Option<String>) -> Read<Vec<HubComment>> {
    let nodes = match (fault, list.and_then(WireConnection::into_nodes)) {
        (Some(why), _) => return Read::Unread(why),
        (None, None) => return Read::Unread("the hub left the comments out".to_owned()),
        (None, Some(nodes)) => nodes,
    };
    let read = |comment: Option<WireComment>| {
        let comment = comment?;
        Some(HubComment {
            id: comment.database_id?,
            by: comment.author.map(WireActor::read),
            at: comment.created_at,
            edited_at: comment.last_edited_at,
            editor: comment.editor.map(WireActor::read),
            reacted: comment.reaction_groups.iter().flatten().any(|group| group.viewer_has_reacted),
            body: comment.body,
        })
    };
    match nodes.into_iter().map(read).collect::<Option<Vec<HubComment>>>() {
        Some(comments) => Read::Known(comments),
        None => Read::Unread("the hub left some comments out".to_owned()),
    }
}
