//! Gates: each is one reason that a wave may have to wait, one file per gate with its cases. Which
//! release a tier takes is in `release`; what follows from the verdicts is in `tiers`.

pub(crate) mod about;
pub(crate) mod after;
pub(crate) mod announce;
pub(crate) mod approvals;
pub(crate) mod asked;
pub(crate) mod breaking;
pub(crate) mod covers;
pub(crate) mod force_command;
pub(crate) mod freeze;
pub(crate) mod grace;
pub(crate) mod head;
pub(crate) mod health;
pub(crate) mod hold;
pub(crate) mod inherited;
pub(crate) mod ledger;
pub(crate) mod limits;
pub(crate) mod opening;
pub(crate) mod pause;
pub(crate) mod pull_status;
pub(crate) mod release;
pub(crate) mod tier_below;
pub(crate) mod verify;
pub(crate) mod window;

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use asked::{Asked, AskedOpen};

use crate::facts::{Base, Facts};
use crate::ledger::Wave;
use crate::model::Tier;
use crate::plan::{Finding, Gate, Verdict};
use crate::slice::Portion;
use crate::snapshot::Read;
use crate::{Reason, expiry, hotfix, rollback, slice};

impl Finding {
    pub(crate) fn new(gate: Gate, verdict: Verdict, because: Reason) -> Self {
        Self { gate, verdict, because }
    }

    pub(crate) fn pass(gate: Gate, because: Reason) -> Self {
        Self::new(gate, Verdict::Pass, because)
    }

    pub(crate) fn wait(gate: Gate, because: Reason) -> Self {
        Self::new(gate, Verdict::Wait { until: None }, because)
    }

    pub(crate) fn fail(gate: Gate, because: Reason) -> Self {
        Self::new(gate, Verdict::Fail, because)
    }

    pub(crate) fn unread(gate: Gate, what: &str, why: &str) -> Self {
        let because = Reason::Unread { what: what.to_string(), why: why.to_string() };
        Self::new(gate, Verdict::Unknown, because)
    }
}

/// What has to hold before anything is decided about a tier; empty when all of it does.
pub(crate) fn preconditions(facts: &Facts<'_>, tier: &Tier) -> Vec<Finding> {
    let mut troubles = Vec::new();
    let ledger = ledger::finding(facts);
    if !ledger.verdict.lets_through() {
        troubles.push(ledger);
    }
    if let Read::Unread(why) = &facts.snapshot.clusters {
        troubles.push(Finding::unread(Gate::Release, "the inventory", why));
    }
    if let Some(range) = release::range(facts, tier) {
        troubles.push(range);
    } else if let Base::Unread(why) = facts.base(&tier.name) {
        troubles.push(Finding::unread(Gate::Release, if tier.follows { "what runs" } else { "the base branch" }, &why));
    }
    match facts.observed.map(|facts| &facts.pulls) {
        Some(Read::Known(_)) => {}
        Some(Read::Unread(why)) => troubles.push(Finding::unread(Gate::Release, "the list of pull requests", why)),
        None => troubles.push(Finding::unread(Gate::Release, "the plugin", "it was not looked at")),
    }
    if let Some(base) = facts.open_pull(&tier.name).and_then(|pull| pull.misplaced.clone()) {
        troubles.push(Finding::fail(Gate::Head, Reason::OtherBase { base }));
    }
    if let Some((cluster, tiers)) = facts.in_two_tiers(tier) {
        troubles.push(Finding::fail(Gate::Release, Reason::ClusterInTwoTiers { cluster, tiers }));
    }
    troubles
}

/// Every gate before a pull request exists. The windows of merges, freezes and approvals stop merges only: people
/// can review meanwhile.
pub(crate) fn before_opening(asked: &Asked<'_>) -> Vec<Finding> {
    let mut findings = before_another(asked);
    findings.extend(opening::finding(asked));
    findings
}

/// The same for whatever goes on with a climb.
fn before_another(asked: &Asked<'_>) -> Vec<Finding> {
    vec![
        ledger::finding(asked.facts),
        release::finding(asked),
        tier_below::finding(asked),
        after::opening(asked),
        release::members(asked),
        slice::finding(asked.facts, asked.tier),
        limits::opening(asked),
    ]
}

/// The same before the next slice of a climb, for what has moved to be healthy and what stands between the slices.
pub(crate) fn before_next_slice(asked: &Asked<'_>, wave: &Wave, next: &Portion) -> Vec<Finding> {
    let mut findings = before_another(asked);
    findings.push(pause::finding(asked.facts, asked.tier, wave, next));
    findings.push(health::of_earlier_slices(asked.facts, asked.tier, wave));
    findings
}

/// Every gate of an open pull request but the grace period, in the order in which people read them.
pub(crate) fn findings(open: &AskedOpen<'_>) -> Vec<Finding> {
    let AskedOpen { facts, tier_index, tier, wave, .. } = *open;
    if wave.rolls_back().is_some() {
        return rollback::findings(open);
    }
    let own = wave.own();
    let asked = &Asked::of(facts, tier_index, &wave.version).of_part(&wave.part, &own);
    let mut findings = vec![ledger::finding(facts), release::finding(asked)];
    findings.extend(hotfix::findings(open));
    findings.extend(expiry::finding(open));
    findings.extend([
        tier_below::finding(asked),
        after::merging(open),
        breaking::finding(open),
        release::rejection(asked),
        hold::finding(open),
        freeze::finding(open),
        window::finding(open),
    ]);
    findings.extend(announce::finding(open));
    findings.extend([approvals::finding(open), head::finding(open), limits::merging(open)]);
    findings.extend(slice::apart(facts, tier));
    findings.extend((wave.part.slice > 0).then(|| health::of_earlier_slices(facts, tier, wave)));
    findings
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use crate::snapshot::Read;
    use crate::testing::*;
    use alloc::string::ToString;

    /// gold selects a zone in which qa-1 lies, too: both stand still, and bronze, which shares nobody, goes on.
    #[test]
    fn a_cluster_in_two_tiers_stops_both_and_no_other() {
        let world = |zone: &str| {
            let mut world = ready();
            if let Read::Known(clusters) = &mut world.clusters {
                clusters[0].labels.insert("zone".to_string(), zone.to_string());
            }
            let mut gold = tier("gold");
            gold.select.match_labels = [("zone".to_string(), "a".to_string())].into();
            world.policy.plugins[0].tiers.push(gold);
            crate::plan(&world, noon())
        };
        let blockers = |zone: &str| {
            let of = |name: &str| {
                let plan = world(zone);
                let wave = plan.waves.iter().find(|wave| wave.tier.as_str() == name).expect("a report").clone();
                wave.blocker().map(|finding| finding.because.to_string()).unwrap_or_default()
            };
            ["qa", "bronze", "gold"].map(of)
        };
        let both = "cluster qa-1 belongs to more than one tier: qa, gold";
        assert_eq!(blockers("a"), [both, "", both]);
        assert!(merges(&world("a")), "bronze");
        assert!(!blockers("b").contains(&both.to_string()), "nobody is in two");
    }
}
