//! Opens and moves promotion pull requests: commit, intent, branch, pull request, in that order, so
//! that a crash between any two leaves something that the next look finds and finishes. The first three are in `heads`.

use std::sync::Arc;

use anyhow::Context as _;
use decide::plan::{Plan, Proposal, WaveReport};
use decide::{Person, PullNumber, Sha};
use jiff::{SignedDuration, Timestamp};
use tracing::Span;

use super::changes::{self, Whose};
use super::heads::{self, Made};
use super::receipt::{Receipt, fenced};
use super::{opened, publish, tasks};
use crate::act::line::{Line, Opened};
use crate::hub::{BranchPull, HubError, HubState};
use crate::observe::{self, Beside, Foreseen, Seen, branch};
use crate::tell::Task;
use crate::{clock, trace};

/// So many pull requests are opened together at most.
pub(super) const TOGETHER: usize = 20;
/// How long the hub may not show what it has just made; its worst days knew minutes.
const LONGEST_LAG: SignedDuration = SignedDuration::from_mins(10);
/// For so long it holds for the next ones, too, that no other process has written.
const FRESH: SignedDuration = SignedDuration::from_secs(5);

/// How far a proposal has come.
enum Step {
    /// Its commit is made, and on no branch yet.
    Made(Box<Made>),
    /// Its commit is at its branch.
    Pushed(Sha),
    /// It is there, says our memory, and the hub does not show it.
    Hidden(String),
    /// It is not opened.
    Ended(Receipt),
}

/// Writes their commits, pushes the branches, opens the pull requests. What already exists is found. Where the world has
/// moved, those that come after are left to the next look.
pub(super) async fn open(
    line: &mut Line,
    seen: &Seen,
    plan: &Plan,
    proposals: &[(&Proposal, Span)],
    now: Timestamp,
) -> anyhow::Result<Vec<Receipt>> {
    let names: Vec<String> = proposals.iter().map(|(one, _)| branch(&one.plugin, &one.tier)).collect();
    // A second, independent look: a person may have said no while our list lagged.
    let earlier = line.context.repo.hub.pulls_of_branches(&names).await?;
    let tips = line.context.repo.git(move |store, access| store.tips(access, &names)).await?;
    let mut steps = Vec::with_capacity(proposals.len());
    for (proposal, span) in proposals {
        let name = branch(&proposal.plugin, &proposal.tier);
        let of_branch = earlier.get(&name).with_context(|| format!("nobody asked what was opened from {name}"))?;
        let preparing = prepare(line, seen, proposal, (tips.get(&name), of_branch), now);
        let step = trace::within(span.clone(), preparing).await?;
        let goes_on = if let Step::Ended(receipt) = &step { receipt.goes_on() } else { true };
        steps.push((*proposal, step));
        if !goes_on {
            break;
        }
    }
    push(line, &mut steps, now).await?;
    let opening: Vec<(&Proposal, &Sha)> = steps.iter().filter_map(|(one, step)| Some((*one, step.pushed()?))).collect();
    let foreseen = observe::foresee(&mut line.context, seen, &opening, now).await;
    let (mut receipts, mut looked) = (Vec::with_capacity(steps.len()), None);
    for ((proposal, step), (_, span)) in steps.into_iter().zip(proposals) {
        let head = match step {
            Step::Pushed(head) => head,
            Step::Hidden(why) => {
                receipts.push(Receipt::Refused(why).about(proposal, "opened"));
                continue;
            }
            Step::Ended(receipt) => {
                let key = (proposal.plugin.clone(), proposal.tier.clone());
                line.memory.refused.extend(receipt.refusal().map(|why| (key, why.to_string())));
                receipts.push(receipt.about(proposal, "opened"));
                continue;
            }
            Step::Made(made) => anyhow::bail!("{} was not pushed", made.commit()),
        };
        // The push may have been long on its way: what another process opened and merged meanwhile has left no branch.
        if looked.is_none_or(|at| clock::now().duration_since(at) > FRESH) {
            if heads::is_fenced(line).await? {
                receipts.push(fenced());
                break;
            }
            looked = Some(clock::now());
        }
        line.memory.refused.remove(&(proposal.plugin.clone(), proposal.tier.clone()));
        let opening = open_one(line, seen, (plan, foreseen.as_ref()), (proposal, head), now);
        receipts.push(trace::within(span.clone(), opening).await?);
    }
    Ok(receipts)
}

