//! Tells people outside of the pull requests what is new since they were last told, each thing once, by whichever
//! process is first (`mark`): a message may come twice after a crash, and none is lost. What is told is in
//! `tell/notify`.

mod door;
mod mail;
mod mark;
mod post;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};
use decide::plan::Plan;
use decide::snapshot::LedgerState;
use jiff::{SignedDuration, Timestamp};

use crate::act::line::Line;
use crate::branches::NOTIFIED;
use crate::observe::{Context, Seen};
use crate::policy::wiring::Notify;
use crate::tell::notify::{Known, News, blocked, digest};
use crate::tell::{self, Links};

use door::{Door, Way};
use mail::Mailer;
use mark::{Loaded, Mark, SENDING, Told};

/// What could not be told for so long is history.
const STALE: SignedDuration = SignedDuration::from_hours(24);
/// Who cannot be told is tried again after pauses that double, up to so many times the shortest.
const LONGEST: i32 = 60;

/// What this process knows of how far people were told. Losing it costs calls, never correctness.
#[derive(Default)]
pub struct Telling {
    told: Option<Told>,
    /// Who could not be told.
    down: BTreeMap<String, Down>,
}

/// Somebody who could not be told, so that nothing is claimed for them at every look.
struct Down {
    why: String,
    pause: SignedDuration,
    until: Timestamp,
}

/// Tells what is new. Nothing else waits for it, and what fails is tried again.
///
/// # Errors
/// Where somebody could not be told, or how far they were told could not be remembered.
pub async fn notify(line: &mut Line, seen: &Seen, plan: &Plan, clock: fn() -> Timestamp) -> anyhow::Result<()> {
    let whom = line.context.memory.policy.as_ref().map_or_else(Vec::new, |(_, loaded)| loaded.wiring.notify.clone());
    let believed = matches!(seen.snapshot.ledger_state, LedgerState::Intact { .. });
    if whom.is_empty() || !believed {
        return Ok(());
    }
    let (tip, ledger) =
        line.context.repo.with_ledger(|branch, _, _| Ok((branch.tip().cloned(), branch.ledger().clone()))).await?;
    let stuck = blocked(plan, &whom);
    let mark = Mark::at(tip.clone(), stuck.keys().cloned().collect());
    let loaded = match line.memory.telling.told.take() {
        Some(told) => Loaded::Told(Box::new(told)),
        None => {
            mark::load(&line.context, tip).await.with_context(|| format!("how far people were told ({NOTIFIED})"))?
        }
    };
    let mut told = match loaded {
        Loaded::Told(told) => *told,
        // What happened before somebody wanted to be told of it is not told.
        Loaded::Nothing(tip) => {
            let mut told = Told::nothing(tip);
            let done = told.advance(&line.context, mark, ledger, clock()).await?;
            line.memory.telling.told = done.then_some(told);
            return Ok(());
        }
        Loaded::Ahead => return Ok(()),
    };
    let zone = seen.links();
    let known = Known { ledger: &told.ledger, blocked: &told.mark.blocked };
    let zone = |plugin: &_, tier: &_| zone.zone(plugin, tier);
    let mut news = known.news(&ledger, stuck, &seen.snapshot.policy, &whom, zone);
    if news.is_empty() && mark.blocked == told.mark.blocked {
        told.ledger = ledger;
        line.memory.telling = Telling { told: Some(told), down: BTreeMap::new() };
        return Ok(());
    }
    // Another process tells them. What came of it is read with the next look.
    if told.is_taken(clock()) {
        return Ok(());
    }
    news.retain(|news| news.at.is_none_or(|at| clock().duration_since(at) < STALE));
    let mut down = std::mem::take(&mut line.memory.telling.down);
    let round = Round::new(&line.context, seen.links(), clock, (&mut told, &mut down));
    let mut done = round.deliver(&whom, &news).await;
    if matches!(done, Ok(true)) {
        done = told.advance(&line.context, mark, ledger, clock()).await;
    }
    // What was sent is not sent again and again because it could not be remembered; where somebody else moved the branch, it
    // says more than we know.
    let lost = matches!(done, Ok(false));
    line.memory.telling = Telling { told: (!lost).then_some(told), down };
    done.map(drop)
}

/// One round of sending.
struct Round<'a> {
    context: &'a Context,
    links: Links,
    clock: fn() -> Timestamp,
    told: &'a mut Told,
    down: &'a mut BTreeMap<String, Down>,
    mailer: Mailer,
    sent: bool,
    /// Who could not be told, and why.
    failed: BTreeMap<String, String>,
}

