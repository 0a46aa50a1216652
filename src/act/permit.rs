//! Permits to merge. They cannot be made anywhere else: making one reads the whole hub again at that moment, asks the
//! planner whether it would still do the very same thing, and proves the head from git. One is good for five seconds.

use std::collections::BTreeMap;

use decide::plan::{Action, Identity};
use decide::snapshot::{CheckState, Command, Pull, Read, ReviewVerdict};
use decide::{PullNumber, Sha};
use jiff::{SignedDuration, Timestamp};

use super::proof::{self, Flaw, Planned};
use crate::clock;
use crate::hub::{CHECK, HubPull};
use crate::observe::{self, Seen, command};
use crate::rooms::Rooms;

/// How long what a permit rests on counts as fresh.
const GOOD_FOR: SignedDuration = SignedDuration::from_secs(5);

/// Leave to merge one head of one pull request now.
pub(super) struct Permit {
    pull: PullNumber,
    head: Sha,
    via: Identity,
    good_until: Timestamp,
}

/// Why there is no permit.
#[derive(Debug)]
pub(super) enum No {
    /// The world moved, or something could not be read: the next look decides anew.
    Moved(String),
    /// Whether the head is what was planned could not be found out.
    Unknown(String),
    /// The head is not what was planned.
    Flawed(String),
}

impl Permit {
    /// What may be merged, at which head, by whom, and until when it is asked for.
    pub(super) fn terms(&self) -> (PullNumber, &Sha, Identity, Timestamp) {
        (self.pull, &self.head, self.via, self.good_until)
    }

    /// Looks at everything again, nothing from memory, and plans again. Only where the new plan has
    /// the same merge of the same head by the same identity, forced or not as before, where git proves the head, and
    /// where nothing has moved at the end of all that, there is a permit; else the reason why not.
    pub(super) async fn obtain(rooms: &mut Rooms, planned: &Action) -> anyhow::Result<Result<Self, No>> {
        rooms.memory.hub.forget();
        let seen = observe::observe(rooms).await?;
        let again = decide::plan(&seen.snapshot, clock::now());
        let same = again.actions.iter().find_map(|action| Terms::of_same(planned, action));
        let Some(terms) = same else {
            let blocked = again.waves.iter().find(|wave| wave.pull.is_some() && wave.pull == Terms::pull_of(planned));
            let why = blocked.and_then(|wave| wave.blocker()).map(|finding| finding.because.to_string());
            return Ok(Err(No::Moved(why.unwrap_or_else(|| "the second look would not merge it".to_string()))));
        };
        match proof::head(rooms, &seen, terms.planned).await? {
            Ok(()) => {}
            Err(Flaw::NotAsPlanned(why)) => return Ok(Err(No::Flawed(why))),
            Err(Flaw::Unknown(why)) => return Ok(Err(No::Unknown(why))),
        }
        // All of that takes its time, in a large fleet more than a permit is good for: so does the page of all pull
        // requests. What could take leave away from this one merge is read last, all at once.
        if let Err(why) = others_are_still(rooms, &seen).await? {
            return Ok(Err(No::Moved(why)));
        }
        let begun = clock::now();
        if let Err(why) = is_still(rooms, &seen, &terms).await? {
            return Ok(Err(No::Moved(why)));
        }
        let (pull, head, via) = (terms.pull, terms.planned.head.clone(), terms.via);
        Ok(Ok(Self { pull, head, via, good_until: begun + GOOD_FOR }))
    }
}

/// Whether everything that this one merge rests on is as it was seen: the branches, the ledger, the pull request, and
/// the rights, owners and rules around it.
async fn is_still(rooms: &Rooms, seen: &Seen, terms: &Terms<'_>) -> anyhow::Result<Result<(), String>> {
    let moved = || Ok(Err(format!("something changed on {} meanwhile", terms.pull)));
    let Planned { plugin, tier, .. } = terms.planned;
    let planned = seen.snapshot.plugins.get(plugin).and_then(|facts| facts.pulls.known());
    let planned = planned.and_then(|pulls| pulls.iter().find(|pull| pull.number == terms.pull));
    let (Some(then), Some(planned), Some(base)) = (seen.pull(terms.pull), planned, seen.base(tier)) else {
        return moved();
    };
    let mut branches = BTreeMap::from([(rooms.repository.default_branch.clone(), seen.snapshot.policy_commit.clone())]);
    branches.extend(seen.all_bases().into_iter().map(|(name, commit)| (name.to_string(), commit.clone())));
    let ledger = rooms.ledger.as_ref().and_then(|ledger| ledger.tip().cloned());
    branches.extend(ledger.map(|tip| (crate::ledger::BRANCH.to_string(), tip)));
    let names: Vec<String> = branches.keys().cloned().collect();
    let tips = rooms.git(move |store, access| store.tips(access, &names));
    let fresh = rooms.memory.hub.about(&rooms.hub, planned, base, clock::now());
    let (tips, last, mut fresh) = tokio::join!(tips, rooms.hub.pull(terms.pull), fresh);
    let (tips, last) = (tips?, last?);
    if let Some((name, _)) = branches.iter().find(|(name, commit)| tips.get(*name) != Some(*commit)) {
        return Ok(Err(format!("`{name}` moved meanwhile")));
    }
    if !is_same(then, &last) {
        return moved();
    }
    match observe::again(rooms, seen, &last, &mut fresh).await {
        Some(now) if keeps_leave(planned, &now) => Ok(Ok(())),
        Some(_) | None => Ok(Err(format!("rights or rules around {} changed meanwhile", terms.pull))),
    }
}

