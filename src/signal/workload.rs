//! Plain workloads by the rules of kstatus (cli-utils, `pkg/kstatus/status`), with those of Argo CD where kstatus
//! says yes too early: a running Job is no success, a paused Deployment is suspended.

use decide::snapshot::Health;
use serde_json::Value;

use super::answer::Signal;
use super::kind::{Kind, Make, Proves};
use super::object::{Condition, Object, Verdict, behind, later};
use super::proof::Place;
use super::settings::{NAME, Settings, SignalError, VERSION, optional, required};
use super::settled::unsettled;
use super::target::{Api, Target};
use parse::read::{Form, Shape};
use parse::settings::{Given, Refused, Values};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "workload",
    shape: Shape {
        what: "workload",
        keys: &[
            required(
                "kind",
                Form::OneOf(&[
                    ("Deployment", "Of `apps/v1`."),
                    ("StatefulSet", "Of `apps/v1`."),
                    ("DaemonSet", "Of `apps/v1`."),
                    ("Job", "Of `batch/v1`."),
                    ("CustomResourceDefinition", "Of `apiextensions.k8s.io/v1`; it has no namespace."),
                ]),
                &["Its kind."],
            ),
            optional("namespace", Form::ObjectName, &["Its namespace. Default none, for a CustomResourceDefinition."]),
            NAME,
            VERSION,
        ],
        unsupported: &[],
        about: &["Kubernetes: a Deployment, StatefulSet, DaemonSet, Job or CustomResourceDefinition."],
    },
    proves: Proves::Version,
    dates: false,
    refuse,
    make: Make::Object(|settings| Ok(Box::new(Workload::new(settings)?))),
};

const CRD: &str = "CustomResourceDefinition";
const APIS: [Api; 5] = [
    Api { group: "apps", version: "v1", kind: "Deployment", plural: "deployments" },
    Api { group: "apps", version: "v1", kind: "StatefulSet", plural: "statefulsets" },
    Api { group: "apps", version: "v1", kind: "DaemonSet", plural: "daemonsets" },
    Api { group: "batch", version: "v1", kind: "Job", plural: "jobs" },
    Api {
        group: "apiextensions.k8s.io",
        version: "v1",
        kind: "CustomResourceDefinition",
        plural: "customresourcedefinitions",
    },
];

/// All of them have a namespace but one.
fn refuse(values: &Values) -> Result<(), Refused> {
    let Some(Given::Text(kind)) = values.get("kind") else { return Ok(()) };
    let refused =
        |at, why: &str, help: &str| Err(Refused { at, why: format!("a {kind} {why}"), help: help.to_string() });
    match (kind.as_str() == CRD, values.contains_key("namespace")) {
        (true, true) => refused("namespace", "has no namespace", "take it out"),
        (false, false) => refused("kind", "has a namespace", "add `namespace:`"),
        (true, false) | (false, true) => Ok(()),
    }
}

struct Workload {
    target: Target,
    version: Place,
}

impl Workload {
    fn new(settings: &Settings<'_>) -> Result<Self, SignalError> {
        let kind = settings.text("kind").unwrap_or_default();
        let api = APIS.into_iter().find(|api| api.kind == kind).ok_or(SignalError::Missing { key: "kind" })?;
        let namespace = if kind == CRD { None } else { Some(settings.required("namespace")?) };
        Ok(Self { target: api.named(namespace, settings.required("name")?), version: Place::new(settings)? })
    }
}

impl Signal for Workload {
    fn target(&self) -> Target {
        self.target.clone()
    }

    fn judge(&self, value: &Value, _: &[Option<Value>]) -> Verdict {
        let object = Object(value);
        let version = match self.version.version(value) {
            Ok(version) => version,
            Err(why) => return Verdict::unknown(why),
        };
        let mut verdict = self.state(object);
        if verdict.health == Health::Healthy {
            verdict.running.clone_from(&version);
            if version.is_none() {
                verdict.health = Health::Progressing;
                verdict.evidence = format!("{}; no version at {}", verdict.evidence, self.version.words());
            }
        }
        verdict.attempted = version;
        verdict
    }
}

impl Workload {
    /// Everything but the version proof.
    fn state(&self, object: Object<'_>) -> Verdict {
        if object.is_deleted() {
            return Verdict::progressing("it is being deleted");
        }
        if let Err(why) = self.is_observed(object) {
            return Verdict::progressing(why);
        }
        let kind = self.target.kind.as_ref();
        if object.flag("/spec/paused") || object.flag("/spec/suspend") {
            let key = if kind == "Job" { "spec.suspend" } else { "spec.paused" };
            return Verdict::new(Health::Suspended, format!("{key}=true"));
        }
        if let Some(failed) = failed(kind, object) {
            return Verdict::new(Health::Degraded, failed.words()).since(failed.since());
        }
        if let Some(why) = unsettled(&self.target.api_version(), kind, object) {
            return Verdict::progressing(why);
        }
        let held = |kind| object.condition(kind).filter(|condition| condition.is_true());
        let (evidence, since) = match kind {
            "Deployment" => (counts(object), held("Available").zip(held("Progressing")).and_then(both)),
            "Job" => ("the job is complete".to_string(), held("Complete").and_then(Condition::since)),
            "CustomResourceDefinition" => match held("Established") {
                Some(established) => (established.words(), established.since()),
                None => return Verdict::progressing("it is not established yet"),
            },
            _ => (counts(object), None),
        };
        Verdict::new(Health::Healthy, evidence).since(since)
    }

    /// Whether the status speaks of the present spec. A Job is never changed, only made anew; the status of a
    /// CustomResourceDefinition says no generation before Kubernetes 1.32.
    fn is_observed(&self, object: Object<'_>) -> Result<(), String> {
        let Some(generation) = object.generation() else { return Err("metadata.generation is missing".to_string()) };
        let observed = match self.target.kind.as_ref() {
            "Job" => return Ok(()),
            "CustomResourceDefinition" => match object.condition("Established").and_then(Condition::generation) {
                Some(observed) => Some(observed),
                None => return Ok(()),
            },
            _ => object.number("/status/observedGeneration"),
        };
        if observed == Some(generation) {
            return Ok(());
        }
        Err(behind("status.observedGeneration", observed, generation))
    }
}

fn both((one, two): (Condition<'_>, Condition<'_>)) -> Option<jiff::Timestamp> {
    later(one.since(), two.since())
}

/// The condition that says that it will never be well by itself.
fn failed<'a>(kind: &str, object: Object<'a>) -> Option<Condition<'a>> {
    match kind {
        "Deployment" => object
            .condition("Progressing")
            .filter(|progressing| progressing.is_false() && progressing.reason() == "ProgressDeadlineExceeded"),
        "Job" => object.condition("Failed").filter(|failed| failed.is_true()),
        "CustomResourceDefinition" => object.condition("NamesAccepted").filter(|accepted| accepted.is_false()),
        _ => None,
    }
}

/// How many pods are as they should be.
fn counts(object: Object<'_>) -> String {
    let places = [
        "/status/replicas",
        "/status/updatedReplicas",
        "/status/readyReplicas",
        "/status/availableReplicas",
        "/status/desiredNumberScheduled",
        "/status/updatedNumberScheduled",
        "/status/numberAvailable",
    ];
    let said = places.iter().filter_map(|place| {
        let count = object.number(place)?;
        Some(format!("{}={count}", place.trim_start_matches('/').replace('/', ".")))
    });
    said.collect::<Vec<_>>().join(", ")
}
