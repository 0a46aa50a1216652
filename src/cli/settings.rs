//! What the operator of the bot sets: where the hub is, who we are there, which clusters and hosts
//! may be asked. A repository's policy file can set none of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::{ArgAction, Args, Parser};

use super::tenants::Wanted;
use crate::hub::Credentials;
use crate::policy::{self, Mode, OperatorLimits, Setting, SourceFile};
use crate::seal::Seal;
use crate::secret::Secret;
use crate::wake::senders::{Sender, Senders};

/// A key of fewer characters is one that somebody thought up.
const SHORTEST_KEY: usize = 32;

/// Settings that every command with a hub shares.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Settings")]
pub struct Settings {
    /// The hub: github.com, a GitHub Enterprise server, or the sandbox's
    #[arg(long, env = "COLDFRAME_HUB", value_name = "URL", default_value = "https://github.com")]
    pub hub: String,
    /// The config repository; `serve` takes several, separated by commas, and OWNER/* for all of an account that the
    /// App reaches; without any it looks after those of the account that owns the App
    #[arg(long, env = "COLDFRAME_REPOSITORY", value_name = "OWNER/NAME", value_delimiter = ',')]
    pub repository: Vec<String>,
    /// Id of the GitHub App
    #[arg(long, env = "COLDFRAME_APP_ID", value_name = "ID", requires = "app_key")]
    pub app_id: Option<u64>,
    /// Private key of the App: a file, or the PEM text itself
    #[arg(long, env = "COLDFRAME_APP_KEY", hide_env_values = true, value_name = "FILE")]
    pub app_key: Option<String>,
    /// A token instead of an App; checks become commit statuses, since tokens cannot write checks
    #[arg(long, env = "COLDFRAME_TOKEN", hide_env_values = true, value_name = "TOKEN", conflicts_with = "app_id")]
    pub token: Option<String>,
    /// Id of the second App, which branch rules let bypass reviews; forced merges need it
    #[arg(long, env = "COLDFRAME_BYPASS_APP_ID", value_name = "ID", requires = "bypass_app_key")]
    pub bypass_app_id: Option<u64>,
    /// Private key of the second App
    #[arg(long, env = "COLDFRAME_BYPASS_APP_KEY", hide_env_values = true, value_name = "FILE")]
    pub bypass_app_key: Option<String>,
    /// Keys that seal the ledger, newest first, separated by commas: texts that nobody can guess. Without one the
    /// App's private key seals it
    #[arg(long, env = "COLDFRAME_LEDGER_KEY", hide_env_values = true, value_name = "KEY")]
    pub ledger_key: Option<String>,
    /// Folder with one kubeconfig per credential, named <credential>.yaml; where several repositories are looked after,
    /// in a folder <id of the repository> for one of them, or in `shared` for those without
    #[arg(long, env = "COLDFRAME_CLUSTERS", value_name = "FOLDER")]
    pub clusters: Option<PathBuf>,
    /// Hosts that may be asked although they are private, speak plain HTTP or have no certificate that counts, separated
    /// by commas; where several repositories are looked after, <id of the repository>=HOST or shared=HOST
    #[arg(long, env = "COLDFRAME_ALLOW_HOSTS", value_name = "HOSTS", value_delimiter = ',')]
    pub allow_hosts: Vec<String>,
    /// Docker's config.json with logins for registries and chart repositories, read anew whenever one is needed; where
    /// several repositories are looked after, <id of the repository>=FILE or shared=FILE, separated by commas
    #[arg(long, env = "COLDFRAME_REGISTRIES", value_name = "FILE", value_delimiter = ',')]
    pub registries: Vec<String>,
    /// Root of trust (trusted_root.json) under which keyless signatures of charts are verified; default Sigstore's public
    /// one, as it was when this program was built
    #[arg(long, env = "COLDFRAME_TRUSTED_ROOT", value_name = "FILE")]
    pub trusted_root: Option<PathBuf>,
    /// File with the limits that every policy file is held against: longest soak and grace, windows, caps
    #[arg(long, env = "COLDFRAME_LIMITS", value_name = "FILE")]
    pub limits: Option<PathBuf>,
    /// Folder with secrets that policy files name, as <id of the repository>/<NAME>; `once` takes
    /// COLDFRAME_SECRET_<NAME> of its environment too
    #[arg(long, env = "COLDFRAME_SECRETS", value_name = "FOLDER")]
    pub secrets: Option<PathBuf>,
    /// Folder for the clones; may be wiped at any time
    #[arg(long, env = "COLDFRAME_DATA", value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// How often everything is looked at when nothing rings
    #[arg(long, env = "COLDFRAME_SWEEP", value_name = "DURATION", default_value = "5m", value_parser = duration)]
    pub sweep: Duration,
    /// How soon to look again while something is on its way
    #[arg(long, env = "COLDFRAME_POLL", value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub poll: Duration,
    /// Whether `serve` proposes a policy, by one pull request, to a repository that has none: what `init` finds there
    #[arg(long, env = "COLDFRAME_ONBOARDING", value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    pub onboarding: bool,
    /// Time between two writes to the hub; GitHub asks for a second
    #[arg(long, env = "COLDFRAME_WRITE_PACE", value_name = "DURATION", default_value = "1s", value_parser = duration)]
    pub write_pace: Duration,
    /// Where the dashboard is to be found from outside: for links on pull requests, and answered there by that name
    #[arg(long, env = "COLDFRAME_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,
    /// Where traces go by OTLP over HTTP, such as http://collector:4318; without it there are none
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", hide_env_values = true, value_name = "URL")]
    pub otlp_endpoint: Option<String>,
}

