//! TOML: byte spans of every value by toml_edit.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{Document as Toml_, Item, Key, TableLike, Value as Given};

use super::lines::{Lines, plain, quoted, unmarked};
use super::{Document, Format, MAX_DEPTH, Parsed, Place, Refusal, Spot, Style};
use jsonpath::Step;

/// The format.
pub(super) struct Toml;

impl Format for Toml {
    fn parse(&self, text: &str) -> Result<Parsed, Refusal> {
        let text = &*unmarked(text);
        let lines = Lines::new(text);
        let document = Toml_::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| lines.line(span.start));
            Refusal::NotParsed { format: "TOML", line, why: error.message().chars().take(200).collect() }
        })?;
        let mut reader = Reader { lines, places: BTreeMap::new(), tokens: Vec::new() };
        let tree = reader.table(document.as_table(), &mut Vec::new())?;
        let Reader { places, tokens, .. } = reader;
        Ok(Parsed { documents: vec![Document { tree, places, line: 1, problem: None }], tokens, template: None })
    }

    fn spell(&self, to: &str, style: Style) -> Result<String, Refusal> {
        match style {
            Style::Single if !to.contains('\'') => Ok(format!("'{}'", plain(to)?)),
            Style::Single | Style::Plain | Style::Bare | Style::Double => quoted(to),
        }
    }
}

/// Builds what readers see, and where each value stands. Tokens are keys and values in the order of the tables.
struct Reader<'t> {
    lines: Lines<'t>,
    places: BTreeMap<Vec<Step>, Place>,
    tokens: Vec<String>,
}

impl Reader<'_> {
    fn table(&mut self, table: &dyn TableLike, steps: &mut Vec<Step>) -> Result<Value, Refusal> {
        let mut map = Map::new();
        self.tokens.push("{".to_string());
        for (name, item) in table.iter() {
            let span = table.key(name).and_then(Key::span).or_else(|| item.span()).unwrap_or_default();
            self.tokens.push(format!("{name}:"));
            steps.push(Step::Key(name.to_string()));
            map.insert(name.to_string(), self.item(item, &span, steps)?);
            steps.pop();
        }
        self.tokens.push("}".to_string());
        Ok(Value::Object(map))
    }

    fn item(&mut self, item: &Item, key: &Range<usize>, steps: &mut Vec<Step>) -> Result<Value, Refusal> {
        let line = self.lines.line(key.start);
        if steps.len() > MAX_DEPTH {
            return Err(Refusal::TooDeep { line });
        }
        match item {
            Item::None => Ok(Value::Null),
            Item::Value(value) => self.value(value, line, steps),
            Item::Table(table) => {
                self.places.insert(steps.clone(), Place::Collection { line });
                self.table(table, steps)
            }
            Item::ArrayOfTables(tables) => {
                self.places.insert(steps.clone(), Place::Collection { line });
                let mut list = Vec::with_capacity(tables.len());
                for (index, table) in tables.iter().enumerate() {
                    steps.push(Step::Index(index));
                    list.push(self.table(table, steps)?);
                    steps.pop();
                }
                Ok(Value::Array(list))
            }
        }
    }

    fn value(&mut self, value: &Given, line: usize, steps: &mut Vec<Step>) -> Result<Value, Refusal> {
        if steps.len() > MAX_DEPTH {
            return Err(Refusal::TooDeep { line });
        }
        let (place, tree) = match value {
            Given::InlineTable(table) => (Place::Collection { line }, self.table(table, steps)?),
            Given::Array(array) => {
                let mut list = Vec::with_capacity(array.len());
                self.tokens.push("[".to_string());
                for (index, value) in array.iter().enumerate() {
                    let line = value.span().map_or(line, |span| self.lines.line(span.start));
                    steps.push(Step::Index(index));
                    list.push(self.value(value, line, steps)?);
                    steps.pop();
                }
                self.tokens.push("]".to_string());
                (Place::Collection { line }, Value::Array(list))
            }
            Given::String(text) => (self.scalar(text.value(), value), Value::String(text.value().clone())),
            Given::Integer(number) => (self.raw(value), Value::from(*number.value())),
            Given::Float(number) => (self.raw(value), Value::from(*number.value())),
            Given::Boolean(is) => (self.raw(value), Value::Bool(*is.value())),
            Given::Datetime(at) => (self.raw(value), Value::String(at.value().to_string())),
        };
        self.places.insert(steps.clone(), place);
        Ok(tree)
    }

    fn raw(&mut self, value: &Given) -> Place {
        let text = self.lines.slice(&value.span().unwrap_or_default()).to_string();
        self.scalar(&text, value)
    }

    fn scalar(&mut self, text: &str, value: &Given) -> Place {
        let Some(range) = value.span() else { return Place::Empty { line: 1 } };
        let (token, line) = (self.tokens.len(), self.lines.line(range.start));
        let slice = self.lines.slice(&range);
        self.tokens.push(format!("={slice}"));
        let style = match slice.as_bytes() {
            [b'"', b'"', b'"', ..] | [b'\'', b'\'', b'\'', ..] => return Place::Block { line },
            [b'"', ..] => Style::Double,
            [b'\'', ..] => Style::Single,
            [..] => Style::Plain,
        };
        Place::Scalar(Spot { value: text.to_string(), range, line, style, token })
    }
}
