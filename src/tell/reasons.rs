//! The page of all reasons: gate by gate what each of them says, and what or who unblocks it. Each is
//! shown with one sample; that all are there and stand where the planner says them is a test's matter.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use decide::ledger::Change;
use decide::plan::{Action, Gate, Plan, Verdict, WaveState};
use decide::{Entry, Reason};
use serde::Deserialize;

/// Where a reason was said, and its name: `("hold waits", "held")`. Beside the gates there are `alarm`,
/// `end` (of a wave or a pull request) and `inside` (of another reason).
pub type Occasion = (String, String);

const ALARM: &str = "alarm";
const END: &str = "end";
const INSIDE: &str = "inside";

const VERBS: [&str; 5] = ["passes", "waits", "fails", "is unknown", "is waived"];

/// A reason with the values of an example, and where the planner says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// As in an occasion.
    pub at: Vec<String>,
    /// The reason.
    pub reason: Reason,
    /// The planner would give it, and nothing finds the facts for it yet: the page does not promise it.
    #[serde(default)]
    pub later: bool,
}

/// One sample of every reason.
///
/// # Errors
/// When the list that comes with the program does not fit it, which a test keeps from happening.
pub fn samples() -> Result<Vec<Sample>, serde_yaml::Error> {
    let list: serde_yaml::Value = serde_yaml::from_str(include_str!("reasons.yaml"))?;
    serde_yaml::with::singleton_map_recursive::deserialize(list)
}

/// Every occasion on which a plan gives a reason.
pub fn occasions(plan: &Plan) -> BTreeSet<Occasion> {
    let mut said = BTreeSet::new();
    let mut say = |place: String, reason: &Reason| {
        for (depth, reason) in reason.chain().into_iter().enumerate() {
            said.insert((if depth == 0 { place.clone() } else { INSIDE.to_string() }, reason.name()));
        }
    };
    for wave in &plan.waves {
        for finding in &wave.findings {
            say(format!("{} {}", finding.gate, verb(finding.verdict)), &finding.because);
        }
        if let WaveState::Failed { why, .. } | WaveState::Withdrawn { why, .. } = &wave.state {
            say(END.to_string(), why);
        }
    }
    for record in &plan.entries {
        if let Entry::Wave { change, .. } = &record.entry {
            match change {
                Change::Failed(failed) | Change::Stalled(failed) => say(END.to_string(), &failed.why),
                Change::Withdrawn(withdrawn) => say(END.to_string(), &withdrawn.why),
                Change::Found { .. }
                | Change::Intent { .. }
                | Change::Announced(_)
                | Change::Shown(_)
                | Change::Grace(_)
                | Change::GraceEnded
                | Change::Merging(_)
                | Change::Refused { .. }
                | Change::Left { .. }
                | Change::Landed(_)
                | Change::Converged(_)
                | Change::Dispatching(_)
                | Change::Verified { .. }
                | Change::Soaked(_)
                | Change::LetThrough(_)
                | Change::Finished(_)
                | Change::Resumed(_)
                | Change::Rejected(_)
                | Change::Superseded(_) => {}
            }
        }
    }
    for action in &plan.actions {
        if let Action::Close { why, .. } = action {
            say(END.to_string(), why);
        }
    }
    if let Some(alarm) = &plan.alarm {
        say(ALARM.to_string(), &alarm.why);
    }
    said
}

fn verb(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => VERBS[0],
        Verdict::Wait { .. } => VERBS[1],
        Verdict::Fail => VERBS[2],
        Verdict::Unknown => VERBS[3],
        Verdict::Waived { .. } => VERBS[4],
    }
}

const HEAD: &str = "\
# Reasons

<!-- Written by `COLDFRAME_BLESS=1 ./tests/run generated` from `coldframe explain --reasons`; do not edit. -->

Whatever Coldframe does or does not do, it says why: on the pull request, its check, the dashboard, in notifications and in `coldframe explain`, in the same words. These are all the reasons there are, each with an example, by the gate that gives them, in the order in which the gates stand on a pull request. A gate *passes*, *waits*, *fails* (time alone does not change it), *is unknown* (something could not be read; that is never taken for a yes), or *is waived*. A release moves only where each gate passes or is waived.

