//! What the branch rules of the repository ask for, and who may pass them.

use std::collections::BTreeSet;

use decide::snapshot::LedgerGuard;
use serde::Deserialize;

use super::client::segment;
use super::pull::RequiredContext;
use super::{HubError, RepoHub};

/// The rules that together leave a branch to those who may pass them.
const GUARDS: [&str; 3] = [UPDATE, "deletion", "non_fast_forward"];
/// The one of them that has to let us pass.
const UPDATE: &str = "update";

/// One active rule on a branch.
#[derive(Deserialize)]
struct Rule {
    #[serde(rename = "type")]
    kind: String,
    ruleset_id: Option<u64>,
    #[serde(default)]
    parameters: serde_json::Value,
}

#[derive(Deserialize)]
struct Context {
    context: String,
    #[serde(alias = "app_id")]
    integration_id: Option<i64>,
}

impl Context {
    fn of(self) -> RequiredContext {
        // Classic protection writes -1 for "any source".
        let app = self.integration_id.and_then(|id| u64::try_from(id).ok());
        RequiredContext { name: self.context, app }
    }
}

#[derive(Deserialize)]
struct Ruleset {
    #[serde(default)]
    name: String,
    #[serde(default)]
    enforcement: String,
    current_user_can_bypass: Option<String>,
    bypass_actors: Option<Vec<Actor>>,
}

#[derive(Deserialize)]
struct Actor {
    #[serde(default)]
    actor_type: String,
}

impl RepoHub {
    async fn rules(&self, branch: &str) -> Result<Vec<Rule>, HubError> {
        self.main().pages(&self.path(&format!("/rules/branches/{}?per_page=100", segment(branch))), None).await
    }

    /// The names of the checks that the branch requires.
    ///
    /// # Errors
    /// Rules or protection could not be read: then nobody knows what is required.
    pub async fn required_checks(&self, branch: &str) -> Result<Vec<String>, HubError> {
        let contexts = self.required_contexts(branch).await?;
        let names: BTreeSet<String> = contexts.into_iter().map(|context| context.name).collect();
        Ok(names.into_iter().collect())
    }

    /// The same with the App that a rule pins them to: any writer can set a status of any name
    /// (design: attack A06). See [`super::HubPull::check_state`].
    ///
    /// # Errors
    /// As [`RepoHub::required_checks`].
    pub async fn required_contexts(&self, branch: &str) -> Result<BTreeSet<RequiredContext>, HubError> {
        #[derive(Deserialize)]
        struct Parameters {
            #[serde(default)]
            required_status_checks: Vec<Context>,
        }
        let mut contexts = BTreeSet::new();
        for rule in self.rules(branch).await? {
            if rule.kind == "required_status_checks" {
                let parameters: Parameters =
                    serde_json::from_value(rule.parameters).map_err(|error| HubError::Malformed {
                        what: format!("rules of {branch}"),
                        why: super::error::harmless(&error.to_string()),
                    })?;
                contexts.extend(parameters.required_status_checks.into_iter().map(Context::of));
            }
        }
        contexts.extend(self.classic_contexts(branch).await?);
        Ok(contexts)
    }

    /// Classic branch protection, as the branch itself shows it to readers.
    async fn classic_contexts(&self, branch: &str) -> Result<Vec<RequiredContext>, HubError> {
        #[derive(Deserialize)]
        struct Branch {
            #[serde(default)]
            protection: Option<Protection>,
        }
        #[derive(Deserialize)]
        struct Protection {
            #[serde(default)]
            required_status_checks: Option<Required>,
        }
        #[derive(Deserialize)]
        struct Required {
            #[serde(default)]
            contexts: Vec<String>,
            #[serde(default)]
            checks: Vec<Context>,
        }
        let branch: Branch = self.main().get(&self.path(&format!("/branches/{}", segment(branch)))).await?;
        let required = branch.protection.and_then(|protection| protection.required_status_checks);
        let Some(required) = required else { return Ok(Vec::new()) };
        let mut found: Vec<RequiredContext> = required.checks.into_iter().map(Context::of).collect();
        // `contexts` repeats the names of `checks`, and stands alone on older servers.
        for name in required.contexts {
            if !found.iter().any(|context| context.name == name) {
                found.push(RequiredContext { name, app: None });
            }
        }
        Ok(found)
    }

    /// Whether only the bots can push `branch` (policy, section 6): each of update, deletion and
    /// force push is forbidden by an active ruleset that we may always pass and, as far as its
    /// list is shown to us, only Apps may.
    pub async fn ledger_guard(&self, branch: &str) -> LedgerGuard {
        match self.read_guard(branch).await {
            Ok(guard) => guard,
            Err(error) => LedgerGuard::Unread(error.to_string()),
        }
    }

