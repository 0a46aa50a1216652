//! Version constraints as Helm users write them (Masterminds/semver v3): `^1.1.x`,
//! `>=1.2.0 <2.0.0`, `^1 || ^2`, `1.2 - 1.5`. Which releases a policy accepts beyond that is
//! decided in `releases`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::Version;

/// Longer texts and more parts than this are nobody's constraint.
const MAX_TEXT: usize = 512;
const MAX_PARTS: usize = 32;

/// A parsed constraint: a version is inside when all comparisons of one alternative hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    text: String,
    alternatives: Vec<Alternative>,
}

impl Constraint {
    /// The constraint as it was written, without surrounding white space.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the version lies inside. Build metadata of either side does not count.
    pub fn allows(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|alternative| alternative.allows(version))
    }

    /// Whether it asks for pre-releases by naming one.
    pub fn names_prereleases(&self) -> bool {
        self.alternatives.iter().any(|alternative| alternative.prereleases)
    }

    /// The same with pre-releases taken like any other version, by their order alone: for rules that
    /// forbid, where a pre-release must not slip through.
    pub fn covers(&self, version: &Version) -> bool {
        let holds = |alternative: &Alternative| alternative.comparisons.iter().all(|one| one.holds(version));
        self.alternatives.iter().any(holds)
    }

    /// Whether the version lies inside where pre-releases are accepted: a pre-release does when it lies
    /// inside by its order and the release that it leads to does, so that `<2` keeps `2.0.0-rc.1` out.
    pub fn allows_with_prereleases(&self, version: &Version) -> bool {
        self.allows(version) || (self.covers(version) && self.allows(&version.without_prerelease()))
    }
}

/// What stands between two `||`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Alternative {
    comparisons: Vec<Comparison>,
    /// One of the comparisons names a pre-release, so that the whole alternative looks at
    /// pre-releases (Masterminds v3.3 and later; older ones asked each comparison for itself).
    prereleases: bool,
}

impl Alternative {
    fn allows(&self, version: &Version) -> bool {
        (self.prereleases || !version.is_prerelease())
            && self.comparisons.iter().all(|comparison| comparison.holds(version))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Tilde,
    Caret,
}

/// The operators in the order in which they are tried: longer ones before their beginnings.
const OPERATORS: [(&str, Operator); 11] = [
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("=>", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=<", Operator::LessOrEqual),
    ("~>", Operator::Tilde),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("=", Operator::Equal),
];

#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    operator: Operator,
    operand: Operand,
}

/// A version of which parts may be missing or wildcards; what is missing counts as 0 in `floor`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Operand {
    major: Option<u64>,
    minor: Option<u64>,
    patch: Option<u64>,
    floor: Version,
}

impl Operand {
    /// How the version compares with the parts that were given, the missing ones aside.
    fn compare_given(&self, version: &Version) -> Ordering {
        let (major, minor, patch) = version.core();
        let part = |given: Option<u64>, actual: u64| given.map_or(Ordering::Equal, |given| actual.cmp(&given));
        part(self.major, major).then(part(self.minor, minor)).then(part(self.patch, patch))
    }

    fn is_full(&self) -> bool {
        self.patch.is_some()
    }
}

impl Comparison {
    fn holds(&self, version: &Version) -> bool {
        let operand = &self.operand;
        let precedence = version.cmp(&operand.floor);
        // Where parts are missing, `>1` means "2.0.0 or later" and `<=1` "before 2.0.0".
        let order = if operand.is_full() { precedence } else { operand.compare_given(version) };
        match self.operator {
            Operator::Equal => order.is_eq() && precedence.is_ge(),
            Operator::NotEqual => order.is_ne(),
            Operator::Greater => order.is_gt(),
            Operator::GreaterOrEqual => precedence.is_ge(),
            Operator::Less => precedence.is_lt(),
            Operator::LessOrEqual => order.is_le(),
            Operator::Tilde => precedence.is_ge() && self.same_minor(version),
            Operator::Caret => precedence.is_ge() && self.compatible(version),
        }
    }

