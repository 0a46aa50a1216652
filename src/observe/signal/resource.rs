//! Any object, by JSONPath (design: health, sections 3.6 and 3.8). What the paths do not say is
//! looked for where every controller puts it: a condition's own generation and time, and the signs
//! that it is still at work.

use decide::Version;
use decide::snapshot::{Health, Reading};
use jiff::Timestamp;
use serde_json::Value;

use super::object::{Object, Verdict, title, whole};
use super::workload::unsettled;
use super::{Signal, SignalError, Target, name, target};
use crate::jsonpath::{Path, node_at, place_of};
use crate::policy::wiring::ResourceSpec;

/// Conditions that are true while a controller is at work, though others still say yes.
const AT_WORK: [&str; 2] = ["Reconciling", "Issuing"];
/// A label holds at most so much; a longer version was cut.
const LABEL: usize = 63;

pub(super) struct Resource {
    target: Target,
    api_version: String,
    version: Path,
    generation: Option<Path>,
    state: Path,
    since: Option<Path>,
    healthy: Vec<String>,
    degraded: Vec<String>,
    suspended: Vec<String>,
}

impl Resource {
    /// `namespace` and `object` have their placeholders filled in.
    pub fn new(spec: &ResourceSpec, namespace: Option<String>, object: String) -> Result<Self, SignalError> {
        let (group, version) = spec.api_version.split_once('/').unwrap_or(("", &spec.api_version));
        let plural = spec.plural.clone().unwrap_or_else(|| format!("{}s", spec.kind.to_ascii_lowercase()));
        if !group.is_empty() {
            name("API group", group.to_string())?;
        }
        name("API version", version.to_string())?;
        let target = target(
            group,
            version,
            &spec.kind,
            &name("plural", plural)?,
            namespace.map(|namespace| name("namespace", namespace)).transpose()?,
            name("name", object)?,
        );
        let path = |key, text: &str| Path::parse_lenient(text).map_err(|why| SignalError::Path { key, why });
        Ok(Self {
            target,
            api_version: spec.api_version.clone(),
            version: path("version", &spec.version)?,
            generation: spec.generation.as_deref().map(|text| path("generation", text)).transpose()?,
            state: path("state.path", &spec.state.path)?,
            since: spec.since.as_deref().map(|text| path("since", text)).transpose()?,
            healthy: spec.state.healthy.clone(),
            degraded: spec.state.degraded.clone(),
            suspended: spec.state.suspended.clone(),
        })
    }

    fn verdict(&self, object: &Value) -> Result<Verdict, String> {
        let running = one(&self.version, object)?.and_then(Value::as_str).and_then(version_in);
        let mut verdict = match one(&self.state, object)? {
            Some(state) => self.state(object, state)?,
            None => Verdict::new(Health::Progressing, format!("{} is not there yet", self.state.as_str())),
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
        let text = words(state);
        let mut evidence = format!("{}={text}", self.state.as_str());
        for pointer in ["/reason", "/message"] {
            if let Some(more) = holder.and_then(|holder| holder.text(pointer)) {
                evidence.push_str(&format!(" {more}"));
            }
        }
        let is_in = |values: &[String]| values.contains(&text);
        let health = if is_in(&self.healthy) {
            Health::Healthy
        } else if is_in(&self.degraded) {
            Health::Degraded
        } else if is_in(&self.suspended) {
            Health::Suspended
        } else {
            Health::Progressing
        };
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
        let behind = |found: i64| format!("the status is of generation {found}, the object of {generation}");
        Ok(match (said, own) {
            (None, _) => Some("nothing says of which generation the state is; name it under `generation:`".to_string()),
            (Some(said), _) if said != generation => Some(behind(said)),
            (Some(_), Some(own)) if own != generation => Some(behind(own)),
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
            .or_else(|| unsettled(&self.api_version, &self.target.gvk.kind, object))
    }
}

impl Signal for Resource {
    fn kind(&self) -> &'static str {
        "resource"
    }

    fn target(&self) -> Target {
        self.target.clone()
    }

    fn judge(&self, object: &Value, observed_at: Timestamp) -> Reading {
        let verdict = self.verdict(object).unwrap_or_else(|why| Verdict::new(Health::Unknown, why));
        verdict.read(&title(&self.target), observed_at)
    }
}

/// The one node at a path, if any.
fn one<'a>(path: &Path, object: &'a Value) -> Result<Option<&'a Value>, String> {
    let found = path.find(object).map_err(|error| error.to_string())?;
    match found.as_slice() {
        [] => Ok(None),
        [Value::Null] => Ok(None),
        [node] => Ok(Some(node)),
        several => Err(format!("{} names {} places; narrow it down to one", path.as_str(), several.len())),
    }
}

