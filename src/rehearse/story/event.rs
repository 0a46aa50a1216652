//! Lines in which something happens: who or what comes first, then what it does. Whether it can happen
//! at that time is found out on the stage.

use decide::constraint::Constraint;
use decide::selector::Labels;
use decide::{ClusterName, Person, PluginName, TierName, Version};
use jiff::SignedDuration;

use super::header::{NameList, listed, version};
use super::script::{ClusterEvent, Event, Marks, PullAct, Subject};
use super::words::{Cursor, Word};
use super::{around, when};
use crate::command;
use crate::parse::nearest::nearest;
use crate::policy::Problem;
use crate::rehearse::fleet::Condition;

const PERSON: &str = "people can: approves, requests changes to, closes, merges, holds, resumes, fails, comments on, drafts, readies, pushes to, \
     rebuilds, acknowledges, commits, freezes, lifts the freeze";
const CLUSTER: &str = "clusters can: degrades on, fails on, suspends, mends, breaks on, hangs on, vanishes, returns, takes, lacks, has, \
     pulls other content of, joins, leaves";

/// What a line may begin with beside a name.
const BEGINNINGS: [&str; 11] =
    ["release", "republish", "yank", "check", "workflow", "hub", "ledger", "clock", "expect", "policy", "end"];

/// Reads one.
pub(super) fn event(cursor: &mut Cursor<'_>, names: &mut NameList) -> Result<Event, Problem> {
    let who = cursor.need("something", "")?;
    match who.text {
        "release" | "republish" | "yank" => return release(cursor, names, who.text),
        "hub" => return around::hub(cursor),
        "check" => return around::check(cursor, names),
        "workflow" => return around::workflow(cursor),
        "ledger" => return around::ledger(cursor),
        "clock" => return around::clock(cursor),
        _ => {}
    }
    let knows = |list: &[String]| list.iter().any(|name| name == who.text);
    let event = if knows(&names.people) {
        person(cursor, names, Person::from(who.text))?
    } else if knows(&names.clusters) {
        cluster(cursor, names, Subject::Cluster(ClusterName::from(who.text)))?
    } else if knows(&names.tiers) {
        cluster(cursor, names, Subject::Tier(TierName::from(who.text)))?
    } else if cursor.peek().is_some_and(|verb| verb.text == "joins") {
        names.clusters.push(who.text.to_string());
        cluster(cursor, names, Subject::Cluster(ClusterName::from(who.text)))?
    } else {
        return Err(nobody(&who, names));
    };
    cursor.end()?;
    Ok(event)
}

/// A first word that is nobody: most likely a name that the head lacks, or a slip of the pen.
fn nobody(who: &Word<'_>, names: &NameList) -> Problem {
    let all = names.people.iter().chain(&names.clusters).chain(&names.tiers).map(String::as_str);
    let words = all.chain(BEGINNINGS);
    let help = match nearest(who.text, words) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "a line begins with a person, a cluster, a tier, {}; people and clusters are named in the head",
            listed(&BEGINNINGS)
        ),
    };
    who.wrong("is neither a person nor a cluster nor a tier of this story", help)
}

fn release(cursor: &mut Cursor<'_>, names: &NameList, how: &str) -> Result<Event, Problem> {
    let plugin = plugin(cursor, names)?;
    let version_word = cursor.need("a version", "such as `release cert-manager 1.15.0`")?;
    let released = version(&version_word)?;
    if how != "release" {
        cursor.end()?;
        let version = released;
        return Ok(if how == "yank" { Event::Yank { plugin, version } } else { Event::Republish { plugin, version } });
    }
    let mut marks = Marks::default();
    if cursor.comma() || !cursor.is_done() {
        let form = "`release cert-manager 1.15.0, breaking: why`, or `…, same as 1.14.7`";
        if cursor.peek().is_some_and(|word| word.text == "same") {
            let _ = cursor.next();
            cursor.must("as", form)?;
            marks.same_as = Some(version(&cursor.need("a version", form)?)?);
        } else {
            cursor.must("breaking", form)?;
            marks.breaking = Some(cursor.why()?);
        }
    }
    cursor.end()?;
    Ok(Event::Release { plugin, version: released, marks })
}

