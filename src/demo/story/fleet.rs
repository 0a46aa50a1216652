//! The sandbox's config repo `acme/fleet` as it is before the story: what a platform team would
//! keep, with durations of seconds. Nothing here acts.

mod texts;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use self::texts::{
    APPLICATION, BREAKING_NOTES, CACHED, CATALOG, CODEOWNERS, DEFINITION, HELM_RELEASE, INGRESS, PASSED_NOTES, POLICY,
    PRESET, README, ROLLOUT, SCHEMA,
};
use crate::charts::Charts;
use crate::clusters::{ClusterSpec, Member, Pace};

/// Owner of the config repo.
pub const OWNER: &str = "acme";
/// Its name.
pub const NAME: &str = "fleet";
/// Where its policy is.
pub const POLICY_FILE: &str = "coldframe.yaml";
/// The team that owns all tiers but the first.
pub const TEAM: &str = "platform";
/// The tiers in order of promotion, with their clusters.
pub const TIERS: [(&str, &[&str]); 4] = [
    ("qa", &["qa-1", "qa-2"]),
    ("bronze", &["bronze-ap", "bronze-eu", "bronze-us"]),
    ("silver", &["silver-ap", "silver-eu-1", "silver-eu-2", "silver-us"]),
    ("gold", &["gold-ap", "gold-eu", "gold-us"]),
];
/// The catalog of definitions at the same hub.
pub const EXTENSIONS: &str = "extensions";
/// The cluster in which Greenhouse runs a plugin for all others.
pub const HUB: &str = "greenhouse";
/// Where the bad release does not come up.
pub const TROUBLED: &str = "silver-us";
/// From the opened pull request to the merge without approval, in seconds, where there is such a
/// period: on the last tier for the Argo CD plugin.
pub const GRACE: i64 = 20;

/// One plugin of the story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plugin {
    /// Its name, which is its chart's name too.
    pub name: &'static str,
    /// The versions of its chart where those are not its own: before the story and in it.
    pub chart: Option<(&'static str, &'static str)>,
    /// What runs everywhere before the story.
    pub before: &'static str,
    /// What climbs.
    pub climbs: &'static str,
    /// What the author wrote about it.
    pub notes: &'static str,
    /// Who rolls it out.
    pub engine: Engine,
    /// What happens to it.
    pub fate: Fate,
}

/// Who rolls a plugin out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Flux, by a HelmRelease.
    Flux,
    /// Argo CD, by an Application.
    ArgoCd,
    /// Flux brings the chart, Argo Rollouts the workload in it.
    Rollouts,
    /// Greenhouse, by a catalog of the tier in the hub.
    Greenhouse,
}

/// What happens to a release on its way up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing special.
    Clean,
    /// It does not come up on one cluster of silver; this version mends it.
    Broken {
        /// The version that overtakes it.
        fix: &'static str,
        /// What its author wrote.
        notes: &'static str,
    },
    /// Nobody approves it on the last tier.
    Forced,
    /// It breaks: the code owner acknowledges it, and one tier lacks a value until somebody sets it there.
    Breaking {
        /// The release that is passed over.
        passed: &'static str,
    },
}

impl Plugin {
    /// What stands in a manifest for this version.
    pub fn spelled(&self, version: &str) -> String {
        match self.engine {
            Engine::Flux | Engine::ArgoCd | Engine::Rollouts => version.to_owned(),
            Engine::Greenhouse => format!("{}/{version}", self.name),
        }
    }

    /// The manifests that name its version on a tier.
    pub fn manifests(&self, tier: &str) -> Vec<String> {
        let clusters = TIERS.iter().find(|(name, _)| *name == tier).map_or(&[][..], |(_, clusters)| *clusters);
        match self.engine {
            Engine::Flux | Engine::ArgoCd | Engine::Rollouts => {
                clusters.iter().map(|cluster| manifest_path(tier, cluster, self.name)).collect()
            }
            Engine::Greenhouse => vec![catalog_path(tier)],
        }
    }

    /// The version that all clusters run when the story is over.
    pub fn ends_at(&self) -> &'static str {
        match self.fate {
            Fate::Clean | Fate::Forced | Fate::Breaking { .. } => self.climbs,
            Fate::Broken { fix, .. } => fix,
        }
    }
}

