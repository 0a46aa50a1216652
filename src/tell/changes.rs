//! What a commit of many files comes to: its distinct hunks with their number, hash and places, so that one can agree
//! with a diff that nobody reads. Where the hunks come from is in `git/changes`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{TellError, inert, render, words};
use crate::git::{Changes, Hunk};

/// A pull request that changes more files than this tells its hunks: so many the list of files names one by one.
pub const MANY: usize = 20;
/// The most hunks that are shown, half of them the most frequent, half the rarest: an odd one must not be hidden.
const HUNKS: usize = 10;
/// The most characters of a hunk.
const LINES: usize = 350;
/// Up to so many files of a hunk are named.
const NAMES: usize = 10;
/// The most groups of files below a hunk that is in more.
const GROUPS: usize = 6;
/// The most characters of a path.
const PATH: usize = 90;

#[derive(Serialize)]
struct Page {
    headline: String,
    commit: String,
    hunks: Vec<Piece>,
    others: String,
    command: String,
}

#[derive(Serialize)]
struct Piece {
    /// Hunks that were left out before it.
    gap: Option<String>,
    several: bool,
    times: String,
    sha256: String,
    note: Option<&'static str>,
    lines: String,
    places: Vec<Place>,
    more: Option<String>,
}

#[derive(Serialize)]
struct Place {
    #[serde(rename = "where")]
    path: String,
    count: Option<String>,
}

/// The section, in Markdown of some 17,000 characters at most. The same commit, the same text.
///
/// # Errors
/// Only when the built-in template is broken.
pub fn changes(changes: &Changes) -> Result<String, TellError> {
    let left_out = changes.hunks.len().saturating_sub(HUNKS);
    let half = if left_out == 0 { changes.hunks.len() } else { HUNKS / 2 };
    let (first, rest) = changes.hunks.split_at(half);
    let mut hunks: Vec<Piece> = first.iter().chain(rest.iter().skip(left_out)).map(piece).collect();
    if let Some(piece) = hunks.get_mut(half).filter(|_| left_out > 0) {
        piece.gap = Some(words::count(left_out, "hunk"));
        piece.several = left_out != 1;
    }
    let page = Page {
        headline: headline(changes),
        commit: changes.commit.to_string(),
        hunks,
        others: if changes.others.is_empty() { String::new() } else { paths(&changes.others) },
        command: changes_command(changes),
    };
    Ok(render::markdown("changes", &page)?.trim_end().to_string())
}

/// `1,500 changes, 1 distinct hunk`; with the number of files where that is another one.
pub fn headline(changes: &Changes) -> String {
    let count = changes.count();
    let files = if changes.files == count { String::new() } else { format!(" in {}", counted(changes.files, "file")) };
    format!("{}{files}, {}", counted(count, "change"), counted(changes.hunks.len(), "distinct hunk"))
}

/// One line of shell that prints how often each hunk of the commit occurs, and its SHA-256. `diff-tree` listens to
/// nobody's settings.
pub fn changes_command(changes: &Changes) -> String {
    let awk = r#"function f(){if(h!=""){n[h]++;h=""}} /^diff /{p=0;f()} /^@@ /{p=1;f();next} p&&/^[-+]/{h=h $0 "\n"} END{f();for(h in n){printf "%d ",n[h];fflush();printf "%s",h|"sha256sum";close("sha256sum")}}"#;
    format!("git diff-tree -p -U0 {} {} | LC_ALL=C awk '{awk}' | sort -rn", changes.base, changes.commit)
}

fn piece(hunk: &Hunk) -> Piece {
    let text = String::from_utf8_lossy(&hunk.lines);
    let lines = inert::diff(text.trim_end_matches('\n'), LINES);
    let (places, most) = if hunk.files.len() > NAMES {
        (groups(&hunk.files), GROUPS)
    } else {
        (hunk.files.iter().map(|file| (file.clone(), 1)).collect(), NAMES)
    };
    let more = places.iter().skip(most).map(|(_, count)| count).sum();
    let place = |(path, count): (String, usize)| Place {
        path: inert::cut(&path, PATH),
        count: (count > 1).then(|| number(count)),
    };
    Piece {
        gap: None,
        several: false,
        times: match hunk.files.len() {
            1 => "Once".to_string(),
            times => format!("{} times", number(times)),
        },
        sha256: hunk.sha256.clone(),
        note: note(hunk, &lines),
        lines,
        more: (more > 0).then(|| counted(more, "other")),
        places: places.into_iter().take(most).map(place).collect(),
    }
}

/// What a reader does not see of its bytes.
fn note(hunk: &Hunk, block: &str) -> Option<&'static str> {
    let same =
        |text: &str| block.lines().skip(1).eq(text.trim_end_matches('\n').split('\n').chain(block.lines().last()));
    match std::str::from_utf8(&hunk.lines) {
        Ok(text) if hunk.whole && same(text) => None,
        Ok(text) if hunk.whole && same(&text.replace('\r', "")) => Some("of lines that end with CR LF"),
        Ok(_) | Err(_) => Some("not shown byte for byte"),
    }
}

/// Paths that differ in one part as one with a `*` in its place, the largest group first; again with these until
/// few are left.
fn groups(files: &[String]) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = files.iter().map(|file| (file.clone(), 1)).collect();
    for _ in 0..3 {
        if found.len() <= GROUPS {
            break;
        }
        found = grouped(found);
    }
    found.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
    found
}

