//! The keys of a plugin, written out.

use decide::model::{Block, Expiry, Hotfix, Next, Pin};
use decide::{PluginPolicy, Tier};
use jiff::SignedDuration;
use serde_yaml::{Mapping, Value};

use super::{length, list, map, names, plain, put, put_or_default, tier_of, windows_of};
use crate::file::{OverrideFile, PluginFile, VersionsFile};
use crate::wiring::{Chart, Keyless, PluginWiring, Released, Scalar, Signed, Write};
use parse::settings;
use signal::SignalSpec;

/// A plugin with what it has different on its rungs.
pub(super) fn plugin_of(plugin: &PluginPolicy, wiring: &PluginWiring, ladder: &[Tier]) -> Value {
    let PluginWiring { declared: _, chart, poll, write, signals, released, signed } = wiring;
    let mut out = Mapping::new();
    put(&mut out, "name", plugin.name.as_str());
    put(&mut out, "chart", chart_of(chart));
    put(&mut out, "poll", length(SignedDuration::try_from(*poll).unwrap_or(SignedDuration::MAX)));
    let versions = versions(plugin, released, signed.as_ref());
    if !versions.is_empty() {
        put(&mut out, "versions", versions);
    }
    if let Some(windows) = &plugin.windows {
        put(&mut out, "windows", windows_of(windows));
    }
    let shape = &PluginFile::SHAPE;
    put_or_default(&mut out, shape, "next", plain(&plugin.next), plugin.next == Next::default());
    put_or_default(&mut out, shape, "cooldown", length(plugin.cooldown), plugin.cooldown.is_zero());
    order(&mut out, plugin);
    put(&mut out, "write", list(write, write_of));
    put(&mut out, "signals", list(signals, signal));
    let other: Vec<&Tier> = plugin.tiers.iter().filter(|tier| !ladder.contains(tier)).collect();
    if !other.is_empty() {
        put(&mut out, "tiers", overrides(&other));
    }
    Value::Mapping(out)
}

/// What a plugin has different: each of its rungs with every key that it may have of its own.
fn overrides(tiers: &[&Tier]) -> Value {
    let mut out = Mapping::new();
    for tier in tiers {
        if let Value::Mapping(mut rung) = tier_of(tier, &OverrideFile::SHAPE) {
            rung.shift_remove("name");
            put(&mut out, tier.name.as_str(), rung);
        }
    }
    Value::Mapping(out)
}

fn versions(plugin: &PluginPolicy, released: &Released, signed: Option<&Signed>) -> Mapping {
    let mut out = Mapping::new();
    if let Some(constraint) = &plugin.constraint {
        put(&mut out, "constraint", constraint.as_str());
    }
    let shape = &VersionsFile::SHAPE;
    put_or_default(&mut out, shape, "prereleases", plugin.prereleases, !plugin.prereleases);
    if !plugin.blocks.is_empty() {
        put(&mut out, "block", list(&plugin.blocks, block));
    }
    if !plugin.checks.is_empty() {
        put(&mut out, "checks", checks(&plugin.checks, released));
    }
    if let Some(deprecated) = &plugin.deprecated {
        put(&mut out, "deprecated", deprecated.as_str());
    }
    if !plugin.expires.is_empty() {
        put(&mut out, "expires", list(&plugin.expires, expiry));
    }
    if let Some(most) = plugin.max_live {
        put(&mut out, "maxLive", most);
    }
    if let Some(Signed { keys, keyless, pgp }) = signed {
        let mut signed = Mapping::new();
        keys.iter().for_each(|keys| put(&mut signed, "cosign", keys.as_str()));
        if let Some(Keyless { identity, issuer }) = keyless {
            let keyless = map([("identity", Value::from(identity.as_str())), ("issuer", Value::from(issuer.as_str()))]);
            put(&mut signed, "keyless", keyless);
        }
        pgp.iter().for_each(|keys| put(&mut signed, "pgp", keys.as_str()));
        put(&mut out, "signed", Value::Mapping(signed));
    }
    out
}

fn checks(all: &[String], Released { from, tag }: &Released) -> Value {
    let all = names(all);
    if from.is_none() && tag.is_none() {
        return all;
    }
    let mut out = Mapping::new();
    put(&mut out, "all", all);
    for (key, given) in [("from", from), ("tag", tag)] {
        if let Some(given) = given {
            put(&mut out, key, given.as_str());
        }
    }
    Value::Mapping(out)
}

