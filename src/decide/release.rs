//! Which releases may climb: accepted by the policy, not stopped, not refused. Which of them a tier
//! takes next is in `next_release`, when its pull request may merge in `gate`.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::facts::{Base, Facts};
use crate::ledger::{Failed, Purpose, State, Wave};
use crate::model::Tier;
use crate::obstacle::{Lasts, Obstacle};
use crate::snapshot::{CheckState, PullState, Read, Release};
use crate::{PullNumber, Reason, TierName, Version, blocks, expiry, source};

/// Why a version must not climb (further) on this tier; none when it may. What is for good comes before
/// what may pass: a release that a person refused stays refused while the source does not list it.
pub(crate) fn stopped(facts: &Facts<'_>, tier_index: usize, version: &Version) -> Option<Obstacle> {
    stop(facts, tier_index, version, unaccepted(facts, tier_index, version))
}

/// The same for a version that ran here before and shall come back: its signature and the checks of its commit were
/// asked when it came, or nobody asked for them yet.
pub(crate) fn stopped_on_its_way_back(facts: &Facts<'_>, tier_index: usize, version: &Version) -> Option<Obstacle> {
    stop(facts, tier_index, version, unfit(facts, tier_index, version))
}

fn stop(facts: &Facts<'_>, tier_index: usize, version: &Version, own: Option<Obstacle>) -> Option<Obstacle> {
    if own.as_ref().is_some_and(Obstacle::is_final) {
        return own;
    }
    held(facts, version).or_else(|| rejected(facts, tier_index, version).map(Obstacle::refused)).or(own)
}

/// Why the policy or the source refuses a version on this tier.
pub(crate) fn unaccepted(facts: &Facts<'_>, tier_index: usize, version: &Version) -> Option<Obstacle> {
    unfit(facts, tier_index, version).or_else(|| {
        let release = source::find(facts, version).ok()?;
        unsigned(facts, release).or_else(|| unchecked(facts, release))
    })
}

/// The same without its signature and the checks of the releasing commit.
fn unfit(facts: &Facts<'_>, tier_index: usize, version: &Version) -> Option<Obstacle> {
    let tier = facts.policy.tiers.get(tier_index)?;
    if let Some(obstacle) = outside(facts, tier, version)
        .map(|why| Obstacle::new(Lasts::Outside, why))
        .or_else(|| expiry::refused(facts, version).map(Obstacle::refused))
        .or_else(|| blocks::blocked(facts, tier_index, version))
    {
        return Some(obstacle);
    }
    let release = match source::find(facts, version) {
        Ok(release) => release,
        Err(obstacle) => return Some(*obstacle),
    };
    let pinned = source::pinned(facts, version);
    if let (Some(pinned), Some(found)) = (pinned, release.digest.clone())
        && pinned != found
    {
        let why = Reason::DigestChanged { version: version.clone(), pinned, found };
        return Some(Obstacle::refused(why));
    }
    if let Some(why) = &release.incomplete {
        let why = Reason::Incomplete { version: version.clone(), why: why.clone() };
        return Some(Obstacle::new(Lasts::Unread, why));
    }
    same_content(facts, tier, version).map(Obstacle::refused)
}

/// Outside a constraint, or a pre-release that nobody asked for.
fn outside(facts: &Facts<'_>, tier: &Tier, version: &Version) -> Option<Reason> {
    let prereleases = facts.policy.prereleases;
    let constraints = [facts.policy.constraint.as_ref(), tier.constraint.as_ref()];
    let allows = |constraint: &crate::constraint::Constraint| {
        if prereleases { constraint.allows_with_prereleases(version) } else { constraint.allows(version) }
    };
    if let Some(constraint) = constraints.into_iter().flatten().find(|constraint| !allows(constraint)) {
        return Some(Reason::OutsideConstraint { constraint: constraint.as_str().to_string() });
    }
    let unasked = version.is_prerelease() && !prereleases && constraints.iter().all(Option::is_none);
    unasked.then(|| Reason::OutsideConstraint { constraint: "no pre-releases".to_string() })
}

