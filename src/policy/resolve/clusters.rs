//! Where the clusters are listed: which keys go with which inventory, and what its clusters are called.

use super::tier;
use crate::file::{ClustersFile, InventoryKind};
use crate::wiring::{Inventory, Listing};
use inventory::{Kind, Scope};
use parse::read::Spanned;
use parse::report::Report;
use parse::tree::Span;

/// The inventory; a file where nothing usable is said, which was reported.
pub fn inventory(file: Option<Spanned<ClustersFile>>, report: &mut Report) -> Inventory {
    let Some(file) = file else { return Inventory::File { path: "clusters.yaml".to_string() } };
    report.within_key("clusters", |report| match file.value.from.as_ref().map(|from| from.value.0) {
        None | Some(InventoryKind::File) => of_file(&file.value, report),
        Some(InventoryKind::Listed(kind)) => listed(&file.value, kind, report),
    })
}

fn of_file(file: &ClustersFile, report: &mut Report) -> Inventory {
    // Another mistake may have hidden `from`.
    if !file.refused {
        let keys = [
            ("connection", file.connection.as_ref().map(|given| given.key)),
            ("namespace", file.namespace.as_ref().map(|given| given.key)),
            ("select", file.select.as_ref().map(|given| given.key)),
        ];
        for (key, at) in keys.into_iter().filter_map(|(key, at)| Some((key, at?))) {
            let help = "say which hub lists them, such as `from: argocd`, or take it out";
            report.wrong(at, &format!("`{key}` is not for clusters that a file lists"), Some(help));
        }
    }
    Inventory::File { path: file.path.as_ref().map_or("clusters.yaml", |path| &path.value.0).to_string() }
}

fn listed(file: &ClustersFile, kind: &'static Kind, report: &mut Report) -> Inventory {
    let name = kind.name;
    let from = file.from.as_ref().map_or(Span::top(0), |from| from.at);
    if let Some(path) = &file.path {
        let help = "say `from: file`, or take it out";
        report.wrong(path.key, &format!("`path` is of a file, and `{name}` is asked for a list"), Some(help));
    }
    if file.connection.is_none() && !file.refused {
        let help = "add `connection: NAME`, the one of the hub in the operator's settings";
        report.wrong(from, &format!("`{name}` needs a `connection` to the cluster that lists them"), Some(help));
    }
    let namespace = namespace(file, kind, report);
    let select =
        file.select.as_ref().map(|select| report.within_key("select", |report| tier::selector(select, report)));
    let select = select.unwrap_or_default();
    if kind.selected && select.match_labels.is_empty() && select.match_expressions.is_empty() && !file.refused {
        let at = file.select.as_ref().map_or(from, |select| select.at);
        let why = format!("`{name}` needs a `select`: nothing else tells a kubeconfig from another Secret");
        let help = "label the Secrets of the clusters, and add `select: {matchLabels: {…}}`";
        report.wrong(at, &why, Some(help));
    }
    let connection = file.connection.as_ref().map_or_else(String::new, |given| given.value.0.clone());
    Inventory::Listed(Listing { kind, connection, namespace, select })
}

fn namespace(file: &ClustersFile, kind: &Kind, report: &mut Report) -> Option<String> {
    let given = file.namespace.as_ref();
    match kind.scope {
        Scope::One(default) => Some(given.map_or(default, |given| &given.value.0).to_string()),
        Scope::Any | Scope::Organizations => given.map(|given| given.value.0.clone()),
        Scope::Cluster => {
            if let Some(given) = given {
                let why = format!("a {} is in no namespace", kind.kind);
                report.wrong(given.key, &why, Some("take it out; `select` takes some of them"));
            }
            None
        }
    }
}
