//! The content of a file as the hub sends it. Which file is asked for is not known here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::HubError;
use super::pulls::malformed;

/// A file of more bytes is not read.
const MOST_BYTES: usize = 1024 * 1024;

/// A blob, or a file at a path.
#[derive(Deserialize)]
pub(super) struct WireFile {
    size: usize,
    content: String,
    encoding: String,
}

impl WireFile {
    /// Its text; what is not UTF-8 is replaced.
    pub(super) fn text(self, what: &str) -> Result<String, HubError> {
        if self.size > MOST_BYTES {
            let why = format!("it has {} bytes; {MOST_BYTES} are the most that is read", self.size);
            return Err(HubError::TooMuch { what: what.to_owned(), why });
        }
        if self.encoding != "base64" {
            return Err(malformed(what, "its content is not base64"));
        }
        let plain: String = self.content.split_ascii_whitespace().collect();
        let bytes = STANDARD.decode(plain).map_err(|error| malformed(what, &error.to_string()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
