//! What the rules of a base branch ask of a merge beside reviews. A merge that a ruleset lets pass without a
//! review passes all of its rules, so each is known here: asked, untouched by a merge, or never passed.

use decide::snapshot::UnmetRule;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::harmless;
use super::pulls::{data, malformed, not_there, partial};
use super::rules::Reviews;
use super::{HubError, RepoHub};

const DOCUMENT: &str = include_str!("queries/demands.graphql");

/// A type of rule, by the hub's name for it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Creation,
    Deletion,
    NonFastForward,
    BranchName,
    TagName,
    CopilotReview,
    PullRequest,
    StatusChecks,
    LinearHistory,
    Signatures,
    Deployments,
    MergeQueue,
    Workflows,
    CodeScanning,
    Update,
    CommitMessage,
    AuthorEmail,
    CommitterEmail,
    FilePaths,
    PathLength,
    FileExtensions,
    FileSize,
    /// One that this Coldframe does not know.
    Unknown,
}

impl Kind {
    fn of(name: &str) -> Self {
        match name {
            "creation" => Self::Creation,
            "deletion" => Self::Deletion,
            "non_fast_forward" => Self::NonFastForward,
            "branch_name_pattern" => Self::BranchName,
            "tag_name_pattern" => Self::TagName,
            "copilot_code_review" => Self::CopilotReview,
            "pull_request" => Self::PullRequest,
            "required_status_checks" => Self::StatusChecks,
            "required_linear_history" => Self::LinearHistory,
            "required_signatures" => Self::Signatures,
            "required_deployments" => Self::Deployments,
            "merge_queue" => Self::MergeQueue,
            "workflows" => Self::Workflows,
            "code_scanning" => Self::CodeScanning,
            "update" => Self::Update,
            "commit_message_pattern" => Self::CommitMessage,
            "commit_author_email_pattern" => Self::AuthorEmail,
            "committer_email_pattern" => Self::CommitterEmail,
            "file_path_restriction" => Self::FilePaths,
            "max_file_path_length" => Self::PathLength,
            "file_extension_restriction" => Self::FileExtensions,
            "max_file_size" => Self::FileSize,
            _ => Self::Unknown,
        }
    }
}

/// What a rule asks of a merge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Demand {
    /// Every conversation is resolved.
    Conversations,
    /// The head contains the base branch as it is.
    UpToDate,
    /// Only these methods of merging.
    Methods {
        /// The rule's type.
        rule: String,
        /// By the hub's names.
        allowed: Vec<String>,
    },
    /// Every commit has a signature that the hub has verified.
    Signatures,
    /// The head was deployed to all of these.
    Deployments(Vec<String>),
    /// The queue of the branch merges.
    Queue,
    /// What cannot be asked: no merge may pass it.
    Never {
        /// The rule's type.
        rule: String,
        /// Why.
        why: &'static str,
    },
}

