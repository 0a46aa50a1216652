//! Markdown of people that stands beside the words of the bot, and the arrangement of a pull request's text.

use crate::wiring::{Body, Piece, Section};
use parse::nearest::nearest;
use parse::problem::quoted;
use parse::scalar::Refusal;

/// The most characters of an arrangement.
const MOST: usize = 4_000;
/// What is replaced within the text.
const NAMES: [&str; 3] = ["plugin", "tier", "version"];

/// Markdown of at most so many characters that leaves nothing open which would hide what comes after it.
pub(super) fn markdown(text: &str, most: usize) -> Result<&str, Refusal> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > most || text.chars().any(|c| c.is_control() && c != '\n') {
        return Err(Refusal::new(format!("it must be a text of 1 to {most} characters")));
    }
    let tags = text.match_indices('<').filter(|(at, _)| !text[*at..].starts_with("<http"));
    if tags.count() > 0 {
        let why =
            "it must not hold HTML: the bot reads its own marks from comments, and what is open would hide its text";
        return Err(Refusal::new(why).help("write Markdown"));
    }
    if text.lines().map(str::trim_start).any(|line| line.starts_with("```") || line.starts_with("~~~")) {
        let why = "it must not hold a block of code: one that is not closed would hide the bot's own text";
        return Err(Refusal::new(why).help("put code between single backquotes, or link to it"));
    }
    Ok(text)
}

/// An arrangement: sections on lines of their own, and Markdown between them.
pub(super) fn body(text: &str) -> Result<Body, Refusal> {
    let written = markdown(text, MOST)?;
    let (mut pieces, mut words) = (Vec::new(), Vec::new());
    for line in written.lines() {
        match alone(line) {
            Some(section) => {
                if pieces.contains(&Piece::Section(section)) {
                    return Err(Refusal::new(format!("it has `{{{}}}` twice", section.name())).help("leave one out"));
                }
                flush(&mut words, &mut pieces);
                pieces.push(Piece::Section(section));
            }
            None => {
                placeholders(line)?;
                words.push(line);
            }
        }
    }
    flush(&mut words, &mut pieces);
    let lacks = |section: &Section| !pieces.contains(&Piece::Section(*section));
    let missing = Section::ALL.into_iter().filter(lacks).find_map(|section| Some((section, section.needed_for()?)));
    if let Some((section, what_for)) = missing {
        let name = section.name();
        let why = format!("it lacks `{{{name}}}`, which {what_for}");
        return Err(Refusal::new(why).help(format!("write `{{{name}}}` on a line of its own")));
    }
    Ok(Body { written: written.to_string(), pieces })
}

/// The section that a line consists of.
fn alone(line: &str) -> Option<Section> {
    let name = line.trim().strip_prefix('{')?.strip_suffix('}')?;
    Section::ALL.into_iter().find(|section| section.name() == name)
}

/// The lines so far, as one piece.
fn flush(words: &mut Vec<&str>, pieces: &mut Vec<Piece>) {
    let text = words.join("\n");
    if !text.trim().is_empty() {
        pieces.push(Piece::Text(text.trim_matches('\n').to_string()));
    }
    words.clear();
}

/// Refuses a section within a line, and a name that nothing stands for.
fn placeholders(line: &str) -> Result<(), Refusal> {
    for (at, _) in line.match_indices('{') {
        let Some(name) = line[at + 1..].split_once('}').map(|(name, _)| name) else { continue };
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphabetic()) || NAMES.contains(&name) {
            continue;
        }
        let sections = Section::ALL.map(Section::name);
        if sections.contains(&name) {
            let why = format!("`{{{name}}}` must stand alone on its line");
            return Err(Refusal::new(why).help("put what is beside it on a line before or after"));
        }
        let known = || sections.into_iter().chain(NAMES);
        let help = match nearest(name, known()) {
            Some(near) => format!("did you mean `{{{near}}}`?"),
            None => format!("there are {}", known().map(|name| format!("`{{{name}}}`")).collect::<Vec<_>>().join(", ")),
        };
        return Err(Refusal::new(format!("{} is not known", quoted(&format!("{{{name}}}")))).help(help));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_stands_between_sections_is_kept_as_it_is_written() {
        let text = "# {plugin} on {tier}\n\n{summary}\n  {status}  \n- a list\n  of two lines\n\n{x y} {} {1}\n{help}\n\nBye.\n";
        let found = body(text).unwrap();
        let text = |text: &str| Piece::Text(text.to_string());
        let wanted = [
            text("# {plugin} on {tier}"),
            Piece::Section(Section::Summary),
            Piece::Section(Section::Status),
            text("- a list\n  of two lines\n\n{x y} {} {1}"),
            Piece::Section(Section::Help),
            text("Bye."),
        ];
        assert_eq!(found.pieces, wanted);
        assert_eq!(body(&found.written).unwrap(), found);
    }

    #[test]
    fn each_section_that_people_need_is_asked_for() {
        for section in Section::ALL {
            let others = Section::ALL.into_iter().filter(|other| *other != section);
            let text: Vec<String> = others.map(|other| format!("{{{}}}", other.name())).collect();
            let found = body(&text.join("\n"));
            match section.needed_for() {
                Some(_) => {
                    let why = found.unwrap_err().why;
                    assert!(why.starts_with(&format!("it lacks `{{{}}}`, which says", section.name())), "{why}");
                }
                None => assert_eq!(found.unwrap().pieces.len(), 6),
            }
        }
    }
}
