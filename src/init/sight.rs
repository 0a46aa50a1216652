//! What one document shows: the place of a version, a release, an Application. What all files say together is in
//! `survey`.

use decide::Version;
use serde_json::Value;

use crate::edit::find::{Found, Object, Origin};

/// A place with what stands there.
#[derive(Clone, Debug, PartialEq)]
pub struct Sight {
    /// The file.
    pub file: String,
    /// The place.
    pub found: Found,
    /// The version there, or why it is none.
    pub holds: Result<String, String>,
    /// What is installed by it, where no object has a name: a chart of charts, a release of a helmfile.
    pub thing: Option<String>,
    /// The release of Helm that is made of it, where no controller has an object for it.
    pub helm: Option<Installed>,
    /// The variable of Flux that stands in place of a version.
    pub variable: Option<String>,
    /// The file that gives it its meaning, where that is another one.
    pub of: Option<String>,
}

/// A release of Helm, as far as the file of its version says it.
#[derive(Clone, Debug, PartialEq)]
pub struct Installed {
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// A HelmRelease.
#[derive(Clone, Debug)]
pub(super) struct Release {
    pub file: String,
    pub object: Object,
    /// The OCIRepository that its chart comes from.
    pub chart_ref: Option<String>,
    /// Its chart, and the HelmRepository that this comes from.
    pub chart: Option<(String, String)>,
}

impl Release {
    /// Whether it is no patch of another.
    pub fn is_whole(&self) -> bool {
        self.chart.is_some() || self.chart_ref.is_some()
    }
}

/// An OCIRepository: where it is, and whether a range or a digest there wins over every tag.
#[derive(Clone, Debug)]
pub(super) struct Oci {
    pub url: String,
    pub outweighed: bool,
}

/// An Application or an ApplicationSet.
#[derive(Clone, Debug)]
pub(super) struct Argo {
    pub file: String,
    pub object: Object,
    pub tree: Value,
}

/// A file that a generator of an ApplicationSet reads for each tier.
#[derive(Clone, Debug)]
pub(super) struct FromFiles {
    pub object: Option<Object>,
    pub chart: String,
    pub origin: Option<Origin>,
    /// A glob.
    pub files: String,
    pub keys: Vec<String>,
}

/// Who rolls charts out here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Engine {
    Flux,
    ArgoCd,
    Greenhouse,
}

/// A text that is a version.
pub(super) fn version(text: &str) -> Result<String, String> {
    text.parse::<Version>().map(|_| text.to_string()).map_err(|error| error.to_string())
}

/// A part of a document.
pub(super) fn at<'a>(tree: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(tree, |tree, key| tree.get(key))
}
