//! Commands that people write in comments and reviews: `/coldframe hold <why>`, and what they ask there: `/coldframe
//! help`. Whether somebody may give a command is read by `pulls`; what it does is decided in `decide`.

use decide::model::Hotfix;
use decide::snapshot::{CommandKind, FreezeScope};

use crate::parse::nearest::nearest;
use crate::parse::when;
use crate::policy::wiring::{People, Right};

/// The longest reason that is kept of a comment, in characters.
const LONGEST_REASON: usize = 200;
/// As much is repeated of what is no command.
const LONGEST_VERB: usize = 20;

/// The command in a comment: its first line starts with `/coldframe`, nothing stands before it. A
/// quoted line, a code block or a mention further down is no command.
pub fn parse(comment: &str) -> Option<CommandKind> {
    let line = comment.lines().next()?.trim_end();
    let mut words = line.strip_prefix("/coldframe")?.splitn(3, char::is_whitespace);
    if !words.next()?.is_empty() {
        return None;
    }
    let (verb, rest) = (words.next()?, words.next().unwrap_or("").trim());
    match verb {
        "hold" => Some(CommandKind::Hold { why: rest.chars().take(LONGEST_REASON).collect() }),
        "fail" => Some(CommandKind::Fail { why: rest.chars().take(LONGEST_REASON).collect() }),
        "freeze" => freeze(rest),
        "unfreeze" => Some(CommandKind::Unfreeze),
        "force" => reason(rest).map(|why| CommandKind::Force { why }),
        "hotfix" => hotfix(rest),
        "resume" => Some(CommandKind::Resume),
        "acknowledge" => Some(CommandKind::Acknowledge { version: rest.parse().ok()? }),
        "rebuild" => {
            let hexadecimal = rest.len() >= 7 && rest.len() <= 64 && rest.chars().all(|c| c.is_ascii_hexdigit());
            hexadecimal.then(|| CommandKind::Rebuild { cited: rest.to_ascii_lowercase() })
        }
        _ => None,
    }
}

/// How a command is written, for those who ask.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// The word after `/coldframe`.
    pub verb: &'static str,
    /// All that follows `/coldframe`.
    pub written: &'static str,
    /// What it does, in a few words.
    pub does: &'static str,
}

/// Every command.
pub const USAGES: [Usage; 9] = [
    usage("hold", "hold <why>", "stops this pull request until `resume`"),
    usage("resume", "resume", "ends the hold, or a pause of the rollout"),
    usage("fail", "fail <why>", "this release has failed on this tier"),
    usage("freeze", "freeze everything|tier|plugin [for 2d] <why>", "stops all merges there"),
    usage("unfreeze", "unfreeze", "lifts such freezes"),
    usage("force", "force <why>", "merges without the missing approvals"),
    usage("hotfix", "hotfix <version> [soak 30m] [through windows] <why>", "lets this release pass a climbing one"),
    usage("acknowledge", "acknowledge <version>", "the notes of a breaking release were read"),
    usage("rebuild", "rebuild <commit>", "clears a stop of the whole repository"),
];

const fn usage(verb: &'static str, written: &'static str, does: &'static str) -> Usage {
    Usage { verb, written, does }
}

/// What somebody asks who commands nothing. It takes no right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which commands there are.
    Help,
    /// What this pull request waits for.
    Status,
}

/// The words for questions.
const QUESTIONS: [(&str, Question); 2] = [("help", Question::Help), ("status", Question::Status)];

/// The question in a comment, written as a command is. What follows the word does not matter.
pub fn question(comment: &str) -> Option<Question> {
    let rest = comment.lines().next()?.strip_prefix("/coldframe")?;
    let asked = rest.starts_with(char::is_whitespace).then(|| rest.split_whitespace().next())??;
    QUESTIONS.iter().find(|(word, _)| *word == asked).map(|(_, question)| *question)
}

