//! The check on merge groups, where branch rules ask for ours: a group gets what the checks of the pull requests in it
//! say. What may be in the queue at all is in `queue`.

use std::collections::BTreeMap;

use decide::plan::Plan;
use decide::snapshot::{CheckState, Read};
use decide::{PullNumber, Sha};
use jiff::Timestamp;

use super::other_pulls::{draft, is_required};
use crate::act::line::Line;
use crate::hub::{CheckConclusion, HubPull, HubState, InQueue, OtherPull};
use crate::observe::Seen;
use crate::tell::{self, Conclusion, policy_check};

/// The mark and the number of the check that was written last, by the commit of the group.
pub type Told = BTreeMap<Sha, (String, Option<u64>)>;

/// An entry of a queue: its pull request, what the check of that says, and the commit of its group.
type Entry<'a> = (PullNumber, Option<Conclusion>, Option<&'a Sha>);

/// A commit that the hub would merge, and the pull requests in it.
struct Group<'a> {
    base: &'a str,
    commit: &'a Sha,
    pulls: Vec<(PullNumber, Conclusion)>,
}

/// Brings the checks on merge groups up to date. One that cannot be written keeps nothing else back.
pub async fn publish(line: &mut Line, seen: &Seen, plan: &Plan, now: Timestamp) {
    let groups = groups(seen, plan);
    line.memory.groups.retain(|commit, _| groups.iter().any(|group| group.commit == commit));
    for group in &groups {
        if let Err(error) = one(line, group, now).await {
            let (repository, commit) = (line.context.repo.full_name(), group.commit);
            tracing::warn!(repository, %commit, error = %format!("{error:#}"), "check of a merge group not put there");
        }
    }
}

async fn one(line: &mut Line, group: &Group<'_>, now: Timestamp) -> anyhow::Result<()> {
    if is_required(line, group.base, now).await != Read::Known(true) {
        return Ok(());
    }
    let draft = draft(&policy_check::merge_group(&group.pulls)?, group.commit, &[]);
    let before = line.memory.groups.get(group.commit);
    if before.is_some_and(|(mark, _)| *mark == draft.mark()) {
        return Ok(());
    }
    let existing = before.and_then(|(_, run)| *run);
    // What is green is what a merge waits for.
    let green = draft.conclusion == CheckConclusion::Success;
    let hub = if green { line.context.repo.hub.clone() } else { line.context.repo.hub.leisurely() };
    let run = hub.set_check(&draft, existing).await?;
    line.memory.groups.insert(group.commit.clone(), (draft.mark(), run));
    Ok(())
}

/// The groups of which everything is known. Each holds what stands before it in its queue as well.
fn groups<'a>(seen: &'a Seen, plan: &Plan) -> Vec<Group<'a>> {
    let mut queues: BTreeMap<&str, BTreeMap<u64, Entry<'_>>> = BTreeMap::new();
    let ours = seen.pulls.iter().filter(|pull| pull.state == HubState::Open);
    let ours = ours.map(|pull| (pull.base.as_str(), &pull.queued, pull.number, of_ours(plan, pull)));
    let others = seen.others.iter().map(|pull| (pull.base.as_str(), &pull.queued, pull.number, of_others(pull)));
    for (base, queued, number, conclusion) in ours.chain(others) {
        if let Some(InQueue { position, group, .. }) = queued {
            queues.entry(base).or_default().insert(*position, (number, conclusion, group.as_ref()));
        }
    }
    queues.into_iter().flat_map(|(base, queue)| known(base, &queue)).collect()
}

/// The groups of a queue, up to the first entry that is not to be seen or of which nothing is known.
fn known<'a>(base: &'a str, queue: &BTreeMap<u64, Entry<'a>>) -> Vec<Group<'a>> {
    let (mut groups, mut pulls) = (Vec::new(), Vec::new());
    for (place, (position, (number, conclusion, commit))) in (1..).zip(queue) {
        let Some(conclusion) = conclusion.filter(|_| *position == place) else { break };
        pulls.push((*number, conclusion));
        groups.extend(commit.map(|commit| Group { base, commit, pulls: pulls.clone() }));
    }
    groups
}

fn of_ours(plan: &Plan, pull: &HubPull) -> Option<Conclusion> {
    let wave = plan.waves.iter().find(|wave| wave.pull == Some(pull.number))?;
    Some(tell::status(wave).conclusion)
}

fn of_others(pull: &OtherPull) -> Option<Conclusion> {
    let check = pull.check.known()?.as_ref()?;
    Some(match check.state {
        CheckState::Success => Conclusion::Success,
        CheckState::Pending => Conclusion::ActionRequired,
        CheckState::Failure => Conclusion::Failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_holds_what_stands_before_it_and_nothing_unknown() {
        let commits: Vec<Sha> = ["a", "b", "c"].into_iter().map(Sha::from).collect();
        let told = |entries: &[(u64, Option<Conclusion>)]| {
            let numbered = entries.iter().zip(&commits).zip(1..);
            let queue = numbered.map(|(((position, conclusion), commit), number)| {
                (*position, (PullNumber(number), *conclusion, Some(commit)))
            });
            let groups = known("main", &queue.collect());
            groups
                .iter()
                .map(|group| group.pulls.iter().map(|(number, _)| number.0).collect())
                .collect::<Vec<Vec<u64>>>()
        };
        let (yes, no) = (Some(Conclusion::Success), Some(Conclusion::ActionRequired));
        assert_eq!(told(&[(1, yes), (2, no), (3, yes)]), [vec![1], vec![1, 2], vec![1, 2, 3]]);
        assert_eq!(told(&[(1, yes), (2, None), (3, yes)]), [vec![1]], "nothing is known of the second");
        assert_eq!(told(&[(1, yes), (3, yes)]), [vec![1]], "the second is not to be seen");
        assert_eq!(told(&[(2, yes), (3, yes)]), Vec::<Vec<u64>>::new(), "the first is not to be seen");
    }
}
