//! What people do to pull requests of the bot with the hub's own buttons: edit, draft, retarget, delete, merge by
//! hand, revert.

use serde_json::{Value, json};

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const OWNER: &str = "maria";
const WRITER: &str = "vera";

/// A request of a person with write access.
async fn send(stage: &Stage, method: reqwest::Method, path: &str, body: Value) {
    let given = stage.world.settings();
    let url = format!("{}/api/v3/repos/{REPOSITORY}/{path}", given.hub);
    let request = reqwest::Client::new().request(method, url).bearer_auth(&given.user_token);
    let answer = request.body(body.to_string()).send().await.unwrap();
    assert!(answer.status().is_success(), "{path}: {}", answer.text().await.unwrap());
}

async fn retarget(stage: &Stage, number: u64, base: &str) {
    send(stage, reqwest::Method::PATCH, &format!("pulls/{number}"), json!({ "base": base })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f19_f20_f21_texts_are_output_and_a_draft_or_another_base_is_not_merged() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let _bot = stage.serve();
    let opened = |plugin: &'static str| stage.until("bronze opens", move |stage| stage.pull(plugin, "bronze"));
    let edited = opened("cert-manager").await;
    let moved = opened("ingress-nginx").await;
    let beheaded = opened("kube-state-metrics").await;

    github.edit_pull(REPOSITORY, edited.number, OWNER, "Buy milk", "<!-- coldframe: merged, forced -->").unwrap();
    github.set_label(REPOSITORY, edited.number, OWNER, "wontfix", true).unwrap();
    github.set_draft(REPOSITORY, moved.number, WRITER, true).unwrap();
    github.approve(REPOSITORY, moved.number, OWNER).unwrap();
    github.force_branch(REPOSITORY, &beheaded.head, WRITER, None).unwrap();

    let restored = |stage: &Stage| stage.pull("cert-manager", "bronze").filter(|now| now.title == edited.title);
    let now = stage.until("title and text are the bot's again", restored).await;
    assert!(now.body.contains("1.15.0") && !now.body.contains("merged, forced"), "{}", now.body);
    let stirs = |stage: &Stage| {
        stage.pull("ingress-nginx", "bronze").is_none_or(|now| !is_open(&now))
            || stage.pull("kube-state-metrics", "bronze").is_none_or(|now| is_open(&now))
    };
    stage.never(8, "a draft was merged, or what was closed with its branch came again", stirs).await;

    github.force_branch(REPOSITORY, "elsewhere", WRITER, Some("main")).unwrap();
    let elsewhere = github.head(REPOSITORY, "elsewhere").unwrap();
    retarget(&stage, moved.number, "elsewhere").await;
    github.set_draft(REPOSITORY, moved.number, WRITER, false).unwrap();
    let anew = |stage: &Stage| stage.pull("ingress-nginx", "bronze").filter(|now| now.number > moved.number);
    let anew = stage.until("it is proposed anew where it belongs", anew).await;
    assert_eq!(anew.base, "main");
    assert!(anew.reviews.is_empty() && is_open(&anew), "{anew:?}");
    assert_eq!(github.head(REPOSITORY, "elsewhere").unwrap(), elsewhere, "nothing was merged there");

    github.approve(REPOSITORY, edited.number, OWNER).unwrap();
    stage.until("edits of its text stop nothing", |stage| stage.pull("cert-manager", "bronze").filter(is_merged)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a30_f22_f23_f26_what_people_merge_waits_for_health_and_what_they_revert_stays_away() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull("cert-manager", "bronze").filter(is_open)).await;
    // The clusters of qa say that all is well, and go on to say so; one of bronze does not move.
    stage.world.clusters().stick("bronze-eu", "cert-manager").unwrap();
    github.comment(REPOSITORY, pull.number, OWNER, "/coldframe hold until Monday").unwrap();
    let held = |stage: &Stage| stage.pull("cert-manager", "bronze").filter(|now| now.body.contains("until Monday"));
    stage.until("it is held", held).await;
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    let before: Vec<(String, String)> =
        pull.files.iter().map(|path| (path.clone(), github.file(REPOSITORY, "main", path).unwrap().unwrap())).collect();
    let by_hand = json!({ "merge_method": "squash", "sha": pull.head_sha });
    send(&stage, reqwest::Method::PUT, &format!("pulls/{}/merge", pull.number), by_hand).await;
    let silver = |stage: &Stage| stage.pull("cert-manager", "silver");
    stage.never(12, "silver was opened past bronze's own clusters", |stage| silver(stage).is_some()).await;
    stage.world.clusters().recover("bronze-eu", "cert-manager").unwrap();
    let above = stage.until("silver opens: it has landed whoever merged it", silver).await;

    for (path, text) in &before {
        github.push_file(REPOSITORY, "revert", WRITER, path, text, "Back").unwrap();
    }
    let number = github.open_pull(REPOSITORY, WRITER, "revert", "main", "Back", "").unwrap();
    github.approve(REPOSITORY, number, OWNER).unwrap();
    github.merge_as(REPOSITORY, number, WRITER).unwrap();
    github.approve(REPOSITORY, above.number, OWNER).ok();
    let climbs = |stage: &Stage| {
        silver(stage).is_some_and(|now| is_merged(&now))
            || stage.pull("cert-manager", "bronze").is_none_or(|now| now.number != pull.number)
    };
    stage.never(15, "what was reverted climbed on or came again", climbs).await;
    assert!(silver(&stage).is_some_and(|now| !is_open(&now)), "silver's pull request is closed\n{}", stage.logged());
}

#[tokio::test(flavor = "multi_thread")]
async fn f47_other_content_under_the_same_version_stops_it_everywhere() {
    let stage = Stage::set().await;
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull("ingress-nginx", "bronze").filter(is_open)).await;
    let version =
        stage.world.charts().versions("ingress-nginx").into_iter().find(|one| pull.title.contains(one.as_str()));
    stage.world.charts().republish("ingress-nginx", &version.unwrap()).unwrap();
    let said = |stage: &Stage| {
        let now = stage.pull("ingress-nginx", "bronze")?;
        let texts = now.checks.iter().filter_map(|check| check.summary.clone()).chain([now.body.clone()]);
        texts.into_iter().find(|text| text.contains("was published again with other content"))
    };
    stage.until("it says so", said).await;
    stage.world.github().approve(REPOSITORY, pull.number, OWNER).ok();
    let merged = |stage: &Stage| stage.pull("ingress-nginx", "bronze").is_some_and(|now| is_merged(&now));
    stage.never(8, "other content was merged", merged).await;
}
