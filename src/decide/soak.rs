//! The soak: time in which all members are healthy on this version. Progressing, suspended and
//! unknown pause it, degraded resets it (policy, section 4). Who is healthy is in `member`.

use jiff::{SignedDuration, Timestamp};

use crate::facts::Facts;
use crate::gate::hold;
use crate::ledger::{LetThrough, Soaked, Wave};
use crate::member::Assessment;
use crate::model::Tier;
use crate::plan::MemberState;
use crate::proof::own_pull;
use crate::release;

/// Moves the soak of a landed wave to what is known now. A gap between two looks counts only as
/// far as it was watched (looks no further apart than a reading may be old) or as far as the
/// objects' own transition times prove that nothing happened in it. The time of a pause never
/// counts, nor does the time before the first look at which all were healthy.
pub(crate) fn advance(wave: &Wave, health: &Assessment, tier: &Tier, now: Timestamp) -> Option<Soaked> {
    let rule = &tier.health;
    let before = wave.soak;
    if health.degraded(rule) {
        return Some(reset(wave, now));
    }
    if !health.all_healthy(rule) {
        return before.map(|before| Soaked { paused: true, ailing: None, ..before });
    }
    let seen = health.observed_until?;
    let fresh =
        Soaked { healthy_for: SignedDuration::ZERO, until: seen, paused: false, ailing: None, begun: Some(seen) };
    let Some(before) = before else { return Some(fresh) };
    let begun = before.begun.or(Some(seen));
    if seen <= before.until {
        // Nothing new was seen: after a pause the soak goes on with the next reading.
        return Some(Soaked { ailing: None, begun, ..before });
    }
    let gap = seen.duration_since(before.until);
    let (healthy_for, begun) = match health.healthy_since {
        _ if before.paused => (before.healthy_for, begun),
        Some(since) if since <= before.until => (before.healthy_for + gap, begun),
        // Somebody changed state between two looks and may have been degraded: start anew there.
        Some(since) => (seen.duration_since(since.min(seen)), Some(since.min(seen))),
        None if gap <= rule.max_age => (before.healthy_for + gap, begun),
        None => (before.healthy_for, begun),
    };
    Some(Soaked { healthy_for, until: seen, paused: false, ailing: None, begun })
}

/// The soak while somebody is degraded: nothing of it is left, and nobody has looked better since.
pub(crate) fn reset(wave: &Wave, now: Timestamp) -> Soaked {
    let landed = wave.landed().map_or(wave.begun, |landed| landed.at);
    Soaked {
        healthy_for: SignedDuration::ZERO,
        until: wave.soak.map_or(landed, |before| before.until),
        paused: true,
        ailing: wave.soak.and_then(|before| before.ailing).or(Some(now)),
        begun: None,
    }
}

/// Until when a missing or slow signal may keep a landed wave (`soak.max`); none = for ever. Of whom somebody
/// moved ahead of its slice nobody knows since when it was asked: then everybody is waited for.
pub(crate) fn longest(wave: &Wave, tier: &Tier) -> Option<Timestamp> {
    let landed = wave.landed().filter(|_| wave.staying(wave.later()).is_empty())?;
    Some(landed.at + tier.soak.max?)
}

