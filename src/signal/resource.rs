//! Any object, by JSONPath (design: health, sections 3.6 and 3.8). What the paths do not say is
//! looked for where every controller puts it: a condition's own generation and time, and the signs
//! that it is still at work.

use std::borrow::Cow;

use decide::snapshot::Health;
use serde_json::Value;

use super::kind::{NAME, Settings, optional, required};
use super::object::{Object, Verdict, whole};
use super::proof::{one, version_in};
use super::settled::unsettled;
use super::state::{self, STATE, States};
use super::{Kind, Make, Proves, Signal, SignalError, Target, Which, name, target};
use jsonpath::{Path, node_at, place_of};
use parse::objects::is_secret;
use parse::read::{Form, Shape};
use parse::settings::{Given, Refused, Values};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "resource",
    shape: Shape {
        what: "resource",
        keys: &[
            required("apiVersion", Form::ApiVersion, &["Its API version, such as `apps/v1`."]),
            required("kind", Form::Kind, &["Its kind."]),
            optional("plural", Form::Plural, &["The plural of its kind. Default the kind in lower case with an `s`."]),
            optional(
                "namespace",
                Form::ObjectName,
                &["Its namespace. Default none, for a kind that belongs to the whole cluster."],
            ),
            NAME,
            required("version", Form::JsonPath, &["Where the version stands that this object proves to run."]),
            optional(
                "generation",
                Form::JsonPath,
                &[
                    "Where the generation stands that the status speaks of; it is compared with",
                    "`$.metadata.generation`. Default the condition's own, or `$.status.observedGeneration`.",
                ],
            ),
            required("state", Form::Map(&STATE), &["Where the state stands, and which values mean what."]),
            optional(
                "since",
                Form::JsonPath,
                &[
                    "Where the time of the last change of state stands. Default the condition's own, else the state",
                    "counts from when it was first read.",
                ],
            ),
        ],
        unsupported: &[],
        about: &["Any object, by JSONPath."],
    },
    proves: Proves::Version,
    dates: false,
    refuse,
    make: Make::Object(|settings| Ok(Box::new(Resource::new(settings)?))),
};

/// Conditions that are true while a controller is at work, though others still say yes.
const AT_WORK: [&str; 2] = ["Reconciling", "Issuing"];

struct Resource {
    target: Target,
    version: Path,
    generation: Option<Path>,
    state: States,
    since: Option<Path>,
}

/// What stands in a Secret would stand in pull requests.
const NO_SECRET: &str = "a Secret is not read: its values would stand in pull requests";

fn refuse(values: &Values) -> Result<(), Refused> {
    let names = |key: &str| matches!(values.get(key), Some(Given::Text(text)) if is_secret(text));
    if let Some(at) = ["kind", "plural"].into_iter().find(|key| names(key)) {
        let help = "for Helm's own record ask `helmSecret`".to_string();
        return Err(Refused { at, why: NO_SECRET.to_string(), help });
    }
    state::refuse(values)
}

impl Resource {
    fn new(settings: &Settings<'_>) -> Result<Self, SignalError> {
        let missing = |key| SignalError::Missing { key };
        let text = |key: &'static str| settings.text(key).ok_or(missing(key));
        let (api_version, kind) = (text("apiVersion")?, text("kind")?);
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let plural = settings.text("plural").map_or_else(|| format!("{}s", kind.to_ascii_lowercase()), str::to_string);
        if !group.is_empty() {
            name("API group", group.to_string())?;
        }
        name("API version", version.to_string())?;
        let plural = name("plural", plural)?;
        if is_secret(kind) || is_secret(&plural) {
            return Err(SignalError::Unusable { key: "kind", why: NO_SECRET.to_string() });
        }
        let which = Which::Named(settings.required("name")?);
        Ok(Self {
            target: target(
                [group, version, kind, &plural].map(|part| Cow::Owned(part.to_string())),
                settings.name("namespace")?,
                which,
            ),
            version: settings.path("version")?.ok_or(missing("version"))?,
            generation: settings.path("generation")?,
            state: States::new(settings)?,
            since: settings.path("since")?,
        })
    }

