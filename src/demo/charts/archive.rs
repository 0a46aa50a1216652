//! A chart as a `.tgz`: gzip, tar, and the files that Helm expects in it.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::Context as _;
use flate2::{Compression, GzBuilder};
use jiff::Timestamp;
use serde::Serialize;

/// `Chart.yaml`. The same value as JSON is the config blob of the OCI artefact.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChartFile {
    pub(super) api_version: &'static str,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) app_version: String,
    pub(super) description: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) kube_version: &'static str,
    pub(super) home: String,
    pub(super) sources: Vec<String>,
    pub(super) maintainers: Vec<BTreeMap<&'static str, String>>,
    pub(super) annotations: BTreeMap<String, String>,
    /// Files in the place of those that every chart has, or beside them.
    #[serde(skip)]
    pub(super) files: BTreeMap<String, String>,
}

impl ChartFile {
    /// `notes`: one line per change.
    pub(super) fn new(name: &str, version: &str, notes: &str) -> Self {
        let changes: String = notes.lines().map(|line| format!("- {}\n", line.trim())).collect();
        let mut annotations = BTreeMap::new();
        if !changes.is_empty() {
            annotations.insert("artifacthub.io/changes".to_owned(), changes);
        }
        Self {
            api_version: "v2",
            name: name.to_owned(),
            version: version.to_owned(),
            app_version: version.to_owned(),
            description: format!("{name} for every cluster of the fleet"),
            kind: "application",
            kube_version: ">=1.28.0-0",
            home: format!("https://charts.example/{name}"),
            sources: vec![format!("https://git.example/{name}")],
            maintainers: vec![BTreeMap::from([("name", format!("The {name} authors"))])],
            annotations,
            files: BTreeMap::new(),
        }
    }
}

/// Packs the chart. The same chart and instant give the same bytes, and so the same digest.
pub(super) fn pack(chart: &ChartFile, created: Timestamp) -> anyhow::Result<Vec<u8>> {
    let seconds = u64::try_from(created.as_second()).context("a chart cannot be older than 1970")?;
    let mut tar = tar::Builder::new(Vec::new());
    for (path, text) in files(chart)? {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(seconds);
        let path = format!("{}/{path}", chart.name);
        tar.append_data(&mut header, &path, text.as_bytes()).with_context(|| format!("cannot pack {path}"))?;
    }
    let tar = tar.into_inner().context("cannot finish the archive")?;
    let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    gzip.write_all(&tar)?;
    Ok(gzip.finish()?)
}

fn files(chart: &ChartFile) -> anyhow::Result<BTreeMap<String, String>> {
    let usual = [
        ("Chart.yaml", serde_yaml::to_string(chart)?),
        ("values.yaml", VALUES.replace("NAME", &chart.name).replace("VERSION", &chart.app_version)),
        ("templates/deployment.yaml", DEPLOYMENT.to_owned()),
    ];
    let mut files: BTreeMap<String, String> = usual.into_iter().map(|(path, text)| (path.to_owned(), text)).collect();
    files.extend(chart.files.clone());
    Ok(files)
}

const VALUES: &str = "\
# How many pods serve.
replicas: 2
image:
  repository: registry.example/NAME
  tag: VERSION
resources:
  limits: {memory: 256Mi}
";

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels:
    app.kubernetes.io/name: {{ .Chart.Name }}
    app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
    helm.sh/chart: {{ printf \"%s-%s\" .Chart.Name .Chart.Version | replace \"+\" \"_\" | trunc 63 }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {app.kubernetes.io/name: {{ .Chart.Name }}}
  template:
    metadata:
      labels: {app.kubernetes.io/name: {{ .Chart.Name }}}
    spec:
      containers:
        - name: main
          image: \"{{ .Values.image.repository }}:{{ .Values.image.tag }}\"
          resources: {{- toYaml .Values.resources | nindent 12 }}
";
