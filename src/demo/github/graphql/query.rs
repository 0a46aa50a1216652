//! The parts of a query as a field gets them: arguments, literals and fragments; and why a field has no value.
//! How fields are resolved is in `exec.rs`.

use std::collections::BTreeMap;

use graphql_parser::query::{FragmentDefinition, Value as Literal};
use serde_json::{Value, json};

use crate::github::answer::{Answer, Body};

/// A literal as it stands in a query.
pub type Argument = Literal<'static, String>;

/// Fragments of the document by name.
pub type Fragments<'a> = BTreeMap<&'a str, &'a FragmentDefinition<'static, String>>;

/// The arguments of a field, with variables put in.
pub struct Arguments {
    /// The field's name, for error messages.
    pub field: String,
    /// Whether only counts are asked of a connection: then it needs no page size.
    pub counts_only: bool,
    /// Their values by name.
    pub values: BTreeMap<String, Value>,
}

impl Arguments {
    /// An argument that was given and is not null.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// An argument as text (enums too).
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }

    /// A list of texts; a single one stands for a list of one.
    pub fn texts(&self, name: &str) -> Option<Vec<&str>> {
        match self.get(name)? {
            Value::Array(items) => Some(items.iter().filter_map(Value::as_str).collect()),
            Value::String(text) => Some(vec![text]),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        }
    }
}

/// Why a field could not be resolved.
#[derive(Clone, Debug)]
pub struct Fault {
    /// GitHub's word for it.
    pub kind: &'static str,
    /// In words.
    pub message: String,
}

impl Fault {
    /// A fault of a kind, in the hub's words.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl From<Answer> for Fault {
    fn from(answer: Answer) -> Self {
        let kind = match answer.status.as_u16() {
            404 => "NOT_FOUND",
            403 => "FORBIDDEN",
            422 => "UNPROCESSABLE",
            _ => "INTERNAL",
        };
        let message = match answer.body {
            // REST says what is wrong beside a message for all; GraphQL says it alone.
            Some(Body::Json(value)) => {
                value["errors"][0].as_str().or(value["message"].as_str()).unwrap_or_default().to_owned()
            }
            Some(Body::Raw(_, _)) | None => String::new(),
        };
        Self { kind, message }
    }
}

impl From<anyhow::Error> for Fault {
    fn from(error: anyhow::Error) -> Self {
        Answer::from(error).into()
    }
}

/// A literal of the query as JSON, with variables put in. Enums are texts.
pub fn literal(value: &Argument, variables: &BTreeMap<String, Value>) -> Value {
    match value {
        Argument::Variable(name) => variables.get(name).cloned().unwrap_or(Value::Null),
        Argument::Int(number) => number.as_i64().map_or(Value::Null, Value::from),
        Argument::Float(number) => json!(number),
        Argument::String(text) | Argument::Enum(text) => text.clone().into(),
        Argument::Boolean(truth) => (*truth).into(),
        Argument::Null => Value::Null,
        Argument::List(items) => Value::Array(items.iter().map(|item| literal(item, variables)).collect()),
        Argument::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), literal(value, variables))).collect())
        }
    }
}
