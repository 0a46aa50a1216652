//! Rights as objects of Kubernetes, and the script that gives them.

use std::fmt::Write as _;

use super::rights::{Place, Reads, Rights};

/// What the account, its token and its roles are called.
const NAME: &str = "coldframe";

/// Connections of equal rights.
type Group<'a> = (&'a Rights, Vec<&'a str>);

/// The objects of each group, under the names of its connections.
pub fn manifests(groups: &[Group<'_>], namespace: &str) -> String {
    let all = groups.iter().map(|(rights, names)| {
        format!("# {}: what Coldframe reads there, and nothing else.\n{}", names.join(", "), objects(rights, namespace))
    });
    all.collect::<Vec<String>>().join("---\n")
}

/// A script for a shell with kubectl.
pub fn script(groups: &[Group<'_>], namespace: &str) -> String {
    let mut cases = String::new();
    for (rights, names) in groups {
        let case = names.join("|");
        // Names are those of clusters and files: nothing in them means anything to a shell.
        let _ = write!(cases, "    {case}) cat <<'END'\n{}END\n        ;;\n", objects(rights, namespace));
    }
    let names: Vec<&str> = groups.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    SCRIPT
        .replace("@cases@", cases.trim_end())
        .replace("@names@", &names.join(" "))
        .replace("@namespace@", namespace)
        .replace("@account@", NAME)
}

/// A name as YAML reads it back: some of them would be numbers or truths.
fn plain(name: &str) -> String {
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_word = name.starts_with(|c: char| c.is_ascii_lowercase()) && !reserved.contains(&name);
    if is_word { name.to_string() } else { format!("\"{name}\"") }
}

fn objects(rights: &Rights, namespace: &str) -> String {
    let namespace = plain(namespace);
    let mut out = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}}}\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: \
         {{name: {NAME}, namespace: {namespace}}}\n---\napiVersion: v1\nkind: Secret\ntype: \
         kubernetes.io/service-account-token\nmetadata:\n  name: {NAME}\n  namespace: {namespace}\n  annotations: \
         {{kubernetes.io/service-account.name: {NAME}}}\n"
    );
    let mut namespaces: Vec<&Option<String>> = rights.0.keys().map(|place| &place.namespace).collect();
    namespaces.dedup();
    for of in namespaces {
        let own = rights.0.iter().filter(|(place, _)| place.namespace == *of);
        let rules: String = own.flat_map(|(place, reads)| rules(place, reads)).collect();
        let (kind, within) = match of {
            Some(within) => ("Role", format!(", namespace: {}", plain(within))),
            None => ("ClusterRole", String::new()),
        };
        let _ = write!(
            out,
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata: {{name: {NAME}{within}}}\nrules:\n{rules}---\n\
             apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}Binding\nmetadata: {{name: {NAME}{within}}}\nroleRef: \
             {{apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: {NAME}}}\nsubjects: [{{kind: ServiceAccount, name: \
             {NAME}, namespace: {namespace}}}]\n"
        );
    }
    out
}

/// The rules of one kind of objects: a name restricts `get`, and could restrict neither a list nor a watch of several.
fn rules(place: &Place, reads: &Reads) -> Vec<String> {
    let rule = |names: &str, verbs: &str| {
        let (group, plural) = (plain(&place.group), plain(&place.plural));
        format!("  - {{apiGroups: [{group}], resources: [{plural}]{names}, verbs: [{verbs}]}}\n")
    };
    if reads.watch {
        return vec![rule("", "get, list, watch")];
    }
    let mut all = Vec::new();
    match (reads.any, reads.list) {
        (true, true) => return vec![rule("", "get, list")],
        (true, false) => return vec![rule("", "get")],
        (false, true) => all.push(rule("", "list")),
        (false, false) => {}
    }
    if !reads.names.is_empty() {
        let names: Vec<String> = reads.names.iter().map(|name| plain(name)).collect();
        all.push(rule(&format!(", resourceNames: [{}]", names.join(", ")), "get"));
    }
    all
}

const SCRIPT: &str = r#"#!/bin/sh
# Made by `coldframe access --script`. It lets Coldframe read these clusters, each by an account that may do nothing else,
# and writes kubeconfigs/NAME.yaml for each. It can be run again, and changes nothing that is as it should be.
#
#   sh access.sh                          all of them, each by the context of its name
#   sh access.sh eu-1 us-1=admin@us-1     these, one of them by a context of another name
set -eu
umask 077

manifest() {
    case $1 in
@cases@
    *) echo "access.sh: the policy asks nothing through $1" >&2; return 1 ;;
    esac
}

# What kubectl says of the context's cluster.
of_cluster() { kubectl config view --raw --flatten --minify --context "$2" --output "jsonpath={.clusters[0].cluster.$1}"; }
# What the account's Secret holds.
of_secret() { kubectl --context "$2" --namespace @namespace@ get secret @account@ --output "jsonpath={.data.$1}"; }

one() {
    name=${1%%=*}
    context=${1#*=}
    objects=$(manifest "$name")
    printf '%s\n' "$objects" | kubectl --context "$context" apply --filename -
    token='' tries=0
    while [ -z "$token" ]; do
        token=$(of_secret token "$context" | base64 --decode)
        tries=$((tries + 1))
        [ -n "$token" ] || [ "$tries" -lt 30 ] || { echo "access.sh: $name made no token for the account" >&2; return 1; }
        [ -n "$token" ] || sleep 1
    done
    server=$(of_cluster server "$context")
    authority=$(of_cluster certificate-authority-data "$context")
    [ -n "$authority" ] || authority=$(of_secret 'ca\.crt' "$context")
    mkdir -p kubeconfigs
    cat >"kubeconfigs/$name.yaml" <<END
apiVersion: v1
kind: Config
current-context: coldframe
contexts: [{name: coldframe, context: {cluster: cluster, user: coldframe}}]
clusters: [{name: cluster, cluster: {server: "$server", certificate-authority-data: "$authority"}}]
users: [{name: coldframe, user: {token: "$token"}}]
END
    echo "access.sh: kubeconfigs/$name.yaml" >&2
}

[ $# -gt 0 ] || set -- @names@
for each in "$@"; do
    one "$each"
done
"#;
