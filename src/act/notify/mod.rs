//! Tells people outside of the hub what is new since they were last told, and remembers how far that came on
//! a branch of its own: a message may come twice after a crash, and none is lost. What is told is in
//! `tell/notify`.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use decide::plan::Plan;
use decide::snapshot::LedgerState;
use decide::{Ledger, Sha};
use http::{HeaderMap, HeaderValue, header};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::act::line::Line;
use crate::git::{Draft, Pushed};
use crate::ledger;
use crate::observe::Seen;
use crate::policy::wiring::{Event, Notify, Recipient};
use crate::secret::Secret;
use crate::tell::Links;
use crate::tell::notify::{Blocked, CONTENT_TYPE, Known, News, blocked, slack, teams, webhook};

use crate::branches::NOTIFIED;
const FILE: &str = "notified.yaml";
const ABOUT: &str = "# Up to which commit of the ledger Coldframe told people what happened, and of what they know that it does\n# not go on. Without this branch they are told what happens from then on.\n";
const MOST_BYTES: usize = 1 << 20;
/// What could not be told for so long is history.
const STALE: SignedDuration = SignedDuration::from_hours(24);
/// An answer is a word.
const MOST_ANSWERED: usize = 64 << 10;

/// How far people were told.
pub struct Told {
    /// The commit of our branch that says so.
    tip: Option<Sha>,
    mark: Mark,
    /// The ledger at the mark.
    ledger: Ledger,
    /// Messages that went out since the mark: secret, subject, event, time.
    sent: BTreeSet<(String, String, Event, Option<Timestamp>)>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    /// The commit of the ledger branch; none = it was empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ledger: Option<Sha>,
    /// What people know that it does not go on.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    blocked: BTreeSet<Blocked>,
}

/// Tells what is new. Nothing else waits for it, and what fails is tried again with the next look.
///
/// # Errors
/// Where somebody could not be told, or how far they were told could not be remembered.
pub async fn notify(line: &mut Line, seen: &Seen, plan: &Plan, now: Timestamp) -> anyhow::Result<()> {
    let whom = line.context.memory.policy.as_ref().map_or_else(Vec::new, |(_, loaded)| loaded.wiring.notify.clone());
    let believed = matches!(seen.snapshot.ledger_state, LedgerState::Intact { .. });
    if whom.is_empty() || !believed {
        return Ok(());
    }
    let (tip, ledger) =
        line.context.repo.with_ledger(|branch, _, _| Ok((branch.tip().cloned(), branch.ledger().clone()))).await?;
    let stuck = blocked(plan, &whom);
    let mark = Mark { ledger: tip, blocked: stuck.keys().cloned().collect() };
    let mut told = match line.memory.told.take() {
        Some(told) => told,
        None => match load(line).await.with_context(|| format!("how far people were told ({NOTIFIED})"))? {
            Ok(told) => told,
            // What happened before somebody wanted to be told of it is not told.
            Err(tip) => return remember(line, tip, mark, ledger, now).await,
        },
    };
    let zone = seen.links();
    let known = Known { ledger: &told.ledger, blocked: &told.mark.blocked };
    let zone = |plugin: &_, tier: &_| zone.zone(plugin, tier);
    let mut news = known.news(&ledger, stuck, &seen.snapshot.policy, &whom, zone);
    if news.is_empty() && mark.blocked == told.mark.blocked {
        line.memory.told = Some(Told { ledger, ..told });
        return Ok(());
    }
    news.retain(|news| news.at.is_none_or(|at| now.duration_since(at) < STALE));
    let mut done = deliver(line, (seen, now), &whom, &news, &mut told).await;
    if done.is_ok() {
        done = remember(line, told.tip.clone(), mark, ledger, now).await;
    }
    if done.is_err() {
        // What was sent is not sent again and again because it could not be remembered.
        line.memory.told = Some(told);
    }
    done
}

