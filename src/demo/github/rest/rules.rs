//! Rulesets and code owners as the API shows them; who may pass a rule only to those who may change it.

use axum::http::Method;
use serde_json::{Value, json};

use super::call::{Call, Route};
use super::{objects, render_git};
use crate::github::answer::{Answer, Outcome};
use crate::github::owners::PLACES;
use crate::github::rules::{bypasses, covers};
use crate::github::state::{Access, Repository, Role, Rule, Ruleset, World};

pub fn routes() -> Vec<Route> {
    vec![
        (Method::GET, "/repos/{owner}/{repo}/rules/branches/{branch...}", branch_rules),
        (Method::GET, "/repos/{owner}/{repo}/rulesets", list),
        (Method::POST, "/repos/{owner}/{repo}/rulesets", create),
        (Method::GET, "/repos/{owner}/{repo}/rulesets/{ruleset}", get),
        (Method::GET, "/repos/{owner}/{repo}/codeowners/errors", owner_errors),
    ]
}

fn branch_rules(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "metadata", Access::Read, Role::Read)?;
    let repo = world.repo(id)?;
    let mut items = Vec::new();
    for set in repo.rulesets.iter().filter(|set| covers(set, call.value("branch"))) {
        for rule in &set.rules {
            let mut value = json!({
                "type": rule.name(), "ruleset_source_type": "Repository", "ruleset_source": repo.full_name(),
                "ruleset_id": set.id,
            });
            if let Some(parameters) = parameters(rule) {
                value["parameters"] = parameters;
            }
            items.push(value);
        }
    }
    Ok(Answer::page(call.request, &world.api(), items))
}

/// What a rule says more exactly.
fn parameters(rule: &Rule) -> Option<Value> {
    Some(match rule {
        Rule::Update => json!({"update_allows_fetch_and_merge": false}),
        Rule::Conversations | Rule::Stale | Rule::LastPush => json!({
            "allowed_merge_methods": ["merge", "squash", "rebase"],
            "dismiss_stale_reviews_on_push": *rule == Rule::Stale,
            "require_code_owner_review": false, "require_last_push_approval": *rule == Rule::LastPush,
            "required_approving_review_count": u32::from(*rule == Rule::LastPush),
            "required_review_thread_resolution": *rule == Rule::Conversations,
        }),
        Rule::Checks { name, app, strict } => {
            let mut check = json!({"context": name});
            if let Some(app) = app {
                check["integration_id"] = (*app).into();
            }
            json!({"required_status_checks": [check], "strict_required_status_checks_policy": strict})
        }
        Rule::Deployments(environment) => json!({"required_deployment_environments": [environment]}),
        Rule::MergeQueue => json!({"merge_method": "MERGE", "grouping_strategy": "ALLGREEN"}),
        Rule::Workflows => json!({"workflows": [{"path": ".github/workflows/ci.yml", "repository_id": 1}]}),
        Rule::CodeScanning => json!({"code_scanning_tools": [{"tool": "CodeQL", "alerts_threshold": "errors",
            "security_alerts_threshold": "high_or_higher"}]}),
        Rule::Creation
        | Rule::Deletion
        | Rule::NonFastForward
        | Rule::LinearHistory
        | Rule::Signatures
        | Rule::Newer(_) => return None,
    })
}

fn list(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "metadata", Access::Read, Role::Read)?;
    let repo = world.repo(id)?;
    let items = repo.rulesets.iter().map(|set| render_git::ruleset(world, repo, set, None, false)).collect();
    Ok(Answer::page(call.request, &world.api(), items))
}

fn get(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "metadata", Access::Read, Role::Read)?;
    let repo = world.repo(id)?;
    let wanted = call.number("ruleset")?;
    let set = repo.rulesets.iter().find(|set| set.id == wanted).ok_or_else(Answer::not_found)?;
    let bypass = if bypasses(call.actor(), &set.bypass_apps) { "always" } else { "never" };
    let actors = world.may(call.actor(), id, "administration", Access::Write, Role::Admin);
    Ok(Answer::ok(render_git::ruleset(world, repo, set, Some(bypass), actors)))
}

