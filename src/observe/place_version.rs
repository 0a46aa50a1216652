//! What stands at one spot of a file that was read. Which files those are is in `base`.

use std::collections::{BTreeMap, BTreeSet};

use decide::constraint::Constraint;
use decide::snapshot::Read;
use decide::{ClusterName, PluginName, TierName, Version};

use super::place_owner::{Fleet, Theirs, Whose};
use super::spots::Spot;
use crate::edit;
use crate::edit::find::{Wanted, find};
use crate::policy::wiring::{Scalar, VERSION, Write};

/// What a spot holds: a version, or a range where somebody lets a controller choose.
pub(super) struct PlaceVersion {
    /// Where it stands.
    pub scalar: Option<Scalar>,
    /// What kind of place it is, where it was found without a path.
    pub kind: Option<&'static str>,
    /// What stands there.
    pub version: Read<Version>,
    /// The range that stands there instead.
    pub range: Option<String>,
    /// Its first byte.
    pub at: Option<usize>,
    /// The clusters that it moves, where it says so.
    pub moves: Option<BTreeSet<ClusterName>>,
    /// Whether the file is not there yet, and a template says what it will be.
    pub vacant: bool,
}

/// What is looked for in a file, and for whom.
pub(super) struct Asked<'a> {
    /// What the policy says of the place.
    pub write: &'a Write,
    /// The tier.
    pub tier: &'a TierName,
    /// The cluster, where there is a place for each.
    pub cluster: Option<&'a ClusterName>,
    /// The plugin and its chart.
    pub wanted: Wanted<'a>,
    /// Whose the place has to be.
    pub whose: Whose<'a>,
}

impl PlaceVersion {
    pub fn unread(why: String) -> Self {
        Self { scalar: None, kind: None, version: Read::Unread(why), range: None, at: None, moves: None, vacant: false }
    }
}

/// What a file holds of the plugin for those clusters, at one place or, where it names clusters, at several.
pub(super) fn place_versions(
    text: &Result<String, String>,
    file: &str,
    asked: &Asked<'_>,
    fleet: Fleet<'_>,
) -> Vec<PlaceVersion> {
    match text {
        Ok(text) => places(text, file, asked, fleet).unwrap_or_else(|why| vec![PlaceVersion::unread(why)]),
        Err(why) => vec![PlaceVersion::unread(why.clone())],
    }
}

fn places(text: &str, file: &str, asked: &Asked<'_>, fleet: Fleet<'_>) -> Result<Vec<PlaceVersion>, String> {
    let format = asked.write.format();
    let told = |refusal: edit::Refusal| refusal.to_string();
    if let Some(scalar) = asked.write.scalar_of(asked.tier, asked.cluster)? {
        let (spot, reach) = edit::read_with_reach(format, text, &scalar).map_err(told)?;
        let moves = fleet.allow(&reach, &asked.whose).map_err(told)?;
        return Ok(vec![PlaceVersion { moves, ..says(&spot, scalar, None) }]);
    }
    let found = find(format, file, text, asked.wanted).map_err(told)?;
    let theirs = fleet.choose(found, &asked.whose, asked.wanted.chart).map_err(told)?;
    let read = |Theirs { found, moves }: Theirs| match edit::read(
        format,
        text,
        found.scalar.document.as_ref(),
        &found.scalar.path,
    ) {
        Ok(spot) => PlaceVersion { moves, ..says(&spot, found.scalar, Some(found.kind)) },
        Err(refusal) => PlaceVersion { moves, ..PlaceVersion::unread(refusal.to_string()) },
    };
    Ok(theirs.into_iter().map(read).collect())
}

fn says(spot: &edit::Spot, scalar: Scalar, kind: Option<&'static str>) -> PlaceVersion {
    let Some(held) = scalar.version_in(&spot.value) else {
        let (line, text, form) = (spot.line, &spot.value, scalar.spell(VERSION));
        return PlaceVersion::unread(format!("line {line}: `{text}` is not of the form `{form}`"));
    };
    match held.parse::<Version>() {
        Ok(version) => {
            let (version, at) = (Read::Known(version), Some(spot.range.start));
            PlaceVersion { scalar: Some(scalar), kind, version, range: None, at, moves: None, vacant: false }
        }
        Err(error) => {
            let range = held.parse::<Constraint>().is_ok().then(|| held.to_string());
            PlaceVersion { range, ..PlaceVersion::unread(format!("line {}: {error}", spot.line)) }
        }
    }
}

