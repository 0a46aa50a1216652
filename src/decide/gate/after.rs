//! Plugins that go before this one on each tier (policy, section 3): a wave opens only while they
//! have no unfinished wave there and run at least what is asked.

use alloc::string::ToString;

use super::asked::{Asked, AskedOpen};
use super::limits;
use crate::facts::{Base, Facts};
use crate::ledger::{State, Wave};
use crate::model::{After, Tier};
use crate::plan::{Finding, Gate, Verdict};
use crate::{PluginName, Reason, Version};

/// Whether a wave may be opened.
pub(crate) fn opening(asked: &Asked<'_>) -> Finding {
    finding(asked.facts, asked.tier, true)
}

/// Whether it may be merged: what it needs has to run still. A wave of theirs that began later does
/// not keep it.
pub(crate) fn merging(open: &AskedOpen<'_>) -> Finding {
    finding(open.facts, open.tier, false)
}

/// Why an open wave may not wait for another plugin with its pull request open: the cap of open ones is reached, and all
/// that the other one lacks is a place under it. Each would wait for the other.
pub(crate) fn in_the_way(facts: &Facts<'_>, tier_index: usize, wave: &Wave) -> Option<Reason> {
    let tier = facts.policy.tiers.get(tier_index).filter(|_| limits::is_reached(facts))?;
    // What has been merged meanwhile keeps no place.
    if wave.pull.is_some() && facts.open_pull(&tier.name).is_none() {
        return None;
    }
    let lacks_a_place = |after: &&After| {
        let mut line = facts.shared.line.iter();
        line.any(|place| place.plugin == after.plugin && place.tier == tier.name && !place.opens)
    };
    let mut before = facts.policy.after.iter().filter(lacks_a_place);
    before.find_map(|after| trouble(facts, tier, after, false)).map(|finding| finding.because)
}

fn finding(facts: &Facts<'_>, tier: &Tier, opening: bool) -> Finding {
    let troubles = facts.policy.after.iter().filter_map(|after| trouble(facts, tier, after, opening));
    troubles.max_by_key(|finding| finding.verdict == Verdict::Unknown).unwrap_or_else(|| {
        let because = if facts.policy.after.is_empty() { Reason::AfterNobody } else { Reason::AfterDone };
        Finding::pass(Gate::After, because)
    })
}

/// Why another plugin keeps this one waiting on a tier.
fn trouble(facts: &Facts<'_>, tier: &Tier, after: &After, opening: bool) -> Option<Finding> {
    let plugin = after.plugin.clone();
    let base = facts.base_of(&plugin, &tier.name);
    if let Base::Unread(why) = &base {
        let what = alloc::format!("what {plugin} runs on {}", tier.name);
        return Some(Finding::unread(Gate::After, &what, why));
    }
    if opening && (is_opening(facts, &plugin, tier) || is_unfinished(facts, &plugin, tier, &base)) {
        return Some(Finding::wait(Gate::After, Reason::AfterUnfinished { plugin, tier: tier.name.clone() }));
    }
    let asked = after.version.as_ref()?;
    let ends = match (base.lowest(), base.highest()) {
        (Some(lowest), Some(highest)) => Some((lowest, highest)),
        _ => pinned_to(facts, &plugin, tier),
    };
    let enough = ends.is_some_and(|(lowest, highest)| asked.allows(lowest) && asked.allows(highest));
    (!enough).then(|| {
        let running = ends.map(|(lowest, _)| lowest.clone());
        let (tier, asked) = (tier.name.clone(), asked.as_str().to_string());
        Finding::wait(Gate::After, Reason::AfterVersion { plugin, tier, asked, running })
    })
}

/// The lowest and the highest of what all files of another plugin on a tier hold, where none of them is
/// unread: where everybody is pinned, what they are pinned to runs.
fn pinned_to<'a>(facts: &Facts<'a>, plugin: &PluginName, tier: &Tier) -> Option<(&'a Version, &'a Version)> {
    let places = facts.snapshot.plugins.get(plugin)?.base.known()?.get(&tier.name)?;
    let mut ends = None;
    for place in places {
        let held = place.version.known()?;
        let (lowest, highest) = ends.unwrap_or((held, held));
        ends = Some((lowest.min(held), highest.max(held)));
    }
    ends
}

/// A pull request of theirs that this very plan opens; the ledger does not know it yet.
fn is_opening(facts: &Facts<'_>, plugin: &PluginName, tier: &Tier) -> bool {
    facts.shared.opening.iter().any(|(opening, on)| opening == plugin && *on == tier.name)
}

/// A wave that has a pull request, or that is on the base branch and has not finished. What was there
/// before the bot and still proves itself keeps nobody.
fn is_unfinished(facts: &Facts<'_>, plugin: &PluginName, tier: &Tier, base: &Base) -> bool {
    let before = facts.snapshot.ledger.plugins.get(plugin);
    let Some(page) = facts.shared.pages.get(plugin).or(before) else { return false };
    if page.climbing(&tier.name).is_some() {
        return true;
    }
    match base {
        Base::Uniform(running) => page.wave(&tier.name, running).is_some_and(unfinished),
        // Some of its clusters have been moved and some have not.
        Base::Mixed { .. } => true,
        Base::Unread(_) | Base::Empty => false,
    }
}

fn unfinished(wave: &Wave) -> bool {
    match wave.state() {
        State::Failed(_) => true,
        State::Finished(_) => false,
        State::Open | State::Closed(_) | State::Landed(_) | State::LandedAnyway(_) | State::Overtaken(_) => {
            wave.head().is_some()
        }
    }
}

#[cfg(test)]
mod tests;
