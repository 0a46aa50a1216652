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

pub use proposal::{INVENTORY, POLICY, Proposal, Proposed, Stands};
pub use sight::Sight;
pub mod walk;

/// Proposes a policy for the files below a folder.
///
/// # Errors
/// Where the folder cannot be read. A file that cannot is left out.
pub fn propose(folder: &Path, progress: &Progress) -> anyhow::Result<Proposal> {
    let mut reader = Reader::default();
    walk::files(folder, progress, &mut |file, text| reader.take(file, text))
        .with_context(|| folder.display().to_string())?;
    Ok(reader.propose())
}

/// The files of a repository, taken in one by one.
#[derive(Default)]
pub struct Reader(survey::Survey);

impl Reader {
    /// Takes in a file by its path; files come in the order of their names within each folder.
    pub fn take(&mut self, file: &str, text: &str) {
        self.0.take(file, text);
    }

    /// What follows from all of them.
    pub fn propose(self) -> Proposal {
        let Self(mut survey) = self;
        survey.add_read();
        flux::aim(&mut survey);
        let applied = survey.flux.applied(&survey.releases);
        survey.fill_in(&applied);
        let ladder = ladder::ladder(&survey, &applied);
        let sorted = plugins::sorted(&survey, &ladder, &applied);
        compose::compose(&survey, &ladder, &applied, sorted)
    }
}

#[cfg(test)]
mod kustomize_tests;
#[cfg(test)]
mod order_tests;
#[cfg(test)]
mod signal_tests;
#[cfg(test)]
mod tests;
