//! What the branch rules of the repository ask for.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::client::segment;
use super::pull::RequiredContext;
use super::{HubError, RepoHub};

/// One active rule on a branch.
#[derive(Deserialize)]
struct Rule {
    #[serde(rename = "type")]
    kind: String,
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
}
