//! What Helm renders before and after a pull request, by the action of `rendered/`: real git, real Helm.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::charts::Shed;
use crate::peers::{here, peer, serve};

fn git(folder: &Path, arguments: &[&str]) {
    let who = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
    let done = Command::new("git").args(who).args(arguments).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A program called `helm`, which is real Helm.
fn helm(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let text =
        format!("#!/bin/sh\nexec {} {}/helm-cli.py \"$@\"\n", peer("venv/bin/python").display(), here().display());
    std::fs::write(folder.join("helm"), text).unwrap();
    std::fs::set_permissions(folder.join("helm"), std::fs::Permissions::from_mode(0o755)).unwrap();
}

struct Fleet {
    folder: tempfile::TempDir,
    url: String,
}

impl Fleet {
    fn put(&self, path: &str, text: &str) {
        let path = self.folder.path().join("fleet").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn release(&self, cluster: &str, version: &str, values: &str) {
        let text = format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: seedling, namespace: garden}}\nspec:\n  \
             chart:\n    spec:\n      chart: seedling\n      version: {version}\n      sourceRef: {{kind: HelmRepository, name: \
             charts}}\n  values: {values}\n"
        );
        self.put(&format!("clusters/{cluster}/seedling.yaml"), &text);
    }

    fn commit(&self) {
        let fleet = self.folder.path().join("fleet");
        git(&fleet, &["add", "--all"]);
        git(&fleet, &["commit", "--quiet", "--message", "a change"]);
    }

    fn run(&self) -> (Option<i32>, String, String) {
        let summary = self.folder.path().join("summary");
        std::fs::write(&summary, "").unwrap();
        let path = format!("{}:{}", self.folder.path().display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(peer("venv/bin/python"));
        command
            .arg("-I")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("rendered/rendered.py"))
            .args(["HEAD^1", "HEAD"]);
        command.current_dir(self.folder.path().join("fleet")).env("PATH", path).env("GITHUB_STEP_SUMMARY", &summary);
        command.env("HOME", self.folder.path());
        let done = command.output().unwrap();
        let said = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (done.status.code(), std::fs::read_to_string(summary).unwrap(), said)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_shows_what_helm_renders_without_its_secrets() {
    let shed = Shed::new();
    let charts = shed.path("charts");
    let host = serve(axum::Router::new().fallback(crate::charts::file).with_state(charts.clone())).await;
    for (version, shelves) in [("1.0.0", 2), ("1.1.0", 3)] {
        shed.package_with(
            version,
            shelves,
            "apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\nstringData: {password: \"hunter-{{ .Chart.Version }}\", same: sesame}\n",
        );
    }
    shed.helm(&json!([{"do": "index", "folder": charts, "url": format!("http://{host}")}]));
    let fleet = Fleet { folder: tempfile::tempdir().unwrap(), url: format!("http://{host}") };
    helm(fleet.folder.path());
    std::fs::create_dir_all(fleet.folder.path().join("fleet")).unwrap();
    git(&fleet.folder.path().join("fleet"), &["init", "--quiet", "--initial-branch=main"]);
    let repository = format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: charts, namespace: garden}}\nspec: \
         {{url: \"{}\"}}\n",
        fleet.url
    );
    fleet.put("sources.yaml", &repository);
    for cluster in ["a", "b", "c"] {
        fleet.release(cluster, "1.0.0", if cluster == "c" { "{shelves: 9}" } else { "{}" });
    }
    fleet.commit();
    for cluster in ["a", "b", "c"] {
        fleet.release(cluster, "1.1.0", if cluster == "c" { "{shelves: 9}" } else { "{}" });
    }
    fleet.commit();
    let (code, summary, said) = tokio::task::block_in_place(|| fleet.run());
    assert_eq!(code, Some(0), "{said}\n{summary}");
    for words in
        ["clusters/a/seedling.yaml</code>, <code>clusters/b/seedling.yaml", "-  shelves: \"2\"", "+  shelves: \"3\""]
    {
        assert!(summary.contains(words), "{words}\n{summary}");
    }
    assert_eq!(summary.matches("<details>").count(), 2, "the same difference is shown once: {summary}");
    for secret in ["hunter", "sesame"] {
        assert!(!summary.contains(secret) && !said.contains(secret), "{summary}\n{said}");
    }
    assert!(summary.contains("password: masked "), "that it differs is shown: {summary}");

    fleet.release("a", "9.9.9", "{}");
    fleet.commit();
    let (code, summary, said) = tokio::task::block_in_place(|| fleet.run());
    assert_eq!(code, Some(1), "{said}");
    assert!(
        summary.contains("**Helm renders nothing** for <code>clusters/a/seedling.yaml")
            && said.contains("::error file=clusters/a/"),
        "{summary}\n{said}"
    );
    let ran = fleet.folder.path().join("ran");
    let program = fleet.folder.path().join("program");
    std::fs::write(&program, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for version in ["1.0.0", "1.1.0"] {
        let text = format!(
            "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {{name: \"--post-renderer={}\"}}\nspec: {{repo: \"{}\", \
             chart: seedling, version: {version}}}\n---\n{{kind: Application, spec: [1]}}\n---\n{{kind: HelmRelease, spec: \
             {{chart: []}}}}\n---\n{{kind: OCIRepository, metadata: {{name: [1]}}, spec: {{url: oci://a}}}}\n",
            program.display(),
            fleet.url
        );
        fleet.put("clusters/a\n::warning::b,c.yaml", &text);
        fleet
            .put("clusters/date.yaml", &format!("{{kind: HelmRelease, spec: {{values: 2024-13-45, a: {version}}}}}\n"));
        fleet.commit();
    }
    let (code, _, said) = tokio::task::block_in_place(|| fleet.run());
    assert!(!ran.exists(), "a pull request had a program run: {said}");
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("::error file=clusters/a%0A%3A%3Awarning%3A%3Ab%2Cc.yaml,title=Coldframe::")
            && !said.contains("\n::warning"),
        "{said}"
    );
    fleet.put("README.md", "words\n");
    fleet.commit();
    let (code, summary, _) = tokio::task::block_in_place(|| fleet.run());
    assert_eq!((code, summary.contains("No chart's version or values differ")), (Some(0), true), "{summary}");
}
