//! Keeps the dashboard issue up to date, and hears the boxes that people tick in it. There is one of each of our
//! identities; whoever closes it is left alone. That it cannot be read or written stops no promotion.

use std::collections::BTreeMap;

use decide::plan::Plan;
use decide::snapshot::PullState;
use decide::{PullNumber, Sha};
use jiff::{SignedDuration, Timestamp};

use super::other_pulls;
use crate::act::line::Line;
use crate::hub::{Author, HubError, HubIssue, Role, same_text};
use crate::observe::Seen;
use crate::tell::{self, Ticked};

/// After so long it is tried again where we may not.
const REFUSED_FOR: SignedDuration = SignedDuration::from_mins(15);

/// What is remembered of it. Losing it costs calls, never correctness.
#[derive(Default)]
pub struct Dashboard {
    /// The issue, as it was read at the beginning of the look.
    issue: Option<HubIssue>,
    /// One that we have opened; lists may not show it for a while.
    made: Option<u64>,
    /// Nothing is tried before then.
    pause: Option<Timestamp>,
    /// Whether it was read at this look.
    read: bool,
    written: Option<Timestamp>,
    /// What became of the boxes that were ticked last.
    heard: Option<String>,
}

/// Reads it, and does what its boxes ask for with the next look.
pub async fn hear(line: &mut Line, now: Timestamp) {
    let memory = &mut line.memory.dashboard;
    (memory.read, memory.issue) = (false, None);
    if memory.pause.is_some_and(|until| now < until) {
        return;
    }
    if let Err(error) = listen(line, now).await {
        rest(line, &error, now);
    }
}

/// Brings its text up to date where that has changed.
pub async fn publish(line: &mut Line, seen: &Seen, plan: &Plan, now: Timestamp) {
    let asked = std::mem::take(&mut line.context.memory.rebase);
    line.context.memory.open_now.clear();
    if !line.memory.dashboard.read {
        return;
    }
    let heads = heads(seen);
    for (pull, _) in asked.iter().filter(|(pull, head)| heads.get(pull) != Some(head)) {
        line.memory.dashboard.heard = line
            .memory
            .dashboard
            .heard
            .take()
            .map(|heard| format!("{heard}; {pull} is another commit by now, or closed, and was left as it is"));
    }
    let name = line.context.repo.full_name();
    let view = tell::View::new(&name, &seen.web, &seen.snapshot, plan.clone(), now);
    let links = seen.links();
    let view = tell::View { links, ..view };
    let (by_hand, heard) = (other_pulls::by_hand(line, seen), line.memory.dashboard.heard.as_deref());
    let text = tell::dashboard_issue(&view, &heads, &by_hand, &line.memory.refused, (heard, now));
    put(line, text, now).await;
}

/// Says what is wrong with the policy where there is none to go by, and so no plan.
pub async fn publish_problem(line: &mut Line, problem: &str, now: Timestamp) {
    if line.memory.dashboard.read {
        let name = line.context.repo.full_name();
        put(line, tell::problem_issue(&name, problem, line.memory.dashboard.heard.as_deref()), now).await;
    }
}

async fn put(line: &mut Line, text: Result<String, tell::TellError>, now: Timestamp) {
    let text = match text {
        Ok(text) => text,
        Err(error) => {
            let repository = line.context.repo.full_name();
            tracing::warn!(repository, %error, "no text for the dashboard issue");
            return;
        }
    };
    if let Err(error) = write(line, &text, now).await {
        rest(line, &error, now);
    }
}

/// Where we may not, it is left alone for a while, and said once.
fn rest(line: &mut Line, error: &HubError, now: Timestamp) {
    let repository = line.context.repo.full_name();
    let refused = matches!(error, HubError::Forbidden { .. } | HubError::NotFound { .. } | HubError::Refused { .. });
    if !refused {
        tracing::warn!(%repository, %error, "the dashboard issue is as it was");
        return;
    }
    if line.memory.dashboard.pause.is_none() {
        tracing::info!(%repository, %error, "there is no dashboard issue: it takes the permission to write issues");
    }
    line.memory.dashboard.pause = Some(now + REFUSED_FOR);
}

