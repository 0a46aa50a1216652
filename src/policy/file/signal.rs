//! The keys of signals: the questions to a cluster.

use crate::policy::forms::List;
use crate::policy::read::record;
use crate::policy::scalar::{ApiVersion, JsonPath, Kind, ObjectName, Plural, Words};

record! {
    /// A question to a cluster: one of the kinds below.
    SignalFile = "signal" {
        /// Flux: a HelmRelease of `helm.toolkit.fluxcd.io/v2`.
        optional helm_release "helmRelease": ObjectFile,
        /// Argo CD: an Application of `argoproj.io/v1alpha1`.
        optional application "application": ObjectFile,
        /// Any object, by JSONPath.
        optional resource "resource": ResourceFile,
    }
    later ["prometheus"]
}

record! {
    /// An object in a cluster. `{cluster}` and `{tier}` in it stand for their names.
    ObjectFile = "object" {
        /// Its namespace.
        required namespace "namespace": ObjectName,
        /// Its name.
        required name "name": ObjectName,
    }
    later []
}

record! {
    /// Any object, and where its proof stands.
    ResourceFile = "resource" {
        /// Its API version, such as `apps/v1`.
        required api_version "apiVersion": ApiVersion,
        /// Its kind.
        required kind "kind": Kind,
        /// The plural of its kind. Default the kind in lower case with an `s`.
        optional plural "plural": Plural,
        /// Its namespace. Default none, for a kind that belongs to the whole cluster.
        optional namespace "namespace": ObjectName,
        /// Its name.
        required name "name": ObjectName,
        /// Where the version stands that this object proves to run.
        required version "version": JsonPath,
        /// Where the generation stands that the status speaks of; it is compared with `$.metadata.generation`. Default none: the status is taken as fresh.
        optional generation "generation": JsonPath,
        /// Where the state stands, and which values mean what.
        required state "state": StateFile,
        /// Where the time of the last change of state stands. Default none: the state counts from when it was first read.
        optional since "since": JsonPath,
    }
    later []
}

record! {
    /// Where a state stands, and what its values mean. A value in no list is progressing.
    StateFile = "state" {
        /// The place.
        required path "path": JsonPath,
        /// Values that mean healthy.
        required healthy "healthy": List<Words>,
        /// Values that mean degraded. Default none.
        optional degraded "degraded": List<Words>,
        /// Values that mean suspended. Default none.
        optional suspended "suspended": List<Words>,
    }
    later []
}