    async fn read_guard(&self, branch: &str) -> Result<LedgerGuard, HubError> {
        if self.inner.plain && !self.bot().as_str().ends_with("[bot]") {
            let why = format!("{} is a person's account, not a bot's; use an App", self.bot());
            return Ok(LedgerGuard::Open(why));
        }
        let rules = self.rules(branch).await?;
        for kind in GUARDS {
            let ids: BTreeSet<u64> =
                rules.iter().filter(|rule| rule.kind == kind).filter_map(|rule| rule.ruleset_id).collect();
            let mut missing = format!("no active ruleset on `{branch}` has the rule `{kind}`");
            let mut holds = false;
            for id in ids {
                let path = self.path(&format!("/rulesets/{id}?includes_parents=true"));
                match self.main().get::<Ruleset>(&path).await?.gap(kind) {
                    None => holds = true,
                    Some(gap) => missing = gap,
                }
            }
            if !holds {
                return Ok(LedgerGuard::Open(missing));
            }
        }
        Ok(LedgerGuard::BotsOnly)
    }
}

impl Ruleset {
    /// Why this ruleset's rule of `kind` does not leave the branch to the bots; none = it does. What
    /// binds the bots too (nobody may delete the branch or push it by force) is all the better; only
    /// plain updates have to be open to us.
    fn gap(&self, kind: &str) -> Option<String> {
        let name = super::error::harmless(&self.name);
        if self.enforcement != "active" {
            return Some(format!("ruleset `{name}` is not active"));
        }
        match self.current_user_can_bypass.as_deref() {
            Some("always" | "exempt") => {}
            Some("never") if kind != UPDATE => {}
            Some(other) => {
                let other = super::error::harmless(other);
                return Some(format!(
                    "ruleset `{name}` binds the bot itself (its bypass: {other}); add its App with `always`"
                ));
            }
            None => return Some(format!("ruleset `{name}` does not say whether the bot may pass it")),
        }
        let others: BTreeSet<&str> = self
            .bypass_actors
            .iter()
            .flatten()
            .map(|actor| actor.actor_type.as_str())
            .filter(|kind| *kind != "Integration")
            .collect();
        let list = others.iter().copied().collect::<Vec<_>>().join(", ");
        (!others.is_empty()).then(|| format!("ruleset `{name}` also lets {} pass", super::error::harmless(&list)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_nobody_may_do_needs_no_bypass_of_ours() {
        let body = r#"{"name":"l","enforcement":"active","current_user_can_bypass":"never","bypass_actors":[]}"#;
        let ruleset = serde_json::from_str::<Ruleset>(body).unwrap();
        assert_eq!(ruleset.gap("deletion"), None);
        assert_eq!(ruleset.gap("non_fast_forward"), None);
        assert!(ruleset.gap(UPDATE).is_some());
    }

    #[test]
    fn gaps_of_a_ruleset() {
        for (body, gap) in [
            (r#"{"name":"l","enforcement":"active","current_user_can_bypass":"always"}"#, None),
            (
                r#"{"name":"l","enforcement":"active","current_user_can_bypass":"always",
                "bypass_actors":[{"actor_type":"Integration"},{"actor_type":"Integration"}]}"#,
                None,
            ),
            (r#"{"name":"l","enforcement":"evaluate","current_user_can_bypass":"always"}"#, Some("not active")),
            (r#"{"name":"l","enforcement":"active","current_user_can_bypass":"never"}"#, Some("binds the bot")),
            (
                r#"{"name":"l","enforcement":"active","current_user_can_bypass":"pull_requests_only"}"#,
                Some("binds the bot"),
            ),
            (r#"{"name":"l","enforcement":"active"}"#, Some("does not say")),
            (
                r#"{"name":"l","enforcement":"active","current_user_can_bypass":"always",
                "bypass_actors":[{"actor_type":"Integration"},{"actor_type":"OrganizationAdmin"}]}"#,
                Some("OrganizationAdmin"),
            ),
            (
                r#"{"name":"l","enforcement":"active","current_user_can_bypass":"always",
                "bypass_actors":[{"actor_type":"DeployKey"}]}"#,
                Some("DeployKey"),
            ),
            (
                r#"{"name":"l","enforcement":"active","current_user_can_bypass":"always","bypass_actors":[{}]}"#,
                Some("also lets"),
            ),
        ] {
            let found = serde_json::from_str::<Ruleset>(body).unwrap().gap(UPDATE);
            match (found, gap) {
                (None, None) => {}
                (Some(found), Some(gap)) => assert!(found.contains(gap), "{found}"),
                (found, _) => panic!("{body}: {found:?}"),
            }
        }
    }
}
