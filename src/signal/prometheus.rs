//! A query of Prometheus, or of what speaks its HTTP API: its keys, and what it asks. How an answer is judged is in
//! `judge`; how it is asked, and from when on its data is about one version alone, in `ask`.

mod answer;
mod expect;
mod judge;
pub mod promql;

use std::ops::RangeInclusive;

use decide::snapshot::Health;
use decide::{PluginName, Version};
use jiff::{SignedDuration, Timestamp};

use self::expect::{Baseline, Expect};
use self::promql::{Name, Query};
use super::endpoint::{self, Endpoint, SECRET, URL};
use super::kind::{Kind, Make, Proves};
use super::names::Names;
use super::object::Verdict;
use super::settings::{Settings, SignalError, optional, required};
use parse::read::{Form, Shape};
use parse::settings::{Given, Refused, Values};
use parse::when;

pub use judge::{Beside, Judged};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "prometheus",
    shape: Shape {
        what: "prometheus",
        keys: &[
            URL,
            SECRET,
            required(
                "query",
                Form::Text,
                &[
                    "The query, in PromQL. Between quotes, `{{cluster}}`, `{{organization}}`, `{{tier}}`, `{{plugin}}` and",
                    "`{{version}}` stand for their names, `{{from}}` anywhere for the seconds since 1970 from which the",
                    "version is alone there.",
                ],
            ),
            required(
                "expect",
                Form::Text,
                &["What every series of the answer has to be: `>=`, `>`, `<=`, `<`, `==` or `!=` and a number."],
            ),
            optional(
                "version",
                Form::Text,
                &["The label of the answer that says which version runs. Default what the other signals prove."],
            ),
            optional(
                "range",
                Form::Length,
                &[
                    "Asks over so much of the time before now, so that nothing between two looks is missed. Default",
                    "now alone.",
                ],
            ),
            optional("step", Form::Length, &["How far apart the points of `range` are. Default `1m`."]),
            optional(
                "lookback",
                Form::Length,
                &[
                    "How far back this Prometheus looks for the last value of a series (`--query.lookback-delta`).",
                    "Default `5m`, as it does.",
                ],
            ),
            optional(
                "baseline",
                Form::Map(&BASELINE),
                &["Compares with the members of the tier that run another version. Default nothing."],
            ),
        ],
        unsupported: &[],
        about: &["A query of Prometheus. No data proves nothing."],
    },
    proves: Proves::Where("version", "what its query says, of the version that other signals have to prove"),
    dates: false,
    refuse,
    make: Make::Metrics(Metrics::new),
};

static BASELINE: Shape = Shape {
    what: "baseline",
    keys: &[
        required(
            "notWorseThanBy",
            Form::Text,
            &["How much worse than the median of the others the worst series may be: `10%`, or a number."],
        ),
        required(
            "otherwise",
            Form::OneOf(&[("unknown", "nobody to compare with is no yes"), ("expect", "`expect` alone decides")]),
            &["What is said where no member runs another version, as at the end of every climb."],
        ),
    ],
    unsupported: &[],
    about: &["The members of the tier that run another version, of which the same is asked."],
};

/// How far back Prometheus looks for the last value of a series.
const LOOKBACK: SignedDuration = SignedDuration::from_mins(5);
const STEP: SignedDuration = SignedDuration::from_mins(1);
/// Points of a range; Prometheus gives at most 11,000.
const POINTS: RangeInclusive<i64> = 1..=5_000;

/// A query about one cluster.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Where it is asked.
    pub endpoint: Endpoint,
    query: Query,
    expect: Expect,
    /// The label that says the version.
    version: Option<String>,
    range: Option<Range>,
    lookback: SignedDuration,
    baseline: Option<Baseline>,
    names: Names,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    length: SignedDuration,
    step: SignedDuration,
}

/// A version that is proved to run on a cluster, from when on it alone did, and by what.
#[derive(Clone, Debug, PartialEq)]
pub struct Ground {
    /// The version.
    pub version: Version,
    /// Nothing of before is about it.
    pub from: Timestamp,
    /// The signals that prove it.
    pub by: String,
}

