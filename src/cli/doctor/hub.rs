//! What `doctor` looks at at the hub: who we are there, what our App may do, whether its webhooks arrive, who may push
//! the ledger.

use jiff::{SignedDuration, Unit};

use super::report::Report;
use crate::branches::LEDGER;
use crate::cli::settings::Settings;
use crate::hub::needs::{NEEDS, Weight};
use crate::hub::registration::{Guard, HookDelivery, Installed, OwnApp};
use crate::hub::{Hub, HubError, RepoHub, Repository};

/// A clock that is wrong by more makes signatures of Apps that GitHub refuses (they are good for ten minutes at most).
const SKEWED: SignedDuration = SignedDuration::from_secs(30);

/// How long ago the last webhook arrived where one that is lost may be of a restart.
const A_WHILE: SignedDuration = SignedDuration::from_mins(10);

/// Whether the hub answers and knows us. What it says of our App, none for a token; or that nothing can be asked there.
pub async fn identity(
    report: &mut Report,
    hub: &Hub,
    settings: &Settings,
) -> anyhow::Result<Result<Option<OwnApp>, ()>> {
    let known = match hub.own_app().await {
        Ok(None) => hub.login().await.map(|login| (None, format!("the token is {login}'s"))),
        Ok(Some(app)) => {
            let owner = app.owner.as_ref().map_or_else(String::new, |(owner, _)| format!(" of {owner}"));
            let said = format!("it knows the App {} ({}){owner}", app.slug, app.id);
            Ok((Some(app), said))
        }
        Err(error) => Err(error),
    };
    let clock = clock(report, hub)?;
    let address = &settings.hub;
    match known {
        Ok((app, said)) => {
            report.good(&format!("{address} answers, and {said}"))?;
            Ok(Ok(app))
        }
        Err(error) => {
            let what = format!("{address} does not let us in: {error}");
            report.bad(&what, &unknown(hub, settings, &error, clock).await)?;
            Ok(Err(()))
        }
    }
}

/// What lets us in.
async fn unknown(hub: &Hub, settings: &Settings, error: &HubError, clock: bool) -> String {
    if matches!(error, HubError::Unreachable { .. }) {
        return "Look at --hub, at the network from here, and at HTTPS_PROXY where a proxy leads out.".to_string();
    }
    match (error, settings.app_id) {
        (HubError::Unauthorized { .. }, Some(_)) if !clock => {
            "Set the clock first; nothing else can be said before.".into()
        }
        (HubError::Unauthorized { .. }, Some(id)) => format!(
            "--app-key is no private key of App {id}. Make one at the App's settings (General, Private keys), or look at \
             --app-id."
        ),
        (HubError::NotFound { .. }, Some(_)) => "Look at --app-id: the hub knows no App of that number.".to_string(),
        _ => hub.look_at(error).await.unwrap_or("Try again in a moment.").to_string(),
    }
}

/// Whether this machine's clock is right, as far as an answer of the hub tells.
fn clock(report: &mut Report, hub: &Hub) -> anyhow::Result<bool> {
    let skew = hub.skew();
    if skew.abs() <= SKEWED {
        return Ok(true);
    }
    let way = if skew.is_positive() { "ahead of" } else { "behind" };
    // To the minute, since the hub says its time in whole seconds and its answer takes a while.
    let by = if skew.abs() < SignedDuration::from_mins(2) { Unit::Second } else { Unit::Minute };
    report.bad(
        &format!("this machine's clock is {:#} {way} the hub's", skew.abs().round(by)?),
        "Set it by NTP (`timedatectl set-ntp true`): GitHub refuses an App's signature from another time.",
    )?;
    Ok(false)
}

