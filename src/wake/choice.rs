//! A version that somebody who has signed in chooses for a tier: proposed as a pull request of theirs on the policy file.
//! What it says is in `tell`, what it changes in `policy`.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Form, Router};
use decide::{PluginName, TierName};
use serde::Deserialize;

use super::pages::nothing;
use super::shown::{Known, Pages, Reader};
use crate::hub::HubError;
use crate::hub::proposal::{Proposal, Proposed};
use crate::hub::sign_in::Visitor;
use crate::policy;
use crate::tell::{self, Choice, Chosen};

pub(super) fn routes() -> Router<Pages> {
    Router::new().route("/{owner}/{name}/plugins/{plugin}/tiers/{tier}/version", post(choose))
}

#[derive(Deserialize)]
struct Asked {
    version: String,
}

/// Why nothing was opened, for the person.
type Refusal = (StatusCode, String);

async fn choose(
    State(pages): State<Pages>,
    Extension(reader): Extension<Reader>,
    Path((owner, name, plugin, tier)): Path<(String, String, String, String)>,
    Form(Asked { version }): Form<Asked>,
) -> Response {
    let Reader::Person { session, .. } = &reader else { return nothing() };
    let Some(known) = pages.known(&reader, &format!("{owner}/{name}")) else { return nothing() };
    let (plugin, tier) = (PluginName::new(plugin), TierName::new(tier));
    let Some(choice) = Choice::read(&known.view, &plugin, &tier, &version) else { return nothing() };
    match propose(session.visitor(), &known, &choice).await {
        Ok((number, url, before)) => answered(StatusCode::OK, &choice, Chosen::Opened { number, url: &url, before }),
        Err((status, why)) => answered(status, &choice, Chosen::Refused(&why)),
    }
}

async fn propose(visitor: &Visitor, known: &Known, choice: &Choice) -> Result<(u64, String, bool), Refusal> {
    let Some(written) = &known.files else {
        let why = "The policy file has errors, which have to be mended first.";
        return Err((StatusCode::CONFLICT, why.to_string()));
    };
    let chosen = policy::choose(&written.files, &choice.plugin, &choice.tier, choice.version.as_ref())
        .map_err(|why| (StatusCode::CONFLICT, format!("{why}.")))?;
    let before = written.files.iter().find(|file| file.path == chosen.path).map_or("", |file| file.text.as_str());
    let (branch, title) = (choice.branch(&visitor.login), choice.title());
    let text = choice.text(&known.view, &chosen.path);
    let proposal = Proposal {
        repository: &known.of,
        commit: &written.commit,
        branch: &branch,
        path: &chosen.path,
        before,
        after: &chosen.text,
        title: &title,
        text: &text,
    };
    match visitor.propose(&proposal).await {
        Ok(Proposed::Open { number, url, before }) => {
            tracing::info!(
                repository = known.of.full_name(),
                number,
                by = visitor.login,
                "a version was chosen: {title}"
            );
            Ok((number, url, before))
        }
        Ok(Proposed::Branch) => {
            let why = format!("The branch {branch} is there already, without an open pull request: delete it first.");
            Err((StatusCode::CONFLICT, why))
        }
        Ok(Proposed::Changed) => {
            let why = format!(
                "{} holds bytes that are no text, and would not stay as they are: change it by hand.",
                chosen.path
            );
            Err((StatusCode::CONFLICT, why))
        }
        Err(error) => Err(refusal(&error, known)),
    }
}

/// What GitHub's no means for whoever asked.
fn refusal(error: &HubError, known: &Known) -> Refusal {
    let name = known.of.full_name();
    match error {
        HubError::Forbidden { .. } | HubError::NotFound { .. } => {
            let why = format!(
                "GitHub does not let you push a branch to {name} through this App: you need write access there, and the \
                 App the permissions to write contents and pull requests."
            );
            (StatusCode::FORBIDDEN, why)
        }
        HubError::Unauthorized { .. } => {
            (StatusCode::FORBIDDEN, "GitHub does not know your sign-in any more: sign out and in again.".to_string())
        }
        HubError::Refused { why, .. } => (StatusCode::CONFLICT, format!("GitHub refuses it: {why}")),
        HubError::Limited { until, .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("You have used up what GitHub lets you ask for until {until}."))
        }
        HubError::Setup(_)
        | HubError::Unreachable { .. }
        | HubError::Unsettled { .. }
        | HubError::Failed { .. }
        | HubError::Stale { .. }
        | HubError::Moved { .. }
        | HubError::Malformed { .. }
        | HubError::TooMuch { .. }
        | HubError::Partial { .. }
        | HubError::Owner { .. } => {
            tracing::warn!(%error, repository = name, "what somebody chose was not proposed");
            (
                StatusCode::BAD_GATEWAY,
                "GitHub did not answer as it should. Look there whether a pull request was opened.".to_string(),
            )
        }
    }
}

fn answered(status: StatusCode, choice: &Choice, answer: Chosen<'_>) -> Response {
    match tell::choice_page(choice, answer) {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "the page of a choice could not be made");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