/// The plugins in the order of the policy file.
pub const PLUGINS: [Plugin; 5] = [
    Plugin {
        name: "cert-manager",
        chart: None,
        before: "1.14.7",
        climbs: "1.15.0",
        notes: "Certificates can be renewed by percentage of their lifetime\nThe webhook starts faster",
        engine: Engine::Flux,
        fate: Fate::Clean,
    },
    Plugin {
        name: "ingress-nginx",
        chart: None,
        before: "4.11.2",
        climbs: "4.11.3",
        notes: "Update the controller image\nDrop an unused port",
        engine: Engine::Flux,
        fate: Fate::Broken { fix: "4.11.4", notes: "Put back the port that some load balancers probe" },
    },
    Plugin {
        name: "kube-state-metrics",
        chart: None,
        before: "5.25.0",
        climbs: "5.25.1",
        notes: "Fewer series for completed jobs",
        engine: Engine::ArgoCd,
        fate: Fate::Forced,
    },
    Plugin {
        name: "podinfo",
        chart: None,
        before: "6.7.0",
        climbs: "6.8.0",
        notes: "",
        engine: Engine::Rollouts,
        fate: Fate::Breaking { passed: "6.7.1" },
    },
    Plugin {
        name: "perses",
        chart: Some(("0.15.1", "0.15.3")),
        before: "0.9.3",
        climbs: "0.9.4",
        notes: "Panels remember their zoom",
        engine: Engine::Greenhouse,
        fate: Fate::Clean,
    },
];

/// A release of the chart that breaks.
#[derive(Clone, Copy, Debug)]
pub struct Breaking {
    /// Its version.
    pub version: &'static str,
    /// What its repository says of it.
    pub text: &'static str,
    /// The files that it has beside those of every chart.
    pub files: &'static [(&'static str, &'static str)],
}

/// The releases of the chart that breaks, oldest first.
pub const BREAKING: [Breaking; 3] = [
    Breaking { version: "6.7.0", text: "", files: &[("values.yaml", CACHED)] },
    Breaking { version: "6.7.1", text: PASSED_NOTES, files: &[("values.yaml", CACHED)] },
    Breaking {
        version: "6.8.0",
        text: BREAKING_NOTES,
        files: &[("values.schema.json", SCHEMA), ("templates/ingress.yaml", INGRESS)],
    },
];
/// The tier that lacks what the breaking release requires.
pub const LACKING: &str = "silver";
/// What it requires, as it stands in the manifests of the other tiers, at their end.
pub const REQUIRED: &str = "    host: podinfo.example.org\n";

/// The clusters to start.
pub fn clusters() -> Vec<ClusterSpec> {
    let names = TIERS.iter().flat_map(|(tier, clusters)| clusters.iter().map(move |cluster| (*tier, *cluster)));
    let spec = |(number, (tier, name)): (usize, (&str, &str))| ClusterSpec {
        name: name.to_owned(),
        folder: format!("clusters/{tier}/{name}"),
        tier: tier.to_owned(),
        credential: format!("{name}-reader"),
        pace: Pace::of_number(number),
        members: Vec::new(),
    };
    names.enumerate().map(spec).collect()
}

/// The hub to start beside them.
pub fn hub() -> ClusterSpec {
    let member = |spec: ClusterSpec| Member { name: spec.name, tier: spec.tier };
    ClusterSpec {
        name: HUB.to_owned(),
        folder: HUB.to_owned(),
        tier: String::new(),
        credential: format!("{HUB}-reader"),
        pace: Pace::of_number(1),
        members: clusters().into_iter().map(member).collect(),
    }
}

/// Where the manifest of a plugin lies.
pub fn manifest_path(tier: &str, cluster: &str, plugin: &str) -> String {
    format!("clusters/{tier}/{cluster}/{plugin}.yaml")
}

/// Where the catalog of a tier lies.
fn catalog_path(tier: &str) -> String {
    format!("{HUB}/{tier}/catalog.yaml")
}

/// The file of a definition in the catalog.
pub fn definition_path(plugin: &str) -> String {
    format!("{plugin}/plugindefinition.yaml")
}

/// A definition of the catalog, with a version and its chart's.
pub fn definition(charts: &Charts, plugin: &str, version: &str, chart: &str) -> String {
    let text = DEFINITION.replace("NAME", plugin).replace("CHART", chart).replace("VERSION", version);
    text.replace("REPOSITORY", &charts.repository())
}

