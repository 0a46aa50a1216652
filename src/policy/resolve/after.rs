//! Plugins that go before others: names, and circles in which each would wait for the next.

use std::collections::{BTreeMap, VecDeque};

use decide::PluginName;
use decide::model::After;

use super::context::Context;
use crate::file::PluginFile;
use parse::forms::Either;
use parse::read::Spanned;
use parse::report::Report;
use parse::scalar::Name;
use parse::tree::Span;

/// The plugins that go before this one.
pub fn after(file: &PluginFile, context: &Context, report: &mut Report) -> Vec<After> {
    let mut list: Vec<After> = Vec::new();
    for item in file.after.iter().flat_map(|list| &list.value.items) {
        let Some(name) = name_of(&item.value, item.at) else { continue };
        if !context.knows_plugin(&name, report) {
            continue;
        }
        let plugin = PluginName::new(name.value.0.clone());
        if list.iter().any(|after| after.plugin == plugin) {
            report.wrong(name.at, &format!("plugin `{plugin}` stands here twice"), Some("keep one"));
            continue;
        }
        let version = match &item.value {
            Either::Short(_) => None,
            Either::Long(long) => long.version.as_ref().map(|version| version.value.0.clone()),
        };
        list.push(After { plugin, version });
    }
    list
}

fn name_of(item: &Either<Name, crate::file::AfterFile>, at: Span) -> Option<Spanned<Name>> {
    match item {
        Either::Short(name) => Some(Spanned { value: name.clone(), at, key: at }),
        Either::Long(long) => long.plugin.clone(),
    }
}

/// Reports plugins that wait for each other in a circle, at each place that closes it.
pub fn circles(plugins: &[Spanned<PluginFile>], report: &mut Report) {
    let mut edges: BTreeMap<String, Vec<Spanned<Name>>> = BTreeMap::new();
    for plugin in plugins {
        let Some(name) = &plugin.value.name else { continue };
        let items = plugin.value.after.iter().flat_map(|list| &list.value.items);
        let names = items.filter_map(|item| name_of(&item.value, item.at));
        edges.entry(name.value.0.clone()).or_default().extend(names);
    }
    for (from, list) in &edges {
        for to in list {
            let Some(way) = way(&edges, &to.value.0, from) else { continue };
            let circle: Vec<&str> = [from.as_str()].into_iter().chain(way).collect();
            report.within(format!("plugin `{from}`"), |report| {
                report.within_key("after", |report| {
                    let why = format!("each would wait for the next for ever: {}", circle.join(" after "));
                    report.wrong(to.at, &why, Some("take one of them out"));
                });
            });
        }
    }
}

/// The shortest way from one plugin to another, both ends in it.
fn way<'a>(edges: &'a BTreeMap<String, Vec<Spanned<Name>>>, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut before: BTreeMap<&str, Option<&str>> = BTreeMap::from([(from, None)]);
    let mut queue = VecDeque::from([from]);
    while let Some(here) = queue.pop_front() {
        if here == to {
            let mut way = vec![here];
            while let Some(Some(last)) = way.last().and_then(|last| before.get(last)) {
                way.push(last);
            }
            way.reverse();
            return Some(way);
        }
        for next in edges.get(here).into_iter().flatten() {
            let next = next.value.0.as_str();
            if !before.contains_key(next) {
                before.insert(next, Some(here));
                queue.push_back(next);
            }
        }
    }
    None
}