/// Sends to each what it was not sent yet. One that does not answer keeps nothing from the others.
async fn deliver(
    line: &Line,
    (seen, now): (&Seen, Timestamp),
    whom: &[Notify],
    news: &[News],
    told: &mut Told,
) -> anyhow::Result<()> {
    let links = seen.links();
    let mut failed = Vec::new();
    for notify in whom {
        let key = |news: &News| (notify.to.url().to_string(), news.subject(), news.event, news.at);
        let new: Vec<&News> =
            news.iter().filter(|news| news.is_for(notify) && !told.sent.contains(&key(news))).collect();
        // A chat gets one message of all, a program an event of each.
        let parts = match &notify.to {
            Recipient::Slack { .. } | Recipient::Teams { .. } => new.chunks(new.len().max(1)),
            Recipient::Webhook { .. } => new.chunks(1),
        };
        for part in parts {
            let message = Message::of(&notify.to, part, &links, told.mark.ledger.as_ref());
            match send(line, &notify.to, &message, now).await {
                Ok(()) => told.sent.extend(part.iter().map(|news| key(news))),
                Err(why) => {
                    failed.push(why);
                    break;
                }
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("people were not told what happened, and it is tried again: {}", failed.join("; "))
}

/// What is sent, and its id where it has one.
struct Message {
    text: String,
    kind: &'static str,
    id: Option<String>,
}

impl Message {
    /// All of them for a chat, the first for a program.
    fn of(to: &Recipient, news: &[&News], links: &Links, since: Option<&Sha>) -> Self {
        let chat = |text: String| Self { text, kind: "application/json", id: None };
        match (to, news) {
            (Recipient::Slack { .. }, _) => chat(slack(news, links)),
            (Recipient::Teams { .. }, _) => chat(teams(news, links)),
            (Recipient::Webhook { .. }, [first, ..]) => {
                let (text, id) = webhook(first, links, since);
                Self { text, kind: CONTENT_TYPE, id: Some(id) }
            }
            (Recipient::Webhook { .. }, []) => chat(String::new()),
        }
    }

    /// What is said around it: of which kind it is, and who sends it.
    fn headers(&self, key: Option<&Secret>, now: Timestamp) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        if let (Some(id), Some(key)) = (&self.id, key) {
            let time = now.as_second().to_string();
            let signature = signature(key, id, &time, &self.text);
            for (name, text) in [("webhook-id", id), ("webhook-timestamp", &time), ("webhook-signature", &signature)] {
                let value = HeaderValue::from_str(text).map_err(|error| format!("{name}: {error}"))?;
                headers.insert(name, value);
            }
        }
        Ok(headers)
    }
}

/// As Standard Webhooks has it (standardwebhooks.com, "Signature scheme"): HMAC-SHA256 over id, time and body; a key may be
/// written as `whsec_` and base64.
fn signature(key: &Secret, id: &str, time: &str, text: &str) -> String {
    let plain = key.reveal();
    let decoded = plain.strip_prefix("whsec_").and_then(|base64| STANDARD.decode(base64).ok());
    let key = hmac::Key::new(hmac::HMAC_SHA256, decoded.as_deref().unwrap_or(plain.as_bytes()));
    let tag = hmac::sign(&key, format!("{id}.{time}.{text}").as_bytes());
    format!("v1,{}", STANDARD.encode(tag))
}

async fn send(line: &Line, to: &Recipient, message: &Message, now: Timestamp) -> Result<(), String> {
    let (secret, repository) = (to.url(), line.context.repo.repository.id);
    let address = line.context.secrets.get(repository, secret)?;
    let key = match to {
        Recipient::Slack { .. } | Recipient::Teams { .. } => None,
        Recipient::Webhook { key, .. } => Some(line.context.secrets.get(repository, key)?),
    };
    let headers = message.headers(key.as_ref(), now)?;
    // The address is the secret, so that no error repeats it.
    let url = Url::parse(address.reveal()).map_err(|error| format!("the secret {secret} is no address: {error}"))?;
    let posted = line.context.net.post(&url, headers, message.text.clone(), MOST_ANSWERED).await;
    let answer = posted.map_err(|error| format!("{secret}: {error}"))?;
    if answer.status.is_success() {
        return Ok(());
    }
    Err(format!("{secret}: {} answered {}", url.host_str().unwrap_or_default(), answer.status))
}

/// How far people were told, by the branch; its commit alone where there is none, or what it names is no
/// more.
async fn load(line: &Line) -> anyhow::Result<Result<Told, Option<Sha>>> {
    let read = line
        .context
        .repo
        .git(|store, access| {
            let Some(tip) = store.fetch(access, NOTIFIED, Some(1))? else { return Ok(None) };
            let bytes = store.read_up_to(&tip, FILE, MOST_BYTES)?.unwrap_or_default();
            Ok(Some((tip, bytes)))
        })
        .await?;
    let Some((tip, bytes)) = read else { return Ok(Err(None)) };
    let mark: Mark = serde_yaml::from_slice(&bytes).with_context(|| format!("`{FILE}`; delete the branch"))?;
    let commit = mark.ledger.clone();
    let ledger =
        line.context.repo.git(move |store, _| Ok(commit.map(|commit| ledger::at(store, &commit)).transpose())).await?;
    let ledger = match ledger {
        Ok(ledger) => ledger.unwrap_or_default(),
        Err(error) => {
            tracing::warn!(%error, "how far people were told names a ledger that is no more; they are told what happens from now on");
            return Ok(Err(Some(tip)));
        }
    };
    Ok(Ok(Told { tip: Some(tip), mark, ledger, sent: BTreeSet::new() }))
}

/// Pushes how far people were told.
async fn remember(line: &mut Line, tip: Option<Sha>, mark: Mark, ledger: Ledger, now: Timestamp) -> anyhow::Result<()> {
    let text = format!("{ABOUT}{}", serde_yaml::to_string(&mark)?);
    let draft = Draft {
        parents: tip.iter().cloned().collect(),
        tree_of: None,
        files: vec![(FILE.to_string(), Some(text.into_bytes()))],
        message: "How far people were told\n".to_string(),
        author: line.context.repo.author(),
        at: now,
    };
    let (commit, pushed) = line
        .context
        .repo
        .git(move |store, access| {
            let commit = store.commit(&draft)?;
            let pushed = store.push(access, NOTIFIED, &commit, tip.as_ref())?;
            Ok((commit, pushed))
        })
        .await
        .with_context(|| format!("how far people were told is not on {NOTIFIED}"))?;
    match pushed {
        Pushed::Done => {
            line.memory.told = Some(Told { tip: Some(commit), mark, ledger, sent: BTreeSet::new() });
            Ok(())
        }
        // Another process told them; what it remembers is read with the next look.
        Pushed::Moved { .. } => Ok(()),
        Pushed::Refused { why } => bail!("the hub refuses the push of {NOTIFIED}: {why}; let the bot push that branch"),
    }
}
