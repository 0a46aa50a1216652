//! Notifications: who is told of which events. How they are told is not here.

use decide::{PluginName, TierName};

use super::context::Context;
use super::pulls::items;
use crate::file::Word;
use crate::file::{EmailFile, IssueFile, NotifyFile, NotifySelectFile, SecretFile};
use crate::wiring::{Event, Notify, Recipient};
use parse::forms::List;
use parse::read::Spanned;
use parse::report::Report;
use parse::tree::Span;

/// Addresses of one notification, each of which gets its own copy.
const ADDRESSES: usize = 20;
/// Whom one comment mentions.
const MENTIONS: usize = 10;

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
    let chats = [file.slack.is_some(), file.teams.is_some(), file.webhook.is_some()];
    let given = chats.into_iter().chain([file.email.is_some(), file.issue.is_some()]);
    match given.filter(|given| *given).count() {
        0 => {
            report.wrong(at, "it goes nowhere", Some("add `slack:`, `teams:`, `webhook:`, `email:` or `issue:`"));
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
    let email = file.email.as_ref().map(|file| report.within_key("email", |report| email(&file.value, report)));
    let issue = file.issue.as_ref().map(|file| report.within_key("issue", |report| issue(&file.value, report)));
    slack.or(teams).or(webhook).or(email).or(issue).flatten()
}

fn secret(file: &Option<Spanned<SecretFile>>) -> Option<String> {
    Some(file.as_ref()?.value.secret.as_ref()?.value.0.clone())
}

fn email(file: &EmailFile, report: &mut Report) -> Option<Recipient> {
    let given = file.to.as_ref()?;
    report.within_key("to", |report| match given.value.items.len() {
        0 if !given.value.refused => report.wrong(given.at, "nobody is named", Some("write `to: [kim@acme.example]`")),
        many if many > ADDRESSES => {
            let why = format!("{many} addresses, and {ADDRESSES} is the most");
            report.wrong(given.at, &why, Some("write the address of a mailing list"));
        }
        _ => {}
    });
    let to = items(Some(given), |address| address.0.clone());
    Some(Recipient::Email { smtp: secret(&file.smtp)?, to })
}

fn issue(file: &IssueFile, report: &mut Report) -> Option<Recipient> {
    let mention = items(file.mention.as_ref(), |name| name.0.clone());
    if let Some(list) = file.mention.as_ref().filter(|_| mention.len() > MENTIONS) {
        let why = format!("{} people and teams, and {MENTIONS} is the most", mention.len());
        report.within_key("mention", |report| report.wrong(list.at, &why, Some("mention a team")));
    }
    Some(Recipient::Issue { number: file.number.as_ref()?.value.0, mention })
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
