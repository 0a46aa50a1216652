//! `coldframe setup`: the App is registered as GitHub's manifest flow has it, by a browser that is played here by HTTP.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};

use demo::github::Role;
use reqwest::Client;

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

/// The value of an attribute after a mark in a page.
fn after<'p>(page: &'p str, mark: &str) -> &'p str {
    let from = page.find(mark).unwrap_or_else(|| panic!("{mark}: {page}")) + mark.len();
    page[from..].split('"').next().unwrap()
}

fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"")
        .replace("&#x27;", "'")
        .replace("&#x3D;", "=")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// The page's form as the browser of a person sends it, up to where GitHub sends that browser back.
async fn registers(stage: &Stage, page: &str, who: &str) -> String {
    let hub = &stage.world.settings().hub;
    let client = Client::new();
    let shown = client.get(page).send().await.unwrap().text().await.unwrap();
    let manifest = unescaped(after(&shown, "name=\"manifest\" value=\""));
    let action = unescaped(after(&shown, "formaction=\""));
    assert!(action.starts_with(&format!("{hub}/organizations/acme/settings/apps/new?state=")), "{action}");
    let cookie = format!("sandbox_who={who}");
    let origin = page.split('/').take(3).collect::<Vec<_>>().join("/");
    let form =
        |fields: &[(&str, &str)]| url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let sent = |origin: &str, body: String| {
        let request = client.post(&action).header("cookie", &cookie).header("origin", origin);
        request.header("content-type", "application/x-www-form-urlencoded").body(body).send()
    };
    let proposed = sent(&origin, form(&[("manifest", &manifest)])).await.unwrap().text().await.unwrap();
    assert!(proposed.contains("Create GitHub App for acme"), "{proposed}");
    let fields = [
        ("manifest", unescaped(after(&proposed, "name=\"manifest\" value=\""))),
        ("state", unescaped(after(&proposed, "name=\"state\" value=\""))),
        ("name", unescaped(after(&proposed, "name=\"name\" value=\""))),
        ("create", "yes".to_owned()),
    ];
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    let elsewhere = sent(&origin, form(&fields)).await.unwrap();
    assert_eq!(elsewhere.status().as_u16(), 403, "another site's form makes no App");
    let made = sent(hub, form(&fields)).await.unwrap().text().await.unwrap();
    unescaped(after(&made, "<a href=\""))
}

#[tokio::test(flavor = "multi_thread")]
async fn a33_an_app_is_registered_for_whoever_opened_the_page_once_and_kept() {
    let stage = house().await;
    let github = stage.world.github();
    github.set_permission(REPOSITORY, "root", Role::Admin).unwrap();
    let hook = format!("http://{}/webhook", stage.world.settings().listen);
    let mut waiting = begin(&stage, &["--webhook-url", &hook]);
    let back = registers(&stage, &waiting.page, "root").await;
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
    // A person installs it.
    let install = unescaped(after(&told, "class=\"button\" href=\""));
    let hub = &stage.world.settings().hub;
    let form = "repository=acme%2Ffleet";
    let done = client.post(&install).header("cookie", "sandbox_who=root").header("origin", hub).body(form).send().await;
    assert!(done.unwrap().text().await.unwrap().contains("is installed on acme/fleet"));
    let (code, text) = tokio::task::block_in_place(|| {
        let mut text = String::new();
        waiting.rest.read_to_string(&mut text).unwrap();
        (waiting.bot.0.wait().unwrap().code(), text)
    });
    // The ledger is still the first App's.
    assert_eq!(code, Some(1), "{text}");
    for word in [
        "✓ registered the App coldframe-acme",
        "✓ installed on acme/fleet",
        "✓ it has every permission that it needs",
        "✓ it is subscribed to every event",
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
    let back = registers(&stage, &waiting.page, "root").await;
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
