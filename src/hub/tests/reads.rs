//! What is read, and what is done with answers that are not whole.

use decide::snapshot::{CheckState, Mergeable, Read, ReviewDecision, ReviewVerdict};
use decide::{Person, PullNumber, Sha};
use serde_json::{Value, json};

use super::super::{HubError, HubState, Role};
use super::{Reply, Seen, Server, reply};

const GRAPHQL: &str = "POST /api/graphql";

fn fixture() -> Value {
    serde_json::from_str(include_str!("../../../tests/fixtures/hub/pull.json")).unwrap()
}

fn with(changes: &[(&str, Value)]) -> Value {
    let mut pull = fixture();
    for (pointer, value) in changes {
        *pull.pointer_mut(pointer).unwrap() = value.clone();
    }
    pull
}

fn page(open: &[Value], closed: &[Value]) -> Value {
    let last = json!({ "hasNextPage": false, "endCursor": null });
    json!({ "repository": { "open": { "nodes": open, "pageInfo": last }, "closed": { "nodes": closed } } })
}

fn graphql(answer: impl Fn(&Seen) -> Value + Send + Sync + 'static) -> impl Fn(&Seen) -> Option<Reply> + Send + Sync {
    move |seen| (seen.call() == GRAPHQL).then(|| reply(200, &answer(seen)))
}

#[tokio::test]
async fn one_query_reads_everything() {
    let closed = with(&[
        ("/number", json!(5)),
        ("/state", json!("CLOSED")),
        ("/closedAt", json!("2026-11-20T09:00:00Z")),
        (
            "/timelineItems/nodes",
            json!([{ "createdAt": "2026-11-20T09:00:00Z", "actor": { "__typename": "User", "login": "bob" } }]),
        ),
    ]);
    let merged = with(&[
        ("/number", json!(4)),
        ("/state", json!("MERGED")),
        ("/mergedAt", json!("2026-11-19T09:00:00Z")),
        ("/mergedBy", json!({ "__typename": "Bot", "login": "coldframe1" })),
        ("/mergeCommit", json!({ "oid": "333" })),
    ]);
    let stranger = with(&[("/number", json!(6)), ("/headRefName", json!("feature/x"))]);
    let data = page(&[fixture(), stranger], &[closed, merged]);
    let server = Server::start(graphql(move |_| json!({ "data": data }))).await;
    let page = server.open().await.pulls("main").await.unwrap();
    let pulls = page.ours;
    assert_eq!(page.others.iter().map(|pull| (pull.number.0, pull.claims)).collect::<Vec<_>>(), [(6, true)]);
    assert_eq!(server.count(GRAPHQL), 1);
    let asked = server.seen().into_iter().find(|seen| seen.call() == GRAPHQL).unwrap().body;
    assert_eq!(
        asked["variables"],
        json!({ "owner": "acme", "name": "config", "base": "main", "open": 50, "closed": 50 })
    );
    assert_eq!(asked["operationName"], "Pulls");

    assert_eq!(pulls.iter().map(|pull| pull.number.0).collect::<Vec<_>>(), [4, 5, 7]);
    let HubState::Merged { by: Some(by), commit, .. } = &pulls[0].state else { panic!("{:?}", pulls[0].state) };
    assert_eq!((by.login.as_str(), by.human, commit), ("coldframe1[bot]", false, &Some(Sha::from("333"))));
    let HubState::Closed { by: Some(by), .. } = &pulls[1].state else { panic!("{:?}", pulls[1].state) };
    assert_eq!((by.login.as_str(), by.human), ("bob", true));

    let pull = &pulls[2];
    assert_eq!(
        (&pull.state, pull.mergeable, pull.review_decision),
        (&HubState::Open, Mergeable::Yes, ReviewDecision::Required)
    );
    assert!(pull.is_by(&Person::from("coldframe[bot]")) && !pull.is_by(&Person::from("coldframe")));
    assert!(pull.message.known().unwrap().ends_with("Coldframe-Version: 1.15.0"));
    let reviews = pull.reviews.known().unwrap();
    let said: Vec<_> = reviews.iter().map(|review| (review.by.as_ref().map(|by| by.human), review.verdict)).collect();
    let expected = [
        (Some(true), ReviewVerdict::Approved),
        (None, ReviewVerdict::Commented),
        (Some(false), ReviewVerdict::Commented),
    ];
    assert_eq!(said, expected);
    let comments = pull.comments.known().unwrap();
    assert_eq!((comments[0].id, comments[0].edited_at.is_some()), (4_294_967_299, true));
    assert_eq!((pull.older_comments.as_deref(), &pull.older_reviews), (Some(""), &None));
    let checks: Vec<_> = pull.checks.known().unwrap().iter().map(|check| (check.name.as_str(), check.state)).collect();
    let expected = [
        ("coldframe", CheckState::Failure),
        ("e2e", CheckState::Pending),
        ("docs", CheckState::Success),
        ("ci/lint", CheckState::Failure),
        ("", CheckState::Pending),
    ];
    assert_eq!(checks, expected);
    let ours = &pull.checks.known().unwrap()[0];
    assert_eq!((ours.run, ours.app, ours.mark.as_deref()), (Some(28_543_210_987), Some(1), Some("abc")));
}

