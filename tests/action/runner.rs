//! A runner of workflows on this machine (`act`, no containers) that cannot leave it, and the server
//! of release files. What is asserted is in `main`.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::process::Command;
use tokio::sync::Mutex;

use crate::support::Stage;
use crate::workflow::Workflow;

/// Each run hashes and copies a large binary; one at a time.
static ONE: Mutex<()> = Mutex::const_new(());
/// Nobody listens there: what wants to leave this machine fails at once.
const NOWHERE: &str = "http://127.0.0.1:9";

fn act() -> PathBuf {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/action");
    let act = std::env::var_os("COLDFRAME_ACTION").map_or_else(built, PathBuf::from).join("venv/bin/act");
    assert!(act.exists(), "run tests/action/install.sh first: there is no {}", act.display());
    act
}

/// The files of a release as .github/workflows/release.yml makes them, on loopback.
pub struct Release {
    url: String,
    server: tokio::task::JoinHandle<()>,
}

impl Release {
    pub async fn serve(_: &Stage) -> Self {
        let binary = std::fs::read(env!("CARGO_BIN_EXE_coldframe")).unwrap();
        let name = format!("coldframe-{}-unknown-linux-gnu", std::env::consts::ARCH);
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &binary);
        let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let beside = format!("{hex}  {name}\n");
        let binary: Arc<[u8]> = binary.into();
        let answer = move |uri: axum::http::Uri| {
            let found: Result<Vec<u8>, _> = match uri.path().trim_start_matches('/').split_once('/') {
                Some(("release" | "bare", file)) if file == name => Ok(binary.to_vec()),
                Some(("forged", file)) if file == name => Ok(b"#!/bin/sh\necho forged ran\n".to_vec()),
                Some(("release" | "forged", file)) if file == format!("{name}.sha256") => {
                    Ok(beside.clone().into_bytes())
                }
                Some(_) | None => Err(axum::http::StatusCode::NOT_FOUND),
            };
            std::future::ready(found)
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await.unwrap() });
        Self { url: format!("{url}/release"), server }
    }

    /// The folder of the good files.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A folder where something else lies beside the good checksum.
    pub fn forged(&self) -> String {
        self.url.replace("/release", "/forged")
    }

    /// A folder without a checksum.
    pub fn bare(&self) -> String {
        self.url.replace("/release", "/bare")
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// What a run said, and whether it was good.
pub struct Run {
    pub good: bool,
    pub log: String,
}

/// A repository with one workflow and the Action beside it, and a home that nobody else has.
pub struct Runner {
    folder: tempfile::TempDir,
    app_id: u64,
    secrets: [(&'static str, String); 3],
}

impl Runner {
    pub fn new(stage: &Stage, workflow: &Workflow) -> Self {
        let folder = tempfile::tempdir_in(stage.folder.path()).unwrap();
        let repository = folder.path().join("repository");
        for place in ["repository/.github/workflows", "repository/action", "home/.config/act", "tmp"] {
            std::fs::create_dir_all(folder.path().join(place)).unwrap();
        }
        let action = Path::new(env!("CARGO_MANIFEST_DIR")).join("action.yml");
        std::fs::copy(action, repository.join("action/action.yml")).unwrap();
        std::fs::write(repository.join(".github/workflows/promote.yml"), &workflow.0).unwrap();
        std::fs::write(folder.path().join("home/.config/act/actrc"), "-P ubuntu-latest=-self-hosted\n").unwrap();
        let given = stage.world.settings();
        let key = std::fs::read_to_string(&given.app_key).unwrap();
        let secrets = [
            ("COLDFRAME_APP_KEY", key),
            ("COLDFRAME_CLUSTERS", kubeconfigs(&given.clusters)),
            ("GITHUB_TOKEN", given.user_token.clone()),
        ];
        let runner = Self { folder, app_id: given.app_id, secrets };
        runner.git(&["init", "--quiet", "--initial-branch=main"]);
        runner.git(&["remote", "add", "origin", "https://github.com/acme/fleet.git"]);
        runner.git(&["add", "--all"]);
        runner.git(&["commit", "--quiet", "--message=The fleet"]);
        runner
    }

    /// Commits a file.
    pub fn commit(&self, file: &str, text: &str) {
        let path = self.folder.path().join("repository").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=A change"]);
    }

    /// Runs the workflow as this event would.
    pub async fn run(&self, event: &str) -> Run {
        let mut command = Command::new(act());
        command.args([event, "-P", "ubuntu-latest=-self-hosted", "--no-cache-server", "--pull=false"]);
        command.args(["--defaultbranch", "main"]);
        command.args(["--var", &format!("COLDFRAME_APP_ID={}", self.app_id)]);
        // The sandbox does not mind how fast it is written to.
        command.args(["--env", "COLDFRAME_WRITE_PACE=0s"]);
        self.surround(command.as_std_mut());
        for (name, value) in &self.secrets {
            // Named without a value, it is taken from the environment and stands in no list of processes.
            command.args(["-s", name]).env(name, value);
        }
        let _alone = ONE.lock().await;
        let ran = tokio::time::timeout(Duration::from_secs(240), command.kill_on_drop(true).output());
        let output = ran.await.expect("act took too long").unwrap();
        let log = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        Run { good: output.status.success(), log }
    }

    /// No line of a key, no token and no kubeconfig is in the log.
    pub fn nothing_secret_in(&self, log: &str) {
        for (name, value) in &self.secrets {
            for line in value.lines().map(str::trim).filter(|line| line.len() > 20 && !line.starts_with("-----")) {
                let (_, part) = line.split_once(": ").unwrap_or(("", line));
                let secret = name.ends_with("KEY") || name.ends_with("TOKEN") || line.starts_with("token");
                assert!(!secret || !log.contains(part), "{name} is in the log");
            }
        }
    }

    /// Neither the kubeconfigs nor a key stay on the runner's disk.
    pub fn nothing_left_behind(&self) {
        let mut places = vec![self.folder.path().to_path_buf()];
        while let Some(place) = places.pop() {
            for entry in std::fs::read_dir(place).unwrap().map(Result::unwrap) {
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    places.push(entry.path());
                } else if kind.is_file() && entry.metadata().unwrap().len() < 1 << 20 {
                    let text = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
                    let held = text.contains("PRIVATE KEY-----") || text.contains("kind: Config");
                    assert!(!held, "{} holds a secret", entry.path().display());
                }
            }
        }
    }

    fn git(&self, words: &[&str]) {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=tests", "-c", "user.email=tests@example.org"]).args(words);
        self.surround(&mut command);
        assert!(command.status().unwrap().success(), "git {words:?}");
    }

    /// Runs in the repository, with nothing of this environment but the path.
    fn surround(&self, command: &mut std::process::Command) {
        let home = self.folder.path().join("home");
        command.current_dir(self.folder.path().join("repository")).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", &home);
        command.env("XDG_CONFIG_HOME", home.join(".config")).env("XDG_CACHE_HOME", home.join(".cache"));
        command.env("TMPDIR", self.folder.path().join("tmp"));
        for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env(name, NOWHERE);
        }
        command.env("no_proxy", "127.0.0.1,localhost").env("NO_PROXY", "127.0.0.1,localhost");
    }
}

/// All kubeconfigs of a folder as one text, each after a line with its name, as a secret holds them.
fn kubeconfigs(folder: &Path) -> String {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let one = |path: &PathBuf| {
        format!("# {}\n{}\n", path.file_name().unwrap().to_string_lossy(), std::fs::read_to_string(path).unwrap())
    };
    files.iter().map(one).collect()
}
