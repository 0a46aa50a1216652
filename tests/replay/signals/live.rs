//! The same questions to a cluster: an API server on loopback that has the objects of a kind.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::kit::{Kit, kits};
use super::support::{Folder, Said, signal, words};
use super::{agrees, asked, question};

/// What the API server has; the first object may be a list.
struct World {
    objects: Vec<Value>,
    denied: bool,
}

/// An API server, as long as it is held.
struct Api {
    address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

impl Api {
    fn serve(objects: Vec<Value>, denied: bool) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let router = Router::new().fallback(answer).with_state(Arc::new(World { objects, denied }));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { address, _runtime: runtime }
    }

    /// The arguments that let the command reach it as this connection.
    fn connection(&self, folder: &Folder, name: &str) -> Vec<String> {
        let text = format!(
            "current-context: c\nclusters: [{{name: k, cluster: {{server: 'http://{}'}}}}]\n\
             users: [{{name: u, user: {{token: t0ken}}}}]\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n",
            self.address
        );
        folder.write(&format!("{name}.yaml"), &text);
        words(&["--clusters", &folder.path().display().to_string(), "--allow-hosts", "127.0.0.1"])
    }
}

async fn answer(State(world): State<Arc<World>>, uri: Uri) -> Response {
    let segments: Vec<&str> = uri.path().split('/').collect();
    let list = world.objects.first().filter(|object| object.get("items").is_some());
    if let (Some(list), true) = (list, uri.query().is_some_and(|query| query.contains("labelSelector"))) {
        return list.to_string().into_response();
    }
    let (plural, name) = (segments[segments.len() - 2], segments[segments.len() - 1]);
    if world.denied {
        return (StatusCode::FORBIDDEN, json!({"kind": "Status", "reason": "Forbidden"}).to_string()).into_response();
    }
    let of = |object: &&Value| {
        let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
        let own = kind.strip_suffix('y').map_or(format!("{kind}s"), |stem| format!("{stem}ies"));
        own == plural && object["metadata"]["name"] == *name
    };
    match world.objects.iter().find(of) {
        Some(object) => object.to_string().into_response(),
        None => {
            let status = json!({"kind": "Status", "reason": "NotFound", "details": {"name": name, "kind": plural}});
            (StatusCode::NOT_FOUND, status.to_string()).into_response()
        }
    }
}

fn live(name: &str, kit: &Kit, case: &str, denied: bool) -> Said {
    let case = &kit.states[case];
    let api = Api::serve(kit.with(&case.change), denied);
    let folder = Folder::new();
    let arguments = [question(name, kit, case), api.connection(&folder, "hub"), words(&["--connection", "hub"])];
    asked(kit, &arguments.concat())
}

#[test]
fn every_kind_is_judged_in_a_cluster_as_its_fixtures_say() {
    for (name, kit) in kits() {
        for state in ["healthy", "oldVersion", "degraded", "missing"] {
            let case = &kit.states[state];
            if case.health.is_some() {
                agrees(&format!("{name}, {state}, live"), case, &live(&name, &kit, state, false));
            }
        }
    }
}

#[test]
fn what_the_cluster_refuses_is_unknown_and_names_the_right_that_is_missing() {
    let kit = &kits()["helmRelease"];
    let said = live("helmRelease", kit, "healthy", true);
    assert_eq!((said.code, &said.json()["health"]), (1, &json!("unknown")), "{}", said.out);
    let because = said.json()["because"].as_str().unwrap().to_string();
    assert!(because.contains("not allowed to get helmreleases.helm.toolkit.fluxcd.io apps/loki (403)"), "{because}");
}

#[test]
fn a_connection_that_cannot_be_used_is_refused() {
    let folder = Folder::new();
    let ask = |name: &str| {
        let path = folder.path().display().to_string();
        let settings = "namespace: apps, name: loki";
        signal(&words(&[
            "helmRelease",
            "--version",
            "1.2.0",
            "--cluster",
            name,
            "--clusters",
            &path,
            "--settings",
            settings,
        ]))
    };
    let said = ask("eu-1");
    assert!(said.code == 2 && said.err.contains("there is no eu-1.yaml in the operator's folder"), "{}", said.err);
    folder.write("eu-2.yaml", "clusters: 1");
    assert_eq!(ask("eu-2").code, 2);
    let gone = Api::serve(Vec::new(), false).connection(&folder, "eu-3");
    assert!(!gone.is_empty());
    // Its host is not among those that may be asked over plain HTTP.
    let said = ask("eu-3");
    assert!(said.code == 2 && said.err.contains("eu-3"), "{}", said.err);
}
