//! Answers what people write as commands or ask: a reaction to the comment, which is the memory of it, and where that
//! says too little, or there is nothing to react to, a sentence in the one comment that the bot keeps. Of several bots the
//! one whose reaction came first writes; what a stranger can make it write is bounded.

use std::collections::BTreeMap;

use decide::Person;
use decide::plan::WaveReport;
use decide::snapshot::{Pull, Read};
use jiff::{SignedDuration, Timestamp};

use crate::act::line::Line;
use crate::command::{self, Question};
use crate::hub::{HubPull, Reaction, Word, WordId};
use crate::observe::Seen;
use crate::policy::wiring::People;
use crate::tell::{self, Answer, Asked, NotCounted, Says};

/// What was said so long ago needs no answer any more.
const STALE: SignedDuration = SignedDuration::from_hours(24);
/// How long the one who reacted first may take to write why.
const LAG: SignedDuration = SignedDuration::from_mins(1);
/// Sentences on one pull request, and to one person there.
const MOST: usize = 20;
const MOST_EACH: usize = 3;

/// Answers what is new on a pull request.
pub(super) async fn answer(
    line: &mut Line,
    seen: &Seen,
    wave: &WaveReport,
    page: &HubPull,
    now: Timestamp,
) -> anyhow::Result<()> {
    // What is older than the page may have been answered: who floods a pull request gets no answers there.
    if page.older_comments.is_some() || page.older_reviews.is_some() {
        return Ok(());
    }
    let (counted, answers) = heard(seen, page);
    let is_new = |word: &Word<'_>| !word.reacted && now.duration_since(word.at) < STALE;
    let hub = line.context.repo.hub.leisurely();
    let mut first = false;
    for word in page.words().into_iter().filter(is_new) {
        let answer = answers.iter().find(|answer| answer.word == word.id);
        let reaction = match answer.map(|answer| &answer.says) {
            Some(Says::Not(NotCounted::NoRight(_))) => Reaction::No,
            Some(Says::Not(NotCounted::Mistaken(_) | NotCounted::Edited)) => Reaction::Confused,
            Some(Says::Counts(_) | Says::Help | Says::Status) => Reaction::Yes,
            None if counted.contains(&word.id) => Reaction::Yes,
            None => continue,
        };
        // The page may lag behind what this process has done.
        if line.memory.answered.insert(word.id) {
            first |= match word.id {
                WordId::Comment(id) => hub.react(id, reaction).await? && answer.is_some(),
                WordId::Review(_) => true,
            };
        }
    }
    let ours = page.answers(hub.bot());
    let said = ours.and_then(|comment| tell::answered(&comment.body)).unwrap_or_default();
    let missing = |answer: &&Answer| !said.contains(&answer.word) && now.duration_since(answer.at) < STALE;
    let late = |answer: &Answer| now.duration_since(answer.at) > LAG;
    if !answers.iter().filter(missing).any(|answer| first || late(answer)) {
        return Ok(());
    }
    let zone = seen.links().zone(&wave.plugin, &wave.tier);
    let asked = Asked { wave, people: &seen.loaded.wiring.people, now, zone: &zone };
    put(line, page, ours.map(|comment| comment.id), &tell::answers(&answers, &asked)?).await
}

/// Puts the text into the one comment. Of two that were written at once the older one stays.
async fn put(line: &Line, page: &HubPull, ours: Option<u64>, text: &str) -> anyhow::Result<()> {
    let hub = line.context.repo.hub.leisurely();
    let oldest = async || -> anyhow::Result<Option<u64>> {
        let own = hub.own_comments(page.number, page.opened_at).await?;
        let own = own.into_iter().filter(|comment| tell::answered(&comment.body).is_some());
        Ok(own.map(|comment| comment.id).min())
    };
    let own = match ours {
        Some(id) => Some(id),
        // A second, independent look before there are two of them.
        None => oldest().await?,
    };
    match own {
        Some(id) => hub.edit_comment(id, text).await?,
        None => {
            let made = hub.comment(page.number, text).await?;
            if oldest().await?.is_some_and(|oldest| oldest < made) {
                hub.delete_comment(made).await?;
            }
        }
    }
    Ok(())
}

/// The words that count as commands, and what is answered to the others; of these the first ones of each person and of
/// all, so that nobody makes the bot write without end. Whose right could not be read is answered later.
fn heard(seen: &Seen, page: &HubPull) -> (Vec<WordId>, Vec<Answer>) {
    let plugins = seen.snapshot.plugins.values();
    let pulls = plugins.filter_map(|facts| facts.pulls.known()).flatten();
    let pull = pulls.into_iter().find(|pull| pull.number == page.number);
    let people = &seen.loaded.wiring.people;
    let (mut counted, mut answers) = (Vec::new(), Vec::new());
    let mut each: BTreeMap<(&Person, bool), usize> = BTreeMap::new();
    for word in page.words() {
        let Some(by) = word.by.filter(|by| by.human) else { continue };
        match pull.and_then(|pull| one(pull, &word, &by.login, people)) {
            Some(Says::Counts(_)) if matches!(word.id, WordId::Comment(_)) => counted.push(word.id),
            Some(says) => {
                // Whose right it is not, is told so once.
                let right = matches!(says, Says::Not(NotCounted::NoRight(_)));
                let answered = each.entry((&by.login, right)).or_default();
                *answered += 1;
                if *answered <= (if right { 1 } else { MOST_EACH }) && answers.len() < MOST {
                    answers.push(Answer { word: word.id, by: by.login.clone(), at: word.at, says });
                }
            }
            None => {}
        }
    }
    (counted, answers)
}

/// What is answered to one of them; nothing where it is no command, or nobody can tell whose right it is.
fn one(pull: &Pull, word: &Word<'_>, by: &Person, people: &People) -> Option<Says> {
    match command::question(word.body) {
        Some(Question::Help) => return Some(Says::Help),
        Some(Question::Status) => return Some(Says::Status),
        None => {}
    }
    let Some(what) = command::parse(word.body) else {
        return command::mistake(word.body).map(|mistake| Says::Not(NotCounted::Mistaken(mistake)));
    };
    let said =
        |command: &&decide::snapshot::Command| command.by == *by && command.at == word.at && command.what == what;
    match pull.commands.iter().find(said).map(|command| &command.allowed) {
        Some(Read::Known(true)) => Some(Says::Counts(command::verb(&what))),
        Some(Read::Known(false)) => Some(Says::Not(NotCounted::NoRight(command::right(&what, people)))),
        Some(Read::Unread(_)) => None,
        None => (word.edited && !command::stops(&what)).then_some(Says::Not(NotCounted::Edited)),
    }
}
