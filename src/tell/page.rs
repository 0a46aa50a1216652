//! The pull request: title and text. It changes only when something changed in the world: every
//! time in it is absolute, nothing in it counts. The commit's message is in `commit`, the one
//! comment in `notice`.

mod differences;
mod facts;
mod files;
mod grace;
mod marks;
mod notes;
mod sections;
mod tasks;

use decide::plan::{Finding, Gate, WaveReport, WaveState};
use decide::{Plan, Reason, TierName, Version};
use jiff::tz::TimeZone;
use serde::Serialize;

use super::climb::{Forced, Step, above, forced, goes_on, steps};
use super::{Links, TellError, inert, words};
pub use differences::Differences;
use differences::differences;
pub use facts::PullFacts;
use grace::{Grace, grace};
use marks::{marks, status};
pub use notes::ReleaseNote;
use notes::notes;

/// The most characters of a text; the hub's own cap is 65,536.
pub(crate) const CAP: usize = 58_000;
/// Up to so many clusters stand in the table itself; more are folded.
const NAMES_IN_ROW: usize = 6;
/// The most names that any list shows; the rest is a number.
pub(crate) const NAMES: usize = 300;

/// The newest release above this wave's that is on its way, and its highest tier.
pub(crate) fn overtaking<'a>(plan: &'a Plan, wave: &WaveReport) -> Option<(&'a Version, &'a TierName)> {
    let under_way = |other: &&WaveReport| match other.state {
        WaveState::Open { .. }
        | WaveState::Converging { .. }
        | WaveState::Soaking { .. }
        | WaveState::Finished { .. } => true,
        WaveState::Idle { .. }
        | WaveState::Waiting
        | WaveState::Failed { .. }
        | WaveState::Rejected { .. }
        | WaveState::Superseded { .. }
        | WaveState::Withdrawn { .. } => false,
    };
    let newer = plan.waves.iter().filter(|other| other.plugin == wave.plugin && other.version > wave.version);
    let highest = newer.filter(under_way).max_by(|a, b| (&a.version, a.tier_index).cmp(&(&b.version, b.tier_index)))?;
    Some((highest.version.as_ref()?, &highest.tier))
}

/// `cert-manager 1.15.0 → silver (3 of 4)`; of a slice also its clusters, `, clusters 3–5 of 12`.
pub fn title(wave: &WaveReport) -> String {
    if wave.rollback_of.is_some() {
        return words::name(wave);
    }
    format!("{} ({} of {}){}", words::name(wave), wave.tier_index, wave.of, words::portion(wave))
}

/// The text of the pull request, in at most 58,000 characters. Same facts, same text.
///
/// # Errors
/// Only when a built-in template is broken.
pub fn body(facts: &PullFacts<'_>) -> Result<String, TellError> {
    let mut page = Page::of(facts);
    let wave = facts.wave;
    let own = facts.body.map(|body| sections::named(body, |text| filled(text, wave)));
    let bare = sections::arranged(&page, own.as_deref())?;
    let room = CAP.saturating_sub(bare.chars().count() + 200); // 200: the frame around the notes
    page.differences = differences(facts.notes, room);
    page.notes = notes(facts.notes, room.saturating_sub(page.differences.chars().count()));
    let full = if page.notes.is_empty() && page.differences.is_empty() {
        bare
    } else {
        sections::arranged(&page, own.as_deref())?
    };
    Ok(capped(full) + &facts.links.on_dashboard(&wave.plugin, &wave.tier))
}

/// The last resort: everything above is bounded, so that this cuts nothing in practice.
pub(crate) fn capped(text: String) -> String {
    if text.chars().nth(CAP).is_none() {
        return text;
    }
    let head: String = text.chars().take(CAP - 80).collect();
    let end = head.rfind('\n').unwrap_or(head.len());
    format!("{}\n\n*Cut here: this text is longer than the hub allows.*\n", head.get(..end).unwrap_or(""))
}

#[derive(Serialize)]
struct Page {
    banner: Option<Banner>,
    plugin: String,
    tier: String,
    version: String,
    from: String,
    clusters: String,
    folded: Option<Folded>,
    slices: Option<String>,
    pinned: Vec<String>,
    status: Option<String>,
    waits: Vec<Wait>,
    marks: Vec<String>,
    rollback: Option<Rollback>,
    grace: Option<Grace>,
    climb: Vec<Step>,
    goes_on: bool,
    step: String,
    breaking: Option<String>,
    digest: Option<String>,
    files: String,
    changes: Option<String>,
    note: Option<String>,
    tasks: String,
    differences: String,
    notes: String,
    steps: String,
    landed: bool,
    over: bool,
    above: String,
    rebase: Option<Rebase>,
    forced: Option<Forced>,
}

