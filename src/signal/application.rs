//! Argo CD `Application` (argo-cd, `pkg/apis/application/v1alpha1`). It has no observed generation, and its own
//! generation moves with every write of the status: fresh is what was compared with the present
//! source, and looked at after the last operation.

mod children;

use decide::snapshot::Health;
use decide::{Sha, Version};
use serde_json::Value;

use super::answer::Signal;
use super::kind::{Kind, Make, Proves, anything};
use super::object::{Object, Verdict, digest, later, told};
use super::settings::{NAME, NAMESPACE, Settings, SignalError, optional};
use super::target::{Api, Target};
use parse::read::{Form, Key, Shape};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "application",
    shape: Shape {
        what: "application",
        keys: &[NAMESPACE, NAME, SOURCE],
        unsupported: &[],
        about: &["Argo CD: an Application of `argoproj.io/v1alpha1`."],
    },
    proves: Proves::Version,
    dates: true,
    refuse: anything,
    make: Make::Object(|settings| Ok(Box::new(Application::new(settings)?))),
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

    fn more(&self, object: &Value) -> Vec<Target> {
        children::targets(Object(object))
    }

    fn around(&self) -> Vec<Target> {
        vec![API.all(self.target.namespace.clone())]
    }

    fn judge(&self, object: &Value, more: &[Option<Value>]) -> Verdict {
        children::with(verdict(Object(object), self.source), Object(object), more)
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
    let revision = object.at("/status/sync").and_then(|sync| source.revision(sync)).map_or("?".into(), told);
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
mod tests;
