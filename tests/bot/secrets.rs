//! What must be told to nobody, and objects that nobody can read.

use std::time::Duration;

use demo::clusters::Kind;
use reqwest::Client;
use serde_json::json;

use crate::port::{Poor, is_up, signed};
use crate::support::{REPOSITORY, Stage, is_merged};

const CANARY: &str = "hunter2canary";

/// Where the canary would be seen: pull requests, comments, the log, every page.
async fn everything_said(stage: &Stage) -> String {
    let github = stage.world.github();
    let mut said = format!("{:?}\n{:?}\n", stage.pulls(), github.comments(REPOSITORY).unwrap());
    said.push_str(&stage.whole_log());
    let wave = "/wave?repository=acme/fleet&plugin=cert-manager&tier=qa";
    for path in ["/", wave, "/metrics"] {
        let url = format!("http://{}{path}", stage.world.settings().dashboard);
        said.push_str(&reqwest::get(url).await.unwrap().text().await.unwrap());
    }
    let output = tokio::task::block_in_place(|| stage.command(&["explain", "cert-manager", "qa"]).output().unwrap());
    said.push_str(&String::from_utf8_lossy(&output.stdout));
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    said
}

const HELM: &str = "      - helmRelease: {namespace: cert-manager, name: cert-manager}\n";

/// A signal about an object of this kind, with a state that is a password.
fn signal(kind: &str) -> String {
    let state = "version: $.data.version, state: {path: $.data.password, healthy: [fine]}, generation: $.data.pin";
    format!("{HELM}      - resource: {{apiVersion: v1, kind: {kind}, namespace: argocd, name: canary, {state}}}\n")
}

fn object(kind: &str) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": kind,
        "metadata": {"name": "canary", "namespace": "argocd", "generation": 1},
        "data": {"password": format!("{CANARY}-1"), "message": format!("{CANARY}-2"), "reason": format!("{CANARY}-3"),
            "version": format!("{CANARY}-4"), "pin": "8642013579"},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a31_a_secret_is_not_read_however_its_kind_is_written() {
    let stage = Stage::set().await;
    for (cluster, _) in stage.world.clusters().urls() {
        stage.world.clusters().put(&cluster, &Kind::custom("", "v1", "Secret", "secrets"), &object("Secret")).unwrap();
    }
    let mut before = HELM.to_owned();
    let _bot = stage.serve();
    for kind in ["SECRET", "SecretList", "Widget, plural: secrets"] {
        stage.edit_policy(&before, &signal(kind));
        before = signal(kind);
        let place = format!("kind: {kind}, namespace: argocd");
        let refused = |stage: &Stage| {
            let log = stage.whole_log();
            (log.contains("a Secret is not read") && log.contains(&place)).then_some(())
        };
        stage.until("it is refused at its line", refused).await;
        let said = everything_said(&stage).await;
        assert!(!said.contains(CANARY) && !said.contains("8642013579"), "{kind}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a31_what_is_no_version_and_no_state_is_told_to_nobody() {
    let stage = Stage::set().await;
    let kind = Kind { status_subresource: false, ..Kind::custom("", "v1", "ConfigMap", "configmaps") };
    for (cluster, _) in stage.world.clusters().urls() {
        stage.world.clusters().put(&cluster, &kind, &object("ConfigMap")).unwrap();
    }
    stage.edit_policy(HELM, &signal("ConfigMap"));
    let _bot = stage.serve();
    stage.until("qa is merged", |stage| stage.pull("cert-manager", "qa").filter(is_merged)).await;
    let mut said = String::new();
    for _ in 0..30 {
        said = everything_said(&stage).await;
        if said.contains("$.data.password") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(said.contains("$.data.password holds no state that is known"), "{said}");
    assert!(!said.contains(CANARY) && !said.contains("8642013579"), "{said}");
}

/// What the process remembers goes to no disk, and what it was given stands in nothing that it writes.
#[tokio::test(flavor = "multi_thread")]
async fn a31_keys_stay_in_memory() {
    let stage = Stage::set().await;
    let bot = Poor::serve(&stage, 1024);
    stage.until("qa is merged", |stage| stage.pull("cert-manager", "qa").filter(is_merged)).await;
    let of = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", bot.0.id())).unwrap();
    let limits = of("limits");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"], "{core}");
    let said = everything_said(&stage).await + &of("cmdline");
    let given = stage.world.settings();
    let key = std::fs::read_to_string(&given.app_key).unwrap();
    for secret in [given.webhook_secret.as_str(), key.lines().nth(1).unwrap(), "ghs_", "BEGIN RSA", "eyJ"] {
        assert!(!said.contains(secret), "`{}…` is told", &secret[..4]);
    }
}

/// One object that nobody can read stops neither the loop nor the other plugins, and a delivery like it no process.
#[tokio::test(flavor = "multi_thread")]
async fn f46_a_poisoned_object_stops_nothing_else() {
    let stage = Stage::set().await;
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let poison = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "canary", "namespace": "apps", "generation": 1},
        "spec": {"version": deep}, "status": {"phase": {"a": ["\u{0}", null, 1e308]}, "conditions": "none"},
    });
    let kind = Kind::custom("example.com", "v1", "Widget", "widgets");
    for (cluster, _) in stage.world.clusters().urls() {
        stage.world.clusters().put(&cluster, &kind, &poison).unwrap();
    }
    let state = "version: $.spec.version, state: {path: $.status.phase, healthy: [fine]}";
    let more = format!(
        "{HELM}      - resource: {{apiVersion: example.com/v1, kind: Widget, namespace: apps, name: canary, {state}}}\n"
    );
    stage.edit_policy(HELM, &more);
    let _bot = stage.serve();
    let client = Client::new();
    is_up(&stage, &client).await;
    let url = format!("http://{}/webhook", stage.world.settings().listen);
    for body in [
        "[".repeat(100_000),
        "{\"repository\":".repeat(9_000),
        "\u{0}".to_owned(),
        "{\"repository\":{\"id\":1e999}}".to_owned(),
    ] {
        let request = client.post(&url).header("X-Hub-Signature-256", signed(&stage, body.as_bytes()));
        let answer = request.header("X-GitHub-Event", "push").body(body).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 400);
    }
    stage.until("another plugin climbs", |stage| stage.pull("ingress-nginx", "bronze")).await;
    stage.until("qa is merged", |stage| stage.pull("cert-manager", "qa").filter(is_merged)).await;
    stage.never(4, "what cannot be read let it through", |stage| stage.pull("cert-manager", "bronze").is_some()).await;
    assert!(!stage.whole_log().contains("panicked"), "{}", stage.logged());
}
