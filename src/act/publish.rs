//! Puts the texts of `tell` on the hub where they differ from what stands there: at once what tells people where they
//! stand, the rest seldom. A text that cannot be put there stops no promotion.

use decide::plan::{Action, Plan, WaveReport};
use decide::snapshot::{CheckState, Read};
use decide::{PullNumber, Sha};
use jiff::Timestamp;

use super::answers;
use super::changes::{self, Whose};
use super::other_pulls::is_required;
use super::tasks;
use crate::act::line::Line;
use crate::hub::{CheckConclusion, CheckDraft, HubCheck, HubPull, HubState, same_text};
use crate::observe::{Beside, Seen};
use crate::tell;

/// Brings every pull request of the plan up to date: title, body, check, answers to commands.
pub async fn publish(line: &mut Line, seen: &Seen, plan: &Plan, now: Timestamp) {
    line.memory.changes.retain(|commit, _| seen.pulls.iter().any(|pull| pull.head == *commit));
    line.memory.published.retain(|number, _| seen.pull(*number).is_some());
    for wave in &plan.waves {
        let Some(page) = wave.pull.and_then(|number| seen.pull(number)) else { continue };
        if let Err(error) = one(line, seen, plan, (wave, page), now).await {
            tracing::warn!(repository = %line.context.repo.full_name(), pull = %page.number, error = %format!("{error:#}"), "text not put there");
        }
        if let Err(error) = answers::answer(line, seen, wave, page, now).await {
            tracing::warn!(repository = %line.context.repo.full_name(), pull = %page.number, error = %format!("{error:#}"), "commands not answered");
        }
    }
}

async fn one(
    line: &mut Line,
    seen: &Seen,
    plan: &Plan,
    (wave, page): (&WaveReport, &HubPull),
    now: Timestamp,
) -> anyhow::Result<()> {
    let urgent = urgent(&page.head, wave);
    let before = line.memory.published.get(&page.number);
    let told = before.is_some_and(|(told, at)| *told == urgent && now < *at + line.seldom());
    let ticked = tell::ticked_head(&page.body).is_some();
    if told && !ticked && !misleads(line, wave, page) {
        return Ok(());
    }
    // What is merged now is told with the next look, unless nothing came of that at the last one already. What is
    // written anew gets its text with its head, and its box stays ticked until then.
    let merging = format!("merging {urgent}");
    let waits = before.is_none_or(|(told, _)| *told != merging);
    let merges = merges(plan, page.number) && waits;
    let later = merges || (updates(plan, page.number) && (ticked || waits));
    let whose = Whose { plugin: &wave.plugin, tier: &wave.tier, members: wave.members.clusters() };
    let changes = changes::section(line, seen, whose, &page.head).await?;
    let (changes, tasks) =
        (changes.as_deref(), tasks::of((&mut line.context, &mut line.memory.tasks), seen, wave).await?);
    let beside = Beside { changes, tasks: &tasks };
    let (title, body) = (seen.title(wave), seen.body(plan, wave, &page.head, beside)?);
    let mut written = !later && (!told || ticked) && text(line, page, &title, &body).await?;
    // Where no branch rule waits for the check, it is written once it has merged.
    let quiet = merges && is_required(line, &page.base, now).await == Read::Known(false);
    if !quiet && !matches!(page.state, HubState::Closed { .. }) {
        written |= check(line, tell::check(wave, &seen.links(), changes)?, wave, page).await?;
    }
    let before = line.memory.published.get(&page.number).filter(|_| !written);
    let at = before.map_or(now, |(_, at)| *at);
    line.memory.published.insert(page.number, (if later { merging } else { urgent }, at));
    Ok(())
}

/// What people are told at once of a pull request with this head. Whoever has told it notes it in the memory of the line.
pub(super) fn urgent(head: &Sha, wave: &WaveReport) -> String {
    format!("{head} {}", tell::urgent(wave))
}

/// Whether its check is missing, or green where it should not be, or the other way round.
fn misleads(line: &Line, wave: &WaveReport, page: &HubPull) -> bool {
    let green = tell::status(wave).conclusion == tell::Conclusion::Success;
    let found = page.checks.known().map(|_| check_of_ours(line, page));
    let followed = !matches!(page.state, HubState::Closed { .. });
    followed && found.is_some_and(|found| found.is_none_or(|check| (check.state == CheckState::Success) != green))
}

/// The check of ours on its head.
fn check_of_ours<'a>(line: &Line, page: &'a HubPull) -> Option<&'a HubCheck> {
    page.checks.known().into_iter().flatten().find(|check| line.context.repo.hub.wrote(check))
}

/// Whether it is about to be merged as anybody would; what is forced says so before.
fn merges(plan: &Plan, number: PullNumber) -> bool {
    plan.actions.iter().any(|action| matches!(action, Action::Merge { pull, forced: None, .. } if *pull == number))
}

/// Whether it is about to be written anew.
fn updates(plan: &Plan, number: PullNumber) -> bool {
    plan.actions.iter().any(|action| matches!(action, Action::Update { pull, .. } if *pull == number))
}

/// Whether it was written.
async fn text(line: &Line, page: &HubPull, title: &str, body: &str) -> anyhow::Result<bool> {
    let new_title = (page.title != title).then_some(title);
    let new_body = (!same_text(&page.body, body)).then_some(body);
    let differs = new_title.is_some() || new_body.is_some();
    if !differs {
        return Ok(false);
    }
    let hub = line.context.repo.hub.leisurely();
    // The hub has no compare-and-set for it: a box that was ticked while this look lasted is heard by the next one.
    let edited = new_body.is_some() && !same_text(&hub.pull_body(page.number).await?, &page.body);
    hub.edit_pull(page.number, new_title, new_body.filter(|_| !edited)).await?;
    Ok(!edited)
}

/// Whether it was written.
async fn check(line: &Line, text: tell::CheckText, wave: &WaveReport, page: &HubPull) -> anyhow::Result<bool> {
    let conclusion = match text.conclusion {
        tell::Conclusion::ActionRequired => CheckConclusion::ActionRequired,
        tell::Conclusion::Success => CheckConclusion::Success,
        tell::Conclusion::Failure => CheckConclusion::Failure,
    };
    // A plain token writes a status, which has room for one line only.
    let title = if line.context.repo.hub.is_plain_token() { tell::status(wave).description } else { text.title };
    let (head, summary) = (page.head.clone(), text.summary);
    let draft = CheckDraft { head, conclusion, title, summary, details: None, annotations: Vec::new() };
    let ours = check_of_ours(line, page);
    let same = ours.is_some_and(|check| match &check.mark {
        Some(mark) => *mark == draft.mark(),
        None => check.run.is_none() && check.title == draft.title,
    });
    if !same {
        // One that is green may be what a merge waits for.
        let hub = if conclusion == CheckConclusion::Success {
            line.context.repo.hub.clone()
        } else {
            line.context.repo.hub.leisurely()
        };
        hub.set_check(&draft, ours.and_then(|check| check.run)).await?;
    }
    Ok(!same)
}
