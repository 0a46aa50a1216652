//! Any git repository whose tags are versions: of a chart in one of its folders, of a module, of a base. How the repository
//! is reached is in `mirror`.

use std::collections::BTreeMap;
use std::sync::Arc;

use decide::{Sha, Version};
use serde_json::Value;
use tokio::sync::Mutex;

use super::found::{Answer, Contents, Found, Source, SourceError, sha256};
use super::meta;
use super::mirror::Mirror;
use crate::policy::wiring::VERSION;

/// So many tags are brought here in one conversation.
const MOST: usize = 60;

pub(super) struct Tags {
    mirror: Arc<Mirror>,
    /// What stands before and after the version in the name of a tag.
    around: (String, String),
    /// The folder of the chart; none where nothing of it is read.
    folder: Option<String>,
    /// Tags and their commits, by the versions as they are written.
    state: Mutex<BTreeMap<Version, (String, Sha)>>,
}

impl Tags {
    pub fn new(mirror: Arc<Mirror>, tag: &str, folder: Option<String>) -> Self {
        let (before, after) = tag.split_once(VERSION).unwrap_or((tag, ""));
        Self { mirror, around: (before.to_string(), after.to_string()), folder, state: Mutex::default() }
    }

    /// The version in the name of a tag.
    fn version_in(&self, tag: &str) -> Option<Version> {
        let (before, after) = &self.around;
        tag.strip_prefix(before.as_str())?.strip_suffix(after.as_str())?.parse().ok()
    }

    async fn look(&self) -> Result<Vec<Version>, SourceError> {
        let refs = self.mirror.refs().await?;
        let named =
            refs.tags.iter().filter_map(|(tag, commit)| Some((self.version_in(tag)?, (tag.clone(), commit.clone()))));
        let found: BTreeMap<Version, (String, Sha)> = named.collect();
        let versions = found.keys().cloned().collect();
        *self.state.lock().await = found;
        Ok(versions)
    }

    async fn found(&self, version: &Version) -> Result<Option<Found>, SourceError> {
        let state = self.state.lock().await;
        // `1.0.0` and `1.0.0+1` are equal, and a tag is of one of them.
        let known = state.get_key_value(version).filter(|(known, _)| known.as_str() == version.as_str());
        let Some((_, (tag, commit))) = known else { return Ok(None) };
        let digest = Some(sha256(format!("commit {commit}").as_bytes()));
        let (mut about, mut incomplete) = (Value::Null, None);
        if let Some(folder) = &self.folder {
            let newer: BTreeMap<String, Sha> =
                state.range(version..).take(MOST).map(|(_, (tag, commit))| (tag.clone(), commit.clone())).collect();
            let file = format!("{folder}/Chart.yaml");
            match self.mirror.at_tag(commit.clone(), &file, newer).await?.as_deref().map(meta::chart_file) {
                None => {}
                Some(Some(chart)) => about = chart,
                Some(None) => incomplete = Some(format!("{file} at the tag {tag} does not parse")),
            }
        }
        let mut found = meta::found(version.clone(), digest, &about);
        found.origin.sources.insert(0, self.mirror.url.to_string());
        found.origin.revision = Some(commit.to_string());
        found.home.get_or_insert_with(|| self.mirror.url.to_string());
        Ok(Some(Found { digest: found.digest.filter(|_| incomplete.is_none()), incomplete, ..found }))
    }

    /// The files of its folder, where that holds a chart. What else lies in a repository is not compared.
    async fn read(&self, found: &Found) -> Result<Option<Contents>, SourceError> {
        let Some(folder) = &self.folder else { return Ok(Some(Contents::default())) };
        let Some(commit) = found.origin.revision.clone().map(Sha::new) else { return Ok(None) };
        let tag = self.state.lock().await.get(&found.version).map(|(tag, _)| tag.clone());
        let wanted = tag.map(|tag| (tag, commit.clone())).into_iter().collect();
        let files = self.mirror.folder_at(commit, folder, wanted).await?;
        Ok(files.map(|files| {
            let is_chart = files.contains_key("Chart.yaml");
            Contents { files: Some(files).filter(|_| is_chart), ..Contents::default() }
        }))
    }
}

