//! The clusters of the benchmark: one process, one address, a path for each API server; over TLS. They hold
//! HelmReleases and serve lists by pages, watches with bookmarks, and single objects.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{BufRead as _, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{StatusCode, Uri};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;

use crate::plugin;

/// About as often as a real API server.
const BOOKMARKS: Duration = Duration::from_secs(60);

struct Cluster {
    /// The version of each release, by plugin.
    versions: Mutex<Vec<(u64, &'static str)>>,
    revision: watch::Sender<u64>,
}

type World = Arc<Vec<Cluster>>;

/// Serves until the other end of standard input is gone; each line there changes a release: `cluster plugin`.
pub fn serve(clusters: usize, plugins: usize) {
    let world: World = Arc::new(
        (0..clusters)
            .map(|_| Cluster { versions: Mutex::new(vec![(1, "1.15.0"); plugins]), revision: watch::Sender::new(1) })
            .collect(),
    );
    let commands = Arc::clone(&world);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.spawn(listen(world));
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let (cluster, plugin) = line.split_once(' ').unwrap();
        let cluster = &commands[cluster.parse::<usize>().unwrap()];
        let revision = *cluster.revision.borrow() + 1;
        cluster.versions.lock().unwrap()[plugin.parse::<usize>().unwrap()] = (revision, "1.16.0");
        cluster.revision.send_replace(revision);
    }
}

async fn listen(world: World) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_string()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let pem: String = made.cert.pem().replace(['\r', '\n'], "|");
    println!("{port} {pem}");
    std::io::stdout().flush().unwrap();
    let (into, from) = mpsc::channel(64);
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let (acceptor, into) = (acceptor.clone(), into.clone());
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    let _ = into.send(stream).await;
                }
            });
        }
    });
    let router = Router::new().fallback(answer).with_state(world);
    axum::serve(Shaken(from), router).await.unwrap();
}

/// Connections whose handshake is done.
struct Shaken(mpsc::Receiver<TlsStream<TcpStream>>);

impl axum::serve::Listener for Shaken {
    type Io = TlsStream<TcpStream>;
    type Addr = ();

    async fn accept(&mut self) -> (Self::Io, ()) {
        (self.0.recv().await.unwrap(), ())
    }

    fn local_addr(&self) -> std::io::Result<()> {
        Ok(())
    }
}

