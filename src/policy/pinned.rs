//! Presets of other repositories, each at the commit that the file names. Those of the product are in `preset`; who reads
//! one from the hub is `observe`.

use std::borrow::Cow;
use std::fmt;

use decide::Sha;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::file::Word;
use super::preset::Preset;
use parse::problem::quoted;
use parse::read::FromNode;
use parse::report::Report;
use parse::scalar::Refusal;
use parse::tree::{self, Node};

/// The digits of a commit's id.
const DIGITS: usize = 40;

/// A preset of another repository, `acme/presets/strict.yaml@` and a commit, as a workflow names an action of one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PinnedPreset {
    /// `owner/name`.
    pub repository: String,
    /// The file there.
    pub path: String,
    /// The commit.
    pub commit: Sha,
}

impl fmt::Display for PinnedPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{}", self.repository, self.path, self.commit)
    }
}

impl std::str::FromStr for PinnedPreset {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let refused = |why: &str| {
            let help = "write it as `acme/presets/strict.yaml@` and the 40 digits of a commit";
            Err(Refusal::new(format!("{} {why}", quoted(text))).help(help))
        };
        let Some((file, commit)) = text.rsplit_once('@') else {
            return refused("names no commit: a branch may say something else tomorrow");
        };
        if commit.len() != DIGITS || !commit.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return refused("is not at the full id of a commit: a branch or a tag may say something else tomorrow");
        }
        let plain = |part: &str| {
            let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !part.is_empty() && part != "." && part != ".." && part.bytes().all(good)
        };
        match file.splitn(3, '/').collect::<Vec<_>>().as_slice() {
            [owner, name, path] if [owner, name].into_iter().all(|part| plain(part)) && path.split('/').all(plain) => {
                Ok(Self { repository: format!("{owner}/{name}"), path: path.to_string(), commit: Sha::from(commit) })
            }
            _ => refused("does not name a file of a repository"),
        }
    }
}

/// What a file extends.
#[derive(Clone, Debug)]
pub(crate) enum Extended {
    /// A preset of the product.
    Builtin(Preset),
    /// One of another repository.
    Pinned(PinnedPreset),
}

impl FromNode for Extended {
    fn from_node(node: &Node, report: &mut Report) -> Option<Self> {
        let Some(text) = node.text().filter(|text| text.contains('/')) else {
            return Word::<Preset>::from_node(node, report).map(|word| Self::Builtin(word.0));
        };
        let preset: Result<PinnedPreset, Refusal> = text.parse();
        preset.map(Self::Pinned).map_err(|refusal| report.wrong(node.span, &refusal.why, refusal.help.as_deref())).ok()
    }
}

impl JsonSchema for Extended {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Extended".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [
            generator.subschema_for::<Word<Preset>>(),
            {
                "type": "string",
                "pattern": "^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+/[A-Za-z0-9._/-]+@[0-9a-f]{40}$",
                "description": "A preset of another repository at a commit: `acme/presets/strict.yaml@` and the commit's 40 digits.",
            },
        ]})
    }
}

/// The presets of other repositories that a main policy file extends, as far as it can be read; no mistake is reported.
pub fn pinned_presets(text: &str) -> Vec<PinnedPreset> {
    // Most files name none.
    if !text.contains("extends") || !text.contains('@') {
        return Vec::new();
    }
    let mut report = Report::with_homes(super::file::homes);
    let Some(node) = tree::parse(0, text, &mut report) else { return Vec::new() };
    let named = node.get("extends").map_or(&[][..], |entry| entry.node.items());
    named.iter().filter_map(|item| item.text()?.parse().ok()).collect()
}
