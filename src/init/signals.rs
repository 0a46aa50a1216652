//! Which signals would prove a plugin's releases, by the engines whose objects hold its versions.

use std::collections::BTreeSet;

use super::ladder::{Clusters, Ladder};
use super::plugins::Plugin;
use super::survey::{Engine, Sight, Survey};
use super::words::with_tier;
use crate::act::edit::find::Object;

/// The signals of a plugin, one line of YAML each, with what is to be checked by a person.
pub(super) fn signals(plugin: &Plugin, survey: &Survey, ladder: &Ladder) -> Vec<String> {
    let lines: BTreeSet<String> =
        plugin.sights.iter().filter_map(|sight| signal(sight, plugin, survey, ladder)).collect();
    if !lines.is_empty() {
        return lines.into_iter().collect();
    }
    let release =
        |namespace: &str| format!("- helmSecret: {{namespace: {namespace}, release: {}}}{CHECK}", plugin.name);
    vec![release(&plugin.name)]
}

/// Said where the files do not say what an object is called.
const CHECK: &str = "   # check: the files do not say this";

fn signal(sight: &Sight, plugin: &Plugin, survey: &Survey, ladder: &Ladder) -> Option<String> {
    let object = sight.found.object.as_ref();
    if sight.found.kind.starts_with("source of a Catalog") {
        return Some(of_greenhouse(plugin, survey, ladder));
    }
    let object = object?;
    match object.kind.as_str() {
        "HelmRelease" => Some(helm_release(object, survey, ladder, None)),
        "OCIRepository" => {
            let release = survey.releases.iter().find(|one| one.chart_ref.as_deref() == Some(&object.name));
            Some(match release {
                Some(release) => helm_release(&release.object, survey, ladder, object.namespace.as_deref()),
                None => format!("- ociRepository: {}", named(object, "flux-system", ladder)),
            })
        }
        "Application" => Some(format!("- application: {}{}", named(object, "argocd", ladder), hub(ladder))),
        "ApplicationSet" => {
            let template = survey.applications.get(&object.name)?;
            let namespace = object.namespace.as_deref().unwrap_or("argocd");
            let (name, check) = application(template, &plugin.name, ladder);
            Some(format!("- application: {{namespace: {namespace}, name: \"{name}\"}}{}{check}", hub(ladder)))
        }
        "PluginPreset" => Some(of_greenhouse(plugin, survey, ladder)),
        "Plugin" => Some(format!("- plugin: {}{}", named(object, "\"{organization}\"", ladder), hub(ladder))),
        _ => None,
    }
}

/// A patch has no namespace of its own; the release that it patches has.
fn helm_release(object: &Object, survey: &Survey, ladder: &Ladder, beside: Option<&str>) -> String {
    let of_base = survey.releases.iter().find(|one| one.object.name == object.name && one.object.namespace.is_some());
    let namespace =
        object.namespace.as_deref().or_else(|| of_base.and_then(|one| one.object.namespace.as_deref())).or(beside);
    match namespace {
        Some(namespace) => format!("- helmRelease: {}", placed(namespace, &object.name, ladder)),
        None => format!("- helmRelease: {}{CHECK}", placed(&object.name, &object.name, ladder)),
    }
}

fn of_greenhouse(plugin: &Plugin, survey: &Survey, ladder: &Ladder) -> String {
    let preset = survey.presets.iter().find(|(_, definition)| {
        *definition == plugin.name
            || ladder
                .tier_in(definition)
                .is_some_and(|tier| definition.starts_with(&plugin.name) && definition.ends_with(tier))
    });
    match preset {
        Some((object, _)) => format!("- pluginPreset: {}{}", named(object, "\"{organization}\"", ladder), hub(ladder)),
        None => {
            format!("- pluginPreset: {{namespace: \"{{organization}}\", name: {}}}{}{CHECK}", plugin.name, hub(ladder))
        }
    }
}

fn named(object: &Object, namespace: &str, ladder: &Ladder) -> String {
    placed(object.namespace.as_deref().unwrap_or(namespace), &object.name, ladder)
}

/// Namespace and name, with `{tier}` and `{cluster}` where they stand in them.
fn placed(namespace: &str, name: &str, ladder: &Ladder) -> String {
    let general = match (&ladder.clusters, ladder.tier_in(name)) {
        (Clusters::New(clusters), _) if clusters.keys().any(|cluster| ends(name, cluster)) => {
            let cluster = clusters.keys().find(|cluster| ends(name, cluster)).map_or("", String::as_str);
            format!("\"{}{{cluster}}\"", name.strip_suffix(cluster).unwrap_or(name))
        }
        (_, Some(tier)) => format!("\"{}\"", with_tier(name, tier)),
        (_, None) => name.to_string(),
    };
    format!("{{namespace: {namespace}, name: {general}}}")
}

fn ends(name: &str, cluster: &str) -> bool {
    name.strip_suffix(cluster).is_some_and(|head| head.ends_with('-'))
}

/// The name that an ApplicationSet gives an application, with our placeholders for its own; the usual one, to be
/// checked, where it is made of something else.
fn application(template: &str, plugin: &str, ladder: &Ladder) -> (String, &'static str) {
    let mut name = template.to_string();
    for parameter in ["name", "cluster", "nameNormalized", "clusterName", "cluster.name"] {
        for form in [format!("{{{{{parameter}}}}}"), format!("{{{{.{parameter}}}}}"), format!("{{{{ .{parameter} }}}}")]
        {
            name = name.replace(&form, "{cluster}");
        }
    }
    for key in [ladder.label.as_str(), "tier", "env", "environment", "stage"] {
        for form in [format!("{{{{{key}}}}}"), format!("{{{{.{key}}}}}"), format!("{{{{ .{key} }}}}")] {
            name = name.replace(&form, "{tier}");
        }
    }
    if name.contains("{{") { (format!("{plugin}-{{cluster}}"), CHECK) } else { (name, "") }
}

/// Engines that run in a hub report there.
fn hub(ladder: &Ladder) -> &'static str {
    match &ladder.clusters {
        Clusters::Hub(Engine::ArgoCd) => "\n        connection: argocd",
        Clusters::Hub(Engine::Greenhouse) => "\n        connection: greenhouse",
        Clusters::Hub(Engine::Flux) | Clusters::Known(_) | Clusters::New(_) => "",
    }
}
