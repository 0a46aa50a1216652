//! Chart sources against what Helm and a Docker registry made: versions, digests, notes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use coldframe::observe::chart::{Found, Mirrors, Source, SourceError, source};
use coldframe::observe::net::{Logins, Net, NetSettings};
use coldframe::policy::wiring::Chart;
use serde_json::{Value, json};

use crate::peers::{Running, peer, python, script, serve};

const VERSIONS: [&str; 2] = ["1.0.0", "1.1.0+build.5"];
const NOTES: &str = "- added: a second shelf\n- fixed: the lid\n- one more thing";
const USER: &str = "gardener";
const PASSWORD: &str = "garden";
/// `PASSWORD` as bcrypt, the one form that the registry takes.
const HTPASSWD: &str = "gardener:$2b$05$mf7UD4JTtvpqpo3h6z9EBe7U5uHGGinRcoBvoCOmwomIV7KJ9tPn2\n";

/// Where charts are written, packaged and served from.
pub struct Shed(tempfile::TempDir);

impl Shed {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, below: &str) -> PathBuf {
        let path = self.0.path().join(below);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// Real Helm, which keeps what it remembers in this folder.
    pub fn helm(&self, steps: &Value) -> Vec<Value> {
        let mut command = python();
        let home = self.path("home");
        command.env_clear().env("HOME", &home).env("HELM_REGISTRY_CONFIG", home.join("registry.json"));
        let Value::Array(results) = script(command, "helm.py", steps) else { panic!("no list") };
        results
    }

    /// The same with one more template.
    pub fn package_with(&self, version: &str, shelves: u8, template: &str) -> (PathBuf, String) {
        std::fs::write(self.path("seedling/templates").join("more.yaml"), template).unwrap();
        self.package(version, shelves)
    }

    /// Packages a version of the chart; gives the archive and its digest as Helm says it.
    pub fn package(&self, version: &str, shelves: u8) -> (PathBuf, String) {
        let chart = self.path("seedling");
        std::fs::create_dir_all(chart.join("templates")).unwrap();
        let metadata = format!(
            "apiVersion: v2\nname: seedling\nversion: {version}\nappVersion: \"1\"\nhome: https://seedling.example\n\
             description: A tray for young plants\nannotations:\n  artifacthub.io/changes: |\n    - kind: added\n      \
             description: a second shelf\n    - kind: fixed\n      description: the lid\n      links:\n        - name: \
             issue\n          url: https://seedling.example/1\n    - one more thing\n"
        );
        let template = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  shelves: \
                        \"{{ .Values.shelves }}\"\n";
        for (file, text) in [
            ("Chart.yaml", metadata),
            ("values.yaml", format!("shelves: {shelves}\n")),
            ("templates/tray.yaml", template.to_owned()),
        ] {
            std::fs::write(chart.join(file), text).unwrap();
        }
        let done = self.helm(&json!([{"do": "package", "chart": chart, "into": self.path("charts")}]));
        let text = |field: &str| done[0][field].as_str().unwrap().to_owned();
        (text("archive").into(), text("digest"))
    }
}

