//! `/coldframe hold` and drafts. Which word counts is in `commands`.

use super::asked::AskedOpen;
use crate::Reason;
use crate::facts::Facts;
use crate::plan::{Finding, Gate};
use crate::snapshot::Pull;

pub(crate) fn finding(open: &AskedOpen<'_>) -> Finding {
    let AskedOpen { facts, pull, .. } = *open;
    if pull.draft {
        return Finding::wait(Gate::Hold, Reason::Draft);
    }
    match facts.commands(pull).hold {
        Some(word) => Finding::wait(Gate::Hold, Reason::Held { by: word.by.clone(), why: word.what.into() }),
        None => Finding::pass(Gate::Hold, Reason::NotHeld),
    }
}

/// Whether somebody holds a pull request.
pub(crate) fn is_held(facts: &Facts<'_>, pull: &Pull) -> bool {
    pull.draft || facts.commands(pull).hold.is_some()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::plan::Verdict;
    use crate::snapshot::{Command, CommandKind, Read, Snapshot};
    use crate::testing::*;

    fn said(world: &mut Snapshot, words: &[(&str, CommandKind, Read<bool>)]) {
        edit(world, |pull| {
            pull.commands = words
                .iter()
                .cloned()
                .map(|(by, what, allowed)| Command { by: by.into(), at: ago(5), what, allowed })
                .collect();
        });
    }

    fn hold() -> CommandKind {
        CommandKind::Hold { why: "audit".into() }
    }

    #[test]
    fn the_last_word_of_who_may_counts() {
        let yes = || Read::Known(true);
        let _ = yes;
        table(
            Gate::Hold,
            ready,
            &[
                ("nobody", |_| {}, Verdict::Pass, "nobody holds it"),
                ("draft", |w| edit(w, |pull| pull.draft = true), WAIT, "the pull request is a draft"),
                ("held", |w| said(w, &[("noor", hold(), Read::Known(true))]), WAIT, "held by noor: audit"),
                (
                    "held by somebody who may not",
                    |w| said(w, &[("eve", hold(), Read::Known(false))]),
                    Verdict::Pass,
                    "nobody",
                ),
                ("rights not known", |w| said(w, &[("eve", hold(), Read::Unread("503".into()))]), WAIT, "held by eve"),
                (
                    "failed by somebody whose rights are not known",
                    |w| said(w, &[("eve", CommandKind::Fail { why: "broke".into() }, Read::Unread("503".into()))]),
                    WAIT,
                    "held by eve: broke",
                ),
                (
                    "failed by somebody who may not",
                    |w| said(w, &[("eve", CommandKind::Fail { why: "broke".into() }, Read::Known(false))]),
                    Verdict::Pass,
                    "nobody",
                ),
                (
                    "resumed",
                    |w| {
                        said(
                            w,
                            &[("noor", hold(), Read::Known(true)), ("maria", CommandKind::Resume, Read::Known(true))],
                        )
                    },
                    Verdict::Pass,
                    "nobody",
                ),
                (
                    "resumed by somebody who may not",
                    |w| {
                        said(
                            w,
                            &[("noor", hold(), Read::Known(true)), ("eve", CommandKind::Resume, Read::Known(false))],
                        )
                    },
                    WAIT,
                    "held by noor",
                ),
                (
                    "held again",
                    |w| {
                        said(
                            w,
                            &[
                                ("noor", hold(), Read::Known(true)),
                                ("noor", CommandKind::Resume, Read::Known(true)),
                                ("maria", hold(), Read::Known(true)),
                            ],
                        )
                    },
                    WAIT,
                    "held by maria",
                ),
            ],
        );
    }
}
