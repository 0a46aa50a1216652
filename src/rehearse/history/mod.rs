//! A history of releases under a policy: replayed, counted, drawn. People approve and clusters are
//! healthy as fast as the caller says, so that what is left is the policy alone.

mod figures;
mod picture;
mod plugins;
mod read;
mod replay;
mod svg;
mod table;
#[cfg(test)]
mod tests;

use decide::model::Next;
use decide::reason::spell;
use jiff::SignedDuration;

use crate::policy::{Problems, SourceFile};

pub use figures::Figures;
pub use read::History;
use replay::Way;

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
    /// Soaks that are tried on every tier in turn, instead of those of the policy; none = both rules under those.
    pub soaks: Vec<SignedDuration>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What was replayed, in a line or two.
    pub about: String,
    /// What it does not show.
    pub hidden: Option<String>,
    /// One per way in which breaking releases are treated.
    pub cases: Vec<Case>,
}

/// Both rules beside each other, or the soaks that were tried.
#[derive(Clone, Debug)]
pub struct Case {
    /// Whether breaking releases were acknowledged at once.
    pub acknowledged: bool,
    /// The conveyor, then the rule that starts anew with each release; or one per soak.
    pub columns: Vec<Column>,
}

/// One rule, or one soak.
#[derive(Clone, Debug)]
pub struct Column {
    /// What it is called.
    pub name: String,
    /// What came of it.
    pub figures: Figures,
}

/// What a free tier takes, under the names of the table.
const RULES: [(&str, Next); 2] = [("conveyor", Next::NewestFinished), ("restart", Next::Restart)];

impl Replay {
    /// Replays a history under both rules, or with each soak. Fails with the problems of the policy.
    pub fn run(&self, history: &History) -> Result<Replayed, Problems> {
        let built_in = SourceFile { path: "four-tiers.yaml".to_string(), text: FOUR_TIERS.to_string() };
        let main = self.policy.as_ref().unwrap_or(&built_in);
        let plan = replay::Plan::new(main, history)?;
        let mut cases = Vec::new();
        for acknowledged in &self.acknowledge {
            let column = |(name, way): &(String, Way)| Column {
                name: name.clone(),
                figures: plan.run(history, way, *acknowledged, self.approve_after),
            };
            cases.push(Case { acknowledged: *acknowledged, columns: self.ways().iter().map(column).collect() });
        }
        let policy = self.policy.as_ref().map_or("the built-in policy", |file| file.path.as_str());
        let ladder = plan.ladder(&self.soaks);
        Ok(Replayed { about: format!("{history}\nUnder {policy}: {ladder}.\n"), hidden: plan.hidden(), cases })
    }

    /// What is set beside each other, under the names of the table.
    fn ways(&self) -> Vec<(String, Way)> {
        if self.soaks.is_empty() {
            let rule = |(name, next): (&str, Next)| (name.to_string(), Way { next: Some(next), soak: None });
            return RULES.into_iter().map(rule).collect();
        }
        self.soaks
            .iter()
            .map(|soak| (format!("soak {}", spell(*soak)), Way { next: None, soak: Some(*soak) }))
            .collect()
    }
}

impl Replayed {
    /// Tables and pictures for a terminal.
    pub fn text(&self) -> String {
        let mut out = self.about.clone();
        out.extend(self.hidden.iter().map(|hidden| format!("{hidden}\n")));
        for case in &self.cases {
            out.push('\n');
            out.push_str(&table::table(case));
            out.push('\n');
            out.push_str(&picture::picture(case));
            out.push('\n');
            out.push_str(&plugins::plugins(case));
        }
        out
    }

    /// A picture for a page: the first case.
    pub fn svg(&self) -> String {
        self.cases.first().map(|case| svg::svg(&self.about, case)).unwrap_or_default()
    }
}
