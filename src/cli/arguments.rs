//! What each command may be told. What it does with that is in the file of the command.

use std::path::PathBuf;

use clap::Args;

use super::settings::{self, Settings};
use super::sign_in::SignIn;
use super::{compare, edit, signal};

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct Serve {
    /// Shared settings.
    #[command(flatten)]
    pub settings: Settings,
    /// Where GitHub and senders in clusters ring: /webhook, /wake/… and /healthz
    #[arg(long, env = "COLDFRAME_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = address)]
    pub listen: std::net::SocketAddr,
    /// Where the dashboard is, and without --metrics also /metrics and /readyz; unless people sign in, keep the address
    /// from strangers
    #[arg(long, env = "COLDFRAME_DASHBOARD", value_name = "ADDRESS", default_value = "127.0.0.1:8081", value_parser = address)]
    pub dashboard: std::net::SocketAddr,
    /// Where /metrics, /readyz and /versions are instead, without a login; default 127.0.0.1:8082 where people sign in
    #[arg(long, env = "COLDFRAME_METRICS", value_name = "ADDRESS", value_parser = address)]
    pub metrics: Option<std::net::SocketAddr>,
    /// Secrets of the App's webhook, newest first, separated by commas while one is being replaced
    #[arg(long, env = "COLDFRAME_WEBHOOK_SECRET", hide_env_values = true, value_name = "SECRET")]
    pub webhook_secret: String,
    /// Who else may ring.
    #[command(flatten)]
    pub wake: settings::Wake,
    /// Who sees the dashboard.
    #[command(flatten)]
    pub sign_in: SignIn,
}

/// An address to listen on; `:8080` is that port everywhere.
fn address(text: &str) -> Result<std::net::SocketAddr, String> {
    let whole = if text.starts_with(':') { format!("0.0.0.0{text}") } else { text.to_string() };
    let numbers = whole.replace("localhost:", "127.0.0.1:");
    numbers.parse().map_err(|_| format!("`{text}` is no address such as 127.0.0.1:8080, [::1]:8080 or :8080"))
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The plugin; without one those that there are
    pub plugin: Option<String>,
    /// Only this tier
    pub tier: Option<String>,
    /// Every reason that there is instead, with what unblocks it, as a Markdown page; no hub is asked
    #[arg(long, conflicts_with = "plugin")]
    pub reasons: bool,
    /// Shared settings.
    #[command(flatten)]
    pub settings: Settings,
}

/// Arguments of `init`.
#[derive(Debug, Args)]
pub struct Init {
    /// A checkout of the config repository
    #[arg(default_value = ".")]
    pub folder: PathBuf,
    /// Writes coldframe.yaml, and clusters.yaml where there is no inventory, instead of printing them
    #[arg(long)]
    pub write: bool,
    /// Gives a workflow, too, that runs the bot as an Action: .github/workflows/promote.yml
    #[arg(long)]
    pub workflow: bool,
}

/// Arguments of `edit`.
#[derive(Debug, Args)]
#[command(after_help = EDIT_HELP)]
pub struct Edit {
    /// The file
    pub file: PathBuf,
    /// The version to write
    #[arg(long, value_name = "VERSION")]
    pub to: decide::Version,
    /// The chart whose version it is; finds the place by what the file is
    #[arg(long, value_name = "NAME", required_unless_present = "path")]
    pub chart: Option<String>,
    /// The plugin, where it is called otherwise than its chart
    #[arg(long, value_name = "NAME", requires = "chart")]
    pub plugin: Option<String>,
    /// The place, as an RFC 9535 JSONPath that names exactly one
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// The document of a file of several, as KIND or KIND/NAME
    #[arg(long, value_name = "KIND/NAME", requires = "path")]
    pub document: Option<String>,
    /// What stands around the version there, with {version}
    #[arg(long, value_name = "TEXT", requires = "path")]
    pub value: Option<String>,
    /// Puts the version's tag in the place of the branch that a source of a Catalog follows; where several do, --path
    /// says which one
    #[arg(long, requires = "chart")]
    pub pin: bool,
    /// What the file is: yaml, json, toml, hcl or text [default: by its name]
    #[arg(long, value_name = "FORMAT", value_parser = edit::format)]
    pub format: Option<crate::edit::FileFormat>,
    /// Prints what would change instead of the whole text
    #[arg(long, conflicts_with = "in_place")]
    pub diff: bool,
    /// Changes the file, and a Chart.lock beside it
    #[arg(long)]
    pub in_place: bool,
}

