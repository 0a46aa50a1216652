//! `coldframe check`: the problems of a policy, or in a few words what was understood.

use std::fmt::Write as _;

use decide::model::{Merge, MergeRule};
use decide::reason::spell;
use decide::selector::{Operator, Selector};
use decide::{PluginPolicy, Tier};

use super::resolved::resolved;
use super::wiring::{Chart, Inventory, PluginWiring};
use super::{Loaded, Problem, Setting, SourceFile, load_in, render};
use inventory::Scope;

/// The text to print, and whether the policy can be followed.
pub fn check(files: &[SourceFile]) -> (String, bool) {
    check_in(files, &Setting::default())
}

/// The same under the limits of an operator.
pub fn check_in(files: &[SourceFile], setting: &Setting) -> (String, bool) {
    match load_in(files, setting) {
        Ok(loaded) => (good(&loaded, &loaded.warnings, files), true),
        Err(problems) => (refusal(&problems, files), false),
    }
}

/// What is said of a policy without mistakes, and of what is worth a look.
pub fn good(loaded: &Loaded, warnings: &[Problem], files: &[SourceFile]) -> String {
    let mut out = summary(loaded);
    if !warnings.is_empty() {
        let _ = write!(out, "\nWorth a look:\n\n{}", render(warnings, files));
    }
    out
}

/// The policy with presets, defaults and overrides written out, or what is wrong with it.
pub fn check_resolved(files: &[SourceFile], setting: &Setting) -> (String, bool) {
    match load_in(files, setting).map(|loaded| resolved(&loaded)) {
        Ok(Ok(text)) => (text, true),
        Ok(Err(error)) => (format!("the policy cannot be written out: {error}\n"), false),
        Err(problems) => (refusal(&problems, files), false),
    }
}

fn refusal(problems: &[Problem], files: &[SourceFile]) -> String {
    let count = problems.len();
    let tail = if count == 1 { "1 problem".to_string() } else { format!("{count} problems") };
    format!("{}\n{tail}. Nothing is promoted by a policy with problems.\n", render(problems, files))
}

// Writing into a String cannot fail, so that its results are let go.
fn summary(loaded: &Loaded) -> String {
    let mut out = String::from("The policy is in order.\n\n");
    let _ = writeln!(out, "{}A release climbs:", clusters_words(loaded));
    let width = loaded.ladder.iter().map(|tier| tier.name.as_str().len()).max().unwrap_or(0);
    for (step, tier) in loaded.ladder.iter().enumerate() {
        let _ = writeln!(out, "  {}. {:width$}  {}", step + 1, tier.name.as_str(), tier_words(tier));
    }
    let _ = writeln!(out, "\nPlugins:");
    let width = loaded.policy.plugins.iter().map(|plugin| plugin.name.as_str().len()).max().unwrap_or(0);
    for plugin in &loaded.policy.plugins {
        if let Some(wiring) = loaded.wiring.plugins.get(&plugin.name) {
            let _ =
                writeln!(out, "  {:width$}  {}", plugin.name.as_str(), plugin_words(plugin, wiring, &loaded.ladder));
        }
    }
    let maintenance = loaded.policy.maintenance.iter().map(|maintenance| {
        let zone = maintenance.windows.zone.iana_name().unwrap_or("its zone");
        format!("{} ({zone})", selector_words(&maintenance.select))
    });
    let maintenance: Vec<String> = maintenance.collect();
    if !maintenance.is_empty() {
        let _ = writeln!(out, "\nMaintenance windows: {}.", maintenance.join("; "));
    }
    let freezes = loaded.policy.freezes.len();
    if freezes > 0 {
        let _ = writeln!(out, "\nFreezes: {freezes}.");
    }
    out
}

/// Where the clusters are listed, and what of that nobody can check without asking.
fn clusters_words(loaded: &Loaded) -> String {
    let listing = match &loaded.wiring.inventory {
        Inventory::File { path } => return format!("Clusters are listed in {path}. "),
        Inventory::Listed(listing) => listing,
    };
    let mut words = format!("Clusters are the {} of connection {}", listing.kind.resource(), listing.connection);
    match (&listing.namespace, listing.kind.scope) {
        (Some(namespace), _) => words.push_str(&format!(" in {namespace}")),
        (None, Scope::Cluster) => {}
        (None, Scope::One(_) | Scope::Any | Scope::Organizations) => words.push_str(" in every namespace"),
    }
    if listing.select != Selector::default() {
        let select = selector_words(&listing.select);
        words.push_str(&format!(", {}", select.strip_prefix("clusters ").unwrap_or(&select)));
    }
    words.push_str(" (not asked here, so that neither they nor their labels are checked).\n");
    let asked = loaded.policy.plugins.iter().filter(|plugin| {
        let wiring = loaded.wiring.plugins.get(&plugin.name);
        wiring.is_some_and(|wiring| wiring.signals.iter().any(|spec| spec.connection.is_none()))
    });
    let asked: Vec<&str> = asked.map(|plugin| plugin.name.as_str()).collect();
    if !asked.is_empty() {
        let otherwise = match listing.kind.credentials {
            Some(_) => "or, where there is none, with the credentials in a Secret there".to_string(),
            None => format!("which each needs: {} has no credentials", listing.kind.name),
        };
        words.push_str(&format!(
            "Each cluster is asked itself about {}, by the operator's connection of its name, {otherwise}.\n",
            asked.join(", ")
        ));
    }
    words
}

