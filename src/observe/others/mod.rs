//! What pull requests of others change of the bot's matters. What they propose in place of the policy is in `proposal`,
//! which versions they change in `moved`; of what such a policy names nothing is asked.

mod moved;
mod proposal;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use decide::Sha;
use decide::snapshot::Read;
use jiff::{SignedDuration, Timestamp};

use super::Seen;
use super::base::{self, POLICY_FILES, POLICY_FOLDER};
use crate::hub::{ChangedFile, OtherPull, RepoHub};
use crate::observe::context::Context;
use crate::policy::wiring::Inventory;
use crate::tell::MovedVersion;
pub use moved::moved;
pub use proposal::{Proposal, Proposed, proposal};

/// So many pull requests are asked about in one look; the next look asks about the next ones.
const NEW: usize = 20;
/// So many files of one pull request are read.
const MOST_READ: usize = 60;
/// So many bytes of them all together.
const MOST_BYTES: usize = 4 << 20;
/// After so long what could not be read is asked for again.
const AGAIN: SignedDuration = SignedDuration::from_mins(5);

/// What was found out already. Losing it costs calls, never correctness.
#[derive(Default)]
pub struct Known {
    /// What mattered among the files, by head and base branch.
    files: BTreeMap<(Sha, String), Touched>,
    /// By head and the commits of the base branches.
    proposals: BTreeMap<(Sha, Vec<Sha>), Found<Arc<Proposal>>>,
    /// The same, and by the branch that it goes to.
    moved: BTreeMap<(Sha, String, Vec<Sha>), Found<Vec<MovedVersion>>>,
    /// How many were asked about in the look that began then.
    new: Option<(Timestamp, usize)>,
}

/// The files that matter, and a mark of what mattered then.
type Touched = (u64, Found<Vec<ChangedFile>>);

/// What was found out at a time, or why it was not.
struct Found<T> {
    at: Timestamp,
    said: Result<T, String>,
}

impl<T: Clone> Found<T> {
    /// What holds of it: what could not be read is asked for again after a while.
    fn held(&self, now: Timestamp) -> Option<Read<T>> {
        (self.said.is_ok() || self.at + AGAIN > now).then(|| self.read())
    }

    fn read(&self) -> Read<T> {
        match &self.said {
            Ok(found) => Read::Known(found.clone()),
            Err(why) => Read::Unread(why.clone()),
        }
    }
}

/// Forgets what is about no open pull request any more.
pub fn keep(known: &mut Known, open: &[OtherPull]) {
    let heads: BTreeSet<&Sha> = open.iter().map(|pull| &pull.head).collect();
    known.files.retain(|(head, _), _| heads.contains(head));
    known.proposals.retain(|(head, _), _| heads.contains(head));
    known.moved.retain(|(head, _, _), _| heads.contains(head));
}

/// The commits of the base branches that a look is about.
fn commits(seen: &Seen) -> Vec<Sha> {
    seen.lines.values().filter_map(|line| Some(line.known()?.commit.clone())).collect()
}

/// The files that matter among those that a pull request changes: of the policy, the inventory, and such as hold
/// versions.
pub async fn touched(
    known: &mut Known,
    context: &Context,
    matters: &Matters<'_>,
    pull: &OtherPull,
    now: Timestamp,
) -> Read<Vec<ChangedFile>> {
    let Some(matter) = matters.0.get(pull.base.as_str()) else {
        return Read::Unread("its base branch was not read".to_string());
    };
    let key = (pull.head.clone(), pull.base.clone());
    let same = known.files.get(&key).filter(|(then, _)| *then == matter.hash);
    if let Some(held) = same.and_then(|(_, found)| found.held(now)) {
        return held;
    }
    let taken = known.new.filter(|(look, _)| *look == now).map_or(0, |(_, taken)| taken);
    if taken >= NEW {
        return Read::Unread("the next look asks about it".to_string());
    }
    known.new = Some((now, taken + 1));
    let files = context.repo.hub.leisurely().changed_files(pull.number, &pull.head).await;
    let said = files.map_err(|error| error.to_string()).map(|mut files| {
        files.retain(|file| matter.holds_versions(file) || paths(file).any(|path| matter.proposes(path)));
        files
    });
    let found = Found { at: now, said };
    let read = found.read();
    known.files.insert(key, (matter.hash, found));
    read
}

