//! Which release a tier takes next (policy, section 3): `newestFinished`, `every` or `restart`, and
//! what a newer one does to the wave that is there. Which releases may climb at all is in `release`.

use alloc::vec::Vec;

use crate::cooldown::cooling;
use crate::desk::Desk;
use crate::gate::{Standing, hold};
use crate::ledger::{Purpose, Wave};
use crate::model::{Next, Tier};
use crate::plan::Verdict;
use crate::release::{finished, noes, stopped};
use crate::snapshot::{Pull, PullState};
use crate::{Reason, Version, hotfix, release};

/// What a tier would take next, if newer than what it runs, than what failed here and than what a
/// person said no to here; `next` says which of those that are ready.
pub(crate) fn candidate(desk: &Desk<'_>, rung: usize) -> Option<Version> {
    let ready = at_hand(desk, rung);
    let hotfix = hotfix::newest(desk, &ready);
    let usual = match desk.policy.next {
        Next::NewestFinished => ready.into_iter().max(),
        Next::Every => next_of(desk, rung, ready),
        Next::Restart => {
            let target = target(desk);
            ready.into_iter().find(|version| Some(version) == target.as_ref())
        }
    };
    match hotfix {
        // A hotfix passes on the first tier; above it a newer one that finished the tier below does too.
        Some(hotfix) if rung == 0 => Some(hotfix),
        Some(hotfix) => usual.max(Some(hotfix)),
        None => usual,
    }
}

/// Releases that a tier may take now: on the first tier the accepted ones, above it those that have
/// finished the tier below.
fn at_hand(desk: &Desk<'_>, rung: usize) -> Vec<Version> {
    newer(desk, rung).into_iter().filter(|version| stopped(desk, rung, version).is_none()).collect()
}

/// The newest release that this tier passes over though the constraints accept it, for people.
pub(crate) fn passed_over(desk: &Desk<'_>, rung: usize) -> Option<Version> {
    let because = |version: &Version| release::unaccepted(desk, rung, version).or_else(|| release::held(desk, version));
    let told = |why: &Reason| !matches!(why, Reason::OutsideConstraint { .. });
    newer(desk, rung).into_iter().filter(|version| because(version).as_ref().is_some_and(told)).max()
}

/// Releases that are ready for a tier and newer than what it runs.
pub(crate) fn newer(desk: &Desk<'_>, rung: usize) -> Vec<Version> {
    let Some(tier) = desk.policy.tiers.get(rung).filter(|tier| !tier.follows) else { return Vec::new() };
    let floor = floor(desk, tier);
    let Some(below) = rung.checked_sub(1) else { return release::listed(desk, floor.as_ref()) };
    let ready = finished(desk, below).into_iter();
    let above = |version: &Version| floor.as_ref().is_none_or(|floor| version > floor);
    ready.filter(|version| above(version) || only_early(desk, tier, version)).collect()
}

/// Whether a version is the newest on a tier only because clusters that were ahead of it run it: the
/// others get it in their turn.
fn only_early(desk: &Desk<'_>, tier: &Tier, version: &Version) -> bool {
    let mut waves = desk.page.tiers.get(&tier.name).into_iter().flatten().filter(|wave| wave.version == *version);
    let base = desk.base(&tier.name);
    base.highest() == Some(version)
        && base.lowest().is_some_and(|lowest| lowest < version)
        && waves.next().is_some_and(|wave| wave.part.purpose == Purpose::Early)
        && waves.all(|wave| wave.part.purpose == Purpose::Early)
}

/// What a release has to be newer than: what runs, what failed here, what a person refused here. Where
/// none is skipped, a refused hotfix takes those that it had passed with it no more than itself.
fn floor(desk: &Desk<'_>, tier: &Tier) -> Option<Version> {
    let running = desk.base(&tier.name).highest().cloned();
    let refused = match desk.policy.next {
        Next::Every => None,
        Next::NewestFinished | Next::Restart => refused_here(desk, tier),
    };
    [running, failed_here(desk, tier), refused].into_iter().flatten().max()
}

fn failed_here(desk: &Desk<'_>, tier: &Tier) -> Option<Version> {
    let waves = desk.page.tiers.get(&tier.name)?;
    waves.iter().filter(|wave| wave.failed.is_some()).map(|wave| wave.version.clone()).max()
}

