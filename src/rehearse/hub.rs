//! The hub of a rehearsal: a base branch, pull requests, and people at them. It refuses what a real one
//! would refuse; the branch rules ask for nothing beyond the policy.

mod read;
mod state;

use decide::plan::{Gate, Plan};
use decide::snapshot::{
    CheckState, Command, CommandKind, Landing, Mergeable, OwnedPath, Pull, PullState, Read, RequiredCheck, Review,
    ReviewDecision, ReviewVerdict,
};
use decide::{ClusterName, Person, PullNumber, Reason, Sha, Version};
use jiff::SignedDuration;

use super::diary::{Noted, Spot};
use super::world::{BOT, Due, World};
use super::{fleet, rights};
pub(super) use read::{base, pulls};
pub(crate) use state::Hub;
use state::{Places, PullRequest, Written};

/// The bot writes a commit.
pub(super) fn write(world: &mut World, spot: &Spot, version: &Version, members: &[ClusterName]) -> Sha {
    let commit = world.commit();
    let before = places_of(world, spot, members);
    let written = Written { version: version.clone(), members: members.to_vec(), before, at: world.now };
    world.hub.written.insert(commit.clone(), written);
    commit
}

fn places_of(world: &World, spot: &Spot, members: &[ClusterName]) -> Places {
    let base = world.hub.base.get(spot);
    let keys = world.keys(&spot.0, members);
    keys.into_iter().filter_map(|key| Some((key.clone(), base?.get(&key)?.clone()))).collect()
}

/// The bot opens a pull request for a commit that it wrote.
pub(super) fn open(world: &mut World, spot: &Spot, head: &Sha) {
    let Some(written) = world.hub.written.get(head).cloned() else { return };
    let number = world.hub.pulls.len() as u64 + 1;
    let owned = owned(world, spot, &written.members);
    let shown = Pull {
        behind: Read::Known(false),
        strict: false,
        dismisses: false,
        unmet: Read::Known(Vec::new()),
        lacks: Vec::new(),
        number: PullNumber(number),
        tier: spot.1.clone(),
        misplaced: None,
        version: Some(written.version.clone()),
        state: PullState::Open,
        head: head.clone(),
        opened_at: world.hub_now(),
        draft: false,
        mergeable: Mergeable::Yes,
        review_decision: ReviewDecision::NotRequired,
        reviews: Vec::new(),
        landing: Read::Known(Landing::Absent),
        owned: Read::Known(owned),
        team: Read::Known([].into()),
        checks: Read::Known(Vec::new()),
        commands: Vec::new(),
        notices: Vec::new(),
        labelled: Read::Known(false),
        added_to: None,
        rebase: false,
    };
    let pull = PullRequest { shown, plugin: spot.0.clone(), content: head.clone() };
    world.hub.pulls.insert(number, pull);
    world.hub.read.entry(spot.0.clone()).or_default().push(number);
    let clusters = written.members.len();
    world.note(Noted::Opened { spot: spot.clone(), version: written.version, pull: number, moved: false, clusters });
    answer(world, number, head);
}

/// The bot moves a pull request to another commit.
pub(super) fn move_to(world: &mut World, spot: &Spot, number: u64, head: &Sha) {
    let Some(written) = world.hub.written.get(head).cloned() else { return };
    let owned = owned(world, spot, &written.members);
    let Some(pull) = world.hub.pulls.get_mut(&number) else { return };
    pull.content = head.clone();
    pull.shown.head = head.clone();
    pull.shown.version = Some(written.version.clone());
    pull.shown.owned = Read::Known(owned);
    let clusters = written.members.len();
    world.note(Noted::Opened { spot: spot.clone(), version: written.version, pull: number, moved: true, clusters });
    answer(world, number, head);
}

