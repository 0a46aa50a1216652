//! A template, read as the YAML that it would be with its markers masked. A place in it may be written where it is the
//! same one whichever branches are taken, and no marker touches it; how markers touch lines is in `template`.

use std::collections::BTreeMap;

use super::super::{Document, Parsed, Place, Spot};
use super::events;
use super::template::{Kept, Template};
use jsonpath::Step;

/// The text with its markers masked; none where that is no YAML, or not clear. `plain` is the text as it stands, where
/// that is YAML, too: what looks like a marker may be none.
pub(super) fn parse(text: &str, plain: Option<&Parsed>) -> Option<Parsed> {
    let template = Template::of(text)?;
    let mut parsed = read(&template, &template.first())?;
    let others = template.others()?.iter().map(|kept| read(&template, kept)).collect::<Option<Vec<Parsed>>>()?;
    let loose: Vec<Loose> = [&parsed].into_iter().chain(&others).map(|one| loose(one, &template)).collect();
    // By where they begin.
    let others: Vec<BTreeMap<usize, At<'_>>> = others.iter().chain(plain).map(places).collect();
    let mut touched = Vec::new();
    for (start, at) in places(&parsed) {
        if at.spot.value.contains("{{") {
            continue;
        }
        let own = template.touches(&at.spot.range, at.item());
        let moves = || {
            let same = others.iter().all(|other| other.get(&start).is_some_and(|other| other.is(&at)));
            (!same).then(|| template.line())
        };
        let same = [&at].into_iter().chain(others.iter().filter_map(|other| other.get(&start)));
        let said = || same.zip(&loose).find_map(|(at, loose)| at.is_said_by(loose));
        if let Some(line) = own.or_else(moves).or_else(said) {
            touched.push((at.index, at.steps.clone(), line));
        }
    }
    for (index, steps, line) in touched {
        if let Some(document) = parsed.documents.get_mut(index) {
            document.places.insert(steps, Place::Templated { line });
        }
    }
    parsed.template = Some(template.line());
    Some(parsed)
}

fn read(template: &Template<'_>, kept: &Kept) -> Option<Parsed> {
    let parsed = events(&template.masked(kept), Some(template)).ok()?;
    parsed.documents.iter().all(|document| document.problem.is_none()).then_some(parsed)
}

/// Mappings with a scalar that a branch may leave out, by their document and place, with the line of that branch.
type Loose = BTreeMap<(usize, Vec<Step>), usize>;

fn loose(parsed: &Parsed, template: &Template<'_>) -> Loose {
    let mut found = Loose::new();
    for (index, document) in parsed.documents.iter().enumerate() {
        for (steps, place) in document.places.iter().filter(|(_, place)| !matches!(place, Place::Collection { .. })) {
            if let (Some(line), Some((_, item))) = (template.branch_at(place.line()), steps.split_last()) {
                found.insert((index, item.to_vec()), line);
            }
        }
    }
    found
}

/// A scalar and where it stands.
struct At<'a> {
    index: usize,
    document: &'a Document,
    steps: &'a Vec<Step>,
    spot: &'a Spot,
}

fn places(parsed: &Parsed) -> BTreeMap<usize, At<'_>> {
    let mut found = BTreeMap::new();
    for (index, document) in parsed.documents.iter().enumerate() {
        let spots = document.places.iter().filter_map(|(steps, place)| match place {
            Place::Scalar(spot) => Some((spot.range.start, At { index, document, steps, spot })),
            Place::Block { .. }
            | Place::Expression { .. }
            | Place::Several { .. }
            | Place::Empty { .. }
            | Place::Collection { .. }
            | Place::Alias { .. }
            | Place::Merged { .. }
            | Place::Templated { .. } => None,
        });
        found.extend(spots);
    }
    found
}

impl At<'_> {
    /// The line on which what it is an entry of begins.
    fn item(&self) -> usize {
        let item = self.steps.split_last().and_then(|(_, item)| self.document.places.get(item));
        item.map_or(1, Place::line)
    }

    /// The line of a branch with a part of what says what this is: a scalar beside it, or in an item that it lies in.
    fn is_said_by(&self, loose: &Loose) -> Option<usize> {
        let last = self.steps.len().saturating_sub(1);
        let items = (0..=last).rev().filter_map(|length| self.steps.get(..length));
        let items = items.filter(|item| item.len() == last || matches!(item.last(), Some(Step::Index(_))));
        items.into_iter().find_map(|item| loose.get(&(self.index, item.to_vec())).copied())
    }

    /// Whether both are the same place of the same document, going by their keys and by the lines of what lists hold.
    fn is(&self, other: &Self) -> bool {
        let ordinal = |at: &Self| (at.index > 0).then_some(at.document.line);
        let step = |(length, (one, two)): (usize, (&Step, &Step))| match (one, two) {
            (Step::Key(one), Step::Key(two)) => one == two,
            (Step::Index(_), Step::Index(_)) => {
                let line = |at: &Self| at.document.places.get(at.steps.get(..=length)?).map(Place::line);
                line(self) == line(other)
            }
            (Step::Key(_), Step::Index(_)) | (Step::Index(_), Step::Key(_)) => false,
        };
        ordinal(self) == ordinal(other)
            && self.steps.len() == other.steps.len()
            && self.steps.iter().zip(other.steps).enumerate().all(step)
            && self.item() == other.item()
            && (&self.spot.range, &self.spot.value) == (&other.spot.range, &other.spot.value)
    }
}

#[cfg(test)]
mod tests;
