//! `coldframe edit`: the bot's own editor for one file, by hand. What is replaced, and what is refused, is in
//! `edit`.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};

use super::Edit as Arguments;
use crate::edit::find::{Wanted, find};
use crate::edit::{FileFormat, MAX_BYTES, Refusal, chart_lock, pin, place, read, set, versioned};
use crate::policy::wiring::{DocumentSelector, Scalar, Write};

/// Exit code of a refusal.
const REFUSED: u8 = 3;
const CHART: &str = "Chart.yaml";
const LOCK: &str = "Chart.lock";

/// A text before and after.
struct Edited {
    file: String,
    before: String,
    after: String,
}

/// Edits one file, and the lock of a chart with it.
pub fn edit(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let text = text(&arguments.file)?;
    match edited(arguments, text)? {
        Ok(all) => {
            show(arguments, &all)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(refusal) => {
            let _ = writeln!(anstream::stderr(), "{}: {refusal}", arguments.file.display());
            Ok(ExitCode::from(REFUSED))
        }
    }
}

/// The name of a file format.
///
/// # Errors
/// Where it is none.
pub fn format(name: &str) -> Result<FileFormat, String> {
    let known = FileFormat::ALL.iter().find(|(known, _)| *known == name);
    known.map(|(_, format)| *format).ok_or_else(|| {
        let names: Vec<&str> = FileFormat::ALL.iter().map(|(name, _)| *name).collect();
        format!("known are {}", names.join(", "))
    })
}

fn text(file: &Path) -> anyhow::Result<String> {
    let about = std::fs::symlink_metadata(file).with_context(|| file.display().to_string())?;
    if about.is_symlink() {
        bail!("{} is a symbolic link; name the file that it leads to", file.display());
    }
    if about.len() > MAX_BYTES as u64 {
        bail!("{}: {}", file.display(), Refusal::TooLarge { bytes: usize::try_from(about.len())? });
    }
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", file.display()))
}

fn edited(arguments: &Arguments, before: String) -> anyhow::Result<Result<Vec<Edited>, Refusal>> {
    let name = arguments.file.to_string_lossy().into_owned();
    let scalar = arguments.path.clone().map(|path| {
        let document = arguments.document.as_deref().map(|selector| match selector.split_once('/') {
            Some((kind, name)) => DocumentSelector { kind: kind.to_string(), name: Some(name.to_string()) },
            None => DocumentSelector { kind: selector.to_string(), name: None },
        });
        Scalar { document, path, value: arguments.value.clone() }
    });
    let write = Write { file: name.clone(), format: arguments.format, scalar, template: None };
    let chart = arguments.chart.as_deref().unwrap_or_default();
    let wanted = Wanted { chart, plugin: arguments.plugin.as_deref().unwrap_or(chart), address: None };
    let after = match after(&write, &name, &before, wanted, arguments) {
        Ok(after) => after,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let mut all = vec![Edited { file: name, before, after }];
    if let Some(lock) = locked(arguments, &all)? {
        match lock {
            Ok(lock) => all.push(lock),
            Err(refusal) => return Ok(Err(refusal)),
        }
    }
    Ok(Ok(all))
}

/// The text with the version in its place; or in the place of a branch, where that is asked for and one is there.
fn after(
    write: &Write,
    name: &str,
    before: &str,
    wanted: Wanted<'_>,
    arguments: &Arguments,
) -> Result<String, Refusal> {
    let format = write.format();
    let mut followers = if arguments.pin { pin::followers(format, before, wanted)? } else { Vec::new() };
    if let Some(path) = arguments.path.as_ref().filter(|_| arguments.pin) {
        followers.retain(|one| one.path() == *path);
        if followers.is_empty() {
            // It may be pinned already.
            let tag = path.strip_suffix(".branch").map(|at| format!("{at}.tag"));
            let mut found = find(format, name, before, wanted)?.into_iter().map(|found| found.scalar);
            let place = found.find(|place| Some(&place.path) == tag.as_ref());
            let place = place.ok_or_else(|| Refusal::NotFound { path: path.clone() })?;
            return moved(format, before, &place, arguments);
        }
    }
    match followers.as_slice() {
        [] => {
            let place = place(write, name, before, wanted)?;
            moved(format, before, &place, arguments)
        }
        [one] => pin::pin(format, before, one, &format!("{}/{}", wanted.plugin, arguments.to)),
        several => {
            let paths = several.iter().map(pin::Follower::path).collect();
            Err(Refusal::SeveralPlaces { chart: wanted.chart.to_string(), paths })
        }
    }
}

/// The text with the version in a place that held another one.
fn moved(format: FileFormat, before: &str, place: &Scalar, arguments: &Arguments) -> Result<String, Refusal> {
    let document = place.document.as_ref();
    versioned(place, &read(format, before, document, &place.path)?)?;
    set(format, before, document, &place.path, &place.spell(arguments.to.as_str()))
}

/// The lock beside a chart, where there is one.
fn locked(arguments: &Arguments, all: &[Edited]) -> anyhow::Result<Option<Result<Edited, Refusal>>> {
    let is_chart = arguments.file.file_name().is_some_and(|name| name == CHART);
    let (Some(chart), Some(folder), true) = (all.first(), arguments.file.parent(), is_chart) else { return Ok(None) };
    let moved = chart_lock::moved(&chart.before, &chart.after);
    let mut archives = moved.iter().flat_map(|one| one.archives.clone());
    if let Some(archive) = archives.find(|archive| folder.join(archive).exists()) {
        return Ok(Some(Err(Refusal::Vendored { archive })));
    }
    let file = folder.join(LOCK);
    if moved.is_empty() || !file.exists() {
        return Ok(None);
    }
    let before = text(&file)?;
    let after = chart_lock::relock(&chart.before, &chart.after, &before, arguments.to.as_str());
    Ok(Some(after.map(|after| Edited { file: file.to_string_lossy().into_owned(), before, after })))
}

fn show(arguments: &Arguments, all: &[Edited]) -> anyhow::Result<()> {
    if arguments.in_place {
        for one in all.iter().filter(|one| one.before != one.after) {
            put(Path::new(&one.file), &one.after)?;
        }
        return Ok(());
    }
    if arguments.diff {
        return print(&all.iter().map(diff).collect::<String>());
    }
    if let Some(one) = all.first() {
        print(&one.after)?;
    }
    for one in all.iter().skip(1) {
        writeln!(anstream::stderr(), "{} changes with it; see --diff, or use --in-place", one.file)?;
    }
    Ok(())
}

/// Byte for byte: what is printed may be written into a file.
fn print(text: &str) -> anyhow::Result<()> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// Replaces a file at once or not at all, with the rights that it had.
fn put(file: &Path, text: &str) -> anyhow::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(std::fs::metadata(file)?.permissions())?;
    new.as_file().sync_all()?;
    new.persist(file).with_context(|| file.display().to_string())?;
    Ok(())
}

/// The lines that differ, as `git diff` shows them; an edit changes lines and neither adds nor takes any.
fn diff(one: &Edited) -> String {
    if one.before == one.after {
        return String::new();
    }
    let (before, after): (Vec<&str>, Vec<&str>) =
        (one.before.split_inclusive('\n').collect(), one.after.split_inclusive('\n').collect());
    let changed: Vec<usize> = (0..before.len()).filter(|line| before.get(*line) != after.get(*line)).collect();
    let (Some(first), Some(last)) = (changed.first(), changed.last()) else { return String::new() };
    let (from, to) = (first.saturating_sub(3), (last + 4).min(before.len()));
    let name = &one.file;
    let mut out = format!("--- a/{name}\n+++ b/{name}\n@@ -{0},{1} +{0},{1} @@\n", from + 1, to - from);
    let mut line = |mark: char, text: Option<&&str>| {
        let text = text.copied().unwrap_or_default();
        out.push(mark);
        out.push_str(text);
        if !text.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    };
    for index in from..to {
        if changed.contains(&index) {
            line('-', before.get(index));
            line('+', after.get(index));
        } else {
            line(' ', before.get(index));
        }
    }
    out
}
