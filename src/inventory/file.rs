//! Clusters listed in a YAML file of the config repo: the one inventory that is reviewed in a pull
//! request. How a cluster is reached stands in the operator's settings, under the credential's name.

use std::collections::BTreeMap;

use decide::ClusterName;
use decide::selector::Labels;

use crate::ListedCluster;
use parse::forms::{List, Table};
use parse::read::{FromNode, Spanned, record};
use parse::report::Report;
use parse::scalar::{Cluster, Credential, LabelKey, LabelValue};
use parse::{Problems, tree};

record! {
    /// The clusters.
    InventoryFile = "file" {
        /// Every cluster.
        required clusters "clusters": List<ClusterFile>,
    }
    unsupported []
}

record! {
    /// One cluster.
    ClusterFile = "cluster" {
        /// Its name, `name` or `organization/name`.
        required name "name": Cluster,
        /// What selectors see.
        optional labels "labels": Table<LabelKey, LabelValue>,
        /// The name of its connection in the operator's settings. Default the cluster's own name.
        optional credential "credential": Credential,
    }
    unsupported []
}

/// Reads `clusters: [{name, labels, credential}]`; `path` is what problems name as the file. Fails
/// with every problem of the file. Clusters stay in the order of the file.
pub fn parse(path: &str, text: &str) -> Result<Vec<ListedCluster>, Problems> {
    let mut report = Report::default();
    let node = tree::parse(0, text, &mut report);
    if node.is_none() && report.is_empty() {
        report.problem(tree::Span::top(0), "the file is empty", Some("begin with `clusters:`"));
    }
    let file = node.and_then(|node| InventoryFile::from_node(&node, &mut report));
    let list = file.and_then(|file| file.clusters).map(|list| list.value.items).unwrap_or_default();
    unique(&list, &mut report);
    let clusters = list.into_iter().filter_map(|cluster| listed(cluster.value)).collect();
    let (problems, _) = report.finish(&[path.to_string()]);
    if problems.is_empty() { Ok(clusters) } else { Err(Problems(problems)) }
}

fn listed(file: ClusterFile) -> Option<ListedCluster> {
    let name = file.name?.value.0;
    let labels = file.labels.map(|table| table.value.0).unwrap_or_default();
    let labels: Labels = labels.into_iter().map(|(key, value)| (key.value.0, value.value.0)).collect();
    let credential = file.credential.map_or_else(|| name.clone(), |credential| credential.value.0);
    Some(ListedCluster { name: ClusterName::new(name), labels, credential, secret_ref: None, stale: None })
}

/// Reports clusters whose name an earlier one has.
fn unique(list: &[Spanned<ClusterFile>], report: &mut Report) {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for name in list.iter().filter_map(|cluster| cluster.value.name.as_ref()) {
        let text = name.value.0.as_str();
        if let Some(line) = lines.get(text) {
            let help = format!("the first is on line {line}; keep one");
            report.problem(name.at, format!("two clusters are called `{text}`"), Some(&help));
        } else {
            lines.insert(text, name.at.line);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn clusters_with_labels_and_credentials() {
        let text = "\
# reviewed by the platform team
clusters:
  - name: eu-1
    labels: {tier: gold, example.com/region: eu, ha: true, shard: 01}
    credential: gold/eu-1
  - {name: acme/us-1}
";
        let clusters = parse("clusters.yaml", text).unwrap();
        let labels: Vec<(&str, &str)> =
            clusters[0].labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(labels, [("example.com/region", "eu"), ("ha", "true"), ("shard", "01"), ("tier", "gold")]);
        assert_eq!((clusters[0].name.as_str(), clusters[0].credential.as_str()), ("eu-1", "gold/eu-1"));
        assert_eq!((clusters[1].name.as_str(), clusters[1].credential.as_str()), ("acme/us-1", "acme/us-1"));
        assert!(parse("clusters.yaml", "clusters: []").unwrap().is_empty());
    }

    #[test]
    fn every_mistake_at_once() {
        let text = "\
clusters:
  - name: EU_1
  - name: a/b/c
  - {name: eu-2, label: {tier: gold}}
  - {name: eu-2, labels: {tier: [gold]}}
  - {labels: {-x: y, tier: a b}, credential: 'a;b'}
  - eu-3
cluster: x
";
        let problems = parse("inv/clusters.yaml", text).unwrap_err();
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let expected = [
            "inv/clusters.yaml:2:11: `name` of cluster `EU_1`: `EU_1` is not the name of a cluster",
            "inv/clusters.yaml:3:11: `name` of cluster `a/b/c`: `a/b/c` is not the name of a cluster",
            "inv/clusters.yaml:4:18: unknown key `label` in cluster `eu-2` (did you mean `labels`?)",
            "inv/clusters.yaml:5:12: two clusters are called `eu-2` (the first is on line 4; keep one)",
            "inv/clusters.yaml:5:33: `tier` of `labels` of cluster `eu-2`: expected a label value such as `gold`, found a list",
            "inv/clusters.yaml:6:5: a cluster has no `name`",
            "inv/clusters.yaml:6:15: `labels` of a cluster without a name: `-x` is not the key of a label",
            "inv/clusters.yaml:6:28: `tier` of `labels` of a cluster without a name: `a b` is not the value of a label",
            "inv/clusters.yaml:6:46: `credential` of a cluster without a name: `a;b` is not the name of a credential",
            "inv/clusters.yaml:7:5: `clusters`: expected a mapping of `name`, `labels`, `credential`, found a text",
            "inv/clusters.yaml:8:1: unknown key `cluster` at the top level (did you mean `clusters`?)",
        ];
        assert_eq!(told.len(), expected.len(), "{told:#?}");
        for (told, expected) in told.iter().zip(expected) {
            assert!(told.starts_with(expected), "\n{told}\n{expected}");
        }
    }

    #[test]
    fn nothing_and_rubbish() {
        for (text, expected) in [
            ("", "clusters.yaml:1:1: the file is empty"),
            ("# only a comment\n", "clusters.yaml:1:1: the file is empty"),
            ("{}", "clusters.yaml:1:1: the file has no `clusters`"),
            ("clusters:", "clusters.yaml:1:1: `clusters`: nothing stands here"),
            ("clusters: eu-1", "clusters.yaml:1:11: `clusters`: expected a list (`[…]`, also for one), found a text"),
            ("clusters: [", "clusters.yaml:"),
            ("clusters: []\n---\nclusters: []", "clusters.yaml:2:1: a second document begins here"),
        ] {
            let problems = parse("clusters.yaml", text).unwrap_err();
            assert_eq!(problems.len(), 1, "{text:?}: {problems}");
            assert!(problems[0].to_string().starts_with(expected), "{text:?}: {problems}");
        }
    }
}
