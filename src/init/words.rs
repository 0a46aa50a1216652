//! The words by which people call their tiers, and where they stand in the names of files.

use std::collections::BTreeSet;

/// Words for tiers, from the first that gets a release to the last.
const ORDER: [&str; 35] = [
    "sandbox",
    "sbx",
    "playground",
    "lab",
    "dev",
    "develop",
    "development",
    "int",
    "integration",
    "test",
    "testing",
    "nonprod",
    "non-prod",
    "nonprd",
    "non-prd",
    "qa",
    "perf",
    "uat",
    "acc",
    "acceptance",
    "stage",
    "stg",
    "staging",
    "preprod",
    "pre-prod",
    "preproduction",
    "canary",
    "bronze",
    "silver",
    "gold",
    "platinum",
    "prd",
    "prod",
    "production",
    "live",
];
/// The first of the words by which people call what must move last.
const PRODUCTION: &str = "prd";

/// How far up a tier of this name stands, as far as its name tells.
pub fn rank(word: &str) -> Option<usize> {
    ORDER.iter().position(|known| *known == word)
}

/// The order of promotion. A name that tells nothing comes behind all that tell something, and before production.
pub fn order(word: &str) -> (bool, usize, bool) {
    let known = rank(word);
    (is_production(word), known.unwrap_or(ORDER.len()), known.is_none())
}

/// Whether this is what people call production.
pub fn is_production(word: &str) -> bool {
    rank(word).zip(rank(PRODUCTION)).is_some_and(|(rank, first)| rank >= first)
}

/// The keys of labels that tell tiers apart, without what stands before a slash.
const KEYS: [&str; 6] = ["tier", "environment", "env", "stage", "landscape", "ring"];
/// The label of clusters for which no file says one.
pub const USUAL_KEY: &str = KEYS[0];

/// Whether a label tells tiers apart.
pub fn tells_tiers(key: &str) -> bool {
    KEYS.contains(&key.rsplit('/').next().unwrap_or(key))
}

/// The tier that a text names: it is one, or one of its parts is.
pub fn tier_in<'a>(text: &'a str, tiers: &BTreeSet<String>) -> Option<&'a str> {
    match largest(text, tiers.iter().map(String::as_str)).as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// Words for tiers in a text.
pub fn tiers_in(text: &str) -> Vec<&str> {
    largest(text, ORDER.into_iter())
}

/// The words that stand in a text, without those that are part of another: `non-prod` is no `prod`.
fn largest<'a, 'b>(text: &'a str, words: impl Iterator<Item = &'b str>) -> Vec<&'a str> {
    let all: Vec<(usize, usize)> = words.flat_map(|word| within(text, word)).collect();
    let around = |(start, end): &(usize, usize)| {
        all.iter().any(|(from, to)| from <= start && end <= to && (from, to) != (start, end))
    };
    all.iter().filter(|one| !around(one)).filter_map(|(start, end)| text.get(*start..*end)).collect()
}

/// Where a word stands in a text between signs that part words.
fn within(text: &str, word: &str) -> Vec<(usize, usize)> {
    let parts = |c: Option<char>| c.is_none_or(|c| matches!(c, '-' | '_' | '.'));
    let stands =
        |start: &usize| parts(text[..*start].chars().next_back()) && parts(text[*start + word.len()..].chars().next());
    let found = text.match_indices(word).map(|(start, _)| start).filter(stands);
    found.map(|start| (start, start + word.len())).collect()
}

/// The text with `{tier}` where its tier stands.
pub fn with_tier(text: &str, tier: &str) -> String {
    let mut out = text.to_string();
    for (start, end) in within(text, tier).into_iter().rev() {
        out.replace_range(start..end, "{tier}");
    }
    out
}

/// The text with `{tier}` where a word stands in each of its folders' names.
pub fn with_tier_in(text: &str, word: &str) -> String {
    text.split('/').map(|part| with_tier(part, word)).collect::<Vec<_>>().join("/")
}

/// What the name of a file says of tier and cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Captured {
    /// The name with placeholders.
    pub pattern: String,
    /// The tier.
    pub tier: Option<String>,
    /// The cluster.
    pub cluster: Option<String>,
}

/// Reads a file's name: parts that are called as a tier or as a cluster, else one that has a tier's name in it. Two
/// tiers in one name say nothing.
pub fn capture(file: &str, tiers: &BTreeSet<String>, clusters: &BTreeSet<String>) -> Captured {
    let (stem, ending) = match file.rsplit_once('/').map_or(file, |(_, name)| name).rfind('.') {
        Some(dot) if dot > 0 => {
            let at = file.len() - (file.rsplit('/').next().unwrap_or(file).len() - dot);
            file.split_at(at)
        }
        _ => (file, ""),
    };
    let parts: Vec<&str> = stem.split('/').collect();
    let exact: BTreeSet<&str> = parts.iter().copied().filter(|part| tiers.contains(*part)).collect();
    let cluster = parts.iter().find(|part| clusters.contains(**part) && !tiers.contains(**part)).copied();
    let others = parts.iter().copied().filter(|part| Some(*part) != cluster);
    let loose: BTreeSet<&str> = others.filter_map(|part| tier_in(part, tiers)).collect();
    let tier = match (exact.len(), loose.len()) {
        (1, _) => exact.first().copied(),
        (0, 1) => loose.first().copied(),
        _ => None,
    };
    let named = |part: &&str| -> String {
        if Some(*part) == cluster {
            return "{cluster}".to_string();
        }
        match tier {
            // The tier of the folder may stand in the file's name, too.
            Some(tier) if tier_in(part, tiers) == Some(tier) => with_tier(part, tier),
            Some(_) | None => (*part).to_string(),
        }
    };
    let pattern = parts.iter().map(named).collect::<Vec<_>>().join("/") + ending;
    Captured { pattern, tier: tier.map(str::to_string), cluster: cluster.map(str::to_string) }
}
