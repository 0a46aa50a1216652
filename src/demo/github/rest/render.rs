//! The JSON that GitHub's REST answers and webhooks carry. Looks only, changes nothing.

use serde_json::{Map, Value, json};

use crate::github::state::{
    App, Comment, Installation, Issue, Kind, Method, Pull, REACTIONS, Repository, Review, ReviewState, World, stamp,
};

/// A person, an App's account or an organization.
pub fn user(world: &World, login: &str) -> Value {
    let (id, kind) = world.account(login).map_or((10_137, Kind::User), |account| (account.id, account.kind));
    let api = format!("{}/users/{}", world.api(), login.replace('[', "%5B").replace(']', "%5D"));
    let page = login.strip_suffix("[bot]").map_or_else(|| login.to_owned(), |slug| format!("apps/{slug}"));
    json!({
        "login": login, "id": id, "node_id": format!("U_{id}"), "gravatar_id": "", "type": kind.name(),
        "user_view_type": "public", "site_admin": false, "url": api,
        "avatar_url": format!("{}/avatars/u/{id}", world.url), "html_url": format!("{}/{page}", world.url),
        "followers_url": format!("{api}/followers"), "following_url": format!("{api}/following{{/other_user}}"),
        "gists_url": format!("{api}/gists{{/gist_id}}"), "starred_url": format!("{api}/starred{{/owner}}{{/repo}}"),
        "subscriptions_url": format!("{api}/subscriptions"), "organizations_url": format!("{api}/orgs"),
        "repos_url": format!("{api}/repos"), "events_url": format!("{api}/events{{/privacy}}"),
        "received_events_url": format!("{api}/received_events"),
    })
}

/// An account as it is shown alone.
pub fn user_full(world: &World, login: &str) -> Value {
    let mut value = user(world, login);
    let since = world.started_at;
    let more = json!({
        "name": login, "company": null, "blog": "", "location": null, "email": null, "hireable": null, "bio": null,
        "twitter_username": null, "public_repos": 0, "public_gists": 0, "followers": 0, "following": 0,
        "created_at": stamp(since), "updated_at": stamp(since),
    });
    extend(&mut value, more);
    value
}

/// URLs of a repository by their key, as a list: GitHub sends all of them with each repository.
const REPOSITORY_URLS: &[(&str, &str)] = &[
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
];

/// `http://host/api/v3/repos/owner/name`.
pub fn repository_url(world: &World, repository: &Repository) -> String {
    format!("{}/repos/{}", world.api(), repository.full_name())
}

/// `http://host/owner/name`.
pub fn page_url(world: &World, repository: &Repository) -> String {
    format!("{}/{}", world.url, repository.full_name())
}

/// A repository.
pub fn repository(world: &World, repository: &Repository) -> Value {
    let (api, page) = (repository_url(world, repository), page_url(world, repository));
    let open = repository.pulls.values().filter(|pull| pull.is_open()).count();
    let mut map: Map<String, Value> =
        REPOSITORY_URLS.iter().map(|(key, tail)| ((*key).to_owned(), format!("{api}{tail}").into())).collect();
    let rest = json!({
        "id": repository.id, "node_id": format!("R_{}", repository.id), "name": repository.name,
        "full_name": repository.full_name(), "private": repository.private,
        "visibility": if repository.private { "private" } else { "public" },
        "owner": user(world, &repository.owner), "html_url": page, "url": api, "description": null, "fork": false,
        "created_at": stamp(repository.created_at), "updated_at": stamp(repository.pushed_at),
        "pushed_at": stamp(repository.pushed_at), "clone_url": format!("{page}.git"), "svn_url": page,
        "git_url": format!("{}.git", page.replacen("http:", "git:", 1)),
        "ssh_url": format!("git@localhost:{}.git", repository.full_name()),
    });
    let more = json!({
        "homepage": null, "size": 1,
        "stargazers_count": 0, "watchers_count": 0, "watchers": 0, "language": null, "has_issues": true,
        "has_projects": false, "has_downloads": true, "has_wiki": false, "has_pages": false, "has_discussions": false,
        "forks_count": 0, "forks": 0, "mirror_url": null, "archived": repository.archived, "disabled": false, "license": null,
        "open_issues_count": open, "open_issues": open, "allow_forking": true, "is_template": false,
        "web_commit_signoff_required": false, "topics": [], "default_branch": repository.default_branch,
    });
    let mut value = Value::Object(std::mem::take(&mut map));
    extend(&mut value, rest);
    extend(&mut value, more);
    value
}

