//! Notifications: who is told of which events. How they are told is not here.

use decide::{PluginName, TierName};

use super::context::Context;
use crate::file::Word;
use crate::file::{NotifyFile, NotifySelectFile};
use crate::wiring::{Event, Notify};
use parse::forms::List;
use parse::read::Spanned;
use parse::report::Report;

/// Every notification of the file; what is missing was reported.
pub fn notify(file: Option<&Spanned<List<NotifyFile>>>, context: &Context, report: &mut Report) -> Vec<Notify> {
    let Some(list) = file else { return Vec::new() };
    report.within_key("notify", |report| {
        list.value.items.iter().filter_map(|item| one(&item.value, context, report)).collect()
    })
}

fn one(file: &NotifyFile, context: &Context, report: &mut Report) -> Option<Notify> {
    let on = report.within_key("on", |report| events(file.on.as_ref(), report));
    let (tiers, plugins) = match &file.select {
        Some(select) => report.within_key("select", |report| scope(&select.value, context, report)),
        None => (Vec::new(), Vec::new()),
    };
    let slack = file.slack.as_ref()?.value.url.as_ref()?.value.secret.as_ref()?.value.0.clone();
    Some(Notify { slack, on, tiers, plugins })
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