/// Whether the App may do what it needs to do, where it is installed.
pub fn permissions(report: &mut Report, hub: &str, app: &OwnApp, installed: &Installed) -> anyhow::Result<()> {
    if let Some(since) = &installed.suspended {
        report.bad(
            &format!("the installation is suspended since {since}"),
            &format!("Unsuspend it at {}.", installed.page),
        )?;
    }
    let mut missing = 0;
    for need in &NEEDS {
        let granted = installed.permissions.get(need.permission).map(String::as_str);
        if need.is_met_by(granted) {
            continue;
        }
        missing += 1;
        let has = granted.map_or("not granted", |_| "read alone");
        let what = format!("the permission `{}: {}` is {has}: {}", need.permission, need.level, need.without);
        let mend = format!("Give it at {hub}{}/permissions, then accept it at {}.", app.settings(), installed.page);
        match need.weight {
            Weight::Must => report.bad(&what, &mend)?,
            Weight::Part => report.doubt(&what, &mend)?,
        }
    }
    if missing == 0 {
        report.good("it has every permission that it needs")?;
    }
    Ok(())
}

/// Whether what people do rings, and the rings arrive.
pub async fn webhooks(report: &mut Report, hub: &Hub, address: &str, app: &OwnApp) -> anyhow::Result<()> {
    let settings = format!("{address}{}", app.settings());
    let wanted = NEEDS.iter().flat_map(|need| need.events);
    let missing: Vec<&str> = wanted.copied().filter(|event| !app.events.iter().any(|known| known == event)).collect();
    if missing.is_empty() {
        report.good("it is subscribed to every event")?;
    } else {
        report.doubt(
            &format!("it is not subscribed to {}: what happens there is seen with the next look", missing.join(", ")),
            &format!("Subscribe it at {settings}/permissions; an event is offered once its permission is given."),
        )?;
    }
    match hub.hook().await {
        Ok(Some(url)) => arrive(report, hub, &url, &settings).await,
        Ok(None) => report.doubt(
            "it has no webhook: `serve` looks every five minutes instead of at once",
            &format!(
                "For `serve`, set the address that GitHub reaches, …/webhook, at {settings}. A workflow needs none."
            ),
        ),
        Err(error) => report.doubt(&format!("where its webhooks go was not told: {error}"), ""),
    }
}

async fn arrive(report: &mut Report, hub: &Hub, url: &str, settings: &str) -> anyhow::Result<()> {
    let place = url::Url::parse(url).ok();
    let shown = place.as_ref().map_or_else(
        || "an address that is none".to_string(),
        |url| format!("{}{}", url.host_str().unwrap_or_default(), url.path()),
    );
    if place.as_ref().is_none_or(|url| url.path() != "/webhook") {
        report.doubt(
            &format!("its webhooks go to {shown}; `serve` takes them at /webhook"),
            &format!("Set the address at {settings}, unless something on the way turns it into that."),
        )?;
    }
    let deliveries = match hub.deliveries().await {
        Ok(deliveries) => deliveries,
        Err(error) => return report.doubt(&format!("whether webhooks arrive was not told: {error}"), ""),
    };
    let (Some(newest), all) = (deliveries.first(), deliveries.len()) else {
        return report.unasked(&format!("no webhook was sent to {shown} yet"));
    };
    let taken = |one: &&HookDelivery| (200..300).contains(&one.status_code);
    if taken(&newest) {
        let good = deliveries.iter().filter(taken).count();
        return report.good(&format!("webhooks arrive at {shown}: {good} of the last {all} were taken"));
    }
    let at = newest.delivered_at.strftime("%F %H:%M UTC");
    match newest.status_code {
        // What is lost in a restart is no broken set-up: everything is looked at every few minutes anyway.
        0 | 500..
            if deliveries
                .iter()
                .find(taken)
                .is_some_and(|last| newest.delivered_at.duration_since(last.delivered_at) < A_WHILE) =>
        {
            report.doubt(
                &format!(
                    "the webhook of {at} was lost on the way to {shown} ({}); others arrived shortly before",
                    newest.status
                ),
                "Look again after the next one, unless `serve` was just started anew.",
            )
        }
        401 | 403 => report.bad(
            &format!("the webhook of {at} was refused at {shown}: it was signed with another secret"),
            &format!("Let --webhook-secret be the secret that is set at {settings}."),
        ),
        0 => report.bad(
            &format!("the webhook of {at} got no answer from {shown} ({})", newest.status),
            "Look whether GitHub reaches that address: name, certificate, firewall, ingress, and whether `serve` runs.",
        ),
        code => report.bad(
            &format!("the webhook of {at} was answered {code} at {shown}"),
            "Something else than `serve` answers there: look at the ingress.",
        ),
    }
}

