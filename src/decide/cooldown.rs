//! The cooldown: releases that follow each other closely are taken together at the first tier (policy,
//! section 3).

use alloc::vec::Vec;

use jiff::Timestamp;

use crate::facts::Facts;
use crate::model::Tier;
use crate::next_release::{candidate, newer};
use crate::plan::Alarm;
use crate::release::stopped;
use crate::{Reason, Version, hotfix};

/// Until when a release waits at the first tier for those that are taken together with it: until the
/// cooldown has passed since the first of them was seen. So nobody waits longer than once the
/// cooldown, however many follow. A hotfix does not wait, nor does a release that has begun before.
pub(crate) fn cooling(facts: &Facts<'_>, tier_index: usize, version: &Version) -> Option<Timestamp> {
    let first = first_tier(facts, tier_index)?;
    let waves = facts.page.tiers.get(&first.name).into_iter().flatten();
    let begun = waves.map(|wave| &wave.version).chain(facts.base(&first.name).highest()).max().cloned();
    if hotfix::entry(facts, version).is_some() || begun.as_ref().is_some_and(|begun| version <= begun) {
        return None;
    }
    let together = newer(facts, 0).into_iter().filter(|other| begun.as_ref().is_none_or(|begun| other > begun));
    let mut seen: Vec<_> = together.filter_map(|other| Some((facts.page.seen(&other)?.first_seen, other))).collect();
    seen.sort_by_key(|(at, _)| *at);
    let (seen, _) = seen.into_iter().find(|(_, other)| stopped(facts, 0, other).is_none())?;
    let until = seen + facts.policy.cooldown;
    (until > facts.now).then_some(until)
}

/// Rings when a release has cooled down that may move the pull request of this tier.
pub(crate) fn alarm(facts: &Facts<'_>, tier_index: usize) -> Option<Alarm> {
    first_tier(facts, tier_index)?;
    let until = cooling(facts, tier_index, &candidate(facts, tier_index)?)?;
    facts.alarm(until, Reason::Cooling { cooldown: facts.policy.cooldown })
}

/// The first tier, where it is this one and releases cool down there.
fn first_tier<'d>(facts: &'d Facts<'_>, tier_index: usize) -> Option<&'d Tier> {
    facts.policy.tiers.first().filter(|_| tier_index == 0 && !facts.policy.cooldown.is_zero())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use crate::ledger::Seen;
    use crate::next_release::tests::{doings, publish};
    use crate::plan::{Gate, Verdict};
    use crate::snapshot::Snapshot;
    use crate::testing::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use jiff::SignedDuration;

    /// 1.2.0 and 1.3.0, first seen so many minutes ago, with a cooldown of an hour.
    fn world(seen: &[(&str, i64)]) -> Snapshot {
        let mut world = ready();
        world.policy.plugins[0].cooldown = SignedDuration::from_hours(1);
        publish(&mut world, &["1.0.0", "1.1.0"]);
        let texts: Vec<&str> = ["1.0.0", "1.1.0"].into_iter().chain(seen.iter().map(|(text, _)| *text)).collect();
        publish(&mut world, &texts);
        for (text, minutes) in seen {
            let seen = Seen { version: version(text), digest: Some(digest(text)), first_seen: ago(*minutes) };
            world.ledger.apply(&crate::Entry::Seen { plugin: "app".into(), seen });
        }
        world.policy.plugins[0].tiers.truncate(1);
        world
    }

    #[test]
    fn releases_within_it_are_taken_together() {
        for (seen, expected) in [
            (&[("1.2.0", 0)][..], None),
            (&[("1.2.0", 59)], None),
            (&[("1.2.0", 60)], Some("open 1.2.0 on qa")),
            (&[("1.2.0", 59), ("1.3.0", 10)], None),
            (&[("1.2.0", 60), ("1.3.0", 10)], Some("open 1.3.0 on qa")),
            (&[("1.2.0-rc.1", 90), ("1.3.0", 10)], None),
        ] {
            assert_eq!(doings(&world(seen)).first().map(|doing| doing.as_str()), expected, "{seen:?}");
        }
        let mut without = world(&[("1.2.0", 0)]);
        without.policy.plugins[0].cooldown = SignedDuration::ZERO;
        assert_eq!(doings(&without), ["open 1.2.0 on qa"]);
    }

    #[test]
    fn the_wait_is_dated_and_rings() {
        let world = world(&[("1.2.0", 59), ("1.3.0", 10)]);
        let plan = crate::plan(&world, noon());
        let until = noon() + SignedDuration::from_mins(1);
        let qa = &plan.waves[0];
        let finding = qa.findings.iter().find(|finding| finding.gate == Gate::Release).unwrap();
        assert_eq!(finding.verdict, Verdict::Wait { until: Some(until) });
        assert_eq!(finding.because.to_string(), "releases within 1 h of each other are taken together");
        assert_eq!(plan.alarm.map(|alarm| alarm.at), Some(until));
    }

    /// A pull request that is open follows a newer release only when that has cooled down.
    #[test]
    fn it_keeps_an_open_pull_request_still() {
        let moved = |minutes: i64| {
            let mut world = unapproved();
            publish(&mut world, &["1.0.0", "1.1.0", "1.2.0"]);
            world.policy.plugins[0].tiers.remove(0);
            world.policy.plugins[0].cooldown = SignedDuration::from_hours(1);
            let seen = Seen { version: version("1.2.0"), digest: None, first_seen: ago(minutes) };
            world.ledger.apply(&crate::Entry::Seen { plugin: "app".into(), seen });
            (doings(&world), crate::plan(&world, noon()).alarm.map(|alarm| alarm.at))
        };
        let (doing, alarm) = moved(30);
        assert!(doing.is_empty(), "{doing:?}");
        assert_eq!(alarm, Some(noon() + SignedDuration::from_mins(30)));
        assert_eq!(moved(60).0, ["move bronze to 1.2.0"]);
    }

    /// Above the first tier nothing cools, also where that has no cluster and is passed.
    #[test]
    fn it_is_the_first_tiers() {
        let mut world = world(&[("1.2.0", 10)]);
        world.policy.plugins[0].tiers[0].empty = crate::model::Empty::Pass;
        world.policy.plugins[0].tiers.push(tier("bronze"));
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        page.releases.iter_mut().for_each(|seen| seen.first_seen = ago(10));
        page.tiers.remove(&"qa".into());
        page.tiers.get_mut(&"bronze".into()).unwrap().pop();
        let crate::snapshot::Read::Known(clusters) = &mut world.clusters else { unreachable!() };
        clusters.retain(|cluster| cluster.name.as_str() != "qa-1");
        facts(&mut world).pulls = crate::snapshot::Read::Known(Vec::new());
        facts(&mut world).base = crate::snapshot::Read::Known([place("bronze", "1.0.0")].into());
        assert_eq!(doings(&world), ["open 1.2.0 on bronze"]);
    }
}
