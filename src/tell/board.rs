//! The terminal's board: a line per release that is on its way, what it waits for, the next look
//! and what would be done. Returned with ANSI styles, which the caller prints through `anstream`;
//! that strips them where nobody can see them.

use std::collections::BTreeSet;

use decide::ledger::ForceEvidence;
use decide::plan::{Action, Climb, Proposal, WaveReport, WaveState};
use decide::reason::spell;
use decide::{Plan, PluginName, Version};
use jiff::Timestamp;

use super::words::{self, Tone};
use super::{View, inert};

/// ANSI styles, the few that every terminal has.
pub(crate) mod style {
    pub(crate) const BOLD: &str = "\x1b[1m";
    pub(crate) const DIM: &str = "\x1b[2m";
    const RED: &str = "\x1b[31m";
    const YELLOW: &str = "\x1b[33m";
    const CYAN: &str = "\x1b[36m";
    const GREEN: &str = "\x1b[32m";
    const RESET: &str = "\x1b[0m";

    /// The text in a style; an empty style adds nothing.
    pub(crate) fn paint(style: &str, text: &str) -> String {
        if text.trim().is_empty() { text.to_string() } else { format!("{style}{text}{RESET}") }
    }

    /// The style of a tone.
    pub(crate) fn of(tone: super::Tone) -> &'static str {
        match tone {
            super::Tone::Bad => RED,
            super::Tone::Attention => YELLOW,
            super::Tone::Moving => CYAN,
            super::Tone::Good => GREEN,
            super::Tone::Quiet => DIM,
        }
    }
}

use style::{BOLD, DIM, paint};

