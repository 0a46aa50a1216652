//! What a file gives a chart beside its version: the values of a HelmRelease, of an Application, the options of a
//! Plugin. Only what stands in the file itself; who else may add to it is not known here.

use std::collections::BTreeMap;

use jsonpath::Step;
use serde_json::{Map, Value};

use super::place::Scalar;
use super::{FileFormat, parsed, select};

/// What a file gives a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Values as a tree.
    pub values: Value,
    /// Values by their whole name, such as `image.tag`.
    pub names: Vec<String>,
    /// Those of them that stand there as they are.
    pub named: BTreeMap<String, Value>,
    /// Whether nothing in the document says that more comes from elsewhere.
    pub whole: bool,
}

/// What the document of a place gives the chart whose version stands there; none where it is of a kind that gives
/// none, or where nobody can tell.
pub fn given(format: FileFormat, text: &str, scalar: &Scalar, chart: &str) -> Option<Given> {
    let parsed = parsed(format, text).ok()?;
    let documents = select(&parsed.documents, scalar.document.as_ref()).ok()?;
    let trees = || parsed.documents.iter().map(|document| &document.tree);
    documents.into_iter().find_map(|document| of(&document.tree, trees(), chart))
}

fn of<'t>(tree: &'t Value, mut others: impl Iterator<Item = &'t Value>, chart: &str) -> Option<Given> {
    let text = |tree: &'t Value, pointer: &str| tree.pointer(pointer).and_then(Value::as_str);
    let group = text(tree, "/apiVersion").unwrap_or_default().split('/').next().unwrap_or_default();
    match (group, text(tree, "/kind").unwrap_or_default()) {
        ("helm.toolkit.fluxcd.io", "HelmRelease") => Some(of_release(tree)),
        // The release that takes its chart from here may stand beside it.
        ("source.toolkit.fluxcd.io", "OCIRepository") => {
            let name = text(tree, "/metadata/name")?;
            let release = others.find(|other| text(other, "/spec/chartRef/name") == Some(name))?;
            Some(of_release(release))
        }
        ("argoproj.io", "Application") => argo(tree.pointer("/spec")?, chart),
        ("argoproj.io", "ApplicationSet") => argo(tree.pointer("/spec/template/spec")?, chart),
        ("helm.cattle.io", "HelmChart") => {
            let mut given = of_tree(text(tree, "/spec/valuesContent").and_then(read).as_ref());
            let set = tree.pointer("/spec/set").and_then(Value::as_object).into_iter().flatten();
            given.names.extend(set.map(|(name, _)| name.clone()));
            given.whole = !has(tree, "/spec/valuesSecrets");
            Some(given)
        }
        ("greenhouse.sap", "Plugin") => Some(options(tree, "/spec/optionValues")),
        ("greenhouse.sap", "PluginPreset") => {
            let whole = !has(tree, "/spec/clusterOptionOverrides");
            Some(Given { whole, ..options(tree, "/spec/plugin/optionValues") })
        }
        ("kustomize.config.k8s.io", _) => {
            let charts = tree.pointer("/helmCharts").and_then(Value::as_array)?;
            let own = charts.iter().find(|one| text(one, "/name") == Some(chart))?;
            let whole = !has(own, "/valuesFile") && !has(own, "/additionalValuesFiles");
            Some(Given { whole, ..of_tree(own.pointer("/valuesInline")) })
        }
        _ => None,
    }
}

/// Where in a document a chart gets its values.
pub(super) enum Home {
    /// A tree below here.
    Tree(Vec<Step>),
    /// A list of names with their values.
    Items(Vec<Step>),
}

/// Where a document gives a chart its values, whether there are some or not yet; none where they stand in a text of their
/// own, in another document, or nobody can tell.
pub(super) fn home(tree: &Value, chart: &str) -> Option<Home> {
    let text = |pointer: &str| tree.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let keys = |path: &str| path.split('/').map(|key| Step::Key(key.to_string())).collect::<Vec<Step>>();
    match (text("/apiVersion").split('/').next().unwrap_or_default(), text("/kind")) {
        ("helm.toolkit.fluxcd.io", "HelmRelease") => Some(Home::Tree(keys("spec/values"))),
        ("argoproj.io", "Application") => {
            argo(tree.pointer("/spec")?, chart)?;
            has(tree, "/spec/source/helm/valuesObject").then(|| Home::Tree(keys("spec/source/helm/valuesObject")))
        }
        ("greenhouse.sap", "Plugin") => Some(Home::Items(keys("spec/optionValues"))),
        ("greenhouse.sap", "PluginPreset") => Some(Home::Items(keys("spec/plugin/optionValues"))),
        _ => None,
    }
}

fn of_tree(values: Option<&Value>) -> Given {
    Given {
        values: values.cloned().unwrap_or_else(|| Map::new().into()),
        names: Vec::new(),
        named: BTreeMap::new(),
        whole: true,
    }
}

/// Flux: what a HelmRelease sets itself; a patch of one sets a part.
fn of_release(tree: &Value) -> Given {
    let is_patch = !has(tree, "/spec/chart") && !has(tree, "/spec/chartRef");
    let no_name = has(tree, "/spec/chart") && !has(tree, "/spec/chart/spec/chart");
    let whole = !has(tree, "/spec/valuesFrom") && !is_patch && !no_name;
    Given { whole, ..of_tree(tree.pointer("/spec/values")) }
}

/// Whether something stands there.
fn has(tree: &Value, pointer: &str) -> bool {
    match tree.pointer(pointer) {
        None | Some(Value::Null) => false,
        Some(Value::Array(list)) => !list.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => true,
    }
}

fn read(text: &str) -> Option<Value> {
    parsed(FileFormat::Yaml, text).ok()?.documents.into_iter().next().map(|document| document.tree)
}

