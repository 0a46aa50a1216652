//! A definition in a catalog of Greenhouse: its versions are the tags `name/version` of a git repository, and the chart
//! behind each is a fact of it, with a number of its own. How the repository is reached is in `mirror`.
//! The form of the tags is that of `release.yaml` in cloudoperators/greenhouse-extensions.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use compare::Definition;
use decide::snapshot::ChartBlock;
use decide::{Sha, Version};
use tokio::sync::Mutex;

use super::found::{Answer, Contents, Defined, Found, Origin, Source, SourceError, Verdict, sha256};
use super::mirror::{Mirror, Mirrors};
use super::signers::Signers;
use super::source;
use crate::observe::net::Net;
use crate::policy::defined_chart;
use crate::policy::wiring::Chart;

/// So many tags are brought here in one conversation.
const MOST: usize = 60;

pub(super) struct Catalog {
    mirror: Arc<Mirror>,
    /// The file of the definition.
    path: String,
    net: Net,
    state: Mutex<State>,
}

/// What was seen at the last look.
#[derive(Default)]
struct State {
    /// Tags and their commits, by the versions as they are written.
    tags: BTreeMap<String, (String, Sha)>,
    /// The same in order.
    order: Vec<(Version, String, Sha)>,
    /// The version of the definition on the branch, where it has no tag.
    ahead: Option<String>,
    /// Where charts lie.
    charts: BTreeMap<String, Shop>,
}

/// Where a chart lies, as it was at this look.
struct Shop {
    source: Box<dyn Source>,
    /// Its index was read.
    read: bool,
    /// Why it did not answer.
    trouble: Option<String>,
}

impl Catalog {
    pub fn new(mirror: Arc<Mirror>, path: String, net: Net) -> Self {
        Self { mirror, path, net, state: Mutex::default() }
    }

    /// By its folder, and by the name in the file: the two may differ, and tags go by the name.
    async fn look(&self) -> Result<Vec<Version>, SourceError> {
        let refs = self.mirror.refs().await?;
        let folder = self.path.rsplit('/').nth(1).unwrap_or(&self.path).to_string();
        let text = match &refs.branch {
            Some(branch) => self.mirror.at_branch(branch, &self.path).await?,
            None => None,
        };
        let now = text.as_deref().map(Definition::read);
        if let Some(Err(why)) = &now {
            tracing::warn!(catalog = %self.mirror.url, path = self.path, %why, "the definition does not parse");
        }
        let now = now.and_then(Result::ok);
        let names: BTreeSet<String> = now.iter().map(|now| now.name.clone()).chain([folder]).collect();
        let mut tags = BTreeMap::new();
        for (tag, commit) in &refs.tags {
            let Some((name, version)) = tag.rsplit_once('/') else { continue };
            if names.contains(name) && version.parse::<Version>().is_ok() {
                tags.insert(version.to_string(), (tag.clone(), commit.clone()));
            }
        }
        if tags.is_empty() && text.is_none() {
            return Err(SourceError::NoSuchChart { url: self.mirror.url.to_string(), name: self.path.clone() });
        }
        let untagged = now.map(|now| now.version).filter(|version| !tags.contains_key(version));
        let ahead = untagged.filter(|version| version.parse::<Version>().is_ok());
        let parsed = |(version, (tag, commit)): (&String, &(String, Sha))| {
            Some((version.parse::<Version>().ok()?, tag.clone(), commit.clone()))
        };
        let mut order: Vec<(Version, String, Sha)> = tags.iter().filter_map(parsed).collect();
        order.sort();
        let untagged = ahead.as_ref().and_then(|version| version.parse().ok());
        let all = order.iter().map(|(version, ..)| version.clone()).chain(untagged).collect();
        let mut state = self.state.lock().await;
        let mut charts = std::mem::take(&mut state.charts);
        charts.values_mut().for_each(|shop| (shop.read, shop.trouble) = (false, None));
        *state = State { tags, ahead, order, charts };
        Ok(all)
    }

    async fn found(&self, version: &Version) -> Result<Option<Found>, SourceError> {
        let mut state = self.state.lock().await;
        let Some((tag, commit)) = state.tags.get(version.as_str()).cloned() else {
            let ahead = state.ahead.as_deref() == Some(version.as_str());
            let why = || format!("it stands in {} and has no tag yet, by which a Catalog could take it", self.path);
            return Ok(ahead.then(|| self.bare(version, None, Some(why()))));
        };
        let text = self.mirror.at_tag(commit.clone(), &self.path, state.wanted(version)).await?;
        let read = match text {
            Some(text) => self.fits(&text, &tag, version).map(|definition| (text, definition)),
            None => Err(format!("the tag {tag} has no file {}", self.path)),
        };
        let (text, definition) = match read {
            Ok(read) => read,
            Err(why) => return Ok(Some(self.bare(version, Some(commit), Some(why)))),
        };
        let chart = match &definition.chart {
            None => Ok(None),
            Some(defined) => self.chart(&mut state, defined).await.map(Some),
        };
        let (chart, incomplete) = match chart {
            Ok(chart) => (chart, None),
            Err(why) => (None, Some(why)),
        };
        let below = chart.as_ref().and_then(|(_, found)| found.digest.as_ref()).map_or("", |digest| digest.as_str());
        let digest = incomplete.is_none().then(|| sha256(format!("{below}\n{text}").as_bytes()));
        let found = Found { digest, ..self.bare(version, Some(commit), incomplete) };
        let found = match &chart {
            Some((_, chart)) => with_chart(found, chart),
            None => found,
        };
        Ok(Some(Found { definition: Some(Arc::new(Defined { text, chart })), ..found }))
    }

