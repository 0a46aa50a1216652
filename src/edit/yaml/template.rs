//! The markers of a template in a text (`{{ … }}`, as Helm and helmfile write them): what is read where they are, and
//! which lines they leave as they stand. What becomes of a marker is never known; it may stand for anything, and what
//! stands between two of them may be left out or repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Blocks within blocks.
const MAX_DEPTH: usize = 64;
/// Blocks of one text, each looked for in all others.
const MAX_BLOCKS: usize = 1_000;
/// Readings of one text: of what can be taken from one outermost block, one after the other.
const MAX_READINGS: usize = 32;

/// A text with its markers.
pub(super) struct Template<'t> {
    text: &'t str,
    /// The bytes of each line, without its end.
    lines: Vec<Range<usize>>,
    /// Markers, and what stands between those of one line that belong together.
    regions: Vec<Region>,
    /// By line: whether nothing but markers stands there.
    alone: Vec<bool>,
    /// By line: the line on which the outermost block around it begins.
    within: Vec<Option<usize>>,
    /// By line: the last line up to it on which markers alone write something.
    output: Vec<Option<usize>>,
    blocks: Vec<Block>,
}

/// Bytes that a template replaces.
struct Region {
    range: Range<usize>,
    /// Whether something is written in their place.
    writes: bool,
    /// Whether blanks before them go.
    left: bool,
    /// Whether blanks behind them go.
    right: bool,
}

/// Lines of which a template takes one branch, or none, or repeats some.
struct Block {
    /// All of them, its markers among them.
    lines: Range<usize>,
    branches: Vec<Range<usize>>,
}

/// Branches, each by its block and its place there.
pub(super) type Kept = BTreeSet<(usize, usize)>;

/// One marker.
struct Marker {
    range: Range<usize>,
    does: Does,
    left: bool,
    right: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Opens,
    Parts,
    Closes,
    Nothing,
    Writes,
}

impl<'t> Template<'t> {
    /// None where there are no markers, or where it is not clear which lines they leave as they are.
    pub fn of(text: &'t str) -> Option<Self> {
        let markers = markers(text)?;
        let mut start = 0;
        let mut lines = Vec::new();
        for line in text.split_inclusive('\n') {
            lines.push(start..start + line.trim_end_matches(['\n', '\r']).len());
            start += line.len();
        }
        let (regions, parted) = joined(&lines, &markers)?;
        let alone: Vec<bool> = lines.iter().map(|line| bare(text, line, &regions)).collect();
        let mut template = Self {
            text,
            within: vec![None; lines.len()],
            output: vec![None; lines.len()],
            lines,
            regions,
            alone,
            blocks: Vec::new(),
        };
        for parts in parted {
            template.add(&parts)?;
        }
        template.note_output();
        template.leaves_lines().then_some(template)
    }

    /// The line of the first marker, from 1.
    pub fn line(&self) -> usize {
        self.regions.first().map_or(1, |region| self.line_of(region.range.start) + 1)
    }

