//! Reading an untyped object: places, conditions, times. Text from a cluster is data: cut to one
//! short line before it goes anywhere.

use std::borrow::Cow;

use decide::snapshot::{Health, Reading};
use decide::{Digest, Sha, Version};
use jiff::Timestamp;
use serde_json::Value;

/// The longest evidence, in characters.
const MAX_EVIDENCE: usize = 300;

/// An object as the API server returned it.
#[derive(Clone, Copy)]
pub(super) struct Object<'a>(pub &'a Value);

/// One entry of `status.conditions`.
#[derive(Clone, Copy)]
pub(super) struct Condition<'a> {
    kind: &'a str,
    value: &'a Value,
}

/// What a signal found, before it is dated.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The state.
    pub health: Health,
    /// The version that is proven to run.
    pub running: Option<Version>,
    /// The version that a failure or an unfinished rollout is about.
    pub attempted: Option<Version>,
    /// The digest of what runs.
    pub digest: Option<Digest>,
    /// The commit of the config repo that is proven to run, where no version is.
    pub revision: Option<Sha>,
    /// Since when it is in that state, as far as the object proves it.
    pub since: Option<Timestamp>,
    /// Places and values, for people.
    pub evidence: String,
}

impl Verdict {
    /// A state, and what is told of it.
    pub fn new(health: Health, evidence: impl Into<String>) -> Self {
        let evidence = evidence.into();
        Self { health, running: None, attempted: None, digest: None, revision: None, since: None, evidence }
    }

    /// On its way, and why.
    pub fn progressing(evidence: impl Into<String>) -> Self {
        Self::new(Health::Progressing, evidence)
    }

    /// Nobody knows, and why.
    pub fn unknown(evidence: impl Into<String>) -> Self {
        Self::new(Health::Unknown, evidence)
    }

    pub(super) fn since(mut self, since: Option<Timestamp>) -> Self {
        self.since = since;
        self
    }

    /// Dates it. A cluster whose clock runs ahead cannot be in a state since a time to come.
    pub fn read(self, signal: &str, observed_at: Timestamp) -> Reading {
        Reading {
            signal: signal.to_string(),
            health: self.health,
            running: self.running,
            attempted: self.attempted,
            digest: self.digest,
            observed_at,
            since: self.since.map(|since| since.min(observed_at)),
            evidence: one_line(&self.evidence),
        }
    }
}

impl<'a> Object<'a> {
    /// The node at a JSON pointer.
    pub fn at(self, pointer: &str) -> Option<&'a Value> {
        self.0.pointer(pointer).filter(|value| !value.is_null())
    }

    pub fn text(self, pointer: &str) -> Option<&'a str> {
        self.at(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    pub fn number(self, pointer: &str) -> Option<i64> {
        self.at(pointer).and_then(whole)
    }

    pub fn time(self, pointer: &str) -> Option<Timestamp> {
        self.text(pointer).and_then(|text| text.parse().ok())
    }

    pub fn flag(self, pointer: &str) -> bool {
        self.at(pointer).and_then(Value::as_bool).unwrap_or(false)
    }

    pub fn list(self, pointer: &str) -> &'a [Value] {
        self.at(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn generation(self) -> Option<i64> {
        self.number("/metadata/generation")
    }

    pub fn is_deleted(self) -> bool {
        self.text("/metadata/deletionTimestamp").is_some()
    }

    pub fn condition(self, kind: &'a str) -> Option<Condition<'a>> {
        self.condition_in("/status/conditions", kind)
    }

    /// A condition of a list that stands elsewhere than most.
    pub fn condition_in(self, pointer: &str, kind: &'a str) -> Option<Condition<'a>> {
        let is = |value: &&Value| value.get("type").and_then(Value::as_str) == Some(kind);
        self.list(pointer).iter().find(is).map(|value| Condition { kind, value })
    }

    /// A label or annotation: `metadata.labels["helm.sh/chart"]`.
    pub fn mark(self, of: &str, key: &str) -> Option<&'a str> {
        let marks = self.at("/metadata")?.get(of)?;
        marks.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }
}

impl<'a> Condition<'a> {
    pub fn status(self) -> &'a str {
        Object(self.value).text("/status").unwrap_or("Unknown")
    }

    pub fn is_true(self) -> bool {
        self.status() == "True"
    }

    pub fn is_false(self) -> bool {
        self.status() == "False"
    }

    pub fn reason(self) -> &'a str {
        Object(self.value).text("/reason").unwrap_or_default()
    }

    /// The generation that this condition speaks of; none where it does not say.
    pub fn generation(self) -> Option<i64> {
        Object(self.value).number("/observedGeneration").filter(|generation| *generation > 0)
    }

    pub fn since(self) -> Option<Timestamp> {
        Object(self.value).time("/lastTransitionTime")
    }

    /// `Ready=False UpgradeFailed: timed out waiting for the condition`.
    pub fn words(self) -> String {
        let mut words = format!("{}={}", self.kind, self.status());
        for (separator, text) in [(" ", self.reason()), (": ", Object(self.value).text("/message").unwrap_or_default())]
        {
            if !text.is_empty() {
                words.push_str(separator);
                words.push_str(text);
            }
        }
        words
    }
}

