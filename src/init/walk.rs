//! The files of a checkout that may hold versions, one after the other, in the order of their names; and their paths.

use std::path::Path;

use crate::edit::MAX_BYTES;

/// Called now and then with the number of files read so far.
pub type Progress = dyn Fn(usize);

/// Folders in which nobody keeps what runs.
const SKIPPED: [&str; 5] = [".git", "node_modules", ".terraform", "vendor", "target"];
/// Files without an ending that are read: they are small where they hold versions.
const MAX_PLAIN: u64 = 64 * 1024;

/// Reads every file below a folder whose name tells a format that is known. Links, large files and what is no UTF-8
/// are passed over.
///
/// # Errors
/// Where the folder itself cannot be read.
pub fn files(folder: &Path, progress: &Progress, take: &mut dyn FnMut(&str, &str)) -> std::io::Result<()> {
    let mut count = 0;
    below(folder, "", &mut |path, text| {
        count += 1;
        progress(count);
        take(path, text);
    })
}

fn below(folder: &Path, prefix: &str, take: &mut dyn FnMut(&str, &str)) -> std::io::Result<()> {
    let mut entries: Vec<_> = std::fs::read_dir(folder)?.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
        let path = format!("{prefix}{name}");
        if kind.is_dir() && is_wanted(&name, None) {
            // A folder that may not be read holds nothing that a bot could write.
            let _ = below(&entry.path(), &format!("{path}/"), take);
        } else if kind.is_file() && is_wanted(&name, Some(entry.metadata().map_or(u64::MAX, |about| about.len()))) {
            let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
            take(&path, &text);
        }
    }
    Ok(())
}

/// Whether a folder, which has no size, may hold anything, or a file of so many bytes a version, by its name.
pub fn is_wanted(name: &str, bytes: Option<u64>) -> bool {
    match (bytes, name.rsplit_once('.')) {
        (None, _) => !SKIPPED.contains(&name),
        (Some(bytes), Some((_, "yaml" | "yml" | "json" | "tf" | "tfvars"))) => bytes <= MAX_BYTES as u64,
        (Some(bytes), None) => bytes <= MAX_PLAIN,
        (Some(_), Some(_)) => false,
    }
}

/// A path below a folder, from the root; none where it leads out of the repository.
pub(super) fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Whether a name is one that a generator's `envs/*/config.yaml` or `envs/**/config.json` means.
pub(super) fn glob(pattern: &str, file: &str) -> bool {
    fn parts(pattern: &[&str], file: &[&str]) -> bool {
        match (pattern, file) {
            ([], []) => true,
            (["**", rest @ ..], _) => (0..=file.len()).any(|skipped| parts(rest, &file[skipped..])),
            ([one, rest @ ..], [part, below @ ..]) => piece(one, part) && parts(rest, below),
            ([..], [..]) => false,
        }
    }
    fn piece(pattern: &str, text: &str) -> bool {
        match pattern.split_once('*') {
            None => pattern == text,
            Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| {
                rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| piece(tail, &rest[at..]))
            }),
        }
    }
    let (pattern, file): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), file.split('/').collect());
    pattern.len() <= 32 && parts(&pattern, &file)
}