    /// What is written at these bytes, without its quotes, where a marker lies in them, or adds to them.
    pub fn written(&self, range: &Range<usize>) -> Option<&'t str> {
        let line = self.lines.get(self.line_of(range.end))?;
        let is_last = range.end <= line.end && blank(self.text, &(range.end..line.end));
        let end = match self.first_in(range) {
            Some(_) => range.end,
            None => self.glued(range.end).filter(|_| is_last)?.range.end,
        };
        Some(self.text.get(range.start..end)?.trim_matches(['"', '\'']))
    }

    fn first_in(&self, range: &Range<usize>) -> Option<&Region> {
        let next = self.regions.partition_point(|region| region.range.end <= range.start);
        self.regions.get(next).filter(|region| region.range.start < range.end)
    }

    /// The first branch of each block.
    pub fn first(&self) -> Kept {
        (0..self.blocks.len()).map(|block| (block, 0)).collect()
    }

    /// What else a template may take: nothing, and each branch of each block at least once, with those that it lies in.
    /// None where that is too much to read; nothing at all where there is no block.
    pub fn others(&self) -> Option<Vec<Kept>> {
        let mut of_outermost: BTreeMap<usize, usize> = BTreeMap::new();
        let mut readings: Vec<Kept> = Vec::new();
        if self.blocks.len() > MAX_BLOCKS {
            return None;
        }
        for (index, block) in self.blocks.iter().enumerate() {
            let around = self.around(block);
            let outermost = around.last().map_or(index, |(block, _)| *block);
            for branch in 0..block.branches.len() {
                let next = of_outermost.entry(outermost).or_default();
                if *next >= MAX_READINGS {
                    return None;
                }
                if readings.len() == *next {
                    readings.push(Kept::new());
                }
                if let Some(reading) = readings.get_mut(*next) {
                    reading.insert((index, branch));
                    reading.extend(around.iter().copied());
                }
                *next += 1;
            }
        }
        if !readings.is_empty() {
            readings.push(Kept::new());
        }
        Some(readings)
    }

    /// The branches that a block lies in, the innermost first.
    fn around(&self, block: &Block) -> Vec<(usize, usize)> {
        let within = |lines: &Range<usize>| lines.start <= block.lines.start && block.lines.end <= lines.end;
        let of = |(index, other): (usize, &Block)| Some((index, other.branches.iter().position(within)?));
        let mut all: Vec<(usize, usize)> = self.blocks.iter().enumerate().filter_map(of).collect();
        all.sort_by_key(|(index, _)| self.blocks.get(*index).map_or(0, |other| other.lines.len()));
        all
    }

    /// The text with something else in place of every marker, at the same bytes. Lines of markers alone, and those of
    /// branches that are not kept, are blank.
    pub fn masked(&self, kept: &Kept) -> String {
        let mut dropped = self.alone.clone();
        for (block, Block { branches, .. }) in self.blocks.iter().enumerate() {
            for (index, lines) in branches.iter().enumerate() {
                if !kept.contains(&(block, index))
                    && let Some(lines) = dropped.get_mut(lines.clone())
                {
                    lines.fill(true);
                }
            }
        }
        let mut bytes = self.text.as_bytes().to_vec();
        for Region { range, .. } in &self.regions {
            let mut with = b'x';
            for byte in bytes.get_mut(range.clone()).into_iter().flatten() {
                match byte {
                    b'\n' | b'\r' => with = b' ',
                    other => *other = with,
                }
            }
        }
        for (line, _) in self.lines.iter().zip(&dropped).filter(|(_, dropped)| **dropped) {
            bytes.get_mut(line.clone()).into_iter().flatten().for_each(|byte| *byte = b' ');
        }
        // Whole letters were replaced.
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// The line, from 1, of a marker that touches what stands at these bytes, in a mapping or a list that begins on
    /// the line `item`, or may change what it is part of.
    pub fn touches(&self, range: &Range<usize>, item: usize) -> Option<usize> {
        let (first, last) = (self.line_of(range.start), self.line_of(range.end));
        let whole = self.lines.get(first)?.start..self.lines.get(last)?.end;
        if let Some(region) = self.first_in(&whole) {
            return Some(self.line_of(region.range.start) + 1);
        }
        let around = self.within.get(first).copied().flatten();
        let written = self.output.get(first).copied().flatten().filter(|line| line + 1 >= item);
        let glued = || Some(self.line_of(self.glued(whole.end)?.range.start));
        around.or(written).or_else(glued).map(|line| line + 1)
    }

    /// The line on which the outermost block around a line begins; both from 1.
    pub fn branch_at(&self, line: usize) -> Option<usize> {
        let first = self.within.get(line.checked_sub(1)?).copied().flatten()?;
        Some(first + 1)
    }

    /// The marker that takes the end of a line away without leaving another in its place.
    fn glued(&self, mut end: usize) -> Option<&Region> {
        loop {
            let rest = self.text.get(end..)?;
            let next = end + (rest.len() - rest.trim_start().len());
            let region = self.regions.get(self.regions.partition_point(|region| region.range.start < next))?;
            if region.range.start != next || !region.left {
                return None;
            }
            if region.writes || region.right || self.alone.get(self.line_of(next)) != Some(&true) {
                return Some(region);
            }
            end = region.range.end;
        }
    }

    fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|line| line.start <= at).saturating_sub(1)
    }

    /// Adds a block by the places of its markers.
    fn add(&mut self, parts: &[Range<usize>]) -> Option<()> {
        let first = self.line_of(parts.first()?.start);
        let last = self.line_of(parts.last()?.end);
        let all_alone = parts.iter().all(|part| self.alone.get(self.line_of(part.start)) == Some(&true));
        if !all_alone {
            return None;
        }
        let between = |pair: &[Range<usize>]| {
            let (one, next) = (pair.first()?, pair.last()?);
            let begin = self.line_of(one.end) + 1;
            Some(begin..self.line_of(next.start).max(begin))
        };
        let branches = parts.windows(2).map(between).collect::<Option<Vec<_>>>()?;
        self.blocks.push(Block { lines: first..last + 1, branches });
        for line in self.within.get_mut(first..=last).into_iter().flatten() {
            *line = Some(line.map_or(first, |known| known.min(first)));
        }
        Some(())
    }

    fn note_output(&mut self) {
        let mut last = None;
        let mut next = self.regions.iter().peekable();
        for (index, line) in self.lines.iter().enumerate() {
            while let Some(region) = next.next_if(|region| region.range.start <= line.end) {
                if region.writes && self.alone.get(index) == Some(&true) {
                    last = Some(index);
                }
            }
            if let Some(output) = self.output.get_mut(index) {
                *output = last;
            }
        }
    }

    /// Whether lines stay lines: no marker that takes blanks away joins what stands on two of them, or moves what
    /// stands on one to another column.
    fn leaves_lines(&self) -> bool {
        let literal = self.lines.iter().zip(&self.alone);
        let literal = literal.filter(|(line, alone)| !**alone && !blank(self.text, line)).map(|(line, _)| line.start);
        let first = literal.min().unwrap_or(self.text.len());
        self.regions.iter().filter(|region| region.right).all(|region| {
            let rest = self.text.get(region.range.end..).unwrap_or_default();
            let behind = rest.trim_start();
            let between = rest.get(..rest.len() - behind.len()).unwrap_or_default();
            if !between.contains('\n') || behind.is_empty() || behind.starts_with("{{") {
                return true;
            }
            let Some(line) = self.lines.get(self.line_of(region.range.start)) else { return false };
            let left = self.first_in(line).is_some_and(|other| other.left || other.range.start != line.start);
            between.ends_with('\n')
                && self.alone.get(self.line_of(line.start)) == Some(&true)
                && (!left || line.start < first)
        })
    }
}

