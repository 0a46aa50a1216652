//! Any object, by JSONPath (`docs/signals/resource.md`). What the paths do not say is
//! looked for where every controller puts it: a condition's own generation and time, and the signs
//! that it is still at work.

use std::borrow::Cow;

use decide::snapshot::Health;
use serde_json::Value;

use super::answer::Signal;
use super::kind::{Kind, Make, Proves};
use super::object::{Object, Verdict, whole};
use super::proof::{one, version_in};
use super::settings::{NAME, Settings, SignalError, name, optional, required};
use super::settled::unsettled;
use super::state::{self, STATE, States};
use super::target::{Target, Which, target};
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
mod tests;
