//! What is asked of an object, and what a signal says of a cluster. Which kinds there are is listed in `mod.rs`.

use decide::Sha;
use decide::snapshot::{Health, Reading};
use jiff::Timestamp;
use serde_json::Value;

use super::object::{Verdict, one_line};
use super::target::{Target, title};

/// The question of one signal to one cluster.
pub trait Signal: Send + Sync {
    /// The object to ask for first.
    fn target(&self) -> Target;

    /// Further objects, which the first one names.
    fn more(&self, _object: &Value) -> Vec<Target> {
        Vec::new()
    }

    /// Where those can be, for who gives the right to read them: objects by their names, or collections.
    fn around(&self) -> Vec<Target> {
        Vec::new()
    }

    /// Judges the object as the API server returned it; `more` are the further ones in their order, none where
    /// there is no such. Pure.
    fn judge(&self, object: &Value, more: &[Option<Value>]) -> Verdict;
}

/// What a signal says of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// As the planner takes it.
    pub reading: Reading,
    /// The commit of the config repo that runs there, for kinds that prove no version but a commit: which
    /// version it is stands in the repository.
    pub revision: Option<Sha>,
}

impl Answer {
    /// Nothing could be judged, and why.
    pub fn absent(target: &Target, health: Health, evidence: &str, observed_at: Timestamp) -> Self {
        let mut answer = Self::unasked(&title(target), evidence, observed_at);
        answer.reading.health = health;
        answer
    }

    /// Nobody was asked, and why; `signal` says what would have been.
    pub fn unasked(signal: &str, why: &str, observed_at: Timestamp) -> Self {
        let reading = Reading {
            signal: signal.to_string(),
            health: Health::Unknown,
            running: None,
            attempted: None,
            digest: None,
            observed_at,
            since: None,
            evidence: one_line(why),
        };
        Self { reading, revision: None }
    }

    /// The cluster says that there is no such object.
    pub fn not_there(target: &Target, observed_at: Timestamp) -> Self {
        Self::absent(target, Health::NotFound, &format!("{} is not there", title(target)), observed_at)
    }
}

/// Judges and dates: `observed_at` is when the first object was asked for. What runs must be proven for a yes.
pub fn answer(signal: &dyn Signal, object: &Value, more: &[Option<Value>], observed_at: Timestamp) -> Answer {
    let mut verdict = signal.judge(object, more);
    if verdict.health == Health::Healthy && verdict.running.is_none() && verdict.revision.is_none() {
        verdict.health = Health::Unknown;
        verdict.evidence = format!("{}; nothing proves which version that is", verdict.evidence);
    }
    let revision = verdict.revision.take();
    Answer { reading: verdict.read(&title(&signal.target()), observed_at), revision }
}
