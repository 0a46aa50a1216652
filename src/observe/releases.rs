//! Asks each plugin's source, at its own pace, which releases there are. Which of them climb is
//! decided in `decide`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decide::snapshot::{Read, Release};
use decide::{PluginName, Version};
use jiff::{SignedDuration, Timestamp};

use super::chart::{self, Found, Mirrors, Source, SourceError};
use super::compared::{Compared, Place};
use super::net::Net;
use super::released::Checked;
use super::signed::Signatures;
use crate::observe::context::SourceMemory;
use crate::policy::wiring::PluginWiring;
use crate::trace;

/// Releases newer than what runs that are described at one look; beyond it the oldest are left out.
const MOST: usize = 50;

/// Asks the source of one plugin when its time has come. `lowest` is the oldest version that runs
/// anywhere: nothing below it matters.
pub async fn ask(
    memory: Option<SourceMemory>,
    (plugin, wiring): (&PluginName, &PluginWiring),
    (net, mirrors): (&Net, &Mirrors),
    lowest: Option<&Version>,
    now: Timestamp,
) -> SourceMemory {
    let mut memory = match memory {
        Some(memory) if memory.chart == wiring.chart => memory,
        Some(_) | None => fresh(wiring, net, mirrors),
    };
    let poll = SignedDuration::try_from(wiring.poll).unwrap_or(SignedDuration::from_mins(5));
    if memory.due(poll).is_some_and(|due| due > now) {
        return memory;
    }
    // A source that may not be asked, such as a private host that the operator did not allow.
    let Some(source) = memory.source.clone() else { return memory };
    memory.asked = Some(now);
    let newest = |said: &Result<BTreeMap<Version, Found>, String>| {
        said.as_ref().ok().and_then(|found| found.keys().next_back().cloned())
    };
    let before = newest(&memory.said);
    let looking = trace::within(trace::chart(plugin.as_str()), look(source.as_ref(), lowest));
    memory.said = looking.await.map_err(|error| error.to_string());
    let overdue = memory.rung.is_some_and(|rung| now.duration_since(rung) >= poll);
    if overdue || newest(&memory.said) > before {
        memory.rung = None;
    }
    memory
}

/// The releases as the planner sees them.
pub fn planned(memory: &SourceMemory, places: &[Place]) -> Read<Vec<Release>> {
    match &memory.said {
        Ok(found) => Read::Known(found.values().map(|found| release(found, memory, places)).collect()),
        Err(why) => Read::Unread(why.clone()),
    }
}

async fn look(source: &dyn Source, lowest: Option<&Version>) -> Result<BTreeMap<Version, Found>, SourceError> {
    let mut versions = source.versions().await?;
    versions.retain(|version| lowest.is_none_or(|lowest| version >= lowest));
    versions.sort();
    let skipped = versions.len().saturating_sub(MOST);
    let mut found = BTreeMap::new();
    for version in versions.into_iter().skip(skipped) {
        // A version whose artefact is not there is no release yet.
        if let Some(described) = source.describe(&version).await? {
            found.insert(version, described);
        }
    }
    Ok(found)
}

fn release(found: &Found, memory: &SourceMemory, places: &[Place]) -> Release {
    Release {
        version: found.version.clone(),
        digest: found.digest.clone(),
        marked_breaking: found.marked_breaking,
        checks: memory.checked.of(&found.version),
        breaking: memory.compared.breaking(&found.version, places),
        unsigned: memory.signatures.of(found),
        incomplete: found.incomplete.clone(),
        blocks: found.blocks.clone(),
        missing_values: memory.compared.missing(&found.version, places),
    }
}

fn fresh(wiring: &PluginWiring, net: &Net, mirrors: &Mirrors) -> SourceMemory {
    let (source, said) = match chart::source(&wiring.chart, net, mirrors) {
        Ok(source) => (Some(Arc::from(source)), Err("it was not asked yet".to_string())),
        Err(error) => (None, Err(error.to_string())),
    };
    SourceMemory {
        chart: wiring.chart.clone(),
        source,
        asked: None,
        said,
        checked: Checked::default(),
        compared: Compared::default(),
        signatures: Signatures::default(),
        told: BTreeMap::new(),
        released_in: BTreeSet::new(),
        rung: None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Mutex;

    use super::*;
    use crate::policy::wiring::{Chart, Released};

    #[tokio::test]
    async fn a_flood_of_rings_does_not_flood_the_source() {
        let shelf = Arc::new(Mutex::new((0, "entries:\n  loki:\n  - version: 1.0.0\n".to_string())));
        let serving = Arc::clone(&shelf);
        let router = axum::Router::new().fallback(move || {
            let mut shelf = serving.lock().unwrap();
            shelf.0 += 1;
            std::future::ready(shelf.1.clone())
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let wiring = PluginWiring {
            declared: String::new(),
            chart: Chart::Http { repository: format!("http://{host}"), name: "loki".into() },
            poll: std::time::Duration::from_secs(900),
            write: Vec::new(),
            signals: Vec::new(),
            released: Released::default(),
            signed: None,
        };
        let net = Net::new(vec![host]).unwrap();
        let mirrors = Mirrors::default();
        let begun: Timestamp = "2026-11-24T12:00:00Z".parse().unwrap();
        let (mut memory, mut asks) = (None, Vec::new());
        for second in 0..3600 {
            let now = begun + SignedDuration::from_secs(second);
            let mut asked = ask(memory, (&"loki".into(), &wiring), (&net, &mirrors), None, now).await;
            if asked.asked == Some(now) {
                asks.push(second);
            }
            // Somebody rings each second for a minute, and once more later, shortly before there is something new.
            if (60..120).contains(&second) || second == 2000 {
                asked.rung = Some(now);
            }
            if second == 2030 {
                shelf.lock().unwrap().1.push_str("  - version: 1.1.0\n");
            }
            memory = Some(asked);
        }
        assert_eq!(shelf.lock().unwrap().0, asks.len());
        let within = |from, to| asks.iter().filter(|at| (from..to).contains(*at)).copied().collect::<Vec<i64>>();
        assert_eq!(within(0, 60), [0], "by itself it is asked every quarter of an hour");
        assert_eq!(within(60, 120).len(), 12, "five seconds of rest, however often somebody rings");
        assert_eq!(within(120, 2000), [121, 126, 133, 147, 175, 231, 343, 567, 1015, 1911], "less and less often");
        assert_eq!(within(2000, 3600), [2001, 2006, 2012, 2024, 2048, 2948], "until the news is here");
    }
}
