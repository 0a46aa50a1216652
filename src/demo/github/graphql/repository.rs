//! A repository's fields.

use std::collections::BTreeMap;

use super::exec::Executor;
use super::objects::{actor, blob, organization, tree};
use super::query::{Arguments, Fault};
use super::value::{Object, Resolved, connection, connection_with, null, ready};
use crate::github::owners::PLACES;
use crate::github::queue::has_queue;
use crate::github::rest::render;
use crate::github::state::{Access, Actor, Method, Role, stamp};

impl Executor<'_> {
    /// A field of a repository.
    pub fn repository(&mut self, id: u64, name: &str, arguments: &Arguments) -> Result<Resolved, Fault> {
        match name {
            "pullRequests" => return self.pulls(id, arguments, |_| true),
            "issues" => return self.issues(id, arguments),
            "issue" => return self.issue(id, arguments),
            "pullRequest" | "issueOrPullRequest" => return self.pull_request(id, arguments),
            "branchProtectionRules" => {
                let rules = self.protection_rules(id)?;
                return connection("BranchProtectionRuleConnection", arguments, rules);
            }
            "object" => return self.object(id, arguments),
            "collaborators" => return self.collaborators(id, arguments),
            "ref" | "refs" | "defaultBranchRef" => self.need(id, "contents")?,
            _ => {}
        }
        let world = &*self.world;
        let repo = world.repo(id)?;
        let git_ref = |full: &str| Resolved::Object(Object::Ref(id, full.to_owned()));
        Ok(match name {
            "id" => format!("R_{id}").into(),
            "databaseId" => id.into(),
            "name" => repo.name.clone().into(),
            "nameWithOwner" => repo.full_name().into(),
            "owner" => organization(world, &repo.owner),
            "url" => render::page_url(world, repo).into(),
            "resourcePath" => format!("/{}", repo.full_name()).into(),
            "sshUrl" => format!("git@localhost:{}.git", repo.full_name()).into(),
            "visibility" => (if repo.private { "PRIVATE" } else { "PUBLIC" }).into(),
            "isPrivate" => repo.private.into(),
            "createdAt" => stamp(repo.created_at).into(),
            "updatedAt" | "pushedAt" => stamp(repo.pushed_at).into(),
            "hasIssuesEnabled" => true.into(),
            "mergeCommitAllowed" => repo.merge_methods.contains(&Method::Merge).into(),
            "squashMergeAllowed" => repo.merge_methods.contains(&Method::Squash).into(),
            "rebaseMergeAllowed" => repo.merge_methods.contains(&Method::Rebase).into(),
            "deleteBranchOnMerge" => repo.delete_branch_on_merge.into(),
            "viewerDefaultMergeMethod" => "MERGE".into(),
            "viewerPermission" => match self.actor {
                Actor::User(login) => world.role(repo, login).name().to_uppercase().into(),
                Actor::Installation { .. } | Actor::Anonymous | Actor::App(_) => null(),
            },
            "defaultBranchRef" => git_ref(&format!("refs/heads/{}", repo.default_branch)),
            "mergeQueue" => {
                let branch = arguments.text("branch").unwrap_or(&repo.default_branch);
                let fields = [("id", format!("MQ_{id}_{branch}").into())];
                if has_queue(repo, branch) { ready("MergeQueue", fields) } else { null() }
            }
            "ref" => {
                let wanted = arguments.text("qualifiedName").unwrap_or_default();
                let mut names =
                    [wanted.to_owned(), format!("refs/heads/{wanted}"), format!("refs/tags/{wanted}")].into_iter();
                names.find(|name| repo.refs.contains_key(name)).map_or_else(null, |name| git_ref(&name))
            }
            "refs" => {
                let prefix = arguments.text("refPrefix").unwrap_or("refs/heads/");
                let query = arguments.text("query").unwrap_or_default();
                let names =
                    repo.refs.keys().filter(|name| name.starts_with(prefix) && name[prefix.len()..].contains(query));
                connection("RefConnection", arguments, names.map(|name| (name.clone(), git_ref(name))).collect())?
            }
            "labels" => {
                let names: std::collections::BTreeSet<&String> =
                    repo.pulls.values().flat_map(|pull| &pull.labels).collect();
                let items = names.into_iter().map(|name| (name.clone(), label(&render::page_url(world, repo), name)));
                connection("LabelConnection", arguments, items.collect())?
            }
            "codeowners" => {
                let commit = repo.head(arguments.text("refName").unwrap_or(&repo.default_branch)).unwrap_or_default();
                let Some(place) = PLACES.iter().find(|place| repo.git.object(&format!("{commit}:{place}")).is_some())
                else {
                    return Ok(null());
                };
                let errors = world.owners(repo, commit).errors;
                let errors = errors.into_iter().map(|(line, kind, source)| {
                    ready(
                        "RepositoryCodeownersError",
                        [
                            ("line", line.into()),
                            ("column", 1.into()),
                            ("kind", kind.into()),
                            ("message", format!("{kind} on line {line}").into()),
                            ("source", source.into()),
                            ("path", (*place).into()),
                        ],
                    )
                });
                ready("RepositoryCodeowners", [("errors", Resolved::List(errors.collect()))])
            }
            _ if name.starts_with("is") || name.starts_with("has") || name.ends_with("Allowed") => false.into(),
            _ => null(),
        })
    }

    /// A blob, tree or commit by expression or id.
    fn object(&mut self, id: u64, arguments: &Arguments) -> Result<Resolved, Fault> {
        self.need(id, "contents")?;
        let repo = self.world.repo(id)?;
        let wanted = arguments.text("oid").or(arguments.text("expression")).unwrap_or_default();
        let (base, path) = wanted.split_once(':').map_or((wanted, None), |(base, path)| (base, Some(path)));
        let base = repo.head(base).unwrap_or(base);
        let name = path.map_or_else(|| base.to_owned(), |path| format!("{base}:{path}"));
        Ok(match repo.git.object(&name) {
            Some((kind, sha)) if kind == "blob" => blob(id, repo, &sha),
            Some((kind, sha)) if kind == "tree" => tree(id, repo, &sha, path.unwrap_or_default())?,
            Some((kind, sha)) if kind == "commit" => Resolved::Object(Object::Commit(id, sha)),
            Some(_) | None => null(),
        })
    }

    /// Collaborators are told to those who may push.
    fn collaborators(&mut self, id: u64, arguments: &Arguments) -> Result<Resolved, Fault> {
        if !self.world.may(self.actor, id, "contents", Access::Write, Role::Write) {
            return Err(Fault::new("FORBIDDEN", "Must have push access to view repository collaborators."));
        }
        let world = &*self.world;
        let repo = world.repo(id)?;
        let people = repo.roles.keys().filter(|name| !name.contains('/'));
        let wanted = arguments.text("login");
        let people = people.filter(|login| wanted.is_none_or(|wanted| wanted == *login));
        let items = people.map(|login| (login.clone(), actor(world, login))).collect();
        connection_with("RepositoryCollaboratorConnection", arguments, items, &[], |login| {
            BTreeMap::from([("permission", world.role(repo, login).name().to_uppercase().into())])
        })
    }

    /// Branch protection, for those who may administer; an App without the permission is refused.
    pub fn protection_rules(&mut self, id: u64) -> Result<Vec<(String, Resolved)>, Fault> {
        if !self.world.may(self.actor, id, "administration", Access::Read, Role::Write) {
            return match self.actor {
                Actor::Installation { .. } => Err(Fault::new("FORBIDDEN", "Resource not accessible by integration")),
                Actor::User(_) | Actor::Anonymous | Actor::App(_) => Ok(Vec::new()),
            };
        }
        let repo = self.world.repo(id)?;
        let rules = repo.protections.iter().map(|(pattern, rule)| {
            let contexts = rule.required_checks.iter().map(|name| name.clone().into()).collect();
            let fields = [
                ("id", format!("BPR_{pattern}").into()),
                ("pattern", pattern.clone().into()),
                ("requiresApprovingReviews", rule.reviews().into()),
                ("requiredApprovingReviewCount", rule.required_approving_review_count.into()),
                ("requiresCodeOwnerReviews", rule.require_code_owner_reviews.into()),
                ("dismissesStaleReviews", rule.dismiss_stale.into()),
                ("requiresStatusChecks", (!rule.required_checks.is_empty()).into()),
                ("requiresStrictStatusChecks", rule.strict.into()),
                ("requiredStatusCheckContexts", Resolved::List(contexts)),
                ("isAdminEnforced", rule.enforce_admins.into()),
            ];
            (pattern.clone(), ready("BranchProtectionRule", fields))
        });
        Ok(rules.collect())
    }
}

/// A label.
pub fn label(page: &str, name: &str) -> Resolved {
    ready(
        "Label",
        [
            ("id", format!("LA_{name}").into()),
            ("name", name.into()),
            ("color", "ededed".into()),
            ("url", format!("{page}/labels/{name}").into()),
        ],
    )
}
