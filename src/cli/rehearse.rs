//! Runs `rehearse`: stories, or a history under a policy. What happens there is the `rehearse` room's.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context;

use super::Rehearse;
use crate::rehearse;

/// Tells stories; 0 when each kept what it expects.
pub fn rehearse(arguments: &Rehearse) -> anyhow::Result<ExitCode> {
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
