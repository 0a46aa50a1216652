//! YAML that people write, read with types: where each part stands, what it may be, and what to write instead.
//! Which keys a file has stands with those who read it: `policy`, `signal`, `inventory`.

pub mod address;
pub mod branches;
pub mod forms;
pub mod nearest;
pub mod objects;
pub mod path;
pub mod problem;
pub mod read;
pub mod report;
pub mod scalar;
pub mod settings;
pub mod tree;
pub mod when;

pub use problem::{Problem, Problems, quoted, visible};

/// A file as it was read at the pinned commit, or on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path from the repository's root, or as it was given on the command line.
    pub path: String,
    /// What stands in it.
    pub text: String,
}
