//! S8 and S17: everything that a merge without the missing approvals needs, and deadlines that stand.

use std::collections::BTreeSet;

use decide::ledger::ForceEvidence;
use decide::model::{Force, Merge, Tier};
use decide::snapshot::{CheckState, LedgerGuard, LedgerState, Mergeable, Pull, PullState, Snapshot};
use jiff::{SignedDuration, Timestamp};

use super::approval::objectors;
use super::merge::held;
use super::{Kept, Watch, expiry, out_of_reach};
use crate::pulls::PullRequest;
use crate::world::{Spot, World};

impl Watch {
    /// From when the grace period of an open pull request counts: its opening, or the look at which the
    /// file first asks for one.
    pub(super) fn grace_runs(
        &mut self,
        kept: &mut Kept,
        (shown, looked): (&Snapshot, Timestamp),
        spot: &Spot,
        tier: &Tier,
    ) {
        let pulls = shown.plugins[&spot.0].pulls.known().into_iter().flatten();
        for pull in pulls.filter(|pull| pull.tier == spot.1 && pull.state == PullState::Open) {
            let key = (spot.clone(), pull.number.0);
            match (&tier.force, kept.grace.get(&key)) {
                (None, _) => drop(kept.grace.insert(key, Timestamp::MAX)),
                (Some(_), None) => drop(kept.grace.insert(key, pull.opened_at)),
                // It was off: it counts from the look that found it on, however long the process stalls then.
                (Some(_), Some(since)) if *since == Timestamp::MAX => {
                    kept.grace.insert(key, looked);
                }
                (Some(_), Some(_)) => {}
            }
        }
    }

    /// S17: for one release, tier and pull request the deadline never moves earlier. What was not pushed
    /// when somebody else was first, nobody was told. A release that gave way to another one, or was taken back, begins anew when it comes back.
    pub(super) fn deadlines_stand(&mut self, world: &mut World) {
        let Some(tip) = world.branch.tip().filter(|tip| self.read != Some(tip.id)) else { return };
        self.read = Some(tip.id);
        let (mut earlier, mut newest) = (Vec::new(), BTreeSet::new());
        for (plugin, page) in &tip.ledger.plugins {
            for (tier, waves) in &page.tiers {
                for wave in waves.iter().rev().take(2) {
                    let Some(pull) = &wave.pull else { continue };
                    let spot = (plugin.clone(), tier.clone());
                    if wave.superseded().is_some() || wave.withdrawn().is_some() {
                        self.gave_way(&spot, &wave.version.to_string(), pull.number.0, wave.begun);
                        continue;
                    }
                    let key = (spot, wave.version.to_string(), pull.number.0);
                    // The slice before may have had the same pull request, which somebody else's commit left open.
                    if !newest.insert(key.clone()) {
                        continue;
                    }
                    let Some(grace) = &wave.grace else {
                        self.deadlines.remove(&key); // switched off; it would count anew
                        continue;
                    };
                    let before = self.deadlines.insert(key, grace.deadline);
                    if let Some(before) = before.filter(|before| grace.deadline < *before) {
                        earlier.push(format!(
                            "S17 the deadline of {plugin} {} on {tier} moved from {before} to {}",
                            wave.version, grace.deadline
                        ));
                    }
                }
            }
        }
        earlier.into_iter().for_each(|what| self.fails(world, what));
    }

    /// Puts the deadline of a release that gave way aside: people were told of it.
    fn gave_way(&mut self, spot: &Spot, version: &str, number: u64, begun: Timestamp) {
        if let Some(deadline) = self.deadlines.remove(&(spot.clone(), version.to_string(), number)) {
            self.deadlines.insert((spot.clone(), format!("{version} of {begun}"), number), deadline);
        }
    }

    /// The latest deadline that the ledger ever held for a pull request.
    fn announced(&self, spot: &Spot, number: u64) -> Option<Timestamp> {
        let of_pull = self.deadlines.iter().filter(|((there, _, pull), _)| there == spot && *pull == number);
        of_pull.map(|(_, deadline)| *deadline).max()
    }