/// The source of the chart, among several by its name: `helm.valuesObject`, `values`, `parameters`.
fn argo(spec: &Value, chart: &str) -> Option<Given> {
    let several = spec.pointer("/sources").and_then(Value::as_array).into_iter().flatten();
    let named = |source: &&Value| {
        let name = source.get("chart").or_else(|| source.get("repoURL")).and_then(Value::as_str).unwrap_or_default();
        name.rsplit('/').next() == Some(chart)
    };
    let source = several.chain(spec.pointer("/source")).find(named)?;
    // Files of values lie elsewhere.
    if source.pointer("/helm/valueFiles").and_then(Value::as_array).is_some_and(|files| !files.is_empty()) {
        return None;
    }
    let text = source.pointer("/helm/values").and_then(Value::as_str).and_then(read);
    let mut given = of_tree(source.pointer("/helm/valuesObject").or(text.as_ref()));
    let parameters = source.pointer("/helm/parameters").and_then(Value::as_array).into_iter().flatten();
    given.names.extend(parameters.filter_map(|one| Some(one.get("name")?.as_str()?.to_string())));
    Some(given)
}

fn options(tree: &Value, pointer: &str) -> Given {
    let options = || tree.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    let name = |option: &Value| Some(option.get("name")?.as_str()?.to_string());
    let named = options().filter_map(|option| Some((name(option)?, option.get("value")?.clone()))).collect();
    Given { values: Map::new().into(), names: options().filter_map(name).collect(), named, whole: true }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::place::DocumentSelector;

    fn found(text: &str, document: Option<(&str, &str)>) -> Option<Given> {
        let document =
            document.map(|(kind, name)| DocumentSelector { kind: kind.to_string(), name: Some(name.to_string()) });
        let scalar = Scalar { document, path: "$.x".to_string(), value: None };
        given(FileFormat::Yaml, text, &scalar, "loki")
    }

    #[test]
    fn each_kind_gives_its_values() {
        let tree = |values: Value| Some(Given { values, names: Vec::new(), named: BTreeMap::new(), whole: true });
        let part = |values: Value| Some(Given { values, names: Vec::new(), named: BTreeMap::new(), whole: false });
        let names = |names: &[&str], whole| {
            let names = names.iter().map(|name| (*name).to_string()).collect();
            Some(Given { values: json!({}), names, named: BTreeMap::new(), whole })
        };
        let bare = |given: Given| Given { named: BTreeMap::new(), ..given };
        let flux = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: loki}\nspec:\n  chart: {spec: {chart: loki}}\n";
        assert_eq!(found(&format!("{flux}  values: {{a: {{b: 1}}}}\n"), None), tree(json!({"a": {"b": 1}})));
        assert_eq!(found(&format!("{flux}  interval: 1h\n"), None), tree(json!({})));
        assert_eq!(found(&format!("{flux}  valuesFrom: [{{kind: ConfigMap, name: x}}]\n"), None), part(json!({})));
        let patch = flux.replace("{spec: {chart: loki}}", "{spec: {version: 1.0.0}}");
        assert_eq!(found(&format!("{patch}  values: {{a: 1}}\n"), None), part(json!({"a": 1})));
        let other = "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: tempo}\nspec: {chart: {spec: {chart: tempo}}, values: {c: 1}}\n";
        let both = format!("{flux}  values: {{a: 1}}\n{other}");
        assert_eq!(found(&both, Some(("HelmRelease", "tempo"))), tree(json!({"c": 1})));
        let oci = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: loki}\nspec: {ref: {tag: 1.0.0}}\n---\n";
        let release = flux.replace("chart: {spec: {chart: loki}}", "chartRef: {kind: OCIRepository, name: loki}");
        let of = format!("{oci}{release}  values: {{a: 1}}\n");
        assert_eq!(found(&of, Some(("OCIRepository", "loki"))), tree(json!({"a": 1})));
        assert_eq!(found(oci, Some(("OCIRepository", "loki"))), None, "nobody can tell");
        let argo = |helm: &str| {
            format!(
                "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  sources:\n  - {{repoURL: x, chart: other, \
                 helm: {{valuesObject: {{no: 1}}}}}}\n  - repoURL: https://x\n    chart: loki\n    helm: {helm}\n"
            )
        };
        assert_eq!(found(&argo("{valuesObject: {a: 1}}"), None), tree(json!({"a": 1})));
        assert_eq!(found(&argo("{values: \"a: 2\"}"), None), tree(json!({"a": 2})));
        assert_eq!(found(&argo("{parameters: [{name: a.b, value: '1'}]}"), None), names(&["a.b"], true));
        assert_eq!(found(&argo("{valueFiles: [$values/x.yaml]}"), None), None, "they lie elsewhere");
        let k3s =
            "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nspec:\n  chart: loki\n  valuesContent: |-\n    a: 1\n";
        assert_eq!(found(k3s, None), tree(json!({"a": 1})));
        let preset = "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginPreset\nspec: {plugin: {optionValues: [{name: a.b, value: 1}]}}\n";
        assert_eq!(found(preset, None).unwrap().named, BTreeMap::from([("a.b".to_string(), json!(1))]));
        assert_eq!(found(preset, None).map(bare), names(&["a.b"], true));
        let overridden = preset.replace("spec: {", "spec: {clusterOptionOverrides: [{clusterName: eu}], ");
        assert_eq!(found(&overridden, None).map(bare), names(&["a.b"], false));
        let kustomize = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nhelmCharts: [{name: loki, valuesInline: {a: 1}}]\n";
        assert_eq!(found(kustomize, None), tree(json!({"a": 1})));
        assert_eq!(found("apiVersion: v2\nname: umbrella\ndependencies: []\n", None), None);
    }
}
