//! A release comes to a tier only after it has finished the tier below.

use super::asked::Asked;
use super::limits;
use crate::facts::{Base, Facts};
use crate::ledger::{Purpose, Wave};
use crate::plan::{Finding, Gate, Verdict};
use crate::release::has_finished;
use crate::{ClusterName, Reason};

pub(crate) fn finding(asked: &Asked<'_>) -> Finding {
    asked.early.and_then(|clusters| of_early(asked, clusters)).unwrap_or_else(|| of_tier(asked))
}

fn of_tier(asked: &Asked<'_>) -> Finding {
    let Asked { facts, tier_index, version, .. } = *asked;
    let Some(below) = tier_index.checked_sub(1) else { return Finding::pass(Gate::TierBelow, Reason::FirstTier) };
    let tier = facts.policy.tiers[below].name.clone();
    let version = version.clone();
    if has_finished(facts, below, &version) {
        // Loud: whoever approves has to know on what the climb rests.
        let through = facts.page.wave(&tier, &version).and_then(|wave| wave.let_through.as_ref());
        if let Some(since) = through.map(|through| through.at) {
            let because = Reason::TierBelowLetThrough { tier, version };
            return Finding::new(Gate::TierBelow, Verdict::Waived { since }, because);
        }
        Finding::pass(Gate::TierBelow, Reason::TierBelowFinished { tier, version })
    } else {
        Finding::wait(Gate::TierBelow, Reason::TierBelowUnfinished { tier, version })
    }
}

/// For clusters that are ahead of their tier it is enough that it has finished the first one with clusters; as
/// soon as one of them is so no more, it waits for the tier below.
fn of_early(asked: &Asked<'_>, clusters: &[ClusterName]) -> Option<Finding> {
    let Asked { facts, tier_index, tier, version, .. } = *asked;
    let ahead = facts.ahead(tier);
    let first = facts.first_with_clusters(tier_index);
    // On the first tier nobody is ahead.
    let enough = has_finished(facts, first, version) && clusters.iter().all(|name| ahead.contains(name));
    enough.then(|| {
        let (tier, version) = (facts.policy.tiers[first].name.clone(), version.clone());
        Finding::pass(Gate::TierBelow, Reason::AheadOfTier { tier, version })
    })
}

/// Why an open wave may not wait for the tier below with its pull request open.
pub(crate) fn in_the_way(facts: &Facts<'_>, tier_index: usize, wave: &Wave) -> Option<Reason> {
    let own = wave.own();
    let asked = Asked::of(facts, tier_index, &wave.version).of_part(&wave.part, &own);
    let finding = match wave.part.purpose {
        // Who is ahead no more waits for the tier's turn, and does not keep it from others.
        Purpose::Early => finding(&asked),
        Purpose::Promotion | Purpose::CatchUp => keeps_the_place(facts, tier_index, wave).then(|| finding(&asked))?,
        Purpose::RollBack { .. } => return None,
    };
    (!finding.verdict.lets_through()).then_some(finding.because)
}

/// Whether the cap of open pull requests is reached, and the tier below has to open one before it can finish this
/// release: both would wait for each other.
fn keeps_the_place(facts: &Facts<'_>, tier_index: usize, wave: &Wave) -> bool {
    let Some(tier) = facts.policy.tiers.get(tier_index).filter(|_| limits::is_reached(facts)) else { return false };
    let Some(below) = facts.policy.tiers.iter().take(tier_index).rfind(|below| !facts.is_passed(below)) else {
        return false;
    };
    // What has been merged meanwhile keeps no place.
    let open = wave.pull.is_none() || facts.open_pull(&tier.name).is_some();
    let opening = facts.shared.opening.iter().any(|(plugin, on)| plugin == facts.plugin() && *on == below.name);
    let idle = !opening && facts.open_pull(&below.name).is_none() && facts.page.climbing(&below.name).is_none();
    let lacks = match facts.base(&below.name) {
        Base::Uniform(lowest) | Base::Mixed { lowest, .. } => lowest < wave.version,
        Base::Unread(_) | Base::Empty => false,
    };
    open && idle && lacks && !below.follows
}

