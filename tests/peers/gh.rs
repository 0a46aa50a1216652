//! GitHub's own command-line program against the sandbox's GitHub: its GraphQL and REST are asked as
//! people's tools ask them.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tokio::net::{TcpStream, UnixListener};

use crate::peers::peer;
use crate::town::{REPO, Town};

/// `gh` speaks https with hosts that have a name. Through a socket it speaks plainly; what comes there
/// is handed to the sandbox.
pub fn socket(path: &Path, hub: &str) {
    let listener = UnixListener::bind(path).unwrap();
    let target = hub.trim_start_matches("http://").to_owned();
    tokio::spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            let target = target.clone();
            tokio::spawn(async move {
                let mut to = TcpStream::connect(target).await.unwrap();
                tokio::io::copy_bidirectional(&mut from, &mut to).await.ok();
            });
        }
    });
}

struct Gh {
    folder: tempfile::TempDir,
    token: String,
}

impl Gh {
    fn new(town: &Town, login: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.sock");
        std::fs::write(
            folder.path().join("config.yml"),
            format!("version: \"1\"\nhttp_unix_socket: {}\n", path.display()),
        )
        .unwrap();
        socket(&path, town.hub.url());
        Self { folder, token: town.hub.add_token(login) }
    }

    async fn try_run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(peer("venv/bin/gh"));
        command.args(arguments).env_clear().current_dir(self.folder.path()).stdin(Stdio::null());
        command.envs([
            ("GH_HOST", "hub.example"),
            ("GH_ENTERPRISE_TOKEN", &self.token),
            ("GH_REPO", "hub.example/acme/config"),
            ("GH_NO_UPDATE_NOTIFIER", "1"),
            ("GH_TELEMETRY", "false"),
            ("NO_COLOR", "1"),
            ("PATH", "/usr/bin:/bin"),
        ]);
        for name in ["GH_CONFIG_DIR", "HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
            command.env(name, self.folder.path());
        }
        tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
    }

    async fn run(&self, arguments: &[&str]) -> String {
        let output = self.try_run(arguments).await;
        assert!(output.status.success(), "gh {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    async fn json(&self, arguments: &[&str], fields: &str) -> Value {
        serde_json::from_str(&self.run(&[arguments, &["--json", fields]].concat()).await).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn people_see_and_merge_pull_requests_with_gh() {
    let mut town = Town::build().await;
    for (branch, version) in [("one", "1.1.0"), ("two", "1.2.0")] {
        town.hub
            .push_file(REPO, branch, "bob", "clusters/qa/app.yaml", &format!("version: {version}\n"), "Bump")
            .unwrap();
        let open = json!({"title": format!("Bump to {version}"), "head": branch, "base": "main", "body": "**why**"});
        town.does("bot", "POST", "~/pulls", open).await;
    }
    let head = town.hub.head(REPO, "one").unwrap().unwrap();
    let run = json!({"name": "coldframe", "head_sha": head, "conclusion": "success"});
    town.does("bot", "POST", "~/check-runs", run).await;
    town.hub.comment(REPO, 1, "alice", "fine with me").unwrap();
    town.hub.approve(REPO, 1, "bob").unwrap();
    let gh = Gh::new(&town, "carol");

    let table = gh.run(&["pr", "list"]).await;
    assert!(table.contains("Bump to 1.1.0\tone") && table.contains("Bump to 1.2.0\ttwo"), "{table}");
    let listed = gh.json(&["pr", "list"], "number,title,headRefName,baseRefName,state,author,isDraft").await;
    assert_eq!(listed[1]["headRefName"], "one");
    assert_eq!(listed[1]["author"]["login"], "app/coldframe");
    let page = gh.run(&["pr", "view", "1", "--comments"]).await;
    assert!(page.contains("fine with me"), "{page}");
    let shown = gh.run(&["pr", "view", "1"]).await;
    assert!(shown.contains("title:\tBump to 1.1.0") && shown.contains("**why**"), "{shown}");
    let fields = "state,headRefOid,reviewDecision,mergeable,reviews,statusCheckRollup,files,commits,comments";
    let facts = gh.json(&["pr", "view", "1"], fields).await;
    assert_eq!((&facts["state"], &facts["headRefOid"]), (&json!("OPEN"), &json!(head)));
    assert_eq!(facts["reviews"][0]["state"], "APPROVED");
    assert_eq!(facts["files"][0]["path"], "clusters/qa/app.yaml");
    assert_eq!(facts["statusCheckRollup"][0]["conclusion"], "SUCCESS");
    let checks = gh.run(&["pr", "checks", "1"]).await;
    assert!(checks.contains("coldframe\tpass"), "{checks}");
    let diff = gh.run(&["pr", "diff", "1"]).await;
    assert!(diff.contains("+version: 1.1.0"), "{diff}");
    assert_eq!(gh.run(&["api", "repos/acme/config/pulls/2", "--jq", ".head.ref"]).await.trim(), "two");

    gh.run(&["pr", "comment", "2", "--body", "not this one"]).await;
    gh.run(&["pr", "review", "2", "--request-changes", "--body", "it is too early"]).await;
    let asked = gh.json(&["pr", "view", "2"], "comments,reviews").await;
    assert_eq!(asked["comments"][0]["body"], "not this one");
    assert_eq!(
        (&asked["reviews"][0]["state"], &asked["reviews"][0]["author"]["login"]),
        (&json!("CHANGES_REQUESTED"), &json!("carol"))
    );
    gh.run(&["pr", "close", "2"]).await;
    gh.run(&["pr", "review", "1", "--approve"]).await;
    let reviews = gh.json(&["pr", "view", "1"], "reviews").await;
    assert_eq!(reviews["reviews"][1]["state"], "APPROVED");
    gh.run(&["pr", "merge", "1", "--squash", "--match-head-commit", &head]).await;
    let own = town.does("carol", "POST", "~/pulls", json!({"title": "Mine", "head": "two", "base": "main"})).await;
    let refused = gh.try_run(&["pr", "review", &own["number"].to_string(), "--approve"]).await;
    let says = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(says.contains("Can not approve your own pull request"), "{says}");
    assert_eq!(gh.json(&["pr", "view", "1"], "state").await["state"], "MERGED");
    assert_eq!(gh.json(&["pr", "view", "2"], "state").await["state"], "CLOSED");
    let merged = town.hub.file(REPO, "main", "clusters/qa/app.yaml").unwrap().unwrap();
    assert_eq!(merged, "version: 1.1.0\n");
    let refused = gh.try_run(&["pr", "view", "99"]).await;
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Could not resolve to a PullRequest"), "{refused:?}");
    let pages: Value =
        serde_json::from_str(&gh.run(&["api", "--paginate", "repos/{owner}/{repo}/pulls?state=all&per_page=1"]).await)
            .unwrap();
    assert_eq!(pages.as_array().unwrap().len(), 3, "it follows the links");
}
