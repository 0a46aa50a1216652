//! What strangers ask of the public port and do not get.

use crate::support::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn a33_nobody_sets_the_app_up_over_the_network() {
    let stage = Stage::set().await;
    let _bot = stage.serve();
    let address = stage.world.settings().listen.clone();
    let client = reqwest::Client::new();
    let healthy = format!("http://{address}/healthz");
    let begun = std::time::Instant::now();
    while client.get(&healthy).send().await.is_err() {
        assert!(begun.elapsed().as_secs() < 60, "it never listens\n{}", stage.logged());
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    // As bots of others have them, and as somebody would guess.
    for path in [
        "setup",
        "probot",
        "manifest",
        "github-app/setup",
        "github-app/exchange-code?code=x",
        "app-manifests/x/conversions",
        "webhook/setup",
        "wake/setup",
        "install",
        "login",
        "api/keys",
        "settings",
        ".env",
        "debug/pprof/heap",
    ] {
        for method in [reqwest::Method::GET, reqwest::Method::POST, reqwest::Method::PUT] {
            let answer = client.request(method.clone(), format!("http://{address}/{path}")).send().await.unwrap();
            assert_eq!(answer.status().as_u16(), 404, "{method} /{path}");
        }
    }
}
