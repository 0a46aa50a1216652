//! What the world looks like at one moment: pull requests from the hub, releases from the clusters.
//! Who looks is in `stage`; what changed between two moments is in `chronicle`.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::fleet::TIERS;
use crate::clusters::{Seen, State};

/// A plugin on a tier.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rung {
    /// The plugin.
    pub plugin: String,
    /// The tier.
    pub tier: String,
}

impl Rung {
    /// From the name of the branch that proposes a release, `<anything>/<plugin>/<tier>`.
    pub fn of_branch(branch: &str) -> Option<Self> {
        let mut parts = branch.rsplitn(3, '/');
        let (tier, plugin, _) = (parts.next()?, parts.next()?, parts.next()?);
        let known = TIERS.iter().any(|(name, _)| *name == tier);
        known.then(|| Self { plugin: plugin.to_owned(), tier: tier.to_owned() })
    }
}

/// A pull request as everybody can see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullSeen {
    /// Its number.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Who opened it.
    pub author: String,
    /// Its head branch.
    pub branch: String,
    /// Its head commit.
    pub head: String,
    /// Which plugin it moves on which tier; none for a pull request of a person.
    pub rung: Option<Rung>,
    /// The version that its head writes.
    pub version: Option<String>,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it was closed, merged or not.
    pub closed_at: Option<Timestamp>,
    /// When and by whom it was merged.
    pub merged: Option<(Timestamp, String)>,
    /// Whose approval stands.
    pub approved_by: Vec<String>,
    /// Whether the hub still asks for a review.
    pub wants_review: bool,
    /// What checks say about the head.
    pub checks: Vec<String>,
    /// Comments: author and text.
    pub comments: Vec<(String, String)>,
}

impl PullSeen {
    /// Neither merged nor closed.
    pub fn is_open(&self) -> bool {
        self.closed_at.is_none()
    }

    /// `cert-manager 1.15.0 → bronze`, or the title.
    pub fn what(&self) -> String {
        match (&self.rung, &self.version) {
            (Some(rung), Some(version)) => format!("{} {version} → {}", rung.plugin, rung.tier),
            _ => self.title.clone(),
        }
    }

    /// The first line on it, wherever it stands, that speaks of this cluster as failed.
    pub fn blames(&self, cluster: &str) -> Option<String> {
        const WORDS: [&str; 6] = ["fail", "degraded", "held", "timed out", "stalled", "unhealthy"];
        let comments = self.comments.iter().map(|(_, text)| text);
        let texts = std::iter::once(&self.body).chain(&self.checks).chain(comments);
        let mut lines = texts.flat_map(|text| text.lines());
        let blaming = |line: &&str| {
            let lower = line.to_lowercase();
            line.contains(cluster) && WORDS.iter().any(|word| lower.contains(word))
        };
        lines.find(blaming).map(bare)
    }
}

/// A line of Markdown without its ornaments. Pictures go too: they are two columns wide, and the board
/// counts on one.
fn bare(line: &str) -> String {
    let ornament = |letter: &char| matches!(letter, '*' | '|' | '`' | '#' | '✅' | '⚪') || *letter > '\u{ffff}';
    let line: String = line.trim_start_matches(['>', ' ']).chars().filter(|letter| !ornament(letter)).collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One moment of the world.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// When.
    pub at: Timestamp,
    /// Pull requests by number.
    pub pulls: BTreeMap<u64, PullSeen>,
    /// Cluster, then plugin.
    pub releases: BTreeMap<String, BTreeMap<String, Seen>>,
}

/// How a plugin is on the clusters of a tier together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Together {
    /// Clusters of the tier.
    pub members: usize,
    /// The newest version that any of them is to run.
    pub wanted: String,
    /// How many run it and are well.
    pub well: usize,
    /// Those on which it failed or is not well.
    pub ill: Vec<String>,
}