/// A registry of a folder of its own, with a login where `locked`.
pub async fn registry(shed: &Shed, name: &str, locked: bool) -> (Running, String) {
    let folder = shed.path(name);
    let host = format!("127.0.0.1:{}", demo::free_port().unwrap());
    let mut settings = format!(
        "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: {host}\n",
        folder.join("data").display()
    );
    if locked {
        let file = folder.join("htpasswd");
        std::fs::write(&file, HTPASSWD).unwrap();
        settings += &format!("auth:\n  htpasswd:\n    realm: shed\n    path: {}\n", file.display());
    }
    let file = folder.join("settings.yml");
    std::fs::write(&file, settings).unwrap();
    let log = std::fs::File::create(folder.join("log")).unwrap();
    let mut command = Command::new(peer("bin/docker-registry"));
    command.env_clear().env("OTEL_TRACES_EXPORTER", "none").arg("serve").arg(&file);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let running = Running(command.spawn().expect("run tests/peers/install.sh"));
    let begun = Instant::now();
    while reqwest::get(format!("http://{host}/v2/")).await.is_err() {
        let log = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert!(begun.elapsed() < Duration::from_secs(30), "the registry did not start: {}", log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    (running, host)
}

pub fn plain(host: &str) -> Net {
    Net::new(vec![host.to_owned()]).unwrap()
}

pub fn oci(host: &str, net: &Net) -> Box<dyn Source> {
    source(&Chart::Oci { reference: format!("{host}/charts/seedling"), plain: true }, net, &Mirrors::default()).unwrap()
}

pub async fn versions(source: &dyn Source) -> Vec<String> {
    let mut versions = source.versions().await.unwrap();
    versions.sort();
    versions.iter().map(|version| version.as_str().to_owned()).collect()
}

pub async fn describe(source: &dyn Source, version: &str) -> Found {
    source.describe(&version.parse().unwrap()).await.unwrap().expect("the chart is there")
}

/// What every source tells of a version, with this digest.
fn assert_tells(found: &Found, version: &str, digest: &str) {
    assert_eq!(found.version.as_str(), version);
    assert_eq!(found.digest.as_ref().unwrap().as_str(), format!("sha256:{}", digest.trim_start_matches("sha256:")));
    assert_eq!(found.notes.as_deref(), Some(NOTES));
    assert_eq!(found.home.as_deref(), Some("https://seedling.example"));
    assert!(!found.marked_breaking);
}

pub async fn file(State(folder): State<PathBuf>, uri: axum::http::Uri) -> Response {
    let name = Path::new(uri.path()).file_name().unwrap();
    match std::fs::read(folder.join(name)) {
        Ok(bytes) => bytes.into_response(),
        Err(_) => axum::http::StatusCode::NOT_FOUND.into_response(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_helm_wrote() {
    let shed = Shed::new();
    let folder = shed.path("charts");
    let host = serve(axum::Router::new().fallback(file).with_state(folder.clone())).await;
    let index = json!([{"do": "index", "folder": folder, "url": format!("http://{host}")}]);
    let digests: Vec<String> = VERSIONS.iter().map(|version| shed.package(version, 2).1).collect();
    shed.helm(&index);

    let repository = |name: &str| Chart::Http { repository: format!("http://{host}"), name: name.to_owned() };
    let from_index = source(&repository("seedling"), &plain(&host), &Mirrors::default()).unwrap();
    assert_eq!(versions(&*from_index).await, VERSIONS);
    for (version, digest) in VERSIONS.iter().zip(&digests) {
        assert_tells(&describe(&*from_index, version).await, version, digest);
    }
    assert_eq!(from_index.describe(&"2.0.0".parse().unwrap()).await.unwrap(), None);
    let absent = source(&repository("weed"), &plain(&host), &Mirrors::default()).unwrap().versions().await;
    assert!(matches!(absent, Err(SourceError::NoSuchChart { .. })), "{absent:?}");

    // The same version with other content.
    let (_, again) = shed.package(VERSIONS[1], 3);
    assert_ne!(again, digests[1]);
    shed.helm(&index);
    assert_eq!(versions(&*from_index).await, VERSIONS, "which looks at the index again");
    assert_tells(&describe(&*from_index, VERSIONS[1]).await, VERSIONS[1], &again);
    assert_tells(&describe(&*from_index, VERSIONS[0]).await, VERSIONS[0], &digests[0]);
}

/// Pushes, reads, publishes one version again, reads.
async fn pushed_and_read(shed: &Shed, host: &str, net: &Net) {
    let reference = format!("oci://{host}/charts/seedling");
    let tag = |version: &str| format!("{reference}:{}", version.replace('+', "_"));
    let push = |shelves: u8| {
        let archives = VERSIONS.map(|version| shed.package(version, shelves).0);
        let push =
            |archive: &PathBuf| json!({"do": "push", "archive": archive, "remote": format!("oci://{host}/charts")});
        let resolve = |version: &str| json!({"do": "resolve", "reference": tag(version)});
        let steps: Vec<Value> = archives.iter().map(push).chain(VERSIONS.map(resolve)).collect();
        let done = shed.helm(&json!(steps));
        [&done[2], &done[3]].map(|told| told["digest"].as_str().unwrap().to_owned())
    };
    let digests = push(2);
    let told = shed.helm(&json!([{"do": "tags", "reference": reference}]));
    let from_registry = oci(host, net);
    let mut told: Vec<&str> = told[0].as_array().unwrap().iter().map(|tag| tag.as_str().unwrap()).collect();
    told.sort_unstable();
    assert_eq!(told, VERSIONS, "as Helm lists them");
    assert_eq!(versions(&*from_registry).await, VERSIONS);
    for (version, digest) in VERSIONS.iter().zip(&digests) {
        assert_tells(&describe(&*from_registry, version).await, version, digest);
    }
    assert_eq!(from_registry.describe(&"2.0.0".parse().unwrap()).await.unwrap(), None);

    let again = push(3);
    assert_ne!(again[1], digests[1]);
    assert_tells(&describe(&*from_registry, VERSIONS[1]).await, VERSIONS[1], &again[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_anybody_may_read() {
    let shed = Shed::new();
    let (_running, host) = registry(&shed, "open", false).await;
    let nothing = oci(&host, &plain(&host)).versions().await;
    assert!(matches!(nothing, Err(SourceError::NoSuchChart { .. })), "{nothing:?}");
    pushed_and_read(&shed, &host, &plain(&host)).await;
}

/// A file below a folder that holds these words.
fn written(folder: &Path, words: &str) -> Option<PathBuf> {
    let mut paths = std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    paths.find_map(|path| match path.is_dir() {
        true => written(&path, words),
        false => std::fs::read_to_string(&path).ok().filter(|text| text.contains(words)).map(|_| path),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_wants_a_login() {
    let shed = Shed::new();
    let (_running, host) = registry(&shed, "locked", true).await;
    shed.helm(&json!([{"do": "login", "host": host, "user": USER, "password": PASSWORD}]));
    // What Helm wrote at the login is a docker config.json.
    let good = written(&shed.path("home"), "\"auths\"").expect("Helm keeps its login in a file");
    let file = |name: &str, entry: Value| {
        let file = shed.path("logins").join(name);
        std::fs::write(&file, json!({"auths": {host.clone(): entry}}).to_string()).unwrap();
        file
    };
    let wrong = file("wrong.json", json!({"username": USER, "password": "weeds"}));
    let other = file("other.json", json!({"username": USER, "password": PASSWORD}));
    let elsewhere = std::fs::read_to_string(&other).unwrap().replace(&host, "elsewhere.example");
    std::fs::write(&other, elsewhere).unwrap();
    let with = |file: &Path| {
        let logins = Logins::open(vec![file.to_owned()]).unwrap();
        Net::open(NetSettings { allow: vec![host.clone()], logins, ..NetSettings::default() }).unwrap()
    };
    pushed_and_read(&shed, &host, &with(&good)).await;
    for (net, help) in [
        (plain(&host), "--registries".to_owned()),
        (with(&other), format!("`{}` has no login for {host}", other.display())),
        (with(&wrong), format!("to the login in `{}`", wrong.display())),
    ] {
        let error = oci(&host, &net).versions().await.expect_err("nothing without the right login");
        let says = error.to_string();
        assert!(matches!(error, SourceError::Closed { .. }) && says.contains("401") && says.contains(&help), "{says}");
        assert!(says.contains(&host) && !says.contains("weeds"), "{says}");
    }
    // A login that has run out is refused until a new one is in its place.
    let asked = oci(&host, &with(&wrong));
    assert!(asked.versions().await.is_err());
    std::fs::copy(&good, &wrong).unwrap();
    assert_eq!(versions(&*asked).await, VERSIONS);
}
