//! Presets of other repositories that a policy extends, read at the commits that it names. What they may say is in
//! `policy`.

use std::collections::BTreeMap;

use crate::hub::RepoHub;
use crate::policy::{PinnedPreset, SourceFile, pinned_presets};

/// So many one policy may extend.
const MOST: usize = 10;
/// So many are kept.
const KEPT: usize = 50;

/// Those that were read before: at a commit none ever changes.
pub type Known = BTreeMap<PinnedPreset, SourceFile>;

/// The policy files, the main one first, with the presets of other repositories that it extends.
///
/// # Errors
/// One could not be read; in words for people.
pub async fn with_presets(
    hub: &RepoHub,
    known: &mut Known,
    mut files: Vec<SourceFile>,
) -> Result<Vec<SourceFile>, String> {
    let Some(main) = files.first() else { return Ok(files) };
    let (path, named) = (main.path.clone(), pinned_presets(&main.text));
    if named.len() > MOST {
        return Err(format!("{path}: `extends` names {} presets of other repositories; {MOST} at most", named.len()));
    }
    if known.len() > KEPT {
        known.clear();
    }
    for preset in named {
        let file = match known.get(&preset) {
            Some(file) => file.clone(),
            None => {
                let PinnedPreset { repository, path: of, commit } = &preset;
                let read = hub.pinned_file(repository, of, commit).await;
                let text = read.map_err(|error| format!("{path}: the preset `{preset}` could not be read: {error}"))?;
                let file = SourceFile { path: preset.to_string(), text };
                known.insert(preset, file.clone());
                file
            }
        };
        if files.iter().all(|other| other.path != file.path) {
            files.push(file);
        }
    }
    Ok(files)
}
