//! What a policy reads in each cluster, as rules, and the script around them.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a shell runs the script

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use decide::selector::Labels;

use super::*;
use crate::kubeconfig::Connection;

const POLICY: &str = "\
tiers:
  - {name: qa, select: {matchLabels: {tier: qa}}, merge: automatic}
  - {name: gold, select: {matchLabels: {tier: gold}}}
plugins:
  - name: loki
    chart: {oci: oci://registry.example/charts/loki}
    write: [{file: '{tier}/{cluster}/loki.yaml', path: $.version}]
    signals:
      - {helmRelease: {namespace: loki, name: 'loki-{tier}'}}
      - {application: {namespace: argocd, name: 'loki-{cluster}'}, connection: hub}
  - name: tempo
    chart: {oci: oci://registry.example/charts/tempo}
    tiers: {qa: {select: {matchLabels: {tempo: 'yes'}}}}
    write: [{file: '{tier}/{cluster}/tempo.yaml', path: $.version}]
    signals:
      - {helmSecret: {namespace: tempo, release: tempo}}
      - {canary: {namespace: tempo, name: tempo}}
";

fn cluster(name: &str, tier: &str, more: &[(&str, &str)]) -> ListedCluster {
    let labels: Labels =
        [("tier", tier)].iter().chain(more).map(|(key, value)| (key.to_string(), value.to_string())).collect();
    ListedCluster { name: ClusterName::from(name), labels, credential: name.to_string(), secret_ref: None, stale: None }
}

fn fleet() -> Vec<ListedCluster> {
    vec![
        cluster("qa-1", "qa", &[]),
        cluster("qa-2", "qa", &[("tempo", "yes")]),
        cluster("eu-1", "gold", &[]),
        cluster("us-1", "gold", &[]),
    ]
}

fn loaded(text: &str) -> Loaded {
    let file = policy::SourceFile { path: "coldframe.yaml".to_string(), text: text.to_string() };
    policy::load(std::slice::from_ref(&file)).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// The rules of one connection, each in a line with its place.
fn rules(text: &str, clusters: &[ListedCluster], named: &[&str], once: bool) -> BTreeMap<String, Vec<String>> {
    let named: Vec<String> = named.iter().map(ToString::to_string).collect();
    let lines = |rights: &Rights| {
        let text = text::manifests(&[(rights, vec!["x"])], "coldframe");
        let mut within = String::new();
        let mut found = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("metadata: {name: coldframe") {
                within = rest.trim_matches([',', ' ', '}']).trim_start_matches("namespace: ").to_string();
            } else if let Some(rule) = line.strip_prefix("  - {") {
                found.push(format!("{within}: {}", rule.trim_end_matches('}')));
            }
        }
        found
    };
    of(&loaded(text), clusters, &named, once).iter().map(|(name, rights)| (name.clone(), lines(rights))).collect()
}

#[test]
fn each_connection_reads_what_is_asked_through_it_and_nothing_else() {
    let all = rules(POLICY, &fleet(), &[], false);
    assert_eq!(all.keys().collect::<Vec<_>>(), ["eu-1", "hub", "qa-1", "qa-2", "us-1"]);
    assert_eq!(
        all["qa-1"],
        ["loki: apiGroups: [helm.toolkit.fluxcd.io], resources: [helmreleases], verbs: [get, list, watch]"]
    );
    assert_eq!(
        all["qa-2"],
        [
            "loki: apiGroups: [helm.toolkit.fluxcd.io], resources: [helmreleases], verbs: [get, list, watch]",
            "tempo: apiGroups: [\"\"], resources: [secrets], verbs: [get, list, watch]",
            "tempo: apiGroups: [apps], resources: [daemonsets], verbs: [get]",
            "tempo: apiGroups: [apps], resources: [deployments], verbs: [get]",
            "tempo: apiGroups: [flagger.app], resources: [canaries], verbs: [get, list, watch]",
        ]
    );
    assert_eq!(all["hub"], ["argocd: apiGroups: [argoproj.io], resources: [applications], verbs: [get, list, watch]"]);
    assert_eq!(all["eu-1"], all["us-1"]);
    let once = rules(POLICY, &fleet(), &[], true);
    assert_eq!(
        once["eu-1"][0],
        "loki: apiGroups: [helm.toolkit.fluxcd.io], resources: [helmreleases], resourceNames: [loki-gold], verbs: [get]"
    );
    assert!(once.values().flatten().all(|rule| !rule.contains("watch")), "{once:?}");
}

#[test]
fn where_a_hub_lists_the_clusters_it_may_list_them_and_each_is_of_any_tier() {
    let text = format!("clusters: {{from: greenhouse, connection: central, namespace: acme}}\n{POLICY}");
    let all = rules(&text, &[], &[], true);
    assert_eq!(all.keys().collect::<Vec<_>>(), ["central", "cluster", "hub"]);
    assert_eq!(all["central"], ["acme: apiGroups: [greenhouse.sap], resources: [clusters], verbs: [list]"]);
    let named = rules(&text, &[], &["eu-1"], true);
    assert_eq!(named.keys().collect::<Vec<_>>(), ["central", "eu-1", "hub"]);
    let helm = &named["eu-1"].iter().find(|rule| rule.contains("helmreleases")).unwrap();
    assert!(helm.contains("resourceNames: [loki-gold, loki-qa]"), "{helm}");
}

#[test]
fn connections_of_equal_rights_are_told_once_and_strangers_not_at_all() {
    let all = of(&loaded(POLICY), &fleet(), &[], false);
    let groups = grouped(&all);
    assert_eq!(groups.iter().map(|(_, names)| names.join(" ")).collect::<Vec<_>>(), ["eu-1 qa-2 us-1", "hub", "qa-1"]);
    let one = chosen(all.clone(), &["qa-2".to_string(), "qa-2".to_string()]).unwrap();
    assert_eq!(one.keys().collect::<Vec<_>>(), ["qa-2"]);
    let error = chosen(all, &["eu-9".to_string()]).unwrap_err().to_string();
    assert_eq!(error, "nothing is asked through `eu-9`; what is used is eu-1, hub, qa-1, qa-2, us-1");
}

#[test]
fn a_name_is_a_name_whatever_yaml_would_make_of_it() {
    let text = POLICY.replace("namespace: loki, name: 'loki-{tier}'", "namespace: 'null', name: '007'");
    let all = rules(&text, &fleet(), &["eu-1"], true);
    let helm = "\"null\": apiGroups: [helm.toolkit.fluxcd.io], resources: [helmreleases], resourceNames: [\"007\"], verbs: [get]";
    assert!(all["eu-1"].contains(&helm.to_string()), "{all:?}");
}

/// A `kubectl` that knows one cluster, and keeps what it is told to apply.
const KUBECTL: &str = "#!/bin/sh
echo \"$*\" >> calls
case \"$*\" in
*apply*) cat >> applied ;;
*certificate-authority-data*) printf %s \"$AUTHORITY\" ;;
*clusters?0?.cluster.server*) printf %s https://eu-1.example:6443 ;;
*data.token*) [ -e asked ] && printf dG9rZW4= ; touch asked ;;
*data.ca*) printf %s LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t ;;
*) exit 3 ;;
esac
";

