//! What branch rules ask of a merge past reviews: each type of rule is asked, untouched, or never passed.

use decide::snapshot::{Read, UnmetRule};
use decide::{PullNumber, Sha};

use super::*;
use crate::hub::demands::MergeCandidate;

/// All rules of one kind each, and what the hub shows of pull request 7.
async fn unmet(rules: Value, pull: Value, up_to_date: bool) -> Result<Vec<(String, String)>, String> {
    let bound = json!({ "name": "main", "enforcement": "active", "current_user_can_bypass": "never" });
    let branch = json!({ "refUpdateRule": null });
    unmet_at(bound, branch, rules, pull, up_to_date).await
}

/// The same with a ruleset and the branch as GraphQL shows it.
async fn unmet_at(
    ruleset: Value,
    branch: Value,
    rules: Value,
    pull: Value,
    up_to_date: bool,
) -> Result<Vec<(String, String)>, String> {
    let server = Server::start(move |seen| {
        let operation = seen.body["operationName"].as_str().unwrap_or_default().to_owned();
        match (seen.call().as_str(), operation.as_str()) {
            ("GET /repos/acme/config/rules/branches/main?per_page=100", _) => Some(reply(200, &rules)),
            ("GET /repos/acme/config/rulesets/1?includes_parents=true", _) => Some(reply(200, &ruleset)),
            ("GET /repos/acme/config/branches/main", _) => Some(reply(200, &json!({ "name": "main" }))),
            (_, "Protection") => Some(reply(200, &json!({ "data": { "repository": { "ref": branch } } }))),
            (_, "Conversations" | "Signature" | "Deployments") => {
                Some(reply(200, &json!({ "data": { "repository": { "pullRequest": pull } } })))
            }
            _ => None,
        }
    })
    .await;
    let repo = server.hub(app(1), Some(app(2))).open(&repository()).await.unwrap();
    let demands = match repo.branch_rules("main").await.map_err(|error| error.to_string())?.demands {
        Read::Known(demands) => demands,
        Read::Unread(why) => return Err(why),
    };
    let (head, up_to_date) = (Sha::from("abc"), Read::Known(up_to_date));
    let candidate = MergeCandidate { number: PullNumber(7), head: &head, up_to_date: &up_to_date };
    let unmet = repo.unmet(&demands, &candidate).await.map_err(|error| error.to_string())?;
    Ok(unmet.into_iter().map(|UnmetRule { rule, why }| (rule, why)).collect())
}

fn rule(kind: &str, parameters: Value) -> Value {
    json!([{ "type": kind, "ruleset_id": 1, "parameters": parameters }])
}

/// A pull request with nothing against it.
fn pull() -> Value {
    let deployed = json!({ "environment": "staging", "latestStatus": { "state": "SUCCESS" } });
    json!({
        "headRefOid": "abc",
        "reviewThreads": { "nodes": [{ "isResolved": true }], "pageInfo": { "hasNextPage": false } },
        "commits": { "nodes": [{ "commit": {
            "signature": { "isValid": true }, "deployments": { "nodes": [deployed] } } }] },
    })
}

#[tokio::test]
async fn f27_rules_that_cannot_be_asked_are_never_passed_and_unknown_ones_neither() {
    for kind in [
        "merge_queue",
        "workflows",
        "code_scanning",
        "update",
        "commit_message_pattern",
        "commit_author_email_pattern",
        "committer_email_pattern",
        "file_path_restriction",
        "max_file_path_length",
        "file_extension_restriction",
        "max_file_size",
        "made_up_tomorrow",
    ] {
        let found = unmet(rule(kind, json!({ "any": 1 })), pull(), true).await.unwrap();
        assert_eq!(found.iter().map(|(rule, _)| rule.as_str()).collect::<Vec<_>>(), [kind], "{found:?}");
    }
    for kind in
        ["creation", "deletion", "non_fast_forward", "branch_name_pattern", "tag_name_pattern", "copilot_code_review"]
    {
        assert_eq!(unmet(rule(kind, Value::Null), pull(), false).await, Ok(Vec::new()), "{kind}");
    }
}

/// A branch that GraphQL does not show may be protected by anything, and a ruleset that does not say whom it binds may
/// not bind the bot.
#[tokio::test]
async fn f27_what_the_hub_leaves_out_of_its_rules_is_unknown() {
    let bound = json!({ "name": "main", "current_user_can_bypass": "never" });
    let shown = json!({ "refUpdateRule": null });
    for (ruleset, branch, expected) in [
        (bound.clone(), shown.clone(), None),
        (bound, Value::Null, Some("does not find it")),
        (json!({ "name": "main" }), shown, Some("does not say whether the bot may pass")),
    ] {
        let found = unmet_at(ruleset, branch, rule("pull_request", json!({})), pull(), true).await;
        match (&found, expected) {
            (Ok(unmet), None) => assert!(unmet.is_empty(), "{unmet:?}"),
            (Err(why), Some(expected)) => assert!(why.contains(expected), "{why}"),
            _ => panic!("{found:?}, not {expected:?}"),
        }
    }
}

