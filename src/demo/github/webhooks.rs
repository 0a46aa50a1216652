//! Signed webhooks: made when something happens, sent beside it, never twice unless a fault says so.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::auth::hex;
use super::rest::{render, render_checks, render_git};
use super::signature::login_of;
use super::state::{Delivered, Delivery, MergeGroup, Release, Shared, World, lock};

/// The longest that the hub waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends what comes, each on its own, until the world is gone.
pub async fn send(mut inbox: UnboundedReceiver<Delivery>, world: std::sync::Weak<std::sync::Mutex<World>>) {
    // Receivers are on loopback and speak plain HTTP: no certificates of the machine are needed.
    let client = reqwest::Client::builder().timeout(PATIENCE).no_proxy().tls_certs_only([]).build();
    let client = match client {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(%error, "no webhook will leave");
            return;
        }
    };
    while let Some(delivery) = inbox.recv().await {
        let (client, world) = (client.clone(), world.clone());
        tokio::spawn(async move {
            tokio::time::sleep(delivery.wait).await;
            let status = post(&client, &delivery).await;
            if let Some(shared) = world.upgrade() {
                record(&shared, &delivery, status);
            }
        });
    }
}

async fn post(client: &reqwest::Client, delivery: &Delivery) -> Option<u16> {
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, delivery.secret.as_bytes());
    let signature = aws_lc_rs::hmac::sign(&key, delivery.body.as_bytes());
    let request = client
        .post(&delivery.url)
        .header("user-agent", "GitHub-Hookshot/sandbox")
        .header("content-type", "application/json")
        .header("x-github-event", delivery.event)
        .header("x-github-delivery", &delivery.guid)
        .header("x-github-hook-id", delivery.app.to_string())
        .header("x-github-hook-installation-target-type", "integration")
        .header("x-github-hook-installation-target-id", delivery.app.to_string())
        .header("x-hub-signature-256", format!("sha256={}", hex(signature.as_ref())))
        .body(delivery.body.clone());
    request.send().await.ok().map(|answer| answer.status().as_u16())
}

fn record(shared: &Shared, delivery: &Delivery, status: Option<u16>) {
    let mut world = lock(shared);
    let at = world.now();
    world.delivered.push(Delivered {
        guid: delivery.guid.clone(),
        event: delivery.event.to_owned(),
        action: delivery.action.clone(),
        app: delivery.app,
        installation: delivery.installation,
        at,
        status,
    });
}

/// Hands an event of a repository to every App that is installed there and has a receiver.
fn emit(world: &mut World, id: u64, event: &'static str, login: &str, payload: Value) {
    let Some(repo) = world.repositories.get(&id) else { return };
    let mut payload = payload;
    payload["repository"] = render::repository(world, repo);
    payload["sender"] = render::user(world, login);
    let owner = world.account(&repo.owner);
    if let Some(owner) = owner.filter(|account| account.kind == super::state::Kind::Organization) {
        payload["organization"] = json!({
            "login": owner.login, "id": owner.id, "node_id": format!("O_{}", owner.id),
            "url": format!("{}/orgs/{}", world.api(), owner.login), "description": null,
        });
    }
    let at = |app: &super::state::App| Some((app.id, app.installed_in(id)?.id));
    let subscribed = |app: &&super::state::App| app.events().any(|one| one == event);
    let apps: Vec<(u64, u64)> = world.apps.values().filter(subscribed).filter_map(at).collect();
    for (app, installation) in apps {
        emit_to(world, (app, installation), event, payload.clone());
    }
}

/// Hands one event to one App, through the faults of webhooks.
fn emit_to(world: &mut World, (app, installation): (u64, u64), event: &'static str, mut payload: Value) {
    let Some(hook) = world.apps.get(&app).and_then(|app| app.hook.clone()) else { return };
    if event != "installation" && event != "installation_repositories" {
        payload["installation"] = json!({"id": installation, "node_id": format!("I_{installation}")});
    }
    let faults = &mut world.faults.webhooks;
    if faults.drop_all {
        return;
    }
    if faults.drop_next > 0 {
        faults.drop_next -= 1;
        return;
    }
    let faults = faults.clone();
    let serial = world.id();
    let random = super::auth::random_text(32).bytes().map(|byte| format!("{:x}", byte % 16)).collect::<String>();
    let guid = [&random[..8], &random[8..12], &random[12..16], &random[16..20], &random[20..]].join("-");
    let late = if serial.is_multiple_of(2) { faults.delay + faults.shuffle } else { Duration::ZERO };
    let delivery = Delivery {
        url: hook.url,
        secret: hook.secret,
        event,
        guid,
        action: payload.get("action").and_then(Value::as_str).map(str::to_owned),
        body: payload.to_string(),
        wait: faults.delay + late,
        app,
        installation,
    };
    for _ in 0..=faults.duplicates {
        // Without a receiver the world is being taken down.
        let _ = world.outbox.send(delivery.clone());
    }
}