fn grouped(mut left: Vec<(String, usize)>) -> Vec<(String, usize)> {
    let mut done = Vec::new();
    let mut masks: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, (path, _)) in left.iter().enumerate() {
        let parts: Vec<&str> = path.split('/').collect();
        for place in 0..parts.len() {
            let mask = parts.iter().enumerate().map(|(at, part)| if at == place { "*" } else { part });
            masks.entry(mask.collect::<Vec<_>>().join("/")).or_default().push(index);
        }
    }
    let mut masks: Vec<(String, Vec<usize>)> = masks.into_iter().filter(|(_, of)| of.len() > 1).collect();
    // Of those as large, the one that says most.
    masks.sort_by(|a, b| (b.1.len(), b.0.len(), &a.0).cmp(&(a.1.len(), a.0.len(), &b.0)));
    for (mask, of) in masks {
        let free = |index: &&usize| left.get(**index).is_some_and(|(_, count)| *count > 0);
        if of.iter().filter(free).count() > 1 {
            let taken = of.iter().filter_map(|index| Some(std::mem::take(&mut left.get_mut(*index)?.1)));
            done.push((mask, taken.sum()));
        }
    }
    done.extend(left.into_iter().filter(|(_, count)| *count > 0));
    done
}

fn paths(paths: &[String]) -> String {
    let mut shown: Vec<String> = paths.iter().take(NAMES).map(|path| inert::code(&inert::cut(path, PATH))).collect();
    if paths.len() > NAMES {
        shown.push(format!("and {}", counted(paths.len() - NAMES, "more file")));
    }
    shown.join(", ")
}

/// `1,500 changes`, `1 change`.
fn counted(count: usize, what: &str) -> String {
    format!("{} {what}{}", number(count), if count == 1 { "" } else { "s" })
}

/// `1,500`.
fn number(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::super::fixture;
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let written: Vec<String> = [0, 7, 999, 1_000, 1_500, 12_345, 1_234_567].into_iter().map(number).collect();
        assert_eq!(written, ["0", "7", "999", "1,000", "1,500", "12,345", "1,234,567"]);
        let many = fixture::changes();
        assert_eq!(headline(&many), "1,503 changes in 1,501 files, 4 distinct hunks");
        let one =
            Changes { files: 1, hunks: vec![Hunk { files: vec!["a".to_string()], ..many.hunks[0].clone() }], ..many };
        assert_eq!(headline(&one), "1 change, 1 distinct hunk");
    }

    #[test]
    fn files_are_grouped_by_the_part_in_which_they_differ() {
        let groups_of = |files: &[&str]| groups(&files.iter().map(ToString::to_string).collect::<Vec<_>>());
        let wide: Vec<String> = (0..40).map(|n| format!("clusters/{}/eu-{n}/a.yaml", ["gold", "qa"][n % 2])).collect();
        let wide: Vec<&str> = wide.iter().map(String::as_str).chain(["clusters/gold/eu-0/Chart.lock", "x"]).collect();
        let of = |path: &str, count: usize| (path.to_string(), count);
        let found = groups_of(&wide);
        assert_eq!(found[..2], [of("clusters/gold/*/a.yaml", 20), of("clusters/qa/*/a.yaml", 20)]);
        assert_eq!(found[2..], [of("clusters/gold/eu-0/Chart.lock", 1), of("x", 1)]);
        let deep: Vec<String> = (0..60).map(|n| format!("orgs/{}/clusters/{n}/a.yaml", n % 20)).collect();
        assert_eq!(groups(&deep), [of("orgs/*/clusters/*/a.yaml", 60)]);
        let none: Vec<String> = (0..9).map(|n| format!("{n}/{n}/{n}")).collect();
        assert_eq!(groups(&none).len(), 9);
    }

    #[test]
    fn an_odd_hunk_is_never_hidden_behind_others() {
        let hunk = |number: usize| Hunk {
            lines: format!("-a: {number}\n+b\n").into_bytes(),
            files: vec![format!("f{number}"); 40 - number],
            ..fixture::changes().hunks[0].clone()
        };
        let many = Changes { hunks: (0..40).map(hunk).collect(), ..fixture::changes() };
        let text = changes(&many).unwrap();
        for (line, shown) in [("-a: 0\n", true), ("-a: 4\n", true), ("-a: 5\n", false), ("-a: 39\n", true)] {
            assert_eq!(text.contains(line), shown, "{line}{text}");
        }
        assert!(text.contains("*30 hunks between these are not shown"), "{text}");
        assert!(text.contains("820 changes in 1,501 files, 40 distinct hunks"), "{text}");
    }

    #[test]
    fn what_is_not_shown_is_said() {
        let shown = |lines: &[u8], whole: bool| {
            let hunk = Hunk { lines: lines.to_vec(), whole, ..fixture::changes().hunks[0].clone() };
            changes(&Changes { hunks: vec![hunk], ..fixture::changes() }).unwrap()
        };
        let plain = "-   a: 1 \n+   a: 2 \n";
        assert!(shown(plain.as_bytes(), true).contains("\n```diff\n-   a: 1 \n+   a: 2 \n```\n"));
        let note = |text: &str| text.split_once("` (").map(|(_, rest)| rest.split(')').next().unwrap().to_string());
        assert_eq!(note(&shown(plain.as_bytes(), true)), None);
        assert_eq!(note(&shown(b"-a\r\n+b\r\n", true)).as_deref(), Some("of lines that end with CR LF"));
        for (lines, whole) in
            [(&b"-a\n+b"[..], false), (b"-\xff\n+b\n", true), (b"-a\tb\n+c\n", true), (b"-@alice\n+#1\n", true)]
        {
            assert_eq!(note(&shown(lines, whole)).as_deref(), Some("not shown byte for byte"));
        }
        assert_eq!(
            note(&shown(format!("-{}\n", "x".repeat(5_000)).as_bytes(), true)).as_deref(),
            Some("not shown byte for byte")
        );
    }
}
