//! `coldframe explain`: every gate of a wave, passed ones too, with evidence and who can unblock, and what every
//! signal says of each cluster.

use decide::plan::{MemberState, WaveReport, WaveState};
use decide::readings::Fact;
use decide::reason::spell;
use decide::{PluginName, Readings, TierName};
use jiff::Timestamp;

use super::board::style::{self, BOLD, DIM, paint};
use super::{TellError, View, inert, words};

/// Every gate of a plugin's waves, on one tier or on all, and the readings of its clusters. Styled like
/// [`super::board`].
///
/// # Errors
/// When the plan has no such plugin or tier; the error names those that it has.
pub fn explain(
    view: &View,
    (plugin, tier): (&PluginName, Option<&TierName>),
    readings: &Readings,
    now: Timestamp,
) -> Result<String, TellError> {
    let asked = |wave: &&WaveReport| wave.plugin == *plugin && tier.is_none_or(|tier| wave.tier == *tier);
    let waves: Vec<String> = view.plan.waves.iter().filter(asked).map(|wave| one(view, wave, readings, now)).collect();
    if waves.is_empty() {
        return Err(TellError::not_in_plan(&view.plan, plugin, tier));
    }
    Ok(waves.join("\n"))
}

fn one(view: &View, wave: &WaveReport, readings: &Readings, now: Timestamp) -> String {
    let zone = view.links.zone(&wave.plugin, &wave.tier);
    let dated = |at: Timestamp| format!("{} ({})", words::when(at, &zone), words::relative(at, now));
    let look = words::wave(wave);
    let mut out = format!("{}\n", paint(BOLD, &format!("{} ({} of {})", words::name(wave), wave.tier_index, wave.of)));
    let since = words::since(&wave.state).map_or_else(String::new, |at| format!(" since {}", dated(at)));
    out.push_str(&format!("{}{since}\n", paint(style::of(look.tone), &format!("{} {}", look.mark, look.word))));
    if let Some(pull) = wave.pull {
        out.push_str(&format!("{pull}  {}\n", inert::line(&view.links.pull(pull))));
    }
    if let WaveState::Soaking { healthy_for, of, .. } = &wave.state {
        out.push_str(&format!("healthy for {} of {}\n", spell(*healthy_for), spell(*of)));
    }
    if let Some(why) = words::end(&wave.state) {
        out.push_str(&format!("because {}\n", inert::line(&why.to_string())));
        out.push_str(
            &why.unblock().map_or_else(String::new, |who| format!("who can unblock: {}\n", inert::line(&who))),
        );
    }
    if let Some(digest) = &wave.digest {
        out.push_str(&format!("artefact {}\n", inert::line(digest.as_str())));
    }
    gates(&mut out, wave, &dated);
    grace(&mut out, wave, &dated);
    members(&mut out, wave, readings, &dated);
    out
}

fn gates(out: &mut String, wave: &WaveReport, dated: &dyn Fn(Timestamp) -> String) {
    if wave.findings.is_empty() {
        return;
    }
    let width = wave.findings.iter().map(|finding| finding.gate.to_string().len()).max().unwrap_or(0);
    out.push('\n');
    for finding in &wave.findings {
        let look = words::verdict(finding);
        let verdict = paint(style::of(look.tone), &format!("{} {:8}", look.mark, look.word));
        let gate = finding.gate.to_string();
        out.push_str(&format!("  {gate:width$}  {verdict}  {}\n", inert::line(&finding.because.to_string())));
        let indent = " ".repeat(width + 16);
        if let Some(until) = words::until(finding) {
            out.push_str(&format!("{indent}until {}\n", dated(until)));
        }
        if let Some(who) = words::who(finding) {
            out.push_str(&format!("{indent}who can unblock: {who}\n"));
        }
    }
}

fn grace(out: &mut String, wave: &WaveReport, dated: &dyn Fn(Timestamp) -> String) {
    if let Some(grace) = &wave.grace {
        out.push_str(&format!("\n  grace period since {}, deadline {}\n", dated(grace.since), dated(grace.deadline)));
        for notice in &grace.notices {
            out.push_str(&format!("  notice {} before the deadline: {}\n", spell(notice.before), dated(notice.at)));
        }
    }
    if let Some(forced) = &wave.forced {
        out.push_str(&format!("\n  merged by force: {}\n", inert::line(&forced.waived)));
        if let Some(said) = &forced.said {
            let (by, why) = (inert::line(said.by.as_str()), inert::line(&said.why));
            out.push_str(&format!("  as {by} said {}: {why}\n", dated(said.at)));
        }
        let deadline = forced.deadline.map(|deadline| format!("deadline {}, ", dated(deadline))).unwrap_or_default();
        out.push_str(&format!("  {deadline}policy {}\n", inert::line(forced.policy.short())));
        for passed in &forced.held {
            out.push_str(&format!("  passed: {}\n", inert::line(passed)));
        }
    }
}

fn members(out: &mut String, wave: &WaveReport, readings: &Readings, dated: &dyn Fn(Timestamp) -> String) {
    if wave.members.is_empty() {
        return;
    }
    out.push_str(&format!("\n  {}\n", words::clusters(wave)));
    let width = wave.members.clusters().iter().map(|name| name.as_str().chars().count()).max().unwrap_or(0);
    for member in wave.members.iter() {
        let look = words::member(&member.state);
        let (since, evidence) = words::member_facts(&member.state);
        // the mark comes first: a name never stands where a runner looks for commands
        let mark = paint(style::of(look.tone), look.mark);
        let mut state = paint(style::of(look.tone), look.word);
        if !evidence.is_empty() {
            state.push_str(&format!(": {evidence}"));
        }
        if let Some(since) = since {
            state.push_str(&paint(DIM, &format!(" since {}", dated(since))));
        }
        out.push_str(&format!("  {mark} {:width$}  {state}\n", inert::line(member.cluster.as_str())));
        if member.state == MemberState::NotAsked {
            continue;
        }
        // What stands in the line above is not said twice.
        let rows = readings.of(&member.cluster).iter().filter(|row| !evidence.contains(&row.fact.evidence));
        for Fact { signal, running, evidence, .. } in rows.map(|row| row.fact.as_ref()) {
            let runs = running.as_ref().map(|version| format!(" runs {version}")).unwrap_or_default();
            let line = inert::line(&format!("{signal}{runs}: {evidence}"));
            out.push_str(&format!("    {:width$}  {}\n", "", paint(DIM, &format!("· {line}"))));
        }
    }
}