`coldframe explain PLUGIN` shows them for what is climbing now, with the time until which a gate waits where that is known.
";

/// The whole page, as Markdown.
///
/// # Errors
/// As [`samples`].
pub fn page() -> Result<String, serde_yaml::Error> {
    let mut samples = samples()?;
    samples.retain(|sample| !sample.later);
    let mut out = HEAD.to_string();
    for gate in Gate::ALL {
        let of_gate =
            |at: &str| at.strip_prefix(&format!("{gate} ")).filter(|verb| VERBS.contains(verb)).map(String::from);
        section(&mut out, &sentence_case(&gate.to_string()), gate_is_about(gate), &samples, &of_gate);
    }
    let only = |wanted: &'static str| move |at: &str| (at == wanted).then(String::new);
    let about = "Why a wave failed or a pull request of the bot was closed again.";
    section(&mut out, "Ends", about, &samples, &only(END));
    section(&mut out, "Alarms", "Why the bot looks again at a time although nothing rang.", &samples, &only(ALARM));
    let about = "What other reasons rest on.";
    section(&mut out, "Inside other reasons", about, &samples, &only(INSIDE));
    Ok(out)
}

fn section(out: &mut String, title: &str, about: &str, samples: &[Sample], verb_at: &dyn Fn(&str) -> Option<String>) {
    let mut rows = Vec::new();
    for sample in samples {
        let verbs: Vec<String> = sample.at.iter().filter_map(|at| verb_at(at)).collect();
        if !verbs.is_empty() {
            rows.push((verbs.join(", "), &sample.reason));
        }
    }
    if rows.is_empty() {
        return;
    }
    let with_verbs = rows.iter().any(|(verbs, _)| !verbs.is_empty());
    // Writing into a String cannot fail.
    let _ = writeln!(out, "\n## {title}\n\n{about}\n");
    out.push_str(if with_verbs {
        "| | it says | unblocked by |\n|---|---|---|\n"
    } else {
        "| it says | unblocked by |\n|---|---|\n"
    });
    for (verbs, reason) in rows {
        let (words, who) = (cell(&reason.to_string()), reason.unblock().map(|who| cell(&who)).unwrap_or_default());
        let first = if with_verbs { format!("| {verbs} ") } else { String::new() };
        let _ = writeln!(out, "{first}| {words} | {who} |");
    }
}

/// A cell of a table: the samples are ours, so that only the bar between cells could harm.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn sentence_case(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

fn gate_is_about(gate: Gate) -> &'static str {
    match gate {
        Gate::Ledger => "Whether what the bot remembers can be believed.",
        Gate::Release => "The release itself, the tier's clusters and the places that hold the version.",
        Gate::TierBelow => "Whether the release has finished the tier below.",
        Gate::After => "Plugins that the policy puts before this one.",
        Gate::Breaking => "Steps that may break, by the version number or the mark of the chart's author.",
        Gate::Rejection => "A person who closed the pull request.",
        Gate::Hold => "Holds, drafts, and pauses between slices.",
        Gate::Verification => "Workflows that verify what has moved before the next slice does.",
        Gate::Freeze => "Stops of every merge in scope. Nothing passes them.",
        Gate::Window => "The windows of the operator, the file, the tier, the plugin and the clusters.",
        Gate::Announce => "How long people have to be told before a merge; only where the policy asks for it.",
        Gate::Approvals => "Who has to say yes.",
        Gate::Head => "What the branch of the pull request holds, and its required checks.",
        Gate::Limits => "Caps that all plugins share.",
        Gate::Grace => {
            "The grace period, after which the bot merges without the missing approvals; or somebody who says `/coldframe force` before."
        }
        Gate::Health => "How the clusters are on this version.",
        Gate::ProgressDeadline => "How long the clusters may take.",
        Gate::Soak => "How long all of them have to be healthy.",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// `./tests/run generated` writes it.
    #[test]
    fn the_committed_page_is_current_and_whole() {
        let page = page().unwrap();
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reasons.md");
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(committed == page, "docs/reasons.md is not current; COLDFRAME_BLESS=1 ./tests/run generated writes it");
        for sample in samples().unwrap() {
            assert_eq!(page.contains(&cell(&sample.reason.to_string())), !sample.later, "{}", sample.reason);
        }
    }
}