impl Step {
    fn pushed(&self) -> Option<&Sha> {
        match self {
            Self::Pushed(head) => Some(head),
            Self::Made(_) | Self::Hidden(_) | Self::Ended(_) => None,
        }
    }
}

/// Makes the commit of one, unless it is at its branch already.
async fn prepare(
    line: &mut Line,
    seen: &Seen,
    proposal: &Proposal,
    (there, earlier): (Option<&Sha>, &[BranchPull]),
    now: Timestamp,
) -> anyhow::Result<Step> {
    if let Some(receipt) = earlier.iter().find_map(|earlier| in_the_way(line, seen, proposal, earlier, now)) {
        return Ok(Step::Ended(receipt));
    }
    let Some(head) = proposal.written.as_ref().filter(|head| there == Some(&head.commit)) else {
        let made = heads::make(line, seen, proposal, there, now).await?;
        return Ok(made.map_or_else(Step::Ended, |made| Step::Made(Box::new(made))));
    };
    let hidden = hidden(line, &branch(&proposal.plugin, &proposal.tier), &head.commit, now).await?;
    Ok(hidden.map_or_else(|| Step::Pushed(head.commit.clone()), Step::Hidden))
}

/// Brings everything that is made to its branch.
async fn push(line: &mut Line, steps: &mut [(&Proposal, Step)], now: Timestamp) -> anyhow::Result<()> {
    let made: Vec<&Made> =
        steps.iter().filter_map(|(_, step)| if let Step::Made(made) = step { Some(&**made) } else { None }).collect();
    if made.is_empty() {
        return Ok(());
    }
    let mut ends = match heads::write(line, &made, now).await? {
        Ok(ends) => ends.into_iter(),
        Err(receipt) => vec![Some(receipt); made.len()].into_iter(),
    };
    for (_, step) in steps {
        if let Step::Made(made) = step {
            let end = ends.next().context("a push without an end")?;
            *step = end.map_or_else(|| Step::Pushed(made.commit().clone()), Step::Ended);
        }
    }
    Ok(())
}

/// Opens one whose head is at its branch.
async fn open_one(
    line: &mut Line,
    seen: &Seen,
    (plan, foreseen): (&Plan, Option<&Foreseen>),
    (proposal, head): (&Proposal, Sha),
    now: Timestamp,
) -> anyhow::Result<Receipt> {
    let Proposal { plugin, tier, .. } = proposal;
    let (changes, tasks) = told(line, seen, plan, proposal, &head).await;
    let beside = Beside { changes: changes.as_deref(), tasks: &tasks };
    let told = foreseen.and_then(|next| next.texts(seen, (plugin, tier), &head, beside));
    let (title, body, urgent) = match told {
        Some((wave, title, body)) => (title, body, Some(publish::urgent(&head, wave))),
        None => {
            let (title, body) = texts(seen, plan, proposal, &head, beside)?;
            (title, body, None)
        }
    };
    let (base, _) = seen.base(tier).context("the base branch of the tier was not read")?;
    let name = branch(plugin, tier);
    let number = line.context.repo.hub.open_pull(&title, &name, base, &body).await?.number();
    trace::opened(number);
    line.memory.opened.insert(name, Opened { number, head, at: now });
    if let Some(urgent) = urgent {
        line.memory.published.insert(number, (urgent, now));
    }
    opened::add(line, number, &seen.loaded.wiring.pulls).await;
    Ok(Receipt::Done(format!("opened {number}, {title}")))
}

/// What keeps a pull request from being opened beside an earlier one of its branch.
fn in_the_way(line: &Line, seen: &Seen, proposal: &Proposal, earlier: &BranchPull, now: Timestamp) -> Option<Receipt> {
    let (number, ours) = (earlier.number, earlier.author.as_ref() == Some(line.context.repo.hub.bot()));
    if earlier.open && ours {
        return Some(Receipt::Moved(format!("{number} is already open for {}", earlier.branch)));
    }
    if earlier.open {
        let by = earlier.author.as_ref().map_or("a deleted account", Person::as_str);
        let why =
            format!("{number} by {by} is open from the branch {}; close it and delete the branch", earlier.branch);
        return Some(Receipt::Refused(why));
    }
    let Some(merged) = earlier.merged_at else {
        let same = proposal.written.as_ref().is_some_and(|head| head.commit == earlier.head);
        return same.then(|| Receipt::Moved(format!("{number} had this very commit and was closed")));
    };
    // Another process opened and merged it after this look had read the hub's page, or the base branch.
    let known = seen.pull(number).is_some_and(|known| known.state != HubState::Open);
    let fresh = now.duration_since(merged) < LONGEST_LAG;
    (ours && fresh && !known).then(|| Receipt::Moved(format!("{number} was merged meanwhile")))
}