    fn verdict(&self, object: &Value) -> Result<Verdict, String> {
        let running = one(&self.version, object)?.and_then(Value::as_str).and_then(version_in);
        let mut verdict = match one(&self.state.path, object)? {
            Some(state) => self.state(object, state)?,
            None => Verdict::new(Health::Progressing, format!("{} is not there yet", self.state.path.as_str())),
        };
        if verdict.health == Health::Healthy && running.is_none() {
            verdict.health = Health::Progressing;
            verdict.evidence = format!("{}; no version at {}", verdict.evidence, self.version.as_str());
        }
        verdict.running = running;
        Ok(verdict)
    }

    fn state(&self, object: &Value, state: &Value) -> Result<Verdict, String> {
        let holder = holder(object, state).map(Object);
        let since = match &self.since {
            Some(path) => one(path, object)?.and_then(Value::as_str).and_then(|text| text.parse().ok()),
            None => holder.and_then(|holder| holder.time("/lastTransitionTime")),
        };
        let (health, mut evidence) = self.state.judge(state);
        for pointer in ["/reason", "/message"] {
            if let Some(more) = holder.filter(is_condition).and_then(|holder| holder.text(pointer)) {
                evidence.push_str(&format!(" {more}"));
            }
        }
        if let Some(why) = self.stale(object, holder)? {
            return Ok(Verdict::new(Health::Progressing, format!("{why}; {evidence}")));
        }
        if health == Health::Healthy
            && let Some(why) = self.at_work(Object(object))
        {
            return Ok(Verdict::new(Health::Progressing, why));
        }
        Ok(Verdict::new(health, evidence).since(since))
    }

    /// Why the status does not speak of the present object.
    fn stale(&self, object: &Value, holder: Option<Object<'_>>) -> Result<Option<String>, String> {
        let metadata = Object(object);
        if metadata.is_deleted() {
            return Ok(Some("it is being deleted".to_string()));
        }
        let Some(generation) = metadata.generation() else {
            return Ok(Some("metadata.generation is missing, nothing proves that the state is fresh".to_string()));
        };
        let own = holder.and_then(|holder| holder.number("/observedGeneration")).filter(|own| *own > 0);
        let said = match &self.generation {
            Some(path) => one(path, object)?.and_then(whole),
            None => own.or_else(|| metadata.number("/status/observedGeneration")),
        };
        let behind = || format!("the status is of another generation than the object, which is of {generation}");
        Ok(match (said, own) {
            (None, _) => Some("nothing says of which generation the state is; name it under `generation:`".to_string()),
            (Some(said), _) if said != generation => Some(behind()),
            (Some(_), Some(own)) if own != generation => Some(behind()),
            (Some(_), _) => None,
        })
    }

    /// Why a state that means healthy is not the end of the rollout.
    fn at_work(&self, object: Object<'_>) -> Option<String> {
        AT_WORK
            .iter()
            .filter_map(|kind| object.condition(kind))
            .find(|condition| condition.is_true())
            .map(|condition| condition.words())
            .or_else(|| unsettled(&self.target.api_version(), &self.target.kind, object))
    }
}

impl Signal for Resource {
    fn target(&self) -> Target {
        self.target.clone()
    }

    fn judge(&self, object: &Value, _: &[Option<Value>]) -> Verdict {
        self.verdict(object).unwrap_or_else(Verdict::unknown)
    }
}

/// Whether this is a condition, whose words are for people: what else stands beside a state may be for nobody.
fn is_condition(holder: &Object<'_>) -> bool {
    holder.text("/type").is_some() && holder.text("/status").is_some()
}