/// Takes the fields of the second object into the first.
fn extend(value: &mut Value, more: Value) {
    if let (Value::Object(map), Value::Object(more)) = (value, more) {
        map.extend(more);
    }
}

/// A repository with what only its settings show.
pub fn repository_full(world: &World, one: &Repository) -> Value {
    let mut value = repository(world, one);
    if let Value::Object(map) = &mut value {
        for (key, allowed) in [
            ("allow_merge_commit", one.merge_methods.contains(&Method::Merge)),
            ("allow_squash_merge", one.merge_methods.contains(&Method::Squash)),
            ("allow_rebase_merge", one.merge_methods.contains(&Method::Rebase)),
            ("allow_auto_merge", false),
            ("allow_update_branch", false),
            ("delete_branch_on_merge", one.delete_branch_on_merge),
        ] {
            map.insert(key.to_owned(), allowed.into());
        }
        map.insert("network_count".to_owned(), 0.into());
        map.insert("subscribers_count".to_owned(), 0.into());
    }
    value
}

/// A team as other things name it.
fn team(world: &World, org: &str, slug: &str) -> Value {
    let id = slug.bytes().fold(5_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) >> 20;
    let api = format!("{}/orgs/{org}/teams/{slug}", world.api());
    json!({
        "id": id, "node_id": format!("T_{id}"), "slug": slug, "name": slug, "description": null, "privacy": "closed",
        "notification_setting": "notifications_enabled", "permission": "push", "url": api, "parent": null,
        "type": "organization",
        "html_url": format!("{}/orgs/{org}/teams/{slug}", world.url), "repositories_url": format!("{api}/repos"),
        "members_url": format!("{api}/members{{/member}}"),
    })
}

/// A label.
pub fn label(world: &World, repository: &Repository, name: &str) -> Value {
    let id = name.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) >> 20;
    json!({
        "id": id, "node_id": format!("LA_{id}"), "name": name, "color": "ededed", "default": false,
        "description": null, "url": format!("{}/labels/{name}", repository_url(world, repository)),
    })
}

