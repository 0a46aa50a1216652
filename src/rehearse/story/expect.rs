//! Lines that say what must be so: they make a story a test. Whether it is so is found out on the stage.

use decide::{ClusterName, TierName};

use super::event::{plugin, spot, tier};
use super::header::{NameList, listed, version};
use super::script::{Counted, Deed, Expect, StateWord, Subject, Verb};
use super::words::{Cursor, Word};
use crate::parse::nearest::nearest;
use crate::policy::Problem;

const FORMS: &str = "`gold runs cert-manager 1.15.0`, `cert-manager on gold is open`, `cert-manager on gold says …`, \
                     `gold opened|merged|forced|finished|failed cert-manager 1.15.0`, `never gold opens …`, \
                     `not gold opened …`, `3 pull requests`";

pub(super) const STATES: [(&str, StateWord); 11] = [
    ("idle", StateWord::Idle),
    ("waiting", StateWord::Waiting),
    ("open", StateWord::Open),
    ("rolling-out", StateWord::RollingOut),
    ("soaking", StateWord::Soaking),
    ("paused", StateWord::Paused),
    ("finished", StateWord::Finished),
    ("failed", StateWord::Failed),
    ("rejected", StateWord::Rejected),
    ("superseded", StateWord::Superseded),
    ("withdrawn", StateWord::Withdrawn),
];

const VERBS: [(&str, &str, Verb); 5] = [
    ("opened", "opens", Verb::Opened),
    ("merged", "merges", Verb::Merged),
    ("forced", "forces", Verb::Forced),
    ("finished", "finishes", Verb::Finished),
    ("failed", "fails", Verb::Failed),
];

const COUNTS: [(&str, Counted); 4] = [
    ("pull requests", Counted::PullRequests),
    ("merges", Counted::Merges),
    ("forced merges", Counted::ForcedMerges),
    ("notices", Counted::Notices),
];

/// What a line expects, and when.
pub(super) enum Expected {
    /// At its time.
    Now(Expect),
    /// At no time of the story.
    Never(Deed),
}

/// Reads one.
pub(super) fn expect(cursor: &mut Cursor<'_>, names: &NameList) -> Result<Expected, Problem> {
    let Some(first) = cursor.peek() else {
        return Err(cursor.here().problem("nothing is expected", format!("say what: {FORMS}")));
    };
    let expected = match first.text {
        "never" => {
            let _ = cursor.next();
            let tier = tier(cursor, names)?;
            Expected::Never(deed(cursor, names, tier)?)
        }
        "not" => {
            let _ = cursor.next();
            let tier = tier(cursor, names)?;
            Expected::Now(Expect::NotDone(deed(cursor, names, tier)?))
        }
        text if text.parse::<usize>().is_ok() => Expected::Now(count(cursor)?),
        text if names.plugins.iter().any(|name| name == text) => Expected::Now(about_wave(cursor, names)?),
        _ => Expected::Now(about_tier(cursor, names)?),
    };
    cursor.end()?;
    Ok(expected)
}

fn count(cursor: &mut Cursor<'_>) -> Result<Expect, Problem> {
    let number = cursor.need("a number", "")?;
    let count = number.text.parse().map_err(|_| number.wrong("is no number", ""))?;
    let known: Vec<&str> = COUNTS.iter().map(|(word, _)| *word).collect();
    let Some(what) = cursor.rest() else {
        return Err(cursor.here().problem("what is counted is missing", format!("there are {}", listed(&known))));
    };
    let singular = |word: &str| word.trim_end_matches('s') == what.text;
    match COUNTS.iter().find(|(word, _)| *word == what.text || singular(word)) {
        Some((_, counted)) => Ok(Expect::Count { what: *counted, count }),
        None => Err(what.wrong("cannot be counted", format!("there are {}", listed(&known)))),
    }
}

/// `cert-manager on gold is open`, `cert-manager on gold says held by noor`.
fn about_wave(cursor: &mut Cursor<'_>, names: &NameList) -> Result<Expect, Problem> {
    let (plugin, tier) = spot(cursor, names)?;
    let verb = cursor.need("`is` or `says`", "`… on gold is open` or `… on gold says held by noor`")?;
    match verb.text {
        "is" => {
            let known: Vec<&str> = STATES.iter().map(|(word, _)| *word).collect();
            let word = cursor.need("a state", &format!("there are {}", listed(&known)))?;
            match STATES.iter().find(|(state, _)| *state == word.text) {
                Some((_, state)) => Ok(Expect::State { plugin, tier, word: *state }),
                None => {
                    let near = nearest(word.text, known.iter().copied());
                    let all = || format!("there are {}", listed(&known));
                    Err(word.wrong("is no state", near.map_or_else(all, |near| format!("did you mean `{near}`?"))))
                }
            }
        }
        "says" => match cursor.rest() {
            Some(words) => Ok(Expect::Says { plugin, tier, words: words.text.trim_matches('"').to_string() }),
            None => Err(cursor.here().problem("the words are missing", "a part of a reason, such as `held by noor`")),
        },
        _ => Err(verb.wrong("stands where `is` or `says` belongs", "")),
    }
}

/// `gold runs cert-manager 1.15.0`, `gold finished cert-manager 1.15.0`.
fn about_tier(cursor: &mut Cursor<'_>, names: &NameList) -> Result<Expect, Problem> {
    let who = cursor.need("a tier or a cluster", FORMS)?;
    let subject = if names.tiers.is_empty() || names.tiers.iter().any(|name| name == who.text) {
        Subject::Tier(TierName::from(who.text))
    } else if names.clusters.iter().any(|name| name == who.text) {
        Subject::Cluster(ClusterName::from(who.text))
    } else {
        return Err(unknown(&who, names));
    };
    if cursor.peek().is_some_and(|verb| verb.text == "runs") {
        let _ = cursor.next();
        let plugin = plugin(cursor, names)?;
        let version = version(&cursor.need("a version", "`gold runs cert-manager 1.15.0`")?)?;
        return Ok(Expect::Runs { which: subject, plugin, version });
    }
    match subject {
        Subject::Tier(tier) => Ok(Expect::Done(deed(cursor, names, tier)?)),
        Subject::Cluster(_) => Err(who.wrong("is a cluster: it only runs something", "`gold-1 runs cert-manager …`")),
    }
}

fn deed(cursor: &mut Cursor<'_>, names: &NameList, tier: TierName) -> Result<Deed, Problem> {
    let verb = cursor.need("what is done", FORMS)?;
    let found = VERBS.iter().find(|(past, present, _)| *past == verb.text || *present == verb.text);
    let Some((_, _, kind)) = found else {
        let verbs = VERBS.iter().flat_map(|(past, present, _)| [*past, *present]);
        let known: Vec<&str> = verbs.chain(["runs"]).collect();
        let help = nearest(verb.text, known.iter().copied())
            .map_or_else(|| format!("there are {}", listed(&known)), |near| format!("did you mean `{near}`?"));
        return Err(verb.wrong("is nothing that can be expected", help));
    };
    let plugin = plugin(cursor, names)?;
    let version = version(&cursor.need("a version", "such as `1.15.0`")?)?;
    Ok(Deed { tier, verb: *kind, plugin, version })
}

fn unknown(who: &Word<'_>, names: &NameList) -> Problem {
    let all = names.plugins.iter().chain(&names.tiers).chain(&names.clusters).map(String::as_str);
    let help = nearest(who.text, all).map_or_else(|| FORMS.to_string(), |near| format!("did you mean `{near}`?"));
    who.wrong("is no plugin, tier or cluster of this story", help)
}
