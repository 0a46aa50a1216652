//! `coldframe init`: proposes a policy file for a checkout and shows what it rests on. How it is made is in `init`.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Init as Arguments;
use crate::init::{INVENTORY, POLICY, Proposal, Proposed, propose};

/// Where the policy file, the inventory and the workflow go.
const FILES: [&str; 3] = [POLICY, INVENTORY, ".github/workflows/promote.yml"];
/// The workflow, the same as README's.
const WORKFLOW: &str = include_str!("../init/workflow.yml");
/// What makes its secrets nobody else's.
const ENVIRONMENT: &str = "Make the environment `coldframe` before it runs, for the default branch alone, and put \
     COLDFRAME_APP_KEY and COLDFRAME_CLUSTERS into it: README, \"As an Action\", has the commands.";
/// So many files are read between two moves of the counter.
const STEP: usize = 100;
/// And so many between two lines where there is no terminal.
const LINE: usize = 5_000;

/// Proposes a policy file; writes it with `--write`, and never over one that is there.
pub fn init(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let proposal = propose(&arguments.folder, &counter())?;
    let mut err = anstream::stderr();
    write!(err, "{}", told(&proposal))?;
    if proposal.plugins.is_empty() {
        writeln!(err, "{}", proposal.nothing())?;
        return Ok(ExitCode::FAILURE);
    }
    proposal.read()?;
    let workflow = arguments.workflow.then(|| WORKFLOW.to_string());
    let [policy, inventory, promote] = FILES;
    let files =
        [(policy, Some(&proposal.policy)), (inventory, proposal.clusters.as_ref()), (promote, workflow.as_ref())];
    if arguments.workflow {
        writeln!(err, "{ENVIRONMENT}\n")?;
    }
    if !arguments.write {
        for (name, text) in files {
            if let Some(text) = text {
                let mark = if name == FILES[0] { String::new() } else { format!("\n# ---- {name}\n") };
                write!(std::io::stdout(), "{mark}{text}")?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let written: Vec<&str> = files.iter().filter(|(_, text)| text.is_some()).map(|(name, _)| *name).collect();
    if let Some(there) = written.iter().find(|name| arguments.folder.join(name).exists()) {
        bail!("{there} is there already; run without --write and compare, or move it away");
    }
    for (name, text) in files {
        if let Some(text) = text {
            new(&arguments.folder.join(name), text)?;
        }
    }
    writeln!(err, "\nWritten: {}. Next: `coldframe check`, then commit, then `coldframe plan`.", written.join(", "))?;
    Ok(ExitCode::SUCCESS)
}

fn new(file: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let mut file_ = std::fs::File::create_new(file).with_context(|| file.display().to_string())?;
    Ok(file_.write_all(text.as_bytes())?)
}

/// A counter that moves in a terminal; elsewhere a line now and then.
fn counter() -> impl Fn(usize) {
    let bar = std::io::stderr().is_terminal().then(|| {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.with_style(
            ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
        )
    });
    move |count| match &bar {
        Some(bar) if count.is_multiple_of(STEP) => {
            bar.set_message(format!("{count} files read"));
            bar.tick();
        }
        None if count.is_multiple_of(LINE) => {
            // Who closed the other end does not want to know.
            let _ = writeln!(anstream::stderr(), "{count} files read so far");
        }
        Some(_) | None => {}
    }
}

/// The plugins found, as a table for people.
fn told(proposal: &Proposal) -> String {
    let tiers = if proposal.tiers.is_empty() { "one tier".to_string() } else { proposal.tiers.join(" → ") };
    let mut out = format!("{} files read. Tiers: {tiers}\n\n", proposal.files);
    for Proposed { name, places } in &proposal.plugins {
        out.push_str(&format!("{name}\n"));
        for place in places {
            out.push_str(&format!("  {}  {}  {}\n", place.file, place.kinds(), place.shown()));
        }
    }
    if !proposal.left_out.is_empty() {
        out.push_str("\nLeft out:\n");
        out.extend(proposal.left_out.iter().map(|(what, why)| format!("  {what}: {why}\n")));
    }
    out.extend(proposal.notes.iter().map(|note| format!("\n{note}\n")));
    out + "\n"
}
