//! Which collections have to be watched so that no change of an object goes by. How they are watched is in `feed`.

use serde_json::Value;

use crate::parse::objects;
use crate::signal::{Target, Which};

/// Objects of one kind in more namespaces than these are watched in the whole cluster, where that is allowed.
pub(super) const FEW: usize = 4;

/// The collection in which a target's objects are: of its namespace, or of the whole cluster. Of Secrets nothing but
/// metadata, since a watch would show every one of them.
pub(super) fn scope(target: &Target, wide: bool) -> Target {
    let which = match &target.which {
        Which::Named(_) => Which::Labelled { selector: String::new(), metadata: is_secret(target) },
        Which::Labelled { selector, metadata } => {
            // What the lists of one kind have in common, such as `owner=helm`, is what one watch is about.
            let first = selector.split(',').next().unwrap_or_default().to_string();
            Which::Labelled { selector: first, metadata: *metadata || is_secret(target) }
        }
    };
    let namespace = target.namespace.clone().filter(|_| !wide);
    Target { namespace, which, ..target.clone() }
}

/// The same collection in one namespace.
pub(super) fn within(scope: &Target, namespace: &str) -> Target {
    Target { namespace: Some(namespace.to_string()), ..scope.clone() }
}

/// Whether the objects of a collection come without their contents.
pub(super) fn is_metadata(scope: &Target) -> bool {
    matches!(scope.which, Which::Labelled { metadata: true, .. })
}

fn is_secret(target: &Target) -> bool {
    objects::is_secret(&target.kind) || objects::is_secret(&target.plural)
}

/// `namespace/name` of one object; none for a list.
pub(super) fn key(target: &Target) -> Option<Box<str>> {
    match &target.which {
        Which::Named(name) => Some(joined(target.namespace.as_deref().unwrap_or_default(), name)),
        Which::Labelled { .. } => None,
    }
}

/// The same of an object as the API server gave it.
pub(super) fn key_of(object: &Value) -> Option<Box<str>> {
    let text = |place: &str| object.pointer(place).and_then(Value::as_str);
    Some(joined(text("/metadata/namespace").unwrap_or_default(), text("/metadata/name")?))
}

/// The namespace in a key; none where the kind has none.
pub(super) fn namespace(key: &str) -> Option<&str> {
    key.split_once('/').map(|(namespace, _)| namespace).filter(|namespace| !namespace.is_empty())
}

fn joined(namespace: &str, name: &str) -> Box<str> {
    format!("{namespace}/{name}").into_boxed_str()
}

/// Whether an object is in the list that a target names.
pub(super) fn is_in(target: &Target, object: &Value) -> bool {
    let Which::Labelled { selector, .. } = &target.which else { return false };
    let text = |place: &str| object.pointer(place).and_then(Value::as_str);
    let here = target.namespace.is_none() || target.namespace.as_deref() == text("/metadata/namespace");
    let labels = object.pointer("/metadata/labels");
    let has = |requirement: &str| {
        let (key, value) = requirement.split_once('=').unwrap_or((requirement, ""));
        labels.and_then(|labels| labels.get(key)).and_then(Value::as_str) == Some(value)
    };
    here && selector.split(',').filter(|requirement| !requirement.is_empty()).all(has)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn target(kind: &str, namespace: &str, which: Which) -> Target {
        let group = if kind == "Secret" { "" } else { "apps" };
        Target {
            group: group.into(),
            version: "v1".into(),
            kind: kind.to_string().into(),
            plural: format!("{}s", kind.to_lowercase()).into(),
            namespace: Some(namespace.to_string()),
            which,
        }
    }

    #[test]
    fn objects_of_a_namespace_share_a_watch_and_of_secrets_only_metadata_is_watched() {
        let named = |kind: &str, name: &str| target(kind, "apps", Which::Named(name.to_string()));
        assert_eq!(scope(&named("Deployment", "a"), false), scope(&named("Deployment", "b"), false));
        assert!(!is_metadata(&scope(&named("Deployment", "a"), false)));
        assert!(is_metadata(&scope(&named("Secret", "a"), false)));
        let listed = |selector: &str| {
            target("Secret", "apps", Which::Labelled { selector: selector.to_string(), metadata: true })
        };
        let both = scope(&listed("owner=helm,name=loki"), true);
        assert_eq!(both, scope(&listed("owner=helm,name=tempo"), true));
        assert_eq!(both.namespace, None);
        assert_eq!(within(&both, "apps"), scope(&listed("owner=helm,name=tempo"), false));
    }

    #[test]
    fn an_object_is_found_by_its_name_and_in_lists_by_its_labels() {
        let object =
            json!({"metadata": {"name": "a", "namespace": "apps", "labels": {"owner": "helm", "name": "loki"}}});
        let named = target("Secret", "apps", Which::Named("a".to_string()));
        assert_eq!(key(&named), key_of(&object));
        assert_eq!(namespace(&key_of(&object).unwrap()), Some("apps"));
        assert_eq!(namespace(&key_of(&json!({"metadata": {"name": "a"}})).unwrap()), None);
        for (selector, namespace, inside) in [
            ("owner=helm,name=loki", "apps", true),
            ("", "apps", true),
            ("owner=helm,name=tempo", "apps", false),
            ("owner=helm", "other", false),
            ("absent=", "apps", false),
        ] {
            let which = Which::Labelled { selector: selector.to_string(), metadata: true };
            assert_eq!(is_in(&target("Secret", namespace, which), &object), inside, "{selector} in {namespace}");
        }
    }
}
