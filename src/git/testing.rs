//! A git server for tests: the real `git http-backend` behind a small CGI handler on loopback, with
//! a token and with faults on demand.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use decide::Sha;
use futures_util::StreamExt;
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::runtime::Runtime;

use super::{Access, Author, Draft, Store};
use crate::secret::Secret;

/// The token that the server takes.
pub const TOKEN: &str = "canary-token-4711";

/// What the server does wrong, for requests whose path and query hold a text.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Answers with this status and text.
    Status(u16, &'static str),
    /// Sends the caller elsewhere.
    Redirect(String),
    /// Answers with a page.
    Page,
    /// Never answers.
    Silence,
    /// Does what was asked and breaks the connection off in the answer.
    BreakOff,
}

/// One request as it came in.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Path and query.
    pub target: String,
    /// Bytes of the body.
    pub bytes: usize,
}

#[derive(Default)]
struct Desk {
    root: PathBuf,
    fault: Option<(&'static str, Fault)>,
    seen: Vec<Seen>,
    user: &'static str,
}

/// A commit on another that gives one file a text. The same one for the same three.
pub fn draft(base: &Sha, path: &str, text: &str) -> Draft {
    Draft {
        parents: vec![base.clone()],
        tree_of: Some(base.clone()),
        files: vec![(path.to_string(), Some(text.as_bytes().to_vec()))],
        message: "cert-manager 1.15.0 to silver\n".to_string(),
        author: Author { name: "coldframe[bot]".to_string(), email: "bot@example.org".to_string() },
        at: Timestamp::from_second(1_760_000_000).unwrap(),
    }
}

/// The server with one bare repository, `acme/fleet.git`.
pub struct Server {
    /// The repository's address.
    pub url: String,
    /// Whose password the token is.
    pub user: &'static str,
    desk: Arc<Mutex<Desk>>,
    folder: TempDir,
    runtime: Option<Runtime>,
}

impl Server {
    /// Starts it with an empty repository.
    pub fn start() -> Self {
        Self::start_for("x-access-token")
    }

    /// The same where the token is the password of another user, as a deploy token of GitLab is.
    pub fn start_for(user: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "--quiet", "--bare", "--initial-branch=main", "acme/fleet.git"]);
        let runtime = Runtime::new().unwrap();
        let desk = Arc::new(Mutex::new(Desk { root: folder.path().to_path_buf(), user, ..Desk::default() }));
        let app = axum::Router::new().fallback(answer).with_state(Arc::clone(&desk));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}/acme/fleet.git", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { url, user, desk, folder, runtime: Some(runtime) }
    }

    /// The right address, user and token.
    pub fn access(&self) -> Access {
        Access { url: self.url.clone(), user: Some(self.user.to_string()), token: Some(Secret::new(TOKEN)) }
    }

    /// The bare repository on disk.
    pub fn bare(&self) -> PathBuf {
        self.folder.path().join("acme/fleet.git")
    }

    /// Runs git in the bare repository and gives what it prints.
    pub fn git(&self, args: &[&str]) -> String {
        git(&self.bare(), args)
    }

    /// Goes wrong from now on where the target holds `part`.
    pub fn fault(&self, part: &'static str, fault: Fault) {
        self.desk.lock().unwrap().fault = Some((part, fault));
    }

    /// Works again.
    pub fn mend(&self) {
        self.desk.lock().unwrap().fault = None;
    }

    /// Requests since the last call.
    pub fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.desk.lock().unwrap().seen)
    }

    /// Commits files to a branch by a clone on disk, with the ordinary git, and gives the commit.
    pub fn commit(&self, branch: &str, files: &[(&str, &str)]) -> String {
        self.commit_with(branch, |work| {
            for (path, text) in files {
                let path = work.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
        })
    }

    /// As `commit`, with the files made by the caller.
    pub fn commit_with(&self, branch: &str, change: impl FnOnce(&Path)) -> String {
        let clone = tempfile::tempdir().unwrap();
        let work = clone.path();
        git(work, &["clone", "--quiet", self.bare().to_str().unwrap(), "."]);
        let known = !self.git(&["branch", "--list", branch]).trim().is_empty();
        if known {
            git(work, &["checkout", "--quiet", branch]);
        } else {
            git(work, &["checkout", "--quiet", "--orphan", branch]);
            git(work, &["rm", "-r", "--quiet", "--force", "--ignore-unmatch", "."]);
        }
        change(work);
        git(work, &["add", "--all"]);
        git(work, &["commit", "--quiet", "--allow-empty", "--message", "a person's commit"]);
        git(work, &["push", "--quiet", "origin", &format!("HEAD:refs/heads/{branch}")]);
        git(work, &["rev-parse", "HEAD"]).trim().to_string()
    }

    /// Puts a hook into the repository.
    pub fn hook(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.bare().join("hooks").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A store in a folder that vanishes with the first value.
pub fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, store)
}

