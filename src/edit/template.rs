//! The first file of a cluster or a tier, made of a template: a text in which a few words stand for names. Pure;
//! which file is missing is seen in `observe/vacant`, and what becomes of it is in `act/install`.

use decide::{ClusterName, TierName};

use super::find::Wanted;
use super::{FileFormat, Parsed, Place, Refusal, Style};
use crate::place::{ORGANIZATION, Write};

/// What the words of a template stand for. A template is left as it is but for these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    tier: &'a str,
    /// The cluster, where the file is one cluster's own.
    cluster: Option<&'a str>,
    /// Its organization, where its name has one.
    organization: Option<&'a str>,
    plugin: &'a str,
    version: &'a str,
}

impl<'a> Names<'a> {
    /// What they stand for in the file of a tier, or of one cluster of it. `{cluster}` and `{organization}` are what
    /// they are in the name of the file.
    pub fn of(
        write: &Write,
        tier: &'a TierName,
        cluster: Option<&'a ClusterName>,
        plugin: &'a str,
        version: &'a str,
    ) -> Self {
        let whole = cluster.map(ClusterName::as_str);
        let parts = whole.and_then(|name| name.split_once('/'));
        let organization = parts.map(|(organization, _)| organization);
        let cluster = if write.file.contains(ORGANIZATION) { parts.map(|(_, name)| name) } else { whole };
        Self { tier: tier.as_str(), cluster, organization, plugin, version }
    }

    fn words(&self) -> [(&'static str, Option<&'a str>); 5] {
        [
            ("{tier}", Some(self.tier)),
            ("{cluster}", self.cluster),
            (ORGANIZATION, self.organization),
            ("{plugin}", Some(self.plugin)),
            (VERSION, Some(self.version)),
        ]
    }
}

/// Stands for the version; after a `v` of the text its own is left out, as in `write[].value`.
const VERSION: &str = crate::place::VERSION;

/// Why no file is made of a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTemplate {
    /// A word that stands for nothing in this file.
    #[error(
        "line {line}: `{word}` stands for nothing: the file is no cluster's own, or the cluster has no organization"
    )]
    Nothing {
        /// Where.
        line: usize,
        /// The word.
        word: &'static str,
    },
    /// Somebody else's marker that does not end.
    #[error("line {line}: `{opens}` has no `{closes}`; close it")]
    Open {
        /// Where.
        line: usize,
        /// How it begins.
        opens: &'static str,
        /// How it would end.
        closes: &'static str,
    },
    /// A name of other letters than names have.
    #[error("`{}`, which is to stand for `{word}`, has other letters than names have", .name.escape_debug())]
    Letters {
        /// What it is to stand for.
        word: &'static str,
        /// The name.
        name: String,
    },
    /// A name would not be read as a text.
    #[error("line {line}: `{value}` would be read as a number, a date or a word of YAML; put it in quotes")]
    NoText {
        /// Where.
        line: usize,
        /// The scalar.
        value: String,
    },
    /// With other names it would be another file.
    #[error("the names in it would be read as more than names; put them in quotes")]
    Shape,
    /// Its place does not hold the version.
    #[error("line {line}: `{value}` stands where `{wanted}` has to; write `{{version}}` there")]
    OtherVersion {
        /// Where.
        line: usize,
        /// What stands there.
        value: String,
        /// What has to.
        wanted: String,
    },
    /// What is made of it cannot be read or has not exactly one place.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// The file that a template makes. It reads as the same file whatever the names are, and the one place that the
/// policy names, or that is found, holds exactly this version. `write` is that of one file ([`Write::of_one`]).
///
/// # Errors
/// Where it does not; the line is that of the template, which has as many.
pub fn rendered(
    write: &Write,
    file: &str,
    template: &str,
    names: &Names<'_>,
    wanted: Wanted<'_>,
) -> Result<String, BadTemplate> {
    // What brings no other letters than these can end no line, quotation or comment.
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '+' | '/');
    for (word, name) in names.words() {
        if let Some(name) = name.filter(|name| name.is_empty() || !name.chars().all(letters)) {
            return Err(BadTemplate::Letters { word, name: name.to_string() });
        }
    }
    let text = filled(template, names)?;
    let format = write.format();
    let parsed = super::parsed(format, &text)?;
    if let Some(problem) = parsed.documents.iter().find_map(|document| document.problem.clone()) {
        return Err(problem.into());
    }
    reads_as_names(format, template, names, &parsed)?;
    let scalar = super::place(write, file, &text, wanted)?;
    let spot = super::read(format, &text, scalar.document.as_ref(), &scalar.path)?;
    let spelled = scalar.spell(names.version);
    if spot.value != spelled {
        return Err(BadTemplate::OtherVersion { line: spot.line, value: spot.value, wanted: spelled });
    }
    Ok(text)
}

