//! What this process asks of the operating system for itself: its memory on no disk and for no debugger, and all
//! the descriptors that it may have. What listens is in `wake`.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most descriptors that are asked for.
const MOST: u64 = 1 << 16;

/// Keeps the keys in memory where they are, and takes the descriptors that there are. What the system refuses stays
/// as it was.
pub fn settle() {
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(MOST).min(MOST);
    if limit.current.is_some_and(|current| current < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit });
    }
}

/// How many descriptors this process may have.
#[must_use]
pub fn descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(MOST).min(MOST);
    usize::try_from(limit).unwrap_or(usize::MAX)
}
