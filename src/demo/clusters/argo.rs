//! A rollout as Argo CD's application controller writes it into an Application.

use serde_json::{Value, json};

use super::rollout::{Deployment, Outcome, Rollout, Stage};
use super::store::seconds;

/// The version that an Application asks for.
pub(super) fn wanted(manifest: &Value) -> Option<&str> {
    manifest["spec"]["source"]["targetRevision"].as_str()
}

/// The chart that an Application installs.
pub(super) fn chart(manifest: &Value) -> Option<&str> {
    manifest["spec"]["source"]["chart"].as_str()
}

/// The status at this stage; `None` when the controller has not compared the new spec yet.
pub(super) fn status(rollout: &Rollout, spec: &Value, workload: &str) -> Option<Value> {
    let sync = match rollout.stage {
        Stage::Holding => return None,
        Stage::Noticed | Stage::Working | Stage::Failed | Stage::Stalled => "OutOfSync",
        Stage::Ready | Stage::Degraded => "Synced",
    };
    let health = match rollout.stage {
        Stage::Holding => return None,
        // Compared, nothing done yet: what runs is the old version, and it is well.
        Stage::Noticed if rollout.running().is_some() => "Healthy",
        Stage::Noticed => "Missing",
        Stage::Working => "Progressing",
        Stage::Ready => "Healthy",
        Stage::Failed | Stage::Stalled | Stage::Degraded => "Degraded",
    };
    let history: Vec<Value> = rollout
        .deployments
        .iter()
        .rev()
        .filter(|deployment| deployment.outcome != Outcome::Failed)
        .map(|deployment| entry(deployment, &spec["source"]))
        .collect();
    let mut status = json!({
        "sync": {
            "status": sync,
            "revision": rollout.wanted,
            "comparedTo": {"source": spec["source"], "destination": spec["destination"]},
        },
        "health": {"status": health, "lastTransitionTime": seconds(rollout.turned)},
        "history": history,
        "reconciledAt": seconds(rollout.reconciled),
        "sourceType": "Helm",
        "summary": {"images": [format!("registry.example/{workload}:{}", rollout.running().unwrap_or_default())]},
        "resources": [{
            "group": "apps",
            "version": "v1",
            "kind": "Deployment",
            "namespace": spec["destination"]["namespace"],
            "name": workload,
            "status": sync,
        }],
    });
    if let Some(operation) = operation(rollout, &spec["source"]) {
        status["operationState"] = operation;
    }
    Some(status)
}

/// The sync that runs, or the last one.
fn operation(rollout: &Rollout, source: &Value) -> Option<Value> {
    let state = |phase: &str, message: &str, revision: &str, started, finished: Option<_>| {
        let mut source = source.clone();
        source["targetRevision"] = revision.into();
        let mut state = json!({
            "phase": phase,
            "message": message,
            "operation": {"sync": {"revision": revision}, "initiatedBy": {"automated": true}},
            "startedAt": seconds(started),
            "syncResult": {"revision": revision, "source": source},
        });
        if let Some(finished) = finished {
            state["finishedAt"] = seconds(finished).into();
        }
        state
    };
    match rollout.stage {
        Stage::Working => {
            let message = "waiting for healthy state of apps/Deployment";
            Some(state("Running", message, &rollout.wanted, rollout.started(), None))
        }
        Stage::Holding | Stage::Noticed | Stage::Ready | Stage::Degraded | Stage::Failed | Stage::Stalled => {
            let last = rollout.deployments.first()?;
            let (phase, message) = match last.outcome {
                Outcome::Failed => ("Failed", "one or more synchronization tasks completed unsuccessfully"),
                Outcome::Deployed | Outcome::Superseded => ("Succeeded", "successfully synced (all tasks run)"),
            };
            Some(state(phase, message, &last.version, last.started, Some(last.finished)))
        }
    }
}

fn entry(deployment: &Deployment, source: &Value) -> Value {
    let mut source = source.clone();
    source["targetRevision"] = deployment.version.clone().into();
    json!({
        "id": deployment.revision - 1,
        "revision": deployment.version,
        "deployStartedAt": seconds(deployment.started),
        "deployedAt": seconds(deployment.finished),
        "source": source,
    })
}
