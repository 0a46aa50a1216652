//! Plugins: their ladder with overrides, their chart, their spots and their signals.

use std::collections::BTreeMap;
use std::time::Duration;

use decide::model::Next;
use decide::{PluginName, PluginPolicy, Tier};
use jiff::SignedDuration;

use super::chart::chart_of;
use super::context::Context;
use super::{after, strategy, tier, versions};
use crate::file::{OverrideFile, PluginFile, SignalFile, TierFile, WriteFile};
use crate::windows::windows;
use crate::wiring::{DocumentSelector, Names, ORGANIZATION, PluginWiring, Scalar, Write};
use parse::forms::List;
use parse::read::Spanned;
use parse::report::Report;
use parse::settings::{Given, Values};
use parse::tree::Span;
use signal::KINDS;
use signal::SignalSpec;

/// How often a source is asked unless the file says otherwise.
const POLL: SignedDuration = SignedDuration::from_mins(15);

/// What a plugin follows, and how it is watched, written and asked about; none when a part without
/// which it is no plugin is missing, which was reported.
pub fn plugin(
    file: &Spanned<PluginFile>,
    context: &Context,
    report: &mut Report,
) -> Option<(PluginPolicy, PluginWiring)> {
    let title = file
        .value
        .name
        .as_ref()
        .map_or("a plugin without a name".to_string(), |name| format!("plugin `{}`", name.value.0));
    report.within(title, |report| {
        let mut tiers = ladder(&file.value, context, report);
        if let Some(given) = &file.value.strategy {
            let own = report.within_key("strategy", |report| strategy::strategy(given, report));
            tiers.iter_mut().for_each(|tier| tier.strategy.clone_from(&own));
        }
        let windows = file
            .value
            .windows
            .as_ref()
            .and_then(|file| report.within_key("windows", |report| windows(file, context.zone.as_ref(), report)));
        let name = file.value.name.as_ref().map_or("", |name| name.value.0.as_str());
        let chart = file.value.chart.as_ref();
        let chart = chart.and_then(|chart| report.within_key("chart", |report| chart_of(chart, name, report)));
        let poll = report.within_key("poll", |report| poll(&file.value, report));
        let write = report.within_key("write", |report| writes(file.value.write.as_ref(), name, context, report));
        strategy::apart(&file.value, &tiers, &write, context, report);
        let signals = report.within_key("signals", |report| signals(file.value.signals.as_ref(), context, report));
        let pins = strategy::pins(&file.value, context, report);
        let mut policy = PluginPolicy {
            pins,
            windows,
            next: file.value.next.as_ref().map_or(Next::default(), |next| next.value.0),
            ..PluginPolicy::new(PluginName::new(file.value.name.as_ref()?.value.0.clone()), tiers)
        };
        versions::versions(file.value.versions.as_ref(), &mut policy, context, report);
        versions::cooldown(&file.value, &mut policy, report);
        versions::hotfixes(&file.value, &mut policy, report);
        policy.after = report.within_key("after", |report| after::after(&file.value, context, report));
        let (checks, released) = versions::checks(file.value.versions.as_ref(), report);
        let signed = versions::signed(file.value.versions.as_ref(), (chart.as_ref(), name), report);
        policy.checks = checks;
        policy.signed = signed.is_some();
        let declared = context.files.get(file.at.file).cloned().unwrap_or_default();
        Some((policy, PluginWiring { declared, chart: chart?, poll, write, signals, released, signed }))
    })
}

/// The ladder with this plugin's overrides.
fn ladder(file: &PluginFile, context: &Context, report: &mut Report) -> Vec<Tier> {
    let mut tiers = context.ladder.clone();
    let overrides = file.tiers.as_ref().map(|table| table.value.0.as_slice()).unwrap_or_default();
    for (name, over) in overrides {
        if !report.within_key("tiers", |report| context.knows_tier(name, report)) {
            continue;
        }
        let base = context.tiers.iter().find(|tier| tier.name.as_ref().is_some_and(|known| known.value == name.value));
        if tiers.first().is_some_and(|first| first.name.as_str() != name.value.0)
            && let Some(base) = base
        {
            tier::first_only(&TierFile { merge: over.value.merge.clone(), ..base.clone() }, report);
        }
        let resolved = base.and_then(|base| {
            let file = overridden(base, &over.value);
            if over.value.approvals.is_some() {
                tier::covers(&file, context, report);
            }
            tier::tier(&file, context, report)
        });
        if let Some(resolved) = resolved
            && let Some(place) = tiers.iter_mut().find(|tier| tier.name == resolved.name)
        {
            *place = resolved;
        }
    }
    tiers
}

