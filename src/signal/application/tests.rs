//! Applications that are well, on their way, ill, or of several sources.

#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::super::tests::given;
use super::*;
use decide::snapshot::Reading;
use serde_json::json;

fn judge(object: &Value) -> Reading {
    given::judge("application", &[("namespace", "argocd"), ("name", "loki-eu-1")], object)
}

fn running(text: &str) -> Option<Version> {
    Some(text.parse().unwrap())
}

fn healthy() -> Value {
    let source = json!({"repoURL": "https://charts.example/grafana", "chart": "loki", "targetRevision": "1.2.0"});
    json!({
        "metadata": {"name": "loki-eu-1", "generation": 106_251},
        "spec": {"source": source},
        "status": {
            "reconciledAt": "2026-11-21T11:00:00Z",
            "sync": {"status": "Synced", "revision": "1.2.0", "comparedTo": {"source": source}},
            "health": {"status": "Healthy", "lastTransitionTime": "2026-11-21T10:30:00Z"},
            "operationState": {"phase": "Succeeded", "finishedAt": "2026-11-21T10:00:00Z",
                "syncResult": {"revision": "1.2.0"}},
            "history": [{"id": 1, "revision": "1.1.0"}, {"id": 2, "revision": "1.2.0"}],
        },
    })
}

fn with(changes: &[(&str, Value)]) -> Value {
    let mut object = healthy();
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let map = object.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        if value.is_null() {
            map.remove(key)
        } else {
            map.insert(key.to_string(), value.clone())
        };
    }
    object
}

#[test]
fn proven_compared_synced_and_healthy() {
    let reading = judge(&healthy());
    assert_eq!((reading.health, reading.running), (Health::Healthy, running("1.2.0")));
    assert_eq!(reading.since, Some("2026-11-21T10:30:00Z".parse().unwrap()));
    assert_eq!(reading.evidence, "status.sync is 1.2.0, Synced; status.health=Healthy");
    assert_eq!(reading.signal, "Application argocd/loki-eu-1");
}

#[test]
fn old_version_still_healthy_is_progressing_on_the_old_version() {
    // The new version is in the spec, Argo CD has not looked yet, everything old is green.
    let reading = judge(&with(&[("/spec/source/targetRevision", json!("1.3.0"))]));
    assert_eq!((reading.health, reading.running), (Health::Progressing, running("1.2.0")));
    // It has looked, but not synced: the revision is what it should be, not what runs.
    let compared = with(&[
        ("/spec/source/targetRevision", json!("1.3.0")),
        ("/status/sync/comparedTo/source/targetRevision", json!("1.3.0")),
        ("/status/sync/revision", json!("1.3.0")),
        ("/status/sync/status", json!("OutOfSync")),
    ]);
    let reading = judge(&compared);
    assert_eq!((reading.health, reading.running), (Health::Progressing, running("1.2.0")));
}

#[test]
fn the_look_must_be_younger_than_the_operation() {
    for changes in [
        [("/status/reconciledAt", json!("2026-11-21T09:59:59Z"))],
        [("/status/reconciledAt", Value::Null)],
        [("/status/operationState/finishedAt", Value::Null)],
        [("/status/operationState", Value::Null)],
        [("/status/operationState/phase", json!("Running"))],
        [("/operation", json!({"sync": {}}))],
        [("/status/sync/comparedTo", Value::Null)],
        [("/metadata/deletionTimestamp", json!("2026-11-21T11:00:00Z"))],
    ] {
        let reading = judge(&with(&changes));
        assert_eq!(reading.health, Health::Progressing, "{changes:?}: {}", reading.evidence);
    }
}

#[test]
fn sync_comes_before_health() {
    for (sync, health, expected) in [
        ("Synced", "Progressing", Health::Progressing),
        ("Synced", "", Health::Progressing),
        ("Synced", "Suspended", Health::Suspended),
        ("Synced", "Degraded", Health::Degraded),
        ("Synced", "Missing", Health::Unknown),
        ("Synced", "Unknown", Health::Unknown),
        ("OutOfSync", "Healthy", Health::Progressing),
        ("OutOfSync", "Degraded", Health::Degraded),
        ("Unknown", "Healthy", Health::Unknown),
    ] {
        let object = with(&[("/status/sync/status", json!(sync)), ("/status/health/status", json!(health))]);
        assert_eq!(judge(&object).health, expected, "{sync}, {health}");
    }
}

#[test]
fn errors_are_degraded_with_their_message() {
    for kind in ERRORS {
        let condition =
            json!([{"type": kind, "message": "no such\nchart", "lastTransitionTime": "2026-11-21T10:45:00Z"}]);
        let reading = judge(&with(&[("/status/conditions", condition)]));
        assert_eq!((reading.health, reading.evidence), (Health::Degraded, format!("{kind}: no such chart")));
        assert_eq!(reading.since, Some("2026-11-21T10:45:00Z".parse().unwrap()));
    }
    let warning = json!([{"type": "OrphanedResourceWarning", "message": "x"}]);
    assert_eq!(judge(&with(&[("/status/conditions", warning)])).health, Health::Healthy);
}