/// Members that a file of the whole tier does not move: each needs a place before the tier can.
pub(super) fn left_out<'a>(all: &[PlaceVersion], members: &BTreeSet<&'a ClusterName>) -> Vec<&'a ClusterName> {
    let said: Option<Vec<&BTreeSet<ClusterName>>> = all.iter().map(|held| held.moves.as_ref()).collect();
    let Some(said) = said else { return Vec::new() };
    members.iter().filter(|name| !said.iter().any(|moved| moved.contains(**name))).copied().collect()
}

/// What two plugins would write, or two tiers of one, is written by none: one spot holds one version. A policy that
/// names both paths is refused before; here a place was found, or a path leads to the same one in another way.
pub(super) fn each_place_is_of_one<'a>(
    spots: &mut BTreeMap<(PluginName, TierName), Vec<Spot>>,
    branch: impl Fn(&TierName) -> &'a str,
) {
    type Place = (String, String, usize);
    let place = |tier: &TierName, spot: &Spot| -> Option<Place> {
        Some((branch(tier).to_string(), spot.file.clone(), spot.at?))
    };
    let mut owners: BTreeMap<Place, BTreeSet<(PluginName, TierName)>> = BTreeMap::new();
    for ((plugin, tier), of_tier) in &*spots {
        for place in of_tier.iter().filter_map(|spot| place(tier, spot)) {
            owners.entry(place).or_default().insert((plugin.clone(), tier.clone()));
        }
    }
    for ((plugin, tier), of_tier) in spots {
        for spot in of_tier {
            let Some(all) = place(tier, spot).and_then(|place| owners.get(&place)) else { continue };
            let other_plugin = all.iter().find(|(other, _)| other != plugin);
            let why = match (other_plugin, all.iter().find(|(_, other)| other != tier)) {
                (Some((other, _)), _) => {
                    format!("the plugin {other} writes the same place; give each its own by `path`")
                }
                (None, Some((_, other))) => format!("the tier {other} has the same place; give each its own"),
                (None, None) => continue,
            };
            (spot.version, spot.scalar) = (Read::Unread(why), None);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_two_plugins_would_write_is_written_by_none() {
        let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: logs}\n\
                       spec: {chart: {spec: {chart: loki, version: 1.2.0}}}\n";
        let spot = |plugin: &str, tier: &str, path: Option<&str>| {
            let scalar = path.map(|path| Scalar { document: None, path: path.to_string(), value: None });
            let write = Write { file: "loki.yaml".to_string(), format: None, scalar, template: None };
            let whose = Whose { members: BTreeSet::new(), captured: true };
            let (wanted, tier) = (Wanted { chart: "loki", plugin, address: None }, TierName::from(tier));
            let asked = Asked { write: &write, tier: &tier, cluster: None, wanted, whose };
            let fleet = Fleet { clusters: &[], names: &BTreeSet::new(), tiers: &[] };
            let held = place_versions(&Ok(release.to_string()), "loki.yaml", &asked, fleet).remove(0);
            let spot = Spot::new(&write, write.file.clone(), None, held);
            ((PluginName::from(plugin), tier), vec![spot])
        };
        let version = |spots: &BTreeMap<(PluginName, TierName), Vec<Spot>>, plugin: &str, tier: &str| {
            spots[&(plugin.into(), tier.into())][0].version.clone()
        };
        let mut spots: BTreeMap<_, _> = [
            spot("logs", "qa", None),
            spot("loki", "qa", Some("$..version")),
            spot("loki", "gold", None),
            spot("tempo", "gold", Some("$.metadata.name")),
        ]
        .into();
        each_place_is_of_one(&mut spots, |tier| if tier.as_str() == "qa" { "main" } else { "edge" });
        for (plugin, other) in [("logs", "loki"), ("loki", "logs")] {
            let Read::Unread(why) = version(&spots, plugin, "qa") else { panic!("{plugin} is read") };
            assert!(why.starts_with(&format!("the plugin {other} writes the same place")), "{why}");
        }
        assert_eq!(version(&spots, "loki", "gold"), Read::Known("1.2.0".parse().unwrap()), "another branch");
    }
}
