//! Flux `Kustomization` (kustomize-controller, `api/v1`). It proves a commit; which version that is says the
//! config repo at that commit.

use decide::snapshot::Health;
use serde_json::Value;

use super::answer::Signal;
use super::application::commit;
use super::flux::{self, Own, hash};
use super::kind::{Kind, Make, Proves, anything};
use super::object::{Condition, Object, Verdict, told};
use super::settings::{NAME, NAMESPACE};
use super::target::{Api, Target};
use parse::read::Shape;

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "kustomization",
    shape: Shape {
        what: "kustomization",
        keys: &[NAMESPACE, NAME],
        unsupported: &[],
        about: &[
            "Flux: a Kustomization of `kustomize.toolkit.fluxcd.io/v1` with `wait` or `healthChecks`, whose",
            "source is the config repo.",
        ],
    },
    proves: Proves::Version,
    dates: true,
    refuse: anything,
    make: Make::Object(|settings| Ok(Box::new(Kustomization { target: settings.object(API)? }))),
};

const API: Api =
    Api { group: "kustomize.toolkit.fluxcd.io", version: "v1", kind: "Kustomization", plural: "kustomizations" };

/// Reasons for `Ready=False` that pass by themselves.
const WAITING: [&str; 4] = ["DependencyNotReady", "ArtifactFailed", "SourceNotReady", "HealthCheckCanceled"];
/// It tries for ever; these are about the commit itself, or about objects that had their time.
const LASTING: [&str; 2] = ["BuildFailed", "HealthCheckFailed"];

struct Kustomization {
    target: Target,
}

impl Signal for Kustomization {
    fn target(&self) -> Target {
        self.target.clone()
    }

    fn judge(&self, object: &Value, _: &[Option<Value>]) -> Verdict {
        let object = Object(object);
        let tried = object.text("/status/lastAttemptedRevision").map(|text| format!("; tried {}", told(text)));
        let own = Own { waiting: &WAITING, lasting: &LASTING, tried: tried.unwrap_or_default(), gives_up: false };
        let mut verdict = match flux::ready(object, &own) {
            Ok(ready) => ready_state(object, ready),
            Err(verdict) => verdict,
        };
        verdict.revision = applied(object).and_then(commit);
        if verdict.health == Health::Healthy && verdict.revision.is_none() {
            verdict.health = Health::Unknown;
            verdict.evidence = format!("{}, which is not a commit of git", verdict.evidence);
        }
        verdict
    }
}

fn ready_state(object: Object<'_>, ready: Condition<'_>) -> Verdict {
    let applied = object.text("/status/lastAppliedRevision");
    let attempted = object.text("/status/lastAttemptedRevision");
    if attempted.is_some() && attempted != applied {
        return Verdict::progressing(format!(
            "status.lastAppliedRevision={}, status.lastAttemptedRevision={}",
            applied.map_or("none".into(), told),
            attempted.map_or("none".into(), told)
        ));
    }
    let evidence = format!("status.lastAppliedRevision={}; {}", applied.map_or("none".into(), told), ready.words());
    let waits = object.flag("/spec/wait") || !object.list("/spec/healthChecks").is_empty();
    if !waits {
        // Ready means no more than that the API server took the objects.
        return Verdict::unknown(format!(
            "{evidence}; set spec.wait or spec.healthChecks, or nothing says how they are"
        ));
    }
    Verdict::new(Health::Healthy, evidence).since(ready.since())
}

/// The commit that was applied: of an artifact of a registry, the one that it was made from.
fn applied(object: Object<'_>) -> Option<&str> {
    let of = |place| object.text(place).and_then(hash).and_then(|hash| hash.strip_prefix("sha1:"));
    of("/status/lastAppliedRevision").or_else(|| of("/status/lastAppliedOriginRevision"))
}