/// Secrets of those who ring when something has happened in a cluster.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Who else may ring")]
pub struct Wake {
    /// Secrets with which Flux signs what it sends to /wake/flux, newest first, separated by commas
    #[arg(long, env = "COLDFRAME_WAKE_FLUX", hide_env_values = true, value_name = "SECRET")]
    pub wake_flux: Option<String>,
    /// Bearer tokens of Argo CD notifications at /wake/argocd, in the same way
    #[arg(long, env = "COLDFRAME_WAKE_ARGOCD", hide_env_values = true, value_name = "TOKEN")]
    pub wake_argocd: Option<String>,
    /// Bearer tokens of Alertmanager at /wake/alertmanager, in the same way
    #[arg(long, env = "COLDFRAME_WAKE_ALERTMANAGER", hide_env_values = true, value_name = "TOKEN")]
    pub wake_alertmanager: Option<String>,
    /// Tokens of registries of charts at /wake/chart, in the same way
    #[arg(long, value_name = "TOKENS", env = "COLDFRAME_WAKE_CHART", hide_env_values = true)]
    pub wake_chart: Option<String>,
    /// Folder with these secrets instead, in files named flux, argocd and alertmanager
    #[arg(long, env = "COLDFRAME_WAKE_SECRETS", value_name = "FOLDER")]
    pub wake_secrets: Option<PathBuf>,
}

impl Wake {
    /// The secrets of each sender; who has none is not listened to.
    ///
    /// # Errors
    /// Where the folder holds none of the files, or one of them no secret.
    pub fn senders(&self) -> anyhow::Result<Senders> {
        let given = |sender| match sender {
            Sender::Flux => &self.wake_flux,
            Sender::ArgoCd => &self.wake_argocd,
            Sender::Alertmanager => &self.wake_alertmanager,
            Sender::Chart => &self.wake_chart,
        };
        let mut secrets = Vec::new();
        for sender in Sender::ALL {
            let filed = self.filed(sender)?;
            let own = listed(given(sender).as_deref().unwrap_or_default());
            secrets.extend(Some(own).filter(|own| !own.is_empty()).or(filed).map(|own| (sender, own)));
        }
        match &self.wake_secrets {
            Some(folder) if secrets.is_empty() => bail!(
                "the folder of --wake-secrets, `{}`, has none of the files `flux`, `argocd`, `alertmanager` and `chart`",
                folder.display()
            ),
            Some(_) | None => Ok(Senders { secrets }),
        }
    }

    fn filed(&self, sender: Sender) -> anyhow::Result<Option<Vec<Secret>>> {
        let Some(folder) = &self.wake_secrets else { return Ok(None) };
        let path = folder.join(sender.name());
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("the secret `{}`", path.display())),
        };
        let secrets = listed(&text);
        if secrets.is_empty() {
            bail!("the file `{}` holds no secret", path.display());
        }
        Ok(Some(secrets))
    }
}

/// Secrets between commas or on lines of their own.
fn listed(text: &str) -> Vec<Secret> {
    text.split([',', '\n']).filter(|secret| !secret.trim().is_empty()).map(Secret::new).collect()
}

impl Settings {
    /// Settings of a command that gives them to itself; what it does not give comes from the environment.
    ///
    /// # Errors
    /// One of them is none.
    pub fn read(words: impl IntoIterator<Item = String>) -> anyhow::Result<Self> {
        #[derive(Parser)]
        struct Alone {
            #[command(flatten)]
            settings: Settings,
        }
        let words = std::iter::once("coldframe".to_string()).chain(words);
        Ok(Alone::try_parse_from(words).context("the settings")?.settings)
    }