/// Whether nothing that a merge rests on is gone or different. More approvals take no leave away, and other reviews and
/// commands are not passed over by `is_same`; nothing rests on commands of people who may not give them. What git says of
/// a landing was not asked again.
fn keeps_leave(then: &Pull, now: &Pull) -> bool {
    let counts = |command: &&Command| command.allowed == Read::Known(true);
    let stays = then.reviews.iter().all(|review| now.reviews.contains(review))
        && then.commands.iter().filter(counts).all(|command| now.commands.contains(command));
    let (reviews, commands) = (then.reviews.clone(), then.commands.clone());
    let now = Pull { reviews, commands, landing: then.landing.clone(), ..now.clone() };
    stays && *then == now
}

/// Whether our pull requests are as they were seen: nobody has said a word since.
async fn others_are_still(rooms: &Rooms, seen: &Seen) -> anyhow::Result<Result<(), String>> {
    let branches = seen.all_bases().into_keys().map(ToString::to_string).collect();
    let page = observe::page(rooms, &branches).await?;
    let moved = page.iter().find(|now| seen.pull(now.number).is_none_or(|then| !is_same(then, now)));
    let gone = seen.pulls.iter().find(|then| !page.iter().any(|now| now.number == then.number));
    Ok(match moved.or(gone) {
        Some(pull) => Err(format!("something changed on {} meanwhile", pull.number)),
        None => Ok(()),
    })
}

/// Whether two looks show the same but for what the bot itself writes, and for what takes no leave away: approvals,
/// green checks, comments that command nothing. Who talks all the time does not keep it from merging.
fn is_same(then: &HubPull, now: &HubPull) -> bool {
    let without_ours = |pull: &HubPull| {
        let mut pull =
            HubPull { title: String::new(), body: String::new(), updated_at: then.updated_at, ..pull.clone() };
        if let Read::Known(checks) = &mut pull.checks {
            checks.retain(|check| check.name != CHECK && check.state != CheckState::Success);
        }
        if let Read::Known(reviews) = &mut pull.reviews {
            reviews.retain(|review| !matches!(review.verdict, ReviewVerdict::Approved | ReviewVerdict::Commented));
        }
        if let Read::Known(comments) = &mut pull.comments {
            comments.retain(|comment| command::parse(&comment.body).is_some());
            comments.iter_mut().for_each(|comment| comment.reacted = false);
        }
        pull
    };
    without_ours(then) == without_ours(now)
}

/// What a planned merge and the same one of a later look have in common.
struct Terms<'a> {
    planned: Planned<'a>,
    pull: PullNumber,
    via: Identity,
}

impl<'a> Terms<'a> {
    fn of_same(planned: &'a Action, again: &Action) -> Option<Self> {
        let Action::Merge { pull, head, via, forced, plugin, tier, version } = planned else { return None };
        let Action::Merge {
            pull: pull_again,
            head: head_again,
            via: via_again,
            forced: forced_again,
            plugin: plugin_again,
            tier: tier_again,
            version: version_again,
        } = again
        else {
            return None;
        };
        let same = pull == pull_again
            && head == head_again
            && via == via_again
            && forced.as_ref().map(|evidence| &evidence.said) == forced_again.as_ref().map(|evidence| &evidence.said)
            && (plugin, tier, version) == (plugin_again, tier_again, version_again);
        same.then_some(Self { planned: Planned { plugin, tier, version, head }, pull: *pull, via: *via })
    }

    fn pull_of(action: &Action) -> Option<PullNumber> {
        match action {
            Action::Merge { pull, .. } => Some(*pull),
            Action::Open(_)
            | Action::Update { .. }
            | Action::Close { .. }
            | Action::Notice { .. }
            | Action::Dispatch { .. } => None,
        }
    }
}
