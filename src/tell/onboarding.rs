//! The pull request that proposes a policy to a repository without one. What it proposes is found by `init`.

use serde::Serialize;

use super::page::{NAMES, capped};
use super::{TellError, inert, render};

/// The most characters of the preview.
const PREVIEW: usize = 8_000;

/// What a proposal rests on.
pub struct Onboarding<'a> {
    /// How many files were read.
    pub files: usize,
    /// Where versions stand.
    pub places: Vec<Found<'a>>,
    /// What holds a version and is not promoted, with the reason.
    pub left_out: &'a [(String, String)],
    /// What a person has to know or to decide beside that.
    pub notes: &'a [String],
    /// What `coldframe check` says of the policy.
    pub preview: &'a str,
}

/// Places of one plugin.
pub struct Found<'a> {
    /// The plugin.
    pub plugin: &'a str,
    /// The file, with placeholders.
    pub file: &'a str,
    /// What kind of place, and how many there are.
    pub kind: String,
    /// The versions there by tier.
    pub versions: String,
}

#[derive(Serialize)]
struct Page {
    files: usize,
    places: Vec<Place>,
    more: Option<usize>,
    left_out: Vec<LeftOut>,
    notes: Vec<String>,
    preview: String,
}

#[derive(Serialize)]
struct Place {
    plugin: String,
    file: String,
    kind: String,
    versions: String,
}

#[derive(Serialize)]
struct LeftOut {
    what: String,
    why: String,
}

/// The text. Same repository, same text.
///
/// # Errors
/// Only when a built-in template is broken.
pub fn onboarding(found: &Onboarding<'_>) -> Result<String, TellError> {
    let page = Page {
        files: found.files,
        places: found.places.iter().take(NAMES).map(place).collect(),
        more: found.places.len().checked_sub(NAMES).filter(|more| *more > 0),
        left_out: found
            .left_out
            .iter()
            .take(NAMES)
            .map(|(what, why)| LeftOut { what: what.clone(), why: why.clone() })
            .collect(),
        notes: found.notes.to_vec(),
        preview: inert::fenced(found.preview, PREVIEW),
    };
    Ok(capped(render::markdown("onboarding", &page)?))
}

fn place(found: &Found<'_>) -> Place {
    Place {
        plugin: found.plugin.to_string(),
        file: found.file.to_string(),
        kind: found.kind.clone(),
        versions: found.versions.clone(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A proposal that says this wherever a repository's files may say something.
    pub fn that_says(text: &str) -> String {
        let found = Found { plugin: text, file: text, kind: text.to_string(), versions: text.to_string() };
        let (left_out, notes) = ([(text.to_string(), text.to_string())], [text.to_string()]);
        let all = Onboarding { files: 1, places: vec![found], left_out: &left_out, notes: &notes, preview: text };
        onboarding(&all).unwrap()
    }

    #[test]
    fn it_says_what_it_found_what_would_follow_and_how_to_say_no() {
        let found = |file| Found {
            plugin: "loki",
            file,
            kind: "HelmRelease ×2".to_string(),
            versions: "qa 1.2.0 · gold 1.1.0".to_string(),
        };
        let left_out = [("a|b".to_string(), "it has no version".to_string())];
        let notes = ["Give each cluster a label.".to_string()];
        let mut all = Onboarding {
            files: 12,
            places: vec![found("clusters/{tier}/loki.yaml")],
            left_out: &left_out,
            notes: &notes,
            preview: "A release climbs:\n  1. qa",
        };
        let text = onboarding(&all).unwrap();
        for words in [
            "Nothing happens until it is merged",
            "close this pull request",
            "| loki | `clusters/{tier}/loki.yaml` | HelmRelease ×2 | qa 1.2.0 · gold 1.1.0 |",
            "A release climbs:\n  1. qa",
            "a\\|b",
            "Give each cluster a label.",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("and 0 more"), "{text}");
        all.places = (0..NAMES + 3).map(|_| found("a.yaml")).collect();
        (all.left_out, all.notes) = (&[], &[]);
        let text = onboarding(&all).unwrap();
        assert!(text.contains("and 3 more") && !text.contains("Left out"), "{text}");
    }
}
