//! Notifications: who is told of which events. How they are told is not here.

use decide::{PluginName, TierName};

use super::context::Context;
use crate::file::Word;
use crate::file::{NotifyFile, NotifySelectFile, SecretFile};
use crate::wiring::{Event, Notify, Recipient};
use parse::forms::List;
use parse::read::Spanned;
use parse::report::Report;
use parse::tree::Span;

/// Every notification of the file; what is missing was reported.
pub fn notify(file: Option<&Spanned<List<NotifyFile>>>, context: &Context, report: &mut Report) -> Vec<Notify> {
    let Some(list) = file else { return Vec::new() };
    report.within_key("notify", |report| {
        list.value.items.iter().filter_map(|item| one(&item.value, item.at, context, report)).collect()
    })
}

fn one(file: &NotifyFile, at: Span, context: &Context, report: &mut Report) -> Option<Notify> {
    let on = report.within_key("on", |report| events(file.on.as_ref(), report));
    let (tiers, plugins) = match &file.select {
        Some(select) => report.within_key("select", |report| scope(&select.value, context, report)),
        None => (Vec::new(), Vec::new()),
    };
    Some(Notify { to: recipient(file, at, report)?, on, tiers, plugins })
}

/// The one place where it goes.
fn recipient(file: &NotifyFile, at: Span, report: &mut Report) -> Option<Recipient> {
    let secret = |file: &Option<Spanned<SecretFile>>| Some(file.as_ref()?.value.secret.as_ref()?.value.0.clone());
    let given = [file.slack.is_some(), file.teams.is_some(), file.webhook.is_some()];
    match given.into_iter().filter(|given| *given).count() {
        0 => {
            report.wrong(at, "it goes nowhere", Some("add `slack:`, `teams:` or `webhook:`"));
            return None;
        }
        1 => {}
        _ => {
            report.wrong(at, "it goes to several places", Some("write one notification for each"));
            return None;
        }
    }
    let slack = file.slack.as_ref().map(|slack| Some(Recipient::Slack { url: secret(&slack.value.url)? }));
    let teams = file.teams.as_ref().map(|teams| Some(Recipient::Teams { url: secret(&teams.value.url)? }));
    let webhook = file
        .webhook
        .as_ref()
        .map(|webhook| Some(Recipient::Webhook { url: secret(&webhook.value.url)?, key: secret(&webhook.value.key)? }));
    slack.or(teams).or(webhook).flatten()
}

fn events(given: Option<&Spanned<List<Word<Event>>>>, report: &mut Report) -> Vec<Event> {
    let Some(given) = given else { return Event::DEFAULT.to_vec() };
    if given.value.is_empty() {
        report.wrong(given.at, "no event is named", Some("name one, or take the notification out"));
    }
    let mut events: Vec<Event> = given.value.items.iter().map(|item| item.value.0).collect();
    events.sort();
    events.dedup();
    events
}

fn scope(select: &NotifySelectFile, context: &Context, report: &mut Report) -> (Vec<TierName>, Vec<PluginName>) {
    let tiers = select.tiers.iter().flat_map(|list| &list.value.items);
    let tiers: Vec<TierName> =
        tiers.filter(|name| context.knows_tier(name, report)).map(|name| TierName::new(name.value.0.clone())).collect();
    let plugins = select.plugins.iter().flat_map(|list| &list.value.items);
    let plugins = plugins.filter(|name| context.knows_plugin(name, report));
    (tiers, plugins.map(|name| PluginName::new(name.value.0.clone())).collect())
}
