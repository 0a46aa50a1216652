//! The answer of Prometheus' HTTP API (`prometheus.io/docs/prometheus/latest/querying/api`): series of dated values.
//! What is not whole is no answer.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

/// One series.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    /// Its labels; those of a scalar are none.
    pub labels: BTreeMap<String, String>,
    /// Its values, oldest first.
    pub points: Vec<(Timestamp, f64)>,
}

/// Reads an answer to an instant query, or to one over a range.
///
/// # Errors
/// Why it proves nothing: no success, not all of it, no data, or data of another form.
pub(super) fn read(answer: &Value, range: bool) -> Result<Vec<Series>, String> {
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("status") != "success" {
        return Err(match (text("errorType"), text("error")) {
            ("", "") => "it answered with something that is no answer of a Prometheus".to_string(),
            (kind, error) => format!("{kind}: {error}"),
        });
    }
    match answer.get("warnings") {
        None | Some(Value::Null) => {}
        Some(Value::Array(warnings)) if warnings.is_empty() => {}
        Some(Value::Array(warnings)) => {
            let first = warnings.first().and_then(Value::as_str).unwrap_or_default();
            return Err(format!("the answer may not be the whole of it: {first}"));
        }
        Some(_) => return Err("its warnings cannot be read".to_string()),
    }
    let kind = answer.pointer("/data/resultType").and_then(Value::as_str).unwrap_or_default();
    let result = answer.pointer("/data/result").unwrap_or(&Value::Null);
    let series = match (kind, range) {
        ("vector", false) => many(result, |series| Some(vec![point(series.get("value")?)?])),
        ("scalar", false) => point(result).map(|point| vec![Series { labels: BTreeMap::new(), points: vec![point] }]),
        ("matrix", true) => many(result, |series| series.get("values")?.as_array()?.iter().map(point).collect()),
        ("matrix", false) => {
            return Err(
                "the query gives many values per series; ask for one, such as by `min_over_time(…)`".to_string()
            );
        }
        ("", _) => None,
        (other, _) => return Err(format!("the query gives a {other} and no numbers")),
    };
    let series =
        series.ok_or_else(|| "a part of the answer has no numbers (a native histogram has none)".to_string())?;
    if series.iter().all(|series| series.points.is_empty()) {
        return Err("no data".to_string());
    }
    Ok(series)
}

fn many(result: &Value, points: impl Fn(&Value) -> Option<Vec<(Timestamp, f64)>>) -> Option<Vec<Series>> {
    let one = |series: &Value| {
        let labels = series.get("metric")?.as_object()?;
        let label = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_string()));
        let labels = labels.iter().map(label).collect::<Option<_>>()?;
        // A series of histograms has both, or only those.
        if series.get("histogram").is_some() || series.get("histograms").is_some() {
            return None;
        }
        Some(Series { labels, points: points(series)? })
    };
    result.as_array()?.iter().map(one).collect()
}

/// `[1795255200.5, "0.99"]`.
fn point(value: &Value) -> Option<(Timestamp, f64)> {
    let [at, value] = value.as_array()?.as_slice() else { return None };
    let millis = at.as_f64().map(|seconds| (seconds * 1000.0).round())?;
    #[allow(clippy::cast_possible_truncation)] // whole, and within what follows
    let at = (millis.abs() < 1e15).then(|| Timestamp::from_millisecond(millis as i64).ok())??;
    Some((at, value.as_str()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_whole_is_no_answer() {
        let vector = |result: Value| json!({"status": "success", "data": {"resultType": "vector", "result": result}});
        let good = vector(json!([{"metric": {"a": "b"}, "value": [1795255200.25, "+Inf"]}]));
        let series = read(&good, false).unwrap();
        assert_eq!(series[0].labels["a"], "b");
        assert_eq!(series[0].points, [("2026-11-21T10:00:00.25Z".parse().unwrap(), f64::INFINITY)]);
        let mut warned = good.clone();
        warned["warnings"] = json!(["store 10.0.0.1 did not answer"]);
        let mut odd = good.clone();
        odd["warnings"] = json!("x");
        let mut empty = good.clone();
        empty["warnings"] = json!([]);
        assert!(read(&empty, false).is_ok());
        for (answer, range, words) in [
            (warned, false, "not be the whole of it: store 10.0.0.1"),
            (odd, false, "warnings"),
            (vector(json!([])), false, "no data"),
            (vector(json!([{"metric": {}, "value": [1, 2]}])), false, "no numbers"),
            (vector(json!([{"metric": {}, "histogram": [1, {}]}])), false, "no numbers"),
            (vector(json!([{"metric": {}, "value": ["x", "1"]}])), false, "no numbers"),
            (vector(json!([{"metric": {}, "value": [1e300, "1"]}])), false, "no numbers"),
            (vector(json!([{"value": [1, "1"]}])), false, "no numbers"),
            (good, true, "a vector"),
            (json!({"status": "success", "data": {"resultType": "string", "result": [1, "x"]}}), false, "a string"),
            (json!({"status": "success", "data": {"resultType": "matrix", "result": []}}), false, "many values"),
            (json!({"status": "success", "data": {"resultType": "matrix", "result": []}}), true, "no data"),
            (
                json!({"status": "error", "errorType": "bad_data", "error": "parse error"}),
                false,
                "bad_data: parse error",
            ),
            (json!({"status": "success"}), false, "no numbers"),
            (json!([]), false, "no answer of a Prometheus"),
        ] {
            let why = read(&answer, range).unwrap_err();
            assert!(why.contains(words), "{answer}: {why}");
        }
    }
}
