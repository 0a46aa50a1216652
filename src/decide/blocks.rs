//! Steps that must not be taken (policy, section 2): by the file, by an annotation of the chart, or by a label
//! on one of our pull requests, which keeps its release from the tiers above. What else stops a release is
//! in `release`.

use alloc::vec::Vec;

use crate::constraint::Constraint;
use crate::facts::Facts;
use crate::ledger::{Entry, Labelled};
use crate::model::Block;
use crate::obstacle::{Lasts, Obstacle};
use crate::snapshot::{Pull, Read};
use crate::{Reason, TierName, Version, source};

/// Remembers labels: the hub shows closed pull requests for a while only.
pub(crate) fn fresh(facts: &Facts<'_>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for pull in pulls(facts) {
        let known = facts.page.labelled.iter().any(|known| known.pull == pull.number);
        let plugin = facts.plugin().clone();
        match (&pull.labelled, known, facts.release_of(pull).cloned()) {
            (Read::Known(true), false, Some(version)) => {
                let labelled = Labelled { pull: pull.number, tier: pull.tier.clone(), version, at: facts.now };
                entries.push(Entry::Labelled { plugin, labelled });
            }
            (Read::Known(true), true, Some(version)) if !remembers(facts, pull, &version) => {
                // It holds another release by now.
                let labelled = Labelled { pull: pull.number, tier: pull.tier.clone(), version, at: facts.now };
                entries.push(Entry::Unlabelled { plugin: plugin.clone(), pull: pull.number });
                entries.push(Entry::Labelled { plugin, labelled });
            }
            (Read::Known(false), true, _) => entries.push(Entry::Unlabelled { plugin, pull: pull.number }),
            (Read::Known(_) | Read::Unread(_), _, _) => {}
        }
    }
    entries
}

fn remembers(facts: &Facts<'_>, pull: &Pull, version: &Version) -> bool {
    facts.page.labelled.iter().any(|known| known.pull == pull.number && known.version == *version)
}

fn pulls<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Pull> + use<'a> {
    facts.observed.and_then(|facts| facts.pulls.known()).into_iter().flatten()
}

/// Why a step to a version must not be taken on this tier.
pub(crate) fn blocked(facts: &Facts<'_>, tier_index: usize, version: &Version) -> Option<Obstacle> {
    by_the_file(facts, tier_index, version)
        .or_else(|| by_its_chart(facts, tier_index, version))
        .map(Obstacle::refused)
        .or_else(|| by_a_label(facts, tier_index, version))
}

/// A step that the file forbids, from anything that runs on this tier.
fn by_the_file(facts: &Facts<'_>, tier_index: usize, version: &Version) -> Option<Reason> {
    facts.policy.blocks.iter().filter(|block| applies(facts, tier_index, block) && block.to.covers(version)).find_map(
        |block| {
            let from = begins(facts, tier_index, version, block.from.as_ref())?;
            let (why, fixed_in) = (block.why.clone(), block.fixed_in.clone());
            Some(Reason::EdgeBlocked { from, to: version.clone(), why, fixed_in })
        },
    )
}

/// A step that the author of the release forbids.
fn by_its_chart(facts: &Facts<'_>, tier_index: usize, version: &Version) -> Option<Reason> {
    let release = source::find(facts, version).ok()?;
    release.blocks.iter().find_map(|block| {
        let from = begins(facts, tier_index, version, block.from.as_ref())?;
        Some(Reason::BlockedByChart { from, to: version.clone(), why: block.why.clone() })
    })
}

/// Where such a step would begin on this tier: inside of nothing for a first install, or the version that
/// runs there and is covered. None where nothing is.
fn begins(facts: &Facts<'_>, tier_index: usize, to: &Version, from: Option<&Constraint>) -> Option<Option<Version>> {
    let running = facts.running(facts.policy.tiers.get(tier_index)?);
    let covered = |running: &&Version| *running < to && from.is_none_or(|from| from.covers(running));
    if from.is_none() && running.is_empty() {
        return Some(None);
    }
    running.iter().find(covered).cloned().map(Some)
}

/// A release whose pull request on a tier below has the label; one of which nobody knows whether it has.
fn by_a_label(facts: &Facts<'_>, tier_index: usize, version: &Version) -> Option<Obstacle> {
    let known =
        facts.page.labelled.iter().find(|label| label.version == *version && is_above(facts, tier_index, &label.tier));
    if let Some(Labelled { pull, tier, version, .. }) = known.cloned() {
        return Some(Obstacle::refused(Reason::BlockedByLabel { tier, version, pull }));
    }
    let of_release = |pull: &&Pull| pull.version.as_ref() == Some(version) && is_above(facts, tier_index, &pull.tier);
    pulls(facts).filter(of_release).find_map(|pull| match &pull.labelled {
        Read::Known(_) => None,
        Read::Unread(why) => {
            let why = Reason::Unread { what: alloc::format!("the labels of {}", pull.number), why: why.clone() };
            Some(Obstacle::new(Lasts::Unread, why))
        }
    })
}

