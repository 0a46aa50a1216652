//! Which version an object proves: where the policy file says, or by the label that charts give to their
//! objects.

use decide::Version;
use serde_json::Value;

use super::object::Object;
use super::settings::{Settings, SignalError};
use jsonpath::Path;

/// A label holds at most so much; a longer version was cut.
const LABEL: usize = 63;
/// The label that `helm create` gives to every object of a chart: `<chart>-<version>`.
const CHART: &str = "helm.sh/chart";

/// Where the version stands.
pub(super) enum Place {
    At(Path),
    Label,
}

impl Place {
    /// As the policy file says under `version`, else the chart's label.
    pub fn new(settings: &Settings<'_>) -> Result<Self, SignalError> {
        Ok(settings.path("version")?.map_or(Self::Label, Self::At))
    }

    /// What stands there; an error where there are several places.
    pub fn version(&self, object: &Value) -> Result<Option<Version>, String> {
        let text = match self {
            Self::At(path) => one(path, object)?.and_then(Value::as_str),
            Self::Label => Object(object).mark("labels", CHART),
        };
        Ok(text.and_then(version_in))
    }

    /// Its name, for people.
    pub fn words(&self) -> &str {
        match self {
            Self::At(path) => path.as_str(),
            Self::Label => "the label helm.sh/chart",
        }
    }
}

/// The one node at a path, if any.
pub(super) fn one<'a>(path: &Path, object: &'a Value) -> Result<Option<&'a Value>, String> {
    let found = path.find(object).map_err(|error| error.to_string())?;
    match found.as_slice() {
        [] => Ok(None),
        [Value::Null] => Ok(None),
        [node] => Ok(Some(node)),
        several => Err(format!("{} names {} places; narrow it down to one", path.as_str(), several.len())),
    }
}

/// A version as it stands alone, as an image's tag, or behind a chart's name in a label
/// (`loki-1.2.0_build`: a label knows no `+`).
pub(super) fn version_in(text: &str) -> Option<Version> {
    if text.len() > 512 {
        return None;
    }
    if let Ok(version) = text.parse() {
        return Some(version);
    }
    let image = text.split('@').next().unwrap_or(text);
    if let Some((_, tag)) = image.rsplit('/').next().and_then(|last| last.split_once(':')) {
        return tag.replacen('_', "+", 1).parse().ok();
    }
    if text.contains('/') || text.len() >= LABEL {
        return None;
    }
    let label = text.replacen('_', "+", 1);
    label.match_indices('-').find_map(|(at, _)| label.get(at + 1..)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_stand_alone_in_labels_and_in_images() {
        for (text, expected) in [
            ("1.2.0", Some("1.2.0")),
            ("v1.2.0", Some("v1.2.0")),
            ("loki-distributed-1.2.0-rc.1", Some("1.2.0-rc.1")),
            ("loki-1.2.0_abc", Some("1.2.0+abc")),
            ("quay.io:443/jetstack/controller:v1.2.0", Some("v1.2.0")),
            ("repo/x:1.2.0@sha256:00", Some("1.2.0")),
            ("quay.io:443/jetstack/controller", None),
            ("repo/x-1.2.0", None),
            ("latest", None),
            ("1.2", None),
            ("", None),
        ] {
            assert_eq!(version_in(text).map(|version| version.to_string()).as_deref(), expected, "{text}");
        }
    }
}
