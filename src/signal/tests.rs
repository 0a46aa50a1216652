//! Names that reach the API's path, and text that reaches people.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;

pub mod given;

fn helm(namespace: &str, name: &str, cluster: &str) -> Result<Box<dyn Signal>, SignalError> {
    let spec = SignalSpec::named("helmRelease", namespace, name);
    signal(&spec, &ClusterName::from(cluster), &TierName::from("gold"))
}

#[test]
fn placeholders_are_filled_in() {
    let target = helm("{tier}-apps", "loki-{cluster}", "eu-1").unwrap().target();
    assert_eq!(target.namespace.as_deref(), Some("gold-apps"));
    assert_eq!(target.which, Which::Named("loki-eu-1".to_string()));
    let target = helm("{organization}", "loki-{cluster}", "acme/eu-1").unwrap().target();
    assert_eq!((target.namespace.as_deref(), target.which), (Some("acme"), Which::Named("loki-eu-1".to_string())));
    assert!(helm("{organization}", "x", "eu-1").is_err(), "it has none");
}

#[test]
fn a18_nothing_but_names_reaches_the_path() {
    for bad in ["", "a/b", "..", "a..b", "A", "-a", "a-", "a b", "{plugin}", "a%2fb", "ä", "a?x", "a\n"] {
        let wrong = |result, key| matches!(result, Err(SignalError::Name { what, .. }) if what == key);
        assert!(wrong(helm(bad, "x", "eu-1"), "namespace"), "{bad:?}");
        assert!(wrong(helm("x", bad, "eu-1"), "name"), "{bad:?}");
    }
}

#[test]
fn a29_evidence_is_one_short_line() {
    let hostile = format!("a\r\n::set-output\u{1b}[31m\u{202e}b\t{}", "x".repeat(1000));
    let line = one_line(&hostile);
    assert!(line.starts_with("a ::set-output [31mb x"), "{line}");
    assert_eq!(line.chars().count(), 300);
}

#[test]
fn kinds_have_names_of_their_own() {
    let mut names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), KINDS.len());
}
