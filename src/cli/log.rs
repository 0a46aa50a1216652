//! Where the log goes, and, where an endpoint is given, the traces. What is logged is said where it happens; what spans
//! are called in `trace`, how they are sent in `otlp`.

use std::fmt;
use std::io::IsTerminal as _;

use anyhow::Context as _;
use opentelemetry::trace::TracerProvider as _;
use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use super::Command;
use super::otlp::Traces;
use crate::trace;

type Boxed = Box<dyn Layer<Registry> + Send + Sync>;

/// Begins to log, and to send traces, as the environment and the command say.
///
/// # Errors
/// Where `COLDFRAME_LOG` cannot be read, or no traces can be sent to what is given as their endpoint.
pub fn begin(command: &Command) -> anyhow::Result<Traces> {
    let lines = lines(command)?;
    let traces = Traces::open(endpoint(command))?;
    let spans = traces.provider().map(|provider| {
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("coldframe"));
        let layer = layer.with_location(false).with_threads(false).with_target(false).with_tracked_inactivity(false);
        layer.with_filter(Targets::new().with_target(trace::TARGET, LevelFilter::DEBUG)).boxed()
    });
    let layers: Vec<Boxed> = std::iter::once(lines).chain(spans).collect();
    tracing_subscriber::registry().with(layers).init();
    Ok(traces)
}

/// Logs go to standard error: plain for people, with colours on a terminal alone, JSON with
/// `COLDFRAME_LOG_FORMAT=json`; how much `COLDFRAME_LOG` says. A server says by itself where it is, what it looks
/// after and what it does; the other commands print that.
fn lines(command: &Command) -> anyhow::Result<Boxed> {
    let usual = if matches!(command, Command::Serve(_)) {
        format!("coldframe=warn,coldframe::cli=info,{}=info", trace::TARGET)
    } else {
        format!("coldframe=warn,{}=off", trace::TARGET)
    };
    let given = std::env::var("COLDFRAME_LOG").ok().filter(|given| !given.is_empty());
    let filter = EnvFilter::builder().parse(given.unwrap_or(usual)).context(
        "COLDFRAME_LOG is a level (error, warn, info, debug, trace) or a list of target=level, such as coldframe=debug",
    )?;
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(!plain && std::io::stderr().is_terminal());
    Ok(if std::env::var("COLDFRAME_LOG_FORMAT").is_ok_and(|format| format == "json") {
        lines.json().with_filter(filter).boxed()
    } else {
        lines.with_target(false).fmt_fields(debug_fn(field).delimited(" ")).with_filter(filter).boxed()
    })
}

/// A field of a plain line. Texts of others neither end the line nor move the cursor.
fn field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    if field.name() != "message" {
        write!(writer, "{field}=")?;
    }
    for c in format!("{value:?}").chars() {
        match c {
            '"' | '\'' | '\\' => writer.write_char(c)?,
            c => write!(writer, "{}", c.escape_debug())?,
        }
    }
    Ok(())
}

/// Where the traces of a command go; only those that look at a repository have any.
fn endpoint(command: &Command) -> Option<&str> {
    let settings = match command {
        Command::Serve(arguments) => &arguments.settings,
        Command::Explain(arguments) => &arguments.settings,
        Command::Once(settings) | Command::Plan(settings) => settings,
        #[cfg(feature = "demo")]
        Command::Demo(_) => return None,
        Command::Doctor(_)
        | Command::Init(_)
        | Command::Setup(_)
        | Command::Signal(_)
        | Command::Edit(_)
        | Command::Compare(_)
        | Command::Check(_)
        | Command::Access(_)
        | Command::Rehearse(_)
        | Command::Schema(_) => return None,
    };
    settings.otlp_endpoint.as_deref().filter(|endpoint| !endpoint.is_empty())
}
