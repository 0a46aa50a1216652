//! Text into a story, every mistake at once with its line and the likely fix. The head is in `header`,
//! single lines are in `event` and `expect`; nothing happens yet.

use std::path::Path;

use decide::{PluginName, Version};
use jiff::Timestamp;

use super::header::{Head, NameList, listed};
use super::script::{Deed, Event, Expect, Line, Story, What};
use super::words::{Cursor, Place};
use super::{event, expect, when};
use crate::policy::{Problem, SourceFile};
use crate::rehearse::setup;

/// A story with the policy file that it names, or what is wrong with it.
pub(super) type Parsed = Result<(Story, Vec<SourceFile>), (Vec<Problem>, Vec<SourceFile>)>;

/// What is known while the lines are read.
pub(super) struct Known {
    pub names: NameList,
}

/// One line of the file with the byte at which it begins.
#[derive(Clone, Copy)]
pub(super) struct RawLine<'a> {
    pub number: usize,
    pub start: usize,
    pub text: &'a str,
}

impl RawLine<'_> {
    fn is_blank(&self) -> bool {
        Cursor::new(self.text, 1, 0).is_done()
    }

    /// Whether it belongs to an indented block.
    fn in_block(&self) -> bool {
        self.text.trim().is_empty() || self.text.starts_with(' ')
    }
}

/// Reads a story; `folder` is where a policy file that it names is looked for.
pub(super) fn parse(source: &SourceFile, folder: &Path) -> Parsed {
    let lines = raw_lines(&source.text);
    let mut problems = Vec::new();
    let mut head = Head::new(source, folder);
    let mut next = 0;
    while let Some(line) = lines.get(next) {
        if !line.is_blank() && begins_body(line) {
            break;
        }
        let block = block_after(&lines, next);
        if !line.is_blank()
            && let Err(problem) = head.line(*line, &lines[next + 1..block])
        {
            problems.push(problem);
        }
        next = if head.took_block { block } else { next + 1 };
    }
    let (policy, files) = head.policy(&mut problems);
    let known = Known { names: head.names(policy.as_ref()) };
    head.check(&known.names, &mut problems);
    // Names that the head failed to give would be mistakes in every line below.
    if !problems.is_empty() {
        next = lines.len();
    }
    let mut body = Body { source, known, head: &head, lines: Vec::new(), never: Vec::new(), above: None };
    while let Some(line) = lines.get(next) {
        let block = block_after(&lines, next);
        let mut took = next + 1;
        if !line.is_blank() {
            match body.line(*line, &lines[next + 1..block]) {
                Ok(true) => took = block,
                Ok(false) => {}
                Err(mut found) => {
                    problems.append(&mut found);
                    if is_policy_line(line) {
                        took = block;
                    }
                }
            }
        }
        next = took;
    }
    let (lines, never) = (body.lines, body.never);
    vain(&head, &lines, &never, &mut problems);
    if lines.is_empty() && problems.is_empty() {
        let end = Place { line: source.text.lines().count().max(1), column: 1, ..Place::default() };
        let help = "say what happens, such as `2026-11-23 09:00  release cert-manager 1.15.0`";
        problems.push(end.problem("nothing happens in this story", help));
    }
    for problem in problems.iter_mut().filter(|problem| problem.file.is_empty()) {
        problem.file.clone_from(&source.path);
    }
    problems.sort_by_key(|problem| (problem.file != source.path, problem.line, problem.column));
    match policy {
        Some(policy) if problems.is_empty() => Ok((head.story(policy, lines, never), files)),
        Some(_) | None => Err((problems, files)),
    }
}

/// Expectations about a version that nothing ever releases can only hold, or only fail, by a slip of the
/// pen.
fn vain(head: &Head<'_>, lines: &[Line], never: &[(Place, Deed)], problems: &mut Vec<Problem>) {
    let mut out: Vec<(PluginName, Version)> = head.versions();
    for line in lines {
        if let What::Event(Event::Release { plugin, version, .. } | Event::Commit { plugin, version, .. }) = &line.what
        {
            out.push((plugin.clone(), version.clone()));
        }
    }
    let now = lines.iter().filter_map(|line| match &line.what {
        What::Expect(Expect::Runs { plugin, version, .. }) => Some((line.place, plugin, version)),
        What::Expect(Expect::Done(deed) | Expect::NotDone(deed)) => Some((line.place, &deed.plugin, &deed.version)),
        What::Expect(Expect::State { .. } | Expect::Says { .. } | Expect::Count { .. })
        | What::Event(_)
        | What::End => None,
    });
    for (place, plugin, version) in now.chain(never.iter().map(|(place, deed)| (*place, &deed.plugin, &deed.version))) {
        if !out.iter().any(|(name, known)| name == plugin && known == version) {
            let all: Vec<&str> = out.iter().filter(|(name, _)| name == plugin).map(|(_, v)| v.as_str()).collect();
            let help = format!("there are {}", listed(&all));
            problems.push(place.problem(format!("no line of this story releases {plugin} {version}"), help));
        }
    }
}

