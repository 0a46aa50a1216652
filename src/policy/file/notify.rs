//! The keys of notifications.

use crate::file::PolicyFile;
use crate::file::Word;
use crate::wiring::Event;
use parse::forms::{List, Words as WordList};
use parse::read::record;
use parse::scalar::{Name, SecretName};

record! {
    /// Who is told of what happens, beside the pull request. A message may come twice after a crash and is never the only trace: everything stands on the pull requests and in the ledger too.
    NotifyFile = "notification" {
        /// An incoming webhook of Slack, or of a chat that takes the same, such as Mattermost. Default none; one of the three has to stand here.
        optional slack "slack": SlackFile,
        /// A workflow of Microsoft Teams that posts what it is sent. Default none.
        optional teams "teams": TeamsFile,
        /// A program, which is sent signed events. Default none.
        optional webhook "webhook": WebhookFile,
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