/// A pull request as lists show it.
pub fn pull(world: &World, repository: &Repository, pull: &Pull) -> Value {
    let api = repository_url(world, repository);
    let (one, issue) = (format!("{api}/pulls/{}", pull.number), format!("{api}/issues/{}", pull.number));
    let page = format!("{}/pull/{}", page_url(world, repository), pull.number);
    let side = |owner: &str, repo: Value, name: &str, sha: &str| {
        json!({
            "label": format!("{owner}:{name}"), "ref": name, "sha": sha, "user": user(world, owner), "repo": repo,
        })
    };
    let here = || self::repository(world, repository);
    let head = match pull.fork.as_deref().and_then(|fork| fork.split_once('/')) {
        Some((owner, name)) => side(owner, fork(world, here(), owner, name), &pull.head, &pull.head_sha),
        None => side(&repository.owner, here(), &pull.head, &pull.head_sha),
    };
    let commit = match &pull.merged {
        Some(merged) => Some(merged.sha.clone()),
        None => test_merge(repository, pull),
    };
    let link = |href: &str| json!({"href": href});
    let assignees: Vec<Value> = pull.assignees.iter().map(|login| user(world, login)).collect();
    let mut value = json!({
        "url": one, "id": pull.id, "node_id": format!("PR_{}", pull.id), "html_url": page,
        "diff_url": format!("{page}.diff"), "patch_url": format!("{page}.patch"), "issue_url": issue,
        "commits_url": format!("{one}/commits"), "review_comments_url": format!("{one}/comments"),
        "review_comment_url": format!("{api}/pulls/comments{{/number}}"), "comments_url": format!("{issue}/comments"),
        "statuses_url": format!("{api}/statuses/{}", pull.head_sha), "number": pull.number,
        "state": if pull.is_open() { "open" } else { "closed" }, "locked": false, "active_lock_reason": null,
        "title": pull.title, "body": if pull.body.is_empty() { Value::Null } else { pull.body.clone().into() },
        "user": user(world, &pull.author), "author_association": association(world, repository, &pull.author),
        "created_at": stamp(pull.created_at), "updated_at": stamp(pull.updated_at),
        "closed_at": pull.closed.as_ref().map(|(at, _)| stamp(*at)),
    });
    let more = json!({
        "merged_at": pull.merged.as_ref().map(|merged| stamp(merged.at)), "merge_commit_sha": commit,
        "assignee": assignees.first(), "assignees": assignees, "milestone": null, "auto_merge": pull.auto_merge.as_ref().map(|(_, login)| {
            json!({"enabled_by": user(world, login), "merge_method": "merge", "commit_title": null, "commit_message": null})
        }), "draft": pull.draft,
        "requested_reviewers": pull.requested.iter().map(|login| user(world, login)).collect::<Vec<_>>(),
        "requested_teams": pull.requested_teams.iter().map(|slug| team(world, &repository.owner, slug)).collect::<Vec<_>>(),
        "labels": pull.labels.iter().map(|name| label(world, repository, name)).collect::<Vec<_>>(),
        "head": head, "base": side(&repository.owner, here(), &pull.base, &pull.base_sha),
        "_links": {
            "self": link(&one), "html": link(&page), "issue": link(&issue),
            "comments": link(&format!("{issue}/comments")), "review_comments": link(&format!("{one}/comments")),
            "review_comment": link(&format!("{api}/pulls/comments{{/number}}")),
            "commits": link(&format!("{one}/commits")),
            "statuses": link(&format!("{api}/statuses/{}", pull.head_sha)),
        },
    });
    extend(&mut value, more);
    value
}

/// The fork of a repository, which is none of this world's.
fn fork(world: &World, mut of: Value, owner: &str, name: &str) -> Value {
    let own = json!({"full_name": format!("{owner}/{name}"), "name": name, "owner": user(world, owner), "fork": true});
    extend(&mut of, own);
    of
}

/// Before a merge `merge_commit_sha` names a test merge, not the commit that will be: a trap of the
/// real hub that this one keeps. It is made up, as the test merge itself is never fetched.
fn test_merge(repository: &Repository, pull: &Pull) -> Option<String> {
    if !pull.is_open() {
        return None;
    }
    let tip = repository.head(&pull.base)?;
    let seen = format!("{tip}{}", pull.head_sha);
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, seen.as_bytes());
    Some(crate::github::auth::hex(digest.as_ref()))
}

/// A pull request as it is shown alone. `mergeable` is none while the hub has not worked it out.
pub fn pull_full(world: &World, one: &Repository, it: &Pull, standing: &crate::github::standing::Standing) -> Value {
    let mut value = pull(world, one, it);
    let changes = &standing.changes;
    let comments = one.comments.values().filter(|comment| comment.number == it.number).count();
    let rest = json!({
        "merged": it.merged.is_some(), "mergeable": standing.mergeable, "rebaseable": standing.mergeable,
        "mergeable_state": standing.state.to_lowercase(),
        "merged_by": it.merged.as_ref().map(|merged| user(world, &merged.by)),
        "comments": comments, "review_comments": 0, "maintainer_can_modify": false, "commits": standing.commits,
        "additions": changes.iter().map(|change| change.additions).sum::<u64>(),
        "deletions": changes.iter().map(|change| change.deletions).sum::<u64>(), "changed_files": changes.len(),
    });
    extend(&mut value, rest);
    // A list names the parent of a team, a single one does not.
    for team in value["requested_teams"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        team.remove("parent");
    }
    value
}