const EDIT_HELP: &str = "\
Exit codes: 0 edited, or it said so already; 1 the file cannot be read or written; 3 refused, with the reason.

  coldframe edit apps/loki.yaml --chart loki --to 6.7.0 --diff
  coldframe edit Chart.yaml --chart redis --to 19.0.1 --in-place
  coldframe edit versions.env --chart loki --format text --to 6.7.0";

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(after_help = COMPARE_HELP)]
pub struct Compare {
    /// The release that is there: a package, a plugindefinition.yaml, or the address of a chart with its version
    pub old: String,
    /// The release that is to come
    pub new: String,
    /// Compares two commits of the catalog of definitions that this folder is a checkout of; `.` is its files as they are
    #[arg(long)]
    pub catalog: bool,
    /// Shows the lines of templates that differ, too
    #[arg(long, conflicts_with = "json")]
    pub diff: bool,
    /// Prints the report as JSON
    #[arg(long)]
    pub json: bool,
    /// Exit code 3 where this was found
    #[arg(long, value_name = "WHAT")]
    pub fail_on: Option<compare::FailOn>,
    /// Hosts that may be asked although they are private or speak plain HTTP, separated by commas
    #[arg(long, env = "COLDFRAME_ALLOW_HOSTS", value_name = "HOSTS", value_delimiter = ',')]
    pub allow_hosts: Vec<String>,
    /// Docker's config.json with logins for registries and chart repositories
    #[arg(long, env = "COLDFRAME_REGISTRIES", value_name = "FILE", value_delimiter = ',')]
    pub registries: Vec<String>,
}

const COMPARE_HELP: &str = "\
Exit codes: 0 compared; 1 one of them cannot be read; 3 what --fail-on names was found.

  coldframe compare loki-6.6.0.tgz loki-6.7.0.tgz --diff
  coldframe compare oci://ghcr.io/acme/charts/loki:6.6.0 oci://ghcr.io/acme/charts/loki:6.7.0
  coldframe compare https://acme.github.io/charts/loki:6.6.0 https://acme.github.io/charts/loki:6.7.0 --json
  coldframe compare old/plugindefinition.yaml perses/plugindefinition.yaml --fail-on breaking-minor
  coldframe compare --catalog origin/main . --fail-on breaking-minor";

/// Arguments of `signal`.
#[derive(Debug, Args)]
#[command(after_help = SIGNAL_HELP)]
pub struct Signal {
    /// The kind of signal, by its key in the policy file: helmRelease, application, plugin, …
    pub kind: String,
    /// File with the object as `kubectl get -o yaml` writes it, YAML or JSON; `-` is standard input
    #[arg(long, value_name = "FILE", required_unless_present = "cluster")]
    pub object: Option<PathBuf>,
    /// File with further objects that the signal asks for, one or several; may be repeated
    #[arg(long, value_name = "FILE", requires = "object")]
    pub more: Vec<PathBuf>,
    /// What the signal asks for and no file holds is not there in the cluster either
    #[arg(long, requires = "object")]
    pub complete: bool,
    /// The version that is wanted
    #[arg(long, value_name = "VERSION")]
    pub version: decide::Version,
    /// Its digest
    #[arg(long, value_name = "DIGEST", value_parser = signal::digest)]
    pub digest: Option<decide::Digest>,
    /// When it landed on the base branch: what was read before says nothing
    #[arg(long, value_name = "TIME", value_parser = signal::time)]
    pub after: Option<jiff::Timestamp>,
    /// When the objects were read from the cluster [default: when the oldest file was written]
    #[arg(long, value_name = "TIME", value_parser = signal::time, requires = "object")]
    pub taken: Option<jiff::Timestamp>,
    /// The settings of the signal as in the policy file, `namespace: apps, name: loki`, or @FILE with them; an
    /// object from a file has its own names
    #[arg(long, value_name = "YAML")]
    pub settings: Option<String>,
    /// What the config repository has at a commit that the object proves; may be repeated
    #[arg(long, value_name = "COMMIT=VERSION", value_parser = signal::commit)]
    pub commit: Vec<(String, decide::Version)>,
    /// The cluster, for `{cluster}` and `{organization}` in names; asked itself where no object is given
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// The tier, for `{tier}` in names
    #[arg(long, value_name = "NAME")]
    pub tier: Option<String>,
    /// Folder with one kubeconfig per credential, named <credential>.yaml
    #[arg(long, env = "COLDFRAME_CLUSTERS", value_name = "FOLDER")]
    pub clusters: Option<PathBuf>,
    /// The credential that the cluster is asked by, such as that of a hub [default: the cluster's name]
    #[arg(long, value_name = "NAME", conflicts_with = "object")]
    pub connection: Option<String>,
    /// Hosts that may be asked over plain HTTP, separated by commas
    #[arg(long, env = "COLDFRAME_ALLOW_HOSTS", value_name = "HOSTS", value_delimiter = ',')]
    pub allow_hosts: Vec<String>,
    /// One JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

const SIGNAL_HELP: &str = "\
Exit code 0: it counts as healthy on the wanted version; 1: it does not; 2: the question makes no sense.

