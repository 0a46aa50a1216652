//! Runs the commands that end by themselves: once, plan, explain, schema.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use decide::{PluginName, TierName};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::SignedDuration;

use super::settings::Settings;
use super::{Explain, Schema, workflow};
use crate::act::Line;
use crate::act::Receipt;
use crate::hub::{Bases, Hub};
use crate::observe::chart::Trust;
use crate::observe::cluster::Clusters;
use crate::observe::net::{Given, Logins, Net, NetError, NetSettings};
use crate::observe::watch::{Progress, Watches};
use crate::observe::{self, Reach};
use crate::policy::{self, Loaded, Mode};
use crate::proxies::Proxies;
use crate::repo::Repo;
use crate::secret::Secrets;
use crate::signal::Make;
use crate::tick::{self, Ticked};
use crate::{clock, tell};

/// So often a line says how far the clusters are read, where there is no terminal.
const SLOW: SignedDuration = SignedDuration::from_secs(10);
/// Passes of `once` at most: each acts on what the one before it did.
const MOST_PASSES: usize = 20;

/// One run over one repository: passes until nothing more is to be done.
pub async fn once(settings: &Settings) -> anyhow::Result<ExitCode> {
    workflow::refuse_untrusted_events()?;
    let mut line = open_one(settings).await?;
    workflow::refuse_other_branches(settings, &line.context.repo.repository).await?;
    line.context.only_needed = true;
    let mut refused = Vec::new();
    let mut last = None;
    let mut done = Vec::new();
    for _ in 0..MOST_PASSES {
        let ticked = tick::tick(&mut line).await?;
        refused =
            ticked.receipts.iter().filter(|receipt| receipt.refusal().is_some()).map(ToString::to_string).collect();
        for receipt in &ticked.receipts {
            say(&receipt.to_string())?;
            match receipt {
                Receipt::Noted(_) => {}
                Receipt::Done(what) => done.push(what.clone()),
                Receipt::Moved(_) | Receipt::Refused(_) => done.push(receipt.to_string()),
            }
        }
        let goes_on = ticked.receipts.iter().any(Receipt::changed);
        last = Some(ticked);
        if !goes_on {
            break;
        }
    }
    let now = clock::now();
    line.context.repo.flush(now).await?;
    let Some(Ticked { seen, plan, notify_error, .. }) = last else { return Ok(ExitCode::SUCCESS) };
    let view = tell::View::new(&line.context.repo.full_name(), &seen.web, &seen.snapshot, plan, now).having(done);
    let token = line.context.repo.hub.is_workflow_token().then(|| workflow::TOKEN.to_string());
    let view = tell::View { trouble: view.trouble.clone().or(token), ..view };
    say(&tell::board(&view, now))?;
    unasked(settings, &seen.loaded)?;
    workflow::step_summary(&tell::step_summary(&view, now)?)?;
    if let Some(problem) = &seen.snapshot.policy_problem {
        bail!("{problem}");
    }
    if let Some(why) = notify_error {
        bail!("{why}");
    }
    Ok(if refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What `once` would do.
pub async fn plan(settings: &Settings) -> anyhow::Result<ExitCode> {
    let mut line = open_one(settings).await?;
    line.context.only_needed = true;
    let (seen, plan) = tick::look(&mut line).await?;
    let now = clock::now();
    let view = tell::View::new(&line.context.repo.full_name(), &seen.web, &seen.snapshot, plan, now);
    say(&tell::board(&view, now))?;
    unasked(settings, &seen.loaded)?;
    let ladder = seen.snapshot.policy.plugins.first().map_or(&[][..], |plugin| plugin.tiers.as_slice());
    say(&tell::clusters(&seen.snapshot.clusters, ladder))?;
    say(&tell::places(&seen.places()))?;
    if let Some(problem) = &seen.snapshot.policy_problem {
        bail!("{problem}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Says where clusters are to be asked and nobody gave their kubeconfigs: all of them would only seem to be on their way.
fn unasked(settings: &Settings, loaded: &Loaded) -> anyhow::Result<()> {
    let mut signals = loaded.wiring.plugins.values().flat_map(|plugin| &plugin.signals);
    if settings.clusters.is_none() && signals.any(|signal| matches!(signal.kind.make, Make::Object(_))) {
        say("No cluster can be asked: give the folder with their kubeconfigs (--clusters, COLDFRAME_CLUSTERS).")?;
    }
    Ok(())
}

/// Every gate of a plugin's waves, or the page of all reasons.
pub async fn explain(arguments: &Explain) -> anyhow::Result<ExitCode> {
    if arguments.reasons {
        say(tell::reasons::page()?.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut line = open_one(&arguments.settings).await?;
    let (seen, plan) = tick::look(&mut line).await?;
    let Some(plugin) = arguments.plugin.as_deref().map(PluginName::from) else {
        let names: Vec<&str> = seen.snapshot.policy.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        say(&format!("Which plugin? The policy has {}.", names.join(", ")))?;
        return Ok(ExitCode::SUCCESS);
    };
    let now = clock::now();
    let view = tell::View::new(&line.context.repo.full_name(), &seen.web, &seen.snapshot, plan, now);
    let tier = arguments.tier.as_deref().map(TierName::from);
    let readings = seen.snapshot.plugins.get(&plugin).map(|facts| facts.readings.clone()).unwrap_or_default();
    say(&tell::explain(&view, (&plugin, tier.as_ref()), &readings, now)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the JSON Schema of the policy file, or of the operator's limits.
pub fn schema(arguments: &Schema) -> anyhow::Result<ExitCode> {
    let schema = if arguments.limits { policy::limits_schema() } else { policy::schema() };
    say(&serde_json::to_string_pretty(&schema)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The hub of the settings.
pub fn hub(settings: &Settings) -> anyhow::Result<Hub> {
    let bases = Bases::from_hub(&settings.hub)?;
    Ok(Hub::with_pace(bases, settings.credentials()?, settings.bypass()?, settings.write_pace)?)
}

/// What the settings let us reach: clusters, hosts, secrets. The environment holds secrets of the one
/// repository that a single run is about.
pub fn reach(settings: &Settings, mode: Mode, alone: bool) -> anyhow::Result<Reach> {
    let hosts = Given::read(&settings.allow_hosts, alone)?;
    let files = Given::read(&settings.registries, alone)?;
    let proxies = Proxies::environment().map_err(anyhow::Error::msg)?;
    let net = |repository| {
        let logins = Logins::open(files.of(repository).into_iter().map(PathBuf::from).collect())?;
        let allow = hosts.of(repository);
        Ok::<_, NetError>(Arc::new(Net::open(NetSettings { allow, logins, proxies: proxies.clone() })?))
    };
    let owners: BTreeSet<u64> = hosts.owners().chain(files.owners()).collect();
    let own = owners.into_iter().map(|owner| Ok((owner, net(Some(owner))?))).collect::<Result<_, NetError>>()?;
    let net = net(None)?;
    let clusters = match &settings.clusters {
        Some(folder) => Clusters::open(folder, hosts)?,
        None => Clusters::none(),
    };
    let secrets = Secrets::new(settings.secrets.clone(), mode == Mode::Once);
    let clusters = Arc::new(clusters);
    let trust = Arc::new(settings.trusted_root.as_deref().map_or_else(Trust::pinned, Trust::open)?);
    let (seal, dashboard) = (settings.seal()?, settings.public_address()?);
    Ok(Reach { clusters, net, own: Arc::new(own), secrets, trust, seal, dashboard, alone })
}

async fn open_one(settings: &Settings) -> anyhow::Result<Line> {
    let setting = Arc::new(settings.setting(Mode::Once)?);
    let hub = hub(settings)?;
    let repository = match hub.repository(settings.the_repository()?).await {
        Ok(repository) => repository,
        Err(error) => {
            let look_at = hub.look_at(&error).await;
            let error = anyhow::Error::new(error);
            return Err(look_at.into_iter().fold(error, |error, look_at| error.context(look_at)));
        }
    };
    let reach = reach(settings, Mode::Once, true)?.of(repository.id);
    let look_again = SignedDuration::try_from(settings.poll)?;
    let opened = hub.open(&repository).await?;
    let watches = Watches::that_ends(Arc::clone(&reach.clusters), progress());
    let repo = Repo::open(repository, opened, reach.seal.clone(), &settings.data_folder())?;
    Ok(Line::new(observe::Context::new(repo, reach, watches, look_again, setting)))
}

/// A bar on a terminal while clusters are read; elsewhere, such as in the log of a workflow, a line now and then.
pub(super) fn progress() -> Progress {
    let bar = ProgressBar::hidden();
    if std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("reading clusters {wide_bar:.cyan/dim} {human_pos} of {human_len}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━━─"));
    }
    let said = Mutex::new(clock::now());
    Progress::new(move |done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
        if done >= of {
            bar.finish_and_clear();
        } else if bar.is_hidden() {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            let now = clock::now();
            if *said + SLOW < now {
                *said = now;
                tracing::info!("reading clusters: {done} of {of}");
            }
        }
    })
}

/// Prints; colours only where the terminal has them.
pub(super) fn say(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match writeln!(out, "{}", text.trim_end()) {
        // Who closed the other end does not want to know, and what is being done is done to its end.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        told => told.context("standard output"),
    }
}
