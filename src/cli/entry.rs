//! From the arguments of the process to its exit code. It lies in the library and not in `main.rs`, so that everything
//! that waits is compiled once, and not again in each binary that links it.

use std::process::ExitCode;

use clap::Parser as _;

#[cfg(feature = "demo")]
use super::demo;
use super::{
    Cli, Command, access, catalog, check, compare, doctor, edit, init, log, rehearse, run, server::Server, setup,
    signal,
};

/// Does what the arguments ask for; errors are written to standard error.
pub fn main() -> ExitCode {
    crate::process::settle();
    let cli = Cli::parse();
    let done = runtime().and_then(|runtime| {
        let traces = log::begin(&cli.command)?;
        let done = runtime.block_on(command(cli.command));
        traces.end();
        done
    });
    match done {
        Ok(code) => code,
        Err(error) => {
            anstream::eprintln!("coldframe: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn command(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        #[cfg(feature = "demo")]
        Command::Demo(arguments) => demo::demo(&arguments).await,
        Command::Serve(arguments) => {
            let senders = arguments.wake.senders()?;
            let client = arguments.sign_in.client(&arguments.settings)?;
            let (listen, dashboard) = (arguments.listen, arguments.dashboard);
            let server = Server::bind(arguments.settings, listen, dashboard, &arguments.webhook_secret).await?;
            let server = server.rung_by(senders).open_to(client)?.probed_at(arguments.metrics).await?;
            server.run(stopped).await?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Setup(arguments) => setup::setup(&arguments).await,
        Command::Doctor(settings) => doctor::doctor(&settings, doctor::Out::Stdout).await,
        Command::Once(settings) => run::once(&settings).await,
        Command::Plan(settings) => run::plan(&settings).await,
        Command::Explain(arguments) => run::explain(&arguments).await,
        Command::Signal(arguments) => signal::signal(&arguments).await,
        Command::Edit(arguments) => edit::edit(&arguments),
        Command::Compare(arguments) if arguments.catalog => catalog::run(&arguments).await,
        Command::Compare(arguments) => compare::run(&arguments).await,
        Command::Init(arguments) => init::init(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Access(arguments) => access::access(&arguments),
        Command::Rehearse(arguments) => rehearse::rehearse(&arguments),
        Command::Schema(arguments) => run::schema(&arguments),
    }
}

/// Done when the process is asked to stop.
async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};
    let interrupt = tokio::signal::ctrl_c();
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = interrupt => {}
            _ = terminate.recv() => {}
        },
        Err(_) => drop(interrupt.await),
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    // One provider of cryptography for every client in the process.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}
