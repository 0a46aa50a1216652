//! Pull requests of ours that are open though their wave is over, or that no wave knows, and how they
//! are closed. What takes their place is decided in `tiers`.

use crate::facts::{Facts, Noted};
use crate::ledger::{Change, Closed, State, Withdrawn};
use crate::model::Tier;
use crate::plan::{Action, Finding, Gate, Verdict};
use crate::snapshot::{Pull, PullState};
use crate::{Reason, gate};

/// Whether some wave of the tier wrote what this pull request holds. A lost ledger forgets that.
pub(crate) fn is_known(facts: &Facts<'_>, tier: &Tier, pull: &Pull) -> bool {
    let mut waves = facts.page.tiers.get(&tier.name).into_iter().flatten();
    waves.any(|wave| wave.heads.iter().any(|head| head.commit == pull.head))
}

/// That somebody pushed to the branch of an open pull request whose wave is over: what it holds is theirs, and
/// nothing is written over it. A lost ledger forgets which ones are ours.
pub(crate) fn theirs(facts: &Facts<'_>, tier: &Tier, pull: &Pull) -> Option<Finding> {
    let mut waves = facts.page.tiers.get(&tier.name).into_iter().flatten();
    let ours_once = waves.any(|wave| wave.pull.as_ref().is_some_and(|known| known.number == pull.number));
    let edited = ours_once && !is_known(facts, tier, pull);
    edited.then(|| Finding::fail(Gate::Head, Reason::HeadEdited { head: pull.head.clone() }))
}

/// Whether somebody put the release of an open pull request on the base branch past it, or a slice of
/// it failed: what comes then has a pull request of its own.
pub(crate) fn moot(facts: &Facts<'_>, tier_index: usize, pull: &Pull) -> bool {
    let waves = facts.page.tiers.get(&facts.policy.tiers[tier_index].name).into_iter().flatten();
    waves
        .filter(|wave| wave.heads.iter().any(|head| head.commit == pull.head))
        .any(|wave| wave.landed().is_some() || (wave.part.slice > 0 && wave.failed().is_some()))
}

/// A pull request of ours that is open though its wave is over: the closing was cut off. One that
/// no wave knows waits until a release is ready for this tier.
pub(crate) fn tidied_up(facts: &Facts<'_>, tier_index: usize, pull: &Pull) -> Option<Action> {
    let tier = &facts.policy.tiers[tier_index];
    let known = facts.page.tiers.get(&tier.name).into_iter().flatten();
    let why = known.filter(|wave| wave.heads.iter().any(|head| head.commit == pull.head)).find_map(|wave| {
        // Somebody put the release on the base branch past its pull request.
        let past = || Reason::NothingNewer { version: Some(wave.version.clone()) };
        match wave.state() {
            State::Failed(failed) if wave.landed().is_none() => {
                let (version, tier) = (wave.version.clone(), tier.name.clone());
                Some(Reason::ReleaseHeld { version, tier, why: failed.why.clone().into() })
            }
            State::Closed(Closed::Withdrawn(withdrawn)) => Some(withdrawn.why.clone()),
            State::Closed(Closed::Superseded(superseded)) | State::Overtaken(superseded) => {
                Some(Reason::Superseded { by: superseded.by.clone() })
            }
            State::Landed(_) => Some(past()),
            State::LandedAnyway(_) | State::Finished(_) | State::Failed(_) => {
                let taken_back = wave.withdrawn().map(|withdrawn| withdrawn.why.clone());
                taken_back.or_else(|| wave.landed().map(|_| past()))
            }
            State::Open | State::Closed(Closed::Rejected(_)) => None,
        }
    });
    closing(facts, tier_index, Some(pull), why?)
}

/// Whether it was to be closed, whatever comes next: its release was taken back, or failed before it landed. What was
/// only given up for a newer release waits to be moved to it.
pub(crate) fn is_condemned(facts: &Facts<'_>, tier_index: usize, pull: &Pull) -> bool {
    let waves = facts.page.tiers.get(&facts.policy.tiers[tier_index].name).into_iter().flatten();
    waves
        .filter(|wave| wave.heads.iter().any(|head| head.commit == pull.head))
        .any(|wave| wave.withdrawn().is_some() || (wave.failed().is_some() && wave.landed().is_none()))
}

