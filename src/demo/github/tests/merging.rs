//! Reviews, checks, conflicts, and what the merge answers.
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_owns_merges_and_leaves_a_merge_commit() {
    let town = town().await;
    let head = town.branch("coldframe/app/qa", "clusters/qa/app.yaml", "1.1.0");
    let number = town.open("coldframe/app/qa").await;
    let (status, pull) = town.get(&format!("/repos/acme/config/pulls/{number}")).await;
    assert_eq!(
        (status, &pull["mergeable"], &pull["mergeable_state"], &pull["commits"], &pull["changed_files"]),
        (200, &json!(true), &json!("clean"), &json!(1), &json!(1))
    );
    let before = town.hub.head(REPO, "main").unwrap().unwrap();
    let (status, merged) = town.merge(number, &town.token, &head).await;
    assert_eq!((status, &merged["merged"]), (200, &json!(true)), "{merged}");
    let top = town.hub.log(REPO, "main").unwrap().remove(0);
    assert_eq!(top.sha, merged["sha"].as_str().unwrap());
    assert_eq!(top.parents, [before, head.clone()]);
    assert_eq!(top.message, "Merge pull request #1 from acme/coldframe/app/qa\n\nBump on coldframe/app/qa");
    assert_eq!(top.author.0, "coldframe[bot]");
    let view = town.hub.pull(REPO, number).unwrap();
    assert!(matches!(&view.standing, PullStanding::Merged { by, .. } if by == "coldframe[bot]"));
    assert_eq!(town.get(&format!("/repos/acme/config/pulls/{number}/merge")).await.0, 204);
    let again = town.merge(number, &town.token, &head).await;
    assert_eq!((again.0, message(&again.1)), (405, "Pull Request is not mergeable"));
}

