//! The check on a pull request of somebody else: what is wrong with the policy that it proposes, or what would follow
//! from it. All of it is text of a stranger, and none of it is acted on.

use decide::{Person, PullNumber, Version};
use serde::Serialize;

use super::plan_change::Consequences;
use super::{CheckText, Conclusion, TellError, inert, render, words};
use crate::policy::{self, Change, Problem, SourceFile};

/// The most lines of a list.
const LINES: usize = 50;
/// The most characters of the mistakes as a terminal shows them.
const EXCERPT: usize = 30_000;
/// The most characters of a title; a commit status has no room for more.
const TITLE: usize = 140;
/// The most characters of what is said of a line.
const REMARK: usize = 1_000;

/// A version that stands elsewhere or otherwise at the head of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedVersion {
    /// The plugin.
    pub plugin: decide::PluginName,
    /// The tier.
    pub tier: decide::TierName,
    /// The file.
    pub file: String,
    /// What stands on the base branch.
    pub from: String,
    /// What stands at the head; none where nothing is read there.
    pub to: Option<String>,
}

/// A version that an open pull request of somebody else changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByHand {
    /// The pull request.
    pub number: PullNumber,
    /// Who opened it; none for a deleted account.
    pub by: Option<Person>,
    /// What it changes.
    pub moved: MovedVersion,
}

impl MovedVersion {
    /// Whether an older version comes back, which people may do at any time.
    pub fn goes_back(&self) -> bool {
        let version = |text: &str| text.parse::<Version>().ok();
        let (from, to) = (version(&self.from), self.to.as_deref().and_then(version));
        from.zip(to).is_some_and(|(from, to)| to < from)
    }
}

/// What is said of one line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there, and what to do.
    pub message: String,
}

/// What is known of a proposed policy without mistakes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sound<'a> {
    /// How it differs from the one on the default branch.
    pub changes: &'a [Change],
    /// What would follow; none where that is not known.
    pub follows: Option<&'a Consequences>,
    /// What is not known, each a sentence.
    pub unknown: &'a [String],
    /// What is allowed, and most likely not what was meant.
    pub warnings: &'a [Problem],
    /// Versions that it changes beside.
    pub moved: &'a [MovedVersion],
    /// Whether the rules of the base branch ask for this check, so that those versions hold it up.
    pub required: bool,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    lead: String,
    excerpt: Option<String>,
    differences: Vec<String>,
    follows_lead: &'static str,
    follows: Vec<String>,
    moved_lead: &'static str,
    moved: Vec<String>,
    notes: Vec<String>,
}

const FOLLOWS: &str = "With the facts as they are now, compared with the policy on the default branch:";
const MOVED: &str = "Coldframe promotes these versions tier by tier, so this check does not let through what changes \
                     them by hand. An older version may come back at any time.";
const BACK: &str = "These versions go back by hand. Coldframe follows what is merged.";

/// The check on a pull request that touches nothing of ours.
///
/// # Errors
/// Only when the built-in template is broken.
pub fn nothing_to_say() -> Result<CheckText, TellError> {
    let title = "Coldframe has nothing to say about this pull request";
    let lead = "It changes neither the policy, nor the list of clusters, nor a version that Coldframe promotes";
    text(Conclusion::Success, title, Page { lead: lead.to_string(), ..Page::default() })
}

/// The check on a pull request that changes versions by hand where the rules ask for this check, and no policy.
///
/// # Errors
/// As [`nothing_to_say`].
pub fn by_hand(moved: &[MovedVersion]) -> Result<CheckText, TellError> {
    let held = moved.iter().filter(|one| !one.goes_back()).count();
    if held == 0 {
        let title = format!("{} that Coldframe promotes would go back", words::count(moved.len(), "version"));
        let lead = "It takes versions back".to_string();
        return text(Conclusion::Success, &title, Page { lead, moved_lead: BACK, ..of_moved(moved) });
    }
    let title = format!("{} that Coldframe promotes would change by hand", words::count(held, "version"));
    let lead = "It changes what Coldframe promotes".to_string();
    text(Conclusion::ActionRequired, &title, Page { lead, ..of_moved(moved) })
}

/// The check on a pull request whose head claims to be a commit of Coldframe and is none that it knows.
///
/// # Errors
/// As [`nothing_to_say`].
pub fn not_ours() -> Result<CheckText, TellError> {
    let title = "Its head claims to be a commit of Coldframe and is none";
    let lead = format!("{title}: close this pull request. Coldframe opens its own");
    text(Conclusion::ActionRequired, title, Page { lead, ..Page::default() })
}

/// The check on a merge group with these pull requests in it.
///
/// # Errors
/// As [`nothing_to_say`].
pub fn merge_group(pulls: &[(PullNumber, Conclusion)]) -> Result<CheckText, TellError> {
    let red = pulls.iter().find(|(_, conclusion)| *conclusion != Conclusion::Success);
    let (conclusion, title) = match red {
        Some((number, conclusion)) => (*conclusion, format!("{number} in this merge group has not passed this check")),
        None => (Conclusion::Success, "Everything in this merge group has passed this check".to_string()),
    };
    let numbers: Vec<String> = pulls.iter().map(|(number, _)| number.to_string()).collect();
    let lead = format!("{title}. In it: {}", numbers.join(", "));
    text(conclusion, &title, Page { lead, ..Page::default() })
}

