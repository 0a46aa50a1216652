//! Several accounts and repositories under one bot: who is looked after, what each may reach, and that trouble of one
//! is nobody else's. What happens to a repository's name is here, too.

use std::path::PathBuf;
use std::process::Command;

use aws_lc_rs::hmac;
use coldframe::demo::github::{PullView, Role};

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const PLUGIN: &str = "cert-manager";
const OWNER: &str = "maria";

/// Copies the config repository with everything in it; the number of the new one.
fn copy(stage: &Stage, owner: &str, name: &str) -> u64 {
    let github = stage.world.github();
    let bare = stage.folder.path().join("world/github/repositories");
    let bare = bare.join(format!("{}.git", github.repository_id(REPOSITORY).unwrap()));
    let git = |words: &[&str]| {
        let said = Command::new("git").arg("-C").arg(&bare).args(words).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    let paths = git(&["ls-tree", "-r", "--name-only", "main"]);
    let files: Vec<(String, String)> =
        paths.lines().map(|path| (path.to_owned(), git(&["show", &format!("main:{path}")]))).collect();
    github.add_repository(owner, name, &files).unwrap()
}

/// The folder of connections with the sandbox's in these folders of it.
fn connections(stage: &Stage, folders: &[&str]) -> String {
    let all = stage.folder.path().join("connections");
    for folder in folders {
        let to = all.join(folder);
        std::fs::create_dir_all(&to).unwrap();
        for entry in std::fs::read_dir(&stage.world.settings().clusters).unwrap() {
            let from: PathBuf = entry.unwrap().path();
            std::fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
        }
    }
    all.display().to_string()
}

/// Every host of the sandbox, for all repositories.
fn hosts(stage: &Stage) -> String {
    let all = stage.world.settings().allow_hosts.iter().map(|host| format!("shared={host}"));
    all.collect::<Vec<_>>().join(",")
}

fn pull(stage: &Stage, repository: &str, tier: &str) -> Option<PullView> {
    let branch = format!("coldframe/{PLUGIN}/{tier}");
    let pulls = stage.world.github().pulls(repository).unwrap();
    pulls.into_iter().filter(|pull| pull.head == branch).max_by_key(|pull| pull.number)
}

#[tokio::test(flavor = "multi_thread")]
async fn a05_a_stranger_who_installs_the_app_is_left_out() {
    let stage = Stage::set().await;
    let (github, given) = (stage.world.github(), stage.world.settings());
    let evil = copy(&stage, "mallory", "evil");
    github.set_app_owner(given.app_id, "acme").unwrap();
    github.install_app(given.app_id, "mallory/evil").unwrap();
    let (connections, hosts) = (connections(&stage, &["shared"]), hosts(&stage));
    // No list: it is the account that owns the App.
    let _bot = stage.serve_with(&[
        ("COLDFRAME_REPOSITORY", ""),
        ("COLDFRAME_CLUSTERS", &connections),
        ("COLDFRAME_ALLOW_HOSTS", &hosts),
    ]);
    stage.until("qa is merged", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
    // What the stranger's events say names a repository and no right to be looked after.
    let body =
        format!("{{\"repository\":{{\"id\":{evil},\"full_name\":\"acme/fleet\"}},\"installation\":{{\"id\":1}}}}");
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, given.webhook_secret.as_bytes()), body.as_bytes());
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let post = reqwest::Client::new().post(format!("http://{}/webhook", given.listen));
    let post = post.header("X-Hub-Signature-256", format!("sha256={hex}")).header("X-GitHub-Event", "push");
    assert_eq!(post.body(body).send().await.unwrap().status().as_u16(), 202);
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    assert!(github.pulls("mallory/evil").unwrap().is_empty(), "the stranger was served");
    assert_eq!(github.head("mallory/evil", "coldframe-ledger").unwrap(), None);
    let log = stage.whole_log();
    assert!(log.contains("has installed the App and is left out") && log.contains("'mallory/*'"), "{log}");
    assert!(!log.contains("\"mallory/evil\""), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a05_a_repository_without_a_folder_of_its_own_gets_no_connection() {
    let stage = Stage::set().await;
    let (github, given) = (stage.world.github(), stage.world.settings());
    let other = copy(&stage, "acme", "other");
    github.install_app(given.app_id, "acme/other").unwrap();
    let fleet = github.repository_id(REPOSITORY).unwrap().to_string();
    // The hub's folder lies where the whole fleet's did before there were two.
    let (connections, hosts) = (connections(&stage, &["", &fleet]), hosts(&stage));
    let _bot = stage.serve_with(&[
        ("COLDFRAME_REPOSITORY", "acme/*"),
        ("COLDFRAME_CLUSTERS", &connections),
        ("COLDFRAME_ALLOW_HOSTS", &hosts),
    ]);
    stage.until("the one with a folder reaches bronze", |stage| pull(stage, REPOSITORY, "bronze")).await;
    let qa = stage.until("the other one lands on qa", |stage| pull(stage, "acme/other", "qa").filter(is_merged)).await;
    let why = format!("no folder `{other}` for this repository, and no folder `shared`");
    let told = |stage: &Stage| {
        let pull = stage.world.github().pull("acme/other", qa.number).unwrap();
        pull.body.contains(&why).then_some(())
    };
    stage.until("its page says why nothing is known", told).await;
    assert!(pull(&stage, "acme/other", "bronze").is_none());
}

#[test]
fn a05_a_private_host_is_for_a_repository_that_is_named() {
    let serve = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldframe"));
        let command = command.args([
            "serve",
            "--webhook-secret",
            "s",
            "--listen",
            "127.0.0.1:0",
            "--dashboard",
            "127.0.0.1:0",
            "--hub",
            "http://127.0.0.1:9",
        ]);
        let output = command.args(more).env_clear().output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let token = ["--token", "t", "--allow-hosts", "10.0.0.5", "--repository", "acme/*"];
    let (code, said) = serve(&token);
    assert!(code == Some(1) && said.contains("`shared=HOST` for all of them"), "{said}");
    let (code, said) = serve(&token[..2]);
    assert!(code == Some(1) && said.contains("say what to look after with --repository"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn f44_trouble_of_one_account_stops_no_other() {
    let stage = Stage::set().await;
    let (github, given) = (stage.world.github(), stage.world.settings());
    copy(&stage, "beta", "fleet");
    github.install_app(given.app_id, "beta/fleet").unwrap();
    let beta = github.installation(given.app_id, "beta/fleet").unwrap();
    // The hub fails at whatever has to do with one installation.
    github.faults(|faults| faults.broken_installation = Some(beta));
    let (connections, hosts) = (connections(&stage, &["shared"]), hosts(&stage));
    let _bot = stage.serve_with(&[
        ("COLDFRAME_REPOSITORY", "acme/*,beta/*"),
        ("COLDFRAME_CLUSTERS", &connections),
        ("COLDFRAME_ALLOW_HOSTS", &hosts),
    ]);
    stage.until("the other account's is merged on qa", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
    assert!(stage.whole_log().contains("repositories not listed"), "{}", stage.logged());
    assert!(github.pulls("beta/fleet").unwrap().is_empty());
    github.faults(|faults| faults.broken_installation = None);
    stage.until("it is looked after when it is well", |stage| pull(stage, "beta/fleet", "qa")).await;

    // Its account holds the App back: nothing is done there, and no error is repeated.
    github.suspend_app(given.app_id, "beta", true).unwrap();
    let left = |stage: &Stage| stage.whole_log().contains("not looked after any more").then_some(());
    stage.until("it is let go", left).await;
    assert!(stage.whole_log().contains("install it, or lift its suspension"), "{}", stage.logged());
    let failed = |stage: &Stage| stage.whole_log().matches("pass failed").count();
    let before = failed(&stage);
    stage.never(6, "errors go on", |stage| failed(stage) > before + 1).await;
    stage.until("bronze opens elsewhere", |stage| stage.pull(PLUGIN, "bronze")).await;
    let ledger = github.head("beta/fleet", "coldframe-ledger").unwrap();
    assert!(ledger.is_some(), "what is remembered stays");
    github.suspend_app(given.app_id, "beta", false).unwrap();
    let begun =
        |line: &&str| line.contains("looked after") && !line.contains("any more") && line.contains("beta/fleet");
    let again = |stage: &Stage| (stage.whole_log().lines().filter(begun).count() == 2).then_some(());
    stage.until("it is looked after again", again).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f43_a_renamed_repository_goes_on_and_whoever_takes_its_name_is_somebody_else() {
    let stage = Stage::set().await;
    let (github, given) = (stage.world.github(), stage.world.settings());
    let _bot = stage.serve();
    let bronze = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    github.rename(REPOSITORY, "acme/renamed").unwrap();
    let policy = github.file("acme/renamed", "main", "coldframe.yaml").unwrap().unwrap();
    github.add_repository("acme", "fleet", &[("coldframe.yaml".to_owned(), policy)]).unwrap();
    for app in [given.app_id, given.bypass_app_id] {
        github.install_app(app, REPOSITORY).unwrap();
    }
    github.set_permission(REPOSITORY, "mallory", Role::Admin).unwrap();
    github.approve("acme/renamed", bronze.number, OWNER).unwrap();
    let merged = |_: &Stage| github.pull("acme/renamed", bronze.number).ok().filter(is_merged);
    stage.until("it is merged under the new name", merged).await;
    stage.never(5, "the other one was served", |_| !github.pulls(REPOSITORY).unwrap().is_empty()).await;
    let branches = github.branches(REPOSITORY).unwrap();
    assert!(branches.keys().all(|branch| !branch.contains("coldframe")), "{branches:?}");
    assert!(stage.whole_log().contains("\"acme/renamed\""), "{}", stage.logged());

    // Under another account it waits for the operator.
    github.rename("acme/renamed", "mallory/fleet").unwrap();
    let told = |stage: &Stage| stage.whole_log().contains("another repository now").then_some(());
    let moved = |stage: &Stage| stage.whole_log().contains("look it up anew by its id").then_some(());
    let belongs = |stage: &Stage| stage.whole_log().contains("belongs to `mallory` now").then_some(());
    stage.until("it says so", |stage| told(stage).or(moved(stage)).or(belongs(stage))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f43_another_default_branch_has_the_policy_from_then_on() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let _bot = stage.serve();
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let text = github.file(REPOSITORY, "main", "coldframe.yaml").unwrap().unwrap();
    let text = text.replacen("plugins:\n", "freeze: [{why: the branch was renamed}]\nplugins:\n", 1);
    github.push_file(REPOSITORY, "trunk", "vera", "coldframe.yaml", &text, "Frozen").unwrap();
    github.set_default_branch(REPOSITORY, "trunk").unwrap();
    let frozen = |stage: &Stage| {
        stage.whole_log().contains("another name or default branch").then_some(())?;
        stage.world.github().requests().keys().any(|route| route.starts_with("GIT")).then_some(())
    };
    stage.until("it notices", frozen).await;
    stage.world.charts().publish("ingress-nginx", "4.99.0", "A new one").unwrap();
    let opened =
        |stage: &Stage| stage.pulls().into_iter().any(|pull| pull.title.contains("4.99.0") && pull.base == "main");
    stage.never(8, "the policy of the old branch counted", opened).await;
}
