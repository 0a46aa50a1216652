//! Objects from files, as `kubectl get -o yaml` writes them, and which of them a signal asks for. What they
//! say is judged elsewhere.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use jiff::Timestamp;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::clock;
use crate::signal::{Target, Which, one_line, title};

/// The largest file that is read, in bytes: some hundred objects as big as etcd takes them.
const MOST_BYTES: u64 = 64 << 20;

/// The objects of some files.
#[derive(Debug, Default)]
pub(super) struct Objects {
    all: Vec<Object>,
    /// Kinds of which there is a list, if an empty one.
    lists: Vec<String>,
    /// When the oldest file was written last.
    written: Option<Timestamp>,
}

#[derive(Debug)]
struct Object {
    value: Value,
    file: String,
    /// An item of a list of metadata, which says nothing else of its object.
    listed_only: bool,
}

impl Objects {
    /// The objects of a file; `-` is standard input. A list is its items.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let file = path.display().to_string();
        let (text, written) = text(path).with_context(|| format!("the object `{file}`"))?;
        let mut objects = Self { written: Some(written), ..Self::default() };
        for (index, document) in
            documents(&text).with_context(|| format!("the object `{file}`"))?.into_iter().enumerate()
        {
            objects.add(document, &file).with_context(|| format!("document {} of `{file}`", index + 1))?;
        }
        if objects.all.is_empty() && objects.lists.is_empty() {
            bail!("`{file}` holds no object; write it with `kubectl get … -o yaml`");
        }
        Ok(objects)
    }

    /// These and those of more files.
    pub fn with(mut self, files: &[PathBuf]) -> anyhow::Result<Self> {
        for file in files {
            let more = Self::read(file)?;
            self.all.extend(more.all);
            self.lists.extend(more.lists);
            self.written = self.written.min(more.written);
        }
        Ok(self)
    }

    /// When the oldest of them was read from its cluster at the latest, by the files' own times.
    pub fn written(&self) -> Timestamp {
        self.written.unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// The first one.
    pub fn first(&self) -> Option<&Value> {
        self.all.first().map(|object| &object.value)
    }

    /// What a signal asks for; none where it is not among them.
    ///
    /// # Errors
    /// Where it is there twice, or in another version of its API.
    pub fn find(&self, target: &Target) -> anyhow::Result<Option<Value>> {
        match &target.which {
            Which::Named(name) => self.named(target, name),
            Which::Labelled { selector, metadata } => Ok(self.labelled(target, selector, *metadata)),
        }
    }

    /// What there is, for the words of errors: `HelmRelease apps/loki in loki.yaml`.
    pub fn names(&self) -> String {
        let mut names: Vec<String> = self.all.iter().take(5).map(Object::words).collect();
        if self.all.is_empty() {
            names.extend(self.lists.iter().map(|kind| format!("an empty list of {}", one_line(kind))));
        }
        if self.all.len() > names.len() {
            names.push(format!("{} more", self.all.len() - names.len()));
        }
        names.join(", ")
    }

    fn add(&mut self, mut document: Value, file: &str) -> anyhow::Result<()> {
        let Some(kind) = document.get("kind").and_then(Value::as_str).map(str::to_string) else {
            bail!("it is no object of Kubernetes: it has no `kind`");
        };
        let Some(Value::Array(items)) = document.get_mut("items").map(Value::take).filter(|_| kind.ends_with("List"))
        else {
            self.all.push(Object { value: document, file: file.to_string(), listed_only: false });
            return Ok(());
        };
        // The API server leaves kind and version of the items to the list; kubectl's `List` has items of any kind.
        let of = kind.trim_end_matches("List");
        let api = document.get("apiVersion").cloned();
        for mut item in items {
            let Some(object) = item.as_object_mut() else { bail!("an item of the list is no object") };
            if !of.is_empty() {
                object.entry("kind").or_insert_with(|| Value::from(of));
                if let Some(api) = &api {
                    object.entry("apiVersion").or_insert_with(|| api.clone());
                }
            }
            if object.get("kind").and_then(Value::as_str).is_none() {
                bail!("an item of the list has no `kind`");
            }
            let listed_only = object.keys().all(|key| matches!(key.as_str(), "apiVersion" | "kind" | "metadata"));
            self.all.push(Object { value: item, file: file.to_string(), listed_only });
        }
        self.lists.push(of.to_string());
        Ok(())
    }

    fn named(&self, target: &Target, name: &str) -> anyhow::Result<Option<Value>> {
        let fits = |object: &&Object| {
            !object.listed_only && object.is_of(target) && object.text("/metadata/name") == Some(name)
        };
        let found: Vec<&Object> = self.all.iter().filter(fits).collect();
        let [one] = found.as_slice() else {
            if found.is_empty() {
                return Ok(None);
            }
            bail!("{} is given {} times; give it once", title(target), found.len());
        };
        let version = one.text("/apiVersion").map(|api| api.rsplit('/').next().unwrap_or(api));
        if version.is_some_and(|version| version != target.version) {
            bail!(
                "{} is one of {}, and the bot reads {}; write it with `{}`",
                one.words(),
                one_line(one.text("/apiVersion").unwrap_or_default()),
                target.api_version(),
                kubectl(target)
            );
        }
        Ok(Some(one.value.clone()))
    }

    /// As the API server would list them; none where nobody gave such a list.
    fn labelled(&self, target: &Target, selector: &str, metadata: bool) -> Option<Value> {
        let labels: Vec<(&str, &str)> = selector.split(',').filter_map(|label| label.split_once('=')).collect();
        let has = |object: &&Object| {
            let own = object.value.pointer("/metadata/labels");
            let label = |key: &str| own.and_then(|own| own.get(key)).and_then(Value::as_str);
            object.is_of(target) && labels.iter().all(|(key, value)| label(key) == Some(value))
        };
        let shown = |object: &Object| {
            if metadata {
                json!({"metadata": object.value.get("metadata").cloned().unwrap_or_default()})
            } else {
                object.value.clone()
            }
        };
        let items: Vec<Value> = self.all.iter().filter(has).map(shown).collect();
        let listed = self.lists.iter().any(|kind| kind.is_empty() || *kind == target.kind);
        let given = listed || self.all.iter().any(|object| object.text("/kind") == Some(target.kind.as_ref()));
        given.then(|| json!({"kind": format!("{}List", target.kind), "items": items}))
    }
}

