//! Prometheus' HTTP API, asked for JSON; and its members of a tier held against each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use decide::snapshot::Reading;
use decide::{PluginLedger, TierName};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::StatusCode;
use jiff::Timestamp;
use serde_json::Value;
use url::Url;

use super::Ask;
use super::fetch::Line;
use super::ground::landing;
use super::kept::Kept;
use crate::clock;
use crate::observe::net::Fetched;
use crate::observe::whose::Whose;
use crate::signal::prometheus::{Beside, Ground, Judged, Request};
use crate::signal::{Metrics, Verdict};

/// The largest answer that is read, in bytes.
const MOST: usize = 4 << 20;

/// A query with what is known of its cluster.
pub(super) struct Round<'a> {
    /// The query.
    pub metrics: Arc<Metrics>,
    /// Whom it is about.
    pub ask: Ask,
    /// What the ledger says of the plugin.
    pub page: Option<&'a PluginLedger>,
    /// What the other signals prove, or what is said without asking; none where the answer says the version.
    pub ground: Option<Result<Ground, Verdict>>,
}

impl Round<'_> {
    fn ground(&self) -> Option<&Ground> {
        self.ground.as_ref()?.as_ref().ok()
    }
}

/// Asks all of them that were not answered a moment ago, then holds the members of a tier against each other.
pub(super) async fn answers(
    line: &Line<'_>,
    rounds: Vec<Round<'_>>,
    kept: &mut Kept,
    now: Timestamp,
) -> Vec<(Whose, Reading)> {
    let mut judged: Vec<(Round<'_>, Judged)> = Vec::new();
    let mut running = FuturesUnordered::new();
    for round in rounds {
        match kept.of(&round.ask, round.ground(), now).cloned() {
            Some(said) => judged.push((round, said)),
            None => running.push(answer(line, round)),
        }
    }
    while let Some((round, said)) = running.next().await {
        // What is said without asking is said anew each time.
        if !matches!(round.ground, Some(Err(_))) {
            kept.put(&round.ask, round.ground(), now, said.clone());
        }
        judged.push((round, said));
    }
    drop(running);
    compare(&mut judged);
    judged.into_iter().map(|(round, judged)| (round.ask.whose, judged.reading)).collect()
}

async fn answer<'a>(line: &Line<'_>, round: Round<'a>) -> (Round<'a>, Judged) {
    let _place = line.place().await;
    let judged = judge(line, &round).await;
    (round, judged)
}

async fn judge(line: &Line<'_>, round: &Round<'_>) -> Judged {
    let (whose, metrics) = (&round.ask.whose, &round.metrics);
    // Before asking: what is answered may be as old as the question.
    let now = clock::now();
    let said = |verdict| Judged { reading: metrics.read(verdict, now), measured: None };
    let ground = match &round.ground {
        None => None,
        Some(Ok(ground)) => Some(ground),
        Some(Err(verdict)) => return said(verdict.clone()),
    };
    let request = match metrics.request(&whose.plugin, ground, now) {
        Ok(request) => request,
        Err(verdict) => return said(*verdict),
    };
    let fetched = line.get(&metrics.endpoint, |url| complete(url, &request), MOST).await;
    let answer = match fetched.and_then(|fetched| read(&fetched)) {
        Ok(answer) => answer,
        Err(why) => return said(Verdict::unknown(why)),
    };
    let landed = |version: &_| landing(round.page, whose, version).map(|(_, at)| at);
    metrics.judge(&answer, now, ground.map_or(Beside::Landed(&landed), Beside::Proven))
}

fn complete(url: &mut Url, request: &Request) -> Result<(), String> {
    let mut path = url.path_segments_mut().map_err(|()| "its address has no path".to_string())?;
    path.pop_if_empty().extend(request.path.split('/'));
    drop(path);
    url.query_pairs_mut().extend_pairs(&request.parameters);
    Ok(())
}

fn read(fetched: &Fetched) -> Result<Value, String> {
    let value: Option<Value> = serde_json::from_slice(&fetched.body).ok();
    let text = |key: &str| value.as_ref().and_then(|value| value.get(key)?.as_str()).unwrap_or_default().to_string();
    match fetched.status {
        StatusCode::OK => value.ok_or_else(|| "it answered with something that is no JSON".to_string()),
        status if text("status") == "error" => Err(format!("{status}: {}: {}", text("errorType"), text("error"))),
        status => Err(format!("it answered with {status}")),
    }
}

/// Holds the members of a tier against those of it on other versions.
fn compare(judged: &mut [(Round<'_>, Judged)]) {
    let mut groups: BTreeMap<(String, TierName, usize), Vec<usize>> = BTreeMap::new();
    for (at, (Round { metrics, ask, .. }, _)) in judged.iter().enumerate() {
        if metrics.compares() {
            let group = (ask.whose.plugin.to_string(), ask.whose.tier.clone(), ask.index);
            groups.entry(group).or_default().push(at);
        }
    }
    for group in groups.into_values() {
        // Versions of a tier are few.
        let mut measured: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for Judged { reading, measured: value } in group.iter().map(|at| &judged[*at].1) {
            if let (Some(version), Some(value)) = (&reading.running, value) {
                measured.entry(version.to_string()).or_default().push(*value);
            }
        }
        let others = |own: &String| {
            let others = measured.iter().filter(|(version, _)| *version != own);
            others.flat_map(|(_, values)| values).copied().collect()
        };
        let others: BTreeMap<&String, Vec<f64>> = measured.keys().map(|own| (own, others(own))).collect();
        for at in group {
            let (round, judged) = &mut judged[at];
            let version = judged.reading.running.as_ref().map(ToString::to_string);
            if let Some(others) = version.and_then(|version| others.get(&version)) {
                round.metrics.compare(judged, others);
            }
        }
    }
}
