//! What is said of a rollback while it is open, what becomes of the versions around it, and which words are about it.

use super::*;
use crate::ledger::{Landed, Merging};
use crate::next_release::tests::doings;
use crate::plan::Verdict;
use crate::snapshot::{Command, CommandKind};

fn marked(world: &mut Snapshot) {
    let marked = Release { marked_breaking: true, ..release("1.1.0") };
    facts(world).releases = Read::Known(vec![release("1.0.0"), marked]);
}

/// What could not be read is unknown and passes; what is for good is said as such.
#[test]
fn what_cannot_be_read_is_not_taken_for_a_no() {
    let held = |change: fn(&mut Snapshot)| {
        let mut world = failing();
        change(&mut world);
        let plan = crate::plan(&world, noon());
        let held = |finding: &&Finding| matches!(finding.because, Reason::NoRollBack { .. });
        told(&plan).findings.iter().find(held).map(|finding| finding.verdict)
    };
    let unread = |w: &mut Snapshot| facts(w).releases = Read::Unread("503".into());
    assert_eq!(held(unread), Some(Verdict::Unknown));
    assert_eq!(held(marked), Some(WAIT));
    // Open: the same, and what is for good takes it back, but for a branch that somebody edited.
    let mut world = open(Merge::Automatic);
    unread(&mut world);
    assert_eq!(says(&world, Gate::Release).verdict, Verdict::Unknown);
    assert_eq!(doings(&world), [""; 0]);
    let mut world = open(Merge::Automatic);
    marked(&mut world);
    assert_eq!(doings(&world), ["close bronze: the way back from 1.1.0 to 1.0.0 crosses a breaking change"]);
    edit(&mut world, |pull| pull.head = "eeeeeeeeee".into());
    assert_eq!(doings(&world), [""; 0]);
    assert_eq!(says(&world, Gate::Release).verdict, Verdict::Fail);
}

/// gold runs 0.9.0, and 1.0.0 has long finished bronze: a no to bronze's rollback says nothing against 1.0.0.
#[test]
fn who_closes_it_says_no_to_no_version() {
    let mut world = open(Merge::Approved);
    edit(&mut world, |pull| pull.state = PullState::Closed { at: ago(1), by: Some("noor".into()) });
    world.policy.plugins[0].tiers.push(tier("gold"));
    let Read::Known(clusters) = &mut world.clusters else { unreachable!() };
    let labels = [("tier".to_string(), "gold".to_string())].into();
    clusters.push(crate::snapshot::Cluster { name: "gold-1".into(), labels });
    let Read::Known(base) = &mut facts(&mut world).base else { unreachable!() };
    base.extend([place("gold", "0.9.0")]);
    assert_eq!(doings(&world), ["open 1.0.0 on gold"]);
}

fn begin(world: &mut Snapshot, text: &str, change: Change) {
    world.ledger.apply(&Entry::Wave { plugin: "app".into(), tier: "bronze".into(), version: version(text), change });
}

/// Some clusters had 1.0.5 before 1.1.0 came to all of them: what all got back explains that it is gone.
#[test]
fn what_came_before_the_failed_release_went_with_it() {
    let failed = |by_the_bot: bool| {
        let mut world = restored();
        let landed = Landed { at: ago(300), commit: None, by: None };
        begin(&mut world, "1.0.5", Change::Found { members: vec!["bronze-1".into()], digest: None, landed });
        begin(&mut world, "1.0.5", Change::Finished(ago(200)));
        let waves = world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap();
        let back = waves.iter_mut().rfind(|wave| wave.rolls_back().is_some()).unwrap();
        back.merging = back.merging.take().filter(|_| by_the_bot);
        apply(&mut world, noon());
        let page = &world.ledger.plugins[&"app".into()];
        page.wave(&"bronze".into(), &version("1.0.5")).cloned().unwrap().failed().map(|failed| failed.why.clone())
    };
    assert_eq!(failed(true), None);
    assert_eq!(failed(false), Some(Reason::Reverted { version: version("1.0.5") }), "a person did it");
}

/// What the bot had merged in its time is no rollback: a person who goes back to it takes the newer one off.
#[test]
fn a_merge_of_old_explains_no_revert() {
    let mut world = landed(vec![healthy("1.0.0")]);
    facts(&mut world).base = Read::Known([place("qa", "1.1.0"), place("bronze", "1.0.0")].into());
    begin(&mut world, "1.0.0", Change::Merging(Merging { head: "cc".into(), at: ago(901), base: None, forced: None }));
    apply(&mut world, noon());
    let reverted = Reason::Reverted { version: version("1.1.0") };
    assert_eq!(last(&mut world).failed().map(|failed| failed.why.clone()), Some(reverted));
}

/// `/coldframe fail` on the rollback's pull request is said of the rollback; on the one that brought the same
/// version in its time, of that.
#[test]
fn a_word_on_its_pull_request_is_about_it() {
    let failed = |number: u64| {
        let mut world = restored();
        let old = Announced { number: PullNumber(2), at: ago(905) };
        let waves = world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap();
        waves.first_mut().unwrap().pull = Some(old);
        let what = CommandKind::Fail { why: "it is slow".into() };
        let command = Command { by: "noor".into(), at: ago(0), what, allowed: Read::Known(true) };
        let state = PullState::Merged { at: ago(900), by: BOT.into(), commit: "cc".into() };
        let Read::Known(pulls) = &mut facts(&mut world).pulls else { unreachable!() };
        pulls.push(Pull { number: PullNumber(2), version: Some(version("1.0.0")), state, ..pull() });
        pulls.iter_mut().find(|pull| pull.number == PullNumber(number)).unwrap().commands.push(command);
        apply(&mut world, noon());
        let page = &world.ledger.plugins[&"app".into()];
        page.wave(&"bronze".into(), &version("1.0.0")).cloned().unwrap().failed().map(|failed| failed.why.to_string())
    };
    assert_eq!(failed(8).as_deref(), Some("noor says that it failed: it is slow"));
    assert_eq!(failed(2), None);
}

/// A later release that somebody takes off to what an older rollback had restored has failed all the same.
#[test]
fn an_older_rollback_explains_no_later_revert() {
    let mut world = restored();
    apply(&mut world, noon());
    newer_finished_below(&mut world);
    let landed = Landed { at: ago(1), commit: None, by: None };
    let found = Change::Found { members: vec!["bronze-1".into()], digest: None, landed };
    let (plugin, tier) = ("app".into(), "bronze".into());
    world.ledger.apply(&Entry::Wave { plugin, tier, version: version("1.2.0"), change: found });
    apply(&mut world, noon());
    let wave = world.ledger.plugins[&"app".into()].wave(&"bronze".into(), &version("1.2.0")).cloned().expect("1.2.0");
    assert_eq!(wave.failed().expect("failed").why, Reason::Reverted { version: version("1.2.0") });
}
