//! A Prometheus beside the clusters: a release waits while it has no data of the new version, and is asked about no
//! version before it runs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const TOKEN: &str = "Bearer not-for-everybody";

/// What answers with a value for each version that it knows, to whom has the token; and what it was asked.
#[derive(Clone, Default)]
struct Metrics(Arc<Mutex<(BTreeSet<String>, BTreeSet<String>)>>);

#[derive(serde::Deserialize)]
struct Asked {
    query: String,
}

async fn answer(State(metrics): State<Metrics>, headers: HeaderMap, Query(asked): Query<Asked>) -> Json<Value> {
    let mut metrics = metrics.0.lock().unwrap();
    let known = metrics.0.iter().any(|version| asked.query.contains(&format!("version=\"{version}\"")));
    if headers.get("authorization").is_none_or(|token| token != TOKEN) {
        return Json(json!({"status": "error", "errorType": "execution", "error": "no token"}));
    }
    metrics.1.insert(asked.query);
    let at = jiff::Timestamp::now().as_second();
    let result = if known { json!([{"metric": {"pod": "a"}, "value": [at, "1"]}]) } else { json!([]) };
    Json(json!({"status": "success", "data": {"resultType": "vector", "result": result}}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_waits_for_data_about_itself() {
    let stage = Stage::set().await;
    let metrics = Metrics::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let router = Router::new().route("/prom/api/v1/query", axum::routing::get(answer)).with_state(metrics.clone());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let folder = stage.secrets().join(stage.world.github().repository_id(REPOSITORY).unwrap().to_string());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("PROM"), format!("http://{host}/prom\nAuthorization: {TOKEN}\n")).unwrap();
    let helm = "      - helmRelease: {namespace: cert-manager, name: cert-manager}\n";
    let query = "up{cluster=\"{{cluster}}\", plugin=\"{{plugin}}\", version=\"{{version}}\"}";
    let signal =
        format!("{helm}      - prometheus: {{secret: PROM, query: '{query}', expect: '>= 1', lookback: 0s}}\n");
    stage.edit_policy(helm, &signal);
    let (allowed, secrets) = (stage.allowed(&host), stage.secrets().display().to_string());
    let _bot = stage.serve_with(&[("COLDFRAME_ALLOW_HOSTS", &allowed), ("COLDFRAME_SECRETS", &secrets)]);

    stage.until("qa is merged", |stage| stage.pull("cert-manager", "qa").filter(is_merged)).await;
    let asked = |part: &str| metrics.0.lock().unwrap().1.iter().any(|query| query.contains(part));
    let about = "plugin=\"cert-manager\", version=\"1.15.0\"";
    stage.until("it is asked about the new version", |_| asked(about).then_some(())).await;
    let bronze = |stage: &Stage| stage.pull("cert-manager", "bronze").filter(is_open);
    stage.never(5, "no data let it through", |stage| bronze(stage).is_some()).await;
    assert!(!stage.whole_log().contains("not-for-everybody"));

    metrics.0.lock().unwrap().0.insert("1.15.0".to_owned());
    stage.until("bronze opens", bronze).await;
    // Clusters of the tiers above still run the old one, and are asked about that.
    assert!(asked("version=\"1.14.") && asked("cluster=\"qa-"), "{:?}", metrics.0.lock().unwrap().1);
    let early = |query: &String| query.contains("1.15.0") && !query.contains("cluster=\"qa-");
    assert!(!metrics.0.lock().unwrap().1.iter().any(early), "nobody else runs it");
}
