//! A package as Helm makes it (`.tgz`), read in memory and within bounds. Nothing is ever unpacked to a disk, and an
//! archive that says one thing to us and another to Helm is refused.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry, EntryType};

/// Bytes of a package as it is sent.
pub const MAX_PACKAGE: usize = 16 << 20;
/// Bytes of everything in it, packages within it included.
const MAX_BYTES: u64 = 48 << 20;
/// Bytes of one file, as Helm has it (`MaxDecompressedFileSize`).
const MAX_FILE: u64 = 5 << 20;
/// Entries, those of packages within it included.
const MAX_ENTRIES: usize = 10_000;
/// Packages within packages within packages.
const MAX_DEPTH: usize = 4;
/// The longest path.
const MAX_PATH: usize = 400;

/// Why a package is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is no gzip, or breaks off.
    #[error("it is not a gzip archive that can be read to its end: {0}")]
    Gzip(String),
    /// It is no tar, or a wrong one.
    #[error("it is not a tar archive that can be read to its end: {0}")]
    Tar(String),
    /// More than is read.
    #[error("{what} has more than {most} {unit}")]
    TooMuch {
        /// Of what.
        what: String,
        /// The bound.
        most: u64,
        /// Of which unit.
        unit: &'static str,
    },
    /// An entry that is neither a file nor a folder, such as a link or a device.
    #[error("`{path}` is a {kind}; a chart has files and folders")]
    Odd {
        /// Where.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// A path that leads out of the chart, or that Helm reads as another one.
    #[error("`{path}` is not a path within a chart: {why}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Two entries of one name: which of them counts depends on who reads it.
    #[error("`{0}` is in it twice")]
    Twice(String),
    /// Something that every chart has is missing or cannot be read.
    #[error("{file}: {why}")]
    Malformed {
        /// Which file.
        file: String,
        /// What is wrong.
        why: String,
    },
}

/// Files by their path below the folder of the chart.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// What is left of the bounds, for a package and those within it.
pub(crate) struct Bounds {
    bytes: u64,
    entries: usize,
    depth: usize,
}

impl Bounds {
    pub(crate) fn new() -> Self {
        Self { bytes: MAX_BYTES, entries: MAX_ENTRIES, depth: MAX_DEPTH }
    }

    /// The bounds for a package within this one.
    pub(crate) fn within(&mut self) -> Result<&mut Self, Refusal> {
        self.depth = self.depth.checked_sub(1).ok_or_else(|| too_much("a chain of packages", MAX_DEPTH, "levels"))?;
        Ok(self)
    }

    /// After it.
    pub(crate) fn without(&mut self) {
        self.depth += 1;
    }
}

fn too_much(what: impl Into<String>, most: usize, unit: &'static str) -> Refusal {
    Refusal::TooMuch { what: what.into(), most: most as u64, unit }
}

/// Every file of a package.
pub(crate) fn files(package: &[u8], bounds: &mut Bounds) -> Result<Files, Refusal> {
    if package.len() > MAX_PACKAGE {
        return Err(too_much("the package", MAX_PACKAGE, "bytes"));
    }
    // One byte more than is left tells a package that ends from one that goes on.
    let unpacked = MultiGzDecoder::new(package).take(bounds.bytes + 1);
    let mut archive = Archive::new(unpacked);
    let (mut files, mut folder) = (Files::new(), None);
    for entry in archive.entries().map_err(|error| Refusal::Tar(shown(&error)))? {
        let mut entry = entry.map_err(|error| unread(&error, bounds))?;
        bounds.entries =
            bounds.entries.checked_sub(1).ok_or_else(|| too_much("the package", MAX_ENTRIES, "entries"))?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if let Some(file) = read(&mut entry, &path, bounds)? {
            let below = within(&path, &mut folder)?;
            if files.insert(below, file).is_some() {
                return Err(Refusal::Twice(visible(&path)));
            }
        }
    }
    let mut rest = archive.into_inner();
    let end = std::io::copy(&mut rest, &mut std::io::sink()).map_err(|error| Refusal::Gzip(shown(&error)));
    end?;
    if rest.limit() == 0 {
        return Err(Refusal::TooMuch { what: "the package".to_owned(), most: MAX_BYTES, unit: "bytes" });
    }
    Ok(files)
}

