//! What the keys mean together: defaults, cross references, the ladder of each plugin. How single
//! values are written is in `scalar`, `when` and `address`.

mod after;
mod chart;
mod clusters;
mod context;
mod gaps;
mod limits;
mod notify;
mod plugin;
mod pulls;
mod strategy;
mod tier;
mod versions;

use std::collections::BTreeMap;

use decide::model::{FORCED_BY, Freeze, HealthRule, Maintenance};
use decide::{Person, PluginName, Policy, Tier, TierName};
use jiff::SignedDuration;

use super::file::{FreezeFile, MaintenanceFile, PeopleFile, PluginFile};
use super::limits::{Mode, Setting};
use super::wiring::{People, Wiring};
use super::written::{self, Written};
use crate::file::Word;
use crate::windows::windows;
use context::{Context, end_of};
use parse::forms::List;
use parse::read::Spanned;
use parse::report::Report;
use parse::scalar::Name;
use parse::tree::Span;
use parse::when::{Instant, Length};

/// What a set of files means.
#[derive(Debug)]
pub struct Resolved {
    /// For the planner.
    pub policy: Policy,
    /// For everybody else.
    pub wiring: Wiring,
    /// The ladder before the plugins' overrides.
    pub ladder: Vec<Tier>,
}

/// The meaning of what was written. Where something is wrong the report says so, and the result is
/// as good as it can be. `names` are those of the files.
pub fn resolve(written: Written, names: &[String], setting: &Setting, report: &mut Report) -> Resolved {
    let Written { mut file, plugins, tiers_known, plugins_known } = written;
    if let Some(version) = file.version.take() {
        written::format_known(version.value.0, version.at, report);
    }
    let inventory = clusters::inventory(file.clusters.take(), report);
    let named = plugins.iter().filter_map(|plugin| plugin.value.name.as_ref());
    let mut context = Context {
        zone: file.windows.as_ref().and_then(|windows| windows.value.zone.as_ref()).map(|zone| zone.value.0.clone()),
        tiers: Vec::new(),
        ladder: Vec::new(),
        plugins: named.map(|name| name.value.0.clone()).collect(),
        limits: setting.limits.clone(),
        max_age: max_age(file.schedule.as_ref(), setting.mode, report),
        once: setting.mode == Mode::Once || file.schedule.is_some(),
        files: names.to_vec(),
        names: inventory.names(),
        tiers_known,
        plugins_known,
    };
    let windows =
        file.windows.as_ref().and_then(|file| report.within_key("windows", |report| windows(file, None, report)));
    let maintenance = maintenance(file.maintenance_windows.as_ref(), &context, report);
    tier::ladder(file.tiers.take(), &mut context, report);
    let freezes = freezes(file.freeze.take().map(|list| list.value.items).unwrap_or_default(), &context, report);
    unique(&plugins, names, report);
    let mut policies = Vec::new();
    let mut wirings = BTreeMap::new();
    for plugin in &plugins {
        if let Some((policy, wiring)) = plugin::plugin(plugin, &context, report) {
            wirings.insert(policy.name.clone(), wiring);
            policies.push(policy);
        }
    }
    plugin::places(&plugins, report);
    after::circles(&plugins, report);
    let caps = report.within_key("limits", |report| limits::limits(file.limits.as_ref(), &setting.limits, report));
    let people = people(file.people.as_ref());
    let opening = pulls::opening(file.pull_requests.as_ref(), context.zone.as_ref(), report);
    let policy = Policy {
        windows,
        maintenance,
        opening,
        operator_windows: setting.limits.windows.clone(),
        freezes,
        limits: caps,
        force_by: people.force_by,
        plugins: policies,
    };
    if report.is_empty() {
        let written = (file.windows.as_ref(), file.maintenance_windows.as_ref());
        gaps::check(&policy, &context, written, &plugins, &setting.limits, report);
        limits::slices(&policy, &context, file.limits.as_ref(), report);
    }
    let notify = notify::notify(file.notify.as_ref(), &context, report);
    let pulls = pulls::pulls(file.pull_requests.as_ref(), report);
    Resolved { policy, wiring: Wiring { inventory, plugins: wirings, people, notify, pulls }, ladder: context.ladder }
}

