//! How an entry changes the ledger: the one place where it is written.

use alloc::vec::Vec;

use super::{
    Change, Entry, Frozen, Grace, Head, Landed, Ledger, Lifted, Part, PluginLedger, Purpose, Refused, Stop, Thawed,
    Wave,
};
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
            Entry::Stopped(stop) => {
                // What was cleared may go wrong once more.
                let same = |known: &Stop| known.cleared.is_none() || known.at >= stop.at;
                if !self.stops.iter().any(|known| known.head == stop.head && same(known)) {
                    self.stops.push(stop.clone());
                }
            }
            Entry::Rebuilt(rebuild) => {
                // A word that was heard before says nothing of what came since.
                if !self.rebuilds.contains(rebuild) {
                    let cleared = || Lifted { by: rebuild.by.clone(), at: rebuild.at };
                    for stop in self.stops.iter_mut().filter(|stop| stop.head == rebuild.cited) {
                        stop.cleared.get_or_insert_with(cleared);
                    }
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
            Change::Refused { head, at, why, kind } => {
                self.refused = Some(Refused::after(self.refused.as_ref(), (head.clone(), *at), why.clone(), *kind));
            }
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
    use crate::PullNumber;
    use crate::ledger::{Entry, Rebuild};
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
                head: Head { commit: "aa".into(), at: ago(1), repeats: false },
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

    /// It stands once for each time that it goes wrong, however often that is seen or read.
    #[test]
    fn a_stop_is_kept_once_until_it_was_cleared_and_goes_wrong_once_more() {
        let mut ledger = Ledger::default();
        let mut stops = |entry: &Entry| {
            ledger.apply(entry);
            ledger.stops.len()
        };
        let stop = |minutes| {
            Entry::Stopped(Stop {
                pull: PullNumber(7),
                head: "aa".into(),
                at: ago(minutes),
                why: "".into(),
                cleared: None,
            })
        };
        assert_eq!((stops(&stop(30)), stops(&stop(20))), (1, 1));
        let rebuild = Rebuild { cited: "aa".into(), by: "olga".into(), at: ago(10), pull: PullNumber(7) };
        assert_eq!((stops(&Entry::Rebuilt(rebuild)), stops(&stop(30)), stops(&stop(5))), (1, 1, 2));
    }

    /// What is found where it stands already begins nothing; nor does what nobody runs.
    #[test]
    fn what_is_found_begins_anew_only_for_others_than_those_who_left() {
        let found = |names: &[&str]| {
            let members = names.iter().map(|name| ClusterName::from(*name)).collect();
            Change::Found { members, digest: None, landed: Landed { at: ago(90), commit: None, by: None } }
        };
        let left = || Change::Left { clusters: vec!["a".into()] };
        assert_eq!(page(&[found(&["a"]), found(&["b"])]).len(), 1);
        assert_eq!(page(&[found(&["a"]), left(), found(&["b"])]).len(), 2);
        assert_eq!(page(&[found(&["a"]), left(), found(&[])]).len(), 1);
    }

    fn page(changes: &[Change]) -> Vec<Wave> {
        let mut ledger = Ledger::default();
        for change in changes {
            let (plugin, tier) = ("app".into(), "qa".into());
            ledger.apply(&Entry::Wave { plugin, tier, version: version("1.1.0"), change: change.clone() });
        }
        ledger.plugins[&"app".into()].tiers[&"qa".into()].clone()
    }

    fn intent(part: Part, commit: &str, minutes: i64) -> Change {
        let head = Head { commit: commit.into(), at: ago(minutes), repeats: false };
        Change::Intent { from: None, digest: None, part, members: vec!["a".into()], head }
    }

    fn withdrawn() -> Change {
        Change::Withdrawn(crate::ledger::Withdrawn { at: ago(5), why: crate::Reason::NotLanded })
    }

    #[test]
    fn what_is_written_twice_is_there_once() {
        use crate::ledger::{Outage, Rebuild};
        let mut ledger = Ledger::default();
        let outage = Outage { from: ago(9), to: ago(8) };
        let rebuilt = Rebuild { cited: "aa".into(), by: "noor".into(), at: ago(3), pull: crate::PullNumber(7) };
        for _ in 0..2 {
            ledger.apply(&Entry::Outage(outage));
            ledger.apply(&Entry::Rebuilt(rebuilt.clone()));
        }
        ledger.apply(&Entry::Outage(Outage { from: ago(7), to: ago(6) }));
        ledger.apply(&Entry::Rebuilt(Rebuild { cited: "bb".into(), ..rebuilt }));
        assert_eq!((ledger.outages.len(), ledger.rebuilds.len()), (2, 2));
    }

    /// What was pushed for a shelved wave is still ours; another slice has heads of its own, and who left the
    /// climb has left all of it.
    #[test]
    fn a_shelved_wave_comes_again_with_its_commits() {
        let heads = |waves: &[Wave]| waves.iter().map(|wave| wave.heads.len()).collect::<Vec<_>>();
        let whole = Part::default;
        assert_eq!(heads(&page(&[intent(whole(), "aa", 9), intent(whole(), "bb", 8)])), [2], "written anew");
        assert_eq!(heads(&page(&[intent(whole(), "aa", 9), withdrawn(), intent(whole(), "bb", 4)])), [2]);
        let superseded =
            Change::Superseded(crate::ledger::Superseded { at: ago(5), by: crate::testing::version("1.2.0") });
        assert_eq!(heads(&page(&[intent(whole(), "aa", 9), superseded, intent(whole(), "bb", 4)])), [2]);
        let landed = Change::Landed(Landed { at: ago(6), commit: None, by: None });
        let late = Part { purpose: Purpose::CatchUp, ..whole() };
        let after = [intent(whole(), "aa", 9), landed.clone(), withdrawn(), intent(late.clone(), "bb", 4)];
        assert_eq!(heads(&page(&after)), [1, 1], "clusters that catch up have a wave of their own");
        assert_eq!(heads(&page(&[intent(whole(), "aa", 9), withdrawn(), intent(late, "bb", 4)])), [1, 1]);
        let partition = vec![vec![ClusterName::from("a")].into(), vec![ClusterName::from("b")].into()];
        let slice = |slice| Part { slice, partition: partition.clone(), ..whole() };
        let left = Change::Left { clusters: vec!["b".into()] };
        let climb = [intent(slice(0), "aa", 9), landed, left.clone(), intent(slice(1), "bb", 4)];
        let waves = page(&climb);
        assert_eq!((heads(&waves), waves[1].left.len()), (vec![1, 1], 1), "who has left the climb has left it");
        let anew = page(&[intent(slice(0), "aa", 9), left, withdrawn(), intent(slice(0), "bb", 4)]);
        assert_eq!((heads(&anew), anew[0].left.len()), (vec![2], 0), "it begins anew with those who are there");
    }

    #[test]
    fn a_deadline_moves_later_and_never_earlier() {
        let grace =
            |minutes| Change::Grace(Grace { since: ago(90), deadline: ago(minutes), notices: vec![], giving: None });
        let deadline = |changes: &[Change]| {
            let mut all = vec![intent(Part::default(), "aa", 9)];
            all.extend_from_slice(changes);
            page(&all)[0].grace.as_ref().unwrap().deadline
        };
        assert_eq!(deadline(&[grace(5), grace(9)]), ago(5));
        assert_eq!(deadline(&[grace(9), grace(5)]), ago(5));
        assert_eq!(deadline(&[grace(9), Change::GraceEnded, grace(20)]), ago(20), "switched off, and on again");
    }

    #[test]
    fn a_later_slice_that_was_taken_back_may_come_again() {
        let comes = |slice: u32, changes: &[Change]| {
            let partition = vec![vec![ClusterName::from("a")].into(), vec![ClusterName::from("b")].into()];
            let mut all = vec![intent(Part { slice, partition, ..Part::default() }, "aa", 9)];
            all.extend_from_slice(changes);
            page(&all).last().unwrap().may_come_again()
        };
        let rejected = Change::Rejected(crate::ledger::Rejected { at: ago(1), by: None, pull: crate::PullNumber(7) });
        let failed = Change::Failed(crate::ledger::Failed { at: ago(1), why: crate::Reason::NotLanded });
        let landed = Change::Landed(Landed { at: ago(1), commit: None, by: None });
        let superseded =
            Change::Superseded(crate::ledger::Superseded { at: ago(1), by: crate::testing::version("1.2.0") });
        assert!(comes(1, &[withdrawn()]));
        assert!(!comes(0, &[withdrawn()]), "the first one begins anew");
        assert!(!comes(1, &[]), "it was not taken back");
        for other in [rejected, failed, landed, superseded] {
            assert!(!comes(1, &[withdrawn(), other.clone()]), "{other:?}");
        }
    }
}
