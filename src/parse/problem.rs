//! A mistake in a file: what, where, and what to do; and how it looks in a terminal. What counts as
//! a mistake is decided where the file is read.

use std::fmt::{self, Write as _};
use std::ops::{Deref, Range};

use super::SourceFile;

/// One mistake, or one warning, at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The path as it was given, or `preset NAME`.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, and why.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The bytes that it is about; empty where something is missing.
    pub span: Range<usize>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names, and words of a file in a message, come from the repository.
        write!(f, "{}:{}:{}: {}", visible(&self.file), self.line, self.column, visible(&self.message))?;
        match &self.help {
            Some(help) => write!(f, " ({})", visible(help)),
            None => Ok(()),
        }
    }
}

/// Every mistake of a set of files, in the order of the files and lines; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Deref for Problems {
    type Target = [Problem];

    fn deref(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// More problems than this are counted, not shown.
const MOST_SHOWN: usize = 100;
/// Characters of a source line that are shown around the place.
const WIDTH: usize = 120;

/// The problems as people read them: `file:line:column: what`, the line with a mark under the
/// place, and what to do beside the mark.
pub fn render(problems: &[Problem], files: &[SourceFile]) -> String {
    let mut out = String::new();
    for (at, problem) in problems.iter().take(MOST_SHOWN).enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let text = files.iter().find(|file| file.path == problem.file).map(|file| file.text.as_str());
        let line = text.and_then(|text| text.lines().nth(problem.line.saturating_sub(1)));
        // A byte order mark is no column.
        let line = line.map(|line| line.trim_start_matches('\u{feff}'));
        let marked = text.and_then(|text| text.get(problem.span.clone())).map(|marked| marked.chars().count());
        one(&mut out, problem, line, marked.unwrap_or(problem.span.len()));
    }
    if problems.len() > MOST_SHOWN {
        // Writing into a String cannot fail.
        let _ = writeln!(out, "\nand {} more", problems.len() - MOST_SHOWN);
    }
    out
}

fn one(out: &mut String, problem: &Problem, line: Option<&str>, marked: usize) {
    let _ =
        writeln!(out, "{}:{}:{}: {}", visible(&problem.file), problem.line, problem.column, visible(&problem.message));
    let help = problem.help.as_deref().map(visible).unwrap_or_default();
    let Some(line) = line else {
        if !help.is_empty() {
            let _ = writeln!(out, "  {help}");
        }
        return;
    };
    let number = problem.line.to_string();
    let margin = " ".repeat(number.len());
    let (shown, before) = cut(line, problem.column.saturating_sub(1));
    let rest = shown.chars().skip(before).count();
    let length = marked.clamp(1, rest.max(1));
    // A tab before the mark stays a tab, so that both lines step alike.
    let indent: String = shown.chars().take(before).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let _ = writeln!(out, "{margin} |");
    let _ = writeln!(out, "{number} | {shown}");
    let _ = writeln!(out, "{}", format!("{margin} | {indent}{} {help}", "^".repeat(length)).trim_end());
}

/// The part of a line around a column, and how many characters stand before the column in it.
fn cut(line: &str, column: usize) -> (String, usize) {
    let clean = visible(line);
    if clean.chars().count() <= WIDTH {
        let before = column.min(clean.chars().count());
        return (clean, before);
    }
    let start = column.saturating_sub(WIDTH / 2);
    let part: String = clean.chars().skip(start).take(WIDTH).collect();
    let dots = if start > 0 { "… " } else { "" };
    (format!("{dots}{part} …"), column - start + dots.chars().count())
}

/// Text of somebody else for a terminal: control characters, and those that turn the direction of
/// writing, become one mark each.
pub fn visible(text: &str) -> String {
    let hidden = |c: char| {
        (c.is_control() && c != '\t')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// A value of the file between backticks in a message: one line, at most sixty characters.
pub fn quoted(text: &str) -> String {
    let mut short: String = visible(text).replace('\t', " ").chars().take(60).collect();
    if text.chars().count() > 60 {
        short.push('…');
    }
    format!("`{short}`")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn problem(line: usize, column: usize, length: usize) -> Problem {
        Problem {
            file: "coldframe.yaml".into(),
            line,
            column,
            message: "unknown key `soka` in tier `bronze`".into(),
            help: Some("did you mean `soak`?".into()),
            span: 0..length,
        }
    }

    fn file(text: &str) -> Vec<SourceFile> {
        vec![SourceFile { path: "coldframe.yaml".into(), text: text.into() }]
    }

    #[test]
    fn the_name_of_a_file_writes_nothing_to_a_terminal() {
        let named = Problem { file: "coldframe.d/\u{1b}[2Ja.yaml".into(), ..problem(1, 1, 1) };
        let line = "coldframe.d/\u{fffd}[2Ja.yaml:1:1: unknown key";
        assert!(named.to_string().starts_with(line) && render(&[named], &[]).starts_with(line));
        let said =
            Problem { message: "no tier `\0`".into(), help: Some("did you mean `\u{1b}`?".into()), ..problem(1, 1, 1) };
        let shown = render(std::slice::from_ref(&said), &file("a: b\n"));
        assert!([said.to_string(), shown].iter().all(|text| !text.contains(['\0', '\u{1b}'])));
    }

    #[test]
    fn the_shape() {
        let files = file("tiers:\n  - name: bronze\n    soka: 24h\n");
        let expected = "\
coldframe.yaml:3:5: unknown key `soka` in tier `bronze`
  |
3 |     soka: 24h
  |     ^^^^ did you mean `soak`?
";
        assert_eq!(render(&[problem(3, 5, 4)], &files), expected);
        let two = render(&[problem(3, 5, 4), problem(3, 5, 4)], &files);
        assert_eq!(two, format!("{expected}\n{expected}"), "one blank line between two");
    }

    #[test]
    fn marks_stay_inside_the_line_and_wide_numbers_keep_the_margin() {
        let text = format!("{}a: |\n", "\n".repeat(11));
        let out = render(&[problem(12, 4, 500)], &file(&text));
        assert!(out.ends_with("   |\n12 | a: |\n   |    ^ did you mean `soak`?\n"), "{out}");
        let out = render(&[problem(1, 2, 3)], &file("\tsoka: 1"));
        assert!(out.contains("1 | \tsoka: 1\n  | \t^^^ did"), "{out:?}");
    }

    #[test]
    fn long_lines_are_cut_and_terminals_are_safe() {
        let text = format!("{}soka: \u{1b}[31m{}", "x".repeat(300), "y".repeat(300));
        let out = render(&[problem(1, 301, 4)], &file(&text));
        assert!(!out.contains('\u{1b}') && out.lines().all(|line| line.chars().count() < 160), "{out}");
        let mark = out.lines().nth(3).unwrap().find('^').unwrap();
        let source = out.lines().nth(2).unwrap();
        let at = source.char_indices().nth(mark).unwrap().0;
        assert!(source[at..].starts_with("soka"), "{out}");
    }

    #[test]
    fn many_are_counted() {
        let out = render(&vec![problem(1, 1, 1); 103], &file("soka: 1"));
        assert!(out.ends_with("\nand 3 more\n"), "{out}");
    }

    #[test]
    fn without_the_source_help_still_stands() {
        let out = render(&[problem(3, 5, 4)], &[]);
        assert_eq!(out, "coldframe.yaml:3:5: unknown key `soka` in tier `bronze`\n  did you mean `soak`?\n");
    }
}
