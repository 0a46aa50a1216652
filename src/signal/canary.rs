//! Flagger `Canary` (flagger, `pkg/apis/flagger/v1beta1`). Between an upgrade of the chart and Flagger's next
//! look the phase still says Succeeded for the old version: the proof is that the primary runs the pods of the
//! target.

use decide::snapshot::Health;
use serde_json::Value;

use super::answer::Signal;
use super::kind::{Kind, Make, Proves, anything};
use super::object::{Object, Verdict};
use super::proof::Place;
use super::settings::{self, NAME, NAMESPACE, VERSION};
use super::settled::unsettled;
use super::target::{Api, Target};
use parse::read::Shape;

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "canary",
    shape: Shape {
        what: "canary",
        keys: &[NAMESPACE, NAME, VERSION],
        unsupported: &[],
        about: &[
            "Flagger: a Canary of `flagger.app/v1beta1` whose target is a Deployment or a DaemonSet; `version` is a",
            "place in the target.",
        ],
    },
    proves: Proves::Version,
    dates: false,
    refuse: anything,
    make: Make::Object(|settings| {
        Ok(Box::new(Canary { target: settings.object(API)?, version: Place::new(settings)? }))
    }),
};

const API: Api = Api { group: "flagger.app", version: "v1beta1", kind: "Canary", plural: "canaries" };
const DEPLOYMENT: Api = Api { group: "apps", version: "v1", kind: "Deployment", plural: "deployments" };
const DAEMON_SET: Api = Api { group: "apps", version: "v1", kind: "DaemonSet", plural: "daemonsets" };
/// Phases in which somebody has to say that it may go on.
const WAITING: [&str; 2] = ["Waiting", "WaitingPromotion"];

struct Canary {
    target: Target,
    version: Place,
}

impl Signal for Canary {
    fn target(&self) -> Target {
        self.target.clone()
    }

    fn more(&self, object: &Value) -> Vec<Target> {
        let Some((api, name)) = workload(Object(object)) else { return Vec::new() };
        let usable = |name: &String| settings::name("name", name.clone()).is_ok();
        let names = [name.to_string(), format!("{name}-primary")];
        let names = names.into_iter().filter(usable);
        names.map(|name| api.named(self.target.namespace.clone(), name)).collect()
    }

    fn around(&self) -> Vec<Target> {
        [DEPLOYMENT, DAEMON_SET].map(|api| api.all(self.target.namespace.clone())).to_vec()
    }

    fn judge(&self, object: &Value, more: &[Option<Value>]) -> Verdict {
        let canary = Object(object);
        if workload(canary).is_none() {
            return Verdict::unknown("spec.targetRef is neither a Deployment nor a DaemonSet");
        }
        let [Some(target), Some(primary)] = more else {
            return Verdict::progressing("the target or its primary is not there yet");
        };
        let version = match self.version.version(target) {
            Ok(version) => version,
            Err(why) => return Verdict::unknown(why),
        };
        let serves = serves(canary, target, primary);
        let mut verdict = state(canary);
        if serves.is_ok() {
            verdict.running.clone_from(&version);
        }
        verdict.attempted = version;
        if verdict.health == Health::Healthy {
            let missing = match (serves, &verdict.running) {
                (Err(why), _) => Some(why),
                (Ok(()), None) => Some(format!("no version at {} of the target", self.version.words())),
                (Ok(()), Some(_)) => None,
            };
            if let Some(why) = missing {
                verdict.health = Health::Progressing;
                verdict.evidence = format!("{why}; {}", verdict.evidence);
            }
        }
        verdict
    }
}

/// The workload that a canary is about.
fn workload(canary: Object<'_>) -> Option<(Api, &str)> {
    let name = canary.text("/spec/targetRef/name")?;
    match canary.text("/spec/targetRef/kind")? {
        "Deployment" => Some((DEPLOYMENT, name)),
        "DaemonSet" => Some((DAEMON_SET, name)),
        _ => None,
    }
}

/// Whether the primary runs the target's pods, all of them, and nothing else.
fn serves(canary: Object<'_>, target: &Value, primary: &Value) -> Result<(), String> {
    let (api, _) = workload(canary).ok_or("there is no target")?;
    if pods(target) != pods(primary) || pods(target).is_empty() {
        return Err("the primary's containers are not those of the target".to_string());
    }
    let object = Object(primary);
    let (generation, observed) = (object.generation(), object.number("/status/observedGeneration"));
    if generation.is_none() || generation != observed {
        return Err("the primary's status is not of its present spec".to_string());
    }
    unsettled("apps/v1", api.kind, object).map_or(Ok(()), |why| Err(format!("the primary: {why}")))
}

/// What a container runs.
#[derive(PartialEq)]
struct Container<'a> {
    name: Option<&'a str>,
    /// Image, command, arguments.
    program: [Option<&'a Value>; 3],
    /// Names and plain values. References to ConfigMaps and Secrets are left out: Flagger gives the primary
    /// copies of its own.
    env: Vec<[Option<&'a str>; 2]>,
}

fn pods(workload: &Value) -> Vec<Container<'_>> {
    fn container(container: &Value) -> Container<'_> {
        let object = Object(container);
        let env = object.list("/env").iter().map(|one| ["/name", "/value"].map(|place| Object(one).text(place)));
        Container {
            name: object.text("/name"),
            program: ["/image", "/command", "/args"].map(|place| object.at(place)),
            env: env.collect(),
        }
    }
    Object(workload).list("/spec/template/spec/containers").iter().map(container).collect()
}

/// Everything but the version proof.
fn state(canary: Object<'_>) -> Verdict {
    if canary.is_deleted() {
        return Verdict::progressing("it is being deleted");
    }
    if canary.flag("/spec/suspend") {
        return Verdict::new(Health::Suspended, "spec.suspend=true");
    }
    let phase = canary.text("/status/phase").unwrap_or_default();
    let since = canary.time("/status/lastTransitionTime");
    let skipped = if canary.flag("/spec/skipAnalysis") { "; spec.skipAnalysis=true, nothing was analysed" } else { "" };
    let evidence = format!("status.phase={phase}{skipped}");
    let (applied, promoted) = (canary.text("/status/lastAppliedSpec"), canary.text("/status/lastPromotedSpec"));
    let health = match phase {
        "Failed" => Health::Degraded,
        "Succeeded" | "Initialized" if applied.is_some() && applied == promoted => Health::Healthy,
        "Succeeded" | "Initialized" => {
            return Verdict::progressing("status.lastPromotedSpec is not status.lastAppliedSpec");
        }
        waiting if WAITING.contains(&waiting) => {
            return Verdict::progressing(format!("{evidence}; somebody has to confirm it")).since(since);
        }
        "Initializing" | "Progressing" | "Promoting" | "Finalising" | "" => Health::Progressing,
        _ => Health::Unknown,
    };
    Verdict::new(health, evidence).since(since)
}
