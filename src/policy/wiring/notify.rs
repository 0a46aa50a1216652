//! Who is told of what happens beside the pull request. What is told, and how it travels, is not here.

use decide::{PluginName, TierName};
use serde::{Deserialize, Serialize};

use super::Reviewer;

/// Who is told of which events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notify {
    /// Where it goes.
    pub to: Recipient,
    /// Which events, without repetition.
    pub on: Vec<Event>,
    /// Only these tiers; none = all.
    pub tiers: Vec<TierName>,
    /// Only these plugins; none = all.
    pub plugins: Vec<PluginName>,
}

/// Where a notification goes; addresses and keys are secrets of the operator's, by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipient {
    /// An incoming webhook of Slack.
    Slack {
        /// Its address.
        url: String,
    },
    /// A workflow of Microsoft Teams.
    Teams {
        /// Its address.
        url: String,
    },
    /// A program that takes CloudEvents.
    Webhook {
        /// Its address.
        url: String,
        /// The key that events are signed with.
        key: String,
    },
    /// People who get mail.
    Email {
        /// The mail server: its address, with the login and the sender.
        smtp: String,
        /// Their addresses.
        to: Vec<String>,
    },
    /// An issue of this repository, or a pull request.
    Issue {
        /// Its number.
        number: u32,
        /// Who is mentioned in each comment.
        mention: Vec<Reviewer>,
    },
}

impl Recipient {
    /// What people call it: the name of the secret that is its address, addresses of mail, `#7`.
    pub fn name(&self) -> String {
        match self {
            Self::Slack { url } | Self::Teams { url } | Self::Webhook { url, .. } => url.clone(),
            Self::Email { to, .. } => to.join(", "),
            Self::Issue { number, .. } => format!("#{number}"),
        }
    }

    /// The names of all of its secrets.
    pub fn secrets(&self) -> Vec<&str> {
        match self {
            Self::Slack { url } | Self::Teams { url } => vec![url],
            Self::Webhook { url, key } => vec![url, key],
            Self::Email { smtp, .. } => vec![smtp],
            Self::Issue { .. } => Vec::new(),
        }
    }
}

/// What a notification may be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// A release soaks on the tier below.
    Upcoming,
    /// The end of a grace period was announced.
    Notice,
    /// A release does not go on, and time alone does not change that.
    Blocked,
    /// A release was merged without the missing approvals.
    Forced,
    /// A release failed on a tier, or stalls there.
    Failed,
    /// The version before a failed one is back.
    RolledBack,
    /// A release finished a tier.
    Finished,
}

impl Event {
    /// The events of a notification that names none: those that may need a person.
    pub const DEFAULT: [Self; 5] = [Self::Notice, Self::Blocked, Self::Forced, Self::Failed, Self::RolledBack];
}