/// Whether an open pull request whose wave is over takes the last place under the cap of open ones, while the next
/// release waits for something that may need this very place. What could not be read is read soon.
pub(crate) fn keeps_a_place(facts: &Facts<'_>, findings: &[Finding]) -> bool {
    let waits = |finding: &Finding| matches!(finding.verdict, Verdict::Wait { .. } | Verdict::Fail);
    findings.iter().any(waits) && gate::limits::is_reached(facts)
}

/// The closing of a pull request of ours that goes to another branch than the tier's, where nothing else troubles the
/// tier, and what becomes of its wave: the next one goes where it belongs. A branch that somebody edited is theirs and
/// stays.
pub(crate) fn turned_back(
    facts: &Facts<'_>,
    tier_index: usize,
    troubles: &[Finding],
) -> Option<(Option<Noted>, Option<Action>)> {
    let [Finding { because: why @ Reason::OtherBase { .. }, .. }] = troubles else { return None };
    let tier = &facts.policy.tiers[tier_index];
    let pull = facts.open_pull(&tier.name).filter(|pull| is_known(facts, tier, pull))?;
    let wave = facts.page.climbing(&tier.name).filter(|wave| wave.heads.iter().any(|head| head.commit == pull.head));
    let withdrawn = || Change::Withdrawn(Withdrawn { at: facts.now, why: why.clone() });
    let noted = wave.map(|wave| Noted::new(&wave.version, withdrawn()));
    Some((noted, closing(facts, tier_index, Some(pull), why.clone())))
}