/// The word of a command.
pub fn verb(command: &CommandKind) -> &'static str {
    match command {
        CommandKind::Hold { .. } => "hold",
        CommandKind::Resume => "resume",
        CommandKind::Fail { .. } => "fail",
        CommandKind::Freeze { .. } => "freeze",
        CommandKind::Unfreeze => "unfreeze",
        CommandKind::Force { .. } => "force",
        CommandKind::Hotfix(_) => "hotfix",
        CommandKind::Acknowledge { .. } => "acknowledge",
        CommandKind::Rebuild { .. } => "rebuild",
    }
}

/// Why a comment that begins as a command is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// No command is called so; perhaps this one was meant.
    Unknown {
        /// What was written, cut.
        verb: String,
        /// A command whose name is close to it.
        meant: Option<&'static str>,
    },
    /// The rest of it cannot be read.
    Incomplete {
        /// Which command.
        verb: &'static str,
        /// How it is written.
        usage: &'static str,
    },
}

/// What is wrong with a comment whose first line begins as a command and is none.
pub fn mistake(comment: &str) -> Option<Mistake> {
    let rest = comment.lines().next()?.strip_prefix("/coldframe")?;
    if parse(comment).is_some() || question(comment).is_some() || !rest.chars().next().is_none_or(char::is_whitespace) {
        return None;
    }
    let verb = rest.split_whitespace().next().unwrap_or_default();
    if let Some(usage) = USAGES.iter().find(|usage| usage.verb == verb) {
        return Some(Mistake::Incomplete { verb: usage.verb, usage: usage.written });
    }
    let known = USAGES.iter().map(|usage| usage.verb).chain(QUESTIONS.map(|(word, _)| word));
    let meant = nearest(verb, known);
    Some(Mistake::Unknown { verb: verb.chars().take(LONGEST_VERB).collect(), meant })
}

/// `everything`, `tier` or `plugin`, then perhaps `for 2d`, then why.
fn freeze(rest: &str) -> Option<CommandKind> {
    let (scope, rest) = word(rest);
    let scope = match scope {
        "everything" => FreezeScope::Everything,
        "tier" => FreezeScope::Tier,
        "plugin" => FreezeScope::Plugin,
        _ => return None,
    };
    let timed = match word(rest) {
        ("for", rest) => {
            let (length, why) = word(rest);
            Some((when::length(length).ok()?, why))
        }
        _ => None,
    };
    let (lasts, why) = timed.map_or((None, rest), |(lasts, why)| (Some(lasts), why));
    Some(CommandKind::Freeze { scope, lasts, why: why.chars().take(LONGEST_REASON).collect() })
}

/// A version, then perhaps `soak 30m` and `through windows`, then why, which has to be said.
fn hotfix(rest: &str) -> Option<CommandKind> {
    let (version, mut rest) = word(rest);
    let version = version.parse().ok()?;
    let (mut soak, mut through_windows) = (None, false);
    loop {
        let (first, then) = word(rest);
        let (second, after) = word(then);
        rest = match (first, when::length(second)) {
            ("soak", Ok(length)) if soak.is_none() => {
                soak = Some(length);
                after
            }
            ("through", _) if second == "windows" => {
                through_windows = true;
                after
            }
            _ => break,
        };
    }
    reason(rest).map(|why| CommandKind::Hotfix(Hotfix { version, why, soak, through_windows }))
}

/// Why, where it has to be said.
fn reason(text: &str) -> Option<String> {
    let why: String = text.trim().chars().take(LONGEST_REASON).collect();
    (!why.is_empty()).then_some(why)
}

/// The first word, and what follows it.
fn word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

/// What the policy asks of somebody who gives this command.
pub fn right(command: &CommandKind, people: &People) -> Right {
    match command {
        CommandKind::Hold { .. } | CommandKind::Resume => people.hold,
        CommandKind::Fail { .. } => people.fail,
        CommandKind::Freeze { .. } | CommandKind::Unfreeze => people.freeze,
        CommandKind::Force { .. } => people.force,
        CommandKind::Hotfix(_) => people.hotfix,
        CommandKind::Acknowledge { .. } => people.acknowledge,
        CommandKind::Rebuild { .. } => people.rebuild,
    }
}