fn refused_here(desk: &Desk<'_>, tier: &Tier) -> Option<Version> {
    noes(desk, tier).into_iter().map(|(version, _)| version).max()
}

/// `every`: the one that follows what runs. Where nothing runs there is nothing to follow, and a
/// first install takes the newest.
fn next_of(desk: &Desk<'_>, rung: usize, ready: Vec<Version>) -> Option<Version> {
    let installed = desk.base(&desk.policy.tiers.get(rung)?.name).highest().is_some();
    if installed { ready.into_iter().min() } else { ready.into_iter().max() }
}

/// `restart`: the one release that climbs, the newest that is on the first tier or may enter it. One
/// that failed or was refused there gives the place back to the one before it.
fn target(desk: &Desk<'_>) -> Option<Version> {
    let first = desk.policy.tiers.first()?;
    let climbing = desk.page.climbing(&first.name).map(|wave| &wave.version);
    let waves = desk.page.tiers.get(&first.name).into_iter().flatten();
    let begun = waves.filter(|wave| wave.landed.is_some()).map(|wave| &wave.version).chain(climbing);
    let mut begun: Vec<&Version> = begun.collect();
    begun.sort();
    let begun = begun.into_iter().rev().find(|version| stopped(desk, 0, version).is_none());
    begun.cloned().into_iter().chain(at_hand(desk, 0)).max()
}

/// The newer release for which a wave is abandoned under `restart`.
pub(crate) fn abandoned_for(desk: &Desk<'_>, wave: &Wave) -> Option<Version> {
    if hotfix::is_one(desk, wave) { None } else { outdated(desk, &wave.version) }
}

/// The newer release that takes the place of one under `restart`, wherever it climbs.
pub(crate) fn outdated(desk: &Desk<'_>, version: &Version) -> Option<Version> {
    match desk.policy.next {
        Next::NewestFinished | Next::Every => None,
        Next::Restart if hotfix::entry(desk, version).is_some() => None,
        Next::Restart => target(desk).filter(|target| target > version && cooling(desk, 0, target).is_none()),
    }
}

/// Why an open wave is given up for a newer release under `restart`. On the first tier the pull
/// request moves instead, unless people were already told when this release would be merged. Who came
/// late or is ahead takes no climb's place: that pull request moves when the newer one is ready for it.
pub(crate) fn given_up(desk: &Desk<'_>, rung: usize, wave: &Wave, pull: Option<&Pull>) -> Option<Reason> {
    match wave.part.purpose {
        Purpose::Promotion | Purpose::RollBack { .. } => {}
        Purpose::CatchUp | Purpose::Early => return None,
    }
    let by = abandoned_for(desk, wave)?;
    let merged = pull.is_some_and(|pull| pull.state != PullState::Open);
    let held = pull.is_some_and(|pull| hold::finding(pull).verdict != Verdict::Pass);
    let moves = rung == 0 && (held || !pull.is_some_and(|pull| told(wave, pull)));
    (!merged && !moves).then_some(Reason::Superseded { by })
}

/// Whether a release may come to a tier though the wave on it has not finished.
pub(crate) fn passes(desk: &Desk<'_>, rung: usize, occupant: &Wave) -> bool {
    let Some(candidate) = candidate(desk, rung).filter(|candidate| *candidate > occupant.version) else { return false };
    abandoned_for(desk, occupant).is_some() || hotfix::entry(desk, &candidate).is_some()
}

/// A newer version that moves this pull request: while nobody has approved it and no notice was sent,
/// and while the branch is ours. `every` skips none; under `restart` an approval keeps nothing.
pub(crate) fn overtaking(
    desk: &Desk<'_>,
    rung: usize,
    wave: &Wave,
    pull: &Pull,
    standing: &Standing,
) -> Option<Version> {
    let candidate = candidate(desk, rung)?;
    if !standing.ours() || pull.state != PullState::Open {
        return None;
    }
    // The tier's own turn takes the pull request of clusters that are ahead of it.
    if wave.part.purpose == Purpose::Early {
        let stays = standing.held || standing.approved_by_anybody || told(wave, pull);
        return (!stays && cooling(desk, rung, &candidate).is_none()).then_some(candidate);
    }
    // A hotfix moves any: what was approved and announced was another release.
    let urgent = candidate > wave.version || !hotfix::is_one(desk, wave);
    if hotfix::entry(desk, &candidate).is_some() && urgent {
        return (candidate != wave.version).then_some(candidate);
    }
    if cooling(desk, rung, &candidate).is_some() {
        return None;
    }
    let stays = match desk.policy.next {
        // A tier that has begun to move goes to the end of that release.
        Next::NewestFinished => standing.approved_by_anybody || wave.part.slice > 0,
        Next::Every => true,
        Next::Restart => false,
    };
    let free = !standing.held && !told(wave, pull) && !stays;
    (free && candidate > wave.version).then_some(candidate)
}

