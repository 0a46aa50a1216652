//! What all objects of Flux have in common: suspension, conditions that carry a generation, and reasons that
//! pass by themselves (fluxcd/pkg, `apis/meta`).

use decide::snapshot::Health;

use super::object::{Condition, Object, Verdict, behind};

/// What a kind adds.
pub(super) struct Own<'a> {
    /// Reasons for `Ready=False` that pass by themselves.
    pub waiting: &'a [&'a str],
    /// Reasons for `Ready=False` that another try does not mend.
    pub lasting: &'a [&'a str],
    /// What a failure is about, as it follows upon a condition's words.
    pub tried: String,
    /// Whether more attempts failed than anybody asked to retry.
    pub gives_up: bool,
}

/// The condition `Ready` where it is true of the present spec; else the verdict.
pub(super) fn ready<'a>(object: Object<'a>, own: &Own<'_>) -> Result<Condition<'a>, Verdict> {
    let Some(generation) = object.generation() else {
        return Err(Verdict::unknown("metadata.generation is missing"));
    };
    if object.is_deleted() {
        return Err(Verdict::progressing("it is being deleted"));
    }
    if object.flag("/spec/suspend") {
        return Err(Verdict::new(Health::Suspended, "spec.suspend=true"));
    }
    let observed = object.number("/status/observedGeneration");
    // A condition that does not say of which generation it speaks is as old as the status.
    let fresh = |condition: &Condition<'_>| condition.generation().or(observed) == Some(generation);
    let held = |kind| object.condition(kind).filter(|condition| condition.is_true());
    if let Some(stalled) = held("Stalled").filter(fresh) {
        let ready = object.condition("Ready").filter(|ready| ready.is_false()).unwrap_or(stalled);
        let evidence = format!("{}{}; given up ({})", ready.words(), own.tried, stalled.reason());
        return Err(Verdict::new(Health::Degraded, evidence).since(stalled.since()));
    }
    let Some(ready) = object.condition("Ready") else {
        return Err(Verdict::progressing("no condition Ready yet"));
    };
    let reconciling = held("Reconciling");
    if ready.is_false() && fresh(&ready) {
        let retried = reconciling.is_some() && !own.gives_up && !own.lasting.contains(&ready.reason());
        let passes = retried || own.waiting.contains(&ready.reason());
        let health = if passes { Health::Progressing } else { Health::Degraded };
        return Err(Verdict::new(health, format!("{}{}", ready.words(), own.tried)).since(ready.since()));
    }
    if observed != Some(generation) {
        return Err(Verdict::progressing(behind("status.observedGeneration", observed, generation)));
    }
    if let Some(reconciling) = reconciling {
        return Err(Verdict::progressing(reconciling.words()).since(reconciling.since()));
    }
    if !ready.is_true() {
        return Err(Verdict::progressing(ready.words()).since(ready.since()));
    }
    if ready.generation() != Some(generation) {
        return Err(Verdict::progressing(behind("Ready.observedGeneration", ready.generation(), generation)));
    }
    Ok(ready)
}

/// What follows a revision's `@`: `sha1:…` of a commit, `sha256:…` of an artifact.
pub(super) fn hash(revision: &str) -> Option<&str> {
    let hash = revision.rsplit_once('@').map_or(revision, |(_, hash)| hash);
    hash.contains(':').then_some(hash)
}

/// What stands before a revision's `@`: a branch, a tag, a version.
pub(super) fn reference(revision: &str) -> Option<&str> {
    revision.rsplit_once('@').map(|(reference, _)| reference).filter(|reference| !reference.is_empty())
}
