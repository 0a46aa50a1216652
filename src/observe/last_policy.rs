//! The last policy that had no mistakes, for a process that has seen none yet: it is looked for in the history of the
//! default branch, so that whoever starts while the newest policy is broken still observes by the one before.

use decide::Sha;

use super::base::{POLICY_FILES, policy_files};
use crate::git::Access;
use crate::git::{GitError, Store};
use crate::policy::{self, Loaded, Setting, SourceFile};

/// Commits of history that one question to git brings.
const AT_ONCE: u32 = 64;
/// So far back it is looked for, along the first parents: what the branch itself has said.
pub(super) const MOST: u32 = 256;

/// The newest policy without mistakes before a commit, and the text it was read from. Of presets of other repositories
/// those count that were read already.
///
/// # Errors
/// As `Store::fetch_last`.
pub(super) fn find(
    store: &Store,
    access: &Access,
    (setting, presets): (&Setting, Vec<SourceFile>),
    newest: &Sha,
) -> Result<Option<(Vec<SourceFile>, Loaded)>, GitError> {
    let (mut at, mut broken) = (newest.clone(), policy_files(store, newest)?);
    for _ in 0..MOST {
        let Some(before) = store.parents(&at)?.into_iter().next() else { break };
        if !store.fetch_last(access, &before, AT_ONCE)? {
            break;
        }
        let files = policy_files(store, &before)?;
        if files != broken {
            let one = files.iter().filter(|file| POLICY_FILES.contains(&file.path.as_str())).count() == 1;
            let all = || [files.as_slice(), presets.as_slice()].concat();
            if one && let Ok(loaded) = policy::load_in(&all(), setting) {
                return Ok(Some((files, loaded)));
            }
            broken = files;
        }
        at = before;
    }
    Ok(None)
}
