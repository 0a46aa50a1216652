//! Each engine of the fleet: what it says of a release, as people are shown it.

use crate::support::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn explain_shows_what_each_engine_says_of_a_release() {
    let stage = Stage::calm().await;
    let _bot = stage.serve();
    for (plugin, expected) in [
        (
            "cert-manager",
            ["HelmRelease cert-manager/cert-manager runs 1.15.0:", "status.history[0] is 1.15.0, deployed"],
        ),
        ("kube-state-metrics", ["Application argocd/kube-state-metrics runs 5.25.1:", "status.sync is 5.25.1, Synced"]),
        ("podinfo", ["Rollout podinfo/podinfo runs 6.7.1:", "status.phase=Healthy; status.stableRS="]),
        ("perses", ["PluginPreset acme/perses-qa runs 0.9.4:", "status.version=0.9.4, helmReleaseStatus=deployed"]),
    ] {
        stage.until("it has finished the first tier", |stage| stage.pull(plugin, "bronze")).await;
        let output = tokio::task::block_in_place(|| stage.command(&["explain", plugin, "qa"]).output().unwrap());
        let text = String::from_utf8_lossy(&output.stdout);
        for cluster in ["qa-1", "qa-2"] {
            let below = text.lines().skip_while(|line| !line.contains(&format!("✔ {cluster}"))).nth(1);
            let line = below.unwrap_or_else(|| panic!("{cluster} is not healthy:\n{text}"));
            assert!(expected.iter().all(|words| line.contains(words)), "{cluster}: {line}\n{text}");
        }
    }
}
