//! What the branch rules of the repository ask for. What else than checks they ask of a merge is in `demands`.

use std::collections::BTreeSet;

use decide::snapshot::Read;
use serde::Deserialize;

use super::client::segment;
use super::demands::{self, Demand};
use super::pull::RequiredContext;
use super::{HubError, RepoHub};

/// One active rule on a branch.
#[derive(Deserialize)]
pub(super) struct Rule {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) ruleset_id: Option<u64>,
    #[serde(default)]
    parameters: serde_json::Value,
}

/// A ruleset, and whether it binds who asks.
#[derive(Deserialize)]
pub(super) struct Ruleset {
    #[serde(default)]
    pub(super) name: String,
    pub(super) current_user_can_bypass: Option<String>,
}

/// What is asked of a merge to a branch, beside reviews.
#[derive(Clone, Debug)]
pub struct BranchRules {
    /// The checks, each with the App that a rule pins it to: any writer can set a status of any name
    /// (`docs/attacks.md`, A06). See [`super::HubPull::check_state`].
    pub contexts: BTreeSet<RequiredContext>,
    /// A ruleset wants heads to contain the branch.
    pub strict: bool,
    /// A ruleset voids approvals when something is pushed, or wants the last push to be approved.
    pub dismisses: bool,
    /// Commits have to be signed.
    pub signed: bool,
    /// The reviews; known where everything is that could ask for them.
    pub reviews: Read<Reviews>,
    /// Everything else; known where somebody is there who could pass it.
    pub demands: Read<Vec<Demand>>,
}

/// The reviews that rules ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reviews {
    /// Of some people who may write.
    pub approvals: bool,
    /// Of the code owners of what is changed, where that has any.
    pub code_owners: bool,
}

impl Reviews {
    /// Those of a rule for pull requests.
    fn of_rule(parameters: &serde_json::Value) -> Self {
        let asked = parameters.get("required_approving_review_count").and_then(serde_json::Value::as_u64);
        let named = parameters.get("required_reviewers").and_then(serde_json::Value::as_array);
        let approvals = asked.is_some_and(|count| count > 0) || named.is_some_and(|reviewers| !reviewers.is_empty());
        let code_owners = parameters.get("require_code_owner_review").and_then(serde_json::Value::as_bool);
        Self { approvals, code_owners: code_owners == Some(true) }
    }

    /// Those of both.
    fn and(self, other: Self) -> Self {
        let Self { approvals, code_owners } = other;
        Self { approvals: self.approvals || approvals, code_owners: self.code_owners || code_owners }
    }
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
    pub(super) async fn rules(&self, branch: &str) -> Result<Vec<Rule>, HubError> {
        self.main().pages(&self.path(&format!("/rules/branches/{}?per_page=100", segment(branch))), None).await
    }

    pub(super) async fn ruleset(&self, id: u64) -> Result<Ruleset, HubError> {
        self.main().get(&self.path(&format!("/rulesets/{id}?includes_parents=true"))).await
    }

