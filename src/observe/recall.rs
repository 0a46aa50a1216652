//! Answers of the hub that hold for a minute: rights, teams, rules. A merge forgets them first.

use std::collections::{BTreeMap, BTreeSet};

use decide::snapshot::{Pull, Read};
use decide::{Person, Sha};
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};

use crate::hub::code_owners::Problem;
use crate::hub::{BranchRules, HubError, RepoHub, Role};

/// How long an answer holds. Rights change rarely, and a merge asks anew.
const HOLDS: SignedDuration = SignedDuration::from_secs(60);

/// What was asked within the last minute.
#[derive(Default)]
pub struct Recall {
    roles: BTreeMap<Person, (Timestamp, Role)>,
    people: BTreeMap<String, (Timestamp, BTreeSet<Person>)>,
    owners: BTreeMap<Sha, (Timestamp, Vec<Problem>)>,
    rules: BTreeMap<String, (Timestamp, BranchRules)>,
}

impl Recall {
    /// What one pull request rests on, asked now and all at once. What the hub does not answer is asked again by who
    /// needs it.
    pub async fn about(hub: &RepoHub, pull: &Pull, (branch, commit): (&str, &Sha), now: Timestamp) -> Self {
        let reviewers = pull.reviews.iter().filter(|review| review.human).map(|review| &review.by);
        let people: BTreeSet<&Person> = reviewers.chain(pull.commands.iter().map(|command| &command.by)).collect();
        let owned = pull.owned.known().into_iter().flatten();
        let owners: BTreeSet<&String> = owned.flat_map(|owned| &owned.owners).collect();
        let roles = join_all(people.into_iter().map(|person| async move { (person, hub.may_write(person).await) }));
        let teams = join_all(owners.into_iter().map(|owner| async move { (owner, hub.people_of(owner).await) }));
        let (roles, teams, rules, problems) =
            tokio::join!(roles, teams, hub.branch_rules(branch), hub.code_owner_problems(commit));
        let mut recall = Self::default();
        for (person, role) in roles {
            recall.roles.extend(role.ok().map(|role| (person.clone(), (now, role))));
        }
        for (owner, people) in teams {
            recall.people.extend(people.ok().map(|people| (owner.clone(), (now, people))));
        }
        recall.rules.extend(rules.ok().map(|rules| (branch.to_string(), (now, rules))));
        recall.owners.extend(problems.ok().map(|problems| (commit.clone(), (now, problems))));
        recall
    }

    /// Drops everything, so that the next answers are fresh.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// What somebody may do in the repository.
    pub async fn role(&mut self, hub: &RepoHub, person: &Person, now: Timestamp) -> Read<Role> {
        if let Some((at, role)) = self.roles.get(person)
            && *at + HOLDS > now
        {
            return Read::Known(*role);
        }
        match hub.may_write(person).await {
            Ok(role) => {
                self.roles.insert(person.clone(), (now, role));
                Read::Known(role)
            }
            Err(error) => Read::Unread(format!("the rights of {person}: {error}")),
        }
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
