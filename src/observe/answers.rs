//! What was answered: readings, with versions in place of the commits that prove them, as the planner takes them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decide::snapshot::{Health, Reading};
use decide::{ClusterName, PluginName, Readings, Sha, Version};

use super::cluster::Ask;
use super::watch::SharedAnswer;
use super::whose::Whose;
use crate::signal::{self, Answer};

/// What stands in the config repo at commits that clusters run: a version for whom a commit is asked about.
pub type Versions = BTreeMap<(Whose, Sha), Result<Version, String>>;

/// What a round was answered.
#[derive(Default)]
pub struct Answers {
    asks: Arc<Vec<Ask>>,
    /// In the order of the asks.
    said: Vec<SharedAnswer>,
    /// What could not be asked.
    refused: Vec<(Whose, Reading)>,
}

impl Answers {
    /// `said` is in the order of the asks, which is that of the plugins.
    pub fn new(asks: Arc<Vec<Ask>>, said: Vec<SharedAnswer>, refused: Vec<(Whose, Reading)>) -> Self {
        Self { asks, said, refused }
    }

    /// The commits that somebody has to look up.
    pub fn commits(&self) -> Vec<(Whose, Sha)> {
        let all = self.asks.iter().zip(&self.said);
        all.filter_map(|(ask, said)| Some((ask.whose(), said.revision().cloned()?))).collect()
    }

    /// The readings of these plugins.
    pub fn of(&self, plugins: &BTreeSet<PluginName>, versions: &Versions) -> Vec<(Whose, Reading)> {
        let all = self.asks.iter().zip(&self.said).filter(|(ask, _)| plugins.contains(ask.plugin()));
        let said = all.map(|(ask, said)| {
            let whose = ask.whose();
            let reading = resolved(&whose, said, versions);
            (whose, reading)
        });
        let refused = self.refused.iter().filter(|(whose, _)| plugins.contains(&whose.plugin)).cloned();
        said.chain(refused).collect()
    }

    /// All readings: plugin by plugin, so that the words of all are never there at once. `more` is of no cluster.
    pub fn readings(self, versions: &Versions, more: Vec<(Whose, Reading)>) -> BTreeMap<PluginName, Readings> {
        let mut beside: BTreeMap<PluginName, Vec<(ClusterName, Reading)>> = BTreeMap::new();
        for (whose, reading) in self.refused.into_iter().chain(more) {
            beside.entry(whose.plugin).or_default().push((whose.cluster, reading));
        }
        let mut plugins = BTreeMap::new();
        let mut said = self.asks.iter().zip(self.said).peekable();
        while let Some((ask, _)) = said.peek() {
            let plugin = ask.plugin().clone();
            let mut all = Vec::new();
            while let Some((ask, said)) = said.next_if(|(ask, _)| *ask.plugin() == plugin) {
                let whose = ask.whose();
                let reading = resolved(&whose, &said, versions);
                all.push((whose.cluster, reading));
            }
            all.extend(beside.remove(&plugin).unwrap_or_default());
            plugins.insert(plugin, table(all));
        }
        plugins.extend(beside.into_iter().map(|(plugin, all)| (plugin, table(all))));
        plugins
    }
}

/// By their clusters.
fn table(all: Vec<(ClusterName, Reading)>) -> Readings {
    let mut clusters: BTreeMap<ClusterName, Vec<Reading>> = BTreeMap::new();
    for (cluster, reading) in all {
        clusters.entry(cluster).or_default().push(reading);
    }
    clusters.into_iter().collect()
}

/// One reading, with the version in place of the commit that proves it.
pub fn resolved(whose: &Whose, said: &SharedAnswer, versions: &Versions) -> Reading {
    let Answer { mut reading, revision } = said.answer();
    if let Some(commit) = revision {
        resolve(&mut reading, &commit, versions.get(&(whose.clone(), commit.clone())));
    }
    reading
}

/// What is not known to be a version proves none.
fn resolve(reading: &mut Reading, commit: &Sha, version: Option<&Result<Version, String>>) {
    let short = commit.short();
    match version {
        Some(Ok(version)) => {
            reading.running = Some(version.clone());
            reading.evidence = signal::one_line(&format!("{}; at {short} the file says {version}", reading.evidence));
        }
        Some(Err(why)) => unproven(reading, &format!("at {short}: {why}")),
        None => unproven(reading, &format!("{short} was not looked up")),
    }
}

