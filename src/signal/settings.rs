//! The settings of one signal for one cluster, the keys that kinds share, and why a signal cannot be asked. What a
//! kind is stands in `kind.rs`.

use decide::{ClusterName, TierName};
use jiff::SignedDuration;
use jsonpath::{BadPath, Path};
use parse::read::{Form, Key};
use parse::settings::{Given, Values};

use super::names::Names;
use super::target::{Api, Target};

/// Why a signal cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignalError {
    /// A path is wrong.
    #[error("`{key}` of the signal: {why}")]
    Path {
        /// The key in the policy file.
        key: &'static str,
        /// What is wrong with it.
        why: BadPath,
    },
    /// Something that goes into the API's path is no name there.
    #[error(
        "`{text}` is no {what} in Kubernetes; use lower-case letters, digits, `-` and `.`, and `{{cluster}}`, \
         `{{tier}}` or, where clusters are called `organization/cluster`, `{{organization}}` for their names"
    )]
    Name {
        /// What it stands for.
        what: &'static str,
        /// The text, placeholders filled in.
        text: String,
    },
    /// A key is missing.
    #[error("the signal has no `{key}`")]
    Missing {
        /// The key in the policy file.
        key: &'static str,
    },
    /// What stands under a key cannot be used for this cluster.
    #[error("`{key}` of the signal: {why}")]
    Unusable {
        /// The key in the policy file.
        key: &'static str,
        /// Why not.
        why: String,
    },
}

/// A required key of a kind.
pub(super) const fn required(name: &'static str, form: Form, about: &'static [&'static str]) -> Key {
    Key { name, required: true, about, form }
}

/// A key that may be left out.
pub(super) const fn optional(name: &'static str, form: Form, about: &'static [&'static str]) -> Key {
    Key { name, required: false, about, form }
}

/// The namespace of an object.
pub(super) const NAMESPACE: Key = required("namespace", Form::ObjectName, &["Its namespace."]);
/// The name of an object.
pub(super) const NAME: Key = required("name", Form::ObjectName, &["Its name."]);
/// Where the version stands, for kinds that look for a chart's label otherwise.
pub(super) const VERSION: Key = optional(
    "version",
    Form::JsonPath,
    &["Where the version stands that this object proves to run. Default the label `helm.sh/chart`."],
);

/// The settings of one signal, for one cluster: placeholders are filled in.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    values: &'a Values,
    cluster: &'a ClusterName,
    tier: &'a TierName,
}

impl<'a> Settings<'a> {
    /// What the policy file says, for a cluster of a tier.
    pub fn new(values: &'a Values, cluster: &'a ClusterName, tier: &'a TierName) -> Self {
        Self { values, cluster, tier }
    }

    /// A text as it stands in the file.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        match self.values.get(key)? {
            Given::Text(text) => Some(text),
            Given::Number(_) | Given::Flag(_) | Given::List(_) | Given::Map(_) => None,
        }
    }

    /// A number.
    pub fn number(&self, key: &str) -> Option<u32> {
        match self.values.get(key)? {
            Given::Number(number) => Some(*number),
            Given::Text(_) | Given::Flag(_) | Given::List(_) | Given::Map(_) => None,
        }
    }

    /// A list of words; empty where none is given.
    pub fn list(&self, key: &str) -> &'a [String] {
        match self.values.get(key) {
            Some(Given::List(list)) => list,
            Some(Given::Text(_) | Given::Number(_) | Given::Flag(_) | Given::Map(_)) | None => &[],
        }
    }

    /// The settings of a mapping within.
    pub fn within(&self, key: &str) -> Option<Settings<'a>> {
        match self.values.get(key)? {
            Given::Map(values) => Some(Settings { values, ..*self }),
            Given::Text(_) | Given::Number(_) | Given::Flag(_) | Given::List(_) => None,
        }
    }

    /// A path; none where none is given.
    ///
    /// # Errors
    /// Where it is none.
    pub fn path(&self, key: &'static str) -> Result<Option<Path>, SignalError> {
        let path = |text| Path::parse_lenient(text).map_err(|why| SignalError::Path { key, why });
        self.text(key).map(path).transpose()
    }

    /// A name in the cluster, with `{cluster}`, `{organization}` and `{tier}` filled in; none where none is
    /// given.
    ///
    /// # Errors
    /// Where what comes of it is no name.
    pub fn name(&self, key: &'static str) -> Result<Option<String>, SignalError> {
        self.text(key).map(|text| self.fill(key, text)).transpose()
    }

    /// The same for a key that the policy's reader requires.
    ///
    /// # Errors
    /// Where it is missing or no name.
    pub fn required(&self, key: &'static str) -> Result<String, SignalError> {
        self.name(key)?.ok_or(SignalError::Missing { key })
    }

    /// The cluster's own name, without its organization.
    pub fn cluster(&self) -> &'a str {
        let name = self.cluster.as_str();
        name.split_once('/').map_or(name, |(_, name)| name)
    }

    /// The names that placeholders stand for.
    pub(super) fn names(&self) -> Names {
        let organization = self.cluster.as_str().split_once('/').map(|(organization, _)| organization.to_string());
        Names { cluster: self.cluster().to_string(), organization, tier: self.tier.to_string() }
    }

    /// A duration.
    pub(super) fn length(&self, key: &str) -> Option<SignedDuration> {
        parse::when::length(self.text(key)?).ok()
    }

    /// A namespaced object by the keys `namespace` and `name`; `api` is its group, version, kind and plural.
    ///
    /// # Errors
    /// Where a name is none.
    pub(super) fn object(&self, api: Api) -> Result<Target, SignalError> {
        Ok(api.named(Some(self.required("namespace")?), self.required("name")?))
    }

    fn fill(&self, key: &'static str, text: &str) -> Result<String, SignalError> {
        let organization = self.cluster.as_str().split_once('/').map(|(organization, _)| organization);
        let mut filled = text.replace("{cluster}", self.cluster()).replace("{tier}", self.tier.as_str());
        if let Some(organization) = organization {
            filled = filled.replace("{organization}", organization);
        }
        name(key, filled)
    }
}

/// Lets only through what Kubernetes takes as a name, so that nothing else reaches the API's path.
pub(super) fn name(what: &'static str, text: String) -> Result<String, SignalError> {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'-' | b'.');
    let edge = |c: Option<&u8>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let bytes = text.as_bytes();
    let valid = text.len() <= 253 && bytes.iter().all(|c| inner(*c)) && edge(bytes.first()) && edge(bytes.last());
    if valid && !text.contains("..") { Ok(text) } else { Err(SignalError::Name { what, text }) }
}
