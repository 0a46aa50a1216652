//! Workflows: what a dispatch asks for, and how its run is found.
use super::*;

const SMOKE: &str = "\
run-name: Smoke ${{ inputs.id }}
on: {workflow_dispatch: {inputs: {id: {required: true}, note: {required: true, default: none}}}}
";

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_is_dispatched_with_its_inputs_and_found_by_its_title() {
    let town = town().await;
    let at = |file: &str, what: &str| format!("/repos/acme/config/actions/workflows/{file}/{what}");
    let sent = json!({"ref": "main", "inputs": {"id": "a-1"}});
    assert_eq!(town.post(&at("smoke.yml", "dispatches"), sent.clone()).await.0, 404, "no such workflow");
    for (path, text) in [("smoke.yml", SMOKE), ("nightly.yml", "on: {schedule: []}\n")] {
        let path = format!(".github/workflows/{path}");
        town.hub.push_file(REPO, "flow", "bob", &path, text, "A workflow").unwrap();
    }
    assert_eq!(town.post(&at("smoke.yml", "dispatches"), sent.clone()).await.0, 404, "not on the default branch");
    town.hub.force_branch(REPO, "main", "carol", Some("flow")).unwrap();
    for (file, body, says) in [
        ("smoke.yml", json!({"ref": "main", "inputs": {"id": "a-1", "x": "y"}}), "Unexpected inputs provided: [\"x\"]"),
        ("smoke.yml", json!({"ref": "main"}), "Required input 'id' not provided"),
        ("smoke.yml", json!({"ref": "absent", "inputs": {"id": "a-1"}}), "No ref found for: absent"),
        ("nightly.yml", json!({"ref": "main"}), "Workflow does not have 'workflow_dispatch' trigger"),
    ] {
        let (status, answer) = town.post(&at(file, "dispatches"), body).await;
        assert_eq!((status, message(&answer)), (422, says));
    }
    assert_eq!(town.post(&at("smoke.yml", "dispatches"), sent).await.0, 204);
    let [run] = &town.hub.runs(REPO).unwrap()[..] else { panic!("one run") };
    let listed = |query: &str| at("smoke.yml", &format!("runs?event=workflow_dispatch{query}"));
    let (_, found) = town.get(&listed("&actor=coldframe%5Bbot%5D&created=%3E%3D2020-01-01T00:00:00Z")).await;
    let found = &found["workflow_runs"][0];
    assert_eq!((&found["id"], &found["display_title"]), (&json!(run.id), &json!("Smoke a-1")));
    assert_eq!((&found["status"], &found["conclusion"]), (&json!("in_progress"), &Value::Null));
    assert_eq!(found["actor"]["login"], "coldframe[bot]");
    for query in ["&actor=bob", "&created=%3E%3D2999-01-01T00:00:00Z", "&branch=flow"] {
        assert_eq!(town.get(&listed(query)).await.1["total_count"], 0, "{query}");
    }
    town.hub.end_run(REPO, run.id, Some("failure")).unwrap();
    let found = town.get(&listed("")).await.1["workflow_runs"][0].clone();
    assert_eq!((&found["status"], &found["conclusion"]), (&json!("completed"), &json!("failure")));
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_of_a_commit_are_read_by_its_tag() {
    let town = town().await;
    let head = town.hub.head(REPO, "main").unwrap().unwrap();
    town.hub.tag(REPO, "bob", "v1.0.0", &head).unwrap();
    town.hub.check(REPO, town.bot.id, &head, "e2e", None).unwrap();
    for name in ["tags%2Fv1.0.0", "v1.0.0", head.as_str()] {
        let path = format!("/repos/acme/config/commits/{name}");
        let runs = town.get(&format!("{path}/check-runs?filter=latest")).await.1;
        assert_eq!(runs["check_runs"][0]["status"], "in_progress", "{name}");
        assert_eq!(town.get(&format!("{path}/status")).await.1["sha"], json!(head), "{name}");
    }
    town.hub.check(REPO, town.bot.id, &head, "e2e", Some("success")).unwrap();
    let runs = town.get(&format!("/repos/acme/config/commits/{head}/check-runs")).await.1;
    assert_eq!((&runs["total_count"], &runs["check_runs"][0]["conclusion"]), (&json!(1), &json!("success")));
    let refs = town.get("/repos/acme/config/git/matching-refs/tags/v1").await.1;
    assert_eq!(refs[0]["ref"], "refs/tags/v1.0.0");
    for path in ["commits/tags%2Fv9/check-runs", "commits/tags%2Fv9/status"] {
        assert_eq!(town.get(&format!("/repos/acme/config/{path}")).await.0, 422, "{path}");
    }
    assert_eq!(town.get("/repos/acme/config/git/matching-refs/tags/v9").await.1, json!([]));
    assert_eq!(town.get("/repos/acme/absent/git/matching-refs/tags/v1").await.0, 404);
}
