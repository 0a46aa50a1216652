//! A catalog of definitions in git: the versions of definitions climb, by the tags that a Catalog takes them by.

use std::collections::{BTreeMap, BTreeSet};

use decide::Version;
use serde_json::Value;

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

/// What a public catalog of Greenhouse's plugins did in its first 76 weeks: each release with its chart.
const HISTORY: &str = include_str!("../fixtures/rehearse/greenhouse-releases.json");
const CATALOG: &str = "acme/plugins";
const TIERS: [&str; 2] = ["qa", "bronze"];

/// One definition of the history.
struct Defined {
    folder: String,
    version: String,
    chart: Option<(String, String)>,
}

impl Defined {
    /// In the catalog one folder is not called as the plugin in it.
    fn name(&self) -> &str {
        if self.folder == "exposed-services" { "exposed-service" } else { &self.folder }
    }

    fn tag(&self) -> String {
        format!("{}/{}", self.name(), self.version)
    }

    fn text(&self, registry: &str) -> String {
        let brings = match &self.chart {
            Some((name, version)) => {
                format!(
                    "  helmChart: {{name: {name}, repository: 'oci+http://{registry}/charts', version: '{version}'}}\n"
                )
            }
            None => "  uiApplication: {name: app, version: latest}\n".to_owned(),
        };
        let (name, version) = (self.name(), &self.version);
        format!(
            "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginDefinition\nmetadata: {{name: {name}}}\nspec:\n  \
             version: {version}\n{brings}"
        )
    }

    /// Its chart has a version: a branch may be anything tomorrow.
    fn is_whole(&self) -> bool {
        self.chart.as_ref().is_none_or(|(_, version)| version.parse::<Version>().is_ok())
    }
}

fn history() -> Vec<Defined> {
    let events: Vec<Value> = serde_json::from_str(HISTORY).unwrap();
    let text = |event: &Value, key: &str| event[key].as_str().map(str::to_owned);
    let released = events.iter().filter(|event| matches!(event["event"].as_str(), Some("added" | "release")));
    let defined = |event: &Value| Defined {
        folder: text(event, "plugin").unwrap(),
        version: text(event, "version").unwrap(),
        chart: text(event, "chart").zip(text(event, "chart_version")),
    };
    released.map(defined).collect()
}

/// The newest release of each plugin that is whole, and the first one, where they differ.
fn ends(all: &[Defined]) -> BTreeMap<&str, (&Defined, &Defined)> {
    let parsed = |defined: &Defined| defined.version.parse::<Version>().unwrap();
    let mut tagged = BTreeSet::new();
    let mut ends: BTreeMap<&str, (&Defined, &Defined)> = BTreeMap::new();
    // The tag of a version stays where it was made first.
    for defined in all.iter().filter(|defined| tagged.insert(defined.tag()) && defined.is_whole()) {
        let (_, last) = ends.entry(&defined.folder).or_insert((defined, defined));
        if parsed(defined) > parsed(last) {
            *last = defined;
        }
    }
    ends.retain(|_, (first, last)| parsed(first) < parsed(last));
    ends
}

/// Plays all commits of the catalog with their tags, and publishes the charts that were.
fn play(stage: &Stage, all: &[Defined]) {
    let (github, charts) = (stage.world.github(), stage.world.charts());
    let mut tagged = BTreeSet::new();
    for defined in all {
        if let Some((chart, version)) = defined.chart.as_ref().filter(|_| defined.is_whole())
            && !charts.versions(chart).contains(version)
        {
            charts.publish(chart, version, "").unwrap();
        }
        let path = format!("{}/plugindefinition.yaml", defined.folder);
        let (text, tag) = (defined.text(&charts.host()), defined.tag());
        let commit = github.push_file(CATALOG, "main", "vera", &path, &text, &tag).unwrap();
        if tagged.insert(tag.clone()) {
            github.tag(CATALOG, "vera", &tag, &commit).unwrap();
        }
    }
}

