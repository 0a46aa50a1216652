//! The bot's GraphQL against GitHub's own schema.

use std::path::Path;

use serde_json::{Value, json};

use crate::peers::{node, package, script};

/// What GitHub would refuse of these operations: `{name, query, variables?, operation?}`.
pub fn refused(operations: &[Value]) -> Vec<String> {
    let mut node = node();
    node.env("SCHEMA", package("@octokit/graphql-schema/schema.graphql"));
    let wrong = script(node, "graphql.cjs", &json!(operations));
    serde_json::from_value(wrong).unwrap()
}

#[test]
fn every_document_of_the_bot_is_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/hub/queries");
    let mut documents = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(path.extension().unwrap(), "graphql", "{}", path.display());
        let query = std::fs::read_to_string(&path).unwrap();
        documents.push(json!({"name": path.file_name().unwrap().to_string_lossy(), "query": query}));
    }
    assert!(documents.len() >= 2, "{documents:?}");
    assert_eq!(refused(&documents), Vec::<String>::new());
}

/// The sandbox has less than GitHub and, but for these, nothing else.
#[test]
fn the_types_of_the_sandbox_are_githubs() {
    let mut node = node();
    node.env("SCHEMA", package("@octokit/graphql-schema/schema.graphql"));
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/demo/github/graphql/schema.txt");
    let wrong = script(node, "schema.cjs", &json!(std::fs::read_to_string(own).unwrap()));
    // `gh` asks for both; the pinned package is older than they are.
    let newer = ["PullRequest has no assignedActors", "PullRequest has no suggestedActors"];
    assert_eq!(wrong, json!(newer));
}

#[test]
fn what_github_does_not_know_is_found() {
    let query = "query Q($n: Int!) { repository(owner: \"a\", name: \"b\") { pullRequest(number: $n) { NAME } } }";
    let ask =
        |field: &str, n: Value| json!({"name": "q", "query": query.replace("NAME", field), "variables": {"n": n}});
    assert_eq!(refused(&[ask("isDraft", json!(1))]), Vec::<String>::new());
    assert!(refused(&[ask("draft", json!(1))])[0].contains("draft"));
    assert!(refused(&[ask("isDraft", json!("one"))])[0].contains("$n"));
}
