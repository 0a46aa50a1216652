//! Any sane selection, and the hub's errors for the others.
use super::*;

const PAGE: &str = r#"
query Page($owner: String!, $name: String!, $states: [PullRequestState!] = [OPEN, CLOSED, MERGED], $after: String) {
  rateLimit { cost remaining resetAt }
  viewer { login }
  repository(owner: $owner, name: $name) {
    databaseId
    defaultBranchRef { name target { oid ... on Commit { committedDate } } }
    policy: object(expression: "main:README.md") { ... on Blob { text isTruncated } }
    pullRequests(first: 2, after: $after, states: $states, orderBy: {field: CREATED_AT, direction: DESC}) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes { ...facts }
    }
  }
}
fragment facts on PullRequest {
  number title body state isDraft mergeable mergeStateStatus reviewDecision headRefName headRefOid baseRefName
  author { __typename login }
  createdAt updatedAt mergedAt closedAt mergedBy { login } mergeCommit { oid }
  labels(first: 10) { nodes { name } }
  reviews(first: 50) { nodes { author { login __typename } state submittedAt commit { oid } } }
  comments(last: 50) { nodes { databaseId author { login } body createdAt lastEditedAt } }
  commits(last: 1) { nodes { commit {
    oid message
    status { state contexts { context state } }
    checkSuites(first: 10) { nodes { app { databaseId } checkRuns(first: 10) { nodes { name conclusion } } } }
    statusCheckRollup { state contexts(first: 10) { nodes {
      __typename ... on CheckRun { name conclusion } ... on StatusContext { context state } } } }
  } } }
  timelineItems(itemTypes: [CLOSED_EVENT], last: 1) { nodes { ... on ClosedEvent { actor { login } createdAt } } }
}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn one_page_holds_all_that_a_bot_reads() {
    let town = town().await;
    let head = town.branch("s", "clusters/silver/app.yaml", "1.1.0");
    let number = town.open("s").await;
    town.branch("q", "clusters/qa/app.yaml", "1.1.0");
    town.open("q").await;
    town.branch("r", "clusters/qa/other.yaml", "1.1.0");
    town.open("r").await;
    town.hub.approve(REPO, number, "alice").unwrap();
    town.hub.comment(REPO, number, "bob", "/coldframe hold because").unwrap();
    town.hub.set_label(REPO, number, "bob", "urgent", true).unwrap();
    town.hub.close(REPO, 2, "bob").unwrap();
    town.post("/repos/acme/config/check-runs", json!({"name": "c", "head_sha": head, "conclusion": "success"})).await;
    let status = json!({"state": "pending", "context": "ci"});
    town.post(&format!("/repos/acme/config/statuses/{head}"), status).await;
    let first = town.query(PAGE, json!({"owner": "acme", "name": "config"})).await;
    assert_eq!(first.get("errors"), None, "{first}");
    let repository = &first["data"]["repository"];
    assert_eq!(first["data"]["viewer"]["login"], "coldframe[bot]");
    assert_eq!(first["data"]["rateLimit"]["cost"], 1);
    assert_eq!(repository["policy"]["text"], "# Config\n\nWelcome.");
    let page = &repository["pullRequests"];
    assert_eq!((&page["totalCount"], &page["pageInfo"]["hasNextPage"]), (&json!(3), &json!(true)));
    assert_eq!((&page["nodes"][0]["number"], &page["nodes"][1]["number"]), (&json!(3), &json!(2)));
    let closed = &page["nodes"][1];
    assert_eq!((&closed["state"], &closed["mergeable"]), (&json!("CLOSED"), &json!("UNKNOWN")));
    assert_eq!(closed["timelineItems"]["nodes"][0]["actor"]["login"], "bob");
    let cursor = page["pageInfo"]["endCursor"].clone();
    let second = town.query(PAGE, json!({"owner": "acme", "name": "config", "after": cursor})).await;
    let pull = &second["data"]["repository"]["pullRequests"]["nodes"][0];
    let expected = json!({
        "number": 1, "state": "OPEN", "isDraft": false, "mergeable": "MERGEABLE", "mergeStateStatus": "UNSTABLE",
        "reviewDecision": "APPROVED", "headRefName": "s", "headRefOid": head, "baseRefName": "main",
        "author": {"__typename": "Bot", "login": "coldframe"}, "mergedBy": null,
        "labels": {"nodes": [{"name": "urgent"}]},
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&pull[key], value, "{key}");
    }
    let review = &pull["reviews"]["nodes"][0];
    assert_eq!(
        (&review["author"]["login"], &review["state"], &review["commit"]["oid"]),
        (&json!("alice"), &json!("APPROVED"), &json!(head))
    );
    let commit = &pull["commits"]["nodes"][0]["commit"];
    assert_eq!(commit["status"], json!({"state": "PENDING", "contexts": [{"context": "ci", "state": "PENDING"}]}));
    assert_eq!(
        commit["checkSuites"]["nodes"][0]["checkRuns"]["nodes"],
        json!([{"name": "c", "conclusion": "SUCCESS"}])
    );
    assert_eq!(commit["checkSuites"]["nodes"][0]["app"]["databaseId"], town.bot.id);
    assert_eq!(commit["statusCheckRollup"]["state"], "PENDING");
    assert_eq!(
        commit["statusCheckRollup"]["contexts"]["nodes"][0],
        json!({"__typename": "CheckRun", "name": "c", "conclusion": "SUCCESS"})
    );
    assert_eq!(town.hub.requests()["GRAPHQL Page"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn review_decisions_follow_the_reviews() {
    let town = town().await;
    town.branch("s", "clusters/silver/app.yaml", "1.1.0");
    let number = town.open("s").await;
    let query = "{repository(owner:\"acme\",name:\"config\"){pullRequest(number:1){reviewDecision mergeStateStatus}}}";
    let seen = async || {
        let pull = town.query(query, json!({})).await["data"]["repository"]["pullRequest"].clone();
        (pull["reviewDecision"].clone(), pull["mergeStateStatus"].clone())
    };
    assert_eq!(seen().await, (json!("REVIEW_REQUIRED"), json!("BLOCKED")));
    town.hub.approve(REPO, number, "alice").unwrap();
    assert_eq!(seen().await, (json!("APPROVED"), json!("CLEAN")));
    town.hub.request_changes(REPO, number, "bob", "no").unwrap();
    assert_eq!(seen().await, (json!("CHANGES_REQUESTED"), json!("BLOCKED")));
    town.hub.protect(REPO, "main", Protection::default()).unwrap();
    assert_eq!(seen().await, (Value::Null, json!("CLEAN")));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_the_hubs_form() {
    let town = town().await;
    for (query, code, says) in [
        (
            "{repository(owner:\"acme\",name:\"config\"){nonsense}}",
            "undefinedField",
            "Field 'nonsense' doesn't exist on type 'Repository'",
        ),
        (
            "{repository(owner:\"acme\",name:\"config\"){pullRequest(id:1){title}}}",
            "argumentNotAccepted",
            "doesn't accept argument 'id'",
        ),
        (
            "{repository(owner:\"acme\",name:\"config\"){pullRequest(number:1)}}",
            "selectionMismatch",
            "must have selections",
        ),
        ("{viewer{login{x}}}", "selectionMismatch", "Selections can't be made on scalars"),
        ("{viewer{...gone}}", "useAndDefineFragment", "gone was used"),
        ("{viewer{... on Nothing{x}}}", "undefinedType", "No such type Nothing"),
    ] {
        let answer = town.query(query, json!({})).await;
        assert_eq!((answer.get("data"), &answer["errors"][0]["extensions"]["code"]), (None, &json!(code)), "{answer}");
        assert!(answer["errors"][0]["message"].as_str().unwrap().contains(says), "{answer}");
    }
    for (query, kind, says) in [
        (
            "{repository(owner:\"acme\",name:\"none\"){id}}",
            "NOT_FOUND",
            "Could not resolve to a Repository with the name 'acme/none'.",
        ),
        (
            "{repository(owner:\"acme\",name:\"config\"){pullRequest(number:9){id}}}",
            "NOT_FOUND",
            "PullRequest with the number of 9",
        ),
        (
            "{repository(owner:\"acme\",name:\"config\"){pullRequests{nodes{id}}}}",
            "MISSING_PAGINATION_BOUNDARIES",
            "You must provide a `first` or `last`",
        ),
        (
            "{repository(owner:\"acme\",name:\"config\"){pullRequests(first:101){totalCount}}}",
            "EXCESSIVE_PAGINATION",
            "limit of 100",
        ),
        (
            "{repository(owner:\"acme\",name:\"config\"){pullRequests(first:1,after:\"x\"){totalCount}}}",
            "INVALID_CURSOR_ARGUMENTS",
            "valid cursor",
        ),
        (
            "{repository(owner:\"acme\",name:\"config\"){branchProtectionRules(first:1){totalCount}}}",
            "FORBIDDEN",
            "not accessible by integration",
        ),
    ] {
        let answer = town.query(query, json!({})).await;
        assert_eq!(answer["errors"][0]["type"], kind, "{answer}");
        assert!(answer["errors"][0]["message"].as_str().unwrap().contains(says), "{answer}");
        assert!(answer.get("data").is_some());
    }
    let missing = town.query("query($n:String!){repository(owner:\"a\",name:$n){id}}", json!({})).await;
    assert!(
        missing["errors"][0]["message"].as_str().unwrap().contains("$n of type String! was provided invalid value")
    );
    assert!(town.query("{", json!({})).await["errors"][0]["message"].as_str().unwrap().starts_with("Parse error"));
    assert!(town.query("mutation{x}", json!({})).await["errors"].is_array());
    let endless = town.query("{viewer{...a}} fragment a on User{...b} fragment b on User{...a}", json!({})).await;
    assert!(endless["errors"][0]["message"].as_str().unwrap().contains("endlessly"));
}

#[tokio::test(flavor = "multi_thread")]
async fn aliases_directives_and_merged_selections() {
    let town = town().await;
    let query = "query($yes:Boolean!){a:repository(owner:\"acme\",name:\"config\"){name @include(if:$yes) id @skip(if:$yes) \
                 owner{login} ...more} __typename} fragment more on Repository{owner{__typename ... on Organization{team(slug:\"platform\"){members(first:5){nodes{login}}}}}}";
    let data = town.query(query, json!({"yes": true})).await;
    let expected = json!({"data": {"a": {"name": "config", "owner": {"login": "acme", "__typename": "Organization",
        "team": {"members": {"nodes": [{"login": "alice"}]}}}}, "__typename": "Query"}});
    assert_eq!(data, expected);
    let counted = town.query("{repository(owner:\"acme\",name:\"config\"){pullRequests{totalCount}}}", json!({})).await;
    assert_eq!(counted["data"]["repository"]["pullRequests"]["totalCount"], 0, "counting needs no page size");
    let described = town.query("{__type(name:\"PullRequest\"){fields(includeDeprecated:true){name}}}", json!({})).await;
    let fields = described["data"]["__type"]["fields"].as_array().unwrap();
    assert!(fields.contains(&json!({"name": "mergeStateStatus"})));
}
