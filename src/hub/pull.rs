//! A pull request as the hub shows it, in our own words. A part that the hub did not answer, or
//! that is longer than one page, is unread. Which of its comments are commands, and what its
//! version is, `observe` finds out.

use decide::snapshot::{CheckState, Mergeable, Read, ReviewDecision, ReviewVerdict};
use decide::{Person, PullNumber, Sha};
use jiff::Timestamp;

use crate::branches;

/// One pull request and everything about it.
#[derive(Clone, Debug, PartialEq)]
pub struct HubPull {
    /// Its number.
    pub number: PullNumber,
    /// Its id in GraphQL.
    pub node: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Who edited the text last; none where nobody did, or the account is gone.
    pub editor: Option<Author>,
    /// Open, merged, closed.
    pub state: HubState,
    /// A draft.
    pub draft: bool,
    /// Whether the hub can merge it.
    pub mergeable: Mergeable,
    /// Who has switched on that the hub merges it by itself as soon as branch rules allow it.
    pub auto_merge: Option<Person>,
    /// Its place in the merge queue of its base branch.
    pub queued: Option<InQueue>,
    /// That it was taken out of the queue unmerged, the last time that it was.
    pub taken_out: Option<TakenOut>,
    /// Nothing but that its head does not contain the base branch stands against it, says the hub.
    pub behind: bool,
    /// The hub's own word on reviews.
    pub review_decision: ReviewDecision,
    /// Who opened it; none for a deleted account.
    pub author: Option<Author>,
    /// Its branch is in another repository.
    pub foreign: bool,
    /// The branch that it goes to.
    pub base: String,
    /// That branch's commit as the pull request knows it.
    pub base_commit: Option<Sha>,
    /// Its branch.
    pub branch: String,
    /// The head commit.
    pub head: Sha,
    /// The message of the head commit, its trailers included; unread while the hub does not show
    /// that commit.
    pub message: Read<String>,
    /// When it was opened, by the hub's clock.
    pub opened_at: Timestamp,
    /// When anything about it last changed, by the hub's clock.
    pub updated_at: Timestamp,
    /// Names of its labels; unread when there are more than a hundred.
    pub labels: Read<Vec<String>>,
    /// Reviews, oldest first. See `older_reviews`.
    pub reviews: Read<Vec<HubReview>>,
    /// Where reviews begin that are older than those and were not read: there are more than a thousand, or the hub did
    /// not show them. Nobody asks for those of one that is not open.
    pub older_reviews: Option<String>,
    /// Comments, oldest first. See `older_comments`.
    pub comments: Read<Vec<HubComment>>,
    /// The same for comments.
    pub older_comments: Option<String>,
    /// Check runs and statuses on the head; unread when there are more than a hundred.
    pub checks: Read<Vec<HubCheck>>,
}

impl HubPull {
    /// Its place in the merge queue, and who put it there; nobody is named where whoever opened it did.
    pub fn place_in_queue(&self) -> Option<(u64, Option<&Person>)> {
        let queued = self.queued.as_ref()?;
        let author = self.author.as_ref().map(|author| &author.login);
        let by = queued.by.as_ref().map(|by| &by.login).filter(|by| Some(*by) != author);
        Some((queued.position, by))
    }
}

/// A place in the merge queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InQueue {
    /// Who put the pull request there; none for a deleted account.
    pub by: Option<Author>,
    /// The place, from one.
    pub position: u64,
    /// The commit that the queue has made of the base branch and everything up to this place; none while there is none.
    pub group: Option<Sha>,
}

/// That the queue, or somebody, took a pull request out unmerged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenOut {
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// Who; none where the hub does not say.
    pub by: Option<Author>,
    /// The hub's word for why, such as `CI_FAILURE`.
    pub why: String,
}

/// Open, merged or closed, as the hub tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HubState {
    /// Open.
    Open,
    /// Merged.
    Merged {
        /// When.
        at: Timestamp,
        /// By whom; none when the hub does not say.
        by: Option<Author>,
        /// The commit on the base branch; none when the hub does not say yet.
        commit: Option<Sha>,
    },
    /// Closed unmerged.
    Closed {
        /// When.
        at: Timestamp,
        /// By whom; none when the hub does not say.
        by: Option<Author>,
    },
}

/// Somebody at the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// The login; Apps carry the suffix `[bot]`.
    pub login: Person,
    /// A user account, which a person or a machine may hold; not an App.
    pub human: bool,
}

/// One review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubReview {
    /// Its number.
    pub id: u64,
    /// Who; none for a deleted account.
    pub by: Option<Author>,
    /// What they said; what we do not know is a mere comment.
    pub verdict: ReviewVerdict,
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// The commit that the hub attributes it to, when it does.
    pub commit: Option<Sha>,
    /// When its text was last edited, be it before it was submitted.
    pub edited_at: Option<Timestamp>,
    /// By whom; none where it was not edited, or the hub does not say.
    pub editor: Option<Author>,
    /// Its text.
    pub body: String,
}

/// One comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubComment {
    /// Its number.
    pub id: u64,
    /// Who; none for a deleted account.
    pub by: Option<Author>,
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// When it was last edited.
    pub edited_at: Option<Timestamp>,
    /// By whom; none where it was not edited, or the hub does not say.
    pub editor: Option<Author>,
    /// Whether we have reacted to it.
    pub reacted: bool,
    /// Its text.
    pub body: String,
}

