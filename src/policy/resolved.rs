//! `coldframe check --resolved`: the policy as one file without presets, with every default written out.
//! Reading it again gives the same policy. What the keys mean is decided in `resolve`.

mod changes;
mod plugin;
mod tier;

use decide::model::{Freeze, Limits, Maintenance};
use decide::selector::Selector;
use decide::window::{ClosedDays, Cron, Range, Windows};
use jiff::SignedDuration;
use serde::Serialize;
use serde_yaml::{Mapping, Value};

use super::Loaded;
use super::file::TierFile;
use super::wiring::{Inventory, Notify, People, PullRequests, Recipient};
use parse::read::Shape;

pub use changes::{Change, changes};
use tier::tier_of;

/// The whole policy as one file.
pub fn resolved(loaded: &Loaded) -> Result<String, serde_yaml::Error> {
    Ok(spaced(&serde_yaml::to_string(&file_of(loaded))?))
}

fn file_of(loaded: &Loaded) -> Mapping {
    let mut file = Mapping::new();
    put(&mut file, "version", 1);
    put(&mut file, "clusters", clusters(&loaded.wiring.inventory));
    if let Some(windows) = &loaded.policy.windows {
        put(&mut file, "windows", windows_of(windows));
    }
    if !loaded.policy.maintenance.is_empty() {
        put(&mut file, "maintenanceWindows", list(&loaded.policy.maintenance, maintenance));
    }
    if !loaded.policy.freezes.is_empty() {
        put(&mut file, "freeze", list(&loaded.policy.freezes, freeze));
    }
    put(&mut file, "people", people(loaded.wiring.people, loaded.policy.force_by()));
    limits(&mut file, loaded.policy.limits);
    pulls(&mut file, &loaded.wiring.pulls, loaded.policy.opening.as_ref());
    if !loaded.wiring.notify.is_empty() {
        put(&mut file, "notify", list(&loaded.wiring.notify, notify));
    }
    put(&mut file, "tiers", list(&loaded.ladder, |tier| tier_of(tier, &TierFile::SHAPE)));
    let plugins =
        loaded.policy.plugins.iter().filter_map(|plugin| {
            Some(plugin::plugin_of(plugin, loaded.wiring.plugins.get(&plugin.name)?, &loaded.ladder))
        });
    put(&mut file, "plugins", Value::Sequence(plugins.collect()));
    file
}

fn clusters(inventory: &Inventory) -> Value {
    let listing = match inventory {
        Inventory::File { path } => {
            return map([("from", Value::from("file")), ("path", Value::from(path.as_str()))]);
        }
        Inventory::Listed(listing) => listing,
    };
    let mut out = Mapping::new();
    put(&mut out, "from", listing.kind.name);
    put(&mut out, "connection", listing.connection.as_str());
    if let Some(namespace) = &listing.namespace {
        put(&mut out, "namespace", namespace.as_str());
    }
    if listing.select != Selector::default() {
        put(&mut out, "select", plain(&listing.select));
    }
    Value::Mapping(out)
}