/// What is not waited for any more, when the longest soak is over: members that progress, are
/// suspended or not known. A failed or degraded one keeps the release, as long as nobody was seen
/// healthy since; so do a stopped release and a hold. Whatever stood still counts as soak then, but
/// nothing from before the last time that somebody was degraded does.
pub(crate) fn overdue(
    facts: &Facts<'_>,
    tier: &Tier,
    wave: &Wave,
    health: &Assessment,
    soaked: Option<Soaked>,
) -> Option<LetThrough> {
    let after = tier.soak.max?;
    if facts.now < longest(wave, tier)? || health.degraded(&tier.health) {
        return None;
    }
    let since = match soaked {
        Some(soaked) => soaked.begun?,
        // Nobody was ever degraded; that nobody answers at all proves nothing.
        None if health.healthy() > 0 => wave.landed()?.at,
        None => return None,
    };
    let tier_index = facts.policy.tiers.iter().position(|other| other.name == tier.name)?;
    let pulls = facts.pulls(&tier.name).unwrap_or_default();
    let held = own_pull(wave, &pulls).is_some_and(|pull| hold::is_held(facts, pull));
    if facts.now < since + tier.soak.min || held || release::stopped(facts, tier_index, &wave.version).is_some() {
        return None;
    }
    let late = |state: &MemberState| {
        matches!(state, MemberState::Progressing(_) | MemberState::Suspended(_) | MemberState::Unknown(_))
    };
    Some(LetThrough { at: facts.now, after, members: health.troubles(late) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::WaveState;
    use crate::ledger::Change;
    use crate::model::Soak;
    use crate::plan::{Gate, Verdict};
    use crate::snapshot::{Command, CommandKind, Health, Read, Reading, Snapshot};
    use crate::testing::*;
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;

    fn as_is(health: Health) -> Vec<Reading> {
        vec![Reading { health, since: Some(ago(1)), ..healthy("1.1.0") }]
    }

    /// Bronze landed half an hour ago and has soaked for ten minutes of twenty; thirty at most.
    fn soaked(readings: Vec<Reading>, begun: Option<i64>) -> Snapshot {
        let mut world = landed(readings);
        bronze(&mut world).soak = Soak { min: minutes(20), max: Some(minutes(30)) };
        remember(&mut world, Change::Converged(ago(25)));
        let begun = begun.map(ago);
        let soaked = Soaked { healthy_for: minutes(10), until: ago(15), paused: true, ailing: None, begun };
        remember(&mut world, Change::Soaked(soaked));
        world
    }

    fn minutes(minutes: i64) -> SignedDuration {
        SignedDuration::from_mins(minutes)
    }

    fn finishes(world: &Snapshot) -> bool {
        let plan = crate::plan(world, noon());
        let report = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").expect("bronze");
        matches!(report.state, WaveState::Finished { .. })
    }

    #[test]
    fn the_longest_soak_waits_for_no_missing_or_slow_signal_and_for_every_failed_one() {
        type Case = (&'static str, fn() -> Snapshot, bool);
        let cases: [Case; 18] = [
            ("nobody answers", || soaked(Vec::new(), Some(25)), true),
            ("not known", || soaked(as_is(Health::Unknown), Some(25)), true),
            ("on the way", || soaked(as_is(Health::Progressing), Some(25)), true),
            ("suspended", || soaked(as_is(Health::Suspended), Some(25)), true),
            ("degraded", || soaked(as_is(Health::Degraded), Some(25)), false),
            ("failed", || soaked(as_is(Health::Failed), Some(25)), false),
            ("degraded, then silent", || soaked(as_is(Health::Unknown), None), false),
            ("degraded not long ago, healthy since, then silent", || soaked(as_is(Health::Unknown), Some(19)), false),
            ("degraded, healthy since for just long enough", || soaked(as_is(Health::Unknown), Some(20)), true),
            (
                "stopped on this tier alone",
                || {
                    let mut world = soaked(as_is(Health::Unknown), Some(25));
                    bronze(&mut world).constraint = "~1.0".parse().ok();
                    world
                },
                false,
            ),
            (
                "no longest soak",
                || {
                    let mut world = soaked(as_is(Health::Unknown), Some(25));
                    bronze(&mut world).soak.max = None;
                    world
                },
                false,
            ),
            (
                "not yet over",
                || {
                    let mut world = soaked(as_is(Health::Unknown), Some(25));
                    bronze(&mut world).soak.max = Some(minutes(31));
                    world
                },
                false,
            ),
            (
                "held",
                || {
                    let mut world = soaked(as_is(Health::Unknown), Some(25));
                    let (what, allowed) = (CommandKind::Hold { why: "audit".into() }, Read::Known(true));
                    edit(&mut world, |pull| {
                        pull.commands = vec![Command { by: "noor".into(), at: ago(5), what, allowed }];
                    });
                    world
                },
                false,
            ),
            (
                "stopped",
                || {
                    let mut world = soaked(as_is(Health::Unknown), Some(25));
                    world.policy.plugins[0].constraint = "~1.0".parse().ok();
                    world
                },
                false,
            ),
            (
                "the source cannot be read",
                || {
                    let mut world = soaked(as_is(Health::Unknown), Some(25));
                    facts(&mut world).releases = Read::Unread("503".into());
                    world
                },
                false,
            ),
            (
                "never healthy, and past the progress deadline",
                || {
                    let mut world = landed(as_is(Health::Unknown));
                    bronze(&mut world).soak = Soak { min: minutes(20), max: Some(minutes(30)) };
                    bronze(&mut world).health.progress_deadline = minutes(30);
                    world
                },
                false,
            ),
            (
                "never healthy at all",
                || {
                    let mut world = landed(as_is(Health::Unknown));
                    bronze(&mut world).soak = Soak { min: minutes(20), max: Some(minutes(30)) };
                    world
                },
                false,
            ),
            (
                "one healthy, one never seen",
                || {
                    let mut world = landed(vec![healthy("1.1.0")]);
                    bronze(&mut world).soak = Soak { min: minutes(20), max: Some(minutes(30)) };
                    join(&mut world, "bronze-2", as_is(Health::Unknown));
                    world
                },
                true,
            ),
        ];
        for (name, world, expected) in cases {
            assert_eq!(finishes(&world()), expected, "{name}");
        }
    }

    /// Since half an hour 1.1.0 is on bronze-2, its first slice; somebody has put bronze-1 on it as well, nobody
    /// knows when: soak.max waives nobody.
    #[test]
    fn who_was_moved_ahead_of_its_slice_is_waited_for() {
        let finishes = |together: bool, first: Health, ahead: Health| {
            let mut world = sliced();
            if together {
                let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
                let wave = page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap();
                wave.part = crate::ledger::Part::default();
                wave.members = ["bronze-1", "bronze-2"].map(crate::ClusterName::from).into_iter().collect();
            }
            own_places(&mut world, &[("bronze-1", "1.1.0"), ("bronze-2", "1.1.0")]);
            bronze(&mut world).soak = Soak { min: minutes(20), max: Some(minutes(30)) };
            let soaked =
                Soaked { healthy_for: minutes(10), until: ago(15), paused: true, ailing: None, begun: Some(ago(25)) };
            remember(&mut world, Change::Soaked(soaked));
            facts(&mut world).readings.insert("bronze-2".into(), as_is(first));
            facts(&mut world).readings.insert("bronze-1".into(), as_is(ahead));
            finishes(&world)
        };
        assert!(finishes(true, Health::Unknown, Health::Healthy), "both moved half an hour ago");
        assert!(!finishes(false, Health::Unknown, Health::Healthy), "who has been there for a minute has not soaked");
        assert!(!finishes(false, Health::Healthy, Health::Unknown));
        assert!(!finishes(false, Health::Unknown, Health::Progressing));
    }

    #[test]
    fn what_was_let_through_is_marked() {
        let world = soaked(as_is(Health::Unknown), Some(25));
        let finding = says(&world, Gate::Soak);
        assert_eq!(finding.verdict, Verdict::Waived { since: noon() });
        assert_eq!(finding.because.to_string(), "let through after 30 min without: bronze-1 is not read");
        let said = crate::plan(&world, noon()).entries.iter().any(|record| {
            matches!(&record.entry, crate::Entry::Wave { change: Change::LetThrough(through), .. } if through.members.len() == 1)
        });
        assert!(said, "and it is in the ledger");
        let early = noon() - minutes(1);
        let waits = says_at(&soaked(as_is(Health::Unknown), Some(25)), Gate::Soak, early);
        assert_eq!(waits.verdict, Verdict::Wait { until: Some(noon()) }, "until then it says until when");
        // On the tier above, who approves reads on what the climb rests.
        let mut world = ready();
        let through = LetThrough { at: ago(60), after: minutes(30), members: Vec::new() };
        let entry =
            |change| crate::Entry::Wave { plugin: "app".into(), tier: "qa".into(), version: version("1.1.0"), change };
        world.ledger.apply(&entry(Change::LetThrough(through)));
        let finding = says(&world, Gate::TierBelow);
        assert_eq!(finding.verdict, Verdict::Waived { since: ago(60) });
        assert!(finding.because.to_string().starts_with("1.1.0 has left qa though"), "{}", finding.because);
    }

    /// A signal that names no times is watched look after look, before convergence too.
    #[test]
    fn degraded_long_enough_fails_without_times_of_its_own() {
        let ill = |at| {
            let mut reading = Reading { health: Health::Degraded, since: None, ..healthy("1.1.0") };
            reading.observed_at = at;
            vec![reading]
        };
        let mut world = landed(ill(noon()));
        let first = crate::plan(&world, noon());
        for record in &first.entries {
            world.ledger.apply(&record.entry);
        }
        let later = noon() + minutes(5);
        facts(&mut world).readings.insert("bronze-1".into(), ill(later));
        let state = |at| {
            let plan = crate::plan(&world, at);
            plan.waves.into_iter().find(|wave| wave.tier.as_str() == "bronze").expect("bronze").state
        };
        assert!(matches!(state(later), WaveState::Failed { .. }), "{:?}", state(later));
        assert!(matches!(state(later - minutes(1)), WaveState::Converging { .. }), "{:?}", state(later - minutes(1)));
    }

    #[test]
    fn a_pause_does_not_count_though_an_old_answer_is_read_again() {
        let mut world = soaked(vec![Reading { since: None, observed_at: ago(15), ..healthy("1.1.0") }], Some(25));
        bronze(&mut world).health.max_age = minutes(20);
        bronze(&mut world).soak.max = None;
        for record in crate::plan(&world, noon()).entries {
            world.ledger.apply(&record.entry);
        }
        facts(&mut world).readings.insert("bronze-1".into(), vec![Reading { since: None, ..healthy("1.1.0") }]);
        for record in crate::plan(&world, noon()).entries {
            world.ledger.apply(&record.entry);
        }
        let wave = world.ledger.plugins[&"app".into()].wave(&"bronze".into(), &version("1.1.0")).cloned();
        assert_eq!(wave.and_then(|wave| wave.soak).map(|soak| soak.healthy_for), Some(minutes(10)));
    }
}
