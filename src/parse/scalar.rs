//! The scalars of the file: names, places, numbers. Each says what it expects, and what to write
//! instead. Those of time are in `when`, addresses in `address`.

mod plain;

use decide::Version;
use decide::constraint::Constraint;
use decide::model::MaxUpdate;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::objects::{api_version, kind, label_key, label_value, object};
use super::path;
use super::problem::quoted;
use super::read::FromNode;
use super::report::Report;
use super::tree::Node;
use crate::branches;

pub use plain::{Count, Flag};

/// Why a text was refused, and what to write instead.
#[derive(Debug)]
pub struct Refusal {
    /// Why.
    pub why: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl Refusal {
    /// A refusal without a hint.
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), help: None }
    }

    /// With what to write instead.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Declares a scalar: a type, what a message calls it, how its text is read, and its schema.
#[macro_export]
macro_rules! scalar {
    ($(#[$doc:meta])* $name:ident($inner:ty), $expected:literal, $parse:expr, $schema:tt) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name(pub $inner);

        impl FromNode for $name {
            fn from_node(node: &Node, report: &mut Report) -> Option<Self> {
                let Some(text) = node.text() else {
                    report.wrong_type(node, $expected);
                    return None;
                };
                let parse: fn(&str) -> Result<$inner, Refusal> = $parse;
                match parse(text) {
                    Ok(value) => Some(Self(value)),
                    Err(refusal) => {
                        report.wrong(node.span, &refusal.why, refusal.help.as_deref());
                        None
                    }
                }
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

pub use crate::scalar;

scalar!(
    /// A name of a plugin or tier.
    Name(String), "a name such as `gold`", name,
    {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
     "description": "Lower-case letters, digits and hyphens; at most 63. It becomes part of branch names."}
);
scalar!(
    /// A branch of the repository.
    Branch(String), "a branch such as `gold`", branch,
    {"type": "string", "minLength": 1, "maxLength": 200, "examples": ["gold", "release/gold"]}
);
scalar!(
    /// A name of a cluster.
    Cluster(String), "a name such as `eu-1`", cluster,
    {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(/[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$"}
);
scalar!(
    /// A version constraint.
    Helm(Constraint), "a constraint such as `^1.14`", helm,
    {"type": ["string", "number"], "examples": ["^1.14", "~1.2", ">=1.2.0 <2.0.0", "1.x"],
     "description": "A version constraint as Helm writes them. Pre-releases match only where the constraint names one (`>=1.2.0-0`)."}
);
scalar!(
    /// One version.
    Exact(Version), "a version such as `1.15.1`", exact,
    {"type": "string", "examples": ["1.15.1", "v2.0.0-rc.1"], "description": "A version of SemVer 2; a leading `v` is kept and does not count."}
);
scalar!(
    /// A line of text for people.
    Words(String), "a text", words,
    {"type": "string", "minLength": 1, "maxLength": 500}
);
scalar!(
    /// A number of members, or a share of them.
    Share(MaxUpdate), "a number or a percentage such as `25%`", share,
    {"type": ["integer", "string"], "examples": [3, "25%"], "pattern": "^[0-9]+%?$", "minimum": 0}
);
scalar!(
    /// A file of the repository.
    File(String), "a path such as `clusters.yaml`", |text| path::file(text, &[]),
    {"type": "string", "description": "A path from the repository's root."}
);
scalar!(
    /// Files of the repository, one per tier or cluster.
    Files(String), "a path such as `clusters/{tier}/loki.yaml`", |text| path::file(text, &["tier", "cluster", "organization"]),
    {"type": "string", "examples": ["clusters/{tier}/cert-manager.yaml", "clusters/{tier}/{cluster}/values.yaml"],
     "description": "A path from the repository's root. `{tier}` and `{cluster}` stand for their names; beside `{organization}`, `{cluster}` stands for the second part of `organization/cluster` alone."}
);
scalar!(
    /// A place inside a document.
    JsonPath(String), "a JSONPath such as `$.spec.version`", path::json,
    {"type": "string", "maxLength": 512, "examples": ["$.spec.chart.spec.version", "$.spec.sources[?(@.chart=='loki')].targetRevision"],
     "description": "An RFC 9535 JSONPath with at most one `..`. The forms of kubectl (`{.spec.x}`, `.spec.x`) are taken, too."}
);
scalar!(
    /// The place of a version inside a document.
    VersionPath(String), "a JSONPath such as `$.spec.version`", path::version,
    {"type": "string", "maxLength": 512, "examples": ["$.spec.chart.spec.version", "$.spec.sources[?(@.chart=='loki')].targetRevision", "$.spec.generators[0].list.elements[?(@.env=='{tier}')].version"],
     "description": "An RFC 9535 JSONPath with at most one `..`. The forms of kubectl (`{.spec.x}`, `.spec.x`) are taken, too. `{tier}`, `{cluster}` and `{organization}` stand for names, within quotes."}
);
scalar!(
    /// A text with a place for the version.
    ValuePattern(String), "a text such as `{plugin}/{version}`", value_pattern,
    {"type": "string", "maxLength": 200, "examples": ["{plugin}/{version}", "v{version}"],
     "description": "`{version}` stands for the version as its release is spelled, `{plugin}` for the name of the plugin."}
);
scalar!(
    /// A name or namespace in a cluster.
    ObjectName(String), "a name such as `cert-manager`", object,
    {"type": "string", "maxLength": 253, "description": "A name in the cluster. `{cluster}` and `{tier}` stand for their names; of clusters that are called `organization/cluster`, `{organization}` and `{cluster}` for the two parts."}
);
scalar!(
    /// The file of a workflow.
    Workflow(String), "a file such as `smoke.yml`", workflow,
    {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,100}\\.ya?ml$", "examples": ["smoke.yml"]}
);
scalar!(
    /// A kind of Kubernetes.
    Kind(String), "a kind such as `HelmRelease`", kind,
    {"type": "string", "pattern": "^[A-Z][A-Za-z0-9]{0,62}$"}
);
scalar!(
    /// An API version of Kubernetes.
    ApiVersion(String), "an API version such as `apps/v1`", api_version,
    {"type": "string", "examples": ["v1", "apps/v1", "example.com/v1alpha1"]}
);
scalar!(
    /// The plural of a kind.
    Plural(String), "a plural such as `helmreleases`", name,
    {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
);
scalar!(
    /// A namespace.
    Namespace(String), "a namespace such as `argocd`", name,
    {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
);
scalar!(
    /// A label's key.
    LabelKey(String), "a label key such as `tier`", label_key,
    {"type": "string", "minLength": 1, "maxLength": 317}
);
scalar!(
    /// A label's value.
    LabelValue(String), "a label value such as `gold`", label_value,
    {"type": ["string", "number", "boolean"]}
);
scalar!(
    /// The name of a connection in the operator's settings.
    Credential(String), "the name of a credential such as `eu-1`", credential,
    {"type": "string", "maxLength": 253}
);

scalar!(
    /// The name of a secret in the operator's settings.
    SecretName(String), "a name such as `SLACK_URL`", secret,
    {"type": "string", "pattern": "^[A-Z][A-Z0-9_]{0,62}$", "examples": ["SLACK_URL"]}
);

/// Whether a text is `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`: safe in branches, files and commands.
pub fn is_name(text: &str) -> bool {
    let plain = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    plain && (1..=63).contains(&text.len()) && !text.starts_with('-') && !text.ends_with('-')
}

fn name(text: &str) -> Result<String, Refusal> {
    if is_name(text) {
        return Ok(text.to_string());
    }
    let why = format!("{} is not a name: lower-case letters, digits and inner hyphens, at most 63", quoted(text));
    let spelled: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).take(63).collect();
    let spelled = spelled.trim_matches('-');
    let refusal = Refusal::new(why);
    Err(if is_name(spelled) { refusal.help(format!("`{spelled}` would be one")) } else { refusal })
}

fn secret(text: &str) -> Result<String, Refusal> {
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let begins = text.starts_with(|c: char| c.is_ascii_uppercase());
    if begins && text.len() <= 63 && text.bytes().all(plain) {
        return Ok(text.to_string());
    }
    // It may be the secret itself, so that it is not repeated.
    let why = "this is no name of a secret: upper-case letters, digits and `_`, at most 63";
    Err(Refusal::new(why)
        .help("give the value to the operator of the bot, and write its name here, such as `SLACK_URL`"))
}

/// What stands around a version in a file.
fn value_pattern(text: &str) -> Result<String, Refusal> {
    path::placeholders(text, &["version", "plugin"])?;
    let help = "write it like `{plugin}/{version}`";
    if text.len() > 200 || text.chars().any(char::is_control) {
        return Err(Refusal::new("one line of at most 200 characters is written there").help(help));
    }
    match text.matches("{version}").count() {
        1 => Ok(text.to_string()),
        0 => Err(Refusal::new(format!("{} has no place for the version", quoted(text))).help(help)),
        _ => Err(Refusal::new(format!("{} names the version twice", quoted(text))).help(help)),
    }
}

/// As git spells branches; those that the bot writes itself are no base of anything.
fn branch(text: &str) -> Result<String, Refusal> {
    let refusal = |why: &str| Refusal::new(format!("{} {why}", quoted(text)));
    if let Some(name) = text.strip_prefix("refs/heads/") {
        return Err(refusal("is a reference").help(format!("write the branch alone: `{name}`")));
    }
    if [branches::LEDGER, branches::NOTIFIED, branches::ONBOARDING].contains(&text)
        || text.starts_with(branches::PREFIX)
    {
        return Err(refusal("is a branch of the bot's own").help("name a branch that clusters read"));
    }
    let good = |c: char| !c.is_control() && !c.is_whitespace() && !"~^:?*[\\".contains(c);
    let part = |part: &str| {
        !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with(['.']) && !part.ends_with(".lock")
    };
    let whole = text.len() <= 200 && text != "@" && !text.contains("..") && !text.contains("@{");
    if whole && text.chars().all(good) && text.split('/').all(part) {
        return Ok(text.to_string());
    }
    Err(refusal("cannot be a branch").help("write it as git does, such as `gold` or `release/gold`"))
}

fn cluster(text: &str) -> Result<String, Refusal> {
    let parts: Vec<&str> = text.split('/').collect();
    if parts.len() <= 2 && parts.iter().all(|part| is_name(part)) {
        return Ok(text.to_string());
    }
    let why = format!("{} is not the name of a cluster", quoted(text));
    Err(Refusal::new(why).help("write `name` or `organization/name`: lower-case letters, digits and inner hyphens"))
}

fn share(text: &str) -> Result<MaxUpdate, Refusal> {
    let refusal = || Refusal::new(format!("{} is no number of members", quoted(text))).help("write `3` or `25%`");
    match text.strip_suffix('%') {
        Some(percent) => match percent.parse::<u8>() {
            Ok(0) => Ok(MaxUpdate::All),
            Ok(percent) if percent <= 100 => Ok(MaxUpdate::Percent(percent)),
            Ok(_) | Err(_) => Err(refusal()),
        },
        None => match text.parse::<u32>() {
            Ok(0) => Ok(MaxUpdate::All),
            Ok(count) => Ok(MaxUpdate::Count(count)),
            Err(_) => Err(refusal()),
        },
    }
}

fn helm(text: &str) -> Result<Constraint, Refusal> {
    text.parse().map_err(|error: decide::constraint::NotAConstraint| {
        Refusal::new(format!("{} is not a version constraint: {}: {}", quoted(text), quoted(&error.part), error.why))
            .help("write it as in Helm: `^1.14`, `~1.2`, `>=1.2.0 <2.0.0`, `1.x || 2.x`")
    })
}

fn exact(text: &str) -> Result<Version, Refusal> {
    text.parse().map_err(|error: decide::ids::NotAVersion| {
        Refusal::new(error.to_string()).help("write all three numbers, such as `1.15.1`")
    })
}

fn words(text: &str) -> Result<String, Refusal> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Refusal::new("the text is empty"));
    }
    if text.chars().count() > 500 || text.chars().any(char::is_control) {
        return Err(Refusal::new("the text must be one line of at most 500 characters"));
    }
    Ok(text.to_string())
}

fn workflow(text: &str) -> Result<String, Refusal> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let named = text.strip_suffix(".yml").or_else(|| text.strip_suffix(".yaml"));
    if named.is_some_and(|name| !name.is_empty()) && text.len() <= 100 && text.bytes().all(good) {
        return Ok(text.to_string());
    }
    Err(Refusal::new(format!("{} is not the file of a workflow", quoted(text)))
        .help("write its name in `.github/workflows` alone, such as `smoke.yml`"))
}

fn credential(text: &str) -> Result<String, Refusal> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if (1..=253).contains(&text.len()) && text.chars().all(good) {
        return Ok(text.to_string());
    }
    Err(Refusal::new(format!("{} is not the name of a credential", quoted(text)))
        .help("write the name that the operator's settings give it; the credential itself never stands in a file"))
}