#[tokio::test]
async fn open_ones_come_page_by_page() {
    let server = Server::start(graphql(|seen| {
        let second = seen.body["variables"]["after"] == "c1";
        assert_eq!(seen.body["operationName"], if second { "MorePulls" } else { "Pulls" });
        let number = if second { 9 } else { 7 };
        let mut data = page(&[with(&[("/number", json!(number))])], &[]);
        data["repository"]["open"]["pageInfo"] = json!({ "hasNextPage": !second, "endCursor": "c1" });
        json!({ "data": data })
    }))
    .await;
    let pulls = server.open().await.pulls("main").await.unwrap().ours;
    assert_eq!(pulls.iter().map(|pull| pull.number.0).collect::<Vec<_>>(), [7, 9]);
}

#[tokio::test]
async fn a_partial_answer_is_unread_in_that_part_and_an_error_where_everything_rests_on_it() {
    let error = |path: Value| json!([{ "type": "FORBIDDEN", "path": path, "message": "Resource not accessible" }]);
    let nodes = |rest: &[Value]| {
        let mut path = vec![json!("repository"), json!("open"), json!("nodes"), json!(0)];
        path.extend_from_slice(rest);
        Value::from(path)
    };
    let rollup = "/commits/nodes/0/commit/statusCheckRollup";
    let deep = [json!("commits"), json!("nodes"), json!(0), json!("commit"), json!("statusCheckRollup")];
    // What is null, where the error points; which of reviews, comments, checks can be read.
    let cases: [(&str, Value, Option<[bool; 3]>); 7] = [
        (rollup, nodes(&deep), Some([true, true, false])),
        ("/reviews", nodes(&[json!("reviews")]), Some([false, true, true])),
        ("/comments", nodes(&[json!("comments"), json!("nodes"), json!(3)]), Some([true, false, true])),
        ("/mergeCommit", nodes(&[json!("mergeCommit")]), None),
        ("/author", nodes(&[json!("author")]), None),
        ("/author", nodes(&[]), None),
        ("/author", json!(["repository", "closed"]), None),
    ];
    for (null, path, readable) in cases {
        let data = page(&[with(&[(null, Value::Null)])], &[]);
        let answer = json!({ "data": data, "errors": error(path.clone()) });
        let server = Server::start(graphql(move |_| answer.clone())).await;
        match (server.open().await.pulls("main").await, readable) {
            (Ok(pulls), Some(readable)) => {
                let pull = &pulls.ours[0];
                let found =
                    [pull.reviews.known().is_some(), pull.comments.known().is_some(), pull.checks.known().is_some()];
                assert_eq!(found, readable, "{path}");
            }
            (Err(HubError::Partial { why, .. }), None) => assert!(why.contains("not accessible"), "{why}"),
            (other, _) => panic!("{path}: {other:?}"),
        }
    }
}

