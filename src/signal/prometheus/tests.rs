//! What is asked, and what is made of points over a range, of others to compare with, and of labels.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::tests::given::metrics;
use super::*;

const QUERY: &str = r#"up{job="{{plugin}}", cluster="{{cluster}}", tier="{{tier}}", version="{{version}}"} > {{from}}"#;

fn at(minutes: i64) -> Timestamp {
    "2026-11-21T12:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_mins(minutes)
}

fn ground(from: Timestamp) -> Ground {
    Ground { version: "1.2.0".parse().unwrap(), from, by: "HelmRelease loki/loki".to_string() }
}

fn with(more: Value) -> Metrics {
    let mut settings = json!({"url": "https://prom.example/base/", "query": "up", "expect": ">= 1"});
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    metrics(&settings, "acme/eu-1").unwrap()
}

/// A range of points a minute apart, the last one at noon; none where there is no value.
fn matrix(labels: &Value, values: &[Option<f64>]) -> Value {
    let first = 1 - i64::try_from(values.len()).unwrap();
    let points = (first..=0).zip(values).filter_map(|(minute, value)| {
        let value = if value.as_ref()?.is_nan() { "NaN".to_string() } else { value.unwrap().to_string() };
        Some(json!([at(minute).as_second(), value]))
    });
    json!({"metric": labels, "values": points.collect::<Vec<_>>()})
}

fn range(series: &[Value]) -> Value {
    json!({"status": "success", "data": {"resultType": "matrix", "result": series}})
}

