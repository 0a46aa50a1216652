//! What a place has to hold so that it is replaced. A range and a template are refused in any place; by hand, what is
//! no version, too, as the bot asks for one anyway.

use super::{Refusal, Spot};
use crate::place::{Scalar, VERSION};

/// Whether what stands at a place is a version, with something of its own before it or without.
///
/// # Errors
/// Where it is a branch, `latest` or another word, or names a digest beside the version.
pub fn versioned(scalar: &Scalar, spot: &Spot) -> Result<(), Refusal> {
    let (path, line, value) = (scalar.path.clone(), spot.line, spot.value.clone());
    let Some(held) = scalar.version_in(&value) else {
        return Err(Refusal::OtherForm { path, line, value, form: scalar.spell(VERSION) });
    };
    if held.contains('@') {
        return Err(Refusal::Digest { path, line, value });
    }
    let begins = |at: usize| at == 0 || matches!(held.as_bytes().get(at - 1), Some(b'/' | b'-' | b'_'));
    let rest = |at: usize| held.get(at..).filter(|_| begins(at));
    // Behind a name all three numbers stand, so that no `release-1.2` is taken for one.
    let least = |at: usize| if at == 0 { 1 } else { 3 };
    match (0..held.len()).any(|at| rest(at).is_some_and(|text| is_version(text, least(at)))) {
        true => Ok(()),
        false => Err(Refusal::NoVersion { path, line, value }),
    }
}

/// Whether somebody else fills a value in before it is read.
pub(super) fn is_template(value: &str) -> bool {
    value.contains("{{") || value.contains("${")
}

/// Whether a value is a range rather than a version: what runs would change without a commit, so a
/// gated place must not hold one (`docs/edit.md`).
pub(super) fn is_range(value: &str) -> bool {
    let value = value.trim();
    let core = value.strip_prefix('v').unwrap_or(value).split(['-', '+']).next().unwrap_or(value);
    value.starts_with(['^', '~', '>', '<', '=', '!'])
        || value.contains("||")
        || value.contains(',')
        || value.contains(" - ")
        || core.split(['.', ' ']).any(|part| matches!(part, "x" | "X" | "*"))
}

/// `1.2.3`, with a `v`, a pre-release and a build or without; of the numbers so many at least.
fn is_version(text: &str, least: usize) -> bool {
    let bare = text.strip_prefix('v').unwrap_or(text);
    let end = bare.find(['-', '+', '_']).unwrap_or(bare.len());
    let numbers: Vec<&str> = bare.get(..end).unwrap_or_default().split('.').collect();
    let number = |part: &&str| (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
    numbers.len() >= least && numbers.iter().all(number) && bare.chars().all(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;

    fn of(value: &str, form: Option<&str>) -> Result<(), Refusal> {
        let scalar = Scalar { document: None, path: "$.v".to_string(), value: form.map(str::to_string) };
        let spot = Spot { value: value.to_string(), range: 0..0, line: 3, style: Style::Plain, token: 0 };
        versioned(&scalar, &spot)
    }

    #[test]
    fn a_word_is_no_version() {
        for version in [
            "1.2.3",
            "v1.2.3-rc.1+b",
            "6.10",
            "7",
            "perses/0.13.0",
            "loki-6.6.2",
            "1.0.0-0.dev.git.3983.h383374de",
            "1.15.1_a",
            "2026.11.21",
        ] {
            assert_eq!(of(version, None), Ok(()), "{version}");
        }
        for word in
            ["latest", "main", "HEAD", "release-1.2", "feature/1.x", "v", "0123456789abcdef", "1.2.3.", "a.1.2.3"]
        {
            assert!(matches!(of(word, None), Err(Refusal::NoVersion { line: 3, .. })), "{word}");
        }
        for pinned in ["2.0.0@sha256:0123", "@1"] {
            assert!(matches!(of(pinned, None), Err(Refusal::Digest { .. })), "{pinned}");
        }
        assert_eq!(of("perses/1.2.3", Some("perses/{version}")), Ok(()));
        assert!(matches!(of("perses/main", Some("perses/{version}")), Err(Refusal::NoVersion { .. })));
        assert!(matches!(of("loki/1.2.3", Some("perses/{version}")), Err(Refusal::OtherForm { .. })));
    }
}