async fn listen(line: &mut Line, now: Timestamp) -> Result<(), HubError> {
    let hub = line.context.repo.hub.leisurely();
    let ours = hub.own_issues().await?;
    let mut ours: Vec<HubIssue> = ours.into_iter().filter(|issue| tell::is_dashboard_issue(&issue.body)).collect();
    let memory = &mut line.memory.dashboard;
    memory.pause = None;
    if memory.made.is_some_and(|made| ours.iter().all(|issue| issue.number != made)) {
        return Ok(());
    }
    memory.read = true;
    // Of two that were opened at once the older one stays.
    let open: Vec<u64> = ours.iter().filter(|issue| issue.open).map(|issue| issue.number).collect();
    for younger in open.iter().skip(1) {
        hub.close_issue(*younger).await?;
    }
    let kept = open.first().copied();
    ours.retain(|issue| kept.is_none_or(|kept| issue.number == kept));
    let Some(issue) = ours.pop() else { return Ok(()) };
    let asked = if issue.open { tell::ticked(&issue.body) } else { Vec::new() };
    let by = issue.editor.clone();
    line.memory.dashboard.issue = Some(issue);
    if !asked.is_empty() {
        line.memory.dashboard.heard = Some(obey(line, &asked, by, now).await?);
    }
    Ok(())
}

/// Does what the boxes ask for, where whoever edited the issue last may write.
async fn obey(line: &mut Line, asked: &[Ticked], by: Option<Author>, now: Timestamp) -> Result<String, HubError> {
    let Some(by) = by.filter(|by| by.human) else {
        return Ok("A box was ticked, but the hub does not say by whom".to_string());
    };
    let (login, at) = (&by.login, now.strftime("%-d %b %Y, %H:%M UTC"));
    if line.context.repo.hub.may_write(login).await? < Role::Write {
        return Ok(format!("{login} ticked a box on {at}, which takes write access"));
    }
    let memory = &mut line.context.memory;
    let mut wishes = Vec::new();
    for ticked in asked {
        match ticked {
            Ticked::Look => {
                memory.sources.values_mut().for_each(|source| source.asked = None);
                wishes.push("to look at everything again".to_string());
            }
            Ticked::Rebase(pull, head) => {
                memory.rebase.insert(*pull, head.clone());
                wishes.push(format!("to write {pull} anew"));
            }
            Ticked::Open(plugin, tier, version) => {
                wishes.push(format!("to open {plugin} {version} → {tier}"));
                memory.open_now.entry(plugin.clone()).or_default().insert(tier.clone(), version.clone());
            }
        }
    }
    Ok(format!("{login} asked on {at} {}", wishes.join(", ")))
}

/// The heads of open pull requests that are ours.
fn heads(seen: &Seen) -> BTreeMap<PullNumber, Sha> {
    let pulls = seen.snapshot.plugins.values().filter_map(|facts| facts.pulls.known()).flatten();
    // What somebody else has pushed is not written anew.
    let open = pulls.filter(|pull| pull.state == PullState::Open && pull.version.is_some());
    open.map(|pull| (pull.number, pull.head.clone())).collect()
}

async fn write(line: &mut Line, text: &str, now: Timestamp) -> Result<(), HubError> {
    let hub = line.context.repo.hub.leisurely();
    let seldom = line.seldom();
    let memory = &mut line.memory.dashboard;
    match &memory.issue {
        None => {
            memory.made = Some(hub.open_issue(tell::ISSUE_TITLE, text).await?);
            memory.written = Some(now);
        }
        Some(issue) if issue.open && !same_text(&issue.body, text) => {
            let waits = memory.written.is_some_and(|written| now < written + seldom);
            let urgent =
                tell::urgent_part(&issue.body) != tell::urgent_part(text) || !tell::ticked(&issue.body).is_empty();
            if !urgent && waits {
                return Ok(());
            }
            // The hub has no compare-and-set for it: what was ticked while this look lasted is heard by the next one.
            let last = hub.own_issues().await?.into_iter().find(|last| last.number == issue.number);
            if last.is_some_and(|last| last.open && last.body == issue.body) {
                hub.edit_issue(issue.number, text).await?;
                memory.written = Some(now);
            }
        }
        Some(_) => {}
    }
    Ok(())
}