impl Source for Tags {
    fn versions(&self) -> Answer<'_, Result<Vec<Version>, SourceError>> {
        Box::pin(self.look())
    }

    fn describe<'a>(&'a self, version: &'a Version) -> Answer<'a, Result<Option<Found>, SourceError>> {
        Box::pin(self.found(version))
    }

    fn contents<'a>(&'a self, found: &'a Found) -> Answer<'a, Result<Option<Contents>, SourceError>> {
        Box::pin(self.read(found))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::runtime::Runtime;

    use super::*;
    use crate::git::testing::Server;
    use crate::observe::chart::Mirrors;
    use crate::observe::net::{Net, net_to};

    struct World {
        runtime: Runtime,
        server: Server,
        net: Net,
        folder: tempfile::TempDir,
    }

    impl World {
        fn new() -> Self {
            let server = Server::start_for("gitlab+deploy-token-7");
            let net = net_to(&server, &[]);
            Self { runtime: Runtime::new().unwrap(), server, net, folder: tempfile::tempdir().unwrap() }
        }

        fn release(&self, tag: &str, files: &[(&str, &str)]) -> String {
            let commit = self.server.commit("main", files);
            self.server.git(&["tag", "--force", tag, "main"]);
            commit
        }

        fn source(&self, tag: &str, folder: Option<&str>) -> Tags {
            let mirrors = Mirrors::in_folder(self.folder.path().to_path_buf());
            Tags::new(mirrors.of(&self.server.url, &self.net).unwrap(), tag, folder.map(str::to_string))
        }

        fn found(&self, source: &Tags, version: &str) -> Option<Found> {
            self.runtime.block_on(source.versions()).unwrap();
            self.runtime.block_on(source.describe(&version.parse().unwrap())).unwrap()
        }
    }

    #[test]
    fn tags_of_its_form_are_versions() {
        let world = World::new();
        for tag in ["loki-1.0.0", "loki-1.1.0", "loki-latest", "tempo-9.0.0", "v2.0.0"] {
            world.release(tag, &[("main.tf", tag)]);
        }
        let source = world.source("loki-{version}", None);
        let mut versions = world.runtime.block_on(source.versions()).unwrap();
        versions.sort();
        assert_eq!(versions.iter().map(Version::as_str).collect::<Vec<_>>(), ["1.0.0", "1.1.0"]);
        let found = world.found(&source, "1.1.0").unwrap();
        assert!(found.digest.is_some() && found.origin.revision.as_deref().is_some_and(|commit| commit.len() == 40));
        assert!(world.found(&source, "9.0.0").is_none());
        let contents = world.runtime.block_on(source.contents(&found)).unwrap();
        assert_eq!(contents, Some(Contents::default()), "nothing is compared");
        // A tag that moves is other content.
        world.server.seen();
        world.release("loki-1.1.0", &[("main.tf", "another")]);
        let source = world.source("loki-{version}", None);
        assert_ne!(world.found(&source, "1.1.0").unwrap().digest, found.digest);
        assert!(world.server.seen().len() <= 3, "refs alone are read");
    }

    #[test]
    fn a_chart_in_a_folder_says_what_is_in_it() {
        let world = World::new();
        let chart = |more: &str| format!("apiVersion: v2\nname: loki\nversion: 0.0.0\n{more}");
        world.release("v1.0.0", &[("charts/loki/Chart.yaml", &chart("")), ("charts/loki/values.yaml", "a: 1\n")]);
        let breaks = chart("annotations: {coldframe.dev/breaking: \"true\"}\nhome: https://loki.example\n");
        world.release("v1.1.0", &[("charts/loki/Chart.yaml", &breaks)]);
        world.release("v1.2.0", &[("charts/loki/Chart.yaml", "a: [")]);
        let source = world.source("v{version}", Some("charts/loki"));
        let found = world.found(&source, "1.1.0").unwrap();
        assert!(found.marked_breaking && found.home.as_deref() == Some("https://loki.example"));
        assert_eq!(found.origin.sources.first().map(String::as_str), Some(world.server.url.as_str()));
        let contents = world.runtime.block_on(source.contents(&found)).unwrap().unwrap();
        let files = contents.files.unwrap();
        assert_eq!(files.keys().map(String::as_str).collect::<Vec<_>>(), ["Chart.yaml", "values.yaml"]);
        let broken = world.found(&source, "1.2.0").unwrap();
        assert_eq!(broken.incomplete.as_deref(), Some("charts/loki/Chart.yaml at the tag v1.2.0 does not parse"));
        assert_eq!(broken.digest, None);
        let elsewhere = world.source("v{version}", Some("charts/tempo"));
        let found = world.found(&elsewhere, "1.0.0").unwrap();
        assert_eq!(world.runtime.block_on(elsewhere.contents(&found)).unwrap(), None, "the folder is not there");
    }
}
