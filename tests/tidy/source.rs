//! The repository's own files, and Rust with comments and literals blanked out.

use std::fs;
use std::path::{Path, PathBuf};

/// One file of the repository.
pub struct File {
    /// From the repository's root, with `/`.
    pub path: String,
    /// Empty where it is no text.
    pub text: String,
    pub is_binary: bool,
    /// The same text with comments and the insides of literals blanked out, line by line; only for Rust.
    code: String,
    /// How many lines of it are not test code: a file's tests stand at its end.
    product_lines: usize,
}

impl File {
    pub fn new(path: String, text: String) -> Self {
        let code = if path.ends_with(".rs") { code_of(&text) } else { String::new() };
        let product_lines = if path.starts_with("tests/") || path.ends_with("/tests.rs") {
            0
        } else {
            code.lines().take_while(|line| line.trim() != "#[cfg(test)]").count()
        };
        Self { path, text, is_binary: false, code, product_lines }
    }

    /// A picture, or what a fuzzer found: known by its path alone.
    pub fn binary(path: String) -> Self {
        Self { is_binary: true, ..Self::new(path, String::new()) }
    }

    /// A file that only tests and benchmarks are compiled with: what its parent declares under `cfg(test)`.
    pub fn is_for_tests(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        let words = ["tests.rs", "testing.rs", "fixture.rs", "golden.rs", "hostile.rs", "puppet.rs"];
        ["/tests/", "/benches/", "/fixture/", "/testing/"].iter().any(|folder| self.path.contains(folder))
            || words.contains(&name)
            || name.ends_with("_tests.rs")
    }

    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub fn is_generated(&self) -> bool {
        let generated = ["Cargo.lock", "package-lock.json", "policies/schema.json", "docs/cli.md", "LICENSE"];
        generated.iter().any(|name| self.path.ends_with(name)) || self.within("tests/fuzz/corpus/")
    }

    pub fn within(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }

    /// Lines of code, with their numbers.
    pub fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Those that ship.
    pub fn product(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code().take(self.product_lines)
    }
}

/// Whether `word` stands in `line` with no letter, digit or `_` around it.
pub fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let open_end = word.ends_with(|c: char| !part(c));
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(part) && (open_end || !line[at + word.len()..].starts_with(part)))
}

/// Blanks out comments and the insides of string and character literals.
pub fn code_of(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_or_comment_end(&chars, at);
        match end {
            Some(end) => {
                code.extend(chars[at..end].iter().filter(|c| **c == '\n'));
                code.push(' ');
                at = end;
            }
            None => {
                code.push(chars[at]);
                at += 1;
            }
        }
    }
    code
}

/// Where the literal or comment that begins at `at` ends; none when none begins there.
fn literal_or_comment_end(chars: &[char], at: usize) -> Option<usize> {
    let starts = |from: usize, what: &str| what.chars().enumerate().all(|(i, c)| chars.get(from + i) == Some(&c));
    let find = |from: usize, what: &str| (from..chars.len()).find(|i| starts(*i, what));
    let word_before = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    if starts(at, "//") {
        return Some(find(at, "\n").unwrap_or(chars.len()));
    }
    if starts(at, "/*") {
        return Some(find(at + 2, "*/").map_or(chars.len(), |end| end + 2));
    }
    if chars[at] == 'r' && !word_before {
        let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
        if chars.get(at + 1 + hashes) == Some(&'"') {
            let close = format!("\"{}", "#".repeat(hashes));
            return Some(find(at + 2 + hashes, &close).map_or(chars.len(), |end| end + 1 + hashes));
        }
    }
    if chars[at] == '"' {
        let mut end = at + 1;
        while end < chars.len() && chars[end] != '"' {
            end += if chars[end] == '\\' { 2 } else { 1 };
        }
        return Some((end + 1).min(chars.len()));
    }
    if chars[at] == '\'' {
        let escaped = chars.get(at + 1) == Some(&'\\');
        if escaped {
            return find(at + 3, "'").map(|end| end + 1);
        }
        return (chars.get(at + 2) == Some(&'\'')).then_some(at + 3);
    }
    None
}

/// Every file that belongs to the project; what builds and installs leave behind does not.
pub fn repository() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name == ".git" {
                continue;
            }
            if path.is_dir() {
                if !["target", "node_modules", ".venv", "__pycache__"].contains(&name.as_str()) {
                    folders.push(path);
                }
                continue;
            }
            let relative = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
            files.push(match fs::read_to_string(&path) {
                Ok(text) => File::new(relative, text),
                Err(_) => File::binary(relative),
            });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

pub fn binaries(files: &[File]) -> Vec<String> {
    let picture = |file: &File| file.within("docs/img/") && file.path.ends_with(".png");
    let unreviewed = |file: &&File| file.is_binary && !picture(file) && !file.within("tests/fuzz/corpus/");
    files.iter().filter(unreviewed).map(|file| file.path.clone()).collect()
}
