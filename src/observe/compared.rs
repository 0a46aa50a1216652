//! What is different in each release: its package held against the one before it, and both against what the config
//! repository sets. What follows from that is decided in `decide`; the comparison itself is in the package `compare`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use compare::{Change, Chart, Definition, Effect, Release, Report, Settings, What};
use decide::snapshot::{Breaking, BreakingFact, MissingValue};
use decide::{ClusterName, Digest, PluginPolicy, Version};
use jiff::{SignedDuration, Timestamp};

use super::chart::{Contents, Found, Source};
use super::released::{Pace, may_come};
use crate::tell::Differences;

/// Packages that are compared at one look, the newest first; the others wait for the next ones.
const MOST: usize = 6;

/// What was found out about the releases of one plugin.
#[derive(Default)]
pub struct Compared {
    /// By the newer release of the two.
    steps: BTreeMap<Version, Step>,
    /// The oldest that runs: what was required up to it is there, as far as it matters.
    lowest: Option<Version>,
}

/// One release beside the one before it.
struct Step {
    /// The release before it that the policy accepts, or that runs.
    from: Version,
    /// What is different, or why nobody knows.
    became: Result<Arc<Report>, String>,
    /// What the change log in its package says of it, and of what lies between the two.
    changelog: Option<String>,
    /// When that was found out.
    at: Timestamp,
    digests: (Option<Digest>, Option<Digest>),
    holds: SignedDuration,
}

/// What one place of the config repository sets.
pub struct Place {
    /// The cluster that it is for; none = for all of a tier.
    pub clusters: BTreeSet<ClusterName>,
    /// What it sets.
    pub settings: Settings,
    /// Whether that is all, as far as its document says.
    pub whole: bool,
}

impl Compared {
    /// Each release beside the one before it, for the texts.
    pub fn told(&self) -> impl Iterator<Item = (&Version, Differences)> {
        self.steps
            .iter()
            .map(|(version, step)| (version, Differences { from: step.from.clone(), became: step.became.clone() }))
    }

    /// What the change log in the package of a release says of it: untrusted text.
    pub fn changelog(&self, version: &Version) -> Option<&str> {
        self.steps.get(version)?.changelog.as_deref()
    }

    /// The version of what a release installs.
    pub fn app_version(&self, version: &Version) -> Option<&str> {
        let report = self.steps.get(version)?.became.as_ref().ok()?;
        Some(report.new.app_version.as_str()).filter(|app| !app.is_empty())
    }

    /// Whether any of these differences has to do with what is set.
    pub fn concerns(&self) -> bool {
        let reports = self.steps.values().filter_map(|step| step.became.as_ref().ok());
        reports.flat_map(|report| &report.changes).any(|change| change.what.is_breaking())
    }

    /// What may break by a release, given what the places of its plugin set.
    pub fn breaking(&self, version: &Version, places: &[Place]) -> Vec<BreakingFact> {
        let Some(step) = self.steps.get(version) else { return Vec::new() };
        let fact = |what| BreakingFact { what, at: step.at };
        match &step.became {
            Err(why) => vec![fact(Breaking::Uncompared { from: step.from.clone(), why: why.clone() })],
            Ok(report) => {
                let mut facts: Vec<Breaking> = Vec::new();
                for fact in report.changes.iter().filter_map(|change| concern(change, places)) {
                    // A value and the schema of it go together.
                    if !facts.contains(&fact) {
                        facts.push(fact);
                    }
                }
                facts.into_iter().map(fact).collect()
            }
        }
    }

    /// The values that a release requires, where some places set them and others do not: those lack them. Where none
    /// does, they may be set where nobody looked, and a person is asked instead.
    pub fn missing(&self, version: &Version, places: &[Place]) -> Vec<MissingValue> {
        let mut missing = Vec::new();
        for option in self.required(version) {
            let (have, lack): (Vec<&Place>, Vec<&Place>) = places.iter().partition(|place| place.settings.has(&option));
            if have.is_empty() {
                continue;
            }
            let clusters: BTreeSet<&ClusterName> = lack.iter().flat_map(|place| &place.clusters).collect();
            // One that has it in another of its places, or may have it from elsewhere.
            let may_have = lack.iter().filter(|place| !place.whole).chain(&have);
            let set: BTreeSet<&ClusterName> = may_have.flat_map(|place| &place.clusters).collect();
            let lacking = clusters.into_iter().filter(|cluster| !set.contains(cluster));
            missing.extend(lacking.map(|cluster| MissingValue { cluster: cluster.clone(), option: option.clone() }));
        }
        missing
    }

