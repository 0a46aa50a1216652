//! Signals of settings, as the policy's reader takes them; and questions that go to somebody else than a cluster, with what
//! they rest on beside the answer.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use decide::snapshot::Reading;
use decide::{ClusterName, PluginLedger, TierName, Version};
use jiff::Timestamp;
use serde_json::Value;
use signal::prometheus::Beside;
use signal::{Answer, Metrics, Page, Question, SignalError, SignalSpec, Verdict, kind, question};

use crate::observe::ask::{Proven, ground};
use crate::observe::whose::Whose;

pub fn noon() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

/// A signal, with what it is told.
pub fn spec(name: &str, settings: &Value) -> SignalSpec {
    let kind = kind(name).expect("a kind");
    let file = policy::SourceFile { path: "settings".to_string(), text: settings.to_string() };
    let values = policy::signal_settings(kind, &file, &[]).unwrap_or_else(|why| panic!("{name}: {why}"));
    SignalSpec { kind, values, connection: None }
}

/// A signal about one object of a namespace.
pub fn named(kind: &str, namespace: &str, name: &str) -> SignalSpec {
    spec(kind, &serde_json::json!({"namespace": namespace, "name": name}))
}

/// A question to somebody else than a cluster.
pub fn metrics(settings: &Value, cluster: &str) -> Result<Metrics, SignalError> {
    let spec = spec("prometheus", settings);
    match question(&spec, &ClusterName::from(cluster), &TierName::from("gold"))? {
        Question::Metrics(metrics) => Ok(*metrics),
        Question::Object(_) | Question::Page(_) | Question::Checks(_) => panic!("it asks for something else"),
    }
}

/// A page of JSON.
pub fn page(settings: &Value, cluster: &str) -> Result<Page, SignalError> {
    let spec = spec("http", settings);
    match question(&spec, &ClusterName::from(cluster), &TierName::from("gold"))? {
        Question::Page(page) => Ok(*page),
        Question::Object(_) | Question::Metrics(_) | Question::Checks(_) => panic!("it asks for something else"),
    }
}

/// What the hub says of commits. The object is a history as GraphQL writes it.
pub(super) fn stated(settings: &Value, cluster: &str, object: &Value) -> Answer {
    let spec = spec("checks", settings);
    let checks = match question(&spec, &ClusterName::from(cluster), &TierName::from("gold")).unwrap() {
        Question::Checks(checks) => checks,
        Question::Object(_) | Question::Page(_) | Question::Metrics(_) => panic!("it asks for something else"),
    };
    match crate::hub::statements::stated(object) {
        Ok(commits) => checks.judge(&commits, noon()),
        Err(error) => checks.unread(&error.to_string(), noon()),
    }
}

/// The object of a Prometheus is its `answer`, beside the readings of the `others` and the `ledger`.
pub(super) fn measured(settings: &Value, cluster: &str, object: &Value) -> Reading {
    let metrics = metrics(settings, cluster).unwrap();
    let told = |verdict: Verdict| verdict.read("Prometheus", noon());
    let others: Result<Vec<Reading>, _> = serde_json::from_value(object["others"].clone());
    let page: Result<PluginLedger, _> = serde_json::from_value(object["ledger"].clone());
    let (Ok(others), Ok(page)) = (others, page) else { return told(Verdict::unknown("no reading, or no ledger")) };
    let (plugin, tier, cluster) = ("loki".into(), "gold".into(), cluster.into());
    let whose = Whose { plugin, tier, cluster };
    let others: Vec<&Reading> = others.iter().collect();
    let landed = |version: &Version| ground::landing(Some(&page), &whose, version).map(|(_, at)| at);
    if metrics.proves_version() {
        return metrics.judge(&object["answer"], noon(), Beside::Landed(&landed)).reading;
    }
    match ground::ground(Some(&page), &Proven::default(), &whose, (&others, true)) {
        Err(verdict) => told(verdict),
        Ok(ground) => match metrics.request(&whose.plugin, Some(&ground), noon()) {
            Err(verdict) => told(*verdict),
            Ok(_) => metrics.judge(&object["answer"], noon(), Beside::Proven(&ground)).reading,
        },
    }
}
