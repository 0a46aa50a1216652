//! Asks the clusters of every tier about every plugin, in parallel; what is asked of others is in `ask`. What
//! the answers mean for a release is decided in `decide`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decide::snapshot::{Health, Reading};
use decide::{ClusterName, PluginName, Readings, Sha, Tier, TierName, Version};
use jiff::{SignedDuration, Timestamp};

use super::ask::checks::Stated;
use super::ask::{About, Ask as Other};
use super::cluster::{Ask, Asking, fresh};
use super::needed::Needed;
use super::signal::{self, Answer, Question, SignalError};
use super::watch::{Said, Standing};
use crate::policy::Loaded;
use crate::policy::wiring::{ListedCluster, SignalSpec};

/// Whom an answer is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whose {
    /// The plugin.
    pub plugin: PluginName,
    /// The tier that the cluster is of.
    pub tier: TierName,
    /// The cluster.
    pub cluster: ClusterName,
}

/// What stands in the config repo at commits that clusters run: a version for whom a commit is asked about.
pub type Versions = BTreeMap<(Whose, Sha), Result<Version, String>>;

/// Every question to every cluster, in the order of the plugins. Made once and asked again and again.
#[derive(Default)]
pub struct Round {
    /// The policy, the clusters and the tiers that it was made from; none = all tiers.
    of: (Option<Arc<Loaded>>, Vec<ListedCluster>, Option<Needed>),
    /// The questions.
    asks: Arc<Vec<Ask>>,
    /// Whom each of them is about.
    owners: Vec<Whose>,
    /// Questions that go to nobody of the clusters.
    others: Vec<Other>,
    /// Questions about what the hub says of commits.
    stated: Vec<Stated>,
    /// Questions that cannot be asked, and why.
    refused: Vec<Refused>,
}

/// A question that cannot be asked: whom it is about, what it would ask, and why it does not.
type Refused = (Whose, String, String);

impl Round {
    /// The round of a policy over these clusters, of all tiers or of those that are needed; the one before where
    /// nothing has changed.
    #[must_use]
    pub fn of(self, loaded: &Arc<Loaded>, clusters: &[ListedCluster], needed: Option<Needed>) -> Self {
        let (policy, known, before) = &self.of;
        let same = policy.as_ref().is_some_and(|policy| Arc::ptr_eq(policy, loaded));
        if same && known == clusters && *before == needed {
            return self;
        }
        let questions = questions(loaded, clusters, needed.as_ref());
        Self { of: (Some(Arc::clone(loaded)), clusters.to_vec(), needed), ..questions }
    }

    /// The questions that have to wait for what the clusters say.
    pub fn others(&self) -> Vec<Other> {
        self.others.clone()
    }

    /// The questions to the hub.
    pub fn stated(&self) -> Vec<Stated> {
        self.stated.clone()
    }

    /// What those who keep it up to date say of every question.
    pub async fn ask(&self, standing: &mut Standing, now: Timestamp) -> Vec<(Whose, Said)> {
        let said = standing.answers(&self.asks).await;
        let refused = self
            .refused
            .iter()
            .map(|(whose, signal, why)| (whose.clone(), Said::alone(Answer::unasked(signal, why, now))));
        self.owners.iter().cloned().zip(said).chain(refused).collect()
    }
}