fn owned(world: &World, spot: &Spot, members: &[ClusterName]) -> Vec<OwnedPath> {
    let people = world.hub.people_of(&spot.1);
    if people.is_empty() {
        return Vec::new();
    }
    let owners: Vec<String> = people.iter().map(|person| format!("@{person}")).collect();
    let keys = world.keys(&spot.0, members);
    let path = |key: Option<ClusterName>| OwnedPath {
        path: file(spot, key.as_ref()),
        owners: owners.clone(),
        people: people.clone(),
    };
    keys.into_iter().map(path).collect()
}

fn file((plugin, tier): &Spot, cluster: Option<&ClusterName>) -> String {
    match cluster {
        Some(cluster) => format!("clusters/{tier}/{cluster}/{plugin}.yaml"),
        None => format!("clusters/{tier}/{plugin}.yaml"),
    }
}

/// Those who approve and acknowledge everything see a new head.
fn answer(world: &mut World, number: u64, head: &Sha) {
    for who in world.hub.acknowledgers.clone() {
        acknowledge(world, number, &who);
    }
    for (who, after) in world.hub.approvers.clone() {
        approve_in(world, number, head, &who, after);
    }
}

fn acknowledge(world: &mut World, number: u64, who: &Person) {
    if let Some(version) = world.hub.pull_mut(number).and_then(|pull| pull.version.clone()) {
        command(world, number, who, CommandKind::Acknowledge { version });
    }
}

fn approve_in(world: &mut World, number: u64, head: &Sha, who: &Person, after: SignedDuration) {
    if after.is_zero() {
        approve_head(world, number, head, who);
    } else {
        world.schedule(world.now + after, Due::Approve { pull: number, head: head.clone(), who: who.clone() });
    }
}

fn open_heads(world: &World) -> Vec<(u64, Sha)> {
    let open = world.hub.pulls.iter().filter(|(_, pull)| pull.shown.state == PullState::Open);
    open.map(|(number, pull)| (*number, pull.shown.head.clone())).collect()
}

/// From now on somebody approves every head, those that are there already, too.
pub(crate) fn approve_all(world: &mut World, who: &Person, after: SignedDuration) {
    world.hub.approvers.push((who.clone(), after));
    for (number, head) in open_heads(world) {
        approve_in(world, number, &head, who, after);
    }
}

/// From now on somebody acknowledges whatever is proposed, what is there already, too.
pub(crate) fn acknowledge_all(world: &mut World, who: &Person) {
    world.hub.acknowledgers.push(who.clone());
    for (number, _) in open_heads(world) {
        acknowledge(world, number, who);
    }
}

/// Somebody approves a head, if it is still there.
pub(super) fn approve_head(world: &mut World, number: u64, head: &Sha, who: &Person) {
    let there = world.hub.pull_mut(number).is_some_and(|pull| pull.head == *head && pull.state == PullState::Open);
    if there {
        review(world, number, who, ReviewVerdict::Approved);
    }
}

/// Somebody reviews what a pull request holds now.
pub(crate) fn review(world: &mut World, number: u64, who: &Person, verdict: ReviewVerdict) {
    let may_write = Read::Known(!world.hub.strangers.contains(who));
    let now = world.hub_now();
    world.stir();
    if let Some(pull) = world.hub.pull_mut(number) {
        let commit = pull.head.clone();
        // Nobody tells a rehearsal who is in which team: whoever speaks is.
        if let Read::Known(team) = &mut pull.team {
            team.insert(who.clone());
        }
        pull.reviews.push(Review { by: who.clone(), verdict, at: now, commit, human: true, may_write });
    }
}

/// Somebody writes a command.
pub(crate) fn command(world: &mut World, number: u64, who: &Person, what: CommandKind) {
    let allowed = Read::Known(rights::may(world, number, who, &what));
    let now = world.hub_now();
    world.stir();
    if let Some(pull) = world.hub.pull_mut(number) {
        pull.commands.push(Command { by: who.clone(), at: now, what, allowed });
    }
}