#[test]
fn what_is_asked_has_its_names_filled_in() {
    let asked = with(json!({"query": QUERY})).request(&"loki".into(), Some(&ground(at(-60))), at(0)).unwrap();
    assert_eq!(asked.path, "api/v1/query");
    let query = r#"up{job="loki", cluster="eu-1", tier="gold", version="1.2.0"} > 1795258801"#;
    assert_eq!(asked.parameters[0], ("query", query.to_string()));
    let organization = json!({"query": r#"up{o="{{organization}}"}"#});
    let asked = with(organization.clone()).request(&"loki".into(), Some(&ground(at(-60))), at(0)).unwrap();
    assert_eq!(asked.parameters[0].1, r#"up{o="acme"}"#);
    let mut alone = organization;
    alone["url"] = json!("https://prom.example");
    alone["expect"] = json!("> 0");
    assert!(metrics(&alone, "eu-1").is_err(), "it has none");
}

#[test]
fn nothing_is_asked_that_could_only_be_about_what_ran_before() {
    let asks = |query: &str, lookback: &str, minutes: i64| {
        let metrics = with(json!({"query": query, "lookback": lookback}));
        metrics.request(&"loki".into(), Some(&ground(at(-minutes))), at(0)).is_ok()
    };
    assert!(asks("up", "5m", 5) && !asks("up", "5m", 4));
    assert!(asks("up", "15m", 15) && !asks("up", "15m", 14));
    assert!(asks("min_over_time(up[10m])", "5m", 15) && !asks("min_over_time(up[10m])", "5m", 14));
    assert!(asks("up offset 1h", "5m", 65) && !asks("up offset 1h", "5m", 64));
}

#[test]
fn a_range_begins_where_the_version_is_alone() {
    let metrics = with(json!({"range": "1h", "step": "2m"}));
    let span = |ground: Option<&Ground>| {
        let asked = metrics.request(&"loki".into(), ground, at(0)).unwrap();
        assert_eq!(asked.path, "api/v1/query_range");
        let of = |key| asked.parameters.iter().find(|(name, _)| *name == key).unwrap().1.parse::<i64>().unwrap();
        (of("start") - at(0).as_second(), of("end") - at(0).as_second())
    };
    assert_eq!(span(Some(&ground(at(-600)))), (-3600, 0));
    assert_eq!(span(Some(&ground(at(-20)))), (-14 * 60, 0), "five minutes after it, and the last point is now");
    assert_eq!(span(Some(&ground(at(-5)))), (0, 0));
    assert_eq!(span(None), (-3600, 0));
}

#[test]
fn points_hold_since_the_last_that_did_not() {
    let metrics = with(json!({"range": "1h"}));
    let (yes, no, nan) = (Some(1.0), Some(0.0), Some(f64::NAN));
    let judge = |series: &[Value], from| {
        let judged = metrics.judge(&range(series), at(0), Beside::Proven(&ground(at(from))));
        (judged.reading.health, judged.reading.since)
    };
    let one = |values: &[Option<f64>]| [matrix(&json!({}), values)];
    for (values, health, since) in [
        (&[yes, yes, yes][..], Health::Healthy, -2),
        (&[yes, no, yes, yes], Health::Healthy, -1),
        (&[no, yes, no, no], Health::Degraded, -1),
        (&[yes, None, yes], Health::Healthy, 0),
        (&[yes, nan, yes], Health::Healthy, 0),
        (&[yes, yes, nan], Health::Unknown, 0),
    ] {
        assert_eq!(judge(&one(values), -600), (health, Some(at(since))), "{values:?}");
    }
    let ending = judge(&one(&[yes, yes, None]), -600);
    assert_eq!(ending, (Health::Healthy, Some(at(-2))), "as old as its last point");
    let judged = metrics.judge(&range(&one(&[yes, None])), at(0), Beside::Proven(&ground(at(-600))));
    assert_eq!(judged.reading.observed_at, at(-1));
    // Points of before the version was alone there are about another one, also where a server sends them.
    assert_eq!(judge(&one(&[yes, yes, yes, yes]), -7), (Health::Healthy, Some(at(-2))));
    let two = [matrix(&json!({"pod": "a"}), &[yes, yes, yes]), matrix(&json!({"pod": "b"}), &[yes, no, yes])];
    assert_eq!(judge(&two, -600), (Health::Healthy, Some(at(0))), "every series has to hold");
}

#[test]
fn a_label_that_said_another_version_ends_the_range() {
    let metrics = with(json!({"range": "1h", "version": "v"}));
    let landed = |version: &Version| (version.as_str() == "1.2.0").then(|| at(-600));
    let old = matrix(&json!({"v": "1.1.0"}), &[Some(1.0), Some(1.0), None, None]);
    let new = matrix(&json!({"v": "1.2.0"}), &[None, None, Some(1.0), Some(1.0)]);
    let reading = metrics.judge(&range(&[old, new]), at(0), Beside::Landed(&landed)).reading;
    assert_eq!((reading.health, reading.since), (Health::Healthy, Some(at(-1))));
    assert_eq!(reading.running.unwrap().as_str(), "1.2.0");
}

#[test]
fn the_new_version_is_not_worse_than_the_old_one() {
    let compared = |more: Value, value: &str, others: &[f64]| {
        let metrics = with(more);
        let answer =
            json!({"status": "success", "data": {"resultType": "scalar", "result": [at(0).as_second(), value]}});
        let mut judged = metrics.judge(&answer, at(0), Beside::Proven(&ground(at(-600))));
        metrics.compare(&mut judged, others);
        judged.reading
    };
    let errors =
        |otherwise: &str| json!({"expect": "< 0.05", "baseline": {"notWorseThanBy": "10%", "otherwise": otherwise}});
    for (value, others, health, words) in [
        ("0.02", &[0.02, 0.03][..], Health::Healthy, "0.02 is not worse than the median 0.025 of 2 on another version"),
        ("0.03", &[0.02], Health::Degraded, "0.03 is worse than the median 0.02 of 1"),
        ("0.04", &[], Health::Unknown, "the baseline proves nothing"),
        ("0.06", &[0.06], Health::Degraded, "is not < 0.05"),
        ("NaN", &[0.06], Health::Unknown, "proves nothing"),
    ] {
        let reading = compared(errors("unknown"), value, others);
        assert_eq!(reading.health, health, "{}", reading.evidence);
        assert!(reading.evidence.contains(words), "{}", reading.evidence);
    }
    assert_eq!(compared(errors("expect"), "0.04", &[]).health, Health::Healthy);
    let lower = json!({"expect": ">= 1", "baseline": {"notWorseThanBy": "1", "otherwise": "unknown"}});
    assert_eq!(compared(lower.clone(), "4", &[5.0]).health, Health::Healthy);
    assert_eq!(compared(lower, "3", &[5.0]).health, Health::Degraded);
}

#[test]
fn what_does_not_go_together_is_refused_where_it_stands() {
    let refused = |more: &[(&'static str, Given)], less: &[&str]| {
        let text = |text: &str| Given::Text(text.to_string());
        let mut values: Values =
            [("url", text("https://prom.example")), ("query", text("up")), ("expect", text(">= 1"))].into();
        values.extend(more.iter().cloned());
        values.retain(|key, _| !less.contains(key));
        refuse(&values).err().map(|refused| (refused.at, refused.why))
    };
    let text = |key, text: &str| (key, Given::Text(text.to_string()));
    let baseline = |margin: &str| ("baseline", Given::Map([text("notWorseThanBy", margin)].into()));
    assert_eq!(refused(&[], &[]), None);
    assert_eq!(refused(&[text("secret", "PROM")], &["url"]), None);
    assert_eq!(refused(&[text("version", "revision"), text("range", "1h"), baseline("10%")], &[]), None);
    for (more, less, at, why) in [
        (vec![], vec!["url"], "", "nothing says where"),
        (vec![text("secret", "PROM")], vec![], "secret", "twice"),
        (vec![text("url", "https://prom.example/?x=y")], vec![], "url", "with a query"),
        (vec![text("query", "up @ 1")], vec![], "query", "`@`"),
        (vec![text("expect", "1")], vec![], "expect", "no comparison"),
        (vec![text("version", "a b")], vec![], "version", "no label"),
        (vec![text("version", "__name__")], vec![], "version", "no label"),
        (vec![text("version", "v"), text("query", "up{v=\"{{version}}\"}")], vec![], "query", "asks for one version"),
        (vec![text("version", "v"), text("query", "up > {{from}}")], vec![], "query", "asks for one version"),
        (vec![text("version", "v"), text("query", "a * on (c) group_left (v) b")], vec![], "query", "a join"),
        (vec![text("step", "1m")], vec![], "step", "without a range"),
        (vec![text("range", "7d")], vec![], "range", "10080 points"),
        (vec![text("range", "1h"), text("step", "0s")], vec![], "range", "0 points"),
        (vec![text("range", "1m"), text("step", "1h")], vec![], "range", "0 points"),
        (vec![text("expect", "== 1"), baseline("10%")], vec![], "expect", "which of two values is worse"),
        (vec![baseline("some")], vec![], "baseline.notWorseThanBy", "no margin"),
    ] {
        let (found, told) = refused(&more, &less).unwrap_or_else(|| panic!("{more:?} is taken"));
        assert_eq!(found, at, "{told}");
        assert!(told.contains(why), "{told}");
    }
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![Just("1".to_string()), Just("NaN".to_string()), Just("+Inf".to_string()), ".{0,8}"]
}

proptest! {
    /// Whatever a server answers, its old version's label is no proof of another version: neither in what it calls
    /// itself, nor in other labels, values and times.
    #[test]
    fn no_label_of_one_version_is_healthy_for_another(
        series in proptest::collection::vec((".{0,10}", value(), 0_i64..3_000_000_000), 0..5),
        old in 0_usize..5,
        range in any::<bool>(),
    ) {
        let metrics = with(if range { json!({"version": "v", "range": "1h"}) } else { json!({"version": "v"}) });
        let (kind, key) = if range { ("matrix", "values") } else { ("vector", "value") };
        let result: Vec<Value> = series.iter().enumerate().map(|(index, (label, value, at))| {
            let version = if index == old { "1.1.0" } else { label.as_str() };
            let point = json!([at, value]);
            let points = if range { json!([point]) } else { point };
            json!({"metric": {"v": version, "wanted": "7.7.7", label: "7.7.7"}, key: points})
        }).collect();
        let answer = json!({"status": "success", "data": {"resultType": kind, "result": result}});
        let landed = |_: &Version| Some(Timestamp::UNIX_EPOCH);
        let reading = metrics.judge(&answer, at(0), Beside::Landed(&landed)).reading;
        let proven = reading.running.is_some_and(|running| running.as_str() == "7.7.7");
        prop_assert!(!proven || series.iter().any(|(label, ..)| label.contains("7.7.7") || label == "v"));
    }

    /// Nor does a name get out of its string, whatever it is: what is left of the query is the same.
    #[test]
    fn a18_no_name_changes_the_query_around_it(name in ".{0,30}") {
        for quote in ['"', '\''] {
            for sign in ["=", "=~"] {
                let query = Query::parse(&format!("up{{a{sign}{quote}{{{{cluster}}}}{quote}}} > 1")).unwrap();
                let filled = query.fill(|_| Some(name.clone()), None).unwrap();
                let literal = filled.strip_prefix(&format!("up{{a{sign}{quote}")).unwrap();
                let literal = literal.strip_suffix(&format!("{quote}}} > 1")).unwrap();
                let mut signs = literal.chars();
                while let Some(c) = signs.next() {
                    prop_assert!(c != quote && !c.is_control(), "{filled}");
                    if c == '\\' {
                        let escaped = signs.next();
                        prop_assert!(escaped.is_some_and(|c| c == '\\' || c == quote || c == 'u'), "{filled}");
                    }
                }
            }
        }
    }
}