/// Pages before the one that came with it are read up to a bound; where that does not reach the first, it says so.
#[tokio::test]
async fn a40_older_talk_is_read_page_by_page_up_to_a_bound() {
    for (pages, fails, left) in [(1, false, None), (10, false, None), (11, false, Some("c10")), (3, true, Some("c1"))] {
        let server = Server::start(graphql(move |seen| {
            let comment = |id: usize| {
                json!({ "databaseId": id, "createdAt": "2026-11-20T09:00:00Z", "body": "x", "author": null })
            };
            let before = seen.body["variables"]["before"].as_str().map(|before| before[1..].parse::<usize>().unwrap());
            let at = before.map_or(0, |before| before + 1);
            let info = json!({ "hasPreviousPage": at < pages, "startCursor": format!("c{at}") });
            if before.is_some() {
                let comments = json!({ "nodes": [comment(1_000 - at)], "pageInfo": info });
                let hole = json!({ "nodes": [null], "pageInfo": info });
                let comments = if fails && at == 2 { hole } else { comments };
                return json!({ "data": { "repository": { "pullRequest": { "comments": comments } } } });
            }
            let talk = json!({ "nodes": [comment(1_000)], "pageInfo": info });
            json!({ "data": page(&[with(&[("/comments", talk)])], &[]) })
        }))
        .await;
        let pull = server.open().await.pulls("main").await.unwrap().ours.remove(0);
        assert_eq!(pull.older_comments.as_deref(), left, "{pages} pages");
        let ids: Vec<u64> = pull.comments.known().unwrap().iter().map(|comment| comment.id).collect();
        assert!(ids.is_sorted() && ids.last() == Some(&1_000), "{ids:?}");
        assert_eq!(ids.len(), if fails { 2 } else { pages.min(10) + 1 });
    }
    let talk = json!({ "hasPreviousPage": true });
    let data = page(&[with(&[("/reviews/pageInfo", talk)])], &[]);
    let server = Server::start(graphql(move |_| json!({ "data": data }))).await;
    let pull = server.open().await.pulls("main").await.unwrap().ours.remove(0);
    assert_eq!(pull.older_reviews.as_deref(), Some(""));
}

#[tokio::test]
async fn what_is_missing_without_an_error_is_not_empty() {
    let more = json!({ "hasNextPage": true });
    let cases: [(&str, Value, [bool; 3]); 4] = [
        ("/reviews", Value::Null, [false, true, true]),
        ("/reviews/nodes/0", Value::Null, [false, true, true]),
        ("/comments/nodes/0/databaseId", Value::Null, [true, false, true]),
        ("/commits/nodes/0/commit/statusCheckRollup/contexts/pageInfo", more, [true, true, false]),
    ];
    for (pointer, value, readable) in cases {
        let data = page(&[with(&[(pointer, value)])], &[]);
        let server = Server::start(graphql(move |_| json!({ "data": data }))).await;
        let pull = server.open().await.pulls("main").await.unwrap().ours.remove(0);
        let found = [pull.reviews.known().is_some(), pull.comments.known().is_some(), pull.checks.known().is_some()];
        assert_eq!(found, readable, "{pointer}");
    }
    // No rollup and no error: nobody has said anything yet.
    let data = page(&[with(&[("/commits/nodes/0/commit/statusCheckRollup", Value::Null)])], &[]);
    let server = Server::start(graphql(move |_| json!({ "data": data }))).await;
    let pull = server.open().await.pulls("main").await.unwrap().ours.remove(0);
    assert_eq!(pull.checks, Read::Known(Vec::new()));
}

