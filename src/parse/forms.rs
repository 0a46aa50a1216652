//! The forms that values take beside mappings with fixed keys: lists, tables, words, and short forms
//! of a mapping.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::nearest::nearest;
use super::problem::quoted;
use super::read::{FromNode, Spanned};
use super::report::Report;
use super::tree::{Node, Value};

/// A list; each item knows its place.
#[derive(Clone, Debug)]
pub struct List<T> {
    /// The items that could be read.
    pub items: Vec<Spanned<T>>,
    /// There were others.
    pub refused: bool,
}

impl<T> List<T> {
    /// Whether nothing stands in it, nothing wrong either.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && !self.refused
    }
}

impl<T: FromNode> FromNode for List<T> {
    fn from_node(node: &Node, report: &mut Report) -> Option<Self> {
        let Value::List(nodes) = &node.value else {
            report.wrong_type(node, "a list (`[…]`, also for one)");
            return None;
        };
        let mut read =
            |item: &Node| Some(Spanned { value: T::from_node(item, report)?, at: item.span, key: item.span });
        let items: Vec<_> = nodes.iter().filter_map(&mut read).collect();
        let refused = items.len() < nodes.len();
        Some(Self { items, refused })
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
            Value::Null | Value::Unresolved | Value::Scalar { .. } | Value::List(_) => {
                A::from_node(node, report).map(Self::Short)
            }
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

/// One of a closed list of words. `Of` is any type of the crate whose file it is, so that the words may stand for a type
/// of another crate.
pub trait Words<Of>: Sized + Copy + 'static {
    /// What the list is called in the schema.
    const NAME: &'static str;
    /// Each word, what it stands for, and its description.
    const KNOWN: &'static [(&'static str, Self, &'static str)];
}

/// A value that is written as one of a closed list of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<T, Of>(pub T, pub PhantomData<Of>);

impl<T: Words<Of>, Of> FromNode for Word<T, Of> {
    fn from_node(node: &Node, report: &mut Report) -> Option<Self> {
        let Value::Scalar { text: word, .. } = &node.value else {
            report.wrong_type(node, &format!("one of {}", listed::<T, Of>()));
            return None;
        };
        if let Some((_, value, _)) = T::KNOWN.iter().find(|(known, ..)| known == word) {
            return Some(Self(*value, PhantomData));
        }
        let help = match nearest(word, T::KNOWN.iter().map(|(known, ..)| *known)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("write one of {}", listed::<T, Of>()),
        };
        report.wrong(node.span, &format!("{} is not known", quoted(word)), Some(&help));
        None
    }
}

fn listed<T: Words<Of>, Of>() -> String {
    T::KNOWN.iter().map(|(word, ..)| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

impl<T: Words<Of>, Of> JsonSchema for Word<T, Of> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<serde_json::Value> =
            T::KNOWN.iter().map(|(word, _, about)| serde_json::json!({"const": word, "description": about})).collect();
        json_schema!({"type": "string", "oneOf": words})
    }
}
