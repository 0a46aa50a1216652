//! What a file says of itself: the places of a chart, and the lock of a chart.

use coldframe::edit::find::{Wanted, find as places};
use coldframe::edit::{FileFormat, chart_lock as lock, pin, read, set};

use super::asked;
use super::editor::{edit, said};

/// The first line names a file, a chart, a plugin, the new version and where the chart comes from.
pub fn find(input: &[u8]) {
    let ([file, chart, plugin, to, address], text) = asked(input);
    let plugin = if plugin.is_empty() { &chart } else { &plugin };
    let to = if to.is_empty() { "9.8.7-new" } else { &to };
    let address = (!address.is_empty()).then_some(address.as_str());
    let wanted = Wanted { chart: &chart, plugin, address };
    let formats = [FileFormat::of(&file), FileFormat::Text];
    for format in formats {
        let found = match places(format, &file, &text, wanted) {
            Ok(found) => found,
            Err(refusal) => {
                said(&refusal);
                continue;
            }
        };
        for one in found {
            assert!(!one.kind.is_empty());
            edit(format, &text, one.scalar.document.as_ref(), &one.scalar.path, &one.scalar.spell(to));
        }
        for one in pin::followers(format, &text, wanted).unwrap_or_default() {
            match pin::pin(format, &text, &one, &format!("{plugin}/{to}")) {
                Ok(after) => pinned(format, &text, &after, &one.path(), &format!("{plugin}/{to}")),
                Err(refusal) => said(&refusal),
            }
        }
    }
}

/// The key `branch` is `tag` now, its value the new one, and everything around them as it was.
fn pinned(format: FileFormat, before: &str, after: &str, path: &str, to: &str) {
    let Some(at) = path.strip_suffix(".branch") else { panic!("{path} is no branch") };
    let key = before.bytes().zip(after.bytes()).take_while(|(was, is)| was == is).count();
    let (Some(was), Some(is)) = (before.get(key..), after.get(key..)) else { panic!("{after}") };
    let (Some(was), Some(is)) = (was.strip_prefix("branch"), is.strip_prefix("tag")) else { panic!("{was}: {is}") };
    // Of several documents the path alone does not say which.
    let Ok(spot) = read(format, after, None, &format!("{at}.tag")) else { return };
    let value = spot.range.start - (after.len() - is.len());
    assert_eq!((spot.value.as_str(), is.get(..value)), (to, was.get(..value)), "{after}");
    assert!(was.ends_with(&after[spot.range.end..]), "{after}");
}

/// What parts a chart from its lock in an input.
const PARTS: &str = "\n===\n";

/// The first line is the version that a dependency moves to; then the chart, and the lock.
pub fn chart_lock(input: &[u8]) {
    let ([to, index], text) = asked(input);
    let to = if to.is_empty() { "9.8.7-new" } else { &to };
    let index: usize = index.parse().unwrap_or_default();
    let (chart, locked) = text.split_once(PARTS).unwrap_or((&text, ""));
    for other in lock::moved(chart, locked) {
        assert!(other.archives.iter().all(|archive| archive.starts_with("charts/")));
    }
    // Most inputs have a lock of other dependencies; with the digest that belongs to it, more is looked at.
    let with_digest = |chart: &str, locked: &str| {
        let digest = lock::hash(chart, locked)?;
        assert!(digest.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64), "{digest}");
        set(FileFormat::Yaml, locked, None, "$.digest", &digest)
    };
    relocked(chart, locked, index, to);
    if let Ok(locked) = with_digest(chart, locked) {
        relocked(chart, &locked, index, to);
    }
}

/// The lock moves with the chart, in the version and in the digest alone, or it is refused.
fn relocked(chart: &str, locked: &str, index: usize, to: &str) {
    let path = format!("$.dependencies[{index}].version");
    let Ok(after) = set(FileFormat::Yaml, chart, None, &path, to) else { return };
    let moved = lock::moved(chart, &after);
    let new = match lock::relock(chart, &after, locked, to) {
        Ok(new) => new,
        Err(refusal) => return said(&refusal),
    };
    if after == chart {
        assert_eq!(moved, [], "nothing moved");
    }
    for one in &moved {
        assert_eq!(lock::belongs(chart, locked, one.index), Ok(()), "it did not belong before\n{chart}");
        assert_eq!(lock::belongs(&after, &new, one.index), Ok(()), "it does not belong now\n{after}\n{new}");
        let path = format!("$.dependencies[{}].version", one.index);
        let spot = read(FileFormat::Yaml, &new, None, &path).map(|spot| spot.value);
        // A lock keeps the spelling of its repository, with a `v` or without.
        let bare = |text: &str| text.strip_prefix('v').unwrap_or(text).to_string();
        assert_eq!(spot.as_deref().map(bare), Ok(bare(to)), "{new}");
    }
    assert_eq!(lock::relock(&after, &after, &new, to).as_deref(), Ok(new.as_str()), "again");
    let lines = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
    let (was, is) = (lines(locked), lines(&new));
    assert_eq!(was.len(), is.len(), "{new}");
    let changed = was.iter().zip(&is).filter(|(was, is)| was != is).count();
    assert!(changed <= moved.len() + 1, "{changed} lines changed\n{locked}\n{new}");
}
