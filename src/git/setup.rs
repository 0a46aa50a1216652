//! What the git library needs once per process. The only `unsafe` of the project: the library keeps
//! its list of transports and its search paths in globals, and has no safe call to set them.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use git2::{ConfigLevel, opts, transport};

use super::error::GitError;
use super::transport::{SCHEME, open_transport};

/// Registers our transport and turns off every git configuration outside our own folder, so that
/// nobody's `.gitconfig` (`insteadOf`, `http.extraHeader`, proxies) can bend an address or see a
/// token.
pub(super) fn once() -> Result<(), GitError> {
    static DONE: OnceLock<Result<(), String>> = OnceLock::new();
    DONE.get_or_init(|| register().map_err(|error| error.message().to_string()))
        .clone()
        .map_err(|why| GitError::local("setting up the git library", why))
}

fn register() -> Result<(), git2::Error> {
    for level in [ConfigLevel::System, ConfigLevel::Global, ConfigLevel::XDG, ConfigLevel::ProgramData] {
        // SAFETY: the call must not run beside other uses of the library. `OnceLock` runs it once,
        // and every `Store` waits for it before its first use of the library.
        unsafe { opts::set_search_path(level, "") }?;
    }
    // SAFETY: as above; no transport is created before a `Store` exists.
    unsafe { transport::register(SCHEME, open_transport) }
}