fn raw_lines(text: &str) -> Vec<RawLine<'_>> {
    let mut start = 0;
    text.split_inclusive('\n')
        .enumerate()
        .map(|(index, line)| {
            let raw = RawLine { number: index + 1, start, text: line.trim_end_matches(['\n', '\r']) };
            start += line.len();
            raw
        })
        .collect()
}

/// The first line of the body begins with a time.
fn begins_body(line: &RawLine<'_>) -> bool {
    let cursor = Cursor::new(line.text, line.number, line.start);
    !cursor.is_indented() && cursor.peek().is_some_and(|word| when::begins(word.text))
}

fn is_policy_line(line: &RawLine<'_>) -> bool {
    line.text.contains("policy becomes")
}

/// The index after the indented block that follows a line.
fn block_after(lines: &[RawLine<'_>], at: usize) -> usize {
    let mut end = at + 1;
    while lines.get(end).is_some_and(RawLine::in_block) {
        end += 1;
    }
    end
}

/// A block of the story as a file in which every byte keeps its place, so that mistakes in it are shown
/// where they stand.
pub(super) fn embedded(source: &SourceFile, block: &[RawLine<'_>]) -> SourceFile {
    let (Some(first), Some(last)) = (block.first(), block.last()) else {
        return SourceFile { path: source.path.clone(), text: String::new() };
    };
    let end = last.start + last.text.len();
    let before = source.text.get(..first.start).unwrap_or_default();
    let blank: String = before.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
    let text = source.text.get(first.start..end).unwrap_or_default();
    SourceFile { path: source.path.clone(), text: format!("{blank}{text}\n") }
}

/// The lines in which something happens.
struct Body<'a> {
    source: &'a SourceFile,
    known: Known,
    head: &'a Head<'a>,
    lines: Vec<Line>,
    never: Vec<(Place, Deed)>,
    above: Option<Timestamp>,
}

impl Body<'_> {
    /// Reads one line; whether it took the block below it.
    fn line(&mut self, raw: RawLine<'_>, block: &[RawLine<'_>]) -> Result<bool, Vec<Problem>> {
        let one = |problem| vec![problem];
        let mut cursor = Cursor::new(raw.text, raw.number, raw.start);
        let begins = cursor.peek().is_some_and(|word| when::begins(word.text));
        let at = match (begins, self.above) {
            (true, above) => when::time(&mut cursor, &self.head.zone, above).map_err(one)?,
            (false, Some(above)) => above,
            (false, None) => {
                let help = "begin it with one, such as `2026-11-23 09:00`";
                return Err(vec![cursor.here().problem("the first line has no time", help)]);
            }
        };
        self.above = Some(at);
        let text = cursor.clone().rest().map(|word| word.text.to_string()).unwrap_or_default();
        let Some(first) = cursor.peek() else {
            return Err(vec![cursor.here().problem("nothing happens at this time", "say what, or `end`")]);
        };
        if first.text == "policy" {
            let _ = cursor.next();
            let place = first.place;
            if cursor.peek().is_some_and(|word| word.text.trim_end_matches(':') == "breaks") {
                let _ = cursor.need("", "");
                let what = What::Event(Event::PolicyBroken { why: cursor.why().map_err(one)? });
                self.lines.push(Line { at, place, text, what });
                return Ok(false);
            }
            let help = "write `policy becomes:` and the new file below it, indented, or `policy breaks: why`";
            cursor.must("becomes", help).map_err(one)?;
            let file = embedded(self.source, block);
            let setting = self.head.setting().map_err(|problems| problems.0)?;
            let policy = setup::policy(&file, self.head.plugins(), &setting).map_err(|problems| problems.0)?;
            let what = What::Event(Event::Policy(Box::new(policy)));
            self.lines.push(Line { at, place, text: "the policy file changes".to_string(), what });
            return Ok(true);
        }
        if first.text == "expect" {
            let _ = cursor.next();
            return self.expectation(cursor, at, first.place, text).map(|()| false).map_err(one);
        }
        let what = if first.text == "end" {
            let _ = cursor.next();
            cursor.end().map_err(one)?;
            What::End
        } else {
            What::Event(event::event(&mut cursor, &mut self.known.names).map_err(one)?)
        };
        self.lines.push(Line { at, place: first.place, text, what });
        Ok(false)
    }

    fn expectation(
        &mut self,
        mut cursor: Cursor<'_>,
        at: Timestamp,
        place: Place,
        text: String,
    ) -> Result<(), Problem> {
        let mut at = at;
        if cursor.peek().is_some_and(|word| when::begins(word.text) && word.text.contains(['-', ':', '+'])) {
            at = when::time(&mut cursor, &self.head.zone, self.above)?;
            self.above = Some(at);
        }
        let whole = cursor.clone();
        let end = whole.here().end;
        let place = Place { end, ..place };
        match expect::expect(&mut cursor, &self.known.names)? {
            expect::Expected::Now(expect) => {
                self.lines.push(Line { at, place, text, what: What::Expect(expect) });
            }
            expect::Expected::Never(deed) => {
                // The story goes on until the time of the line.
                self.lines.push(Line { at, place, text, what: What::End });
                self.never.push((place, deed));
            }
        }
        Ok(())
    }
}