#[tokio::test]
async fn a_head_that_moved_meanwhile_is_unread() {
    let data = page(&[with(&[("/headRefOid", json!("4444444"))])], &[]);
    let server = Server::start(graphql(move |_| json!({ "data": data }))).await;
    let pull = server.open().await.pulls("main").await.unwrap().ours.remove(0);
    assert_eq!(pull.head, Sha::from("4444444"));
    assert!(pull.message.known().is_none() && pull.checks.known().is_none());
}

#[tokio::test]
async fn holes_words_and_limits() {
    let hole = json!({ "repository": { "open": { "nodes": [null], "pageInfo": {} }, "closed": { "nodes": [] } } });
    let endless = json!({ "repository": { "open": { "nodes": [], "pageInfo": { "hasNextPage": true } } } });
    let limited = json!([{ "type": "RATE_LIMITED", "message": "API rate limit exceeded" }]);
    type Is = fn(&HubError) -> bool;
    let cases: [(Value, Is); 6] = [
        (json!({ "data": hole }), |error| matches!(error, HubError::Malformed { .. })),
        (json!({ "data": endless }), |error| matches!(error, HubError::Malformed { .. })),
        (json!({ "data": page(&[with(&[("/state", json!("FROZEN"))])], &[]) }), |error| {
            matches!(error, HubError::Malformed { .. })
        }),
        (
            json!({ "data": { "repository": null }, "errors": [{ "type": "NOT_FOUND", "path": ["repository"], "message": "x" }] }),
            |error| matches!(error, HubError::NotFound { .. }),
        ),
        (json!({ "errors": [{ "message": "Something went wrong" }] }), |error| {
            matches!(error, HubError::Partial { .. })
        }),
        (json!({ "errors": limited }), |error| matches!(error, HubError::Limited { .. })),
    ];
    for (answer, is) in cases {
        let shown = answer.to_string();
        let server = Server::start(graphql(move |_| answer.clone())).await;
        let error = server.open().await.pulls("main").await.unwrap_err();
        assert!(is(&error), "{shown}: {error}");
    }
    // Words of enums that we do not know are never a yes.
    let strange = with(&[("/mergeable", json!("MAYBE")), ("/reviewDecision", json!("BLESSED"))]);
    let server = Server::start(graphql(move |_| json!({ "data": page(std::slice::from_ref(&strange), &[]) }))).await;
    let pull = server.open().await.pulls("main").await.unwrap().ours.remove(0);
    assert_eq!((pull.mergeable, pull.review_decision), (Mergeable::Unknown, ReviewDecision::Required));
}

#[tokio::test]
async fn a_page_too_big_for_the_hub_is_asked_for_in_halves() {
    let server = Server::start(|seen| {
        if seen.call() != GRAPHQL {
            return None;
        }
        if seen.body["variables"]["open"].as_u64().unwrap() > 12 {
            return Some(reply(502, &json!({ "message": "We couldn't respond to your request in time." })));
        }
        Some(reply(200, &json!({ "data": page(&[fixture()], &[]) })))
    })
    .await;
    assert_eq!(server.open().await.pulls("main").await.unwrap().ours.len(), 1);
    assert_eq!(server.count(GRAPHQL), 3);
    let server = Server::start(|seen| (seen.call() == GRAPHQL).then(|| reply(502, &json!({})))).await;
    assert!(matches!(server.open().await.pulls("main").await, Err(HubError::Failed { status: 502, .. })));
}

#[tokio::test]
async fn one_pull_request() {
    let server = Server::start(graphql(|seen| match seen.body["variables"]["number"].as_u64() {
        Some(7) => json!({ "data": { "repository": { "pullRequest": fixture() } } }),
        Some(8) => json!({ "data": { "repository": { "pullRequest": with(&[("/reviews", Value::Null)]) } },
            "errors": [{ "path": ["repository", "pullRequest", "reviews"], "message": "timeout" }] }),
        _ => json!({ "data": { "repository": { "pullRequest": null } },
            "errors": [{ "type": "NOT_FOUND", "path": ["repository", "pullRequest"], "message": "Could not resolve" }] }),
    }))
    .await;
    let repo = server.open().await;
    assert_eq!(repo.pull(PullNumber(7)).await.unwrap().number, PullNumber(7));
    assert_eq!(repo.pull(PullNumber(8)).await.unwrap().reviews, Read::Unread("timeout".to_owned()));
    assert!(matches!(repo.pull(PullNumber(9)).await, Err(HubError::NotFound { .. })));
}

