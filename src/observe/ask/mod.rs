//! Asks what is no object of a cluster: pages of JSON, and after them Prometheus, because most of what that says is
//! of whatever runs there, and what that is the other signals prove. Judgement is in `signal`.

pub mod checks;
mod fetch;
pub(crate) mod ground;
mod http;
mod kept;
mod prometheus;

use std::collections::BTreeMap;
use std::sync::Arc;

use decide::Ledger;
use decide::snapshot::Reading;
use jiff::{SignedDuration, Timestamp};

use super::net::Net;
use super::whose::Whose;
use crate::secret::{Secret, Secrets};
use crate::signal::prometheus::Judged;
use crate::signal::{Metrics, Page};
use fetch::Line;

pub use ground::Proven;

/// What is remembered from look to look. Losing it costs calls, and delays.
#[derive(Default)]
pub struct Memory {
    /// Since when clusters run what they run.
    proven: Proven,
    /// What was answered a moment ago.
    kept: kept::Kept,
}

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
    /// Whether the other signals date what they prove ([`crate::signal::Kind::dates`]).
    pub dated: bool,
    /// An answer that is older is asked for anew.
    pub fresh: SignedDuration,
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

/// Asks everything that was not answered a moment ago, with what the readings of the other signals prove.
pub async fn answers(
    reach: &Reach<'_>,
    asks: Vec<Ask>,
    readings: &[(Whose, Reading)],
    (ledger, memory): (Option<&Ledger>, &mut Memory),
    now: Timestamp,
) -> Vec<(Whose, Reading)> {
    let Memory { proven, kept } = memory;
    kept.only(asks.iter());
    let line = Line::new(reach);
    let (mut known, mut pages, mut queries) = (Vec::new(), Vec::new(), Vec::new());
    for ask in asks {
        match (&ask.about, kept.of(&ask, None, now)) {
            (About::Metrics(metrics), _) => queries.push((Arc::clone(metrics), ask)),
            (About::Page(_), Some(said)) => known.push((ask.whose, said.reading.clone())),
            (About::Page(page), None) => pages.push((Arc::clone(page), ask)),
        }
    }
    for (ask, reading) in http::answers(&line, pages).await {
        kept.put(&ask, None, now, Judged { reading: reading.clone(), measured: None });
        known.push((ask.whose, reading));
    }
    let mut beside: BTreeMap<&Whose, Vec<&Reading>> = BTreeMap::new();
    for (whose, reading) in readings.iter().chain(&known) {
        beside.entry(whose).or_default().push(reading);
    }
    let of = |whose: &Whose| beside.get(whose).map_or(&[][..], Vec::as_slice);
    proven.note(queries.iter().map(|(_, ask)| (&ask.whose, of(&ask.whose))), now);
    let rounds = queries.into_iter().map(|(metrics, ask)| {
        let page = ledger.and_then(|ledger| ledger.plugins.get(&ask.whose.plugin));
        let needs = !metrics.proves_version();
        let ground = needs.then(|| ground::ground(page, proven, &ask.whose, (of(&ask.whose), ask.dated)));
        prometheus::Round { page, ground, metrics, ask }
    });
    let measured = prometheus::answers(&line, rounds.collect(), kept, now).await;
    known.into_iter().chain(measured).collect()
}

#[cfg(test)]
mod tests;