/// All files of the repository's first commit, with the address of the catalog.
pub fn files(charts: &Charts, catalog: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::from([
        ("README.md".to_owned(), README.to_owned()),
        (".github/CODEOWNERS".to_owned(), CODEOWNERS.to_owned()),
        ("coldframe.yaml".to_owned(), policy(charts, catalog)),
        ("clusters.yaml".to_owned(), inventory()),
    ]);
    for (tier, clusters) in TIERS {
        for plugin in PLUGINS {
            if plugin.engine == Engine::Greenhouse {
                let of_tier = |text: &str| filled(text, &plugin, tier).replace("EXTENSIONS", catalog);
                files.insert(catalog_path(tier), of_tier(CATALOG));
                files.insert(format!("{HUB}/{tier}/{}.yaml", plugin.name), of_tier(PRESET));
                continue;
            }
            for cluster in clusters {
                files.insert(manifest_path(tier, cluster, plugin.name), manifest(charts, &plugin, tier, cluster));
            }
        }
    }
    files
}

fn inventory() -> String {
    let mut text = "# Every cluster of the fleet. A tier of coldframe.yaml selects by label; `credential` names a\n\
                    # connection in the settings of the bot, nothing secret stands here.\n\
                    clusters:\n"
        .to_owned();
    for spec in clusters() {
        let region = spec.name.split('-').nth(1).filter(|region| region.len() == 2).unwrap_or("eu");
        let _ = writeln!(text, "  - name: {}", spec.name);
        let _ = writeln!(text, "    labels: {{tier: {}, region: {region}}}", spec.tier);
        let _ = writeln!(text, "    credential: {}", spec.credential);
    }
    text
}

fn policy(charts: &Charts, catalog: &str) -> String {
    let (oci, repository) = (charts.reference("cert-manager"), charts.repository());
    let text = POLICY.replace("OCI", &oci).replace("REPOSITORY", &repository).replace("EXTENSIONS", catalog);
    text.replace("GRACE", &GRACE.to_string())
}

fn manifest(charts: &Charts, plugin: &Plugin, tier: &str, cluster: &str) -> String {
    let (template, namespace, source) = match plugin.engine {
        Engine::ArgoCd => (APPLICATION, "monitoring", charts.repository()),
        Engine::Flux | Engine::Rollouts | Engine::Greenhouse => (HELM_RELEASE, plugin.name, String::new()),
    };
    let values = if plugin.engine == Engine::Rollouts { ROLLOUT } else { "" };
    let breaks = matches!(plugin.fate, Fate::Breaking { .. });
    let required = if breaks && tier != LACKING { REQUIRED } else { "" };
    let text = format!("{template}{values}{required}").replace("NAMESPACE", namespace).replace("CLUSTER", cluster);
    filled(&text, plugin, tier).replace("SOURCE", &source)
}

fn filled(text: &str, plugin: &Plugin, tier: &str) -> String {
    text.replace("NAME", plugin.name)
        .replace("VERSION", plugin.before)
        .replace("TIER", tier)
        .replace("REPLICAS", if tier == "gold" { "3" } else { "2" })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[tokio::test]
    async fn the_repository_is_whole() {
        let charts = Charts::start().await.unwrap();
        let files = files(&charts, "http://127.0.0.1:1/acme/extensions");
        assert_eq!(files.len(), 4 + 12 * 4 + 4 * 2);
        for (path, text) in &files {
            assert!(text.ends_with('\n'), "{path}");
            if path.ends_with(".yaml") {
                let _: serde_yaml::Value = serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"));
            }
            for blank in ["NAME", "VERSION", "CLUSTER", "TIER", "SOURCE", "REPLICAS", "REPOSITORY", "OCI", "GRACE"] {
                let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| *word == blank);
                assert_eq!(words.filter(|_| path != ".github/CODEOWNERS").count(), 0, "{path} keeps {blank}");
            }
        }
        let gold = &files["clusters/gold/gold-eu/ingress-nginx.yaml"];
        assert!(gold.contains("version: 4.11.2 #") && gold.contains("replicas: 3"), "{gold}");
        assert!(files["clusters.yaml"].contains("  - name: silver-eu-1\n    labels: {tier: silver, region: eu}\n"));
        assert!(
            files["coldframe.yaml"]
                .contains(&format!("oci+http://127.0.0.1:{}", charts.host().split(':').nth(1).unwrap()))
        );
    }
}