/// Whether nobody but us pushes the ledger.
pub async fn ledger(report: &mut Report, hub: &RepoHub, app: Option<&OwnApp>) -> anyhow::Result<()> {
    let name = hub.repository().full_name();
    match hub.guard(LEDGER).await {
        Ok(Guard::Ours) => report.good(&format!("nobody but the App pushes `{LEDGER}`")),
        Ok(Guard::Hidden) => report.doubt(
            &format!("`{LEDGER}` is protected, and only administrators can read how"),
            "Look whether the App alone may push it. A ruleset would say so by itself.",
        ),
        Ok(Guard::Shut(rules)) => report.bad(
            &format!("the App may not push `{LEDGER}`: the ruleset `{rules}` keeps it out"),
            &format!("Put it on the bypass list of that ruleset (Settings, Rules), with `Always allow`, or take `{LEDGER}` out of it."),
        ),
        Ok(Guard::Open(ways)) => {
            let ways = ways.join(" and ");
            let what = format!("whoever may write to {name} can {ways} `{LEDGER}`, and so stop the bot");
            match app {
                Some(app) => report.bad(&what, &format!("Let nobody but the App:\n{}", ruleset(&name, app.id))),
                None => report.doubt(&what, "A ruleset cannot make an exception for a token; use an App."),
            }
        }
        Err(error) => report.doubt(&format!("who may push `{LEDGER}` was not told: {error}"), ""),
    }
}

/// The command that protects the ledger, for an administrator.
pub fn ruleset(repository: &str, app: u64) -> String {
    let rules = serde_json::json!({
        "name": LEDGER, "target": "branch", "enforcement": "active",
        "conditions": {"ref_name": {"include": [format!("refs/heads/{LEDGER}")], "exclude": []}},
        "rules": [{"type": "creation"}, {"type": "update"}, {"type": "deletion"}, {"type": "non_fast_forward"}],
        "bypass_actors": [{"actor_id": app, "actor_type": "Integration", "bypass_mode": "always"}],
    });
    format!("gh api repos/{repository}/rulesets --input - <<'JSON'\n{rules}\nJSON")
}

/// Whether a second App is of use where it is set up, and whether the first one is bound by the rules of merges.
pub async fn merging(report: &mut Report, hub: &Hub, opened: &RepoHub, repository: &Repository) -> anyhow::Result<()> {
    match hub.bypass_app().await {
        Ok(None) => {}
        Ok(Some(app)) if opened.has_bypass() => report.good(&format!("the second App, {}, is installed", app.slug))?,
        Ok(Some(app)) => report.bad(
            &format!("the second App, {}, is not installed on {}: nothing is forced", app.slug, repository.full_name()),
            &format!("Install it: {}/installations/new", app.page),
        )?,
        Err(error) => report.bad(
            &format!("the hub does not know the second App: {error}"),
            "Look at --bypass-app-id and --bypass-app-key.",
        )?,
    }
    let branch = &repository.default_branch;
    match opened.branch_rules(branch).await {
        Ok(_) => report.good(&format!("the rules of `{branch}` can be read, and they bind the App")),
        Err(error @ HubError::Setup(_)) => report.bad(&error.to_string(), ""),
        Err(error) => report.bad(
            &format!("the rules of `{branch}` cannot be read: {error}"),
            "Nothing is merged while nobody knows what is required.",
        ),
    }
}