/// The tier with the keys of an override in place of its own.
fn overridden(base: &TierFile, over: &OverrideFile) -> TierFile {
    TierFile {
        select: over.select.clone().or_else(|| base.select.clone()),
        merge: over.merge.clone().or_else(|| base.merge.clone()),
        soak: over.soak.clone().or_else(|| base.soak.clone()),
        approvals: over.approvals.clone().or_else(|| base.approvals.clone()),
        windows: over.windows.clone().or_else(|| base.windows.clone()),
        constraint: over.constraint.clone().or_else(|| base.constraint.clone()),
        force: over.force.clone().or_else(|| base.force.clone()),
        ..base.clone()
    }
}

fn poll(file: &PluginFile, report: &mut Report) -> Duration {
    let least = SignedDuration::from_secs(1);
    let poll = file.poll.as_ref().map_or(POLL, |poll| poll.value.0);
    if let Some(given) = &file.poll
        && poll < least
    {
        report.wrong(given.at, "asking more than once a second is an attack", Some("ask once a minute or less often"));
    }
    Duration::try_from(poll.max(least)).unwrap_or(Duration::from_secs(900))
}

fn writes(list: Option<&Spanned<List<WriteFile>>>, plugin: &str, context: &Context, report: &mut Report) -> Vec<Write> {
    let Some(list) = list else { return Vec::new() };
    if list.value.is_empty() {
        report.wrong(list.at, "an empty list: no place holds the version", Some("add `{file: …, path: …}`"));
    }
    let mut writes: Vec<Write> = Vec::new();
    for file in &list.value.items {
        let Some(write) = write_of(&file.value, plugin) else { continue };
        for (key, at) in [
            ("document", file.value.document.as_ref().map(|key| key.at)),
            ("value", file.value.value.as_ref().map(|key| key.at)),
        ] {
            if let (Some(at), None) = (at, &write.scalar) {
                report.wrong(
                    at,
                    &format!("`{key}` goes with a `path`"),
                    Some("add `path:`, or take it out: without a path all of it is found"),
                );
            }
        }
        let placed = write.per_tier() || write.per_cluster();
        // Without a path the file itself may say whom each place in it moves.
        let named = write.scalar.is_some();
        let shared = named && !placed && context.ladder.len() > 1 && !on_branches_of_their_own(&context.ladder);
        if let Some(given) = file.value.file.as_ref().filter(|_| shared) {
            let help = "put `{tier}` or `{cluster}` in it or in `path`, or give each tier a `branch`: each needs a place of its own";
            report.wrong(given.at, "every tier would share this place", Some(help));
        }
        if let Some(given) = file.value.file.as_ref().filter(|_| write.per_tier() && !has_tiers(context)) {
            let why = "`{tier}` can only be `all` here: there are no `tiers`, and every cluster moves in one step";
            report.warning(given.at, why, Some("write `tiers:`, or the name that is meant in its place"));
        }
        if let Some(given) = file.value.file.as_ref().filter(|_| write.names(ORGANIZATION)) {
            organization(&write, given.at, context, report);
        }
        template(&write, file.value.template.as_ref().map_or(file.at, |given| given.at), &writes, report);
        if writes.contains(&write) {
            report.wrong(file.at, "this place stands here twice", Some("keep one"));
        }
        writes.push(write);
    }
    writes
}

