//! Pages of a repository: files, commits, branches, check runs.

use serde_json::{Value, json};

use super::page::{Page, Visit, base, check_word, diff, marked, time};
use crate::github::git::{self, EMPTY_TREE};
use crate::github::markdown;
use crate::github::state::{Access, Actor, Repository, Role, World};

/// The list of repositories that the visitor may see.
pub fn index(world: &World, visit: &Visit<'_>) -> Page {
    let actor = visit.who.clone().map_or(Actor::Anonymous, Actor::User);
    let seen =
        world.repositories.values().filter(|repo| world.may(&actor, repo.id, "metadata", Access::Read, Role::Read));
    let items: Vec<Value> = seen
        .map(|repo| {
            let open = repo.pulls.values().filter(|pull| pull.is_open()).count();
            json!({"name": repo.full_name(), "open": open, "pushed": time(repo.pushed_at)})
        })
        .collect();
    Page::new("index", "Sandbox GitHub", json!({"repositories": items}))
}

/// A branch (or commit) and a path out of segments; a branch's name may hold slashes itself.
fn place(repo: &Repository, parts: &[&str]) -> Result<(String, String, String), Page> {
    if parts.is_empty() {
        let sha = repo.head(&repo.default_branch).ok_or_else(Page::not_found)?;
        return Ok((repo.default_branch.clone(), sha.to_owned(), String::new()));
    }
    for end in (1..=parts.len()).rev() {
        let name = parts[..end].join("/");
        if let Some(sha) = repo.head(&name) {
            return Ok((name, sha.to_owned(), parts[end..].join("/")));
        }
    }
    let sha = repo.git.commit_id(parts[0]).ok_or_else(Page::not_found)?;
    Ok((sha.clone(), sha, parts[1..].join("/")))
}

fn shown(commit: &git::Commit) -> Value {
    let headline = commit.message.lines().next().unwrap_or_default();
    let more = commit.message[headline.len()..].trim();
    json!({
        "sha": commit.sha, "short": &commit.sha[..7], "headline": headline, "more": more,
        "author": commit.author.0, "at": time(commit.committer.2), "parents": commit.parents,
    })
}

fn branch_list(repo: &Repository, chosen: &str) -> Value {
    let names = repo.refs.iter().filter_map(|(name, sha)| Some((name.strip_prefix("refs/heads/")?, sha)));
    let list: Vec<Value> = names
        .map(|(name, sha)| {
            let protected = repo.protections.contains_key(name);
            json!({"name": name, "chosen": name == chosen, "short": &sha[..7], "protected": protected})
        })
        .collect();
    list.into()
}

/// A folder at a branch.
pub fn tree(world: &World, id: u64, parts: &[&str]) -> Result<Page, Page> {
    let repo = world.repo(id)?;
    let (branch, sha, folder) = place(repo, parts)?;
    let entries = repo.git.tree(&format!("{sha}:{folder}"), false).map_err(|_| Page::not_found())?;
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let full = repo.full_name();
    let mut items: Vec<(bool, Value)> = entries
        .iter()
        .map(|entry| {
            let file = entry.kind == "blob";
            let kind = if file { "blob" } else { "tree" };
            let href = format!("/{full}/{kind}/{branch}/{prefix}{}", entry.path);
            let size = entry.size.map_or(String::new(), |size| format!("{size} B"));
            let mark = if file { "·" } else { "▸" };
            (file, json!({"name": entry.path, "href": href, "size": size, "mark": mark}))
        })
        .collect();
    items.sort_by_key(|(file, _)| *file);
    let readme = entries.iter().find(|entry| entry.path.eq_ignore_ascii_case("readme.md"));
    let text = readme.and_then(|entry| repo.git.blob(&entry.sha));
    let mut data = base(repo);
    data["branch"] = branch.clone().into();
    data["branches"] = branch_list(repo, &branch);
    data["folder"] = folder.clone().into();
    data["commit"] = shown(&repo.git.commit(&sha)?);
    data["entries"] = items.into_iter().map(|(_, value)| value).collect::<Vec<_>>().into();
    data["readme_name"] = readme.map(|entry| entry.path.clone()).into();
    data["readme"] = text.map(|bytes| markdown::html(&String::from_utf8_lossy(&bytes))).into();
    if !folder.is_empty() {
        let up = folder.rsplit_once('/').map_or("", |(up, _)| up);
        data["parent"] = format!("/{full}/tree/{branch}/{up}").into();
    }
    Ok(Page::new("repository", &full, data))
}

