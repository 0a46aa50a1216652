//! From a tree to values: a trait, and a way to declare the keys of a mapping once for parser and
//! schema. Which keys there are is in `file`; lists, tables and words are in `forms`.

use schemars::{Schema, json_schema};

use super::nearest::nearest;
use super::problem::quoted;
use super::report::Report;
use super::tree::{Entry, Node, Span, Value};

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

/// A key of a mapping.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// Whether the mapping needs it.
    pub required: bool,
    /// The lines of its description.
    pub about: &'static [&'static str],
    /// What may stand under it.
    pub form: Form,
}

/// What may stand under a key.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// What the record that declares the key says by its types. The others are read in `settings`.
    Typed,
    /// A name in a cluster.
    ObjectName,
    /// A place in a document.
    JsonPath,
    /// A kind of Kubernetes.
    Kind,
    /// An API version of Kubernetes.
    ApiVersion,
    /// The plural of a kind.
    Plural,
    /// The name of a connection.
    Credential,
    /// A number from zero.
    Index,
    /// Yes or no.
    Flag,
    /// A list of texts.
    Words,
    /// A text of any kind, which who declares the key looks at more closely.
    Text,
    /// A stretch of time.
    Length,
    /// An address that is asked, with places for names.
    Address,
    /// The name of a secret of the operator.
    Secret,
    /// One of a closed list of words, each with its description.
    OneOf(&'static [(&'static str, &'static str)]),
    /// A mapping.
    Map(&'static Shape),
}

/// A mapping of the file: what it is called in messages, and its keys.
#[derive(Debug)]
pub struct Shape {
    /// "tier", "plugin"; messages add the name where there is one.
    pub what: &'static str,
    /// The keys that it knows.
    pub keys: &'static [Key],
    /// Keys that people know from elsewhere and that there are none of, each with what to write instead.
    pub unsupported: &'static [(&'static str, &'static str)],
    /// The lines of its description.
    pub about: &'static [&'static str],
}

/// Things that messages call by their `name`.
const NAMED: [&str; 3] = ["tier", "plugin", "cluster"];

impl Shape {
    /// Reports keys that are unknown, not supported or missing, then reads; none when the node is
    /// no mapping at all.
    pub fn read<T>(&self, node: &Node, report: &mut Report, read: impl FnOnce(&mut Report) -> T) -> Option<T> {
        if !matches!(node.value, Value::Map(_)) {
            report.wrong_type(node, &format!("a mapping of {}", self.listed()));
            return None;
        }
        let named = NAMED.contains(&self.what);
        let name = node.get("name").and_then(|entry| entry.node.text()).filter(|_| named);
        let read = |report: &mut Report| {
            for entry in self.unknowns(node) {
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

    /// Whether a mapping has keys that are not known.
    pub fn strange(&self, node: &Node) -> bool {
        self.unknowns(node).next().is_some()
    }

    fn unknowns<'a>(&self, node: &'a Node) -> impl Iterator<Item = &'a Entry> {
        let entries = match &node.value {
            Value::Map(entries) => entries.as_slice(),
            Value::Null | Value::Unresolved | Value::Scalar { .. } | Value::List(_) => &[],
        };
        entries.iter().filter(|entry| self.keys.iter().all(|key| key.name != entry.key))
    }

    fn unknown(&self, entry: &Entry, report: &mut Report) {
        let key = quoted(&entry.key);
        if let Some((_, instead)) = self.unsupported.iter().find(|(unsupported, _)| *unsupported == entry.key) {
            let why = format!("{key} is not supported by this version of Coldframe");
            report.wrong(entry.at, &why, Some(instead));
            return;
        }
        let place = report.here().map_or("at the top level".to_string(), |place| format!("in {place}"));
        let help = match nearest(&entry.key, self.keys.iter().map(|key| key.name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => match report.homes(&entry.key) {
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
#[macro_export]
macro_rules! record {
    (
        $(#[doc = $about:literal])+
        $name:ident = $what:literal {
            $( $(#[doc = $doc:literal])+ $need:ident $field:ident $key:literal : $type:ty, )*
        }
        unsupported [ $($unsupported:expr),* $(,)? ]
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: Option<$crate::read::Spanned<$type>>, )*
            /// A key stands there whose value was refused: nobody may say that it is missing.
            pub refused: bool,
            /// A key stands there that is not known.
            pub strange: bool,
        }

        impl $name {
            /// The keys of this mapping.
            pub const SHAPE: $crate::read::Shape = $crate::read::Shape {
                what: $what,
                keys: &[ $( $crate::read::Key {
                    name: $key,
                    required: $crate::record!(@ $need),
                    about: &[$($doc),+],
                    form: $crate::read::Form::Typed,
                }, )* ],
                unsupported: &[ $($unsupported),* ],
                about: &[ $($about),+ ],
            };
        }

        impl $crate::read::FromNode for $name {
            fn from_node(
                node: &$crate::tree::Node,
                report: &mut $crate::report::Report,
            ) -> Option<Self> {
                Self::SHAPE.read(node, report, |report| {
                    let mut record = Self { $( $field: report.field(node, $key), )* refused: false, strange: false };
                    record.strange = Self::SHAPE.strange(node);
                    record.refused = false $( || (record.$field.is_none() && node.get($key).is_some()) )*;
                    record
                })
            }
        }

        impl $crate::read::Over for $name {
            fn over(self, below: Self) -> Self {
                Self { $( $field: self.$field.or(below.$field), )* refused: self.refused || below.refused, strange: self.strange || below.strange }
            }
        }

        impl $crate::read::schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).trim_end_matches("File").into()
            }

            fn json_schema(generator: &mut $crate::read::schemars::SchemaGenerator) -> $crate::read::schemars::Schema {
                let properties = vec![ $( generator.subschema_for::<$type>(), )* ];
                Self::SHAPE.schema(properties)
            }
        }
    };
    (@ required) => { true };
    (@ optional) => { false };
}
pub use crate::record;
#[doc(hidden)]
pub use schemars;
