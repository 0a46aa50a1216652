//! Numbers and booleans.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::problem::quoted;
use crate::read::FromNode;
use crate::report::Report;
use crate::tree::{Node, Value};

/// A whole number, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count<const LEAST: u32>(pub u32);

impl<const LEAST: u32> FromNode for Count<LEAST> {
    fn from_node(node: &Node, report: &mut Report) -> Option<Self> {
        let number = match &node.value {
            Value::Scalar { text, plain: true } => text.parse::<u32>().ok(),
            Value::Scalar { .. } | Value::Null | Value::Unresolved | Value::List(_) | Value::Map(_) => None,
        };
        match number {
            Some(number) if number >= LEAST && number <= MOST => Some(Self(number)),
            Some(number) => {
                report.wrong(node.span, &format!("{number} is not in {LEAST} to {MOST}"), None);
                None
            }
            None => {
                report.wrong_type(node, "a whole number");
                None
            }
        }
    }
}

/// The largest number that any key takes.
const MOST: u32 = 1_000_000;

impl<const LEAST: u32> JsonSchema for Count<LEAST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("CountFrom{LEAST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": LEAST, "maximum": MOST})
    }
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag(pub bool);

impl FromNode for Flag {
    fn from_node(node: &Node, report: &mut Report) -> Option<Self> {
        match &node.value {
            Value::Scalar { text, plain: true } if text == "true" => Some(Self(true)),
            Value::Scalar { text, plain: true } if text == "false" => Some(Self(false)),
            Value::Scalar { text, .. } => {
                report.wrong(node.span, &format!("{} is no boolean", quoted(text)), Some("write `true` or `false`"));
                None
            }
            Value::Null | Value::Unresolved | Value::List(_) | Value::Map(_) => {
                report.wrong_type(node, "`true` or `false`");
                None
            }
        }
    }
}

impl JsonSchema for Flag {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Flag".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "boolean"})
    }
}
