//! Who is signed in, in memory alone, and what each of them may read: asked of GitHub with their own token, and believed
//! for a few minutes. A restart ends all sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use axum::http::HeaderValue;
use futures_util::{StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};

use crate::clock;
use crate::hub::HubError;
use crate::hub::sign_in::Visitor;

/// The most sessions; the one that ends first gives way.
const MOST: usize = 1_000;
/// The most of one person: whoever begins more ends their own.
const EACH: usize = 8;
/// How long an answer holds. Whoever loses a right sees for so long what they could read before.
pub(super) const KEPT: SignedDuration = SignedDuration::from_mins(5);
/// How soon GitHub is asked again after it did not say.
const AGAIN: SignedDuration = SignedDuration::from_secs(15);
/// Questions for one person at once.
const AT_ONCE: usize = 8;
/// How long a page waits for all of them.
const PATIENCE: Duration = Duration::from_secs(10);

/// The sessions, by the digest of what their cookie holds: how long a comparison takes tells nothing of it.
#[derive(Default)]
pub(super) struct Sessions(Mutex<BTreeMap<Vec<u8>, Arc<Session>>>);

/// Somebody who is signed in.
pub(in crate::wake) struct Session {
    visitor: Visitor,
    said: tokio::sync::Mutex<BTreeMap<u64, Said>>,
}

/// What somebody may see of what there is.
pub(super) enum Seen {
    /// These; of some others GitHub did not say, so that they may not.
    Readable { may: BTreeSet<u64>, unsaid: bool },
    /// Nothing any more: GitHub does not take their token.
    Ended,
}

/// What GitHub said of one repository, and when.
struct Said {
    may: May,
    at: Timestamp,
}

/// Whether somebody may read it. What is unknown is no yes.
enum May {
    /// They may; with what GitHub calls that answer.
    Yes(Option<HeaderValue>),
    No,
    Unsaid,
}

impl Said {
    /// Whether it is still believed. A clock that was set back makes it no younger.
    fn holds(&self, now: Timestamp) -> bool {
        let kept = match self.may {
            May::Yes(_) | May::No => KEPT,
            May::Unsaid => AGAIN,
        };
        let age = now.duration_since(self.at);
        !age.is_negative() && age < kept
    }
}

impl Sessions {
    /// The session of a cookie, while it lasts.
    pub(super) fn find(&self, id: &str, now: Timestamp) -> Option<Arc<Session>> {
        self.open().get(&key(id)).filter(|session| now < session.visitor.until).cloned()
    }

    /// Begins one; gives how many seconds it lasts.
    pub(super) fn begin(&self, id: &str, visitor: Visitor, now: Timestamp) -> i64 {
        let lasts = visitor.until.duration_since(now).as_secs();
        let (person, said) = (visitor.id, tokio::sync::Mutex::default());
        let mut open = self.open();
        open.retain(|_, session| now < session.visitor.until);
        make_room(&mut open, EACH, |session| session.visitor.id == person);
        make_room(&mut open, MOST, |_| true);
        open.insert(key(id), Arc::new(Session { visitor, said }));
        lasts
    }

