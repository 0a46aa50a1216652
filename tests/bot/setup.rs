//! `coldframe setup`: the App is registered as GitHub's manifest flow has it, by a browser that is played here by HTTP.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};

use demo::github::Role;
use reqwest::Client;

use crate::browser::{after, installs, registers};
use crate::doctor::house;
use crate::support::{Bot, REPOSITORY, Stage};

/// A `setup` that waits, with the address of its page and what it says after it.
struct Waiting {
    bot: Bot,
    page: String,
    rest: BufReader<std::process::ChildStderr>,
}

fn begin(stage: &Stage, more: &[&str]) -> Waiting {
    let mut command = stage.command(&["setup"]);
    command.args(more).current_dir(stage.folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["APP_ID", "APP_KEY", "BYPASS_APP_ID", "BYPASS_APP_KEY"] {
        command.env_remove(format!("COLDFRAME_{name}"));
    }
    let mut child: Child = command.spawn().unwrap();
    let mut rest = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.trim().starts_with("http://") {
        line.clear();
        assert!(rest.read_line(&mut line).unwrap() > 0, "it ended");
    }
    Waiting { bot: Bot(child), page: line.trim().to_owned(), rest }
}

#[tokio::test(flavor = "multi_thread")]
async fn a33_an_app_is_registered_for_whoever_opened_the_page_once_and_kept() {
    let stage = house().await;
    let github = stage.world.github();
    github.set_permission(REPOSITORY, "root", Role::Admin).unwrap();
    let hook = format!("http://{}/webhook", stage.world.settings().listen);
    let mut waiting = begin(&stage, &["--webhook-url", &hook]);
    let back = registers(&stage.world.settings().hub, &waiting.page, "root").await;
    let client = Client::new();
    // Who has not the state, or comes by another name, is nobody.
    let without = format!("{}&state=x", back.split("&state=").next().unwrap());
    assert_eq!(client.get(without).send().await.unwrap().status().as_u16(), 400);
    let named = client.get(&back).header("host", "rebound.example").send().await.unwrap();
    assert_eq!(named.status().as_u16(), 421);
    let (told, again) = tokio::join!(client.get(&back).send(), async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        client.get(&back).send().await
    });
    let told = told.unwrap().text().await.unwrap();
    assert!(told.contains("coldframe-acme is registered"), "{told}");
    assert_eq!(again.unwrap().status().as_u16(), 409, "a page is good for one App");

    let folder = stage.folder.path().join("coldframe-app");
    for name in ["app.pem", "env"] {
        let mode = std::fs::metadata(folder.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let env = std::fs::read_to_string(folder.join("env")).unwrap();
    let id: u64 = after(&env.replace('\n', "\""), "COLDFRAME_APP_ID=").parse().unwrap();
    let key = std::fs::read_to_string(folder.join("app.pem")).unwrap();
    installs(&stage.world.settings().hub, &told, "root", REPOSITORY).await;
    let (code, text) = tokio::task::block_in_place(|| {
        let mut text = String::new();
        waiting.rest.read_to_string(&mut text).unwrap();
        (waiting.bot.0.wait().unwrap().code(), text)
    });
    assert_eq!(code, Some(0), "{text}");
    for word in [
        "✓ registered the App coldframe-acme",
        "✓ installed on acme/fleet",
        "✓ it has every permission that it needs",
        "✓ it is subscribed to every event",
        // The ledger is still the first App's.
        "✗ the App may not push `coldframe-ledger`",
        "coldframe doctor",
    ] {
        assert!(text.contains(word), "`{word}`: {text}");
    }
    assert_eq!(text.matches('✗').count(), 2, "{text}");
    assert!(key.lines().filter(|line| !line.starts_with('-')).all(|line| !text.contains(line)), "the key is not told");

    // With these settings the bot works.
    github.clear_rulesets(REPOSITORY).unwrap();
    let mut command = stage.command(&["once"]);
    command.env("COLDFRAME_APP_ID", id.to_string()).env("COLDFRAME_APP_KEY", folder.join("app.pem"));
    command.env_remove("COLDFRAME_BYPASS_APP_ID").env_remove("COLDFRAME_BYPASS_APP_KEY");
    let output = tokio::task::block_in_place(|| command.output()).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pull = stage.pull("cert-manager", "qa").expect("opened");
    assert_eq!(pull.author, "coldframe-acme[bot]");
    let refused = begin_refused(&stage);
    assert!(refused.contains("holds app.pem already"), "{refused}");
}

/// What a `setup` says that does not even begin.
fn begin_refused(stage: &Stage) -> String {
    let mut command = stage.command(&["setup"]);
    command.current_dir(stage.folder.path());
    let output = tokio::task::block_in_place(|| command.output()).unwrap();
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_for_kubernetes_is_printed_and_nothing_is_written() {
    let stage = Stage::set().await;
    stage.world.github().set_permission(REPOSITORY, "root", Role::Admin).unwrap();
    let mut waiting = begin(&stage, &["--secret"]);
    let back = registers(&stage.world.settings().hub, &waiting.page, "root").await;
    let told = Client::new().get(&back).send().await.unwrap().text().await.unwrap();
    assert!(told.contains("is registered"), "{told}");
    let mut out = BufReader::new(waiting.bot.0.stdout.take().unwrap());
    // It waits for the installation, which nobody makes: what is printed is there before that.
    let text = tokio::task::block_in_place(|| {
        let mut text = String::new();
        while !text.contains("-----END") && out.read_line(&mut text).unwrap() > 0 {}
        drop(waiting.bot);
        out.read_to_string(&mut text).unwrap();
        text
    });
    let secret: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    assert_eq!((secret["kind"].as_str(), secret["metadata"]["name"].as_str()), (Some("Secret"), Some("coldframe-app")));
    let keys: Vec<&String> = secret["stringData"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["app-id", "app.pem"], "without a webhook there is no secret of one");
    assert!(!stage.folder.path().join("coldframe-app").exists());
}
