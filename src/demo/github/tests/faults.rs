//! What goes wrong on purpose goes wrong as it does at the hub.
use super::*;

fn merges(town: &Town) -> usize {
    town.hub.log(REPO, "main").unwrap().len() - 1
}

#[tokio::test(flavor = "multi_thread")]
async fn merges_fail_before_and_after_their_effect() {
    for (fault, status, merged, landed) in [
        (MergeFault::ErrorBefore, 500, false, 0),
        (MergeFault::ErrorAfter, 500, true, 1),
        (MergeFault::BranchMergedPullOpen, 500, false, 1),
        (MergeFault::HeadMoves, 409, false, 0),
        (MergeFault::BaseModified, 405, false, 0),
        (MergeFault::WrongContent, 200, true, 1),
    ] {
        let town = town().await;
        let head = town.branch("q", "clusters/qa/app.yaml", "1.1.0");
        let number = town.open("q").await;
        town.hub.faults(|faults| faults.merges.push_back(fault));
        let answer = town.merge(number, &town.token, &head).await;
        assert_eq!(answer.0, status, "{fault:?} {}", answer.1);
        let view = town.hub.pull(REPO, number).unwrap();
        assert_eq!(matches!(view.standing, PullStanding::Merged { .. }), merged, "{fault:?}");
        assert_eq!(merges(&town), landed, "{fault:?}");
        assert_eq!(view.head_sha != head, fault == MergeFault::HeadMoves, "{fault:?}");
        let text = town.hub.file(REPO, "main", "clusters/qa/app.yaml").unwrap().unwrap();
        let right = landed == 1 && fault != MergeFault::WrongContent;
        assert_eq!(text == "version: 1.1.0\n", right, "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn creations_fail_before_and_after_their_effect() {
    let town = town().await;
    town.branch("q", "clusters/qa/app.yaml", "1.1.0");
    let body = json!({"title": "t", "head": "q", "base": "main"});
    town.hub.faults(|faults| faults.creations.extend([CreateFault::ErrorBefore, CreateFault::ErrorAfter]));
    assert_eq!(town.post("/repos/acme/config/pulls", body.clone()).await.0, 500);
    assert!(town.hub.pulls(REPO).unwrap().is_empty());
    assert_eq!(town.post("/repos/acme/config/pulls", body.clone()).await.0, 500);
    assert_eq!(town.hub.pulls(REPO).unwrap().len(), 1);
    assert_eq!(town.post("/repos/acme/config/pulls", body).await.0, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_lag_get_lost_and_do_not_know_yet() {
    let town = town().await;
    town.branch("q", "clusters/qa/app.yaml", "1.1.0");
    town.hub.faults(|faults| faults.list_lag = std::time::Duration::from_secs(60));
    let number = town.open("q").await;
    let one = format!("/repos/acme/config/pulls/{number}");
    let query = "{repository(owner:\"acme\",name:\"config\"){pullRequests(first:5){totalCount}}}";
    assert_eq!(town.get("/repos/acme/config/pulls").await.1, json!([]));
    assert_eq!(town.get(&one).await.0, 404);
    assert_eq!(town.query(query, json!({})).await["data"]["repository"]["pullRequests"]["totalCount"], 0);
    town.hub.world().clock.shift(jiff::SignedDuration::from_secs(61));
    assert_eq!(town.get(&one).await.0, 200);
    assert_eq!(town.query(query, json!({})).await["data"]["repository"]["pullRequests"]["totalCount"], 1);

    town.hub.faults(|faults| faults.mergeable_unknown_reads = 2);
    let pull = town.get(&one).await.1;
    assert_eq!((&pull["mergeable"], &pull["mergeable_state"]), (&Value::Null, &json!("unknown")));
    let query = "{repository(owner:\"acme\",name:\"config\"){pullRequest(number:1){mergeable mergeStateStatus}}}";
    let seen = town.query(query, json!({})).await["data"]["repository"]["pullRequest"].clone();
    assert_eq!(seen, json!({"mergeable": "UNKNOWN", "mergeStateStatus": "UNKNOWN"}));
    assert_eq!(town.get(&one).await.1["mergeable"], true);

    for (every, status) in [(1, 404), (0, 200)] {
        town.hub.faults(|faults| *faults = Faults { not_found_every: every, ..Faults::default() });
        assert_eq!(town.get(&one).await.0, status);
        let seen = town.query(query, json!({})).await;
        match status {
            200 => assert_eq!(seen["data"]["repository"]["pullRequest"]["mergeable"], "MERGEABLE"),
            _ => assert_eq!(
                (&seen["data"]["repository"], &seen["errors"][0]["type"]),
                (&Value::Null, &json!("NOT_FOUND"))
            ),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn budgets_end() {
    let town = town().await;
    town.hub.faults(|faults| faults.secondary_limit = Some((1, 7)));
    let refused = town.send(Method::GET, "/repos/acme/config", &town.token, Value::Null).await;
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (403, "7"));
    assert_eq!(town.get("/repos/acme/config").await.0, 200);
    town.hub.faults(|faults| faults.rate_limit_exhausted = true);
    let refused = town.send(Method::GET, "/repos/acme/config", &town.token, Value::Null).await;
    assert_eq!(refused.status(), 403);
    assert_eq!(refused.headers()["x-ratelimit-remaining"], "0");
    let answer = town.query("{viewer{login}}", json!({})).await;
    assert_eq!(answer["errors"][0]["type"], "RATE_LIMIT");
    assert_eq!(town.get("/rate_limit").await.1["rate"]["remaining"], 0);
    town.hub.faults(|faults| faults.resets_in = Some(std::time::Duration::from_secs(20)));
    let soon = town.hub.world().now().as_second() + 20;
    let resets = town.get("/rate_limit").await.1["rate"]["reset"].as_i64().unwrap();
    assert!((soon..soon + 5).contains(&resets), "{resets}, {soon}");
    town.hub.faults(|faults| assert_eq!(faults.refused, 3));
    town.hub.faults(|faults| *faults = Faults::default());
    town.hub.world().requests_per_hour = 2;
    let used: Vec<u16> = [town.get("/user").await.0, town.get("/user").await.0, town.get("/user").await.0].into();
    assert_eq!(used[2], 403);
    assert_eq!(town.get("/rate_limit").await.1["rate"]["limit"], 2);
}
