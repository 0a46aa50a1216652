//! Words of Kubernetes: names, kinds, API versions and labels, each as its API server takes it.

use super::path;
use super::problem::quoted;
use super::scalar::{Refusal, is_name};

/// The name of an object in a cluster, with places for the names of cluster and tier.
pub fn object(text: &str) -> Result<String, Refusal> {
    path::placeholders(text, &["cluster", "tier", "organization"])?;
    let plain = text.replace("{cluster}", "x").replace("{tier}", "x").replace("{organization}", "x");
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | ':');
    if plain.is_empty() || plain.len() > 253 || !plain.chars().all(good) {
        return Err(Refusal::new(format!("{} cannot be a name in a cluster", quoted(text)))
            .help("lower-case letters, digits, hyphens and dots; `{cluster}` and `{tier}` stand for their names"));
    }
    Ok(text.to_string())
}

/// A kind of object: `HelmRelease`.
pub fn kind(text: &str) -> Result<String, Refusal> {
    let good = text.starts_with(|c: char| c.is_ascii_uppercase()) && text.chars().all(|c| c.is_ascii_alphanumeric());
    if good && text.len() <= 63 {
        return Ok(text.to_string());
    }
    Err(Refusal::new(format!("{} is not a kind", quoted(text))).help("write it like `HelmRelease`"))
}

/// `v1` or `example.com/v1alpha1`.
pub fn api_version(text: &str) -> Result<String, Refusal> {
    let (group, version) = text.split_once('/').map_or((None, text), |(group, version)| (Some(group), version));
    let good_group = group.is_none_or(|group| group.len() <= 253 && group.split('.').all(is_name));
    let good_version =
        version.starts_with('v') && version[1..].starts_with(|c: char| c.is_ascii_digit()) && is_name(version);
    if good_group && good_version {
        return Ok(text.to_string());
    }
    Err(Refusal::new(format!("{} is not an API version", quoted(text)))
        .help("write it like `v1` or `example.com/v1alpha1`"))
}

/// Whether a kind, its list or a plural is that of Secrets, of whatever API and however it is written: an API server
/// goes by the plural alone.
pub fn is_secret(word: &str) -> bool {
    let word = word.split(['/', '.']).next().unwrap_or_default().to_ascii_lowercase();
    matches!(word.strip_suffix("list").unwrap_or(&word), "secret" | "secrets")
}

/// The name part of a label: letters, digits, `-_.`, with letters or digits at both ends.
fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63 && bytes.iter().all(|byte| inner(*byte)) && ends(bytes.first()) && ends(bytes.last())
}

/// The key of a label.
pub fn label_key(text: &str) -> Result<String, Refusal> {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let good_prefix = prefix.is_none_or(|prefix| prefix.len() <= 253 && prefix.split('.').all(is_name));
    if good_prefix && is_label(name) {
        return Ok(text.to_string());
    }
    Err(Refusal::new(format!("{} is not the key of a label", quoted(text)))
        .help("write it like `tier` or `example.com/tier`"))
}

/// The value of a label; it may be empty.
pub fn label_value(text: &str) -> Result<String, Refusal> {
    if text.is_empty() || is_label(text) {
        return Ok(text.to_string());
    }
    let why = format!("{} is not the value of a label", quoted(text));
    Err(Refusal::new(why).help("at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends"))
}

#[cfg(test)]
mod tests {
    use super::is_secret;

    #[test]
    fn a31_a_secret_is_known_in_every_spelling() {
        for word in ["Secret", "SECRET", "SeCrEt", "secrets", "Secrets", "SecretList", "SECRETLIST", "secrets/status"] {
            assert!(is_secret(word), "{word}");
        }
        for word in ["ExternalSecret", "externalsecrets", "SecretStore", "secretstores", "HelmRelease", "List", ""] {
            assert!(!is_secret(word), "{word}");
        }
    }
}