/// `push`.
pub fn push(world: &mut World, id: u64, login: &str, name: &str, old: &str, new: &str, forced: bool) {
    let Some(repo) = world.repositories.get(&id) else { return };
    let (created, deleted) = (old == super::git::ZERO, new == super::git::ZERO);
    let range = if created { new.to_owned() } else { format!("{old}..{new}") };
    let commits = if deleted { Vec::new() } else { repo.git.log(&[&range, "-20"]).unwrap_or_default() };
    let page = render::page_url(world, repo);
    let commits: Vec<Value> = commits
        .iter()
        .rev()
        .map(|commit| {
            let who = |(name, email, _): &(String, String, jiff::Timestamp)| {
                json!({"name": name, "email": email, "username": login_of(world, email)})
            };
            let first = commit.parents.first().map_or(super::git::EMPTY_TREE, String::as_str);
            let changes = repo.git.changes(first, &commit.sha).unwrap_or_default();
            let paths = |status: &str| -> Vec<&String> {
                changes.iter().filter(|change| change.status == status).map(|change| &change.path).collect()
            };
            json!({
                "id": commit.sha, "tree_id": commit.tree, "distinct": true, "message": commit.message,
                "timestamp": super::state::stamp(commit.committer.2), "url": format!("{page}/commit/{}", commit.sha),
                "author": who(&commit.author), "committer": who(&commit.committer),
                "added": paths("added"), "removed": paths("removed"), "modified": paths("modified"),
            })
        })
        .collect();
    let payload = json!({
        "ref": name, "before": old, "after": new, "created": created, "deleted": deleted, "forced": forced,
        "base_ref": null, "compare": format!("{page}/compare/{}...{}", &old[..12], &new[..12]),
        "head_commit": commits.last(), "commits": commits,
        "pusher": {"name": login, "email": world.signature(login).email},
    });
    emit(world, id, "push", login, payload);
}

/// `pull_request` with an action.
pub fn pull_request(world: &mut World, id: u64, number: u64, action: &str, login: &str) {
    let Ok(standing) = world.standing(id, number) else { return };
    let Some(repo) = world.repositories.get(&id) else { return };
    let Some(pull) = repo.pulls.get(&number) else { return };
    let mut shown = render::pull_full(world, repo, pull, &standing);
    // As at the hub: an event never knows yet whether the new head can be merged.
    shown["mergeable"] = Value::Null;
    shown["mergeable_state"] = "unknown".into();
    let mut payload = json!({"action": action, "number": number, "pull_request": shown});
    if action == "synchronize" {
        payload["after"] = pull.head_sha.clone().into();
    }
    emit(world, id, "pull_request", login, payload);
}

/// `pull_request_review` with an action: submitted, edited or dismissed.
pub fn review(world: &mut World, id: u64, number: u64, review: u64, action: &str, login: &str) {
    let Some(repo) = world.repositories.get(&id) else { return };
    let Some(pull) = repo.pulls.get(&number) else { return };
    let Some(found) = pull.reviews.iter().find(|one| one.id == review) else { return };
    let mut shown = render::review(world, repo, pull, found);
    // Webhooks write the state in lower case where REST has upper case.
    shown["state"] = found.state.name().to_lowercase().into();
    let payload = json!({"action": action, "review": shown, "pull_request": render::pull(world, repo, pull)});
    emit(world, id, "pull_request_review", login, payload);
}

/// `pull_request_review_thread`: everything that was talked about is resolved.
pub fn resolved(world: &mut World, id: u64, number: u64, login: &str) {
    let Some(repo) = world.repositories.get(&id) else { return };
    let Some(pull) = repo.pulls.get(&number) else { return };
    let thread = json!({"node_id": format!("PRRT_{number}"), "comments": []});
    let payload = json!({"action": "resolved", "thread": thread, "pull_request": render::pull(world, repo, pull)});
    emit(world, id, "pull_request_review_thread", login, payload);
}