async fn answer(State(world): State<World>, uri: Uri, Query(asked): Query<BTreeMap<String, String>>) -> Response {
    let mut parts = uri.path().trim_start_matches('/').split('/');
    let index: usize = parts.next().unwrap().parse().unwrap();
    let path: Vec<&str> = parts.collect();
    let number = |key: &str| asked.get(key).and_then(|text| text.parse::<u64>().ok());
    match path.as_slice() {
        ["apis", "helm.toolkit.fluxcd.io", "v2", "helmreleases"] if asked.contains_key("watch") => {
            follow(world, index, number("resourceVersion").unwrap(), number("timeoutSeconds").unwrap())
        }
        ["apis", "helm.toolkit.fluxcd.io", "v2", "helmreleases"] => {
            let from = number("continue").unwrap_or(0) as usize;
            list(&world[index], from, number("limit").unwrap() as usize)
        }
        ["apis", "helm.toolkit.fluxcd.io", "v2", "namespaces", _, "helmreleases", name] => {
            let versions = world[index].versions.lock().unwrap();
            let place = name.trim_start_matches("plugin-").parse::<usize>().unwrap();
            release(place, versions[place]).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn list(cluster: &Cluster, from: usize, limit: usize) -> Response {
    let versions = cluster.versions.lock().unwrap();
    let end = (from + limit).min(versions.len());
    let items: Vec<String> = (from..end).map(|place| release(place, versions[place])).collect();
    let next = if end < versions.len() { end.to_string() } else { String::new() };
    let revision = *cluster.revision.borrow();
    format!(
        "{{\"kind\":\"HelmReleaseList\",\"metadata\":{{\"resourceVersion\":\"{revision}\",\"continue\":\"{next}\"}},\
         \"items\":[{}]}}",
        items.join(",")
    )
    .into_response()
}

fn follow(world: World, index: usize, from: u64, seconds: u64) -> Response {
    let end = tokio::time::Instant::now() + Duration::from_secs(seconds);
    let moved = world[index].revision.subscribe();
    let events = futures_util::stream::unfold((world, moved, from), move |(world, mut moved, told)| async move {
        loop {
            let now = *moved.borrow_and_update();
            let new: String = {
                let versions = world[index].versions.lock().unwrap();
                let new = versions.iter().enumerate().filter(|(_, (revision, _))| *revision > told);
                new.map(|(place, version)| {
                    format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", release(place, *version))
                })
                .collect()
            };
            if !new.is_empty() {
                return Some((Ok::<_, Infallible>(Bytes::from(new)), (world, moved, now)));
            }
            tokio::select! {
                () = tokio::time::sleep_until(end) => return None,
                _ = moved.changed() => {}
                () = tokio::time::sleep(BOOKMARKS) => {
                    let line = format!(
                        "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"HelmRelease\",\"metadata\":\
                         {{\"resourceVersion\":\"{now}\"}}}}}}\n"
                    );
                    return Some((Ok(Bytes::from(line)), (world, moved, now)));
                }
            }
        }
    });
    Body::from_stream(events).into_response()
}

/// A HelmRelease as its controller leaves it, some 2.4 KB: with values, inventory of fields and history.
fn release(place: usize, (revision, version): (u64, &str)) -> String {
    let name = plugin(place);
    let owners: String = (0..14)
        .map(|field| format!("\"f:field{field}\":{{\"f:nested\":{{}},\"f:another\":{{\"k:name\":{{}}}}}},"))
        .collect();
    format!(
        "{{\"apiVersion\":\"helm.toolkit.fluxcd.io/v2\",\"kind\":\"HelmRelease\",\"metadata\":{{\"name\":\"{name}\",\
         \"namespace\":\"{name}\",\"generation\":7,\"resourceVersion\":\"{revision}\",\
         \"uid\":\"5a2c3c0e-9c7c-4a53-8c1e-{place:012}\",\"creationTimestamp\":\"2026-01-11T09:00:00Z\",\
         \"labels\":{{\"app\":\"{name}\",\"kustomize.toolkit.fluxcd.io/name\":\"plugins\"}},\
         \"managedFields\":[{{\"manager\":\"helm-controller\",\"operation\":\"Update\",\"fieldsV1\":{{{owners}\"f:x\":{{}}}}}}]}},\
         \"spec\":{{\"interval\":\"10m\",\"chart\":{{\"spec\":{{\"chart\":\"{name}\",\"version\":\"{version}\",\
         \"sourceRef\":{{\"kind\":\"HelmRepository\",\"name\":\"charts\"}}}}}},\"values\":{{\"replicas\":2,\
         \"resources\":{{\"requests\":{{\"cpu\":\"100m\",\"memory\":\"128Mi\"}}}}}}}},\
         \"status\":{{\"observedGeneration\":7,\"lastAttemptedRevision\":\"{version}\",\"lastAttemptedGeneration\":7,\
         \"conditions\":[{{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"UpgradeSucceeded\",\"observedGeneration\":7,\
         \"lastTransitionTime\":\"2026-11-20T08:00:00Z\",\"message\":\"Helm upgrade succeeded for release {name}/{name}.v7\"}},\
         {{\"type\":\"Released\",\"status\":\"True\",\"reason\":\"UpgradeSucceeded\",\"observedGeneration\":7,\
         \"lastTransitionTime\":\"2026-11-20T08:00:00Z\",\"message\":\"Helm upgrade succeeded\"}}],\
         \"history\":[{{\"name\":\"{name}\",\"namespace\":\"{name}\",\"chartName\":\"{name}\",\"chartVersion\":\"{version}\",\
         \"status\":\"deployed\",\"version\":7,\"digest\":\"sha256:9f86d081884c7d659a2feaa0c55ad015\",\
         \"firstDeployed\":\"2026-01-11T09:00:00Z\",\"lastDeployed\":\"2026-11-20T07:58:00Z\"}}]}}}}"
    )
}
