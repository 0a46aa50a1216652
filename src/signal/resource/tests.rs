//! Objects of any kind, judged by the paths that the policy names.
#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::super::tests::given;
use super::*;
use decide::snapshot::Reading;
use serde_json::json;

fn spec() -> Value {
    json!({
        "apiVersion": "cert-manager.io/v1", "kind": "Certificate", "namespace": "web", "name": "site",
        "version": r"{.metadata.labels.helm\.sh/chart}",
        "state": {
            "path": "{.status.conditions[?(@.type==\"Ready\")].status}",
            "healthy": ["True"], "degraded": ["False"], "suspended": ["Paused"],
        },
    })
}

fn judge(spec: &Value, object: &Value) -> Reading {
    given::judged("resource", spec, object)
}

fn healthy() -> Value {
    json!({
        "metadata": {"generation": 2, "labels": {"helm.sh/chart": "site-certs-1.2.0"}},
        "status": {"conditions": [
            {"type": "Issuing", "status": "False"},
            {"type": "Ready", "status": "True", "reason": "Ready", "message": "up to date",
             "observedGeneration": 2, "lastTransitionTime": "2026-11-21T10:00:00Z"},
        ]},
    })
}

#[test]
fn a_condition_brings_its_own_generation_and_time() {
    let reading = judge(&spec(), &healthy());
    assert_eq!((reading.health, reading.running), (Health::Healthy, Some("1.2.0".parse().unwrap())));
    assert_eq!(reading.since, Some("2026-11-21T10:00:00Z".parse().unwrap()));
    assert_eq!(reading.signal, "Certificate web/site");
    assert!(reading.evidence.ends_with("=True Ready up to date"), "{}", reading.evidence);
}

#[test]
fn stale_generation_is_progressing_whatever_the_state_says() {
    for state in ["True", "False", "Paused"] {
        for (generation, own) in [(3, json!(2)), (1, json!(2)), (2, json!(0)), (2, Value::Null)] {
            let mut object = healthy();
            object["metadata"]["generation"] = json!(generation);
            object["status"]["conditions"][1]["status"] = json!(state);
            object["status"]["conditions"][1]["observedGeneration"] = own;
            let reading = judge(&spec(), &object);
            assert_eq!(reading.health, Health::Progressing, "{state}, {generation}: {}", reading.evidence);
        }
    }
    let mut object = healthy();
    object["metadata"].as_object_mut().unwrap().remove("generation");
    assert_eq!(judge(&spec(), &object).health, Health::Progressing);
}

#[test]
fn both_generations_count_where_both_are_said() {
    let mut spec = spec();
    spec["generation"] = json!("$.status.observedGeneration");
    let mut object = healthy();
    for (status, own, expected) in [
        (json!(2), json!(2), Health::Healthy),
        (json!("2"), json!(2), Health::Healthy),
        (json!(1), json!(2), Health::Progressing),
        (json!(2), json!(1), Health::Progressing),
        (json!("9f8c"), json!(2), Health::Progressing),
    ] {
        object["status"]["observedGeneration"] = status;
        object["status"]["conditions"][1]["observedGeneration"] = own;
        assert_eq!(judge(&spec, &object).health, expected, "{object}");
    }
}

#[test]
fn ready_on_the_old_certificate_while_issuing_is_progressing() {
    for kind in AT_WORK {
        let mut object = healthy();
        object["status"]["conditions"][0] = json!({"type": kind, "status": "True", "reason": "Renewing"});
        let reading = judge(&spec(), &object);
        assert_eq!((reading.health, reading.evidence), (Health::Progressing, format!("{kind}=True Renewing")));
    }
}

#[test]
fn values_mean_what_the_policy_says() {
    for (value, expected) in [
        (json!("True"), Health::Healthy),
        (json!("False"), Health::Degraded),
        (json!("Paused"), Health::Suspended),
        (json!("Unknown"), Health::Progressing),
        (json!(null), Health::Progressing),
        (json!(true), Health::Progressing),
    ] {
        let mut object = healthy();
        object["status"]["conditions"][1]["status"] = value.clone();
        assert_eq!(judge(&spec(), &object).health, expected, "{value}");
    }
}

