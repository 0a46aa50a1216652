//! `/coldframe hold` and drafts. The last word of somebody who may give it counts; a hold whose
//! author's rights could not be read counts too.

use crate::plan::{Finding, Gate};
use crate::snapshot::{CommandKind, Pull, Read};
use crate::{Person, Reason};

pub(crate) fn finding(pull: &Pull) -> Finding {
    if pull.draft {
        return Finding::wait(Gate::Hold, Reason::Draft);
    }
    match holder(pull) {
        Some((by, why)) => Finding::wait(Gate::Hold, Reason::Held { by, why }),
        None => Finding::pass(Gate::Hold, Reason::NotHeld),
    }
}

fn holder(pull: &Pull) -> Option<(Person, alloc::string::String)> {
    let mut holder = None;
    for command in &pull.commands {
        match (&command.what, &command.allowed) {
            (CommandKind::Hold { why }, Read::Known(true) | Read::Unread(_)) => {
                holder = Some((command.by.clone(), why.clone()));
            }
            (CommandKind::Resume, Read::Known(true)) => holder = None,
            (CommandKind::Hold { .. }, Read::Known(false))
            | (CommandKind::Resume, Read::Known(false) | Read::Unread(_))
            | (CommandKind::Acknowledge { .. } | CommandKind::Rebuild { .. }, _) => {}
        }
    }
    holder
}
