//! Argo CD `Application` (argo-cd, `pkg/apis/application/v1alpha1`). It has no observed generation, and its own
//! generation moves with every write of the status: fresh is what was compared with the present
//! source, and looked at after the last operation.

use decide::snapshot::Health;
use decide::{Sha, Version};
use serde_json::Value;

use super::kind::{Api, NAME, NAMESPACE, Settings, anything, optional};
use super::object::{Object, Verdict, digest, later};
use super::{Kind, Proves, Signal, SignalError, Target};
use crate::policy::read::{Form, Key, Shape};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    shape: Shape {
        what: "application",
        keys: &[NAMESPACE, NAME, SOURCE],
        later: &[],
        about: &["Argo CD: an Application of `argoproj.io/v1alpha1`."],
    },
    proves: Proves::Version,
    refuse: anything,
    make: |settings| Ok(Box::new(Application::new(settings)?)),
};

/// Which of several sources is meant.
pub(super) const SOURCE: Key = optional(
    "source",
    Form::Index,
    &["Which of `spec.sources` holds the version, from 0. Default the only one that is a chart."],
);

/// The API of Applications.
pub(super) const API: Api =
    Api { group: "argoproj.io", version: "v1alpha1", kind: "Application", plural: "applications" };

/// Conditions that say that Argo CD cannot do its work.
const ERRORS: [&str; 4] = ["ComparisonError", "InvalidSpecError", "SyncError", "UnknownError"];

struct Application {
    target: Target,
    source: Option<usize>,
}

impl Application {
    fn new(settings: &Settings<'_>) -> Result<Self, SignalError> {
        Ok(Self { target: settings.object(API)?, source: source(settings) })
    }
}

/// The place of the source that the policy file names.
pub(super) fn source(settings: &Settings<'_>) -> Option<usize> {
    settings.number("source").and_then(|index| usize::try_from(index).ok())
}

impl Signal for Application {
    fn target(&self) -> Target {
        self.target.clone()
    }

    fn judge(&self, object: &Value, _: &[Option<Value>]) -> Verdict {
        verdict(Object(object), self.source)
    }
}

/// The whole judgement of an Application, also for kinds that look at one beside their own object.
pub(super) fn verdict(object: Object<'_>, index: Option<usize>) -> Verdict {
    let source = match Source::of(object, index) {
        Ok(source) => source,
        Err(why) => return Verdict::unknown(why),
    };
    let mut verdict = state(object, &source);
    let applied = source.applied(object);
    let operation = object.at("/status/operationState/syncResult");
    verdict.attempted = operation.and_then(|result| source.revision(result)).and_then(version);
    if let Some(digest) = applied.and_then(digest) {
        // A generic OCI source resolves to a digest; its version is the tag that it was compared with.
        verdict.running = source.text("/targetRevision").filter(|_| source.is_compared(object)).and_then(version);
        verdict.digest = Some(digest);
    } else if source.is_chart() {
        verdict.running = applied.and_then(version);
    } else {
        verdict.revision = applied.and_then(commit);
    }
    if verdict.health == Health::Healthy && verdict.running.is_none() && verdict.revision.is_none() {
        verdict.health = Health::Unknown;
        let what = if source.is_chart() { "chart version" } else { "commit" };
        verdict.evidence = format!("{}, which is not a {what}", verdict.evidence);
    }
    verdict
}

fn version(text: &str) -> Option<Version> {
    text.parse().ok()
}

/// The hash of a commit, in full.
pub(super) fn commit(text: &str) -> Option<Sha> {
    let whole = text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    whole.then(|| Sha::new(text.to_ascii_lowercase()))
}

/// The source of an application that holds the version.
pub(super) struct Source<'a> {
    source: &'a Value,
    /// Its place among several sources; none where there is only one.
    index: Option<usize>,
}

