//! Makes text that others wrote inert: in Markdown, in a fenced block, on a terminal line. Nothing
//! here knows what the text is about.

/// The longest piece of foreign text on one line; what is longer is evidence for a log, not for a
/// reader.
pub const LINE: usize = 600;

/// One line of text without control, bidirectional or invisible characters, at most [`LINE`]
/// characters, and nothing that a GitHub runner takes for a command (`##[…]`, which it finds
/// anywhere in a line).
pub fn line(text: &str) -> String {
    let spaced: String =
        text.chars().take(4 * LINE).filter_map(|c| if c.is_whitespace() { Some(' ') } else { visible(c) }).collect();
    let words: Vec<&str> = spaced.split(' ').filter(|word| !word.is_empty()).collect();
    let joined = words.join(" ").replace("##[", "## [");
    let was_cut = text.chars().nth(4 * LINE).is_some();
    short(&joined, if was_cut { joined.chars().count().min(LINE - 1) + 1 } else { LINE }, was_cut)
}

/// Text of several lines: the first as a [`line`], and what follows it with every space, such as the excerpt of a file
/// with the place that is meant; at most forty lines.
pub fn headed(text: &str) -> (String, Option<String>) {
    let mut lines = text.lines();
    let first = line(lines.next().unwrap_or_default());
    let rest = lines.take(40).map(spaced).collect::<Vec<_>>().join("\n");
    (first, Some(rest.trim_matches('\n').to_string()).filter(|rest| !rest.is_empty()))
}

/// A [`line`] in which every space stays: a mark stands under what it means.
pub(crate) fn spaced(text: &str) -> String {
    let seen = text.chars().take(LINE).filter_map(|c| if c.is_whitespace() { Some(' ') } else { visible(c) });
    seen.collect::<String>().replace("##[", "## [").trim_end().to_string()
}

/// The text with at most `cap` characters, the last of them `…` where it was cut.
pub fn cut(text: &str, cap: usize) -> String {
    short(text, cap, false)
}

