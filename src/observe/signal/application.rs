//! Argo CD `Application` (design: health, section 3.1). It has no observed generation, and its own
//! generation moves with every write of the status: fresh is what was compared with the present
//! source, and looked at after the last operation.

use decide::Version;
use decide::snapshot::{Health, Reading};
use jiff::Timestamp;
use serde_json::Value;

use super::object::{Object, Verdict, digest, later, title};
use super::{Signal, SignalError, Target, name, target};

/// Conditions that say that Argo CD cannot do its work.
const ERRORS: [&str; 4] = ["ComparisonError", "InvalidSpecError", "SyncError", "UnknownError"];

pub(super) struct Application {
    namespace: String,
    name: String,
}

impl Application {
    pub fn new(namespace: String, object: String) -> Result<Self, SignalError> {
        Ok(Self { namespace: name("namespace", namespace)?, name: name("name", object)? })
    }
}

impl Signal for Application {
    fn kind(&self) -> &'static str {
        "application"
    }

    fn target(&self) -> Target {
        let namespace = Some(self.namespace.clone());
        target("argoproj.io", "v1alpha1", "Application", "applications", namespace, self.name.clone())
    }

    fn judge(&self, object: &Value, observed_at: Timestamp) -> Reading {
        let object = Object(object);
        let chart = match Chart::of(object) {
            Ok(chart) => chart,
            Err(why) => return Verdict::new(Health::Unknown, why).read(&title(&self.target()), observed_at),
        };
        let mut verdict = state(object, &chart);
        let applied = chart.applied(object);
        let operation = object.at("/status/operationState/syncResult");
        verdict.attempted = operation.and_then(|result| chart.revision(result)).and_then(version);
        if let Some(digest) = applied.and_then(digest) {
            // A generic OCI source resolves to a digest; its version is the tag that it was compared with.
            verdict.running = chart.text("/targetRevision").filter(|_| chart.is_compared(object)).and_then(version);
            verdict.digest = Some(digest);
        } else {
            verdict.running = applied.and_then(version);
        }
        if verdict.health == Health::Healthy && verdict.running.is_none() {
            verdict.health = Health::Unknown;
            verdict.evidence = format!("{}, which is not a chart version", verdict.evidence);
        }
        verdict.read(&title(&self.target()), observed_at)
    }
}

fn version(text: &str) -> Option<Version> {
    text.parse().ok()
}

/// The one source of an application that is a chart.
struct Chart<'a> {
    source: &'a Value,
    /// Its place among several sources; none where there is only one.
    index: Option<usize>,
}

impl<'a> Chart<'a> {
    fn of(object: Object<'a>) -> Result<Self, &'static str> {
        let sources = object.list("/spec/sources");
        if sources.is_empty() {
            let source = object.at("/spec/source").ok_or("spec.source is missing")?;
            return Ok(Self { source, index: None });
        }
        let is_chart = |source: &&Value| {
            let source = Object(source);
            source.text("/chart").is_some() || source.text("/repoURL").is_some_and(|url| url.starts_with("oci://"))
        };
        let mut charts = sources.iter().enumerate().filter(|(_, source)| is_chart(source));
        match (charts.next(), charts.next()) {
            (Some((index, source)), None) => Ok(Self { source, index: Some(index) }),
            (None, _) => Err("none of spec.sources is a chart"),
            (Some(_), Some(_)) => Err("several of spec.sources are charts; which one is meant is not known"),
        }
    }

    fn text(&self, pointer: &str) -> Option<&'a str> {
        Object(self.source).text(pointer)
    }