/// Every question: those that can be asked, whom each is about, and those that cannot.
fn questions(loaded: &Loaded, clusters: &[ListedCluster], needed: Option<&Needed>) -> Round {
    let mut made = Made::default();
    for plugin in &loaded.policy.plugins {
        let Some(wiring) = loaded.wiring.plugins.get(&plugin.name) else { continue };
        let dated = wiring.signals.iter().filter(|spec| !asks_metrics(spec)).all(|spec| spec.kind.dates);
        let signals: Vec<Arc<SignalSpec>> = wiring.signals.iter().cloned().map(Arc::new).collect();
        let is_needed =
            |tier: &&Tier| needed.is_none_or(|needed| needed.contains(&(plugin.name.clone(), tier.name.clone())));
        for tier in plugin.tiers.iter().filter(is_needed) {
            let fresh = fresh(tier);
            let asked: Vec<Arc<Asking>> = signals.iter().map(|spec| Asking::new(tier, spec)).collect();
            for cluster in clusters.iter().filter(|cluster| tier.select.matches(&cluster.labels)) {
                let (plugin, tier) = (plugin.name.clone(), tier.name.clone());
                let whose = Whose { plugin, tier, cluster: cluster.name.clone() };
                for (index, (spec, asking)) in wiring.signals.iter().zip(&asked).enumerate() {
                    if spec.kind.asks_clusters() {
                        made.of_cluster(&whose, (spec, asking), cluster);
                    } else {
                        made.of_others(&whose, (index, dated, fresh), spec);
                    }
                }
            }
        }
    }
    Round { asks: Arc::new(made.asks), ..made.round }
}

/// The questions so far.
#[derive(Default)]
struct Made<'a> {
    round: Round,
    asks: Vec<Ask>,
    connections: BTreeMap<(&'a ClusterName, Option<&'a str>), Arc<ListedCluster>>,
}

impl<'a> Made<'a> {
    fn of_cluster(
        &mut self,
        whose: &Whose,
        (spec, asking): (&'a SignalSpec, &Arc<Asking>),
        cluster: &'a ListedCluster,
    ) {
        let connection = (&cluster.name, spec.connection.as_deref());
        let connection = self.connections.entry(connection).or_insert_with(|| Arc::new(through(spec, cluster)));
        match (Ask::new(connection, asking), stale(spec, cluster)) {
            (Ok(ask), None) => {
                self.asks.push(ask);
                self.round.owners.push(whose.clone());
            }
            (Ok(ask), Some(why)) => {
                let signal = ask.target().map_or("signal".to_string(), |target| signal::title(&target));
                self.round.refused.push((whose.clone(), signal, why.to_string()));
            }
            (Err(error), _) => self.refused(whose, &error),
        }
    }

    fn of_others(&mut self, whose: &Whose, place: (usize, bool, SignedDuration), spec: &SignalSpec) {
        let (index, dated, fresh) = place;
        let about = match signal::question(spec, &whose.cluster, &whose.tier) {
            Err(error) => return self.refused(whose, &error),
            Ok(Question::Object(_)) => return,
            Ok(Question::Checks(checks)) => {
                return self.round.stated.push(Stated { whose: whose.clone(), checks: checks.into() });
            }
            Ok(Question::Metrics(metrics)) => About::Metrics(metrics.into()),
            Ok(Question::Page(page)) => About::Page(page.into()),
        };
        self.round.others.push(Other { whose: whose.clone(), index, dated, fresh, about });
    }

    fn refused(&mut self, whose: &Whose, error: &SignalError) {
        self.round.refused.push((whose.clone(), "signal".to_string(), error.to_string()));
    }
}

/// Whether a signal rests on what the others prove.
fn asks_metrics(spec: &SignalSpec) -> bool {
    matches!(spec.kind.make, signal::Make::Metrics(_))
}

/// The commits that somebody has to look up.
pub fn commits<'a>(answers: impl Iterator<Item = &'a (Whose, Said)>) -> Vec<(Whose, Sha)> {
    answers.filter_map(|(whose, said)| Some((whose.clone(), said.revision().cloned()?))).collect()
}

/// One reading, with the version in place of the commit that proves it.
pub fn resolved(whose: &Whose, said: &Said, versions: &Versions) -> Reading {
    let Answer { mut reading, revision } = said.answer();
    if let Some(commit) = revision {
        resolve(&mut reading, &commit, versions.get(&(whose.clone(), commit.clone())));
    }
    reading
}