/// The check on a policy with mistakes, in the words of `coldframe check`.
///
/// # Errors
/// As [`nothing_to_say`].
pub fn broken(problems: &[Problem], files: &[SourceFile]) -> Result<CheckText, TellError> {
    let count = words::count(problems.len(), "problem");
    let first = problems.first().map(|problem| format!(": {problem}")).unwrap_or_default();
    let page = Page {
        lead: format!("{count}. Nothing is promoted by a policy with problems"),
        excerpt: Some(inert::fenced(&policy::render(problems, files), EXCERPT)),
        ..Page::default()
    };
    text(Conclusion::Failure, &format!("{count} in the policy{first}"), page)
}

/// What is said of the lines of these files; of a preset, which has no file here, the excerpt tells.
pub fn remarks(problems: &[Problem], files: &[SourceFile]) -> Vec<Remark> {
    let here = problems.iter().filter(|problem| files.iter().any(|file| file.path == problem.file));
    let told = here.map(|problem| {
        let help = problem.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        let message = inert::cut(&inert::line(&format!("{}{help}", problem.message)), REMARK);
        Remark { path: problem.file.clone(), line: problem.line, message }
    });
    told.collect()
}

/// The check on a policy without mistakes.
///
/// # Errors
/// As [`nothing_to_say`].
pub fn sound(facts: &Sound<'_>) -> Result<CheckText, TellError> {
    let differences: Vec<String> = facts.changes.iter().map(ToString::to_string).collect();
    let follows = facts.follows.map_or(&[][..], |found| found.sentences.as_slice());
    let mut notes = facts.unknown.to_vec();
    notes.extend(facts.warnings.iter().map(|warning| format!("Worth a look: {warning}")));
    if facts.follows.is_some_and(|found| found.sentences.is_empty()) {
        notes.insert(0, "With the facts as they are now, nothing would be done differently at once.".to_string());
    }
    let held = facts.required && facts.moved.iter().any(|one| !one.goes_back());
    let conclusion = if held { Conclusion::ActionRequired } else { Conclusion::Success };
    let moved = if held { of_moved(facts.moved) } else { Page::default() };
    let page = Page {
        lead: "The policy is in order".to_string(),
        differences: bounded(differences.clone()),
        follows_lead: FOLLOWS,
        follows: bounded(follows.to_vec()),
        notes: bounded(notes),
        ..moved
    };
    text(conclusion, &headline(&differences, facts), page)
}

/// `gold: soak 2d → 1d; 2 waves would finish now`.
fn headline(differences: &[String], facts: &Sound<'_>) -> String {
    let mut title = match differences {
        [] => "The policy is in order and says the same".to_string(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first}, and {}", words::count(rest.len(), "more difference")),
    };
    let follows = facts.follows.map(|found| found.headline.as_str()).unwrap_or_default();
    if !follows.is_empty() {
        title.push_str("; ");
        title.push_str(follows);
    }
    title
}

fn of_moved(moved: &[MovedVersion]) -> Page {
    let told = moved.iter().map(|one| {
        let to = one.to.as_deref().unwrap_or("nothing that is read");
        format!("{} on {}: {} → {to} in {}", one.plugin, one.tier, one.from, one.file)
    });
    Page { moved_lead: MOVED, moved: bounded(told.collect()), ..Page::default() }
}

fn bounded(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(LINES);
    if more > 0 {
        lines.truncate(LINES);
        lines.push(format!("and {more} more"));
    }
    lines
}

