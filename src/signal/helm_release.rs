//! Flux `HelmRelease` (helm-controller, `api/v2`). The version proof is the newest entry of the
//! release history; status alone proves nothing, because after a rollback it is `deployed`, too.

use decide::snapshot::Health;
use serde_json::Value;

use super::answer::Signal;
use super::flux::{self, Own};
use super::kind::{Kind, Make, Proves, anything};
use super::object::{Condition, Object, Verdict, digest, later, told};
use super::settings::{NAME, NAMESPACE};
use super::target::{Api, Target};
use parse::read::Shape;

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "helmRelease",
    shape: Shape {
        what: "helmRelease",
        keys: &[NAMESPACE, NAME],
        unsupported: &[],
        about: &["Flux: a HelmRelease of `helm.toolkit.fluxcd.io/v2`."],
    },
    proves: Proves::Version,
    dates: true,
    refuse: anything,
    make: Make::Object(|settings| Ok(Box::new(HelmRelease { target: settings.object(API)? }))),
};

/// The API of HelmReleases.
pub(super) const API: Api =
    Api { group: "helm.toolkit.fluxcd.io", version: "v2", kind: "HelmRelease", plural: "helmreleases" };

/// Reasons for `Ready=False` that pass by themselves.
const WAITING: [&str; 4] = ["SourceNotReady", "DependencyNotReady", "ArtifactFailed", "HealthCheckCanceled"];
/// Failed attempts at one spec that are put up with while Flux goes on trying. With the strategy
/// `RetryOnFailure` it never gives up by itself; three is the common number of retries.
const PATIENCE: i64 = 3;

struct HelmRelease {
    target: Target,
}

impl Signal for HelmRelease {
    fn target(&self) -> Target {
        self.target.clone()
    }

    fn judge(&self, object: &Value, _: &[Option<Value>]) -> Verdict {
        verdict(Object(object))
    }
}

/// The whole judgement of a HelmRelease, also for kinds that look at one beside their own object.
pub(super) fn verdict(object: Object<'_>) -> Verdict {
    let own = Own { waiting: &WAITING, lasting: &[], tried: tried(object), gives_up: past_patience(object) };
    let mut verdict = match flux::ready(object, &own) {
        Ok(ready) => ready_state(object, ready),
        Err(verdict) => verdict,
    };
    verdict.attempted = object.text("/status/lastAttemptedRevision").and_then(|text| text.parse().ok());
    let newest = object.at("/status/history/0").map(Object);
    if let Some(newest) = newest.filter(|newest| newest.text("/status") == Some("deployed")) {
        verdict.running = newest.text("/chartVersion").and_then(|text| text.parse().ok());
        verdict.digest = newest.text("/ociDigest").and_then(digest);
    }
    verdict
}

/// Ready for the present generation: what was deployed, and whether its tests passed.
fn ready_state(object: Object<'_>, ready: Condition<'_>) -> Verdict {
    let Some(newest) = object.at("/status/history/0").map(Object) else {
        return Verdict::new(Health::Progressing, "status.history is empty");
    };
    let version = newest.text("/chartVersion").map_or("?".into(), told);
    let deployed = newest.text("/status").unwrap_or("?");
    let evidence = format!("status.history[0] is {version}, {deployed}; {}", ready.words());
    if deployed != "deployed" {
        return Verdict::new(Health::Progressing, evidence);
    }
    if let Some(tests) = object.condition("TestSuccess").filter(|tests| !tests.is_true()) {
        let health = if tests.is_false() { Health::Degraded } else { Health::Progressing };
        return Verdict::new(health, tests.words()).since(tests.since());
    }
    Verdict::new(Health::Healthy, evidence).since(later(ready.since(), newest.time("/lastDeployed")))
}

/// The version that a failure is about, which is not the one that runs.
fn tried(object: Object<'_>) -> String {
    object.text("/status/lastAttemptedRevision").map(|version| format!("; tried {}", told(version))).unwrap_or_default()
}