/// A release whose artefact is the one that the tier's turn runs already, whatever runs on clusters that are
/// pinned or ahead. Nothing would change, so that nothing could prove that it runs: it is passed over.
fn same_content(facts: &Facts<'_>, tier: &Tier, version: &Version) -> Option<Reason> {
    let digest = source::pinned(facts, version)?;
    let base = facts.base(&tier.name);
    let below = base.highest().filter(|highest| *highest < version)?;
    let is_same = |running: &Version| source::pinned(facts, running).as_ref() == Some(&digest);
    let same = match &base {
        Base::Uniform(running) => is_same(running),
        Base::Mixed { lowest, highest } => {
            let places = facts.places(&tier.name);
            [lowest, highest].into_iter().all(is_same)
                && places.iter().filter_map(|place| place.version.known()).all(is_same)
        }
        Base::Unread(_) | Base::Empty => false,
    };
    same.then(|| Reason::SameContent { version: version.clone(), running: below.clone() })
}

/// A release without the signature that the policy asks for. That it runs somewhere is no signature: whoever may merge
/// on one tier could bring it to the others.
fn unsigned(facts: &Facts<'_>, release: &Release) -> Option<Obstacle> {
    if !facts.policy.signed {
        return None;
    }
    let version = release.version.clone();
    match &release.unsigned {
        Read::Known(None) => None,
        Read::Known(Some(why)) => Some(Obstacle::refused(Reason::Unsigned { version, why: why.clone() })),
        Read::Unread(why) => {
            let why = Reason::Unread { what: alloc::format!("the signature of {version}"), why: why.clone() };
            Some(Obstacle::new(Lasts::Unread, why))
        }
    }
}

/// Checks of the releasing commit that are not green. What has not run is pending.
fn unchecked(facts: &Facts<'_>, release: &Release) -> Option<Obstacle> {
    if facts.policy.checks.is_empty() {
        return None;
    }
    let version = release.version.clone();
    let checks = match &release.checks {
        Read::Known(checks) => checks,
        Read::Unread(why) => {
            let why = Reason::Unread { what: alloc::format!("the checks of {version}"), why: why.clone() };
            return Some(Obstacle::new(Lasts::Unread, why));
        }
    };
    let names = |state: CheckState| -> Vec<String> {
        let is = |name: &String| {
            let check = checks.iter().rfind(|check| check.name == *name);
            check.map_or(CheckState::Pending, |check| check.state) == state
        };
        facts.policy.checks.iter().filter(|name| is(name)).cloned().collect()
    };
    let (failed, pending) = (names(CheckState::Failure), names(CheckState::Pending));
    if !failed.is_empty() {
        return Some(Obstacle::refused(Reason::ReleaseChecksFailed { version, names: failed }));
    }
    let runs = || Obstacle::new(Lasts::Pending, Reason::ReleaseChecksPending { version, names: pending.clone() });
    (!pending.is_empty()).then(runs)
}

/// A release that failed on any tier climbs no further anywhere; one that stalls there not until all
/// are healthy on it.
pub(crate) fn held(facts: &Facts<'_>, version: &Version) -> Option<Obstacle> {
    let (tier, failed) = failed_on(facts, version)?;
    let why = Reason::ReleaseHeld { version: version.clone(), tier: tier.clone(), why: failed.why.clone().into() };
    Some(Obstacle::new(Lasts::Failed, why))
}

/// The first tier on which a release failed, or stalls.
pub(crate) fn failed_on<'a>(facts: &'a Facts<'_>, version: &Version) -> Option<(&'a TierName, &'a Failed)> {
    facts.policy.tiers.iter().find_map(|tier| {
        let wave = facts.page.wave(&tier.name, version)?;
        Some((&tier.name, wave.failed().or(wave.stalled())?))
    })
}

/// Somebody says on one of its pull requests that a release has failed, and whether they may could not
/// be read: nothing more is done with it until that is known.
pub(crate) fn doubted<'a>(facts: &Facts<'a>, version: &Version) -> Option<&'a str> {
    let pulls = facts.observed?.pulls.known()?;
    let of_release = pulls.iter().filter(|pull| pull.version.as_ref() == Some(version));
    of_release.into_iter().find_map(|pull| facts.commands(pull).doubt)
}

/// A person's no on this tier or one below.
pub(crate) fn rejected(facts: &Facts<'_>, tier_index: usize, version: &Version) -> Option<Reason> {
    facts.policy.tiers.iter().take(tier_index + 1).find_map(|tier| {
        rejections(facts, tier).into_iter().find(|(said_no_to, _)| said_no_to == version).map(|(_, why)| why)
    })
}

