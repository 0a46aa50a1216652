//! How an entry changes the ledger: the one place where it is written.

use super::{Change, Entry, Grace, Head, Landed, Ledger, Part, PluginLedger, Purpose, Wave};
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
            Entry::Outage(outage) => {
                if !self.outages.contains(outage) {
                    self.outages.push(*outage);
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
    /// where none is there, and where the bot had taken the present one back or moved it on.
    pub fn apply(&mut self, tier: &TierName, version: &Version, change: &Change) {
        let waves = self.tiers.entry(tier.clone()).or_default();
        let present = waves.iter().rposition(|wave| wave.version == *version);
        let wave = match (change, present) {
            (Change::Found { members, landed: Landed { at, .. }, .. }, None)
            | (Change::Intent { members, head: Head { at, .. }, .. }, None) => {
                waves.push(Wave::begun(version.clone(), members.clone(), *at));
                waves.last_mut()
            }
            (Change::Intent { members, head, .. }, Some(index)) if waves[index].is_shelved() => {
                // What was pushed for it before is still ours when it turns up on the branch.
                let heads = waves.remove(index).heads;
                waves.push(Wave { heads, ..Wave::begun(version.clone(), members.clone(), head.at) });
                waves.last_mut()
            }
            // What comes back is a wave of its own; the one of before keeps its evidence.
            (
                Change::Intent {
                    part: Part { purpose: purpose @ Purpose::RollBack { .. }, .. }, members, head, ..
                },
                Some(index),
            ) if waves[index].part.purpose != *purpose => {
                waves.push(Wave::begun(version.clone(), members.clone(), head.at));
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
                self.members.clone_from(members);
                if !self.heads.contains(head) {
                    self.heads.push(head.clone());
                }
            }
            Change::Announced(announced) => self.pull = Some(announced.clone()),
            Change::Grace(grace) => {
                // The deadline never moves earlier, whatever is written.
                let announced = self.grace.as_ref().map_or(grace.deadline, |before| before.deadline);
                self.grace = Some(Grace { deadline: grace.deadline.max(announced), ..grace.clone() });
            }
            Change::GraceEnded => self.grace = None,
            Change::Merging(merging) => self.merging = Some(merging.clone()),
            Change::Landed(landed) => self.landed = Some(landed.clone()),
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
