//! How far people were told, and which process tells them now: a file on a branch of its own, which moves by
//! compare-and-set. What they are told is not here.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, bail};
use decide::{Ledger, Sha};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::branches::{LEDGER, NOTIFIED};
use crate::git::{Access, Draft, GitError, Pushed, Store};
use crate::ledger::{self, LedgerError};
use crate::observe::Context;
use crate::tell::notify::Blocked;

const FILE: &str = "notified.yaml";
const ABOUT: &str = "# Up to which commit of the ledger Coldframe told people what happened, and of what they know that it does\n# not go on; what it has sent since then, and which process is sending. Without this branch they are told what\n# happens from then on.\n";
const MOST_BYTES: usize = 1 << 20;

/// So long other processes leave to one what it has claimed.
const LEASE: SignedDuration = SignedDuration::from_secs(120);
/// The clocks of two processes differ by so much at most.
const SKEW: SignedDuration = SignedDuration::from_secs(30);
/// The longest that sending one message may take.
pub(super) const SENDING: Duration = Duration::from_secs(30);

/// What the branch says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mark {
    /// The commit of the ledger branch; none = it was empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Sha>,
    /// What people know that it does not go on.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub blocked: BTreeSet<Blocked>,
    /// What was sent of what is new since then, where somebody else could not be told all of it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub sent: BTreeSet<String>,
    /// Who sends what is new since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<Claim>,
}

/// One process has what is new to itself. It pushes that before it sends anything, so that of several one sends it; where
/// it dies, another one takes over when its time is up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    /// Random, so that no two processes make the same commit.
    by: String,
    /// When, by the clock of that process.
    at: Timestamp,
}

impl Claim {
    fn made(now: Timestamp) -> anyhow::Result<Self> {
        let mut bytes = [0; 8];
        aws_lc_rs::rand::fill(&mut bytes).context("this machine gives no random bytes")?;
        Ok(Self { by: bytes.iter().map(|byte| format!("{byte:02x}")).collect(), at: now })
    }

    /// Whether other processes leave it to that one. A claim from further in the future than clocks differ is none: it would
    /// keep people from being told for as long as it likes.
    fn holds(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.at);
        -SKEW <= age && age < LEASE
    }

    /// Whether that process may begin to send a message: it ends before anybody takes over.
    fn lasts(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.at);
        let sending = SignedDuration::try_from(SENDING).unwrap_or(LEASE);
        -SKEW <= age && age <= LEASE - SKEW - sending
    }
}

impl Mark {
    /// That of a ledger, of which people know everything.
    pub fn at(ledger: Option<Sha>, blocked: BTreeSet<Blocked>) -> Self {
        Self { ledger, blocked, ..Self::default() }
    }
}

/// How far people were told, as this process knows it.
pub struct Told {
    /// The commit of our branch that says so.
    tip: Option<Sha>,
    /// Whether the claim on it is that of this process.
    ours: bool,
    pub(super) mark: Mark,
    /// The ledger at the mark, or a later one in which nothing is new.
    pub(super) ledger: Ledger,
}

/// What the branch came to.
pub(super) enum Loaded {
    Told(Box<Told>),
    /// There is none, or what it names is no more: people are told what happens from now on.
    Nothing(Option<Sha>),
    /// Another process was told of a ledger that this look has not seen.
    Ahead,
}

impl Told {
    /// Nothing was told yet.
    pub(super) fn nothing(tip: Option<Sha>) -> Self {
        Self { tip, ours: false, mark: Mark::default(), ledger: Ledger::default() }
    }

    /// Whether another process sends what is new.
    pub(super) fn is_taken(&self, now: Timestamp) -> bool {
        !self.ours && self.mark.claim.as_ref().is_some_and(|claim| claim.holds(now))
    }

    /// Whether this process may send one more message.
    pub(super) fn is_ours(&self, now: Timestamp) -> bool {
        self.ours && self.mark.claim.as_ref().is_some_and(|claim| claim.lasts(now))
    }