/// A rollback goes where the release before has been already.
pub(crate) fn none_asked() -> Finding {
    Finding::pass(Gate::TierBelow, Reason::RollBackAsksNone)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::snapshot::{Read, Snapshot};
    use crate::testing::*;

    #[test]
    fn without_the_tier_below_nothing_merges() {
        let unfinish: fn(&mut Snapshot) = |world| {
            let page = world.ledger.plugins.get_mut(&"app".into());
            let wave = page.and_then(|page| page.tiers.get_mut(&"qa".into())).and_then(|waves| waves.last_mut());
            if let Some(wave) = wave {
                *wave.rewrite().finished = None;
            }
        };
        // Everybody who finished it has left; who came in their place still runs what came before.
        let replaced: fn(&mut Snapshot) = |world| {
            if let Read::Known(clusters) = &mut world.clusters {
                clusters.iter_mut().filter(|known| known.name.as_str() == "qa-1").for_each(|known| {
                    known.name = "qa-2".into();
                });
            }
            let (qa, mut places) = place("qa", "1.0.0");
            places[0].cluster = Some("qa-2".into());
            facts(world).base = Read::Known([(qa, places), place("bronze", "1.0.0")].into());
        };
        table(
            Gate::TierBelow,
            ready,
            &[
                ("finished", |_| {}, Verdict::Pass, "1.1.0 has finished qa"),
                ("not finished", unfinish, WAIT, "1.1.0 has not finished qa"),
                ("finished by those who were there", replaced, WAIT, "1.1.0 has not finished qa"),
            ],
        );
    }

    /// Everybody who finished 1.1.0 on qa has left, and qa-2, which came in their place, runs what came before: qa
    /// needs a pull request before bronze's can go on.
    #[test]
    fn who_waits_for_the_tier_below_does_not_keep_the_last_place_from_it() {
        use crate::next_release::tests::doings;
        let held = |world: &mut Snapshot, text: &str| {
            let (qa, mut places) = place("qa", text);
            places[0].cluster = Some("qa-2".into());
            facts(world).base = Read::Known([(qa, places), place("bronze", "1.0.0")].into());
        };
        let world = |limit: Option<u32>, running: &str, follows: bool| {
            let mut world = ready();
            if let Read::Known(clusters) = &mut world.clusters {
                clusters.iter_mut().filter(|known| known.name.as_str() == "qa-1").for_each(|known| {
                    known.name = "qa-2".into();
                });
            }
            held(&mut world, running);
            world.policy.limits.open_pulls = limit;
            if follows {
                world.policy.plugins[0].tiers[0].follows = true;
                let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
                *page.tiers.get_mut(&"qa".into()).unwrap().last_mut().unwrap().rewrite().finished = None;
            }
            doings(&world)
        };
        let opens = ["open 1.1.0 on qa"];
        assert_eq!(world(None, "1.0.0", false), opens, "there is no cap");
        assert_eq!(world(Some(2), "1.0.0", false), opens, "there is another place");
        assert_eq!(world(Some(1), "1.0.0", false), ["close bronze: 1.1.0 has not finished qa"]);
        assert_eq!(world(Some(1), "1.0.0", true), [""; 0], "nothing is opened on qa");
        assert_eq!(world(Some(1), "1.1.0", false), ["merge 1.1.0 on bronze"], "qa runs it");
        // The last place goes to another plugin's qa, which had none before.
        let mut two = ready();
        let mut page = two.ledger.plugins[&crate::PluginName::from("app")].clone();
        page.tiers.values_mut().for_each(|waves| waves.truncate(1));
        let mut theirs = facts(&mut two).clone();
        theirs.pulls = Read::Known(alloc::vec![]);
        theirs.base = Read::Known([place("qa", "1.0.0"), place("bronze", "1.0.0")].into());
        let dns = crate::PluginPolicy { name: "dns".into(), ..two.policy.plugins[0].clone() };
        two.policy.plugins.insert(0, dns);
        two.plugins.insert("dns".into(), theirs);
        two.ledger.plugins.insert("dns".into(), page);
        let Read::Known(clusters) = &mut two.clusters else { unreachable!() };
        clusters[0].name = "qa-2".into();
        held(&mut two, "1.0.0");
        two.policy.limits.open_pulls = Some(2);
        assert_eq!(doings(&two), ["open 1.1.0 on qa", "close bronze: 1.1.0 has not finished qa"]);
    }

    /// qa runs the release already or is about to get it, and has not finished it: bronze waits with its pull request open.
    #[test]
    fn what_the_tier_below_needs_no_place_for_stays_open() {
        use crate::next_release::tests::doings;
        let unfinished = |text: &str| {
            let mut world = ready();
            world.policy.limits.open_pulls = Some(1);
            facts(&mut world).base = Read::Known([place("qa", text), place("bronze", "1.0.0")].into());
            let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
            let wave = page.tiers.get_mut(&"qa".into()).unwrap().last_mut().unwrap();
            *wave.rewrite().finished = None;
            if text == "1.0.0" {
                *wave.rewrite().landed = None;
                wave.pull = Some(crate::ledger::Announced { number: crate::PullNumber(6), at: ago(690) });
            }
            world
        };
        assert_eq!(doings(&unfinished("1.1.0")), [""; 0], "it soaks on qa");
        let closed = unfinished("1.0.0");
        assert!(!doings(&closed).iter().any(|doing| doing.starts_with("close")), "{:?}", doings(&closed));
        let mut open = closed;
        let below = crate::snapshot::Pull {
            number: crate::PullNumber(6),
            tier: "qa".into(),
            head: "bbbbbbbbbb".into(),
            reviews: alloc::vec![],
            ..pull()
        };
        let Read::Known(pulls) = &mut facts(&mut open).pulls else { unreachable!() };
        pulls.push(below);
        assert!(!doings(&open).iter().any(|doing| doing.starts_with("close")), "{:?}", doings(&open));
        // A ledger that was lost knows nothing of it.
        open.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"qa".into()).unwrap().pop();
        assert!(!doings(&open).iter().any(|doing| doing.starts_with("close")), "{:?}", doings(&open));
    }

    /// It came here when the tier below let it pass, or a lost ledger forgot that it had finished there.
    #[test]
    fn what_the_tier_below_has_gone_on_without_is_closed_though_it_is_approved() {
        use crate::next_release::tests::{doings, finished_above};
        let world = |finished: bool| {
            let mut world = ready();
            finished_above(&mut world);
            let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
            let waves = page.tiers.get_mut(&"qa".into()).unwrap();
            let wave = waves.iter_mut().find(|wave| wave.version == version("1.1.0")).unwrap();
            *wave.rewrite().finished = wave.finished().filter(|_| finished);
            world
        };
        assert_eq!(doings(&world(true)), ["merge 1.1.0 on bronze"]);
        assert_eq!(doings(&world(false)), ["close bronze: 1.2.0 takes its place"]);
        // So is that of clusters that came late; who is ahead of the tier asks other tiers.
        let of = |purpose: Purpose| {
            let mut world = world(false);
            let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
            page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap().part.purpose = purpose;
            doings(&world)
        };
        assert_eq!(of(Purpose::CatchUp), ["close bronze: 1.2.0 takes its place"]);
        assert_ne!(of(Purpose::Early), ["close bronze: 1.2.0 takes its place"]);
        // Of a tier that lets everything pass nothing is known, whatever its source lists at this look.
        let mut empty = world(false);
        let Read::Known(clusters) = &mut empty.clusters else { unreachable!() };
        clusters.retain(|cluster| cluster.name.as_str() != "qa-1");
        let pending = crate::snapshot::Release { checks: Read::Unread("503".into()), ..release("1.1.0") };
        empty.policy.plugins[0].tiers[0].empty = crate::model::Empty::Pass;
        facts(&mut empty).releases = Read::Known(alloc::vec![release("1.0.0"), pending, release("1.2.0")]);
        let doings = doings(&empty);
        assert!(!doings.iter().any(|doing| doing.starts_with("close")), "{doings:?}");
    }
}
