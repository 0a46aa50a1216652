//! Label and field selectors as the API's query strings write them.

use serde_json::Value;

/// What a list or a watch is narrowed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    rule: Rule,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
}

impl Selector {
    /// Reads both selectors; the error is the message of a 400.
    pub(super) fn parse(labels: &str, fields: &str) -> Result<Self, String> {
        let parse = |text: &str| pieces(text).into_iter().map(|piece| requirement(&piece)).collect::<Result<_, _>>();
        let selector = Self { labels: parse(labels)?, fields: parse(fields)? };
        for field in &selector.fields {
            if !matches!(field.key.as_str(), "metadata.name" | "metadata.namespace") {
                return Err(format!("field label not supported: {}", field.key));
            }
            if matches!(field.rule, Rule::Exists | Rule::Missing) {
                return Err(format!("invalid field selector: {} needs a value", field.key));
            }
        }
        Ok(selector)
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        let label = |key: &str| object["metadata"]["labels"].get(key).and_then(Value::as_str);
        let field = |key: &str| object["metadata"].get(key.trim_start_matches("metadata.")).and_then(Value::as_str);
        self.labels.iter().all(|requirement| requirement.matches(label(&requirement.key)))
            && self.fields.iter().all(|requirement| requirement.matches(field(&requirement.key)))
    }
}

impl Requirement {
    fn matches(&self, value: Option<&str>) -> bool {
        let within = |values: &[String]| value.is_some_and(|value| values.iter().any(|wanted| wanted == value));
        match &self.rule {
            Rule::Exists => value.is_some(),
            Rule::Missing => value.is_none(),
            Rule::In(values) => within(values),
            Rule::NotIn(values) => !within(values),
        }
    }
}

/// Splits at commas outside of parentheses.
fn pieces(text: &str) -> Vec<String> {
    let (mut pieces, mut piece, mut depth) = (Vec::new(), String::new(), 0_u32);
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if letter == ',' && depth == 0 {
            pieces.push(std::mem::take(&mut piece));
        } else {
            piece.push(letter);
        }
    }
    pieces.push(piece);
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

fn requirement(piece: &str) -> Result<Requirement, String> {
    let made = |key: &str, rule: Rule| Ok(Requirement { key: key.trim().to_owned(), rule });
    let one = |value: &str| vec![value.trim().to_owned()];
    if let Some((key, value)) = piece.split_once("!=") {
        return made(key, Rule::NotIn(one(value)));
    }
    if let Some((key, value)) = piece.split_once("==").or_else(|| piece.split_once('=')) {
        return made(key, Rule::In(one(value)));
    }
    if let Some((head, values)) = piece.split_once('(') {
        let values = values.trim().trim_end_matches(')').split(',').map(|value| value.trim().to_owned()).collect();
        return match head.split_whitespace().collect::<Vec<_>>().as_slice() {
            [key, "in"] => made(key, Rule::In(values)),
            [key, "notin"] => made(key, Rule::NotIn(values)),
            _ => Err(format!("unable to parse requirement: {piece}")),
        };
    }
    let piece = piece.trim();
    match piece.strip_prefix('!') {
        Some(key) => made(key, Rule::Missing),
        None if piece.contains(char::is_whitespace) => Err(format!("unable to parse requirement: {piece}")),
        None => made(piece, Rule::Exists),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_choose_as_the_api_server_does() {
        let object = json!({"metadata": {"name": "x", "namespace": "n", "labels": {"tier": "qa", "app": "y"}}});
        for (labels, fields, expected) in [
            ("", "", Ok(true)),
            ("tier=qa", "", Ok(true)),
            ("tier==qa,app!=z", "", Ok(true)),
            ("tier in (bronze, qa),app", "", Ok(true)),
            ("tier notin (qa)", "", Ok(false)),
            ("!gone", "", Ok(true)),
            ("gone", "", Ok(false)),
            ("gone!=1", "", Ok(true)),
            ("", "metadata.name=x,metadata.namespace=n", Ok(true)),
            ("", "metadata.name=z", Ok(false)),
            ("", "spec.nodeName=z", Err(())),
            ("tier within (qa)", "", Err(())),
            ("two words", "", Err(())),
        ] {
            let found = Selector::parse(labels, fields).map(|selector| selector.matches(&object)).map_err(|_| ());
            assert_eq!(found, expected, "{labels} {fields}");
        }
    }
}