/// Runs the script in a folder, with these words.
fn ran(folder: &Path, words: &[&str], authority: &str) -> (bool, String) {
    let all = of(&loaded(POLICY), &fleet(), &[], false);
    std::fs::write(folder.join("access.sh"), text::script(&grouped(&all), "coldframe")).unwrap();
    let kubectl = folder.join("kubectl");
    std::fs::write(&kubectl, KUBECTL).unwrap();
    std::fs::set_permissions(&kubectl, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.arg("access.sh").args(words).current_dir(folder).env("PATH", path).env("AUTHORITY", authority);
    let done = command.output().unwrap();
    (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn the_script_gives_rights_and_makes_kubeconfigs_that_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    for authority in ["LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==", ""] {
        let (good, said) = ran(folder.path(), &["eu-1=admin@eu-1", "qa-2"], authority);
        assert!(good && said.contains("kubeconfigs/eu-1.yaml"), "{said}");
        let file = folder.path().join("kubeconfigs/eu-1.yaml");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let connection = Connection::read(read("kubeconfigs/eu-1.yaml").as_bytes(), &[]).unwrap();
        assert_eq!(
            (connection.server.as_str(), connection.token.unwrap().reveal()),
            ("https://eu-1.example:6443/", "token")
        );
        assert!(connection.authority.is_some());
    }
    let calls = read("calls");
    assert!(
        calls.contains("--context admin@eu-1 apply --filename -") && calls.contains("--context qa-2 apply"),
        "{calls}"
    );
    assert!(read("applied").contains("resources: [canaries]"));
    let (good, said) = ran(folder.path(), &["eu-9"], "");
    assert!(!good && said.contains("the policy asks nothing through eu-9"), "{said}");
    let (good, _) = ran(folder.path(), &[], "");
    assert!(good, "all of them");
    assert_eq!(std::fs::read_dir(folder.path().join("kubeconfigs")).unwrap().count(), 5);
}

/// What a hub alone knows the name of may be any: no name that stands for a cluster is one.
#[test]
fn what_is_called_like_a_cluster_of_a_hub_may_be_any() {
    let preset = "{pluginPreset: {namespace: acme, name: 'loki-{tier}'}, connection: central}";
    let application = "{application: {namespace: '{organization}', name: 'loki-{cluster}'}, connection: central}";
    let text = |clusters: &str, signal: &str| {
        format!(
            "clusters: {clusters}\ntiers: [{{name: qa, select: {{}}}}]\nplugins:\n  - name: loki\n    chart: {{oci: \
             oci://registry.example/charts/loki}}\n    write: [{{file: '{{tier}}/loki.yaml', path: $.version}}]\n    \
             signals: [{signal}]\n"
        )
    };
    let all = "{from: greenhouse, connection: central}";
    let one = "{from: greenhouse, connection: central, namespace: acme}";
    let rules = |clusters: &str, signal: &str, once: bool| rules(&text(clusters, signal), &[], &[], once);
    let presets = rules(one, preset, false);
    assert_eq!(presets.keys().collect::<Vec<_>>(), ["central"]);
    for rule in [
        "acme: apiGroups: [greenhouse.sap], resources: [clusters], verbs: [get, list]",
        "acme: apiGroups: [greenhouse.sap], resources: [plugins], verbs: [get]",
        "acme: apiGroups: [greenhouse.sap], resources: [pluginpresets], verbs: [get, list, watch]",
        "acme: apiGroups: [helm.toolkit.fluxcd.io], resources: [helmreleases], verbs: [get]",
    ] {
        assert!(presets["central"].iter().any(|one| one == rule), "{rule}\n{presets:#?}");
    }
    let named = "acme: apiGroups: [greenhouse.sap], resources: [pluginpresets], resourceNames: [loki-qa], verbs: [get]";
    assert!(rules(one, preset, true)["central"].iter().any(|rule| rule == named), "a tier is known");
    let own = "acme: apiGroups: [argoproj.io], resources: [applications], verbs: [get]";
    assert!(rules(one, application, true)["central"].iter().any(|rule| rule == own));
    let any = ": apiGroups: [argoproj.io], resources: [applications], verbs: [get, list, watch]";
    assert!(rules(all, application, false)["central"].iter().any(|rule| rule == any), "in every organization");
}
