//! From a tree to values: a trait, a way to declare the keys of a mapping once for parser and
//! schema, and the report that collects what is wrong. Which keys there are is in `file`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::nearest::nearest;
use super::problem::{Problem, quoted};
use super::tree::{Entry, Node, Span, Value};

/// More problems than this are not kept: who has made a thousand mistakes mends the first ones.
const MOST_KEPT: usize = 1_000;

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where the value stands.
    pub at: Span,
    /// Where its key stands; the value's own place for an item of a list.
    pub key: Span,
}

/// What a node may become.
pub trait FromNode: Sized {
    /// The value of the node. None means that what is wrong was reported.
    fn from_node(node: &Node, report: &mut Report) -> Option<Self>;
}

/// What may lie over another of its kind: its keys win, each as a whole.
pub trait Over {
    /// This, with the keys that it lacks taken from below.
    #[must_use]
    fn over(self, below: Self) -> Self;
}

/// Collects problems, and knows where in the file the reader is.
#[derive(Debug, Default)]
pub struct Report {
    found: Vec<Found>,
    place: Vec<Place>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    at: Span,
    warning: bool,
    message: String,
    help: Option<String>,
}

#[derive(Debug)]
enum Place {
    Key(Cow<'static, str>),
    Named(String),
}

impl Report {
    /// Something that must be mended.
    pub fn problem(&mut self, at: Span, message: impl Into<String>, help: Option<&str>) {
        self.add(at, false, message.into(), help);
    }

    /// Something that is allowed, and most likely not what was meant.
    pub fn warning(&mut self, at: Span, message: impl Into<String>, help: Option<&str>) {
        self.add(at, true, message.into(), help);
    }

    /// Whether no problem was found so far; warnings do not count.
    pub fn is_empty(&self) -> bool {
        self.found.iter().all(|found| found.warning)
    }

    fn add(&mut self, at: Span, warning: bool, message: String, help: Option<&str>) {
        if self.found.len() < MOST_KEPT {
            self.found.push(Found { at, warning, message, help: help.map(str::to_string) });
        }
    }

    /// Problems and warnings in the order of the files and lines, each once.
    pub fn finish(mut self, names: &[String]) -> (Vec<Problem>, Vec<Problem>) {
        self.found.sort();
        self.found.dedup();
        let (warnings, problems): (Vec<Found>, Vec<Found>) = self.found.into_iter().partition(|found| found.warning);
        let tell = |found: Vec<Found>| found.into_iter().map(|found| found.told(names)).collect();
        (tell(problems), tell(warnings))
    }

    /// Where the reader is, in words: "`notice` of `force` of tier `gold`"; none at the top.
    pub fn here(&self) -> Option<String> {
        let mut words = Vec::new();
        for place in self.place.iter().rev() {
            match place {
                Place::Key(key) => words.push(format!("`{key}`")),
                Place::Named(name) => {
                    words.push(name.clone());
                    break;
                }
            }
        }
        if words.is_empty() { None } else { Some(words.join(" of ")) }
    }

    /// A problem with the value at hand.
    pub fn wrong(&mut self, at: Span, why: &str, help: Option<&str>) {
        let message = match self.here() {
            Some(here) => format!("{here}: {why}"),
            None => why.to_string(),
        };
        self.problem(at, message, help);
    }

    /// The value is of another type.
    pub fn wrong_type(&mut self, node: &Node, expected: &str) {
        self.wrong(node.span, &format!("expected {expected}, found {}", node.what()), None);
    }

    /// Does something inside a named thing, such as "tier `gold`".
    pub fn within<T>(&mut self, name: String, read: impl FnOnce(&mut Self) -> T) -> T {
        self.place.push(Place::Named(name));
        let value = read(self);
        self.place.pop();
        value
    }

    /// Does something inside a key.
    pub fn within_key<T>(&mut self, key: impl Into<Cow<'static, str>>, read: impl FnOnce(&mut Self) -> T) -> T {
        self.place.push(Place::Key(key.into()));
        let value = read(self);
        self.place.pop();
        value
    }

    /// The value of one key; none when it is absent or wrong.
    pub fn field<T: FromNode>(&mut self, node: &Node, key: &'static str) -> Option<Spanned<T>> {
        let entry = node.get(key)?;
        self.within_key(key, |report| report.value(entry))
    }

    fn value<T: FromNode>(&mut self, entry: &Entry) -> Option<Spanned<T>> {
        if matches!(entry.node.value, Value::Null) {
            self.wrong(entry.at, "nothing stands here", Some("give it a value, or take the key out"));
            return None;
        }
        let value = T::from_node(&entry.node, self)?;
        Some(Spanned { value, at: entry.node.span, key: entry.at })
    }
}

impl Found {
    fn told(self, names: &[String]) -> Problem {
        Problem {
            file: names.get(self.at.file).cloned().unwrap_or_default(),
            line: self.at.line,
            column: self.at.column,
            message: self.message,
            help: self.help,
            span: self.at.start..self.at.end,
        }
    }
}

/// A key of a mapping.
#[derive(Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// Whether the mapping needs it.
    pub required: bool,
    /// The lines of its description.
    pub about: &'static [&'static str],
}