/// A blank line before each tier, each plugin and their lists.
fn spaced(text: &str) -> String {
    let mut out = String::from("# The policy with presets and defaults filled in, as Coldframe follows it.\n");
    for line in text.lines() {
        let list = line.starts_with("tiers:") || line.starts_with("plugins:");
        if list || (line.starts_with("- name:") && !out.ends_with(":\n")) {
            out.push('\n');
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

fn put(onto: &mut Mapping, key: &str, value: impl Into<Value>) {
    onto.insert(Value::from(key), value.into());
}

/// A key whose value is its default is written where this version knows the key.
fn put_or_default(onto: &mut Mapping, shape: &Shape, key: &str, value: impl Into<Value>, default: bool) {
    if !default || shape.keys.iter().any(|known| known.name == key) {
        put(onto, key, value);
    }
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Mapping(entries.into_iter().map(|(key, value)| (Value::from(key), value)).collect())
}

fn list<T>(items: &[T], one: impl Fn(&T) -> Value) -> Value {
    Value::Sequence(items.iter().map(one).collect())
}

fn names<T: ToString>(items: &[T]) -> Value {
    list(items, |item| Value::from(item.to_string()))
}

/// Types that the file writes as they are.
fn plain(value: &impl Serialize) -> Value {
    serde_yaml::to_value(value).unwrap_or(Value::Null)
}

/// The shortest way to write a duration.
fn length(duration: SignedDuration) -> Value {
    let seconds = duration.as_secs();
    let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
    let unit = units.into_iter().find(|(unit, _)| seconds != 0 && seconds % unit == 0);
    Value::from(match unit {
        Some((unit, name)) => format!("{}{name}", seconds / unit),
        None => format!("{seconds}s"),
    })
}

fn lengths(durations: &[SignedDuration]) -> Value {
    list(durations, |duration| length(*duration))
}

fn people(given: People, force_by: usize) -> Value {
    let People { hold, acknowledge, fail, freeze, force, force_by: _, hotfix, rebuild } = given;
    map([
        ("hold", plain(&hold)),
        ("acknowledge", plain(&acknowledge)),
        ("fail", plain(&fail)),
        ("freeze", plain(&freeze)),
        ("force", plain(&force)),
        ("forceBy", force_by.into()),
        ("hotfix", plain(&hotfix)),
        ("rebuild", plain(&rebuild)),
    ])
}

fn limits(file: &mut Mapping, Limits { open_pulls, clusters_per_hour }: Limits) {
    let mut limits = Mapping::new();
    for (key, limit) in [("openPulls", open_pulls), ("clustersPerHour", clusters_per_hour)] {
        if let Some(limit) = limit {
            put(&mut limits, key, limit);
        }
    }
    if !limits.is_empty() {
        put(file, "limits", limits);
    }
}

fn pulls(file: &mut Mapping, wanted: &PullRequests, opening: Option<&Windows>) {
    let PullRequests { labels, assignees, reviewers, prefix, note, body } = wanted;
    let body = body.as_ref().map(|body| body.written.clone());
    let mut pulls = Mapping::new();
    let texts = |names: Vec<String>| Value::Sequence(names.into_iter().map(Value::from).collect());
    let reviewers = reviewers.iter().map(ToString::to_string).collect();
    for (key, names) in [("labels", labels.clone()), ("assignees", assignees.clone()), ("reviewers", reviewers)] {
        if !names.is_empty() {
            put(&mut pulls, key, texts(names));
        }
    }
    for (key, text) in [("prefix", prefix), ("note", note), ("body", &body)] {
        if let Some(text) = text {
            put(&mut pulls, key, text.as_str());
        }
    }
    if let Some(windows) = opening {
        put(&mut pulls, "windows", windows_of(windows));
    }
    if !pulls.is_empty() {
        put(file, "pullRequests", pulls);
    }
}

fn notify(Notify { to, on, tiers, plugins }: &Notify) -> Value {
    let secret = |name: &str| map([("secret", Value::from(name))]);
    let mut notify = Mapping::new();
    match to {
        Recipient::Slack { url } => put(&mut notify, "slack", map([("url", secret(url))])),
        Recipient::Teams { url } => put(&mut notify, "teams", map([("url", secret(url))])),
        Recipient::Webhook { url, key } => {
            put(&mut notify, "webhook", map([("url", secret(url)), ("key", secret(key))]));
        }
        Recipient::Email { smtp, to } => {
            put(&mut notify, "email", map([("smtp", secret(smtp)), ("to", names(to))]));
        }
        Recipient::Issue { number, mention } => {
            let mut issue = Mapping::new();
            put(&mut issue, "number", *number);
            if !mention.is_empty() {
                put(&mut issue, "mention", names(mention));
            }
            put(&mut notify, "issue", issue);
        }
    }
    put(&mut notify, "on", list(on, plain));
    let mut select = Mapping::new();
    if !tiers.is_empty() {
        put(&mut select, "tiers", names(tiers));
    }
    if !plugins.is_empty() {
        put(&mut select, "plugins", names(plugins));
    }
    if !select.is_empty() {
        put(&mut notify, "select", select);
    }
    Value::Mapping(notify)
}

fn freeze(Freeze { why, by, tiers, plugins, select, until }: &Freeze) -> Value {
    let mut freeze = Mapping::new();
    put(&mut freeze, "why", why.as_str());
    if let Some(by) = by {
        put(&mut freeze, "by", by.as_str());
    }
    if !tiers.is_empty() {
        put(&mut freeze, "tiers", names(tiers));
    }
    if !plugins.is_empty() {
        put(&mut freeze, "plugins", names(plugins));
    }
    if let Some(select) = select {
        put(&mut freeze, "select", plain(select));
    }
    if let Some(until) = until {
        put(&mut freeze, "until", until.to_string());
    }
    Value::Mapping(freeze)
}

fn maintenance(Maintenance { select, windows }: &Maintenance) -> Value {
    map([("select", plain(select)), ("windows", windows_of(windows))])
}

fn windows_of(Windows { zone, open, cron, closed, room }: &Windows) -> Value {
    let mut windows = Mapping::new();
    put(&mut windows, "zone", zone.iana_name().unwrap_or("UTC"));
    let firing = |Cron { cron, lasts }: &Cron| map([("cron", Value::from(cron.as_str())), ("for", length(*lasts))]);
    let open: Vec<Value> = open.iter().map(hours).chain(cron.iter().map(firing)).collect();
    if !open.is_empty() {
        put(&mut windows, "open", open);
    }
    if !closed.is_empty() {
        put(&mut windows, "closed", list(closed, closed_days));
    }
    put(&mut windows, "room", length(*room));
    Value::Mapping(windows)
}

fn hours(Range { days, from, to }: &Range) -> Value {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let named: Vec<&str> = days.iter().filter_map(|day| DAYS.get(usize::from(*day).checked_sub(1)?).copied()).collect();
    let time = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
    Value::from(format!("{} {}-{}", named.join(","), time(*from), time(*to)))
}

fn closed_days(ClosedDays { from, to, why }: &ClosedDays) -> Value {
    map([
        ("from", Value::from(from.to_string())),
        ("to", Value::from(to.to_string())),
        ("why", Value::from(why.as_str())),
    ])
}
