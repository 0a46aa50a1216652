//! Why the lock of a chart cannot move with it, seen before anything is proposed. How it moves is in `act/promote`.

use decide::Sha;

use crate::act::edit::{Refusal, chart_lock};
use crate::git::{GitError, Store};
use crate::policy::wiring::Scalar;

/// What is in the way; none where the file is no chart, or has no lock, or one that goes with it.
pub(super) fn trouble(
    store: &Store,
    commit: &Sha,
    (file, text): (&str, &str),
    place: &Scalar,
) -> Result<Option<String>, GitError> {
    let folder = file.strip_suffix("Chart.yaml").filter(|folder| folder.is_empty() || folder.ends_with('/'));
    let Some(folder) = folder else { return Ok(None) };
    let Some(dependency) = chart_lock::dependency_at(text, place) else { return Ok(None) };
    let malformed = |error: GitError| {
        if matches!(error, GitError::Malformed { .. }) { Ok(Some(error.to_string())) } else { Err(error) }
    };
    let below = match store.list(commit, &format!("{folder}charts")) {
        Ok(below) => below,
        Err(error) => return malformed(error),
    };
    let lies = |archive: &String| {
        let path = format!("{folder}{archive}");
        below.iter().any(|file| *file == path || file.starts_with(&format!("{path}/")))
    };
    if let Some(archive) = dependency.archives.into_iter().find(lies) {
        return Ok(Some(Refusal::Vendored { archive }.to_string()));
    }
    let lock = match store.read(commit, &format!("{folder}Chart.lock")) {
        Ok(Some(lock)) => lock,
        Ok(None) => return Ok(None),
        Err(error) => return malformed(error),
    };
    let Ok(lock) = String::from_utf8(lock) else { return Ok(Some("its Chart.lock is not UTF-8".to_string())) };
    Ok(chart_lock::belongs(text, &lock, dependency.index).err().map(|refusal| refusal.to_string()))
}
