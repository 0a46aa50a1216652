//! Releases that Helm itself installs, for a helmfile, for Terraform or for K3s: what they are called, and where they are.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Line, Said};
use crate::edit::find::Found;
use crate::init::plugins::Plugin;
use crate::init::survey::{Sight, at};
use crate::jsonpath::Path;

/// A release of Helm, as far as the file of its version says it.
#[derive(Clone, Debug, PartialEq)]
pub struct Installed {
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// The release that a place of a version belongs to.
pub(in crate::init) fn installed(trees: &[Value], found: &Found) -> Option<Installed> {
    match found.kind {
        "release of a helmfile" => {
            let (tree, release) = release(trees, found)?;
            // Helmfile: the namespace of the file wins over that of a release.
            let namespace = tree.get("namespace").or_else(|| release.get("namespace"));
            let namespace = namespace.and_then(Value::as_str).and_then(known);
            Some(Installed { namespace, name: known(release.get("name")?.as_str()?)? })
        }
        "helm_release of Terraform" => {
            let resource = Path::parse(found.scalar.path.strip_suffix(".version")?).ok()?;
            let of = |tree| resource.find(tree).ok()?.into_iter().next();
            let one = trees.iter().find_map(of)?;
            let label = |key: &str| one.get(key).and_then(Value::as_str).and_then(literal);
            Some(Installed { namespace: label("namespace"), name: label("name")? })
        }
        "HelmChart" => {
            let object = found.object.as_ref()?;
            let is_it = |tree: &&Value| {
                let text = |key: &str| at(tree, &["metadata", key]).and_then(Value::as_str);
                tree["kind"] == *object.kind
                    && text("name") == Some(&object.name)
                    && text("namespace") == object.namespace.as_deref()
            };
            let target = trees.iter().find(is_it).and_then(|tree| at(tree, &["spec", "targetNamespace"]));
            Some(Installed { namespace: target.and_then(Value::as_str).and_then(known), name: object.name.clone() })
        }
        _ => None,
    }
}

/// The helmfile, and the release of it that a place belongs to.
pub(in crate::init) fn release<'a>(trees: &'a [Value], found: &Found) -> Option<(&'a Value, &'a Value)> {
    let index = found.scalar.path.strip_prefix("$.releases[")?.split(']').next()?.parse::<usize>().ok()?;
    trees.iter().find_map(|tree| {
        let release = tree.get("releases")?.get(index)?;
        release.get("version").is_some().then_some((tree, release))
    })
}

/// A text that no template makes.
fn known(text: &str) -> Option<String> {
    (!text.is_empty() && !text.contains("{{")).then(|| text.to_string())
}

/// A name of Terraform that stands there: an expression is read as its text, such as `var.name` or `"${var.name}-x"`.
fn literal(text: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (!text.is_empty() && text.chars().all(plain)).then(|| text.to_string())
}

/// Where Helm puts what no file puts anywhere, unless whoever calls it says otherwise.
const UNSAID: &str = "default";

/// The record that Helm keeps of this release. K3s puts a HelmChart without `targetNamespace` where the HelmChart is.
pub(super) fn secret(sight: &Sight, said: &Said<'_>) -> Option<Line> {
    let Said { survey, ladder, applied } = said;
    let Installed { namespace, name } = sight.helm.as_ref()?;
    let file = sight.of.as_ref().unwrap_or(&sight.file);
    let filled = |text: &String| ladder.general(&survey.flux.filled(text, file, applied), &sight.file);
    let (names, own) = match &sight.found.object {
        Some(object) => (applied.names(file, object), applied.namespaces(file, object)),
        None => (BTreeSet::from([name.clone()]), BTreeSet::new()),
    };
    let spaces: BTreeSet<String> = namespace.as_ref().map_or(own, |one| [one.clone()].into());
    let (names, spaces): (BTreeSet<String>, BTreeSet<String>) =
        (names.iter().map(filled).collect(), spaces.iter().map(filled).collect());
    let name = names.first().cloned().unwrap_or_else(|| filled(name));
    let line = Line::helm_secret(spaces.first().map_or(UNSAID, String::as_str), &name);
    Some(match (names.len(), spaces.len()) {
        (1, 1) => line,
        (1, 0) => line.but("no file says its namespace".to_string()),
        _ => line.but(super::UNKNOWN.to_string()),
    })
}

/// The record of a release that no file names.
pub(super) fn guessed(plugin: &Plugin) -> Line {
    let inflated = |sight: &Sight| sight.found.kind == "chart of a Kustomization";
    let line = Line::helm_secret(&plugin.name, &plugin.name);
    if plugin.sights.iter().all(inflated) {
        return line.but("Kustomize leaves no release of Helm; ask a `workload` instead".to_string());
    }
    line.but(super::UNKNOWN.to_string())
}