    /// What has come to be required on the way to a release, and still is.
    fn required(&self, version: &Version) -> BTreeSet<String> {
        let mut required = BTreeSet::new();
        let after = self.lowest.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        if self.lowest.as_ref().is_some_and(|lowest| lowest >= version) {
            return required;
        }
        for (_, step) in self.steps.range((after, Bound::Included(version))) {
            for change in step.became.iter().flat_map(|report| &report.changes) {
                let no_more = [What::OptionOptional, What::OptionRemoved, What::OptionRequiredWithDefault];
                if change.what == What::OptionRequired {
                    required.insert(change.at.clone());
                } else if no_more.contains(&change.what) {
                    required.remove(&change.at);
                }
            }
        }
        required
    }
}

/// What a difference means for who sets these things.
fn concern(change: &Change, places: &[Place]) -> Option<Breaking> {
    let is_set = || places.iter().any(|place| place.settings.has(&change.at));
    let (option, words) = (change.at.clone(), || change.to_string());
    match change.what.effect() {
        // Where some set it, those that do not are missing it.
        Effect::Requires => (!is_set()).then_some(Breaking::OptionRequired { option }),
        Effect::Removes => is_set().then_some(Breaking::OptionRemoved { option }),
        Effect::Retypes => is_set().then_some(Breaking::OptionRetyped { option }),
        Effect::Narrows => is_set().then(|| Breaking::Changed { words: words() }),
        Effect::Breaks => Some(Breaking::Changed { words: words() }),
        Effect::Informs => None,
    }
}

/// Compares the releases of a plugin that are on their way, each with the one before it: newer than the oldest that
/// runs or may come back, and accepted by the policy. A run that ends compares all of them at once.
pub async fn ask(
    mut compared: Compared,
    source: &dyn Source,
    policy: &PluginPolicy,
    found: &BTreeMap<Version, Found>,
    (oldest, lowest): (Option<&Version>, Option<&Version>),
    (pace, at_once): (Pace, bool),
    now: Timestamp,
) -> Compared {
    compared.lowest = lowest.cloned();
    let comes = |version: &&Version| match oldest {
        Some(oldest) => *version == oldest || *version > oldest && is_accepted(policy, version),
        None => false,
    };
    let chain: Vec<&Version> = found.keys().filter(comes).collect();
    compared.steps.retain(|version, _| chain.contains(&version));
    let mut read: BTreeMap<Version, Result<Arc<Release>, String>> = BTreeMap::new();
    let (pairs, mut left) = (chain.windows(2).rev(), if at_once { usize::MAX } else { MOST });
    for pair in pairs {
        let [from, to] = pair else { continue };
        let (Some(old), Some(new)) = (found.get(*from), found.get(*to)) else { continue };
        let digests = (old.digest.clone(), new.digest.clone());
        let known = compared.steps.get(*to).filter(|step| step.from == **from && step.digests == digests);
        if known.is_some_and(|step| step.holds(now)) {
            continue;
        }
        let holds = known.map_or(pace.first, |step| (step.holds * 2).clamp(pace.first, pace.last.max(pace.first)));
        let outcome = match left.checked_sub(1) {
            Some(fewer) => {
                left = fewer;
                step(source, (old, new), &mut read).await
            }
            None => Err("it was not read yet".to_string()),
        };
        let (became, changelog) = match outcome {
            Ok(Some((report, changelog))) => (Ok(report), changelog),
            // Of what is no chart nothing is said.
            Ok(None) => {
                compared.steps.remove(*to);
                continue;
            }
            Err(why) => (Err(why), None),
        };
        // What was not tried yet is tried at the next look.
        let holds = if left == 0 && became.is_err() { SignedDuration::ZERO } else { holds };
        let step = Step { from: (*from).clone(), became, changelog, at: now, digests, holds };
        compared.steps.insert((*to).clone(), step);
    }
    if let (Some(oldest), Some(first)) = (oldest, chain.first().filter(|first| Some(**first) != oldest)) {
        let digests = (None, found.get(*first).and_then(|found| found.digest.clone()));
        let became = Err(format!("{oldest} is at its source no more"));
        let step = Step { from: oldest.clone(), became, changelog: None, at: now, digests, holds: pace.last };
        // What was compared while it was there is known.
        if compared.steps.get(*first).is_none_or(|known| known.from != *oldest) {
            compared.steps.insert((*first).clone(), step);
        }
    }
    compared
}