/// Whether more attempts at this spec failed than anybody asked to retry.
fn past_patience(object: Object<'_>) -> bool {
    let count = |pointer| object.number(pointer).unwrap_or(0);
    let failures =
        count("/status/failures").max(count("/status/installFailures")).max(count("/status/upgradeFailures"));
    let retries = count("/spec/upgrade/remediation/retries").max(count("/spec/install/remediation/retries"));
    failures > retries.max(PATIENCE)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::super::tests::given;
    use super::*;
    use decide::snapshot::Reading;
    use jiff::Timestamp;
    use serde_json::json;

    fn judge(object: &Value) -> Reading {
        given::judge("helmRelease", &[("namespace", "apps"), ("name", "loki")], object)
    }

    fn time(text: &str) -> Option<Timestamp> {
        Some(text.parse().unwrap())
    }

    fn healthy() -> Value {
        json!({
            "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
            "metadata": {"name": "loki", "namespace": "apps", "generation": 4},
            "spec": {"chart": {"spec": {"chart": "loki", "version": "1.2.0"}}},
            "status": {
                "observedGeneration": 4,
                "conditions": [
                    {"type": "Ready", "status": "True", "reason": "UpgradeSucceeded", "observedGeneration": 4,
                     "message": "upgrade succeeded", "lastTransitionTime": "2026-11-21T10:00:00Z"},
                    {"type": "Released", "status": "True", "reason": "UpgradeSucceeded", "observedGeneration": 4,
                     "lastTransitionTime": "2026-11-21T10:00:00Z"},
                ],
                "history": [
                    {"chartVersion": "1.2.0", "status": "deployed", "version": 7, "lastDeployed": "2026-11-21T09:58:00Z"},
                    {"chartVersion": "1.1.0", "status": "superseded", "version": 6, "lastDeployed": "2026-11-01T09:00:00Z"},
                ],
            },
        })
    }

    /// A healthy one with changes: pointer and value, `null` takes the place out.
    fn with(changes: &[(&str, Value)]) -> Value {
        let mut object = healthy();
        for (pointer, value) in changes {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            match object.pointer_mut(parent).unwrap() {
                Value::Object(map) if value.is_null() => drop(map.remove(key)),
                Value::Object(map) => drop(map.insert(key.to_string(), value.clone())),
                Value::Array(list) => list.push(value.clone()),
                other => panic!("{other}"),
            }
        }
        object
    }

    fn ready(status: &str, reason: &str, generation: i64) -> Value {
        json!({"type": "Ready", "status": status, "reason": reason, "observedGeneration": generation,
            "message": "timed out waiting for the condition", "lastTransitionTime": "2026-11-21T11:00:00Z"})
    }

    fn condition(kind: &str, status: &str, reason: &str) -> Value {
        json!({"type": kind, "status": status, "reason": reason, "observedGeneration": 4,
            "lastTransitionTime": "2026-11-21T11:30:00Z"})
    }

    fn with_ready(ready: Value, more: &[(&str, Value)]) -> Value {
        let mut object = with(more);
        object["status"]["conditions"][0] = ready;
        object
    }

    #[test]
    fn proven_fresh_and_ready_is_healthy() {
        let reading = judge(&healthy());
        assert_eq!(reading.health, Health::Healthy);
        assert_eq!(reading.running, Some("1.2.0".parse().unwrap()));
        assert_eq!(reading.since, time("2026-11-21T10:00:00Z"), "the later of Ready and the deployment");
        assert_eq!(reading.signal, "HelmRelease apps/loki");
        assert_eq!(
            reading.evidence,
            "status.history[0] is 1.2.0, deployed; Ready=True UpgradeSucceeded: upgrade succeeded"
        );
    }

    #[test]
    fn old_version_still_healthy_proves_the_old_version() {
        let reading = judge(&with(&[("/spec/chart/spec/version", json!("1.3.0"))]));
        assert_eq!((reading.health, reading.running), (Health::Healthy, Some("1.2.0".parse().unwrap())));
    }

    #[test]
    fn stale_generation_is_progressing() {
        for stale in [
            with(&[("/metadata/generation", json!(5))]),
            with(&[("/status/observedGeneration", json!(3))]),
            with(&[("/status/observedGeneration", Value::Null)]),
            with_ready(ready("True", "UpgradeSucceeded", 3), &[]),
            with_ready(json!({"type": "Ready", "status": "True"}), &[]),
            with_ready(ready("False", "UpgradeFailed", 3), &[("/metadata/generation", json!(5))]),
            with(&[
                ("/metadata/generation", json!(5)),
                ("/status/conditions/-", condition("Stalled", "True", "RetriesExceeded")),
            ]),
        ] {
            let reading = judge(&stale);
            assert_eq!(reading.health, Health::Progressing, "{}", reading.evidence);
        }
    }

    #[test]
    fn a_rollback_proves_the_old_chart_and_is_degraded() {
        let rolled_back = with_ready(
            ready("False", "UpgradeFailed", 4),
            &[
                ("/status/history/0/chartVersion", json!("1.1.0")),
                ("/status/lastAttemptedRevision", json!("1.2.0")),
                ("/status/conditions/-", condition("Remediated", "True", "RollbackSucceeded")),
            ],
        );
        let reading = judge(&rolled_back);
        assert_eq!((reading.health, reading.running), (Health::Degraded, Some("1.1.0".parse().unwrap())));
        assert_eq!(reading.since, time("2026-11-21T11:00:00Z"));
        assert_eq!(reading.evidence, "Ready=False UpgradeFailed: timed out waiting for the condition; tried 1.2.0");
    }

    #[test]
    fn given_up_is_degraded_since_it_was_given_up() {
        let stalled = with_ready(
            ready("False", "UpgradeFailed", 4),
            &[
                ("/status/conditions/-", condition("Stalled", "True", "RetriesExceeded")),
                ("/status/history/0/status", json!("failed")),
            ],
        );
        let reading = judge(&stalled);
        assert_eq!((reading.health, reading.running), (Health::Degraded, None));
        assert_eq!(reading.since, time("2026-11-21T11:30:00Z"));
        assert!(reading.evidence.ends_with("condition; given up (RetriesExceeded)"), "{}", reading.evidence);
    }

    #[test]
    fn suspended_is_frozen_whatever_ready_says() {
        assert_eq!(judge(&with(&[("/spec/suspend", json!(true))])).health, Health::Suspended);
    }

    #[test]
    fn on_the_way() {
        let reconciling = ("/status/conditions/-", condition("Reconciling", "True", "Progressing"));
        for object in [
            with_ready(ready("Unknown", "Progressing", 4), &[]),
            with(std::slice::from_ref(&reconciling)),
            with_ready(ready("False", "SourceNotReady", 4), &[]),
            with_ready(ready("False", "DependencyNotReady", 4), &[]),
            with_ready(ready("False", "UpgradeFailed", 4), std::slice::from_ref(&reconciling)),
            with(&[("/status/history", json!([]))]),
            with(&[("/status/history/0/status", json!("pending-upgrade"))]),
            with(&[("/status/conditions", json!([]))]),
            with(&[("/metadata/deletionTimestamp", json!("2026-11-21T11:00:00Z"))]),
        ] {
            let reading = judge(&object);
            assert_eq!(reading.health, Health::Progressing, "{}", reading.evidence);
        }
    }

    #[test]
    fn retrying_for_ever_is_degraded_though_never_stalled() {
        let retrying = |failures: i64| {
            with_ready(
                ready("False", "UpgradeFailed", 4),
                &[
                    ("/status/conditions/-", condition("Reconciling", "True", "ProgressingWithRetry")),
                    ("/status/upgradeFailures", json!(failures)),
                ],
            )
        };
        assert_eq!(judge(&retrying(3)).health, Health::Progressing);
        assert_eq!(judge(&retrying(4)).health, Health::Degraded);
    }

    #[test]
    fn failed_tests_are_degraded() {
        let tests = |status| with(&[("/status/conditions/-", condition("TestSuccess", status, "TestFailed"))]);
        assert_eq!(judge(&tests("False")).health, Health::Degraded);
        assert_eq!(judge(&tests("Unknown")).health, Health::Progressing);
        assert_eq!(judge(&tests("True")).health, Health::Healthy, "three conditions True are as good as two");
    }

    #[test]
    fn a_suffix_of_flux_does_not_count_against_the_version() {
        let hex = "a".repeat(64);
        let oci = with(&[
            ("/status/history/0/chartVersion", json!("1.2.0+aaaaaaaaaaaa")),
            ("/status/history/0/ociDigest", json!(format!("sha256:{hex}"))),
        ]);
        let reading = judge(&oci);
        assert!(reading.running.unwrap().proves(&"1.2.0".parse().unwrap()));
        assert_eq!(reading.digest.unwrap().as_str(), format!("sha256:{hex}"));
    }

    #[test]
    fn an_unreadable_version_or_object_is_unknown() {
        for object in [with(&[("/status/history/0/chartVersion", json!("latest"))]), json!({}), json!(null), json!([1])]
        {
            let reading = judge(&object);
            assert_eq!((reading.health, reading.running), (Health::Unknown, None));
        }
    }

    #[test]
    fn a_clock_that_runs_ahead_gives_no_time_to_come() {
        let reading = judge(&with(&[("/status/history/0/lastDeployed", json!("2027-01-01T00:00:00Z"))]));
        assert_eq!(reading.since, time("2026-11-21T12:00:00Z"));
        assert_eq!(judge(&with(&[("/status/history/0/lastDeployed", json!("soon"))])).since, None);
    }
}
