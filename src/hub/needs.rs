//! What our App needs at the hub and why, in one list: the manifest that registers it is made of it, and whoever
//! examines an installation holds it against it. What a token is minted with is in `access`.

/// Whether the bot does anything at all without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Nothing is promoted without it.
    Must,
    /// A part of what the bot can do is missing without it.
    Part,
}

/// A permission of the App.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// GitHub's name for it.
    pub permission: &'static str,
    /// `read` or `write`.
    pub level: &'static str,
    /// How much hangs on it.
    pub weight: Weight,
    /// What it is used for.
    pub why: &'static str,
    /// What does not work without it.
    pub without: &'static str,
    /// The events that an App with it subscribes to: each is refused without its permission ("Default events are not
    /// supported by permissions", and docs.github.com, "Webhook events and payloads").
    pub events: &'static [&'static str],
}

/// All of them. `workflows` and `administration` are never asked for.
pub const NEEDS: [Need; 10] = [
    Need {
        permission: "contents",
        level: "write",
        weight: Weight::Must,
        why: "reads the policy and the versions, pushes the branches of promotions and the ledger, and merges",
        without: "nothing can be read, pushed or merged",
        events: &["push", "release"],
    },
    Need {
        permission: "pull_requests",
        level: "write",
        weight: Weight::Must,
        why: "opens pull requests, keeps their text up to date, and hears reviews",
        without: "no pull request can be opened",
        events: &["pull_request", "pull_request_review", "pull_request_review_thread"],
    },
    Need {
        permission: "checks",
        level: "write",
        weight: Weight::Must,
        why: "shows the gates as a check, and reads the checks that a merge waits for",
        without: "the checks of a pull request cannot be read, and nothing is merged",
        events: &["check_run"],
    },
    Need {
        permission: "statuses",
        level: "read",
        weight: Weight::Must,
        why: "reads the commit statuses that a merge waits for",
        without: "required statuses cannot be read, and nothing is merged",
        events: &["status"],
    },
    Need {
        permission: "metadata",
        level: "read",
        weight: Weight::Must,
        why: "finds the repository and its branch rules",
        without: "the repository cannot be found",
        events: &[],
    },
    Need {
        permission: "issues",
        level: "write",
        weight: Weight::Part,
        why: "hears commands in comments, answers them, and keeps the dashboard issue",
        without: "GitHub sends no comments, so that commands are read with the next look, and there is no dashboard issue",
        events: &["issue_comment", "issues"],
    },
    Need {
        permission: "members",
        level: "read",
        weight: Weight::Part,
        why: "knows who is in a team that owns code or may give commands",
        without: "an approval by a member of a team does not count as the team's",
        events: &[],
    },
    Need {
        permission: "actions",
        level: "write",
        weight: Weight::Part,
        why: "starts the workflows that verify a tier, where the policy names one",
        without: "a policy with `verify` does not go on",
        events: &[],
    },
    Need {
        permission: "deployments",
        level: "read",
        weight: Weight::Part,
        why: "reads deployments, where a signal or a branch rule asks for them",
        without: "signals and branch rules about deployments stay unknown",
        events: &["deployment_status"],
    },
    Need {
        permission: "merge_queues",
        level: "read",
        weight: Weight::Part,
        why: "gives its check to merge groups, where a branch has a merge queue",
        without: "a merge queue that requires the bot's check waits for it in vain",
        events: &["merge_group"],
    },
];

impl Need {
    /// Whether a level that was granted is enough.
    pub fn is_met_by(&self, granted: Option<&str>) -> bool {
        match granted {
            Some("write" | "admin") => true,
            Some("read") => self.level == "read",
            Some(_) | None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::access::ORDINARY;
    use super::*;

    #[test]
    fn tokens_are_minted_with_nothing_that_is_not_listed() {
        for (permission, level) in ORDINARY {
            let need = NEEDS.iter().find(|need| need.permission == *permission);
            assert_eq!(need.map(|need| need.level), Some(*level), "{permission}");
        }
        assert!(NEEDS.iter().all(|need| !["workflows", "administration"].contains(&need.permission)));
        let events: Vec<&str> = NEEDS.iter().flat_map(|need| need.events).copied().collect();
        assert_eq!(events.iter().collect::<BTreeSet<_>>().len(), events.len(), "each event once");
    }

    #[test]
    fn the_page_has_every_permission_as_it_is_asked_for() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/app.md")).unwrap_or_default();
        for need in &NEEDS {
            let (level, events) = (need.level, need.events.join(", "));
            let row = format!("| `{}` | {level} | {} | {} | {events} |\n", need.permission, need.why, need.without);
            assert!(page.contains(&row), "docs/app.md lacks {row}");
        }
    }

    #[test]
    fn reading_is_not_writing() {
        let contents = NEEDS[0];
        assert!(contents.is_met_by(Some("write")) && contents.is_met_by(Some("admin")));
        for granted in [None, Some("read"), Some("none"), Some("")] {
            assert!(!contents.is_met_by(granted), "{granted:?}");
        }
        let statuses = Need { level: "read", ..contents };
        assert!(statuses.is_met_by(Some("read")) && statuses.is_met_by(Some("write")) && !statuses.is_met_by(None));
    }
}
