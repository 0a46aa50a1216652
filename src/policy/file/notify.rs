//! The keys of notifications.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::pulls::ReviewerName;
use crate::file::PolicyFile;
use crate::file::Word;
use crate::wiring::Event;
use parse::forms::{List, Words as WordList};
use parse::problem::quoted;
use parse::read::{FromNode, record};
use parse::report::Report;
use parse::scalar::{Count, Name, Refusal, SecretName, scalar};
use parse::tree::Node;

record! {
    /// Who is told of what happens, beside the pull request. A message may come twice after a crash and is never the only trace: everything stands on the pull requests and in the ledger too.
    NotifyFile = "notification" {
        /// An incoming webhook of Slack, or of a chat that takes the same, such as Mattermost. Default none; one of the five has to stand here.
        optional slack "slack": SlackFile,
        /// A workflow of Microsoft Teams that posts what it is sent. Default none.
        optional teams "teams": TeamsFile,
        /// A program, which is sent signed events. Default none.
        optional webhook "webhook": WebhookFile,
        /// People who get a mail for each event. Default none.
        optional email "email": EmailFile,
        /// An issue of this repository, which gets a new comment each time: GitHub tells nobody of an edited one. Default none.
        optional issue "issue": IssueFile,
        /// Which events. Default `notice`, `blocked`, `forced`, `failed` and `rolledBack`: those that may need a person; who wants to follow along adds `upcoming` and `finished`.
        optional on "on": List<Word<Event>>,
        /// Only these tiers or plugins. Default all.
        optional select "select": NotifySelectFile,
    }
    unsupported []
}

record! {
    /// An incoming webhook of Slack.
    SlackFile = "slack" {
        /// Its address. Who knows it can write into the channel, so that it is a secret of the operator's and never stands in this file.
        required url "url": SecretFile,
    }
    unsupported []
}

record! {
    /// A workflow of Microsoft Teams.
    TeamsFile = "teams" {
        /// Its address, as the template "Post to a channel when a webhook request is received" shows it; a secret, too.
        required url "url": SecretFile,
    }
    unsupported []
}

record! {
    /// A program that takes CloudEvents by HTTP.
    WebhookFile = "webhook" {
        /// Its address.
        required url "url": SecretFile,
        /// The key that each event is signed with, as Standard Webhooks describes it.
        required key "key": SecretFile,
    }
    unsupported []
}

record! {
    /// People who get mail.
    EmailFile = "email" {
        /// The mail server: its address with the login and the sender, which the operator keeps as a secret. It takes mail to the sender's own domain, and to those that the operator adds.
        required smtp "smtp": SecretFile,
        /// Their addresses, twenty at most.
        required to "to": List<MailAddress>,
    }
    unsupported []
}

record! {
    /// An issue of this repository, or a pull request.
    IssueFile = "issue" {
        /// Its number.
        required number "number": Count<1>,
        /// People and teams (`acme/platform`) whom each comment mentions, so that GitHub tells them; ten at most. Default none: who follows the issue is told.
        optional mention "mention": List<ReviewerName>,
    }
    unsupported []
}

record! {
    /// A value that the operator of the bot keeps for this repository.
    SecretFile = "secret" {
        /// Its name in the operator's settings, such as `SLACK_URL`.
        required secret "secret": SecretName,
    }
    unsupported []
}

record! {
    /// What a notification is about.
    NotifySelectFile = "notification's select" {
        /// Only these tiers. Default all.
        optional tiers "tiers": List<Name>,
        /// Only these plugins. Default all.
        optional plugins "plugins": List<Name>,
    }
    unsupported []
}

scalar!(
    /// An address of mail.
    MailAddress(String), "an address such as `kim@acme.example`", mail_address,
    {"type": "string", "maxLength": 254, "examples": ["platform@acme.example"]}
);

/// The plain form that every mail server takes: nothing in it ends a header or a command of SMTP.
fn mail_address(text: &str) -> Result<String, Refusal> {
    let atom = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
    let local = |text: &str| text.len() <= 64 && text.split('.').all(|part| !part.is_empty() && part.bytes().all(atom));
    let label = |part: &str| {
        let plain = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        plain && (1..=63).contains(&part.len()) && !part.starts_with('-') && !part.ends_with('-')
    };
    let domain = |text: &str| text.contains('.') && text.split('.').all(label);
    let whole = text.len() <= 254 && text.split_once('@').is_some_and(|(name, host)| local(name) && domain(host));
    if whole {
        return Ok(text.to_string());
    }
    let why = format!("{} is no address of mail", quoted(text));
    Err(Refusal::new(why).help("write the address alone, in ASCII, such as `kim@acme.example`"))
}

impl WordList<PolicyFile> for Event {
    const NAME: &'static str = "Event";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("upcoming", Self::Upcoming, "A release soaks on the tier below and comes to this one next."),
        ("notice", Self::Notice, "A notice went out: a release is merged without approval when the grace period ends."),
        ("blocked", Self::Blocked, "A release does not go on, and time alone does not change that."),
        ("forced", Self::Forced, "A release was merged without the missing approvals."),
        ("failed", Self::Failed, "A release failed on a tier, or stalls there."),
        ("rolledBack", Self::RolledBack, "The version before a failed one is back on a tier."),
        ("finished", Self::Finished, "A release finished a tier."),
    ];
}
