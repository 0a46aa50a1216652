//! What was said and when: a fleet says the same in the same words, which are kept once.

use std::cmp::Ordering;
use std::sync::Arc;

use decide::Version;
use decide::snapshot::Reading;
use jiff::Timestamp;

use super::once::Once;
use crate::signal::Answer;

/// An answer: its words, which others may share, and its own times.
#[derive(Clone, Debug)]
pub struct SharedAnswer {
    words: Arc<Words>,
    /// Up to when it is known to be so.
    pub observed_at: Timestamp,
    since: Option<Timestamp>,
}

impl SharedAnswer {
    /// An answer that shares its words with nobody.
    pub fn alone(answer: Answer) -> Self {
        let (observed_at, since) = (answer.reading.observed_at, answer.reading.since);
        Self { words: Arc::new(Words(answer)), observed_at, since }
    }

    /// An answer with words that others share.
    pub(super) fn shared(answer: Answer, once: &Once<Words>) -> Self {
        let Self { words, observed_at, since } = Self::alone(answer);
        Self { words: once.share(words), observed_at, since }
    }

    /// The same, known to be so up to this instant.
    pub fn known_until(&self, observed_at: Timestamp) -> Self {
        Self { observed_at, ..self.clone() }
    }

    /// The commit of the config repo that it proves.
    pub fn revision(&self) -> Option<&decide::Sha> {
        self.words.0.revision.as_ref()
    }

    /// The whole answer.
    pub fn answer(&self) -> Answer {
        let reading = Reading { observed_at: self.observed_at, since: self.since, ..self.words.0.reading.clone() };
        Answer { reading, revision: self.words.0.revision.clone() }
    }

    /// Whether it says something else than another one; how it is proved does not matter.
    pub fn differs(&self, other: &Self) -> bool {
        let facts = |said: &Self| {
            let Answer { reading, revision } = &said.words.0;
            let Reading { health, running, attempted, digest, .. } = reading.clone();
            (health, running, attempted, digest, said.since, revision.clone())
        };
        self.since != other.since || (!Arc::ptr_eq(&self.words, &other.words) && facts(self) != facts(other))
    }
}

/// The words of an answer, ordered by themselves: times are apart.
#[derive(Debug)]
pub(super) struct Words(Answer);

impl Words {
    /// Versions by their text, since two that are equal in order may be spelled differently.
    fn parts(&self) -> impl Ord + '_ {
        let Answer { reading, revision } = &self.0;
        let (running, attempted) = (reading.running.as_ref(), reading.attempted.as_ref());
        let (running, attempted) = (running.map(Version::as_str), attempted.map(Version::as_str));
        (&reading.signal, &reading.evidence, reading.health, running, attempted, &reading.digest, revision)
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Words {}

impl PartialOrd for Words {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Words {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use decide::snapshot::Health;

    fn answer(version: &str, at: &str, since: Option<&str>) -> Answer {
        let reading = Reading {
            signal: "HelmRelease apps/loki".to_string(),
            health: Health::Healthy,
            running: Some(version.parse().unwrap()),
            attempted: None,
            digest: None,
            observed_at: at.parse().unwrap(),
            since: since.map(|since| since.parse().unwrap()),
            evidence: "Ready".to_string(),
        };
        Answer { reading, revision: None }
    }

    #[test]
    fn words_are_kept_once_and_each_has_its_own_times() {
        let once = Once::default();
        let said = |version, at, since| SharedAnswer::shared(answer(version, at, since), &once);
        let (early, late) = ("2026-11-20T08:00:00Z", "2026-11-20T09:00:00Z");
        let one = said("1.1.0", early, Some(early));
        let two = said("1.1.0", late, None);
        assert!(Arc::ptr_eq(&one.words, &two.words));
        assert_eq!(two.answer(), answer("1.1.0", late, None));
        assert!(one.differs(&two), "it began at another time");
        assert!(!one.differs(&said("1.1.0", late, Some(early))), "when it was read does not matter");
        assert_eq!(said("v1.1.0", early, Some(early)).answer().reading.running.unwrap().as_str(), "v1.1.0");
    }
}
