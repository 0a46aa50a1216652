//! `coldframe doctor`: what is broken is said, with the sentence that mends it, and nothing else.

use std::process::Command;

use demo::clusters::Link;
use demo::github::{Access, Rule};

use crate::support::{REPOSITORY, Stage};

/// Runs it: the exit code, and what it said, without the line breaks.
fn doctor(command: &mut Command) -> (i32, String) {
    let output = tokio::task::block_in_place(|| command.output()).unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.code().unwrap(), text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A house in which everything is as it should be: somebody takes the webhooks.
pub async fn house() -> Stage {
    let stage = Stage::set().await;
    let listener = tokio::net::TcpListener::bind(&stage.world.settings().listen).await.unwrap();
    let router = axum::Router::new().fallback(|| std::future::ready(axum::http::StatusCode::ACCEPTED));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    // What was sent before anybody listened may be noted late.
    loop {
        rung(&stage, Some(202)).await;
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        if stage.world.github().deliveries().last().is_some_and(|last| last.status == Some(202)) {
            break;
        }
    }
    stage
}

/// Something happens, and its webhook is answered so. Once more, where an older one was noted after it.
async fn rung(stage: &Stage, wanted: Option<u16>) {
    let github = stage.world.github();
    for _ in 0..60 {
        let before = github.deliveries().len();
        github.push_file(REPOSITORY, &format!("ring-{before}"), "vera", "ring", "x", "Ring").unwrap();
        for _ in 0..20 {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            let left = github.deliveries();
            if left.len() > before && left.last().is_some_and(|last| last.status == wanted) {
                return;
            }
        }
    }
    panic!("the last webhook was never answered with {wanted:?}: {:?}", github.deliveries().last());
}

/// It is not well, in exactly one point, and these words are said of it.
fn assert_ill(said: &(i32, String), words: &[&str]) {
    let (code, text) = said;
    assert_eq!(*code, 1, "{text}");
    assert_eq!(text.matches('✗').count(), 2, "one finding, and the last line: {text}");
    for word in words {
        assert!(text.contains(word), "`{word}`: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_house_in_order_is_well_and_nothing_is_written() {
    let stage = house().await;
    let (code, text) = doctor(&mut stage.command(&["doctor"]));
    assert!(code == 0 && !text.contains('✗'), "{text}");
    for good in [
        "✓ http://127.0.0.1",
        "answers, and it knows the App coldframe",
        "✓ it is subscribed to every event",
        "✓ the App coldframe is installed there",
        "✓ it has every permission that it needs",
        "✓ nobody but the App pushes `coldframe-ledger`",
        "✓ the second App, coldframe-force, is installed",
        "✓ the rules of `main` can be read",
        "✓ the policy reads well: 3 plugins and 4 tiers",
        "✓ the inventory has 12 clusters",
        "may be read as the signals need it",
        "✓ 3 sources of charts can be read: cert-manager, ingress-nginx, kube-state-metrics",
    ] {
        assert!(text.contains(good), "`{good}`: {text}");
    }
    let key = std::fs::read_to_string(&stage.world.settings().app_key).unwrap();
    assert!(key.lines().skip(1).all(|line| line.starts_with('-') || !text.contains(line)), "{text}");
    let writes = stage.world.github().requests();
    let writes: Vec<&String> = writes
        .keys()
        .filter(|route| !route.starts_with("GET") && !route.contains("access_tokens"))
        .filter(|route| !route.to_lowercase().contains("graphql") && !route.contains("upload-pack"))
        .collect();
    assert_eq!(writes, Vec::<&String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_we_are_is_mended_by_the_sentence_that_is_said() {
    let stage = house().await;
    let given = stage.world.settings();
    let with = |name: &str, value: &str| doctor(stage.command(&["doctor"]).env(name, value));
    let bypass = given.bypass_app_key.display().to_string();
    assert_ill(
        &with("COLDFRAME_APP_KEY", &bypass),
        &["--app-key is no private key of App", "Make one at the App's settings"],
    );
    assert_ill(&with("COLDFRAME_APP_ID", "999999"), &["Look at --app-id: the hub knows no App of that number"]);
    assert_ill(&with("COLDFRAME_HUB", "http://127.0.0.1:1"), &["does not let us in", "Look at --hub", "HTTPS_PROXY"]);
    assert_ill(&with("COLDFRAME_BYPASS_APP_ID", "999999"), &["the second App", "Look at --bypass-app-id"]);
    stage.world.github().add_repository("acme", "other", &[]).unwrap();
    let said = with("COLDFRAME_REPOSITORY", "acme/other");
    assert_ill(
        &said,
        &["the App coldframe is not installed on acme/other", "Install it: http", "/apps/coldframe/installations/new"],
    );

    let github = stage.world.github();
    for (hours, way) in [(1, "behind"), (-1, "ahead of")] {
        github.shift_clock(jiff::SignedDuration::from_hours(hours));
        let (code, text) = doctor(&mut stage.command(&["doctor"]));
        assert_eq!(code, 1, "{text}");
        let clock = format!("✗ this machine's clock is 1h {way} the hub's");
        assert!(text.contains("timedatectl") && text.contains(&clock), "{text}");
        github.shift_clock(jiff::SignedDuration::from_hours(-hours));
    }
    github.suspend_app(given.app_id, "acme", true).unwrap();
    let (code, text) = doctor(&mut stage.command(&["doctor"]));
    assert!(code == 1 && text.contains("suspended"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_app_may_not_do_is_said_with_where_it_is_given() {
    let stage = house().await;
    let (github, app) = (stage.world.github(), stage.world.settings().app_id);
    let run = || doctor(&mut stage.command(&["doctor"]));
    github.set_app_permission(app, "statuses", None).unwrap();
    let (code, text) = run();
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("✗ the permission `statuses: read` is not granted"), "{text}");
    assert!(text.contains("/settings/apps/coldframe/permissions, then accept it at http"), "{text}");
    github.set_app_permission(app, "statuses", Some(Access::Read)).unwrap();

    github.set_app_permission(app, "issues", Some(Access::Read)).unwrap();
    let (code, text) = run();
    assert!(code == 0 && text.contains("! the permission `issues: write` is read alone"), "{text}");
    github.set_app_permission(app, "issues", Some(Access::Write)).unwrap();

    github.unsubscribe(app, "issue_comment").unwrap();
    let (code, text) = run();
    assert!(code == 0 && text.contains("! it is not subscribed to issue_comment"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_ledger_is_shut_by_the_command_that_is_printed() {
    let stage = house().await;
    let github = stage.world.github();
    let run = || doctor(&mut stage.command(&["doctor"]));
    github.clear_rulesets(REPOSITORY).unwrap();
    let output = tokio::task::block_in_place(|| stage.command(&["doctor"]).output()).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words = &["can push and rewind and delete `coldframe-ledger`", "Let nobody but the App"];
    assert_ill(&run(), words);
    // An administrator does what it says.
    let rules = text.lines().map(str::trim).find(|line| line.starts_with('{')).unwrap();
    let (hub, admin) = (&stage.world.settings().hub, github.add_token("root"));
    github.set_permission(REPOSITORY, "root", demo::github::Role::Admin).unwrap();
    let url = format!("{hub}/api/v3/repos/{REPOSITORY}/rulesets");
    let made = reqwest::Client::new().post(url).bearer_auth(admin).body(rules.to_owned()).send().await.unwrap();
    assert_eq!(made.status().as_u16(), 201, "{}", made.text().await.unwrap());
    let (code, text) = run();
    assert!(code == 0 && text.contains("✓ nobody but the App pushes"), "{text}");

    github.add_ruleset(REPOSITORY, "coldframe-*", &[Rule::Update], &[]).unwrap();
    assert_ill(&run(), &["the App may not push `coldframe-ledger`", "rules for coldframe-*", "bypass list"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_that_do_not_arrive_are_told_apart() {
    let stage = Stage::set().await;
    let (github, given) = (stage.world.github(), stage.world.settings());
    let run = || doctor(&mut stage.command(&["doctor"]));
    rung(&stage, None).await;
    assert_ill(&run(), &["got no answer from 127.0.0.1/webhook", "whether `serve` runs"]);
    let bot = stage.serve();
    rung(&stage, Some(202)).await;
    assert!(run().1.contains("✓ webhooks arrive at 127.0.0.1/webhook"));
    drop(bot);
    rung(&stage, None).await;
    let (code, text) = run();
    assert!(
        code == 0 && text.contains("! the webhook of ") && text.contains("others arrived shortly before"),
        "{text}"
    );
    let bot = stage.serve();
    rung(&stage, Some(202)).await;
    let url = format!("http://{}/webhook", given.listen);
    github.set_webhook(given.app_id, &url, "another secret").unwrap();
    rung(&stage, Some(401)).await;
    assert_ill(&run(), &["it was signed with another secret", "Let --webhook-secret be the secret"]);
    github.set_webhook(given.app_id, &format!("http://{}/hook", given.listen), &given.webhook_secret).unwrap();
    rung(&stage, Some(404)).await;
    assert_ill(&run(), &["`serve` takes them at /webhook", "was answered 404"]);
    drop(bot);
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_charts_and_secrets_are_told_one_by_one() {
    let stage = house().await;
    let run = || doctor(&mut stage.command(&["doctor"]));
    let clusters = stage.world.clusters();
    let folder = stage.world.settings().clusters.clone();
    let name = clusters.urls().into_keys().find(|name| name != "hub").unwrap();
    let file = folder.join(format!("{name}-reader.yaml"));
    for (link, words) in [
        (Link::Unauthorized, &["the credential is not accepted (401)", "Make the kubeconfig anew"][..]),
        (Link::Forbidden, &["not allowed to get", "(403)", "`coldframe access` prints the rights"]),
    ] {
        clusters.set_link(&name, link).unwrap();
        assert_ill(&run(), &[words, &[&format!("✗ {name}-reader: ")]].concat());
    }
    clusters.set_link(&name, Link::Up).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let address = &clusters.urls()[&name];
    std::fs::write(&file, text.replace(address.as_str(), "http://127.0.0.1:1")).unwrap();
    let mut command = stage.command(&["doctor"]);
    command.env("COLDFRAME_ALLOW_HOSTS", stage.allowed("127.0.0.1:1"));
    assert_ill(&doctor(&mut command), &[&format!("✗ {name}-reader: "), "whether this machine reaches it"]);
    std::fs::remove_file(&file).unwrap();
    assert_ill(
        &run(),
        &[
            &format!("✗ {name}-reader: "),
            "there is no NAME.yaml in the operator's folder",
            "`coldframe access --script`",
        ],
    );
    std::fs::write(&file, text).unwrap();

    let registry = stage.world.charts().host();
    let allowed = stage.world.settings().allow_hosts.iter().filter(|host| **host != registry).cloned();
    let allowed = allowed.collect::<Vec<_>>().join(",");
    let (code, text) = doctor(stage.command(&["doctor"]).env("COLDFRAME_ALLOW_HOSTS", allowed));
    assert!(code == 1 && text.contains("✗ cert-manager: ") && text.contains("--allow-hosts"), "{text}");

    let notify = "notify: [{slack: {url: {secret: OPS_CHAT}}}]\n";
    stage.edit_policy("plugins:\n", &format!("{notify}plugins:\n"));
    assert_ill(&run(), &["✗ `notify` tells nobody", "no secret OPS_CHAT: set COLDFRAME_SECRET_OPS_CHAT"]);
    let (code, text) = doctor(stage.command(&["doctor"]).env("COLDFRAME_SECRET_OPS_CHAT", "https://hooks.example/x"));
    assert!(code == 0 && text.contains("✓ the secrets that `notify` names are there: OPS_CHAT"), "{text}");

    stage.edit_policy("soak:", "soka:");
    let (code, text) = run();
    assert!(code == 1 && text.contains("✗ the policy has mistakes") && text.contains("soka"), "{text}");
}
