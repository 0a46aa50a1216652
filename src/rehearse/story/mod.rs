//! Stories: what one says is in `script`, how it is written in `parse`, what comes of it in `stage`, and what is said
//! about that in `teller`. A story that does not keep its expectations has failed, so that stories are tests.

mod around;
mod event;
mod expect;
mod header;
mod parse;
mod script;
mod stage;
mod teller;
#[cfg(test)]
mod tests;
mod when;
mod words;

use std::collections::BTreeSet;
use std::path::Path;

use crate::policy::{Problem, SourceFile, render};
pub use stage::Told;

/// Reads a story and lets it happen. `path` is named in messages, and a policy file that the story
/// names is looked for beside it.
pub fn tell(path: &Path, text: &str) -> Told {
    let source = SourceFile { path: path.display().to_string(), text: text.to_string() };
    let folder = path.parent().unwrap_or(Path::new(""));
    match parse::parse(&source, folder) {
        Ok((story, mut files)) => {
            files.insert(0, source);
            stage::play(story, &files)
        }
        Err((problems, mut files)) => {
            files.insert(0, source);
            Told { text: refusal(&problems, &files), kept: false, occasions: BTreeSet::new() }
        }
    }
}

/// What is wrong with how a story is written; none where it could be told. Nothing happens.
pub fn check(path: &Path, text: &str) -> Option<String> {
    let source = SourceFile { path: path.display().to_string(), text: text.to_string() };
    let (problems, mut files) = parse::parse(&source, path.parent().unwrap_or(Path::new(""))).err()?;
    files.insert(0, source);
    Some(refusal(&problems, &files))
}

fn refusal(problems: &[Problem], files: &[SourceFile]) -> String {
    let count = problems.len();
    let tail = if count == 1 { "1 problem".to_string() } else { format!("{count} problems") };
    format!("{}\n{tail}. The story was not told.\n", render(problems, files))
}
