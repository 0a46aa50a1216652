//! Where versions stand, for the terminal: what `coldframe plan` has read and what it could not read.

use std::collections::{BTreeMap, BTreeSet};

use decide::snapshot::{Cluster, Read};
use decide::{PluginName, Tier, TierName, Version};

use super::board::style::{self, BOLD, DIM, paint};
use super::inert;
use super::words::Tone;

/// One place as it is read.
#[derive(Clone, Debug)]
pub struct PlaceRow {
    /// The plugin.
    pub plugin: PluginName,
    /// The tier.
    pub tier: TierName,
    /// The file as the policy names it, with placeholders.
    pub write: String,
    /// The path that the policy names, or the kind of place that was found without one.
    pub what: Option<String>,
    /// The file.
    pub file: String,
    /// What stands there.
    pub version: Read<Version>,
}

/// So many reasons are told of one `write`; the others are counted.
const MOST_REASONS: usize = 5;

/// How many clusters the inventory has on each tier, or why it could not be read.
pub fn clusters(inventory: &Read<Vec<Cluster>>, tiers: &[Tier]) -> String {
    let all = match inventory {
        Read::Known(all) => all,
        Read::Unread(why) => return format!("Clusters: {} {}\n", paint(style::of(Tone::Bad), "✖"), inert::line(why)),
    };
    let of = |tier: &Tier| all.iter().filter(|cluster| tier.select.matches(&cluster.labels)).count();
    let by_tier: Vec<String> = tiers.iter().map(|tier| format!("{} {}", tier.name, of(tier))).collect();
    format!("Clusters: {}: {}\n", all.len(), inert::line(&by_tier.join(" · ")))
}

/// Every place by plugin and `write`, with its versions by tier in the order given.
pub fn places(all: &[PlaceRow]) -> String {
    let mut order: Vec<(&PluginName, &str)> = Vec::new();
    let mut groups: BTreeMap<(&PluginName, &str), Vec<&PlaceRow>> = BTreeMap::new();
    for one in all {
        let key = (&one.plugin, one.write.as_str());
        if !groups.contains_key(&key) {
            order.push(key);
        }
        groups.entry(key).or_default().push(one);
    }
    let mut out = String::from("Places:\n");
    let mut last = None;
    for key in order {
        if last != Some(key.0) {
            out.push_str(&format!("  {}\n", paint(BOLD, &inert::line(key.0.as_str()))));
            last = Some(key.0);
        }
        out.push_str(&group(key.1, groups.get(&key).map_or(&[][..], Vec::as_slice)));
    }
    out
}

fn group(write: &str, all: &[&PlaceRow]) -> String {
    let mut tiers: Vec<(&TierName, BTreeSet<&Version>)> = Vec::new();
    for one in all {
        if tiers.last().is_none_or(|(tier, _)| **tier != one.tier) {
            tiers.push((&one.tier, BTreeSet::new()));
        }
        if let (Some((_, versions)), Read::Known(version)) = (tiers.last_mut(), &one.version) {
            versions.insert(version);
        }
    }
    let shown: Vec<String> = tiers.iter().map(|(tier, versions)| format!("{tier} {}", several(versions))).collect();
    let what = all.iter().find_map(|one| one.what.as_deref()).unwrap_or_default();
    let count = if all.len() > tiers.len() { format!(" ×{}", all.len()) } else { String::new() };
    let mut out = format!(
        "    {}{count}  {}  {}\n",
        inert::line(write),
        paint(DIM, &inert::line(what)),
        inert::line(&shown.join(" · "))
    );
    let unread: Vec<(&PlaceRow, &String)> = all
        .iter()
        .filter_map(|one| match &one.version {
            Read::Unread(why) => Some((*one, why)),
            Read::Known(_) => None,
        })
        .collect();
    for (one, why) in unread.iter().take(MOST_REASONS) {
        let line = inert::line(&format!("{}: {}: {why}", one.tier, one.file));
        out.push_str(&format!("      {} {line}\n", paint(style::of(Tone::Bad), "✖")));
    }
    if let Some(more) = unread.len().checked_sub(MOST_REASONS).filter(|more| *more > 0) {
        out.push_str(&format!("      and {more} more that are not read\n"));
    }
    out
}

fn several(versions: &BTreeSet<&Version>) -> String {
    let mut all = versions.iter();
    match (all.next(), all.next()) {
        (None, _) => "–".to_string(),
        (Some(only), None) => only.to_string(),
        (Some(_), Some(_)) => format!("{} versions", versions.len()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use decide::selector::Selector;

    use super::*;

    #[test]
    fn clusters_are_counted_by_tier() {
        let tier = |name: &str| {
            let select = Selector { match_labels: [("tier".into(), name.into())].into(), ..Selector::default() };
            Tier::new(name.into(), select)
        };
        let cluster = |name: &str, tier: &str| Cluster {
            name: name.into(),
            labels: [("tier".to_string(), tier.to_string())].into(),
        };
        let all = vec![cluster("a", "qa"), cluster("b", "gold"), cluster("c", "gold"), cluster("d", "lab")];
        let tiers = [tier("qa"), tier("gold")];
        assert_eq!(clusters(&Read::Known(all), &tiers), "Clusters: 4: qa 1 · gold 2\n");
        assert!(clusters(&Read::Unread("no connection `hub`".to_string()), &tiers).contains("no connection `hub`"));
    }

    #[test]
    fn what_is_read_stands_by_tier_and_what_is_not_says_why() {
        let one = |tier: &str, file: &str, version: Result<&str, &str>| PlaceRow {
            plugin: "loki".into(),
            tier: tier.into(),
            write: "clusters/{tier}/{cluster}/loki.yaml".to_string(),
            what: Some("HelmRelease".to_string()),
            file: file.to_string(),
            version: match version {
                Ok(version) => Read::Known(version.parse().unwrap()),
                Err(why) => Read::Unread(why.to_string()),
            },
        };
        let all = [
            one("qa", "clusters/qa/a/loki.yaml", Ok("1.2.0")),
            one("gold", "clusters/gold/b/loki.yaml", Ok("1.1.0")),
            one("gold", "clusters/gold/c/loki.yaml", Ok("1.0.0")),
            one("gold", "clusters/gold/d/loki.yaml", Err("the file does not exist on the default branch")),
        ];
        let told = anstream::adapter::strip_str(&places(&all)).to_string();
        let expected = "Places:\n  loki\n    clusters/{tier}/{cluster}/loki.yaml ×4  HelmRelease  qa 1.2.0 · gold 2 versions\n      \
                        ✖ gold: clusters/gold/d/loki.yaml: the file does not exist on the default branch\n";
        assert_eq!(told, expected);
    }
}