/// A mapping of the file: what it is called in messages, and its keys.
#[derive(Debug)]
pub struct Shape {
    /// "tier", "plugin"; messages add the name where there is one.
    pub what: &'static str,
    /// The keys that it knows.
    pub keys: &'static [Key],
    /// Keys of the design that this version does not build yet.
    pub later: &'static [&'static str],
    /// The lines of its description.
    pub about: &'static [&'static str],
}

/// Things that messages call by their `name`.
const NAMED: [&str; 3] = ["tier", "plugin", "cluster"];

impl Shape {
    /// Reports keys that are unknown, not supported or missing, then reads; none when the node is
    /// no mapping at all.
    pub fn read<T>(&self, node: &Node, report: &mut Report, read: impl FnOnce(&mut Report) -> T) -> Option<T> {
        let Value::Map(entries) = &node.value else {
            report.wrong_type(node, &format!("a mapping of {}", self.listed()));
            return None;
        };
        let named = NAMED.contains(&self.what);
        let name = node.get("name").and_then(|entry| entry.node.text()).filter(|_| named);
        let read = |report: &mut Report| {
            for entry in entries.iter().filter(|entry| self.keys.iter().all(|key| key.name != entry.key)) {
                self.unknown(entry, report);
            }
            for key in self.keys.iter().filter(|key| key.required && node.get(key.name).is_none()) {
                let place = match report.here() {
                    Some(_) if named && key.name == "name" => format!("a {}", self.what),
                    Some(place) => place,
                    None => "the file".to_string(),
                };
                let start = Span { end: node.span.start, ..node.span };
                report.problem(start, format!("{place} has no `{}`", key.name), Some(&format!("add `{}:`", key.name)));
            }
            read(report)
        };
        Some(match name {
            Some(name) => report.within(format!("{} {}", self.what, quoted(name)), read),
            None if named => report.within(format!("a {} without a name", self.what), read),
            None => read(report),
        })
    }

    fn unknown(&self, entry: &Entry, report: &mut Report) {
        let key = quoted(&entry.key);
        if self.later.contains(&entry.key.as_str()) {
            report.wrong(
                entry.at,
                &format!("{key} is not supported by this version of Coldframe"),
                Some("take it out"),
            );
            return;
        }
        let place = report.here().map_or("at the top level".to_string(), |place| format!("in {place}"));
        let help = match nearest(&entry.key, self.keys.iter().map(|key| key.name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => match super::file::homes(&entry.key) {
                Some(homes) => format!("{key} belongs in {homes}; known here: {}", self.listed()),
                None => format!("known here: {}", self.listed()),
            },
        };
        report.problem(entry.at, format!("unknown key {key} {place}"), Some(&help));
    }

    fn listed(&self) -> String {
        let names: Vec<String> = self.keys.iter().map(|key| format!("`{}`", key.name)).collect();
        names.join(", ")
    }

    /// The schema of the mapping; `properties` are those of the keys, in their order.
    pub fn schema(&self, properties: Vec<Schema>) -> Schema {
        let mut map = serde_json::Map::new();
        for (key, mut schema) in self.keys.iter().zip(properties) {
            schema.insert("description".to_string(), text(key.about).into());
            map.insert(key.name.to_string(), schema.to_value());
        }
        let required: Vec<&str> = self.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
        let mut schema = json_schema!({
            "type": "object",
            "description": text(self.about),
            "properties": map,
            "additionalProperties": false,
        });
        if !required.is_empty() {
            schema.insert("required".to_string(), required.into());
        }
        schema
    }
}

/// Lines of a doc comment as one text.
fn text(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// Declares a mapping once: a struct whose fields are all optional (what is missing was reported),
/// how it is read, its schema, and how one lies over another of the same kind.
macro_rules! record {
    (
        $(#[doc = $about:literal])+
        $name:ident = $what:literal {
            $( $(#[doc = $doc:literal])+ $need:ident $field:ident $key:literal : $type:ty, )*
        }
        later [ $($later:literal),* $(,)? ]
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: Option<$crate::policy::read::Spanned<$type>>, )*
        }

        impl $name {
            /// The keys of this mapping.
            pub const SHAPE: $crate::policy::read::Shape = $crate::policy::read::Shape {
                what: $what,
                keys: &[ $( $crate::policy::read::Key {
                    name: $key,
                    required: record!(@ $need),
                    about: &[$($doc),+],
                }, )* ],
                later: &[ $($later),* ],
                about: &[ $($about),+ ],
            };
        }

        impl $crate::policy::read::FromNode for $name {
            fn from_node(
                node: &$crate::policy::tree::Node,
                report: &mut $crate::policy::read::Report,
            ) -> Option<Self> {
                Self::SHAPE.read(node, report, |report| Self { $( $field: report.field(node, $key), )* })
            }
        }

        impl $crate::policy::read::Over for $name {
            fn over(self, below: Self) -> Self {
                Self { $( $field: self.$field.or(below.$field), )* }
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).trim_end_matches("File").into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let properties = vec![ $( generator.subschema_for::<$type>(), )* ];
                Self::SHAPE.schema(properties)
            }
        }
    };
    (@ required) => { true };
    (@ optional) => { false };
}
pub(crate) use record;

/// A list; each item knows its place.
#[derive(Clone, Debug)]
pub struct List<T>(pub Vec<Spanned<T>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: FromNode> FromNode for List<T> {
    fn from_node(node: &Node, report: &mut Report) -> Option<Self> {
        let Value::List(items) = &node.value else {
            let help = "write it as a list, also when there is one only: `[…]`";
            report.wrong(node.span, &format!("expected a list, found {}", node.what()), Some(help));
            return None;
        };
        let read =
            |item: &Node| T::from_node(item, report).map(|value| Spanned { value, at: item.span, key: item.span });
        Some(Self(items.iter().filter_map(read).collect()))
    }
}

impl<T: JsonSchema> JsonSchema for List<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("ListOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "array", "items": generator.subschema_for::<T>()})
    }
}

/// A mapping from names that people choose.
#[derive(Clone, Debug)]
pub struct Table<K, V>(pub Vec<(Spanned<K>, Spanned<V>)>);

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: FromNode, V: FromNode> FromNode for Table<K, V> {
    fn from_node(node: &Node, report: &mut Report) -> Option<Self> {
        let Value::Map(entries) = &node.value else {
            report.wrong_type(node, "a mapping");
            return None;
        };
        let mut pairs = Vec::new();
        for entry in entries {
            let key = K::from_node(&Node::scalar(&entry.key, entry.at), report);
            let value = report.within_key(entry.key.clone(), |report| report.value(entry));
            if let (Some(key), Some(value)) = (key, value) {
                pairs.push((Spanned { value: key, at: entry.at, key: entry.at }, value));
            }
        }
        Some(Self(pairs))
    }
}

impl<K: JsonSchema, V: JsonSchema> JsonSchema for Table<K, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("TableOf{}", V::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "propertyNames": generator.subschema_for::<K>(),
            "additionalProperties": generator.subschema_for::<V>(),
        })
    }
}

