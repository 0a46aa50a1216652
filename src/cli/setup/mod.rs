//! `coldframe setup`: registers the App by GitHub's manifest flow, keeps what GitHub hands out, waits for the
//! installation and has `doctor` look at all of it. The page is served to this machine alone (`page`), and what is
//! kept is written in `keep`; the server has no such route.

mod keep;
mod page;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;

use self::keep::Place;
use self::page::Taken;
use super::doctor::{self, Out};
use super::settings::Settings;
use crate::branches::LEDGER;
use crate::clock;
use crate::hub::registration::{Registered, take};
use crate::hub::{Bases, Credentials, Hub, HubError};
use crate::secret::Secret;

/// A code that GitHub gives out is good for an hour.
const PATIENCE: Duration = Duration::from_secs(3600);
/// How long to wait for the installation, and how often to look for it.
const INSTALLING: (Duration, Duration) = (Duration::from_secs(900), Duration::from_secs(3));

/// Arguments of `setup`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct Setup {
    /// The config repository; the App is registered for its owner
    #[arg(long, env = "COLDFRAME_REPOSITORY", value_name = "OWNER/NAME", value_parser = repository)]
    pub repository: String,
    /// Where GitHub reaches `serve`: https://HOST/webhook; without it the App has no webhook, which is enough for a workflow
    #[arg(long, value_name = "URL", value_parser = address)]
    pub webhook_url: Option<String>,
    /// Where the dashboard is to be found from outside: people sign in there with GitHub, by this App
    #[arg(long, env = "COLDFRAME_PUBLIC_URL", value_name = "URL", value_parser = address)]
    pub public_url: Option<String>,
    /// What the App is called, which no other App may be [default: coldframe-OWNER]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The folder for its key and its settings
    #[arg(long, value_name = "FOLDER", default_value = "coldframe-app")]
    pub folder: PathBuf,
    /// Prints a Secret for Kubernetes to standard output instead, and writes no file
    #[arg(long, conflicts_with = "folder")]
    pub secret: bool,
    /// Port of the page on this machine; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// The hub: github.com, a GitHub Enterprise server, or the sandbox's
    #[arg(long, env = "COLDFRAME_HUB", value_name = "URL", default_value = "https://github.com")]
    pub hub: String,
}

const HELP: &str = "\
It opens a page for this machine alone, with one button that registers the App at GitHub, keeps the key
that GitHub hands out, waits until the App is installed, and runs `coldframe doctor`.

  coldframe setup --repository acme/fleet --webhook-url https://coldframe.acme.example/webhook
  coldframe setup --repository acme/fleet --secret | kubectl --namespace coldframe apply -f -";

/// `owner/name`, both as GitHub allows them.
fn repository(text: &str) -> Result<String, String> {
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c));
    match text.split_once('/') {
        Some((owner, name)) if plain(owner) && plain(name) => Ok(text.to_string()),
        Some(_) | None => Err(format!("`{text}` is no repository; write OWNER/NAME")),
    }
}

/// An address that GitHub may send to.
fn address(text: &str) -> Result<String, String> {
    let url = url::Url::parse(text).map_err(|error| format!("`{text}` is no address: {error}"))?;
    let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    match url.scheme() {
        "https" | "http" if plain => Ok(url.to_string()),
        _ => Err(format!("`{text}` is no address such as https://coldframe.acme.example/webhook")),
    }
}

/// Registers the App.
///
/// # Errors
/// The settings are wrong, something lies where the key is to go, or GitHub gives none out.
pub async fn setup(arguments: &Setup) -> anyhow::Result<ExitCode> {
    let bases = Bases::from_hub(&arguments.hub)?;
    let place = Place::open(arguments)?;
    let mut desk = page::open(arguments, &bases).await?;
    say(&format!(
        "Open this page on this machine. It shows what the App may do and why, and registers it by one button:\n\n  {}\n\n\
         Waiting for GitHub; Ctrl-C ends it, and nothing is made.",
        desk.address()
    ))?;
    let Ok(taken) = tokio::time::timeout(PATIENCE, desk.taken()).await else {
        bail!("nobody registered the App within an hour; begin anew");
    };
    let app = receive(taken?, bases, &place, arguments).await?;
    for line in place.told(&app) {
        say(&format!("✓ {line}"))?;
    }
    install(arguments, &app).await?;
    let settings = settings(arguments, &app)?;
    // What is left to be mended is said; the App is there all the same.
    doctor::doctor(&settings, Out::Stderr).await?;
    say(&next(arguments, &place))?;
    Ok(ExitCode::SUCCESS)
}

