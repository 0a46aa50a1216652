//! How an entry changes the ledger: the one place where it is written.

use alloc::vec::Vec;

use super::{Change, Entry, Frozen, Grace, Head, Landed, Ledger, Part, PluginLedger, Purpose, Thawed, Wave};
use crate::clusters::Finder;
use crate::{ClusterName, TierName, Version};

impl Ledger {
    /// Writes an entry into it. Applying the same entry twice changes nothing more.
    pub fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Seen { plugin, seen } => {
                let page = self.plugins.entry(plugin.clone()).or_default();
                if page.seen(&seen.version).is_none() {
                    page.releases.push(seen.clone());
                }
            }
            Entry::Wave { plugin, tier, version, change } => {
                self.plugins.entry(plugin.clone()).or_default().apply(tier, version, change);
            }
            Entry::Hotfix { plugin, said } => {
                let page = self.plugins.entry(plugin.clone()).or_default();
                if !page.hotfixes.contains(said) {
                    page.hotfixes.push(said.clone());
                }
            }
            Entry::Labelled { plugin, labelled } => {
                let page = self.plugins.entry(plugin.clone()).or_default();
                if !page.labelled.iter().any(|known| known.pull == labelled.pull && known.version == labelled.version) {
                    page.labelled.push(labelled.clone());
                }
            }
            Entry::Unlabelled { plugin, pull } => {
                let page = self.plugins.entry(plugin.clone()).or_default();
                page.labelled.retain(|known| known.pull != *pull);
            }
            Entry::Outage(outage) => {
                if !self.outages.contains(outage) {
                    self.outages.push(*outage);
                }
            }
            Entry::Frozen(frozen) => {
                let same = |known: &Frozen| (known.pull, known.at, &known.by) == (frozen.pull, frozen.at, &frozen.by);
                if !self.freezes.iter().any(same) {
                    self.freezes.push(frozen.clone());
                }
            }
            Entry::Thawed(Thawed { pull, at, by, lifted }) => {
                let same = |known: &&mut Frozen| (known.pull, known.at, &known.by) == (*pull, *at, by);
                if let Some(frozen) = self.freezes.iter_mut().find(same) {
                    frozen.lifted.get_or_insert_with(|| lifted.clone());
                }
            }
            Entry::Rebuilt(rebuild) => {
                if !self.rebuilds.contains(rebuild) {
                    self.rebuilds.push(rebuild.clone());
                }
            }
        }
    }
}

impl PluginLedger {
    /// Writes a change of the newest wave of `version` on `tier`. `Found` and `Intent` begin a wave:
    /// where none is there, where the bot had taken the present one back or moved it on, where
    /// another slice, or the same version for another purpose, is to move, and where everybody has left
    /// the present one.
    pub fn apply(&mut self, tier: &TierName, version: &Version, change: &Change) {
        let waves = self.tiers.entry(tier.clone()).or_default();
        let present = waves.iter().rposition(|wave| wave.version == *version);
        let wave = match (change, present) {
            (Change::Found { members, landed: Landed { at, .. }, .. }, None)
            | (Change::Intent { members, head: Head { at, .. }, .. }, None) => {
                waves.push(Wave::begun(version.clone(), members.as_slice().into(), *at));
                waves.last_mut()
            }
            (Change::Found { members, landed, .. }, Some(index))
                if waves[index].is_deserted() && !members.is_empty() =>
            {
                waves.push(Wave::begun(version.clone(), members.as_slice().into(), landed.at));
                waves.last_mut()
            }
            (Change::Intent { part, members, head, .. }, Some(index)) if waves[index].begins_anew(part, members) => {
                // What was pushed for it before is still ours when it turns up on the branch.
                let again = waves[index].is_shelved() && waves[index].part.is_like(part);
                let goes_on = part.slice > 0 && waves[index].part.partition == part.partition;
                let left = if goes_on { waves[index].left.clone() } else { Vec::new() };
                let heads = if again { waves.remove(index).heads } else { Vec::new() };
                waves.push(Wave { heads, left, ..Wave::begun(version.clone(), members.as_slice().into(), head.at) });
                waves.last_mut()
            }
            (Change::Verified { id, .. }, Some(_)) => {
                let dispatched = |wave: &&mut Wave| wave.verifications.iter().any(|known| known.id == *id);
                waves.iter_mut().rev().filter(|wave| wave.version == *version).find(dispatched)
            }
            (_, Some(index)) => waves.get_mut(index),
            (_, None) => None,
        };
        if let Some(wave) = wave {
            wave.apply(change);
        }
    }
}

