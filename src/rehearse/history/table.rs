//! The table of a replay: its columns beside each other.

use std::fmt::Write as _;

use decide::reason::spell;
use jiff::SignedDuration;

use super::{Case, Column, Figures};

// Writing into a String cannot fail, so that its results are let go.

/// The table of one case, rule beside rule.
pub(super) fn table(case: &Case) -> String {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    let mut row = |name: String, cell: &dyn Fn(&Figures) -> String| {
        rows.push((name, case.columns.iter().map(|column| cell(&column.figures)).collect()));
    };
    let Some(first) = case.columns.first() else { return String::new() };
    row("releases".to_string(), &|figures| figures.releases.to_string());
    for (index, tier) in first.figures.tiers.iter().enumerate() {
        row(format!("reached {}", tier.name), &|figures| {
            let reached = figures.tiers.get(index).map_or(0, |tier| tier.reached);
            format!("{reached} ({} %)", share(reached, figures.releases))
        });
    }
    for (index, tier) in first.figures.tiers.iter().enumerate() {
        row(format!("lag to {}: median, worst", tier.name), &|figures| {
            let tier = figures.tiers.get(index);
            let spell = |lag: Option<SignedDuration>| lag.map_or("–".to_string(), rough);
            format!("{}, {}", spell(tier.and_then(|tier| tier.median)), spell(tier.and_then(|tier| tier.worst)))
        });
    }
    let top = first.figures.top().map(|tier| tier.name.to_string()).unwrap_or_default();
    row(format!("longest wait for {top}"), &|figures| match &figures.longest_wait {
        Some(wait) => {
            let more = if wait.unfinished { " and counting" } else { "" };
            format!("{}{more} ({})", rough(wait.lasted), wait.plugin)
        }
        None => "–".to_string(),
    });
    row("still climbing at the end".to_string(), &|figures| figures.climbing().to_string());
    if case.acknowledged {
        row("acknowledgements to give".to_string(), &|figures| figures.acknowledged.to_string());
    }
    row("pull requests a week".to_string(), &|figures| format!("{:.1}", figures.pulls_a_week()));
    row("forced merges".to_string(), &|figures| figures.forced.to_string());
    let mut out = String::new();
    let _ = writeln!(out, "{}", title(case));
    let _ = write!(out, "{}", lines(&case.columns, &rows));
    for column in case.columns.iter().filter(|column| !column.figures.restless.is_empty()) {
        let times = column.figures.restless.len();
        let _ = writeln!(out, "  {}: the planner found no rest {times} times; these plugins stood still", column.name);
    }
    out
}

pub(super) fn title(case: &Case) -> &'static str {
    if case.acknowledged { "Breaking releases acknowledged at once" } else { "Breaking releases never acknowledged" }
}

fn lines(columns: &[Column], rows: &[(String, Vec<String>)]) -> String {
    let width = |index: usize| {
        let cells = rows.iter().filter_map(|(_, cells)| cells.get(index)).map(|cell| cell.chars().count());
        let name = columns.get(index).map_or(0, |column| column.name.chars().count());
        cells.max().unwrap_or(0).max(name)
    };
    let names = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    let heads: Vec<String> =
        columns.iter().enumerate().map(|(index, column)| format!("{:>1$}", column.name, width(index))).collect();
    let _ = writeln!(out, "  {:names$}  {}", "", heads.join("   "));
    for (name, cells) in rows {
        let cells: Vec<String> =
            cells.iter().enumerate().map(|(index, cell)| format!("{cell:>0$}", width(index))).collect();
        let _ = writeln!(out, "  {name:names$}  {}", cells.join("   "));
    }
    out
}

pub(super) fn share(part: usize, whole: usize) -> usize {
    (part * 100 + whole / 2).checked_div(whole).unwrap_or(0)
}

/// A lag as people say it: whole hours from a day on, days from a month on.
pub(super) fn rough(lag: SignedDuration) -> String {
    let hours = lag.as_hours();
    if hours >= 24 * 30 {
        return format!("{} d", hours / 24);
    }
    if hours >= 24 { spell(SignedDuration::from_hours(hours)) } else { spell(SignedDuration::from_mins(lag.as_mins())) }
}