fn tier_words(tier: &Tier) -> String {
    let mut parts = vec![selector_words(&tier.select), merge_words(tier)];
    if tier.soak.min.is_zero() {
        parts.push("done when healthy".to_string());
    } else {
        parts.push(format!("done after {} of health", spell(tier.soak.min)));
    }
    if let Some(constraint) = &tier.constraint {
        parts.push(format!("versions {}", constraint.as_str()));
    }
    if let Some(windows) = &tier.windows {
        parts.push(format!("in its own windows ({})", windows.zone.iana_name().unwrap_or("its zone")));
    }
    if let Some(force) = &tier.force {
        let notices: Vec<String> = force.notice.iter().map(|before| spell(*before)).collect();
        let told =
            if notices.is_empty() { "no notice".to_string() } else { format!("notices {} before", notices.join(", ")) };
        parts.push(format!("by force after {} ({told})", spell(force.after)));
    }
    parts.join("; ")
}

fn merge_words(tier: &Tier) -> String {
    if tier.follows {
        return "follows releases by itself".to_string();
    }
    let MergeRule { patch, minor, major } = tier.merge;
    let word = |merge: Merge| match merge {
        Merge::Automatic => "merged by the bot".to_string(),
        Merge::Approved => format!("merged after {}", approvals_words(tier)),
        Merge::Manual => "merged by a person".to_string(),
    };
    if patch == minor && minor == major {
        return word(patch);
    }
    format!("patch {}, minor {}, major {}", word(patch), word(minor), word(major))
}

fn approvals_words(tier: &Tier) -> String {
    let of_team = tier.approvals.team.as_ref().map_or_else(String::new, |team| format!(" by members of {team}"));
    match (tier.approvals.code_owners, tier.approvals.at_least) {
        (true, 0 | 1) if of_team.is_empty() => "a code owner's approval".to_string(),
        (true, 0 | 1) => format!("an approval{of_team}, and those of code owners"),
        (true, people) if of_team.is_empty() => format!("{people} approvals, code owners among them"),
        (true, people) => format!("{people} approvals{of_team}, and those of code owners"),
        (false, 1) => format!("an approval{of_team}"),
        (false, people) => format!("{people} approvals{of_team}"),
    }
}

fn selector_words(selector: &Selector) -> String {
    let mut parts: Vec<String> = selector.match_labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    parts.extend(selector.match_expressions.iter().map(|expression| {
        let (key, values) = (&expression.key, expression.values.join(", "));
        match expression.operator {
            Operator::In => format!("{key} in ({values})"),
            Operator::NotIn => format!("{key} not in ({values})"),
            Operator::Exists => format!("with {key}"),
            Operator::DoesNotExist => format!("without {key}"),
        }
    }));
    if parts.is_empty() { "every cluster".to_string() } else { format!("clusters {}", parts.join(", ")) }
}

fn plugin_words(plugin: &PluginPolicy, wiring: &PluginWiring, ladder: &[Tier]) -> String {
    let mut parts = vec![match &wiring.chart {
        Chart::Http { repository, name } => format!("{name} of {repository}"),
        Chart::Oci { reference, plain: false } => format!("oci://{reference}"),
        Chart::Oci { reference, plain: true } => format!("oci+http://{reference}"),
        Chart::Catalog { repository, path } => format!("{path} of {repository}"),
        Chart::Git { repository, tag, folder: None } => format!("tags {tag} of {repository}"),
        Chart::Git { repository, tag, folder: Some(folder) } => format!("{folder} at tags {tag} of {repository}"),
    }];
    parts.push(match &plugin.constraint {
        Some(constraint) => format!("versions {}", constraint.as_str()),
        None => "every release".to_string(),
    });
    parts.push(counted(wiring.write.len(), "place"));
    parts.push(counted(wiring.signals.len(), "signal"));
    let other: Vec<&str> =
        plugin.tiers.iter().filter(|tier| !ladder.contains(tier)).map(|tier| tier.name.as_str()).collect();
    if !other.is_empty() {
        parts.push(format!("rules of its own on {}", other.join(", ")));
    }
    parts.join("; ")
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
