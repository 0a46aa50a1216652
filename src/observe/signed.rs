//! Which releases are signed by whom the policy names, where it asks for that. What is signed, and how that is read, is in
//! `chart/cosign`.

use std::collections::BTreeMap;

use decide::snapshot::Read;
use decide::{Digest, Version};
use jiff::{SignedDuration, Timestamp};

use super::chart::{Found, Signers, Source};
use super::released::Pace;
use crate::policy::wiring::Signed;

/// Releases of one plugin that are asked about at one look, the newest first.
const MOST: usize = 10;

/// What was found out about the releases of one plugin.
#[derive(Default)]
pub struct Signatures {
    /// Who was asked about; none = nothing is asked.
    signed: Option<Signed>,
    answers: BTreeMap<Version, Answer>,
}

struct Answer {
    /// Of which artefact.
    digest: Option<Digest>,
    /// Why its signature does not count; none = it is good.
    unsigned: Read<Option<String>>,
    asked: Timestamp,
    /// How long a bad one holds; twice as long each time.
    holds: SignedDuration,
    /// Until when a good one counts; none = without end.
    until: Option<Timestamp>,
}

impl Signatures {
    /// Why the signature of a release does not count; none = it does.
    pub fn of(&self, found: &Found) -> Read<Option<String>> {
        let unread = || Read::Unread("it was not read yet".to_string());
        self.known(found).map_or_else(unread, |answer| answer.unsigned.clone())
    }

    /// What was found out about this very artefact.
    fn known(&self, found: &Found) -> Option<&Answer> {
        self.answers.get(&found.version).filter(|answer| answer.digest == found.digest)
    }

    fn is_due(&self, found: &Found, now: Timestamp) -> bool {
        let again = |answer: &Answer| match answer.unsigned {
            Read::Known(None) => answer.until.is_some_and(|until| until <= now),
            Read::Known(Some(_)) | Read::Unread(_) => {
                answer.asked.saturating_add(answer.holds).is_ok_and(|at| at <= now)
            }
        };
        self.known(found).is_none_or(again)
    }
}

/// Asks about the releases that may come and are not known to be signed.
pub async fn ask(
    mut known: Signatures,
    source: &dyn Source,
    signers: Option<&Signers>,
    found: &BTreeMap<Version, Found>,
    pace: Pace,
    now: Timestamp,
) -> Signatures {
    let signed = signers.map(|signers| &signers.signed);
    if known.signed.as_ref() != signed {
        known = Signatures { signed: signed.cloned(), ..Signatures::default() };
    }
    let Some(signers) = signers else { return known };
    known.answers.retain(|version, _| found.contains_key(version));
    let due: Vec<&Found> = found.values().rev().filter(|found| known.is_due(found, now)).take(MOST).collect();
    for one in due {
        let (unsigned, until) = match source.signed(one, signers).await {
            Ok(Ok(until)) => (Read::Known(None), until),
            Ok(Err(why)) => (Read::Known(Some(why)), None),
            Err(error) => (Read::Unread(error.to_string()), None),
        };
        let before = known.answers.get(&one.version).map(|answer| answer.holds * 2);
        let holds = before.unwrap_or(pace.first).clamp(pace.first, pace.last.max(pace.first));
        let answer = Answer { digest: one.digest.clone(), unsigned, asked: now, holds, until };
        known.answers.insert(one.version.clone(), answer);
    }
    known
}