/// Runs the ordinary git, free of anybody's configuration, and gives what it prints.
pub fn git(folder: &Path, args: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .current_dir(folder)
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", "Pat"), ("GIT_AUTHOR_EMAIL", "pat@example.org")])
        .envs([("GIT_COMMITTER_NAME", "Pat"), ("GIT_COMMITTER_EMAIL", "pat@example.org")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

async fn answer(State(desk): State<Arc<Mutex<Desk>>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 64 << 20).await.unwrap();
    let target = head.uri.to_string();
    let (root, user, fault) = {
        let mut desk = desk.lock().unwrap();
        desk.seen.push(Seen { target: target.clone(), bytes: body.len() });
        let fault = desk.fault.clone().filter(|(part, _)| target.contains(part)).map(|(_, fault)| fault);
        (desk.root.clone(), desk.user, fault)
    };
    let plain = |status: u16, text: &str| {
        let builder = Response::builder().status(status).header("content-type", "text/plain");
        builder.body(Body::from(text.to_string())).unwrap()
    };
    let expected = format!("Basic {}", STANDARD.encode(format!("{user}:{TOKEN}")));
    let given = head.headers.get("authorization").map(|value| value.to_str().unwrap().to_string());
    match &fault {
        Some(Fault::Status(status, text)) => return plain(*status, text),
        Some(Fault::Redirect(target)) => {
            return Response::builder().status(301).header("location", target).body(Body::empty()).unwrap();
        }
        Some(Fault::Page) => {
            return Response::builder().header("content-type", "text/html").body(Body::from("<html>")).unwrap();
        }
        Some(Fault::Silence) => {
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        }
        Some(Fault::BreakOff) | None => {}
    }
    if given.as_deref() != Some(&expected) {
        // A careless proxy may well repeat what it was given.
        return plain(401, &format!("remote: invalid credentials {}", given.unwrap_or_default()));
    }
    let done = backend(&root, &head, &body).await;
    if matches!(fault, Some(Fault::BreakOff)) {
        let pieces = [Ok(bytes::Bytes::from_static(b"00")), Err(std::io::Error::other("cut"))];
        let kind = done.headers()["content-type"].clone();
        let builder = Response::builder().header("content-type", kind);
        let slow = futures_util::stream::iter(pieces).then(|piece| async {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            piece
        });
        return builder.body(Body::from_stream(slow)).unwrap();
    }
    done
}

/// One run of the CGI program (RFC 3875).
async fn backend(root: &Path, head: &axum::http::request::Parts, body: &[u8]) -> Response {
    let program = git(root, &["--exec-path"]);
    let header = |name: &str| head.headers.get(name).map_or("", |value| value.to_str().unwrap()).to_string();
    let mut child = tokio::process::Command::new(Path::new(program.trim()).join("git-http-backend"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("REMOTE_USER", "bot")
        .env("REQUEST_METHOD", head.method.as_str())
        .env("PATH_INFO", head.uri.path())
        .env("QUERY_STRING", head.uri.query().unwrap_or_default())
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let body = body.to_vec();
    tokio::spawn(async move {
        let _ = stdin.write_all(&body).await;
    });
    let output = child.wait_with_output().await.unwrap().stdout;
    let split = output.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let mut builder = Response::builder().status(StatusCode::OK);
    for line in std::str::from_utf8(&output[..split]).unwrap().lines() {
        let (name, value) = line.split_once(": ").unwrap();
        builder = match name {
            "Status" => builder.status(value.split(' ').next().unwrap().parse::<u16>().unwrap()),
            _ => builder.header(name, value),
        };
    }
    builder.body(Body::from(output[split + 4..].to_vec())).unwrap()
}
