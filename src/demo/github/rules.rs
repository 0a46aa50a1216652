//! Who may move a branch: classic protection and rulesets, for pushes and for REST alike.

use super::owners::glob;
use super::state::{Actor, Repository, Role, Rule, Ruleset, World};

/// Why each way of moving a branch is refused for one actor; none = allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Creating it.
    pub create: Option<Refusal>,
    /// Moving it at all.
    pub update: Option<Refusal>,
    /// Moving it so that commits are lost.
    pub force: Option<Refusal>,
    /// Deleting it.
    pub delete: Option<Refusal>,
}

/// A refusal in the hub's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// `GH006` (protected branch) or `GH013` (ruleset).
    pub code: &'static str,
    /// The sentence.
    pub why: &'static str,
}

impl Refusal {
    /// The whole text that git shows.
    pub fn text(&self, name: &str) -> String {
        match self.code {
            "GH006" => format!("error: GH006: Protected branch update failed for {name}.\n{}", self.why),
            _ => format!("error: GH013: Repository rule violations found for {name}.\n- {}", self.why),
        }
    }
}

/// Whether a ruleset's pattern covers a branch; `**` crosses slashes.
pub fn covers(set: &Ruleset, branch: &str) -> bool {
    let pattern = set.pattern.trim_start_matches("refs/heads/");
    if pattern == "~ALL" {
        return true;
    }
    fn walk(wanted: &[&str], parts: &[&str]) -> bool {
        match (wanted.split_first(), parts.split_first()) {
            (None, None) => true,
            (Some((&"**", rest)), _) => (0..=parts.len()).any(|skip| walk(rest, &parts[skip..])),
            (Some((first, rest)), Some((part, others))) => glob(first, part) && walk(rest, others),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
    let (wanted, parts): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), branch.split('/').collect());
    walk(&wanted, &parts)
}

/// Whether a ruleset wants the last push to be approved.
pub fn last_push(repo: &Repository, branch: &str) -> bool {
    let sets = repo.rulesets.iter().filter(|set| covers(set, branch));
    sets.flat_map(|set| &set.rules).any(|rule| *rule == Rule::LastPush)
}

/// Whether a ruleset wants heads to contain this branch.
pub fn strict(repo: &Repository, branch: &str) -> bool {
    let sets = repo.rulesets.iter().filter(|set| covers(set, branch));
    sets.flat_map(|set| &set.rules).any(|rule| matches!(rule, Rule::Checks { strict: true, .. }))
}

/// Whether an actor stands in a list of Apps that a rule does not bind.
pub fn bypasses(actor: &Actor, apps: &[u64]) -> bool {
    match actor {
        Actor::Installation { app, .. } => apps.contains(app),
        Actor::Anonymous | Actor::User(_) | Actor::App(_) => false,
    }
}

impl World {
    /// What stands against this actor moving that branch.
    pub fn limits(&self, repository: &Repository, branch: &str, actor: &Actor) -> Limits {
        let mut limits = Limits::default();
        let admin = matches!(actor, Actor::User(login) if self.role(repository, login) == Role::Admin);
        if let Some(protection) = repository.protections.get(branch)
            && (protection.enforce_admins || !admin)
        {
            let refusal = |why| Some(Refusal { code: "GH006", why });
            limits.force = refusal("Cannot force-push to this branch");
            limits.delete = refusal("Cannot delete this branch");
            if protection.reviews() && !bypasses(actor, &protection.bypass_apps) {
                limits.update = refusal("Changes must be made through a pull request.");
            } else if !protection.required_checks.is_empty() {
                limits.update = refusal("Required status checks are expected.");
            }
        }
        for set in repository.rulesets.iter().filter(|set| covers(set, branch)) {
            if bypasses(actor, &set.bypass_apps) {
                continue;
            }
            let refusal = |why| Some(Refusal { code: "GH013", why });
            for rule in &set.rules {
                match rule {
                    Rule::Creation => limits.create = refusal("Cannot create ref due to creations being restricted."),
                    Rule::Update => limits.update = refusal("Cannot update this protected ref."),
                    Rule::Deletion => limits.delete = refusal("Cannot delete this branch"),
                    Rule::NonFastForward => limits.force = refusal("Cannot force-push to this branch"),
                    Rule::Checks { .. } => limits.update = refusal("Required status checks are expected."),
                    Rule::Conversations
                    | Rule::Stale
                    | Rule::LastPush
                    | Rule::MergeQueue
                    | Rule::Workflows
                    | Rule::CodeScanning
                    | Rule::Deployments(_)
                    | Rule::Newer(_) => limits.update = refusal("Changes must be made through a pull request."),
                    // About what a push brings, which nobody pushes here.
                    Rule::LinearHistory | Rule::Signatures => {}
                }
            }
        }
        limits
    }

