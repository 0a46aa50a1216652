//! The one comment of the bot on a pull request, edited in place: why what people wrote was no command, or not theirs
//! to give; which words in reviews count; and what people ask. Which are answered is decided in `act/answers`.

use decide::Person;
use decide::plan::WaveReport;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::{TellError, check, inert, render, words};
use crate::command::{self, Mistake};
use crate::hub::WordId;
use crate::policy::wiring::{People, Right};

const MARK: &str = "<!-- coldframe:answers ";
const MARK_END: &str = " -->";

/// What is answered to one comment or review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Which.
    pub word: WordId,
    /// Who wrote it.
    pub by: Person,
    /// When.
    pub at: Timestamp,
    /// What.
    pub says: Says,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// It did not count.
    Not(NotCounted),
    /// It counts, which is said of a review alone: a comment gets a reaction.
    Counts(&'static str),
    /// Which commands there are.
    Help,
    /// How the pull request stands.
    Status,
}

/// Why a comment did not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotCounted {
    /// It is no command.
    Mistaken(Mistake),
    /// It was edited, and lets something through.
    Edited,
    /// Its author may not say so.
    NoRight(Right),
}

/// What answers to questions are made of.
pub struct Asked<'a> {
    /// The wave that the pull request is for.
    pub wave: &'a WaveReport,
    /// Who may give which command.
    pub people: &'a People,
    /// When this is written.
    pub now: Timestamp,
    /// The zone of its times.
    pub zone: &'a TimeZone,
}

#[derive(Serialize)]
struct Page {
    lines: Vec<Line>,
    counted: Vec<Line>,
    status: Option<Status>,
    commands: Vec<Command>,
    mark: String,
}

#[derive(Serialize)]
struct Line {
    who: String,
    when: String,
    why: String,
}

#[derive(Serialize)]
struct Status {
    when: String,
    text: String,
    until: Option<String>,
    who: Option<String>,
}

#[derive(Serialize)]
struct Command {
    written: String,
    does: &'static str,
    who: &'static str,
}

/// The comment with an answer to each of these. However often somebody asks, each question is answered once, as it is
/// now.
///
/// # Errors
/// Only when a built-in template is broken.
pub fn answers(answers: &[Answer], asked: &Asked<'_>) -> Result<String, TellError> {
    let line = |answer: &Answer, why: String| Line {
        who: inert::code(answer.by.as_str()),
        when: words::when(answer.at, asked.zone),
        why,
    };
    let not = |answer: &Answer| match &answer.says {
        Says::Not(because) => Some(line(answer, why(because))),
        Says::Counts(_) | Says::Help | Says::Status => None,
    };
    let counts = |answer: &Answer| match answer.says {
        Says::Counts(verb) => Some(line(answer, format!("`/coldframe {verb}`"))),
        Says::Not(_) | Says::Help | Says::Status => None,
    };
    let asks = |what: Says| answers.iter().any(|answer| answer.says == what);
    let page = Page {
        lines: answers.iter().filter_map(not).collect(),
        counted: answers.iter().filter_map(counts).collect(),
        status: asks(Says::Status).then(|| status(asked)),
        commands: if asks(Says::Help) { commands(asked.people) } else { Vec::new() },
        mark: mark(answers),
    };
    render::markdown("answers", &page)
}

fn status(asked: &Asked<'_>) -> Status {
    let first = words::first(asked.wave).filter(|_| words::end(&asked.wave.state).is_none());
    Status {
        when: words::when(asked.now, asked.zone),
        text: check::status(asked.wave).description,
        until: first.and_then(words::until).map(|until| words::when(until, asked.zone)),
        who: first.and_then(words::who),
    }
}

fn commands(people: &People) -> Vec<Command> {
    let each = command::USAGES.iter().zip(command::rights(people));
    each.map(|(usage, right)| Command {
        written: format!("/coldframe {}", usage.written),
        does: usage.does,
        who: whose(right),
    })
    .collect()
}

fn whose(right: Right) -> &'static str {
    match right {
        Right::Write => "somebody with write access",
        Right::CodeOwners => "a code owner of every path that it is about",
        Right::Admin => "an administrator of the repository",
    }
}

fn mark(answers: &[Answer]) -> String {
    let numbers = answers.iter().map(|answer| match answer.word {
        WordId::Comment(number) => number.to_string(),
        WordId::Review(number) => format!("r{number}"),
    });
    format!("{MARK}{}{MARK_END}", numbers.collect::<Vec<_>>().join(" "))
}