    /// Who we are at the hub.
    pub fn credentials(&self) -> anyhow::Result<Credentials> {
        match (self.app_id, &self.app_key, &self.token) {
            (Some(id), Some(key), _) => Ok(Credentials::App { id, key: read_key(key)? }),
            (None, _, Some(token)) if !token.trim().is_empty() => Ok(Credentials::Token(Secret::new(token))),
            _ => bail!(
                "no identity: give --app-id with --app-key, or --token (environment: COLDFRAME_APP_ID, \
                 COLDFRAME_APP_KEY, COLDFRAME_TOKEN); `coldframe setup` registers an App"
            ),
        }
    }

    /// The second App, when one is set up.
    pub fn bypass(&self) -> anyhow::Result<Option<Credentials>> {
        match (self.bypass_app_id, &self.bypass_app_key) {
            (Some(id), Some(key)) => Ok(Some(Credentials::App { id, key: read_key(key)? })),
            _ => Ok(None),
        }
    }

    /// What seals the ledger: the keys that are given for it, then the App's own, so that one may follow the other.
    ///
    /// # Errors
    /// A key that could be guessed, or an App's key that cannot be read.
    pub fn seal(&self) -> anyhow::Result<Seal> {
        let mut keys = listed(self.ledger_key.as_deref().unwrap_or_default());
        if keys.iter().any(|key| key.reveal().len() < SHORTEST_KEY) {
            bail!("a ledger key has at least {SHORTEST_KEY} characters; `openssl rand -hex 32` makes one");
        }
        if let Credentials::App { key, .. } = self.credentials()? {
            keys.push(key);
        }
        Ok(Seal::new(&keys))
    }

    /// What every policy file is read under.
    pub fn setting(&self, mode: Mode) -> anyhow::Result<Setting> {
        Ok(Setting { limits: limits(self.limits.as_deref())?, mode })
    }

    /// The address at which people find the dashboard.
    pub fn public_address(&self) -> anyhow::Result<Option<url::Url>> {
        let Some(text) = self.public_url.as_deref().filter(|text| !text.is_empty()) else { return Ok(None) };
        let url = url::Url::parse(text).with_context(|| format!("`{text}` of --public-url is no address"))?;
        if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() || url.password().is_some() {
            bail!("--public-url is an address such as https://coldframe.example, without a user");
        }
        Ok(Some(url))
    }

    /// Where the clones are kept.
    pub fn data_folder(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(|| std::env::temp_dir().join("coldframe"))
    }

    /// The one repository of a command that looks after just one.
    pub fn the_repository(&self) -> anyhow::Result<&str> {
        match self.repository.as_slice() {
            [] => bail!("no repository: give --repository OWNER/NAME (environment: COLDFRAME_REPOSITORY)"),
            [one] => Ok(one),
            _ => bail!("this command is about one repository: give one to --repository, as OWNER/NAME"),
        }
    }

    /// Those that `serve` looks after.
    pub fn wanted(&self) -> anyhow::Result<Wanted> {
        Wanted::read(&self.repository, self.app_id.is_none())
    }
}

/// The operator's limits; none without a file. One with mistakes stops the command: nobody may go on
/// without limits that somebody set.
pub fn limits(file: Option<&Path>) -> anyhow::Result<OperatorLimits> {
    let Some(path) = file else { return Ok(OperatorLimits::default()) };
    let text = std::fs::read_to_string(path).with_context(|| format!("the operator's limits `{}`", path.display()))?;
    let file = SourceFile { path: path.display().to_string(), text };
    OperatorLimits::read(&file).map_err(|problems| {
        anyhow!("the operator's limits have mistakes\n\n{}", policy::render(&problems, std::slice::from_ref(&file)))
    })
}

/// A PEM text as it is, or the content of the file that is named.
fn read_key(key: &str) -> anyhow::Result<Secret> {
    if key.contains("-----BEGIN") {
        return Ok(Secret::new(key));
    }
    let text = std::fs::read_to_string(Path::new(key)).with_context(|| format!("the App's private key `{key}`"))?;
    if !text.contains("-----BEGIN") {
        bail!("`{key}` holds no PEM private key; download one from the App's settings page");
    }
    Ok(Secret::new(&text))
}

/// A duration as people write it; a bare number is refused.
fn duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration =
        text.parse().map_err(|error| format!("`{text}` is not a duration such as 30s, 5m or 2h ({error})"))?;
    Duration::try_from(span).map_err(|error| format!("`{text}` is not a duration that can be waited ({error})"))
}
