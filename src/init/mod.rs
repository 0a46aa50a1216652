//! Reads a checkout of a config repo and proposes a policy file for it: which plugins there are, where their versions
//! stand, which tiers and clusters the files speak of. It only proposes; the bot reads the policy file alone.

mod agree;
mod compose;
mod floating;
mod flux;
mod ladder;
mod notes;
mod plugins;
mod siblings;
mod signals;
mod survey;
mod things;
mod words;

use std::path::Path;

use anyhow::Context as _;
use walk::Progress;

pub use survey::Sight;
pub mod walk;

/// A policy for a repository, and what it rests on.
#[derive(Debug)]
pub struct Proposal {
    /// The text of `coldframe.yaml`.
    pub policy: String,
    /// The text of `clusters.yaml`, where the repository has no inventory and the clusters show in its files.
    pub clusters: Option<String>,
    /// The tiers, in the order proposed.
    pub tiers: Vec<String>,
    /// The plugins that it promotes.
    pub plugins: Vec<Proposed>,
    /// What holds a version and is not promoted, with the reason.
    pub left_out: Vec<(String, String)>,
    /// What a person has to know or to decide beside that.
    pub notes: Vec<String>,
    /// How many files were read.
    pub files: usize,
}

/// One plugin of a proposal.
#[derive(Debug)]
pub struct Proposed {
    /// Its name.
    pub name: String,
    /// Where its versions stand: the file or its pattern, what kind of place it is, and the versions there by tier.
    pub places: Vec<Stands>,
}

/// Places of one pattern.
#[derive(Debug)]
pub struct Stands {
    /// The file, with placeholders.
    pub file: String,
    /// What kind of place.
    pub kind: &'static str,
    /// Versions by tier, in their order; the empty name where one file is for all.
    pub versions: Vec<(String, Vec<String>)>,
    /// How many places there are.
    pub count: usize,
}

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
