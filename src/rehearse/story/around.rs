//! Lines about what stands around the bot: the hub and its rules, checks, the ledger branch, the clock.

use decide::snapshot::CheckState;
use jiff::SignedDuration;

use super::event::{plugin, spot};
use super::header::{NameList, version};
use super::script::{Event, LedgerEvent};
use super::when;
use super::words::Cursor;
use crate::policy::Problem;
use crate::rehearse::workflows::Ending;

const HUB: &str = "`hub falls silent`, `hub answers`, `hub asks for reviews` or `hub lets nobody bypass`";
const LEDGER: &str = "`ledger is open`, `ledger is sealed` or `ledger loses its end`";

/// After `hub`.
pub(super) fn hub(cursor: &mut Cursor<'_>) -> Result<Event, Problem> {
    let verb = cursor.need("what it does", HUB)?;
    let (rest, event): (&[&str], Event) = match verb.text {
        "answers" => (&[], Event::Hub { answers: true }),
        "falls" => (&["silent"], Event::Hub { answers: false }),
        "asks" => (&["for", "reviews"], Event::ReviewsAsked),
        "lets" => (&["nobody", "bypass"], Event::NobodyBypasses),
        _ => return Err(verb.wrong("is nothing that the hub does", HUB)),
    };
    for word in rest {
        cursor.must(word, HUB)?;
    }
    cursor.end()?;
    Ok(event)
}

/// After `check`: `lint fails on cert-manager on gold`, or `e2e passes for cert-manager 1.15.0`, which is
/// one of the commit that released it.
pub(super) fn check(cursor: &mut Cursor<'_>, names: &NameList) -> Result<Event, Problem> {
    let form =
        "`check lint runs on cert-manager on gold`, or `check e2e passes for cert-manager 1.15.0`; likewise `fails`";
    let name = cursor.need("the name of a check", form)?.text.to_string();
    let verb = cursor.need("how it stands", form)?;
    let state = match verb.text {
        "runs" => CheckState::Pending,
        "passes" => CheckState::Success,
        "fails" => CheckState::Failure,
        _ => return Err(verb.wrong("is nothing that a check does", form)),
    };
    if cursor.peek().is_some_and(|word| word.text == "for") {
        let _ = cursor.next();
        let plugin = plugin(cursor, names)?;
        let version = version(&cursor.need("a version", form)?)?;
        cursor.end()?;
        return Ok(Event::ReleaseCheck { name, state, plugin, version });
    }
    cursor.must("on", form)?;
    let (plugin, tier) = spot(cursor, names)?;
    cursor.end()?;
    Ok(Event::Check { name, state, plugin, tier })
}

/// After `workflow`: `smoke.yml fails`.
pub(super) fn workflow(cursor: &mut Cursor<'_>) -> Result<Event, Problem> {
    let form = "`workflow smoke.yml fails`; likewise `passes` and `hangs`";
    let file = cursor.need("the file of a workflow", form)?.text.to_string();
    let verb = cursor.need("how its runs end", form)?;
    let ending = match verb.text {
        "passes" => Ending::Passes,
        "fails" => Ending::Fails,
        "hangs" => Ending::Hangs,
        _ => return Err(verb.wrong("is nothing that a workflow does", form)),
    };
    cursor.end()?;
    Ok(Event::Workflow { file, ending })
}

/// After `ledger`.
pub(super) fn ledger(cursor: &mut Cursor<'_>) -> Result<Event, Problem> {
    let verb = cursor.need("what happens to it", LEDGER)?;
    let event = match verb.text {
        "is" => {
            let word = cursor.need("how it is", LEDGER)?;
            match word.text {
                "open" => LedgerEvent::Open,
                "sealed" => LedgerEvent::Sealed,
                _ => return Err(word.wrong("is nothing that the ledger is", LEDGER)),
            }
        }
        "loses" => {
            cursor.must("its", LEDGER)?;
            cursor.must("end", LEDGER)?;
            LedgerEvent::Lost
        }
        _ => return Err(verb.wrong("is nothing that happens to the ledger", LEDGER)),
    };
    cursor.end()?;
    Ok(Event::Ledger(event))
}

/// After `clock`: `runs 45s ahead`, `runs right`.
pub(super) fn clock(cursor: &mut Cursor<'_>) -> Result<Event, Problem> {
    let form = "`clock runs 45s ahead`, or `clock runs right`";
    cursor.must("runs", form)?;
    let word = cursor.need("how it runs", form)?;
    let ahead = if word.text == "right" {
        SignedDuration::ZERO
    } else {
        let ahead = when::duration(&word)?;
        cursor.must("ahead", form)?;
        ahead
    };
    cursor.end()?;
    Ok(Event::Clock { ahead })
}