fn short(text: &str, cap: usize, always: bool) -> String {
    if !always && text.chars().nth(cap).is_none() {
        return text.to_string();
    }
    let mut cut: String = text.chars().take(cap.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// What is shown of a character: controls and bidirectional marks as `�`, so that one sees that
/// something was there; invisible ones not at all.
pub(crate) fn visible(c: char) -> Option<char> {
    match c {
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some('�'),
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' => None,
        '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{2028}' | '\u{2029}' => None,
        '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' => None,
        c if c.is_control() => Some('�'),
        c => Some(c),
    }
}

/// Text for a Markdown paragraph or list item: no mention, reference, link, image, HTML or markup
/// can come of it. Text between two backticks stays code, which is inert by itself; words that
/// GitHub would turn into something become code.
pub fn md(text: &str) -> String {
    markdown(text, false)
}

/// Like [`md`], for a cell of a Markdown table.
pub fn cell(text: &str) -> String {
    markdown(text, true)
}

/// Text as a Markdown code span.
pub fn code(text: &str) -> String {
    span(&line(text), false)
}

/// Text as a Markdown code span in a cell of a table.
pub fn code_cell(text: &str) -> String {
    span(&line(text), true)
}

/// A Markdown link; only the text where the address is not plain HTTP.
pub fn link(text: &str, url: &str) -> String {
    let Some(url) = web(url) else { return cell(text) };
    let url: String = url
        .chars()
        .map(|c| match c {
            '(' => "%28".to_string(),
            ')' => "%29".to_string(),
            '<' => "%3C".to_string(),
            '>' => "%3E".to_string(),
            '|' => "%7C".to_string(),
            '\\' => "%5C".to_string(),
            c => c.to_string(),
        })
        .collect();
    format!("[{}]({url})", cell(text))
}

/// The address, when it is plain HTTP and has no character that ends an attribute or a line.
pub fn web(url: &str) -> Option<&str> {
    let plain = url.chars().all(|c| !c.is_control() && !c.is_whitespace() && !matches!(c, '"' | '\'' | '`'));
    (plain && (url.starts_with("https://") || url.starts_with("http://"))).then_some(url)
}

fn markdown(text: &str, in_cell: bool) -> String {
    let text = line(text);
    let parts: Vec<&str> = text.split('`').collect();
    let mut out = String::with_capacity(text.len() + 16);
    for (index, part) in parts.iter().enumerate() {
        let inside = index % 2 == 1;
        let closed = index + 1 < parts.len();
        if inside && closed && !part.trim().is_empty() {
            out.push_str(&span(part.trim(), in_cell));
            continue;
        }
        if inside {
            out.push_str("\\`");
        }
        for (place, word) in part.split(' ').enumerate() {
            if place > 0 {
                out.push(' ');
            }
            push_word(&mut out, word, in_cell);
        }
        if inside && closed {
            out.push_str("\\`");
        }
    }
    no_block_start(out)
}

/// One word between spaces: as code when GitHub would act on it, else escaped.
fn push_word(out: &mut String, word: &str, in_cell: bool) {
    let core = word
        .trim_start_matches(['(', '[', '{', '<', '"', '\''])
        .trim_end_matches([')', ']', '}', '>', '"', '\'', '.', ',', ';', ':', '!', '?']);
    if !is_active(word) {
        escape(out, word);
        return;
    }
    // what is active only together with its punctuation (`www.`) becomes code as a whole
    let core = if is_active(core) { core } else { word };
    let start = word.find(core).unwrap_or(0);
    escape(out, word.get(..start).unwrap_or(""));
    out.push_str(&span(core, in_cell));
    escape(out, word.get(start + core.len()..).unwrap_or(""));
}

/// Whether GitHub makes something of a word: a mention, an address, an issue, a commit.
fn is_active(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let bytes = lower.as_bytes();
    let digit_after = |mark: &str| {
        lower.match_indices(mark).any(|(at, _)| bytes.get(at + mark.len()).is_some_and(u8::is_ascii_digit))
    };
    word.contains('@')
        || word.contains("://")
        || lower.contains("www.")
        || digit_after("#")
        || digit_after("gh-")
        || lower.split(|c: char| !c.is_ascii_alphanumeric()).any(is_commit)
}

/// Whether a run of letters and digits may be the id of a commit.
fn is_commit(run: &str) -> bool {
    run.len() >= 7 && run.bytes().all(|b| b.is_ascii_hexdigit()) && run.bytes().any(|b| b.is_ascii_digit())
}

fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '$' | '|' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
}

/// Keeps a text that comes to stand at the start of a line from being a heading, list or rule.
fn no_block_start(text: String) -> String {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let after = text.as_bytes().get(digits);
    if digits > 0 && matches!(after, Some(b'.' | b')')) && matches!(text.as_bytes().get(digits + 1), None | Some(b' '))
    {
        let (number, rest) = text.split_at(digits);
        return format!("{number}\\{rest}");
    }
    if text.starts_with(['#', '+', '-', '=', ':', '!']) { format!("\\{text}") } else { text }
}

fn span(text: &str, in_cell: bool) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut text = text.to_string();
    if in_cell {
        // a bar ends a cell even in code; `\|` does not, but `\\|` may, depending on the parser
        text = text.replace("\\|", "\\¦").replace('|', "\\|");
    }
    let fence = "`".repeat(longest_run(&text, '`') + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn longest_run(text: &str, wanted: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Foreign text of many lines as a fenced block that nothing in it can end; at most `cap`
/// characters, with a clear mark where it was cut. GitHub makes nothing of text in a block; what
/// it would act on in a commit message, should the pull request's text ever become one, is broken
/// up as well.
pub fn fenced(text: &str, cap: usize) -> String {
    block("text", text, cap)
}

/// The same for lines of a diff, which are shown in its colours.
pub fn diff(text: &str, cap: usize) -> String {
    block("diff", text, cap)
}

fn block(kind: &str, text: &str, cap: usize) -> String {
    let taken: String = text.chars().filter(|c| *c != '\r').take(cap + 1).collect();
    let seen: String = taken
        .replace('\t', "    ")
        .replace(['\u{2028}', '\u{2029}'], "\n")
        .chars()
        .filter_map(|c| if c == '\n' { Some(c) } else { visible(c) })
        .collect();
    let mut shown = defuse(&seen);
    if taken.chars().nth(cap).is_some() || shown.chars().nth(cap).is_some() {
        shown = shown.chars().take(cap).collect();
        if let Some(end) = shown.rfind('\n').filter(|end| *end > shown.len() / 2) {
            shown.truncate(end);
        }
        shown.push_str("\n… cut here: the text goes on at its source.");
    }
    let fence = "`".repeat(longest_run(&shown, '`').max(2) + 1);
    format!("{fence}{kind}\n{}\n{fence}", shown.trim_matches('\n'))
}

/// Whether a text is shown in a block just as it is, so that it may be taken from there.
pub fn is_inert(text: &str) -> bool {
    let shown = |c: char| matches!(c, '\n') || (c != '\t' && c != '\r' && visible(c) == Some(c));
    text.chars().all(shown) && defuse(text) == text
}

/// Breaks up what a hub would act on in plain text: mentions, references, commands to CI.
fn defuse(text: &str) -> String {
    const WORDS: [&str; 7] =
        ["[skip ci]", "[ci skip]", "[no ci]", "[skip actions]", "[actions skip]", "skip-checks:", "co-authored-by:"];
    let lower = text.to_ascii_lowercase(); // the same length in bytes
    let mut out = String::with_capacity(text.len() + 64);
    let mut at = 0;
    while let (Some(c), Some(rest)) = (text.get(at..).and_then(|rest| rest.chars().next()), lower.get(at..)) {
        if let Some(scheme) = ["https://", "http://"].iter().find(|scheme| rest.starts_with(**scheme))
            && is_reference(rest)
        {
            at += scheme.len(); // without its scheme it is no address any more
            continue;
        }
        if let Some(word) = WORDS.iter().find(|word| rest.starts_with(**word)) {
            let last = word.len() - 1;
            out.push_str(text.get(at..at + last).unwrap_or(""));
            out.push(' '); // before the bracket or colon that completes it
            at += last;
            continue;
        }
        out.push(c);
        let before = lower.get(..at).unwrap_or("");
        let after = rest.as_bytes().get(1).copied().unwrap_or(b' ');
        let in_word = before.ends_with(|b: char| b.is_ascii_alphanumeric() || b == '_');
        let mention = c == '@' && !in_word && after.is_ascii_alphanumeric();
        let issue = (c == '#' || (c == '-' && before.ends_with("gh"))) && after.is_ascii_digit();
        if mention || issue {
            out.push(' ');
        }
        at += c.len_utf8();
    }
    out
}

/// Whether an address names an issue, a pull request, a discussion or a commit.
fn is_reference(rest: &str) -> bool {
    let url = rest.split(|c: char| c.is_whitespace()).next().unwrap_or("");
    ["/issues/", "/pull/", "/pulls/", "/discussions/", "/commit/"].iter().any(|part| url.contains(part))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn markdown_stays_readable() {
        for (text, wanted) in [
            ("1.15.0 has finished bronze", "1.15.0 has finished bronze"),
            ("waits for an approval by @acme/platform", "waits for an approval by `@acme/platform`"),
            ("alice closed #12, which says no", "alice closed `#12`, which says no"),
            ("anybody: `/coldframe resume`", "anybody: `/coldframe resume`"),
            ("spec_version <3> *now* & [x]", "spec\\_version &lt;3&gt; \\*now\\* &amp; \\[x\\]"),
            ("(see https://a.example/b).", "(see `https://a.example/b`)."),
            ("pushed 1a2b3c4 to it", "pushed `1a2b3c4` to it"),
            ("www.", "`www.`"),
            ("# not a heading", "\\# not a heading"),
            ("1. not a list", "1\\. not a list"),
            ("1.15.0", "1.15.0"),
            ("one ` alone", "one \\` alone"),
            ("a\nb\t c", "a b c"),
            ("", ""),
        ] {
            assert_eq!(md(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn cells_and_code_keep_bars_and_backticks_in() {
        for (text, wanted) in
            [("a|b", "`a\\|b`"), ("a\\|b", "`a\\¦b`"), ("`x`", "`` `x` ``"), ("a``b", "```a``b```"), ("", "")]
        {
            assert_eq!(code_cell(text), wanted, "{text:?}");
        }
        assert_eq!(code("a|b"), "`a|b`");
        assert_eq!(cell("a|b `c|d`"), "a\\|b `c\\|d`");
    }

    #[test]
    fn links_lead_to_plain_http_only() {
        assert_eq!(link("#7", "https://github.com/a/b/pull/7"), "[`#7`](https://github.com/a/b/pull/7)");
        assert_eq!(link("x", "https://a.example/(b)"), "[x](https://a.example/%28b%29)");
        for url in ["javascript:alert(1)", "data:text/html,x", "//a.example", "https://a b", "https://a\"b", ""] {
            assert_eq!(link("x", url), "x", "{url}");
        }
    }

    #[test]
    fn one_line_shows_that_something_was_hidden() {
        assert_eq!(line("\u{1b}[31mred\u{1b}[0m\r\n \u{202e}x\u{200b}y"), "�[31mred�[0m �xy");
        assert_eq!(line("a \u{200b} b"), "a b");
        assert_eq!(line("##[error]x"), "## [error]x");
        assert_eq!(line(&"x".repeat(LINE)).chars().count(), LINE);
        assert_eq!(line(&"x".repeat(LINE + 1)).chars().last(), Some('…'));
        assert_eq!(line(&format!("a{}b", " ".repeat(9 * LINE))), "a…", "cut far before the end");
    }

    #[test]
    fn a_block_ends_where_it_should() {
        assert_eq!(fenced("x", 100), "```text\nx\n```");
        assert_eq!(fenced("```\nx\n````", 100), "`````text\n```\nx\n````\n`````");
        assert_eq!(fenced("a\r\n\tb", 100), "```text\na\n    b\n```");
        let cut = fenced(&"line\n".repeat(100), 50);
        assert!(cut.contains("… cut here") && cut.lines().all(|line| !line.ends_with("lin")), "{cut}");
        assert!(!fenced("exactly", 7).contains("cut here"));
    }

    #[test]
    fn what_a_commit_message_would_act_on_is_broken_up() {
        for (text, wanted) in [
            ("thanks @alice and a@b.example", "thanks @ alice and a@b.example"),
            ("Fixes #12, closes o/r#3", "Fixes # 12, closes o/r# 3"),
            ("closes GH-7", "closes GH- 7"),
            ("fixes https://github.com/o/r/issues/1 now", "fixes github.com/o/r/issues/1 now"),
            ("see https://a.example/docs", "see https://a.example/docs"),
            ("[skip ci] [CI SKIP]", "[skip ci ] [CI SKIP ]"),
            ("Co-authored-by: x", "Co-authored-by : x"),
            ("ünïcode @é #1", "ünïcode @é # 1"),
        ] {
            assert_eq!(defuse(text), wanted, "{text:?}");
        }
    }
}
