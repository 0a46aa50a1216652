//! What every file format can do, and how much of a file is read at most. The formats have a file each.

use super::document::{Parsed, Style};
use super::refusal::Refusal;

/// The largest file that is read or edited, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;
/// How deep mappings and lists may nest.
pub const MAX_DEPTH: usize = 64;

/// A file format whose scalars can be replaced in place. Adding one is a file that implements this.
pub trait Format {
    /// Reads the text into documents, each with the place of every value, and into the tokens by
    /// which an edit is proved.
    ///
    /// # Errors
    /// Where the text is not of this format. What is wrong with one document only is kept in
    /// [`Document::problem`].
    fn parse(&self, text: &str) -> Result<Parsed, Refusal>;

    /// How `to` is written where a scalar of this style stood.
    ///
    /// # Errors
    /// Where it cannot be written on one line.
    fn spell(&self, to: &str, style: Style) -> Result<String, Refusal>;
}