/// How old a reading may be where a tier does not say: under single passes it must last from one to
/// the next, with one that is late or left out.
fn max_age(schedule: Option<&Spanned<Length>>, mode: Mode, report: &mut Report) -> SignedDuration {
    let default = HealthRule::default().max_age;
    let Some(schedule) = schedule else { return default };
    if schedule.value.0 < SignedDuration::from_mins(1) {
        let why = "passes come a minute apart at least";
        report.within_key("schedule", |report| {
            report.wrong(schedule.at, why, Some("say how often `coldframe once` is started"));
        });
    }
    match mode {
        Mode::Serve => default,
        Mode::Once => schedule.value.0 * 2,
    }
}

fn maintenance(
    file: Option<&Spanned<List<MaintenanceFile>>>,
    context: &Context,
    report: &mut Report,
) -> Vec<Maintenance> {
    let one = |item: &Spanned<MaintenanceFile>, report: &mut Report| {
        let select = item.value.select.as_ref()?;
        let select = report.within_key("select", |report| tier::selector(select, report));
        let file = item.value.windows.as_ref()?;
        let windows = report.within_key("windows", |report| windows(file, context.zone.as_ref(), report))?;
        Some(Maintenance { select, windows })
    };
    let items = file.iter().flat_map(|list| &list.value.items);
    items.filter_map(|item| report.within_key("maintenanceWindows", |report| one(item, report))).collect()
}

fn freezes(list: Vec<Spanned<FreezeFile>>, context: &Context, report: &mut Report) -> Vec<Freeze> {
    list.into_iter().map(|freeze| report.within_key("freeze", |report| freeze_of(freeze, context, report))).collect()
}

fn freeze_of(freeze: Spanned<FreezeFile>, context: &Context, report: &mut Report) -> Freeze {
    let file = freeze.value;
    let list = |list: Option<Spanned<List<Name>>>| list.map(|list| list.value.items).unwrap_or_default();
    let tiers = list(file.tiers).into_iter().filter(|name| context.knows_tier(name, report));
    let tiers = tiers.map(|name| TierName::new(name.value.0)).collect();
    let plugins = list(file.plugins).into_iter().filter(|name| context.knows_plugin(name, report));
    let plugins = plugins.map(|name| PluginName::new(name.value.0)).collect();
    let until = file.until.and_then(|until| match until.value.0 {
        Instant::At(at) => Some(at),
        Instant::Day(day) => end_of(day, context.zone.as_ref(), until.at, report),
    });
    Freeze {
        why: file.why.map(|why| why.value.0).unwrap_or_default(),
        by: file.by.map(|by| Person::new(by.value.0)),
        tiers,
        plugins,
        select: file.select.map(|select| report.within_key("select", |report| tier::selector(&select, report))),
        until,
    }
}

/// Reports plugins whose name an earlier one has.
fn unique(plugins: &[Spanned<PluginFile>], names: &[String], report: &mut Report) {
    let mut first: BTreeMap<&str, Span> = BTreeMap::new();
    for name in plugins.iter().filter_map(|plugin| plugin.value.name.as_ref()) {
        let text = name.value.0.as_str();
        if let Some(at) = first.get(text) {
            let file = names.get(at.file).map(String::as_str).unwrap_or_default();
            let help = format!("the first is in {file} on line {}; keep one", at.line);
            report.problem(name.at, format!("two plugins are called `{text}`"), Some(&help));
        } else {
            first.insert(text, name.at);
        }
    }
}

fn people(file: Option<&Spanned<PeopleFile>>) -> People {
    let default = People::default();
    let Some(file) = file else { return default };
    let right = |given: &Option<Spanned<Word<_>>>, default| given.as_ref().map_or(default, |right| right.value.0);
    People {
        hold: right(&file.value.hold, default.hold),
        acknowledge: right(&file.value.acknowledge, default.acknowledge),
        fail: right(&file.value.fail, default.fail),
        freeze: right(&file.value.freeze, default.freeze),
        force: right(&file.value.force, default.force),
        force_by: file.value.force_by.as_ref().map(|people| people.value.0).filter(|people| *people != FORCED_BY),
        hotfix: right(&file.value.hotfix, default.hotfix),
        rebuild: right(&file.value.rebuild, default.rebuild),
    }
}