/// Refuses a template of what no cluster and no tier has for itself, and two of one file.
fn template(write: &Write, at: Span, others: &[Write], report: &mut Report) {
    // What is made has one place for the version.
    let per_cluster = write.file.contains("{cluster}");
    let own = per_cluster || (write.file.contains("{tier}") && !write.per_cluster());
    if write.template.is_some() && !own {
        let why = "a template is for files of which each cluster or tier has its own";
        report.wrong(at, why, Some("put `{tier}` or `{cluster}` in `file`, or take it out and write the file by hand"));
    }
    if others.iter().any(|other| other.file == write.file && other.template != write.template) {
        report.wrong(at, "a file is made of one template", Some("give all places of the file the same `template`"));
    }
}

/// Refuses an organization where the clusters have none, and where it does not lead to one cluster.
fn organization(write: &Write, at: Span, context: &Context, report: &mut Report) {
    if !write.per_cluster() {
        let why = "all clusters of an organization would share this place";
        report.wrong(at, why, Some("add `{cluster}`, which stands for the cluster's own name beside `{organization}`"));
    }
    match context.names {
        Names::Plain => {
            let why = "`{organization}` stands for nothing: the inventory calls its clusters by one name";
            report.wrong(at, why, Some("take it out"));
        }
        Names::Organizations | Names::OneOrganization | Names::Either => {}
    }
}

/// Whether the file names tiers at all.
fn has_tiers(context: &Context) -> bool {
    context.tiers.iter().filter_map(|tier| tier.name.as_ref()).any(|name| name.at.line > 0)
}

/// Whether each tier names a branch and no two the same: then a file of one name is one file per tier.
fn on_branches_of_their_own(ladder: &[Tier]) -> bool {
    let mut branches: Vec<&String> = ladder.iter().filter_map(|tier| tier.branch.as_ref()).collect();
    branches.sort();
    branches.dedup();
    branches.len() == ladder.len()
}

fn write_of(file: &WriteFile, plugin: &str) -> Option<Write> {
    let document = file.document.as_ref().and_then(|document| {
        let name = document.value.name.as_ref().map(|name| name.value.0.clone());
        Some(DocumentSelector { kind: document.value.kind.as_ref()?.value.0.clone(), name })
    });
    let value = file.value.as_ref().map(|value| value.value.0.replace("{plugin}", plugin));
    let scalar = file.path.as_ref().map(|path| Scalar { document, path: path.value.0.clone(), value });
    let format = file.format.as_ref().map(|format| format.value.0);
    let template = file.template.as_ref().map(|template| template.value.0.clone());
    Some(Write { file: file.file.as_ref()?.value.0.clone(), format, scalar, template })
}

/// Reports spots that two plugins would both write.
pub fn places(plugins: &[Spanned<PluginFile>], report: &mut Report) {
    type Place = (String, Option<(String, Option<String>)>, String);
    let mut owners: BTreeMap<Place, String> = BTreeMap::new();
    for plugin in plugins {
        let Some(name) = plugin.value.name.as_ref().map(|name| name.value.0.clone()) else { continue };
        for file in plugin.value.write.iter().flat_map(|list| &list.value.items) {
            let Some(write) = write_of(&file.value, &name) else { continue };
            // Without a path each plugin has the spot of its own chart.
            let Some(Scalar { document, path, .. }) = write.scalar else { continue };
            let place = (write.file, document.map(|document| (document.kind, document.name)), path);
            match owners.get(&place) {
                Some(owner) if *owner != name => {
                    let message = format!("plugin `{name}` writes the same place as plugin `{owner}`");
                    report.problem(
                        file.at,
                        message,
                        Some("one place holds one version: name its file, document or path exactly"),
                    );
                }
                Some(_) => {}
                None => {
                    owners.insert(place, name.clone());
                }
            }
        }
    }
}

fn signals(list: Option<&Spanned<List<SignalFile>>>, context: &Context, report: &mut Report) -> Vec<SignalSpec> {
    let Some(list) = list else { return Vec::new() };
    if list.value.is_empty() {
        report.wrong(
            list.at,
            "an empty list: nothing would prove that a release runs",
            Some("add `- helmRelease: {namespace: …, name: …}`"),
        );
    }
    let signals: Vec<SignalSpec> = list.value.items.iter().filter_map(|file| signal(file, report)).collect();
    for (file, spec) in
        list.value.items.iter().filter_map(|file| Some((file, file.value.kinds.first()?.value.as_ref()?)))
    {
        asked_once(file.at, spec, context, report);
    }
    proof(list, &signals, report);
    if context.once {
        dated(list, &signals, report);
    }
    signals
}

