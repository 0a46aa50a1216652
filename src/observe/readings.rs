//! The questions to the clusters of every tier about every plugin. What is asked of others is in `ask`, what comes of
//! it all in `answers`; what the answers mean for a release is decided in `decide`.

use std::collections::BTreeMap;
use std::sync::Arc;

use decide::{ClusterName, Tier};
use jiff::{SignedDuration, Timestamp};

use super::answers::Answers;
use super::ask::checks::Stated;
use super::ask::{About, Ask as Other};
use super::cluster::{Ask, Asking, fresh};
use super::needed::Needed;
use super::watch::Watches;
use super::whose::Whose;
use crate::inventory::ListedCluster;
use crate::policy::Loaded;
use crate::signal::{self, Answer, Question, SignalError, SignalSpec};

/// Every question to every cluster, in the order of the plugins. Made once and asked again and again.
#[derive(Default)]
pub struct Round {
    /// The policy, the clusters and the tiers that it was made from; none = all tiers.
    of: (Option<Arc<Loaded>>, Vec<ListedCluster>, Option<Needed>),
    /// The questions.
    asks: Arc<Vec<Ask>>,
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

    /// The questions to clusters.
    pub fn asks(&self) -> &Arc<Vec<Ask>> {
        &self.asks
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
    pub async fn ask(&self, watches: &mut Watches, now: Timestamp) -> Answers {
        let said = watches.answers(&self.asks).await;
        let unasked = |(whose, signal, why): &Refused| (whose.clone(), Answer::unasked(signal, why, now).reading);
        Answers::new(Arc::clone(&self.asks), said, self.refused.iter().map(unasked).collect())
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
            let asked: Vec<Arc<Asking>> = signals.iter().map(|spec| Asking::new(&plugin.name, tier, spec)).collect();
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
    made.asks.shrink_to_fit();
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
            (Ok(ask), None) => self.asks.push(ask),
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

/// The cluster by the connection that the signal names; what is lent is for the cluster itself. What selectors
/// see is left out: nobody is asked anew because a label has changed.
fn through(spec: &SignalSpec, cluster: &ListedCluster) -> ListedCluster {
    let (credential, secret_ref) = match &spec.connection {
        Some(hub) => (hub.clone(), None),
        None => (cluster.credential.clone(), cluster.secret_ref.clone()),
    };
    ListedCluster { name: cluster.name.clone(), labels: BTreeMap::new(), credential, secret_ref, stale: None }
}

/// Why what a hub says of this cluster proves nothing; the cluster itself may be asked all the same.
fn stale<'a>(spec: &SignalSpec, cluster: &'a ListedCluster) -> Option<&'a str> {
    spec.connection.as_ref().and(cluster.stale.as_deref())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::inventory::SecretRef;

    #[test]
    fn a_hub_is_asked_in_place_of_the_cluster() {
        let kind = crate::inventory::KINDS[0];
        let text = |text: &str| text.to_string();
        let secret_ref =
            Some(SecretRef { kind, connection: text("hub"), namespace: text("argocd"), name: text("eu-1") });
        let (credential, stale_why) = (text("eu-1"), Some(text("left alone")));
        let cluster =
            ListedCluster { name: "eu-1".into(), labels: BTreeMap::new(), credential, secret_ref, stale: stale_why };
        let mut spec = crate::observe::tests::others::named("application", "argocd", "loki");
        assert_eq!(through(&spec, &cluster), ListedCluster { stale: None, ..cluster.clone() });
        assert_eq!(stale(&spec, &cluster), None, "the cluster itself is of today");
        spec.connection = Some("hub".to_string());
        let asked = through(&spec, &cluster);
        assert_eq!((asked.credential.as_str(), &asked.secret_ref), ("hub", &None), "nothing is lent to ask a hub");
        assert_eq!(stale(&spec, &cluster), Some("left alone"));
    }
}
