//! Windows that have to be open together: whether they ever are, and how long they keep merges out.
//! When one of them is open is decided in `decide`.

use decide::reason::spell;
use decide::window::{Windows, all_open};
use decide::{Policy, Tier};
use jiff::{SignedDuration, Timestamp};

use super::context::Context;
use crate::file::{MaintenanceFile, OverrideFile, PluginFile, WindowsFile};
use crate::limits::OperatorLimits;
use crate::windows::REFERENCE;
use parse::forms::List;
use parse::read::Spanned;
use parse::report::Report;
use parse::tree::Span;

/// How far windows are followed: a year in which each date comes, and the end of a window that began
/// in it.
const YEAR: SignedDuration = SignedDuration::from_hours(24 * 400);
/// Closed days are looked at with so much time before and after them.
const AROUND: SignedDuration = SignedDuration::from_hours(24 * 35);

/// A tier of a plugin, or of the ladder, and where the windows that it alone has stand.
struct Place<'a> {
    tier: &'a Tier,
    plugin: Option<&'a Windows>,
    what: String,
    at: Span,
}

/// Reports tiers whose windows never open together, keep merges out longer than the operator allows,
/// or are missing where the operator wants some.
pub fn check(
    policy: &Policy,
    context: &Context,
    (file, maintenance): (Option<&Spanned<WindowsFile>>, Option<&Spanned<List<MaintenanceFile>>>),
    plugins: &[Spanned<PluginFile>],
    most: &OperatorLimits,
    report: &mut Report,
) {
    let top = file.map_or(Span::top(0), |file| file.key);
    let mut seen: Vec<(Option<&Windows>, Option<&Windows>)> = Vec::new();
    for place in places(policy, context, plugins, top) {
        let key = (place.tier.windows.as_ref(), place.plugin);
        if most.required && !has_hours(policy.windows.as_ref(), key) {
            let message = format!("{} has no windows, and the operator of the bot requires them", place.what);
            let help = "give the file hours, such as `windows: {zone: Europe/Berlin, open: [\"Mon-Thu 08:00-16:00\"]}`";
            report.problem(place.at, message, Some(help));
        }
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let all = [policy.operator_windows.as_ref(), policy.windows.as_ref(), key.0, key.1];
        open_at_times(&all.into_iter().flatten().collect::<Vec<_>>(), &place.what, place.at, most, report);
    }
    // On which tiers these clusters are, only the inventory knows.
    let written = maintenance.iter().flat_map(|list| &list.value.items).filter_map(|item| item.value.windows.as_ref());
    for (maintenance, written) in policy.maintenance.iter().zip(written) {
        let all = [policy.operator_windows.as_ref(), policy.windows.as_ref(), Some(&maintenance.windows)];
        let all: Vec<&Windows> = all.into_iter().flatten().collect();
        open_at_times(&all, "`maintenanceWindows`", written.key, most, report);
    }
}

/// Reports windows that have to be open together and never are, or keep merges out longer than the operator allows.
fn open_at_times(all: &[&Windows], what: &str, at: Span, most: &OperatorLimits, report: &mut Report) {
    if never_together(all) {
        let message = format!("{what}: its windows are never open together, so that nothing could merge");
        let help = "the windows of operator, file, tier, plugin and clusters must all be open; let their hours meet";
        report.problem(at, message, Some(help));
    } else if let Some(longest) = most.longest_gap
        && let Some(since) = shut(all, longest)
    {
        let zone = all.first().map(|windows| windows.zone.clone()).unwrap_or(jiff::tz::TimeZone::UTC);
        let message = format!(
            "{what}: windows keep every merge out for more than the {} that the operator of the bot allows, from {} on",
            spell(longest),
            zone.to_datetime(since).date()
        );
        report.problem(at, message, Some("open them in between"));
    }
}

