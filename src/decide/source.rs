//! What the chart's source lists, and how a release was first seen there. Which of them may climb is in `release`.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

use crate::facts::Facts;
use crate::obstacle::{Lasts, Obstacle};
use crate::snapshot::Release;
use crate::{Digest, Reason, Version};

/// The release at the source: the one that is spelled as it was first seen, where several differ only
/// in a leading `v` or in build metadata.
pub(crate) fn find<'a>(facts: &Facts<'a>, version: &Version) -> Result<&'a Release, Box<Obstacle>> {
    let releases = facts.releases().map_err(|why| {
        let what = "the list of releases".to_string();
        Box::new(Obstacle::new(Lasts::Unread, Reason::Unread { what, why: why.to_string() }))
    })?;
    let seen = facts.page.seen(version).map_or(version, |seen| &seen.version);
    let alike = || releases.iter().filter(|release| release.version == *version);
    let found = alike().find(|release| release.version.as_str() == seen.as_str()).or_else(|| alike().next());
    found.ok_or_else(|| Box::new(Obstacle::new(Lasts::Unlisted, Reason::Yanked { version: version.clone() })))
}

/// Every version above `floor` that the source lists, each once, spelled as its release is found.
pub(crate) fn listed(facts: &Facts<'_>, floor: Option<&Version>) -> Vec<Version> {
    let above = |release: &&Release| floor.is_none_or(|floor| release.version > *floor);
    let mut versions: Vec<&Version> =
        facts.releases().unwrap_or_default().iter().filter(above).map(|release| &release.version).collect();
    versions.sort();
    let alike = |group: &[&Version]| match group {
        [one] => Some((*one).clone()),
        [one, ..] => find(facts, one).ok().map(|found| found.version.clone()),
        [] => None,
    };
    versions.chunk_by(|a, b| a == b).filter_map(alike).collect()
}

/// The digest that was pinned for a version.
pub(crate) fn pinned(facts: &Facts<'_>, version: &Version) -> Option<Digest> {
    facts.page.seen(version).and_then(|seen| seen.digest.clone())
}

/// A version as its release is spelled: what was found to run before its source could be read is known
/// by the word of its clusters, who may have added metadata or left out the `v`.
pub(crate) fn spelled<'v>(facts: &'v Facts<'_>, version: &'v Version) -> &'v Version {
    facts.page.seen(version).map_or(version, |seen| &seen.version)
}