/// A whole number, also where a controller writes it as a string (Argo Rollouts does).
pub(super) fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// `metadata.generation` is not what the status speaks of, in words.
pub(super) fn behind(what: &str, found: Option<i64>, generation: i64) -> String {
    match found {
        Some(found) => format!("{what}={found}, metadata.generation={generation}"),
        None => format!("{what} is missing, metadata.generation={generation}"),
    }
}

/// `sha256:` and 64 hexadecimal digits, or nothing.
pub fn digest(text: &str) -> Option<Digest> {
    let hex = text.strip_prefix("sha256:")?;
    let valid = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    valid.then(|| Digest::new(text.to_ascii_lowercase()))
}

/// What stands where a version should, for people: a version, a commit or a digest as it is, perhaps with its branch;
/// of anything else how long it is, since nobody meant to show it.
pub(super) fn told(text: &str) -> Cow<'_, str> {
    let hex = |text: &str| matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hash = |text: &str| text.strip_prefix("sha1:").or_else(|| text.strip_prefix("sha256:")).is_some_and(hex);
    let version = |text: &str| text.len() <= 128 && text.parse::<Version>().is_ok();
    let sign = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+');
    let name = |text: &str| text.len() <= 128 && text.chars().all(sign);
    let dated = text.rsplit_once('@').is_some_and(|(of, end)| name(of) && hash(end));
    if version(text) || hex(text) || hash(text) || dated {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("a text of {} characters that is no version", text.chars().count()))
}

/// The later of two times, when both are known: only then is it proven since when.
pub(super) fn later(one: Option<Timestamp>, two: Option<Timestamp>) -> Option<Timestamp> {
    Some(one?.max(two?))
}

/// One short line without control or direction signs.
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !is_invisible(*c)));
    }
    if line.chars().count() > MAX_EVIDENCE {
        line = line.chars().take(MAX_EVIDENCE - 1).chain(['…']).collect();
    }
    line
}

/// Zero-width signs and those that turn the direction of writing.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn a31_only_versions_commits_and_digests_are_told() {
        let hash = "0a".repeat(20);
        let digest = format!("sha256:{}", "0a".repeat(32));
        for text in ["1.2.0", "v1.2.0-rc.1", &hash, &digest, &format!("main@sha1:{hash}"), &format!("1.2.0@{digest}")] {
            assert_eq!(told(text), text);
        }
        for text in ["hunter2", "ghp_0a0a0a", "main", "main@hunter2", "hunter2 @sha1:0a", "", "latest"] {
            assert_eq!(told(text), format!("a text of {} characters that is no version", text.len()));
        }
    }
}
