//! Who moved a branch, as the hub itself has noted it. Nobody who may only write can add, change or take back such a
//! note. It proves that a commit was there, and nothing else: a note may come late, and no hub says how long it keeps one.

use decide::Sha;
use serde::Deserialize;

use super::client::segment;
use super::{HubError, RepoHub};

/// The newest of ours; one is enough where it is ours indeed.
const OURS: usize = 30;
/// The newest of anybody.
const ALL: usize = 100;

#[derive(Deserialize)]
struct Move {
    /// Zeros where the branch was deleted.
    after: String,
    actor: Option<Actor>,
}

#[derive(Deserialize)]
struct Actor {
    login: String,
}

impl RepoHub {
    /// Where we have moved a branch lately, newest first; empty where the hub has no note of it.
    ///
    /// # Errors
    /// It could not be read, or others have moved the branch so often that ours are not to be seen.
    pub async fn own_moves(&self, branch: &str) -> Result<Vec<Sha>, HubError> {
        let bot = self.bot().as_str();
        let path = self.path(&format!("/activity?ref={}", segment(&format!("refs/heads/{branch}"))));
        let ours = |moves: Vec<Move>| -> Vec<Sha> {
            let is_ours = |one: &Move| one.actor.as_ref().is_some_and(|actor| actor.login.eq_ignore_ascii_case(bot));
            let there = moves.into_iter().filter(|one| is_ours(one) && one.after.bytes().any(|digit| digit != b'0'));
            there.map(|one| Sha::new(one.after)).collect()
        };
        let found = ours(self.main().get(&format!("{path}&per_page={OURS}&actor={}", segment(bot))).await?);
        if !found.is_empty() {
            return Ok(found);
        }
        // A hub that knows Apps by another name there shows ours among all.
        let all: Vec<Move> = self.main().get(&format!("{path}&per_page={ALL}")).await?;
        let (full, found) = (all.len() >= ALL, ours(all));
        if full && found.is_empty() {
            let why = format!("the newest {ALL} moves of `{branch}` are all of others");
            return Err(HubError::TooMuch { what: format!("GET {path}"), why });
        }
        Ok(found)
    }
}
