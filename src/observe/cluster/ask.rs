//! What is asked of clusters, and what came of it. A fleet has hundreds of thousands of questions: what they have
//! in common is kept once, and the rest is made when it is needed.

use std::sync::Arc;

use decide::{PluginName, Tier, TierName};
use jiff::SignedDuration;

use crate::inventory::ListedCluster;
use crate::observe::whose::Whose;
use crate::signal::{self, Answer, Signal, SignalError, SignalSpec, Target};

/// One question to one cluster. Cheap to clone.
#[derive(Clone)]
pub struct Ask {
    /// The cluster.
    pub cluster: Arc<ListedCluster>,
    of: Arc<Asking>,
}

/// What every cluster of a tier is asked about a plugin.
#[derive(Debug, PartialEq)]
pub struct Asking {
    plugin: PluginName,
    tier: TierName,
    spec: Arc<SignalSpec>,
    fresh: SignedDuration,
}

/// What an ask was answered, and further objects that the answer depends on.
pub struct Asked {
    /// The answer.
    pub answer: Answer,
    /// Which objects the signal looked at beside its first one.
    pub more: Vec<Target>,
}

impl Asking {
    /// The question of a signal to the clusters of a tier.
    pub fn new(plugin: &PluginName, tier: &Tier, spec: &Arc<SignalSpec>) -> Arc<Self> {
        let (plugin, spec) = (plugin.clone(), Arc::clone(spec));
        Arc::new(Self { plugin, tier: tier.name.clone(), spec, fresh: fresh(tier) })
    }
}

/// For how long nobody asks about a cluster of a tier again: so that a reading is not too old before anybody looks at
/// it, and that a short soak is seen to end in time.
pub fn fresh(tier: &Tier) -> SignedDuration {
    let (age, soak) = (tier.health.max_age, tier.soak.min);
    if soak.is_zero() { age / 2 } else { age.min(soak) / 2 }
}

impl Ask {
    /// The question to one of them, through the connection that the signal names.
    ///
    /// # Errors
    /// Where a name or a path of the signal cannot be used for this cluster.
    pub fn new(cluster: &Arc<ListedCluster>, of: &Arc<Asking>) -> Result<Self, SignalError> {
        let ask = Self { cluster: Arc::clone(cluster), of: Arc::clone(of) };
        ask.signal().map(|_| ask)
    }

    /// What judges the answer; made anew each time.
    ///
    /// # Errors
    /// None, since it was made once when the ask was.
    pub fn signal(&self) -> Result<Box<dyn Signal>, SignalError> {
        signal::signal(&self.of.spec, &self.cluster.name, &self.of.tier)
    }

    /// The object to ask for first.
    ///
    /// # Errors
    /// As [`Self::signal`].
    pub fn target(&self) -> Result<Target, SignalError> {
        Ok(self.signal()?.target())
    }

    /// Whom it is about.
    pub fn whose(&self) -> Whose {
        let Asking { plugin, tier, .. } = self.of.as_ref();
        Whose { plugin: plugin.clone(), tier: tier.clone(), cluster: self.cluster.name.clone() }
    }

    /// The plugin that it is about.
    pub fn plugin(&self) -> &PluginName {
        &self.of.plugin
    }

    /// An answer that is older is asked for anew.
    pub fn fresh(&self) -> SignedDuration {
        self.of.fresh
    }

    /// Whether it asks the same as another one.
    pub fn is_same(&self, other: &Self) -> bool {
        (Arc::ptr_eq(&self.cluster, &other.cluster) || self.cluster == other.cluster)
            && (Arc::ptr_eq(&self.of, &other.of) || self.of == other.of)
    }
}