/// The bytes of a file; none for what is no file and does no harm.
fn read<R: std::io::Read>(
    entry: &mut Entry<'_, R>,
    path: &str,
    bounds: &mut Bounds,
) -> Result<Option<Vec<u8>>, Refusal> {
    // What a PAX header says of a size goes before the entry's own for some readers, and not for others.
    if let Ok(Some(extensions)) = entry.pax_extensions() {
        for extension in extensions.flatten() {
            if !matches!(extension.key(), Ok("path" | "mtime" | "atime" | "ctime" | "comment" | "uname" | "gname")) {
                let key = String::from_utf8_lossy(extension.key_bytes()).into_owned();
                return Err(Refusal::Tar(format!("`{}` has the PAX record `{}`", visible(path), visible(&key))));
            }
        }
    }
    let kind = entry.header().entry_type();
    if matches!(kind, EntryType::Directory | EntryType::XGlobalHeader) {
        return Ok(None);
    }
    if kind != EntryType::Regular {
        return Err(Refusal::Odd { path: visible(path), kind: words(kind) });
    }
    let size = entry.size();
    if size > MAX_FILE {
        return Err(Refusal::TooMuch { what: format!("`{}`", visible(path)), most: MAX_FILE, unit: "bytes" });
    }
    bounds.bytes = bounds.bytes.checked_sub(size).ok_or_else(|| Refusal::TooMuch {
        what: "the package".to_owned(),
        most: MAX_BYTES,
        unit: "bytes",
    })?;
    let mut bytes = Vec::new();
    entry.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| Refusal::Gzip(shown(&error)))?;
    if bytes.len() as u64 != size {
        return Err(Refusal::Tar(format!("`{}` breaks off", visible(path))));
    }
    Ok(Some(bytes))
}

fn unread(error: &std::io::Error, bounds: &Bounds) -> Refusal {
    if bounds.bytes == 0 {
        return Refusal::TooMuch { what: "the package".to_owned(), most: MAX_BYTES, unit: "bytes" };
    }
    match error.get_ref() {
        // The decoder's own errors have no words of tar in them.
        Some(_) | None if error.kind() == std::io::ErrorKind::InvalidInput => Refusal::Gzip(shown(error)),
        Some(_) | None => Refusal::Tar(shown(error)),
    }
}

fn words(kind: EntryType) -> &'static str {
    let names = [
        (EntryType::Link, "hard link"),
        (EntryType::Symlink, "symbolic link"),
        (EntryType::Char, "device"),
        (EntryType::Block, "device"),
        (EntryType::Fifo, "pipe"),
        (EntryType::GNUSparse, "sparse file"),
    ];
    names.iter().find(|(known, _)| *known == kind).map_or("thing of another kind", |(_, words)| words)
}

/// The path below the chart's folder, which all entries share. The rules are Helm's (`LoadArchiveFiles` in
/// `pkg/chart/loader/archive`), where it refuses; where it would mend a path, we refuse as well.
fn within(path: &str, folder: &mut Option<String>) -> Result<String, Refusal> {
    let wrong = |why| Refusal::Path { path: visible(path), why };
    if path.len() > MAX_PATH {
        return Err(wrong("it is too long"));
    }
    if path.contains('\\') || path.chars().any(char::is_control) {
        return Err(wrong("it has a backslash or a control character"));
    }
    if path.starts_with('/') || path.as_bytes().get(1) == Some(&b':') {
        return Err(wrong("it is absolute"));
    }
    let path = path.strip_prefix("./").unwrap_or(path);
    let Some((top, below)) = path.split_once('/') else { return Err(wrong("it is not in the folder of the chart")) };
    if below.split('/').chain([top]).any(|part| matches!(part, "" | "." | "..")) {
        return Err(wrong("it has `.`, `..` or an empty part"));
    }
    match folder {
        Some(folder) if folder != top => return Err(wrong("it is not in the folder of the chart")),
        Some(_) => {}
        None => *folder = Some(top.to_owned()),
    }
    Ok(below.to_owned())
}

fn shown(error: &dyn std::fmt::Display) -> String {
    visible(&error.to_string())
}

/// Foreign text in one line of bounded length.
pub(crate) fn visible(text: &str) -> String {
    let plain = |c: char| if c.is_control() || is_invisible(c) { '\u{fffd}' } else { c };
    let mut shown: String = text.chars().take(200).map(plain).collect();
    if text.chars().nth(200).is_some() {
        shown.push('…');
    }
    shown
}

/// Signs that have no width, or turn the direction of what follows.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