/// Whether some tier may take a version. One that none takes is no step on the way to another.
fn is_accepted(policy: &PluginPolicy, version: &Version) -> bool {
    let of_tiers = policy.tiers.iter().filter_map(|tier| tier.constraint.as_ref());
    let prereleases = policy.prereleases
        || policy.constraint.as_ref().into_iter().chain(of_tiers).any(|constraint| constraint.names_prereleases());
    may_come(policy, version) && (prereleases || !version.is_prerelease())
}

impl Step {
    fn holds(&self, now: Timestamp) -> bool {
        self.became.is_ok() || self.at.saturating_add(self.holds).is_ok_and(|until| until > now)
    }
}

async fn step(
    source: &dyn Source,
    (old, new): (&Found, &Found),
    read: &mut BTreeMap<Version, Result<Arc<Release>, String>>,
) -> Result<Option<(Arc<Report>, Option<String>)>, String> {
    let new = release(source, new, read).await?;
    let old = release(source, old, read).await?;
    if [&old, &new].iter().all(|one| one.definition.is_none() && one.chart.is_none()) {
        return Ok(None);
    }
    let work = move || (compare::compare_releases(&old, &new), logged(&old, &new));
    let (compared, logged) = tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?;
    Ok(Some((Arc::new(compared.ok_or_else(|| "one of the two has no chart".to_string())?), logged)))
}

/// What the newer chart's change log says of the versions since the older one.
fn logged(old: &Release, new: &Release) -> Option<String> {
    let (old, new) = (old.chart.as_ref()?, new.chart.as_ref()?);
    let [from, to] = [old, new].map(|chart| chart.version().parse::<Version>().ok());
    let (from, to) = (from?, to?);
    super::changelog::section(new.changelog()?, |version| *version > from && *version <= to)
}

/// The contents of a release; one that was read for the pair before is not read again.
async fn release(
    source: &dyn Source,
    found: &Found,
    known: &mut BTreeMap<Version, Result<Arc<Release>, String>>,
) -> Result<Arc<Release>, String> {
    if let Some(known) = known.get(&found.version) {
        return known.clone();
    }
    let version = &found.version;
    let read = match source.contents(found).await {
        Ok(Some(contents)) => {
            let read = tokio::task::spawn_blocking(move || read(&contents)).await;
            read.map_err(|error| error.to_string()).and_then(|read| read.map_err(|error| error.to_string()))
        }
        Ok(None) => Err("it is not there".to_string()),
        Err(error) => Err(error.to_string()),
    };
    let read = read.map(Arc::new).map_err(|why| format!("the package of {version}: {why}"));
    // Two are enough: the pairs go down one by one.
    if known.len() > 2 {
        known.pop_last();
    }
    known.insert(version.clone(), read.clone());
    read
}

fn read(contents: &Contents) -> Result<Release, compare::Refusal> {
    let definition = contents.definition.as_deref().map(Definition::read).transpose()?;
    let chart = contents.package.as_deref().map(Chart::read).transpose()?;
    let chart = match (&contents.files, chart) {
        (Some(files), None) => Some(Chart::of_files(files.clone())?),
        (Some(_) | None, chart) => chart,
    };
    Ok(Release { definition, chart })
}
