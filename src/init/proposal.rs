//! A proposed policy with what it rests on, as the command shows it. How its text is written is in `compose`.

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
