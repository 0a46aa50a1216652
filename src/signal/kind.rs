//! What a kind of signal is: the keys that it takes in the policy file, what it proves, and how it is made.
//! The keys' forms are read in `parse/settings`; which kinds there are is listed in `mod.rs`.

use super::answer::Signal;
use super::checks::Checks;
use super::http::Page;
use super::prometheus::Metrics;
use super::settings::{Settings, SignalError};
use parse::read::Shape;
use parse::settings::{Refused, Values};

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