#[tokio::test(flavor = "multi_thread")]
async fn code_owners_must_approve_and_the_bypassing_app_need_not() {
    let town = town().await;
    let head = town.branch("coldframe/app/silver", "clusters/silver/app.yaml", "1.1.0");
    let number = town.open("coldframe/app/silver").await;
    let waiting = "Waiting on code owner review from acme/platform.";
    let refused = town.merge(number, &town.token, &head).await;
    assert_eq!((refused.0, message(&refused.1)), (405, waiting));
    // bob writes but does not own, eve may say yes but it does not count.
    for person in ["bob", "eve"] {
        town.hub.approve(REPO, number, person).unwrap();
        assert_eq!(town.merge(number, &town.token, &head).await.0, 405, "{person}");
    }
    town.hub.approve(REPO, number, "alice").unwrap();
    town.hub.request_changes(REPO, number, "bob", "not yet").unwrap();
    let refused = town.merge(number, &town.token, &head).await;
    assert_eq!((refused.0, message(&refused.1)), (405, "Changes requested by bob."));
    town.hub.dismiss_reviews(REPO, number, "bob", "carol").unwrap();
    assert_eq!(town.merge(number, &town.token, &head).await.0, 200);

    let head = town.branch("coldframe/other/silver", "clusters/silver/other.yaml", "1.0.0");
    let number = town.open("coldframe/other/silver").await;
    let force = town.installation_token(&town.bypass).await;
    assert_eq!(town.merge(number, &town.token, &head).await.0, 405);
    assert_eq!(town.merge(number, &force, &head).await.0, 200);
    let last = town.hub.events(REPO).unwrap().into_iter().rfind(|event| event.starts_with("merged"));
    assert_eq!(last.unwrap(), format!("merged #{number} by coldframe-force[bot]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approver_who_left_counts_no_more() {
    let town = town().await;
    let head = town.branch("s", "clusters/silver/app.yaml", "1.1.0");
    let number = town.open("s").await;
    town.hub.approve(REPO, number, "alice").unwrap();
    assert!(town.hub.pull(REPO, number).unwrap().blockers.is_empty());
    town.hub.leave_team("acme", "platform", "alice");
    assert_eq!(town.merge(number, &town.token, &head).await.0, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_dismisses_approvals_and_moves_the_head() {
    let town = town().await;
    let old = town.branch("s", "clusters/silver/app.yaml", "1.1.0");
    let number = town.open("s").await;
    town.hub.approve(REPO, number, "alice").unwrap();
    let new = town.branch("s", "clusters/silver/app.yaml", "1.2.0");
    let view = town.hub.pull(REPO, number).unwrap();
    assert_eq!((view.head_sha, view.reviews[0].state), (new.clone(), "DISMISSED"));
    let refused = town.merge(number, &town.token, &old).await;
    assert_eq!((refused.0, message(&refused.1)), (409, "Head branch was modified. Review and try the merge again."));
    assert_eq!(town.merge(number, &town.token, &new).await.0, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn counted_approvals_required_checks_and_administrators() {
    let town = town().await;
    let rules = Protection {
        required_approving_review_count: 1,
        required_checks: vec!["coldframe".into()],
        bypass_apps: vec![town.bypass.id],
        ..Protection::default()
    };
    town.hub.protect(REPO, "main", rules.clone()).unwrap();
    let head = town.branch("q", "clusters/qa/app.yaml", "1.1.0");
    let number = town.open("q").await;
    let refused = town.merge(number, &town.token, &head).await;
    assert_eq!(
        message(&refused.1),
        "At least 1 approving review is required by reviewers with write access. \
         Required status check \"coldframe\" is expected."
    );
    // The second App needs no review, but the check.
    let force = town.installation_token(&town.bypass).await;
    for (conclusion, says) in [("action_required", "failing"), ("success", "")] {
        let body = json!({"name": "coldframe", "head_sha": head, "conclusion": conclusion});
        assert_eq!(town.post("/repos/acme/config/check-runs", body).await.0, 201);
        let answer = town.merge(number, &force, &"0".repeat(40)).await;
        assert_eq!(answer.0, 409);
        assert_eq!(
            town.hub.pull(REPO, number).unwrap().blockers.iter().any(|b| b.contains("failing")),
            !says.is_empty()
        );
    }
    town.hub.protect(REPO, "main", Protection { enforce_admins: true, ..rules.clone() }).unwrap();
    assert!(town.hub.merge_as(REPO, number, "carol").is_err());
    town.hub.protect(REPO, "main", rules).unwrap();
    assert!(town.hub.merge_as(REPO, number, "eve").is_err());
    assert!(town.hub.merge_as(REPO, number, "bob").is_err());
    town.hub.merge_as(REPO, number, "carol").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn conflicts_drafts_and_squash() {
    let town = town().await;
    let first = town.branch("one", "clusters/qa/app.yaml", "1.1.0");
    let second = town.branch("two", "clusters/qa/app.yaml", "1.2.0");
    let (one, two) = (town.open("one").await, town.open("two").await);
    let squash = json!({"sha": first, "merge_method": "squash", "commit_title": "Squashed"});
    assert_eq!(town.put(&format!("/repos/acme/config/pulls/{one}/merge"), squash).await.0, 200);
    let top = town.hub.log(REPO, "main").unwrap().remove(0);
    assert_eq!((top.parents.len(), top.message.as_str()), (1, "Squashed"));
    let pull = town.get(&format!("/repos/acme/config/pulls/{two}")).await.1;
    assert_eq!((&pull["mergeable"], &pull["mergeable_state"]), (&json!(false), &json!("dirty")));
    let refused = town.merge(two, &town.token, &second).await;
    assert_eq!((refused.0, message(&refused.1)), (405, "Pull Request is not mergeable"));
    let head = town.branch("three", "clusters/qa/other.yaml", "1.0.0");
    let three = town.open("three").await;
    town.hub.set_draft(REPO, three, "bob", true).unwrap();
    let refused = town.merge(three, &town.token, &head).await;
    assert_eq!((refused.0, message(&refused.1)), (405, "Pull Request is still a draft"));
    let rebase = json!({"sha": head, "merge_method": "rebase"});
    town.hub.set_draft(REPO, three, "bob", false).unwrap();
    assert_eq!(town.put(&format!("/repos/acme/config/pulls/{three}/merge"), rebase).await.0, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn authors_do_not_review_their_own() {
    let town = town().await;
    town.branch("s", "clusters/silver/app.yaml", "1.1.0");
    let number = town.open("s").await;
    let path = format!("/repos/acme/config/pulls/{number}/reviews");
    for event in ["APPROVE", "REQUEST_CHANGES"] {
        let answer = town.post(&path, json!({"event": event, "body": "mine"})).await;
        assert_eq!(answer.0, 422);
        assert!(answer.1["errors"][0].as_str().unwrap().contains("your own pull request"), "{}", answer.1);
    }
    let alice = town.hub.add_token("alice");
    let answer = town.ask(Method::POST, &path, &alice, json!({"event": "APPROVE"})).await;
    assert_eq!((answer.0, &answer.1["state"]), (200, &json!("APPROVED")));
    let answer = town.ask(Method::POST, &path, &alice, json!({"event": "REQUEST_CHANGES"})).await;
    assert_eq!((answer.0, &answer.1["errors"][0]), (422, &json!("Body can't be blank")));
    assert_eq!(town.get(&path).await.1.as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_reopening_and_deleted_branches() {
    let town = town().await;
    town.branch("s", "clusters/qa/app.yaml", "1.1.0");
    let number = town.open("s").await;
    town.hub.close(REPO, number, "bob").unwrap();
    assert!(town.hub.close(REPO, number, "eve").is_err());
    let body = json!({"title": "again", "head": "s", "base": "main"});
    let other = town.post("/repos/acme/config/pulls", body.clone()).await;
    assert_eq!(other.0, 201);
    let refused = town.hub.reopen(REPO, number, "bob").unwrap_err().to_string();
    assert!(refused.contains("already an open pull request"), "{refused}");
    // Deleting the branch closes what is open; a closed one then stays closed.
    let other = other.1["number"].as_u64().unwrap();
    town.hub.force_branch(REPO, "s", "bob", None).unwrap();
    let view = town.hub.pull(REPO, other).unwrap();
    assert!(matches!(&view.standing, PullStanding::Closed { by, .. } if by == "bob"));
    let refused = town.hub.reopen(REPO, other, "bob").unwrap_err().to_string();
    assert!(refused.contains("has been deleted"), "{refused}");
    assert_eq!(town.post("/repos/acme/config/pulls", body).await.0, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn merging_may_delete_the_head_branch() {
    let town = town().await;
    town.hub.set_delete_branch_on_merge(REPO, true).unwrap();
    let head = town.branch("q", "clusters/qa/app.yaml", "1.1.0");
    let number = town.open("q").await;
    assert_eq!(town.merge(number, &town.token, &head).await.0, 200);
    assert_eq!(town.hub.head(REPO, "q").unwrap(), None);
    assert!(matches!(town.hub.pull(REPO, number).unwrap().standing, PullStanding::Merged { .. }));
    assert_eq!(town.get("/repos/acme/config/git/ref/pull/1/head").await.1["object"]["sha"], head);
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_that_reach_main_another_way_count_as_merged() {
    let town = town().await;
    let head = town.branch("q", "clusters/qa/app.yaml", "1.1.0");
    let number = town.open("q").await;
    let carol = town.hub.add_token("carol");
    town.git(&town.dir.path().join("clone"), &["push", "-q", &town.remote(&carol), &format!("{head}:main")]);
    let view = town.hub.pull(REPO, number).unwrap();
    assert!(
        matches!(view.standing, PullStanding::Merged { ref by, ref commit, .. } if by == "carol" && *commit == head)
    );
}