fn signal(file: &Spanned<SignalFile>, report: &mut Report) -> Option<SignalSpec> {
    let SignalFile { kinds, strange } = &file.value;
    if let Some(second) = kinds.get(1) {
        report.wrong(
            second.key,
            "one kind of signal per entry",
            Some("begin a new entry with `- `; all of them must agree"),
        );
    }
    if kinds.is_empty() && !strange {
        let names: Vec<String> = KINDS.iter().map(|kind| format!("`{}`", kind.name)).collect();
        report.wrong(file.at, "an empty entry asks nothing", Some(&format!("write one of {}", names.join(", "))));
    }
    kinds.first()?.value.clone()
}

/// A hub is asked by names: where two organizations may have a cluster of one name, both would be read as one.
/// Where there are no organizations, nothing can stand for one.
fn asked_once(at: Span, spec: &SignalSpec, context: &Context, report: &mut Report) {
    let said = says(&spec.values, ORGANIZATION);
    match context.names {
        Names::Plain if said => {
            let why = "`{organization}` stands for nothing: the inventory calls its clusters by one name";
            report.wrong(at, why, Some("take it out"));
        }
        Names::Organizations if spec.connection.is_some() && !said => {
            let here = report.here().unwrap_or_default();
            let why = format!(
                "{here}: clusters are called `organization/cluster`, and `{}` asks a hub without `{ORGANIZATION}`: two \
                 clusters of one name would be read as one",
                spec.kind.name
            );
            report.warning(at, why, Some("put `{organization}` where the two differ, such as in `namespace`"));
        }
        Names::Plain | Names::Organizations | Names::OneOrganization | Names::Either => {}
    }
}

/// Whether a text stands anywhere in the settings of a signal.
fn says(values: &Values, part: &str) -> bool {
    values.values().any(|given| match given {
        Given::Text(text) => text.contains(part),
        Given::List(list) => list.iter().any(|text| text.contains(part)),
        Given::Map(values) => says(values, part),
        Given::Number(_) | Given::Flag(_) => false,
    })
}

/// What is asked proves less than that a cluster runs the version, all of it.
fn proof(list: &Spanned<List<SignalFile>>, signals: &[SignalSpec], report: &mut Report) {
    let less = |spec: &SignalSpec| {
        let what = spec.kind.lacks(&spec.values)?;
        Some(format!("`{}` proves {what}", spec.kind.name))
    };
    let told: Vec<String> = signals.iter().filter_map(less).collect();
    if !told.is_empty() && told.len() == signals.len() {
        let here = report.here().unwrap_or_default();
        let why = format!("{here}: nothing here proves that a release runs well: {}", told.join("; "));
        report.warning(list.at, why, Some("add a signal that does, such as `helmRelease` or `workload`"));
    }
}

/// What rests on when the others proved the version is never answered by runs that end, where they do not say when.
fn dated(list: &Spanned<List<SignalFile>>, signals: &[SignalSpec], report: &mut Report) {
    let rests = |spec: &&SignalSpec| spec.kind.rests_on_others(&spec.values);
    let undated = signals.iter().find(|spec| !rests(spec) && !spec.kind.dates);
    let (Some(query), Some(undated)) = (signals.iter().find(rests), undated) else { return };
    let here = report.here().unwrap_or_default();
    let why = format!(
        "{here}: `coldframe once` remembers nothing from run to run, so that `{}` gets no answer beside `{}`, which does \
         not say since when it runs its version",
        query.kind.name, undated.kind.name
    );
    let dating: Vec<String> = KINDS.iter().filter(|kind| kind.dates).map(|kind| format!("`{}`", kind.name)).collect();
    let help = format!("let `version` of the query say it, ask {} alone beside it, or run `serve`", dating.join(", "));
    report.warning(list.at, why, Some(&help));
}
