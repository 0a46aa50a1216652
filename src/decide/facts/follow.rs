//! A first tier that follows releases by itself (`merge: none`): what runs there is what its clusters
//! say, and the bot opens nothing. How it is proved healthy is in `member` and `soak`, as anywhere.

use alloc::string::String;
use alloc::vec::Vec;

use crate::facts::{Base, Facts};
use crate::model::Tier;
use crate::snapshot::PluginFacts;
use crate::{ClusterName, PluginName, Version};

/// What the clusters of such a tier run. One that does not say makes it unknown.
pub(crate) fn base(facts: &Facts<'_>, plugin: &PluginName, tier: &Tier) -> Base {
    let Some(clusters) = facts.selected_of(plugin, tier) else {
        return Base::Unread("the inventory was not read".into());
    };
    match running(facts, plugin, &clusters) {
        Ok(running) => Base::between(&running),
        Err(why) => Base::Unread(why),
    }
}

/// What these clusters say that they run. One that says nothing makes it unknown, unless nothing was ever installed
/// there: as on a tier that is written, it takes no part until it is.
pub(crate) fn running<'a>(
    facts: &Facts<'a>,
    plugin: &PluginName,
    clusters: &[ClusterName],
) -> Result<Vec<&'a Version>, String> {
    let observed = facts.snapshot.plugins.get(plugin).ok_or("this plugin was not looked at")?;
    let mut running: Vec<&Version> = Vec::new();
    for cluster in clusters {
        let says = observed.readings.of(cluster).iter().filter_map(|row| row.fact.running.as_ref());
        let before = running.len();
        running.extend(says);
        if running.len() == before && !is_vacant(observed, cluster) {
            return Err(alloc::format!("{cluster} does not say what it runs"));
        }
    }
    Ok(running)
}