fn places<'a>(policy: &'a Policy, context: &'a Context, plugins: &[Spanned<PluginFile>], top: Span) -> Vec<Place<'a>> {
    let written = |tier: &Tier| {
        let name =
            |file: &&crate::file::TierFile| file.name.as_ref().is_some_and(|name| name.value.0 == tier.name.as_str());
        context.tiers.iter().find(name)
    };
    let of_tier = |tier: &Tier| {
        let file = written(tier);
        let windows = file.and_then(|file| file.windows.as_ref()).map(|windows| windows.key);
        let name = file.and_then(|file| file.name.as_ref()).map(|name| name.at);
        windows.or(name).filter(|at| at.line > 0).unwrap_or(top)
    };
    let mut places: Vec<Place<'a>> = context
        .ladder
        .iter()
        .map(|tier| Place { tier, plugin: None, what: format!("tier `{}`", tier.name), at: of_tier(tier) })
        .collect();
    // A ladder that no plugin climbs as it stands asks nothing.
    if policy.plugins.iter().all(|plugin| plugin.windows.is_some()) && !policy.plugins.is_empty() {
        places.clear();
    }
    for plugin in &policy.plugins {
        let named = |file: &&Spanned<PluginFile>| {
            file.value.name.as_ref().is_some_and(|name| name.value.0 == plugin.name.as_str())
        };
        let file = plugins.iter().find(named).map(|file| &file.value);
        let own = file.and_then(|file| file.windows.as_ref()).map(|windows| windows.key);
        for tier in &plugin.tiers {
            let over = file.and_then(|file| overridden(file, tier)).and_then(|over| over.windows.as_ref());
            let at = own.or(over.map(|windows| windows.key)).unwrap_or_else(|| of_tier(tier));
            let what = format!("tier `{}` of plugin `{}`", tier.name, plugin.name);
            places.push(Place { tier, plugin: plugin.windows.as_ref(), what, at });
        }
    }
    places
}

fn overridden<'a>(file: &'a PluginFile, tier: &Tier) -> Option<&'a OverrideFile> {
    let table = file.tiers.as_ref()?.value.0.iter();
    table.filter(|(name, _)| name.value.0 == tier.name.as_str()).map(|(_, over)| &over.value).next()
}

fn has_hours(file: Option<&Windows>, (tier, plugin): (Option<&Windows>, Option<&Windows>)) -> bool {
    let hours = |windows: &Windows| !windows.open.is_empty() || !windows.cron.is_empty();
    [file, tier, plugin].into_iter().flatten().any(hours)
}

/// Whether they are not open together once within two years.
pub fn never_together(all: &[&Windows]) -> bool {
    let end = later(later(REFERENCE, YEAR), YEAR);
    let mut at = REFERENCE;
    while at < end {
        match all_open(all, at) {
            None => return true,
            Some(opens) if all.iter().all(|windows| windows.open_at(opens)) => return false,
            Some(bound) => at = bound,
        }
    }
    true
}

/// The first time since which no merge can start for longer than `longest`, in a year without closed
/// days and around each of them.
fn shut(all: &[&Windows], longest: SignedDuration) -> Option<Timestamp> {
    let closed = all.iter().flat_map(|windows| {
        windows.closed.iter().filter_map(|closed| {
            let from = closed.from.to_zoned(windows.zone.clone()).ok()?.timestamp();
            let to = closed.to.to_zoned(windows.zone.clone()).ok()?.timestamp();
            Some((sooner(sooner(from, longest), AROUND), later(to, AROUND)))
        })
    });
    let spans = std::iter::once((REFERENCE, later(REFERENCE, YEAR))).chain(closed);
    spans.into_iter().find_map(|(from, to)| shut_between(all, from, to, longest))
}

fn shut_between(all: &[&Windows], from: Timestamp, to: Timestamp, longest: SignedDuration) -> Option<Timestamp> {
    let mut since = from;
    while since < to {
        let Some(opens) = opens_within(all, since, longest) else { return Some(since) };
        // None of them ever closes again: nothing more is to be seen.
        since = all.iter().filter_map(|windows| windows.closes(opens)).min()?;
    }
    None
}

/// The first instant from `since` on at which all are open, when it comes soon enough.
fn opens_within(all: &[&Windows], since: Timestamp, longest: SignedDuration) -> Option<Timestamp> {
    let mut at = since;
    loop {
        at = all_open(all, at).filter(|opens| opens.duration_since(since) <= longest)?;
        if all.iter().all(|windows| windows.open_at(at)) {
            return Some(at);
        }
    }
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}

fn sooner(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_sub(by).unwrap_or(Timestamp::MIN)
}