    /// `~`: the same major and, where it was given, the same minor.
    fn same_minor(&self, version: &Version) -> bool {
        let (major, minor, _) = version.core();
        self.operand.major.is_none_or(|given| given == major) && self.operand.minor.is_none_or(|given| given == minor)
    }

    /// `^`: the leftmost part that is not 0 stays; below 1.0.0 that is the minor, below 0.1.0 the
    /// patch.
    fn compatible(&self, version: &Version) -> bool {
        let (major, minor, patch) = version.core();
        match (self.operand.major, self.operand.minor, self.operand.patch) {
            (None, _, _) => true,
            (Some(0), Some(0), Some(given)) => (major, minor, patch) == (0, 0, given),
            (Some(0), Some(given), _) => (major, minor) == (0, given),
            (Some(given), _, _) => major == given,
        }
    }
}

/// Why a text is not a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAConstraint {
    /// The part that was not understood.
    pub part: String,
    /// What was expected.
    pub why: String,
}

impl NotAConstraint {
    fn new(part: &str, why: impl Into<String>) -> Self {
        Self { part: part.trim().chars().take(64).collect(), why: why.into() }
    }
}

impl fmt::Display for NotAConstraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.part, self.why)
    }
}

impl core::error::Error for NotAConstraint {}

impl FromStr for Constraint {
    type Err = NotAConstraint;

    fn from_str(text: &str) -> Result<Self, NotAConstraint> {
        let text = text.trim();
        if text.len() > MAX_TEXT {
            return Err(NotAConstraint::new(text, format!("longer than {MAX_TEXT} characters")));
        }
        if text.is_empty() {
            return Err(NotAConstraint::new(text, "nothing stands here; `*` accepts every release"));
        }
        let alternatives: Vec<Alternative> = text.split("||").map(alternative).collect::<Result<_, _>>()?;
        if alternatives.iter().map(|alternative| alternative.comparisons.len()).sum::<usize>() > MAX_PARTS {
            return Err(NotAConstraint::new(text, format!("more than {MAX_PARTS} comparisons")));
        }
        Ok(Self { text: text.to_string(), alternatives })
    }
}

/// Reads comparisons joined by white space or commas, and hyphen ranges.
fn alternative(text: &str) -> Result<Alternative, NotAConstraint> {
    let mut comparisons = Vec::new();
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(NotAConstraint::new(text, "nothing stands on one side of `||`"));
    }
    while !rest.is_empty() {
        let (operator, after) = OPERATORS
            .iter()
            .find_map(|(sign, operator)| Some((Some(*operator), rest.strip_prefix(sign)?)))
            .unwrap_or((None, rest));
        let (word, after) = next_word(after.trim_start());
        if word.is_empty() {
            return Err(NotAConstraint::new(rest, "a version was expected here, such as `1.2.3` or `1.x`"));
        }
        let from = operand(word)?;
        rest = match (operator, hyphen(after)) {
            (None, Some(after)) => {
                let (word, after) = next_word(after.trim_start());
                comparisons.push(Comparison { operator: Operator::GreaterOrEqual, operand: from });
                comparisons.push(Comparison { operator: Operator::LessOrEqual, operand: operand(word)? });
                after
            }
            (Some(_), Some(_)) => {
                return Err(NotAConstraint::new(
                    rest,
                    "a range `1.2 - 1.5` takes no operator before its first version",
                ));
            }
            (operator, None) => {
                comparisons.push(comparison(operator.unwrap_or(Operator::Equal), from, word)?);
                after
            }
        };
        rest = separator(rest)?;
    }
    let prereleases = comparisons.iter().any(|comparison| comparison.operand.floor.is_prerelease());
    Ok(Alternative { comparisons, prereleases })
}

/// A comparison that some version can pass.
fn comparison(operator: Operator, operand: Operand, word: &str) -> Result<Comparison, NotAConstraint> {
    let never = matches!(operator, Operator::NotEqual | Operator::Greater | Operator::Less);
    if never && operand.major.is_none() {
        return Err(NotAConstraint::new(word, "every version is `*`, so that nothing is above, below or unlike it"));
    }
    Ok(Comparison { operator, operand })
}