/// Adds one, as far as this world has its rules.
fn create(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "administration", Access::Write, Role::Admin)?;
    let body = &call.request.body;
    let invalid = |why: &str| Answer::error(422, &format!("Invalid request.\n\n{why}"));
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let include = list(&body["conditions"]["ref_name"]["include"]);
    let [pattern] = include.as_slice() else { return Err(invalid("this world takes one pattern of branches")) };
    let mut rules = Vec::new();
    for rule in list(&body["rules"]) {
        let kind = rule["type"].as_str().unwrap_or_default();
        let known =
            [Rule::Creation, Rule::Update, Rule::Deletion, Rule::NonFastForward, Rule::LinearHistory, Rule::Signatures];
        rules.push(
            known.into_iter().find(|rule| rule.name() == kind).ok_or_else(|| invalid(&format!("no rule `{kind}`")))?,
        );
    }
    let apps = list(&body["bypass_actors"]);
    let apps: Option<Vec<u64>> =
        apps.iter().map(|actor| actor["actor_id"].as_u64().filter(|_| actor["actor_type"] == "Integration")).collect();
    let set = Ruleset {
        id: world.id(),
        name: call.request.text("name").ok_or_else(|| invalid("name is missing"))?.to_owned(),
        pattern: pattern.as_str().unwrap_or_default().trim_start_matches("refs/heads/").to_owned(),
        rules,
        bypass_apps: apps.ok_or_else(|| invalid("this world lets Apps alone bypass"))?,
        created_at: world.now(),
    };
    let bypass = if bypasses(call.actor(), &set.bypass_apps) { "always" } else { "never" };
    let repo = world.repositories.get_mut(&id).ok_or_else(Answer::not_found)?;
    repo.rulesets.push(set.clone());
    let repo = world.repo(id)?;
    Ok(Answer::created(render_git::ruleset(world, repo, &set, Some(bypass), true)))
}

fn owner_errors(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Read, Role::Read)?;
    let repo = world.repo(id)?;
    let name = call.request.query.get("ref").unwrap_or(&repo.default_branch);
    let commit = objects::resolve(repo, name).ok_or_else(Answer::not_found)?;
    let place = PLACES.iter().find(|place| repo.git.object(&format!("{commit}:{place}")).is_some());
    let place = place.ok_or_else(Answer::not_found)?;
    let file = world.owners(repo, &commit);
    let mut errors: Vec<Value> = file
        .errors
        .iter()
        .map(|(line, kind, source)| {
            json!({"line": line, "column": 1, "kind": kind, "source": source, "suggestion": null, "path": place,
                   "message": format!("{kind} on line {line}: \n\n  {source}\n  ^")})
        })
        .collect();
    let text = repo.git.file(&commit, place).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut unknown: Vec<&String> = file.all().filter(|owner| !known(world, repo, owner)).collect();
    unknown.sort();
    unknown.dedup();
    for owner in unknown {
        let found = text.lines().enumerate().find(|(_, line)| line.contains(owner.as_str()));
        let (line, source) = found.map_or((1, ""), |(index, line)| (index + 1, line));
        errors.push(json!({
            "line": line, "column": source.find(owner.as_str()).unwrap_or(0) + 1, "kind": "Unknown owner",
            "source": source, "suggestion": format!("make sure {owner} exists and has write access to the repository"),
            "message": format!("Unknown owner on line {line}: make sure {owner} exists and has write access"),
            "path": place,
        }));
    }
    Ok(Answer::ok(json!({"errors": errors})))
}

/// Whether an owner is somebody who may write here: an account, or a team by a right of its own.
fn known(world: &World, repo: &Repository, owner: &str) -> bool {
    let Some(name) = owner.strip_prefix('@') else { return true };
    match name.split_once('/') {
        None => world.account(name).is_some() && world.role(repo, name) >= Role::Write,
        Some((org, slug)) => {
            let exists = world.teams.keys().any(|(o, s)| o.eq_ignore_ascii_case(org) && s == slug);
            exists && world.team_role(repo, org, slug) >= Role::Write
        }
    }
}
