//! A rollout as Argo Rollouts writes it into a Rollout: until the new ReplicaSet is the stable one, the old pods
//! serve under the new spec.

use serde_json::{Value, json};

use super::rollout::{Rollout, Stage};
use super::store::seconds;
use crate::loopback::hex_sha256;

/// What the spec has in place of a Deployment's strategy.
pub(super) fn strategy() -> Value {
    json!({"canary": {"steps": [{"setWeight": 25}, {"pause": {"duration": "1m"}}]}})
}

/// The status at this stage, for a spec of this version.
pub(super) fn status(rollout: &Rollout, version: &str, generation: u64, replicas: u64) -> Value {
    let (phase, message) = match rollout.stage {
        Stage::Holding | Stage::Noticed | Stage::Ready => ("Healthy", None),
        Stage::Working => ("Progressing", Some("more replicas need to be updated".to_owned())),
        Stage::Failed | Stage::Stalled => {
            let hash = hash(version);
            let why = format!("ProgressDeadlineExceeded: ReplicaSet \"{hash}\" has timed out progressing.");
            ("Degraded", Some(why))
        }
        Stage::Degraded => ("Degraded", Some("ProgressDeadlineExceeded: pods are not available".to_owned())),
    };
    let good = phase == "Healthy";
    let updated = if good || rollout.stage == Stage::Degraded { replicas } else { 1 };
    let at = seconds(rollout.turned);
    let condition = |kind: &str, good: bool, reason: &str| {
        let status = if good { "True" } else { "False" };
        json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": at, "lastUpdateTime": at})
    };
    let failed = phase == "Degraded";
    json!({
        // A text, other than everywhere else.
        "observedGeneration": generation.to_string(),
        "phase": phase,
        "message": message,
        "currentPodHash": hash(version),
        "stableRS": hash(rollout.running().unwrap_or(version)),
        "replicas": replicas,
        "updatedReplicas": updated,
        "readyReplicas": if rollout.stage == Stage::Degraded { 0 } else { replicas },
        "conditions": [
            condition("Available", rollout.stage != Stage::Degraded, "AvailableReason"),
            condition("Progressing", !failed, if failed { "ProgressDeadlineExceeded" } else { "NewReplicaSetAvailable" }),
        ],
    })
}

/// What a ReplicaSet of this version is called by.
fn hash(version: &str) -> String {
    hex_sha256(version.as_bytes())[..10].to_owned()
}