#[derive(Deserialize)]
struct PullRequest {
    #[serde(default)]
    required_review_thread_resolution: bool,
    allowed_merge_methods: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct StatusChecks {
    #[serde(default)]
    strict_required_status_checks_policy: bool,
}

#[derive(Deserialize)]
struct Deployments {
    required_deployment_environments: Vec<String>,
}

/// Whether a rule is about merges at all.
pub(super) fn is_about_merges(name: &str) -> bool {
    !matches!(
        Kind::of(name),
        Kind::Creation | Kind::Deletion | Kind::NonFastForward | Kind::BranchName | Kind::TagName | Kind::CopilotReview
    )
}

/// What one rule asks for. The names of required checks are read in `rules`.
///
/// # Errors
/// Its parameters make no sense.
pub(super) fn of_rule(name: &str, parameters: &Value) -> Result<Vec<Demand>, HubError> {
    fn read<T: for<'de> Deserialize<'de>>(name: &str, parameters: &Value) -> Result<T, HubError> {
        let what = format!("the rule `{}`", harmless(name));
        T::deserialize(parameters).map_err(|error| malformed(&what, &error.to_string()))
    }
    let never = |why: &'static str| vec![Demand::Never { rule: harmless(name), why }];
    Ok(match Kind::of(name) {
        // A review by a machine is asked for, and nobody waits for it.
        Kind::Creation
        | Kind::Deletion
        | Kind::NonFastForward
        | Kind::BranchName
        | Kind::TagName
        | Kind::CopilotReview => Vec::new(),
        Kind::PullRequest => {
            let asked: PullRequest = read(name, parameters)?;
            let conversations = asked.required_review_thread_resolution.then_some(Demand::Conversations);
            let methods = asked.allowed_merge_methods.map(|allowed| Demand::Methods { rule: name.to_owned(), allowed });
            conversations.into_iter().chain(methods).collect()
        }
        Kind::StatusChecks => {
            let asked: StatusChecks = read(name, parameters)?;
            asked.strict_required_status_checks_policy.then_some(Demand::UpToDate).into_iter().collect()
        }
        Kind::LinearHistory => vec![linear()],
        Kind::Signatures => vec![Demand::Signatures],
        Kind::Deployments => {
            vec![Demand::Deployments(read::<Deployments>(name, parameters)?.required_deployment_environments)]
        }
        Kind::MergeQueue => vec![Demand::Queue],
        Kind::Workflows => never("whether its workflows have succeeded is not shown"),
        Kind::CodeScanning => never("what its scanners found is not asked"),
        Kind::Update => never("it lets nobody move the branch"),
        Kind::CommitMessage | Kind::AuthorEmail | Kind::CommitterEmail => never("it judges commits by a pattern"),
        Kind::FilePaths | Kind::PathLength | Kind::FileExtensions | Kind::FileSize => never("it judges files"),
        Kind::Unknown => never("this Coldframe does not know it; update Coldframe"),
    })
}

/// No merge commits.
fn linear() -> Demand {
    Demand::Methods {
        rule: "required_linear_history".to_owned(),
        allowed: vec!["squash".to_owned(), "rebase".to_owned()],
    }
}

impl Demand {
    /// Whether people or other machines see to it, so that a pull request may wait for it. Whatever else a merge has to
    /// meet, the bot does itself, or the hub judges when it is asked.
    pub fn is_for_people(&self) -> bool {
        match self {
            Self::Conversations | Self::Deployments(_) => true,
            Self::UpToDate | Self::Methods { .. } | Self::Signatures | Self::Queue | Self::Never { .. } => false,
        }
    }
}

/// What is asked about one pull request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    repository: Option<OfRepository>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfRepository {
    pull_request: Option<Value>,
    #[serde(rename = "ref")]
    branch: Option<Branch>,
    merge_queue: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Branch {
    ref_update_rule: Option<UpdateRule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UpdateRule {
    required_approving_review_count: Option<u64>,
    requires_code_owner_reviews: bool,
    requires_conversation_resolution: bool,
    requires_linear_history: bool,
    requires_signatures: bool,
}

/// How a pull request stands towards what its base branch asks.
pub struct MergeCandidate<'a> {
    /// Its number.
    pub number: decide::PullNumber,
    /// Its head, which the answer has to be about.
    pub head: &'a decide::Sha,
    /// Whether the head builds on the tip of the base branch.
    pub up_to_date: &'a decide::snapshot::Read<bool>,
}

impl RepoHub {
    /// What classic protection asks of a merge to a branch, as far as readers are shown it, and its reviews. The rest of
    /// it binds those, too, whom it lets merge without a review.
    ///
    /// # Errors
    /// It was not read.
    pub(super) async fn classic_demands(&self, branch: &str) -> Result<(Vec<Demand>, Reviews), HubError> {
        let what = "GraphQL Protection";
        let name = format!("refs/heads/{branch}");
        let answer = self.demand("Protection", json!({ "branch": name, "queue": branch }), what).await?;
        let queue = answer.merge_queue.is_some().then_some(Demand::Queue);
        // Where the branch itself is not shown, nobody knows what protects it.
        let branch = answer.branch.ok_or_else(|| not_there(what, &[]))?;
        let Some(rule) = branch.ref_update_rule else { return Ok((queue.into_iter().collect(), Reviews::default())) };
        let approvals = rule.required_approving_review_count.is_some_and(|count| count > 0);
        let reviews = Reviews { approvals, code_owners: rule.requires_code_owner_reviews };
        let conversations = rule.requires_conversation_resolution.then_some(Demand::Conversations);
        let signatures = rule.requires_signatures.then_some(Demand::Signatures);
        let linear = rule.requires_linear_history.then(linear);
        Ok((conversations.into_iter().chain(linear).chain(signatures).chain(queue).collect(), reviews))
    }

    /// Those demands that a merge of this head would not meet now.
    ///
    /// # Errors
    /// Something that a demand rests on was not read.
    pub async fn unmet(&self, demands: &[Demand], candidate: &MergeCandidate<'_>) -> Result<Vec<UnmetRule>, HubError> {
        let mut unmet = Vec::new();
        for demand in demands {
            let why = match demand {
                Demand::Never { rule, why } => Some((rule.as_str(), (*why).to_owned())),
                Demand::Queue => Some(("merge_queue", "a queue cannot be jumped".to_owned())),
                Demand::Methods { rule, allowed } => {
                    self.method_refused(demands, allowed).map(|why| (rule.as_str(), why))
                }
                Demand::UpToDate => behind(candidate)?,
                Demand::Conversations => self.conversations(candidate).await?,
                Demand::Signatures => self.unsigned(candidate).await?,
                Demand::Deployments(environments) => self.undeployed(candidate, environments).await?,
            };
            unmet.extend(why.map(|(rule, why)| UnmetRule { rule: rule.to_owned(), why }));
        }
        Ok(unmet)
    }

