//! Reads a checkout of a config repo and proposes a policy file for it: which plugins there are, where their versions
//! stand, which tiers and clusters the files speak of. It only proposes; the bot reads the policy file alone.

mod agree;
mod compose;
mod floating;
mod flux;
mod installed;
mod ladder;
mod notes;
mod plugins;
mod proposal;
mod siblings;
mod sight;
mod signals;
mod survey;
mod text;
mod things;
mod words;

use std::path::Path;

use anyhow::Context as _;
use walk::Progress;

pub use proposal::{Proposal, Proposed, Stands};
pub use sight::Sight;
pub mod walk;

/// Proposes a policy for the files below a folder.
///
/// # Errors
/// Where the folder cannot be read. A file that cannot is left out.
pub fn propose(folder: &Path, progress: &Progress) -> anyhow::Result<Proposal> {
    let mut survey = survey::Survey::default();
    walk::files(folder, progress, &mut |file, text| survey.take(file, text))
        .with_context(|| folder.display().to_string())?;
    survey.add_read();
    flux::aim(&mut survey);
    let applied = survey.flux.applied(&survey.releases);
    survey.fill_in(&applied);
    let ladder = ladder::ladder(&survey, &applied);
    let sorted = plugins::sorted(&survey, &ladder, &applied);
    Ok(compose::compose(&survey, &ladder, &applied, sorted))
}

#[cfg(test)]
mod kustomize_tests;
#[cfg(test)]
mod order_tests;
#[cfg(test)]
mod signal_tests;
#[cfg(test)]
mod tests;
