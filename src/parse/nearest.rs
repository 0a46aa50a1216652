//! The known word that somebody most likely meant.

/// The known word nearest to `word`, when one is near enough to be meant: at most one edit in
/// three letters, or the same letters in another spelling (`at_least` for `atLeast`).
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 64 {
        return None;
    }
    let plain = letters(word);
    known
        .into_iter()
        .map(|candidate| (distance(&plain, &letters(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= (plain.len().max(candidate.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// What counts when spellings are compared.
fn letters(word: &str) -> Vec<char> {
    word.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Edits from one word to the other: a letter put in, taken out, changed, or two neighbours
/// swapped (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words() {
        let known = ["name", "select", "merge", "soak", "approvals", "atLeast", "codeOwners", "onFailure"];
        for (word, expected) in [
            ("soka", Some("soak")),
            ("soack", Some("soak")),
            ("sok", Some("soak")),
            ("Name", Some("name")),
            ("nmae", Some("name")),
            ("selector", Some("select")),
            ("approval", Some("approvals")),
            ("at_least", Some("atLeast")),
            ("at-least", Some("atLeast")),
            ("codeowner", Some("codeOwners")),
            ("onFail", Some("onFailure")),
            ("wait", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(nearest(&"s".repeat(65), known), None);
    }

    #[test]
    fn distances() {
        let of = |a: &str, b: &str| distance(&letters(a), &letters(b));
        for (a, b, expected) in
            [("", "", 0), ("", "ab", 2), ("ab", "", 2), ("ab", "ba", 1), ("soka", "soak", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(of(a, b), expected, "{a} {b}");
        }
    }
}