/// A required check of a pull request is green, red or runs.
pub(crate) fn check(world: &mut World, number: u64, name: String, state: CheckState) {
    world.stir();
    if let Some(Read::Known(checks)) = world.hub.pull_mut(number).map(|pull| &mut pull.checks) {
        checks.retain(|check| check.name != name);
        checks.push(RequiredCheck { name, state });
    }
}

/// Somebody makes a draft of a pull request, or none any more.
pub(crate) fn draft(world: &mut World, number: u64, draft: bool) {
    world.stir();
    if let Some(pull) = world.hub.pull_mut(number) {
        pull.draft = draft;
    }
}

/// Somebody closes a pull request.
pub(crate) fn close(world: &mut World, number: u64, who: &Person) {
    let now = world.hub_now();
    world.stir();
    if let Some(pull) = world.hub.pull_mut(number) {
        pull.state = PullState::Closed { at: now, by: Some(who.clone()) };
    }
}

/// Somebody pushes to the branch of a pull request.
pub(crate) fn push(world: &mut World, number: u64) {
    let head = world.commit();
    world.stir();
    if let Some(pull) = world.hub.pull_mut(number) {
        pull.head = head;
        pull.version = None;
    }
}

/// Merges a pull request unless it conflicts: what it holds is on the base branch now.
pub(crate) fn merge(world: &mut World, number: u64, who: &Person, forced: bool) -> bool {
    let commit = world.commit();
    let now = world.hub_now();
    let Some(pull) = world.hub.pulls.get(&number) else { return false };
    let spot = (pull.plugin.clone(), pull.shown.tier.clone());
    let Some(written) = world.hub.written.get(&pull.content).cloned() else { return false };
    if pull.shown.state != PullState::Open || places_of(world, &spot, &written.members) != written.before {
        return false;
    }
    if let Some(pull) = world.hub.pull_mut(number) {
        pull.landing = Read::Known(Landing::Proven { commit: commit.clone() });
        pull.state = PullState::Merged { at: now, by: who.clone(), commit };
    }
    let (version, by) = (written.version.clone(), who.clone());
    world.note(Noted::Merged { spot: spot.clone(), version, pull: number, by, forced });
    put(world, &spot, &written.members, &written.version);
    true
}

/// Writes a version to the base branch; clusters follow.
pub(crate) fn put(world: &mut World, spot: &Spot, members: &[ClusterName], version: &Version) {
    world.stir();
    world.hub.ranges.remove(spot);
    let keys = world.keys(&spot.0, members);
    let followers = if keys == [None] { world.members(&spot.1, &spot.0) } else { members.to_vec() };
    let places = world.hub.base.entry(spot.clone()).or_default();
    for key in keys {
        places.insert(key, version.clone());
    }
    for cluster in followers {
        fleet::roll_out(world, &cluster, &spot.0, version);
    }
}

/// Who approves everything also presses the button where the policy leaves that to a person and nothing
/// else is missing. Whether one was pressed.
pub(super) fn press_buttons(world: &mut World, plan: &Plan) -> bool {
    let Some((who, after)) = world.hub.approvers.first().cloned() else { return false };
    let mut pressed = false;
    for wave in &plan.waves {
        let waits = wave.findings.iter().filter(|finding| !finding.verdict.lets_through());
        let alone = waits.clone().all(|finding| finding.gate == Gate::Approvals);
        let manual = waits.clone().any(|finding| finding.because == Reason::ManualMerge);
        let Some(pull) = wave.pull.filter(|_| alone && manual) else { continue };
        let at = world.hub.pulls.get(&pull.0).and_then(|pull| world.hub.written.get(&pull.content)).map(|w| w.at);
        match at {
            Some(at) if world.now >= at + after => pressed |= merge(world, pull.0, &who, false),
            Some(at) => world.schedule(at + after, Due::Look),
            None => {}
        }
    }
    pressed
}

/// The bot's own name.
pub(crate) fn bot() -> Person {
    Person::from(BOT)
}