fn unproven(reading: &mut Reading, why: &str) {
    if reading.health == Health::Healthy {
        reading.health = Health::Unknown;
    }
    reading.evidence = signal::one_line(&format!("{}; {why}", reading.evidence));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jiff::Timestamp;

    use super::*;
    use crate::inventory::ListedCluster;
    use crate::observe::cluster::Asking;

    fn answer(health: Health) -> (Whose, Answer) {
        let whose = Whose { plugin: "loki".into(), tier: "gold".into(), cluster: "eu-1".into() };
        let reading = Reading { health, ..Answer::unasked("signal", "Ready", Timestamp::UNIX_EPOCH).reading };
        (whose, Answer { reading, revision: Some(Sha::new("2".repeat(40))) })
    }

    /// What a reading becomes when this is known of its commit.
    fn read(health: Health, version: Option<Result<Version, String>>) -> Reading {
        let (whose, answer) = answer(health);
        let key = (whose.clone(), answer.revision.clone().unwrap());
        let versions = version.map(|version| (key, version)).into_iter().collect();
        resolved(&whose, &SharedAnswer::alone(answer), &versions)
    }

    #[test]
    fn each_plugin_has_what_its_clusters_and_others_said_of_it() {
        let tier: decide::Tier = serde_yaml::from_str("{name: gold, soak: {min: PT1H}}").unwrap();
        let ask = |plugin: &str, cluster: &str| {
            let (name, credential) = (ClusterName::from(cluster), cluster.to_string());
            let listed = ListedCluster { name, labels: BTreeMap::new(), credential, secret_ref: None, stale: None };
            let spec = Arc::new(crate::observe::tests::others::named("helmRelease", "apps", plugin));
            Ask::new(&Arc::new(listed), &Asking::new(&plugin.into(), &tier, &spec)).unwrap()
        };
        let words = |words: &str| Answer::unasked("signal", words, Timestamp::UNIX_EPOCH);
        let of = |plugin: &str, cluster: &str, said: &str| {
            let whose = Whose { plugin: plugin.into(), tier: "gold".into(), cluster: cluster.into() };
            (whose, words(said).reading)
        };
        let asks = vec![ask("loki", "eu-2"), ask("loki", "eu-1"), ask("perses", "eu-1")];
        let said = ["one", "two", "three"].map(|text| SharedAnswer::alone(words(text))).to_vec();
        let answers =
            Answers::new(Arc::new(asks), said, vec![of("loki", "eu-1", "refused"), of("tempo", "eu-1", "four")]);
        let asked = answers.of(&["loki".into()].into(), &Versions::new());
        let told: Vec<&str> = asked.iter().map(|(_, reading)| reading.evidence.as_str()).collect();
        assert_eq!(told, ["one", "two", "refused"]);
        let all = answers.readings(&Versions::new(), vec![of("loki", "eu-1", "a page"), of("mimir", "eu-9", "five")]);
        let says = |plugin: &str, cluster: &str| -> Vec<String> {
            let rows = all[&plugin.into()].of(&cluster.into());
            rows.iter().map(|row| row.reading().evidence).collect()
        };
        assert_eq!(says("loki", "eu-1"), ["two", "refused", "a page"]);
        assert_eq!(says("loki", "eu-2"), ["one"]);
        assert_eq!(
            (says("perses", "eu-1"), says("tempo", "eu-1")),
            (vec!["three".to_string()], vec!["four".to_string()])
        );
        assert_eq!((all.len(), says("mimir", "eu-9")), (4, vec!["five".to_string()]));
    }

    #[test]
    fn a_commit_proves_the_version_that_stands_there_and_no_other() {
        let version: Version = "1.2.0".parse().unwrap();
        let known = read(Health::Healthy, Some(Ok(version.clone())));
        assert_eq!((known.health, known.running), (Health::Healthy, Some(version)));
        assert_eq!(known.evidence, "Ready; at 2222222 the file says 1.2.0");
        for (version, words) in [
            (None, "Ready; 2222222 was not looked up"),
            (
                Some(Err("the repository has no such commit".to_string())),
                "at 2222222: the repository has no such commit",
            ),
        ] {
            let unproven = read(Health::Healthy, version.clone());
            assert_eq!((unproven.health, unproven.running), (Health::Unknown, None));
            assert!(unproven.evidence.ends_with(words), "{}", unproven.evidence);
            assert_eq!(read(Health::Degraded, version).health, Health::Degraded, "what is wrong stays wrong");
        }
    }
}