    /// Whether moving a ref so is refused for this actor. Tags are free.
    pub fn refuses(
        &self,
        repository: &Repository,
        name: &str,
        actor: &Actor,
        old: Option<&str>,
        new: Option<&str>,
    ) -> Option<Refusal> {
        let limits = self.limits(repository, name.strip_prefix("refs/heads/")?, actor);
        match (old, new) {
            (None, _) => limits.create,
            (_, None) => limits.delete,
            (Some(old), Some(new)) => {
                limits.update.or_else(|| limits.force.filter(|_| !repository.git.is_ancestor(old, new)))
            }
        }
    }

    /// The same for a push, which git's `update` hook asks with the objects at hand: a line per ref
    /// with the text of each refusal, separated by the ASCII unit separator.
    pub fn hook_lines(&self, repository: &Repository, names: &[String], actor: &Actor) -> String {
        let mut lines = String::new();
        for name in names {
            let Some(branch) = name.strip_prefix("refs/heads/") else { continue };
            let limits = self.limits(repository, branch, actor);
            let text = |refusal: Option<Refusal>| refusal.map_or(String::new(), |r| r.text(name).replace('\n', " "));
            let (create, update) = (text(limits.create), text(limits.update));
            let (force, delete) = (text(limits.force), text(limits.delete));
            lines.push_str(&format!("{name}\x1f{create}\x1f{update}\x1f{force}\x1f{delete}\x1f\n"));
        }
        lines
    }
}

/// The `update` hook of each repository: it looks its ref up in what the server computed.
pub const HOOK: &str = r#"#!/bin/sh
# Refuses what branch rules forbid; the server names the refusals in SANDBOX_LIMITS.
zero=0000000000000000000000000000000000000000
separator=$(printf '\037')
while IFS="$separator" read -r ref create update force delete rest; do
  [ "$ref" = "$1" ] || continue
  why=
  if [ "$2" = "$zero" ]; then why=$create
  elif [ "$3" = "$zero" ]; then why=$delete
  elif [ -n "$update" ]; then why=$update
  elif ! git merge-base --is-ancestor "$2" "$3"; then why=$force
  fi
  [ -z "$why" ] || { echo "$why" >&2; exit 1; }
done <<END
$SANDBOX_LIMITS
END
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_rulesets() {
        let set = |pattern: &str| Ruleset {
            id: 1,
            name: String::new(),
            pattern: pattern.to_owned(),
            rules: Vec::new(),
            bypass_apps: Vec::new(),
            created_at: jiff::Timestamp::UNIX_EPOCH,
        };
        for (pattern, branch, expected) in [
            ("coldframe-ledger", "coldframe-ledger", true),
            ("refs/heads/main", "main", true),
            ("coldframe/*", "coldframe/a/b", false),
            ("coldframe/**", "coldframe/a/b", true),
            ("coldframe/*/*", "coldframe/a/b", true),
            ("~ALL", "x/y", true),
            ("main", "maine", false),
        ] {
            assert_eq!(covers(&set(pattern), branch), expected, "{pattern} {branch}");
        }
    }
}
