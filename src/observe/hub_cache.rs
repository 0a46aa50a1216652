//! Answers of the hub that hold for a while: rights, teams, rules. A merge forgets them first, but for rights that
//! somebody did not have.

use std::collections::{BTreeMap, BTreeSet};

use decide::snapshot::{Pull, Read, Review, ReviewVerdict};
use decide::{Person, Sha};
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};

use crate::branches;
use crate::hub::code_owners::Problem;
use crate::hub::demands::Demand;
use crate::hub::{BranchRules, HubError, RepoHub, Role};

/// How long an answer holds. Rights change rarely, and a merge asks anew.
const HOLDS: SignedDuration = SignedDuration::from_secs(60);
/// How long nobody asks again about words that somebody said before the hub told that they have no right.
const REFUSED_FOR: SignedDuration = SignedDuration::from_hours(1);
/// So much earlier than that they must have been said: clocks differ.
const BEFORE: SignedDuration = SignedDuration::from_secs(60);
/// New people who are asked about in one look out of the reserve of the hub's budget, because what they said may stop
/// something. The next look asks about the next ones.
const NEW_PEOPLE: usize = 30;

/// What was asked within the last minute.
#[derive(Default)]
pub struct HubCache {
    /// Of the last hour.
    roles: BTreeMap<Person, Answer>,
    /// When the look began that asked last, and about how many new people out of the reserve.
    reserve: Option<(Timestamp, usize)>,
    people: BTreeMap<String, (Timestamp, BTreeSet<Person>)>,
    owners: BTreeMap<Sha, (Timestamp, Vec<Problem>)>,
    rules: BTreeMap<String, (Timestamp, BranchRules)>,
    moves: Option<Vec<Sha>>,
}

/// What the hub said of one person.
#[derive(Clone)]
struct Answer {
    at: Timestamp,
    role: Role,
    /// Nobody wanted everything anew since.
    fresh: bool,
}

/// What rests on somebody's rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matter {
    /// An approval or an objection: asked about whatever is left of the hub's budget, and counts as soon as its author
    /// has the right.
    Review,
    /// A word that may stop something, or let it go on. Until it is known whether it counts, it stops; so it is asked
    /// about out of the reserve, too, if not for everybody at once.
    Stop,
    /// A word that counts for nothing until it is known: it can wait.
    Leave,
}

impl Answer {
    /// Whether it answers for words that were said at some time. Who may not write has none of the rights that there
    /// are: a command of somebody who had none may be said again by who has got one since.
    fn holds(&self, matter: Matter, said: Timestamp, now: Timestamp) -> bool {
        let command = matter != Matter::Review;
        let refused = command && self.role < Role::Write && said + BEFORE <= self.at && self.at + REFUSED_FOR > now;
        refused || self.fresh && self.at + HOLDS > now
    }
}

impl HubCache {
    /// What one pull request rests on, asked now and all at once. What the hub does not answer is asked again by who
    /// needs it.
    ///
    /// Of people those are asked about on whose word it rests; of the others the last answer holds, however many talk.
    pub async fn about(&self, hub: &RepoHub, pull: &Pull, (branch, commit): (&str, &Sha), now: Timestamp) -> Self {
        let counts = |review: &&Review| {
            review.human && matches!(review.verdict, ReviewVerdict::Approved | ReviewVerdict::ChangesRequested)
        };
        let reviewers = pull.reviews.iter().filter(counts).map(|review| &review.by);
        let commands = pull.commands.iter().filter(|command| command.allowed == Read::Known(true));
        let people: BTreeSet<&Person> = reviewers.chain(commands.map(|command| &command.by)).collect();
        let mut known = self.roles.clone();
        known.retain(|person, _| !people.contains(person));
        let owned = pull.owned.known().into_iter().flatten();
        let owners: BTreeSet<&String> = owned.flat_map(|owned| &owned.owners).collect();
        let roles = join_all(people.into_iter().map(|person| async move { (person, hub.may_write(person).await) }));
        let teams = join_all(owners.into_iter().map(|owner| async move { (owner, hub.people_of(owner).await) }));
        let (roles, teams, rules, problems) =
            tokio::join!(roles, teams, hub.branch_rules(branch), hub.code_owner_problems(commit));
        let mut hub_cache = Self { roles: known, reserve: self.reserve, ..Self::default() };
        for (person, role) in roles {
            hub_cache.roles.extend(role.ok().map(|role| (person.clone(), Answer { at: now, role, fresh: true })));
        }
        for (owner, people) in teams {
            hub_cache.people.extend(people.ok().map(|people| (owner.clone(), (now, people))));
        }
        hub_cache.rules.extend(rules.ok().map(|rules| (branch.to_string(), (now, rules))));
        hub_cache.owners.extend(problems.ok().map(|problems| (commit.clone(), (now, problems))));
        hub_cache
    }