/// Up to white space, a comma or the next operator.
fn next_word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_whitespace() || ",<>=!~^|".contains(c)).unwrap_or(text.len());
    text.split_at(end)
}

/// The text after a hyphen that stands alone, as in `1.2 - 1.5`.
fn hyphen(text: &str) -> Option<&str> {
    let after = text.trim_start().strip_prefix('-')?;
    (text.starts_with(char::is_whitespace) && after.starts_with(char::is_whitespace)).then_some(after)
}

/// Takes what separates two comparisons away.
fn separator(text: &str) -> Result<&str, NotAConstraint> {
    let rest = text.trim_start();
    if let Some(after) = rest.strip_prefix(',') {
        let after = after.trim_start();
        return if after.is_empty() { Err(NotAConstraint::new(",", "nothing follows the comma")) } else { Ok(after) };
    }
    if rest.is_empty() || rest.len() < text.len() {
        Ok(rest)
    } else {
        Err(NotAConstraint::new(rest, "a space or a comma was expected before this"))
    }
}

/// A version of one to three parts, each a number or a wildcard, with pre-release and build.
fn operand(word: &str) -> Result<Operand, NotAConstraint> {
    if word.is_empty() || word.starts_with('-') {
        return Err(NotAConstraint::new(
            word,
            "a range is written `1.2 - 1.5`, with a version and a space on both sides",
        ));
    }
    let number = word.strip_prefix('v').unwrap_or(word);
    let (number, build) = number.split_once('+').map_or((number, None), |(number, build)| (number, Some(build)));
    let (core, pre) = number.split_once('-').map_or((number, None), |(core, pre)| (core, Some(pre)));
    let mut parts = [None; 3];
    let mut wildcard = false;
    for (at, part) in core.split('.').enumerate() {
        let Some(place) = parts.get_mut(at) else {
            return Err(NotAConstraint::new(word, "a version has three parts at most"));
        };
        *place = part_of(part, word)?;
        if wildcard && place.is_some() {
            return Err(NotAConstraint::new(word, "a number cannot follow a wildcard"));
        }
        wildcard = place.is_none();
    }
    match pre.map(semver::Prerelease::new) {
        Some(Ok(pre)) if pre.is_empty() => return Err(NotAConstraint::new(word, "nothing follows the hyphen")),
        Some(Err(error)) => return Err(NotAConstraint::new(word, format!("its pre-release part: {error}"))),
        Some(Ok(_)) | None => {}
    }
    if let Some(build) = build
        && (build.is_empty() || semver::BuildMetadata::new(build).is_err())
    {
        return Err(NotAConstraint::new(word, format!("`+{build}` is not build metadata")));
    }
    let [major, minor, patch] = parts;
    let [a, b, c] = parts.map(|part| part.unwrap_or(0));
    let floor = match pre {
        Some(pre) => format!("{a}.{b}.{c}-{pre}"),
        None => format!("{a}.{b}.{c}"),
    };
    let floor = floor.parse().map_err(|error: crate::ids::NotAVersion| NotAConstraint::new(word, error.why))?;
    Ok(Operand { major, minor, patch, floor })
}

/// One part: a number, or a wildcard.
fn part_of(part: &str, word: &str) -> Result<Option<u64>, NotAConstraint> {
    if matches!(part, "x" | "X" | "*") {
        return Ok(None);
    }
    let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits {
        let why = if part.is_empty() {
            "a number or a wildcard was expected between the dots".to_string()
        } else {
            format!("`{part}` is neither a number nor a wildcard (`x`, `*`)")
        };
        return Err(NotAConstraint::new(word, why));
    }
    if part.len() > 1 && part.starts_with('0') {
        return Err(NotAConstraint::new(word, format!("`{part}` has a leading zero")));
    }
    part.parse().map(Some).map_err(|_| NotAConstraint::new(word, format!("`{part}` is too large")))
}

impl Serialize for Constraint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Constraint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
