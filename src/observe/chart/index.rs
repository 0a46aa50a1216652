//! One chart out of an `index.yaml`, which may list tens of thousands of versions of others: its
//! block is cut out by indentation and checked; where that does not work, the whole file is read.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use decide::{Digest, Version};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::found::Found;
use super::meta;

/// The most versions of one chart.
const MAX_VERSIONS: usize = 20_000;

/// The longest address of a package, in bytes.
const MAX_URL: usize = 2_048;

/// The versions of one chart, and how many entries were left out because they are none.
#[derive(Debug)]
pub struct Listed {
    /// By the version as it is written.
    pub releases: BTreeMap<String, Entry>,
    /// Entries that do not parse.
    pub left_out: usize,
}

/// One version as the index has it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The version.
    pub version: Version,
    digest: Option<Digest>,
    /// Where its package is: an address, or a path below the index.
    package: Option<String>,
    /// What its author says, not looked into until somebody asks: there may be thousands.
    chart: Value,
}

impl Entry {
    /// The version with what its author says of it.
    pub fn found(&self) -> Found {
        meta::found(self.version.clone(), self.digest.clone(), &self.chart)
    }

    /// Where its package is, as the index has it.
    pub fn package(&self) -> Option<&str> {
        self.package.as_deref()
    }
}

/// Reads one chart. `None` where the index does not list it.
///
/// # Errors
/// What is wrong with the index, in words.
pub fn read(text: &str, chart: &str) -> Result<Option<Listed>, String> {
    let entries = match cut(text, chart).and_then(|block| exactly(block, chart)) {
        Some(entries) => Some(entries),
        None => whole(text, chart)?,
    };
    entries.map(listed).transpose()
}

fn listed(entries: Vec<Value>) -> Result<Listed, String> {
    if entries.len() > MAX_VERSIONS {
        return Err(format!("{} versions, more than the {MAX_VERSIONS} that are read", entries.len()));
    }
    let mut listed = Listed { releases: BTreeMap::new(), left_out: 0 };
    for entry in entries {
        let version =
            entry.get("version").and_then(Value::as_str).and_then(|text| text.parse::<decide::Version>().ok());
        let Some(version) = version else {
            listed.left_out += 1;
            continue;
        };
        let digest = entry.get("digest").and_then(Value::as_str).and_then(digest);
        // Of an index that lists one version twice, Helm takes the first.
        let key = version.to_string();
        let package = entry.pointer("/urls/0").and_then(Value::as_str).filter(|url| url.len() <= MAX_URL);
        let package = package.map(str::to_owned);
        listed.releases.entry(key).or_insert_with(|| Entry { version, digest, package, chart: meta::trimmed(entry) });
    }
    Ok(listed)
}

/// Helm writes the bare hexadecimal digits, others the algorithm before them.
fn digest(text: &str) -> Option<Digest> {
    let hex = text.strip_prefix("sha256:").unwrap_or(text);
    let valid = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    valid.then(|| Digest::new(format!("sha256:{}", hex.to_ascii_lowercase())))
}

/// The lines of one chart below `entries:`, as Helm writes them; nothing where they look otherwise.
fn cut<'t>(text: &'t str, chart: &str) -> Option<&'t str> {
    let entries = if text.starts_with("entries:\n") { 0 } else { text.find("\nentries:\n")? + 1 };
    let body = entries + "entries:\n".len();
    let indent = text.get(body..)?.bytes().take_while(|byte| *byte == b' ').count();
    if indent == 0 {
        return None;
    }
    let key = format!("\n{}{chart}:\n", " ".repeat(indent));
    // From the line break before the first key on, so that the first chart is found, too.
    let section = text.get(body - 1..)?;
    let section = section.get(..top_level(section)).unwrap_or(section);
    let start = section.find(&key)? + 1;
    if section.get(start..)?.contains(&key) {
        return None;
    }
    let block = section.get(start..)?;
    let mut end = block.find('\n')? + 1;
    for line in block.get(end..)?.split_inclusive('\n') {
        let depth = line.bytes().take_while(|byte| *byte == b' ').count();
        let rest = line.get(depth..).unwrap_or_default();
        let no_key = rest.trim().is_empty() || rest.starts_with('#');
        match depth.cmp(&indent) {
            Ordering::Less if !no_key => return None,
            // The next chart; an item of the list may stand there, too.
            Ordering::Equal if !no_key && !rest.starts_with('-') => break,
            Ordering::Less | Ordering::Equal | Ordering::Greater => end += line.len(),
        }
    }
    block.get(..end)
}