    /// The revision of this source in something that holds `revision` or `revisions`.
    fn revision(&self, holder: &'a Value) -> Option<&'a str> {
        match self.index {
            None => Object(holder).text("/revision"),
            Some(index) => Object(holder).text(&format!("/revisions/{index}")),
        }
    }

    /// Whether the status was compared with every source as the spec has it now.
    fn is_compared(&self, object: Object<'_>) -> bool {
        let same = |spec: &Value, compared: &Value| {
            ["/repoURL", "/chart", "/path", "/targetRevision"]
                .iter()
                .all(|field| Object(spec).text(field) == Object(compared).text(field))
        };
        match self.index {
            None => object.at("/status/sync/comparedTo/source").is_some_and(|compared| same(self.source, compared)),
            Some(_) => {
                let (spec, compared) = (object.list("/spec/sources"), object.list("/status/sync/comparedTo/sources"));
                spec.len() == compared.len() && spec.iter().zip(compared).all(|(spec, compared)| same(spec, compared))
            }
        }
    }

    /// The revision that is proven to be in the cluster: what it is in sync with, else what the last
    /// successful operation applied.
    fn applied(&self, object: Object<'a>) -> Option<&'a str> {
        if object.text("/status/sync/status") == Some("Synced") && self.is_compared(object) {
            return object.at("/status/sync").and_then(|sync| self.revision(sync));
        }
        object.list("/status/history").last().and_then(|entry| self.revision(entry))
    }
}

/// Everything but the version proof.
fn state(object: Object<'_>, chart: &Chart<'_>) -> Verdict {
    if object.is_deleted() {
        return Verdict::new(Health::Progressing, "it is being deleted");
    }
    let is_error = |condition: &&Value| Object(condition).text("/type").is_some_and(|kind| ERRORS.contains(&kind));
    if let Some(error) = object.list("/status/conditions").iter().find(is_error).map(Object) {
        let words = format!("{}: {}", error.text("/type").unwrap_or("?"), error.text("/message").unwrap_or("?"));
        return Verdict::new(Health::Degraded, words).since(error.time("/lastTransitionTime"));
    }
    if !chart.is_compared(object) {
        return Verdict::new(Health::Progressing, "status.sync.comparedTo is not spec.source yet");
    }
    if object.at("/operation").is_some() {
        return Verdict::new(Health::Progressing, "an operation is asked for");
    }
    operation(object, chart).unwrap_or_else(|| settled(object, chart))
}

/// What the last operation says by itself; none where it succeeded and was looked at since.
fn operation(object: Object<'_>, chart: &Chart<'_>) -> Option<Verdict> {
    let phase = object.text("/status/operationState/phase");
    let finished = object.time("/status/operationState/finishedAt");
    match phase {
        Some("Succeeded") => {}
        Some(phase @ ("Failed" | "Error")) => {
            let wanted = object.at("/status/sync").and_then(|sync| chart.revision(sync));
            let tried = object.at("/status/operationState/syncResult").and_then(|result| chart.revision(result));
            if tried.is_some() && tried != wanted {
                return Some(Verdict::new(Health::Progressing, "the last operation was for another revision"));
            }
            let message = object.text("/status/operationState/message").unwrap_or("no message");
            let evidence = format!("status.operationState.phase={phase}: {message}");
            return Some(Verdict::new(Health::Degraded, evidence).since(finished));
        }
        Some(phase) => {
            return Some(Verdict::new(Health::Progressing, format!("status.operationState.phase={phase}")));
        }
        None => return Some(Verdict::new(Health::Progressing, "it was never synced")),
    }
    let looked = object.time("/status/reconciledAt");
    let is_after = looked.zip(finished).is_some_and(|(looked, finished)| looked >= finished);
    (!is_after)
        .then(|| Verdict::new(Health::Progressing, "status.reconciledAt is before the end of the last operation"))
}

/// The comparison is fresh and the operation is over: in sync first, then health.
fn settled(object: Object<'_>, chart: &Chart<'_>) -> Verdict {
    let sync = object.text("/status/sync/status").unwrap_or("Unknown");
    let health = object.text("/status/health/status").unwrap_or_default();
    let revision = object.at("/status/sync").and_then(|sync| chart.revision(sync)).unwrap_or("?");
    let mut evidence = format!("status.sync is {revision}, {sync}; status.health={health}");
    if let Some(message) = object.text("/status/health/message") {
        evidence.push_str(&format!(": {message}"));
    }
    let changed = object.time("/status/health/lastTransitionTime");
    let state = match (sync, health) {
        (_, "Degraded") => return Verdict::new(Health::Degraded, evidence).since(changed),
        ("OutOfSync", _) => Health::Progressing,
        ("Synced", "Healthy") => {
            let since = later(changed, object.time("/status/operationState/finishedAt"));
            return Verdict::new(Health::Healthy, evidence).since(since);
        }
        ("Synced", "Progressing" | "") => Health::Progressing,
        ("Synced", "Suspended") => Health::Suspended,
        (_, _) => Health::Unknown,
    };
    Verdict::new(state, evidence).since(changed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use serde_json::json;

    fn judge(object: &Value) -> Reading {
        let signal = Application::new("argocd".into(), "loki-eu-1".into()).unwrap();
        signal.judge(object, "2026-11-21T12:00:00Z".parse().unwrap())
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
        assert_eq!((reading.health, reading.running), (Health::Unknown, None));
        assert_eq!(judge(&json!({})).health, Health::Unknown);
    }
}
