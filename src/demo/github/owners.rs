//! CODEOWNERS as the hub reads it: from the base branch, the last matching line counts. The bot has
//! a matcher of its own; the two share no line, so that one tests the other.

use super::state::{Repository, Role, World};

/// The three places, in the order in which the hub looks.
pub const PLACES: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];
/// A larger file is not loaded.
const LIMIT: usize = 3 << 20;

/// A CODEOWNERS file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    rules: Vec<OwnerRule>,
    /// Lines that do not count, with their number (from 1), kind and text.
    pub errors: Vec<(usize, &'static str, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct OwnerRule {
    pattern: String,
    owners: Vec<String>,
}

impl Owners {
    /// Reads the file's text.
    pub fn parse(text: &str) -> Self {
        let mut found = Self::default();
        if text.len() > LIMIT {
            return found;
        }
        for (index, line) in text.lines().enumerate() {
            let mut words = words(line).into_iter();
            let Some(pattern) = words.next() else { continue };
            if pattern.starts_with('!') || pattern.contains('[') {
                found.errors.push((index + 1, "Invalid pattern", line.to_owned()));
                continue;
            }
            let owners: Vec<String> = words.collect();
            if owners.iter().any(|owner| !owner.contains('@')) {
                found.errors.push((index + 1, "Invalid owner", line.to_owned()));
                continue;
            }
            found.rules.push(OwnerRule { pattern, owners });
        }
        found
    }

    /// The owners of a path, as written; empty when none are named or no line matches.
    pub fn of(&self, path: &str) -> &[String] {
        let last = self.rules.iter().rev().find(|rule| fits(&rule.pattern, path));
        last.map_or(&[], |rule| rule.owners.as_slice())
    }

    /// All owners that any line names.
    pub fn all(&self) -> impl Iterator<Item = &String> {
        self.rules.iter().flat_map(|rule| &rule.owners)
    }
}

impl World {
    /// The owners file of a commit.
    pub fn owners(&self, repository: &Repository, commit: &str) -> Owners {
        let text = PLACES.iter().find_map(|place| repository.git.file(commit, place));
        text.map(|bytes| Owners::parse(&String::from_utf8_lossy(&bytes))).unwrap_or_default()
    }

    /// Whether this person stands for that owner and may write here.
    pub fn owns(&self, repository: &Repository, owner: &str, login: &str) -> bool {
        if self.role(repository, login) < Role::Write {
            return false;
        }
        let name = owner.trim_start_matches('@');
        match name.split_once('/') {
            None => name.eq_ignore_ascii_case(login),
            Some((org, slug)) => {
                let team = self.teams.iter().find(|((o, s), _)| o.eq_ignore_ascii_case(org) && s == slug);
                self.team_role(repository, org, slug) >= Role::Write
                    && team.is_some_and(|(_, members)| members.iter().any(|member| member.eq_ignore_ascii_case(login)))
            }
        }
    }
}

/// Words of a line up to a comment; `\ ` is a space inside a pattern.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => words.iter_mut().last().into_iter().for_each(|word| word.extend(letters.next())),
            '#' if words.last().is_some_and(String::is_empty) => break,
            _ if letter.is_whitespace() => words.push(String::new()),
            _ => words.iter_mut().last().into_iter().for_each(|word| word.push(letter)),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a pattern covers a path (from the root, without a leading slash).
fn fits(pattern: &str, path: &str) -> bool {
    let directory = pattern.ends_with('/');
    let body = pattern.trim_end_matches('/');
    let anchored = body.contains('/');
    let wanted: Vec<&str> = body.trim_start_matches('/').split('/').collect();
    let parts: Vec<&str> = path.split('/').collect();
    // A name without wildcards at the end stands for a file or for all below a directory.
    let below = directory || wanted.last().is_some_and(|last| !last.contains('*') || *last == "**");
    let starts = if anchored { 0..1 } else { 0..parts.len() };
    starts.into_iter().any(|start| segments(&wanted, &parts[start..], below, directory))
}

fn segments(wanted: &[&str], parts: &[&str], below: bool, directory: bool) -> bool {
    match (wanted.split_first(), parts.split_first()) {
        (None, None) => !directory,
        (None, Some(_)) => below,
        (Some((&"**", rest)), _) => (0..=parts.len()).any(|skip| segments(rest, &parts[skip..], below, directory)),
        (Some(_), None) => false,
        (Some((first, rest)), Some((part, others))) => glob(first, part) && segments(rest, others, below, directory),
    }
}

/// `*` and `?` within one segment.
pub fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == text[seen] => {
                at += 1;
                seen += 1;
            }
            _ => match star {
                Some((back, from)) => {
                    at = back + 1;
                    seen = from + 1;
                    star = Some((back, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_as_documented() {
        for (pattern, path, expected) in [
            ("*", "a/b/c.txt", true),
            ("*.js", "src/x.js", true),
            ("*.js", "src/x.jsx", false),
            ("/build/logs/", "build/logs/a/b", true),
            ("/build/logs/", "x/build/logs/a", false),
            ("docs/*", "docs/a.md", true),
            ("docs/*", "docs/build/a.md", false),
            ("apps/", "x/apps/y", true),
            ("apps/", "apps", false),
            ("/docs/", "docs/a", true),
            ("/apps/github", "apps/github", true),
            ("/apps/github", "apps/github/x", true),
            ("/scripts/*.sh", "scripts/a.sh", true),
            ("**/logs", "deep/er/logs/a", true),
            ("**/logs", "logs/a", true),
            ("clusters/silver/", "clusters/silver/eu-1/x.yaml", true),
            ("clusters/*/cert.yaml", "clusters/gold/cert.yaml", true),
            ("clusters/*/cert.yaml", "clusters/gold/eu/cert.yaml", false),
            ("/a/**/b", "a/x/y/b", true),
            ("clusters/**", "clusters/qa/a.yaml", true),
        ] {
            assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_last_match_counts_and_may_clear() {
        let owners = Owners::parse(
            "# all\n* @acme/all\n/clusters/ @acme/platform @alice # inline\n/clusters/qa/\n!bad @x\nfoo bad\na\\ b @c\n",
        );
        assert_eq!(owners.of("README.md"), ["@acme/all"]);
        assert_eq!(owners.of("clusters/gold/x"), ["@acme/platform", "@alice"]);
        assert!(owners.of("clusters/qa/x").is_empty());
        assert_eq!(owners.of("a b"), ["@c"]);
        assert_eq!(
            owners.errors.iter().map(|e| (e.0, e.1)).collect::<Vec<_>>(),
            [(5, "Invalid pattern"), (6, "Invalid owner")]
        );
    }
}
