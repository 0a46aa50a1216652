//! The dashboard's first page: the ladders of all repositories, what needs a person first. Each of its other pages is a
//! file of its own; who asks for them is in `wake/pages`, what they look like in `templates/style.css`.

mod choice;
mod clusters;
mod filter;
#[cfg(test)]
mod hostile;
mod ladder;
mod moments;
mod paths;
mod pieces;
mod plugin;
mod release;
#[cfg(test)]
mod tests;
mod tier;
mod tiles;
mod wave;

use std::sync::Arc;

use decide::{PluginName, TierName};
use jiff::Timestamp;
use serde::Serialize;

use super::{TellError, View, board, inert, render};
pub use choice::{Choice, Chosen, choice_page};
pub use filter::Filter;
use filter::Form;
use ladder::{Row, rows};
pub(crate) use ladder::{needs_a_person, tiers};
use paths::Paths;
use pieces::{Frame, Link, Time, time};
pub use plugin::plugin_page;
pub use release::release_page;
pub use tier::tier_page;
use tiles::{Tile, tiles};
pub use wave::wave_page;

/// The most rows on one page.
const ROWS: usize = 200;

/// What the dashboard shows.
#[derive(Clone, Debug, Default)]
pub struct DashboardState {
    /// The repositories that the bot looks after, in the order in which they are shown.
    pub views: Vec<Arc<View>>,
    /// Who reads it, where people sign in.
    pub person: Option<Person>,
}

/// Somebody who has signed in.
#[derive(Clone, Debug, Serialize)]
pub struct Person {
    /// Their login.
    pub login: String,
    /// GitHub did not say of everything whether they may read it.
    pub unsaid: bool,
}

#[derive(Serialize)]
struct Page {
    frame: Frame,
    person: Option<Person>,
    tiles: Vec<Tile>,
    form: Form,
    ladders: Vec<Ladder>,
    /// Whether there is no repository at all.
    empty: bool,
    span: Option<Span>,
}

#[derive(Serialize)]
struct Ladder {
    name: String,
    href: String,
    url: String,
    trouble: Option<String>,
    /// What follows the first line of it.
    details: Option<String>,
    looked: Time,
    next: String,
    tiers: Vec<Link>,
    rows: Vec<Row>,
}

/// Which rows of how many a page shows, where it does not show all.
#[derive(Serialize)]
struct Span {
    first: usize,
    last: usize,
    of: usize,
    before: Option<String>,
    after: Option<String>,
}

/// The ladders as one HTML page: of all repositories, or the page of the only one.
///
/// # Errors
/// When the page is longer than its cap; else only when a built-in template is broken.
pub fn dashboard(state: &DashboardState, filter: &Filter, now: Timestamp) -> Result<String, TellError> {
    let views: Vec<&View> = state.views.iter().map(AsRef::as_ref).collect();
    let paths = Paths::below(0);
    let frame = Frame::of_all(views.iter().copied(), &paths, now);
    let page = Page { person: state.person.clone(), ..page(frame, &views, filter, &paths, now) };
    render::html("dashboard", &page)
}

/// From the first page to that of a wave.
pub fn wave_path(view: &View, plugin: &PluginName, tier: &TierName) -> String {
    Paths::below(0).wave(view, plugin, tier)
}

/// The ladder of one repository, at an address of its own.
///
/// # Errors
/// As [`dashboard`].
pub fn repository_page(view: &View, filter: &Filter, now: Timestamp) -> Result<String, TellError> {
    let paths = Paths::below(1);
    // What is wrong stands at the ladder, with all its lines.
    let mut frame = Frame::of(view, &paths, &view.name, Vec::new(), now);
    frame.trouble = None;
    render::html("dashboard", &page(frame, &[view], filter, &paths, now))
}

fn page(frame: Frame, views: &[&View], filter: &Filter, paths: &Paths, now: Timestamp) -> Page {
    let mut all: Vec<&str> = Vec::new();
    for tier in views.iter().flat_map(|view| tiers(view)) {
        if !all.contains(&tier.as_str()) {
            all.push(tier.as_str());
        }
    }
    let form = Form::of_ladders(filter, views, all.into_iter().map(str::to_string).collect());
    let ladders = views.iter().map(|view| ladder(view, filter, paths, now));
    let ladders = ladders.filter(|ladder| !filter.is_set() || !ladder.rows.is_empty()).collect();
    let (ladders, span) = cut(ladders, filter);
    Page { frame, person: None, tiles: tiles(views, paths, now), form, ladders, empty: views.is_empty(), span }
}

/// The rows of the page that is asked for; a repository without any counts as one.
fn cut(ladders: Vec<Ladder>, filter: &Filter) -> (Vec<Ladder>, Option<Span>) {
    let length = |ladder: &Ladder| ladder.rows.len().max(1);
    let of: usize = ladders.iter().map(length).sum();
    if of <= ROWS {
        return (ladders, None);
    }
    let page = filter.page.unwrap_or(1).clamp(1, of.div_ceil(ROWS));
    let (first, last) = ((page - 1) * ROWS, (page * ROWS).min(of));
    let (mut at, mut shown) = (0, Vec::new());
    for mut ladder in ladders {
        let (begin, end) = (at, at + length(&ladder));
        at = end;
        if begin < last && end > first {
            ladder.rows.truncate(last - begin);
            ladder.rows.drain(..first.saturating_sub(begin).min(ladder.rows.len()));
            shown.push(ladder);
        }
    }
    let before = (page > 1).then(|| filter.to_page(page - 1));
    let after = (last < of).then(|| filter.to_page(page + 1));
    (shown, Some(Span { first: first + 1, last, of, before, after }))
}

fn ladder(view: &View, filter: &Filter, paths: &Paths, now: Timestamp) -> Ladder {
    let mut tiers = tiers(view);
    tiers.retain(|tier| filter.tier.is_empty() || filter.tier == tier.as_str());
    let trouble = view.trouble.as_deref().map(inert::headed);
    Ladder {
        name: view.name.clone(),
        href: paths.repository(view),
        url: view.links.repo.clone(),
        details: trouble.as_ref().and_then(|(_, rest)| rest.clone()),
        trouble: trouble.map(|(first, _)| first),
        looked: time(view.looked, &view.links.shared_zone(), now),
        next: board::next_look(view, now),
        rows: rows(view, &tiers, filter, paths, now),
        tiers: tiers.iter().map(|tier| Link { text: tier.to_string(), href: paths.tier(view, tier) }).collect(),
    }
}
