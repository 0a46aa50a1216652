//! What a kind of signal is: the keys that it takes in the policy file, what it proves, and how it is made.
//! The keys' forms are read in `parse/settings`; which kinds there are is listed in `mod.rs`.

use std::borrow::Cow;

use decide::{ClusterName, TierName};
use jiff::SignedDuration;

use super::endpoint::Names;
use super::{Checks, Metrics, Page, Signal, SignalError, Target, Which, name, target};
use jsonpath::Path;
use parse::read::{Form, Key, Shape};
use parse::settings::{Given, Refused, Values};

/// One kind of signal.
#[derive(Debug)]
pub struct Kind {
    /// Its key in the policy file.
    pub name: &'static str,
    /// What it is, and its settings.
    pub shape: Shape,
    /// What a healthy reading proves.
    pub proves: Proves,
    /// Whether the time of a healthy reading is never from before its version was there: that of a condition which
    /// stays true through an upgrade may be.
    pub dates: bool,
    /// What must not stand in the file together.
    pub refuse: fn(&Values) -> Result<(), Refused>,
    /// Who is asked, and the question for one cluster.
    pub make: Make,
}

/// Who is asked, and how the question for one cluster is made.
#[derive(Clone, Copy, Debug)]
pub enum Make {
    /// A cluster, for an object.
    Object(fn(&Settings<'_>) -> Result<Box<dyn Signal>, SignalError>),
    /// A Prometheus.
    Metrics(fn(&Settings<'_>) -> Result<Metrics, SignalError>),
    /// A page of JSON over HTTP.
    Page(fn(&Settings<'_>) -> Result<Page, SignalError>),
    /// The hub, for what was said of commits.
    Checks(fn(&Settings<'_>) -> Result<Checks, SignalError>),
}

/// What a healthy reading of a kind proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proves {
    /// That the cluster runs the version.
    Version,
    /// Less; in words that follow upon "it proves".
    Less(&'static str),
    /// The version where this key is given, else less.
    Where(&'static str, &'static str),
}

impl Kind {
    /// What it proves less than the version, told so.
    pub fn lacks(&self, values: &Values) -> Option<&'static str> {
        match self.proves {
            Proves::Version => None,
            Proves::Less(what) => Some(what),
            Proves::Where(key, what) => (!values.contains_key(key)).then_some(what),
        }
    }

    /// Whether its answer counts only from when on the other signals proved the version.
    pub fn rests_on_others(&self, values: &Values) -> bool {
        matches!(self.make, Make::Metrics(_)) && self.lacks(values).is_some()
    }

    /// Whether it asks a cluster, through a connection of the operator.
    pub fn asks_clusters(&self) -> bool {
        match self.make {
            Make::Object(_) => true,
            Make::Metrics(_) | Make::Page(_) | Make::Checks(_) => false,
        }
    }
}

/// A kind that refuses nothing beside what its keys refuse.
pub(super) fn anything(_: &Values) -> Result<(), Refused> {
    Ok(())
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

/// An API of Kubernetes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Api {
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
}

impl Api {
    /// One object of it, by its name.
    pub fn named(self, namespace: Option<String>, name: String) -> Target {
        target(self.parts(), namespace, Which::Named(name))
    }

    /// Those with these labels.
    pub fn labelled(self, namespace: Option<String>, selector: String, metadata: bool) -> Target {
        target(self.parts(), namespace, Which::Labelled { selector, metadata })
    }

    fn parts(self) -> [Cow<'static, str>; 4] {
        [self.group, self.version, self.kind, self.plural].map(Cow::Borrowed)
    }
}