    /// What the rules and the classic protection of a branch ask of a merge.
    ///
    /// # Errors
    /// Rules or protection could not be read: then nobody knows which checks are required. Or our ordinary
    /// identity may pass them: then the hub holds none of them for its merges.
    pub async fn branch_rules(&self, branch: &str) -> Result<BranchRules, HubError> {
        #[derive(Deserialize)]
        struct Parameters {
            #[serde(default)]
            required_status_checks: Vec<Context>,
        }
        let (mut contexts, mut demands) = (BTreeSet::new(), Ok(BTreeSet::new()));
        let rules = self.rules(branch).await?;
        self.bound_by(branch, &rules).await?;
        let says = |kind: &str, key: &str| {
            let of_kind = rules.iter().filter(|rule| rule.kind == kind);
            of_kind.filter_map(|rule| rule.parameters.get(key)).any(|value| value.as_bool() == Some(true))
        };
        let strict = says("required_status_checks", "strict_required_status_checks_policy");
        let dismisses = ["dismiss_stale_reviews_on_push", "require_last_push_approval"];
        let dismisses = dismisses.iter().any(|key| says("pull_request", key));
        let signed = rules.iter().any(|rule| rule.kind == "required_signatures");
        let reviewed = rules.iter().filter(|rule| rule.kind == "pull_request");
        let reviews = reviewed.map(|rule| Reviews::of_rule(&rule.parameters)).fold(Reviews::default(), Reviews::and);
        for rule in rules {
            let asked = demands::of_rule(&rule.kind, &rule.parameters);
            demands = demands.and_then(|mut all: BTreeSet<Demand>| asked.map(|asked| all.extend(asked)).map(|()| all));
            if rule.kind == "required_status_checks" {
                let parameters: Parameters =
                    serde_json::from_value(rule.parameters).map_err(|error| HubError::Malformed {
                        what: format!("rules of {branch}"),
                        why: super::error::harmless(&error.to_string()),
                    })?;
                contexts.extend(parameters.required_status_checks.into_iter().map(Context::of));
            }
        }
        let (classic, protected) = self.classic_contexts(branch).await?;
        contexts.extend(classic);
        // A merge past them has to know them all; how an ordinary one is asked for, and whether commits are signed, hangs
        // on them, too.
        let asks = self.has_bypass() || protected;
        let classic = if asks { self.classic_demands(branch).await } else { Ok((Vec::new(), Reviews::default())) };
        let signed = signed || classic.as_ref().is_ok_and(|(asked, _)| asked.contains(&Demand::Signatures));
        let reviews = match &classic {
            Ok((_, asked)) => Read::Known(reviews.and(*asked)),
            Err(error) => Read::Unread(error.to_string()),
        };
        match (&mut demands, classic.map(|(asked, _)| asked)) {
            (Ok(all), Ok(asked)) => all.extend(asked),
            // An ordinary merge is the hub's to refuse.
            (Ok(_), Err(error)) if self.has_bypass() => demands = Err(error),
            (Ok(_), Err(_)) | (Err(_), _) => {}
        }
        let demands = match demands {
            Ok(demands) => Read::Known(demands.into_iter().collect()),
            Err(error) => Read::Unread(error.to_string()),
        };
        Ok(BranchRules { contexts, strict, dismisses, signed, reviews, demands })
    }

    /// Whether the rules about merges bind our ordinary identity.
    async fn bound_by(&self, branch: &str, rules: &[Rule]) -> Result<(), HubError> {
        let about = rules.iter().filter(|rule| demands::is_about_merges(&rule.kind));
        let ids: BTreeSet<u64> = about.filter_map(|rule| rule.ruleset_id).collect();
        for id in ids {
            let set = self.ruleset(id).await?;
            match set.current_user_can_bypass.as_deref() {
                Some("never") => {}
                None => {
                    return Err(HubError::Malformed {
                        what: format!("rules of {branch}"),
                        why: format!("the hub does not say whether the bot may pass the ruleset {id}"),
                    });
                }
                Some(_) => {
                    let name = super::error::harmless(&set.name);
                    return Err(HubError::Setup(format!(
                        "the bot's ordinary identity may pass the ruleset `{name}` of `{branch}`, so that its merges \
                         would be held to none of it; take {} off its bypass list",
                        self.bot()
                    )));
                }
            }
        }
        Ok(())
    }

    /// The checks of classic branch protection, as the branch itself shows them to readers, and whether anything
    /// protects it.
    async fn classic_contexts(&self, branch: &str) -> Result<(Vec<RequiredContext>, bool), HubError> {
        #[derive(Deserialize)]
        struct Branch {
            #[serde(default)]
            protected: bool,
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
        let Some(required) = required else { return Ok((Vec::new(), branch.protected)) };
        let mut found: Vec<RequiredContext> = required.checks.into_iter().map(Context::of).collect();
        // `contexts` repeats the names of `checks`, and stands alone on older servers.
        for name in required.contexts {
            if !found.iter().any(|context| context.name == name) {
                found.push(RequiredContext { name, app: None });
            }
        }
        Ok((found, branch.protected))
    }
}
