//! The root, accounts, teams, and git's own objects.

use serde_json::{Value, json};

use super::exec::Executor;
use super::query::{Arguments, Fault};
use super::schema::SCHEMA;
use super::value::{Object, Resolved, connection, null, ready};
use crate::github::budget::budget;
use crate::github::git;
use crate::github::rest::render;
use crate::github::signature::{Verification, login_of, verification};
use crate::github::state::{Access, Actor, Comment, Kind, Role, World, stamp};

/// An account as GraphQL shows it. An App's own login has no `[bot]` here, as at the hub.
pub fn actor(world: &World, login: &str) -> Resolved {
    let Some(account) = world.account(login) else { return null() };
    let bare = account.login.trim_end_matches("[bot]");
    let page = if account.kind == Kind::Bot { format!("/apps/{bare}") } else { format!("/{bare}") };
    ready(
        account.kind.name(),
        [
            ("id", format!("U_{}", account.id).into()),
            ("databaseId", account.id.into()),
            ("login", bare.into()),
            ("name", bare.into()),
            ("email", "".into()),
            ("url", format!("{}{page}", world.url).into()),
            ("resourcePath", page.into()),
            ("avatarUrl", format!("{}/avatars/u/{}", world.url, account.id).into()),
        ],
    )
}

/// Who asks. An App sees itself here with its `[bot]`, unlike as an author: a trap that the hub has too.
fn viewer(world: &World, who: &Actor) -> Resolved {
    let login = world.login(who);
    match actor(world, &login) {
        Resolved::Object(Object::Ready(_, mut fields)) => {
            fields.insert("login", login.into());
            Resolved::Object(Object::Ready("User", fields))
        }
        other @ (Resolved::Leaf(_) | Resolved::Object(_) | Resolved::List(_)) => other,
    }
}

