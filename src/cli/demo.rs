//! `coldframe demo`: starts the sandbox and points the very same `serve` at it, over HTTP only.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use super::server::Server;
use super::settings::Settings;
use demo::{Options, World, board};

/// How long the last answers of the world may take.
const LAST: std::time::Duration = std::time::Duration::from_millis(700);

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
    /// Where the bot's dashboard listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: std::net::SocketAddr,
    /// Keeps the world's files here instead of in a temporary folder
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
}

/// Starts the world, and unless only that is wanted the bot beside it.
pub async fn demo(arguments: &Demo) -> anyhow::Result<ExitCode> {
    let folder = Folder::new(arguments.keep.as_deref())?;
    let onboarding = !arguments.hands_on && !arguments.world;
    let options = Options { onboarding, ..Options::new(folder.path().join("world")) };
    let world = World::start(options).await?;
    if arguments.world {
        return only_the_world(&world).await;
    }
    let settings = settings(&world, &folder.path().join("bot"))?;
    let port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::bind(settings, port, arguments.listen, &world.settings().webhook_secret).await?;
    let dashboard = format!("http://{}", server.dashboard()?);
    world.set_webhook(&format!("http://{}/webhook", server.address()?))?;
    if arguments.hands_on {
        world.welcome_owner();
    }
    let story = async {
        let outcome = board::show(&world, &dashboard, arguments.hands_on).await?;
        if !arguments.once {
            say("The sandbox goes on until Ctrl-C.")?;
            tokio::signal::ctrl_c().await.context("waiting for Ctrl-C")?;
        }
        Ok(if outcome.held() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    };
    let ended = tokio::select! {
        served = server.run(std::future::pending) => served.map(|()| ExitCode::FAILURE),
        told = story => told,
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::SUCCESS),
    };
    // What the bot asked for last is still being answered; the world's folder goes after that.
    tokio::time::sleep(LAST).await;
    ended
}

async fn only_the_world(world: &World) -> anyhow::Result<ExitCode> {
    for line in world.env_lines() {
        say(&line)?;
    }
    tokio::signal::ctrl_c().await.context("waiting for Ctrl-C")?;
    Ok(ExitCode::SUCCESS)
}

/// The settings with which anybody would point `serve` at this world, read by the same parser.
fn settings(world: &World, data: &Path) -> anyhow::Result<Settings> {
    let given = world.settings();
    let text = |path: &Path| path.display().to_string();
    let arguments = [
        ("--hub", given.hub.clone()),
        ("--app-id", given.app_id.to_string()),
        ("--app-key", text(&given.app_key)),
        ("--bypass-app-id", given.bypass_app_id.to_string()),
        ("--bypass-app-key", text(&given.bypass_app_key)),
        ("--repository", given.repository.clone()),
        ("--clusters", text(&given.clusters)),
        ("--allow-hosts", given.allow_hosts.join(",")),
        ("--data", text(data)),
        ("--sweep", "2s".to_string()),
        ("--poll", "500ms".to_string()),
        ("--write-pace", "0s".to_string()),
    ];
    Settings::read(arguments.into_iter().flat_map(|(name, value)| [name.to_string(), value]))
}

/// Where the sandbox keeps its files: a folder that vanishes with it, or one that stays.
enum Folder {
    Passing(tempfile::TempDir),
    Kept(PathBuf),
}

impl Folder {
    fn new(keep: Option<&Path>) -> anyhow::Result<Self> {
        Ok(match keep {
            Some(path) => Self::Kept(path.to_path_buf()),
            None => Self::Passing(
                tempfile::Builder::new().prefix("coldframe-demo-").tempdir().context("a temporary folder")?,
            ),
        })
    }

    fn path(&self) -> &Path {
        match self {
            Self::Passing(folder) => folder.path(),
            Self::Kept(path) => path,
        }
    }
}

fn say(text: &str) -> anyhow::Result<()> {
    writeln!(anstream::stdout().lock(), "{text}").context("standard output")
}
