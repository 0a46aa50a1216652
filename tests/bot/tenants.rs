//! Several accounts and repositories under one bot: who is looked after, what each may reach, and that trouble of one
//! is nobody else's. What happens to a repository's name is here, too.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use demo::github::{Access, PullView, Role};

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const PLUGIN: &str = "cert-manager";
const OWNER: &str = "maria";

/// Copies the config repository with everything in it; the number of the new one.
pub fn copy(stage: &Stage, owner: &str, name: &str) -> u64 {
    copy_of(stage, REPOSITORY, owner, name)
}

fn copy_of(stage: &Stage, of: &str, owner: &str, name: &str) -> u64 {
    let github = stage.world.github();
    let bare = stage.folder.path().join("world/github/repositories");
    let bare = bare.join(format!("{}.git", github.repository_id(of).unwrap()));
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
pub fn connections(stage: &Stage, folders: &[&str]) -> String {
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
pub fn hosts(stage: &Stage) -> String {
    let all = stage.world.settings().allow_hosts.iter().map(|host| format!("shared={host}"));
    all.collect::<Vec<_>>().join(",")
}

fn pull_of(stage: &Stage, repository: &str, tier: &str) -> Option<PullView> {
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

/// How often a repository was taken in.
fn begun(stage: &Stage, repository: &str) -> usize {
    let begun = |line: &&str| line.contains("looked after") && !line.contains("any more") && line.contains(repository);
    stage.whole_log().lines().filter(begun).count()
}

/// The account whose repositories are served takes another name, and mallory its old one.
#[tokio::test(flavor = "multi_thread")]
async fn a05_whoever_takes_the_name_of_an_account_is_a_stranger() {
    let stage = Stage::set().await;
    let (github, given) = (stage.world.github(), stage.world.settings());
    github.set_app_owner(given.app_id, "acme").unwrap();
    let (connections, hosts) = (connections(&stage, &["shared"]), hosts(&stage));
    let bot = |list: &'static str| {
        let settings = [
            ("COLDFRAME_REPOSITORY", list),
            ("COLDFRAME_CLUSTERS", connections.as_str()),
            ("COLDFRAME_ALLOW_HOSTS", hosts.as_str()),
        ];
        stage.serve_with(&settings)
    };
    // That of the App's owner, whoever that is called; and that of a name.
    for (list, name) in [("", "acme"), ("acme-inc/*", "acme-inc")] {
        let before = begun(&stage, &format!("{name}/fleet"));
        let running = bot(list);
        let looks = |stage: &Stage| (begun(stage, &format!("{name}/fleet")) > before).then_some(());
        stage.until("it is looked after", looks).await;
        let to = format!("{name}-inc");
        github.rename_account(name, &to).unwrap();
        let evil = format!("{name}/evil");
        copy_of(&stage, &format!("{to}/fleet"), name, "evil");
        github.install_app(given.app_id, &evil).unwrap();
        if list.is_empty() {
            let goes_on = |stage: &Stage| (begun(stage, "acme-inc/fleet") > 0).then_some(());
            stage.until("it goes on under its new name", goes_on).await;
        } else {
            let told = |stage: &Stage| stage.whole_log().contains("another account has this name now").then_some(());
            stage.until("it is told", told).await;
        }
        let served = |_: &Stage| github.head(&evil, "coldframe-ledger").unwrap().is_some();
        stage.never(6, "the stranger was served", served).await;
        drop(running);
    }
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
    stage.until("the one with a folder reaches bronze", |stage| pull_of(stage, REPOSITORY, "bronze")).await;
    let qa =
        stage.until("the other one lands on qa", |stage| pull_of(stage, "acme/other", "qa").filter(is_merged)).await;
    let why = format!("no folder `{other}` for this repository, and no folder `shared`");
    let told = |stage: &Stage| {
        let pull = stage.world.github().pull("acme/other", qa.number).unwrap();
        pull.body.contains(&why).then_some(())
    };
    stage.until("its page says why nothing is known", told).await;
    assert!(pull_of(&stage, "acme/other", "bronze").is_none());
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
    assert!(code == Some(1) && said.contains("`shared=10.0.0.5` for all of them"), "{said}");
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
    stage.until("it is looked after when it is well", |stage| pull_of(stage, "beta/fleet", "qa")).await;

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
    let again = |stage: &Stage| (begun(stage, "beta/fleet") == 2).then_some(());
    stage.until("it is looked after again", again).await;
}

/// Its owner takes a permission from the App: what is missing is said, and nothing is merged before it is back.
#[tokio::test(flavor = "multi_thread")]
async fn f44_a_permission_that_is_taken_away_is_named() {
    let stage = Stage::set().await;
    let (github, app) = (stage.world.github(), stage.world.settings().app_id);
    let _bot = stage.serve();
    let merged = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(is_merged);
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    for (name, words) in [
        ("pull_requests", "pull_requests=write"),
        ("contents", "check the token and its permissions on this repository"),
    ] {
        github.set_app_permission(app, name, Some(Access::Read)).unwrap();
        github.approve(REPOSITORY, pull.number, OWNER).unwrap();
        let told = |stage: &Stage| stage.whole_log().contains(words).then_some(());
        stage.until("the log says what is missing", told).await;
        stage.never(4, "it was merged", |stage| merged(stage).is_some()).await;
        github.dismiss_reviews(REPOSITORY, pull.number, OWNER, "vera").unwrap();
        github.set_app_permission(app, name, Some(Access::Write)).unwrap();
    }
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    stage.until("it is merged when nothing is missing", merged).await;
}

/// The hub limits what has to do with one installation, or answers it late; another account's repository can make a
/// look fail every time. Nothing of it delays the others.
#[tokio::test(flavor = "multi_thread")]
async fn f46_limits_silence_and_poison_of_one_account_delay_no_other() {
    let stage = Stage::set().await;
    let (github, given) = (stage.world.github(), stage.world.settings());
    for account in ["slow", "limited", "poisoned"] {
        copy(&stage, account, "fleet");
        github.install_app(given.app_id, &format!("{account}/fleet")).unwrap();
    }
    let here = |account: &str| github.installation(given.app_id, &format!("{account}/fleet")).unwrap();
    let (slow, limited) = (here("slow"), here("limited"));
    // A policy without end, and one that is no text.
    let bomb = format!("a: &a [x]\n{}", "b: [*a, *a, *a, *a, *a, *a, *a, *a]\n".repeat(60_000));
    github.push_file("poisoned/fleet", "main", "poisoned", "coldframe.yaml", &bomb, "A bomb").unwrap();
    github.faults(|faults| {
        faults.slow_installation = Some((slow, Duration::from_secs(90)));
        (faults.limited_installation, faults.secondary_limit) = (Some(limited), Some((1_000_000, 30)));
    });
    let (connections, hosts) = (connections(&stage, &["shared"]), hosts(&stage));
    let start = Instant::now();
    let _bot = stage.serve_with(&[
        ("COLDFRAME_REPOSITORY", "slow/*,limited/*,poisoned/*,acme/fleet"),
        ("COLDFRAME_CLUSTERS", &connections),
        ("COLDFRAME_ALLOW_HOSTS", &hosts),
    ]);
    // A request that hangs is given up after forty seconds.
    let looks = |stage: &Stage| (begun(stage, REPOSITORY) > 0).then_some(());
    stage.until("the other account's is looked after", looks).await;
    assert!(start.elapsed() < Duration::from_secs(25), "{:?}\n{}", start.elapsed(), stage.logged());
    stage.until("it is merged on qa", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
    for account in ["slow", "limited", "poisoned"] {
        assert!(github.pulls(&format!("{account}/fleet")).unwrap().is_empty(), "{account}");
    }
    let poisoned = |line: &&str| line.contains("poisoned/fleet") && line.contains("failed");
    let failed = |stage: &Stage| stage.whole_log().lines().filter(poisoned).count();
    stage.never(8, "it is tried without a pause", |stage| failed(stage) > 8).await;
    github.faults(|faults| {
        faults.slow_installation = None;
        (faults.limited_installation, faults.secondary_limit) = (None, None);
    });
    for account in ["slow", "limited"] {
        let open = |stage: &Stage| pull_of(stage, &format!("{account}/fleet"), "qa");
        stage.until("it is looked after when it is well", open).await;
    }
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
async fn f43_an_archived_repository_rests_and_another_default_branch_has_the_policy() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let _bot = stage.serve();
    let bronze = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    github.set_archived(REPOSITORY, true).unwrap();
    let told = |stage: &Stage| stage.whole_log().contains("it is archived").then_some(());
    stage.until("it says that it is archived", told).await;
    github.approve(REPOSITORY, bronze.number, OWNER).unwrap();
    let merged = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(is_merged);
    stage.never(6, "it was merged in the archive", |stage| merged(stage).is_some()).await;
    github.set_archived(REPOSITORY, false).unwrap();
    stage.until("it goes on", merged).await;
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

/// Where the App is taken off a repository, nothing goes on there; installed again, it goes on where it was.
#[tokio::test(flavor = "multi_thread")]
async fn f43_an_app_that_is_taken_off_rests_until_it_is_installed_again() {
    let stage = Stage::set().await;
    let (github, app) = (stage.world.github(), stage.world.settings().app_id);
    let _bot = stage.serve();
    let bronze = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    github.uninstall_app(app, REPOSITORY).unwrap();
    github.approve(REPOSITORY, bronze.number, OWNER).unwrap();
    let merged = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(is_merged);
    stage.never(6, "it was merged where the App is not installed", |stage| merged(stage).is_some()).await;
    github.install_app(app, REPOSITORY).unwrap();
    stage.until("it goes on", merged).await;
}