impl Object {
    fn text(&self, pointer: &str) -> Option<&str> {
        self.value.pointer(pointer).and_then(Value::as_str)
    }

    /// Whether it is of the kind, the group and the namespace; what it does not say itself does not count against
    /// it.
    fn is_of(&self, target: &Target) -> bool {
        let group = |api: &str| api.split_once('/').map_or("", |(group, _)| group) == target.group;
        self.text("/kind") == Some(target.kind.as_ref())
            && self.text("/apiVersion").is_none_or(group)
            && self.text("/metadata/namespace").is_none_or(|namespace| Some(namespace) == target.namespace.as_deref())
    }

    fn words(&self) -> String {
        let name = self.text("/metadata/name").unwrap_or("without a name");
        let namespace = self.text("/metadata/namespace").map(|namespace| format!("{namespace}/")).unwrap_or_default();
        let kind = self.text("/kind").unwrap_or_default();
        format!("{} in {}", one_line(&format!("{kind} {namespace}{name}")), self.file)
    }
}

/// How to write what a signal asks for into a file.
pub(super) fn kubectl(target: &Target) -> String {
    let Target { group, version, plural, .. } = target;
    let resource = if group.is_empty() { plural.to_string() } else { format!("{plural}.{version}.{group}") };
    let namespace = target.namespace.as_ref().map(|namespace| format!(" -n {namespace}")).unwrap_or_default();
    match &target.which {
        Which::Named(name) => format!("kubectl get {resource}{namespace} {name} -o yaml"),
        Which::Labelled { selector, .. } => format!("kubectl get {resource}{namespace} -l {selector} -o yaml"),
    }
}

/// The text of a file, and when it was written.
fn text(path: &Path) -> anyhow::Result<(String, Timestamp)> {
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().lock().take(MOST_BYTES + 1).read_to_string(&mut text)?;
        bounded(&text)?;
        return Ok((text, clock::now()));
    }
    let file = std::fs::File::open(path)?;
    let written = Timestamp::try_from(file.metadata()?.modified()?).unwrap_or(Timestamp::UNIX_EPOCH);
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    bounded(&text)?;
    Ok((text, written.min(clock::now())))
}

fn bounded(text: &str) -> anyhow::Result<()> {
    if text.len() as u64 > MOST_BYTES {
        bail!("it has more than {MOST_BYTES} bytes");
    }
    Ok(())
}

