//! A page of the manual whose commands are run: its blocks, and whether what they print is what the page shows.

/// What stands for anything.
const GAP: &str = "…";

/// A block of a page that a shell runs, and what the page says that it prints.
pub struct Block {
    pub line: usize,
    /// Why only the reader can run it: the word after `sh`.
    pub by: Option<String>,
    pub text: String,
    pub shown: Option<String>,
}

/// The blocks of a page.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let text: String = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| *line != "```")
            .flat_map(|line| [line, "\n"])
            .collect();
        match info.split_once(' ').map_or((info, None), |(language, by)| (language, Some(by.to_owned()))) {
            ("sh", by) => found.push(Block { line: number + 1, by, text, shown: None }),
            ("console", None) => {
                let block = found.last_mut().filter(|block| block.shown.is_none());
                block.unwrap_or_else(|| panic!("line {}: nothing prints this", number + 1)).shown = Some(text);
            }
            other => panic!("line {}: a block of {other:?}", number + 1),
        }
    }
    found
}

/// Whether a text is what a page shows: a line `…` stands for any lines, within a line it stands for any text.
pub fn fits(shown: &[&str], said: &[&str]) -> bool {
    let here = |lines: &[&str], at: &[&str]| {
        at.len() >= lines.len() && lines.iter().zip(at).all(|(one, other)| is(one, other))
    };
    let mut parts: Vec<&[&str]> = shown.split(|line| line.trim() == GAP).collect();
    let first = parts.remove(0);
    if !here(first, said) {
        return false;
    }
    let mut rest = &said[first.len()..];
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = (0..=rest.len()).find(|at| here(part, &rest[*at..])) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.len() >= last.len() && here(last, &rest[rest.len() - last.len()..])
}

/// The same of one line. White space counts once, so that columns may be narrower here.
fn is(shown: &str, said: &str) -> bool {
    let [shown, said] = [shown, said].map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let Some((first, others)) = shown.split_once(GAP) else { return shown == said };
    let Some(mut rest) = said.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = others.split(GAP).collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn what_a_page_shows_is_held_against_what_is_said() {
    let fits = |shown: &str, said: &str| {
        let [shown, said] = [shown, said].map(|text| text.lines().collect::<Vec<_>>());
        fits(&shown, &said)
    };
    for (shown, said) in [
        ("a\nb", "a\nb"),
        ("…\nb", "b"),
        ("…\nb\n…", "a\nb\nc"),
        ("a\n…\nd", "a\nb\nc\nd"),
        ("a  … c", "a b b   c"),
        ("…\nat … of 3 …\n…", "x\nat 1 of 3 now\ny"),
    ] {
        assert!(fits(shown, said), "{shown:?} {said:?}");
    }
    for (shown, said) in [
        ("a", "a\nb"),
        ("b", "a\nb"),
        ("…\na", "a\nb"),
        ("a\n…\nc", "a\nb"),
        ("a … c", "a b"),
        ("…\nb\n…\na\n…", "a\nb"),
    ] {
        assert!(!fits(shown, said), "{shown:?} {said:?}");
    }
}