fn person(cursor: &mut Cursor<'_>, names: &NameList, who: Person) -> Result<Event, Problem> {
    let verb = cursor.need("what they do", PERSON)?;
    let everything = cursor.peek().is_some_and(|word| word.text == "everything");
    match verb.text {
        "approves" | "acknowledges" if everything => {
            let _ = cursor.next();
            if verb.text == "acknowledges" {
                return Ok(Event::AcknowledgeAll { who });
            }
            let mut after = SignedDuration::ZERO;
            if !cursor.is_done() {
                cursor.must("after", "`maria approves everything after 4h`")?;
                after = when::duration(&cursor.need("a duration", "such as `4h`")?)?;
            }
            Ok(Event::ApproveAll { who, after })
        }
        "approves" => at_pull(cursor, names, who, PullAct::Approve),
        "requests" => {
            cursor.must("changes", "`maria requests changes to cert-manager on gold`")?;
            cursor.must("to", "`maria requests changes to cert-manager on gold`")?;
            at_pull(cursor, names, who, PullAct::RequestChanges)
        }
        "closes" => at_pull(cursor, names, who, PullAct::Close),
        "merges" => at_pull(cursor, names, who, PullAct::Merge),
        "pushes" => {
            cursor.must("to", "`maria pushes to cert-manager on gold`")?;
            at_pull(cursor, names, who, PullAct::Push)
        }
        "holds" => {
            let (plugin, tier) = spot(cursor, names)?;
            let why = cursor.why()?;
            Ok(Event::AtPull { who, plugin, tier, act: PullAct::Hold { why } })
        }
        "resumes" => at_pull(cursor, names, who, PullAct::Resume),
        "fails" => {
            let (plugin, tier) = spot(cursor, names)?;
            let why = cursor.why()?;
            Ok(Event::AtPull { who, plugin, tier, act: PullAct::Fail { why } })
        }
        "comments" => {
            let form = "`kim comments on cert-manager on gold: freeze tier for 2d audit`";
            cursor.must("on", form)?;
            let (plugin, tier) = spot(cursor, names)?;
            let said = format!("/coldframe {}", cursor.why()?);
            match command::parse(&said) {
                Some(what) => Ok(Event::AtPull { who, plugin, tier, act: PullAct::Comment { what } }),
                None => Err(verb.wrong(&format!("`{said}`, and that is no command"), form)),
            }
        }
        "drafts" | "readies" => {
            let draft = verb.text == "drafts";
            at_pull(cursor, names, who, PullAct::Draft { draft })
        }
        "rebuilds" => at_pull(cursor, names, who, PullAct::Rebuild),
        "acknowledges" => {
            let plugin = plugin(cursor, names)?;
            let version = version(&cursor.need("a version", "`maria acknowledges cert-manager 2.0.0`")?)?;
            Ok(Event::Acknowledge { who, plugin, version })
        }
        "commits" => {
            let form = "`maria commits cert-manager 1.14.7 to gold`";
            let plugin = plugin(cursor, names)?;
            let word = cursor.need("a version", form)?;
            cursor.must("to", form)?;
            let tier = tier(cursor, names)?;
            if word.text.parse::<Version>().is_err() && word.text.parse::<Constraint>().is_ok() {
                return Ok(Event::CommitRange { plugin, range: word.text.to_string(), tier });
            }
            Ok(Event::Commit { plugin, version: version(&word)?, tier })
        }
        "freezes" => freeze(cursor, names, who),
        "lifts" => {
            cursor.must("the", "`maria lifts the freeze`")?;
            cursor.must("freeze", "`maria lifts the freeze`")?;
            Ok(Event::Thaw)
        }
        _ => Err(verb.wrong("is nothing that a person does here", guess(&verb, PERSON))),
    }
}

fn freeze(cursor: &mut Cursor<'_>, names: &NameList, who: Person) -> Result<Event, Problem> {
    let what = cursor.need("what is frozen", "`maria freezes gold: audit`, or `everything`")?;
    let (mut tiers, mut plugins) = (Vec::new(), Vec::new());
    if names.tiers.iter().any(|name| name == what.text) {
        tiers.push(TierName::from(what.text));
    } else if names.plugins.iter().any(|name| name == what.text) {
        plugins.push(PluginName::from(what.text));
    } else if what.text != "everything" {
        return Err(what.wrong("is neither a tier nor a plugin", "`maria freezes gold: audit`, or `everything`"));
    }
    Ok(Event::Freeze { who, tiers, plugins, why: cursor.why()? })
}

