//! Arguments and environment of the commands. What a command does is in `run`.

pub mod demo;
pub mod rehearse;
pub mod run;
pub mod serve;
pub mod settings;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use self::settings::Settings;

/// Promotes plugin chart releases through tiers of clusters, one pull request per tier.
#[derive(Debug, Parser)]
#[command(name = "coldframe", version, max_term_width = 100, after_help = AFTER_HELP)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
Start here:
  coldframe demo                 a GitHub, a chart registry and twelve clusters on loopback, and the bot at work
  coldframe check coldframe.yaml the policy file, all errors at once
  coldframe plan --repository acme/fleet --token \"$GITHUB_TOKEN\"";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Shows the whole product at work in a sandbox on this machine: nothing leaves it
    Demo(Demo),
    /// Runs as a GitHub App: webhooks and alarms ring, one loop per repository, a dashboard
    Serve(Serve),
    /// One pass over one repository, as the GitHub Action runs it
    Once(Settings),
    /// What `once` would do now, without doing it
    Plan(Settings),
    /// Every gate of a plugin's waves: verdict, reason, until when, who can unblock it
    Explain(Explain),
    /// Reads a policy file and shows all of its errors at once; exit code 1 when there are any
    Check(Check),
    /// Tells a scripted story, or replays a history of releases, through the real planner
    Rehearse(Rehearse),
    /// Prints the JSON Schema of the policy file
    Schema(Schema),
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Ends when the story is over: 0 if each expectation of it held, else 1
    #[arg(long)]
    pub once: bool,
    /// Nobody is scripted: you are the code owner, in the browser
    #[arg(long)]
    pub hands_on: bool,
    /// Only the world, without the bot; prints the settings with which anything can be pointed at it
    #[arg(long, conflicts_with_all = ["once", "hands_on"])]
    pub world: bool,
    /// Where the bot's dashboard and webhook endpoint listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: std::net::SocketAddr,
    /// Keeps the world's files here instead of in a temporary folder
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct Serve {
    /// Shared settings.
    #[command(flatten)]
    pub settings: Settings,
    /// Where to listen
    #[arg(long, env = "COLDFRAME_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub listen: std::net::SocketAddr,
    /// Secrets of the App's webhook, newest first, separated by commas while one is being replaced
    #[arg(long, env = "COLDFRAME_WEBHOOK_SECRET", hide_env_values = true, value_name = "SECRET")]
    pub webhook_secret: String,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The plugin
    #[arg(required_unless_present = "reasons")]
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
pub struct Check {
    /// The policy file [default: coldframe.yaml or .github/coldframe.yaml, with coldframe.d/*.yaml]
    pub file: Option<PathBuf>,
    /// Prints the policy with presets, defaults and overrides written out, as one file
    #[arg(long)]
    pub resolved: bool,
    /// The operator's limits to hold it against
    #[arg(long, env = "COLDFRAME_LIMITS", value_name = "FILE")]
    pub limits: Option<PathBuf>,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub struct Schema {
    /// The schema of the operator's limits instead
    #[arg(long)]
    pub limits: bool,
}