/// Why a pull request that no list shows is not opened: it was, with this very head. A person may have closed it
/// since. Where not even its number is found for so long, the hub refuses a second one itself.
async fn hidden(line: &Line, branch: &str, head: &Sha, now: Timestamp) -> anyhow::Result<Option<String>> {
    let Some(opened) = line.memory.opened.get(branch).filter(|opened| opened.head == *head) else { return Ok(None) };
    let number = opened.number;
    match line.context.repo.hub.pull(number).await {
        Ok(_) => Ok(Some(format!("{number} is there, and the hub does not list it yet"))),
        Err(HubError::NotFound { .. }) if now.duration_since(opened.at) < LONGEST_LAG => {
            Ok(Some(format!("{number} was just opened, and the hub does not show it yet")))
        }
        Err(HubError::NotFound { .. }) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// Moves the open pull request to what is proposed, by writing its branch anew on the present base.
pub(super) async fn update(
    line: &mut Line,
    seen: &Seen,
    plan: &Plan,
    (pull, head): (PullNumber, &Sha),
    proposal: &Proposal,
    now: Timestamp,
) -> anyhow::Result<Receipt> {
    let name = branch(&proposal.plugin, &proposal.tier);
    let there = line.context.repo.git(move |store, access| store.tip(access, &name)).await?;
    if there.as_ref() != Some(head) {
        return Ok(Receipt::Moved(format!("the branch of {pull} moved")));
    }
    let made = match heads::make(line, seen, proposal, there.as_ref(), now).await? {
        Ok(made) => made,
        Err(receipt) => return Ok(receipt),
    };
    match heads::write(line, &[&made], now).await? {
        Ok(ends) => {
            if let Some(receipt) = ends.into_iter().flatten().next() {
                return Ok(receipt);
            }
        }
        Err(receipt) => return Ok(receipt),
    }
    let (changes, tasks) = told(line, seen, plan, proposal, made.commit()).await;
    let beside = Beside { changes: changes.as_deref(), tasks: &tasks };
    let (title, body) = texts(seen, plan, proposal, made.commit(), beside)?;
    line.context.repo.hub.edit_pull(pull, Some(&title), Some(&body)).await?;
    Ok(Receipt::Done(format!("moved {pull} to {title}")))
}

/// What a head changes, where that is more than anybody reads, and what people have to do for the release. What cannot
/// be had now is told at the next look.
async fn told(
    line: &mut Line,
    seen: &Seen,
    plan: &Plan,
    proposal: &Proposal,
    head: &Sha,
) -> (Option<Arc<str>>, Arc<[Task]>) {
    let whose = Whose { plugin: &proposal.plugin, tier: &proposal.tier, members: &proposal.members };
    let changes = changes::section(line, seen, whose, head).await;
    let tasks = match reported(plan, proposal) {
        Ok(wave) => tasks::of((&mut line.context, &mut line.memory.tasks), seen, wave).await,
        Err(error) => Err(error),
    };
    if let Some(error) = changes.as_ref().err().or(tasks.as_ref().err()) {
        tracing::warn!(%head, error = %format!("{error:#}"), "a part of the text is told at the next look");
    }
    (changes.unwrap_or_default(), tasks.unwrap_or_else(|_| Arc::from(Vec::new())))
}

/// Title and body as the plan has them; the next look writes what has changed since.
fn texts(
    seen: &Seen,
    plan: &Plan,
    proposal: &Proposal,
    head: &Sha,
    beside: Beside<'_>,
) -> anyhow::Result<(String, String)> {
    let wave = reported(plan, proposal)?;
    Ok((seen.title(wave), seen.body(plan, wave, head, beside)?))
}

/// What the plan says of the wave that it proposes.
fn reported<'p>(plan: &'p Plan, proposal: &Proposal) -> anyhow::Result<&'p WaveReport> {
    let wave = plan.waves.iter().find(|wave| wave.plugin == proposal.plugin && wave.tier == proposal.tier);
    wave.context("the plan proposes a wave that it does not report")
}
