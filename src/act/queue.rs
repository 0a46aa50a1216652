//! The merge queue of a base branch: what the bot puts into it and takes out again. Whether a pull request may be merged
//! is decided in `decide` and found out once more in `permit`; that it has landed is proved from git, as after any merge.

use decide::ledger::{Change, Entry, Merging, Wave};
use decide::plan::{Action, Plan};
use decide::{Person, PullNumber, Sha};
use jiff::{SignedDuration, Timestamp};

use super::intent::intend;
use super::merge::known;
use super::receipt::Receipt;
use crate::act::line::Line;
use crate::hub::{HubError, HubPull, HubState, MergeTurn, QueueAnswer};
use crate::observe::Seen;

/// An intent is written anew after so long in the queue: the cap of changed clusters counts it for an hour.
const RENEWED: SignedDuration = SignedDuration::from_mins(30);

/// Takes out what the bot has put into the queue and would not merge now. What people have put there is theirs.
pub(super) async fn leave(line: &Line, seen: &Seen, plan: &Plan) -> Vec<Receipt> {
    let mut receipts = Vec::new();
    let bot = line.context.repo.hub.bot();
    for pull in seen.pulls.iter().filter(|pull| pull.state == HubState::Open && is_queued_by(pull, bot)) {
        if plan.actions.iter().any(|action| is_of(action, pull)) {
            continue;
        }
        let number = pull.number;
        match line.context.repo.hub.dequeue(&pull.node).await {
            Ok(()) => receipts.push(Receipt::Done(format!("took {number} out of the merge queue"))),
            Err(error) => tracing::warn!(%number, %error, "it may still be in the merge queue"),
        }
    }
    receipts
}

/// Whether what is to be merged waits in the queue already.
pub(super) fn has(seen: &Seen, action: &Action) -> bool {
    seen.pulls.iter().any(|pull| pull.queued.is_some() && is_of(action, pull))
}

/// Keeps the intent of what waits in the queue fresh.
pub(super) async fn renew(
    line: &mut Line,
    seen: &Seen,
    action: &Action,
    now: Timestamp,
) -> anyhow::Result<Option<Receipt>> {
    let Action::Merge { plugin, tier, version, .. } = action else { return Ok(None) };
    let asked = known(seen, action).and_then(Wave::asked);
    let Some(asked) = asked.filter(|asked| now.duration_since(asked.at) > RENEWED) else { return Ok(None) };
    let change = Change::Merging(Merging { at: now, ..asked.clone() });
    let (plugin, tier, version) = (plugin.clone(), tier.clone(), version.clone());
    intend(line, Entry::Wave { plugin, tier, version, change }, now).await
}

/// Why nothing has come of a place in the queue that the bot had asked for: not the bot took it out.
pub(super) fn taken_out(line: &Line, seen: &Seen, action: &Action) -> Option<String> {
    let hub = &line.context.repo.hub;
    let pull = seen.pulls.iter().find(|pull| is_of(action, pull))?;
    let asked = known(seen, action)?.asked().filter(|asked| asked.head == pull.head)?;
    let out = pull.taken_out.as_ref().filter(|out| is_after(out.at, asked.at, hub.skew()))?;
    match &out.by {
        Some(by) if by.login == *hub.bot() => None,
        Some(by) if by.human => Some(format!("{} took it out of the merge queue", by.login)),
        Some(_) | None => Some(format!("the merge queue took it out: {}", in_words(&out.why))),
    }
}

/// Whether something that the hub dates came after something that we date, by a clock that is so far ahead of the hub's.
/// The hub tells whole seconds, and how far apart the clocks are is known to one.
fn is_after(theirs: Timestamp, ours: Timestamp, skew: SignedDuration) -> bool {
    theirs.saturating_add(skew + SignedDuration::from_secs(2)).is_ok_and(|theirs| theirs >= ours)
}

/// Why the hub took something out, for people. Its words are those of the webhook `pull_request.dequeued`.
fn in_words(why: &str) -> String {
    match why {
        "CI_FAILURE" => "a required check of its group failed".to_string(),
        "CI_TIMEOUT" => "the checks of its group took too long".to_string(),
        "MERGE_CONFLICT" | "GIT_TREE_INVALID" | "INVALID_MERGE_COMMIT" => {
            "it conflicts with its base branch or with what stands before it".to_string()
        }
        "BRANCH_PROTECTIONS" => "branch rules are not met any more".to_string(),
        "QUEUE_CLEARED" | "ROLL_BACK" => "the queue was cleared".to_string(),
        "" => "the hub does not say why".to_string(),
        other => other.to_lowercase().replace('_', " "),
    }
}

/// What became of an entry into the queue.
pub(super) enum Entered {
    /// It waits there.
    Yes,
    /// The hub does not take it.
    No(String),
    /// Nobody knows.
    Unknown(String),
}

/// Puts a head into the queue that was just permitted.
pub(super) async fn enter(
    line: &Line,
    turn: MergeTurn,
    (number, head): (PullNumber, &Sha),
    node: &str,
    good_until: Timestamp,
) -> anyhow::Result<Entered> {
    let hub = &line.context.repo.hub;
    let why = match hub.enqueue(turn, node, head, good_until).await {
        Ok(QueueAnswer::Queued) => return Ok(Entered::Yes),
        Ok(QueueAnswer::Refused { why }) => return Ok(Entered::No(format!("the hub says \"{why}\""))),
        Ok(QueueAnswer::Indeterminate { why }) => why,
        Err(HubError::Stale { .. }) => {
            let why = "what it rests on was too old when it was about to be asked for";
            return Ok(Entered::No(why.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    let there = hub.pull(number).await.is_ok_and(|pull| pull.head == *head && pull.queued.is_some());
    let unknown = || format!("the hub did not say whether it is in the merge queue ({why})");
    Ok(if there { Entered::Yes } else { Entered::Unknown(unknown()) })
}

fn is_of(action: &Action, page: &HubPull) -> bool {
    matches!(action, Action::Merge { pull, head, .. } if *pull == page.number && *head == page.head)
}

fn is_queued_by(pull: &HubPull, bot: &Person) -> bool {
    let by = |queued: &crate::hub::InQueue| queued.by.as_ref().is_some_and(|by| by.login == *bot);
    pull.queued.as_ref().is_some_and(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_left_the_queue_in_the_second_of_the_intent_came_after_it() {
        let at = |second: i64, milli: i64| {
            Timestamp::from_second(second).unwrap_or_default() + SignedDuration::from_millis(milli)
        };
        for (theirs, ours, ahead, expected) in [
            (at(100, 0), at(100, 400), 0, true),
            (at(99, 0), at(100, 900), 0, true),
            (at(90, 0), at(100, 0), 0, false),
            (at(100, 0), at(400, 0), 300, true),
            (at(390, 0), at(100, 0), -300, false),
        ] {
            let found = is_after(theirs, ours, SignedDuration::from_secs(ahead));
            assert_eq!(found, expected, "{theirs} {ours} {ahead}");
        }
    }
}
