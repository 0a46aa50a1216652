//! GitHub's description of its REST API, and what an exchange differs from it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::peers::{package, python, script};

/// One request with its answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub method: String,
    /// Below `/api/v3`, without the query.
    pub path: String,
    pub status: u16,
    /// Null where there was none.
    pub request: Value,
    pub answer: Value,
}

/// Where an exchange differs: operation, place in the body, what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    pub operation: String,
    pub place: String,
    pub what: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} | {} | {}", self.operation, self.place, self.what)
    }
}

/// Which half of an exchange is looked at.
#[derive(Clone, Copy, Debug)]
pub enum Half {
    /// What was sent. Properties that the description does not name are differences.
    Requests,
    /// What came back. So are properties that it does not name.
    Answers,
}

/// What differs from GitHub's description, in each exchange.
pub fn differences(half: Half, exchanges: &[Exchange]) -> Vec<BTreeSet<Difference>> {
    let what = match half {
        Half::Requests => "requests",
        Half::Answers => "answers",
    };
    let exchanges: Vec<Value> = exchanges
        .iter()
        .map(|one| {
            json!({"method": one.method, "path": one.path, "status": one.status, "request": one.request,
                "answer": one.answer})
        })
        .collect();
    let description = package("@octokit/openapi/generated/api.github.com.json");
    let input = json!({"description": description, "what": what, "exchanges": exchanges});
    let found: Vec<Vec<[String; 3]>> = serde_json::from_value(script(python(), "openapi.py", &input)).unwrap();
    let difference = |[operation, place, what]: [String; 3]| Difference { operation, place, what };
    found.into_iter().map(|of_one| of_one.into_iter().map(difference).collect()).collect()
}

fn update(body: Value) -> Exchange {
    let path = "/repos/acme/fleet/pulls/7".to_owned();
    Exchange { method: "PATCH".to_owned(), path, status: 200, request: body, answer: Value::Null }
}

#[test]
fn requests_are_held_against_it_strictly() {
    let run = |body: Value| Exchange { method: "POST".into(), path: "/repos/a/b/check-runs".into(), ..update(body) };
    let head = json!("0".repeat(40));
    let cases = [
        (update(json!({"title": "new", "state": "closed"})), None),
        (update(json!({"title": 7})), Some("is int, not string")),
        (update(json!({"state": "merged"})), Some("not in its list")),
        (update(json!({"titel": "new"})), Some("titel")),
        (Exchange { path: "/repos/a/b/pulses".into(), ..update(json!({})) }, Some("no such operation")),
        (run(json!({"name": "c", "head_sha": head, "status": "in_progress"})), None),
        (run(json!({"name": "c"})), Some("missing")),
        (run(json!({"name": "c", "head_sha": head, "status": "done"})), Some("/status")),
        (run(json!({"name": "c", "head_sha": head, "output": {"title": "t"}})), Some("/output/summary")),
        (Exchange { method: "PUT".into(), path: "/repos/a/b/pulls/7/merge".into(), ..update(Value::Null) }, None),
    ];
    let exchanges: Vec<Exchange> = cases.iter().map(|(exchange, _)| exchange.clone()).collect();
    for ((exchange, says), found) in cases.iter().zip(differences(Half::Requests, &exchanges)) {
        match says {
            None => assert_eq!(found, BTreeSet::new(), "{exchange:?}"),
            Some(says) => {
                assert!(found.iter().any(|one| one.to_string().contains(says)), "{exchange:?}: {found:?}");
            }
        }
    }
}

#[test]
fn branches_with_slashes_are_found() {
    let get =
        |path: &str| Exchange { method: "GET".into(), path: path.to_owned(), answer: json!([]), ..update(Value::Null) };
    let cases = [
        ("/repos/a/b/git/ref/heads/x/y", "git/get-ref"),
        ("/repos/a/b/commits/x/y", "repos/get-commit"),
        ("/repos/a/b/commits/x/y/check-runs", "checks/list-for-ref"),
        ("/repos/a/b/branches/x/y", "repos/get-branch"),
        ("/repos/a/b/compare/x/y...z", "repos/compare-commits-with-basehead"),
    ];
    let exchanges = cases.map(|(path, _)| get(path));
    for ((path, operation), found) in cases.iter().zip(differences(Half::Answers, &exchanges)) {
        assert!(found.iter().all(|one| one.operation == *operation) && !found.is_empty(), "{path}: {found:?}");
    }
}