/// What is asked: a path below the address, and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Below the address.
    pub path: &'static str,
    /// Names and values.
    pub parameters: Vec<(&'static str, String)>,
}

impl Metrics {
    fn new(settings: &Settings<'_>) -> Result<Self, SignalError> {
        let text = |key: &'static str| settings.text(key).ok_or(SignalError::Missing { key });
        let unusable = |key| move |why| SignalError::Unusable { key, why };
        let query = Query::parse(text("query")?).map_err(unusable("query"))?;
        let names = settings.names();
        if query.names(Name::Organization) && names.organization.is_none() {
            return Err(SignalError::Unusable { key: "query", why: "this cluster has no organization".to_string() });
        }
        let range = settings.length("range");
        let step = settings.length("step").unwrap_or(STEP);
        let baseline = settings.within("baseline").and_then(|baseline| {
            let optional = baseline.text("otherwise") == Some("expect");
            Some(Baseline::parse(baseline.text("notWorseThanBy")?, optional).map_err(unusable("baseline")))
        });
        Ok(Self {
            endpoint: Endpoint::new(settings)?,
            expect: Expect::parse(text("expect")?).map_err(unusable("expect"))?,
            query,
            version: settings.text("version").map(str::to_string),
            range: range.map(|length| Range { length, step }),
            lookback: settings.length("lookback").unwrap_or(LOOKBACK),
            baseline: baseline.transpose()?,
            names,
        })
    }

    /// What people know it by.
    pub fn title(&self) -> String {
        format!("Prometheus {}", self.endpoint.title())
    }

    /// Whether its answer says which version runs; else others have to prove that.
    pub fn proves_version(&self) -> bool {
        self.version.is_some()
    }

    /// Whether it compares with members on other versions.
    pub fn compares(&self) -> bool {
        self.baseline.is_some()
    }

    /// What is asked now; where the answer could only be about what ran before, why it is not asked.
    ///
    /// # Errors
    /// The verdict without asking.
    pub fn request(
        &self,
        plugin: &PluginName,
        ground: Option<&Ground>,
        now: Timestamp,
    ) -> Result<Request, Box<Verdict>> {
        if let Some(early) = ground.and_then(|ground| self.early(ground, now)) {
            return Err(Box::new(early));
        }
        let name = |name| match name {
            Name::Cluster => Some(self.names.cluster.clone()),
            Name::Organization => self.names.organization.clone(),
            Name::Tier => Some(self.names.tier.clone()),
            Name::Plugin => Some(plugin.to_string()),
            Name::Version => ground.map(|ground| ground.version.to_string()),
        };
        let query = self.query.fill(name, ground.map(|ground| ground.from));
        let query = query.ok_or_else(|| Box::new(Verdict::unknown("a part of the query is not known")))?;
        let mut parameters = vec![("query", query), ("lookback_delta", seconds(self.lookback))];
        let Some(range) = self.range else { return Ok(Request { path: "api/v1/query", parameters }) };
        let end = now.as_second();
        let mut start = end.saturating_sub(range.length.as_secs());
        if let Some(ground) = ground {
            start = start.max(self.earliest(ground.from).as_second().saturating_add(1)).min(end);
        }
        let step = range.step.as_secs().max(1);
        // The last point is now, whatever the step.
        let start = end - (end - start) / step * step;
        parameters.extend([("start", start.to_string()), ("end", end.to_string()), ("step", step.to_string())]);
        Ok(Request { path: "api/v1/query_range", parameters })
    }

    /// The first instant at which the query looks back at nothing of before `from`.
    fn earliest(&self, from: Timestamp) -> Timestamp {
        from.saturating_add(self.reach()).unwrap_or(Timestamp::MAX)
    }

    /// How far back from a point it looks: its ranges, and the last value of a series.
    fn reach(&self) -> SignedDuration {
        self.query.reach.saturating_add(self.lookback)
    }

