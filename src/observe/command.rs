//! Commands that people write as comments: `/coldframe hold <why>`. Whether somebody may give one is
//! read by `pulls`; what it does is decided in `decide`.

use decide::snapshot::CommandKind;

use crate::policy::wiring::{People, Right};

/// The longest reason that is kept of a comment, in characters.
const LONGEST_REASON: usize = 200;

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
        "resume" => Some(CommandKind::Resume),
        "acknowledge" => Some(CommandKind::Acknowledge { version: rest.parse().ok()? }),
        "rebuild" => {
            let hexadecimal = rest.len() >= 7 && rest.len() <= 64 && rest.chars().all(|c| c.is_ascii_hexdigit());
            hexadecimal.then(|| CommandKind::Rebuild { cited: rest.to_ascii_lowercase() })
        }
        _ => None,
    }
}

/// What the policy asks of somebody who gives this command.
pub fn right(command: &CommandKind, people: &People) -> Right {
    match command {
        CommandKind::Hold { .. } | CommandKind::Resume => people.hold,
        CommandKind::Fail { .. } => people.fail,
        CommandKind::Acknowledge { .. } => people.acknowledge,
        CommandKind::Rebuild { .. } => people.rebuild,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_alone_at_the_start() {
        let hold = |why: &str| Some(CommandKind::Hold { why: why.into() });
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
    fn a_reason_is_cut() {
        let long = format!("/coldframe hold {}", "ä".repeat(500));
        assert!(matches!(parse(&long), Some(CommandKind::Hold { why }) if why.chars().count() == LONGEST_REASON));
    }
}
