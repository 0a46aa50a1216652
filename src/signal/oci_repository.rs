//! Flux `OCIRepository` (source-controller, `api/v1`). It proves which artifact Flux holds, not that anything
//! runs it.

use decide::snapshot::Health;
use serde_json::Value;

use super::answer::Signal;
use super::flux::{self, Own, hash, reference};
use super::kind::{Kind, Make, Proves, anything};
use super::object::{Object, Verdict, digest, later, told};
use super::settings::{NAME, NAMESPACE};
use super::target::{Api, Target};
use parse::read::Shape;

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "ociRepository",
    shape: Shape {
        what: "ociRepository",
        keys: &[NAMESPACE, NAME],
        unsupported: &[],
        about: &["Flux: an OCIRepository of `source.toolkit.fluxcd.io/v1`; beside a `helmRelease`."],
    },
    proves: Proves::Less("which artifact Flux has fetched, not that the cluster runs it"),
    dates: false,
    refuse: anything,
    make: Make::Object(|settings| Ok(Box::new(OciRepository { target: settings.object(API)? }))),
};

const API: Api =
    Api { group: "source.toolkit.fluxcd.io", version: "v1", kind: "OCIRepository", plural: "ocirepositories" };

struct OciRepository {
    target: Target,
}

impl Signal for OciRepository {
    fn target(&self) -> Target {
        self.target.clone()
    }

    fn judge(&self, object: &Value, _: &[Option<Value>]) -> Verdict {
        let object = Object(object);
        let own = Own { waiting: &[], lasting: &[], tried: String::new(), gives_up: false };
        let revision = object.text("/status/artifact/revision");
        let mut verdict = match flux::ready(object, &own) {
            Ok(ready) => {
                let evidence =
                    format!("status.artifact.revision={}; {}", revision.map_or("none".into(), told), ready.words());
                let stored = object.time("/status/artifact/lastUpdateTime");
                Verdict::new(Health::Healthy, evidence).since(later(ready.since(), stored))
            }
            Err(verdict) => verdict,
        };
        verdict.running = revision.and_then(reference).and_then(|version| version.parse().ok());
        verdict.digest = revision.and_then(hash).and_then(digest);
        if verdict.health == Health::Healthy && (verdict.running.is_none() || verdict.digest.is_none()) {
            verdict.health = Health::Unknown;
            verdict.evidence = format!("{}, which is not VERSION@sha256:DIGEST", verdict.evidence);
        }
        verdict
    }
}