/// A block that names a tier is for the tiers above it; one that names an unknown tier is for all.
fn applies(facts: &Facts<'_>, tier_index: usize, block: &Block) -> bool {
    block.above.as_ref().is_none_or(|above| is_above(facts, tier_index, above))
}

fn is_above(facts: &Facts<'_>, tier_index: usize, tier: &TierName) -> bool {
    facts.policy.tiers.iter().position(|known| known.name == *tier).is_none_or(|at| tier_index > at)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::PullNumber;
    use crate::next_release::tests::{doings, publish};
    use crate::plan::{Gate, Verdict};
    use crate::snapshot::{ChartBlock, PullState, Release, Snapshot};
    use crate::testing::*;
    use alloc::string::ToString;
    use alloc::vec;

    /// qa's merged pull request of 1.1.0, with this label or without.
    fn merged(world: &mut Snapshot, labelled: Read<bool>) {
        let state = PullState::Merged { at: ago(690), by: BOT.into(), commit: "bb".into() };
        let below = Pull { number: PullNumber(3), tier: "qa".into(), state, labelled, ..pull() };
        if let Read::Known(pulls) = &mut facts(world).pulls {
            pulls.retain(|pull| pull.number != PullNumber(3));
            pulls.push(below);
        }
    }

    fn remember_all(world: &mut Snapshot) {
        for record in crate::plan(world, noon()).entries {
            match record.entry {
                Entry::Labelled { .. } | Entry::Unlabelled { .. } => world.ledger.apply(&record.entry),
                _ => {}
            }
        }
    }

    #[test]
    fn a_label_keeps_a_release_from_the_tiers_above_until_it_goes() {
        let close = "close bronze: 1.1.0 goes no further than qa while #3 has the label `coldframe/block`";
        let mut world = ready();
        merged(&mut world, Read::Known(true));
        assert_eq!(doings(&world), [close]);
        // The hub shows closed pull requests for a while only.
        remember_all(&mut world);
        let labels = |entry: &Entry| matches!(entry, Entry::Labelled { .. } | Entry::Unlabelled { .. });
        assert!(!crate::plan(&world, noon()).entries.iter().any(|record| labels(&record.entry)), "it is said once");
        if let Read::Known(pulls) = &mut facts(&mut world).pulls {
            pulls.truncate(1);
        }
        assert_eq!(doings(&world), [close]);
        merged(&mut world, Read::Unread("503".into()));
        assert_eq!(doings(&world), [close]);
        merged(&mut world, Read::Known(false));
        assert_eq!(doings(&world), ["merge 1.1.0 on bronze"]);
        remember_all(&mut world);
        assert_eq!(world.ledger.plugins[&"app".into()].labelled, []);
        // On its own tier it stops nothing, and nothing is known where the labels were not read.
        let mut own = ready();
        edit(&mut own, |pull| pull.labelled = Read::Known(true));
        assert_eq!(doings(&own), ["merge 1.1.0 on bronze"]);
        edit(&mut own, |pull| pull.labelled = Read::Unread("503".into()));
        assert_eq!(doings(&own), ["merge 1.1.0 on bronze"]);
        let mut unread = ready();
        merged(&mut unread, Read::Unread("503".into()));
        assert_eq!(doings(&unread), [""; 0]);
        assert_eq!(says(&unread, Gate::Release).verdict, Verdict::Unknown);
    }

    #[test]
    fn a_pull_request_that_moves_takes_its_label_along() {
        let mut world = ready();
        merged(&mut world, Read::Known(true));
        remember_all(&mut world);
        if let Read::Known(pulls) = &mut facts(&mut world).pulls {
            pulls[1].version = Some(version("1.2.0"));
        }
        assert_eq!(doings(&world), ["merge 1.1.0 on bronze"]);
    }

    /// Somebody pushed to its branch, so that it does not say its release any more.
    #[test]
    fn a_pull_request_that_was_edited_is_about_the_release_it_had() {
        let mut world = ready();
        let announced = crate::ledger::Announced { number: PullNumber(3), at: ago(699) };
        crate::next_release::tests::on_qa(&mut world, "1.1.0", crate::ledger::Change::Announced(announced));
        merged(&mut world, Read::Known(true));
        if let Read::Known(pulls) = &mut facts(&mut world).pulls {
            pulls[1].version = None;
        }
        let close = "close bronze: 1.1.0 goes no further than qa while #3 has the label `coldframe/block`";
        assert_eq!(doings(&world), [close]);
    }

    /// Where a version runs already there is no step to it.
    #[test]
    fn what_runs_takes_no_step() {
        for (running, blocks) in [("1.0.0", true), ("1.1.0", false), ("1.2.0", false)] {
            let mut world = ready();
            let anywhere = ChartBlock { from: None, why: "the CRD".into() };
            let blocked = Release { blocks: vec![anywhere], ..release("1.1.0") };
            facts(&mut world).releases = Read::Known(vec![release("1.0.0"), blocked, release("1.2.0")]);
            facts(&mut world).base = Read::Known([place("qa", "1.1.0"), place("bronze", running)].into());
            let shared = &mut crate::facts::Shared::count(&world, noon());
            let common = crate::facts::Common::of(&world, noon());
            let facts = Facts::new(&common, 0, shared);
            assert_eq!(super::blocked(&facts, 1, &version("1.1.0")).is_some(), blocks, "{running}");
        }
    }

    #[test]
    fn a_chart_blocks_steps_to_itself() {
        let block = |from: Option<&str>| ChartBlock { from: from.map(|f| f.parse().unwrap()), why: "the CRD".into() };
        for (from, running, stops) in
            [(Some("<1.1"), "1.0.0", true), (Some("<1.0"), "1.0.0", false), (None, "1.0.0", true)]
        {
            let mut world = ready();
            let blocked = Release { blocks: vec![block(from)], ..release("1.1.0") };
            facts(&mut world).releases = Read::Known(vec![release("1.0.0"), blocked]);
            facts(&mut world).base = Read::Known([place("qa", "1.1.0"), place("bronze", running)].into());
            assert_eq!(!merges(&crate::plan(&world, noon())), stops, "{from:?}");
            if stops {
                assert_eq!(doings(&world), ["close bronze: its chart blocks the step from 1.0.0 to 1.1.0: the CRD"]);
            }
        }
        // The newest that is not blocked is taken instead.
        let mut world = ready();
        publish(&mut world, &["1.0.0", "1.1.0", "1.2.0"]);
        let blocked = Release { blocks: vec![block(Some("<1.2"))], ..release("1.3.0") };
        if let Read::Known(releases) = &mut facts(&mut world).releases {
            releases.push(blocked);
        }
        assert_eq!(doings(&world).first().map(ToString::to_string).as_deref(), Some("open 1.2.0 on qa"));
    }

    fn labelled(world: &Snapshot) -> Vec<alloc::string::String> {
        let entries = crate::plan(world, noon()).entries.into_iter();
        let of_labels = entries.filter_map(|record| match record.entry {
            Entry::Labelled { labelled, .. } => Some(alloc::format!("{} on {}", labelled.version, labelled.pull)),
            Entry::Unlabelled { pull, .. } => Some(alloc::format!("none on {pull}")),
            _ => None,
        });
        of_labels.collect()
    }

    /// A label is remembered once, for the release that the pull request holds.
    #[test]
    fn a_label_follows_what_its_pull_request_holds() {
        let mut world = ready();
        edit(&mut world, |pull| pull.labelled = Read::Known(true));
        assert_eq!(labelled(&world), ["1.1.0 on #7"]);
        for record in crate::plan(&world, noon()).entries {
            world.ledger.apply(&record.entry);
            world.ledger.apply(&record.entry);
        }
        let page = |world: &Snapshot| world.ledger.plugins[&"app".into()].labelled.clone();
        assert_eq!((labelled(&world).len(), page(&world).len()), (0, 1), "it is known");
        // Two pull requests may carry it for one release, and one for two.
        let known = page(&world)[0].clone();
        let mut two = world.clone();
        for other in [
            Labelled { pull: crate::PullNumber(8), ..known.clone() },
            Labelled { version: version("1.2.0"), ..known.clone() },
        ] {
            two.ledger.apply(&Entry::Labelled { plugin: "app".into(), labelled: other });
        }
        assert_eq!(page(&two).len(), 3);
        let mut moved = world.clone();
        edit(&mut moved, |pull| pull.version = Some(version("1.2.0")));
        assert_eq!(labelled(&moved), ["none on #7", "1.2.0 on #7"]);
        // Somebody pushed to it: it is still about the release that it had.
        let mut pushed = world.clone();
        edit(&mut pushed, |pull| pull.version = None);
        assert_eq!(labelled(&pushed), [""; 0]);
        edit(&mut world, |pull| pull.labelled = Read::Known(false));
        assert_eq!(labelled(&world), ["none on #7"]);
    }
}