/// A short form, or a mapping that says more.
#[derive(Clone, Debug)]
pub enum Either<A, B> {
    /// The short form.
    Short(A),
    /// The mapping.
    Long(B),
}

impl<A: FromNode, B: FromNode> FromNode for Either<A, B> {
    fn from_node(node: &Node, report: &mut Report) -> Option<Self> {
        match &node.value {
            Value::Map(_) => B::from_node(node, report).map(Self::Long),
            Value::Null | Value::Scalar { .. } | Value::List(_) => A::from_node(node, report).map(Self::Short),
        }
    }
}

impl<A: JsonSchema, B: JsonSchema> JsonSchema for Either<A, B> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}Or{}", A::schema_name(), B::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [generator.subschema_for::<A>(), generator.subschema_for::<B>()]})
    }
}

/// One of a closed list of words.
pub trait Words: Sized + Copy + 'static {
    /// What the list is called in the schema.
    const NAME: &'static str;
    /// Each word, what it stands for, and its description.
    const KNOWN: &'static [(&'static str, Self, &'static str)];
    /// Words of the design that this version does not build yet.
    const LATER: &'static [&'static str];
}

/// A value that is written as one of a closed list of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<T>(pub T);

impl<T: Words> FromNode for Word<T> {
    fn from_node(node: &Node, report: &mut Report) -> Option<Self> {
        // `{canary: {…}}` speaks of `canary`.
        let (word, at) = match &node.value {
            Value::Scalar { text, .. } => (text.as_str(), node.span),
            Value::Map(entries) if entries.len() == 1 && T::LATER.contains(&entries[0].key.as_str()) => {
                (entries[0].key.as_str(), entries[0].at)
            }
            Value::Null | Value::List(_) | Value::Map(_) => {
                report.wrong_type(node, &format!("one of {}", listed::<T>()));
                return None;
            }
        };
        if let Some((_, value, _)) = T::KNOWN.iter().find(|(known, ..)| *known == word) {
            return Some(Self(*value));
        }
        if T::LATER.contains(&word) {
            let why = format!("`{word}` is not supported by this version of Coldframe");
            report.wrong(at, &why, Some(&format!("supported: {}", listed::<T>())));
            return None;
        }
        let help = match nearest(word, T::KNOWN.iter().map(|(known, ..)| *known)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("write one of {}", listed::<T>()),
        };
        report.wrong(at, &format!("{} is not known", quoted(word)), Some(&help));
        None
    }
}

fn listed<T: Words>() -> String {
    T::KNOWN.iter().map(|(word, ..)| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

impl<T: Words> JsonSchema for Word<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<serde_json::Value> =
            T::KNOWN.iter().map(|(word, _, about)| serde_json::json!({"const": word, "description": about})).collect();
        json_schema!({"type": "string", "oneOf": words})
    }
}
