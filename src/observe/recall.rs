//! Answers of the hub that hold for a while: rights, teams, rules. A merge forgets them first.

use std::collections::{BTreeMap, BTreeSet};

use decide::snapshot::Read;
use decide::{Person, Sha};
use jiff::{SignedDuration, Timestamp};

use crate::hub::code_owners::Problem;
use crate::hub::{BranchRules, HubError, RepoHub, Role};
use crate::ledger;

/// How long an answer holds. Rights change rarely, and a merge asks anew.
const HOLDS: SignedDuration = SignedDuration::from_secs(60);

/// What was asked within the last minute.
#[derive(Default)]
pub struct Recall {
    roles: BTreeMap<Person, (Timestamp, Role)>,
    people: BTreeMap<String, (Timestamp, BTreeSet<Person>)>,
    owners: BTreeMap<Sha, (Timestamp, Vec<Problem>)>,
    rules: BTreeMap<String, (Timestamp, BranchRules)>,
    moves: Option<Vec<Sha>>,
}

impl Recall {
    /// Drops everything, so that the next answers are fresh.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Where we have moved the ledger branch, newest first. It holds until a merge asks anew: what this process has
    /// seen on the branch since, the branch itself remembers.
    pub async fn ledger_moves(&mut self, hub: &RepoHub) -> Read<Vec<Sha>> {
        if let Some(moves) = &self.moves {
            return Read::Known(moves.clone());
        }
        match hub.own_moves(ledger::BRANCH).await {
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