/// A pull request in the form of an issue.
pub fn issue(world: &World, repo: &Repository, pull: &Pull) -> Value {
    let api = format!("{}/issues/{}", repository_url(world, repo), pull.number);
    let page = format!("{}/pull/{}", page_url(world, repo), pull.number);
    let comments = repo.comments.values().filter(|comment| comment.number == pull.number).count();
    let assignees: Vec<Value> = pull.assignees.iter().map(|login| user(world, login)).collect();
    json!({
        "id": pull.id, "node_id": format!("PR_{}", pull.id), "url": api, "html_url": page, "number": pull.number,
        "repository_url": repository_url(world, repo), "labels_url": format!("{api}/labels{{/name}}"),
        "comments_url": format!("{api}/comments"), "events_url": format!("{api}/events"),
        "state": if pull.is_open() { "open" } else { "closed" }, "state_reason": null, "title": pull.title,
        "body": pull.body, "user": user(world, &pull.author), "locked": false, "active_lock_reason": null,
        "labels": pull.labels.iter().map(|name| label(world, repo, name)).collect::<Vec<_>>(),
        "assignee": assignees.first(), "assignees": assignees, "milestone": null, "comments": comments, "draft": pull.draft,
        "created_at": stamp(pull.created_at), "updated_at": stamp(pull.updated_at),
        "closed_at": pull.closed.as_ref().map(|(at, _)| stamp(*at)),
        "author_association": association(world, repo, &pull.author),
        "pull_request": {
            "url": format!("{}/pulls/{}", repository_url(world, repo), pull.number), "html_url": page,
            "diff_url": format!("{page}.diff"), "patch_url": format!("{page}.patch"),
            "merged_at": pull.merged.as_ref().map(|merged| stamp(merged.at)),
        },
    })
}

/// An issue that is no pull request.
pub fn plain_issue(world: &World, repo: &Repository, issue: &Issue) -> Value {
    let api = format!("{}/issues/{}", repository_url(world, repo), issue.number);
    let comments = repo.comments.values().filter(|comment| comment.number == issue.number).count();
    json!({
        "id": issue.id, "node_id": format!("I_{}", issue.id), "url": api,
        "html_url": format!("{}/issues/{}", page_url(world, repo), issue.number), "number": issue.number,
        "repository_url": repository_url(world, repo), "labels_url": format!("{api}/labels{{/name}}"),
        "comments_url": format!("{api}/comments"), "events_url": format!("{api}/events"),
        "state": if issue.closed.is_none() { "open" } else { "closed" },
        "state_reason": issue.closed.as_ref().map(|_| "completed"), "title": issue.title, "body": issue.body,
        "user": user(world, &issue.author), "locked": false, "active_lock_reason": null, "labels": [],
        "assignee": null, "assignees": [], "milestone": null, "comments": comments,
        "created_at": stamp(issue.created_at), "updated_at": stamp(issue.updated_at),
        "closed_at": issue.closed.as_ref().map(|(at, _)| stamp(*at)),
        "author_association": association(world, repo, &issue.author),
    })
}

/// `author_association`, which says less than it seems to.
pub fn association(world: &World, repository: &Repository, login: &str) -> &'static str {
    use crate::github::state::Role;
    if repository.owner == login {
        return "OWNER";
    }
    let member = world.teams.iter().any(|((org, _), people)| *org == repository.owner && people.contains(login));
    match world.role(repository, login) {
        _ if member => "MEMBER",
        Role::None | Role::Read => "NONE",
        Role::Triage | Role::Write | Role::Maintain | Role::Admin => "COLLABORATOR",
    }
}

