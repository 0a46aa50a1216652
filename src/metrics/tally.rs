//! Counters, gauges and spreads, as Prometheus reads them as text.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// One number per set of label values, in their order.
#[derive(Debug)]
pub struct Tally {
    pub kind: &'static str,
    pub name: &'static str,
    pub help: &'static str,
    pub keys: &'static [&'static str],
    pub values: Mutex<BTreeMap<Vec<String>, i64>>,
}

impl Tally {
    fn values(&self) -> MutexGuard<'_, BTreeMap<Vec<String>, i64>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner) // numbers are whole at any time
    }

    /// One more.
    pub fn add(&self, labels: &[&str]) {
        *self.values().entry(labels.iter().map(ToString::to_string).collect()).or_default() += 1;
    }

    /// This is its value now.
    pub fn set(&self, labels: &[&str], value: i64) {
        self.values().insert(labels.iter().map(ToString::to_string).collect(), value);
    }

    /// These are all values now whose first label is this one: what is gone from there is gone from the numbers.
    pub fn replace(&self, first: &str, values: impl IntoIterator<Item = (Vec<String>, i64)>) {
        let mut all = self.values();
        all.retain(|labels, _| labels.first().is_none_or(|label| label != first));
        all.extend(values.into_iter().map(|(more, value)| {
            let labels = std::iter::once(first.to_string()).chain(more);
            (labels.collect(), value)
        }));
    }

    /// Its text.
    pub fn write(&self, out: &mut String) -> fmt::Result {
        head(out, self.name, self.help, self.kind)?;
        for (labels, value) in self.values().iter() {
            let labels: Vec<String> =
                self.keys.iter().zip(labels).map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
            writeln!(out, "{PREFIX}{}{{{}}} {value}", self.name, labels.join(","))?;
        }
        Ok(())
    }
}

/// What stands before every name.
const PREFIX: &str = "coldframe_";

fn head(out: &mut String, name: &str, help: &str, kind: &str) -> fmt::Result {
    writeln!(out, "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}")
}

/// A label's value as it stands between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// How long something took.
#[derive(Debug, Default)]
pub struct Spread {
    /// How many took no longer than each bound.
    within: [u64; BOUNDS.len()],
    count: u64,
    seconds: f64,
}

/// In seconds: from an answer to a webhook to a look at a large repository.
const BOUNDS: [f64; 13] = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

impl Spread {
    /// One more.
    pub fn add(&mut self, took: Duration) {
        let took = took.as_secs_f64();
        for (within, bound) in self.within.iter_mut().zip(BOUNDS) {
            *within += u64::from(took <= bound);
        }
        self.count += 1;
        self.seconds += took;
    }

    /// Its text.
    pub fn write(&self, out: &mut String, name: &str, help: &str) -> fmt::Result {
        head(out, name, help, "histogram")?;
        for (within, bound) in self.within.iter().zip(BOUNDS) {
            writeln!(out, "{PREFIX}{name}_bucket{{le=\"{bound}\"}} {within}")?;
        }
        writeln!(out, "{PREFIX}{name}_bucket{{le=\"+Inf\"}} {}", self.count)?;
        writeln!(out, "{PREFIX}{name}_sum {}\n{PREFIX}{name}_count {}", self.seconds, self.count)
    }
}