fn text(conclusion: Conclusion, title: &str, page: Page) -> Result<CheckText, TellError> {
    let summary = render::markdown("policy", &page)?;
    Ok(CheckText { conclusion, title: inert::cut(&inert::line(title), TITLE), summary })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn problem(file: &str, line: usize) -> Problem {
        Problem {
            file: file.to_string(),
            line,
            column: 5,
            message: "unknown key `soka` in tier `bronze`".to_string(),
            help: Some("did you mean `soak`?".to_string()),
            span: 0..4,
        }
    }

    #[test]
    fn mistakes_are_told_as_coldframe_check_tells_them_and_at_their_lines() {
        let files = [SourceFile { path: "coldframe.yaml".to_string(), text: "soka: 1d\n".to_string() }];
        let problems = [problem("coldframe.yaml", 1), problem("preset slow", 3)];
        let check = broken(&problems, &files).unwrap();
        assert_eq!(check.conclusion, Conclusion::Failure);
        assert!(check.title.starts_with("2 problems in the policy: coldframe.yaml:1:5: unknown key `soka`"));
        let same = policy::check(&files).0;
        assert!(same.ends_with("Nothing is promoted by a policy with problems.\n"), "{same}");
        assert!(check.summary.starts_with("2 problems. Nothing is promoted by a policy with problems.\n"));
        let said: Vec<_> = remarks(&problems, &files);
        assert_eq!(said.len(), 1, "a preset has no file here");
        assert_eq!((said[0].path.as_str(), said[0].line), ("coldframe.yaml", 1));
        assert_eq!(said[0].message, "unknown key `soka` in tier `bronze` (did you mean `soak`?)");
    }

    #[test]
    fn a_sound_policy_says_what_differs_and_what_would_follow() {
        let change = |key: &str| Change::Value {
            of: "gold".to_string(),
            key: key.to_string(),
            from: Some("2d".to_string()),
            to: Some("1d".to_string()),
        };
        let follows = Consequences {
            headline: "2 waves would finish now".to_string(),
            sentences: vec!["loki 2.0.0 would finish gold now".to_string()],
        };
        let facts = Sound { changes: &[change("soak")], follows: Some(&follows), ..Sound::default() };
        let check = sound(&facts).unwrap();
        assert_eq!(
            (check.conclusion, check.title.as_str()),
            (Conclusion::Success, "gold: soak 2d → 1d; 2 waves would finish now")
        );
        assert!(check.summary.contains("- gold: soak 2d → 1d\n"), "{}", check.summary);
        assert!(check.summary.contains("- loki 2.0.0 would finish gold now\n"), "{}", check.summary);
        let many: Vec<Change> = (0..80).map(|number| change(&number.to_string())).collect();
        let long = sound(&Sound { changes: &many, follows: Some(&Consequences::default()), ..facts }).unwrap();
        assert_eq!(long.title, "gold: 0 2d → 1d, and 79 more differences");
        assert!(long.summary.contains("- and 30 more\n"), "{}", long.summary);
        assert!(long.summary.contains("nothing would be done differently at once"), "{}", long.summary);
    }

    #[test]
    fn versions_that_are_changed_by_hand_hold_up_what_the_rules_bind_to_this_check() {
        let moved = [MovedVersion {
            plugin: "loki".into(),
            tier: "gold".into(),
            file: "gold.yaml".to_string(),
            from: "1.0.0".to_string(),
            to: Some("2.0.0".to_string()),
        }];
        assert_eq!(by_hand(&moved).unwrap().conclusion, Conclusion::ActionRequired);
        let mut back = moved.clone();
        back[0].to = Some("0.9.0".to_string());
        let check = by_hand(&back).unwrap();
        assert_eq!(
            (check.conclusion, check.title.as_str()),
            (Conclusion::Success, "1 version that Coldframe promotes would go back")
        );
        assert!(check.summary.contains("- loki on gold: 1.0.0 → 0.9.0 in gold.yaml\n"), "{}", check.summary);
        assert_eq!(
            sound(&Sound { moved: &back, required: true, ..Sound::default() }).unwrap().conclusion,
            Conclusion::Success
        );
        let both = [moved[0].clone(), back[0].clone()];
        assert_eq!(by_hand(&both).unwrap().conclusion, Conclusion::ActionRequired);
        // A range is no version that was there before.
        back[0].from = "~1.0".to_string();
        assert_eq!(by_hand(&back).unwrap().conclusion, Conclusion::ActionRequired);
        for (required, conclusion) in [(true, Conclusion::ActionRequired), (false, Conclusion::Success)] {
            let check = sound(&Sound { moved: &moved, required, ..Sound::default() }).unwrap();
            assert_eq!(check.conclusion, conclusion);
            assert_eq!(check.summary.contains("- loki on gold: 1.0.0 → 2.0.0 in gold.yaml\n"), required);
        }
        assert_eq!(nothing_to_say().unwrap().conclusion, Conclusion::Success);
        assert_eq!(not_ours().unwrap().conclusion, Conclusion::ActionRequired);
    }

    #[test]
    fn a_merge_group_is_green_where_everything_in_it_is() {
        let group = |last| merge_group(&[(PullNumber(4), Conclusion::Success), (PullNumber(7), last)]).unwrap();
        let check = group(Conclusion::Success);
        assert_eq!(check.conclusion, Conclusion::Success);
        assert!(check.summary.contains("In it: `#4`, `#7`."), "{}", check.summary);
        let check = group(Conclusion::ActionRequired);
        assert_eq!(
            (check.conclusion, check.title.as_str()),
            (Conclusion::ActionRequired, "#7 in this merge group has not passed this check")
        );
    }

    #[test]
    fn text_of_a_stranger_stays_text() {
        let hostile = "@acme/all ![x](https://evil.example) <img src=x> #1";
        let change = Change::Value { of: hostile.to_string(), key: String::new(), from: None, to: None };
        let moved = [MovedVersion {
            plugin: "loki".into(),
            tier: "gold".into(),
            file: hostile.to_string(),
            from: String::new(),
            to: None,
        }];
        let unknown = [hostile.to_string()];
        let facts = Sound { changes: &[change], unknown: &unknown, moved: &moved, required: true, ..Sound::default() };
        let summary = sound(&facts).unwrap().summary;
        let bare = summary.split('`').step_by(2).collect::<String>();
        for alive in ["@", "#1", "://", "<img", "]("] {
            assert!(!bare.contains(alive), "{alive}: {summary}");
        }
    }
}
