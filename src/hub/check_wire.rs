//! Check runs and statuses as GraphQL writes them, and their translation.

use decide::snapshot::{CheckState, Read};
use serde::Deserialize;

use super::pull::HubCheck;
use super::pull_wire::{WireActor, WireConnection};

#[derive(Deserialize)]
pub(super) struct WireRollup {
    contexts: Option<WireConnection<WireContext>>,
}

/// A check run or a status, told apart by `__typename`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireContext {
    #[serde(rename = "__typename", default)]
    kind: String,
    database_id: Option<u64>,
    name: Option<String>,
    status: Option<String>,
    conclusion: Option<String>,
    title: Option<String>,
    external_id: Option<String>,
    check_suite: Option<WireSuite>,
    context: Option<String>,
    state: Option<String>,
    description: Option<String>,
    creator: Option<WireActor>,
}

#[derive(Deserialize)]
struct WireSuite {
    app: Option<WireApp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireApp {
    database_id: Option<u64>,
}

/// The checks on a commit; `fault` is the error about them.
pub(super) fn checks(rollup: Option<WireRollup>, fault: Option<String>) -> Read<Vec<HubCheck>> {
    if let Some(why) = fault {
        return Read::Unread(why);
    }
    // No rollup and no error: nobody has said anything about this commit.
    let Some(rollup) = rollup else { return Read::Known(Vec::new()) };
    let Some(contexts) = rollup.contexts else { return Read::Unread("the hub left the checks out".to_owned()) };
    match contexts.part("100 checks") {
        Read::Known(contexts) => Read::Known(contexts.into_iter().map(WireContext::read).collect()),
        Read::Unread(why) => Read::Unread(why),
    }
}

impl WireContext {
    fn read(self) -> HubCheck {
        let run = self.kind == "CheckRun";
        let state = if run {
            of_run(self.status.as_deref(), self.conclusion.as_deref())
        } else {
            match self.state.as_deref() {
                Some("SUCCESS") => CheckState::Success,
                Some("FAILURE" | "ERROR") => CheckState::Failure,
                _ => CheckState::Pending,
            }
        };
        HubCheck {
            name: self.name.or(self.context).unwrap_or_default(),
            state,
            app: self.check_suite.and_then(|suite| suite.app).and_then(|app| app.database_id),
            by: self.creator.map(WireActor::read),
            run: self.database_id.filter(|_| run),
            title: self.title.or(self.description).unwrap_or_default(),
            mark: self.external_id.filter(|mark| !mark.is_empty()),
        }
    }
}

/// Neutral and skipped satisfy the hub's own rules, so they are green here too; whatever else is
/// completed is red, and every word that we do not know is not there yet.
fn of_run(status: Option<&str>, conclusion: Option<&str>) -> CheckState {
    match (status, conclusion) {
        (Some("COMPLETED"), Some("SUCCESS" | "NEUTRAL" | "SKIPPED")) => CheckState::Success,
        (
            Some("COMPLETED"),
            Some("FAILURE" | "TIMED_OUT" | "CANCELLED" | "ACTION_REQUIRED" | "STARTUP_FAILURE" | "STALE"),
        ) => CheckState::Failure,
        _ => CheckState::Pending,
    }
}