fn why(why: &NotCounted) -> String {
    match why {
        NotCounted::Mistaken(Mistake::Unknown { verb, meant: Some(meant) }) => {
            format!("there is no command {}; did you mean `/coldframe {meant}`?", inert::code(verb))
        }
        NotCounted::Mistaken(Mistake::Unknown { verb, meant: None }) if verb.is_empty() => {
            "a command has a word after `/coldframe`, such as `/coldframe hold <why>`.".to_string()
        }
        NotCounted::Mistaken(Mistake::Unknown { verb, meant: None }) => {
            format!("there is no command {}.", inert::code(verb))
        }
        NotCounted::Mistaken(Mistake::Incomplete { usage, .. }) => {
            format!("it lacks a part, or a part of it cannot be read; write `/coldframe {usage}`.")
        }
        NotCounted::Edited => "a comment that was edited lets nothing through; write it anew.".to_string(),
        NotCounted::NoRight(right) => format!("this takes {}.", whose(*right)),
    }
}

/// What this comment of ours answers; none where it is another one.
pub fn answered(body: &str) -> Option<Vec<WordId>> {
    let last = body.trim_end().lines().next_back()?.trim_end();
    let numbers = last.strip_prefix(MARK)?.strip_suffix(MARK_END)?;
    let read = |number: &str| match number.strip_prefix('r') {
        Some(review) => review.parse().ok().map(WordId::Review),
        None => number.parse().ok().map(WordId::Comment),
    };
    numbers.split(' ').map(read).collect()
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::fixture;
    use super::*;

    /// An answer that says this wherever a comment may say something.
    pub fn that_says(text: &str, wave: &WaveReport) -> String {
        let mistaken = NotCounted::Mistaken(Mistake::Unknown { verb: text.to_string(), meant: None });
        let answer = |says| Answer { by: text.into(), ..answer(says) };
        let all = [answer(Says::Not(mistaken)), answer(Says::Status), answer(Says::Help)];
        let people = &People::default();
        answers(&all, &Asked { wave, people, now: fixture::now(), zone: &TimeZone::UTC }).unwrap()
    }

    fn told(list: &[Answer]) -> String {
        let wave = &fixture::open();
        let people = People { fail: Right::Admin, ..People::default() };
        answers(list, &Asked { wave, people: &people, now: fixture::now(), zone: &TimeZone::UTC }).unwrap()
    }

    fn answer(says: Says) -> Answer {
        Answer { word: WordId::Comment(17), by: "maria".into(), at: fixture::now(), says }
    }

    #[test]
    fn each_gets_one_sentence_and_its_number() {
        let mistaken = |verb: &str, meant| NotCounted::Mistaken(Mistake::Unknown { verb: verb.to_string(), meant });
        let incomplete = Mistake::Incomplete { verb: "force", usage: "force <why>" };
        for (why, sentence) in [
            (mistaken("hodl", Some("hold")), "there is no command `hodl`; did you mean `/coldframe hold`?"),
            (mistaken("@acme/x", None), "there is no command `@acme/x`."),
            (mistaken("", None), "such as `/coldframe hold <why>`."),
            (NotCounted::Mistaken(incomplete), "write `/coldframe force <why>`."),
            (NotCounted::Edited, "write it anew."),
            (NotCounted::NoRight(Right::CodeOwners), "this takes a code owner of every path that it is about."),
        ] {
            let one = answer(Says::Not(why));
            let text = told(&[one.clone(), Answer { word: WordId::Review(17), ..one }]);
            assert!(text.contains("- `maria` on ") && text.contains(sentence), "{sentence}: {text}");
            assert!(!text.contains("Commands") && !text.contains("stands") && !text.contains("reviews"), "{text}");
            assert_eq!(answered(&text), Some(vec![WordId::Comment(17), WordId::Review(17)]));
        }
        assert_eq!(answered("approve this"), None);
    }

    #[test]
    fn questions_are_answered_once_each_and_reviews_get_the_word_that_counts() {
        let text = told(&[answer(Says::Help), answer(Says::Status), answer(Says::Status), answer(Says::Help)]);
        assert_eq!(text.matches("| `/coldframe ").count(), command::USAGES.len(), "{text}");
        assert_eq!(text.matches("How it stands on").count(), 1, "{text}");
        for words in [
            "`/coldframe fail <why>` | this release has failed on this tier | an administrator of the repository |",
            "`/coldframe hold <why>` | stops this pull request until `resume` | somebody with write access |",
            "freeze everything\\|tier\\|plugin",
            "*Who can unblock:*",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("did not count"), "{text}");
        let text = told(&[Answer { word: WordId::Review(4), ..answer(Says::Counts("hold")) }]);
        assert!(
            text.contains("These words in reviews count:\n\n- `maria` on ") && text.contains(": `/coldframe hold`"),
            "{text}"
        );
        assert!(!text.contains("did not count") && !text.contains("Commands"), "{text}");
        assert_eq!(answered(&text), Some(vec![WordId::Review(4)]));
    }
}