impl Executor<'_> {
    /// A field of the root.
    pub fn root(&mut self, name: &str, arguments: &Arguments) -> Result<Resolved, Fault> {
        let text = |key: &str| arguments.text(key).unwrap_or_default();
        match name {
            "viewer" => Ok(viewer(self.world, self.actor)),
            "rateLimit" => {
                let rate = budget(self.world, self.actor);
                let reset = jiff::Timestamp::from_second(rate["reset"].as_i64().unwrap_or(0)).unwrap_or_default();
                Ok(ready(
                    "RateLimit",
                    [
                        ("limit", rate["limit"].clone().into()),
                        ("used", rate["used"].clone().into()),
                        ("remaining", rate["remaining"].clone().into()),
                        ("cost", 1.into()),
                        ("nodeCount", 1.into()),
                        ("resetAt", stamp(reset).into()),
                    ],
                ))
            }
            "repository" => {
                let (owner, name) = (text("owner"), text("name"));
                let lost = self.world.faults.lose_read();
                let found = self.world.find_following(owner, name);
                let found = found.filter(|id| !lost && self.sees(*id, "metadata"));
                let missing = || {
                    Fault::new(
                        "NOT_FOUND",
                        format!("Could not resolve to a Repository with the name '{owner}/{name}'."),
                    )
                };
                Ok(Resolved::Object(Object::Repository(found.ok_or_else(missing)?)))
            }
            "user" | "organization" | "repositoryOwner" => {
                let login = text("login");
                let found = self.world.account(login).filter(|account| match name {
                    "user" => account.kind == Kind::User,
                    "organization" => account.kind == Kind::Organization,
                    _ => true,
                });
                let Some(found) = found else {
                    let what = if name == "user" { "a User" } else { "an Organization" };
                    let message = format!("Could not resolve to {what} with the login of '{login}'.");
                    return Err(Fault::new("NOT_FOUND", message));
                };
                Ok(organization(self.world, &found.login))
            }
            "node" => self.node(text("id")),
            "nodes" => {
                let ids = arguments.texts("ids").unwrap_or_default();
                ids.into_iter().map(|id| self.node(id)).collect::<Result<_, _>>().map(Resolved::List)
            }
            "meta" => Ok(ready("GitHubMetadata", [("isPasswordAuthenticationVerifiable", false.into())])),
            "__type" => Ok(described(text("name"))),
            _ => Ok(null()),
        }
    }

    /// Whether the actor may read this kind of thing in a repository.
    pub fn sees(&self, id: u64, permission: &str) -> bool {
        self.world.may(self.actor, id, permission, Access::Read, Role::Read)
    }

    /// Refuses where an App's token lacks a permission.
    pub fn need(&self, id: u64, permission: &str) -> Result<(), Fault> {
        Ok(self.world.need(self.actor, id, permission, Access::Read, Role::Read)?)
    }

    /// What has this id in the whole graph.
    pub fn node(&mut self, id: &str) -> Result<Resolved, Fault> {
        let missing = || Fault::new("NOT_FOUND", format!("Could not resolve to a node with the global id of '{id}'"));
        let (kind, rest) = id.split_once('_').ok_or_else(missing)?;
        let number: Option<u64> = rest.parse().ok();
        let found = match (kind, number) {
            ("R", Some(number)) if self.world.repositories.contains_key(&number) && self.sees(number, "metadata") => {
                Some(Resolved::Object(Object::Repository(number)))
            }
            ("PR", Some(number)) => {
                let mut repos = self.world.repositories.values().filter(|repo| self.sees(repo.id, "pull_requests"));
                repos.find_map(|repo| {
                    let pull = repo.pulls.values().find(|pull| pull.id == number)?;
                    Some(Resolved::Object(Object::Pull(repo.id, pull.number)))
                })
            }
            ("U", Some(number)) => {
                let account = self.world.accounts.values().find(|account| account.id == number);
                account.map(|account| organization(self.world, &account.login))
            }
            _ => None,
        };
        found.ok_or_else(missing)
    }

    /// A field of a team.
    pub fn team(&mut self, org: &str, slug: &str, name: &str, arguments: &Arguments) -> Result<Resolved, Fault> {
        let members = self.world.teams.get(&(org.to_owned(), slug.to_owned())).cloned().unwrap_or_default();
        match name {
            "id" => Ok(format!("T_{org}_{slug}").into()),
            "slug" | "name" => Ok(slug.into()),
            "combinedSlug" => Ok(format!("{org}/{slug}").into()),
            "organization" => Ok(organization(self.world, org)),
            "members" => {
                let items = members.iter().map(|login| (login.clone(), actor(self.world, login))).collect();
                connection("TeamMemberConnection", arguments, items)
            }
            _ => Ok(null()),
        }
    }

    /// A field of an object that carries its fields, but needs more than they hold.
    pub fn team_of(&mut self, org: &str, slug: &str) -> Resolved {
        let may = match self.actor {
            Actor::Installation { permissions, .. } => permissions.contains_key("members"),
            Actor::User(_) => true,
            Actor::Anonymous | Actor::App(_) => false,
        };
        let exists = self.world.teams.contains_key(&(org.to_owned(), slug.to_owned()));
        if may && exists { Resolved::Object(Object::Team(org.to_owned(), slug.to_owned())) } else { null() }
    }

    /// A field of a ref.
    pub fn git_ref(&mut self, id: u64, full: &str, name: &str, arguments: &Arguments) -> Result<Resolved, Fault> {
        let repo = self.world.repo(id)?;
        let (prefix, short) = ["refs/heads/", "refs/tags/"]
            .iter()
            .find_map(|prefix| full.strip_prefix(prefix).map(|short| (*prefix, short)))
            .unwrap_or(("refs/", full));
        match name {
            "id" => Ok(format!("REF_{full}").into()),
            "name" => Ok(short.into()),
            "prefix" => Ok(prefix.into()),
            "repository" => Ok(Resolved::Object(Object::Repository(id))),
            "target" => Ok(match repo.refs.get(full) {
                Some(sha) => Resolved::Object(Object::Commit(id, sha.clone())),
                None => null(),
            }),
            "branchProtectionRule" => {
                let rules = self.protection_rules(id)?;
                Ok(rules.into_iter().find(|(key, _)| key == short).map_or_else(null, |(_, rule)| rule))
            }
            "refUpdateRule" => Ok(repo.protections.get(short).map_or_else(null, |rule| {
                let contexts = rule.required_checks.iter().map(|name| name.clone().into()).collect();
                ready(
                    "RefUpdateRule",
                    [
                        ("requiredApprovingReviewCount", rule.required_approving_review_count.into()),
                        ("requiredStatusCheckContexts", Resolved::List(contexts)),
                        ("requiresCodeOwnerReviews", rule.require_code_owner_reviews.into()),
                        ("requiresConversationResolution", rule.conversations.into()),
                        ("requiresLinearHistory", false.into()),
                        ("requiresSignatures", rule.signatures.into()),
                        ("viewerCanPush", false.into()),
                    ],
                )
            })),
            "associatedPullRequests" => {
                let short = short.to_owned();
                self.pulls(id, arguments, |pull| pull.is_of(&short))
            }
            _ => Ok(null()),
        }
    }

    /// A field of a commit.
    pub fn commit(&mut self, id: u64, sha: &str, name: &str, arguments: &Arguments) -> Result<Resolved, Fault> {
        let world = &mut *self.world;
        let repo = world.repo(id)?;
        match name {
            "id" => return Ok(format!("C_{sha}").into()),
            "oid" => return Ok(sha.into()),
            "abbreviatedOid" => return Ok(sha[..7].into()),
            "url" | "commitUrl" => return Ok(format!("{}/commit/{sha}", render::page_url(world, repo)).into()),
            "resourcePath" => return Ok(format!("/{}/commit/{sha}", repo.full_name()).into()),
            "repository" => return Ok(Resolved::Object(Object::Repository(id))),
            "statusCheckRollup" | "status" | "checkSuites" => return self.commit_checks(id, sha, name, arguments),
            "deployments" => return self.commit_deployments(id, sha, arguments),
            "associatedPullRequests" => {
                let sha = sha.to_owned();
                return self.pulls(id, arguments, move |pull| {
                    pull.head_sha == sha || pull.merged.as_ref().is_some_and(|merged| merged.sha == sha)
                });
            }
            _ => {}
        }
        let commit = repo.git.commit(sha)?;
        let first = commit.parents.first().map_or(git::EMPTY_TREE, String::as_str);
        let person = |(name, email, at): &(String, String, jiff::Timestamp)| {
            let user = login_of(world, email).map_or_else(null, |login| actor(world, &login));
            ready(
                "GitActor",
                [
                    ("name", name.clone().into()),
                    ("email", email.clone().into()),
                    ("date", stamp(*at).into()),
                    ("user", user),
                ],
            )
        };
        let headline = commit.message.lines().next().unwrap_or_default().to_owned();
        let sum = |of: fn(&git::Change) -> u64| -> Result<Resolved, Fault> {
            Ok(repo.git.changes(first, sha)?.iter().map(of).sum::<u64>().into())
        };
        Ok(match name {
            "message" => commit.message.into(),
            "signature" => match verification(&repo.git, sha)? {
                Verification { signature: Some(_), verified, .. } => {
                    ready("GitSignature", [("isValid", verified.into())])
                }
                Verification { signature: None, .. } => null(),
            },
            "messageHeadline" => headline.into(),
            "messageBody" => commit.message[headline.len()..].trim_start().into(),
            "authoredDate" => stamp(commit.author.2).into(),
            "committedDate" => stamp(commit.committer.2).into(),
            "author" => person(&commit.author),
            "committer" => person(&commit.committer),
            "authors" => connection("GitActorConnection", arguments, vec![("0".to_owned(), person(&commit.author))])?,
            "additions" => sum(|change| change.additions)?,
            "deletions" => sum(|change| change.deletions)?,
            "changedFilesIfAvailable" => repo.git.changes(first, sha)?.len().into(),
            "tree" => tree(id, repo, &commit.tree, "")?,
            "file" => {
                let path = arguments.text("path").unwrap_or_default();
                let (folder, leaf) = path.rsplit_once('/').unwrap_or(("", path));
                let entries = repo.git.tree(&format!("{sha}:{folder}"), false).unwrap_or_default();
                let found = entries.iter().find(|entry| entry.path == leaf);
                found.map_or_else(null, |found| entry(id, repo, found, folder))
            }
            "parents" => connection("CommitConnection", arguments, commits(id, commit.parents))?,
            "history" => {
                let path = arguments.text("path");
                let log = repo.git.log(&[sha, "-1000"])?;
                let touches = |commit: &git::Commit| {
                    let Some(path) = path else { return true };
                    let first = commit.parents.first().map_or(git::EMPTY_TREE, String::as_str);
                    let changes = repo.git.changes(first, &commit.sha).unwrap_or_default();
                    changes.iter().any(|change| change.path == path || change.path.starts_with(&format!("{path}/")))
                };
                let shas = log.into_iter().filter(touches).map(|commit| commit.sha).collect();
                connection("CommitHistoryConnection", arguments, commits(id, shas))?
            }
            _ => null(),
        })
    }
}

