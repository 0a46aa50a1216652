//! HCL, as Terraform writes it: byte spans of every value by hcl-edit. A block stands under its name and its labels,
//! as in Terraform's JSON; several of one name and labels are a list.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use hcl_edit::Span as _;
use hcl_edit::expr::{Expression, ObjectKey};
use hcl_edit::parser::Error;
use hcl_edit::structure::{Attribute, Block, Body, Structure};
use serde_json::{Map, Value};

use super::lines::{Lines, quoted, unmarked};
use super::{Document, Format, MAX_DEPTH, Parsed, Place, Refusal, Spot, Style};
use jsonpath::Step;

/// The format.
pub(super) struct Hcl;

const NAME: &str = "HCL";
impl Format for Hcl {
    fn parse(&self, text: &str) -> Result<Parsed, Refusal> {
        let text = &unmarked(text);
        let body = hcl_edit::parser::parse_body(text).map_err(|error| refuse(&error))?;
        let mut reader = Reader { lines: Lines::new(text), places: BTreeMap::new(), tokens: Vec::new(), problem: None };
        reader.places.insert(Vec::new(), Place::Collection { line: 1 });
        let tree = Value::Object(reader.body(&body, &mut Vec::new())?);
        let Reader { places, tokens, problem, .. } = reader;
        Ok(Parsed { documents: vec![Document { tree, places, line: 1, problem }], tokens, template: None })
    }

    fn spell(&self, to: &str, _: Style) -> Result<String, Refusal> {
        if to.contains("${") || to.contains("%{") {
            return Err(Refusal::BadValue { to: to.to_string(), why: "it would be a template" });
        }
        quoted(to)
    }
}

fn refuse(error: &Error) -> Refusal {
    let (line, why) = (error.location().line(), error.message());
    if why.contains("nesting depth") {
        return Refusal::TooDeep { line };
    }
    Refusal::NotParsed { format: NAME, line, why: why.chars().take(200).collect() }
}

/// Builds what readers see, and where each value stands. Tokens are names and expressions in their order.
struct Reader<'t> {
    lines: Lines<'t>,
    places: BTreeMap<Vec<Step>, Place>,
    tokens: Vec<String>,
    problem: Option<Refusal>,
}

/// The name of a block, and its labels.
fn address(block: &Block) -> Vec<String> {
    std::iter::once(block.ident.as_str())
        .chain(block.labels.iter().map(|label| label.as_str()))
        .map(str::to_string)
        .collect()
}

