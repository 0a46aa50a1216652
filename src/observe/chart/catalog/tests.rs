//! A catalog on a real git server, with the registry of its charts.
#![allow(clippy::unwrap_used)]

use demo::charts::Charts;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::*;
use crate::git::testing::Server;
use crate::observe::net::net_to;

const PATH: &str = "perses/plugindefinition.yaml";

/// A catalog on a git server, and the registry of its charts.
struct World {
    runtime: Runtime,
    server: Server,
    charts: Charts,
    net: Net,
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        let (runtime, server) = (Runtime::new().unwrap(), Server::start());
        let charts = runtime.block_on(Charts::start()).unwrap();
        let net = net_to(&server, &[charts.host()]);
        Self { runtime, server, charts, net, folder: tempfile::tempdir().unwrap() }
    }

    /// A definition with a chart of a number of its own.
    fn definition(&self, name: &str, version: &str, chart: &str, options: &str) -> String {
        format!(
            "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginDefinition\nmetadata: {{name: {name}}}\nspec:\n  \
             version: {version}\n  helmChart: {{name: perses, repository: 'oci+http://{}/charts', version: '{chart}'}}\n  \
             options: [{options}]\n",
            self.charts.host()
        )
    }

    /// Commits a text as the definition, and tags it.
    fn release(&self, tag: Option<&str>, text: &str) -> String {
        let commit = self.server.commit("main", &[(PATH, text)]);
        if let Some(tag) = tag {
            self.server.git(&["tag", "--force", tag, "main"]);
        }
        commit
    }

    fn chart(&self, version: &str, values: &str) {
        let files = &[("values.yaml", values)];
        self.charts.publish_with("perses", version, "", files).unwrap();
    }

    /// A source that has seen nothing yet.
    fn source(&self) -> Catalog {
        let mirrors = Mirrors::in_folder(self.folder.path().to_path_buf());
        Catalog::new(mirrors.of(&self.server.url, &self.net).unwrap(), PATH.to_string(), self.net.clone())
    }

    /// What it says, by version: the digest, or what is missing.
    fn look(&self, source: &Catalog) -> Vec<(String, Result<String, String>)> {
        self.runtime.block_on(async {
            let mut versions = source.versions().await.unwrap();
            versions.sort();
            let mut all = Vec::new();
            for version in versions {
                let found = source.describe(&version).await.unwrap().unwrap();
                let said = found.incomplete.map_or_else(|| Ok(found.digest.unwrap().to_string()), Err);
                all.push((version.as_str().to_string(), said));
            }
            all
        })
    }
}

fn texts(all: &[(String, Result<String, String>)]) -> Vec<&str> {
    all.iter().map(|(version, _)| version.as_str()).collect()
}

#[test]
fn the_version_of_the_definition_climbs_and_its_chart_is_a_fact_of_it() {
    let world = World::new();
    world.chart("0.14.10", "replicas: 1\n");
    world.chart("0.14.11", "replicas: 1\n");
    world.release(Some("perses/0.8.10"), &world.definition("perses", "0.8.10", "0.14.10", ""));
    let second = world.release(Some("perses/0.8.11"), &world.definition("perses", "0.8.11", "0.14.11", ""));
    world.server.git(&["tag", "other/0.14.11", "main"]);
    world.server.git(&["tag", "0.14.11", "main"]);
    let source = world.source();
    let all = world.look(&source);
    assert_eq!(texts(&all), ["0.8.10", "0.8.11"]);
    let found = world.runtime.block_on(source.describe(&"0.8.11".parse().unwrap())).unwrap().unwrap();
    assert_eq!(found.origin, Origin { sources: vec![world.server.url.clone()], revision: Some(second) });
    let (_, chart) = found.definition.as_ref().unwrap().chart.clone().unwrap();
    assert_eq!(chart.version.as_str(), "0.14.11");
    assert_eq!(world.look(&world.source()), all, "the same for a process that knows nothing");
    // Of the two that make a release each is pinned.
    world.release(Some("perses/0.8.11"), &world.definition("perses", "0.8.11", "0.14.11", "{name: x, type: string}"));
    let moved = world.look(&world.source());
    assert!(moved[0] == all[0] && moved[1] != all[1] && moved[1].1.is_ok(), "the definition: {moved:?}");
    world.charts.republish("perses", "0.14.10").unwrap();
    let again = world.look(&world.source());
    assert!(again[0] != moved[0] && again[0].1.is_ok() && again[1] == moved[1], "the chart: {again:?}");
}

#[test]
fn the_name_in_the_file_goes_before_that_of_its_folder() {
    let world = World::new();
    world.chart("1.0.0", "");
    for (tag, name, version) in [
        ("perses/0.1.0", "perses", "0.1.0"),
        ("dashboards/v0.2.0", "dashboards", "v0.2.0"),
        ("dashboards/0.2.1", "dashboards", "0.2.1"),
    ] {
        world.release(Some(tag), &world.definition(name, version, "1.0.0", ""));
    }
    let all = world.look(&world.source());
    assert_eq!(texts(&all), ["0.1.0", "v0.2.0", "0.2.1"]);
    assert!(all.iter().all(|(_, said)| said.is_ok()), "{all:?}");
}