/// Every no on a tier: as the ledger has it, and as the hub shows it (the ledger may have been
/// lost). When the bot itself closes one, nobody has said no.
pub(crate) fn rejections(facts: &Facts<'_>, tier: &Tier) -> Vec<(Version, Reason)> {
    let mut rejections = Vec::new();
    for wave in facts.page.tiers.get(&tier.name).into_iter().flatten() {
        if let Some(no) = wave.rejected().filter(|_| wave.rolls_back().is_none()) {
            rejections.push((wave.version.clone(), Reason::Rejected { by: no.by.clone(), pull: no.pull }));
        }
    }
    for pull in facts.pulls(&tier.name).unwrap_or_default() {
        if let PullState::Closed { by, .. } = &pull.state
            && let Some(version) = facts.release_of(pull)
            && by.as_ref() != Some(&facts.snapshot.hub.bot)
            && !is_rollback(facts, &tier.name, pull.number)
        {
            rejections.push((version.clone(), Reason::Rejected { by: by.clone(), pull: pull.number }));
        }
    }
    rejections
}

/// Versions that have finished a tier, were not found wanting afterwards, and are still there: those of them that
/// are asked for.
pub(crate) fn finished<F: Fn(&Version) -> bool + Copy>(facts: &Facts<'_>, tier_index: usize, which: F) -> Vec<Version> {
    let Some(tier) = facts.policy.tiers.get(tier_index) else { return Vec::new() };
    if facts.is_passed(tier) {
        let accepted =
            |release: &&Release| which(&release.version) && unaccepted(facts, tier_index, &release.version).is_none();
        return match tier_index.checked_sub(1) {
            Some(below) => finished(facts, below, which),
            None => {
                let releases = facts.releases().unwrap_or_default().iter().filter(accepted);
                releases.map(|release| release.version.clone()).collect()
            }
        };
    }
    let waves = facts.page.tiers.get(&tier.name).into_iter().flatten();
    // Clusters ahead of their tier do not finish it, nor do those that get back what ran before.
    let whole = waves.filter(|wave| wave.part.purpose != Purpose::Early && wave.rolls_back().is_none());
    // Who finished it may all have left, and others came in their place: no tier gets ahead of those.
    let runs = facts.base(&tier.name);
    let gone = |wave: &Wave| runs.highest().is_some_and(|highest| *highest < wave.version);
    let whole = whole.filter(|wave| matches!(wave.state(), State::Finished(_)) && which(&wave.version));
    let whole = whole.filter(|wave| !gone(wave));
    whole.map(|wave| source::spelled(facts, &wave.version).clone()).collect()
}

/// Whether a version has finished a tier.
pub(crate) fn has_finished(facts: &Facts<'_>, tier_index: usize, version: &Version) -> bool {
    !finished(facts, tier_index, |known| known == version).is_empty()
}

