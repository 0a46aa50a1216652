//! Whether a plain workload has finished rolling out (cli-utils, `pkg/kstatus/status`): conditions of
//! a Deployment stay `Available` on the old pods while the new ones come up.

use super::object::Object;

/// Nothing where the rollout is over or the kind has none; else what is missing.
pub(super) fn unsettled(api_version: &str, kind: &str, object: Object<'_>) -> Option<String> {
    match (api_version, kind) {
        ("apps/v1", "Deployment") => deployment(object),
        ("apps/v1", "StatefulSet") => stateful_set(object),
        ("apps/v1", "DaemonSet") => daemon_set(object),
        ("apps/v1", "ReplicaSet") => replica_set(object),
        ("batch/v1", "Job") => job(object),
        ("v1", "Pod") => pod(object),
        (_, _) => None,
    }
}

fn count(object: Object<'_>, pointer: &str) -> i64 {
    object.number(pointer).unwrap_or(0)
}

fn wanted(object: Object<'_>) -> i64 {
    object.number("/spec/replicas").unwrap_or(1)
}

/// The first place that is below what it must be.
fn below(object: Object<'_>, least: i64, places: &[&str]) -> Option<String> {
    places
        .iter()
        .find(|place| count(object, place) < least)
        .map(|place| format!("{}={} of {least}", place.trim_start_matches('/').replace('/', "."), count(object, place)))
}

fn deployment(object: Object<'_>) -> Option<String> {
    let wanted = wanted(object);
    let progressing = object.condition("Progressing");
    if object.at("/spec/progressDeadlineSeconds").is_some()
        && let Some(progressing) = progressing
        && !(progressing.is_true() && progressing.reason() == "NewReplicaSetAvailable")
    {
        return Some(progressing.words());
    }
    below(object, wanted, &["/status/replicas", "/status/updatedReplicas"])
        .or_else(|| above(object, wanted))
        .or_else(|| below(object, count(object, "/status/updatedReplicas"), &["/status/availableReplicas"]))
        .or_else(|| below(object, wanted, &["/status/readyReplicas"]))
        .or_else(|| {
            object.condition("Available").filter(|available| !available.is_true()).map(|available| available.words())
        })
}

/// Pods of the old version that have not gone yet.
fn above(object: Object<'_>, wanted: i64) -> Option<String> {
    let replicas = count(object, "/status/replicas");
    (replicas > wanted).then(|| format!("status.replicas={replicas}, {wanted} wanted"))
}

fn stateful_set(object: Object<'_>) -> Option<String> {
    let wanted = wanted(object);
    let partition = count(object, "/spec/updateStrategy/rollingUpdate/partition");
    below(object, wanted, &["/status/replicas", "/status/readyReplicas"]).or_else(|| above(object, wanted)).or_else(
        || {
            if partition > 0 {
                return below(object, (wanted - partition).max(0), &["/status/updatedReplicas"]);
            }
            let (current, update) = (object.text("/status/currentRevision"), object.text("/status/updateRevision"));
            (current != update).then(|| "status.currentRevision is not status.updateRevision".to_string())
        },
    )
}

fn daemon_set(object: Object<'_>) -> Option<String> {
    let Some(wanted) = object.number("/status/desiredNumberScheduled") else {
        return Some("status.desiredNumberScheduled is missing".to_string());
    };
    let places = [
        "/status/currentNumberScheduled",
        "/status/updatedNumberScheduled",
        "/status/numberAvailable",
        "/status/numberReady",
    ];
    below(object, wanted, &places)
}

fn replica_set(object: Object<'_>) -> Option<String> {
    let wanted = wanted(object);
    below(object, wanted, &["/status/fullyLabeledReplicas", "/status/availableReplicas", "/status/readyReplicas"])
        .or_else(|| above(object, wanted))
}

/// A running job is no success (Argo CD's rule).
fn job(object: Object<'_>) -> Option<String> {
    let done = object.condition("Complete").is_some_and(|complete| complete.is_true());
    (!done).then(|| "the job is not complete".to_string())
}