fn commits(id: u64, shas: Vec<String>) -> Vec<(String, Resolved)> {
    shas.into_iter().map(|sha| (sha.clone(), Resolved::Object(Object::Commit(id, sha)))).collect()
}

/// An account, where an organization can resolve its teams.
pub fn organization(world: &World, login: &str) -> Resolved {
    match actor(world, login) {
        Resolved::Object(Object::Ready("Organization", mut fields)) => {
            fields.insert("__org", login.into());
            Resolved::Object(Object::Ready("Organization", fields))
        }
        other @ (Resolved::Leaf(_) | Resolved::Object(_) | Resolved::List(_)) => other,
    }
}

/// A blob.
pub fn blob(id: u64, repo: &crate::github::state::Repository, sha: &str) -> Resolved {
    let bytes = repo.git.blob(sha).unwrap_or_default();
    let text = String::from_utf8(bytes.clone()).ok().filter(|text| !text.contains('\0'));
    ready(
        "Blob",
        [
            ("id", format!("B_{sha}").into()),
            ("oid", sha.into()),
            ("abbreviatedOid", sha[..7].into()),
            ("repository", Resolved::Object(Object::Repository(id))),
            ("byteSize", bytes.len().into()),
            ("isBinary", text.is_none().into()),
            ("isTruncated", (bytes.len() > BLOB_LIMIT).into()),
            ("text", text.map(|text| text.chars().take(BLOB_LIMIT).collect::<String>()).into()),
        ],
    )
}