/// Whether this pull request is a rollback: closing it says no to that, not to the version it holds.
fn is_rollback(facts: &Facts<'_>, tier: &TierName, number: PullNumber) -> bool {
    let waves = facts.page.tiers.get(tier).into_iter().flatten();
    waves
        .filter(|wave| wave.rolls_back().is_some())
        .any(|wave| wave.pull.as_ref().is_some_and(|announced| announced.number == number))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::model::{Early, Empty, Pin};
    use crate::next_release::tests::{doings, publish};
    use crate::selector::Selector;
    use crate::snapshot::{Cluster, Place, Snapshot};
    use crate::testing::*;
    use alloc::collections::BTreeMap;
    use alloc::vec;

    /// 1.1.0 has the content of 1.0.0, which bronze-1 runs; bronze-2 runs 0.9.0, which has another.
    fn apart(change: fn(&mut Snapshot, Selector)) -> Vec<String> {
        let mut world = ready();
        let page = world.ledger.plugins.get_mut(&"app".into()).expect("app");
        page.releases.iter_mut().for_each(|seen| seen.digest = Some("sha256:11".into()));
        let labels: BTreeMap<String, String> =
            [("tier", "bronze"), ("customer", "acme")].map(|(key, value)| (key.to_string(), value.to_string())).into();
        let acme = Selector { match_labels: labels.clone(), ..Selector::default() };
        if let Read::Known(clusters) = &mut world.clusters {
            clusters.push(Cluster { name: "bronze-2".into(), labels });
        }
        let held = |name: &str, text: &str| Place {
            file: alloc::format!("clusters/{name}.yaml"),
            cluster: Some(name.into()),
            version: Read::Known(version(text)),
            range: None,
            vacant: false,
        };
        let bronze = ("bronze".into(), vec![held("bronze-1", "1.0.0"), held("bronze-2", "0.9.0")]);
        facts(&mut world).base = Read::Known([place("qa", "1.1.0"), bronze].into());
        change(&mut world, acme);
        doings(&world)
    }

    #[test]
    fn what_runs_beside_a_turn_does_not_make_the_same_content_another() {
        let back = "close bronze: 1.1.0 is the same artefact as 1.0.0";
        let stays = apart(|world, select| {
            let (until, why) = (None, "an audit".to_string());
            world.policy.plugins[0].pins = vec![Pin { select, version: Some(version("0.9.0")), until, why }];
        });
        assert!(stays[0].starts_with(back), "pinned: {stays:?}");
        let ahead = apart(|world, select| bronze(world).early = vec![Early { select, until: None }]);
        assert!(ahead[0].starts_with(back), "ahead: {ahead:?}");
        let of_the_turn = apart(|_, _| {});
        assert!(!of_the_turn.iter().any(|doing| doing.starts_with(back)), "its turn, too: {of_the_turn:?}");
    }

    /// Qa has no cluster. What it would not take does not pass it either.
    #[test]
    fn a_tier_without_clusters_is_passed_by_what_its_constraint_allows() {
        let opens = |constraint: &str| {
            let mut world = ready();
            let qa = &mut world.policy.plugins[0].tiers[0];
            (qa.empty, qa.constraint) = (Empty::Pass, constraint.parse().ok());
            if let Read::Known(clusters) = &mut world.clusters {
                clusters.retain(|cluster| cluster.name.as_str() != "qa-1");
            }
            let page = world.ledger.plugins.get_mut(&"app".into()).expect("app");
            page.tiers.get_mut(&"bronze".into()).expect("bronze").pop();
            page.tiers.remove(&"qa".into());
            facts(&mut world).pulls = Read::Known(Vec::new());
            facts(&mut world).base = Read::Known([place("bronze", "1.0.0")].into());
            publish(&mut world, &["1.0.0", "1.1.0", "1.2.0"]);
            doings(&world)
        };
        assert_eq!([opens("~1.1"), opens("~1")], [["open 1.1.0 on bronze"], ["open 1.2.0 on bronze"]]);
    }

    /// A definition may be there before its chart, and lose it later.
    #[test]
    fn what_is_not_all_there_waits_and_is_passed_over() {
        let torn = |world: &mut Snapshot, which: &str| {
            let Read::Known(releases) = &mut facts(world).releases else { unreachable!() };
            let of = releases.iter_mut().filter(|release| release.version == version(which));
            of.for_each(|release| release.incomplete = Some("its chart is not there".to_string()));
        };
        let mut world = ready();
        assert_eq!(doings(&world), ["merge 1.1.0 on bronze"]);
        torn(&mut world, "1.1.0");
        assert_eq!(doings(&world), [""; 0], "it is neither merged nor taken back");
        publish(&mut world, &["1.0.0", "1.1.0", "1.2.0", "1.3.0"]);
        torn(&mut world, "1.3.0");
        assert_eq!(doings(&world), ["open 1.2.0 on qa", "merge 1.1.0 on bronze"]);
        publish(&mut world, &["1.0.0", "1.1.0", "1.3.0"]);
        torn(&mut world, "1.3.0");
        let findings = crate::plan(&world, ago(0)).waves.into_iter().flat_map(|wave| wave.findings);
        let mut said = findings.map(|finding| finding.because.to_string());
        assert!(said.any(|words| words.contains("1.3.0 is not complete: its chart is not there")), "people are told");
    }

    /// The oldest and the newest have the content of 1.1.0; this is what one between them has.
    fn between(world: &mut Snapshot, digest: &str) {
        let Read::Known(base) = &mut facts(world).base else { unreachable!() };
        let places = base.get_mut(&"bronze".into()).expect("bronze");
        places[1].version = Read::Known(version("0.8.0"));
        let file = "clusters/bronze-3.yaml".to_string();
        places.push(Place { file, version: Read::Known(version("0.9.0")), ..places[1].clone() });
        let page = world.ledger.plugins.get_mut(&"app".into()).expect("app");
        for (text, digest) in [("0.8.0", "sha256:11"), ("0.9.0", digest)] {
            let seen =
                crate::ledger::Seen { version: version(text), digest: Some(digest.into()), first_seen: ago(900) };
            page.releases.push(seen);
        }
    }

    #[test]
    fn the_same_content_is_the_same_on_all_of_the_turn() {
        let same = |doings: Vec<String>| doings.iter().any(|doing| doing.contains("is the same artefact as"));
        assert!(same(apart(|world, _| between(world, "sha256:11"))));
        assert!(!same(apart(|world, _| between(world, "sha256:99"))));
    }
}
