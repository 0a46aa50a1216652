//! What was said and when: a fleet says the same in the same words, which are kept once.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use decide::Version;
use decide::snapshot::Reading;
use jiff::Timestamp;

use crate::observe::signal::Answer;

/// An answer: its words, which others may share, and its own times.
#[derive(Clone, Debug)]
pub struct Said {
    words: Arc<Answer>,
    /// Up to when it is known to be so.
    pub observed_at: Timestamp,
    since: Option<Timestamp>,
}

impl Said {
    /// An answer that shares its words with nobody.
    pub fn alone(answer: Answer) -> Self {
        let (observed_at, since) = (answer.reading.observed_at, answer.reading.since);
        Self { words: Arc::new(answer), observed_at, since }
    }

    /// The same, known to be so up to this instant.
    pub fn known_until(&self, observed_at: Timestamp) -> Self {
        Self { observed_at, ..self.clone() }
    }

    /// The commit of the config repo that it proves.
    pub fn revision(&self) -> Option<&decide::Sha> {
        self.words.revision.as_ref()
    }

    /// The whole answer.
    pub fn answer(&self) -> Answer {
        let reading = Reading { observed_at: self.observed_at, since: self.since, ..self.words.reading.clone() };
        Answer { reading, revision: self.words.revision.clone() }
    }

    /// Whether it says something else than another one; how it is proved does not matter.
    pub fn differs(&self, other: &Self) -> bool {
        let facts = |said: &Self| {
            let Answer { reading, revision } = said.words.as_ref();
            let Reading { health, running, attempted, digest, .. } = reading.clone();
            (health, running, attempted, digest, said.since, revision.clone())
        };
        self.since != other.since || (!Arc::ptr_eq(&self.words, &other.words) && facts(self) != facts(other))
    }
}

/// Words that several answers share.
#[derive(Debug, Default)]
pub(super) struct Words(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    all: BTreeSet<Shared>,
    /// With more than these, those that nobody says any more are looked for.
    most: usize,
}

/// So few are not worth a search.
const FEW: usize = 1_000;

impl Words {
    /// The answer with words that others share.
    pub fn share(&self, answer: Answer) -> Said {
        let mut said = Said::alone(answer);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = Shared(Arc::clone(&said.words));
        if let Some(known) = kept.all.get(&own) {
            said.words = Arc::clone(&known.0);
        } else {
            kept.all.insert(own);
            if kept.all.len() > kept.most.max(FEW) {
                kept.all.retain(|words| Arc::strong_count(&words.0) > 1);
                kept.most = kept.all.len() * 2;
            }
        }
        said
    }
}

/// Ordered by its words, times apart.
#[derive(Debug)]
struct Shared(Arc<Answer>);

impl Shared {
    /// Versions by their text, since two that are equal in order may be spelled differently.
    fn words(&self) -> impl Ord + '_ {
        let Answer { reading, revision } = self.0.as_ref();
        let (running, attempted) = (reading.running.as_ref(), reading.attempted.as_ref());
        let (running, attempted) = (running.map(Version::as_str), attempted.map(Version::as_str));
        (&reading.signal, &reading.evidence, reading.health, running, attempted, &reading.digest, revision)
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Shared {}

impl PartialOrd for Shared {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Shared {
    fn cmp(&self, other: &Self) -> Ordering {
        self.words().cmp(&other.words())
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
        let words = Words::default();
        let (early, late) = ("2026-11-20T08:00:00Z", "2026-11-20T09:00:00Z");
        let one = words.share(answer("1.1.0", early, Some(early)));
        let two = words.share(answer("1.1.0", late, None));
        assert!(Arc::ptr_eq(&one.words, &two.words));
        assert_eq!(two.answer(), answer("1.1.0", late, None));
        assert!(one.differs(&two), "it began at another time");
        assert!(!one.differs(&words.share(answer("1.1.0", late, Some(early)))), "when it was read does not matter");
        let spelled = words.share(answer("v1.1.0", early, Some(early)));
        assert_eq!(spelled.answer().reading.running.unwrap().as_str(), "v1.1.0");
    }

    #[test]
    fn what_nobody_says_any_more_is_let_go() {
        let words = Words::default();
        let kept = words.share(answer("1.0.0", "2026-11-20T08:00:00Z", None));
        for patch in 1..3 * FEW {
            words.share(answer(&format!("1.0.{patch}"), "2026-11-20T08:00:00Z", None));
        }
        assert!(words.0.lock().unwrap().all.len() <= FEW + 1);
        let again = words.share(answer("1.0.0", "2026-11-20T08:00:00Z", None));
        assert!(Arc::ptr_eq(&kept.words, &again.words));
    }
}