/// The same for those who ask which there are, in the order of [`USAGES`].
pub fn rights(people: &People) -> [Right; USAGES.len()] {
    let People { hold, fail, freeze, force, hotfix, acknowledge, rebuild, .. } = *people;
    [hold, hold, fail, freeze, freeze, force, hotfix, acknowledge, rebuild]
}

/// Whether it stops something as long as nobody knows whether its author may give it, or takes such a stop back.
pub fn stops_or_resumes(command: &CommandKind) -> bool {
    match command {
        CommandKind::Hold { .. }
        | CommandKind::Resume
        | CommandKind::Fail { .. }
        | CommandKind::Freeze { .. }
        | CommandKind::Unfreeze => true,
        CommandKind::Hotfix(_)
        | CommandKind::Force { .. }
        | CommandKind::Acknowledge { .. }
        | CommandKind::Rebuild { .. } => false,
    }
}

/// Whether it stops something, so that it does also where its comment was edited.
pub fn stops(command: &CommandKind) -> bool {
    match command {
        CommandKind::Hold { .. } | CommandKind::Fail { .. } | CommandKind::Freeze { .. } => true,
        CommandKind::Resume
        | CommandKind::Unfreeze
        | CommandKind::Hotfix(_)
        | CommandKind::Force { .. }
        | CommandKind::Acknowledge { .. }
        | CommandKind::Rebuild { .. } => false,
    }
}

