//! What an answer says of a cluster: of which version it is, whether all of its data is, and whether it is as
//! expected. Pure.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use decide::Version;
use decide::snapshot::{Health, Reading};
use jiff::Timestamp;
use serde_json::Value;

use super::super::object::{Verdict, one_line, told};
use super::super::proof::version_in;
use super::answer::{Series, read};
use super::{Ground, Metrics, Range};

/// What is known of the cluster beside the answer.
#[derive(Clone, Copy)]
pub enum Beside<'a> {
    /// Others prove the version.
    Proven(&'a Ground),
    /// The answer says the version; when each of them landed there.
    Landed(&'a dyn Fn(&Version) -> Option<Timestamp>),
}

/// A reading, and what can be compared with other members.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// As the planner takes it.
    pub reading: Reading,
    /// Its worst value; none where nothing of it counts.
    pub measured: Option<f64>,
}

/// Values of all series at one time: which series, and its value.
type Steps = BTreeMap<Timestamp, Vec<(usize, f64)>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Holds,
    Fails,
    /// NaN, or another version's.
    Nothing,
}

impl Metrics {
    /// What is said without an answer.
    pub fn read(&self, verdict: Verdict, at: Timestamp) -> Reading {
        verdict.read(&self.title(), at)
    }

    /// Judges an answer; `asked` is when it was asked for.
    pub fn judge(&self, answer: &Value, asked: Timestamp, beside: Beside<'_>) -> Judged {
        let nothing = |verdict: Verdict| Judged { reading: verdict.read(&self.title(), asked), measured: None };
        let series = match read(answer, self.range.is_some()) {
            Ok(series) => series,
            Err(why) => return nothing(Verdict::unknown(why)),
        };
        let steps = if self.range.is_some() { steps(&series) } else { one_step(&series) };
        let Some((&last, values)) = steps.last_key_value() else { return nothing(Verdict::unknown("no data")) };
        // Its own time dates it; a clock that runs ahead makes nothing younger than the question.
        let seen = last.min(asked);
        let ground = match self.ground(&series, values, beside) {
            Ok(ground) => ground,
            Err(verdict) => return Judged { reading: verdict.read(&self.title(), seen), measured: None },
        };
        if let Some(early) = self.early(&ground, seen) {
            return Judged { reading: early.read(&self.title(), seen), measured: None };
        }
        let state = self.state(&series, values, &ground.version);
        let verdict = Verdict {
            running: Some(ground.version.clone()),
            since: self.range.and_then(|range| self.since(&series, &steps, range, &ground)),
            ..self.verdict(&series, values, state, &ground)
        };
        let numbers = values.iter().map(|(_, value)| *value);
        let worst = self.expect.worse().and_then(|worse| worse.worst(numbers)).filter(|_| state != State::Nothing);
        Judged { reading: verdict.read(&self.title(), seen), measured: worst }
    }

    /// Holds what was measured against the members of the tier on other versions.
    pub fn compare(&self, judged: &mut Judged, others: &[f64]) {
        let (Some(baseline), Some(worse), Some(measured)) = (self.baseline, self.expect.worse(), judged.measured)
        else {
            return;
        };
        let reading = &mut judged.reading;
        if reading.health != Health::Healthy {
            return;
        }
        // When it began to be no worse than others nobody knows.
        reading.since = None;
        let told = match baseline.bound(worse, others) {
            Some((bound, median)) => {
                let beyond = match worse {
                    super::expect::Worse::Lower => measured < bound,
                    super::expect::Worse::Higher => measured > bound,
                };
                if beyond {
                    reading.health = Health::Degraded;
                }
                let than = if beyond { "worse than" } else { "not worse than" };
                format!(
                    "{} is {than} the median {} of {} on another version by {baseline}",
                    short(measured),
                    short(median),
                    others.len()
                )
            }
            None if baseline.optional => "nobody of the tier on another version to compare with".to_string(),
            None => {
                reading.health = Health::Unknown;
                "nobody of the tier runs another version, so that the baseline proves nothing".to_string()
            }
        };
        reading.evidence = one_line(&format!("{told}; {}", reading.evidence));
    }

    /// The version that the answer is about, and from when on.
    fn ground(&self, series: &[Series], values: &[(usize, f64)], beside: Beside<'_>) -> Result<Ground, Verdict> {
        let landed = match beside {
            Beside::Proven(ground) => return Ok(ground.clone()),
            Beside::Landed(landed) => landed,
        };
        let label = self.version.as_deref().unwrap_or_default();
        let mut found: BTreeSet<Version> = BTreeSet::new();
        for (index, _) in values {
            let text = series[*index].labels.get(label).map(String::as_str).unwrap_or_default();
            let version = version_in(text).ok_or_else(|| {
                Verdict::unknown(format!("the label {label} of {} is {}", words(&series[*index]), told(text)))
            })?;
            // Versions that differ in their build alone are two.
            if found.iter().any(|known| known.as_str() != version.as_str()) {
                let other = found.pop_first().map(|other| other.to_string()).unwrap_or_default();
                return Err(Verdict::progressing(format!("{label} says {other} and {version}")));
            }
            found.insert(version);
        }
        let version = found.pop_first().ok_or_else(|| Verdict::unknown("no data"))?;
        match landed(&version) {
            Some(from) => Ok(Ground { version, from, by: format!("the label {label}") }),
            None => {
                let evidence = format!("{label} says {version}, which is not known as what landed there last");
                Err(Verdict { running: Some(version), ..Verdict::progressing(evidence) })
            }
        }
    }