fn blank(text: &str, line: &Range<usize>) -> bool {
    // A byte order mark is no letter of the first line.
    text.get(line.clone()).unwrap_or_default().trim_start_matches('\u{feff}').trim().is_empty()
}

/// Whether nothing but markers stands on a line.
fn bare(text: &str, line: &Range<usize>, regions: &[Region]) -> bool {
    let mut at = line.start;
    let next = regions.partition_point(|region| region.range.end <= line.start);
    let mut any = false;
    for region in regions.iter().skip(next).take_while(|region| region.range.start < line.end) {
        any = true;
        let before = at..region.range.start.max(at);
        if !blank(text, &before) {
            return false;
        }
        at = region.range.end.min(line.end);
    }
    any && blank(text, &(at..line.end))
}

/// A block by the places of its markers.
type Parts = Vec<Range<usize>>;

/// The regions, and the blocks of several lines. None where they are not closed one within the other.
fn joined(lines: &[Range<usize>], markers: &[Marker]) -> Option<(Vec<Region>, Vec<Parts>)> {
    let line_of = |at: usize| lines.partition_point(|line| line.start <= at).saturating_sub(1);
    let mut regions: Vec<Region> = Vec::new();
    let (mut open, mut blocks): (Vec<Parts>, Vec<Parts>) = (Vec::new(), Vec::new());
    for Marker { range, does, left, right } in markers {
        let writes = *does == Does::Writes;
        regions.push(Region { range: range.clone(), writes, left: *left, right: *right });
        match does {
            Does::Opens => open.push(vec![range.clone()]),
            Does::Parts => open.last_mut()?.push(range.clone()),
            Does::Closes => {
                let mut parts = open.pop()?;
                parts.push(range.clone());
                let begins = parts.first()?.start;
                if line_of(begins) == line_of(range.end.saturating_sub(1)) {
                    // What a line has of its own is one piece with what stands between.
                    let from = regions.iter().rposition(|region| region.range.start == begins)?;
                    let left = regions.get(from)?.left;
                    regions.truncate(from);
                    regions.push(Region { range: begins..range.end, writes: true, left, right: *right });
                } else {
                    blocks.push(parts);
                }
            }
            Does::Nothing | Does::Writes => {}
        }
        if open.len() > MAX_DEPTH {
            return None;
        }
    }
    open.is_empty().then_some((regions, blocks))
}

/// The markers in order; none where there are none, or one does not end.
fn markers(text: &str) -> Option<Vec<Marker>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text.get(from..)?.find("{{").map(|at| from + at) {
        let inner = text.get(start + 2..)?;
        let left = inner.strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_whitespace));
        let body = inner.strip_prefix('-').filter(|_| left).unwrap_or(inner);
        let comment = body.trim_start().starts_with("/*");
        let skipped = if comment { inner.find("*/")? } else { 0 };
        let length = skipped + inner.get(skipped..)?.find("}}")?;
        let body = inner.get(..length)?;
        let right = body.strip_suffix('-').is_some_and(|rest| rest.ends_with(char::is_whitespace));
        let range = start..start + 2 + length + 2;
        from = range.end;
        found.push(Marker { range, does: if comment { Does::Nothing } else { does(body) }, left, right });
    }
    (!found.is_empty()).then_some(found)
}

fn does(body: &str) -> Does {
    let body = body.trim_start_matches('-').trim_start();
    let mut words = body.split(|c: char| c.is_whitespace() || c == '(');
    match words.next().unwrap_or_default() {
        "if" | "range" | "with" | "define" | "block" => Does::Opens,
        "else" => Does::Parts,
        "end" => Does::Closes,
        "break" | "continue" => Does::Nothing,
        name if name.starts_with('$') && matches!(words.next(), Some(":=" | "=")) => Does::Nothing,
        _ => Does::Writes,
    }
}