impl Scene {
    /// The clusters of a tier, taken together; none where the plugin is not installed.
    pub fn together(&self, plugin: &str, tier: &str) -> Option<Together> {
        let (_, names) = TIERS.iter().find(|(name, _)| *name == tier)?;
        let here: Vec<(&str, &Seen)> =
            names.iter().filter_map(|name| Some((*name, self.releases.get(*name)?.get(plugin)?))).collect();
        let order = |seen: &Seen| semver::Version::parse(&seen.wanted).ok();
        let wanted = here.iter().map(|(_, seen)| seen).max_by_key(|seen| order(seen))?.wanted.clone();
        let well = |seen: &Seen| seen.wanted == wanted && seen.state == State::Healthy;
        let ill = |seen: &Seen| matches!(seen.state, State::Failed | State::Degraded);
        Some(Together {
            members: here.len(),
            well: here.iter().filter(|(_, seen)| well(seen)).count(),
            ill: here.iter().filter(|(_, seen)| ill(seen)).map(|(name, _)| (*name).to_owned()).collect(),
            wanted,
        })
    }

    /// The open pull request for a plugin on a tier.
    pub fn open(&self, plugin: &str, tier: &str) -> Option<&PullSeen> {
        let here = |pull: &&PullSeen| {
            pull.is_open() && pull.rung.as_ref().is_some_and(|rung| rung.plugin == plugin && rung.tier == tier)
        };
        self.pulls.values().find(here)
    }

    /// Whether every cluster runs this version of the plugin and is well.
    pub fn everywhere(&self, plugin: &str, version: &str) -> bool {
        TIERS.iter().all(|(tier, _)| {
            self.together(plugin, tier)
                .is_some_and(|together| together.wanted == version && together.well == together.members)
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    /// A pull request of the bot, opened so many seconds after the epoch.
    pub(crate) fn pull(number: u64, plugin: &str, tier: &str, version: &str, opened: i64) -> PullSeen {
        let branch = format!("coldframe/{plugin}/{tier}");
        PullSeen {
            number,
            title: format!("{plugin} {version} → {tier}"),
            body: String::new(),
            author: "coldframe[bot]".to_owned(),
            head: format!("{number:040}"),
            rung: Rung::of_branch(&branch),
            branch,
            version: Some(version.to_owned()),
            opened_at: Timestamp::from_second(opened).unwrap(),
            closed_at: None,
            merged: None,
            approved_by: Vec::new(),
            wants_review: tier != "qa",
            checks: Vec::new(),
            comments: Vec::new(),
        }
    }

    #[test]
    fn a_rung_is_read_from_the_branch() {
        let rung = |plugin: &str, tier: &str| Some(Rung { plugin: plugin.to_owned(), tier: tier.to_owned() });
        assert_eq!(Rung::of_branch("coldframe/cert-manager/qa"), rung("cert-manager", "qa"));
        for branch in ["main", "feature/qa", "coldframe/cert-manager/nowhere", "qa"] {
            assert_eq!(Rung::of_branch(branch), None, "{branch}");
        }
    }

    #[test]
    fn blame_is_found_wherever_it_stands() {
        let mut seen = pull(1, "ingress-nginx", "silver", "4.11.3", 0);
        seen.body = "All is well on silver-us.\n".to_owned();
        assert_eq!(seen.blames("silver-us"), None);
        seen.checks.push("| health | ✖ fail | `silver-us`: UpgradeFailed |".to_owned());
        assert_eq!(seen.blames("silver-us").unwrap(), "health ✖ fail silver-us: UpgradeFailed");
        assert_eq!(seen.blames("silver-ap"), None);
        seen.body = "**Held.** silver-us is degraded".to_owned();
        assert_eq!(seen.blames("silver-us").unwrap(), "Held. silver-us is degraded");
        seen.body = "> 🔴 **Held since noon.** silver-us is degraded".to_owned();
        assert_eq!(seen.blames("silver-us").unwrap(), "Held since noon. silver-us is degraded");
    }
}
