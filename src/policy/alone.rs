//! The settings of one signal that stand alone, as the command line gives them: read by the reader of the
//! policy file, so that what is right here is right there. What the settings mean is not in here.

use std::borrow::Cow;

use super::file::told;
use super::{Problems, SourceFile};
use parse::problem::render;
use parse::report::Report;
use parse::settings::Values;
use parse::tree::{self, Entry, Node, Span, Value};
use signal::Kind;

/// What a kind of signal is told. `file` holds a mapping, with or without its braces: `namespace: apps, name:
/// loki` is one, too. `own` are keys and values that count where the mapping lacks them and the kind has them.
///
/// # Errors
/// Every mistake at its place, as people read it.
pub fn signal_settings(kind: &'static Kind, file: &SourceFile, own: &[(&str, String)]) -> Result<Values, String> {
    let text = braced(&file.text);
    let mut report = Report::with_homes(super::file::homes);
    let values = tree::parse(0, &text, &mut report).and_then(|mut node| {
        complete(&mut node, kind, own);
        told(kind, &node, &mut report)
    });
    let (problems, _) = report.finish(std::slice::from_ref(&file.path));
    match values {
        Some(values) if problems.is_empty() => Ok(values),
        _ => Err(render(&Problems(problems), &[SourceFile { path: file.path.clone(), text: text.into_owned() }])),
    }
}

/// The text with the braces that a mapping on one line needs. A block of one line stays one.
fn braced(text: &str) -> Cow<'_, str> {
    let trimmed = text.trim();
    let is_mapping = || {
        let mut report = Report::with_homes(super::file::homes);
        let node = tree::parse(0, trimmed, &mut report);
        report.is_empty() && node.is_some_and(|node| matches!(node.value, Value::Map(_)))
    };
    if trimmed.starts_with('{') || trimmed.contains('\n') || (!trimmed.is_empty() && is_mapping()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{{{trimmed}}}"))
}

/// Adds what the mapping lacks.
fn complete(node: &mut Node, kind: &Kind, own: &[(&str, String)]) {
    let lacking: Vec<Entry> = own
        .iter()
        .filter(|(key, _)| node.get(key).is_none() && kind.shape.keys.iter().any(|known| known.name == *key))
        .map(|(key, text)| {
            let at = Span::top(0);
            Entry { key: (*key).to_string(), at, node: Node::scalar(text, at) }
        })
        .collect();
    if let Value::Map(entries) = &mut node.value {
        entries.extend(lacking);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use parse::settings::Given;
    use signal::kind;

    fn read(name: &str, text: &str, own: &[(&str, &str)]) -> Result<Vec<(&'static str, String)>, String> {
        let file = SourceFile { path: "--settings".into(), text: text.into() };
        let own: Vec<(&str, String)> = own.iter().map(|(key, text)| (*key, (*text).to_string())).collect();
        let values = signal_settings(kind(name).unwrap(), &file, &own)?;
        let text = |given: &Given| match given {
            Given::Text(text) => text.clone(),
            Given::Number(_) | Given::Flag(_) | Given::List(_) | Given::Map(_) => format!("{given:?}"),
        };
        Ok(values.iter().map(|(key, given)| (*key, text(given))).collect())
    }

    #[test]
    fn braces_may_be_left_out() {
        let both = vec![("name", "loki".to_string()), ("namespace", "apps".to_string())];
        for text in [
            "namespace: apps, name: loki",
            "{namespace: apps, name: loki}",
            "namespace: apps\nname: loki\n",
            "  namespace: 'apps', name: \"loki\" ",
        ] {
            assert_eq!(read("helmRelease", text, &[]), Ok(both.clone()), "{text}");
        }
        let path = read("rollout", "version: $.metadata.labels['app']", &[("namespace", "a"), ("name", "b")]).unwrap();
        assert_eq!(path.last(), Some(&("version", "$.metadata.labels['app']".to_string())));
    }

    #[test]
    fn what_the_object_says_itself_is_below_what_is_said_of_it() {
        let own = [("namespace", "apps"), ("name", "loki"), ("kind", "HelmRelease")];
        let names = |text| read("helmRelease", text, &own).unwrap();
        assert_eq!(names(""), [("name", "loki".to_string()), ("namespace", "apps".to_string())]);
        assert_eq!(names("name: web"), [("name", "web".to_string()), ("namespace", "apps".to_string())]);
    }

    #[test]
    fn mistakes_are_told_as_those_of_a_policy_are() {
        let said = read("helmRelease", "nmae: loki, namespace: apps", &[]).unwrap_err();
        assert!(said.contains("--settings:1:2: unknown key `nmae` in `helmRelease`"), "{said}");
        assert!(said.contains("^^^^ did you mean `name`?"), "{said}");
        let said = read("helmRelease", "", &[("namespace", "apps")]).unwrap_err();
        assert!(said.contains("`helmRelease` has no `name`") && said.contains("add `name:`"), "{said}");
        let said = read("workload", "kind: Deploymnet, namespace: apps, name: loki", &[]).unwrap_err();
        assert!(said.contains("did you mean `Deployment`?"), "{said}");
        let said = read("workload", "kind: Deployment, name: loki", &[]).unwrap_err();
        assert!(said.contains("a Deployment has a namespace"), "{said}");
        assert!(read("helmRelease", "loki", &[]).is_err());
        assert!(read("helmRelease", "[a", &[]).is_err());
    }
}