#[test]
fn what_is_not_whole_says_so_and_stops_no_other() {
    let world = World::new();
    world.chart("1.0.0", "");
    let good = world.definition("perses", "0.1.0", "1.0.0", "");
    world.release(Some("perses/0.1.0"), &good);
    world.release(Some("perses/0.2.0"), &good);
    world.release(Some("perses/0.3.0"), "spec: {version: 0.3.0, displayName: a: b}\n");
    world.server.commit_with("main", |work| std::fs::remove_file(work.join(PATH)).unwrap());
    world.server.git(&["tag", "perses/0.4.0", "main"]);
    world.release(Some("perses/0.5.0"), &world.definition("perses", "0.5.0", "1.1.0", ""));
    world.release(Some("perses/0.6.0"), &world.definition("perses", "0.6.0", "main", ""));
    let elsewhere = good.replace("0.1.0", "0.7.0").replace("oci+http://", "oci+http://registry.example:1/");
    world.release(Some("perses/0.7.0"), &elsewhere);
    world.release(None, &world.definition("perses", "0.8.0", "1.0.0", ""));
    let source = world.source();
    let all = world.look(&source);
    let says = [
        ("0.1.0", None),
        ("0.2.0", Some("at the tag perses/0.2.0, perses/plugindefinition.yaml is perses 0.1.0")),
        ("0.3.0", Some("at the tag perses/0.3.0: ")),
        ("0.4.0", Some("the tag perses/0.4.0 has no file perses/plugindefinition.yaml")),
        ("0.5.0", Some("/charts/perses has no 1.1.0 yet")),
        ("0.6.0", Some("its chart perses is at main, which is no version")),
        ("0.7.0", Some("nobody can ask for its chart: ")),
        ("0.8.0", Some("it stands in perses/plugindefinition.yaml and has no tag yet")),
    ];
    assert_eq!(texts(&all), says.map(|(version, _)| version));
    for ((version, said), (_, words)) in all.iter().zip(says) {
        match words {
            None => assert!(said.is_ok(), "{version}: {said:?}"),
            Some(words) => assert!(said.as_ref().unwrap_err().contains(words), "{version}: {said:?}"),
        }
    }
    // The chart comes, and the tag; what is on the branch does not parse, and stops nothing.
    world.chart("1.1.0", "");
    world.release(None, "a: b: c\n");
    let all = world.look(&world.source());
    assert_eq!(texts(&all), ["0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0"]);
    assert!(all[0].1.is_ok() && all[4].1.is_ok(), "{all:?}");
}

#[test]
fn options_and_values_are_compared_together() {
    let world = World::new();
    world.chart("1.0.0", "replicas: 1\nold: true\n");
    world.chart("1.1.0", "replicas: 1\n");
    world.release(Some("perses/0.1.0"), &world.definition("perses", "0.1.0", "1.0.0", ""));
    let option = "{name: region, type: string, required: true}";
    world.release(Some("perses/0.2.0"), &world.definition("perses", "0.2.0", "1.1.0", option));
    let source = world.source();
    world.look(&source);
    let read = |version: &str| {
        let found = world.runtime.block_on(source.describe(&version.parse().unwrap())).unwrap().unwrap();
        let contents = world.runtime.block_on(source.contents(&found)).unwrap().unwrap();
        let definition = Some(Definition::read(&contents.definition.unwrap()).unwrap());
        compare::Release { definition, chart: Some(compare::Chart::read(&contents.package.unwrap()).unwrap()) }
    };
    let report = compare::compare_releases(&read("0.1.0"), &read("0.2.0")).unwrap();
    let said: Vec<String> = report.changes.iter().map(ToString::to_string).collect();
    assert_eq!((report.old.version.as_str(), report.new.version.as_str()), ("0.1.0", "0.2.0"));
    let expected = ["`region` is required now and has no default", "`old` is gone; it was true"];
    assert_eq!(&said[..2], expected, "{said:?}");
    assert!(said.iter().any(|line| line.contains("1.1.0") && line.contains("1.0.0")), "{said:?}");
}

#[test]
fn a_catalog_that_may_not_be_asked_is_not_asked() {
    let world = World::new();
    let of = |url: &str, net: &Net| {
        let mirrors = Mirrors::in_folder(world.folder.path().to_path_buf());
        mirrors.of(url, net).err().map(|error| error.to_string())
    };
    let stranger = Net::new(Vec::new()).unwrap();
    assert!(of(&world.server.url, &stranger).unwrap().contains("plain http"));
    assert!(of("https://10.0.0.1/acme/x.git", &stranger).unwrap().contains("a private address"));
    assert!(of("https://user:word@git.example/x.git", &stranger).unwrap().contains("carries credentials"));
    // A name that leads to this machine.
    let mirrors = Mirrors::in_folder(world.folder.path().to_path_buf());
    let mirror = mirrors.of("https://localhost/acme/x.git", &stranger).unwrap();
    let source = Catalog::new(mirror, PATH.to_string(), stranger);
    let error = world.runtime.block_on(source.versions()).unwrap_err().to_string();
    assert!(error.contains("resolves to a private address"), "{error}");
}