fn block(Block { from, to, why, fixed_in, above }: &Block) -> Value {
    let mut out = Mapping::new();
    if let Some(from) = from {
        put(&mut out, "from", from.as_str());
    }
    put(&mut out, "to", to.as_str());
    put(&mut out, "why", why.as_str());
    if let Some(version) = fixed_in {
        put(&mut out, "fixedIn", version.as_str());
    }
    if let Some(tier) = above {
        put(&mut out, "above", tier.as_str());
    }
    Value::Mapping(out)
}

fn expiry(Expiry { versions, at, why }: &Expiry) -> Value {
    let mut out = Mapping::new();
    put(&mut out, "versions", versions.as_str());
    put(&mut out, "until", at.to_string());
    if !why.is_empty() {
        put(&mut out, "why", why.as_str());
    }
    Value::Mapping(out)
}

/// Hotfixes, the plugins that go before, and pins.
fn order(out: &mut Mapping, plugin: &PluginPolicy) {
    if !plugin.hotfixes.is_empty() {
        put(out, "hotfixes", list(&plugin.hotfixes, hotfix));
    }
    if !plugin.after.is_empty() {
        let after = list(&plugin.after, |after| match &after.version {
            None => Value::from(after.plugin.as_str()),
            Some(version) => {
                map([("plugin", Value::from(after.plugin.as_str())), ("version", Value::from(version.as_str()))])
            }
        });
        put(out, "after", after);
    }
    if !plugin.pins.is_empty() {
        put(out, "pins", list(&plugin.pins, pin));
    }
}

fn hotfix(Hotfix { version, why, soak, through_windows }: &Hotfix) -> Value {
    let mut out = Mapping::new();
    put(&mut out, "version", version.as_str());
    put(&mut out, "why", why.as_str());
    if let Some(soak) = soak {
        put(&mut out, "soak", length(*soak));
    }
    put(&mut out, "throughWindows", *through_windows);
    Value::Mapping(out)
}

fn pin(Pin { select, version, until, why }: &Pin) -> Value {
    let mut out = Mapping::new();
    put(&mut out, "select", plain(select));
    if let Some(version) = version {
        put(&mut out, "version", version.as_str());
    }
    if let Some(until) = until {
        put(&mut out, "until", until.to_string());
    }
    put(&mut out, "why", why.as_str());
    Value::Mapping(out)
}

fn chart_of(chart: &Chart) -> Value {
    match chart {
        Chart::Http { repository, name } => {
            map([("repository", Value::from(repository.as_str())), ("name", Value::from(name.as_str()))])
        }
        Chart::Oci { reference, plain } => {
            let scheme = if *plain { "oci+http" } else { "oci" };
            map([("oci", Value::from(format!("{scheme}://{reference}")))])
        }
        Chart::Catalog { repository, path } => {
            map([("catalog", Value::from(repository.as_str())), ("path", Value::from(path.as_str()))])
        }
        Chart::Git { repository, tag, folder } => {
            let given = [("git", Some(repository)), ("tag", Some(tag)), ("folder", folder.as_ref())];
            let mut out = Mapping::new();
            given
                .into_iter()
                .for_each(|(key, value)| value.into_iter().for_each(|value| put(&mut out, key, value.as_str())));
            Value::Mapping(out)
        }
    }
}

fn write_of(Write { file, format, scalar, template }: &Write) -> Value {
    let mut out = Mapping::new();
    put(&mut out, "file", file.as_str());
    if let Some(format) = format {
        put(&mut out, "format", plain(format));
    }
    if let Some(Scalar { document, path, value }) = scalar {
        if let Some(document) = document {
            put(&mut out, "document", plain(document));
        }
        put(&mut out, "path", path.as_str());
        if let Some(value) = value {
            put(&mut out, "value", value.as_str());
        }
    }
    if let Some(template) = template {
        put(&mut out, "template", template.as_str());
    }
    Value::Mapping(out)
}

fn signal(SignalSpec { kind, values, connection }: &SignalSpec) -> Value {
    let mut out = Mapping::new();
    put(&mut out, kind.name, settings::written(&kind.shape, values));
    if let Some(connection) = connection {
        put(&mut out, "connection", connection.as_str());
    }
    Value::Mapping(out)
}
