//! Releases at the source: what is published, how it is spelled, and what may be said of it.

use decide::constraint::Constraint;
use decide::model::PluginPolicy;
use decide::snapshot::Release;
use decide::{Digest, PluginName, Version as Shown};
use jiff::{SignedDuration, Timestamp};
use semver::{BuildMetadata, Version};

use crate::rng::Rng;
use crate::scenario::Quality;
use crate::world::World;

/// One release at the source.
#[derive(Clone, Debug)]
pub struct Published {
    pub version: Version,
    /// As the source shows it.
    pub shown: Release,
    /// As a cluster says that it runs it.
    pub runs: Shown,
    /// What was published first under this version.
    pub first_digest: Digest,
    pub retagged: bool,
    pub yanked: bool,
    pub published: Timestamp,
    /// When the checks of its commit end, and whether they are green then; its signature comes with them.
    pub checked: Timestamp,
    pub green: bool,
    /// When all of it is there: a definition may come before its chart.
    pub complete: Timestamp,
    pub quality: Quality,
}

impl Published {
    /// A release of these worlds, spelled as the scenario has it for its plugin.
    pub fn new(world: &World, plugin: &PluginName, version: Version, quality: Quality, marked_breaking: bool) -> Self {
        let at = world.now;
        let (spelled, runs) = spelled(world, plugin, &version);
        let digest = format!("sha256:{:064x}", Rng::fate(1, &[plugin.as_str(), &version.to_string()]).next());
        let shown = Release {
            version: spelled,
            digest: Some(Digest::new(digest)),
            marked_breaking,
            checks: decide::snapshot::Read::Known(Vec::new()),
            breaking: Vec::new(),
            blocks: Vec::new(),
            missing_values: Vec::new(),
            incomplete: None,
            unsigned: decide::snapshot::Read::Known(None),
        };
        let first_digest = shown.digest.clone().unwrap();
        Self {
            version,
            shown,
            runs,
            first_digest,
            retagged: false,
            yanked: false,
            published: at,
            checked: at,
            green: true,
            complete: at,
            quality,
        }
    }
}

/// Of some plugins one release in five is announced before all of it is there.
pub fn complete_after(world: &World, plugin: &PluginName, version: &Version) -> SignedDuration {
    let late = world.luck(&["incomplete", plugin.as_str()]).chance(15);
    let mut luck = world.luck(&["incomplete", plugin.as_str(), &version.to_string()]);
    SignedDuration::from_hours(if late && luck.chance(20) { luck.range(1, 30) as i64 } else { 0 })
}

/// A version as its release is written, and as its clusters say it.
fn spelled(world: &World, plugin: &PluginName, version: &Version) -> (Shown, Shown) {
    let spelling = world.scenario.spelled.get(plugin).copied().unwrap_or_default();
    let mut luck = world.luck(&["spelled", plugin.as_str(), &version.to_string()]);
    let v = if luck.chance(spelling.v) { "v" } else { "" };
    let build = if luck.chance(spelling.build) { format!("+build.{}", luck.range(1, 9)) } else { String::new() };
    let text = format!("{v}{version}{build}");
    let runs = if spelling.appended && build.is_empty() { format!("{text}+0f1ca7e") } else { text.clone() };
    (text.parse().unwrap(), runs.parse().unwrap())
}

/// A version without the planner's type, its `v` and its build metadata, which order nothing.
pub fn plain(version: &Shown) -> Version {
    let mut plain: Version = version.as_str().trim_start_matches('v').parse().unwrap();
    plain.build = BuildMetadata::EMPTY;
    plain
}

/// Whether a version lies inside a constraint, by the few forms that these worlds use.
pub fn inside(constraint: &Constraint, version: &Version) -> bool {
    let holds = |one: &str| {
        let bound = |text: &str| Version::parse(text).unwrap();
        match (one.strip_prefix(">="), one.strip_prefix("!="), one.strip_prefix('<'), one.strip_prefix('^')) {
            (Some(least), ..) => *version >= bound(least),
            (_, Some(not), ..) => *version != bound(not),
            (_, _, Some(below), _) => *version < bound(below),
            (_, _, _, Some(major)) => version.major.to_string() == major,
            _ => panic!("no form of these worlds: {one}"),
        }
    };
    constraint.as_str().split("||").any(|all| all.split_whitespace().all(holds))
}

/// Whether a version is deprecated, or one that clusters must have left by an instant.
pub fn to_be_left(policy: &PluginPolicy, version: &Version, at: Timestamp) -> bool {
    let deprecated = policy.deprecated.as_ref().is_some_and(|all| inside(all, version));
    deprecated || policy.expires.iter().any(|expiry| expiry.at <= at && inside(&expiry.versions, version))
}