/// JSON, or the documents of a YAML file; empty ones left out.
fn documents(text: &str) -> anyhow::Result<Vec<Value>> {
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(vec![value]);
    }
    let documents = serde_yaml::Deserializer::from_str(text).map(Value::deserialize);
    let documents: Vec<Value> = documents.collect::<Result<_, _>>().context("it is neither YAML nor JSON")?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(text: &str) -> anyhow::Result<Objects> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("o.yaml");
        std::fs::write(&path, text).unwrap();
        Objects::read(&path)
    }

    fn target(kind: &str, which: Which) -> Target {
        let text = |text: &str| text.to_string();
        let namespace = Some(text("apps"));
        Target {
            group: "example.com".into(),
            version: "v2".into(),
            kind: kind.to_string().into(),
            plural: "apps".into(),
            namespace,
            which,
        }
    }

    fn named(objects: &Objects, name: &str) -> anyhow::Result<Option<Value>> {
        objects.find(&target("App", Which::Named(name.to_string())))
    }

    #[test]
    fn documents_lists_and_json_are_objects() {
        let app = |name: &str| {
            format!(
                "{{apiVersion: example.com/v2, kind: App, metadata: {{name: {name}, namespace: apps}}, spec: {{}}}}"
            )
        };
        let list = format!("apiVersion: v1\nkind: List\nitems: [{}, {}]\n", app("a"), app("b"));
        let typed = "{\"apiVersion\": \"example.com/v2\", \"kind\": \"AppList\",\t\"items\": [{\"metadata\": {\"name\": \"b\"}, \"spec\": {}}]}";
        let two = format!("---\n{}\n---\n---\n{}\n", app("a"), app("b"));
        for text in [list.as_str(), typed, &two] {
            assert!(named(&read(text).unwrap(), "b").unwrap().is_some(), "{text}");
            assert!(named(&read(text).unwrap(), "c").unwrap().is_none(), "{text}");
        }
    }

    #[test]
    fn who_is_of_another_group_kind_or_namespace_is_somebody_else() {
        for other in [
            "{apiVersion: example.org/v2, kind: App, metadata: {name: a, namespace: apps}}",
            "{apiVersion: example.com/v2, kind: Web, metadata: {name: a, namespace: apps}}",
            "{apiVersion: example.com/v2, kind: App, metadata: {name: a, namespace: web}}",
            "{apiVersion: v2, kind: App, metadata: {name: a, namespace: apps}}",
        ] {
            assert!(named(&read(other).unwrap(), "a").unwrap().is_none(), "{other}");
        }
        let old = read("{apiVersion: example.com/v1, kind: App, metadata: {name: a, namespace: apps}}").unwrap();
        let error = named(&old, "a").unwrap_err().to_string();
        assert!(error.contains("kubectl get apps.v2.example.com -n apps a -o yaml"), "{error}");
        let twice = read("{kind: App, metadata: {name: a}}\n---\n{kind: App, metadata: {name: a}}").unwrap();
        assert_eq!(named(&twice, "a").unwrap_err().to_string(), "App apps/a is given 2 times; give it once");
    }

    #[test]
    fn a_list_is_what_the_labels_choose_and_nothing_but_metadata_where_no_more_is_asked_for() {
        let which = Which::Labelled { selector: "owner=helm,name=loki".into(), metadata: true };
        let list = read(
            "kind: AppList\nitems:\n- {metadata: {name: a, labels: {owner: helm, name: loki}}, data: secret}\n\
             - {metadata: {name: b, labels: {owner: helm, name: web}}}\n",
        );
        let found = list.unwrap().find(&target("App", which.clone())).unwrap();
        let metadata_only = read("{kind: AppList, items: [{metadata: {name: a, namespace: apps}}]}").unwrap();
        assert_eq!(named(&metadata_only, "a").unwrap(), None, "its metadata is not the object");
        let expected = json!({"kind": "AppList", "items": [{"metadata":
            {"name": "a", "labels": {"owner": "helm", "name": "loki"}}}]});
        assert_eq!(found, Some(expected));
        let empty = read("{kind: AppList, items: []}").unwrap().find(&target("App", which.clone())).unwrap();
        assert_eq!(empty, Some(json!({"kind": "AppList", "items": []})));
        assert_eq!(read("{kind: Web, metadata: {name: a}}").unwrap().find(&target("App", which)).unwrap(), None);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for (text, said) in [
            ("", "holds no object"),
            ("null", "holds no object"),
            ("a: b: c", "neither YAML nor JSON"),
            ("[1]", "it has no `kind`"),
            ("{metadata: {name: a}}", "it has no `kind`"),
            ("{kind: List, items: [{metadata: {}}]}", "an item of the list has no `kind`"),
        ] {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