impl<'a> Round<'a> {
    fn new(
        context: &'a Context,
        links: Links,
        clock: fn() -> Timestamp,
        (told, down): (&'a mut Told, &'a mut BTreeMap<String, Down>),
    ) -> Self {
        let (mailer, failed) = (Mailer::default(), BTreeMap::new());
        Self { context, links, clock, told, down, mailer, sent: false, failed }
    }

    /// Sends to each what it was not sent yet; false where another process does. One that does not answer keeps nothing
    /// from the others.
    async fn deliver(mut self, whom: &[Notify], news: &[News]) -> anyhow::Result<bool> {
        for door in whom.iter().flat_map(Door::of) {
            let unsent = |news: &&News| !self.told.mark.sent.contains(&sent_key(&door, news));
            let new: Vec<&News> = news.iter().filter(|news| news.is_for(door.notify)).filter(unsent).collect();
            if !new.is_empty() && !self.tell(&door, &new).await? {
                return Ok(false);
            }
        }
        self.mailer.close().await;
        self.down.retain(|key, _| self.failed.contains_key(key));
        if self.failed.is_empty() {
            return Ok(true);
        }
        if self.sent && !self.told.keep(self.context, (self.clock)()).await? {
            return Ok(false);
        }
        let failed: BTreeSet<String> = self.failed.into_values().collect();
        let failed: Vec<String> = failed.into_iter().collect();
        bail!("people were not told what happened, and it is tried again: {}", failed.join("; "))
    }

    /// Tells one of them, or notes why not; false where another process does.
    async fn tell(&mut self, door: &Door<'_>, new: &[&News]) -> anyhow::Result<bool> {
        if let Some(down) = self.down.get(&door.key).filter(|down| (self.clock)() < down.until) {
            self.failed.insert(door.key.clone(), down.why.clone());
            return Ok(true);
        }
        // What the operator has to mend is known before anything is claimed.
        let way = match door.way(self.context) {
            Ok(way) => way,
            Err(why) => {
                self.failed.insert(door.key.clone(), why);
                return Ok(true);
            }
        };
        for part in new.chunks(door.at_once(new.len())) {
            let now = (self.clock)();
            if !self.told.is_ours(now) && !self.told.claim(self.context, now).await? {
                return Ok(false);
            }
            let became = tokio::time::timeout(SENDING, self.send(door, &way, part)).await;
            if let Err(why) = became.unwrap_or_else(|_| Err(format!("no answer within {} s", SENDING.as_secs()))) {
                let why = format!("{}: {why}", door.name);
                let down = Down::again(self.context, self.down.get(&door.key), &why, (self.clock)());
                self.down.insert(door.key.clone(), down);
                self.failed.insert(door.key.clone(), why);
                return Ok(true);
            }
            self.told.mark.sent.extend(part.iter().map(|news| sent_key(door, news)));
            self.sent = true;
        }
        self.down.remove(&door.key);
        Ok(true)
    }

    /// Sends one message.
    async fn send(&mut self, door: &Door<'_>, way: &Way, news: &[&News]) -> Result<(), String> {
        let (context, links, now) = (self.context, &self.links, (self.clock)());
        let since = self.told.mark.ledger.as_ref();
        match way {
            Way::Post { url, key } => {
                post::post(context, &door.notify.to, (url, key.as_ref()), (news, links, since), now).await
            }
            Way::Mail { server, to } => {
                for news in news {
                    let mail = tell::notify::mail(news, links, since);
                    self.mailer.send(&context.net, server, to, &mail, now).await?;
                }
                Ok(())
            }
            Way::Issue { number, mention } => {
                let from = now.saturating_sub(STALE).unwrap_or(now);
                door::comment(context, (*number, mention), (news, links, since), from).await
            }
        }
    }
}

/// By what a message to somebody is known until people know more of the ledger.
fn sent_key(door: &Door<'_>, news: &News) -> String {
    let at = news.at.map(|at| at.to_string()).unwrap_or_default();
    let mut key = digest(&format!("{}\n{}\n{:?}\n{at}", door.key, news.subject(), news.event));
    key.truncate(16);
    key
}

impl Down {
    /// After one more failure.
    fn again(context: &Context, before: Option<&Self>, why: &str, now: Timestamp) -> Self {
        let shortest = context.look_again;
        let pause = before.map_or(shortest, |before| (before.pause * 2).min(shortest * LONGEST));
        Self { why: why.to_string(), pause, until: now.saturating_add(pause).unwrap_or(now) }
    }
}
