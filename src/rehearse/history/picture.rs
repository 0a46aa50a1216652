//! The picture of a replay in the terminal: one bar a month, for what came out and for what reached
//! each tier.

use std::fmt::Write as _;

use jiff::tz::TimeZone;

use super::Case;

const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

// Writing into a String cannot fail, so that its results are let go.

/// The picture of one case.
pub(super) fn picture(case: &Case) -> String {
    let Some(first) = case.columns.first() else { return String::new() };
    let released = &first.figures.released;
    let tiers = case.columns.iter().flat_map(|column| &column.figures.tiers);
    let most = tiers.flat_map(|tier| &tier.months).chain(released).copied().max().unwrap_or(0);
    let names = case.columns.iter().map(|column| column.name.chars().count());
    let longest = first.figures.tiers.iter().map(|tier| tier.name.as_str().chars().count()).max().unwrap_or(0);
    let width = names.max().unwrap_or(0) + 2 + longest.max("released".len());
    let mut out = String::from("  month by month: releases, and how many of them reached each tier\n");
    let _ = writeln!(out, "  {:width$}  {}", "released", bars(released, most));
    for column in &case.columns {
        // Of many columns the last tier is enough.
        let begin = if case.columns.len() > 2 { column.figures.tiers.len().saturating_sub(1) } else { 0 };
        for (index, tier) in column.figures.tiers.iter().enumerate().skip(begin) {
            let name = if index == begin { column.name.as_str() } else { "" };
            let inner = width - longest.max("released".len());
            let _ =
                writeln!(out, "  {name:inner$}{:1$}  {2}", tier.name.as_str(), width - inner, bars(&tier.months, most));
        }
    }
    let month = |at: jiff::Timestamp| at.to_zoned(TimeZone::UTC).strftime("%b %Y").to_string();
    let (from, to) = (month(first.figures.span.0), month(first.figures.span.1));
    let gap = released.len().saturating_sub(from.chars().count() + to.chars().count()).max(1);
    let _ = writeln!(out, "  {:width$}  {from}{}{to}", "", " ".repeat(gap));
    out
}

fn bars(counts: &[usize], most: usize) -> String {
    let bar = |count: &usize| {
        let height = if most == 0 { 0 } else { (count * 8).div_ceil(most) };
        BARS.get(height).copied().unwrap_or('█')
    };
    counts.iter().map(bar).collect()
}
