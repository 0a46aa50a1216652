//! What stands at one spot of a file that was read. Which files those are is in `base`.

use std::collections::{BTreeMap, BTreeSet};

use decide::constraint::Constraint;
use decide::snapshot::Read;
use decide::{PluginName, TierName, Version};

use super::base::Spot;
use crate::act::edit;
use crate::act::edit::find::Wanted;
use crate::policy::wiring::{Scalar, VERSION, Write};

/// What a spot holds: a version, or a range where somebody lets a controller choose.
pub(super) struct Held {
    /// Where it stands.
    pub scalar: Option<Scalar>,
    /// What stands there.
    pub version: Read<Version>,
    /// The range that stands there instead.
    pub range: Option<String>,
    /// Its first byte.
    pub at: Option<usize>,
}

impl Held {
    pub fn unread(why: String) -> Self {
        Self { scalar: None, version: Read::Unread(why), range: None, at: None }
    }
}

/// What a file holds of the plugin, by what the policy says of it.
pub(super) fn held(text: &Result<String, String>, (write, file): (&Write, &str), wanted: Wanted<'_>) -> Held {
    let text = match text {
        Ok(text) => text,
        Err(why) => return Held::unread(why.clone()),
    };
    let scalar = match edit::place(write, file, text, wanted) {
        Ok(scalar) => scalar,
        Err(refusal) => return Held::unread(refusal.to_string()),
    };
    let spot = match edit::read(write.format(), text, scalar.document.as_ref(), &scalar.path) {
        Ok(spot) => spot,
        Err(refusal) => return Held::unread(refusal.to_string()),
    };
    let Some(held) = scalar.version_in(&spot.value) else {
        let (line, text, form) = (spot.line, &spot.value, scalar.spell(VERSION));
        return Held::unread(format!("line {line}: `{text}` is not of the form `{form}`"));
    };
    match held.parse::<Version>() {
        Ok(version) => {
            let at = Some(spot.range.start);
            Held { scalar: Some(scalar), version: Read::Known(version), range: None, at }
        }
        Err(error) => {
            let range = held.parse::<Constraint>().is_ok().then(|| held.to_string());
            Held { range, ..Held::unread(format!("line {}: {error}", spot.line)) }
        }
    }
}

/// What two plugins would write is written by none: one spot holds one version. A policy that names both paths is
/// refused before; here a place was found, or a path leads to the same one in another way.
pub(super) fn one_plugin_each<'a>(
    spots: &mut BTreeMap<(PluginName, TierName), Vec<Spot>>,
    branch: impl Fn(&TierName) -> &'a str,
) {
    type Place = (String, String, usize);
    let place = |tier: &TierName, spot: &Spot| -> Option<Place> {
        Some((branch(tier).to_string(), spot.file.clone(), spot.at?))
    };
    let mut owners: BTreeMap<Place, BTreeSet<PluginName>> = BTreeMap::new();
    for ((plugin, tier), of_tier) in &*spots {
        for place in of_tier.iter().filter_map(|spot| place(tier, spot)) {
            owners.entry(place).or_default().insert(plugin.clone());
        }
    }
    for ((plugin, tier), of_tier) in spots {
        for spot in of_tier {
            let Some(all) = place(tier, spot).and_then(|place| owners.get(&place)) else { continue };
            if let Some(other) = all.iter().find(|other| *other != plugin) {
                let why = format!("the plugin {other} writes the same place; give each its own by `path`");
                (spot.version, spot.scalar) = (Read::Unread(why), None);
            }
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
            let write = Write { file: "loki.yaml".to_string(), format: None, scalar };
            let wanted = Wanted { chart: "loki", plugin };
            let Held { scalar, version, range, at } = held(&Ok(release.to_string()), (&write, "loki.yaml"), wanted);
            let spot = Spot { file: write.file.clone(), write, scalar, at, cluster: None, version, range };
            ((PluginName::from(plugin), TierName::from(tier)), vec![spot])
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
        one_plugin_each(&mut spots, |tier| if tier.as_str() == "qa" { "main" } else { "edge" });
        for (plugin, other) in [("logs", "loki"), ("loki", "logs")] {
            let Read::Unread(why) = version(&spots, plugin, "qa") else { panic!("{plugin} is read") };
            assert!(why.starts_with(&format!("the plugin {other} writes the same place")), "{why}");
        }
        assert_eq!(version(&spots, "loki", "gold"), Read::Known("1.2.0".parse().unwrap()), "another branch");
    }
}
