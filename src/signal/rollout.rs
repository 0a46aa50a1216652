//! Argo Rollouts `Rollout` (argo-rollouts, `pkg/apis/rollouts/v1alpha1`). After an abort the stable old pods
//! serve while the spec shows the new ones: only when the stable ReplicaSet is the present one is the spec what
//! runs.

use decide::snapshot::Health;
use serde_json::Value;

use super::answer::Signal;
use super::kind::{Kind, Make, Proves, anything};
use super::object::{Object, Verdict, later};
use super::proof::Place;
use super::settings::{NAME, NAMESPACE, VERSION};
use super::target::{Api, Target};
use parse::read::Shape;

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "rollout",
    shape: Shape {
        what: "rollout",
        keys: &[NAMESPACE, NAME, VERSION],
        unsupported: &[],
        about: &["Argo Rollouts: a Rollout of `argoproj.io/v1alpha1`."],
    },
    proves: Proves::Version,
    dates: false,
    refuse: anything,
    make: Make::Object(|settings| {
        Ok(Box::new(Rollout { target: settings.object(API)?, version: Place::new(settings)? }))
    }),
};

const API: Api = Api { group: "argoproj.io", version: "v1alpha1", kind: "Rollout", plural: "rollouts" };
/// What the controller writes of the workload that a Rollout refers to.
const WORKLOAD_GENERATION: &str = "rollout.argoproj.io/workload-generation";

struct Rollout {
    target: Target,
    version: Place,
}

impl Signal for Rollout {
    fn target(&self) -> Target {
        self.target.clone()
    }

    fn judge(&self, value: &Value, _: &[Option<Value>]) -> Verdict {
        let object = Object(value);
        let version = match self.version.version(value) {
            Ok(version) => version,
            Err(why) => return Verdict::unknown(why),
        };
        let mut verdict = state(object);
        let promoted = object.text("/status/stableRS");
        if promoted.is_some() && promoted == object.text("/status/currentPodHash") && is_observed(object).is_ok() {
            verdict.running.clone_from(&version);
        }
        verdict.attempted = version;
        if verdict.health == Health::Healthy && verdict.running.is_none() {
            verdict.health = Health::Progressing;
            verdict.evidence = format!("{}; no version at {}", verdict.evidence, self.version.words());
        }
        verdict
    }
}

/// Whether the status speaks of the present spec. The observed generation is a string; version 0.9 wrote a
/// hash there, which says nothing.
fn is_observed(object: Object<'_>) -> Result<(), String> {
    let Some(generation) = object.generation() else { return Err("metadata.generation is missing".to_string()) };
    let observed = object.number("/status/observedGeneration");
    if observed != Some(generation) {
        return Err(super::object::behind("status.observedGeneration", observed, generation));
    }
    if object.at("/spec/workloadRef").is_some() {
        let noted = object.mark("annotations", WORKLOAD_GENERATION);
        let text = |seen: &Value| seen.as_str().map_or_else(|| seen.to_string(), str::to_string);
        let seen = object.at("/status/workloadObservedGeneration").map(text);
        if noted.is_none() || noted != seen.as_deref() {
            let (noted, seen) = (noted.unwrap_or("missing"), seen.unwrap_or("missing".to_string()));
            return Err(format!("status.workloadObservedGeneration={seen}, the workload's is {noted}"));
        }
    }
    Ok(())
}

/// Everything but the version proof.
fn state(object: Object<'_>) -> Verdict {
    if object.is_deleted() {
        return Verdict::progressing("it is being deleted");
    }
    if let Err(why) = is_observed(object) {
        return Verdict::progressing(why);
    }
    let phase = object.text("/status/phase").unwrap_or_default();
    let message = object.text("/status/message").map(|message| format!(": {message}")).unwrap_or_default();
    let evidence = format!("status.phase={phase}{message}");
    let aborted = object.time("/status/abortedAt");
    if phase == "Degraded" || object.flag("/status/abort") {
        return Verdict::new(Health::Degraded, evidence).since(aborted);
    }
    if object.flag("/spec/paused") || phase == "Paused" {
        return Verdict::new(Health::Suspended, evidence);
    }
    // The controller has just decided to pause, and has not written down why.
    if object.flag("/status/controllerPause") && object.list("/status/pauseConditions").is_empty() {
        return Verdict::progressing(format!("{evidence}; status.controllerPause=true"));
    }
    if phase != "Healthy" {
        return Verdict::progressing(evidence);
    }
    let (stable, current) = (object.text("/status/stableRS"), object.text("/status/currentPodHash"));
    if stable.is_none() || stable != current {
        let (stable, current) = (stable.unwrap_or("missing"), current.unwrap_or("missing"));
        return Verdict::progressing(format!("status.stableRS={stable}, status.currentPodHash={current}"));
    }
    let available = object.condition("Available");
    let progressing = object.condition("Progressing");
    let since = available.zip(progressing).and_then(|(one, two)| later(one.since(), two.since()));
    Verdict::new(Health::Healthy, format!("{evidence}; status.stableRS={}", stable.unwrap_or_default())).since(since)
}
