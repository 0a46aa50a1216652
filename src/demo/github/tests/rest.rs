//! Shapes and refusals of the REST API that have no file of their own.
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn pull_requests_open_once_and_only_with_commits() {
    let town = town().await;
    town.branch("one", "clusters/qa/app.yaml", "1.1.0");
    let open = |head: &str, base: &str| json!({"title": "t", "head": head, "base": base});
    let number = town.open("one").await;
    for (body, says) in [
        (open("one", "main"), "A pull request already exists for acme:one."),
        (open("acme:one", "main"), "A pull request already exists for acme:one."),
        (open("main", "main"), "No commits between main and main"),
        (open("absent", "main"), "invalid"),
        (open("one", "absent"), "invalid"),
        (open("mallory:one", "main"), "invalid"),
        (json!({"head": "one", "base": "main"}), "missing_field"),
        (json!({"title": "t".repeat(257), "head": "one", "base": "main"}), "too long"),
    ] {
        let answer = town.post("/repos/acme/config/pulls", body.clone()).await;
        assert_eq!((answer.0, message(&answer.1)), (422, "Validation Failed"), "{body}");
        assert!(answer.1["errors"].to_string().contains(says), "{body}: {}", answer.1);
    }
    let path = format!("/repos/acme/config/pulls/{number}");
    let (status, pull) = town.patch(&path, json!({"title": "new", "body": "text"})).await;
    assert_eq!((status, &pull["title"], &pull["body"]), (200, &json!("new"), &json!("text")));
    assert_eq!(pull["user"]["login"], "coldframe[bot]");
    let events = town.hub.events(REPO).unwrap().len();
    town.patch(&path, json!({"title": "new", "body": "text"})).await;
    assert_eq!(town.hub.events(REPO).unwrap().len(), events, "the same texts again are no edit");
    assert_eq!(town.patch(&path, json!({"state": "closed"})).await.1["state"], "closed");
    assert_eq!(town.get("/repos/acme/config/pulls/99").await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_filter_and_page() {
    let town = town().await;
    for index in 0..5 {
        town.branch(&format!("b{index}"), &format!("clusters/qa/{index}.yaml"), "1.0.0");
        town.open(&format!("b{index}")).await;
    }
    town.hub.close(REPO, 2, "bob").unwrap();
    for (query, numbers) in [
        ("", json!([5, 4, 3, 1])),
        ("?state=all&direction=asc&per_page=100", json!([1, 2, 3, 4, 5])),
        ("?state=closed", json!([2])),
        ("?head=acme:b3", json!([4])),
        ("?head=other:b3", json!([])),
        ("?base=other", json!([])),
        ("?per_page=2&page=2", json!([3, 1])),
    ] {
        let pulls = town.get(&format!("/repos/acme/config/pulls{query}")).await.1;
        let found: Vec<&Value> = pulls.as_array().unwrap().iter().map(|pull| &pull["number"]).collect();
        assert_eq!(json!(found), numbers, "{query}");
    }
    let first = town.send(Method::GET, "/repos/acme/config/pulls?per_page=2", &town.token, Value::Null).await;
    let link = first.headers()["link"].to_str().unwrap().to_owned();
    let next = link.split(';').next().unwrap().trim_matches(['<', '>']).to_owned();
    let second: Value = town.http.get(next).bearer_auth(&town.token).send().await.unwrap().json().await.unwrap();
    assert_eq!(second[0]["number"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn conditional_requests_are_free_and_bound_to_who_asks() {
    let town = town().await;
    let path = "/repos/acme/config/pulls";
    let first = town.send(Method::GET, path, &town.token, Value::Null).await;
    let left = |answer: &Response| answer.headers()["x-ratelimit-remaining"].to_str().unwrap().parse::<u64>().unwrap();
    let (tag, before) = (first.headers()["etag"].clone(), left(&first));
    for header in ["date", "x-github-request-id", "x-ratelimit-limit", "x-ratelimit-reset", "x-ratelimit-resource"] {
        assert!(first.headers().contains_key(header), "{header}");
    }
    let ask = |token: String| {
        let url = format!("{}/api/v3{path}", town.hub.url());
        town.http.get(url).bearer_auth(token).header("if-none-match", tag.clone()).send()
    };
    let second = ask(town.token.clone()).await.unwrap();
    assert_eq!((second.status().as_u16(), left(&second)), (304, before));
    assert_eq!(ask(town.hub.add_token("bob")).await.unwrap().status(), 200);
    town.branch("one", "clusters/qa/app.yaml", "1.1.0");
    town.open("one").await;
    assert_eq!(ask(town.token.clone()).await.unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_date_is_the_hubs_own() {
    let town = town().await;
    town.hub.world().clock.shift(jiff::SignedDuration::from_mins(30));
    let answer = town.send(Method::GET, "/repos/acme/config", &town.token, Value::Null).await;
    let date = answer.headers()["date"].to_str().unwrap();
    let date = jiff::fmt::rfc2822::parse(date).unwrap().timestamp();
    let ahead = date.duration_since(crate::clock::now());
    assert!(ahead > jiff::SignedDuration::from_mins(29), "{ahead:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_are_written_edited_and_listed() {
    let town = town().await;
    town.branch("one", "clusters/qa/app.yaml", "1.1.0");
    let number = town.open("one").await;
    let path = format!("/repos/acme/config/issues/{number}/comments");
    let (status, comment) = town.post(&path, json!({"body": "first"})).await;
    assert_eq!((status, &comment["user"]["type"]), (201, &json!("Bot")));
    town.hub.comment(REPO, number, "eve", "second").unwrap();
    let own = format!("/repos/acme/config/issues/comments/{}", comment["id"]);
    town.hub.world().clock.shift(jiff::SignedDuration::from_secs(5));
    let edited = town.patch(&own, json!({"body": "changed"})).await.1;
    assert_eq!(edited["body"], "changed");
    assert_ne!(edited["created_at"], edited["updated_at"]);
    assert_eq!(town.get(&own).await.1["body"], "changed");
    let all = town.get(&path).await.1;
    let other = format!("/repos/acme/config/issues/comments/{}", all[1]["id"]);
    assert_eq!(town.patch(&other, json!({"body": "not mine"})).await.0, 403);
    assert_eq!(town.post(&path, json!({"body": " "})).await.0, 422);
    assert_eq!(town.post(&path, json!({"body": "x".repeat(65_537)})).await.0, 422);
    assert_eq!(town.hub.comments(REPO).unwrap().len(), 2);
    let since = town.get(&format!("{path}?since={}", edited["updated_at"].as_str().unwrap())).await.1;
    assert_eq!((since.as_array().unwrap().len(), &since[0]["body"]), (1, &json!("changed")), "by its last change");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_comment_tells_those_whom_it_mentions_and_an_edit_tells_nobody() {
    let town = town().await;
    town.branch("one", "clusters/qa/app.yaml", "1.1.0");
    let number = town.open("one").await;
    let path = format!("/repos/acme/config/issues/{number}/comments");
    let told = |why| -> Vec<String> {
        let told = town.hub.told();
        told.into_iter().filter(|told| told.why == why).map(|told| told.who).collect()
    };
    let body = "@acme/platform and @bob, not `@eve`, not @nobody, not a@carol";
    let comment = town.post(&path, json!({"body": body})).await.1;
    assert_eq!((told("team_mention"), told("mention")), (vec!["alice".to_owned()], vec!["bob".to_owned()]));
    assert_eq!(told("comment"), Vec::<String>::new(), "the bot took part alone");
    let own = format!("/repos/acme/config/issues/comments/{}", comment["id"]);
    town.patch(&own, json!({"body": "@eve and @acme/platform"})).await;
    assert_eq!(town.hub.told().len(), 2, "{:?}", town.hub.told());
    town.hub.comment(REPO, number, "carol", "I look at it").unwrap();
    town.hub.comment(REPO, number, "bob", "thanks").unwrap();
    assert_eq!(told("comment"), ["carol"], "who takes part hears of it");
}

#[tokio::test(flavor = "multi_thread")]
async fn reactions_are_one_of_each_kind_per_account() {
    let town = town().await;
    town.branch("one", "clusters/qa/app.yaml", "1.1.0");
    let number = town.open("one").await;
    town.hub.comment(REPO, number, "bob", "/coldframe hold").unwrap();
    let id = town.hub.comments(REPO).unwrap()[0].id;
    let path = format!("/repos/acme/config/issues/comments/{id}/reactions");
    let (status, first) = town.post(&path, json!({"content": "+1"})).await;
    assert_eq!((status, &first["user"]["login"]), (201, &json!("coldframe[bot]")));
    let (status, again) = town.post(&path, json!({"content": "+1"})).await;
    assert_eq!((status, &again["id"]), (200, &first["id"]));
    assert_eq!(town.post(&path, json!({"content": "confused"})).await.0, 201);
    assert_eq!(town.post(&path, json!({"content": "shrug"})).await.0, 422);
    assert_eq!(town.get(&path).await.1.as_array().unwrap().len(), 2);
    assert_eq!(town.get(&format!("{path}?content=%2B1")).await.1.as_array().unwrap().len(), 1);
    let comment = town.get(&format!("/repos/acme/config/issues/comments/{id}")).await.1;
    assert_eq!(comment["reactions"]["+1"], 1);
    let query = "query($n: Int!) { repository(owner: \"acme\", name: \"config\") { pullRequest(number: $n) {
        comments(last: 1) { nodes { reactionGroups { content viewerHasReacted } } } } } }";
    let answer = town.query(query, json!({"n": number})).await;
    let groups = &answer["data"]["repository"]["pullRequest"]["comments"]["nodes"][0]["reactionGroups"];
    let mine = groups.as_array().unwrap().iter().filter(|group| group["viewerHasReacted"] == true);
    let mine: Vec<&str> = mine.map(|group| group["content"].as_str().unwrap()).collect();
    assert_eq!(mine, ["THUMBS_UP", "CONFUSED"], "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_runs_and_statuses() {
    let town = town().await;
    let head = town.branch("one", "clusters/qa/app.yaml", "1.1.0");
    let number = town.open("one").await;
    let runs = "/repos/acme/config/check-runs";
    for (body, status) in [
        (json!({"name": "c", "head_sha": "1".repeat(40)}), 422),
        (json!({"name": "c", "head_sha": head, "status": "completed"}), 422),
        (json!({"name": "c", "head_sha": head, "conclusion": "fine"}), 422),
        (json!({"name": "c", "head_sha": head, "output": {"title": "no summary"}}), 422),
        (json!({"name": "c", "head_sha": head, "status": "in_progress"}), 201),
    ] {
        assert_eq!(town.post(runs, body.clone()).await.0, status, "{body}");
    }
    let list = format!("/repos/acme/config/commits/{head}/check-runs?check_name=c");
    let found = town.get(&list).await.1;
    let run = format!("{runs}/{}", found["check_runs"][0]["id"]);
    let body = json!({"conclusion": "action_required", "output": {"title": "Waiting", "summary": "| a |\n|--|"}});
    let (status, check) = town.patch(&run, body).await;
    assert_eq!((status, &check["status"], &check["conclusion"]), (200, &json!("completed"), &json!("action_required")));
    let alice = town.hub.add_token("alice");
    let refused = town.ask(Method::POST, runs, &alice, json!({"name": "c", "head_sha": head})).await;
    assert_eq!((refused.0, message(&refused.1)), (403, "You must authenticate via a GitHub App."));
    let force = town.installation_token(&town.bypass).await;
    assert_eq!(town.ask(Method::PATCH, &run, &force, json!({"conclusion": "success"})).await.0, 403);
    let path = format!("/repos/acme/config/statuses/{head}");
    let bob = town.hub.add_token("bob");
    for (state, status) in [("pending", 201), ("success", 201), ("green", 422)] {
        let body = json!({"state": state, "context": "ci", "description": "d"});
        assert_eq!(town.ask(Method::POST, &path, &bob, body).await.0, status);
    }
    let combined = town.get(&format!("/repos/acme/config/commits/{head}/status")).await.1;
    assert_eq!((&combined["state"], &combined["total_count"]), (&json!("success"), &json!(1)));
    let view = town.hub.pull(REPO, number).unwrap();
    assert_eq!(view.checks[0].title.as_deref(), Some("Waiting"));
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_and_protection_tell_each_what_they_may_know() {
    let town = town().await;
    let rules = [Rule::Update, Rule::Deletion, Rule::NonFastForward];
    let id = town.hub.add_ruleset(REPO, "coldframe-ledger", &rules, &[town.bot.id]).unwrap();
    let bound = town.get("/repos/acme/config/rules/branches/coldframe-ledger").await.1;
    let kinds: Vec<&Value> = bound.as_array().unwrap().iter().map(|rule| &rule["type"]).collect();
    assert_eq!(json!(kinds), json!(["update", "deletion", "non_fast_forward"]));
    assert_eq!(town.get("/repos/acme/config/rules/branches/main").await.1, json!([]));
    let set = town.get(&format!("/repos/acme/config/rulesets/{id}")).await.1;
    assert_eq!((&set["current_user_can_bypass"], set.get("bypass_actors")), (&json!("always"), None));
    let carol = town.hub.add_token("carol");
    let set = town.ask(Method::GET, &format!("/repos/acme/config/rulesets/{id}"), &carol, Value::Null).await.1;
    assert_eq!(set["bypass_actors"][0]["actor_id"], town.bot.id);
    assert_eq!(set["current_user_can_bypass"], "never");
    let path = "/repos/acme/config/branches/main/protection";
    assert_eq!(town.get(path).await.0, 403);
    let (status, protection) = town.ask(Method::GET, path, &carol, Value::Null).await;
    assert_eq!(status, 200);
    let reviews = &protection["required_pull_request_reviews"];
    assert_eq!(reviews["require_code_owner_reviews"], true);
    assert_eq!(reviews["bypass_pull_request_allowances"]["apps"][0]["id"], town.bypass.id);
    assert_eq!(town.get("/repos/acme/config/branches/main").await.1["protected"], true);
    let bare = "/repos/acme/config/branches/coldframe-ledger/protection";
    assert_eq!(town.ask(Method::GET, bare, &carol, Value::Null).await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_commits_and_comparisons() {
    let town = town().await;
    let main = town.hub.head(REPO, "main").unwrap().unwrap();
    let head = town.branch("one", "clusters/qa/app.yaml", "1.1.0");
    let path = "/repos/acme/config/contents/clusters/qa/app.yaml";
    let file = town.get(&format!("{path}?ref={main}")).await.1;
    let text = STANDARD.decode(file["content"].as_str().unwrap().replace('\n', "")).unwrap();
    assert_eq!(text, b"version: 1.0.0\n");
    let raw = town.http.get(format!("{}/api/v3{path}?ref=one", town.hub.url())).bearer_auth(&town.token);
    let raw = raw.header("accept", "application/vnd.github.raw+json").send().await.unwrap();
    assert_eq!(raw.text().await.unwrap(), "version: 1.1.0\n");
    let folder = town.get("/repos/acme/config/contents/clusters").await.1;
    assert_eq!((&folder[0]["name"], &folder[0]["type"]), (&json!("qa"), &json!("dir")));
    assert_eq!(town.get("/repos/acme/config/contents/absent").await.0, 404);
    let compared = town.get(&format!("/repos/acme/config/compare/{main}...{head}")).await.1;
    assert_eq!((&compared["status"], &compared["ahead_by"]), (&json!("ahead"), &json!(1)));
    let back = town.get("/repos/acme/config/compare/one...main").await.1;
    assert_eq!(back["status"], "behind");
    let commit = town.get("/repos/acme/config/commits/one").await.1;
    assert_eq!(
        (&commit["sha"], &commit["files"][0]["patch"]),
        (&json!(head), &json!("@@ -1 +1 @@\n-version: 1.0.0\n+version: 1.1.0"))
    );
    let tree = town.get("/repos/acme/config/git/trees/main?recursive=1").await.1;
    assert!(tree["tree"].as_array().unwrap().iter().any(|entry| entry["path"] == "clusters/qa/app.yaml"));
    town.open("one").await;
    let files = town.get("/repos/acme/config/pulls/1/files").await.1;
    assert_eq!((&files[0]["filename"], &files[0]["status"]), (&json!("clusters/qa/app.yaml"), &json!("modified")));
    let diff = town.http.get(format!("{}/api/v3/repos/acme/config/pulls/1", town.hub.url())).bearer_auth(&town.token);
    let diff = diff.header("accept", "application/vnd.github.diff").send().await.unwrap().text().await.unwrap();
    assert!(diff.starts_with("diff --git a/clusters/qa/app.yaml") && diff.ends_with("+version: 1.1.0\n"), "{diff}");
    let errors = town.get("/repos/acme/config/codeowners/errors").await.1;
    assert_eq!(errors["errors"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_routes_and_bad_bodies_are_counted_and_refused() {
    let town = town().await;
    assert_eq!(town.get("/repos/acme/config/unheard/of").await.0, 404);
    let bad = town.http.post(format!("{}/api/v3/repos/acme/config/pulls", town.hub.url())).bearer_auth(&town.token);
    let bad = bad.body("{").send().await.unwrap();
    assert_eq!(bad.status(), 400);
    let counted = town.hub.requests();
    assert_eq!(counted["GET unknown:/repos/acme/config/unheard/of"], 1);
    assert!(GitHub::routes().contains(&"PUT /repos/{owner}/{repo}/pulls/{number}/merge".to_owned()));
}
