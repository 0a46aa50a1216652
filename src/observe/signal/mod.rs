//! Questions to clusters. One file per kind; each judges one object: version proof, then
//! freshness, then state. Whether a reading lets a release through is decided in `decide`.

use decide::snapshot::Reading;
use jiff::Timestamp;
use kube::core::GroupVersionKind;

/// Which object a signal looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Group, version, kind.
    pub gvk: GroupVersionKind,
    /// Its plural in the API's path.
    pub plural: String,
    /// Its namespace; none for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// One kind of signal. Adding a kind is one file that implements this and one line in the list.
pub trait Signal: Send + Sync {
    /// The kind as it is named in the policy file.
    fn kind(&self) -> &'static str;

    /// The object to ask for.
    fn target(&self) -> Target;

    /// Judges the object as the API server returned it. Pure: `observed_at` is when it was read.
    fn judge(&self, object: &serde_json::Value, observed_at: Timestamp) -> Reading;
}
