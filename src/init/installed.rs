//! Releases that Helm itself installs, for a helmfile, for Terraform or for K3s, as the file of a version says them. How
//! one is asked for is in `signals/helm`.

use serde_json::Value;

use super::sight::{Installed, at};
use crate::edit::find::Found;
use crate::jsonpath::Path;

/// The release that a place of a version belongs to.
pub(super) fn installed(trees: &[Value], found: &Found) -> Option<Installed> {
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
pub(super) fn release<'a>(trees: &'a [Value], found: &Found) -> Option<(&'a Value, &'a Value)> {
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
