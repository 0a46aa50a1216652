//! Permits to merge. They cannot be made anywhere else: making one reads the whole hub again at that moment, asks the
//! planner whether it would still do the very same thing, and proves the head from git. One is good for five seconds.

use std::collections::{BTreeMap, BTreeSet};

use decide::plan::{Action, Identity};
use decide::snapshot::{CheckState, Command, Pull, Read, Review, ReviewVerdict};
use decide::{Person, PullNumber, Sha};
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};

use super::proof::{self, Flaw, Planned};
use crate::act::line::Line;
use crate::hub::{Author, CHECK, HubPull, Role};
use crate::observe::{self, Seen};
use crate::{clock, command, trace};

/// How long what a permit rests on counts as fresh.
const GOOD_FOR: SignedDuration = SignedDuration::from_secs(5);
/// So many people are asked about who spoke elsewhere while a permit was being made.
const MOST_ASKED: usize = 30;

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
    pub(super) async fn obtain(line: &mut Line, planned: &Action) -> anyhow::Result<Result<Self, No>> {
        line.context.memory.hub.forget();
        let seen = trace::within(trace::observe(), observe::observe(&mut line.context)).await?;
        let again = decide::plan(&seen.snapshot, clock::now());
        let same = again.actions.iter().find_map(|action| Terms::of_same(planned, action));
        let Some(terms) = same else {
            let blocked = again.waves.iter().find(|wave| wave.pull.is_some() && wave.pull == Terms::pull_of(planned));
            let why = blocked.and_then(|wave| wave.blocker()).map(|finding| finding.because.to_string());
            return Ok(Err(No::Moved(why.unwrap_or_else(|| "the second look would not merge it".to_string()))));
        };
        match proof::head(line, &seen, terms.planned).await? {
            Ok(()) => {}
            Err(Flaw::NotAsPlanned(why)) => return Ok(Err(No::Flawed(why))),
            Err(Flaw::Unknown(why)) => return Ok(Err(No::Unknown(why))),
        }
        // All of that takes its time, in a large fleet more than a permit is good for: so does the page of all pull
        // requests. What could take leave away from this one merge is read last, all at once.
        if let Err(why) = others_are_still(line, &seen).await? {
            return Ok(Err(No::Moved(why)));
        }
        let begun = clock::now();
        if let Err(why) = is_still(line, &seen, &terms).await? {
            return Ok(Err(No::Moved(why)));
        }
        let (pull, head, via) = (terms.pull, terms.planned.head.clone(), terms.via);
        Ok(Ok(Self { pull, head, via, good_until: begun + GOOD_FOR }))
    }
}

/// Whether everything that this one merge rests on is as it was seen: the branches, the ledger, the pull request, and
/// the rights, owners and rules around it.
async fn is_still(line: &Line, seen: &Seen, terms: &Terms<'_>) -> anyhow::Result<Result<(), String>> {
    let moved = || Ok(Err(format!("something changed on {} meanwhile", terms.pull)));
    let Planned { plugin, tier, .. } = terms.planned;
    let planned = seen.snapshot.plugins.get(plugin).and_then(|facts| facts.pulls.known());
    let planned = planned.and_then(|pulls| pulls.iter().find(|pull| pull.number == terms.pull));
    let (Some(then), Some(planned), Some(base)) = (seen.pull(terms.pull), planned, seen.base(tier)) else {
        return moved();
    };
    let mut branches =
        BTreeMap::from([(line.context.repo.repository.default_branch.clone(), seen.snapshot.policy_commit.clone())]);
    branches.extend(seen.all_bases().into_iter().map(|(name, commit)| (name.to_string(), commit.clone())));
    let ledger = line.context.repo.ledger.as_ref().and_then(|ledger| ledger.tip().cloned());
    branches.extend(ledger.map(|tip| (crate::branches::LEDGER.to_string(), tip)));
    let names: Vec<String> = branches.keys().cloned().collect();
    let tips = line.context.repo.git(move |store, access| store.tips(access, &names));
    let fresh = line.context.memory.hub.about(&line.context.repo.hub, planned, base, clock::now());
    let (tips, last, mut fresh) = tokio::join!(tips, line.context.repo.hub.pull(terms.pull), fresh);
    let (tips, last) = (tips?, last?);
    if let Some((name, _)) = branches.iter().find(|(name, commit)| tips.get(*name) != Some(*commit)) {
        return Ok(Err(format!("`{name}` moved meanwhile")));
    }
    // Whose words count is known below.
    if !is_same(then, &last, |_| false) {
        return moved();
    }
    match observe::again(&line.context, seen, &last, &mut fresh).await {
        Some(now) if keeps_leave(planned, &now) => Ok(Ok(())),
        Some(_) | None => Ok(Err(format!("rights or rules around {} changed meanwhile", terms.pull))),
    }
}

