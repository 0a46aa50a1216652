//! Which releases are signed by the keys of the policy, where it asks for that. What is signed, and how that is read, is in
//! `chart/cosign`.

use std::collections::{BTreeMap, BTreeSet};

use decide::{Digest, Version};
use jiff::{SignedDuration, Timestamp};

use super::chart::{Found, Source};
use super::released::Pace;

/// Releases of one plugin that are asked about at one look, the newest first.
const MOST: usize = 10;

/// What was found out about the releases of one plugin.
#[derive(Default)]
pub struct Signatures {
    /// The keys that were asked about; none = nothing is asked.
    keys: Option<String>,
    /// Versions that need none: they run already, or ran before.
    exempt: BTreeSet<Version>,
    answers: BTreeMap<Version, Answer>,
}

struct Answer {
    /// Of which artefact.
    digest: Option<Digest>,
    /// Why its signature does not count.
    why: Option<String>,
    asked: Timestamp,
    /// How long it holds; twice as long each time.
    holds: SignedDuration,
}

impl Signatures {
    /// Why a release has to wait; none where nothing is asked of it, or a good signature was found.
    pub fn why(&self, found: &Found) -> Option<String> {
        self.keys.as_ref()?;
        if self.exempt.contains(&found.version) {
            return None;
        }
        match self.answers.get(&found.version).filter(|answer| answer.digest == found.digest) {
            Some(answer) => answer.why.clone(),
            None => Some("its signature was not read yet".to_string()),
        }
    }

    fn is_due(&self, found: &Found, now: Timestamp) -> bool {
        let known = self.answers.get(&found.version).filter(|answer| answer.digest == found.digest);
        let again = |answer: &Answer| {
            answer.why.is_some() && answer.asked.saturating_add(answer.holds).is_ok_and(|at| at <= now)
        };
        !self.exempt.contains(&found.version) && known.is_none_or(again)
    }
}

/// Asks about the releases that may come and are not known to be signed.
pub async fn ask(
    mut known: Signatures,
    source: &dyn Source,
    keys: Option<&str>,
    found: &BTreeMap<Version, Found>,
    exempt: BTreeSet<Version>,
    pace: Pace,
    now: Timestamp,
) -> Signatures {
    if known.keys.as_deref() != keys {
        known = Signatures { keys: keys.map(str::to_string), ..Signatures::default() };
    }
    known.exempt = exempt;
    let Some(keys) = keys else { return known };
    known.answers.retain(|version, _| found.contains_key(version));
    let due: Vec<&Found> = found.values().rev().filter(|found| known.is_due(found, now)).take(MOST).collect();
    for one in due {
        let why = match source.signed(one, keys).await {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some(why),
            Err(error) => Some(format!("its signature could not be read: {error}")),
        };
        let before = known.answers.get(&one.version).map(|answer| answer.holds * 2);
        let holds = before.unwrap_or(pace.first).clamp(pace.first, pace.last.max(pace.first));
        let answer = Answer { digest: one.digest.clone(), why, asked: now, holds };
        known.answers.insert(one.version.clone(), answer);
    }
    known
}
