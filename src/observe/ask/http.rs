//! Pages of JSON.

use std::sync::Arc;

use decide::snapshot::Reading;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::header;
use jiff::SignedDuration;
use serde_json::Value;

use super::Ask;
use super::fetch::Line;
use crate::clock;
use crate::observe::net::Fetched;
use crate::signal::http::Told;
use crate::signal::{Page, Verdict};

/// The largest page that is read, in bytes.
const MOST: usize = 1 << 20;

/// Asks for all of them.
pub(super) async fn answers(line: &Line<'_>, pages: Vec<(Arc<Page>, Ask)>) -> Vec<(Ask, Reading)> {
    let mut running: FuturesUnordered<_> = pages.into_iter().map(|(page, ask)| answer(line, ask, page)).collect();
    let mut answers = Vec::new();
    while let Some(one) = running.next().await {
        answers.push(one);
    }
    answers
}

async fn answer(line: &Line<'_>, ask: Ask, page: Arc<Page>) -> (Ask, Reading) {
    let _place = line.place().await;
    // Before asking: what is answered may be as old as the question.
    let now = clock::now();
    let fetched = line.get(&page.endpoint, |_| Ok(()), MOST).await;
    let (title, fallback) = (page.title(), Arc::clone(&page));
    // Paths of a policy over a page of somebody else's: bounded, but not to be trusted with the thread that all
    // others wait on.
    let judged = tokio::task::spawn_blocking(move || match fetched.and_then(|fetched| told(&fetched)) {
        Ok((ok, value, age)) => page.judge(Told { ok, page: &value, age }, now),
        Err(why) => page.read(Verdict::unknown(why), now),
    });
    let reading = judged
        .await
        .unwrap_or_else(|error| fallback.read(Verdict::unknown(format!("{title} could not be judged: {error}")), now));
    (ask, reading)
}

/// Whether it is a success, the page, and for how long it lay in a cache.
fn told(fetched: &Fetched) -> Result<(bool, Value, SignedDuration), String> {
    let status = fetched.status;
    let page = serde_json::from_slice(&fetched.body)
        .map_err(|_| format!("it answered with {status} and something that is no JSON"))?;
    let age = fetched.headers.get(header::AGE).map_or(Some(0), |age| age.to_str().ok()?.trim().parse().ok());
    let age = age.ok_or_else(|| "it does not tell for how long its answer lay in a cache".to_string())?;
    Ok((status.is_success(), page, SignedDuration::from_secs(age)))
}
