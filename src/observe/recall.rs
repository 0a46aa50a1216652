//! Answers of the hub that hold for a minute: rights, teams, rules. A merge forgets them first.

use std::collections::{BTreeMap, BTreeSet};

use decide::Person;
use decide::snapshot::Read;
use jiff::{SignedDuration, Timestamp};

use crate::hub::{HubError, RepoHub, RequiredContext, Role};

/// How long an answer holds. Rights change rarely, and a merge asks anew.
const HOLDS: SignedDuration = SignedDuration::from_secs(60);

/// What was asked within the last minute.
#[derive(Default)]
pub struct Recall {
    roles: BTreeMap<Person, (Timestamp, Role)>,
    people: BTreeMap<String, (Timestamp, BTreeSet<Person>)>,
    checks: BTreeMap<String, (Timestamp, Vec<RequiredContext>)>,
}

impl Recall {
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

    /// The checks that the rules of a branch require.
    pub async fn required_checks(&mut self, hub: &RepoHub, branch: &str, now: Timestamp) -> Read<Vec<RequiredContext>> {
        if let Some((at, checks)) = self.checks.get(branch)
            && *at + HOLDS > now
        {
            return Read::Known(checks.clone());
        }
        match hub.required_contexts(branch).await {
            Ok(checks) => {
                let checks: Vec<RequiredContext> = checks.into_iter().collect();
                self.checks.insert(branch.to_string(), (now, checks.clone()));
                Read::Known(checks)
            }
            Err(error) => Read::Unread(error.to_string()),
        }
    }
}