/// The closing of a pull request that is still open, with the reason.
pub(crate) fn closing(facts: &Facts<'_>, tier_index: usize, pull: Option<&Pull>, why: Reason) -> Option<Action> {
    let pull = pull.filter(|pull| pull.state == PullState::Open)?;
    let (plugin, tier) = (facts.plugin().clone(), facts.policy.tiers[tier_index].name.clone());
    Some(Action::Close { plugin, tier, pull: pull.number, head: pull.head.clone(), why })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use crate::Reason;
    use crate::ledger::{Change, Withdrawn};
    use crate::next_release::tests::{doings, finished_above};
    use crate::plan::Gate;
    use crate::snapshot::{PullState, Read, Snapshot};
    use crate::testing::*;
    use alloc::vec;

    /// 1.1.0 was taken back on bronze, and its pull request is still open; 1.2.0 is ready.
    fn world(change: fn(&mut Snapshot)) -> Snapshot {
        let mut world = ready();
        let why = Reason::Superseded { by: version("1.2.0") };
        remember(&mut world, Change::Withdrawn(Withdrawn { at: ago(5), why }));
        finished_above(&mut world);
        change(&mut world);
        world
    }

    #[test]
    fn what_somebody_pushed_to_is_theirs_also_when_its_wave_is_over() {
        assert_eq!(doings(&world(|_| {})), ["move bronze to 1.2.0"]);
        let pushed = |world: &mut Snapshot| edit(world, |pull| pull.head = "eeeeeeeeee".into());
        assert_eq!(doings(&world(pushed)), [""; 0]);
        let said = says(&world(pushed), Gate::Head).because;
        assert_eq!(said, Reason::HeadEdited { head: "eeeeeeeeee".into() });
        // Once it is closed, what is ready gets a pull request of its own.
        let closed = |world: &mut Snapshot| {
            edit(world, |pull| {
                pull.head = "eeeeeeeeee".into();
                pull.state = PullState::Closed { at: ago(1), by: Some("maria".into()) };
            });
        };
        assert_eq!(doings(&world(closed)), ["open 1.2.0 on bronze"]);
        // What a lost ledger has forgotten is told from nothing of ours: it is written anew.
        let forgotten = |world: &mut Snapshot| {
            let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
            page.tiers.get_mut(&"bronze".into()).unwrap().truncate(1);
            edit(world, |pull| pull.head = "eeeeeeeeee".into());
        };
        assert_eq!(doings(&world(forgotten)), ["move bronze to 1.2.0"]);
    }

    /// The release of bronze's pull request is over, and the next one, 1.2.0, waits for crds, which has one to open.
    fn waits_for_crds(over: Change, change: fn(&mut Snapshot)) -> Snapshot {
        let mut world = ready();
        let (app, crds) = (crate::PluginName::from("app"), crate::PluginName::from("crds"));
        let policy = crate::PluginPolicy { name: crds.clone(), ..world.policy.plugins[0].clone() };
        let (mut theirs, mut page) = (facts(&mut world).clone(), world.ledger.plugins[&app].clone());
        theirs.pulls = Read::Known(vec![]);
        page.tiers.remove(&"bronze".into());
        world.policy.plugins.push(policy);
        world.plugins.insert(crds.clone(), theirs);
        world.ledger.plugins.insert(crds.clone(), page);
        world.policy.plugins[0].after = vec![crate::model::After { plugin: crds, version: ">=1.1".parse().ok() }];
        remember(&mut world, over);
        finished_above(&mut world);
        change(&mut world);
        world
    }

    /// Its only place is taken by what is over.
    #[test]
    fn what_is_over_does_not_keep_the_last_place_from_what_the_next_one_waits_for() {
        let superseded = || {
            let by = version("1.2.0");
            Change::Superseded(crate::ledger::Superseded { at: ago(5), by })
        };
        let does = |limit: Option<u32>, change: fn(&mut Snapshot)| {
            let mut world = waits_for_crds(superseded(), change);
            world.policy.limits.open_pulls = limit;
            doings(&world)
        };
        assert_eq!(does(Some(1), |_| {}), ["close bronze: 1.2.0 takes its place"]);
        assert_eq!(does(Some(3), |_| {}), ["open 1.1.0 on bronze"], "there is room for both");
        assert_eq!(does(None, |_| {}), ["open 1.1.0 on bronze"]);
        let nobody: fn(&mut Snapshot) = |world| world.policy.plugins[0].after.clear();
        assert_eq!(does(Some(1), nobody), ["move bronze to 1.2.0"], "the next one takes it over");
        let unread: fn(&mut Snapshot) = |world| {
            world.plugins.get_mut(&"crds".into()).unwrap().base = Read::Unread("503".into());
        };
        assert_eq!(does(Some(1), unread), [""; 0], "what could not be read is read soon");
    }

    /// The closing was cut off: nobody finds it approved and open for as long as the next release waits.
    #[test]
    fn what_was_taken_back_or_failed_is_closed_though_the_next_one_waits() {
        let does = |over: Change| doings(&waits_for_crds(over, |_| {}));
        let why = Reason::FailedBy { by: "maria".into(), why: "it breaks billing".into() };
        let closes = "close bronze: 1.1.0 failed on bronze: maria says that it failed: it breaks billing";
        assert_eq!(does(Change::Failed(crate::ledger::Failed { at: ago(5), why })), [closes, "open 1.1.0 on bronze"]);
        let why = Reason::FailedBy { by: "maria".into(), why: "it breaks billing".into() };
        let closes = "close bronze: maria says that it failed: it breaks billing";
        assert_eq!(does(Change::Withdrawn(Withdrawn { at: ago(5), why })), [closes, "open 1.1.0 on bronze"]);
    }

    /// Somebody put it on the base branch past its pull request, and there it failed.
    #[test]
    fn what_landed_past_its_pull_request_does_not_need_it_any_more() {
        let mut world = landed(vec![healthy("1.1.0")]);
        edit(&mut world, |pull| pull.state = PullState::Open);
        let why = Reason::FailedBy { by: "maria".into(), why: "it breaks billing".into() };
        remember(&mut world, Change::Failed(crate::ledger::Failed { at: ago(5), why }));
        assert_eq!(doings(&world), ["close bronze: nothing newer than 1.1.0 is ready for this tier"]);
    }

    /// Somebody let the pull request go to another branch, or the file names another one by now.
    #[test]
    fn what_goes_elsewhere_is_turned_back() {
        let turned = |change: fn(&mut Snapshot)| {
            let mut world = ready();
            edit(&mut world, |pull| pull.misplaced = Some("release".into()));
            change(&mut world);
            let withdrawn = crate::plan(&world, noon())
                .entries
                .into_iter()
                .filter(|record| matches!(&record.entry, crate::Entry::Wave { change: Change::Withdrawn(_), .. }));
            (doings(&world).iter().filter(|doing| doing.starts_with("close bronze")).count(), withdrawn.count())
        };
        assert_eq!(turned(|_| {}), (1, 1));
        assert_eq!(turned(|w| edit(w, |pull| pull.head = "eeeeeeeeee".into())), (0, 0), "it is theirs");
        let over: fn(&mut Snapshot) = |w| {
            let why = Reason::NotLanded;
            remember(w, Change::Withdrawn(Withdrawn { at: ago(5), why }));
        };
        assert_eq!(turned(over), (1, 0), "its wave is over already");
    }
}
