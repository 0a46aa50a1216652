//! What keeps a way back from beginning or going on.

use super::*;

/// What may be known in a minute is unknown; what the file says is said.
#[test]
fn what_cannot_be_read_is_unknown_and_what_is_refused_waits_for_people() {
    let verdict = |world: &Snapshot| {
        let plan = crate::plan(world, noon());
        let finding = told(&plan).findings.iter().find(|finding| matches!(finding.because, Reason::NoRollBack { .. }));
        finding.map(|finding| finding.verdict)
    };
    let unread: fn(&mut Snapshot) = |w| facts(w).releases = Read::Unread("503".into());
    let refuse: fn(&mut Snapshot) = |w| w.policy.plugins[0].constraint = ">=1.1".parse().ok();
    for (change, failed, edited) in [(unread, Verdict::Unknown, Verdict::Unknown), (refuse, WAIT, Verdict::Fail)] {
        let mut world = failing();
        change(&mut world);
        assert_eq!(verdict(&world), Some(failed));
        // Somebody pushed to its branch: it stays theirs, and says the same.
        let mut world = open(Merge::Approved);
        change(&mut world);
        edit(&mut world, |pull| pull.head = "eeeeeeeeee".into());
        assert_eq!(says(&world, Gate::Release).verdict, edited);
    }
}

/// What stands on the base branch by now, or what the file says, takes an open rollback back.
#[test]
fn an_open_rollback_gives_way() {
    let closes = |change: fn(&mut Snapshot)| {
        let mut world = open(Merge::Approved);
        change(&mut world);
        crate::plan(&world, noon()).actions.into_iter().find_map(|action| match action {
            Action::Close { pull: PullNumber(8), why, .. } => Some(why.to_string()),
            _ => None,
        })
    };
    fn holds(world: &mut Snapshot, texts: &[&str]) {
        let places = texts.iter().flat_map(|text| place("bronze", text).1).collect();
        facts(world).base = Read::Known([place("qa", "1.1.0"), ("bronze".into(), places)].into());
    }
    assert_eq!(closes(|_| {}), None);
    assert_eq!(closes(|w| holds(w, &["1.0.5"])).as_deref(), Some("1.0.5 takes its place"));
    assert_eq!(closes(|w| holds(w, &["1.2.0"])).as_deref(), Some("1.2.0 takes its place"));
    assert_eq!(closes(|w| holds(w, &["1.1.0", "1.2.0"])).as_deref(), Some("1.2.0 takes its place"));
    assert_eq!(closes(|w| holds(w, &["1.0.5", "1.1.0"])), None, "what failed runs still");
    let refuse: fn(&mut Snapshot) = |w| w.policy.plugins[0].constraint = ">=1.1".parse().ok();
    assert!(closes(refuse).is_some_and(|why| why.starts_with("outside the constraint")));
}

#[test]
fn one_place_of_several_may_be_somebodys_own_doing() {
    let mut world = failing();
    let places = [place("bronze", "1.1.0").1, place("bronze", "1.0.0").1].concat();
    facts(&mut world).base = Read::Known([place("qa", "1.1.0"), ("bronze".into(), places)].into());
    assert_eq!(opens(&world), None);
}

/// Caps hold for it, and a pull request that is open already is written anew.
#[test]
fn a_rollback_is_opened_under_the_gates_of_its_tier() {
    let doings = |change: fn(&mut Snapshot)| {
        let mut world = failing();
        change(&mut world);
        crate::next_release::tests::doings(&world)
    };
    assert_eq!(doings(|_| {}), ["open 1.0.0 on bronze"]);
    assert_eq!(doings(|w| w.policy.limits.open_pulls = Some(0)), [""; 0]);
    // One that no wave knows is open there.
    let unknown: fn(&mut Snapshot) = |w| {
        let Read::Known(pulls) = &mut facts(w).pulls else { unreachable!() };
        pulls.push(Pull { number: PullNumber(9), head: "eeeeeeeeee".into(), ..pull() });
    };
    assert_eq!(doings(unknown), ["move bronze to 1.0.0"]);
    let shared: fn(&mut Snapshot) = |w| {
        let Read::Known(pulls) = &mut facts(w).pulls else { unreachable!() };
        pulls.push(Pull { number: PullNumber(9), head: "eeeeeeeeee".into(), ..pull() });
        let max_update = crate::model::MaxUpdate::Count(1);
        bronze(w).strategy = crate::model::Strategy::RollingUpdate { max_update, by: None };
    };
    assert_eq!(doings(shared), [""; 0], "its clusters share a place");
}

/// Closing a rollback says no to that, and not to the version that it would have brought back.
#[test]
fn a_closed_rollback_is_no_no_to_what_ran_before() {
    let rejections = |number: u64| {
        let mut world = open(Merge::Approved);
        edit(&mut world, |pull| {
            pull.number = PullNumber(number);
            pull.state = PullState::Closed { at: ago(1), by: Some("noor".into()) };
        });
        let shared = &mut crate::facts::Shared::count(&world, noon());
        let common = crate::facts::Common::of(&world, noon());
        let facts = Facts::new(&common, 0, shared);
        release::rejections(&facts, &facts.policy.tiers[1]).len()
    };
    assert_eq!((rejections(8), rejections(9)), (0, 1));
}
