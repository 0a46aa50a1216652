//! The edited files of a proposal: every place set to the version, one scalar each, and with a chart its lock. What
//! becomes of them is in `promote`.

use std::collections::BTreeMap;

use decide::Sha;

use crate::edit::{self, chart_lock};
use crate::git::{FileChange, GitError, Store};
use crate::observe::Spot;
use crate::observe::lock::{self, Beside};

/// Each file that these spots are in, as it is on the base branch but for the version. The inner error is a refusal
/// that names the place.
///
/// # Errors
/// When the base commit is not on disk, or its objects are broken.
pub fn edited(
    store: &Store,
    base: &Sha,
    spots: &[Spot],
    to: &str,
) -> Result<Result<Vec<FileChange>, String>, GitError> {
    let mut of_file: BTreeMap<&str, Vec<&Spot>> = BTreeMap::new();
    for spot in spots {
        of_file.entry(&spot.file).or_default().push(spot);
    }
    let found = store.files(base, of_file.keys().copied())?;
    let (mut files, mut locks) = (BTreeMap::new(), Vec::new());
    for ((file, spots), found) in of_file.into_iter().zip(found) {
        let content = match found.and_then(|found| found.map(|found| store.content(found, file)).transpose()) {
            Ok(Some(content)) => content,
            Ok(None) => return Ok(Err(format!("{file}: the file does not exist on the base branch"))),
            Err(error @ GitError::Malformed { .. }) => return Ok(Err(error.to_string())),
            Err(error) => return Err(error),
        };
        let Ok(before) = String::from_utf8(content) else {
            return Ok(Err(format!("{file}: the file is not UTF-8")));
        };
        let after = match set(file, &before, &spots, to) {
            Ok(after) => after,
            Err(why) => return Ok(Err(format!("{file}: {why}"))),
        };
        match relocked(store, base, (file, &before, &after), to)? {
            Ok(lock) => locks.extend(lock),
            Err(why) => return Ok(Err(why)),
        }
        files.insert(file.to_string(), Some(after.into_bytes()));
    }
    files.extend(locks);
    Ok(Ok(files.into_iter().collect()))
}

/// A file's text with all of its spots set.
fn set(file: &str, before: &str, spots: &[&Spot], to: &str) -> Result<String, String> {
    let mut text = None;
    for spot in spots {
        let scalar = spot.scalar.as_ref().ok_or("the place of the version was not found")?;
        let (document, spelled) = (scalar.document.as_ref(), scalar.spell(to));
        let now = text.as_deref().unwrap_or(before);
        let edited = edit::set(spot.write.format(), now, document, &scalar.path, &spelled);
        text = Some(edited.map_err(|refusal| refusal.to_string())?);
    }
    text.ok_or_else(|| format!("no place in {file} was named"))
}

/// The lock of a chart whose dependency has moved. The inner error says why it cannot move with it.
fn relocked(
    store: &Store,
    base: &Sha,
    (file, before, after): (&str, &str, &str),
    to: &str,
) -> Result<Result<Option<FileChange>, String>, GitError> {
    let Some(folder) = lock::folder(file) else { return Ok(Ok(None)) };
    let moved = chart_lock::moved(before, after);
    if moved.is_empty() {
        return Ok(Ok(None));
    }
    let beside = match Beside::read(store, base, folder)? {
        Ok(beside) => beside,
        Err(why) => return Ok(Err(why)),
    };
    if let Some(refusal) = beside.keeps(moved.into_iter().flat_map(|one| one.archives)) {
        return Ok(Err(format!("{file}: {refusal}")));
    }
    let Some(text) = beside.text else { return Ok(Ok(None)) };
    Ok(match chart_lock::relock(before, after, &text, to) {
        Ok(moved) => Ok(Some((beside.path, Some(moved.into_bytes())))),
        Err(refusal) => Err(format!("{}: {refusal}", beside.path)),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use std::fs;

    use decide::snapshot::Read;

    use super::*;
    use crate::git::testing::{Server, store};
    use crate::policy::wiring::{Scalar, Write};

    fn spot(file: &str, path: &str) -> Spot {
        let scalar = Some(Scalar { document: None, path: path.to_string(), value: None });
        let write = Write { file: file.to_string(), format: None, scalar: scalar.clone(), template: None };
        let version = Read::Known("1.14.7".parse().unwrap());
        Spot {
            file: file.to_string(),
            write,
            scalar,
            at: None,
            kind: None,
            cluster: None,
            version,
            range: None,
            vacant: false,
        }
    }

    #[test]
    fn every_place_is_set_or_none() {
        let server = Server::start();
        server.commit_with("main", |work| {
            fs::write(work.join("two.yaml"), "a: 1.14.7 # x\r\nb: '1.14.7'\r\nc: 1.14.7").unwrap();
            fs::write(work.join("one.yaml"), "a: 1.14.7\n").unwrap();
            fs::write(work.join("bytes.yaml"), [0xff]).unwrap();
            std::os::unix::fs::symlink("one.yaml", work.join("link.yaml")).unwrap();
        });
        let (_folder, store) = store();
        let base = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
        let made = |spots: &[Spot]| edited(&store, &base, spots, "1.15.0").unwrap();
        let files = made(&[spot("two.yaml", "$.a"), spot("one.yaml", "$.a"), spot("two.yaml", "$.b")]).unwrap();
        let text = |text: &str| Some(text.as_bytes().to_vec());
        let wanted = [
            ("one.yaml".to_string(), text("a: 1.15.0\n")),
            ("two.yaml".to_string(), text("a: 1.15.0 # x\r\nb: '1.15.0'\r\nc: 1.14.7")),
        ];
        assert_eq!(files, wanted);
        for (file, path, why) in [
            ("none.yaml", "$.a", "none.yaml: the file does not exist on the base branch"),
            ("bytes.yaml", "$.a", "bytes.yaml: the file is not UTF-8"),
            ("link.yaml", "$.a", "link.yaml: is a symlink, which is not followed; name the file itself"),
            ("two.yaml", "$.d", "two.yaml: `$.d` names nothing"),
        ] {
            let refused = made(&[spot("one.yaml", "$.a"), spot(file, path)]).unwrap_err();
            assert!(refused.starts_with(why), "{refused}");
        }
        let unknown = Spot { scalar: None, ..spot("one.yaml", "$.a") };
        assert_eq!(made(&[unknown]).unwrap_err(), "one.yaml: the place of the version was not found");
        assert!(edited(&store, &Sha::new("1".repeat(40)), &[spot("one.yaml", "$.a")], "1.15.0").is_err());
    }
}
