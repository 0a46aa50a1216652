//! A proposed policy with what it rests on, as the command shows it. How its text is written is in `compose`.

use anyhow::bail;

use crate::policy::{self, Loaded, Mode, OperatorLimits, Setting, SourceFile};

/// Where the policy file goes.
pub const POLICY: &str = "coldframe.yaml";
/// Where the inventory goes.
pub const INVENTORY: &str = "clusters.yaml";

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

impl Stands {
    /// What kind of place, and how many there are where it is more than one.
    pub fn kinds(&self) -> String {
        if self.count == 1 { self.kind.to_string() } else { format!("{} ×{}", self.kind, self.count) }
    }

    /// The versions there by tier, on one line.
    pub fn shown(&self) -> String {
        let of_tier = |(tier, all): &(String, Vec<String>)| {
            let shown = if all.len() > 3 { format!("{} versions", all.len()) } else { all.join(", ") };
            if tier.is_empty() { shown } else { format!("{tier} {shown}") }
        };
        self.versions.iter().map(of_tier).collect::<Vec<_>>().join(" · ")
    }
}

impl Proposal {
    /// The policy, read as the bot reads it: what is proposed reads without an error, or it is not proposed.
    ///
    /// # Errors
    /// Where it does not.
    pub fn read(&self) -> anyhow::Result<Loaded> {
        let files = [SourceFile { path: POLICY.to_string(), text: self.policy.clone() }];
        let setting = Setting { limits: OperatorLimits::default(), mode: Mode::default() };
        match policy::load_in(&files, &setting) {
            Ok(loaded) => Ok(loaded),
            Err(problems) => {
                bail!("the proposal itself is wrong, please report it:\n{}", policy::render(&problems, &files))
            }
        }
    }

    /// Why it is empty.
    pub fn nothing(&self) -> &'static str {
        match (self.notes.is_empty(), self.left_out.is_empty()) {
            (false, _) => "Nothing is proposed.",
            (true, false) => "Nothing is proposed: what stands in the way of each is above.",
            (true, true) => {
                "No file here says where a chart's version stands; docs/edit.md lists the layouts that are known."
            }
        }
    }
}