/// Where the next key of the top level starts.
fn top_level(section: &str) -> usize {
    let mut offset = 1;
    for line in section.get(1..).unwrap_or_default().split_inclusive('\n') {
        if !line.starts_with([' ', '\n', '\r', '#']) {
            return offset;
        }
        offset += line.len();
    }
    section.len()
}

/// The cut is a mapping with exactly this key and a list below it.
fn exactly(block: &str, chart: &str) -> Option<Vec<Value>> {
    let mut found: BTreeMap<String, Vec<Value>> = serde_saphyr::from_str_with_options(block, options()).ok()?;
    if found.len() == 1 { found.remove(chart) } else { None }
}

/// Reads all of it, and keeps one chart.
fn whole(text: &str, chart: &str) -> Result<Option<Vec<Value>>, String> {
    serde_saphyr::with_deserializer_from_str_with_options(text, options(), |deserializer| {
        Seed { chart, inside: false }.deserialize(deserializer)
    })
    .map_err(|error| error.without_snippet().to_string().chars().take(200).collect())
}

/// The text is bounded already (64 MB); what remains is that aliases do not multiply it, and depth.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_events: 32_000_000,
            max_nodes: 16_000_000,
            max_aliases: 1_000,
            max_anchors: 1_000,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 100_000 },
    }
}

