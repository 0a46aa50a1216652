//! Signals of settings, and what they say of an object at noon.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]

use decide::snapshot::Reading;
use jiff::Timestamp;
use parse::read::{Form, Shape};
use parse::settings::{Given, Values};
use serde_json::Value;

use super::super::*;

/// The signal of a kind, whose settings are not held against the forms of their keys.
pub fn signal(kind: &str, settings: &Value) -> Result<Box<dyn Signal>, SignalError> {
    on(kind, settings, "eu-1")
}

fn on(name: &str, settings: &Value, cluster: &str) -> Result<Box<dyn Signal>, SignalError> {
    let kind = kind(name).expect("a kind");
    super::super::signal(&spec(kind, settings), &ClusterName::from(cluster), &TierName::from("gold"))
}

pub fn spec(kind: &'static Kind, settings: &Value) -> SignalSpec {
    SignalSpec { kind, values: values(&kind.shape, settings), connection: None }
}

/// What a signal says of an object at noon.
pub fn judged(kind: &str, settings: &Value, object: &Value) -> Reading {
    let signal = signal(kind, settings).unwrap();
    answer(signal.as_ref(), object, &[], noon()).reading
}

/// The same, with settings that are names.
pub fn judge(kind: &str, settings: &[(&str, &str)], object: &Value) -> Reading {
    judged(kind, &settings.iter().copied().collect(), object)
}

pub fn noon() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

fn values(shape: &Shape, settings: &Value) -> Values {
    let map = settings.as_object().unwrap();
    for key in map.keys() {
        assert!(shape.keys.iter().any(|known| known.name == key), "`{}` knows no `{key}`", shape.what);
    }
    let given = |key: &parse::read::Key| {
        let given = match (map.get(key.name)?, key.form) {
            (Value::String(text), _) => Given::Text(text.clone()),
            (Value::Bool(flag), _) => Given::Flag(*flag),
            (Value::Number(number), _) => Given::Number(u32::try_from(number.as_u64()?).ok()?),
            (Value::Array(list), _) => {
                Given::List(list.iter().map(|item| item.as_str().unwrap().to_string()).collect())
            }
            (inner @ Value::Object(_), Form::Map(shape)) => Given::Map(values(shape, inner)),
            (other, _) => panic!("{other}"),
        };
        Some((key.name, given))
    };
    shape.keys.iter().filter_map(given).collect()
}

/// A question to somebody else than a cluster.
pub fn metrics(settings: &Value, cluster: &str) -> Result<Metrics, SignalError> {
    let spec = spec(kind("prometheus").expect("a kind"), settings);
    match question(&spec, &ClusterName::from(cluster), &TierName::from("gold"))? {
        Question::Metrics(metrics) => Ok(*metrics),
        Question::Object(_) | Question::Page(_) | Question::Checks(_) => panic!("it asks for something else"),
    }
}