    /// Drops everything that could let something through, so that the next answers are fresh.
    pub fn forget(&mut self) {
        let mut roles = std::mem::take(&mut self.roles);
        roles.values_mut().for_each(|answer| answer.fresh = false);
        *self = Self { roles, reserve: self.reserve, ..Self::default() };
    }

    /// Where we have moved the ledger branch, newest first. It holds until a merge asks anew: what this process has
    /// seen on the branch since, the branch itself remembers.
    pub async fn ledger_moves(&mut self, hub: &RepoHub) -> Read<Vec<Sha>> {
        if let Some(moves) = &self.moves {
            return Read::Known(moves.clone());
        }
        match hub.own_moves(branches::LEDGER).await {
            Ok(moves) => {
                self.moves = Some(moves.clone());
                Read::Known(moves)
            }
            Err(error) => Read::Unread(error.to_string()),
        }
    }

    /// Asks anew next time: where something is lost, another process may have written since that it was given up.
    pub fn forget_moves(&mut self) {
        self.moves = None;
    }

    /// What somebody may do in the repository, who said something at some time.
    pub async fn role(
        &mut self,
        hub: &RepoHub,
        person: &Person,
        (matter, said): (Matter, Timestamp),
        now: Timestamp,
    ) -> Read<Role> {
        self.roles.retain(|_, answer| answer.at + REFUSED_FOR > now);
        if let Some(answer) = self.roles.get(person).filter(|answer| answer.holds(matter, said, now)) {
            return Read::Known(answer.role);
        }
        let answer = match matter {
            Matter::Review => hub.may_write(person).await,
            Matter::Stop | Matter::Leave => hub.leisurely().may_write(person).await,
        };
        let answer = match answer {
            Err(HubError::Limited { .. }) if matter == Matter::Stop && self.takes(person, now) => {
                hub.may_write(person).await
            }
            answer => answer,
        };
        match answer {
            Ok(role) => {
                self.roles.insert(person.clone(), Answer { at: now, role, fresh: true });
                Read::Known(role)
            }
            Err(error) => Read::Unread(format!("the rights of {person}: {error}")),
        }
    }

    /// Whether somebody is asked about out of the reserve in this look: everybody who is known from before, and so
    /// many more.
    fn takes(&mut self, person: &Person, now: Timestamp) -> bool {
        if self.roles.contains_key(person) {
            return true;
        }
        let taken = self.reserve.filter(|(look, _)| *look == now).map_or(0, |(_, taken)| taken);
        self.reserve = Some((now, taken + 1));
        taken < NEW_PEOPLE
    }

    /// The people whom a line of CODEOWNERS names.
    pub async fn people(&mut self, hub: &RepoHub, owner: &str, now: Timestamp) -> Result<BTreeSet<Person>, HubError> {
        if let Some((at, people)) = self.people.get(owner)
            && *at + HOLDS > now
        {
            return Ok(people.clone());
        }
        let people = hub.people_of(owner).await?;
        self.people.insert(owner.to_string(), (now, people.clone()));
        Ok(people)
    }