/// The files of the config repository: a Catalog for each tier, a preset for each plugin and tier, and the policy.
fn files(stage: &Stage, ends: &BTreeMap<&str, (&Defined, &Defined)>) -> Vec<(String, String)> {
    let repository = format!("{}/{CATALOG}", stage.world.settings().hub);
    let mut policy =
        "version: 1\nclusters: {from: file, path: clusters.yaml}\nlimits: {openPulls: 60}\ntiers:\n".to_owned();
    let mut files = vec![(".github/CODEOWNERS".to_owned(), "/clusters/ @acme/platform\n".to_owned())];
    for tier in TIERS {
        policy.push_str(&format!(
            "  - name: {tier}\n    select: {{matchLabels: {{tier: {tier}}}}}\n    merge: automatic\n    soak: 1s\n    \
             health: {{progressDeadline: 10m, degradedFor: 1m}}\n"
        ));
        let mut catalog = format!(
            "apiVersion: greenhouse.sap/v1alpha1\nkind: Catalog\nmetadata: {{name: extensions-{tier}, namespace: acme}}\n\
             spec:\n  sources:\n"
        );
        for (folder, (first, _)) in ends {
            let (name, tag) = (first.name(), first.tag());
            catalog.push_str(&format!(
                "    - repository: {repository}\n      resources: [{folder}/plugindefinition.yaml]\n      ref:\n        \
                 tag: {tag} # exact\n      overrides:\n        - name: {name}\n          alias: {name}-{tier}\n"
            ));
            files.push((
                format!("greenhouse/{tier}/{folder}.yaml"),
                format!(
                    "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginPreset\nmetadata: {{name: {folder}-{tier}, namespace: \
                     acme}}\nspec:\n  clusterSelector: {{matchLabels: {{tier: {tier}}}}}\n  plugin:\n    \
                     pluginDefinitionRef: {{kind: PluginDefinition, name: {name}-{tier}}}\n    releaseNamespace: {folder}\n"
                ),
            ));
        }
        files.push((format!("greenhouse/{tier}/catalog.yaml"), catalog));
    }
    policy.push_str("plugins:\n");
    for folder in ends.keys() {
        policy.push_str(&format!(
            "  - name: {folder}\n    chart: {{catalog: {repository}, path: {folder}/plugindefinition.yaml}}\n    poll: 5s\n    \
             write: [{{file: \"greenhouse/{{tier}}/catalog.yaml\"}}]\n    signals:\n      - pluginPreset: {{namespace: acme, \
             name: \"{folder}-{{tier}}\", catalog: \"extensions-{{tier}}\"}}\n        connection: greenhouse-reader\n"
        ));
    }
    files.push(("coldframe.yaml".to_owned(), policy));
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn every_plugin_of_a_real_catalog_climbs_by_the_versions_of_its_definitions() {
    let stage = Stage::whole().await;
    let github = stage.world.github();
    let all = history();
    let ends = ends(&all);
    assert!(ends.len() > 20, "{}", ends.len());
    let apart = ends.values().filter(|(_, last)| last.chart.as_ref().is_some_and(|(_, chart)| *chart != last.version));
    assert!(apart.count() > 8, "charts with numbers of their own");
    github.add_repository("acme", "plugins", &[("README.md".to_owned(), "Plugins\n".to_owned())]).unwrap();
    github.set_permission(CATALOG, "vera", demo::github::Role::Write).unwrap();
    play(&stage, &all);
    let mut head = String::new();
    for (path, text) in files(&stage, &ends) {
        head = github.push_file(REPOSITORY, "catalog", "vera", &path, &text, "Follow the catalog").unwrap();
    }
    github.force_branch(REPOSITORY, "main", "vera", Some(&head)).unwrap();
    github.force_branch(REPOSITORY, "catalog", "vera", None).unwrap();
    let _bot = stage.serve();
    let mut acknowledged = BTreeSet::new();
    let whole = |stage: &Stage| {
        for pull in stage.pulls().into_iter().filter(is_open) {
            if acknowledged.insert(pull.number) {
                // Most of them come over several majors at once.
                let of = |(folder, (_, last)): (&&str, &(&Defined, &Defined))| {
                    pull.head.split('/').any(|part| part == *folder).then(|| last.version.clone())
                };
                let words = format!("/coldframe acknowledge {}", ends.iter().find_map(of).unwrap());
                github.comment(REPOSITORY, pull.number, "vera", &words).unwrap();
            }
        }
        let catalog = github.file(REPOSITORY, "main", "greenhouse/bronze/catalog.yaml").unwrap().unwrap();
        let missing: Vec<String> = ends
            .values()
            .map(|(_, last)| last.tag())
            .filter(|tag| !catalog.contains(&format!("tag: {tag} # exact\n")))
            .collect();
        missing.is_empty().then_some(())
    };
    stage.within(900, "every plugin is on bronze at the newest version of its definition", whole).await;
    let merged = stage.pulls().into_iter().filter(is_merged).count();
    println!("{} plugins, {merged} pull requests, {} releases in the catalog", ends.len(), all.len());
    assert_eq!(merged, 2 * ends.len());
}
