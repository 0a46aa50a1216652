//! CODEOWNERS as GitHub reads it (docs.github.com, "About code owners"): who owns a path, and where a
//! broken line leaves that open. Which people an owner stands for, and their rights, the hub says.

/// Where it may stand, the first that exists counts.
pub const LOCATIONS: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];
/// GitHub does not load a bigger one.
const MOST_BYTES: usize = 3 << 20;

/// A parsed file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeOwners {
    rules: Vec<Rule>,
    problems: Vec<Problem>,
}

/// A line that does not count as it is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct Problem {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// Its number, from 1.
    line: usize,
    /// What it is about; none where that cannot be read, so that it may be about anything.
    pattern: Option<Pattern>,
    /// Whom it names, or why it does not count.
    owners: Result<Vec<String>, String>,
}

/// Why a file counts as none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("CODEOWNERS is bigger than 3 MB; GitHub does not load it")]
pub struct TooBig;

impl CodeOwners {
    /// Reads a file. Lines that GitHub passes over are [`CodeOwners::problems`].
    ///
    /// # Errors
    /// It is bigger than GitHub loads.
    pub fn parse(text: &str) -> Result<Self, TooBig> {
        if text.len() > MOST_BYTES {
            return Err(TooBig);
        }
        let mut parsed = Self::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, text) in text.lines().enumerate() {
            let Some(rule) = rule(number + 1, text) else { continue };
            if let Err(why) = &rule.owners {
                parsed.problems.push(Problem { line: rule.line, why: why.clone() });
            }
            parsed.rules.push(rule);
        }
        Ok(parsed)
    }

    /// The owners of a path (from the root, without a leading slash) as GitHub finds them: those of the
    /// last line that matches and counts. A line without owners makes it nobody's.
    pub fn owners_of(&self, path: &str) -> &[String] {
        let path = segments(path);
        let counts = |rule: &&Rule| rule.pattern.as_ref().is_some_and(|pattern| pattern.matches(&path));
        let mut counting = self.rules.iter().rev().filter(counts).filter_map(|rule| rule.owners.as_ref().ok());
        counting.next().map_or(&[], Vec::as_slice)
    }

    /// The same, where nobody has to guess: a broken line that is about the path, or may be, and that no
    /// later line overrules, leaves open whose it is. `reported` are problems that the hub sees in the file.
    ///
    /// # Errors
    /// That line.
    pub fn known_owners_of(&self, path: &str, reported: &[Problem]) -> Result<&[String], Problem> {
        let path = segments(path);
        let about = |rule: &&Rule| rule.pattern.as_ref().is_none_or(|pattern| pattern.matches(&path));
        let last = self.rules.iter().rev().find(about);
        // What the hub finds wrong with a line that is none to us may be about anything.
        let strange = |problem: &&Problem| !self.rules.iter().any(|rule| rule.line == problem.line);
        let after = last.map_or(0, |rule| rule.line);
        if let Some(problem) = reported.iter().filter(strange).find(|problem| problem.line >= after) {
            return Err(problem.clone());
        }
        let Some(rule) = last else { return Ok(&[]) };
        match (&rule.owners, reported.iter().find(|problem| problem.line == rule.line)) {
            (Err(why), _) => Err(Problem { line: rule.line, why: why.clone() }),
            (Ok(_), Some(problem)) => Err(problem.clone()),
            (Ok(owners), None) => Ok(owners),
        }
    }

    /// The lines that GitHub passes over.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

/// What a line is about, and whom it names; none where nothing stands there.
fn rule(line: usize, text: &str) -> Option<Rule> {
    let mut words = words(text).into_iter();
    let pattern = match Pattern::parse(&words.next()?) {
        Ok(pattern) => pattern,
        Err(why) => return Some(Rule { line, pattern: None, owners: Err(why) }),
    };
    let owners: Vec<String> = words.collect();
    let owners = match owners.iter().find(|owner| !is_owner(owner)) {
        None => Ok(owners),
        Some(stranger) if is_owner(&format!("@{stranger}")) => {
            Err(format!("`{stranger}` is no owner; write `@{stranger}`"))
        }
        Some(stranger) => Err(format!("`{stranger}` is neither `@user`, `@org/team` nor an e-mail address")),
    };
    Some(Rule { line, pattern: Some(pattern), owners })
}

fn segments(path: &str) -> Vec<&str> {
    path.split('/').filter(|segment| !segment.is_empty()).collect()
}

