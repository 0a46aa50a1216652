//! What is asked about the clusters of a wave. Who asks, and how it is judged, is in `member`.

use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use crate::{Clusters, Digest, Version};

/// What is asked about the clusters of a wave: everything on which the answer rests beside the readings
/// and the time.
#[derive(PartialEq)]
pub(crate) struct Question {
    pub(super) clusters: Clusters,
    /// What moved them, a slice each, in order; whoever is in none of them somebody moved ahead of its slice, and
    /// the last one counts.
    pub(super) orders: Vec<Order>,
    /// Whether there are slices, of which some are still to come perhaps.
    pub(super) sliced: bool,
    /// When the newest slice landed, and when all were healthy.
    pub(super) landed: Option<Timestamp>,
    pub(super) converged: Option<Timestamp>,
    pub(super) max_age: SignedDuration,
    pub(super) degraded_for: SignedDuration,
    pub(super) progress_deadline: SignedDuration,
    /// Whether somebody may have failed though all counted as healthy.
    pub(super) tolerates: bool,
}

/// One version that was asked of some clusters.
pub(super) struct Order {
    pub(super) clusters: Clusters,
    pub(super) version: Version,
    pub(super) digest: Option<Digest>,
    /// When it landed, or was written where it has not.
    pub(super) since: Timestamp,
}

impl PartialEq for Order {
    fn eq(&self, other: &Self) -> bool {
        // Versions that are spelled differently may prove differently.
        self.version.as_str() == other.version.as_str()
            && (&self.clusters, &self.digest, self.since) == (&other.clusters, &other.digest, other.since)
    }
}