/// Walks `entries`, then one chart of it, and skips the rest.
#[derive(Clone, Copy)]
struct Seed<'c> {
    chart: &'c str,
    inside: bool,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Option<Vec<Value>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if self.inside { deserializer.deserialize_any(self) } else { deserializer.deserialize_map(self) }
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Option<Vec<Value>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.inside { "a mapping of charts" } else { "an index with `entries`" })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let wanted = if self.inside { self.chart } else { "entries" };
        let (mut found, mut seen) = (None, false);
        while let Some(key) = map.next_key::<String>()? {
            if key != wanted {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if std::mem::replace(&mut seen, true) {
                return Err(A::Error::custom(format!("`{key}` stands there twice")));
            }
            found = if self.inside {
                Some(map.next_value::<Vec<Value>>()?)
            } else {
                map.next_value_seed(Seed { inside: true, ..self })?
            };
        }
        if !self.inside && !seen {
            return Err(A::Error::missing_field("entries"));
        }
        Ok(found)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        if self.inside { Ok(None) } else { Err(E::custom("it is empty")) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn index() -> String {
        let hex = "ab".repeat(32);
        format!(
            "apiVersion: v1\nentries:\n  alpha:\n  - version: 9.9.9\n    description: |\n      entries:\n        loki:\n  loki:\n  - annotations:\n      \
             artifacthub.io/changes: |\n        - kind: changed\n          description: BREAKING values\n    apiVersion: v2\n    \
             digest: {hex}\n    home: https://grafana.example\n    name: loki\n    urls:\n    - loki-1.2.0.tgz\n    version: 1.2.0\n  - \
             digest: sha256:{hex}\n    version: 1.1.0+b\n\n  - version: latest\n  - name: none\n  loki-distributed:\n  - version: 7.7.7\n\
             generated: \"2026-11-21T00:00:00Z\"\n"
        )
    }

    fn versions(text: &str) -> Vec<String> {
        read(text, "loki").unwrap().unwrap().releases.into_keys().collect()
    }

    #[test]
    fn one_chart_is_cut_out_and_read() {
        let text = index();
        let block = cut(&text, "loki").unwrap();
        assert!(block.starts_with("  loki:\n  - annotations") && block.ends_with("name: none\n"), "{block}");
        let listed = read(&text, "loki").unwrap().unwrap();
        assert_eq!(listed.left_out, 2);
        let newest = listed.releases["1.2.0"].found();
        assert_eq!(newest.digest.as_ref().unwrap().as_str(), format!("sha256:{}", "ab".repeat(32)));
        assert_eq!((newest.home.as_deref(), newest.marked_breaking), (Some("https://grafana.example"), true));
        assert_eq!(listed.releases["1.1.0+b"].digest, newest.digest);
        assert_eq!(read(&text, "loki-distributed").unwrap().unwrap().releases.len(), 1);
        assert_eq!(read(&text, "alpha").unwrap().unwrap().releases.len(), 1);
    }

    #[test]
    fn other_layouts_are_read_as_a_whole() {
        let plain = index();
        let wanted = versions(&plain);
        for (name, text) in [
            ("CRLF", plain.replace('\n', "\r\n")),
            ("quoted key", plain.replace("  loki:\n", "  \"loki\":\n")),
            ("comment", plain.replace("  loki:\n", "  loki: # logs\n")),
            ("JSON", serde_json::to_string(&serde_saphyr::from_str::<Value>(&plain).unwrap()).unwrap()),
            ("entries first", plain.replacen("apiVersion: v1\n", "", 1)),
            ("deeper", plain.replace("\n  ", "\n    ")),
        ] {
            assert_eq!(versions(&text), wanted, "{name}");
        }
    }

    #[test]
    fn a_cut_that_is_no_chart_falls_back() {
        let anchored = "entries:\n  a:\n  - &e {version: 1.0.0}\n  loki:\n  - *e\n";
        assert_eq!(versions(anchored), ["1.0.0"]);
        // Neither a comment nor an item that begins on the next line ends the list.
        let between = "entries:\n  loki:\n  - version: 1.0.0\n  # kept\n# kept\n  -\n    version: 1.1.0\n  tempo: []\n";
        assert_eq!(versions(between), ["1.0.0", "1.1.0"]);
        let elsewhere = "entries:\n  loki:\n  - version: 1.0.0\nextra:\n  loki:\n  - version: 6.6.6\n";
        assert_eq!(versions(elsewhere), ["1.0.0"]);
    }

    #[test]
    fn what_is_no_index_is_refused() {
        for text in [
            "",
            "a: 1\n",
            "[]\n",
            "<html>",
            "entries:\n  loki:\n  - {\n",
            "entries: []\n",
            "entries:\n  loki: 1\n",
            "entries:\n  loki: []\n  loki: []\n",
        ] {
            assert!(read(text, "loki").is_err(), "{text:?}");
        }
        for text in ["entries: {}\n", "entries:\n", "entries:\n  other: []\n"] {
            assert!(matches!(read(text, "loki"), Ok(None)), "{text:?}: {:?}", read(text, "loki"));
        }
    }

    #[test]
    fn a24_a25_a_large_index_and_a_bomb_are_bounded() {
        let mut text = String::from("entries:\n");
        for chart in 0..50 {
            text.push_str(&format!("  c{chart}:\n"));
            for patch in 0..400 {
                text.push_str(&format!("  - version: 1.0.{patch}\n    digest: {}\n", "0".repeat(64)));
            }
        }
        assert_eq!(read(&text, "c49").unwrap().unwrap().releases.len(), 400);
        let many = "  - version: 1.0.0\n".repeat(MAX_VERSIONS + 1);
        assert!(read(&format!("entries:\n  loki:\n{many}"), "loki").unwrap_err().contains("more than"));
        let mut bomb = String::from("entries:\n  loki:\n  - version: 1.0.0\n    a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for level in 1..10 {
            bomb.push_str(&format!("    a{level}: &a{level} [{}]\n", format!("*a{},", level - 1).repeat(10)));
        }
        assert!(read(&bomb, "loki").is_err());
    }
}
