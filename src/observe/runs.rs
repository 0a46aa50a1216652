//! Runs of the workflows by which climbs under way are verified. What they say about the next slice, or the end of the
//! climb, is decided in `decide`.

use std::collections::BTreeMap;

use decide::ledger::{Closed, Ledger, PluginLedger, State, Wait, Wave};
use decide::snapshot::{Read, WorkflowRun};
use decide::{PluginName, Policy, Tier};
use jiff::Timestamp;

use crate::hub::RepoHub;

/// What was asked for each plugin that has such a climb; the others are not in it.
pub type Runs = BTreeMap<PluginName, Read<Vec<WorkflowRun>>>;

/// Asks about each workflow once, for all plugins that wait for it.
pub async fn ask(hub: &RepoHub, ledger: Option<&Ledger>, policy: &Policy) -> Runs {
    let pages = ledger.into_iter().flat_map(|ledger| &ledger.plugins);
    let tiers = |plugin: &PluginName| {
        let policy = policy.plugins.iter().find(|policy| policy.name == *plugin);
        policy.map_or(&[][..], |policy| policy.tiers.as_slice())
    };
    let wanted: BTreeMap<&PluginName, BTreeMap<&str, Timestamp>> = pages
        .map(|(plugin, page)| (plugin, workflows(page, tiers(plugin))))
        .filter(|(_, wanted)| !wanted.is_empty())
        .collect();
    let mut since: BTreeMap<&str, Timestamp> = BTreeMap::new();
    for (workflow, at) in wanted.values().flatten() {
        since.entry(workflow).and_modify(|known| *known = (*known).min(*at)).or_insert(*at);
    }
    let mut answers: BTreeMap<&str, Result<Vec<WorkflowRun>, String>> = BTreeMap::new();
    for (workflow, since) in since {
        let answer = hub.dispatched(workflow, since).await;
        answers.insert(workflow, answer.map_err(|error| format!("{workflow}: {error}")));
    }
    let of_plugin = |workflows: &BTreeMap<&str, Timestamp>| {
        let mut all = Vec::new();
        for workflow in workflows.keys() {
            match answers.get(workflow) {
                Some(Ok(runs)) => all.extend(runs.iter().cloned()),
                Some(Err(why)) => return Read::Unread(why.clone()),
                None => return Read::Unread(format!("{workflow} was not asked about")),
            }
        }
        Read::Known(all)
    };
    wanted.iter().map(|(plugin, workflows)| ((*plugin).clone(), of_plugin(workflows))).collect()
}

/// The workflows of climbs that have begun to move and have not come to their end, and since when.
fn workflows<'a>(page: &'a PluginLedger, tiers: &'a [Tier]) -> BTreeMap<&'a str, Timestamp> {
    let mut found: BTreeMap<&str, Timestamp> = BTreeMap::new();
    for (name, waves) in &page.tiers {
        let whole = tiers.iter().find(|tier| tier.name == *name).and_then(|tier| tier.verify.as_ref());
        for wave in waves.iter().filter(|wave| is_under_way(page, name, wave)) {
            let begun =
                page.landed_with(name, wave).into_iter().filter_map(|slice| slice.landed()).map(|at| at.at).min();
            let Some(begun) = begun else { continue };
            let last = wave.part.slice as usize + 1 >= wave.part.slices() && wave.landed().is_some();
            let between = wave.part.pauses.iter().flatten().filter_map(|wait| match wait {
                Wait::Verify(verify) => Some(verify),
                Wait::Pause(_) => None,
            });
            for verify in between.filter(|_| !last).chain(whole) {
                let at = found.entry(verify.workflow.as_str()).or_insert(begun);
                *at = (*at).min(begun);
            }
        }
    }
    found
}

/// Whether more of its climb may come.
fn is_under_way(page: &PluginLedger, tier: &decide::TierName, wave: &Wave) -> bool {
    let newest = page.wave(tier, &wave.version) == Some(wave);
    let goes_on = match wave.state() {
        // What the bot took back may come again.
        State::Open | State::Landed(_) | State::LandedAnyway(_) | State::Closed(Closed::Withdrawn(_)) => true,
        State::Closed(Closed::Rejected(_) | Closed::Superseded(_)) => false,
        State::Overtaken(_) | State::Finished(_) | State::Failed(_) => false,
    };
    newest && goes_on
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use decide::ledger::{Change, Entry, Head, Landed, Part};
    use decide::model::Verify;
    use decide::{TierName, Version};
    use jiff::SignedDuration;

    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    /// The first of two slices, with a workflow before the second, or all in one.
    fn ledger(slices: bool, changes: &[Change]) -> Ledger {
        let mut ledger = Ledger::default();
        let verify = Verify { workflow: "smoke.yml".to_string(), timeout: SignedDuration::from_mins(30) };
        let part = Part {
            partition: vec![vec!["c1".into()].into(), vec!["c2".into()].into()],
            pauses: vec![vec![], vec![Wait::Verify(verify)]],
            ..Part::default()
        };
        let part = if slices { part } else { Part::default() };
        let head = Head { commit: "abc".into(), at: at(1), repeats: false };
        let intent = Change::Intent { from: None, digest: None, part, members: vec!["c1".into()], head };
        for change in std::iter::once(&intent).chain(changes) {
            let (plugin, tier, version): (_, TierName, Version) =
                ("app".into(), "gold".into(), "1.1.0".parse().unwrap());
            ledger.apply(&Entry::Wave { plugin, tier, version, change: change.clone() });
        }
        ledger
    }

    #[test]
    fn only_climbs_that_have_begun_to_move_are_asked_about() {
        let landed = Change::Landed(Landed { at: at(5), commit: None, by: None });
        let mut tier = Tier::new("gold".into(), decide::selector::Selector::default());
        let asked = |tier: &Tier, slices: bool, changes: &[Change]| {
            let ledger = ledger(slices, changes);
            let found = workflows(&ledger.plugins[&PluginName::from("app")], std::slice::from_ref(tier));
            found.into_iter().map(|(name, at)| (name.to_string(), at)).collect::<Vec<_>>()
        };
        let (on_its_way, finished) = ([landed.clone()], [landed, Change::Finished(at(9))]);
        let smoke = [("smoke.yml".to_string(), at(5))];
        assert_eq!(asked(&tier, true, &[]), []);
        assert_eq!(asked(&tier, true, &on_its_way), smoke);
        assert_eq!(asked(&tier, true, &finished), []);
        assert_eq!(asked(&tier, false, &on_its_way), [], "nothing is verified");
        tier.verify = Some(Verify { workflow: "e2e.yml".to_string(), timeout: SignedDuration::from_mins(30) });
        let whole = [("e2e.yml".to_string(), at(5))];
        assert_eq!(asked(&tier, false, &on_its_way), whole, "the whole tier is");
        assert_eq!(asked(&tier, true, &on_its_way), [whole, smoke].concat());
        assert_eq!(asked(&tier, false, &finished), []);
    }
}
