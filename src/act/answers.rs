//! Answers what people write as commands: a reaction to the comment, which is the memory of it, and where it did not
//! count one sentence in the one comment that the bot keeps. Of several bots the one whose reaction came first
//! writes; what a stranger can make it write is bounded.

use std::collections::BTreeMap;

use decide::Person;
use decide::snapshot::{Pull, Read};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::act::line::Line;
use crate::command;
use crate::hub::{HubComment, HubPull, Reaction};
use crate::observe::Seen;
use crate::policy::wiring::People;
use crate::tell::{self, Answer, NotCounted};

/// What was said so long ago needs no answer any more.
const STALE: SignedDuration = SignedDuration::from_hours(24);
/// How long the one who reacted first may take to write why.
const LAG: SignedDuration = SignedDuration::from_mins(1);
/// Sentences on one pull request, and to one person there.
const MOST: usize = 20;
const MOST_EACH: usize = 3;

/// What a comment is to us.
enum Heard {
    Counts,
    Not(NotCounted),
}

/// Answers what is new on a pull request.
pub(super) async fn answer(
    line: &mut Line,
    seen: &Seen,
    page: &HubPull,
    zone: &TimeZone,
    now: Timestamp,
) -> anyhow::Result<()> {
    // What is older than the page may have been answered: who floods a pull request gets no answers there.
    if page.older_comments.is_some() {
        return Ok(());
    }
    let (counted, answers) = heard(seen, page);
    let is_new = |comment: &HubComment| !comment.reacted && now.duration_since(comment.at) < STALE;
    let hub = line.context.repo.hub.leisurely();
    let mut first = false;
    for comment in page.comments.known().into_iter().flatten().filter(|comment| is_new(comment)) {
        let answer = answers.iter().find(|answer| answer.comment == comment.id);
        let reaction = match answer.map(|answer| &answer.why) {
            Some(NotCounted::NoRight(_)) => Reaction::No,
            Some(NotCounted::Mistaken(_) | NotCounted::Edited) => Reaction::Confused,
            None if counted.contains(&comment.id) => Reaction::Yes,
            None => continue,
        };
        // The page may lag behind what this process has done.
        if line.memory.answered.insert(comment.id) {
            first |= hub.react(comment.id, reaction).await? && answer.is_some();
        }
    }
    let ours = page.answers(line.context.repo.hub.bot());
    let said = ours.and_then(|comment| tell::answered(&comment.body)).unwrap_or_default();
    let missing = |answer: &&Answer| !said.contains(&answer.comment) && now.duration_since(answer.at) < STALE;
    let late = |answer: &Answer| now.duration_since(answer.at) > LAG;
    if !answers.iter().filter(missing).any(|answer| first || late(answer)) {
        return Ok(());
    }
    let text = tell::answers(&answers, zone)?;
    let own = match ours {
        Some(comment) => Some(comment.id),
        // A second, independent look before there are two of them.
        None => {
            let own = hub.own_comments(page.number, page.opened_at).await?;
            own.into_iter().find(|comment| tell::answered(&comment.body).is_some()).map(|comment| comment.id)
        }
    };
    match own {
        Some(id) => hub.edit_comment(id, &text).await?,
        None => hub.comment(page.number, &text).await.map(drop)?,
    }
    Ok(())
}

/// The comments that count as commands, and those that do not, with why; of these the first ones of each person and of
/// all, so that nobody makes the bot write without end. Whose right could not be read is answered later.
fn heard(seen: &Seen, page: &HubPull) -> (Vec<u64>, Vec<Answer>) {
    let plugins = seen.snapshot.plugins.values();
    let pulls = plugins.filter_map(|facts| facts.pulls.known()).flatten();
    let pull = pulls.into_iter().find(|pull| pull.number == page.number);
    let people = &seen.loaded.wiring.people;
    let (mut counted, mut answers) = (Vec::new(), Vec::new());
    let mut each: BTreeMap<(&Person, bool), usize> = BTreeMap::new();
    for comment in page.comments.known().into_iter().flatten() {
        let Some(by) = comment.by.as_ref().filter(|by| by.human) else { continue };
        match pull.and_then(|pull| one(pull, comment, &by.login, people)) {
            Some(Heard::Counts) => counted.push(comment.id),
            Some(Heard::Not(why)) => {
                // Whose right it is not, is told so once.
                let right = matches!(why, NotCounted::NoRight(_));
                let answered = each.entry((&by.login, right)).or_default();
                *answered += 1;
                if *answered <= (if right { 1 } else { MOST_EACH }) && answers.len() < MOST {
                    answers.push(Answer { comment: comment.id, by: by.login.clone(), at: comment.at, why });
                }
            }
            None => {}
        }
    }
    (counted, answers)
}

/// What one comment is; none where it is no command, or nobody can tell whose right it is.
fn one(pull: &Pull, comment: &HubComment, by: &Person, people: &People) -> Option<Heard> {
    let Some(what) = command::parse(&comment.body) else {
        return command::mistake(&comment.body).map(|mistake| Heard::Not(NotCounted::Mistaken(mistake)));
    };
    let said =
        |command: &&decide::snapshot::Command| command.by == *by && command.at == comment.at && command.what == what;
    match pull.commands.iter().find(said).map(|command| &command.allowed) {
        Some(Read::Known(true)) => Some(Heard::Counts),
        Some(Read::Known(false)) => Some(Heard::Not(NotCounted::NoRight(command::right(&what, people)))),
        Some(Read::Unread(_)) => None,
        None => (comment.edited_at.is_some() && !command::stops(&what)).then_some(Heard::Not(NotCounted::Edited)),
    }
}