/// Takes the App by its code and keeps it; then the browser is told.
async fn receive(taken: Taken, bases: Bases, place: &Place, arguments: &Setup) -> anyhow::Result<Registered> {
    let app = match take(bases, &taken.code).await {
        Ok(app) => app,
        Err(error) => {
            taken.failed(&error.to_string());
            let look = "A code is good for an hour, and once. If GitHub made the App already, delete it there (Settings, \
                        Developer settings, GitHub Apps) and begin anew.";
            return Err(anyhow::Error::new(error).context(look));
        }
    };
    if let Err(error) = place.keep(&app, arguments) {
        taken.failed("its key could not be kept on this machine");
        return Err(error.context(format!(
            "the App {} is registered, and its key could not be kept; make another at its settings: {}",
            app.slug, app.page
        )));
    }
    taken.done(&app, &arguments.repository);
    Ok(app)
}

/// Waits until it is installed.
async fn install(arguments: &Setup, app: &Registered) -> anyhow::Result<()> {
    say(&format!("Install it on {}: {}/installations/new", arguments.repository, app.page))?;
    let hub = Hub::new(
        Bases::from_hub(&arguments.hub)?,
        Credentials::App { id: app.id, key: Secret::new(app.key.reveal()) },
        None,
    )?;
    let until = clock::now() + INSTALLING.0;
    loop {
        match hub.repository(&arguments.repository).await {
            Ok(repository) => return say(&format!("✓ installed on {}", repository.full_name())),
            // GitHub knows a new App everywhere only after a moment.
            Err(HubError::NotFound { .. } | HubError::Unauthorized { .. }) if clock::now() < until => {}
            Err(error) if error.may_pass() && clock::now() < until => {}
            Err(error) => {
                say(&format!("! not installed yet ({error}); `coldframe doctor` looks again"))?;
                return Ok(());
            }
        }
        tokio::time::sleep(INSTALLING.1).await;
    }
}

/// The settings of the bot, as its environment and its new App make them.
fn settings(arguments: &Setup, app: &Registered) -> anyhow::Result<Settings> {
    // By `=`, because a key begins like a flag.
    let given = [
        ("hub", arguments.hub.as_str()),
        ("repository", &arguments.repository),
        ("app-id", &app.id.to_string()),
        ("app-key", app.key.reveal()),
    ];
    Settings::read(given.iter().map(|(name, value)| format!("--{name}={value}")))
}

/// What comes next.
fn next(arguments: &Setup, place: &Place) -> String {
    let ledger = format!("Protect the branch `{LEDGER}` as said above, and run `coldframe doctor` once more");
    match place {
        Place::Files(folder) => {
            let env = folder.join("env");
            format!(
                "\n{ledger}:\n\n  set -a; . {}; set +a\n  coldframe doctor\n\nThen `coldframe serve`, or `coldframe plan` to see \
                 what it would do. The key is all that is needed to act as the App: keep {} out of git.",
                keep::quoted(&env.display().to_string()),
                folder.display()
            )
        }
        Place::Secret => format!(
            "\n{ledger}. The chart takes the Secret by its name: helm install … --set 'repositories={{{}}}'",
            arguments.repository
        ),
    }
}

/// What people read goes to standard error: standard output may be a Secret.
fn say(text: &str) -> anyhow::Result<()> {
    writeln!(anstream::stderr().lock(), "{text}").context("standard error")
}