    /// Why no method of merging is left that this rule takes, too.
    fn method_refused(&self, demands: &[Demand], methods: &[String]) -> Option<String> {
        let list = harmless(&methods.join(" or "));
        let why = || format!("it takes {list}, which the repository or another rule does not allow");
        self.methods(demands).is_empty().then(why)
    }

    async fn conversations(&self, candidate: &MergeCandidate<'_>) -> Result<Option<(&'static str, String)>, HubError> {
        let pull = self.of_pull("Conversations", candidate).await?;
        let threads = pull.get("reviewThreads").cloned().unwrap_or_default();
        let more = threads.pointer("/pageInfo/hasNextPage").and_then(Value::as_bool) != Some(false);
        let nodes = threads.get("nodes").and_then(Value::as_array);
        let Some(nodes) = nodes.filter(|_| !more) else {
            return Err(malformed("GraphQL Conversations", "the list is not whole"));
        };
        let open = nodes.iter().filter(|thread| thread.get("isResolved").and_then(Value::as_bool) != Some(true));
        let why = || ("pull_request", "a conversation is not resolved".to_owned());
        Ok((open.count() > 0).then(why))
    }

    async fn unsigned(&self, candidate: &MergeCandidate<'_>) -> Result<Option<(&'static str, String)>, HubError> {
        let pull = self.of_pull("Signature", candidate).await?;
        let signed = pull.pointer("/commits/nodes/0/commit/signature/isValid").and_then(Value::as_bool) == Some(true);
        Ok((!signed).then(|| ("required_signatures", "the head has no signature that the hub verified".to_owned())))
    }

    async fn undeployed(
        &self,
        candidate: &MergeCandidate<'_>,
        environments: &[String],
    ) -> Result<Option<(&'static str, String)>, HubError> {
        let pull = self.of_pull("Deployments", candidate).await?;
        let all = pull.pointer("/commits/nodes/0/commit/deployments/nodes").and_then(Value::as_array);
        let all = all.ok_or_else(|| malformed("GraphQL Deployments", "a list without entries"))?;
        let text = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_str).map(str::to_owned);
        // The newest first: an older one says nothing any more.
        let done = |environment: &String| {
            let newest = all.iter().find(|one| text(one, "/environment").as_ref() == Some(environment));
            newest.is_some_and(|one| text(one, "/latestStatus/state").as_deref() == Some("SUCCESS"))
        };
        let missing = environments.iter().find(|environment| !done(environment));
        let why = |name: &String| format!("the head is not deployed to {}", harmless(name));
        Ok(missing.map(|name| ("required_deployments", why(name))))
    }

    /// A part of the pull request; its head has to be the one that is judged.
    async fn of_pull(&self, operation: &str, candidate: &MergeCandidate<'_>) -> Result<Value, HubError> {
        let what = &format!("GraphQL {operation} {}", candidate.number);
        let answer = self.demand(operation, json!({ "number": candidate.number.0 }), what).await?;
        let pull = answer.pull_request.ok_or_else(|| not_there(what, &[]))?;
        let head = pull.get("headRefOid").and_then(Value::as_str);
        if head != Some(candidate.head.as_str()) {
            return Err(malformed(what, "the head moved meanwhile"));
        }
        Ok(pull)
    }

    async fn demand(&self, operation: &str, mut variables: Value, what: &str) -> Result<OfRepository, HubError> {
        let repository = self.repository();
        variables["owner"] = repository.owner.as_str().into();
        variables["name"] = repository.name.as_str().into();
        let envelope = self.main().query(DOCUMENT, operation, variables).await?;
        let mut faults = envelope.faults();
        // Whom the hub does not show a queue learns of it when it refuses to merge past it.
        faults.retain(|fault| !fault.path.iter().any(|name| name == "mergeQueue"));
        if !faults.is_empty() {
            return Err(partial(what, &faults));
        }
        data::<Answer>(what, envelope, &faults)?.repository.ok_or_else(|| not_there(what, &faults))
    }
}

fn behind(candidate: &MergeCandidate<'_>) -> Result<Option<(&'static str, String)>, HubError> {
    match candidate.up_to_date {
        decide::snapshot::Read::Known(true) => Ok(None),
        decide::snapshot::Read::Known(false) => {
            Ok(Some(("required_status_checks", "the head is not up to date with its base branch".to_owned())))
        }
        decide::snapshot::Read::Unread(why) => Err(malformed("whether the head is up to date", why)),
    }
}