impl Wave {
    /// Whether the intent to move this part with these clusters begins a wave of its own beside this one.
    fn begins_anew(&self, part: &Part, members: &[ClusterName]) -> bool {
        // Everybody who had moved has left since: the climb begins anew with those who are there.
        let others = || !self.moved().iter().any(|name| members.contains(name));
        self.is_shelved()
            || !self.part.is_like(part)
            || (self.landed.is_some() && (part.purpose != Purpose::Promotion || others()))
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Found { digest, landed, .. } => {
                self.digest = digest.clone();
                self.landed = Some(landed.clone());
            }
            Change::Intent { from, digest, part, members, head } => {
                self.part.clone_from(part);
                self.from = from.clone();
                self.digest = digest.clone();
                self.members = members.as_slice().into();
                if !self.heads.contains(head) {
                    self.heads.push(head.clone());
                }
            }
            Change::Announced(announced) => self.pull = Some(announced.clone()),
            Change::Shown(head) => self.shown = Some(head.clone()),
            Change::Grace(grace) => {
                // The deadline never moves earlier, whatever is written.
                let announced = self.grace.as_ref().map_or(grace.deadline, |before| before.deadline);
                self.grace = Some(Grace { deadline: grace.deadline.max(announced), ..grace.clone() });
            }
            Change::GraceEnded => self.grace = None,
            Change::Merging(merging) => self.merging = Some(merging.clone()),
            Change::Left { clusters } => {
                let mut known = Finder::new(&self.left);
                let fresh: Vec<_> = clusters.iter().filter(|name| !known.has(name)).cloned().collect();
                self.left.extend(fresh);
            }
            Change::Landed(landed) => {
                // What was noted of earlier slices while this one was open says nothing about its soak.
                self.soak = self.soak.filter(|_| self.landed.is_some());
                self.landed = Some(landed.clone());
            }
            Change::Converged(at) => self.converged = Some(*at),
            Change::Dispatching(verification) => {
                if !self.verifications.iter().any(|known| known.id == verification.id) {
                    self.verifications.push(verification.clone());
                }
            }
            Change::Verified { id, at } => {
                let known = self.verifications.iter_mut().find(|known| known.id == *id);
                known.into_iter().for_each(|known| known.passed = known.passed.or(Some(*at)));
            }
            Change::Soaked(soaked) => self.soak = Some(*soaked),
            Change::LetThrough(through) => self.let_through = Some(through.clone()),
            Change::Finished(at) => self.finished = Some(*at),
            Change::Stalled(stalled) => {
                self.stalled = Some(stalled.clone());
                self.finished = None;
                self.let_through = None;
            }
            Change::Resumed(_) => self.stalled = None,
            Change::Failed(failed) => self.failed = Some(failed.clone()),
            Change::Rejected(rejected) => self.rejected = Some(rejected.clone()),
            Change::Superseded(superseded) => self.superseded = Some(superseded.clone()),
            Change::Withdrawn(withdrawn) => self.withdrawn = Some(withdrawn.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ledger::Entry;
    use crate::testing::{ago, version};
    use alloc::vec;

    #[test]
    fn a_climb_begins_anew_when_everybody_who_had_moved_has_left() {
        let waves = |members: &str| {
            let landed = Landed { at: ago(90), commit: None, by: None };
            let intent = Change::Intent {
                from: None,
                digest: None,
                part: Part::default(),
                members: vec![members.into()],
                head: Head { commit: "aa".into(), at: ago(1) },
            };
            let mut ledger = Ledger::default();
            let changes = [
                Change::Found { members: vec!["gone".into(), "here".into()], digest: None, landed },
                Change::Left { clusters: vec!["gone".into()] },
                intent,
            ];
            for change in changes {
                let (plugin, tier) = ("app".into(), "qa".into());
                ledger.apply(&Entry::Wave { plugin, tier, version: version("1.1.0"), change });
            }
            let waves = &ledger.plugins[&"app".into()].tiers[&"qa".into()];
            waves.iter().map(|wave| wave.landed.is_some()).collect::<Vec<_>>()
        };
        assert_eq!(waves("here"), [true], "the same climb");
        assert_eq!(waves("new"), [true, false], "one that nobody of the first is in");
    }
}