/// GitHub cuts the text of a blob here, and says so.
const BLOB_LIMIT: usize = 512_000;

/// A tree with its entries.
pub fn tree(id: u64, repo: &crate::github::state::Repository, sha: &str, folder: &str) -> Result<Resolved, Fault> {
    let entries = repo.git.tree(sha, false)?;
    let entries = entries.iter().map(|found| entry(id, repo, found, folder)).collect();
    Ok(ready(
        "Tree",
        [
            ("id", format!("T_{sha}").into()),
            ("oid", sha.into()),
            ("abbreviatedOid", sha[..7].into()),
            ("repository", Resolved::Object(Object::Repository(id))),
            ("entries", Resolved::List(entries)),
        ],
    ))
}

fn entry(id: u64, repo: &crate::github::state::Repository, found: &git::TreeEntry, folder: &str) -> Resolved {
    let path = if folder.is_empty() { found.path.clone() } else { format!("{folder}/{}", found.path) };
    let object = match found.kind.as_str() {
        "blob" => blob(id, repo, &found.sha),
        // Deeper levels are read when asked for, through their own expression; here one level is enough.
        "tree" if path.matches('/').count() < 8 => tree(id, repo, &found.sha, &path).unwrap_or_else(|_| null()),
        _ => null(),
    };
    let extension = found.path.rsplit_once('.').map_or(String::new(), |(_, end)| format!(".{end}"));
    ready(
        "TreeEntry",
        [
            ("name", found.path.clone().into()),
            ("path", path.into()),
            ("mode", u32::from_str_radix(&found.mode, 8).unwrap_or(0).into()),
            ("type", found.kind.clone().into()),
            ("oid", found.sha.clone().into()),
            ("size", found.size.unwrap_or(0).into()),
            ("extension", extension.into()),
            ("object", object),
        ],
    )
}

/// What `__type` says of one of our types; `gh` asks it which fields a server has.
fn described(name: &str) -> Resolved {
    let Some(fields) = SCHEMA.fields(name) else { return null() };
    let list = fields.map(|(field, arguments)| {
        let arguments: Vec<Value> = arguments.iter().map(|argument| json!({"name": argument})).collect();
        let arguments =
            arguments.into_iter().map(|value| ready("__InputValue", [("name", value["name"].clone().into())]));
        ready("__Field", [("name", field.into()), ("args", Resolved::List(arguments.collect()))])
    });
    let kind = if SCHEMA.is_abstract(name) { "INTERFACE" } else { "OBJECT" };
    ready("__Type", [("name", name.into()), ("kind", kind.into()), ("fields", Resolved::List(list.collect()))])
}

/// Reactions of one kind; there is a group of each kind, be it empty.
pub fn reactions(comment: &Comment, (content, name): (&str, &str), me: &str) -> Resolved {
    let of_kind: Vec<_> = comment.reactions.iter().filter(|one| one.content == content).collect();
    let count = |kind| ready(kind, [("totalCount", of_kind.len().into())]);
    ready(
        "ReactionGroup",
        [
            ("content", name.into()),
            ("createdAt", of_kind.first().map(|one| stamp(one.at)).into()),
            ("users", count("ReactingUserConnection")),
            ("reactors", count("ReactorConnection")),
            ("viewerHasReacted", of_kind.iter().any(|one| one.by == me).into()),
        ],
    )
}
