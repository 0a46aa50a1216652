//! Asks what is no object of a cluster: pages of JSON, and after them Prometheus, because most of what that says is
//! of whatever runs there, and what that is the other signals prove. Judgement is in `signal`.

pub mod checks;
mod fetch;
pub(in crate::observe) mod ground;
mod http;
mod prometheus;

use std::collections::BTreeMap;
use std::sync::Arc;

use decide::Ledger;
use decide::snapshot::Reading;
use jiff::Timestamp;

use super::net::Net;
use super::readings::Whose;
use super::signal::{Metrics, Page};
use crate::secret::{Secret, Secrets};
use fetch::Line;

pub use ground::Proven;

/// What the operator lets us reach for one repository.
pub struct Reach<'a> {
    /// The way out.
    pub net: &'a Net,
    /// The secrets.
    pub secrets: &'a Secrets,
    /// The repository's number at the hub.
    pub repository: u64,
}

/// A question about one cluster. Cheap to clone.
#[derive(Clone)]
pub struct Ask {
    /// The cluster.
    pub whose: Whose,
    /// Which of the plugin's signals it is.
    pub index: usize,
    /// Whether the other signals date what they prove ([`super::signal::Kind::dates`]).
    pub dated: bool,
    /// The question.
    pub about: About,
}

/// Whom it goes to.
#[derive(Clone)]
pub enum About {
    /// A page, which proves a version by itself.
    Page(Arc<Page>),
    /// A Prometheus.
    Metrics(Arc<Metrics>),
}

impl Reach<'_> {
    fn secret(&self, name: &str) -> Result<Secret, String> {
        self.secrets.get(self.repository, name)
    }
}

/// Asks everything, with what the readings of the other signals prove.
pub async fn answers(
    reach: &Reach<'_>,
    asks: Vec<Ask>,
    readings: &[(Whose, Reading)],
    (ledger, proven): (Option<&Ledger>, &mut Proven),
    now: Timestamp,
) -> Vec<(Whose, Reading)> {
    let (mut pages, mut queries) = (Vec::new(), Vec::new());
    for Ask { whose, index, dated, about } in asks {
        match about {
            About::Page(page) => pages.push((whose, page)),
            About::Metrics(metrics) => queries.push(prometheus::Query { whose, index, dated, metrics }),
        }
    }
    let line = Line::new(reach);
    let pages = http::answers(&line, pages).await;
    let mut beside: BTreeMap<&Whose, Vec<&Reading>> = BTreeMap::new();
    for (whose, reading) in readings.iter().chain(&pages) {
        beside.entry(whose).or_default().push(reading);
    }
    let of = |query: &prometheus::Query| beside.get(&query.whose).map_or(&[][..], Vec::as_slice);
    proven.note(queries.iter().map(|query| (&query.whose, of(query))), now);
    let rounds = queries.into_iter().map(|query| {
        let page = ledger.and_then(|ledger| ledger.plugins.get(&query.whose.plugin));
        let needs = !query.metrics.proves_version();
        let ground = needs.then(|| ground::ground(page, proven, &query.whose, (of(&query), query.dated)));
        prometheus::Round { page, ground, query }
    });
    let measured = prometheus::answers(&line, rounds.collect()).await;
    pages.into_iter().chain(measured).collect()
}

#[cfg(test)]
mod tests;