    /// What a period that counts from `since` still lacks: its length without outages, and its notices.
    fn too_soon(&self, now: Timestamp, pull: &PullRequest, since: Timestamp, force: &Force) -> Vec<String> {
        let mut missing = Vec::new();
        let clock = since + force.after + out_of_reach(&self.outages, since, now);
        if now < clock {
            missing.push(format!("the deadline is {clock}"));
        }
        for before in &force.notice {
            // The first since the clock runs: what says it again tells nobody anything new.
            let first = pull.told.iter().find(|sent| sent.before == *before && sent.at >= since);
            match first {
                None => missing.push(format!("the notice {before:#} ahead was never sent")),
                Some(sent) if now < sent.at + *before => {
                    missing.push(format!("the notice {before:#} ahead was sent at {}", sent.at))
                }
                Some(_) => {}
            }
        }
        missing
    }

    /// S8: everything that a merge without the missing approvals needs.
    pub(super) fn may_be_forced(
        &mut self,
        world: &mut World,
        kept: &Kept,
        shown: &Snapshot,
        seen: &Pull,
        spot: &Spot,
        evidence: &ForceEvidence,
    ) {
        let mut missing: Vec<String> = Vec::new();
        let now = world.now;
        let tier = world.tier(spot).clone();
        let truth = world.pulls.iter().find(|pull| pull.number == seen.number.0).cloned();
        let since = |pull: &PullRequest| {
            let since = kept.grace.get(&(spot.clone(), pull.number)).copied();
            since.filter(|since| *since != Timestamp::MAX).unwrap_or(pull.opened_at)
        };
        let force = truth.as_ref().and_then(|pull| expiry::asked(world, shown, (pull, since(pull)), &tier));
        match (force, truth) {
            (_, Some(pull)) if evidence.said.is_some() => {
                if !crate::words::forces(&pull, evidence, seen.head.as_str()) {
                    missing.push(format!("no two who may said so of this head: {:?}", evidence.said));
                }
            }
            (Some(force), Some(pull)) => {
                let of_tier = self.too_soon(now, &pull, since(&pull), &force);
                // What clusters must leave they leave also where force is off; switched on it puts nothing off.
                let off = Tier { force: None, ..tier.clone() };
                let pressed = expiry::asked(world, shown, (&pull, pull.opened_at), &off);
                let pressed = pressed.map(|pressed| Force { notice: force.notice.clone(), ..pressed });
                let pressed = pressed.map(|force| self.too_soon(now, &pull, pull.opened_at, &force));
                missing.extend(pressed.filter(Vec::is_empty).unwrap_or(of_tier));
                if evidence.deadline.is_none_or(|deadline| deadline > world.ours()) {
                    missing.push(format!("its own evidence names the deadline {:?}", evidence.deadline));
                }
                if let Some(announced) = self.announced(spot, pull.number).filter(|announced| now < *announced) {
                    missing.push(format!("the deadline was announced as {announced}"));
                }
            }
            (None, _) => missing.push("the policy has no force here".to_string()),
            (_, None) => missing.push("there is no such pull request".to_string()),
        }
        if world.rule_of(seen.number.0) == Merge::Manual {
            missing.push("the policy leaves this merge to a person".to_string());
        }
        if held(seen) || seen.draft {
            missing.push("it is held".to_string());
        }
        if !objectors(seen).is_empty() {
            missing.push("changes are requested".to_string());
        }
        if seen.mergeable != Mergeable::Yes || seen.state != PullState::Open {
            missing.push("it cannot be merged".to_string());
        }
        if seen.checks.known().is_none_or(|all| all.iter().any(|check| check.state != CheckState::Success)) {
            missing.push("a required check is not green".to_string());
        }
        if SignedDuration::from_secs(world.off()).abs() > SignedDuration::from_secs(30) {
            missing.push("the clocks differ".to_string());
        }
        if shown.policy_problem.is_some() {
            missing.push("the policy file is broken".to_string());
        }
        if shown.ledger_state != (LedgerState::Intact { guarded: LedgerGuard::Sealed }) {
            missing.push("others can push the ledger".to_string());
        }
        if evidence.policy != shown.policy_commit {
            missing.push(format!("its evidence names the policy {} (S19)", evidence.policy));
        }
        let pushed = world.branch.tip().map(|push| &push.ledger);
        let waves = pushed.and_then(|ledger| ledger.plugins.get(&spot.0)).and_then(|page| page.tiers.get(&spot.1));
        let waves = waves.into_iter().flatten();
        let written = waves.filter_map(|wave| wave.merging.as_ref());
        if !{ written }.any(|merging| merging.head == seen.head && merging.forced.as_ref() == Some(evidence)) {
            missing.push("the evidence was not recorded before".to_string());
        }
        for what in missing {
            self.fails(world, format!("S8 forces {} of {} on {}, but {what}", seen.number, spot.0, spot.1));
        }
    }
}
