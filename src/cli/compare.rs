//! `coldframe compare`: what is different between two releases of a chart, or of a definition in a catalogue. What is
//! compared is in the package `compare`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use compare::{Chart, Definition, Report, compare, compare_definitions};
use decide::Version;

use super::arguments::Compare;
use super::run::say;
use crate::observe::chart::{Found, Mirrors, source};
use crate::observe::net::{Given, Logins, Net, NetSettings};
use crate::policy::wiring;
use crate::proxies::Proxies;
use crate::tell;

/// Exit code where what `--fail-on` names was found.
pub(super) const FOUND: u8 = 3;

/// What makes the exit code 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Anything that breaks whoever follows what the old release promised
    Breaking,
    /// The same in a release that is not a major one, of 0.x not a minor one
    BreakingMinor,
}

/// One of the two.
enum Side {
    Chart(Box<Chart>),
    Definition(Box<Definition>),
}

/// Compares two releases.
pub async fn run(arguments: &Compare) -> anyhow::Result<ExitCode> {
    let net = net(arguments)?;
    let (old, new) = (read(&arguments.old, &net).await?, read(&arguments.new, &net).await?);
    let report = match (&old, &new) {
        (Side::Chart(old), Side::Chart(new)) => compare(old, new),
        (Side::Definition(old), Side::Definition(new)) => compare_definitions(old, new),
        (Side::Chart(_), Side::Definition(_)) | (Side::Definition(_), Side::Chart(_)) => {
            bail!("{} and {} are not of one kind: two charts, or two definitions", arguments.old, arguments.new)
        }
    };
    let text = if arguments.json {
        serde_json::to_string_pretty(&report)? + "\n"
    } else {
        tell::compared(&report, arguments.diff)
    };
    say(&text)?;
    Ok(if arguments.fail_on.is_some_and(|on| fails(on, &report)) { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
}

/// Whether a report has what is not wanted.
pub(super) fn fails(on: FailOn, report: &Report) -> bool {
    let breaks = report.breaking().next().is_some();
    match on {
        FailOn::Breaking => breaks,
        // A version that is none promises nothing, and so allows nothing either.
        FailOn::BreakingMinor => breaks && !is_allowed(&report.old.version, &report.new.version),
    }
}

/// Whether a step may break, by the rules of SemVer.
fn is_allowed(old: &str, new: &str) -> bool {
    match (old.parse::<Version>(), new.parse::<Version>()) {
        (Ok(old), Ok(new)) => new.breaks_after(&old),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}

/// The way out, as the arguments and the environment say.
pub(super) fn net(arguments: &Compare) -> anyhow::Result<Net> {
    let proxies = Proxies::environment().map_err(anyhow::Error::msg)?;
    let allow = Given::read(&arguments.allow_hosts, true)?.of(None);
    let files = Given::read(&arguments.registries, true)?.of(None);
    let logins = Logins::open(files.into_iter().map(Into::into).collect())?;
    Ok(Net::open(NetSettings { allow, logins, proxies })?)
}

async fn read(named: &str, net: &Net) -> anyhow::Result<Side> {
    if ["oci://", "oci+http://", "https://", "http://"].iter().any(|scheme| named.starts_with(scheme)) {
        let package = fetched(named, net).await?;
        return Ok(Side::Chart(Box::new(Chart::read(&package).with_context(|| named.to_string())?)));
    }
    let path = Path::new(named);
    let bytes = std::fs::read(path).with_context(|| {
        format!("{named}: give a package (loki-1.0.0.tgz), a definition (plugindefinition.yaml), or an address with a version (oci://host/path/loki:1.0.0, https://host/path/loki:1.0.0)")
    })?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Side::Chart(Box::new(Chart::read(&bytes).with_context(|| named.to_string())?)));
    }
    let text = String::from_utf8(bytes).with_context(|| format!("{named} is neither a package nor a definition"))?;
    Ok(Side::Definition(Box::new(Definition::read(&text).with_context(|| named.to_string())?)))
}

/// The package of a release at its source: `oci://host/path/chart:version` or `https://repository/chart:version`.
async fn fetched(named: &str, net: &Net) -> anyhow::Result<bytes::Bytes> {
    let wrong = || format!("{named}: write the chart and its version at the end, as in oci://host/path/loki:1.0.0");
    let (address, version) =
        named.rsplit_once(':').filter(|(_, version)| !version.contains('/')).with_context(wrong)?;
    let version: Version = version.parse().ok().with_context(wrong)?;
    let plain = address.strip_prefix("oci+http://");
    let chart = match plain.or_else(|| address.strip_prefix("oci://")) {
        Some(reference) => wiring::Chart::Oci { reference: reference.to_string(), plain: plain.is_some() },
        None => {
            let (repository, name) = address.rsplit_once('/').with_context(wrong)?;
            wiring::Chart::Http { repository: repository.to_string(), name: name.to_string() }
        }
    };
    let source = source(&chart, net, &Mirrors::default())?;
    let found: Option<Found> = source.describe(&version).await?;
    let found = found.with_context(|| format!("{address} has no {version}"))?;
    let package = source.contents(&found).await?.and_then(|contents| contents.package);
    package.with_context(|| format!("the package of {version} is not at {address}"))
}