/// The box that asks for another commit.
#[derive(Serialize)]
struct Rebase {
    head: String,
    heard: Option<String>,
}

#[derive(Serialize)]
struct Banner {
    emoji: &'static str,
    word: String,
    since: Option<String>,
    text: String,
    who: Option<String>,
    overtaking: Option<String>,
}

#[derive(Serialize)]
struct Folded {
    count: usize,
    names: String,
}

/// What a rollback takes back, and why.
#[derive(Serialize)]
struct Rollback {
    of: String,
    why: Option<String>,
}

/// One gate that is waited for.
#[derive(Serialize)]
pub(crate) struct Wait {
    emoji: &'static str,
    gate: String,
    because: String,
    until: Option<String>,
    who: Option<String>,
}

impl Page {
    fn of(facts: &PullFacts<'_>) -> Self {
        let PullFacts { wave, climb, links, .. } = facts;
        let zone = links.zone(&wave.plugin, &wave.tier);
        let names: Vec<String> = wave.members.clusters().iter().map(ToString::to_string).collect();
        let version = wave.version.as_ref().map_or_else(String::new, Version::to_string);
        let open = words::before_landing(&wave.state);
        // Of a release that has landed it is the next slice that waits.
        let between = |gate: Gate| words::landed(wave) && matches!(gate, Gate::Hold | Gate::Verification);
        let waits =
            words::holding(wave).filter(|finding| (open && finding.gate < Gate::Health) || between(finding.gate));
        let mut waits: Vec<&Finding> = waits.collect();
        if let Some(first) = words::first(wave) {
            waits.sort_by_key(|finding| *finding != first); // stable: the rest in the order of the gates
        }
        let waits: Vec<Wait> = waits.into_iter().map(|finding| wait(finding, &zone)).collect();
        let landed = words::landed(wave);
        Self {
            banner: banner(facts),
            plugin: wave.plugin.to_string(),
            tier: wave.tier.to_string(),
            from: wave.from.as_ref().map_or_else(|| "not installed".to_string(), Version::to_string),
            clusters: clusters(&names),
            folded: (names.len() > NAMES_IN_ROW).then(|| Folded { count: names.len(), names: listed(&names, NAMES) }),
            slices: slices(wave),
            pinned: wave.pinned.iter().take(NAMES).map(|pin| pinned(pin, &zone)).collect(),
            status: status(facts, waits.is_empty()),
            waits,
            marks: marks(facts),
            rollback: rollback(wave),
            grace: grace(wave, links, &zone),
            climb: climb.map_or_else(Vec::new, |climb| steps(facts, climb)),
            goes_on: climb.is_some_and(|climb| goes_on(facts, climb)),
            step: wave.version.as_ref().map_or("", |to| words::step(wave.from.as_ref(), to)).to_string(),
            breaking: wave
                .findings
                .iter()
                .find(|finding| finding.gate == Gate::Breaking)
                .map(|f| f.because.to_string()),
            digest: wave.digest.as_ref().map(ToString::to_string),
            files: links
                .tier(&wave.plugin, &wave.tier)
                .map_or_else(String::new, |tier| files::changes(tier, wave, facts.changes.is_some())),
            changes: facts.changes.map(str::to_string),
            note: facts.note.map(|note| filled(note, wave)),
            tasks: if open { tasks::tasks(facts.tasks, &facts.ticked) } else { String::new() },
            differences: String::new(),
            notes: String::new(),
            steps: match &wave.from {
                Some(from) => format!("{from} → {version}"),
                None => version.clone(),
            },
            landed,
            over: words::end(&wave.state).is_some() && !landed,
            above: climb.map_or_else(String::new, |climb| above(climb, &wave.tier)),
            rebase: facts.rebase.map(|(head, heard)| Rebase { head: head.to_string(), heard: heard.map(inert::line) }),
            forced: forced(wave, &zone),
            version,
        }
    }
}

