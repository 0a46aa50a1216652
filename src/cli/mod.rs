//! Arguments and environment of the commands. What a command does is in `run`.

pub mod access;
mod arguments;
pub mod catalog;
pub mod check;
pub mod compare;
#[cfg(feature = "demo")]
pub mod demo;
pub mod doctor;
pub mod edit;
// Unit tests start no process: everything that waits would be compiled once more for them.
#[cfg(not(test))]
pub mod entry;
pub mod init;
#[cfg(not(test))]
mod log;
#[cfg(not(test))]
mod otlp;
pub mod rehearse;
pub mod run;
pub mod serve;
pub mod server;
pub mod settings;
pub mod setup;
mod sign_in;
pub mod signal;
pub mod tenants;
pub mod workflow;

use clap::{Parser, Subcommand};

use self::settings::Settings;

pub use arguments::{Access, Check, Compare, Edit, Explain, Init, Rehearse, Schema, Serve, Signal};

/// Promotes plugin chart releases through tiers of clusters, one pull request per tier.
#[derive(Debug, Parser)]
#[command(name = "coldframe", version, max_term_width = 100, after_help = after_help())]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What somebody who has just installed it tries first.
fn after_help() -> String {
    let demo = cfg!(feature = "demo").then_some(
        "coldframe demo                 a GitHub, a chart registry and twelve clusters on loopback, and the bot at work",
    );
    let others = [
        "coldframe init                 a policy file for the config repository here",
        "coldframe check                the policy file here and what it speaks of, all errors at once",
        "coldframe plan --repository acme/fleet --token \"$GITHUB_TOKEN\"",
        "coldframe setup                registers the GitHub App; coldframe doctor looks whether all is well",
    ];
    let lines = demo.into_iter().chain(others).map(|line| format!("\n  {line}"));
    format!("Start here:{}", lines.collect::<String>())
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Shows the whole product at work in a sandbox on this machine: nothing leaves it
    #[cfg(feature = "demo")]
    Demo(demo::Demo),
    /// Proposes a policy file for a config repository, from the files that are there
    Init(Init),
    /// Registers the GitHub App, with exactly what it needs, and keeps its key
    Setup(setup::Setup),
    /// Looks at everything that the bot needs, and says what mends what is not as it should be; writes nothing
    Doctor(Settings),
    /// Runs as a GitHub App: webhooks and alarms ring, one loop per repository, a dashboard
    Serve(Box<Serve>),
    /// One pass over one repository, as the GitHub Action runs it
    Once(Settings),
    /// What `once` would do now, without doing it
    Plan(Settings),
    /// Every gate of a plugin's waves: verdict, reason, until when, who can unblock it
    Explain(Explain),
    /// Judges one object as a signal of the policy would: what it proves, and what the cluster counts as
    Signal(Signal),
    /// Writes a version into a file of any layout that is known, and changes nothing else
    Edit(Edit),
    /// What is different between two releases of a chart, or of a definition in a catalogue
    Compare(Compare),
    /// Reads a policy file, and in a checkout what it speaks of; shows all errors at once, exit code 1 when there are any
    Check(Check),
    /// Prints the rights that the signals of the policy need in clusters, or a script that gives them and makes the kubeconfigs
    Access(Access),
    /// Tells a scripted story, or replays a history of releases, through the real planner
    Rehearse(Rehearse),
    /// Prints the JSON Schema of the policy file
    Schema(Schema),
}
