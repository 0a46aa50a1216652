//! A page of JSON at an address: which version it says, as of when, and in which state. How it is asked is in
//! `ask`.

use decide::snapshot::{Health, Reading};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::endpoint::{self, Endpoint, SECRET, URL};
use super::kind::{Kind, Make, Proves};
use super::object::Verdict;
use super::proof::{one, version_in};
use super::settings::{Settings, SignalError, optional, required};
use super::state::{self, STATE, States};
use jsonpath::Path;
use parse::read::{Form, Shape};
use parse::settings::{Refused, Values};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "http",
    shape: Shape {
        what: "http",
        keys: &[
            URL,
            SECRET,
            required("version", Form::JsonPath, &["Where the version stands that it says to run."]),
            required("state", Form::Map(&STATE), &["Where the state stands, and which values mean what."]),
            optional(
                "time",
                Form::JsonPath,
                &[
                    "Where it says as of when that is, as a date with its time or in seconds since 1970. Default when",
                    "it is asked, less the age of an answer from a cache.",
                ],
            ),
            optional(
                "since",
                Form::JsonPath,
                &[
                    "Where the time of the last change of state stands. Default none: the state counts from when it",
                    "was first read.",
                ],
            ),
        ],
        unsupported: &[],
        about: &["A page of JSON over HTTP, by JSONPath."],
    },
    proves: Proves::Less("what answers at that address, and not that everything in the cluster is of that version"),
    dates: false,
    refuse,
    make: Make::Page(Page::new),
};

/// A page about one cluster.
#[derive(Clone, Debug)]
pub struct Page {
    /// Where it is asked.
    pub endpoint: Endpoint,
    version: Path,
    state: States,
    time: Option<Path>,
    since: Option<Path>,
}

/// What a server answered.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// Whether its status is a success.
    pub ok: bool,
    /// The page.
    pub page: &'a Value,
    /// For how long it lay in a cache.
    pub age: SignedDuration,
}

fn refuse(values: &Values) -> Result<(), Refused> {
    endpoint::refuse(values)?;
    state::refuse(values)
}

impl Page {
    fn new(settings: &Settings<'_>) -> Result<Self, SignalError> {
        Ok(Self {
            endpoint: Endpoint::new(settings)?,
            version: settings.path("version")?.ok_or(SignalError::Missing { key: "version" })?,
            state: States::new(settings)?,
            time: settings.path("time")?,
            since: settings.path("since")?,
        })
    }

    /// What people know it by.
    pub fn title(&self) -> String {
        format!("HTTP {}", self.endpoint.title())
    }

    /// What is said without an answer.
    pub fn read(&self, verdict: Verdict, at: Timestamp) -> Reading {
        verdict.read(&self.title(), at)
    }

    /// Judges an answer; `asked` is when it was asked for.
    pub fn judge(&self, told: Told<'_>, asked: Timestamp) -> Reading {
        match self.verdict(told, asked) {
            Ok((verdict, seen)) => self.read(verdict, seen),
            Err(why) => self.read(Verdict::unknown(why), asked),
        }
    }

    fn verdict(&self, told: Told<'_>, asked: Timestamp) -> Result<(Verdict, Timestamp), String> {
        let page = told.page;
        let cached = asked.saturating_sub(told.age.max(SignedDuration::ZERO)).unwrap_or(Timestamp::MIN);
        let seen = match &self.time {
            None => cached,
            Some(path) => {
                let said = one(path, page)?.and_then(instant);
                let said = said.ok_or_else(|| format!("nothing at {} says as of when it is", path.as_str()))?;
                said.min(cached)
            }
        };
        let running = one(&self.version, page)?.and_then(Value::as_str).and_then(version_in);
        let mut verdict = match one(&self.state.path, page)? {
            None => Verdict::progressing(format!("{} is not there yet", self.state.path.as_str())),
            Some(state) => {
                let (health, told) = self.state.judge(state);
                Verdict::new(health, told)
            }
        };
        if verdict.health == Health::Healthy && running.is_none() {
            verdict.health = Health::Progressing;
            verdict.evidence = format!("{}; no version at {}", verdict.evidence, self.version.as_str());
        }
        if verdict.health == Health::Healthy && !told.ok {
            verdict.health = Health::Unknown;
            verdict.evidence = format!("{}; and a status that is no success", verdict.evidence);
        }
        if let Some(path) = &self.since {
            verdict.since = one(path, page)?.and_then(instant);
        }
        verdict.running = running;
        Ok((verdict, seen))
    }
}

/// A date with its time and zone, or seconds since 1970.
fn instant(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(seconds) => {
            let millis =
                seconds.as_f64().map(|seconds| (seconds * 1000.0).floor()).filter(|millis| millis.abs() < 1e15)?;
            #[allow(clippy::cast_possible_truncation)] // whole, and small enough
            let millis = millis as i64;
            Timestamp::from_millisecond(millis).ok()
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