    /// Ends one.
    pub(super) fn end(&self, id: &str) {
        self.open().remove(&key(id));
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Arc<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes room for one more of so many, by those that end first.
fn make_room(open: &mut BTreeMap<Vec<u8>, Arc<Session>>, most: usize, counts: impl Fn(&Session) -> bool) {
    let mut those: Vec<(Timestamp, Vec<u8>)> = open
        .iter()
        .filter(|(_, session)| counts(session))
        .map(|(key, session)| (session.visitor.until, key.clone()))
        .collect();
    those.sort();
    let over = (those.len() + 1).saturating_sub(most);
    for (_, key) in those.into_iter().take(over) {
        open.remove(&key);
    }
}

impl Session {
    /// Whose it is.
    pub(in crate::wake) fn visitor(&self) -> &Visitor {
        &self.visitor
    }

    /// Which of these repositories, by their numbers, they may read now. All are asked about together, so that nobody
    /// learns by waiting whether one of them is there.
    pub(super) async fn readable(&self, all: &BTreeSet<u64>) -> Seen {
        let mut said = self.said.lock().await;
        said.retain(|id, _| all.contains(id));
        let begun = clock::now();
        let open: Vec<(u64, Option<HeaderValue>)> = all
            .iter()
            .filter(|id| said.get(id).is_none_or(|said| !said.holds(begun)))
            .map(|id| (*id, name(&said, *id)))
            .collect();
        let mut missing: BTreeSet<u64> = open.iter().map(|(id, _)| *id).collect();
        let asked =
            stream::iter(open).map(|(id, name)| async move { (id, self.visitor.may_read(id, name.as_ref()).await) });
        let mut answers = std::pin::pin!(asked.buffer_unordered(AT_ONCE));
        let ended = async {
            while let Some((id, answer)) = answers.next().await {
                let may = match answer {
                    Ok(Some(name)) => May::Yes(name),
                    Ok(None) => May::No,
                    Err(HubError::Unauthorized { .. }) => return true,
                    Err(error) => {
                        tracing::debug!(%error, "the hub did not say what somebody may read");
                        continue;
                    }
                };
                missing.remove(&id);
                said.insert(id, Said { may, at: clock::now() });
            }
            false
        };
        let ended = tokio::time::timeout(PATIENCE, ended).await;
        if ended == Ok(true) {
            return Seen::Ended;
        }
        for id in missing {
            said.insert(id, Said { may: May::Unsaid, at: clock::now() });
        }
        seen(&said)
    }
}

#[cfg(test)]
impl Session {
    /// Makes its answers older by so much.
    pub(super) async fn age(&self, by: SignedDuration) {
        self.said.lock().await.values_mut().for_each(|said| said.at -= by);
    }
}

fn name(said: &BTreeMap<u64, Said>, id: u64) -> Option<HeaderValue> {
    match &said.get(&id)?.may {
        May::Yes(name) => name.clone(),
        May::No | May::Unsaid => None,
    }
}

fn seen(said: &BTreeMap<u64, Said>) -> Seen {
    let may = said.iter().filter(|(_, said)| matches!(said.may, May::Yes(_))).map(|(id, _)| *id).collect();
    Seen::Readable { may, unsaid: said.values().any(|said| matches!(said.may, May::Unsaid)) }
}

fn key(id: &str) -> Vec<u8> {
    digest(&SHA256, id.as_bytes()).as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::hub::Bases;
    use crate::hub::sign_in::SignIn;
    use crate::secret::Secret;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).unwrap()
    }

    #[test]
    fn a46_what_github_said_is_believed_for_five_minutes_and_what_it_did_not_say_never() {
        let said = |may: May| Said { may, at: at(0) };
        for (may, holds) in [(May::Yes(None), 300), (May::No, 300), (May::Unsaid, 15)] {
            let said = said(may);
            let known = [-1, 0, holds - 1, holds, 100_000].map(|now| said.holds(at(now)));
            assert_eq!(known, [false, true, true, false, false]);
        }
        let all = BTreeMap::from([(1, said(May::Yes(None))), (2, said(May::No)), (3, said(May::Unsaid))]);
        let Seen::Readable { may, unsaid } = seen(&all) else { panic!("nothing ended") };
        assert_eq!((may, unsaid), (BTreeSet::from([1]), true));
    }

    #[tokio::test]
    async fn a46_sessions_are_bounded_and_end() {
        let sessions = Sessions::default();
        let (hub, home) =
            (Bases::from_hub("http://127.0.0.1:9").unwrap(), "https://coldframe.example".parse().unwrap());
        let hub = SignIn::new(hub, ("id".to_owned(), Secret::new("secret")), home).unwrap();
        let begin = |id: &str, person: u64, ends: i64| sessions.begin(id, hub.nobody(person, at(ends)), at(0));
        assert_eq!(begin("maria", 1, 600), 600);
        for number in 0..20 {
            begin(&format!("eve{number}"), 66, 700 + number);
        }
        let there = |id: &str, now: i64| sessions.find(id, at(now)).is_some();
        assert!(there("maria", 1) && !there("maria", 600) && !there("nobody", 1));
        assert!(there("eve19", 1) && there("eve12", 1) && !there("eve11", 1), "a flood of one ends their own");
        for number in 0..2 * MOST {
            begin(&format!("person{number}"), 1_000 + number as u64, 800);
        }
        assert_eq!(sessions.open().len(), MOST);
        sessions.end("person1999");
        assert!(!there("person1999", 1));
        begin("late", 7, 900);
        sessions.begin("later", hub.nobody(8, at(2_000)), at(1_000));
        assert_eq!(sessions.open().len(), 1, "what has ended is forgotten");
    }
}
