//! Dispatches one workflow that verifies what has moved: intent first, then the hub, once. Whether a run
//! came of it is settled by looking.

use decide::ledger::{Change, Entry};
use decide::plan::Action;
use jiff::Timestamp;

use super::intent::intend;
use super::receipt::Receipt;
use crate::act::line::Line;
use crate::hub::{HubError, Inputs};

/// The hub takes 65,535 characters of inputs in all.
const MOST_CLUSTERS: usize = 60_000;

pub(super) async fn dispatch(line: &mut Line, action: &Action, now: Timestamp) -> anyhow::Result<Receipt> {
    let Action::Dispatch { plugin, tier, version, workflow, verification, clusters } = action else {
        return Ok(Receipt::Refused("only a workflow can be dispatched".to_string()));
    };
    let entry = Entry::Wave {
        plugin: plugin.clone(),
        tier: tier.clone(),
        version: version.clone(),
        change: Change::Dispatching(verification.clone()),
    };
    if let Some(receipt) = intend(line, entry, now).await? {
        return Ok(receipt);
    }
    let named: Vec<&str> = clusters.iter().map(decide::ClusterName::as_str).collect();
    let named = named.join(",");
    let inputs = Inputs {
        id: verification.id.clone(),
        plugin: plugin.to_string(),
        version: version.to_string(),
        tier: tier.to_string(),
        slice: verification.slice.to_string(),
        // A part of the list would look like all of it.
        clusters: if named.len() > MOST_CLUSTERS { String::new() } else { named },
    };
    match line.context.repo.hub.dispatch(workflow, &inputs).await {
        Ok(()) => Ok(Receipt::Done(format!("dispatched {workflow} for {plugin} {version} → {tier}"))),
        Err(error @ (HubError::Refused { .. } | HubError::Forbidden { .. } | HubError::NotFound { .. })) => {
            Ok(Receipt::Refused(format!("{workflow} is not dispatched: {error}")))
        }
        Err(error) => Err(error.into()),
    }
}