fn cluster(cursor: &mut Cursor<'_>, names: &NameList, which: Subject) -> Result<Event, Problem> {
    let verb = cursor.need("what it does", CLUSTER)?;
    let turn = |to: Condition, cursor: &mut Cursor<'_>| -> Result<ClusterEvent, Problem> {
        let plugin = plugin(cursor, names)?;
        Ok(ClusterEvent::Turn { plugin, to, why: cursor.why()? })
    };
    let what = match verb.text {
        "degrades" | "fails" => {
            cursor.must("on", "`bronze-1 degrades on cert-manager: CrashLoopBackOff`")?;
            turn(if verb.text == "fails" { Condition::Failed } else { Condition::Degraded }, cursor)?
        }
        "suspends" => turn(Condition::Suspended, cursor)?,
        "breaks" | "hangs" => {
            let form = "`bronze-1 breaks on cert-manager 1.15.0: CrashLoopBackOff`";
            cursor.must("on", form)?;
            let plugin = plugin(cursor, names)?;
            let version = version(&cursor.need("a version", form)?)?;
            let ends = if verb.text == "hangs" { Condition::Progressing } else { Condition::Degraded };
            ClusterEvent::Fate { plugin, version, ends, why: cursor.why()? }
        }
        "mends" => {
            let plugin = if cursor.peek().is_some_and(|word| word.text == "on") {
                let _ = cursor.next();
                Some(plugin(cursor, names)?)
            } else {
                None
            };
            ClusterEvent::Mend { plugin }
        }
        "lacks" | "has" => {
            let form = "`gold-1 lacks replicas for cert-manager 1.15.0`";
            let option = cursor.need("a value", form)?.text.to_string();
            cursor.must("for", form)?;
            let plugin = plugin(cursor, names)?;
            let version = version(&cursor.need("a version", form)?)?;
            ClusterEvent::Value { plugin, version, option, lacks: verb.text == "lacks" }
        }
        "pulls" => {
            let form = "`gold-1 pulls other content of cert-manager`";
            cursor.must("other", form)?;
            cursor.must("content", form)?;
            cursor.must("of", form)?;
            ClusterEvent::OtherContent { plugin: plugin(cursor, names)? }
        }
        "vanishes" => ClusterEvent::Vanish,
        "returns" => ClusterEvent::Return,
        "takes" => ClusterEvent::Pace { takes: when::duration(&cursor.need("a duration", "`gold-1 takes 90m`")?)? },
        "joins" | "leaves" => return membership(cursor, &verb, which),
        _ => return Err(verb.wrong("is nothing that a cluster does here", guess(&verb, CLUSTER))),
    };
    Ok(Event::Clusters { which, what })
}

fn membership(cursor: &mut Cursor<'_>, verb: &Word<'_>, which: Subject) -> Result<Event, Problem> {
    let Subject::Cluster(cluster) = which else {
        return Err(verb.wrong("is said of clusters, one by one", "name the cluster"));
    };
    if verb.text == "leaves" {
        return Ok(Event::Leave { cluster });
    }
    let mut labels = Labels::new();
    while let Some(word) = cursor.next() {
        let help = "`gold-9 joins tier=gold`";
        let (key, value) = word.text.split_once('=').ok_or_else(|| word.wrong("is no label", help))?;
        labels.insert(key.to_string(), value.to_string());
    }
    Ok(Event::Join { cluster, labels })
}

/// The verb that was most likely meant.
fn guess(verb: &Word<'_>, all: &str) -> String {
    let verbs = all.split_once(": ").map_or("", |(_, verbs)| verbs).split(", ");
    let firsts = verbs.filter_map(|verb| verb.split(' ').next());
    nearest(verb.text, firsts).map_or_else(|| all.to_string(), |near| format!("did you mean `{near}`?"))
}

fn at_pull(cursor: &mut Cursor<'_>, names: &NameList, who: Person, act: PullAct) -> Result<Event, Problem> {
    let (plugin, tier) = spot(cursor, names)?;
    Ok(Event::AtPull { who, plugin, tier, act })
}

/// `cert-manager on gold`.
pub(super) fn spot(cursor: &mut Cursor<'_>, names: &NameList) -> Result<(PluginName, TierName), Problem> {
    let plugin = plugin(cursor, names)?;
    cursor.must("on", "a pull request is named by plugin and tier: `cert-manager on gold`")?;
    Ok((plugin, tier(cursor, names)?))
}

pub(super) fn plugin(cursor: &mut Cursor<'_>, names: &NameList) -> Result<PluginName, Problem> {
    one_of(cursor, "plugin", &names.plugins).map(|word| PluginName::from(word.text))
}

pub(super) fn tier(cursor: &mut Cursor<'_>, names: &NameList) -> Result<TierName, Problem> {
    one_of(cursor, "tier", &names.tiers).map(|word| TierName::from(word.text))
}

fn one_of<'a>(cursor: &mut Cursor<'a>, what: &str, known: &[String]) -> Result<Word<'a>, Problem> {
    let word = cursor.need(&format!("a {what}"), &format!("there are {}", listed(known)))?;
    // Where the policy could not be read, every name may be right.
    if known.is_empty() || known.iter().any(|name| name == word.text) {
        return Ok(word);
    }
    let help = match nearest(word.text, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", listed(known)),
    };
    Err(word.wrong(&format!("is no {what} of this story"), help))
}
