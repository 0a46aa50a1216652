//! Argo CD `ApplicationSet` with progressive syncs (argo-cd, `applicationset/progressivesync`). The set's own
//! word comes from timestamps and may be a moment late; what proves the version is the Application, and both
//! must agree.

use decide::snapshot::Health;
use serde_json::Value;

use super::answer::Signal;
use super::application::{self, SOURCE, Source};
use super::kind::{Kind, Make, Proves, anything};
use super::object::{Object, Verdict, later, told};
use super::settings::{NAME, NAMESPACE, required};
use super::target::{Api, Target};
use parse::read::{Form, Shape};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "applicationSet",
    shape: Shape {
        what: "applicationSet",
        keys: &[
            NAMESPACE,
            NAME,
            required("application", Form::ObjectName, &["The Application that it makes for the cluster."]),
            SOURCE,
        ],
        unsupported: &[],
        about: &["Argo CD: an ApplicationSet with progressive syncs, and the Application that it makes for a cluster."],
    },
    proves: Proves::Version,
    dates: false,
    refuse: anything,
    make: Make::Object(|settings| {
        let target = settings.object(API)?;
        let application = settings.required("application")?;
        Ok(Box::new(ApplicationSet { target, application, source: application::source(settings) }))
    }),
};

const API: Api = Api { group: "argoproj.io", version: "v1alpha1", kind: "ApplicationSet", plural: "applicationsets" };

struct ApplicationSet {
    target: Target,
    application: String,
    source: Option<usize>,
}

impl Signal for ApplicationSet {
    fn target(&self) -> Target {
        self.target.clone()
    }

    fn more(&self, _: &Value) -> Vec<Target> {
        self.around()
    }

    fn around(&self) -> Vec<Target> {
        vec![application::API.named(self.target.namespace.clone(), self.application.clone())]
    }

    fn judge(&self, object: &Value, more: &[Option<Value>]) -> Verdict {
        let set = Object(object);
        let Some(Some(application)) = more.first() else {
            return Verdict::progressing(format!("there is no Application {} yet", self.application));
        };
        let application = Object(application);
        let mut verdict = application::verdict(application, self.source);
        let step = self.step(set, application);
        let (health, words, since) = match (of_set(set), step) {
            (Err(worse), _) | (Ok(()), Err(worse)) => (worse.health, worse.evidence, worse.since),
            (Ok(()), Ok(since)) => (Health::Healthy, "the set says Healthy".to_string(), since),
        };
        if verdict.health == Health::Healthy {
            verdict.since = later(verdict.since, since);
            if health != Health::Healthy {
                verdict.since = since;
            }
            verdict.health = health;
            verdict.evidence = format!("{words}; {}", verdict.evidence);
        }
        verdict
    }
}

impl ApplicationSet {
    /// What the set says of the step of this Application; since when it is healthy.
    fn step(&self, set: Object<'_>, application: Object<'_>) -> Result<Option<jiff::Timestamp>, Verdict> {
        let is = |step: &&Value| Object(step).text("/application") == Some(&self.application);
        let Some(step) = set.list("/status/applicationStatus").iter().find(is).map(Object) else {
            return Err(Verdict::unknown(format!(
                "status.applicationStatus has no {}; is there a strategy of type RollingSync?",
                self.application
            )));
        };
        let status = step.text("/status").unwrap_or("?");
        let message = step.text("/message").map(|message| format!(": {message}")).unwrap_or_default();
        let evidence = format!("status.applicationStatus of {} is {status}{message}", self.application);
        if status != "Healthy" {
            return Err(Verdict::progressing(evidence));
        }
        // It is the set's own target that this word is about.
        let source = Source::of(application, self.source).map_err(Verdict::unknown)?;
        let aimed = source.among(step.list("/targetRevisions"));
        let synced = application.at("/status/sync").and_then(|sync| source.revision(sync));
        if aimed.is_none() || aimed != synced {
            let (aimed, synced) = (aimed.map_or("nothing".into(), told), synced.map_or("nothing".into(), told));
            return Err(Verdict::progressing(format!(
                "{evidence}, for {aimed}; the Application is compared with {synced}"
            )));
        }
        Ok(step.time("/lastTransitionTime"))
    }
}

/// What the set says of itself.
fn of_set(set: Object<'_>) -> Result<(), Verdict> {
    if set.is_deleted() {
        return Err(Verdict::progressing("the ApplicationSet is being deleted"));
    }
    if let Some(error) = set.condition("ErrorOccurred").filter(|error| error.is_true()) {
        return Err(Verdict::new(Health::Degraded, error.words()).since(error.since()));
    }
    for kind in ["ParametersGenerated", "ResourcesUpToDate"] {
        match set.condition(kind) {
            Some(condition) if condition.is_true() => {}
            Some(condition) => return Err(Verdict::progressing(condition.words()).since(condition.since())),
            None => return Err(Verdict::progressing(format!("no condition {kind} yet"))),
        }
    }
    Ok(())
}