/// Whether people were told when this pull request would be merged by force.
fn told(wave: &Wave, pull: &Pull) -> bool {
    wave.grace.as_ref().is_some_and(|grace| !grace.notices.is_empty()) || !pull.notices.is_empty()
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::ledger::{Change, Landed};
    use crate::plan::Action;
    use crate::snapshot::{Read, Snapshot};
    use crate::testing::*;
    use alloc::string::{String, ToString};
    use alloc::vec;
    use alloc::{format, vec::Vec};

    /// What the plan does to pull requests, one line each.
    pub(crate) fn doings(world: &Snapshot) -> Vec<String> {
        let plan = crate::plan(world, noon());
        let doing = |action: &Action| match action {
            Action::Open(proposal) => format!("open {} on {}", proposal.to, proposal.tier),
            Action::Update { proposal, .. } => format!("move {} to {}", proposal.tier, proposal.to),
            Action::Merge { tier, version, .. } => format!("merge {version} on {tier}"),
            Action::Close { tier, why, .. } => format!("close {tier}: {why}"),
            Action::Notice { tier, .. } => format!("notice on {tier}"),
            Action::Dispatch { tier, workflow, .. } => format!("dispatch {workflow} for {tier}"),
        };
        plan.actions.iter().map(doing).collect()
    }

    pub(crate) fn publish(world: &mut Snapshot, versions: &[&str]) {
        facts(world).releases = Read::Known(versions.iter().map(|text| release(text)).collect());
    }

    pub(crate) fn on_qa(world: &mut Snapshot, text: &str, change: Change) {
        let (plugin, tier) = ("app".into(), "qa".into());
        world.ledger.apply(&crate::Entry::Wave { plugin, tier, version: version(text), change });
    }

    /// 1.2.0 has finished qa, too, while the pull request of 1.1.0 waits on bronze.
    pub(crate) fn finished_above(world: &mut Snapshot) {
        publish(world, &["1.0.0", "1.1.0", "1.2.0"]);
        let landed = Landed { at: ago(20), commit: None, by: None };
        on_qa(world, "1.2.0", Change::Found { members: vec!["qa-1".into()], digest: None, landed });
        on_qa(world, "1.2.0", Change::Finished(ago(8)));
        facts(world).base = Read::Known([place("qa", "1.2.0"), place("bronze", "1.0.0")].into());
    }

    /// 1.1.0 was merged on qa by the bot and soaks there; nothing is on bronze.
    pub(crate) fn soaking(world: &mut Snapshot) {
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        page.tiers.get_mut(&"qa".into()).unwrap().last_mut().unwrap().finished = None;
        page.tiers.get_mut(&"bronze".into()).unwrap().pop();
        facts(world).pulls = Read::Known(Vec::new());
        publish(world, &["1.0.0", "1.1.0", "1.2.0"]);
    }

    #[test]
    fn next_says_which_release_a_tier_takes() {
        type Case = (&'static str, fn(&mut Snapshot), [&'static [&'static str]; 3]);
        let cases: [Case; 8] = [
            (
                "a refused release above two that are ready: where none is skipped, they come all the same",
                |w| {
                    publish(w, &["1.0.0", "1.1.0", "1.2.0", "1.3.0"]);
                    let no = crate::ledger::Rejected { at: ago(1), by: None, pull: crate::PullNumber(9) };
                    let head = crate::ledger::Head { commit: "cc".into(), at: ago(20) };
                    let (part, members) = (crate::ledger::Part::default(), Vec::new());
                    on_qa(w, "1.3.0", Change::Intent { from: None, digest: None, part, members, head });
                    on_qa(w, "1.3.0", Change::Rejected(no));
                },
                [
                    &["merge 1.1.0 on bronze"],
                    &["open 1.2.0 on qa", "merge 1.1.0 on bronze"],
                    &["merge 1.1.0 on bronze"],
                ],
            ),
            (
                "refused below, and not listed any more either",
                |w| {
                    publish(w, &["1.0.0"]);
                    let no = crate::ledger::Rejected { at: ago(1), by: None, pull: crate::PullNumber(9) };
                    on_qa(w, "1.1.0", Change::Rejected(no));
                },
                [
                    &["close bronze: #9 was closed, which says no to this release"],
                    &["close bronze: #9 was closed, which says no to this release"],
                    &["close bronze: #9 was closed, which says no to this release"],
                ],
            ),
            (
                "two new releases at the first tier, an approved pull request above",
                |w| publish(w, &["1.0.0", "1.1.0", "1.2.0", "1.3.0"]),
                [
                    &["open 1.3.0 on qa", "merge 1.1.0 on bronze"],
                    &["open 1.2.0 on qa", "merge 1.1.0 on bronze"],
                    &["open 1.3.0 on qa", "close bronze: 1.3.0 takes its place"],
                ],
            ),
            (
                "a newer one has finished the tier below, nobody has approved",
                |w| {
                    *w = unapproved();
                    finished_above(w);
                },
                [&["move bronze to 1.2.0"], &[], &["close bronze: 1.2.0 takes its place"]],
            ),
            (
                "the same, and it is approved",
                finished_above,
                [&["merge 1.1.0 on bronze"], &["merge 1.1.0 on bronze"], &["close bronze: 1.2.0 takes its place"]],
            ),
            ("the one on the first tier soaks", soaking, [&[], &[], &["open 1.2.0 on qa"]]),
            (
                "the newest was refused: the one before it climbs on",
                |w| {
                    publish(w, &["1.0.0", "1.1.0", "1.2.0"]);
                    let no = crate::ledger::Rejected { at: ago(1), by: None, pull: crate::PullNumber(9) };
                    let landed = Landed { at: ago(20), commit: None, by: None };
                    on_qa(w, "1.2.0", Change::Found { members: Vec::new(), digest: None, landed });
                    on_qa(w, "1.2.0", Change::Rejected(no));
                },
                [&["merge 1.1.0 on bronze"], &["merge 1.1.0 on bronze"], &["merge 1.1.0 on bronze"]],
            ),
            (
                "nothing is installed: the newest, whatever came before",
                |w| {
                    *w = crate::Snapshot { ledger: crate::Ledger::default(), ..ready() };
                    publish(w, &["1.0.0", "1.1.0", "1.2.0"]);
                    facts(w).pulls = Read::Known(Vec::new());
                    facts(w).base = Read::Known([].into());
                },
                [&["open 1.2.0 on qa"], &["open 1.2.0 on qa"], &["open 1.2.0 on qa"]],
            ),
        ];
        for (name, change, expected) in cases {
            for (next, expected) in [Next::NewestFinished, Next::Every, Next::Restart].into_iter().zip(expected) {
                let mut world = ready();
                change(&mut world);
                world.policy.plugins[0].next = next;
                assert_eq!(doings(&world), expected, "{name}, {next:?}");
            }
        }
    }

    /// Under `restart` the first tier's own pull request moves, also an approved one; a held one and
    /// one about which people were told does not.
    #[test]
    fn restart_moves_the_first_pull_request() {
        let world = |change: fn(&mut Snapshot)| {
            let mut world = ready();
            world.policy.plugins[0].tiers.remove(0);
            world.policy.plugins[0].next = Next::Restart;
            publish(&mut world, &["1.0.0", "1.1.0", "1.2.0"]);
            change(&mut world);
            doings(&world)
        };
        assert_eq!(world(|_| {}), ["move bronze to 1.2.0"]);
        assert_eq!(world(|w| edit(w, |pull| pull.draft = true)), [""; 0]);
        assert_eq!(world(|w| edit(w, |pull| pull.head = "eeeeeeeeee".into())), [""; 0]);
        let told = |w: &mut Snapshot| {
            let before = jiff::SignedDuration::from_mins(10);
            edit(w, |pull| pull.notices = vec![crate::snapshot::SentNotice { before, at: ago(1) }]);
        };
        assert_eq!(world(told), ["close bronze: 1.2.0 takes its place".to_string()]);
    }

    /// Above the first tier what is newer than a hotfix, and has finished the tier below, has its fix.
    #[test]
    fn above_the_first_tier_the_newest_is_taken_though_a_hotfix_is_ready() {
        let opens = |newest: bool| {
            let mut world = ready();
            finished_above(&mut world);
            world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap().pop();
            facts(&mut world).pulls = Read::Known(Vec::new());
            hotfix(&mut world, "1.1.0");
            if newest {
                publish(&mut world, &["1.0.0", "1.1.0", "1.2.0"]);
            } else {
                publish(&mut world, &["1.0.0", "1.1.0"]);
            }
            doings(&world)
        };
        assert_eq!(
            (opens(true), opens(false)),
            (vec!["open 1.2.0 on bronze".into()], vec!["open 1.1.0 on bronze".into()])
        );
    }

    fn hotfix(world: &mut Snapshot, text: &str) {
        let why = "CVE-2026-1".into();
        let hotfix = crate::model::Hotfix { version: version(text), why, soak: None, through_windows: false };
        world.policy.plugins[0].hotfixes.push(hotfix);
    }

    /// The first tier's open pull request is for 1.1.0.
    #[test]
    fn which_hotfix_moves_what_is_open() {
        let world = |versions: &[&str], hotfixes: &[&str]| {
            let mut world = ready();
            world.policy.plugins[0].tiers.remove(0);
            publish(&mut world, versions);
            hotfixes.iter().for_each(|text| hotfix(&mut world, text));
            doings(&world)
        };
        let merge = "merge 1.1.0 on bronze";
        assert_eq!(world(&["1.0.0", "1.0.5", "1.1.0"], &[]), [merge]);
        assert_eq!(world(&["1.0.0", "1.0.5", "1.1.0"], &["1.0.5"]), ["move bronze to 1.0.5"], "an older one passes");
        assert_eq!(world(&["1.0.0", "1.0.5", "1.1.0"], &["1.0.5", "1.1.0"]), [merge], "it is one itself");
        assert_eq!(world(&["1.0.0", "1.1.0", "1.2.0"], &["1.1.0", "1.2.0"]), ["move bronze to 1.2.0"]);
        assert_eq!(world(&["1.0.0", "1.1.0"], &["1.1.0"]), [merge]);
    }

    /// 1.2.0 failed on qa, and somebody took it off again.
    #[test]
    fn after_a_failure_only_what_is_newer_comes() {
        let opens = |versions: &[&str]| {
            let mut world = ready();
            world.policy.plugins[0].tiers.truncate(1);
            let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
            page.tiers.get_mut(&"qa".into()).unwrap().truncate(1);
            facts(&mut world).pulls = Read::Known(Vec::new());
            facts(&mut world).base = Read::Known([place("qa", "1.0.0")].into());
            publish(&mut world, versions);
            let landed = Landed { at: ago(20), commit: None, by: None };
            on_qa(&mut world, "1.2.0", Change::Found { members: vec!["qa-1".into()], digest: None, landed });
            let why = Reason::FailedBy { by: "maria".into(), why: "it breaks billing".into() };
            on_qa(&mut world, "1.2.0", Change::Failed(crate::ledger::Failed { at: ago(10), why }));
            doings(&world)
        };
        assert_eq!(opens(&["1.0.0", "1.1.0", "1.2.0"]), [""; 0]);
        assert_eq!(opens(&["1.0.0", "1.1.0", "1.2.0", "1.3.0"]), ["open 1.3.0 on qa"]);
    }

    /// A person's yes to this very commit keeps the pull request for it.
    #[test]
    fn whose_yes_keeps_what_is_open() {
        use crate::snapshot::{Review, ReviewVerdict};
        let moves = |review: Review| {
            let mut world = ready();
            finished_above(&mut world);
            edit(&mut world, |pull| pull.reviews = vec![review]);
            doings(&world) == ["move bronze to 1.2.0"]
        };
        assert!(!moves(Review { by: "eve".into(), ..approval("eve") }), "also of who is no owner");
        assert!(moves(Review { human: false, ..approval("maria") }), "an App's");
        assert!(moves(Review { commit: "bbbbbbbbbb".into(), ..approval("maria") }), "to another commit");
        assert!(moves(Review { verdict: ReviewVerdict::Commented, ..approval("maria") }), "a comment");
    }
}