    /// What the values of one time say of a version.
    fn state(&self, series: &[Series], values: &[(usize, f64)], version: &Version) -> State {
        let other = |index: &usize| {
            self.version.as_ref().is_some_and(|label| {
                let found = series[*index].labels.get(label).and_then(|text| version_in(text));
                found.is_none_or(|found| found.as_str() != version.as_str())
            })
        };
        if values.iter().any(|(index, _)| other(index)) {
            State::Nothing
        } else if values.iter().any(|(_, value)| !value.is_nan() && !self.expect.holds(*value)) {
            State::Fails
        } else if values.iter().any(|(_, value)| value.is_nan()) {
            State::Nothing
        } else {
            State::Holds
        }
    }

    /// Since when it is as it is now, without a gap and on this version.
    fn since(&self, series: &[Series], steps: &Steps, range: Range, ground: &Ground) -> Option<Timestamp> {
        let (mut since, values) = steps.last_key_value().map(|(at, values)| (*at, values))?;
        let now = self.state(series, values, &ground.version);
        // Half a step more: points are a step apart.
        let gap = range.step.saturating_add(range.step / 2);
        for (at, values) in steps.iter().rev().skip(1) {
            let near = since.duration_since(*at) <= gap && *at >= self.earliest(ground.from);
            if !near || self.state(series, values, &ground.version) != now {
                break;
            }
            since = *at;
        }
        Some(since)
    }

    fn verdict(&self, series: &[Series], values: &[(usize, f64)], state: State, ground: &Ground) -> Verdict {
        let expect = self.expect;
        let count = |many: usize| if many == 1 { "1 series".to_string() } else { format!("{many} series") };
        let told = |is: &dyn Fn(f64) -> bool| {
            let those: Vec<&(usize, f64)> = values.iter().filter(|(_, value)| is(*value)).collect();
            let first = those.first().map(|(index, value)| format!("{} of {}", short(*value), words(&series[*index])));
            (first.unwrap_or_default(), those.len())
        };
        let about = format!("about {} by {}", ground.version, ground.by);
        match state {
            State::Holds => {
                let (first, many) = told(&|_| true);
                Verdict::new(Health::Healthy, format!("{first} is {expect}, {} in all; {about}", count(many)))
            }
            State::Fails => {
                let (first, many) = told(&|value| !value.is_nan() && !expect.holds(value));
                let of = format!("{} of {}", many, count(values.len()));
                Verdict::new(Health::Degraded, format!("{first} is not {expect}, {of}; {about}"))
            }
            State::Nothing => {
                let (first, _) = told(&f64::is_nan);
                Verdict::unknown(format!("{first} proves nothing; {about}"))
            }
        }
    }
}

fn steps(series: &[Series]) -> Steps {
    let mut steps = Steps::new();
    for (index, one) in series.iter().enumerate() {
        for (at, value) in &one.points {
            steps.entry(*at).or_default().push((index, *value));
        }
    }
    steps
}

/// All values as one, as old as the oldest of them.
fn one_step(series: &[Series]) -> Steps {
    let all =
        |(index, one): (usize, &Series)| one.points.iter().map(move |(at, value)| (*at, (index, *value))).collect();
    let values: Vec<(Timestamp, (usize, f64))> =
        series.iter().enumerate().flat_map(|one| -> Vec<_> { all(one) }).collect();
    let oldest = values.iter().map(|(at, _)| *at).min();
    oldest.map(|at| (at, values.into_iter().map(|(_, value)| value).collect())).into_iter().collect()
}

/// A few digits; more of them differ at every look.
fn short(value: f64) -> String {
    if value.is_finite() && value != 0.0 && !(0.001..1e6).contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.3}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// `{pod, revision=1.2.0}`: the value of a label may be anything, a secret too, so that only versions are told.
fn words(series: &Series) -> String {
    let label = |(key, value): (&String, &String)| match told(value) {
        Cow::Borrowed(version) => format!("{key}={version}"),
        Cow::Owned(_) => key.clone(),
    };
    let labels: Vec<String> = series.labels.iter().take(4).map(label).collect();
    if labels.is_empty() { "the answer".to_string() } else { format!("{{{}}}", labels.join(", ")) }
}
