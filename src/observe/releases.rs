//! Asks each plugin's source, at its own pace, which releases there are. Which of them climb is
//! decided in `decide`.

use std::collections::BTreeMap;
use std::sync::Arc;

use decide::snapshot::{Read, Release};
use decide::{PluginName, Version};
use jiff::{SignedDuration, Timestamp};

use super::chart::{self, Found, Source, SourceError};
use super::net::Net;
use super::released::Checked;
use crate::policy::wiring::PluginWiring;
use crate::rooms::SourceMemory;

/// Releases newer than what runs that are described at one look; beyond it the oldest are left out.
const MOST: usize = 50;

/// Asks the source of one plugin when its time has come. `lowest` is the oldest version that runs
/// anywhere: nothing below it matters.
pub async fn ask(
    memory: Option<SourceMemory>,
    wiring: &PluginWiring,
    net: &Net,
    lowest: Option<&Version>,
    now: Timestamp,
) -> SourceMemory {
    let mut memory = match memory {
        Some(memory) if memory.chart == wiring.chart => memory,
        Some(_) | None => fresh(wiring, net),
    };
    let poll = SignedDuration::try_from(wiring.poll).unwrap_or(SignedDuration::from_mins(5));
    if memory.asked.is_some_and(|asked| asked + poll > now) {
        return memory;
    }
    // A source that may not be asked, such as a private host that the operator did not allow.
    let Some(source) = memory.source.clone() else { return memory };
    memory.asked = Some(now);
    memory.said = look(source.as_ref(), lowest).await.map_err(|error| error.to_string());
    memory
}

/// The releases as the planner sees them.
pub fn planned(memory: &SourceMemory) -> Read<Vec<Release>> {
    match &memory.said {
        Ok(found) => Read::Known(found.values().map(|found| release(found, &memory.checked)).collect()),
        Err(why) => Read::Unread(why.clone()),
    }
}

/// Notes and digests by plugin and version, for the texts.
pub type Notes = BTreeMap<(PluginName, Version), Found>;

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

fn release(found: &Found, checked: &Checked) -> Release {
    Release {
        version: found.version.clone(),
        digest: found.digest.clone(),
        marked_breaking: found.marked_breaking,
        checks: checked.of(&found.version),
        breaking: Vec::new(),
        blocks: found.blocks.clone(),
        missing_values: Vec::new(),
    }
}

fn fresh(wiring: &PluginWiring, net: &Net) -> SourceMemory {
    let (source, said) = match chart::source(&wiring.chart, net) {
        Ok(source) => (Some(Arc::from(source)), Err("it was not asked yet".to_string())),
        Err(error) => (None, Err(error.to_string())),
    };
    SourceMemory { chart: wiring.chart.clone(), source, asked: None, said, checked: Checked::default() }
}
