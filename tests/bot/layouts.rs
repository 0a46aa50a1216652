//! Files of layouts that are known: the policy names no path, and what belongs together moves together.

use std::path::PathBuf;

use crate::support::{REPOSITORY, Stage, is_merged};

const PLUGIN: &str = "cert-manager";

fn chart(tier: &str) -> String {
    format!("charts/{tier}/Chart.yaml")
}

fn lock(tier: &str) -> String {
    format!("charts/{tier}/Chart.lock")
}

/// What `coldframe edit` makes of these two files.
fn by_hand(stage: &Stage, files: [(&str, &str); 2], to: &str) -> [String; 2] {
    let folder: PathBuf = stage.folder.path().join("by-hand");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let mut edit = stage.command(&["edit", "Chart.yaml", "--chart", PLUGIN, "--to", to, "--in-place"]);
    assert!(edit.current_dir(&folder).status().unwrap().success());
    files.map(|(name, _)| std::fs::read_to_string(folder.join(name)).unwrap())
}

/// A chart of charts with its lock beside the manifests of Flux; on bronze the lock is of something else.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_found_and_the_lock_of_a_chart_moves_with_it() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let text = "apiVersion: v2\nname: platform\nversion: 0.1.0\ndependencies:\n  - name: cert-manager\n    \
                version: 1.14.7 # exact\n    repository: https://charts.example/jetstack\n";
    // As `helm dependency update` writes it.
    let locked = format!(
        "dependencies:\n- name: cert-manager\n  repository: https://charts.example/jetstack\n  version: 1.14.7\n\
         digest: sha256:{DIGEST}\ngenerated: \"2026-10-01T09:12:00Z\"\n"
    );
    for tier in ["qa", "bronze", "silver", "gold"] {
        let own = if tier == "bronze" { locked.replace("version: 1.14.7", "version: 1.14.6") } else { locked.clone() };
        github.push_file(REPOSITORY, "charts", "vera", &chart(tier), text, "A chart").unwrap();
        github.push_file(REPOSITORY, "charts", "vera", &lock(tier), &own, "Its lock").unwrap();
    }
    let number = github.open_pull(REPOSITORY, "vera", "charts", "main", "Charts", "").unwrap();
    github.approve(REPOSITORY, number, "maria").unwrap();
    github.merge_as(REPOSITORY, number, "vera").unwrap();
    let path = "        document: {kind: HelmRelease, name: cert-manager}\n        path: $.spec.chart.spec.version\n";
    // The chart comes from a mirror, which the policy has to say by a path.
    let mirrored = "      - file: charts/{tier}/Chart.yaml\n        path: $.dependencies[0].version\n";
    stage.edit_policy(path, mirrored);
    let bot = stage.serve();
    stage.until("it is merged on qa", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
    let held = |path: &str| github.file(REPOSITORY, "main", path).unwrap().unwrap();
    let expected = by_hand(&stage, [("Chart.yaml", text), ("Chart.lock", &locked)], "1.15.0");
    assert_eq!([held(&chart("qa")), held(&lock("qa"))], expected);
    assert_ne!(expected[1], locked);
    assert!(held("clusters/qa/qa-1/cert-manager.yaml").contains("version: 1.15.0 # exact"));
    stage.never(5, "a chart moved whose lock is of another", |stage| stage.pull(PLUGIN, "bronze").is_some()).await;
    drop(bot);
    let told = stage.command(&["explain", PLUGIN, "bronze"]).output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("charts/bronze/Chart.yaml") && told.contains("it locks 1.14.6, and"), "{told}");
}

/// Of the dependencies of both files, by Helm 3.
const DIGEST: &str = "84600f6b88da9f3f50b59b479783d8b161184bf6b0f35cd6d337fc5cf8767f3a";
