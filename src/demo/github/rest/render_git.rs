//! The JSON of git's own objects, of refs and of rules. Looks only.

use serde_json::{Value, json};

use super::render::{page_url, repository_url, user};
use crate::github::git;
use crate::github::signature::{self, hub_signature, login_of};
use crate::github::state::{Release, Repository, Ruleset, World, stamp};

/// A commit as `/git/commits` shows it.
pub fn git_commit(world: &World, repository: &Repository, commit: &git::Commit) -> Value {
    let api = repository_url(world, repository);
    let who = |(name, email, at): &(String, String, jiff::Timestamp)| json!({"name": name, "email": email, "date": stamp(*at)});
    let parents: Vec<Value> = commit
        .parents
        .iter()
        .map(|sha| {
            json!({"sha": sha, "url": format!("{api}/git/commits/{sha}"),
                   "html_url": format!("{}/commit/{sha}", page_url(world, repository))})
        })
        .collect();
    json!({
        "sha": commit.sha, "node_id": format!("C_{}", commit.sha), "url": format!("{api}/git/commits/{}", commit.sha),
        "html_url": format!("{}/commit/{}", page_url(world, repository), commit.sha),
        "author": who(&commit.author), "committer": who(&commit.committer), "message": commit.message,
        "tree": {"sha": commit.tree, "url": format!("{api}/git/trees/{}", commit.tree)}, "parents": parents,
        "verification": verification(repository, commit),
    })
}

fn verification(repository: &Repository, commit: &git::Commit) -> Value {
    // The hub commits what it signs.
    let ours = commit.committer.1 == hub_signature().email;
    match signature::verification(&repository.git, &commit.sha).ok().filter(|_| ours) {
        Some(found) => json!({
            "verified": found.verified, "reason": found.reason, "signature": found.signature, "payload": found.payload,
            "verified_at": found.verified.then(|| stamp(commit.committer.2)),
        }),
        None => {
            json!({"verified": false, "reason": "unsigned", "signature": null, "payload": null, "verified_at": null})
        }
    }
}

/// A commit as `/commits` shows it.
pub fn commit(world: &World, repository: &Repository, commit: &git::Commit) -> Value {
    let api = repository_url(world, repository);
    let mut inner = git_commit(world, repository, commit);
    let parents = inner["parents"].take();
    if let Value::Object(map) = &mut inner {
        for key in ["sha", "node_id", "html_url", "parents"] {
            map.remove(key);
        }
        map.insert("comment_count".to_owned(), 0.into());
    }
    let account = |email: &str| login_of(world, email).map(|login| user(world, &login));
    json!({
        "sha": commit.sha, "node_id": format!("C_{}", commit.sha), "commit": inner, "parents": parents,
        "url": format!("{api}/commits/{}", commit.sha), "comments_url": format!("{api}/commits/{}/comments", commit.sha),
        "html_url": format!("{}/commit/{}", page_url(world, repository), commit.sha),
        "author": account(&commit.author.1), "committer": account(&commit.committer.1),
    })
}

/// A changed file.
pub fn file(world: &World, repository: &Repository, change: &git::Change, old: &str, new: &str) -> Value {
    let api = repository_url(world, repository);
    let patch = repository.git.diff(old, new, Some(&change.path)).unwrap_or_default();
    let patch = patch.find("\n@@").map(|at| patch[at + 1..].to_owned());
    let sha = repository.git.object(&format!("{new}:{}", change.path)).map(|(_, id)| id);
    let page = page_url(world, repository);
    json!({
        "sha": sha, "filename": change.path, "status": change.status, "additions": change.additions,
        "deletions": change.deletions, "changes": change.additions + change.deletions,
        "blob_url": format!("{page}/blob/{new}/{}", change.path), "raw_url": format!("{page}/raw/{new}/{}", change.path),
        "contents_url": format!("{api}/contents/{}?ref={new}", change.path), "patch": patch,
    })
}

/// A ref.
pub fn git_ref(world: &World, repository: &Repository, name: &str, sha: &str) -> Value {
    let api = repository_url(world, repository);
    json!({
        "ref": name, "node_id": format!("REF_{name}"), "url": format!("{api}/git/{name}"),
        "object": {"sha": sha, "type": "commit", "url": format!("{api}/git/commits/{sha}")},
    })
}

/// A ruleset; who may pass it is only told to those who may change it.
pub fn ruleset(world: &World, repository: &Repository, set: &Ruleset, bypass: Option<&str>, actors: bool) -> Value {
    let api = repository_url(world, repository);
    let mut value = json!({
        "id": set.id, "name": set.name, "target": "branch", "source_type": "Repository",
        "source": repository.full_name(), "enforcement": "active", "node_id": format!("RRS_{}", set.id),
        "_links": {"self": {"href": format!("{api}/rulesets/{}", set.id)},
                   "html": {"href": format!("{}/rules/{}", page_url(world, repository), set.id)}},
        "created_at": stamp(set.created_at), "updated_at": stamp(set.created_at),
    });
    if let (Value::Object(map), Some(bypass)) = (&mut value, bypass) {
        map.insert("current_user_can_bypass".to_owned(), bypass.into());
        let pattern = format!("refs/heads/{}", set.pattern.trim_start_matches("refs/heads/"));
        map.insert("conditions".to_owned(), json!({"ref_name": {"include": [pattern], "exclude": []}}));
        let rules = set.rules.iter().map(|rule| json!({"type": rule.name()})).collect();
        map.insert("rules".to_owned(), Value::Array(rules));
        if actors {
            let actors = set.bypass_apps.iter();
            let actors = actors
                .map(|id| json!({"actor_id": id, "actor_type": "Integration", "bypass_mode": "always"}))
                .collect();
            map.insert("bypass_actors".to_owned(), Value::Array(actors));
        }
    }
    value
}

/// A release.
pub fn release(world: &World, repo: &Repository, release: &Release) -> Value {
    let (api, page) = (repository_url(world, repo), page_url(world, repo));
    let (tag, at) = (&release.tag, stamp(release.at));
    let url = format!("{api}/releases/{}", release.id);
    json!({
        "id": release.id, "node_id": format!("RE_{}", release.id), "tag_name": tag, "name": tag, "body": release.text,
        "target_commitish": repo.default_branch, "draft": release.draft, "prerelease": false, "immutable": false,
        "created_at": at, "updated_at": at, "published_at": if release.draft { Value::Null } else { at.clone().into() },
        "assets": [], "author": user(world, &release.author), "url": url, "assets_url": format!("{url}/assets"),
        "upload_url": format!("{url}/assets{{?name,label}}"), "html_url": format!("{page}/releases/tag/{tag}"),
        "tarball_url": format!("{api}/tarball/{tag}"), "zipball_url": format!("{api}/zipball/{tag}"),
    })
}