#[tokio::test]
async fn the_second_look_by_rest() {
    let one = |number: u64, state: &str, branch: &str| {
        json!({ "number": number, "state": state, "merged_at": null, "user": { "login": "coldframe1[bot]" },
            "head": { "ref": branch, "sha": "2" }, "base": { "ref": "main", "sha": "1" }, "extra": {} })
    };
    let list = json!([one(3, "closed", "coldframe/a/b"), one(4, "open", "coldframe/a/b"), one(5, "open", "other")]);
    let server = Server::start(move |seen| {
        let path = "GET /repos/acme/config/pulls?head=acme%3Acoldframe%2Fa%2Fb&state=all&per_page=100";
        (seen.call() == path).then(|| reply(200, &list))
    })
    .await;
    let pulls = server.open().await.pulls_of_branch("coldframe/a/b").await.unwrap();
    assert_eq!(pulls.iter().map(|pull| (pull.number.0, pull.open)).collect::<Vec<_>>(), [(3, false), (4, true)]);
}

#[tokio::test]
async fn the_second_look_at_several_branches_is_one_request() {
    let branches: Vec<String> = ["a", "b", "c"].map(|name| format!("coldframe/{name}/qa")).to_vec();
    let one = |number: u64, state: &str, branch: &str, fork: bool| {
        json!({ "number": number, "state": state, "mergedAt": null, "headRefOid": "2", "headRefName": branch,
            "baseRefName": "main", "isCrossRepository": fork, "author": { "__typename": "Bot", "login": "coldframe1" } })
    };
    let lists = [
        json!({ "nodes": [one(4, "OPEN", "coldframe/a/qa", false), one(3, "CLOSED", "coldframe/a/qa", false)] }),
        // A fork's, and what a hub without the filter would show.
        json!({ "nodes": [one(5, "OPEN", "coldframe/b/qa", true), one(6, "OPEN", "other", false)] }),
        json!({ "nodes": [] }),
    ];
    let answers = [
        json!({ "data": { "repository": { "b0": lists[0], "b1": lists[1], "b2": lists[2] } } }),
        json!({ "data": { "repository": { "b0": lists[0], "b1": lists[1] } } }),
        json!({ "data": { "repository": { "b0": lists[0], "b1": null, "b2": lists[2] } },
            "errors": [{ "type": "FORBIDDEN", "path": ["repository", "b1"], "message": "no" }] }),
    ];
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let server = Server::start(move |seen| match seen.call().as_str() {
        GRAPHQL => {
            let body = &seen.body;
            assert_eq!(body["variables"]["b2"], "coldframe/c/qa");
            assert!(body["query"].as_str().unwrap().contains("b2: pullRequests(headRefName: $b2,"));
            let number = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Some(answers.get(number).map_or_else(|| reply(502, &json!({})), |answer| reply(200, answer)))
        }
        call if call.starts_with("GET /repos/acme/config/pulls?head=") => Some(reply(200, &json!([]))),
        _ => None,
    })
    .await;
    let repo = server.open().await;
    let found = repo.pulls_of_branches(&branches).await.unwrap();
    let numbers = |branch: &String| found[branch].iter().map(|pull| (pull.number.0, pull.open)).collect::<Vec<_>>();
    assert_eq!(branches.iter().map(numbers).collect::<Vec<_>>(), [vec![(4, true), (3, false)], vec![], vec![]]);
    assert_eq!(found[&branches[0]][0].author, Some(Person::from("coldframe1[bot]")));
    // A list that is missing or was not read is not an empty one.
    for _ in 0..2 {
        assert!(matches!(repo.pulls_of_branches(&branches).await, Err(HubError::Partial { .. })));
    }
    // What is too much at once is asked for one by one.
    assert_eq!(repo.pulls_of_branches(&branches).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a14_roles_and_owners() {
    let server = Server::start(|seen| match seen.call().as_str() {
        "GET /repos/acme/config/collaborators/ALICE/permission" => {
            Some(reply(200, &json!({ "permission": "write", "role_name": "maintain", "user": { "login": "Alice" } })))
        }
        "GET /repos/acme/config/collaborators/reader/permission" => {
            Some(reply(200, &json!({ "permission": "read", "role_name": "read" })))
        }
        "GET /orgs/acme/teams/platform/members?per_page=100" | "GET /orgs/acme/teams/guests/members?per_page=100" => {
            Some(reply(200, &json!([{ "login": "bob" }])))
        }
        "GET /orgs/acme/teams/strangers/members?per_page=100" => Some(reply(200, &json!([{ "login": "bob" }]))),
        "GET /orgs/acme/teams/platform/repos/acme/config" => {
            assert_eq!(seen.header("accept"), "application/vnd.github.v3.repository+json");
            Some(reply(200, &json!({ "permissions": { "pull": true, "push": true } })))
        }
        "GET /orgs/acme/teams/guests/repos/acme/config" => {
            Some(reply(200, &json!({ "permissions": { "pull": true, "push": false } })))
        }
        _ => None,
    })
    .await;
    let repo = server.open().await;
    assert_eq!(repo.may_write(&Person::from("ALICE")).await.unwrap(), Role::Maintain);
    let teams = [("@acme/platform", &["bob"][..]), ("@acme/guests", &[]), ("@acme/strangers", &[])];
    for (owner, people) in [("@ALICE", &["Alice"][..]), ("@reader", &[])].into_iter().chain(teams) {
        let found = repo.people_of(owner).await.unwrap();
        assert_eq!(found.iter().map(Person::as_str).collect::<Vec<_>>(), people, "{owner}");
    }
    for owner in ["docs@example.com", "@", "@a/b/c", "@../x", "nobody"] {
        assert!(matches!(repo.people_of(owner).await, Err(HubError::Owner { .. })), "{owner}");
    }
    // Unknown is no right and no empty team.
    assert!(repo.people_of("@acme/secret").await.is_err());
    assert!(repo.may_write(&Person::from("ghost")).await.is_err());
}

#[tokio::test]
async fn required_checks_of_rules_and_of_classic_protection() {
    let server = Server::start(|seen| match seen.call().as_str() {
        "GET /repos/acme/config/rules/branches/main?per_page=100" => Some(reply(200, &json!([
            { "type": "deletion", "ruleset_id": 1 },
            { "type": "required_status_checks", "ruleset_id": 1, "parameters": {
                "required_status_checks": [{ "context": "e2e", "integration_id": 15368 }, { "context": "lint" }] } },
        ]))),
        "GET /repos/acme/config/rulesets/1?includes_parents=true" => {
            Some(reply(200, &json!({ "name": "main", "current_user_can_bypass": "never" })))
        }
        "GET /repos/acme/config/branches/main" => Some(reply(200, &json!({ "name": "main", "protection": {
            "required_status_checks": { "contexts": ["old", "e2e", "any"],
                "checks": [{ "context": "old", "app_id": 9 }, { "context": "any", "app_id": -1 }] } } }))),
        _ => None,
    })
    .await;
    let repo = server.open().await;
    let rules = repo.branch_rules("main").await.unwrap();
    let contexts: Vec<_> = rules.contexts.into_iter().map(|context| (context.name, context.app)).collect();
    let of = |name: &str, app| (name.to_owned(), app);
    let expected = [of("any", None), of("e2e", None), of("e2e", Some(15368)), of("lint", None), of("old", Some(9))];
    assert_eq!(contexts, expected);
    assert!(repo.branch_rules("gone").await.is_err());
}
