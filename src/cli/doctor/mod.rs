//! `coldframe doctor`: looks at everything that the bot needs, says what is as it should be, and for the rest the
//! sentence that mends it. It writes nothing anywhere.

mod hub;
mod reach;
mod report;

use std::process::ExitCode;
use std::sync::Arc;

use jiff::SignedDuration;

pub use self::report::{Out, Report};
use super::run;
use super::settings::Settings;
use crate::act::Line;
use crate::hub::registration::OwnApp;
use crate::hub::{Hub, HubError, Repository};
use crate::observe;
use crate::observe::watch::Watches;
use crate::policy::Mode;
use crate::repo::Repo;
use crate::secret::Secret;

/// Looks at everything and says what it found.
///
/// # Errors
/// The settings themselves are wrong, or the lines could not be written.
pub async fn doctor(settings: &Settings, out: Out) -> anyhow::Result<ExitCode> {
    let mut report = Report::new(out, &secrets(settings)?);
    let hub = run::hub(settings)?;
    report.part("The hub")?;
    if let Ok(app) = hub::identity(&mut report, &hub, settings).await? {
        if let Some(app) = &app {
            hub::webhooks(&mut report, &hub, settings.hub.trim_end_matches('/'), app).await?;
        }
        for name in names(&mut report, &hub, settings).await? {
            repository(&mut report, (&hub, settings, app.as_ref()), &name).await?;
        }
    } else {
        report.unasked("everything else, which is asked of the hub or found by it")?;
    }
    report.end()?;
    Ok(if report.is_well() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What must not be said.
fn secrets(settings: &Settings) -> anyhow::Result<Vec<Secret>> {
    use crate::hub::Credentials;
    let of = |credentials: Credentials| match credentials {
        Credentials::App { key, .. } => key,
        Credentials::Token(token) => token,
    };
    let own = of(settings.credentials()?);
    let ledger = settings.ledger_key.iter().flat_map(|keys| keys.split(',')).map(Secret::new);
    Ok(std::iter::once(own).chain(settings.bypass()?.map(of)).chain(ledger).collect())
}

/// The repositories that the settings speak of, `owner/name`.
async fn names(report: &mut Report, hub: &Hub, settings: &Settings) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in &settings.repository {
        let Some(account) = entry.strip_suffix("/*") else {
            names.push(entry.clone());
            continue;
        };
        match hub.repositories(account).await {
            Ok(listed) if listed.repositories.is_empty() => report.bad(
                &format!("the App reaches no repository of {account}"),
                "Install it there, or look at --repository.",
            )?,
            Ok(listed) => names.extend(listed.repositories.iter().map(Repository::full_name)),
            Err(error) => {
                let mend = hub.look_at(&error).await.unwrap_or("Try again in a moment.");
                report.bad(&format!("the repositories of {account} were not told: {error}"), mend)?;
            }
        }
    }
    if settings.repository.is_empty() {
        report.unasked("no repository is named: give --repository OWNER/NAME to have one looked at")?;
    }
    Ok(names)
}

async fn repository(
    report: &mut Report,
    (hub, settings, app): (&Hub, &Settings, Option<&OwnApp>),
    name: &str,
) -> anyhow::Result<()> {
    report.part(name)?;
    let repository = match hub.repository(name).await {
        Ok(repository) => repository,
        Err(error) => return unreached(report, (hub, app), name, &error).await,
    };
    match app {
        Some(app) => report.good(&format!("the App {} is installed there", app.slug))?,
        None => report.good("the token reaches it")?,
    }
    if repository.archived {
        report.bad("it is archived: nothing can be written there", "Unarchive it, or leave it out of --repository.")?;
    }
    let address = settings.hub.trim_end_matches('/');
    match (app, hub.installed(name).await) {
        (Some(app), Ok(Some(installed))) => hub::permissions(report, address, app, &installed)?,
        (Some(_), Err(error)) => report.doubt(&format!("what it may do there was not told: {error}"), "")?,
        (Some(_), Ok(None)) | (None, _) => {}
    }
    let opened = match hub.open(&repository).await {
        Ok(opened) => opened,
        Err(error) => {
            return report
                .bad(&format!("there is no token for it: {error}"), hub.look_at(&error).await.unwrap_or_default());
        }
    };
    hub::ledger(report, &opened, app).await?;
    hub::merging(report, hub, &opened, &repository).await?;
    let alone = settings.wanted()?.is_one();
    let mode = if alone { Mode::Once } else { Mode::Serve };
    let reach = run::reach(settings, mode, alone)?.of(repository.id);
    let look_again = SignedDuration::try_from(settings.poll)?;
    let watches = Watches::that_ends(Arc::clone(&reach.clusters), run::progress());
    let repo = Repo::open(repository, opened, reach.seal.clone(), &settings.data_folder())?;
    let setting = Arc::new(settings.setting(mode)?);
    let mut line = Line::new(observe::Context::new(repo, reach, watches, look_again, setting));
    line.context.only_needed = true;
    reach::reach(report, &mut line).await
}

/// The repository could not be read.
async fn unreached(
    report: &mut Report,
    (hub, app): (&Hub, Option<&OwnApp>),
    name: &str,
    error: &HubError,
) -> anyhow::Result<()> {
    match (app, error) {
        (Some(app), HubError::NotFound { .. }) => report.bad(
            &format!("the App {} is not installed on {name}, or nothing is called so", app.slug),
            &format!("Install it: {}/installations/new", app.page),
        ),
        (Some(_), HubError::Forbidden { .. }) => report.bad(
            &format!("the hub lets the App do nothing there: {error}"),
            "Its installation is suspended, or the account's policy forbids it: look at the account's GitHub Apps.",
        ),
        (Some(_) | None, _) => {
            report.bad(&error.to_string(), hub.look_at(error).await.unwrap_or("Try again in a moment."))
        }
    }
}
