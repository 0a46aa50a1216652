//! Senders in clusters ring at the running bot.

use std::process::Command;
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;

use crate::support::Stage;

/// How often the bot has looked at the repository.
pub async fn looks(address: &str) -> u64 {
    let Ok(answer) = reqwest::get(format!("http://{address}/metrics")).await else { return 0 };
    let text = answer.text().await.unwrap_or_default();
    let ticks = text.lines().filter(|line| line.starts_with("coldframe_ticks_total{"));
    ticks.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// The number of looks once the bot has come to rest for some seconds.
pub async fn at_rest(stage: &Stage, address: &str, seconds: u64) -> u64 {
    let mut before = 0;
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let now = looks(address).await;
        if now > 0 && now == before {
            return now;
        }
        before = now;
    }
    panic!("it never rests\n{}", stage.logged());
}

#[tokio::test(flavor = "multi_thread")]
async fn a39_a_sender_in_a_cluster_makes_the_bot_look_and_a_stranger_does_not() {
    let stage = Stage::set().await;
    // Nothing moves, so that the bot comes to rest.
    stage.edit_policy("plugins:\n", "freeze: [{why: a quiet day}]\nplugins:\n");
    let secrets = stage.folder.path().join("wake");
    std::fs::create_dir(&secrets).unwrap();
    std::fs::write(secrets.join("flux"), "n3w-secret\nold-secret\n").unwrap();
    let folder = secrets.display().to_string();
    let quiet = [("COLDFRAME_SWEEP", "1h"), ("COLDFRAME_POLL", "1h"), ("COLDFRAME_WAKE_SECRETS", folder.as_str())];
    let _bot = stage.serve_with(&[&quiet[..], &[("COLDFRAME_WAKE_ARGOCD", "t0ken")]].concat());
    let address = stage.world.settings().listen.to_string();
    let client = reqwest::Client::new();
    let ring = |path: &str| client.post(format!("http://{address}/wake/{path}")).body("{}");
    let signed = |secret: &str| {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), b"{}");
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256={hex}")
    };

    let shown = stage.world.settings().dashboard.clone();
    let rested = at_rest(&stage, &shown, 7).await;
    for (request, expected) in [
        (ring("flux").header("X-Signature", signed("wrong")), 401),
        (ring("flux"), 401),
        (ring("argocd").bearer_auth("wrong"), 401),
        (ring("alertmanager").bearer_auth("t0ken"), 404),
        (ring("argocd?repository=acme/unknown").bearer_auth("t0ken"), 404),
    ] {
        assert_eq!(request.send().await.unwrap().status().as_u16(), expected);
    }
    // Longer than a ring from a cluster may have to wait.
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(looks(&shown).await, rested, "strangers wake nobody");
    assert!(stage.whole_log().contains("set COLDFRAME_WAKE_ALERTMANAGER"), "{}", stage.logged());

    let mut before = rested;
    for request in [
        ring("flux").header("X-Signature", signed("n3w-secret")),
        ring("flux?repository=acme/fleet").header("X-Signature", signed("old-secret")),
        ring("argocd").bearer_auth("t0ken"),
    ] {
        assert_eq!(request.send().await.unwrap().status().as_u16(), 202);
        let begun = Instant::now();
        while looks(&shown).await <= before {
            assert!(begun.elapsed() < Duration::from_secs(30), "it did not look\n{}", stage.logged());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        before = at_rest(&stage, &shown, 1).await;
    }
    let log = stage.whole_log();
    assert!(!log.contains("n3w-secret") && !log.contains("t0ken"), "a secret is in the log");
}

#[test]
fn secrets_that_cannot_be_read_stop_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let serve = |folder: &std::path::Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldframe"));
        let command = command.args(["serve", "--webhook-secret", "s", "--wake-secrets"]).arg(folder).env_clear();
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for path in [folder.path().to_path_buf(), folder.path().join("nowhere")] {
        let (code, said) = serve(&path);
        assert!(
            code == Some(1) && said.contains("has none of the files `flux`, `argocd`, `alertmanager` and `chart`"),
            "{said}"
        );
    }
    std::fs::write(folder.path().join("argocd"), "\n").unwrap();
    let (code, said) = serve(folder.path());
    assert!(code == Some(1) && said.contains("argocd` holds no secret"), "{said}");
}