impl<'a> Source<'a> {
    /// The one that is meant.
    pub fn of(object: Object<'a>, wanted: Option<usize>) -> Result<Self, &'static str> {
        let sources = object.list("/spec/sources");
        if sources.is_empty() {
            let source = object.at("/spec/source").ok_or("spec.source is missing")?;
            return match wanted {
                None | Some(0) => Ok(Self { source, index: None }),
                Some(_) => Err("there is one source, and `source` of the signal names another"),
            };
        }
        if let Some(index) = wanted {
            let source = sources.get(index).ok_or("there is no such place in spec.sources as `source` names")?;
            return Ok(Self { source, index: Some(index) });
        }
        let mut charts = sources.iter().enumerate().filter(|(_, source)| is_chart(source));
        match (charts.next(), charts.next()) {
            (Some((index, source)), None) => Ok(Self { source, index: Some(index) }),
            (None, _) => Err("none of spec.sources is a chart; name the one that is meant by `source`"),
            (Some(_), Some(_)) => Err("several of spec.sources are charts; name the one that is meant by `source`"),
        }
    }

    fn is_chart(&self) -> bool {
        is_chart(self.source)
    }

    fn text(&self, pointer: &str) -> Option<&'a str> {
        Object(self.source).text(pointer)
    }

    /// The revision of this source in something that holds `revision` or `revisions`.
    pub fn revision(&self, holder: &'a Value) -> Option<&'a str> {
        match self.index {
            None => Object(holder).text("/revision"),
            Some(index) => Object(holder).text(&format!("/revisions/{index}")),
        }
    }

    /// Its revision in a list that holds one for each source.
    pub fn among(&self, list: &'a [Value]) -> Option<&'a str> {
        list.get(self.index.unwrap_or(0)).and_then(Value::as_str)
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

/// A chart of a repository, or an artifact of a registry.
fn is_chart(source: &Value) -> bool {
    let source = Object(source);
    source.text("/chart").is_some() || source.text("/repoURL").is_some_and(|url| url.starts_with("oci://"))
}

/// Everything but the version proof.
fn state(object: Object<'_>, source: &Source<'_>) -> Verdict {
    if object.is_deleted() {
        return Verdict::new(Health::Progressing, "it is being deleted");
    }
    let is_error = |condition: &&Value| Object(condition).text("/type").is_some_and(|kind| ERRORS.contains(&kind));
    if let Some(error) = object.list("/status/conditions").iter().find(is_error).map(Object) {
        let words = format!("{}: {}", error.text("/type").unwrap_or("?"), error.text("/message").unwrap_or("?"));
        return Verdict::new(Health::Degraded, words).since(error.time("/lastTransitionTime"));
    }
    if !source.is_compared(object) {
        return Verdict::new(Health::Progressing, "status.sync.comparedTo is not spec.source yet");
    }
    if object.at("/operation").is_some() {
        return Verdict::new(Health::Progressing, "an operation is asked for");
    }
    operation(object, source).unwrap_or_else(|| settled(object, source))
}

/// What the last operation says by itself; none where it succeeded and was looked at since.
fn operation(object: Object<'_>, source: &Source<'_>) -> Option<Verdict> {
    let phase = object.text("/status/operationState/phase");
    let finished = object.time("/status/operationState/finishedAt");
    match phase {
        Some("Succeeded") => {}
        Some(phase @ ("Failed" | "Error")) => {
            let wanted = object.at("/status/sync").and_then(|sync| source.revision(sync));
            let tried = object.at("/status/operationState/syncResult").and_then(|result| source.revision(result));
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
fn settled(object: Object<'_>, source: &Source<'_>) -> Verdict {
    let sync = object.text("/status/sync/status").unwrap_or("Unknown");
    let health = object.text("/status/health/status").unwrap_or_default();
    let revision = object.at("/status/sync").and_then(|sync| source.revision(sync)).unwrap_or("?");
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
    use super::super::fixtures;
    use super::*;
    use decide::snapshot::Reading;
    use serde_json::json;

    fn judge(object: &Value) -> Reading {
        fixtures::judge("application", &[("namespace", "argocd"), ("name", "loki-eu-1")], object)
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
}
