//! A policy held against the limits of the operator: each key beyond one is an error at its line.

use decide::model::{Limits, MaxUpdate, Strategy};
use decide::reason::spell;
use decide::{Policy, Tier};

use super::context::Context;
use crate::file::{LimitsFile, TierFile};
use crate::limits::OperatorLimits;
use parse::read::Spanned;
use parse::report::Report;
use parse::scalar::Count;

/// The caps of a repository: its own, within the operator's; where it has none, the operator's.
pub fn limits(file: Option<&Spanned<LimitsFile>>, most: &OperatorLimits, report: &mut Report) -> Limits {
    let mut cap = |given: Option<&Spanned<Count<1>>>, most: Option<u32>, key: &'static str| {
        if let (Some(given), Some(most)) = (given, most)
            && given.value.0 > most
        {
            let why = format!("{} is beyond the {most} that the operator of the bot allows", given.value.0);
            report.within_key(key, |report| report.wrong(given.at, &why, Some("lower it, or take the key out")));
        }
        given.map(|given| given.value.0).or(most)
    };
    let file = file.map(|file| &file.value);
    Limits {
        open_pulls: cap(file.and_then(|file| file.open_pulls.as_ref()), most.open_pulls, "openPulls"),
        clusters_per_hour: cap(
            file.and_then(|file| file.clusters_per_hour.as_ref()),
            most.clusters_per_hour,
            "clustersPerHour",
        ),
    }
}

/// Soak and grace of one tier, with the overrides of a plugin or without.
pub fn tier(file: &TierFile, tier: &Tier, most: &OperatorLimits, report: &mut Report) {
    if let (Some(given), Some(longest)) = (&file.soak, most.longest_soak)
        && tier.soak.min > longest
    {
        beyond(given.at, "soak", tier.soak.min, longest, report);
    }
    if let (Some(force), Some(longest)) = (&tier.force, most.longest_grace)
        && force.after > longest
        && let Some(given) = file.force.as_ref().and_then(|force| force.value.after.as_ref())
    {
        beyond(given.at, "force", force.after, longest, report);
    }
}

fn beyond(
    at: parse::tree::Span,
    key: &'static str,
    given: jiff::SignedDuration,
    longest: jiff::SignedDuration,
    report: &mut Report,
) {
    let why = format!("{} is beyond the {} that the operator of the bot allows", spell(given), spell(longest));
    report.within_key(key, |report| report.wrong(at, &why, Some("make it shorter")));
}

/// A cap below the size of a slice: the slice could never merge. How large a tier or a share of it is,
/// only the inventory knows; there the plan says so.
pub fn slices(policy: &Policy, context: &Context, file: Option<&Spanned<LimitsFile>>, report: &mut Report) {
    let Some(cap) = policy.limits.clusters_per_hour else { return };
    let own = file.and_then(|file| file.value.clusters_per_hour.as_ref());
    let of_plugins = policy.plugins.iter().flat_map(|plugin| &plugin.tiers);
    for tier in context.ladder.iter().chain(of_plugins) {
        let Some(size) = slice(&tier.strategy).filter(|size| *size > cap) else { continue };
        let written =
            context.tiers.iter().find(|file| file.name.as_ref().is_some_and(|name| name.value.0 == tier.name.as_str()));
        let strategy = written.and_then(|file| file.strategy.as_ref()).map(|strategy| strategy.at);
        let Some(at) = own.map(|own| own.at).or(strategy) else { continue };
        let message = format!(
            "tier `{}` changes {size} clusters at once, and {cap} in an hour are the limit: it could never merge",
            tier.name
        );
        report.problem(at, message, Some("raise the limit, or make the slices smaller"));
    }
}

/// The number of clusters of one slice, where the file alone says it. A tier may be smaller than that.
fn slice(strategy: &Strategy) -> Option<u32> {
    match strategy {
        Strategy::RollingUpdate { max_update: MaxUpdate::Count(count), .. } => Some(*count),
        Strategy::RollingUpdate { max_update: MaxUpdate::All | MaxUpdate::Percent(_), .. }
        | Strategy::AllAtOnce
        | Strategy::Canary { .. }
        | Strategy::BlueGreen { .. }
        | Strategy::Delegated => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_that_the_file_alone_knows() {
        let rolling = |max_update| Strategy::RollingUpdate { max_update, by: None };
        for (strategy, expected) in [
            (Strategy::AllAtOnce, None),
            (rolling(MaxUpdate::All), None),
            (rolling(MaxUpdate::Percent(25)), None),
            (rolling(MaxUpdate::Count(0)), Some(0)),
            (rolling(MaxUpdate::Count(7)), Some(7)),
            (Strategy::Delegated, None),
        ] {
            assert_eq!(slice(&strategy), expected, "{strategy:?}");
        }
    }
}