    /// Whether what is asked at this instant would still be about what ran before.
    fn early(&self, ground: &Ground, at: Timestamp) -> Option<Verdict> {
        let earliest = self.earliest(ground.from);
        (at < earliest).then(|| {
            let (version, from, reach) = (&ground.version, ground.from, self.reach());
            let evidence = format!(
                "{version} is there since {from:.0}, and the query looks back {reach:#}: from {earliest:.0} on it is \
                 about {version} alone"
            );
            Verdict { running: Some(version.clone()), ..Verdict::new(Health::Progressing, evidence) }
        })
    }
}

/// What does not go together, and what cannot be understood.
fn refuse(values: &Values) -> Result<(), Refused> {
    endpoint::refuse(values)?;
    let text = |key: &str| match values.get(key) {
        Some(Given::Text(text)) => Some(text.as_str()),
        Some(Given::Number(_) | Given::Flag(_) | Given::List(_) | Given::Map(_)) | None => None,
    };
    let refused = |at, why: &str, help: &str| Err(Refused { at, why: why.to_string(), help: help.to_string() });
    if text("url").is_some_and(|url| url.contains('?')) {
        return refused(
            "url",
            "an address with a query",
            "write the base of the API alone; `query` says what is asked",
        );
    }
    let query = Query::parse(text("query").unwrap_or_default()).map_err(|why| Refused {
        at: "query",
        why,
        help: "names stand as `{{cluster}}` between quotes, ranges as `[10m]`".to_string(),
    })?;
    let expect = Expect::parse(text("expect").unwrap_or_default()).map_err(|why| Refused {
        at: "expect",
        why,
        help: "write it like `>= 1` or `< 0.01`".to_string(),
    })?;
    if let Some(label) = text("version") {
        let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !label.chars().all(good) || label.starts_with(|c: char| c.is_ascii_digit()) || label.starts_with("__") {
            return refused(
                "version",
                "this is no label",
                "write the name of a label of the answer, such as `revision`",
            );
        }
        if query.names(Name::Version) || query.names_from() {
            let help = "leave the version out of the query: its label says it";
            return refused("query", "what asks for one version cannot prove which one runs", help);
        }
        if query.joins {
            let help = "ask for series that carry the label themselves";
            return refused("query", "a join gives a version to values of before it", help);
        }
    }
    match (text("range").and_then(length), text("step").map(length)) {
        (None, Some(_)) => refused("step", "a step without a range", "add `range:`, or take it out"),
        (Some(range), step) => {
            let step = step.flatten().unwrap_or(STEP).as_secs();
            if step < 1 || !POINTS.contains(&(range.as_secs() / step)) {
                let why = format!("{} points", range.as_secs().checked_div(step).unwrap_or_default());
                return refused(
                    "range",
                    &why,
                    "at least one and at most 5000 points; `step` says how far apart they are",
                );
            }
            baseline(values, expect)
        }
        (None, None) => baseline(values, expect),
    }
}

fn baseline(values: &Values, expect: Expect) -> Result<(), Refused> {
    let Some(Given::Map(baseline)) = values.get("baseline") else { return Ok(()) };
    let refused = |at, why: String, help: &str| Err(Refused { at, why, help: help.to_string() });
    if expect.worse().is_none() {
        let why = "nothing says which of two values is worse".to_string();
        return refused("expect", why, "write `expect` with `>=`, `>`, `<=` or `<` beside a baseline");
    }
    let Some(Given::Text(margin)) = baseline.get("notWorseThanBy") else { return Ok(()) };
    match Baseline::parse(margin, false) {
        Ok(_) => Ok(()),
        Err(why) => refused("baseline.notWorseThanBy", why, "write it like `10%` or `0.5`"),
    }
}

fn length(text: &str) -> Option<SignedDuration> {
    when::length(text).ok()
}

/// As Prometheus takes durations.
fn seconds(length: SignedDuration) -> String {
    format!("{}s", length.as_secs())
}

#[cfg(test)]
mod tests;
