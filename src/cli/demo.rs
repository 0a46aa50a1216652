//! `coldframe demo`: starts the sandbox and points the very same `serve` at it, over HTTP only.

use std::process::ExitCode;

use anyhow::Context;

use super::serve::Server;
use super::settings::Settings;
use super::{Cli, Command, Demo};
use crate::demo::{Options, World};

/// Starts the world, and unless only that is wanted the bot beside it.
pub async fn demo(arguments: &Demo) -> anyhow::Result<ExitCode> {
    let world = World::start(Options { keep: arguments.keep.clone(), ..Options::default() }).await?;
    if arguments.world {
        return only_the_world(&world).await;
    }
    let settings = settings(&world)?;
    let server = Server::bind(settings, arguments.listen, &world.settings().webhook_secret).await?;
    let address = server.address()?;
    world.set_webhook(&format!("http://{address}/webhook"));
    world.greet(&format!("http://{address}/"));
    let story = async {
        let outcome = world.run_story(arguments.hands_on).await?;
        if !arguments.once {
            world.linger().await;
        }
        Ok(outcome)
    };
    tokio::select! {
        served = server.run(std::future::pending()) => served.map(|()| ExitCode::FAILURE),
        told = story => told.map(|outcome: crate::demo::Outcome| if outcome.held() { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::SUCCESS),
    }
}

async fn only_the_world(world: &World) -> anyhow::Result<ExitCode> {
    world.introduce();
    tokio::signal::ctrl_c().await.context("waiting for an interrupt")?;
    Ok(ExitCode::SUCCESS)
}

/// The settings with which anybody would point `serve` at this world: read by the same parser.
fn settings(world: &World) -> anyhow::Result<Settings> {
    use clap::Parser as _;
    let mut arguments = vec!["coldframe".to_string(), "once".to_string()];
    arguments.extend(world.settings().arguments());
    match Cli::try_parse_from(arguments)?.command {
        Command::Once(settings) => Ok(settings),
        _ => anyhow::bail!("the sandbox's settings are not those of a run"),
    }
}