#[tokio::test]
async fn rules_that_can_be_asked_are_asked_about_this_very_head() {
    let threads = json!({ "required_review_thread_resolution": true, "allowed_merge_methods": ["merge", "squash"] });
    let squash = json!({ "allowed_merge_methods": ["squash"] });
    let strict = json!({ "strict_required_status_checks_policy": true, "required_status_checks": [] });
    let staging = json!({ "required_deployment_environments": ["staging"] });
    let with = |path: &str, value: Value| {
        let mut pull = pull();
        *pull.pointer_mut(path).unwrap() = value;
        pull
    };
    let deployments = "/commits/nodes/0/commit/deployments/nodes";
    let failed = json!([
        { "environment": "staging", "latestStatus": { "state": "FAILURE" } },
        { "environment": "staging", "latestStatus": { "state": "SUCCESS" } },
    ]);
    type Case = (&'static str, Value, Value, bool, Option<&'static str>);
    let nothing = json!({ "allowed_merge_methods": ["fast-forward"] });
    let cases: [Case; 14] = [
        ("pull_request", threads.clone(), pull(), false, None),
        (
            "pull_request",
            threads.clone(),
            with("/reviewThreads/nodes/0/isResolved", false.into()),
            true,
            Some("not resolved"),
        ),
        ("pull_request", squash, pull(), true, None),
        ("pull_request", nothing, pull(), true, Some("it takes fast-forward, which the repository or another rule")),
        ("required_status_checks", strict.clone(), pull(), true, None),
        ("required_status_checks", strict, pull(), false, Some("not up to date")),
        ("required_linear_history", Value::Null, pull(), true, None),
        ("required_signatures", Value::Null, pull(), true, None),
        (
            "required_signatures",
            Value::Null,
            with("/commits/nodes/0/commit/signature", Value::Null),
            true,
            Some("no signature"),
        ),
        ("required_deployments", staging.clone(), pull(), true, None),
        ("required_deployments", staging.clone(), with(deployments, json!([])), true, Some("not deployed to staging")),
        ("required_deployments", staging, with(deployments, failed), true, Some("not deployed to staging")),
        ("pull_request", json!({}), pull(), true, None),
        ("required_status_checks", json!({ "required_status_checks": [] }), pull(), false, None),
    ];
    for (kind, parameters, pull, up_to_date, expected) in cases {
        let found = unmet(rule(kind, parameters), pull, up_to_date).await.unwrap();
        match (found.as_slice(), expected) {
            ([], None) => {}
            ([(rule, why)], Some(expected)) => assert!(rule == kind && why.contains(expected), "{found:?}"),
            _ => panic!("{kind}: {found:?}"),
        }
    }
    // What is not known for sure is not met.
    let more = with("/reviewThreads/pageInfo/hasNextPage", true.into());
    assert!(unmet(rule("pull_request", threads.clone()), more, true).await.is_err());
    let moved = with("/headRefOid", "other".into());
    assert!(unmet(rule("pull_request", threads), moved, true).await.is_err());
    assert!(unmet(rule("required_deployments", json!({})), pull(), true).await.is_err());
}

#[tokio::test]
async fn a06_a_check_counts_as_ours_by_its_app_and_a_status_by_its_author() {
    use decide::snapshot::CheckState;
    let check = |run: Option<u64>, app: Option<u64>, by: &str| HubCheck {
        name: "coldframe".to_owned(),
        state: CheckState::Success,
        app,
        by: Some(Author { login: by.into(), human: false }),
        run,
        title: String::new(),
        mark: None,
    };
    let server = Server::start(|seen| match seen.call().as_str() {
        "GET /user" => Some(reply(200, &json!({ "login": "alice" }))),
        _ => None,
    })
    .await;
    let app = server.open().await;
    assert!(app.wrote(&check(Some(5), Some(1), "x")));
    assert!(!app.wrote(&check(Some(5), Some(2), "x")) && !app.wrote(&check(None, None, "coldframe1[bot]")));
    let token = server.open_with_token().await;
    assert!(token.wrote(&check(None, None, "alice")));
    assert!(!token.wrote(&check(None, None, "bob")) && !token.wrote(&check(Some(5), Some(1), "alice")));
}
