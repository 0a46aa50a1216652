//! Mappings whose keys are listed elsewhere than in `file`, such as those of a kind of signal: read by
//! their list of keys, described by it, and written down by it.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_yaml::{Mapping, Value as Yaml};

use super::address::Address;
use super::forms::List;
use super::nearest::nearest;
use super::problem::quoted;
use super::read::{Form, FromNode, Key, Shape};
use super::report::Report;
use super::scalar::{
    ApiVersion, Count, Credential, Flag, JsonPath, Kind, ObjectName, Plural, Refusal, SecretName, Words, scalar,
};
use super::tree::{Entry, Node, Span};
use super::when::Length;

scalar!(
    /// A text that the key's own rules look at.
    Text(String), "a text", |text| match text.trim() {
        "" => Err(Refusal::new("the text is empty")),
        long if long.len() > 4096 => Err(Refusal::new("the text has more than 4096 bytes")),
        text => Ok(text.to_string()),
    },
    {"type": "string", "minLength": 1, "maxLength": 4096}
);

/// What stands under a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A text, a name, a path.
    Text(String),
    /// A number.
    Number(u32),
    /// Yes or no.
    Flag(bool),
    /// Words.
    List(Vec<String>),
    /// A mapping.
    Map(Values),
}

/// What stands in a mapping, by its keys.
pub type Values = BTreeMap<&'static str, Given>;

/// What must not stand in a mapping as it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Where: keys with dots between them.
    pub at: &'static str,
    /// Why.
    pub why: String,
    /// What to write instead.
    pub help: String,
}

/// Reads a mapping by its list of keys; none when something in it is wrong, which is reported.
pub fn read(shape: &'static Shape, node: &Node, report: &mut Report) -> Option<Values> {
    let mut whole = true;
    let values = shape.read(node, report, |report| {
        let mut values = Values::new();
        for key in shape.keys {
            match node.get(key.name).map(|entry| report.within_key(key.name, |report| given(key, entry, report))) {
                Some(Some(given)) => {
                    values.insert(key.name, given);
                }
                Some(None) => whole = false,
                None => whole &= !key.required,
            }
        }
        values
    })?;
    (whole && !shape.strange(node)).then_some(values)
}

fn given(key: &Key, entry: &Entry, report: &mut Report) -> Option<Given> {
    fn of<T: FromNode>(entry: &Entry, report: &mut Report) -> Option<T> {
        report.value::<T>(entry).map(|value| value.value)
    }
    Some(match key.form {
        // A record reads its own keys.
        Form::Typed => return None,
        Form::ObjectName => Given::Text(of::<ObjectName>(entry, report)?.0),
        Form::JsonPath => Given::Text(of::<JsonPath>(entry, report)?.0),
        Form::Kind => Given::Text(of::<Kind>(entry, report)?.0),
        Form::ApiVersion => Given::Text(of::<ApiVersion>(entry, report)?.0),
        Form::Plural => Given::Text(of::<Plural>(entry, report)?.0),
        Form::Credential => Given::Text(of::<Credential>(entry, report)?.0),
        Form::Index => Given::Number(of::<Count<0>>(entry, report)?.0),
        Form::Flag => Given::Flag(of::<Flag>(entry, report)?.0),
        Form::Words => {
            let list = of::<List<Words>>(entry, report)?;
            Given::List((!list.refused).then(|| list.items.into_iter().map(|item| item.value.0).collect())?)
        }
        Form::Text => Given::Text(of::<Text>(entry, report)?.0),
        Form::Length => {
            of::<Length>(entry, report)?;
            // As it was written: people read it again.
            Given::Text(entry.node.text()?.to_string())
        }
        Form::Address => Given::Text(of::<Address>(entry, report)?.0),
        Form::Secret => Given::Text(of::<SecretName>(entry, report)?.0),
        Form::OneOf(words) => Given::Text(word(words, &entry.node, report)?.to_string()),
        Form::Map(shape) => Given::Map(read(shape, &entry.node, report)?),
    })
}

/// One of a closed list of words.
fn word(words: &'static [(&'static str, &'static str)], node: &Node, report: &mut Report) -> Option<&'static str> {
    let known = || words.iter().map(|(word, _)| *word);
    let listed = || known().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let Some(text) = node.text() else {
        report.wrong_type(node, &format!("one of {}", listed()));
        return None;
    };
    if let Some(word) = known().find(|word| *word == text) {
        return Some(word);
    }
    let help = match nearest(text, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write one of {}", listed()),
    };
    report.wrong(node.span, &format!("{} is not known", quoted(text)), Some(&help));
    None
}

/// Where a key of a mapping stands: the value, or the mapping where it has no such key.
pub fn place(node: &Node, at: &str) -> Span {
    let mut here = node;
    for key in at.split('.') {
        match here.get(key) {
            Some(entry) => here = &entry.node,
            None => break,
        }
    }
    here.span
}

/// The schema of a mapping; mappings within get a name of their own.
pub fn schema(shape: &'static Shape, generator: &mut SchemaGenerator) -> Schema {
    let properties = shape.keys.iter().map(|key| property(key, generator)).collect();
    shape.schema(properties)
}

/// A reference to the schema of a mapping, by this name.
pub fn reference(name: &str, shape: &'static Shape, generator: &mut SchemaGenerator) -> Schema {
    let schema = schema(shape, generator);
    generator.definitions_mut().insert(name.to_string(), schema.to_value());
    json_schema!({"$ref": format!("#/$defs/{name}")})
}

fn property(key: &Key, generator: &mut SchemaGenerator) -> Schema {
    fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
    match key.form {
        Form::Typed => json_schema!({}),
        Form::ObjectName => of::<ObjectName>(generator),
        Form::JsonPath => of::<JsonPath>(generator),
        Form::Kind => of::<Kind>(generator),
        Form::ApiVersion => of::<ApiVersion>(generator),
        Form::Plural => of::<Plural>(generator),
        Form::Credential => of::<Credential>(generator),
        Form::Index => of::<Count<0>>(generator),
        Form::Flag => of::<Flag>(generator),
        Form::Words => of::<List<Words>>(generator),
        Form::Text => of::<Text>(generator),
        Form::Length => of::<Length>(generator),
        Form::Address => of::<Address>(generator),
        Form::Secret => of::<SecretName>(generator),
        Form::OneOf(words) => {
            let words: Vec<serde_json::Value> =
                words.iter().map(|(word, about)| serde_json::json!({"const": word, "description": about})).collect();
            json_schema!({"type": "string", "oneOf": words})
        }
        Form::Map(shape) => reference(&pascal(key.name), shape, generator),
    }
}

/// `helmRelease` as schemas call their mappings: `HelmRelease`.
pub fn pascal(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// The mapping as the file has it, its keys in the order of their list.
pub fn written(shape: &Shape, values: &Values) -> Yaml {
    let mut out = Mapping::new();
    for key in shape.keys {
        let value = match (values.get(key.name), key.form) {
            (None, _) => continue,
            (Some(Given::Text(text)), _) => Yaml::from(text.as_str()),
            (Some(Given::Number(number)), _) => Yaml::from(*number),
            (Some(Given::Flag(flag)), _) => Yaml::from(*flag),
            (Some(Given::List(list)), _) => list.iter().map(|text| Yaml::from(text.as_str())).collect(),
            (Some(Given::Map(inner)), Form::Map(shape)) => written(shape, inner),
            (Some(Given::Map(_)), _) => continue,
        };
        out.insert(Yaml::from(key.name), value);
    }
    Yaml::Mapping(out)
}