    /// Claims what is new for this process; whether nobody was faster.
    pub(super) async fn claim(&mut self, context: &Context, now: Timestamp) -> anyhow::Result<bool> {
        let mark = Mark { claim: Some(Claim::made(now)?), ..self.mark.clone() };
        self.put(context, mark, now).await
    }

    /// Remembers what was sent; the claim stays as it is.
    pub(super) async fn keep(&mut self, context: &Context, now: Timestamp) -> anyhow::Result<bool> {
        self.put(context, self.mark.clone(), now).await
    }

    /// People know all of this ledger; whether nobody moved the branch meanwhile.
    pub(super) async fn advance(
        &mut self,
        context: &Context,
        mark: Mark,
        ledger: Ledger,
        now: Timestamp,
    ) -> anyhow::Result<bool> {
        let done = self.put(context, mark, now).await?;
        if done {
            self.ledger = ledger;
        }
        Ok(done)
    }

    async fn put(&mut self, context: &Context, mark: Mark, now: Timestamp) -> anyhow::Result<bool> {
        let Some(commit) = push(context, self.tip.clone(), &mark, now).await? else { return Ok(false) };
        *self = Self { tip: Some(commit), ours: mark.claim.is_some(), mark, ledger: std::mem::take(&mut self.ledger) };
        Ok(true)
    }
}

/// Reads the branch. `ours` is the commit of the ledger that this look has seen.
pub(super) async fn load(context: &Context, ours: Option<Sha>) -> anyhow::Result<Loaded> {
    let read = context.repo.git(move |store, access| read(store, access, ours.as_ref())).await?;
    let Some((tip, bytes, place)) = read else { return Ok(Loaded::Nothing(None)) };
    let mark: Mark = serde_yaml::from_slice(&bytes).with_context(|| format!("`{FILE}`; delete the branch"))?;
    let ledger = match place {
        Place::Known(ledger) => *ledger,
        Place::Ahead => return Ok(Loaded::Ahead),
        Place::Gone(why) => {
            tracing::warn!(%why, "how far people were told names a ledger that is no more; they are told what happens from now on");
            return Ok(Loaded::Nothing(Some(tip)));
        }
    };
    Ok(Loaded::Told(Box::new(Told { tip: Some(tip), ours: false, mark, ledger })))
}

/// Where the ledger is that a mark names.
enum Place {
    Known(Box<Ledger>),
    Ahead,
    Gone(String),
}

type Read = (Sha, Vec<u8>, Place);

fn read(store: &Store, access: &Access, ours: Option<&Sha>) -> Result<Option<Read>, GitError> {
    let Some(tip) = store.fetch(access, NOTIFIED, Some(1))? else { return Ok(None) };
    let bytes = store.read_up_to(&tip, FILE, MOST_BYTES)?.unwrap_or_default();
    // What cannot be read is told by who parses it.
    let named = serde_yaml::from_slice::<Mark>(&bytes).ok().and_then(|mark| mark.ledger);
    let Some(named) = named else { return Ok(Some((tip, bytes, Place::Known(Box::default())))) };
    let place = if ours.is_some_and(|ours| store.contains(ours, &named).unwrap_or(false)) {
        match ledger::at(store, &named) {
            Ok(ledger) => Place::Known(Box::new(ledger)),
            Err(LedgerError::Git(error)) => return Err(error),
            Err(error) => Place::Gone(error.to_string()),
        }
    } else {
        match store.fetch(access, LEDGER, None)? {
            Some(there) if store.contains(&there, &named)? => Place::Ahead,
            Some(_) | None => Place::Gone(format!("{} is no commit of {LEDGER}", named.short())),
        }
    };
    Ok(Some((tip, bytes, place)))
}