/// Whether one of these files is of the policy or the inventory, which are those of the default branch.
pub fn proposes(matters: &Matters<'_>, pull: &OtherPull, files: &[ChangedFile]) -> bool {
    let matter = matters.0.get(pull.base.as_str());
    matter.is_some_and(|matter| files.iter().any(|file| paths(file).any(|path| matter.proposes(path))))
}

/// What matters of each base branch.
pub struct Matters<'a>(BTreeMap<&'a str, Matter<'a>>);

impl<'a> Matters<'a> {
    /// Of the branches to which pull requests go.
    pub fn of(context: &Context, seen: &'a Seen) -> Self {
        let default = &context.repo.repository.default_branch;
        let bases: BTreeSet<&str> = seen.others.iter().map(|pull| pull.base.as_str()).collect();
        Self(bases.into_iter().map(|base| (base, Matter::of(seen, default, base))).collect())
    }
}

/// What matters of a base branch.
struct Matter<'a> {
    /// It is the default branch.
    default: bool,
    inventory: Option<&'a str>,
    /// What holds versions.
    files: BTreeSet<&'a str>,
    /// A mark of all that.
    hash: u64,
}

impl<'a> Matter<'a> {
    fn of(seen: &'a Seen, default: &str, base: &str) -> Self {
        let on_base = seen.spots.iter().filter(|((_, tier), _)| base::branch_of(&seen.loaded, tier, default) == base);
        let inventory = match &seen.loaded.wiring.inventory {
            Inventory::File { path } => Some(path.as_str()),
            Inventory::Listed(_) => None,
        };
        let files: BTreeSet<&str> = on_base.flat_map(|(_, spots)| spots).map(|spot| spot.file.as_str()).collect();
        let (default, mut hasher) = (default == base, DefaultHasher::new());
        (default, inventory, &files).hash(&mut hasher);
        Self { default, inventory, files, hash: hasher.finish() }
    }

    fn proposes(&self, path: &str) -> bool {
        self.default && (is_policy(path) || self.inventory == Some(path))
    }

    /// Whether versions stand in it, or stood there.
    fn holds_versions(&self, file: &ChangedFile) -> bool {
        paths(file).any(|path| self.files.contains(path))
    }
}

/// Where a file is, and where it was.
fn paths(file: &ChangedFile) -> impl Iterator<Item = &str> {
    std::iter::once(file.path.as_str()).chain(file.before.as_deref())
}

fn is_policy(path: &str) -> bool {
    let below = path.strip_prefix(POLICY_FOLDER).is_some_and(|rest| rest.starts_with('/'));
    POLICY_FILES.contains(&path) || (below && path.ends_with(".yaml"))
}

/// The texts of these files after the change; of one that is taken away or moved there is none any more.
async fn texts(hub: &RepoHub, files: &[ChangedFile]) -> Result<BTreeMap<String, Option<String>>, String> {
    if files.len() > MOST_READ {
        return Err(format!("it changes {} files that matter; {MOST_READ} are the most that are read", files.len()));
    }
    let mut texts = BTreeMap::new();
    texts.extend(files.iter().filter_map(|file| file.before.clone()).map(|path| (path, None)));
    for file in files {
        let text = match &file.blob {
            Some(blob) => {
                let text = hub.leisurely().text_of(blob).await;
                Some(text.map_err(|error| format!("{}: {error}", file.path))?)
            }
            None => None,
        };
        texts.insert(file.path.clone(), text);
        if texts.values().flatten().map(String::len).sum::<usize>() > MOST_BYTES {
            return Err(format!("the files that matter have more than {MOST_BYTES} bytes"));
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_files_are_known_by_their_paths() {
        for (path, expected) in [
            ("coldframe.yaml", true),
            (".github/coldframe.yaml", true),
            ("coldframe.d/team.yaml", true),
            ("coldframe.d/README.md", false),
            ("coldframe.dx/a.yaml", false),
            ("docs/coldframe.yaml", false),
        ] {
            assert_eq!(is_policy(path), expected, "{path}");
        }
    }
}
