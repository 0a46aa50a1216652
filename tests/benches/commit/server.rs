//! The git server of the benchmark: the real `git http-backend` on loopback, which counts the bytes it sends.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::StreamExt as _;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::runtime::Runtime;

/// Serves every repository below a folder.
pub struct Server {
    /// Its address, without a slash at the end.
    pub url: String,
    desk: Arc<Desk>,
    _runtime: Runtime,
}

struct Desk {
    root: PathBuf,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Server {
    /// On a free port.
    pub fn start(root: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let desk = Desk { root: root.to_path_buf(), sent: AtomicU64::new(0), received: AtomicU64::new(0) };
        let desk = Arc::new(desk);
        let app = axum::Router::new().fallback(answer).with_state(Arc::clone(&desk));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { url, desk, _runtime: runtime }
    }

    /// Bytes of bodies sent and received since the last call.
    pub fn bytes(&self) -> (u64, u64) {
        (self.desk.sent.swap(0, Ordering::SeqCst), self.desk.received.swap(0, Ordering::SeqCst))
    }
}

/// One run of the CGI program (RFC 3875).
async fn answer(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 256 << 20).await.unwrap();
    desk.received.fetch_add(body.len() as u64, Ordering::SeqCst);
    let header = |name: &str| head.headers.get(name).map_or("", |value| value.to_str().unwrap()).to_string();
    let mut child = Command::new("git")
        .arg("http-backend")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_PROJECT_ROOT", &desk.root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_PROTOCOL", header("git-protocol"))
        .env("REMOTE_USER", "bot")
        .env("REQUEST_METHOD", head.method.as_str())
        .env("PATH_INFO", head.uri.path())
        .env("QUERY_STRING", head.uri.query().unwrap_or_default())
        .env("CONTENT_TYPE", header("content-type"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    tokio::spawn(async move {
        let _ = stdin.write_all(&body).await;
    });
    let mut output = BufReader::with_capacity(64 << 10, child.stdout.take().unwrap());
    let mut builder = Response::builder();
    loop {
        let mut line = String::new();
        output.read_line(&mut line).await.unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        builder = match name {
            "Status" => builder.status(value.split(' ').next().unwrap().parse::<u16>().unwrap()),
            _ => builder.header(name, value),
        };
    }
    builder.body(Body::from_stream(pieces(desk, child, output))).unwrap()
}

/// What the program prints, as it prints it.
fn pieces(
    desk: Arc<Desk>,
    child: Child,
    output: BufReader<ChildStdout>,
) -> impl futures_util::Stream<Item = std::io::Result<Vec<u8>>> + Send {
    let next = |(desk, child, mut output): (Arc<Desk>, Child, BufReader<ChildStdout>)| async move {
        let mut piece = vec![0; 64 << 10];
        let count = output.read(&mut piece).await.unwrap();
        piece.truncate(count);
        desk.sent.fetch_add(count as u64, Ordering::SeqCst);
        (count > 0).then_some((Ok(piece), (desk, child, output)))
    };
    futures_util::stream::unfold((desk, child, output), next).boxed()
}