    /// The definition, where it is that of its tag.
    fn fits(&self, text: &str, tag: &str, version: &Version) -> Result<Definition, String> {
        let definition = Definition::read(text).map_err(|why| format!("at the tag {tag}: {why}"))?;
        let (name, written) = (&definition.name, &definition.version);
        if written != version.as_str() || tag.rsplit_once('/').map(|(before, _)| before) != Some(name) {
            return Err(format!("at the tag {tag}, {} is {name} {written}", self.path));
        }
        Ok(definition)
    }

    /// The chart of a definition, as its repository has it, or what keeps the release waiting.
    async fn chart(&self, state: &mut State, defined: &compare::DefinedChart) -> Result<(Chart, Found), String> {
        let chart = defined_chart(&defined.repository, &defined.name)
            .map_err(|why| format!("nobody can ask for its chart: {why}"))?;
        let Ok(version) = defined.version.parse::<Version>() else {
            let (name, version) = (&defined.name, &defined.version);
            return Err(format!(
                "its chart {name} is at {version}, which is no version and may be another one tomorrow"
            ));
        };
        let address = chart.address();
        let shop = match state.charts.entry(address.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let source = source(&chart, &self.net, &Mirrors::default()).map_err(|error| error.to_string())?;
                new.insert(Shop { source, read: false, trouble: None })
            }
        };
        // What did not answer for one version is not asked for all others.
        if let Some(why) = &shop.trouble {
            return Err(why.clone());
        }
        let described = async {
            // An index is read as a whole, and only there.
            if !shop.read && matches!(chart, Chart::Http { .. }) {
                shop.source.versions().await?;
                shop.read = true;
            }
            shop.source.describe(&version).await
        };
        match described.await {
            Ok(Some(found)) => Ok((chart, found)),
            Ok(None) => Err(format!("its chart {address} has no {version} yet")),
            Err(error) => {
                if matches!(error, SourceError::Unreachable { .. } | SourceError::Closed { .. }) {
                    shop.trouble = Some(error.to_string());
                }
                Err(error.to_string())
            }
        }
    }

    /// What is known of a version from its tag alone.
    fn bare(&self, version: &Version, commit: Option<Sha>, incomplete: Option<String>) -> Found {
        let url = self.mirror.url.to_string();
        let revision = commit.map(|commit| commit.to_string());
        Found {
            version: version.clone(),
            digest: None,
            notes: None,
            home: Some(url.clone()),
            marked_breaking: false,
            blocks: Vec::new(),
            origin: Origin { sources: vec![url], revision },
            incomplete,
            definition: None,
        }
    }
}

impl State {
    /// The tags from a version on.
    fn wanted(&self, from: &Version) -> BTreeMap<String, Sha> {
        let first = self.order.partition_point(|(version, ..)| version < from);
        // The one that is asked for is always among them.
        let newer = self.order.iter().skip(first).take(MOST);
        newer.map(|(_, tag, commit)| (tag.clone(), commit.clone())).collect()
    }
}

/// What the author of the chart says goes for the definition, except for numbers, which are the chart's own.
fn with_chart(found: Found, chart: &Found) -> Found {
    let blocks = chart.blocks.iter().map(|block| {
        let about =
            |from: &decide::constraint::Constraint| format!("{} (from {} of the chart)", block.why, from.as_str());
        ChartBlock { from: None, why: block.from.as_ref().map_or_else(|| block.why.clone(), about) }
    });
    let blocks = blocks.collect();
    Found { notes: chart.notes.clone(), marked_breaking: chart.marked_breaking, blocks, ..found }
}

impl Source for Catalog {
    fn versions(&self) -> Answer<'_, Result<Vec<Version>, SourceError>> {
        Box::pin(self.look())
    }

    fn describe<'a>(&'a self, version: &'a Version) -> Answer<'a, Result<Option<Found>, SourceError>> {
        Box::pin(self.found(version))
    }

    fn contents<'a>(&'a self, found: &'a Found) -> Answer<'a, Result<Option<Contents>, SourceError>> {
        Box::pin(async {
            let Some(defined) = &found.definition else { return Ok(None) };
            let definition = Some(defined.text.clone());
            let Some((chart, below)) = &defined.chart else {
                return Ok(Some(Contents { definition, ..Contents::default() }));
            };
            let state = self.state.lock().await;
            let Some(shop) = state.charts.get(&chart.address()) else { return Ok(None) };
            Ok(shop.source.contents(below).await?.map(|contents| Contents { definition, ..contents }))
        })
    }

    fn signed<'a>(&'a self, found: &'a Found, signers: &'a Signers) -> Answer<'a, Result<Verdict, SourceError>> {
        Box::pin(async move {
            let Some((chart, below)) = found.definition.as_ref().and_then(|defined| defined.chart.as_ref()) else {
                return Ok(Err("it installs no chart that could be signed".to_string()));
            };
            let state = self.state.lock().await;
            match state.charts.get(&chart.address()) {
                Some(shop) => shop.source.signed(below, signers).await,
                None => Err(SourceError::Unreachable {
                    url: chart.address(),
                    why: "its releases were not read yet".to_string(),
                }),
            }
        })
    }
}

#[cfg(test)]
mod tests;
