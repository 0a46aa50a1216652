//! A history of releases under a policy: replayed, counted, drawn. People approve and clusters are
//! healthy as fast as the caller says, so that what is left is the policy alone.

mod figures;
mod picture;
mod read;
mod replay;
mod svg;
mod table;
#[cfg(test)]
mod tests;

use decide::model::Next;
use jiff::SignedDuration;

use crate::policy::{Problems, SourceFile};

pub use figures::Figures;
pub use read::History;

/// The ladder that is rehearsed when nobody names another one.
const FOUR_TIERS: &str = include_str!("four-tiers.yaml");

/// How a history is replayed.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The policy; none = four tiers of three days, merged by the bot.
    pub policy: Option<SourceFile>,
    /// How long people take to approve a head.
    pub approve_after: SignedDuration,
    /// Whether breaking releases are acknowledged at once, or never; one table for each.
    pub acknowledge: Vec<bool>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What was replayed, in a line or two.
    pub about: String,
    /// One per way in which breaking releases are treated.
    pub cases: Vec<Case>,
}

/// Both rules beside each other.
#[derive(Clone, Debug)]
pub struct Case {
    /// Whether breaking releases were acknowledged at once.
    pub acknowledged: bool,
    /// The conveyor, then the rule that starts anew with each release.
    pub columns: Vec<Column>,
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Column {
    /// What it is called.
    pub name: &'static str,
    /// What came of it.
    pub figures: Figures,
}

/// What a free tier takes, under the names of the table.
const RULES: [(&str, Next); 2] = [("conveyor", Next::NewestFinished), ("restart", Next::Restart)];

impl Replay {
    /// Replays a history under both rules. Fails with the problems of the policy, or when the planner
    /// finds no rest.
    pub fn run(&self, history: &History) -> Result<Replayed, Problems> {
        let built_in = SourceFile { path: "four-tiers.yaml".to_string(), text: FOUR_TIERS.to_string() };
        let main = self.policy.as_ref().unwrap_or(&built_in);
        let plan = replay::Plan::new(main, history)?;
        let mut cases = Vec::new();
        for acknowledged in &self.acknowledge {
            let column = |(name, next): (&'static str, Next)| Column {
                name,
                figures: plan.run(history, next, *acknowledged, self.approve_after),
            };
            cases.push(Case { acknowledged: *acknowledged, columns: RULES.into_iter().map(column).collect() });
        }
        let ladder = plan.ladder();
        let policy = self.policy.as_ref().map_or("the built-in policy", |file| file.path.as_str());
        Ok(Replayed { about: format!("{history}\nUnder {policy}: {ladder}.\n"), cases })
    }
}

impl Replayed {
    /// Tables and pictures for a terminal.
    pub fn text(&self) -> String {
        let mut out = self.about.clone();
        for case in &self.cases {
            out.push('\n');
            out.push_str(&table::table(case));
            out.push('\n');
            out.push_str(&picture::picture(case));
        }
        out
    }

    /// A picture for a page: the first case.
    pub fn svg(&self) -> String {
        self.cases.first().map(|case| svg::svg(&self.about, case)).unwrap_or_default()
    }
}