/// A pod that ended is no running version, whatever its phase is called.
fn pod(object: Object<'_>) -> Option<String> {
    let phase = object.text("/status/phase").unwrap_or("?");
    let ready = object.condition("Ready").is_some_and(|ready| ready.is_true());
    (phase != "Running" || !ready).then(|| format!("status.phase={phase}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use serde_json::{Value, json};

    fn rolled_out(kind: &str) -> Value {
        match kind {
            "Deployment" => json!({"spec": {"replicas": 3, "progressDeadlineSeconds": 600}, "status": {
                "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3, "readyReplicas": 3, "conditions": [
                    {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
                    {"type": "Available", "status": "True"}]}}),
            "StatefulSet" => json!({"spec": {"replicas": 3}, "status": {"replicas": 3, "readyReplicas": 3,
                "currentRevision": "b", "updateRevision": "b", "updatedReplicas": 3}}),
            "DaemonSet" => json!({"status": {"desiredNumberScheduled": 4, "currentNumberScheduled": 4,
                "updatedNumberScheduled": 4, "numberAvailable": 4, "numberReady": 4}}),
            "ReplicaSet" => json!({"spec": {"replicas": 1}, "status": {"replicas": 1, "fullyLabeledReplicas": 1,
                "availableReplicas": 1, "readyReplicas": 1}}),
            "Job" => json!({"status": {"conditions": [{"type": "Complete", "status": "True"}]}}),
            _ => json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}),
        }
    }

    fn api(kind: &str) -> &'static str {
        match kind {
            "Job" => "batch/v1",
            "Pod" => "v1",
            _ => "apps/v1",
        }
    }

    #[test]
    fn each_kind_is_settled_and_each_gap_is_seen() {
        #[rustfmt::skip]
        let gaps: &[(&str, &[(&str, Value)])] = &[
            ("Deployment", &[("/status/replicas", json!(2)), ("/status/replicas", json!(4)), ("/status/updatedReplicas", json!(1)),
                ("/status/availableReplicas", json!(2)), ("/status/readyReplicas", json!(0)),
                ("/status/conditions/0/reason", json!("ReplicaSetUpdated")), ("/status/conditions/1/status", json!("False"))]),
            ("StatefulSet", &[("/status/currentRevision", json!("a")), ("/status/readyReplicas", json!(2)), ("/status/replicas", json!(4))]),
            ("DaemonSet", &[("/status/updatedNumberScheduled", json!(3)), ("/status/numberReady", json!(3)), ("/status/desiredNumberScheduled", Value::Null)]),
            ("ReplicaSet", &[("/status/readyReplicas", json!(0)), ("/status/replicas", json!(2))]),
            ("Job", &[("/status/conditions/0/status", json!("False"))]),
            ("Pod", &[("/status/phase", json!("Failed")), ("/status/phase", json!("Succeeded")), ("/status/conditions/0/status", json!("False"))]),
        ];
        for (kind, changes) in gaps {
            assert_eq!(unsettled(api(kind), kind, Object(&rolled_out(kind))), None, "{kind}");
            assert!(unsettled(api(kind), kind, Object(&json!({}))).is_some(), "{kind} without a status");
            for (pointer, value) in *changes {
                let mut object = rolled_out(kind);
                *object.pointer_mut(pointer).unwrap() = value.clone();
                assert!(unsettled(api(kind), kind, Object(&object)).is_some(), "{kind} {pointer}={value}");
            }
        }
    }

    #[test]
    fn a_partition_and_a_scale_to_zero_are_settled() {
        let partition = json!({"spec": {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}},
            "status": {"replicas": 3, "readyReplicas": 3, "updatedReplicas": 1, "currentRevision": "a", "updateRevision": "b"}});
        assert_eq!(unsettled("apps/v1", "StatefulSet", Object(&partition)), None);
        let zero = json!({"spec": {"replicas": 0}, "status": {}});
        assert_eq!(unsettled("apps/v1", "Deployment", Object(&zero)), None);
        assert_eq!(unsettled("example.com/v1", "Widget", Object(&json!({}))), None);
    }
}
