//! A rollout as Flux's helm-controller writes it into a HelmRelease.

use serde_json::{Value, json};

use super::rollout::{Deployment, Outcome, Rollout, Stage};
use super::store::seconds;
use crate::loopback::sha256;

/// What a failed upgrade says.
const TIMED_OUT: &str = "timed out waiting for the condition";

/// The names that messages mention.
pub(super) struct Release<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) chart: &'a str,
}

/// The version that a HelmRelease asks for.
pub(super) fn wanted(manifest: &Value) -> Option<&str> {
    manifest["spec"]["chart"]["spec"]["version"].as_str()
}

/// The chart that a HelmRelease installs.
pub(super) fn chart(manifest: &Value) -> Option<&str> {
    manifest["spec"]["chart"]["spec"]["chart"].as_str()
}

/// The status at this stage; `None` when the controller has not looked at the new spec yet.
pub(super) fn status(rollout: &Rollout, release: &Release<'_>, generation: u64) -> Option<Value> {
    if rollout.stage == Stage::Holding {
        return None;
    }
    let terminal = matches!(rollout.stage, Stage::Ready | Stage::Stalled | Stage::Degraded);
    let observed = if terminal { generation } else { rollout.observed };
    let history: Vec<Value> =
        rollout.deployments.iter().map(|deployment| snapshot(rollout, release, deployment)).collect();
    let mut status = json!({
        "observedGeneration": observed,
        "conditions": conditions(rollout, release, generation),
        "helmChart": format!("flux-system/{}-{}", release.namespace, release.name),
        "history": history,
        "lastAttemptedConfigDigest": sha256(b"{}"),
        "lastAttemptedGeneration": generation,
        "lastAttemptedReleaseAction": action(rollout),
        "lastAttemptedRevision": rollout.wanted,
        "storageNamespace": release.namespace,
    });
    if matches!(rollout.stage, Stage::Failed | Stage::Stalled) {
        status["failures"] = 1.into();
        let counter = if rollout.first_time() { "installFailures" } else { "upgradeFailures" };
        status[counter] = 1.into();
    }
    Some(status)
}

fn action(rollout: &Rollout) -> &'static str {
    let attempts = rollout.deployments.len();
    let concluded = !matches!(rollout.stage, Stage::Holding | Stage::Noticed | Stage::Working);
    if rollout.first_time() || (concluded && attempts == 1) { "install" } else { "upgrade" }
}

fn snapshot(rollout: &Rollout, release: &Release<'_>, deployment: &Deployment) -> Value {
    let Deployment { version, revision, finished, outcome, .. } = deployment;
    let status = match outcome {
        Outcome::Deployed => "deployed",
        Outcome::Superseded => "superseded",
        Outcome::Failed => "failed",
    };
    json!({
        "appVersion": version,
        "chartName": release.chart,
        "chartVersion": version,
        "configDigest": sha256(b"{}"),
        "digest": sha256(format!("{}/{}.v{revision} {version} {status}", release.namespace, release.name).as_bytes()),
        "firstDeployed": seconds(rollout.installed),
        "lastDeployed": seconds(*finished),
        "name": release.name,
        "namespace": release.namespace,
        "status": status,
        "version": revision,
    })
}

fn conditions(rollout: &Rollout, release: &Release<'_>, generation: u64) -> Vec<Value> {
    let turned = seconds(rollout.turned);
    let condition = |kind: &str, status: &str, reason: &str, message: &str, at: &str| {
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "observedGeneration": generation,
            "lastTransitionTime": at,
        })
    };
    let Release { namespace, name, chart } = release;
    let action = action(rollout);
    let (verb, act) = if action == "install" { ("Install", "install") } else { ("Upgrade", "upgrade") };
    let newest = rollout.deployments.first();
    let revision = newest.map_or(1, |deployment| deployment.revision);
    let finished = newest.map_or_else(|| turned.clone(), |deployment| seconds(deployment.finished));
    let succeeded = format!(
        "Helm {act} succeeded for release {namespace}/{name}.v{revision} with chart {chart}@{}",
        newest.map_or("", |deployment| deployment.version.as_str())
    );
    let failed =
        format!("Helm {act} failed for release {namespace}/{name} with chart {chart}@{}: {TIMED_OUT}", rollout.wanted);
    let since = seconds(rollout.since);
    match rollout.stage {
        Stage::Holding => Vec::new(),
        Stage::Noticed => vec![
            condition("Reconciling", "True", "Progressing", "Fulfilling prerequisites", &since),
            condition("Ready", "Unknown", "Progressing", "Fulfilling prerequisites", &turned),
        ],
        Stage::Working => {
            let running = format!("Running '{act}' action with timeout of 5m0s");
            vec![
                condition("Reconciling", "True", "Progressing", &running, &turned),
                condition("Ready", "Unknown", "Progressing", &running, &turned),
            ]
        }
        Stage::Ready => vec![
            condition("Ready", "True", &format!("{verb}Succeeded"), &succeeded, &turned),
            condition("Released", "True", &format!("{verb}Succeeded"), &succeeded, &finished),
        ],
        Stage::Failed => vec![
            condition("Reconciling", "True", "ProgressingWithRetry", &failed, &since),
            condition("Ready", "False", &format!("{verb}Failed"), &failed, &turned),
            condition("Released", "False", &format!("{verb}Failed"), &failed, &finished),
        ],
        Stage::Stalled => {
            let gave_up = format!("Failed to {act} after 1 attempt(s)");
            vec![
                condition("Stalled", "True", "RetriesExceeded", &gave_up, &since),
                condition("Ready", "False", &format!("{verb}Failed"), &failed, &turned),
                condition("Released", "False", &format!("{verb}Failed"), &failed, &finished),
            ]
        }
        Stage::Degraded => {
            let tests = format!(
                "Helm test failed for release {namespace}/{name}.v{revision} with chart {chart}@{}: \
                 pod {name}-test failed",
                rollout.running().unwrap_or_default()
            );
            vec![
                condition("Ready", "False", "TestFailed", &tests, &turned),
                condition("Released", "True", &format!("{verb}Succeeded"), &succeeded, &finished),
                condition("TestSuccess", "False", "TestFailed", &tests, &turned),
            ]
        }
    }
}