  kubectl get helmrelease -n apps loki -o yaml |
    coldframe signal helmRelease --object - --version 1.2.0
  coldframe signal application --settings 'namespace: argocd, name: loki-{cluster}' \\
    --clusters kubeconfigs/ --connection hub --cluster eu-1 --version 1.2.0";

/// Arguments of `rehearse`.
#[derive(Debug, Args)]
pub struct Rehearse {
    /// Stories to tell; exit code 1 when one does not keep what it expects
    #[arg(value_name = "STORY", required_unless_present = "history", conflicts_with = "history")]
    pub stories: Vec<PathBuf>,
    /// Replays the releases of this JSON file instead (`-` reads standard input)
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Replays under this policy [default: four tiers of three days, merged by the bot]
    #[arg(long, value_name = "FILE", requires = "history")]
    pub policy: Option<PathBuf>,
    /// Breaking releases are acknowledged at once [default: both, one table each]
    #[arg(long, requires = "history", conflicts_with = "no_ack")]
    pub ack: bool,
    /// Breaking releases are never acknowledged
    #[arg(long, requires = "history")]
    pub no_ack: bool,
    /// How long people take to approve a pull request
    #[arg(long, value_name = "DURATION", requires = "history", default_value = "0s", value_parser = duration)]
    pub approve_after: jiff::SignedDuration,
    /// Tries these soaks on every tier beside each other, such as `1d,2d,3d`; six at most
    #[arg(long, value_name = "DURATIONS", requires = "history", value_delimiter = ',', value_parser = duration)]
    pub soak: Vec<jiff::SignedDuration>,
    /// Draws the replay into this SVG file
    #[arg(long, value_name = "FILE", requires = "history")]
    pub svg: Option<PathBuf>,
}

/// A duration as the policy file writes it.
fn duration(text: &str) -> Result<jiff::SignedDuration, String> {
    crate::policy::duration(text).ok_or_else(|| format!("`{text}` is not a duration such as `4h` or `2d`"))
}

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub struct Check {
    /// The policy file [default: coldframe.yaml or .github/coldframe.yaml, with coldframe.d/*.yaml]
    pub file: Option<PathBuf>,
    /// Prints the policy with presets, defaults and overrides written out, as one file
    #[arg(long)]
    pub resolved: bool,
    /// The operator's limits to hold it against
    #[arg(long, env = "COLDFRAME_LIMITS", value_name = "FILE")]
    pub limits: Option<PathBuf>,
    /// A copy of a preset of another repository that the policy extends, once for each
    #[arg(long = "preset", value_name = "PRESET=FILE", value_parser = preset)]
    pub presets: Vec<(String, PathBuf)>,
}

/// A preset as the policy names it, and the file that has its copy.
fn preset(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("write the preset as the policy names it, `=`, and its file")?;
    let preset: crate::policy::PinnedPreset = name.parse().map_err(|refusal: crate::policy::Refusal| refusal.why)?;
    Ok((preset.to_string(), PathBuf::from(file)))
}

const CHECK_HELP: &str = "\
Where the policy file is that of a git checkout, the checkout is read as the bot would read it, committed or not, and
nobody is asked: a missing or broken inventory, a tier without clusters and a place without a version are errors; a
missing CODEOWNERS, or one with mistakes, is a warning. Elsewhere the policy alone is read, and that is said.";

/// Arguments of `access`.
#[derive(Debug, Args)]
#[command(after_help = ACCESS_HELP)]
pub struct Access {
    /// Connections by their names, such as those of clusters; without one all that the policy uses
    #[arg(value_name = "CREDENTIAL")]
    pub credentials: Vec<String>,
    /// The policy file [default: coldframe.yaml or .github/coldframe.yaml, with coldframe.d/*.yaml]
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Prints a script instead, which gives the rights by kubectl and makes the kubeconfigs
    #[arg(long)]
    pub script: bool,
    /// Only what `once` needs: nothing is watched
    #[arg(long)]
    pub once: bool,
    /// The namespace of the account in each cluster
    #[arg(long, default_value = "coldframe", value_name = "NAME", value_parser = namespace)]
    pub namespace: String,
}

/// A name that an object can have.
fn namespace(text: &str) -> Result<String, String> {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    if (1..=63).contains(&text.len()) && text.bytes().all(plain) && !text.starts_with('-') && !text.ends_with('-') {
        return Ok(text.to_string());
    }
    Err(format!("`{text}` is no name of a namespace: lower-case letters, digits and inner hyphens"))
}

const ACCESS_HELP: &str = "\
It reads the policy and the inventory of the checkout here, and asks nobody. Where a hub lists the
clusters, name those that are asked themselves; they then may read what any tier asks for.

  coldframe access --script > access.sh    then read it, and: sh access.sh
  coldframe access eu-1 | kubectl --context eu-1 apply -f -";

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub struct Schema {
    /// The schema of the operator's limits instead
    #[arg(long)]
    pub limits: bool,
}
