//! The real git over HTTP.
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn clone_fetch_and_push() {
    let town = town().await;
    let head = town.branch("coldframe/app/qa", "clusters/qa/app.yaml", "1.1.0");
    assert_eq!(town.hub.head(REPO, "coldframe/app/qa").unwrap(), Some(head.clone()));
    assert_eq!(town.hub.file(REPO, &head, "clusters/qa/app.yaml").unwrap().unwrap(), "version: 1.1.0\n");
    // Anybody reads a public repository; a shallow fetch of one commit works.
    let open = format!("{}/{REPO}.git", town.hub.url());
    town.git(town.dir.path(), &["clone", "-q", "--depth", "1", &open, "shallow"]);
    let shallow = town.dir.path().join("shallow");
    town.git(&shallow, &["fetch", "-q", "--depth", "1", "origin", &head]);
    let number = town.open("coldframe/app/qa").await;
    let listed = town.git(&shallow, &["ls-remote", &open]);
    assert!(listed.contains(&format!("{head}\trefs/pull/{number}/head")), "{listed}");
    assert!(town.hub.events(REPO).unwrap().iter().any(|event| event.starts_with("pushed coldframe/app/qa")));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_moved_a_branch_is_noted() {
    let town = town().await;
    let moves = async |query: &str| {
        let (status, found) = town.get(&format!("/repos/acme/config/activity?{query}")).await;
        assert_eq!(status, 200, "{found}");
        let each = found.as_array().unwrap().iter();
        let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
        each.map(|one| (text(one, "activity_type"), text(&one["actor"], "login"), text(one, "after")))
            .collect::<Vec<_>>()
    };
    let main = town.hub.head(REPO, "main").unwrap().unwrap();
    let first = town.branch("note", "a", "1");
    let second = town.hub.push_file(REPO, "note", "bob", "b", "2", "More").unwrap();
    town.hub.force_branch(REPO, "note", "bob", Some(&first)).unwrap();
    town.hub.force_branch(REPO, "note", "carol", None).unwrap();
    let all = moves("ref=note").await;
    let kinds: Vec<&str> = all.iter().map(|(kind, _, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["branch_deletion", "force_push", "push", "branch_creation"], "newest first");
    assert_eq!(all[3].1, "coldframe[bot]");
    assert_eq!(moves("ref=refs/heads/note&actor=bob").await.last(), Some(&("push".into(), "bob".into(), second)));
    assert_eq!(moves("ref=note&actor=coldframe%5Bbot%5D").await, all[3..]);
    assert_eq!(moves("ref=note&per_page=1").await, all[..1]);
    town.hub.faults(|faults| faults.list_lag = std::time::Duration::from_secs(60));
    assert_eq!(moves("ref=note").await, [], "the list lags");
    assert_eq!(town.hub.head(REPO, "main").unwrap(), Some(main));
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_are_refused_by_rights_and_rules() {
    let town = town().await;
    town.hub.add_ruleset(REPO, "coldframe-ledger", &[Rule::Deletion, Rule::NonFastForward], &[]).unwrap();
    let bots_only = [Rule::Creation, Rule::Update];
    town.hub.add_ruleset(REPO, "coldframe-ledger", &bots_only, &[town.bot.id]).unwrap();
    let first = town.branch("coldframe-ledger", "a", "1");
    let clone = town.dir.path().join("clone");
    let (bob, eve) = (town.hub.add_token("bob"), town.hub.add_token("eve"));
    let carol = town.hub.add_token("carol");
    town.git(&clone, &["commit", "-q", "--allow-empty", "-m", "more"]);
    town.git(&clone, &["branch", "-q", "-f", "other", &first]);
    town.git(&clone, &["checkout", "-q", "-b", "amended", &first]);
    town.git(&clone, &["commit", "-q", "--amend", "-m", "rewritten"]);
    for (who, refspec, says) in [
        (&bob, "HEAD:main", "GH006: Protected branch update failed for refs/heads/main"),
        (&town.token, "HEAD:main", "Changes must be made through a pull request."),
        (&bob, "coldframe-ledger:coldframe-ledger", "GH013: Repository rule violations found"),
        (&town.token, "+amended:coldframe-ledger", "Cannot force-push to this branch"),
        (&town.token, ":coldframe-ledger", "Cannot delete this branch"),
        (&carol, ":main", ""),
        (&eve, "HEAD:refs/heads/eve", "denied to eve"),
        (&"wrong".to_owned(), "HEAD:refs/heads/x", "Authentication failed"),
        (&town.token, "HEAD:refs/pull/1/head", "deny updating a hidden ref"),
    ] {
        let output = town.try_git(&clone, &["push", &town.remote(who), refspec]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        // carol administers, and administrators are not bound; but nobody deletes the current branch.
        assert!(!output.status.success(), "{refspec}: {text}");
        assert!(text.contains(says), "{refspec}: {text}");
    }
    assert_eq!(town.hub.head(REPO, "coldframe-ledger").unwrap(), Some(first));
    for (who, refspec) in
        [(&town.token, "coldframe-ledger:coldframe-ledger"), (&carol, "HEAD:refs/heads/carol"), (&bob, "other:other")]
    {
        town.git(&clone, &["push", "-q", &town.remote(who), refspec]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn private_repositories_hide() {
    let town = town().await;
    town.hub.set_private(REPO, true).unwrap();
    let open = format!("{}/{REPO}.git", town.hub.url());
    assert!(!town.try_git(town.dir.path(), &["ls-remote", &open]).status.success());
    let stranger = town.hub.add_token("mallory");
    let output = town.try_git(town.dir.path(), &["ls-remote", &town.remote(&stranger)]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("not found"));
    town.git(town.dir.path(), &["ls-remote", &town.remote(&town.token)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn refs_by_rest_obey_the_same_rules() {
    let town = town().await;
    let main = town.hub.head(REPO, "main").unwrap().unwrap();
    let head = town.branch("work", "clusters/qa/app.yaml", "1.1.0");
    let refs = "/repos/acme/config/git/refs";
    let make = |name: &str, sha: &str| json!({"ref": name, "sha": sha});
    for (body, status, says) in [
        (make("refs/heads/new", &main), 201, ""),
        (make("refs/heads/new", &main), 422, "Reference already exists"),
        (make("refs/heads/bad..name", &main), 422, "is not a valid ref name"),
        (make("refs/heads/none", &"1".repeat(40)), 422, "Object does not exist"),
    ] {
        let answer = town.post(refs, body.clone()).await;
        assert_eq!(answer.0, status, "{body} {}", answer.1);
        assert!(message(&answer.1).contains(says), "{}", answer.1);
    }
    for (path, body, status, says) in [
        ("heads/new", json!({"sha": head}), 200, ""),
        ("heads/new", json!({"sha": main}), 422, "Update is not a fast forward"),
        ("heads/new", json!({"sha": main, "force": true}), 200, ""),
        ("heads/main", json!({"sha": head}), 422, "Changes must be made through a pull request."),
        ("heads/absent", json!({"sha": head}), 422, "Reference does not exist"),
    ] {
        let answer = town.patch(&format!("{refs}/{path}"), body.clone()).await;
        assert_eq!(answer.0, status, "{path} {body} {}", answer.1);
        assert!(message(&answer.1).contains(says), "{}", answer.1);
    }
    assert_eq!(town.get("/repos/acme/config/git/ref/heads/work").await.1["object"]["sha"], head);
    let gone = town.ask(Method::DELETE, &format!("{refs}/heads/new"), &town.token, Value::Null).await;
    assert_eq!(gone.0, 204);
    assert_eq!(town.get("/repos/acme/config/git/ref/heads/new").await.0, 404);
}
