//! How an entry changes the ledger: the one place where it is written.

use alloc::vec::Vec;

use super::{Change, Entry, Frozen, Grace, Head, Landed, Ledger, Part, PluginLedger, Purpose, Thawed, Wave};
use crate::clusters::Finder;
use crate::{TierName, Version};

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
    /// where none is there, where the bot had taken the present one back or moved it on, and where
    /// another slice, or the same version for another purpose, is to move.
    pub fn apply(&mut self, tier: &TierName, version: &Version, change: &Change) {
        let waves = self.tiers.entry(tier.clone()).or_default();
        let present = waves.iter().rposition(|wave| wave.version == *version);
        let wave = match (change, present) {
            (Change::Found { members, landed: Landed { at, .. }, .. }, None)
            | (Change::Intent { members, head: Head { at, .. }, .. }, None) => {
                waves.push(Wave::begun(version.clone(), members.as_slice().into(), *at));
                waves.last_mut()
            }
            (Change::Intent { part, members, head, .. }, Some(index)) if waves[index].begins_anew(part) => {
                // What was pushed for it before is still ours when it turns up on the branch.
                let again = waves[index].is_shelved() && waves[index].part.is_like(part);
                let goes_on = part.slice > 0 && waves[index].part.partition == part.partition;
                let left = if goes_on { waves[index].left.clone() } else { Vec::new() };
                let heads = if again { waves.remove(index).heads } else { Vec::new() };
                waves.push(Wave { heads, left, ..Wave::begun(version.clone(), members.as_slice().into(), head.at) });
                waves.last_mut()
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
    /// Whether the intent to move this part begins a wave of its own beside this one.
    fn begins_anew(&self, part: &Part) -> bool {
        self.is_shelved() || !self.part.is_like(part) || (self.landed.is_some() && part.purpose != Purpose::Promotion)
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