/// A check run or a commit status on the head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubCheck {
    /// Its name, or its context.
    pub name: String,
    /// How it stands. Neutral and skipped count as green, as they do for the hub's own rules.
    pub state: CheckState,
    /// The App that a check run belongs to.
    pub app: Option<u64>,
    /// Who wrote a status.
    pub by: Option<Author>,
    /// The number of a check run; none for a status.
    pub run: Option<u64>,
    /// The title of a check run, the description of a status.
    pub title: String,
    /// What we wrote as `external_id`: [`super::CheckDraft::mark`] of a run of ours.
    pub mark: Option<String>,
}

/// A check that branch rules require, and the App that they pin it to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequiredContext {
    /// Its name.
    pub name: String,
    /// Only this App's word counts; none = anybody's.
    pub app: Option<u64>,
}

impl HubPull {
    /// One that is about to be opened, as the hub will show it before anybody or anything has said a word about it: the
    /// number that it will have, who opens it and when, where it goes and from which branch.
    pub fn opening(
        (number, bot, at): (PullNumber, Person, Timestamp),
        (base, branch): (&str, &str),
        head: Sha,
        message: String,
        labels: Vec<String>,
    ) -> Self {
        Self {
            number,
            node: String::new(),
            title: String::new(),
            body: String::new(),
            editor: None,
            state: HubState::Open,
            draft: false,
            mergeable: Mergeable::Yes,
            auto_merge: None,
            queued: None,
            taken_out: None,
            behind: false,
            review_decision: ReviewDecision::NotRequired,
            author: Some(Author { login: bot, human: false }),
            foreign: false,
            base: base.to_owned(),
            base_commit: None,
            branch: branch.to_owned(),
            head,
            message: Read::Known(message),
            opened_at: at,
            updated_at: at,
            labels: Read::Known(labels),
            reviews: Read::Known(Vec::new()),
            older_reviews: None,
            comments: Read::Known(Vec::new()),
            older_comments: None,
            checks: Read::Known(Vec::new()),
        }
    }

    /// Whether we opened it: our login, our repository, a branch of ours. Text and labels prove
    /// nothing, anybody can copy them (`docs/attacks.md`, A10).
    pub fn is_by(&self, bot: &Person) -> bool {
        !self.foreign
            && self.branch.starts_with(branches::PREFIX)
            && self.author.as_ref().is_some_and(|author| author.login == *bot)
    }

    /// How a required check stands on the head. Absent is pending; where several have the name,
    /// each has to be green.
    pub fn check_state(&self, required: &RequiredContext) -> Read<CheckState> {
        let checks = match &self.checks {
            Read::Known(checks) => checks,
            Read::Unread(why) => return Read::Unread(why.clone()),
        };
        let mut states = checks
            .iter()
            .filter(|check| check.name == required.name)
            .filter(|check| required.app.is_none() || check.app == required.app)
            .map(|check| check.state)
            .peekable();
        if states.peek().is_none() {
            return Read::Known(CheckState::Pending);
        }
        Read::Known(states.fold(CheckState::Success, |all, one| match (all, one) {
            (CheckState::Failure, _) | (_, CheckState::Failure) => CheckState::Failure,
            (CheckState::Pending, _) | (_, CheckState::Pending) => CheckState::Pending,
            (CheckState::Success, CheckState::Success) => CheckState::Success,
        }))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn check(name: &str, app: Option<u64>, state: CheckState) -> HubCheck {
        HubCheck { name: name.to_owned(), state, app, by: None, run: None, title: String::new(), mark: None }
    }

    pub(crate) fn pull() -> HubPull {
        let at: Timestamp = "2026-11-21T09:00:00Z".parse().unwrap();
        let (bot, message) = (Person::from("coldframe[bot]"), String::new());
        let opening =
            HubPull::opening((PullNumber(1), bot, at), ("main", "coldframe/a/b"), "1".into(), message, vec![]);
        HubPull { node: "PR_1".to_owned(), review_decision: ReviewDecision::Required, ..opening }
    }

    #[test]
    fn a10_impostors_are_not_ours() {
        let bot = Person::from("coldframe[bot]");
        assert!(pull().is_by(&bot));
        let person = Some(Author { login: Person::from("coldframe"), human: true });
        for impostor in [
            HubPull { author: person, ..pull() },
            HubPull { author: None, ..pull() },
            HubPull { foreign: true, ..pull() },
            HubPull { branch: "coldframe2/a/b".to_owned(), ..pull() },
        ] {
            assert!(!impostor.is_by(&bot), "{impostor:?}");
        }
    }

    #[test]
    fn a06_required_checks_need_the_right_app_and_all_green() {
        use CheckState::{Failure, Pending, Success};
        let required = |app| RequiredContext { name: "e2e".to_owned(), app };
        type Case = (Vec<HubCheck>, Option<u64>, CheckState);
        let cases: [Case; 7] = [
            (vec![], None, Pending),
            (vec![check("other", None, Success)], None, Pending),
            (vec![check("e2e", None, Success)], None, Success),
            // A status that a writer set does not stand for the App's check.
            (vec![check("e2e", None, Success)], Some(7), Pending),
            (vec![check("e2e", Some(8), Success), check("e2e", Some(7), Failure)], Some(7), Failure),
            (vec![check("e2e", Some(7), Success), check("e2e", None, Failure)], None, Failure),
            (vec![check("e2e", Some(7), Pending), check("e2e", None, Success)], None, Pending),
        ];
        for (checks, app, state) in cases {
            let pull = HubPull { checks: Read::Known(checks), ..pull() };
            assert_eq!(pull.check_state(&required(app)), Read::Known(state), "{:?}", pull.checks);
        }
        let pull = HubPull { checks: Read::Unread("no".to_owned()), ..pull() };
        assert!(pull.check_state(&required(None)).known().is_none());
    }
}
