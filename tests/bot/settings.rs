//! Commands and their settings.

use crate::support::{Stage, is_merged, is_open};

fn run(command: &mut std::process::Command) -> (i32, String) {
    let output = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), text)
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
async fn events_of_strangers_start_nothing() {
    let stage = Stage::set().await;
    for event in ["pull_request_target", "issue_comment", "workflow_run", "pull_request"] {
        let (code, text) =
            tokio::task::block_in_place(|| run(stage.command(&["once"]).env("GITHUB_EVENT_NAME", event)));
        assert_eq!(code, 1, "{event}");
        assert!(text.contains(event), "{text}");
    }
    assert!(stage.pulls().is_empty());
}
