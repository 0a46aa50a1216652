//! What lies beside a chart in a commit, its lock and the dependencies that are kept with it, and why the lock cannot
//! move with the chart, seen before anything is proposed. How it moves is in `edit/chart_lock`.

use decide::Sha;

use crate::edit::{Refusal, chart_lock};
use crate::git::{GitError, Store};
use crate::policy::wiring::Scalar;

/// What is in the way; none where the file is no chart, or has no lock, or one that goes with it.
pub(super) fn trouble(
    store: &Store,
    commit: &Sha,
    (file, text): (&str, &str),
    place: &Scalar,
) -> Result<Option<String>, GitError> {
    let Some(folder) = folder(file) else { return Ok(None) };
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

/// The folder of a chart, with the slash after it, by the path of its `Chart.yaml`; none of any other file.
pub fn folder(file: &str) -> Option<&str> {
    file.strip_suffix("Chart.yaml").filter(|folder| folder.is_empty() || folder.ends_with('/'))
}

/// The lock of a chart and what is vendored below it.
pub struct Beside {
    /// The lock's path from the repository's root.
    pub path: String,
    /// Its text; none where the chart has none.
    pub text: Option<String>,
    folder: String,
    vendored: Vec<String>,
}

impl Beside {
    /// Reads what lies beside a chart in a folder. The inner error is what cannot be read, with its path.
    ///
    /// # Errors
    /// When the commit is not on disk, or its objects are broken.
    pub fn read(store: &Store, commit: &Sha, folder: &str) -> Result<Result<Self, String>, GitError> {
        let path = format!("{folder}Chart.lock");
        let read =
            store.read(commit, &path).and_then(|text| Ok((text, store.list(commit, &format!("{folder}charts"))?)));
        let (text, vendored) = match read {
            Ok(read) => read,
            Err(error @ GitError::Malformed { .. }) => return Ok(Err(error.to_string())),
            Err(error) => return Err(error),
        };
        Ok(match text.map(String::from_utf8).transpose() {
            Ok(text) => Ok(Self { path, text, folder: folder.to_string(), vendored }),
            Err(_) => Err(format!("{path}: the file is not UTF-8")),
        })
    }

    /// Why a dependency cannot move: one of these archives, or a folder of that name, is kept with the chart.
    pub fn keeps(&self, archives: impl IntoIterator<Item = String>) -> Option<Refusal> {
        let is_there = |archive: &String| {
            let below = format!("{}{archive}", self.folder);
            self.vendored.iter().any(|path| *path == below || path.starts_with(&format!("{below}/")))
        };
        archives.into_iter().find(is_there).map(|archive| Refusal::Vendored { archive })
    }
}
