//! Why the lock of a chart cannot move with it, seen before anything is proposed. How it moves is in `act/promote`.

use decide::Sha;

use crate::act::edit::chart_lock;
use crate::act::lock::{self, Beside};
use crate::git::{GitError, Store};
use crate::policy::wiring::Scalar;

/// What is in the way; none where the file is no chart, or has no lock, or one that goes with it.
pub(super) fn trouble(
    store: &Store,
    commit: &Sha,
    (file, text): (&str, &str),
    place: &Scalar,
) -> Result<Option<String>, GitError> {
    let Some(folder) = lock::folder(file) else { return Ok(None) };
    let Some(dependency) = chart_lock::dependency_at(text, place) else { return Ok(None) };
    let beside = match Beside::read(store, commit, folder)? {
        Ok(beside) => beside,
        Err(why) => return Ok(Some(why)),
    };
    let refusal = beside.keeps(dependency.archives).or_else(|| {
        let lock = beside.text.as_deref()?;
        chart_lock::belongs(text, lock, dependency.index).err()
    });
    Ok(refusal.map(|refusal| refusal.to_string()))
}
