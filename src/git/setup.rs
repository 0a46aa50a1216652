//! What the git library needs once per process. The only `unsafe` of the project: the library keeps
//! its list of transports, its search paths and its limits in globals, and has no safe call to set them.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use git2::{ConfigLevel, ObjectType, opts, transport};

use super::error::GitError;
use super::transport::{SCHEME, open_transport};

/// Folders of this many bytes are kept in memory once they were read: a tier of some thousand clusters. The library's
/// own limit is that of a folder with a hundred files.
const FOLDER: usize = 256 << 10;
/// All that is kept so, of all repositories.
const KEPT: isize = 64 << 20;

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
    // SAFETY: as above; these are two numbers that the library reads.
    unsafe { opts::set_cache_object_limit(ObjectType::Tree, FOLDER) }?;
    // SAFETY: as above.
    unsafe { opts::set_cache_max_size(KEPT) }?;
    // SAFETY: as above; no transport is created before a `Store` exists.
    unsafe { transport::register(SCHEME, open_transport) }
}
