//! What the policy file says beyond the policy itself: where charts come from, which spots hold
//! their version, which signals are asked. `observe` and `act` read it; the planner does not.

mod notify;

use std::collections::BTreeMap;
use std::time::Duration;

use decide::PluginName;
use decide::selector::Selector;
use serde::{Deserialize, Serialize};

pub use edit::place::{DocumentSelector, FileFormat, ORGANIZATION, Scalar, VERSION, Write, chart_address};
use inventory::{self, Scope};
use signal::SignalSpec;

pub use notify::{Event, Notify, Recipient};

/// Everything of a policy file that the planner does not need.
#[derive(Clone, Debug, PartialEq)]
pub struct Wiring {
    /// Where the clusters are listed.
    pub inventory: Inventory,
    /// Per plugin.
    pub plugins: BTreeMap<PluginName, PluginWiring>,
    /// Who may give which command.
    pub people: People,
    /// Who is told of what happens.
    pub notify: Vec<Notify>,
    /// What every pull request gets beside its text.
    pub pulls: PullRequests,
}

/// What every pull request gets beside its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullRequests {
    /// Labels.
    pub labels: Vec<String>,
    /// Logins of those who are assigned.
    pub assignees: Vec<String>,
    /// Who is asked for a review.
    pub reviewers: Vec<Reviewer>,
    /// What every title and the subject of every commit begin with; a space follows it.
    pub prefix: Option<String>,
    /// Markdown that stands on every pull request; `{plugin}`, `{tier}` and `{version}` in it are replaced.
    pub note: Option<String>,
    /// How the text is arranged; none = as the bot does.
    pub body: Option<Body>,
}

/// An arrangement of the text of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// As it is written.
    pub written: String,
    /// Its pieces in order.
    pub pieces: Vec<Piece>,
}

/// A piece of such an arrangement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Markdown of the policy's own; `{plugin}`, `{tier}` and `{version}` in it are replaced.
    Text(String),
    /// What the bot says.
    Section(Section),
}

/// A part of what the bot says on a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// What failed or who stopped it, and the table of what moves where.
    Summary,
    /// What it waits for, until when, and who can unblock it.
    Status,
    /// Where the release stands on each tier.
    Climb,
    /// `pullRequests.note`.
    Note,
    /// What the commit changes.
    Changes,
    /// The words of the chart's author.
    ReleaseNotes,
    /// How to stop it, and the box that writes it anew.
    Help,
}

impl Section {
    /// All of them, in the order in which the bot writes them.
    pub const ALL: [Self; 7] =
        [Self::Summary, Self::Status, Self::Climb, Self::Note, Self::Changes, Self::ReleaseNotes, Self::Help];

    /// As the policy names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Status => "status",
            Self::Climb => "climb",
            Self::Note => "note",
            Self::Changes => "changes",
            Self::ReleaseNotes => "releaseNotes",
            Self::Help => "help",
        }
    }

    /// What people could not do without it; none where it may be left out.
    pub const fn needed_for(self) -> Option<&'static str> {
        match self {
            Self::Summary => Some("says what moves where"),
            Self::Status => Some("says what it waits for and who can unblock it"),
            Self::Help => Some("says how to stop it"),
            Self::Climb | Self::Note | Self::Changes | Self::ReleaseNotes => None,
        }
    }
}

/// Who is asked for a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reviewer {
    /// A person by their login.
    Person(String),
    /// A team of an organization.
    Team {
        /// The organization.
        organization: String,
        /// The team's name in addresses.
        slug: String,
    },
}

impl std::fmt::Display for Reviewer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Person(login) => f.write_str(login),
            Self::Team { organization, slug } => write!(f, "{organization}/{slug}"),
        }
    }
}

impl PullRequests {
    /// A title, or the subject of a commit, with what all of them begin with.
    pub fn titled(&self, title: &str) -> String {
        self.prefix.as_ref().map_or_else(|| title.to_string(), |prefix| format!("{prefix} {title}"))
    }
}

/// Where the clusters are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inventory {
    /// A YAML file of the config repo: `clusters: [{name, labels, credential}]`.
    File {
        /// Its path from the repository's root.
        path: String,
    },
    /// What a hub cluster lists.
    Listed(Listing),
}

/// Which objects of a hub cluster are the clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Of which kind they are.
    pub kind: &'static inventory::Kind,
    /// The connection to the hub cluster, by its name in the operator's settings.
    pub connection: String,
    /// Their namespace; none = all, or none at all for a kind that has no namespaces.
    pub namespace: Option<String>,
    /// Which of them.
    pub select: Selector,
}

/// What the clusters of an inventory are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// By one name.
    Plain,
    /// By `organization/name`, all of them.
    Organizations,
    /// The same, and all are of one organization.
    OneOrganization,
    /// Either; the inventory says at each.
    Either,
}

