//! The one comment of the bot on a pull request, edited in place: why what people wrote was no command, or not theirs
//! to give. Which comments are answered is decided in `act/answers`.

use decide::Person;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::{TellError, inert, render, words};
use crate::command::Mistake;
use crate::policy::wiring::Right;

const MARK: &str = "<!-- coldframe:answers ";
const MARK_END: &str = " -->";

/// A comment that did not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its number.
    pub comment: u64,
    /// Who wrote it.
    pub by: Person,
    /// When.
    pub at: Timestamp,
    /// Why it did not count.
    pub why: NotCounted,
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

#[derive(Serialize)]
struct Page {
    lines: Vec<Line>,
    mark: String,
}

#[derive(Serialize)]
struct Line {
    who: String,
    when: String,
    why: String,
}

/// The comment with an answer to each of these.
///
/// # Errors
/// Only when a built-in template is broken.
pub fn answers(answers: &[Answer], zone: &TimeZone) -> Result<String, TellError> {
    let lines = answers.iter().map(|answer| Line {
        who: inert::code(answer.by.as_str()),
        when: words::when(answer.at, zone),
        why: why(&answer.why),
    });
    let numbers: Vec<String> = answers.iter().map(|answer| answer.comment.to_string()).collect();
    let page = Page { lines: lines.collect(), mark: format!("{MARK}{}{MARK_END}", numbers.join(" ")) };
    render::markdown("answers", &page)
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
        NotCounted::NoRight(right) => {
            let whose = match right {
                Right::Write => "somebody with write access",
                Right::CodeOwners => "a code owner of every path that it is about",
                Right::Admin => "an administrator of the repository",
            };
            format!("this takes {whose}.")
        }
    }
}

/// The comments that this comment of ours answers; none where it is another one.
pub fn answered(body: &str) -> Option<Vec<u64>> {
    let last = body.trim_end().lines().next_back()?.trim_end();
    let numbers = last.strip_prefix(MARK)?.strip_suffix(MARK_END)?;
    numbers.split(' ').map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::fixture;
    use super::*;

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
            let answer = Answer { comment: 17, by: "maria".into(), at: fixture::now(), why };
            let text = answers(&[answer.clone(), Answer { comment: 4, ..answer }], &TimeZone::UTC).unwrap();
            assert!(text.contains("- `maria` on ") && text.contains(sentence), "{sentence}: {text}");
            assert_eq!(answered(&text), Some(vec![17, 4]));
        }
        assert_eq!(answered("approve this"), None);
    }
}