/// What the policy adds, about this wave.
fn filled(note: &str, wave: &WaveReport) -> String {
    let version = wave.version.as_ref().map_or_else(String::new, Version::to_string);
    let names = [("{plugin}", wave.plugin.as_str()), ("{tier}", wave.tier.as_str()), ("{version}", &version)];
    names.iter().fold(note.to_string(), |text, (name, value)| text.replace(name, value))
}

/// Which slice of the climb this is, what moved before it and what follows.
fn slices(wave: &WaveReport) -> Option<String> {
    let slice = words::slice(&wave.part)?;
    let (first, last, of) = wave.part.span()?;
    let at = wave.part.slice as usize;
    let names = |slices: &[decide::Clusters]| {
        listed(&slices.iter().flatten().map(ToString::to_string).collect::<Vec<_>>(), NAMES_IN_ROW)
    };
    let before = names(wave.part.partition.get(..at).unwrap_or_default());
    let after = names(wave.part.partition.get(at + 1..).unwrap_or_default());
    let before =
        if before.is_empty() { "Nothing moved before it.".to_string() } else { format!("Before it: {before}.") };
    let after = if after.is_empty() {
        "It is the last one: the soak begins when all of them are healthy.".to_string()
    } else {
        format!("After it, when all that have moved are healthy: {after}.")
    };
    let span = if first == last { format!("cluster {first}") } else { format!("clusters {first}–{last}") };
    Some(format!("This is **{slice}**, {span} of {of}. {before} {after}"))
}

/// A cluster that stays where it is.
fn pinned(pin: &decide::plan::Pinned, zone: &TimeZone) -> String {
    let until = pin.until.map_or_else(String::new, |until| format!(" until {}", words::when(until, zone)));
    let version = pin.version.as_ref().map_or("what it has", Version::as_str);
    format!("{} stays on {version}{until}: {}", inert::code(pin.cluster.as_str()), inert::md(&pin.why))
}

/// What failed or who stopped it, before anything else.
fn banner(facts: &PullFacts<'_>) -> Option<Banner> {
    let wave = facts.wave;
    let zone = facts.links.zone(&wave.plugin, &wave.tier);
    let (look, why) = match words::end(&wave.state) {
        Some(why) => (words::state(&wave.state), why),
        None => (words::wave(wave), words::stop(wave).filter(|_| !words::landed(wave))?.because.clone()),
    };
    let (mut word, mut text) = (look.word.to_string(), why.to_string());
    // A reason that begins with the word is not said after it once more.
    if text.split(' ').next() == Some(look.word) && words::end(&wave.state).is_none() {
        word = std::mem::take(&mut text);
    }
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let overtaking = facts.overtaking.filter(|_| matches!(wave.state, WaveState::Failed { .. }));
    Some(Banner {
        emoji: look.emoji,
        word,
        since: words::since(&wave.state).filter(|_| words::end(&wave.state).is_some()).map(|at| words::when(at, &zone)),
        text,
        who: why.unblock(),
        overtaking: overtaking.map(|(version, tier)| format!("{version} is on {tier} now and may overtake it.")),
    })
}

/// How the clusters stand in the table.
fn clusters(names: &[String]) -> String {
    if names.len() > NAMES_IN_ROW || names.is_empty() {
        names.len().to_string()
    } else {
        format!("{} ({})", names.len(), names.join(", "))
    }
}

/// Names as code, the first `cap` of them.
pub(crate) fn listed(names: &[String], cap: usize) -> String {
    let mut shown: Vec<String> = names.iter().take(cap).map(|name| inert::code(name)).collect();
    if names.len() > cap {
        shown.push(format!("and {} more", names.len() - cap));
    }
    shown.join(", ")
}

fn wait(finding: &Finding, zone: &TimeZone) -> Wait {
    Wait {
        emoji: words::verdict(finding).emoji,
        gate: finding.gate.to_string(),
        because: finding.because.to_string(),
        until: words::until(finding).map(|at| words::when(at, zone)),
        who: words::who(finding),
    }
}

fn rollback(wave: &WaveReport) -> Option<Rollback> {
    let of = wave.rollback_of.as_ref()?.to_string();
    let why = wave.findings.iter().find_map(|finding| {
        let Reason::RollsBack { why, .. } = &finding.because else { return None };
        Some(why.to_string())
    });
    Some(Rollback { of, why })
}

#[cfg(test)]
mod tests;