#[test]
fn a_failed_operation_counts_only_for_its_own_revision() {
    let failed = |tried: &str| {
        judge(&with(&[
            ("/status/operationState/phase", json!("Failed")),
            ("/status/operationState/message", json!("one or more tasks failed")),
            ("/status/operationState/syncResult/revision", json!(tried)),
        ]))
    };
    let reading = failed("1.2.0");
    assert_eq!(reading.health, Health::Degraded);
    assert_eq!(reading.evidence, "status.operationState.phase=Failed: one or more tasks failed");
    assert_eq!(failed("1.1.0").health, Health::Progressing);
}

#[test]
fn the_chart_among_several_sources_is_found() {
    let sources = json!([
        {"repoURL": "https://git.example/config", "targetRevision": "main", "ref": "values"},
        {"repoURL": "https://charts.example", "chart": "loki", "targetRevision": "1.2.0"},
    ]);
    let mut object = with(&[
        ("/spec/source", Value::Null),
        ("/spec/sources", sources.clone()),
        ("/status/sync/comparedTo", json!({"sources": sources})),
        ("/status/sync/revision", Value::Null),
        ("/status/sync/revisions", json!(["0123abc", "1.2.0"])),
    ]);
    let reading = judge(&object);
    assert_eq!((reading.health, reading.running), (Health::Healthy, running("1.2.0")));
    object["spec"]["sources"][0]["targetRevision"] = json!("next");
    assert_eq!(judge(&object).health, Health::Progressing, "any source that changed makes it stale");
    object["spec"]["sources"][0]["chart"] = json!("other");
    assert_eq!(judge(&object).health, Health::Unknown);
    object["spec"]["sources"] = json!([{"repoURL": "https://git.example"}]);
    assert_eq!(judge(&object).health, Health::Unknown);
}

#[test]
fn the_source_that_is_named_is_judged() {
    let sha = "0123456789abcdef0123456789abcdef01234567";
    let sources = json!([
        {"repoURL": "https://charts.example", "chart": "loki", "targetRevision": "1.2.0"},
        {"repoURL": "https://charts.example", "chart": "agent", "targetRevision": "3.0.0"},
        {"repoURL": "https://git.example/config", "path": "apps/loki", "targetRevision": "main"},
    ]);
    let object = with(&[
        ("/spec/source", Value::Null),
        ("/spec/sources", sources.clone()),
        ("/status/sync/comparedTo", json!({"sources": sources})),
        ("/status/sync/revision", Value::Null),
        ("/status/sync/revisions", json!(["1.2.0", "3.0.0", sha])),
    ]);
    let judged = |index| verdict(Object(&object), index);
    assert_eq!(judged(None).health, Health::Unknown, "two of them are charts");
    for (index, expected) in [(0, "1.2.0"), (1, "3.0.0")] {
        assert_eq!((judged(Some(index)).health, judged(Some(index)).running), (Health::Healthy, running(expected)));
    }
    let git = judged(Some(2));
    assert_eq!((git.health, git.running, git.revision), (Health::Healthy, None, Some(Sha::new(sha))));
    assert_eq!(judged(Some(3)).health, Health::Unknown);
    assert_eq!(verdict(Object(&healthy()), Some(1)).health, Health::Unknown);
}

#[test]
fn a_digest_proves_the_tag_that_it_was_compared_with() {
    let digest = format!("sha256:{}", "b".repeat(64));
    let reading = judge(&with(&[("/status/sync/revision", json!(digest))]));
    assert_eq!((reading.health, reading.running), (Health::Healthy, running("1.2.0")));
    assert_eq!(reading.digest.unwrap().as_str(), digest);
    let moved = with(&[("/status/sync/revision", json!(digest)), ("/spec/source/targetRevision", json!("1.3.0"))]);
    assert_eq!(judge(&moved).health, Health::Progressing);
}

#[test]
fn a_commit_proves_no_version() {
    let sha = "0123456789abcdef0123456789abcdef01234567";
    let reading = judge(&with(&[("/status/sync/revision", json!(sha))]));
    assert_eq!((reading.health, reading.running), (Health::Unknown, None), "a chart has none");
    let git = json!({"repoURL": "https://git.example/config", "path": "apps/loki", "targetRevision": "main"});
    let object = |revision: &str| {
        with(&[
            ("/spec/source", git.clone()),
            ("/status/sync/comparedTo/source", git.clone()),
            ("/status/sync/revision", json!(revision)),
        ])
    };
    let found = verdict(Object(&object(sha)), None);
    assert_eq!((found.health, found.running, found.revision), (Health::Healthy, None, Some(Sha::new(sha))));
    for short in ["0123456", "main", ""] {
        assert_eq!(verdict(Object(&object(short)), None).health, Health::Unknown, "{short}");
    }
    assert_eq!(judge(&json!({})).health, Health::Unknown);
}