/// What the node is a member of; of a condition's `status`, the condition.
fn holder<'a>(object: &'a Value, node: &Value) -> Option<&'a Value> {
    let steps = place_of(object, node)?;
    let (_, parent) = steps.split_last()?;
    node_at(object, parent).filter(|parent| !parent.is_array() && !std::ptr::eq(*parent, object))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::tests::given;
    use super::*;
    use decide::snapshot::Reading;
    use serde_json::json;

    fn spec() -> Value {
        json!({
            "apiVersion": "cert-manager.io/v1", "kind": "Certificate", "namespace": "web", "name": "site",
            "version": r"{.metadata.labels.helm\.sh/chart}",
            "state": {
                "path": "{.status.conditions[?(@.type==\"Ready\")].status}",
                "healthy": ["True"], "degraded": ["False"], "suspended": ["Paused"],
            },
        })
    }

    fn judge(spec: &Value, object: &Value) -> Reading {
        given::judged("resource", spec, object)
    }

    fn healthy() -> Value {
        json!({
            "metadata": {"generation": 2, "labels": {"helm.sh/chart": "site-certs-1.2.0"}},
            "status": {"conditions": [
                {"type": "Issuing", "status": "False"},
                {"type": "Ready", "status": "True", "reason": "Ready", "message": "up to date",
                 "observedGeneration": 2, "lastTransitionTime": "2026-11-21T10:00:00Z"},
            ]},
        })
    }

    #[test]
    fn a_condition_brings_its_own_generation_and_time() {
        let reading = judge(&spec(), &healthy());
        assert_eq!((reading.health, reading.running), (Health::Healthy, Some("1.2.0".parse().unwrap())));
        assert_eq!(reading.since, Some("2026-11-21T10:00:00Z".parse().unwrap()));
        assert_eq!(reading.signal, "Certificate web/site");
        assert!(reading.evidence.ends_with("=True Ready up to date"), "{}", reading.evidence);
    }

    #[test]
    fn stale_generation_is_progressing_whatever_the_state_says() {
        for state in ["True", "False", "Paused"] {
            for (generation, own) in [(3, json!(2)), (1, json!(2)), (2, json!(0)), (2, Value::Null)] {
                let mut object = healthy();
                object["metadata"]["generation"] = json!(generation);
                object["status"]["conditions"][1]["status"] = json!(state);
                object["status"]["conditions"][1]["observedGeneration"] = own;
                let reading = judge(&spec(), &object);
                assert_eq!(reading.health, Health::Progressing, "{state}, {generation}: {}", reading.evidence);
            }
        }
        let mut object = healthy();
        object["metadata"].as_object_mut().unwrap().remove("generation");
        assert_eq!(judge(&spec(), &object).health, Health::Progressing);
    }

    #[test]
    fn both_generations_count_where_both_are_said() {
        let mut spec = spec();
        spec["generation"] = json!("$.status.observedGeneration");
        let mut object = healthy();
        for (status, own, expected) in [
            (json!(2), json!(2), Health::Healthy),
            (json!("2"), json!(2), Health::Healthy),
            (json!(1), json!(2), Health::Progressing),
            (json!(2), json!(1), Health::Progressing),
            (json!("9f8c"), json!(2), Health::Progressing),
        ] {
            object["status"]["observedGeneration"] = status;
            object["status"]["conditions"][1]["observedGeneration"] = own;
            assert_eq!(judge(&spec, &object).health, expected, "{object}");
        }
    }

    #[test]
    fn ready_on_the_old_certificate_while_issuing_is_progressing() {
        for kind in AT_WORK {
            let mut object = healthy();
            object["status"]["conditions"][0] = json!({"type": kind, "status": "True", "reason": "Renewing"});
            let reading = judge(&spec(), &object);
            assert_eq!((reading.health, reading.evidence), (Health::Progressing, format!("{kind}=True Renewing")));
        }
    }

    #[test]
    fn values_mean_what_the_policy_says() {
        for (value, expected) in [
            (json!("True"), Health::Healthy),
            (json!("False"), Health::Degraded),
            (json!("Paused"), Health::Suspended),
            (json!("Unknown"), Health::Progressing),
            (json!(null), Health::Progressing),
            (json!(true), Health::Progressing),
        ] {
            let mut object = healthy();
            object["status"]["conditions"][1]["status"] = value.clone();
            assert_eq!(judge(&spec(), &object).health, expected, "{value}");
        }
    }

    #[test]
    fn without_a_proven_version_nothing_is_healthy() {
        let mut object = healthy();
        for label in [json!("site-certs"), json!(null), json!(7), json!(format!("{}-1.2.0", "x".repeat(57)))] {
            object["metadata"]["labels"]["helm.sh/chart"] = label.clone();
            let reading = judge(&spec(), &object);
            assert_eq!((reading.health, reading.running), (Health::Progressing, None), "{label}");
        }
    }

    #[test]
    fn several_places_are_unknown_and_none_is_progressing() {
        let mut spec = spec();
        spec["state"]["path"] = json!("$.status.conditions[*].status");
        let reading = judge(&spec, &healthy());
        assert_eq!(reading.health, Health::Unknown);
        assert!(reading.evidence.contains("2 places"), "{}", reading.evidence);
        spec["state"]["path"] = json!("$.status.phase");
        assert_eq!(judge(&spec, &healthy()).health, Health::Progressing);
    }

    #[test]
    fn a_deployment_available_on_its_old_pods_is_progressing() {
        let spec = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "web", "name": "site",
            "version": "$.spec.template.spec.containers[0].image",
            "generation": "$.status.observedGeneration",
            "state": {"path": "$.status.conditions[?(@.type=='Available')].status", "healthy": ["True"]},
        });
        let mut object = json!({
            "metadata": {"generation": 5},
            "spec": {"replicas": 2, "template": {"spec": {"containers": [{"image": "x/y:1.3.0"}]}}},
            "status": {"observedGeneration": 5, "replicas": 3, "updatedReplicas": 1, "availableReplicas": 2,
                "readyReplicas": 2, "conditions": [{"type": "Available", "status": "True"}]},
        });
        let reading = judge(&spec, &object);
        assert_eq!((reading.health, reading.running), (Health::Progressing, Some("1.3.0".parse().unwrap())));
        object["status"] = json!({"observedGeneration": 5, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2,
            "readyReplicas": 2, "conditions": [{"type": "Available", "status": "True"}]});
        assert_eq!(judge(&spec, &object).health, Health::Healthy);
    }

    /// The policy's reader refuses them, too; whoever asks does not rely on it.
    #[test]
    fn a31_a_secret_is_not_asked_for() {
        for (kind, plural) in
            [("SECRET", None), ("Secret", Some("things")), ("Widget", Some("secrets")), ("SecretList", None)]
        {
            for api in ["v1", "example.com/v1"] {
                let mut bad = spec();
                (bad["apiVersion"], bad["kind"]) = (json!(api), json!(kind));
                if let Some(plural) = plural {
                    bad["plural"] = json!(plural);
                }
                let error = given::signal("resource", &bad).err().unwrap();
                assert!(matches!(error, SignalError::Unusable { key: "kind", .. }), "{api} {kind}: {error}");
            }
        }
    }

    #[test]
    fn a31_only_states_and_the_words_of_conditions_are_told() {
        let object = |data: Value| json!({"metadata": {"generation": 2}, "data": data});
        let mut spec = spec();
        spec["version"] = json!("$.data.version");
        spec["generation"] = json!("$.data.pin");
        spec["state"] = json!({"path": "$.data.state", "healthy": ["good enough"]});
        let told = |state: Value, pin: Value| {
            let data = json!({"state": state, "pin": pin, "version": "hunter2-v", "reason": "hunter2-r", "message": "hunter2-m"});
            judge(&spec, &object(data)).evidence
        };
        for state in ["good enough", "Pending", "running", "true"] {
            assert!(told(json!(state), json!(2)).contains(&format!("$.data.state={state}")), "{state}");
        }
        for state in [json!("hunter2"), json!(8_642_013), json!("ready hunter2"), json!({"a": "hunter2"})] {
            for pin in [json!(8_642_013), json!("8642013"), json!(2)] {
                let said = told(state.clone(), pin);
                assert!(!said.contains("hunter2") && !said.contains("8642013"), "{state}: {said}");
            }
        }
        assert_eq!(told(json!("hunter2"), json!(2)), "$.data.state holds no state that is known (7 characters)");
    }

    #[test]
    fn bad_paths_and_names_are_refused_with_their_key() {
        let error = |key: &str, value: &str| {
            let mut bad = spec();
            bad[key] = json!(value);
            given::signal("resource", &bad).err().unwrap()
        };
        assert!(matches!(error("since", "$..a..b"), SignalError::Path { key: "since", .. }));
        assert!(matches!(error("plural", "certificates/status"), SignalError::Name { what: "plural", .. }));
        assert!(matches!(error("apiVersion", "a/b/c"), SignalError::Name { what: "API version", .. }));
    }
}