#[test]
fn without_a_proven_version_nothing_is_healthy() {
    let mut object = healthy();
    for label in [json!("site-certs"), json!(null), json!(7), json!(format!("{}-1.2.0", "x".repeat(57)))] {
        object["metadata"]["labels"]["helm.sh/chart"] = label.clone();
        let reading = judge(&spec(), &object);
        assert_eq!((reading.health, reading.running), (Health::Progressing, None), "{label}");
    }
}

#[test]
fn several_places_are_unknown_and_none_is_progressing() {
    let mut spec = spec();
    spec["state"]["path"] = json!("$.status.conditions[*].status");
    let reading = judge(&spec, &healthy());
    assert_eq!(reading.health, Health::Unknown);
    assert!(reading.evidence.contains("2 places"), "{}", reading.evidence);
    spec["state"]["path"] = json!("$.status.phase");
    assert_eq!(judge(&spec, &healthy()).health, Health::Progressing);
}

#[test]
fn a_deployment_available_on_its_old_pods_is_progressing() {
    let spec = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "web", "name": "site",
        "version": "$.spec.template.spec.containers[0].image",
        "generation": "$.status.observedGeneration",
        "state": {"path": "$.status.conditions[?(@.type=='Available')].status", "healthy": ["True"]},
    });
    let mut object = json!({
        "metadata": {"generation": 5},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [{"image": "x/y:1.3.0"}]}}},
        "status": {"observedGeneration": 5, "replicas": 3, "updatedReplicas": 1, "availableReplicas": 2,
            "readyReplicas": 2, "conditions": [{"type": "Available", "status": "True"}]},
    });
    let reading = judge(&spec, &object);
    assert_eq!((reading.health, reading.running), (Health::Progressing, Some("1.3.0".parse().unwrap())));
    object["status"] = json!({"observedGeneration": 5, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2,
            "readyReplicas": 2, "conditions": [{"type": "Available", "status": "True"}]});
    assert_eq!(judge(&spec, &object).health, Health::Healthy);
}

/// The policy's reader refuses them, too; whoever asks does not rely on it.
#[test]
fn a31_a_secret_is_not_asked_for() {
    for (kind, plural) in
        [("SECRET", None), ("Secret", Some("things")), ("Widget", Some("secrets")), ("SecretList", None)]
    {
        for api in ["v1", "example.com/v1"] {
            let mut bad = spec();
            (bad["apiVersion"], bad["kind"]) = (json!(api), json!(kind));
            if let Some(plural) = plural {
                bad["plural"] = json!(plural);
            }
            let error = given::signal("resource", &bad).err().unwrap();
            assert!(matches!(error, SignalError::Unusable { key: "kind", .. }), "{api} {kind}: {error}");
        }
    }
}

#[test]
fn a31_only_states_and_the_words_of_conditions_are_told() {
    let object = |data: Value| json!({"metadata": {"generation": 2}, "data": data});
    let mut spec = spec();
    spec["version"] = json!("$.data.version");
    spec["generation"] = json!("$.data.pin");
    spec["state"] = json!({"path": "$.data.state", "healthy": ["good enough"]});
    let told = |state: Value, pin: Value| {
        let data =
            json!({"state": state, "pin": pin, "version": "hunter2-v", "reason": "hunter2-r", "message": "hunter2-m"});
        judge(&spec, &object(data)).evidence
    };
    for state in ["good enough", "Pending", "running", "true"] {
        assert!(told(json!(state), json!(2)).contains(&format!("$.data.state={state}")), "{state}");
    }
    for state in [json!("hunter2"), json!(8_642_013), json!("ready hunter2"), json!({"a": "hunter2"})] {
        for pin in [json!(8_642_013), json!("8642013"), json!(2)] {
            let said = told(state.clone(), pin);
            assert!(!said.contains("hunter2") && !said.contains("8642013"), "{state}: {said}");
        }
    }
    assert_eq!(told(json!("hunter2"), json!(2)), "$.data.state holds no state that is known (7 characters)");
}

#[test]
fn bad_paths_and_names_are_refused_with_their_key() {
    let error = |key: &str, value: &str| {
        let mut bad = spec();
        bad[key] = json!(value);
        given::signal("resource", &bad).err().unwrap()
    };
    assert!(matches!(error("since", "$..a..b"), SignalError::Path { key: "since", .. }));
    assert!(matches!(error("plural", "certificates/status"), SignalError::Name { what: "plural", .. }));
    assert!(matches!(error("apiVersion", "a/b/c"), SignalError::Name { what: "API version", .. }));
}
