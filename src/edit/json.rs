//! JSON, also with comments and trailing commas: byte spans of every value by jsonc-parser.

use std::collections::BTreeMap;

use jsonc_parser::ast::{self, ObjectPropName};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

use super::lines::{Lines, quoted, unmarked};
use super::{Document, Format, MAX_DEPTH, Parsed, Place, Refusal, Spot, Style};
use jsonpath::Step;

/// The format.
pub(super) struct Json;

const NAME: &str = "JSON";

/// What other readers of such files take, too.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

impl Format for Json {
    fn parse(&self, text: &str) -> Result<Parsed, Refusal> {
        let text = &unmarked(text);
        let collect = CollectOptions { comments: CommentCollectionStrategy::Separate, tokens: true };
        let result = parse_to_ast(text, &collect, &OPTIONS).map_err(|error| refuse(&error))?;
        let tokens = result.tokens.unwrap_or_default();
        let at = tokens.iter().enumerate().map(|(index, token)| (token.range.start, index)).collect();
        let (lines, places) = (Lines::new(text), BTreeMap::new());
        let mut reader = Reader { lines, at, places, problem: None };
        let tree = match &result.value {
            Some(value) => reader.value(value, &mut Vec::new())?,
            None => Value::Null,
        };
        let said = tokens.iter().map(|token| format!("{:?}", token.token));
        // Comments stand behind all others: none may come, go or change.
        let comments = result
            .comments
            .into_iter()
            .flatten()
            .flat_map(|(_, comments)| comments.iter().map(comment).collect::<Vec<_>>());
        let mut comments: Vec<(usize, String)> = comments.collect();
        comments.sort();
        comments.dedup();
        let tokens = said.chain(comments.into_iter().map(|(_, text)| text)).collect();
        let Reader { places, problem, .. } = reader;
        Ok(Parsed { documents: vec![Document { tree, places, line: 1, problem }], tokens, template: None })
    }

    fn spell(&self, to: &str, _: Style) -> Result<String, Refusal> {
        quoted(to)
    }
}

fn comment(comment: &ast::Comment<'_>) -> (usize, String) {
    (comment.start(), format!("//{}", comment.text()))
}

fn refuse(error: &ParseError) -> Refusal {
    let (line, kind) = (error.line_display(), error.kind());
    if matches!(kind, ParseErrorKind::NestingDepthExceeded) {
        return Refusal::TooDeep { line };
    }
    Refusal::NotParsed { format: NAME, line, why: kind.to_string() }
}

/// Builds what readers see, and where each value stands.
struct Reader<'t> {
    lines: Lines<'t>,
    /// The index of the token that starts at a byte.
    at: BTreeMap<usize, usize>,
    places: BTreeMap<Vec<Step>, Place>,
    problem: Option<Refusal>,
}

impl Reader<'_> {
    fn value(&mut self, value: &ast::Value<'_>, steps: &mut Vec<Step>) -> Result<Value, Refusal> {
        let line = self.lines.line(value.start());
        if steps.len() > MAX_DEPTH {
            return Err(Refusal::TooDeep { line });
        }
        let (place, tree) = match value {
            ast::Value::Object(object) => (Place::Collection { line }, self.object(object, steps)?),
            ast::Value::Array(array) => {
                let mut list = Vec::with_capacity(array.elements.len());
                for (index, element) in array.elements.iter().enumerate() {
                    steps.push(Step::Index(index));
                    list.push(self.value(element, steps)?);
                    steps.pop();
                }
                (Place::Collection { line }, Value::Array(list))
            }
            ast::Value::NullKeyword(_) => (Place::Empty { line }, Value::Null),
            ast::Value::StringLit(text) => {
                (self.scalar(&text.value, Style::Double, value), Value::String(text.value.to_string()))
            }
            ast::Value::NumberLit(number) => {
                let tree =
                    serde_json::from_str(number.value).unwrap_or_else(|_| Value::String(number.value.to_string()));
                (self.scalar(number.value, Style::Plain, value), tree)
            }
            ast::Value::BooleanLit(is) => {
                (self.scalar(&is.value.to_string(), Style::Plain, value), Value::Bool(is.value))
            }
        };
        self.places.insert(steps.clone(), place);
        Ok(tree)
    }

    fn scalar(&self, text: &str, style: Style, value: &ast::Value<'_>) -> Place {
        let (range, line) = (value.start()..value.end(), self.lines.line(value.start()));
        let token = self.at.get(&range.start).copied().unwrap_or(usize::MAX);
        Place::Scalar(Spot { value: text.to_string(), range, line, style, token })
    }

    fn object(&mut self, object: &ast::Object<'_>, steps: &mut Vec<Step>) -> Result<Value, Refusal> {
        let mut map = Map::new();
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for property in &object.properties {
            let name = match &property.name {
                ObjectPropName::String(name) => name.value.to_string(),
                ObjectPropName::Word(word) => word.value.to_string(),
            };
            let line = self.lines.line(property.start());
            if let Some(first) = known.insert(name.clone(), line) {
                self.problem.get_or_insert(Refusal::DuplicateKey { key: name.clone(), first, second: line });
            }
            steps.push(Step::Key(name.clone()));
            let value = self.value(&property.value, steps)?;
            steps.pop();
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}