/// A review. REST says `DISMISSED` where a review was taken back.
pub fn review(world: &World, repository: &Repository, pull: &Pull, review: &Review) -> Value {
    let api = format!("{}/pulls/{}", repository_url(world, repository), pull.number);
    let page = format!("{}/pull/{}#review-{}", page_url(world, repository), pull.number, review.id);
    let state = match review.state {
        ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Commented | ReviewState::Dismissed => {
            review.state.name()
        }
    };
    json!({
        "id": review.id, "node_id": format!("PRR_{}", review.id), "user": user(world, &review.author),
        "body": review.body, "state": state, "html_url": page, "pull_request_url": api,
        "author_association": association(world, repository, &review.author),
        "_links": {"html": {"href": page}, "pull_request": {"href": api}},
        "submitted_at": stamp(review.at), "commit_id": review.commit,
    })
}

/// A comment of the conversation.
pub fn comment(world: &World, repository: &Repository, comment: &Comment) -> Value {
    let api = repository_url(world, repository);
    json!({
        "url": format!("{api}/issues/comments/{}", comment.id), "id": comment.id,
        "node_id": format!("IC_{}", comment.id), "issue_url": format!("{api}/issues/{}", comment.number),
        "html_url": format!("{}/pull/{}#comment-{}", page_url(world, repository), comment.number, comment.id),
        "user": user(world, &comment.author), "created_at": stamp(comment.created_at),
        "updated_at": stamp(comment.updated_at), "body": comment.body, "performed_via_github_app": null,
        "author_association": association(world, repository, &comment.author),
        "reactions": reactions(&format!("{api}/issues/comments/{}/reactions", comment.id), comment),
    })
}

/// How many reacted to a comment, and how.
fn reactions(url: &str, comment: &Comment) -> Value {
    let mut counts = json!({ "url": url, "total_count": comment.reactions.len() });
    for (content, _) in REACTIONS {
        counts[content] = comment.reactions.iter().filter(|one| one.content == content).count().into();
    }
    counts
}

/// An App.
pub fn app(world: &World, app: &App) -> Value {
    let permissions: Map<String, Value> =
        app.permissions.iter().map(|(name, access)| (name.clone(), access.name().into())).collect();
    let first = app.installations.get(&app.first).map(|first| first.account.clone());
    let owner = Some(app.owner.clone()).filter(|owner| !owner.is_empty()).or(first).unwrap_or_else(|| app.login());
    json!({
        "id": app.id, "node_id": format!("A_{}", app.id), "slug": app.slug, "client_id": app.client_id(),
        "owner": user(world, &owner), "name": app.slug, "description": "", "external_url": world.url,
        "html_url": format!("{}/apps/{}", world.url, app.slug), "created_at": stamp(app.created_at),
        "updated_at": stamp(app.created_at), "permissions": permissions,
        "events": subscribed(app), "installations_count": app.installations.values().filter(|one| !one.repositories.is_empty()).count(),
    })
}

/// The events that an App subscribes to; those about its installations it gets anyway.
fn subscribed(app: &App) -> Vec<&'static str> {
    app.events().filter(|event| !event.starts_with("installation")).collect()
}

/// An installation of an App.
pub fn installation(world: &World, app: &App, here: &Installation) -> Value {
    let api = world.api();
    let permissions: Map<String, Value> =
        app.permissions.iter().map(|(name, access)| (name.clone(), access.name().into())).collect();
    let account = user(world, &here.account);
    let target = account["type"].clone();
    json!({
        "id": here.id, "account": account, "repository_selection": "selected",
        "access_tokens_url": format!("{api}/app/installations/{}/access_tokens", here.id),
        "repositories_url": format!("{api}/installation/repositories"),
        "html_url": format!("{}/settings/installations/{}", world.url, here.id), "app_id": app.id,
        "app_slug": app.slug, "target_id": world.account(&here.account).map(|account| account.id),
        "target_type": target, "permissions": permissions, "events": subscribed(app),
        "created_at": stamp(app.created_at), "updated_at": stamp(app.created_at), "single_file_name": null,
        "has_multiple_single_files": false, "single_file_paths": [], "suspended_by": here.suspended_at.map(|_| user(world, &here.account)), "suspended_at": here.suspended_at.map(stamp),
    })
}