/// The words of a line up to a comment. A backslash keeps the space or `#` after it in the word.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                word.push('\\');
                word.extend(letters.next());
            }
            '#' if word.is_empty() => break,
            space if space.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            other => word.push(other),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn is_owner(text: &str) -> bool {
    let name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    match text.strip_prefix('@') {
        Some(user) => match user.split_once('/') {
            Some((org, team)) => name(org) && name(team),
            None => name(user),
        },
        None => text.split_once('@').is_some_and(|(who, host)| {
            let plain = |c: char| c.is_alphanumeric() || c.is_ascii_punctuation() && c != '\\';
            !who.is_empty() && who.chars().all(plain) && name(host) && host.contains('.')
        }),
    }
}

/// A path pattern, cut at its slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    segments: Vec<Segment>,
    /// It ends with a slash: only what lies below.
    folder: bool,
    /// It also stands for everything below what it matches.
    deep: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// `**`: any number of folders.
    Folders,
    /// One name.
    Name(Vec<Letter>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Letter {
    Is(char),
    /// `?`.
    One,
    /// `*`.
    Any,
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with('!') {
            return Err(format!("`{text}`: CODEOWNERS knows no negation with `!`"));
        }
        if text.starts_with("\\#") {
            return Err(format!("`{text}`: CODEOWNERS cannot escape a leading `#`"));
        }
        if text.contains(['[', ']']) {
            return Err(format!("`{text}`: CODEOWNERS knows no ranges with `[ ]`"));
        }
        let folder = text.ends_with('/');
        let inner = text.trim_matches('/');
        // Bound to the root by a slash anywhere but at its end.
        let rooted = text.starts_with('/') || inner.contains('/');
        let mut segments = Vec::new();
        if !rooted {
            segments.push(Segment::Folders);
        }
        for name in inner.split('/').filter(|name| !name.is_empty()) {
            segments.push(if name == "**" { Segment::Folders } else { Segment::Name(letters(name)) });
        }
        if inner.is_empty() {
            return Err(format!("`{text}` names nothing; `*` is everything"));
        }
        // `logs/**` is what lies below `logs`.
        let below_only = segments.len() > 1 && rooted && segments.last() == Some(&Segment::Folders);
        if below_only {
            segments.pop();
        }
        let folder = folder || below_only;
        // `docs/*` means the files of that folder and not what lies deeper.
        let last_is_any = segments.last() == Some(&Segment::Name(vec![Letter::Any]));
        Ok(Self { segments, folder, deep: folder || !last_is_any })
    }

    fn matches(&self, path: &[&str]) -> bool {
        // Which lengths of the path the pattern so far can cover.
        let mut covered = vec![false; path.len() + 1];
        covered[0] = true;
        for segment in &self.segments {
            let mut next = vec![false; path.len() + 1];
            for (length, _) in covered.iter().enumerate().filter(|(_, covered)| **covered) {
                match segment {
                    Segment::Folders => next[length..].fill(true),
                    Segment::Name(letters) => {
                        if path.get(length).is_some_and(|name| fits(letters, name)) {
                            next[length + 1] = true;
                        }
                    }
                }
            }
            covered = next;
        }
        let whole = covered[path.len()] && !self.folder;
        let below = self.deep && covered[1..path.len().max(1)].contains(&true);
        whole || below
    }
}

fn letters(name: &str) -> Vec<Letter> {
    let mut letters = Vec::new();
    let mut chars = name.chars();
    while let Some(char) = chars.next() {
        let letter = match char {
            '\\' => Letter::Is(chars.next().unwrap_or('\\')),
            '*' if letters.last() == Some(&Letter::Any) => continue,
            '*' => Letter::Any,
            '?' => Letter::One,
            other => Letter::Is(other),
        };
        letters.push(letter);
    }
    letters
}

/// Whether a name fits; on a mismatch only the last `*` is given one letter more, so the effort
/// is bounded by the product of the lengths.
fn fits(letters: &[Letter], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut seen, mut star) = (0, 0, None);
    while seen < name.len() {
        match letters.get(at) {
            Some(Letter::Any) => {
                star = Some((at, seen));
                at += 1;
            }
            Some(letter) if *letter == Letter::One || *letter == Letter::Is(name[seen]) => {
                at += 1;
                seen += 1;
            }
            _ => match star {
                Some((after, from)) => {
                    star = Some((after, from + 1));
                    at = after + 1;
                    seen = from + 1;
                }
                None => return false,
            },
        }
    }
    letters[at..].iter().all(|letter| *letter == Letter::Any)
}

#[cfg(test)]
mod tests;
