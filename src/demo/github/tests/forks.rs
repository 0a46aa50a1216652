//! Pull requests from forks, and what check runs say of lines.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_of_a_fork_has_a_head_and_no_branch() {
    let town = town().await;
    let files = [("clusters/qa/app.yaml", Some("version: 6.6.6\n"))];
    let number = town.hub.open_fork_pull(REPO, "mallory", ("theirs", "main"), &files).unwrap();
    assert_eq!(town.hub.head(REPO, "theirs").unwrap(), None);
    let pull = town.get(&format!("/repos/acme/config/pulls/{number}")).await.1;
    assert_eq!(
        (&pull["head"]["label"], &pull["head"]["repo"]["full_name"]),
        (&json!("mallory:theirs"), &json!("mallory/config"))
    );
    assert_eq!(pull["head"]["repo"]["fork"], true);
    let files = town.get(&format!("/repos/acme/config/pulls/{number}/files")).await.1;
    let blob = town.get(&format!("/repos/acme/config/git/blobs/{}", files[0]["sha"].as_str().unwrap())).await.1;
    assert_eq!(blob["size"], "version: 6.6.6\n".len());
    let query = "query($n: Int!) { repository(owner: \"acme\", name: \"config\") { pullRequest(number: $n) {
        isCrossRepository headRefName headRefOid headRef { name } headRepository { name } } } }";
    let found = town.query(query, json!({"n": number})).await["data"]["repository"]["pullRequest"].clone();
    let head = town.hub.pull(REPO, number).unwrap().head_sha;
    let expected = json!({
        "isCrossRepository": true, "headRefName": "theirs", "headRefOid": head, "headRef": null, "headRepository": null,
    });
    assert_eq!(found, expected);
    // Its head can be fetched, and a branch of the same name here is another one.
    let remote = town.remote(&town.token);
    let shown = town.git(town.dir.path(), &["ls-remote", &remote, &format!("refs/pull/{number}/head")]);
    assert!(shown.starts_with(&head), "{shown}");
    town.branch("theirs", "clusters/qa/app.yaml", "1.1.0");
    let second = town.hub.push_to_fork(REPO, number, &[("clusters/qa/app.yaml", Some("version: 6.6.7\n"))]).unwrap();
    assert_eq!(town.hub.pull(REPO, number).unwrap().head_sha, second);
    assert!(town.hub.push_to_fork(REPO, town.open("theirs").await, &[]).is_err());
    town.hub.close(REPO, number, "mallory").unwrap();
    town.hub.reopen(REPO, number, "mallory").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_run_says_fifty_things_of_lines_at_once_and_keeps_those_before() {
    let town = town().await;
    let head = town.branch("one", "clusters/qa/app.yaml", "1.1.0");
    let said = |count: u64| {
        let one = |line: u64| {
            json!({"path": "a.yaml", "start_line": line, "end_line": line, "annotation_level": "failure",
                   "message": "no"})
        };
        let all: Vec<Value> = (1..=count).map(one).collect();
        json!({"title": "t", "summary": "s", "annotations": all})
    };
    let runs = "/repos/acme/config/check-runs";
    let begun = |output: Value| json!({"name": "c", "head_sha": head, "conclusion": "failure", "output": output});
    assert_eq!(town.post(runs, begun(said(51))).await.0, 422);
    let mut wrong = said(1);
    wrong["annotations"][0]["annotation_level"] = json!("error");
    assert_eq!(town.post(runs, begun(wrong)).await.0, 422);
    let (status, run) = town.post(runs, begun(said(50))).await;
    assert_eq!((status, &run["output"]["annotations_count"]), (201, &json!(50)));
    let path = format!("{runs}/{}", run["id"]);
    assert_eq!(town.patch(&path, json!({"output": said(2)})).await.1["output"]["annotations_count"], 52);
    let listed = town.get(&format!("{path}/annotations?per_page=100")).await.1;
    assert_eq!((listed.as_array().unwrap().len(), &listed[51]["start_line"]), (52, &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_a_rule_pins_to_an_app_is_that_apps() {
    let town = town().await;
    let head = town.branch("one", "README.md", "1");
    let number = town.open("one").await;
    let rule = Rule::Checks { name: "c", app: Some(town.bot.id), strict: false };
    town.hub.add_ruleset(REPO, "main", &[rule], &[]).unwrap();
    town.hub.check(REPO, town.bypass.id, &head, "c", Some("success")).unwrap();
    assert!(town.hub.merge_as(REPO, number, "carol").is_err());
    town.hub.check(REPO, town.bot.id, &head, "c", Some("success")).unwrap();
    town.hub.merge_as(REPO, number, "carol").unwrap();
}
