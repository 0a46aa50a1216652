//! One signal is asked on every tier and every cluster. Where their files make different ones, one is proposed and a
//! person is told which there are. What a file makes is in `signals`.

use std::collections::{BTreeMap, BTreeSet};

use super::plugins::Plugin;
use super::proposal::Proposed;
use super::sight::Sight;
use super::signals::{Said, signals};

/// What stands before what a person has to check.
const CHECK: &str = "   # check: ";
/// So many names are told of one signal.
const MOST_TOLD: usize = 4;

/// Tier and cluster.
type Whose = (Option<String>, Option<String>);
/// Signals without their checks, by whom the files with them are for.
type Asked = BTreeMap<Whose, BTreeSet<String>>;

/// The signals of a plugin, one item of YAML each.
pub(super) fn agreed(plugin: &Plugin, said: &Said<'_>) -> Vec<String> {
    let mut checks: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for item in signals(plugin, said) {
        let (text, check) = halves(&item);
        let known = checks.entry(text.to_string()).or_default();
        known.extend(check.filter(|check| !known.iter().any(|one| one == check)).map(str::to_string));
    }
    for asked in by_pattern(plugin, said, &checks).into_values() {
        settle(&asked, said, &mut checks);
    }
    let hub = on_hub(plugin, said);
    let item = |(text, mut checks): (String, Vec<String>)| {
        let asked_there = text.starts_with("- helmRelease:") && !text.contains("connection:");
        let Some(check) = hub.as_ref().filter(|_| asked_there) else { return joined(&text, &checks) };
        checks.insert(0, check.clone());
        joined(&format!("{text}\n        connection: hub"), &checks)
    };
    checks.into_iter().map(item).collect()
}

fn halves(item: &str) -> (&str, Option<&str>) {
    item.split_once(CHECK).map_or((item, None), |(text, check)| (text, Some(check)))
}

fn joined(text: &str, checks: &[String]) -> String {
    if checks.is_empty() { text.to_string() } else { format!("{text}{CHECK}{}", checks.join("; ")) }
}

/// What the files of one `write` make, each for itself.
fn by_pattern(plugin: &Plugin, said: &Said<'_>, known: &BTreeMap<String, Vec<String>>) -> BTreeMap<String, Asked> {
    let mut sights: BTreeMap<(String, Whose), Vec<Sight>> = BTreeMap::new();
    for sight in &plugin.sights {
        let captured = said.ladder.capture(&sight.file);
        let whose = (captured.tier, captured.cluster);
        sights.entry((captured.pattern, whose)).or_default().push(sight.clone());
    }
    let mut found: BTreeMap<String, Asked> = BTreeMap::new();
    for ((pattern, whose), sights) in sights {
        let part = Plugin {
            name: plugin.name.clone(),
            origin: plugin.origin.clone(),
            writes: Vec::new(),
            shown: Proposed { name: plugin.name.clone(), places: Vec::new() },
            sights,
        };
        // What is a guess for a part alone is none for the whole.
        let texts = signals(&part, said).iter().map(|item| halves(item).0.to_string()).collect::<BTreeSet<_>>();
        let texts = texts.into_iter().filter(|text| known.contains_key(text)).collect();
        found.entry(pattern).or_default().insert(whose, texts);
    }
    found
}

/// Of what only some ask, the form that most of them have stays, with what the others ask to be checked.
fn settle(asked: &Asked, said: &Said<'_>, checks: &mut BTreeMap<String, Vec<String>>) {
    let all: BTreeSet<&String> = asked.values().flatten().collect();
    let odd: BTreeSet<String> =
        all.into_iter().filter(|text| asked.values().any(|texts| !texts.contains(*text))).cloned().collect();
    if odd.is_empty() {
        return;
    }
    let own = |texts: &BTreeSet<String>| texts.intersection(&odd).cloned().collect::<Vec<String>>();
    let forms: Vec<(&Whose, Vec<String>)> = asked.iter().map(|(whose, texts)| (whose, own(texts))).collect();
    let rank = |whose: &Whose| said.ladder.tiers.iter().position(|tier| Some(tier) == whose.0.as_ref());
    let count = |form: &Vec<String>| forms.iter().filter(|(_, other)| other == form).count();
    let most = forms.iter().filter(|(_, form)| !form.is_empty());
    let Some((_, kept)) = most.max_by_key(|(whose, form)| (count(form), rank(whose))) else { return };
    let mut told = forms.clone();
    told.sort_by_key(|(whose, _)| (rank(whose), whose.1.clone()));
    let check = told_of(&told);
    let lost: Vec<String> = odd.iter().filter(|text| !kept.contains(text)).cloned().collect();
    let mut before: Vec<String> = lost.iter().filter_map(|text| checks.remove(text)).flatten().collect();
    if let Some(checks) = kept.first().and_then(|text| checks.get_mut(text)) {
        before.retain(|one| !checks.contains(one));
        checks.extend(before);
        checks.insert(0, check);
    }
}

/// Who has which names.
fn told_of(forms: &[(&Whose, Vec<String>)]) -> String {
    let one = |((tier, cluster), form): &(&Whose, Vec<String>)| {
        let real = |text: &String| named(text, tier.as_deref(), cluster.as_deref());
        let names = form.iter().map(real).collect::<Vec<_>>().join(" and ");
        let on = cluster.as_deref().or(tier.as_deref()).unwrap_or("the others");
        if names.is_empty() { format!("nothing on {on}") } else { format!("{names} on {on}") }
    };
    let more = forms.len().saturating_sub(MOST_TOLD);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown = forms.iter().take(MOST_TOLD).map(one).collect::<Vec<_>>().join(", ");
    format!("one signal is for all, and the files make {shown}{more}")
}

/// The object that a signal asks for, as it is called there.
fn named(text: &str, tier: Option<&str>, cluster: Option<&str>) -> String {
    let here = |text: &str| {
        let text = tier.map_or_else(|| text.to_string(), |tier| text.replace("{tier}", tier));
        cluster.map_or_else(|| text.clone(), |cluster| text.replace("{cluster}", cluster)).replace('"', "")
    };
    let line = text.lines().next().unwrap_or(text);
    let about = line.split_once("{namespace: ").and_then(|(_, rest)| rest.strip_suffix('}')?.split_once(", name: "));
    about.map_or_else(|| here(line), |(namespace, name)| format!("{}/{}", here(namespace), here(name)))
}

/// What to check where HelmReleases are on another cluster than what they install.
fn on_hub(plugin: &Plugin, said: &Said<'_>) -> Option<String> {
    let is_there = |sight: &&Sight| {
        let file = sight.of.as_ref().unwrap_or(&sight.file);
        sight.found.object.as_ref().is_some_and(|object| match object.kind.as_str() {
            "HelmRelease" => said.applied.on_hub(file, object),
            "OCIRepository" => {
                let mut releases = said.survey.releases.iter();
                releases.any(|one| {
                    one.chart_ref.as_ref() == Some(&object.name) && said.applied.on_hub(&one.file, &one.object)
                })
            }
            _ => false,
        })
    };
    let there: Vec<&Sight> = plugin.sights.iter().filter(is_there).collect();
    let first = there.first()?;
    if there.len() == plugin.sights.len() {
        let why = "by `spec.kubeConfig` the HelmRelease is on the hub; name the operator's connection to that cluster";
        return Some(why.to_string());
    }
    Some(format!("by `spec.kubeConfig` the HelmRelease of {} is on the hub, and others are not", first.file))
}
