//! Commands and their settings.

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

fn run(command: &mut std::process::Command) -> (i32, String) {
    let output = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), text)
}

/// `once | grep -q …` ends the reader at its first line.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_when_nobody_reads_what_it_says() {
    let stage = Stage::set().await;
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = tokio::task::block_in_place(|| {
        stage.command(&["once"]).stdout(writer).stderr(std::process::Stdio::null()).status().unwrap()
    });
    assert!(status.success(), "{status}");
    assert!(stage.pull("cert-manager", "qa").is_some_and(|pull| is_merged(&pull)));
}

/// Clusters that nobody gave kubeconfigs for would seem to be on their way.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_without_kubeconfigs_says_so() {
    let stage = Stage::set().await;
    let says = "No cluster can be asked: give the folder with their kubeconfigs (--clusters, COLDFRAME_CLUSTERS).";
    let plan = |clusters: bool| {
        let mut command = stage.command(&["plan"]);
        if !clusters {
            command.env_remove("COLDFRAME_CLUSTERS");
        }
        tokio::task::block_in_place(|| run(&mut command).1)
    };
    assert!(plan(false).contains(says), "{}", plan(false));
    assert!(!plan(true).contains(says));
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_writes_nothing_and_once_opens_the_first_tier() {
    let stage = Stage::set().await;
    let writes = |stage: &Stage| {
        let requests = stage.world.github().requests();
        requests
            .iter()
            .filter(|(route, _)| {
                !route.starts_with("GET")
                    && !route.contains("access_tokens")
                    && !route.to_lowercase().contains("graphql")
                    && !route.contains("upload-pack")
            })
            .map(|(route, count)| format!("{route} {count}"))
            .collect::<Vec<_>>()
    };
    let (code, text) = tokio::task::block_in_place(|| run(&mut stage.command(&["plan"])));
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("cert-manager") && text.contains("1.15.0"), "{text}");
    assert_eq!(writes(&stage), Vec::<String>::new(), "a plan writes nothing");
    assert!(stage.pulls().is_empty());

    let summary = stage.folder.path().join("summary.md");
    let (code, text) = tokio::task::block_in_place(|| {
        run(stage.command(&["once"]).env("GITHUB_STEP_SUMMARY", &summary).env("GITHUB_EVENT_NAME", "schedule"))
    });
    assert_eq!(code, 0, "{text}");
    let qa = stage.pull("cert-manager", "qa").expect("opened");
    assert!(is_open(&qa) || is_merged(&qa));
    assert!(std::fs::read_to_string(&summary).unwrap().contains("cert-manager"));

    let (code, text) = tokio::task::block_in_place(|| run(&mut stage.command(&["explain", "cert-manager", "qa"])));
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("health"), "{text}");
    let (code, text) = tokio::task::block_in_place(|| run(&mut stage.command(&["explain", "cert-manger"])));
    assert_eq!(code, 1);
    assert!(text.contains("cert-manager, ingress-nginx"), "an unknown plugin names the known ones: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a17_events_of_strangers_start_nothing() {
    let stage = Stage::set().await;
    for event in ["pull_request_target", "issue_comment", "workflow_run", "pull_request"] {
        let (code, text) =
            tokio::task::block_in_place(|| run(stage.command(&["once"]).env("GITHUB_EVENT_NAME", event)));
        assert_eq!(code, 1, "{event}");
        assert!(text.contains(event), "{text}");
    }
    assert!(stage.pulls().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a17_a_run_from_another_branch_starts_nothing() {
    let stage = Stage::set().await;
    let once = |from: &str, of: &str| {
        let mut command = stage.command(&["once"]);
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_EVENT_NAME", "workflow_dispatch");
        command.env("GITHUB_REF", from).env("GITHUB_REPOSITORY", of);
        tokio::task::block_in_place(|| run(&mut command))
    };
    for from in ["refs/heads/mine", "refs/tags/main", "refs/pull/1/merge", "main", ""] {
        let (code, text) = once(from, "acme/fleet");
        assert!(code == 1 && text.contains("not from the default branch `main`"), "{from}: {text}");
    }
    // Nobody says which branch of an unknown repository is the default one.
    let (code, text) = once("refs/heads/main", "mallory/fork");
    assert!(code == 1 && text.contains("which branch of `mallory/fork`"), "{text}");
    assert!(stage.pulls().is_empty());
    let (code, text) = once("refs/heads/main", "Acme/fleet");
    assert_eq!(code, 0, "{text}");
    assert!(stage.pull("cert-manager", "qa").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_with_the_token_of_a_workflow_nothing_is_forced_and_it_says_why() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.clear_rulesets(REPOSITORY).unwrap();
    // Such a token cannot read who is in a team.
    let owners = github.file(REPOSITORY, "main", ".github/CODEOWNERS").unwrap().unwrap();
    let owners = owners.replace("@acme/platform", "@maria @vera");
    github.push_file(REPOSITORY, "people", "vera", ".github/CODEOWNERS", &owners, "People").unwrap();
    let number = github.open_pull(REPOSITORY, "vera", "people", "main", "People", "").unwrap();
    github.approve(REPOSITORY, number, "maria").unwrap();
    github.merge_as(REPOSITORY, number, "vera").unwrap();
    let token = github.workflow_token(REPOSITORY).unwrap();
    let summary = stage.folder.path().join("summary.md");
    let once = |stage: &Stage| {
        let mut command = stage.command(&["once"]);
        command.env_remove("COLDFRAME_APP_ID").env_remove("COLDFRAME_APP_KEY");
        command.env("COLDFRAME_TOKEN", &token).env("GITHUB_STEP_SUMMARY", &summary);
        tokio::task::block_in_place(|| run(&mut command))
    };
    let (code, text) = once(&stage);
    assert_eq!(code, 0, "{text}");
    let said = std::fs::read_to_string(&summary).unwrap();
    assert!(said.contains("nothing is forced and no branch rule is bypassed"), "{said}");
    assert!(said.contains("Give an App"), "{said}");
    // On bronze an owner must review by the branch's rules. The second App, which need not obey them, is not used.
    for _ in 0..20 {
        if stage.pull("cert-manager", "bronze").is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_secs(2));
        once(&stage);
    }
    let bronze = stage.pull("cert-manager", "bronze").expect("it never opened");
    assert_eq!(bronze.author, "github-actions[bot]");
    for owner in ["maria", "vera"] {
        github.comment(REPOSITORY, bronze.number, owner, "/coldframe force an outage").unwrap();
    }
    for _ in 0..3 {
        std::thread::sleep(std::time::Duration::from_secs(2));
        let (code, text) = once(&stage);
        assert_eq!(code, 0, "{text}");
    }
    let bronze = stage.pull("cert-manager", "bronze").unwrap();
    assert!(is_open(&bronze), "it was forced: {:?}", bronze.standing);
    assert!(bronze.body.contains("every workflow of the repository is the bot"), "{}", bronze.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn f41_however_seldom_and_unevenly_it_runs_the_climb_goes_on() {
    let stage = Stage::set().await;
    let mut bronze = None;
    for pause in [0, 0, 9, 1, 0, 14, 3, 0, 20, 5, 5, 5, 5, 5] {
        std::thread::sleep(std::time::Duration::from_secs(pause));
        let (code, text) = tokio::task::block_in_place(|| run(&mut stage.command(&["once"])));
        assert_eq!(code, 0, "{text}");
        bronze = stage.pull("cert-manager", "bronze");
        if bronze.is_some() {
            break;
        }
    }
    assert!(bronze.is_some(), "it never opened on bronze");
    for tier in ["qa", "bronze"] {
        let branch = format!("coldframe/cert-manager/{tier}");
        assert_eq!(stage.pulls().iter().filter(|pull| pull.head == branch).count(), 1, "{tier}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_says_where_it_is_and_what_it_looks_after() {
    let stage = Stage::set().await;
    let mut command = stage.command(&["serve"]);
    command.env_remove("COLDFRAME_LOG").env("COLDFRAME_PUBLIC_URL", "https://coldframe.example/at");
    let _bot = stage.start(command);
    let given = stage.world.settings();
    let pull = stage.until("a pull request comes", |stage| stage.pull("cert-manager", "qa")).await;
    let log = stage.whole_log();
    for part in [&format!("http://{}/webhook", given.listen), &format!("http://{}/", given.dashboard), REPOSITORY] {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert!(!log.contains('\u{1b}'), "no colours where nobody sees them: {log}");
    let link = "https://coldframe.example/at/acme/fleet/plugins/cert-manager/tiers/qa";
    assert!(pull.body.contains(link), "{}", pull.body);
    let numbers = reqwest::get(format!("http://{}/metrics", given.dashboard)).await.unwrap().text().await.unwrap();
    assert!(numbers.contains("coldframe_hub_calls_total{api=\"rest\",status=\"2xx\"}"), "{numbers}");

    let (code, text) = tokio::task::block_in_place(|| run(&mut stage.command(&["explain"])));
    assert!(code == 0 && text.contains("The policy has cert-manager, ingress-nginx"), "{text}");
}

/// A server goes on to try, and says once what its operator has to look at; a single run ends with that.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_repository_app_or_key_is_said_with_what_to_look_at() {
    let stage = Stage::set().await;
    let other_key = stage.world.settings().bypass_app_key.display().to_string();
    let mut told = 0;
    for (name, value, words) in [
        ("COLDFRAME_REPOSITORY", "acme/flet", "look at --repository: nothing is called so, or the App is not"),
        ("COLDFRAME_APP_ID", "987654", "look at --app-id: the hub knows no such App"),
        ("COLDFRAME_APP_KEY", &other_key, "look at --app-key and --app-id: the key is none of that App's"),
    ] {
        let (code, text) = tokio::task::block_in_place(|| run(stage.command(&["plan"]).env(name, value)));
        assert!(code == 1 && text.contains(words), "{text}");
        let bot = stage.serve_with(&[(name, value)]);
        stage.until(words, |stage| stage.whole_log().contains(words).then_some(())).await;
        // The next tries come after two, four and eight seconds.
        tokio::time::sleep(std::time::Duration::from_secs(8)).await;
        drop(bot);
        told += 1;
        assert_eq!(stage.whole_log().matches("repositories not listed").count(), told, "{}", stage.logged());
    }
    assert!(stage.pulls().is_empty());
}

#[test]
fn what_cannot_serve_is_said_at_once() {
    let serve = |more: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_coldframe"));
        command.env_clear().args([
            "serve",
            "--token",
            "t",
            "--repository",
            "acme/fleet",
            "--hub",
            "http://127.0.0.1:1",
        ]);
        run(command.args(more))
    };
    for secret in ["", " , "] {
        let (code, text) =
            serve(&["--webhook-secret", secret, "--listen", "127.0.0.1:0", "--dashboard", "127.0.0.1:0"]);
        assert!(code == 1 && text.contains("webhook secret is empty"), "{text}");
    }
    let (code, text) = serve(&["--webhook-secret", "s", "--listen", "8080"]);
    assert!(code == 2 && text.contains("such as 127.0.0.1:8080, [::1]:8080 or :8080"), "{text}");
    // The port is bound, and the next mistake is what is told.
    let (code, text) = serve(&["--webhook-secret", "s", "--listen", ":0", "--dashboard", ":0", "--public-url", "x"]);
    assert!(code == 1 && text.contains("--public-url"), "{text}");
}