/// Whether the base branch has no file yet for this cluster, and is known to have none.
fn is_vacant(observed: &PluginFacts, cluster: &ClusterName) -> bool {
    let mut places = observed.base.known().into_iter().flat_map(|base| base.values()).flatten();
    places.any(|place| place.vacant && place.cluster.as_ref() == Some(cluster))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use crate::WaveState;
    use crate::ledger::Change;
    use crate::next_release::tests::{doings, on_qa, publish};
    use crate::plan::WaveReport;
    use crate::snapshot::{Read, Reading, Snapshot};
    use crate::testing::*;
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;

    /// qa follows releases by itself: its cluster moved to 1.2.0, and the base branch holds a range.
    fn follows() -> Snapshot {
        let mut world = ready();
        world.policy.plugins[0].tiers[0].follows = true;
        publish(&mut world, &["1.0.0", "1.1.0", "1.2.0", "1.3.0"]);
        let (tier, mut places) = place("qa", "1.0.0");
        places[0].version = Read::Unread("`^1` is not a version".into());
        places[0].range = Some("^1".into());
        facts(&mut world).base = Read::Known([(tier, places), place("bronze", "1.0.0")].into());
        facts(&mut world).pulls = Read::Known(Vec::new());
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        page.tiers.get_mut(&"bronze".into()).unwrap().pop();
        qa(&mut world, vec![healthy("1.2.0")]);
        world
    }

    fn qa(world: &mut Snapshot, readings: Vec<Reading>) {
        facts(world).readings.insert("qa-1".into(), readings);
    }

    fn report(world: &Snapshot) -> WaveReport {
        crate::plan(world, noon()).waves.into_iter().find(|wave| wave.tier.as_str() == "qa").unwrap()
    }

    #[test]
    fn what_runs_there_is_proved_and_promoted() {
        let mut world = follows();
        // 1.2.0 was not recorded: it counts as landed now, and soaks. Nothing is opened for 1.3.0.
        assert_eq!(doings(&world), ["open 1.1.0 on bronze"]);
        let wave = report(&world);
        assert_eq!(wave.version, Some(version("1.2.0")));
        assert!(matches!(wave.state, WaveState::Soaking { .. }), "{:?}", wave.state);
        for record in crate::plan(&world, noon()).entries {
            world.ledger.apply(&record.entry);
        }
        let later = noon() + jiff::SignedDuration::from_mins(70);
        let fresh = Reading { observed_at: later, since: Some(ago(1)), ..healthy("1.2.0") };
        qa(&mut world, vec![fresh]);
        let plan = crate::plan(&world, later);
        let opened = plan.actions.iter().any(|action| {
            matches!(action, crate::Action::Open(proposal) if proposal.to == version("1.2.0") && proposal.tier.as_str() == "bronze")
        });
        assert!(opened, "{:?}", plan.actions);
        // The same tier under the bot's hand holds a range, which is refused.
        world.policy.plugins[0].tiers[0].follows = false;
        assert!(report(&world).blocker().unwrap().because.to_string().contains("holds the range `^1`"));
    }

    /// A tier on which nothing was ever installed, with an open pull request, is set to follow and back.
    #[test]
    fn nothing_lands_where_nothing_is_installed() {
        let mut world = follows();
        let tiers = &mut world.policy.plugins[0].tiers;
        (tiers[0].follows, tiers[1].follows) = (false, true);
        let base = |world: &mut Snapshot| {
            let (qa, (bronze, mut vacant)) = (place("qa", "1.1.0"), place("bronze", "1.0.0"));
            vacant[0].cluster = Some("bronze-1".into());
            (vacant[0].version, vacant[0].vacant) = (Read::Unread("not installed yet".into()), true);
            facts(world).base = Read::Known([qa, (bronze, vacant)].into());
        };
        base(&mut world);
        facts(&mut world).readings = crate::readings::Readings::default();
        let members: Vec<crate::ClusterName> = vec!["bronze-1".into()];
        let head = crate::ledger::Head { commit: "aa".into(), at: ago(30), repeats: false };
        let intent = Change::Intent { from: None, digest: None, part: crate::ledger::Part::default(), members, head };
        let (plugin, tier) = ("app".into(), "bronze".into());
        world.ledger.apply(&crate::Entry::Wave { plugin, tier, version: version("1.1.0"), change: intent });
        let landed = crate::plan(&world, noon()).entries.into_iter().any(|record| {
            matches!(record.entry, crate::Entry::Wave { change: Change::Landed(_), ref tier, .. } if tier.as_str() == "bronze")
        });
        assert!(!landed, "no cluster runs it");
    }

    /// The bot merged it, and then the tier was set to follow, while its cluster was on the way.
    #[test]
    fn what_is_on_the_way_was_not_taken_off() {
        let fails = |change: Option<Change>| {
            let mut world = follows();
            let landed = crate::ledger::Landed { at: ago(5), commit: Some("cc".into()), by: None };
            on_qa(&mut world, "1.2.0", Change::Found { members: vec!["qa-1".into()], digest: None, landed });
            change.into_iter().for_each(|change| on_qa(&mut world, "1.2.0", change));
            qa(&mut world, vec![healthy("1.1.0")]);
            let failed = |record: &crate::plan::Record| {
                matches!(&record.entry, crate::Entry::Wave { change: Change::Failed(_), .. })
            };
            crate::plan(&world, noon()).entries.iter().any(failed)
        };
        assert_eq!((fails(None), fails(Some(Change::Converged(ago(1))))), (false, true));
    }

    /// Its only cluster says nothing for a while: that time is no soak, whatever its times prove afterwards.
    #[test]
    fn the_soak_stands_still_while_a_cluster_says_nothing() {
        let paused = |follows_still: bool, readings: Vec<Reading>| {
            let mut world = follows();
            world.policy.plugins[0].tiers[0].follows = follows_still;
            let landed = crate::ledger::Landed { at: ago(40), commit: None, by: None };
            on_qa(&mut world, "1.2.0", Change::Found { members: vec!["qa-1".into()], digest: None, landed });
            let (healthy_for, until) = (jiff::SignedDuration::from_mins(5), ago(20));
            let soaked =
                crate::ledger::Soaked { healthy_for, until, paused: false, ailing: None, begun: Some(ago(25)) };
            on_qa(&mut world, "1.2.0", Change::Soaked(soaked));
            qa(&mut world, readings);
            crate::plan(&world, noon()).entries.into_iter().find_map(|record| match record.entry {
                crate::Entry::Wave { change: Change::Soaked(soaked), .. } => Some((soaked.paused, soaked.healthy_for)),
                _ => None,
            })
        };
        let minutes = |minutes| jiff::SignedDuration::from_mins(minutes);
        assert_eq!(paused(true, Vec::new()), Some((true, minutes(5))));
        assert_eq!(paused(false, Vec::new()), None, "what the base branch does not hold is not judged");
        assert_eq!(
            paused(true, vec![Reading { since: Some(ago(30)), ..healthy("1.2.0") }]),
            Some((false, minutes(25)))
        );
    }

    /// Controllers add metadata of their own; what is promoted is spelled as its release is.
    #[test]
    fn it_is_spelled_as_its_release() {
        let mut world = follows();
        qa(&mut world, vec![healthy("1.2.0+0f1ca7e")]);
        let said = crate::plan(&world, noon()).entries.into_iter().find_map(|record| match record.entry {
            crate::Entry::Wave { tier, version, .. } if tier.as_str() == "qa" => Some(version.to_string()),
            _ => None,
        });
        assert_eq!(said.as_deref(), Some("1.2.0"));
    }

    /// The registry could not be read when its clusters moved: the wave knows the word of them alone.
    #[test]
    fn what_was_found_before_its_release_is_promoted_as_that_is_spelled() {
        let mut world = follows();
        let landed = crate::ledger::Landed { at: ago(90), commit: None, by: None };
        let found = Change::Found { members: vec!["qa-1".into()], digest: None, landed };
        for change in [found, Change::Finished(ago(1))] {
            on_qa(&mut world, "1.2.0+0f1ca7e", change);
        }
        qa(&mut world, vec![healthy("1.2.0+0f1ca7e")]);
        assert_eq!(doings(&world), ["open 1.2.0 on bronze"]);
    }

    #[test]
    fn what_is_not_known_or_not_settled_promotes_nothing() {
        for (name, readings) in [
            ("nobody looked", Vec::new()),
            ("no version", vec![Reading { running: None, ..healthy("1.2.0") }]),
            ("half way", vec![healthy("1.1.0"), healthy("1.2.0")]),
        ] {
            let mut world = follows();
            qa(&mut world, readings);
            let plan = crate::plan(&world, noon());
            let adopted = plan.entries.iter().any(|record| record.entry.to_string().contains("1.2.0 on qa"));
            assert!(!adopted, "{name}: {:?}", plan.entries);
            assert!(doings(&world).iter().all(|doing| !doing.contains("qa")), "{name}");
        }
    }

    #[test]
    fn who_has_nothing_installed_yet_takes_no_part() {
        for (vacant, adopts) in [(false, false), (true, true)] {
            let mut world = follows();
            let labels = [("tier".to_string(), "qa".to_string())].into();
            let Read::Known(clusters) = &mut world.clusters else { unreachable!() };
            clusters.push(crate::snapshot::Cluster { name: "qa-2".into(), labels });
            facts(&mut world).readings.insert("qa-2".into(), Vec::new());
            let (file, cluster) = ("clusters/qa-2.yaml".to_string(), Some("qa-2".into()));
            let version = Read::Unread("there is no file".into());
            let Read::Known(base) = &mut facts(&mut world).base else { unreachable!() };
            let empty = crate::snapshot::Place { file, cluster, version, range: None, vacant };
            base.get_mut(&"qa".into()).unwrap().push(empty);
            assert_eq!(report(&world).version == Some(crate::testing::version("1.2.0")), adopts, "vacant: {vacant}");
        }
    }

    /// dns goes after app, and keeps qa-2 on its own version; app is on its way there.
    #[test]
    fn who_goes_after_it_asks_all_of_its_clusters() {
        let world = |pins: &str, behind: &str| {
            let mut world = follows();
            on_qa(&mut world, "1.2.0", Change::Finished(ago(1)));
            let labels = [("tier".to_string(), "qa".to_string()), ("name".to_string(), "qa-2".to_string())].into();
            let Read::Known(clusters) = &mut world.clusters else { unreachable!() };
            clusters.push(crate::snapshot::Cluster { name: "qa-2".into(), labels });
            facts(&mut world).readings.insert("qa-2".into(), vec![healthy(behind)]);
            let app = world.policy.plugins[0].clone();
            let after = vec![crate::model::After { plugin: app.name.clone(), version: ">=1.2".parse().ok() }];
            let mut dns = crate::PluginPolicy { name: "dns".into(), after, ..app };
            dns.tiers.truncate(1);
            dns.tiers[0].follows = false;
            let own = ["qa-1", "qa-2"].map(|name| {
                let (_, mut places) = place("qa", "1.0.0");
                places[0].cluster = Some(name.into());
                places[0].file = name.to_string();
                places.remove(0)
            });
            let base = Read::Known([("qa".into(), own.into())].into());
            let looked_at = crate::snapshot::PluginFacts { base, ..facts(&mut world).clone() };
            world.plugins.insert("dns".into(), looked_at);
            world.policy.plugins.push(dns);
            let match_labels = [("name".to_string(), "qa-2".to_string())].into();
            let select = crate::selector::Selector { match_labels, match_expressions: Vec::new() };
            let pin =
                crate::model::Pin { select, version: Some(version("1.0.0")), until: None, why: "an audit".into() };
            let named = |policy: &&mut crate::PluginPolicy| policy.name.as_str() == pins;
            world.policy.plugins.iter_mut().filter(named).for_each(|policy| policy.pins = vec![pin.clone()]);
            let opens = |action: &crate::Action| matches!(action, crate::Action::Open(proposal) if proposal.plugin.as_str() == "dns");
            crate::plan(&world, noon()).actions.iter().any(opens)
        };
        assert!(world("nobody", "1.2.0") && world("dns", "1.2.0"));
        assert!(!world("nobody", "1.1.0"), "it is under way");
        assert!(!world("dns", "1.1.0"), "and so it is where dns itself shall not go");
        assert!(world("app", "1.1.0"), "it stays there");
    }

    #[test]
    fn what_is_about_to_come_by_itself_is_looked_for() {
        let mut world = follows();
        world.policy.plugins[0].tiers.truncate(1);
        for record in crate::plan(&world, noon()).entries {
            world.ledger.apply(&record.entry);
        }
        on_qa(&mut world, "1.2.0", crate::ledger::Change::Finished(ago(1)));
        let rings = |world: &Snapshot| crate::plan(world, noon()).alarm.is_some();
        assert!(rings(&world), "1.3.0 is out");
        let mut pinned = world.clone();
        let select = pinned.policy.plugins[0].tiers[0].select.clone();
        let why = "an audit".into();
        pinned.policy.plugins[0].pins =
            vec![crate::model::Pin { select, version: Some(version("1.2.0")), until: None, why }];
        assert!(!rings(&pinned), "everybody is pinned");
        publish(&mut world, &["1.0.0", "1.1.0", "1.2.0"]);
        assert!(!rings(&world));
    }

    /// All that finished 1.1.0 have left, and who came in their place runs what came before.
    #[test]
    fn no_tier_gets_ahead_of_who_came_in_the_place_of_all_that_finished() {
        let mut world = follows();
        qa(&mut world, vec![healthy("1.0.0")]);
        assert!(doings(&world).is_empty(), "{:?}", doings(&world));
        qa(&mut world, vec![healthy("1.1.0")]);
        assert_eq!(doings(&world), ["open 1.1.0 on bronze"]);
        // One that does not say what it runs takes nothing back.
        qa(&mut world, vec![Reading { running: None, ..healthy("1.0.0") }]);
        assert_eq!(doings(&world), ["open 1.1.0 on bronze"]);
    }

    /// Switched on while a pull request is open there: it is taken back.
    #[test]
    fn an_open_pull_request_is_taken_back() {
        let mut world = ready();
        world.policy.plugins[0].tiers.remove(0);
        world.policy.plugins[0].tiers[0].follows = true;
        assert_eq!(
            doings(&world),
            ["close bronze: the tier follows releases by itself, and the bot opens nothing there"]
        );
    }
}
