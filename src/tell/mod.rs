//! One rendering for the pull request, the check, the dashboard and the terminal: facts in, text
//! out. Nothing here reads the world, asks the time or decides; who sends the text is `act`, `cli`
//! and `wake`.

pub mod answers;
pub mod board;
pub mod boxes;
pub mod changes;
pub mod check;
mod climb;
pub mod commit;
mod compared;
pub mod dashboard;
pub mod explain;
pub mod feed;
pub mod inert;
pub mod issue;
pub mod notice;
pub mod notify;
pub mod onboarding;
pub mod page;
pub mod places;
pub mod plan_change;
pub mod policy_check;
pub mod reading;
pub mod reasons;
mod render;
pub mod setup;
pub mod sign_in;
pub mod summary;
pub mod tasks;
pub mod view;
mod words;
pub mod workflow;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod hostile;

pub use answers::{Answer, Asked, NotCounted, Says, answered, answers};
pub use board::board;
pub use boxes::{Ticked, ticked, ticked_head, ticked_tasks};
pub use changes::{MANY, changes, changes_command};
pub use check::{CheckText, Conclusion, StatusText, check, status, urgent};
pub use commit::{Trailers, commit_message, trailers};
pub use compared::compared;
pub use dashboard::{
    Choice, Chosen, DashboardState, Filter, Person, choice_page, dashboard, plugin_page, release_page, repository_page,
    tier_page, wave_page, wave_path,
};
pub use explain::explain;
pub use feed::{Feed, feed};
pub use issue::{ISSUE_TITLE, dashboard_issue, is_dashboard_issue, problem_issue, urgent_part};
pub use notice::{notice, read_notice};
pub use onboarding::{Found, Onboarding, onboarding};
pub use page::{Differences, PullFacts, ReleaseNote, body, title};
pub use places::{PlaceRow, clusters, places};
pub use plan_change::{Consequences, consequences};
pub use policy_check::{ByHand, MovedVersion};
pub use reading::{Judged, Lacking, Wanted, reading, reading_json};
pub use render::{CSP, SCRIPT, STYLE};
pub use sign_in::{SignInPage, sign_in_page};
pub use summary::step_summary;
pub use tasks::{Setting, Task, are_breaking, tasks};
pub use view::{Links, TierFacts, View};
pub use workflow::{Annotation, Level, annotation};

use decide::{PluginName, TierName};

/// Why a text could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TellError {
    /// A built-in template is broken: a bug, which the tests of this room would show.
    #[error("the template {name} is broken: {why}")]
    Template {
        /// Which template.
        name: &'static str,
        /// What the template engine said.
        why: String,
    },
    /// A page grew past its cap.
    #[error("{name} is longer than {cap} bytes; show fewer plugins on one page")]
    TooLong {
        /// Which template.
        name: &'static str,
        /// The cap.
        cap: usize,
    },
    /// Somebody asked about a plugin or a tier that the plan does not have.
    #[error("{asked} is not in the plan; there are: {there}")]
    NotInPlan {
        /// What was asked for.
        asked: String,
        /// What there is.
        there: String,
    },
}

impl TellError {
    /// A plugin, or a tier of it, that the plan does not have.
    pub(crate) fn not_in_plan(plan: &decide::Plan, plugin: &PluginName, tier: Option<&TierName>) -> Self {
        let tiers: Vec<&str> =
            plan.waves.iter().filter(|wave| wave.plugin == *plugin).map(|wave| wave.tier.as_str()).collect();
        let (asked, there) = match tier {
            Some(tier) if !tiers.is_empty() => (format!("tier `{tier}` of `{plugin}`"), tiers),
            Some(_) | None => {
                let mut plugins: Vec<&str> = plan.waves.iter().map(|wave| wave.plugin.as_str()).collect();
                plugins.dedup();
                (format!("plugin `{plugin}`"), plugins)
            }
        };
        let there = if there.is_empty() { "none".to_string() } else { there.join(", ") };
        Self::NotInPlan { asked: inert::line(&asked), there: inert::line(&there) }
    }
}