    /// What the hub finds wrong with the file of code owners at a commit.
    pub async fn owner_problems(&mut self, hub: &RepoHub, commit: &Sha, now: Timestamp) -> Read<Vec<Problem>> {
        self.owners.retain(|_, (at, _)| *at + HOLDS > now);
        if let Some((_, problems)) = self.owners.get(commit) {
            return Read::Known(problems.clone());
        }
        match hub.code_owner_problems(commit).await {
            Ok(problems) => {
                self.owners.insert(commit.clone(), (now, problems.clone()));
                Read::Known(problems)
            }
            Err(error) => Read::Unread(error.to_string()),
        }
    }

    /// The same as it was answered last, without asking.
    pub fn known_demands(&self, branch: &str) -> Vec<Demand> {
        let known = self.rules.get(branch).and_then(|(_, rules)| rules.demands.known());
        known.cloned().unwrap_or_default()
    }

    /// What is asked of a merge to a branch.
    pub async fn rules(&mut self, hub: &RepoHub, branch: &str, now: Timestamp) -> Read<BranchRules> {
        if let Some((at, rules)) = self.rules.get(branch)
            && *at + HOLDS > now
        {
            return Read::Known(rules.clone());
        }
        match hub.branch_rules(branch).await {
            Ok(rules) => {
                if rules.demands.known().is_some() {
                    self.rules.insert(branch.to_string(), (now, rules.clone()));
                }
                Read::Known(rules)
            }
            Err(error) => Read::Unread(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a40_who_had_no_right_is_not_asked_about_again_for_what_was_said_before() {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(9);
        let before = |minutes| now - SignedDuration::from_mins(minutes);
        let holds = |role, asked, said, fresh| {
            let answer = Answer { at: before(asked), role, fresh };
            let command = answer.holds(Matter::Stop, before(said), now);
            assert_eq!(command, answer.holds(Matter::Leave, before(said), now));
            assert_eq!(answer.holds(Matter::Review, before(said), now), fresh && asked == 0);
            command
        };
        for (role, asked, said, fresh, expected) in [
            // Within the minute, whatever it was.
            (Role::Write, 0, 9, true, true),
            (Role::None, 0, 0, true, true),
            (Role::Write, 1, 9, true, false),
            // A merge wants it anew: a right, and a refusal of words that may be younger than it.
            (Role::Write, 0, 9, false, false),
            (Role::Read, 0, 0, false, false),
            (Role::Read, 0, 1, false, true),
            // Said before the refusal, or after it.
            (Role::Read, 30, 31, true, true),
            (Role::None, 30, 31, false, true),
            (Role::Read, 30, 30, true, false),
            (Role::Read, 30, 5, true, false),
            (Role::Read, 60, 90, true, false),
            (Role::Admin, 30, 31, true, false),
        ] {
            assert_eq!(
                holds(role, asked, said, fresh),
                expected,
                "{role:?}, asked {asked} and said {said} minutes ago"
            );
        }
    }

    #[test]
    fn a40_so_many_new_people_are_asked_about_out_of_the_reserve() {
        let mut hub_cache = HubCache::default();
        let look = |minute| Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minute);
        let person = |number: usize| Person::new(format!("m{number}"));
        let taken = |hub_cache: &mut HubCache, minute| {
            (0..100).filter(|one| hub_cache.takes(&person(*one), look(minute))).count()
        };
        assert_eq!(
            (taken(&mut hub_cache, 0), taken(&mut hub_cache, 0), taken(&mut hub_cache, 1)),
            (NEW_PEOPLE, 0, NEW_PEOPLE)
        );
        hub_cache.roles.insert(person(99), Answer { at: look(0), role: Role::Read, fresh: false });
        assert!(hub_cache.takes(&person(99), look(1)) && !hub_cache.takes(&person(98), look(1)));
    }
}
