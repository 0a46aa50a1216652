//! The table by plugin: how far its releases came, what was still climbing when the history ended, and since when
//! it has waited for the last tier.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Case;
use super::figures::PluginFigures;
use super::table::rough;

// Writing into a String cannot fail, so that its results are let go.

/// The plugins of the first column, those that wait the longest first.
pub(super) fn plugins(case: &Case) -> String {
    let Some(column) = case.columns.first() else { return String::new() };
    let figures = &column.figures;
    let mut plugins: Vec<&PluginFigures> = figures.plugins.iter().collect();
    plugins.sort_by_key(|plugin| (plugin.waits.is_none(), plugin.waits));
    let names = plugins.iter().map(|plugin| plugin.name.as_str().chars().count());
    let width = names.max().unwrap_or(0);
    let mut out =
        format!("  plugin by plugin ({}): releases, how many reached each tier, and what still climbs\n", column.name);
    let heads: Vec<&str> = figures.tiers.iter().map(|tier| tier.name.as_str()).collect();
    let _ = writeln!(out, "  {:width$}  releases   {}", "", heads.join("   "));
    for plugin in plugins {
        let reached = plugin.reached.iter().zip(&heads);
        let reached: Vec<String> =
            reached.map(|(reached, head)| format!("{reached:>0$}", head.chars().count())).collect();
        let line = format!(
            "  {:width$}  {:>8}   {}   {}",
            plugin.name.as_str(),
            plugin.releases,
            reached.join("   "),
            at_the_end(plugin, figures.span.1)
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// What still climbs, since when the plugin waits, and what the foremost release waits for.
fn at_the_end(plugin: &PluginFigures, ends: Timestamp) -> String {
    let Some(since) = plugin.waits else { return String::new() };
    let day = since.to_zoned(TimeZone::UTC).strftime("%-d %b %Y");
    let waited = format!("since {day} ({})", rough(ends.duration_since(since)));
    let Some(first) = plugin.climbs.first() else { return waited };
    let more = match plugin.climbs.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let why = first.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("{waited} {} on {}{more}{why}", first.version, first.tier)
}
