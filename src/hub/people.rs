//! What people and teams may do here, and whom the file of code owners names in vain: asked at the hub
//! each time; never the association that a comment shows (`docs/attacks.md`, A07).

use std::collections::BTreeSet;

use decide::{Person, Sha};
use serde::Deserialize;

use super::client::segment;
use super::code_owners::Problem;
use super::error::harmless;
use super::line::Call;
use super::{HubError, RepoHub};

/// With which the hub says what a team may do in a repository; without it, only that it may something.
const REPOSITORY: &str = "application/vnd.github.v3.repository+json";

/// What somebody may do in the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Nothing that a stranger may not.
    None,
    /// Read; triage counts as this.
    Read,
    /// Write.
    Write,
    /// Maintain.
    Maintain,
    /// Administer.
    Admin,
}

#[derive(Deserialize)]
struct Permission {
    permission: String,
    #[serde(default)]
    role_name: Option<String>,
    #[serde(default)]
    user: Option<Login>,
}

#[derive(Deserialize)]
struct Login {
    login: String,
}

impl Permission {
    fn role(&self) -> Role {
        match (self.role_name.as_deref(), self.permission.as_str()) {
            (_, "admin") => Role::Admin,
            (Some("maintain"), "write") | (_, "maintain") => Role::Maintain,
            (_, "write") => Role::Write,
            (_, "read" | "triage") => Role::Read,
            // A word that we do not know gives no rights.
            _ => Role::None,
        }
    }
}

impl RepoHub {
    /// The role of a person in this repository, now.
    ///
    /// # Errors
    /// It could not be read; that is no right.
    pub async fn may_write(&self, login: &Person) -> Result<Role, HubError> {
        Ok(self.permission(login).await?.role())
    }

    async fn permission(&self, login: &Person) -> Result<Permission, HubError> {
        self.main().get(&self.path(&format!("/collaborators/{}/permission", segment(login.as_str())))).await
    }

    /// The members of a team, those of its child teams too.
    ///
    /// # Errors
    /// It could not be read: unknown, secret to us, or the App lacks `members`.
    pub async fn team_members(&self, org: &str, slug: &str) -> Result<BTreeSet<Person>, HubError> {
        let path = format!("/orgs/{}/teams/{}/members?per_page=100", segment(org), segment(slug));
        let members: Vec<Login> = self.main().pages(&path, None).await?;
        Ok(members.into_iter().map(|member| Person::new(member.login)).collect())
    }

    /// Whether a team may write to this repository: a right of its own, whatever its members may.
    async fn team_may_write(&self, org: &str, slug: &str) -> Result<bool, HubError> {
        #[derive(Deserialize)]
        struct OfTeam {
            permissions: Permissions,
        }
        #[derive(Deserialize)]
        struct Permissions {
            push: bool,
        }
        let repository = self.repository();
        let (owner, name) = (segment(&repository.owner), segment(&repository.name));
        let path = format!("/orgs/{}/teams/{}/repos/{owner}/{name}", segment(org), segment(slug));
        let call = Call::get_as(REPOSITORY, path);
        match self.main().send(&call).await {
            Ok(answer) => Ok(answer.json::<OfTeam>(&call)?.permissions.push),
            // Its members were shown to us, so that this is about the repository.
            Err(HubError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What the hub finds wrong with the file of code owners at a commit: owners that are nobody or may not
    /// write, lines that it passes over.
    ///
    /// # Errors
    /// It was not read: then any line may be wrong.
    pub async fn code_owner_problems(&self, commit: &Sha) -> Result<Vec<Problem>, HubError> {
        #[derive(Deserialize)]
        struct Answer {
            errors: Vec<Wire>,
        }
        #[derive(Deserialize)]
        struct Wire {
            line: usize,
            kind: String,
            suggestion: Option<String>,
        }
        let path = self.path(&format!("/codeowners/errors?ref={}", segment(commit.as_str())));
        let answer: Answer = self.main().get(&path).await?;
        let said = |error: Wire| {
            let fix = error.suggestion.map(|fix| format!("; {}", harmless(&fix))).unwrap_or_default();
            Problem { line: error.line, why: format!("the hub says `{}`{fix}", harmless(&error.kind)) }
        };
        Ok(answer.errors.into_iter().map(said).collect())
    }

    /// The people that an owner of CODEOWNERS stands for, by their logins as the hub spells them.
    /// A user or a team that may not write is no owner: GitHub ignores such entries.
    ///
    /// # Errors
    /// E-mail owners, whose account the hub tells nobody, and everything that could not be read.
    pub async fn people_of(&self, owner: &str) -> Result<BTreeSet<Person>, HubError> {
        let unread = |why: &str| HubError::Owner { owner: harmless(owner), why: why.to_owned() };
        let Some(name) = owner.strip_prefix('@') else {
            return Err(unread("the hub tells nobody whose e-mail address it is; name the user"));
        };
        match name.split_once('/') {
            Some((org, slug)) if super::plain(org) && super::plain(slug) => {
                let members = self.team_members(org, slug).await?;
                Ok(if self.team_may_write(org, slug).await? { members } else { BTreeSet::new() })
            }
            None if super::plain(name) => {
                let found = self.permission(&Person::from(name)).await?;
                if found.role() < Role::Write {
                    return Ok(BTreeSet::new());
                }
                let login = found.user.map_or_else(|| name.to_owned(), |user| user.login);
                Ok(BTreeSet::from([Person::new(login)]))
            }
            _ => Err(unread("it is neither `@user` nor `@org/team`")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn roles() {
        for (body, role) in [
            (r#"{"permission":"admin","role_name":"admin"}"#, Role::Admin),
            (r#"{"permission":"write","role_name":"maintain"}"#, Role::Maintain),
            (r#"{"permission":"write","role_name":"our-own-role"}"#, Role::Write),
            (r#"{"permission":"write"}"#, Role::Write),
            (r#"{"permission":"read","role_name":"triage"}"#, Role::Read),
            (r#"{"permission":"read"}"#, Role::Read),
            (r#"{"permission":"none"}"#, Role::None),
            (r#"{"permission":"emperor","role_name":"maintain"}"#, Role::None),
        ] {
            assert_eq!(serde_json::from_str::<Permission>(body).unwrap().role(), role, "{body}");
        }
        assert!(Role::Read < Role::Write && Role::Write < Role::Maintain && Role::Maintain < Role::Admin);
    }
}