/// Whether nothing that a merge rests on is gone or different, and nobody who may has said a word against it. More
/// approvals take no leave away, and nothing rests on what is said by people who may not. What git says of a landing
/// was not asked again.
fn keeps_leave(then: &Pull, now: &Pull) -> bool {
    let commands = now.commands.iter().filter(|command| counts(command));
    let reviews = || now.reviews.iter().filter(|review| speaks(review));
    let stays = then.commands.iter().filter(|command| counts(command)).eq(commands)
        && then.reviews.iter().filter(|review| speaks(review)).all(|review| now.reviews.contains(review))
        && reviews().filter(|review| objects(review.verdict)).all(|review| then.reviews.contains(review));
    let (reviews, commands) = (then.reviews.clone(), then.commands.clone());
    let now = Pull { reviews, commands, landing: then.landing.clone(), ..now.clone() };
    stays && *then == now
}

/// Whether a command counts, or stops something until it is known whether it counts.
fn counts(command: &Command) -> bool {
    match command.allowed {
        Read::Known(allowed) => allowed,
        Read::Unread(_) => command::stops_or_resumes(&command.what),
    }
}

/// Whether a review is anything but that of a person without the right.
fn speaks(review: &Review) -> bool {
    !review.human || review.may_write != Read::Known(false)
}

fn objects(verdict: ReviewVerdict) -> bool {
    !matches!(verdict, ReviewVerdict::Approved | ReviewVerdict::Commented)
}

/// Whether our pull requests are as they were seen: nobody who may has said a word since.
async fn others_are_still(line: &Line, seen: &Seen) -> anyhow::Result<Result<(), String>> {
    let branches = seen.all_bases().into_keys().map(ToString::to_string).collect();
    let page = observe::page(&line.context, &branches).await?.ours;
    let pairs = page.iter().filter_map(|now| Some((seen.pull(now.number)?, now)));
    let strangers = strangers(line, pairs.flat_map(|(then, now)| who_spoke(then, now)).collect()).await;
    let is_still = |then, now| is_same(then, now, |person| !strangers.contains(person));
    let moved = page.iter().find(|now| !seen.pull(now.number).is_some_and(|then| is_still(then, now)));
    let gone = seen.pulls.iter().find(|then| !page.iter().any(|now| now.number == then.number));
    Ok(match moved.or(gone) {
        Some(pull) => Err(format!("something changed on {} meanwhile", pull.number)),
        None => Ok(()),
    })
}

/// Whose words differ between two looks at a pull request.
fn who_spoke(then: &HubPull, now: &HubPull) -> BTreeSet<Person> {
    let words = |pull: &HubPull| {
        let pull = with_words_of(pull.clone(), |_| true);
        let (reviews, comments) = (pull.reviews.known().cloned(), pull.comments.known().cloned());
        (reviews.unwrap_or_default(), comments.unwrap_or_default())
    };
    let ((reviews, comments), (more_reviews, more_comments)) = (words(then), words(now));
    let reviews = differing(&reviews, &more_reviews).map(|review| review.by.as_ref());
    let comments = differing(&comments, &more_comments).map(|comment| comment.by.as_ref());
    let people = reviews.chain(comments).flatten().filter(|author| author.human);
    people.map(|author| author.login.clone()).collect()
}

fn differing<'a, T: PartialEq>(then: &'a [T], now: &'a [T]) -> impl Iterator<Item = &'a T> {
    let gone = then.iter().filter(|one| !now.contains(one));
    gone.chain(now.iter().filter(|one| !then.contains(one)))
}

/// Those of these people who have none of the rights that a word may rest on, by what the hub says now. Of so many at
/// once that they cannot all be asked about, the others count as people with rights: then it waits for a quieter moment.
async fn strangers(line: &Line, people: BTreeSet<Person>) -> BTreeSet<Person> {
    let asked = people.into_iter().take(MOST_ASKED).map(|person| async {
        let stranger = line.context.repo.hub.may_write(&person).await.is_ok_and(|role| role < Role::Write);
        stranger.then_some(person)
    });
    join_all(asked).await.into_iter().flatten().collect()
}

/// Whether two looks show the same but for what the bot itself writes, and for what takes no leave away: approvals,
/// green checks, comments that command nothing, and words of people who have no say. Who talks all the time does not
/// keep it from merging.
fn is_same(then: &HubPull, now: &HubPull, has_say: impl Fn(&Person) -> bool) -> bool {
    let without_ours = |pull: &HubPull| {
        let mut pull = HubPull {
            title: String::new(),
            body: String::new(),
            editor: None,
            updated_at: then.updated_at,
            ..pull.clone()
        };
        if let Read::Known(checks) = &mut pull.checks {
            checks.retain(|check| check.name != CHECK && check.state != CheckState::Success);
        }
        with_words_of(pull, &has_say)
    };
    without_ours(then) == without_ours(now)
}