impl Reader<'_> {
    fn body(&mut self, body: &Body, steps: &mut Vec<Step>) -> Result<Map<String, Value>, Refusal> {
        let (mut map, mut known) = (Map::new(), BTreeMap::new());
        let mut counts: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        for block in body.iter().filter_map(Structure::as_block) {
            *counts.entry(address(block)).or_default() += 1;
        }
        let (mut seen, names): (BTreeMap<Vec<String>, usize>, BTreeSet<String>) =
            (BTreeMap::new(), counts.keys().filter_map(|address| address.first().cloned()).collect());
        for structure in body.iter() {
            match structure {
                Structure::Attribute(attribute) => {
                    let (name, line) = (attribute.key.to_string(), self.line(attribute.span()));
                    let first = known.insert(name.clone(), line).or_else(|| names.contains(&name).then_some(line));
                    if let Some(first) = first {
                        self.problem.get_or_insert(Refusal::DuplicateKey { key: name, first, second: line });
                    }
                    self.attribute(attribute, &mut map, steps)?;
                }
                Structure::Block(block) => {
                    let address = address(block);
                    let several = counts.get(&address).is_some_and(|count| *count > 1);
                    let index = seen.entry(address.clone()).or_default();
                    let place = several.then_some(*index);
                    *index += 1;
                    self.block(block, (&address, place), &mut map, steps)?;
                }
            }
        }
        Ok(map)
    }

    fn attribute(
        &mut self,
        attribute: &Attribute,
        map: &mut Map<String, Value>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Refusal> {
        let name = attribute.key.to_string();
        self.tokens.push(format!("{name} ="));
        steps.push(Step::Key(name.clone()));
        let value = self.value(&attribute.value, steps)?;
        steps.pop();
        map.insert(name, value);
        Ok(())
    }

    /// `place` is which of several it is.
    fn block(
        &mut self,
        block: &Block,
        (address, place): (&[String], Option<usize>),
        map: &mut Map<String, Value>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Refusal> {
        let (depth, line) = (steps.len(), self.line(block.span()));
        self.tokens.push(format!("{address:?} {{"));
        for part in address {
            steps.push(Step::Key(part.clone()));
            self.places.entry(steps.clone()).or_insert(Place::Collection { line });
        }
        if let Some(index) = place {
            steps.push(Step::Index(index));
            self.places.insert(steps.clone(), Place::Collection { line });
        }
        if steps.len() > MAX_DEPTH {
            return Err(Refusal::TooDeep { line });
        }
        let inner = self.body(&block.body, steps)?;
        self.tokens.push("}".to_string());
        steps.truncate(depth);
        put(map, address, place, inner);
        Ok(())
    }

    fn line(&self, span: Option<Range<usize>>) -> usize {
        self.lines.line(span.unwrap_or_default().start)
    }

    fn value(&mut self, expression: &Expression, steps: &mut Vec<Step>) -> Result<Value, Refusal> {
        let line = self.line(expression.span());
        if steps.len() > MAX_DEPTH {
            return Err(Refusal::TooDeep { line });
        }
        let text = self.lines.slice(&expression.span().unwrap_or_default()).trim_end().to_string();
        let (place, tree) = match expression {
            Expression::Null(_) => (Place::Empty { line }, Value::Null),
            Expression::Bool(is) => (self.scalar(&text, expression, Style::Plain), Value::Bool(*is.value())),
            Expression::Number(_) => {
                let tree = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.clone()));
                (self.scalar(&text, expression, Style::Plain), tree)
            }
            Expression::String(value) => {
                (self.scalar(value, expression, Style::Double), Value::String(value.to_string()))
            }
            Expression::Array(array) => {
                self.tokens.push("[".to_string());
                let mut list = Vec::with_capacity(array.len());
                for (index, element) in array.iter().enumerate() {
                    steps.push(Step::Index(index));
                    list.push(self.value(element, steps)?);
                    steps.pop();
                }
                self.tokens.push("]".to_string());
                (Place::Collection { line }, Value::Array(list))
            }
            Expression::Object(object) => {
                self.tokens.push("{".to_string());
                let mut map = Map::new();
                for (key, value) in object.iter() {
                    let Some(name) = key_of(key) else {
                        self.tokens.push(format!("?{text}"));
                        continue;
                    };
                    self.tokens.push(format!("{name}:"));
                    steps.push(Step::Key(name.clone()));
                    let value = self.value(value.expr(), steps)?;
                    steps.pop();
                    map.insert(name, value);
                }
                self.tokens.push("}".to_string());
                (Place::Collection { line }, Value::Object(map))
            }
            Expression::HeredocTemplate(_) => {
                self.tokens.push(format!("={text}"));
                (Place::Block { line }, Value::String(text))
            }
            Expression::StringTemplate(_)
            | Expression::Parenthesis(_)
            | Expression::Variable(_)
            | Expression::Conditional(_)
            | Expression::FuncCall(_)
            | Expression::Traversal(_)
            | Expression::UnaryOp(_)
            | Expression::BinaryOp(_)
            | Expression::ForExpr(_) => {
                self.tokens.push(format!("={text}"));
                let shown = text.chars().take(80).collect();
                (Place::Expression { line, text: shown }, Value::String(text))
            }
        };
        self.places.insert(steps.clone(), place);
        Ok(tree)
    }

    fn scalar(&mut self, value: &str, expression: &Expression, style: Style) -> Place {
        let Some(range) = expression.span() else { return Place::Empty { line: 1 } };
        let (token, line) = (self.tokens.len(), self.lines.line(range.start));
        self.tokens.push(format!("={}", self.lines.slice(&range)));
        Place::Scalar(Spot { value: value.to_string(), range, line, style, token })
    }
}

/// The text of a key; none where it is made by an expression.
fn key_of(key: &ObjectKey) -> Option<String> {
    match key {
        ObjectKey::Ident(name) => Some(name.to_string()),
        ObjectKey::Expression(Expression::String(name)) => Some(name.to_string()),
        ObjectKey::Expression(_) => None,
    }
}

/// Puts a block under its name and labels.
fn put(map: &mut Map<String, Value>, address: &[String], place: Option<usize>, inner: Map<String, Value>) {
    let Some((first, rest)) = address.split_first() else { return };
    let below = map.entry(first.clone()).or_insert(Value::Null);
    if !rest.is_empty() {
        if !below.is_object() {
            *below = Value::Object(Map::new());
        }
        if let Some(below) = below.as_object_mut() {
            put(below, rest, place, inner);
        }
        return;
    }
    match place {
        None => match below.as_object_mut() {
            // Such as `a {}` beside `a "b" {}`.
            Some(known) => known.extend(inner),
            None => *below = Value::Object(inner),
        },
        Some(_) => {
            if !below.is_array() {
                *below = Value::Array(Vec::new());
            }
            if let Some(list) = below.as_array_mut() {
                list.push(Value::Object(inner));
            }
        }
    }
}
