//! The Deployment or Rollout behind a release: it follows the release, one tick behind, as workloads do.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::rollout::{Rollout, Stage};
use super::store::{Key, Store, generation_of, seconds};
use super::{argo_rollout, kinds};

const REPLICAS: u64 = 2;

/// Which kind of workload a release has: its values say so.
pub(super) fn kind_of(release: &Value) -> kinds::Kind {
    let rollout = release["spec"]["values"]["controller"]["kind"] == "Rollout";
    if rollout { kinds::rollout() } else { kinds::deployment() }
}

/// Brings spec and status of the workload after the rollout.
pub(super) fn follow(store: &mut Store, rollout: &Rollout, kind: &kinds::Kind, key: &Key, now: Timestamp) {
    let name = key.name.as_str();
    let is_rollout = kind.kind == "Rollout";
    let version = match rollout.stage {
        Stage::Holding | Stage::Noticed | Stage::Ready | Stage::Degraded => rollout.running(),
        Stage::Working | Stage::Failed | Stage::Stalled => Some(rollout.wanted.as_str()),
    };
    let Some(version) = version else { return };
    let mut manifest = manifest(name, version);
    if is_rollout {
        manifest["spec"]["strategy"] = argo_rollout::strategy();
    }
    if store.apply(kind, key, &manifest, now) && rollout.stage != Stage::Ready {
        return;
    }
    let generation = store.get(key).map_or(1, |object| generation_of(object));
    let status = if is_rollout {
        argo_rollout::status(rollout, version, generation, REPLICAS)
    } else {
        status(rollout, generation)
    };
    store.set_status(kind, key, status);
}

fn manifest(name: &str, version: &str) -> Value {
    let label = format!("{name}-{version}").replace('+', "_");
    let label: String = label.chars().take(63).collect();
    let labels = json!({"app.kubernetes.io/name": name});
    json!({
        "metadata": {"labels": {
            "app.kubernetes.io/name": name,
            "app.kubernetes.io/version": version,
            "app.kubernetes.io/managed-by": "Helm",
            "helm.sh/chart": label,
        }},
        "spec": {
            "replicas": REPLICAS,
            "progressDeadlineSeconds": 600,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": format!("registry.example/{name}:{version}")}]},
            },
        },
    })
}

fn status(rollout: &Rollout, generation: u64) -> Value {
    // A rolling update keeps the old pods until the new ones are ready, so the workload stays available.
    let (updated, ready, reason) = match rollout.stage {
        Stage::Holding | Stage::Noticed | Stage::Ready => (REPLICAS, REPLICAS, "NewReplicaSetAvailable"),
        Stage::Working => (1, REPLICAS, "ReplicaSetUpdated"),
        Stage::Failed | Stage::Stalled => (1, REPLICAS, "ProgressDeadlineExceeded"),
        Stage::Degraded => (REPLICAS, 0, "NewReplicaSetAvailable"),
    };
    let at = seconds(rollout.turned);
    let condition = |kind: &str, good: bool, reason: &str| {
        let status = if good { "True" } else { "False" };
        json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": at, "lastUpdateTime": at})
    };
    let enough = ready == REPLICAS;
    let available = if enough { "MinimumReplicasAvailable" } else { "MinimumReplicasUnavailable" };
    json!({
        "observedGeneration": generation,
        "replicas": REPLICAS + u64::from(updated < REPLICAS),
        "updatedReplicas": updated,
        "readyReplicas": ready,
        "availableReplicas": ready,
        "conditions": [
            condition("Available", enough, available),
            condition("Progressing", reason != "ProgressDeadlineExceeded", reason),
        ],
    })
}