/// The same with those words alone that may take leave away: objections, and commands of people who have a say. Apps
/// may object, and command nothing.
fn with_words_of(mut pull: HubPull, has_say: impl Fn(&Person) -> bool) -> HubPull {
    if let Read::Known(reviews) = &mut pull.reviews {
        let objector = |author: &Author| !author.human || has_say(&author.login);
        let person = |author: &Author| author.human && has_say(&author.login);
        reviews.retain(|review| {
            let commands = command::parse(&review.body).is_some() && review.by.as_ref().is_some_and(person);
            commands || (objects(review.verdict) && review.by.as_ref().is_none_or(objector))
        });
    }
    if let Read::Known(comments) = &mut pull.comments {
        let has_say = |author: &Author| author.human && has_say(&author.login);
        comments.retain(|comment| command::parse(&comment.body).is_some() && comment.by.as_ref().is_some_and(has_say));
        comments.iter_mut().for_each(|comment| comment.reacted = false);
    }
    pull
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::hub::{HubCheck, HubComment, HubReview, HubState, a_pull};

    fn author(login: &str) -> Author {
        Author { login: Person::from(login), human: !login.ends_with("[bot]") }
    }

    fn comment(by: &str, body: &str) -> HubComment {
        let (at, by) = ("2026-11-21T09:05:00Z".parse().unwrap(), Some(author(by)));
        HubComment { id: 1, by, at, edited_at: None, editor: None, reacted: false, body: body.to_owned() }
    }

    fn review(by: &str, verdict: ReviewVerdict) -> HubReview {
        let (at, by, commit) = ("2026-11-21T09:05:00Z".parse().unwrap(), Some(author(by)), Some(Sha::from("1")));
        HubReview { id: 1, by, verdict, at, commit, edited_at: None, editor: None, body: String::new() }
    }

    fn check(name: &str, state: CheckState) -> HubCheck {
        HubCheck { name: name.to_owned(), state, app: None, by: None, run: None, title: String::new(), mark: None }
    }

    /// The usual pull request, with that changed; maria and the Apps have a say.
    fn is_same_but(change: impl FnOnce(&mut HubPull)) -> bool {
        let mut now = a_pull();
        change(&mut now);
        is_same(&a_pull(), &now, |person| person.as_str() == "maria" || person.as_str().ends_with("[bot]"))
    }

    #[test]
    fn what_takes_no_leave_away_does_not_void_a_permit() {
        use ReviewVerdict::{Approved, ChangesRequested};
        assert!(is_same_but(|_| {}));
        // A box that somebody ticked.
        assert!(is_same_but(|now| (now.body, now.editor) = ("- [x] again".to_owned(), Some(author("maria")))));
        assert!(is_same_but(|now| now.updated_at = "2026-11-21T09:05:00Z".parse().unwrap()));
        assert!(is_same_but(|now| now.checks = Read::Known(vec![check("e2e", CheckState::Success)])));
        assert!(is_same_but(|now| now.checks = Read::Known(vec![check(CHECK, CheckState::Pending)])));
        assert!(is_same_but(|now| now.reviews = Read::Known(vec![review("maria", Approved)])));
        assert!(is_same_but(|now| now.reviews = Read::Known(vec![review("stranger", ChangesRequested)])));
        assert!(is_same_but(|now| now.comments = Read::Known(vec![comment("maria", "looks good")])));
        assert!(is_same_but(|now| now.comments = Read::Known(vec![comment("stranger", "/coldframe hold")])));
        assert!(is_same_but(|now| now.comments = Read::Known(vec![comment("other[bot]", "/coldframe hold")])));
    }

    #[test]
    fn what_may_take_leave_away_voids_a_permit() {
        use ReviewVerdict::ChangesRequested;
        assert!(!is_same_but(|now| now.head = Sha::from("2")));
        assert!(!is_same_but(|now| now.base = "other".to_owned()));
        assert!(!is_same_but(|now| now.state = HubState::Closed { at: now.opened_at, by: None }));
        assert!(!is_same_but(|now| now.draft = true));
        assert!(!is_same_but(|now| now.auto_merge = Some(Person::from("maria"))));
        assert!(!is_same_but(|now| now.labels = Read::Known(vec!["coldframe/hold".to_owned()])));
        assert!(!is_same_but(|now| now.labels = Read::Unread("no".to_owned())));
        assert!(!is_same_but(|now| now.checks = Read::Known(vec![check("e2e", CheckState::Failure)])));
        assert!(!is_same_but(|now| now.checks = Read::Unread("no".to_owned())));
        assert!(!is_same_but(|now| now.reviews = Read::Known(vec![review("maria", ChangesRequested)])));
        assert!(!is_same_but(|now| now.reviews = Read::Known(vec![review("other[bot]", ChangesRequested)])));
        assert!(!is_same_but(|now| now.comments = Read::Known(vec![comment("maria", "/coldframe hold")])));
        assert!(!is_same_but(|now| now.comments = Read::Unread("no".to_owned())));
    }
}
