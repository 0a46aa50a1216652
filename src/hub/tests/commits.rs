//! Tags and checks of commits, of another repository than our own, too.

use decide::Sha;
use decide::snapshot::CheckState;
use serde_json::{Value, json};

use super::super::HubError;
use super::{Server, reply};

const RUNS: &str = "GET /repos/acme/charts/commits/c1/check-runs?filter=latest&per_page=100";
const STATUS: &str = "GET /repos/acme/charts/commits/c1/status?per_page=100";

fn statuses(sha: &str, list: &[(&str, &str)]) -> Value {
    let list: Vec<Value> = list.iter().map(|(name, state)| json!({ "context": name, "state": state })).collect();
    json!({ "sha": sha, "state": "success", "total_count": list.len(), "statuses": list })
}

fn runs(list: &[(&str, &str, Option<&str>)]) -> Value {
    let run = |(name, status, conclusion): &(&str, &str, Option<&str>)| json!({ "name": name, "status": status, "conclusion": conclusion });
    json!({ "total_count": list.len(), "check_runs": list.iter().map(run).collect::<Vec<_>>() })
}

async fn checks(runs: (u16, Value), statuses: (u16, Value)) -> Result<Vec<(String, CheckState)>, HubError> {
    let server = Server::start(move |seen| match seen.call().as_str() {
        RUNS => Some(reply(runs.0, &runs.1)),
        STATUS => Some(reply(statuses.0, &statuses.1)),
        _ => None,
    })
    .await;
    let names = ["e2e", "unit", "lint"].map(str::to_owned);
    let found = server.open().await.checks_on("acme/charts", &Sha::from("c1"), &names).await?;
    Ok(found.into_iter().map(|check| (check.name, check.state)).collect())
}

#[tokio::test]
async fn runs_and_statuses_of_a_name_are_one_check() {
    let of_runs = runs(&[
        ("e2e", "completed", Some("success")),
        ("e2e", "completed", Some("failure")),
        ("unit", "completed", Some("success")),
        ("docs", "queued", None),
    ]);
    let found = checks((200, of_runs), (200, statuses("c1", &[("unit", "pending"), ("other", "failure")]))).await;
    let expected = [("e2e".to_owned(), CheckState::Failure), ("unit".to_owned(), CheckState::Pending)];
    assert_eq!(found.unwrap(), expected, "what has not run is left out");
    let nothing = checks((200, runs(&[])), (200, statuses("c1", &[]))).await;
    assert_eq!(nothing.unwrap(), []);
}

#[tokio::test]
async fn what_could_not_be_read_is_no_answer() {
    let good = || (200, statuses("c1", &[("e2e", "success")]));
    let said = |text: &str| json!({ "message": text });
    for (runs, statuses) in [
        ((404, said("Not Found")), good()),
        ((403, said("Resource not accessible by integration")), good()),
        ((422, said("No commit found for SHA: c1")), good()),
        ((500, said("Unicorn")), good()),
        ((200, json!({ "total_count": 1 })), good()),
        ((200, json!({ "check_runs": [{ "name": "e2e" }] })), good()),
        ((200, runs(&[])), (404, said("Not Found"))),
        ((200, runs(&[])), (200, statuses("c2", &[("e2e", "success")]))),
        ((200, runs(&[])), (200, json!({ "sha": "c1", "total_count": 101, "statuses": [] }))),
    ] {
        let said = checks(runs, statuses).await.unwrap_err().to_string();
        assert!(said.contains("/repos/acme/charts/commits/c1/"), "it names the repository: {said}");
    }
}

#[tokio::test]
async fn a_tag_is_found_by_its_whole_name() {
    let list = json!([{ "ref": "refs/tags/v1.2.0-rc.1" }, { "ref": "refs/tags/charts/loki-1.2.0+7" }]);
    let server = Server::start(move |seen| match seen.call().as_str() {
        "GET /repos/acme/charts/git/matching-refs/tags/v1.2.0?per_page=100"
        | "GET /repos/acme/charts/git/matching-refs/tags/charts/loki-1.2.0%2B7?per_page=100" => Some(reply(200, &list)),
        "GET /repos/acme/charts/commits/tags%2Fcharts%2Floki-1.2.0%2B7/status?per_page=100" => {
            Some(reply(200, &statuses("c7", &[])))
        }
        _ => None,
    })
    .await;
    let repo = server.open().await;
    assert!(!repo.has_tag("acme/charts", "v1.2.0").await.unwrap(), "another tag begins so");
    assert!(repo.has_tag("acme/charts", "charts/loki-1.2.0+7").await.unwrap());
    assert_eq!(repo.commit_at("acme/charts", "charts/loki-1.2.0+7").await.unwrap().as_str(), "c7");
    assert!(matches!(repo.has_tag("acme/hidden", "v1").await, Err(HubError::NotFound { .. })), "not a no");
    assert!(matches!(repo.commit_at("acme/charts", "v9").await, Err(HubError::NotFound { .. })));
    assert!(matches!(repo.has_tag("acme/../x", "v1").await, Err(HubError::Setup(_))));
}

#[tokio::test]
async fn an_address_is_of_this_hub_or_not() {
    let server = Server::start(|_| None).await;
    let repo = server.open().await;
    let at = |text: &str| repo.is_at(&url::Url::parse(text).unwrap());
    assert!(at(&format!("{}/acme/charts", server.url)));
    assert!(!at("https://github.com/acme/charts") && !at("http://127.0.0.1:1/acme/charts"));
}
