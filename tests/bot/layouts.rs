//! Files of layouts that are known: the policy names no path, and what belongs together moves together.

use std::path::PathBuf;

use demo::github::{Protection, Role};

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

/// A chart of charts that depends on the plugin.
const CHART: &str = "apiVersion: v2\nname: platform\nversion: 0.1.0\ndependencies:\n  - name: cert-manager\n    \
                     version: 1.14.7 # exact\n    repository: https://charts.example/jetstack\n";

/// Its lock, as `helm dependency update` writes it.
fn locked() -> String {
    format!(
        "dependencies:\n- name: cert-manager\n  repository: https://charts.example/jetstack\n  version: 1.14.7\n\
         digest: sha256:{DIGEST}\ngenerated: \"2026-10-01T09:12:00Z\"\n"
    )
}

/// Such a chart with its lock for each tier, beside the manifests of Flux.
fn charts(stage: &Stage, lock_of: impl Fn(&str) -> String) {
    let github = stage.world.github();
    for tier in ["qa", "bronze", "silver", "gold"] {
        github.push_file(REPOSITORY, "charts", "vera", &chart(tier), CHART, "A chart").unwrap();
        github.push_file(REPOSITORY, "charts", "vera", &lock(tier), &lock_of(tier), "Its lock").unwrap();
    }
    let number = github.open_pull(REPOSITORY, "vera", "charts", "main", "Charts", "").unwrap();
    github.approve(REPOSITORY, number, "maria").unwrap();
    github.merge_as(REPOSITORY, number, "vera").unwrap();
    let path = "        document: {kind: HelmRelease, name: cert-manager}\n        path: $.spec.chart.spec.version\n";
    // The chart comes from a mirror, which the policy has to say by a path.
    let mirrored = "      - file: charts/{tier}/Chart.yaml\n        path: $.dependencies[0].version\n";
    stage.edit_policy(path, mirrored);
}

/// On bronze the lock is of something else.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_found_and_the_lock_of_a_chart_moves_with_it() {
    let stage = Stage::set().await;
    let (github, locked) = (stage.world.github(), locked());
    charts(&stage, |tier| {
        if tier == "bronze" { locked.replace("version: 1.14.7", "version: 1.14.6") } else { locked.clone() }
    });
    let bot = stage.serve();
    stage.until("it is merged on qa", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
    let held = |path: &str| github.file(REPOSITORY, "main", path).unwrap().unwrap();
    let expected = by_hand(&stage, [("Chart.yaml", CHART), ("Chart.lock", &locked)], "1.15.0");
    assert_eq!([held(&chart("qa")), held(&lock("qa"))], expected);
    assert_ne!(expected[1], locked);
    assert!(held("clusters/qa/qa-1/cert-manager.yaml").contains("version: 1.15.0 # exact"));
    stage.never(5, "a chart moved whose lock is of another", |stage| stage.pull(PLUGIN, "bronze").is_some()).await;
    drop(bot);
    let told = stage.command(&["explain", PLUGIN, "bronze"]).output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("charts/bronze/Chart.yaml") && told.contains("it locks 1.14.6, and"), "{told}");
}

/// Nobody owns the chart, somebody its lock, which only moves along.
#[tokio::test(flavor = "multi_thread")]
async fn the_owner_of_a_lock_that_moves_along_is_asked() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.set_permission(REPOSITORY, "lea", Role::Write).unwrap();
    charts(&stage, |_| locked());
    let bronze = "/clusters/bronze/  @acme/platform\n";
    stage.edit_file(".github/CODEOWNERS", bronze, &format!("{bronze}/charts/bronze/Chart.lock  @lea\n"));
    // Only the bot asks.
    github.protect(REPOSITORY, "main", Protection::default()).unwrap();
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze")).await;
    github.approve(REPOSITORY, pull.number, "maria").unwrap();
    let waits = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains("an approval by `@lea`"));
    stage.until("its page says whom it waits for", waits).await;
    let merged = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(is_merged);
    stage.never(6, "nobody asked the owner of the lock", |stage| merged(stage).is_some()).await;
    github.approve(REPOSITORY, pull.number, "lea").unwrap();
    stage.until("with their yes it merges", merged).await;
    let held = github.file(REPOSITORY, "main", &lock("bronze")).unwrap().unwrap();
    assert!(held.contains("version: 1.15.0"), "{held}");
}

/// Of the dependencies of both files, by Helm 3.
const DIGEST: &str = "84600f6b88da9f3f50b59b479783d8b161184bf6b0f35cd6d337fc5cf8767f3a";