/// A file at a branch.
pub fn file(world: &World, id: u64, parts: &[&str]) -> Result<Page, Page> {
    let repo = world.repo(id)?;
    let (branch, sha, path) = place(repo, parts)?;
    let bytes = repo.git.file(&sha, &path).ok_or_else(Page::not_found)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<Value> =
        text.lines().enumerate().map(|(index, text)| json!({"number": index + 1, "text": text})).collect();
    let mut data = base(repo);
    data["branch"] = branch.into();
    data["path"] = path.clone().into();
    data["size"] = bytes.len().into();
    data["short"] = sha[..7].into();
    data["sha"] = sha.into();
    data["lines"] = lines.into();
    Ok(Page::new("file", &path, data))
}

/// The history of a branch.
pub fn commits(world: &World, id: u64, parts: &[&str]) -> Result<Page, Page> {
    let repo = world.repo(id)?;
    let (branch, sha, _) = place(repo, parts)?;
    let log = repo.git.log(&["--first-parent", "-200", &sha])?;
    let mut data = base(repo);
    data["commits"] = log.iter().map(shown).collect::<Vec<_>>().into();
    data["branches"] = branch_list(repo, &branch);
    data["branch"] = branch.clone().into();
    Ok(Page::new("commits", &format!("Commits on {branch}"), data))
}

/// One commit and what it changed against its first parent.
pub fn commit(world: &World, id: u64, name: &str) -> Result<Page, Page> {
    let repo = world.repo(id)?;
    let sha = repo.git.commit_id(name).ok_or_else(Page::not_found)?;
    let commit = repo.git.commit(&sha)?;
    let parent = commit.parents.first().map_or(EMPTY_TREE, String::as_str);
    let mut data = base(repo);
    data["files"] = diff(&repo.git.diff(parent, &sha, None)?, &repo.git.changes(parent, &sha)?);
    data["commit"] = shown(&commit);
    let title = format!("{} · {}", commit.message.lines().next().unwrap_or_default(), &sha[..7]);
    Ok(Page::new("commit", &title, data))
}

/// All branches.
pub fn branches(world: &World, id: u64) -> Result<Page, Page> {
    let repo = world.repo(id)?;
    let mut data = base(repo);
    data["branches"] = branch_list(repo, &repo.default_branch);
    Ok(Page::new("branches", "Branches", data))
}

/// One check run.
pub fn run(world: &World, id: u64, run: &str) -> Result<Page, Page> {
    let repo = world.repo(id)?;
    let check = run.parse().ok().and_then(|run: u64| repo.checks.get(&run)).ok_or_else(Page::not_found)?;
    let (kind, word) = check_word(check.conclusion.as_deref());
    let mut data = base(repo);
    data["kind"] = kind.into();
    data["word"] = word.into();
    data["name"] = check.name.clone().into();
    data["by"] = world.apps.get(&check.app).map(|app| app.slug.clone()).into();
    data["sha"] = check.head_sha.clone().into();
    data["short"] = check.head_sha[..7].into();
    data["title_text"] = check.title.clone().into();
    data["summary"] = marked(check.summary.as_deref()).into();
    data["text"] = marked(check.text.as_deref()).into();
    Ok(Page::new("run", &check.name, data))
}