/// The text with its words replaced. What lies in `{{ }}` or `${ }` is somebody else's and stays.
fn filled(template: &str, names: &Names<'_>) -> Result<String, BadTemplate> {
    let (mut text, mut rest) = (String::with_capacity(template.len()), template);
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let foreign = match (from.starts_with("{{"), before.ends_with('$')) {
            (true, _) => Some(("{{", "}}")),
            (false, true) => Some(("${", "}")),
            (false, false) => None,
        };
        let line = || template.len().checked_sub(from.len()).map_or(0, |end| lines_to(template, end));
        let taken = if let Some((opens, closes)) = foreign {
            let end = from.find(closes).ok_or_else(|| BadTemplate::Open { line: line(), opens, closes })?;
            let whole = from.get(..end + closes.len()).unwrap_or(from);
            text.push_str(whole);
            whole.len()
        } else if let Some((word, name)) = names.words().into_iter().find(|(word, _)| from.starts_with(word)) {
            let name = name.ok_or_else(|| BadTemplate::Nothing { line: line(), word })?;
            let after_v = word == VERSION && before.ends_with('v');
            text.push_str(if after_v { name.strip_prefix('v').unwrap_or(name) } else { name });
            word.len()
        } else {
            text.push('{');
            1
        };
        rest = from.get(taken..).unwrap_or_default();
    }
    text.push_str(rest);
    Ok(text)
}

/// The line of a byte, from 1.
fn lines_to(text: &str, end: usize) -> usize {
    text.bytes().take(end).filter(|byte| *byte == b'\n').count() + 1
}

/// Whether the names are nothing but texts there: with plain words in their place it is the same file but for these
/// words, and none of them is a number, a date or a truth to any reader of YAML.
fn reads_as_names(format: FileFormat, template: &str, names: &Names<'_>, made: &Parsed) -> Result<(), BadTemplate> {
    let mut number = 9001;
    while template.contains(&number.to_string()) {
        number += 1;
    }
    let plain = ["tier", "cluster", "organization", "plugin"].map(|word| format!("{word}{number}{word}"));
    let [tier, cluster, organization, plugin] = &plain;
    let version = format!("{number}.{number}.{number}");
    let plain = plain.iter().chain([&version]);
    let stands_in = Names {
        tier,
        cluster: names.cluster.map(|_| cluster.as_str()),
        organization: names.organization.map(|_| organization.as_str()),
        plugin,
        version: &version,
    };
    let other = super::parsed(format, &filled(template, &stands_in)?)?;
    let named = |text: &str| {
        let mut text = text.to_string();
        for (plain, (word, name)) in plain.clone().zip(names.words()) {
            let name = name.unwrap_or_default();
            // As `filled` leaves out the `v` of a version.
            if let Some(bare) = name.strip_prefix('v').filter(|_| word == VERSION) {
                text = text.replace(&format!("v{plain}"), &format!("v{bare}"));
            }
            text = text.replace(plain, name);
        }
        text
    };
    let same = other.tokens.len() == made.tokens.len()
        && other.tokens.iter().zip(&made.tokens).all(|(plain, made)| named(plain) == *made);
    if !same {
        return Err(BadTemplate::Shape);
    }
    for place in other.documents.iter().flat_map(|document| document.places.values()) {
        if let Place::Scalar(spot) = place
            && matches!(spot.style, Style::Plain | Style::Bare)
            && named(&spot.value) != spot.value
            && super::yaml::is_ambiguous(&named(&spot.value))
        {
            return Err(BadTemplate::NoText { line: spot.line, value: named(&spot.value) });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