/// Pushes a mark onto `tip`; none where the branch is elsewhere by now.
async fn push(context: &Context, tip: Option<Sha>, mark: &Mark, now: Timestamp) -> anyhow::Result<Option<Sha>> {
    let text = format!("{ABOUT}{}", serde_yaml::to_string(mark)?);
    let message = if mark.claim.is_some() { "Who tells people now\n" } else { "How far people were told\n" };
    let draft = Draft {
        parents: tip.iter().cloned().collect(),
        tree_of: None,
        files: vec![(FILE.to_string(), Some(text.into_bytes()))],
        message: message.to_string(),
        author: context.repo.author(),
        at: now,
    };
    let (commit, pushed) = context
        .repo
        .git(move |store, access| {
            let commit = store.commit(&draft)?;
            let pushed = store.push(access, NOTIFIED, &commit, tip.as_ref())?;
            Ok((commit, pushed))
        })
        .await
        .with_context(|| format!("how far people were told is not on {NOTIFIED}"))?;
    match pushed {
        Pushed::Done => Ok(Some(commit)),
        // Another process tells them; what it remembers is read with the next look.
        Pushed::Moved { .. } => Ok(None),
        Pushed::Refused { why } => bail!("the hub refuses the push of {NOTIFIED}: {why}; let the bot push that branch"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::git::testing::{Server, store};

    #[test]
    fn a_claim_holds_for_its_lease_and_no_message_outlasts_it() {
        let at: Timestamp = "2026-11-29T12:00:00Z".parse().unwrap();
        let claim = Claim::made(at).unwrap();
        let after = |seconds: i64| at + SignedDuration::from_secs(seconds);
        for (seconds, holds, lasts) in [
            (0, true, true),
            (60, true, true),
            (61, true, false),
            (119, true, false),
            (120, false, false),
            // The other clock is behind.
            (-30, true, true),
            (-31, false, false),
            (-86_400, false, false),
        ] {
            assert_eq!((claim.holds(after(seconds)), claim.lasts(after(seconds))), (holds, lasts), "{seconds}");
        }
        assert_ne!(claim.by, Claim::made(at).unwrap().by);
        // Who began to send last has ended before a clock that is ahead sees the end of the lease.
        let sending = SignedDuration::try_from(SENDING).unwrap();
        let last = (0..200).map(after).filter(|now| claim.lasts(*now)).max().unwrap();
        let first = (0..200).map(after).find(|now| !claim.holds(*now)).unwrap();
        assert!(last + sending <= first - SKEW);
    }

    #[test]
    fn f38_a_mark_of_a_later_ledger_is_left_to_the_next_look() {
        let server = Server::start();
        let (_folder, store) = store();
        let commit = |branch: &str, file: &str, text: &str| Sha::new(server.commit(branch, &[(file, text)]));
        let early = commit(LEDGER, "ledger.yaml", "format: 1\n");
        store.fetch(&server.access(), LEDGER, None).unwrap();
        let place = |named: &Sha, ours: &Sha| {
            commit(NOTIFIED, FILE, &format!("ledger: {named}\n"));
            read(&store, &server.access(), Some(ours)).unwrap().unwrap().2
        };
        let late = commit(LEDGER, "ledger.yaml", "format: 1\n# More.\n");
        assert!(matches!(place(&late, &early), Place::Ahead), "another process has seen more");
        assert!(matches!(place(&early, &late), Place::Known(_)));
        assert!(matches!(place(&late, &late), Place::Known(_)));
        // With a text of its own: two commits of the same text in the same second are one.
        let foreign = commit("feature", "ledger.yaml", "format: 1\n# Not a ledger.\n");
        for named in [&foreign, &Sha::new("1".repeat(40))] {
            assert!(matches!(place(named, &late), Place::Gone(_)), "{named} is of no ledger");
        }
    }

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let mark = Mark::at(Some(Sha::new("a".repeat(40))), BTreeSet::new());
        let text = serde_yaml::to_string(&mark).unwrap();
        assert_eq!(text, format!("ledger: {}\n", "a".repeat(40)), "nothing is said of what there is not");
        let claim = Claim::made("2026-11-29T12:00:00Z".parse().unwrap()).unwrap();
        let whole = Mark { sent: ["0011".to_string()].into(), claim: Some(claim), ..mark };
        let text = serde_yaml::to_string(&whole).unwrap();
        assert_eq!(serde_yaml::from_str::<Mark>(&text).unwrap(), whole, "{text}");
    }
}
