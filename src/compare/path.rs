//! Paths of values, written as people write them: `image.tag`, `annotations["a.b/c"]`, `rules[]`.

use serde_json::Value;

/// A key below a path.
pub(crate) fn below(path: &str, key: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    if !key.is_empty() && key.chars().all(plain) {
        return if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    }
    format!("{path}[{key:?}]")
}

/// The parts of a path as differences name it.
pub fn parts(path: &str) -> Vec<String> {
    let (mut parts, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if let Some(quoted) = rest.strip_prefix('[') {
            let mut stream = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
            let Some(Ok(key)) = stream.next() else { break };
            rest = quoted.get(stream.byte_offset()..).and_then(|rest| rest.strip_prefix(']')).unwrap_or_default();
            parts.push(key);
            continue;
        }
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        parts.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    parts
}

/// What stands at a path; nothing where a part of it is missing.
pub(crate) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    parts(path).iter().try_fold(value, |value, key| value.get(key.as_str()))
}

/// A value in one short line.
pub(crate) fn brief(value: &Value) -> String {
    let text = match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) if text.is_empty() => "an empty text".to_owned(),
        Value::Object(map) if map.is_empty() => "an empty mapping".to_owned(),
        Value::Array(list) if list.is_empty() => "an empty list".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What a value is.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "yes or no",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
