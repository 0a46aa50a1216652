//! What rulesets ask of a merge beside reviews. Whom a ruleset lets pass, none of its rules binds.

use super::rules::{bypasses, covers};
use super::signature::all_verified;
use super::standing::{CheckState, all_checks};
use super::state::{Actor, CheckRun, Pull, Repository, Rule, World};

/// What the hub says of a conversation that goes on.
pub const CONVERSATION: &str = "A conversation must be resolved before this pull request can be merged.";

/// What the hub says of commits that nobody has signed.
pub const UNSIGNED: &str = "Commits must have verified signatures.";

/// What the hub says of a merge past a queue.
pub const QUEUED: &str = "Changes must be made through the merge queue";

/// What the hub says of an approval that was given before the last push.
pub const LAST_PUSH: &str = "New changes require approval from someone other than the last pusher.";

/// A merge that is asked for.
pub struct MergeRequest<'a> {
    /// Who asks.
    pub actor: &'a Actor,
    /// `merge`, `squash` or `rebase`.
    pub method: &'a str,
    /// The head that must still stand.
    pub sha: Option<&'a str>,
    /// Title and message of the commit, where the hub's own are not wanted.
    pub title: Option<&'a str>,
    /// Its message.
    pub message: Option<&'a str>,
    /// On which way it comes.
    pub way: Way,
}

/// On which way a merge comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// At once.
    Button,
    /// It is to be put into the queue.
    Entry,
    /// The queue merges it, on top of the base and of those before it.
    Group,
}

impl World {
    /// The first rule that stands against this merge, in the hub's words.
    pub fn violation(&self, repo: &Repository, pull: &Pull, base: &str, wanted: &MergeRequest<'_>) -> Option<String> {
        let sets = repo.rulesets.iter().filter(|set| covers(set, &pull.base));
        let bound = sets.filter(|set| !bypasses(wanted.actor, &set.bypass_apps));
        bound.flat_map(|set| &set.rules).find_map(|rule| self.violated(repo, pull, base, wanted, rule))
    }

    fn violated(
        &self,
        repo: &Repository,
        pull: &Pull,
        base: &str,
        wanted: &MergeRequest<'_>,
        rule: &Rule,
    ) -> Option<String> {
        match rule {
            Rule::Creation | Rule::Deletion | Rule::NonFastForward | Rule::Stale => None,
            Rule::LastPush => (!self.last_push_approved(repo, pull)).then(|| LAST_PUSH.to_owned()),
            Rule::Update => Some("Cannot update this protected ref.".to_owned()),
            Rule::Conversations => pull.conversations.contains(&false).then(|| CONVERSATION.to_owned()),
            Rule::Checks { name, app, strict } => {
                let green = match app {
                    None => all_checks(repo, &pull.head_sha).get(*name) == Some(&CheckState::Green),
                    // Of the App that the rule names, and of nobody else; in the queue, on the commit of its group.
                    Some(app) => {
                        let group = repo.queue.iter().find(|queued| queued.number == pull.number);
                        let group = group.and_then(|queued| queued.group.as_ref()).filter(|_| wanted.way == Way::Group);
                        let commit = group.map_or(&pull.head_sha, |group| &group.commit);
                        let theirs = |run: &&CheckRun| run.head_sha == *commit && run.name == *name && run.app == *app;
                        let newest = repo.checks.values().rfind(theirs).and_then(|run| run.conclusion.as_deref());
                        matches!(newest, Some("success" | "neutral" | "skipped"))
                    }
                };
                let behind = *strict && wanted.way != Way::Group && !repo.git.is_ancestor(base, &pull.head_sha);
                match (green, behind) {
                    (false, _) => Some(format!("Required status check \"{name}\" is expected.")),
                    (true, true) => Some("Head branch is out of date. Review and try the merge again.".to_owned()),
                    (true, false) => None,
                }
            }
            Rule::LinearHistory => {
                (wanted.method == "merge").then(|| "This branch must not contain merge commits.".to_owned())
            }
            Rule::Signatures if wanted.method == "rebase" => {
                Some("Rebase merges cannot be automatically signed by GitHub.".to_owned())
            }
            Rule::Signatures => {
                let signed = all_verified(&repo.git, base, &pull.head_sha);
                (!signed).then(|| UNSIGNED.to_owned())
            }
            Rule::Deployments(environment) => {
                let said = |state: &str| state == "success";
                let there =
                    |one: &&super::state::Deployment| one.sha == pull.head_sha && one.environment == *environment;
                let newest = repo.deployments.iter().rfind(there).and_then(|one| one.status.as_ref());
                let done = newest.is_some_and(|status| said(&status.state));
                (!done).then(|| format!("Required deployment to {environment} has not succeeded."))
            }
            Rule::MergeQueue => (wanted.way == Way::Button).then(|| QUEUED.to_owned()),
            Rule::Workflows => Some("Required workflow .github/workflows/ci.yml has not succeeded.".to_owned()),
            Rule::CodeScanning => Some("Code scanning is waiting for results from CodeQL.".to_owned()),
            Rule::Newer(name) => Some(format!("The rule {name} is not met.")),
        }
    }
}