/// `issue_comment` with an action: created or edited.
pub fn comment(world: &mut World, id: u64, comment: u64, action: &str, login: &str) {
    let Some(repo) = world.repositories.get(&id) else { return };
    let Some(found) = repo.comments.get(&comment) else { return };
    let issue = match (repo.pulls.get(&found.number), repo.issues.get(&found.number)) {
        (Some(pull), _) => render::issue(world, repo, pull),
        (None, Some(issue)) => render::plain_issue(world, repo, issue),
        (None, None) => return,
    };
    let payload = json!({"action": action, "comment": render::comment(world, repo, found), "issue": issue});
    emit(world, id, "issue_comment", login, payload);
}

/// `issues` with an action: opened, edited, closed or reopened.
pub fn issue(world: &mut World, id: u64, number: u64, action: &str, login: &str) {
    let Some(repo) = world.repositories.get(&id) else { return };
    let Some(found) = repo.issues.get(&number) else { return };
    let mut payload = json!({"action": action, "issue": render::plain_issue(world, repo, found)});
    if action == "edited" {
        payload["changes"] = json!({"body": {"from": ""}});
    }
    emit(world, id, "issues", login, payload);
}

/// `check_run` with an action: created or completed.
pub fn check_run(world: &mut World, id: u64, check: u64, action: &str, login: &str) {
    let Some(repo) = world.repositories.get(&id) else { return };
    let Some(found) = repo.checks.get(&check) else { return };
    let payload = json!({"action": action, "check_run": render_checks::check(world, repo, found)});
    emit(world, id, "check_run", login, payload);
}

/// `status`.
pub fn status(world: &mut World, id: u64, status: u64, login: &str) {
    let Some(repo) = world.repositories.get(&id) else { return };
    let Some(found) = repo.statuses.iter().find(|one| one.id == status) else { return };
    let mut payload = render_checks::status(world, repo, found);
    payload["sha"] = found.sha.clone().into();
    payload["name"] = repo.full_name().into();
    payload["branches"] = json!([]);
    emit(world, id, "status", login, payload);
}

/// `merge_group`: its checks are asked for.
pub fn merge_group(world: &mut World, id: u64, name: &str, base: &str, group: &MergeGroup) {
    let Some(repo) = world.repositories.get(&id) else { return };
    let Ok(commit) = repo.git.commit(&group.commit) else { return };
    let who = |(name, email, _): &(String, String, jiff::Timestamp)| json!({"name": name, "email": email});
    let shown = json!({
        "head_sha": group.commit, "head_ref": name, "base_sha": group.parent, "base_ref": format!("refs/heads/{base}"),
        "head_commit": {
            "id": commit.sha, "tree_id": commit.tree, "message": commit.message,
            "timestamp": super::state::stamp(commit.committer.2),
            "author": who(&commit.author), "committer": who(&commit.committer),
        },
    });
    emit(world, id, "merge_group", super::queue::QUEUE, json!({"action": "checks_requested", "merge_group": shown}));
}

/// `release` published.
pub fn release(world: &mut World, id: u64, release: &Release) {
    let Some(repo) = world.repositories.get(&id) else { return };
    let shown = render_git::release(world, repo, release);
    emit(world, id, "release", &release.author, json!({"action": "published", "release": shown}));
}

/// `deployment_status`.
pub fn deployment_status(world: &mut World, id: u64, status: serde_json::Value, login: &str) {
    emit(world, id, "deployment_status", login, json!({"action": "created", "deployment_status": status}));
}

/// `installation` created, or `installation_repositories` added, to that App alone.
pub fn installed(world: &mut World, app: u64, id: u64, first: bool) {
    let (Some(found), Some(repo)) = (world.apps.get(&app), world.repositories.get(&id)) else { return };
    let Some(here) = found.installed_in(id) else { return };
    let small = json!({
        "id": repo.id, "node_id": format!("R_{}", repo.id), "name": repo.name,
        "full_name": repo.full_name(), "private": repo.private,
    });
    let sender = render::user(world, &here.account);
    let number = here.id;
    let installation = render::installation(world, found, here);
    let (event, payload) = if first {
        let payload = json!({"action": "created", "installation": installation, "repositories": [small],
                             "requester": null, "sender": sender});
        ("installation", payload)
    } else {
        let payload = json!({"action": "added", "installation": installation, "repository_selection": "selected",
                             "repositories_added": [small], "repositories_removed": [], "requester": null,
                             "sender": sender});
        ("installation_repositories", payload)
    };
    emit_to(world, (app, number), event, payload);
}