/// Whether it says something about every tier of the plugin, so that it asks for the owners of all of its
/// paths, not for those of the pull request alone.
pub fn is_for_every_tier(command: &CommandKind) -> bool {
    match command {
        CommandKind::Hotfix(_) => true,
        CommandKind::Hold { .. }
        | CommandKind::Resume
        | CommandKind::Fail { .. }
        | CommandKind::Force { .. }
        | CommandKind::Freeze { .. }
        | CommandKind::Unfreeze
        | CommandKind::Acknowledge { .. }
        | CommandKind::Rebuild { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a08_commands_stand_alone_at_the_start() {
        let hold = |why: &str| Some(CommandKind::Hold { why: why.into() });
        let freeze = |scope, hours: Option<i64>, why: &str| {
            let lasts = hours.map(jiff::SignedDuration::from_hours);
            Some(CommandKind::Freeze { scope, lasts, why: why.into() })
        };
        let hotfix = |minutes: Option<i64>, through_windows, why: &str| {
            let soak = minutes.map(jiff::SignedDuration::from_mins);
            let version = "1.2.3".parse().ok();
            version.map(|version| CommandKind::Hotfix(Hotfix { version, why: why.into(), soak, through_windows }))
        };
        let rebuild = Some(CommandKind::Rebuild { cited: "0123abc".into() });
        let acknowledge = "2.0.0".parse().ok().map(|version| CommandKind::Acknowledge { version });
        for (comment, expected) in [
            ("/coldframe hold", hold("")),
            ("/coldframe hold the audit is on\nthanks", hold("the audit is on")),
            ("/coldframe fail", Some(CommandKind::Fail { why: String::new() })),
            (
                "/coldframe fail customers cannot log in",
                Some(CommandKind::Fail { why: "customers cannot log in".into() }),
            ),
            ("/coldframe failed", None),
            ("/coldframe freeze everything", freeze(FreezeScope::Everything, None, "")),
            ("/coldframe freeze tier incident 42", freeze(FreezeScope::Tier, None, "incident 42")),
            ("/coldframe freeze plugin for 2d the audit", freeze(FreezeScope::Plugin, Some(48), "the audit")),
            ("/coldframe freeze tier for good", None),
            ("/coldframe freeze", None),
            ("/coldframe freeze gold", None),
            ("/coldframe hotfix 1.2.3 a hole", hotfix(None, false, "a hole")),
            ("/coldframe hotfix 1.2.3 soak 30m a hole", hotfix(Some(30), false, "a hole")),
            ("/coldframe hotfix 1.2.3 soak 30m through windows a hole", hotfix(Some(30), true, "a hole")),
            ("/coldframe hotfix 1.2.3 through windows soak 1h a hole", hotfix(Some(60), true, "a hole")),
            ("/coldframe hotfix 1.2.3 through thick and thin", hotfix(None, false, "through thick and thin")),
            ("/coldframe hotfix 1.2.3 soak it", hotfix(None, false, "soak it")),
            ("/coldframe hotfix 1.2.3", None),
            ("/coldframe hotfix 1.2.3 soak 30m", None),
            ("/coldframe hotfix a hole", None),
            ("/coldframe force an outage", Some(CommandKind::Force { why: "an outage".into() })),
            ("/coldframe force", None),
            ("/coldframe unfreeze", Some(CommandKind::Unfreeze)),
            ("/coldframe resume", Some(CommandKind::Resume)),
            ("/coldframe resume please", Some(CommandKind::Resume)),
            ("/coldframe rebuild 0123ABC", rebuild),
            ("/coldframe rebuild 0123", None),
            ("/coldframe rebuild zzzzzzz", None),
            ("/coldframe acknowledge 2.0.0", acknowledge),
            ("/coldframe acknowledge it", None),
            ("/coldframe", None),
            ("/coldframed hold", None),
            ("/coldframe merge", None),
            ("> /coldframe hold", None),
            (" /coldframe hold", None),
            ("please\n/coldframe hold", None),
            ("```\n/coldframe hold\n```", None),
            ("", None),
        ] {
            assert_eq!(parse(comment), expected, "{comment:?}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_command_is_said() {
        for (comment, expected) in [
            ("/coldframe hodl", Some(Mistake::Unknown { verb: "hodl".into(), meant: Some("hold") })),
            ("/coldframe Hold", Some(Mistake::Unknown { verb: "Hold".into(), meant: Some("hold") })),
            ("/coldframe", Some(Mistake::Unknown { verb: String::new(), meant: None })),
            ("/coldframe force", Some(Mistake::Incomplete { verb: "force", usage: "force <why>" })),
            (
                "/coldframe acknowledge it",
                Some(Mistake::Incomplete { verb: "acknowledge", usage: "acknowledge <version>" }),
            ),
            ("/coldframe hold", None),
            ("/coldframed", None),
            ("please /coldframe hodl", None),
        ] {
            assert_eq!(mistake(comment), expected, "{comment:?}");
        }
        for verb in USAGES.map(|usage| usage.verb) {
            let mistake = mistake(&format!("/coldframe {verb}"));
            assert!(!matches!(mistake, Some(Mistake::Unknown { .. })), "{mistake:?}");
        }
    }

    #[test]
    fn who_asks_is_told_of_every_command_with_its_right() {
        let asks = [
            ("/coldframe help", Some(Question::Help)),
            ("/coldframe status please", Some(Question::Status)),
            ("/coldframe  help\nthanks", Some(Question::Help)),
            ("/coldframehelp", None),
            ("/coldframe", None),
            ("please /coldframe help", None),
        ];
        for (comment, expected) in asks {
            assert_eq!(question(comment), expected, "{comment:?}");
            assert!(expected.is_none() || (parse(comment).is_none() && mistake(comment).is_none()), "{comment:?}");
        }
        assert!(matches!(mistake("/coldframe hepl"), Some(Mistake::Unknown { meant: Some("help"), .. })));
        let people = People { fail: Right::Admin, freeze: Right::CodeOwners, ..People::default() };
        let examples = ["hold", "resume", "fail", "freeze tier", "unfreeze", "force it", "hotfix 1.2.3 it"];
        let examples = examples.into_iter().chain(["acknowledge 1.2.3", "rebuild 0123abc"]);
        for ((example, usage), expected) in examples.zip(USAGES).zip(rights(&people)) {
            let command = parse(&format!("/coldframe {example}"));
            let told = command.map(|command| (verb(&command), right(&command, &people)));
            assert_eq!(told, Some((usage.verb, expected)), "{example}");
            assert!(usage.written.starts_with(usage.verb), "{}", usage.written);
        }
    }

    #[test]
    fn a_reason_is_cut() {
        let long = format!("/coldframe hold {}", "ä".repeat(500));
        assert!(matches!(parse(&long), Some(CommandKind::Hold { why }) if why.chars().count() == LONGEST_REASON));
    }
}
