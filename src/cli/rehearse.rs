//! Runs `rehearse`: stories, or a history under a policy. What happens there is the `rehearse` room's.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use super::Rehearse;
use crate::policy::{self, SourceFile};
use crate::rehearse::{self, History, Replay};

/// Soaks that are told apart in one picture.
const MOST_SOAKS: usize = 6;

/// Tells stories; 0 when each kept what it expects.
pub fn rehearse(arguments: &Rehearse) -> anyhow::Result<ExitCode> {
    if let Some(path) = &arguments.history {
        return history(path, arguments);
    }
    let mut out = anstream::stdout().lock();
    let mut kept = true;
    for (index, path) in arguments.stories.iter().enumerate() {
        let text = std::fs::read_to_string(path).with_context(|| format!("the story `{}`", path.display()))?;
        let told = rehearse::tell(path, &text);
        let gap = if index > 0 { "\n" } else { "" };
        write!(out, "{gap}{}", told.text).context("standard output")?;
        kept &= told.kept;
    }
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Replays a history; 0 when it and the policy could be read.
fn history(path: &Path, arguments: &Rehearse) -> anyhow::Result<ExitCode> {
    let named = || format!("the history `{}`", path.display());
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).context("standard input")?;
        text
    } else {
        std::fs::read_to_string(path).with_context(named)?
    };
    let history = History::parse(&text).with_context(named)?;
    let policy = match &arguments.policy {
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("the policy `{}`", path.display()))?;
            Some(SourceFile { path: path.display().to_string(), text })
        }
        None => None,
    };
    let acknowledge = match (arguments.ack, arguments.no_ack) {
        (true, _) => vec![true],
        (false, true) => vec![false],
        (false, false) => vec![true, false],
    };
    anyhow::ensure!(arguments.soak.len() <= MOST_SOAKS, "--soak takes {MOST_SOAKS} durations at most");
    let (approve_after, soaks) = (arguments.approve_after, arguments.soak.clone());
    let replay = Replay { policy, approve_after, acknowledge, soaks };
    let mut out = anstream::stdout().lock();
    let replayed = match replay.run(&history) {
        Ok(replayed) => replayed,
        Err(problems) => {
            let files: Vec<SourceFile> = replay.policy.into_iter().collect();
            write!(out, "{}", policy::render(&problems, &files)).context("standard output")?;
            return Ok(ExitCode::FAILURE);
        }
    };
    write!(out, "{}", replayed.text()).context("standard output")?;
    if let Some(path) = &arguments.svg {
        std::fs::write(path, replayed.svg()).with_context(|| format!("the picture `{}`", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
