//! People, Apps, tokens, and what each may do.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

/// A person, an organization or an App's own account.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its id.
    pub id: u64,
    /// `alice`, `acme`, `coldframe[bot]`.
    pub login: String,
    /// What it is.
    pub kind: Kind,
}

/// What an account is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A person.
    User,
    /// An App.
    Bot,
    /// An organization.
    Organization,
}

impl Kind {
    /// GitHub's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Bot => "Bot",
            Self::Organization => "Organization",
        }
    }
}

/// A GitHub App and where it is installed.
#[derive(Clone, Debug)]
pub struct App {
    /// Its id, which signs as `iss`.
    pub id: u64,
    /// Its slug.
    pub slug: String,
    /// The public half of its key, PKCS#1 DER.
    pub public_key: Vec<u8>,
    /// What it may do: `contents` → write.
    pub permissions: BTreeMap<String, Access>,
    /// Events that it is not subscribed to.
    pub unheard: BTreeSet<&'static str>,
    /// Where its webhooks go.
    pub hook: Option<Hook>,
    /// Where people come back to whom it signs in.
    pub callbacks: Vec<String>,
    /// By what it proves itself when it takes their tokens; none until it was given out.
    pub client_secret: Option<String>,
    /// The account that registered it; empty: the one that it was installed on first.
    pub owner: String,
    /// The id of its first installation.
    pub first: u64,
    /// Its installations, by id, one per account. One without repositories was taken out.
    pub installations: BTreeMap<u64, Installation>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// An App on one account.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Its id.
    pub id: u64,
    /// The account.
    pub account: String,
    /// Repositories that it reaches.
    pub repositories: BTreeSet<u64>,
    /// Since when its account, or the hub, holds it back.
    pub suspended_at: Option<Timestamp>,
}

impl App {
    /// The login of its own account.
    pub fn login(&self) -> String {
        format!("{}[bot]", self.slug)
    }

    /// Its id where it signs people in.
    pub fn client_id(&self) -> String {
        format!("Iv1.{:016x}", self.id)
    }

    /// The events that it gets.
    pub fn events(&self) -> impl Iterator<Item = &'static str> {
        let granted = EVENTS.into_iter().filter(|(_, takes)| self.permissions.contains_key(*takes));
        granted.map(|(event, _)| event).filter(|event| !self.unheard.contains(event))
    }

    /// Its installation that reaches a repository.
    pub fn installed_in(&self, repository: u64) -> Option<&Installation> {
        self.installations.values().find(|one| one.repositories.contains(&repository))
    }
}

/// Where webhooks of an App go, and the secret that signs them.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The receiver.
    pub url: String,
    /// Signs `X-Hub-Signature-256`.
    pub secret: String,
}

/// The events that Apps of this world subscribe to, and the permission without which none of them is sent. Those of
/// comments take the permission for issues, whatever the comment is about.
pub const EVENTS: [(&str, &str); 12] = [
    ("check_run", "checks"),
    ("deployment_status", "deployments"),
    ("installation", "metadata"),
    ("issue_comment", "issues"),
    ("issues", "issues"),
    ("merge_group", "merge_queues"),
    ("pull_request", "pull_requests"),
    ("pull_request_review", "pull_requests"),
    ("pull_request_review_thread", "pull_requests"),
    ("push", "contents"),
    ("release", "contents"),
    ("status", "statuses"),
];

/// What an App may do with one kind of thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Look.
    Read,
    /// Change.
    Write,
}

impl Access {
    /// `read` or `write`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// What a person may do in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Nothing.
    None,
    /// Look; everybody has it in a public repository.
    Read,
    /// Manage issues and pull requests without write.
    Triage,
    /// Push and merge.
    Write,
    /// Write and some settings.
    Maintain,
    /// Everything.
    Admin,
}

impl Role {
    /// GitHub's `role_name`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Triage => "triage",
            Self::Write => "write",
            Self::Maintain => "maintain",
            Self::Admin => "admin",
        }
    }

    /// The older `permission`, which knows four words only.
    pub fn permission(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read | Self::Triage => "read",
            Self::Write | Self::Maintain => "write",
            Self::Admin => "admin",
        }
    }
}

/// A token and whom it speaks for.
#[derive(Clone, Debug)]
pub struct Token {
    /// Whom.
    pub actor: Actor,
    /// Until when; none = for ever.
    pub expires_at: Option<Timestamp>,
    /// The App that got it of a person; none for any other token.
    pub by: Option<u64>,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Nobody known.
    Anonymous,
    /// A person, by login.
    User(String),
    /// An installation of an App, narrowed to some repositories and permissions.
    Installation {
        /// The App.
        app: u64,
        /// Which of its installations.
        installation: u64,
        /// What its token reaches.
        repositories: BTreeSet<u64>,
        /// What its token may do.
        permissions: BTreeMap<String, Access>,
    },
    /// An App as itself, by its signed JWT.
    App(u64),
}