/// One line of the board before its columns are aligned.
struct Line {
    plugin: String,
    version: String,
    cells: Vec<(String, &'static str, Tone)>,
    says: Vec<(Tone, String)>,
}

/// The whole board: a line per release on its way, then the next look and what would be done.
pub fn board(view: &View, now: Timestamp) -> String {
    let mut lines = Vec::new();
    for plugin in plugins(&view.plan) {
        lines.extend(plugin_lines(view, plugin, now));
    }
    let mut out = String::new();
    if let Some(trouble) = &view.trouble {
        let (first, rest) = inert::headed(trouble);
        out.push_str(&format!("{}\n", paint(style::of(Tone::Bad), &format!("✖ {first}"))));
        // Behind a bar: no line of it begins like a command to a runner.
        rest.iter().flat_map(|rest| rest.lines()).for_each(|line| out.push_str(&format!("│ {line}\n")));
    }
    for freeze in view.freezes.iter().filter(|freeze| freeze.until.is_none_or(|until| now < until)) {
        out.push_str(&format!("{}\n", paint(style::of(Tone::Attention), &format!("✖ {}", words::freeze(freeze)))));
    }
    out.push_str(&aligned(&lines));
    if lines.is_empty() {
        out.push_str("The policy names no plugin yet.\n");
    }
    out.push_str(&format!("{}\n", next_look(view, now)));
    match &view.done {
        Some(done) => out.push_str(&listed("Done", done.iter().map(|one| inert::line(one)))),
        None => out.push_str(&listed("Would do", view.plan.actions.iter().map(action))),
    }
    out
}

/// Plugins in the order of the file.
pub(crate) fn plugins(plan: &Plan) -> Vec<&PluginName> {
    let mut seen = BTreeSet::new();
    plan.waves.iter().map(|wave| &wave.plugin).filter(|plugin| seen.insert(*plugin)).collect()
}

/// The lines of one plugin: its releases that are on their way, the newest first; one line that
/// says what runs when there are none.
fn plugin_lines(view: &View, plugin: &PluginName, now: Timestamp) -> Vec<Line> {
    let waves: Vec<&WaveReport> = view.plan.waves.iter().filter(|wave| wave.plugin == *plugin).collect();
    let mut climbs: Vec<&Climb> = view.plan.climbs.iter().filter(|climb| climb.plugin == *plugin).collect();
    climbs.sort_by(|a, b| b.version.cmp(&a.version));
    let alive =
        |climb: &&Climb| waves.iter().any(|wave| wave.version.as_ref() == Some(&climb.version) && is_alive(wave));
    let shown: Vec<&Climb> = climbs.iter().copied().filter(alive).collect();
    if shown.is_empty() {
        return vec![settled(plugin, &waves)];
    }
    let lines = shown.into_iter().enumerate().map(|(index, climb)| Line {
        plugin: if index == 0 { inert::line(plugin.as_str()) } else { String::new() },
        version: inert::line(climb.version.as_str()),
        cells: climb.tiers.iter().map(|at| cell(&waves, &climb.version, at)).collect(),
        says: waves
            .iter()
            .filter(|wave| wave.version.as_ref() == Some(&climb.version))
            .filter_map(|wave| says(view, wave, now))
            .collect(),
    });
    lines.collect()
}

/// Whether there is something to say about a wave beside that it is over.
fn is_alive(wave: &WaveReport) -> bool {
    match wave.state {
        WaveState::Waiting
        | WaveState::Open { .. }
        | WaveState::Converging { .. }
        | WaveState::Soaking { .. }
        | WaveState::Failed { .. }
        | WaveState::Rejected { .. } => true,
        WaveState::Idle { .. }
        | WaveState::Finished { .. }
        | WaveState::Superseded { .. }
        | WaveState::Withdrawn { .. } => false,
    }
}

/// A tier's mark in the line of a release: of the wave there when it is this release's, else of
/// the climb.
fn cell(waves: &[&WaveReport], version: &Version, at: &decide::plan::ClimbTier) -> (String, &'static str, Tone) {
    let wave = waves.iter().find(|wave| wave.tier == at.tier && wave.version.as_ref() == Some(version));
    let look = wave.map_or_else(|| words::state(&at.state), |wave| words::wave(wave));
    (inert::line(at.tier.as_str()), look.mark, look.tone)
}

/// A plugin of which nothing is on its way.
fn settled(plugin: &PluginName, waves: &[&WaveReport]) -> Line {
    let running = |wave: &&WaveReport| match &wave.state {
        WaveState::Idle { running } => running.clone(),
        WaveState::Finished { .. } => wave.version.clone(),
        WaveState::Waiting
        | WaveState::Open { .. }
        | WaveState::Converging { .. }
        | WaveState::Soaking { .. }
        | WaveState::Failed { .. }
        | WaveState::Rejected { .. }
        | WaveState::Superseded { .. }
        | WaveState::Withdrawn { .. } => None,
    };
    let versions: BTreeSet<String> =
        waves.iter().filter_map(running).map(|version| inert::line(version.as_str())).collect();
    let says = match versions.len() {
        0 => "no release is known yet".to_string(),
        1 => "runs on every tier; nothing newer".to_string(),
        _ => format!("runs as {}; nothing newer is ready", versions.iter().cloned().collect::<Vec<_>>().join(", ")),
    };
    Line {
        plugin: inert::line(plugin.as_str()),
        version: if versions.len() == 1 { versions.into_iter().collect() } else { String::new() },
        cells: waves
            .iter()
            .map(|wave| (inert::line(wave.tier.as_str()), words::wave(wave).mark, words::wave(wave).tone))
            .collect(),
        says: vec![(Tone::Quiet, says)],
    }
}

/// What a wave waits for or does, in one piece of a line.
pub(crate) fn says(view: &View, wave: &WaveReport, now: Timestamp) -> Option<(Tone, String)> {
    let zone = view.links.zone(&wave.plugin, &wave.tier);
    let tone = words::wave(wave).tone;
    let (healthy, of) = words::healthy(wave);
    let text = match &wave.state {
        WaveState::Waiting | WaveState::Open { .. } => {
            let mut text = match words::first(wave) {
                Some(finding) => finding.because.to_string(),
                None => words::next(wave).to_string(),
            };
            let more = words::holding(wave).count().saturating_sub(1);
            if more > 0 {
                text.push_str(&format!(" (and {})", words::count(more, "more gate")));
            }
            if let Some(grace) = wave.grace.as_ref().filter(|grace| grace.deadline > now) {
                text.push_str(&format!(", by force on {}", words::when(grace.deadline, &zone)));
            }
            text
        }
        WaveState::Converging { .. } => format!("{}, {healthy} of {of} healthy on it", words::wave(wave).word),
        WaveState::Soaking { healthy_for, of: asked, paused, .. } => {
            let word = if *paused { "soak stands still at" } else { "soaking," };
            format!("{word} {} of {}, {healthy} of {of} healthy", spell(*healthy_for), spell(*asked))
        }
        WaveState::Failed { why, .. } => match super::page::overtaking(&view.plan, wave) {
            Some((version, _)) => format!("{why}; {version} may overtake"),
            None => why.to_string(),
        },
        WaveState::Rejected { by, pull, .. } => decide::Reason::Rejected { by: by.clone(), pull: *pull }.to_string(),
        WaveState::Idle { .. }
        | WaveState::Finished { .. }
        | WaveState::Superseded { .. }
        | WaveState::Withdrawn { .. } => return None,
    };
    Some((tone, inert::line(&format!("{}: {text}", wave.tier))))
}

/// Lays the lines out in columns; what else a release says stands under its first piece.
fn aligned(lines: &[Line]) -> String {
    let width = |text: &str| text.chars().count();
    let plugin = lines.iter().map(|line| width(&line.plugin)).max().unwrap_or(0);
    let version = lines.iter().map(|line| width(&line.version)).max().unwrap_or(0);
    let columns = lines.iter().map(|line| line.cells.len()).max().unwrap_or(0);
    let column = |index: usize| lines.iter().filter_map(|line| line.cells.get(index)).map(|cell| width(&cell.0)).max();
    let widths: Vec<usize> = (0..columns).map(|index| column(index).unwrap_or(0)).collect();
    let indent = plugin + version + 4 + widths.iter().map(|width| width + 4).sum::<usize>();
    let mut out = String::new();
    for line in lines {
        out.push_str(&paint(BOLD, &format!("{:plugin$}", line.plugin)));
        out.push_str(&format!("  {:version$}  ", line.version));
        for (index, width) in widths.iter().enumerate() {
            match line.cells.get(index) {
                Some((tier, mark, tone)) => {
                    let pad = " ".repeat(width.saturating_sub(tier.chars().count()));
                    out.push_str(&format!("{tier} {}{pad}  ", paint(style::of(*tone), mark)));
                }
                None => out.push_str(&" ".repeat(width + 4)),
            }
        }
        for (index, (tone, text)) in line.says.iter().enumerate() {
            if index > 0 {
                out.push_str(&format!("\n{}", " ".repeat(indent)));
            }
            out.push_str(&paint(style::of(*tone), text));
        }
        while out.ends_with(' ') {
            out.pop();
        }
        out.push('\n');
    }
    out
}

/// `Next look: 14:05 CET (in 5 min), when …`.
pub(crate) fn next_look(view: &View, now: Timestamp) -> String {
    let zone = view.links.shared_zone();
    match &view.plan.alarm {
        Some(alarm) => {
            // An alarm that rang while this was written is no look in the past.
            let (at, relative) = (words::when(alarm.at, &zone), words::relative(alarm.at.max(now), now));
            format!("Next look: {at} ({relative}): {}.", inert::line(&alarm.why.to_string()))
        }
        None => "Next look: when something rings, or at the next regular one.".to_string(),
    }
}

/// Sentences under a heading, numbered where the order matters.
fn listed(heading: &str, lines: impl Iterator<Item = String>) -> String {
    match lines.collect::<Vec<_>>().as_slice() {
        [] => format!("{heading}: {}.\n", paint(DIM, "nothing")),
        [one] => format!("{heading}: {one}.\n"),
        many => {
            let lines = many.iter().enumerate().map(|(index, one)| format!("  {}. {one}\n", index + 1));
            format!("{heading}, in this order:\n{}", lines.collect::<String>())
        }
    }
}

/// One action as a person would ask for it.
pub fn action(action: &Action) -> String {
    let text = match action {
        Action::Open(proposal) => format!("open a pull request for {}", proposed(proposal)),
        Action::Update { pull, proposal, .. } => format!("write {pull} anew for {}", proposed(proposal)),
        Action::Merge { plugin, tier, version, pull, forced, .. } => {
            format!("merge {pull}, {plugin} {version} → {tier}{}", by_force(forced.as_ref()))
        }
        Action::Close { plugin, tier, pull, why, .. } => format!("close {pull}, {plugin} → {tier}: {why}"),
        Action::Notice { plugin, tier, version, pull, before, .. } => {
            format!("say on {pull} that {plugin} {version} → {tier} is merged by force in {}", spell(*before))
        }
        Action::Dispatch { plugin, tier, version, workflow, clusters, .. } => {
            let moved = words::count(clusters.len(), "cluster");
            format!("dispatch {workflow}, which verifies {plugin} {version} on {moved} of {tier}")
        }
    };
    inert::line(&text)
}

fn proposed(proposal: &Proposal) -> String {
    let Proposal { plugin, tier, from, to, members, .. } = proposal;
    let from = from.as_ref().map_or_else(|| "first install".to_string(), |from| format!("from {from}"));
    format!("{plugin} {to} → {tier} ({from}, {})", words::count(members.len(), "cluster"))
}

fn by_force(forced: Option<&ForceEvidence>) -> String {
    forced.map_or_else(String::new, |evidence| format!(" by force, waived: {}", evidence.waived))
}
