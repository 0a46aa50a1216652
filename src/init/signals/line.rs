//! One signal of a proposal, with what a person has to check, and how objects are named in it. Which signals there are
//! is in `signals`.

use crate::edit::find::Object;
use crate::init::flux::Applied;
use crate::init::ladder::{Clusters, Ladder};
use crate::init::sight::{Engine, Sight};
use crate::init::survey::Survey;
use crate::init::text::scalar;

/// What a repository says, for all that is asked of it.
pub(in crate::init) struct Said<'a> {
    pub survey: &'a Survey,
    pub ladder: &'a Ladder,
    pub applied: &'a Applied,
}

/// Said where the files do not say what an object is called.
pub(super) const UNKNOWN: &str = "the files do not say this";

/// One signal, with what is to be checked by a person.
pub(super) struct Line {
    pub text: String,
    pub connection: &'static str,
    pub checks: Vec<String>,
}

impl Line {
    pub fn of(kind: &str, about: &str) -> Self {
        Self { text: format!("{kind}: {about}"), connection: "", checks: Vec::new() }
    }

    pub fn application(namespace: &str, name: &str, source: Option<usize>, connection: &'static str) -> Self {
        let about = placed(namespace, name);
        let about = match source {
            Some(index) => format!("{}, source: {index}}}", about.trim_end_matches('}')),
            None => about,
        };
        Self { connection, ..Self::of("application", &about) }
    }

    pub fn helm_secret(namespace: &str, release: &str) -> Self {
        Self::of("helmSecret", &format!("{{namespace: {}, release: {}}}", scalar(namespace), scalar(release)))
    }

    pub fn but(mut self, check: String) -> Self {
        self.checks.push(check);
        self
    }

    pub fn but_if(self, check: Option<String>) -> Self {
        match check {
            Some(check) => self.but(check),
            None => self,
        }
    }
}

/// The namespace and the name of an object, with our placeholders.
pub(super) fn in_cluster(object: &Object, namespace: &str, sight: &Sight, ladder: &Ladder) -> (String, String) {
    (object.namespace.as_deref().unwrap_or(namespace).to_string(), ladder.general(&object.name, &sight.file))
}

pub(super) fn placed(namespace: &str, name: &str) -> String {
    format!("{{namespace: {}, name: {}}}", scalar(namespace), scalar(name))
}

/// Engines that run in a hub report there.
pub(super) fn hub(ladder: &Ladder) -> &'static str {
    match &ladder.clusters {
        Clusters::Hub(Engine::ArgoCd) => "\n        connection: argocd",
        Clusters::Hub(Engine::Greenhouse) => "\n        connection: greenhouse",
        Clusters::Hub(Engine::Flux) | Clusters::Known(_) | Clusters::New(_) => "",
    }
}
