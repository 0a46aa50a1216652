//! A text that must not be seen: no `Display`, and `Debug` hides it.

use std::fmt;
use std::sync::Arc;

/// A key, a token, a webhook secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps it; surrounding white space, which files and environments add, is dropped.
    pub fn new(text: &str) -> Self {
        Self(text.trim().into())
    }

    /// The text itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
