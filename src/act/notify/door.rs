//! The places where messages go, and what the operator gives for the way there; and comments on an issue.

use std::collections::BTreeSet;

use decide::{PullNumber, Sha};
use jiff::Timestamp;
use url::Url;

use super::mail::Server;
use crate::observe::Context;
use crate::policy::wiring::{Notify, Recipient, Reviewer};
use crate::secret::Secret;
use crate::tell::Links;
use crate::tell::notify::{News, issue, issue_ids};

/// One place: a chat, a program, an issue, or one address of a mail, so that an address that is refused keeps nothing from
/// the others.
pub(super) struct Door<'a> {
    pub notify: &'a Notify,
    address: Option<&'a str>,
    /// What people call it.
    pub name: String,
    /// What it is known by: two notifications that go to one place tell each thing once.
    pub key: String,
}

/// How a message gets there.
pub(super) enum Way {
    Post { url: Url, key: Option<Secret> },
    Mail { server: Server, to: String },
    Issue { number: u32, mention: Vec<Reviewer> },
}

impl<'a> Door<'a> {
    /// Those of a notification.
    pub fn of(notify: &'a Notify) -> Vec<Self> {
        let door = |address, name: String, key| Self { notify, address, name, key };
        match &notify.to {
            Recipient::Slack { .. } | Recipient::Teams { .. } | Recipient::Webhook { .. } => {
                vec![door(None, notify.to.name(), notify.to.name())]
            }
            Recipient::Email { smtp, to } => {
                to.iter().map(|to| door(Some(to), format!("{smtp}, to {to}"), format!("{smtp} {to}"))).collect()
            }
            Recipient::Issue { mention, .. } => {
                let key = mention.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
                vec![door(None, notify.to.name(), format!("{} {key}", notify.to.name()))]
            }
        }
    }

    /// How many of so many things one message tells: a chat gets one of all, a program and a mailbox one of each.
    pub fn at_once(&self, many: usize) -> usize {
        match &self.notify.to {
            Recipient::Slack { .. } | Recipient::Teams { .. } | Recipient::Issue { .. } => many.max(1),
            Recipient::Webhook { .. } | Recipient::Email { .. } => 1,
        }
    }

    /// What the operator gives for it.
    ///
    /// # Errors
    /// Says what the operator has to do.
    pub fn way(&self, context: &Context) -> Result<Way, String> {
        let secret = |name: &str| context.secrets.get(context.repo.repository.id, name);
        let url = |name: &str| {
            // The address is the secret, so that no error repeats it.
            let address = secret(name)?;
            Url::parse(address.reveal()).map_err(|error| format!("the secret {name} is no address: {error}"))
        };
        match &self.notify.to {
            Recipient::Slack { url: name } | Recipient::Teams { url: name } => {
                Ok(Way::Post { url: url(name)?, key: None })
            }
            Recipient::Webhook { url: name, key } => Ok(Way::Post { url: url(name)?, key: Some(secret(key)?) }),
            Recipient::Email { smtp, .. } => {
                let to = self.address.unwrap_or_default().to_string();
                let server = Server::read(&secret(smtp)?).map_err(|why| format!("the secret {smtp} {why}"))?;
                server.admits(&to).map_err(|why| format!("{}: {why}", self.name))?;
                Ok(Way::Mail { server, to })
            }
            Recipient::Issue { number, mention } => Ok(Way::Issue { number: *number, mention: mention.clone() }),
        }
    }
}

/// Writes a comment, a new one each time: the hub tells nobody of an edited one. What stands in one of ours since `from` is not
/// written again.
pub(super) async fn comment(
    context: &Context,
    (number, mention): (u32, &[Reviewer]),
    (news, links, since): (&[&News], &Links, Option<&Sha>),
    from: Timestamp,
) -> Result<(), String> {
    // Issues and pull requests are numbered together.
    let (number, hub) = (PullNumber(u64::from(number)), &context.repo.hub);
    let there = hub.own_comments(number, from).await.map_err(|error| error.to_string())?;
    let there: BTreeSet<String> = there.iter().flat_map(|comment| issue_ids(&comment.body)).collect();
    let new: Vec<(String, &News)> = news.iter().map(|news| (news.id(links, since), *news)).collect();
    let new: Vec<(String, &News)> = new.into_iter().filter(|(id, _)| !there.contains(id)).collect();
    if new.is_empty() {
        return Ok(());
    }
    hub.comment(number, &issue(&new, mention, links)).await.map(drop).map_err(|error| error.to_string())
}
