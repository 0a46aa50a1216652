//! Where the peers lie, and how their programs are run.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// Where this file's folder lies in the tree.
pub fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers")
}

/// Something in the folder of peers.
pub fn peer(below: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::var_os("COLDFRAME_PEERS").map_or_else(|| root.join("target/peers"), PathBuf::from);
    let path = root.join(folder).join(below);
    assert!(path.exists(), "{} is missing; run tests/peers/install.sh", path.display());
    path
}

/// A package of npm.
pub fn package(below: &str) -> PathBuf {
    peer("node/node_modules").join(below)
}

pub fn python() -> Command {
    Command::new(peer("venv/bin/python"))
}

pub fn node() -> Command {
    let mut command = Command::new("node");
    command.env("NODE_PATH", peer("node/node_modules"));
    command
}

/// Runs a script of this folder: JSON in, JSON out.
pub fn script(mut program: Command, name: &str, input: &Value) -> Value {
    program.arg(here().join(name)).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().unwrap_or_else(|error| panic!("{program:?}: {error}; run tests/peers/install.sh"));
    let mut stdin = child.stdin.take().unwrap();
    let text = input.to_string();
    // Of its own thread, so that neither side waits for the other to read.
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().ok();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{name} answered no JSON ({error}): {}", String::from_utf8_lossy(&output.stdout))
    })
}

/// A process that ends with its owner, by its own id.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Serves a router on a free loopback port until the test's runtime ends; its `host:port`.
pub async fn serve(router: axum::Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    host
}