impl Inventory {
    /// What its clusters are called.
    pub fn names(&self) -> Names {
        match self {
            Self::File { .. } => Names::Either,
            Self::Listed(listing) if !listing.names_have_namespaces() => Names::Plain,
            Self::Listed(Listing { namespace: Some(_), .. }) => Names::OneOrganization,
            Self::Listed(_) => Names::Organizations,
        }
    }
}

impl Listing {
    /// Whether a cluster is called by its object's namespace and name: one name may stand in several of them.
    pub fn names_have_namespaces(&self) -> bool {
        match self.kind.scope {
            Scope::Cluster | Scope::One(_) => false,
            Scope::Any => self.namespace.is_none(),
            Scope::Organizations => true,
        }
    }
}

/// How one plugin is watched, written and asked about.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginWiring {
    /// The policy file that declares it.
    pub declared: String,
    /// Where its releases are.
    pub chart: Chart,
    /// How often the source is asked when nothing rings.
    pub poll: Duration,
    /// The spots that hold its version.
    pub write: Vec<Write>,
    /// The questions to each cluster; all must agree.
    pub signals: Vec<SignalSpec>,
    /// Where the commit that released a version is found.
    pub released: Released,
    /// Who has to have signed a release; none = nobody has to.
    pub signed: Option<Signed>,
}

/// Who may have signed a release: a signature by one of them suffices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signed {
    /// Public keys as PEM, of signatures by cosign.
    pub keys: Option<String>,
    /// Whom a certificate of cosign names.
    pub keyless: Option<Keyless>,
    /// OpenPGP keys in armor, of Helm's provenance files.
    pub pgp: Option<String>,
}

/// Who signs without a key of their own (Sigstore).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyless {
    /// The identity that the certificate names, with `{version}` for that of the chart.
    pub identity: String,
    /// Who vouches for that identity.
    pub issuer: String,
}

/// Where the commit that released a version is found, as far as the file says so; the rest the chart
/// says itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// `owner/name` at the hub.
    pub from: Option<String>,
    /// Its tag, with `{version}` and `{plugin}`.
    pub tag: Option<String>,
}

/// Where the releases of a chart are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chart {
    /// A chart repository with an `index.yaml`.
    Http {
        /// Its base URL.
        repository: String,
        /// The chart's name in it.
        name: String,
    },
    /// An OCI repository whose tags are versions.
    Oci {
        /// `registry.example/charts/cert-manager`, without a scheme.
        reference: String,
        /// Plain HTTP; only for loopback registries (`oci+http://` in the file).
        plain: bool,
    },
    /// A definition in a catalog of Greenhouse: a git repository whose tags are `name/version`.
    Catalog {
        /// The address of the repository.
        repository: String,
        /// The file of the definition in it.
        path: String,
    },
    /// Any git repository whose tags are versions.
    Git {
        /// The address of the repository.
        repository: String,
        /// The name of a tag, with `{version}`.
        tag: String,
        /// The folder of the chart in it; none = nothing of it is read.
        folder: Option<String>,
    },
}

impl Chart {
    /// What the chart is called, which manifests name it by.
    pub fn name(&self) -> &str {
        match self {
            Self::Http { name, .. } => name,
            Self::Oci { reference, .. } => reference.rsplit('/').next().unwrap_or(reference),
            // By its folder, as a Catalog has it among its `resources`.
            Self::Catalog { path, .. } => path.rsplit('/').nth(1).unwrap_or(path),
            Self::Git { repository, folder, .. } => {
                let named = folder.as_deref().unwrap_or_else(|| repository.trim_end_matches(".git"));
                named.rsplit('/').next().unwrap_or(named)
            }
        }
    }

    /// Where it comes from, as files are asked for it.
    pub fn address(&self) -> String {
        match self {
            Self::Http { repository, name } => chart_address(repository, Some(name)),
            Self::Oci { reference, .. } => chart_address(reference, None),
            Self::Catalog { repository, .. } | Self::Git { repository, .. } => {
                chart_address(repository.trim_end_matches(".git"), None)
            }
        }
    }
}

/// Who may give which command in a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct People {
    /// `hold` and `resume`.
    pub hold: Right,
    /// `acknowledge`.
    pub acknowledge: Right,
    /// `fail`.
    pub fail: Right,
    /// `freeze` and `unfreeze`.
    pub freeze: Right,
    /// `force`.
    pub force: Right,
    /// How many of them have to say it; none = two.
    pub force_by: Option<u32>,
    /// `hotfix`.
    pub hotfix: Right,
    /// `rebuild`.
    pub rebuild: Right,
}

impl Default for People {
    fn default() -> Self {
        Self {
            hold: Right::Write,
            acknowledge: Right::Write,
            fail: Right::Write,
            freeze: Right::Write,
            force: Right::CodeOwners,
            force_by: None,
            hotfix: Right::CodeOwners,
            rebuild: Right::Admin,
        }
    }
}

/// What a person needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Right {
    /// Write access to the repository.
    Write,
    /// To be a code owner of every path that the pull request changes.
    CodeOwners,
    /// To administer the repository.
    Admin,
}