/// The readings of these plugins.
pub fn of(plugins: &BTreeSet<PluginName>, answers: &[(Whose, Said)], versions: &Versions) -> Vec<(Whose, Reading)> {
    let wanted = answers.iter().filter(|(whose, _)| plugins.contains(&whose.plugin));
    wanted.map(|(whose, said)| (whose.clone(), resolved(whose, said, versions))).collect()
}

/// What was said of one plugin, by its clusters and by others.
#[derive(Default)]
struct OfPlugin {
    answers: Vec<(Whose, Said)>,
    more: Vec<(Whose, Reading)>,
}

/// The readings as the planner takes them: plugin by plugin, so that the words of all are never there at once. `more`
/// is of no cluster.
pub fn readings(
    answers: Vec<(Whose, Said)>,
    versions: &Versions,
    more: Vec<(Whose, Reading)>,
) -> BTreeMap<PluginName, Readings> {
    let mut plugins: BTreeMap<PluginName, OfPlugin> = BTreeMap::new();
    for (whose, said) in answers {
        plugins.entry(whose.plugin.clone()).or_default().answers.push((whose, said));
    }
    for (whose, reading) in more {
        plugins.entry(whose.plugin.clone()).or_default().more.push((whose, reading));
    }
    plugins.into_iter().map(|(plugin, said)| (plugin, said.readings(versions))).collect()
}

impl OfPlugin {
    fn readings(self, versions: &Versions) -> Readings {
        let answers = self.answers.into_iter().map(|(whose, said)| {
            let reading = resolved(&whose, &said, versions);
            (whose.cluster, reading)
        });
        let more = self.more.into_iter().map(|(whose, reading)| (whose.cluster, reading));
        let mut clusters: BTreeMap<ClusterName, Vec<Reading>> = BTreeMap::new();
        for (cluster, reading) in answers.chain(more) {
            clusters.entry(cluster).or_default().push(reading);
        }
        clusters.into_iter().collect()
    }
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

/// The cluster by the connection that the signal names; what is lent is for the cluster itself. What selectors
/// see is left out: nobody is asked anew because a label has changed.
fn through(spec: &SignalSpec, cluster: &ListedCluster) -> ListedCluster {
    let (credential, lent) = match &spec.connection {
        Some(hub) => (hub.clone(), None),
        None => (cluster.credential.clone(), cluster.lent.clone()),
    };
    ListedCluster { name: cluster.name.clone(), labels: BTreeMap::new(), credential, lent, stale: None }
}

/// Why what a hub says of this cluster proves nothing; the cluster itself may be asked all the same.
fn stale<'a>(spec: &SignalSpec, cluster: &'a ListedCluster) -> Option<&'a str> {
    spec.connection.as_ref().and(cluster.stale.as_deref())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::policy::wiring::Lent;

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
        let readings = readings(vec![(whose, Said::alone(answer))], &versions, Vec::new());
        readings[&"loki".into()].of(&"eu-1".into())[0].reading()
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

    #[test]
    fn a_hub_is_asked_in_place_of_the_cluster() {
        let kind = crate::observe::inventory::KINDS[0];
        let text = |text: &str| text.to_string();
        let lent = Some(Lent { kind, connection: text("hub"), namespace: text("argocd"), name: text("eu-1") });
        let (credential, stale_why) = (text("eu-1"), Some(text("left alone")));
        let cluster =
            ListedCluster { name: "eu-1".into(), labels: BTreeMap::new(), credential, lent, stale: stale_why };
        let mut spec = SignalSpec::named("application", "argocd", "loki");
        assert_eq!(through(&spec, &cluster), ListedCluster { stale: None, ..cluster.clone() });
        assert_eq!(stale(&spec, &cluster), None, "the cluster itself is of today");
        spec.connection = Some("hub".to_string());
        let asked = through(&spec, &cluster);
        assert_eq!((asked.credential.as_str(), &asked.lent), ("hub", &None), "nothing is lent to ask a hub");
        assert_eq!(stale(&spec, &cluster), Some("left alone"));
    }
}