/// What the node is a member of; of a condition's `status`, the condition.
fn holder<'a>(object: &'a Value, node: &Value) -> Option<&'a Value> {
    let steps = place_of(object, node)?;
    let (_, parent) = steps.split_last()?;
    node_at(object, parent).filter(|parent| !parent.is_array() && !std::ptr::eq(*parent, object))
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToString::to_string)
}

/// A version as it stands alone, as an image's tag, or behind a chart's name in a label
/// (`loki-1.2.0_build`: a label knows no `+`).
fn version_in(text: &str) -> Option<Version> {
    if text.len() > 512 {
        return None;
    }
    if let Ok(version) = text.parse() {
        return Some(version);
    }
    let image = text.split('@').next().unwrap_or(text);
    if let Some((_, tag)) = image.rsplit('/').next().and_then(|last| last.split_once(':')) {
        return tag.replacen('_', "+", 1).parse().ok();
    }
    if text.contains('/') || text.len() >= LABEL {
        return None;
    }
    let label = text.replacen('_', "+", 1);
    label.match_indices('-').find_map(|(at, _)| label.get(at + 1..)?.parse().ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::policy::wiring::StateSpec;
    use serde_json::json;

    fn spec() -> ResourceSpec {
        ResourceSpec {
            api_version: "cert-manager.io/v1".into(),
            kind: "Certificate".into(),
            plural: None,
            namespace: Some("web".into()),
            name: "site".into(),
            version: r"{.metadata.labels.helm\.sh/chart}".into(),
            generation: None,
            state: StateSpec {
                path: "{.status.conditions[?(@.type==\"Ready\")].status}".into(),
                healthy: vec!["True".into()],
                degraded: vec!["False".into()],
                suspended: vec!["Paused".into()],
            },
            since: None,
        }
    }

    fn judge(spec: &ResourceSpec, object: &Value) -> Reading {
        let signal = Resource::new(spec, spec.namespace.clone(), spec.name.clone()).unwrap();
        signal.judge(object, "2026-11-21T12:00:00Z".parse().unwrap())
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
        spec.generation = Some("$.status.observedGeneration".into());
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
    fn versions_stand_alone_in_labels_and_in_images() {
        for (text, expected) in [
            ("1.2.0", Some("1.2.0")),
            ("v1.2.0", Some("v1.2.0")),
            ("loki-distributed-1.2.0-rc.1", Some("1.2.0-rc.1")),
            ("loki-1.2.0_abc", Some("1.2.0+abc")),
            ("quay.io:443/jetstack/controller:v1.2.0", Some("v1.2.0")),
            ("repo/x:1.2.0@sha256:00", Some("1.2.0")),
            ("quay.io:443/jetstack/controller", None),
            ("repo/x-1.2.0", None),
            ("latest", None),
            ("1.2", None),
            ("", None),
        ] {
            assert_eq!(version_in(text).map(|version| version.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn several_places_are_unknown_and_none_is_progressing() {
        let mut spec = spec();
        spec.state.path = "$.status.conditions[*].status".into();
        let reading = judge(&spec, &healthy());
        assert_eq!(reading.health, Health::Unknown);
        assert!(reading.evidence.contains("2 places"), "{}", reading.evidence);
        spec.state.path = "$.status.phase".into();
        assert_eq!(judge(&spec, &healthy()).health, Health::Progressing);
    }

    #[test]
    fn a_deployment_available_on_its_old_pods_is_progressing() {
        let mut spec = spec();
        spec.api_version = "apps/v1".into();
        spec.kind = "Deployment".into();
        spec.version = "$.spec.template.spec.containers[0].image".into();
        spec.generation = Some("$.status.observedGeneration".into());
        spec.state.path = "$.status.conditions[?(@.type=='Available')].status".into();
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

    #[test]
    fn bad_paths_and_names_are_refused_with_their_key() {
        let mut bad = spec();
        bad.since = Some("$..a..b".into());
        let error = Resource::new(&bad, None, "x".into()).err().unwrap();
        assert!(matches!(&error, SignalError::Path { key: "since", .. }), "{error}");
        let mut bad = spec();
        bad.plural = Some("certificates/status".into());
        assert!(matches!(Resource::new(&bad, None, "x".into()), Err(SignalError::Name { what: "plural", .. })));
        let mut bad = spec();
        bad.api_version = "a/b/c".into();
        assert!(matches!(Resource::new(&bad, None, "x".into()), Err(SignalError::Name { what: "API version", .. })));
    }
}
