//! YAML of strangers as JSON, within budgets.

use serde_json::Value;

/// The longest document; a file of custom resources has one of a megabyte at times.
const MAX_NODES: usize = 400_000;

/// A file of one document.
pub(crate) fn one(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    // An empty file is an empty document.
    if text.lines().all(|line| line.trim().is_empty() || line.starts_with('#')) {
        return Ok(Value::Null);
    }
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| words(&error))
}

/// A file of several documents.
pub(crate) fn several(text: &str) -> Result<Vec<Value>, String> {
    serde_saphyr::from_multiple_with_options(text, options()).map_err(|error| words(&error))
}

fn words(error: &serde_saphyr::Error) -> String {
    super::package::visible(&error.without_snippet().to_string())
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_events: 4 * MAX_NODES,
            max_nodes: MAX_NODES,
            max_depth: 64, // what the stack of a thread bears
            max_aliases: 1_000,
            max_anchors: 1_000,
            max_documents: 1_000,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 100_000 },
        // As Helm reads them: the last one counts.
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
    }
}
