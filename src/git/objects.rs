//! New objects on their way to disk: a few as loose files, many as packs, because a file for each would cost more
//! than all the rest of a commit. What they hold is in `write`.

use std::collections::BTreeSet;
use std::io::Write as _;

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, digest};
use flate2::{Compress, Compression, FlushCompress, Status};
use git2::{ObjectType, Oid};

use super::error::GitError;
use super::store::Store;

/// From so many changed files on they are packed: two new files on disk cost less than two for each of them.
const MANY: usize = 16;
/// A pack that has grown to this is written, and another begun.
const PACK: usize = if cfg!(test) { 64 << 10 } else { 16 << 20 };
/// `PACK`, version 2, and a count that is known at the end (git's format of packs).
const HEAD: [u8; 12] = *b"PACK\0\0\0\x02\0\0\0\0";
/// So much of an object is squeezed at a time.
const PIECE: usize = if cfg!(test) { 1 << 10 } else { 64 << 10 };

/// Takes objects and puts them to disk, at the latest with `finish`.
pub(super) struct Objects<'a> {
    store: &'a Store,
    pack: Option<Pack>,
}

struct Pack {
    bytes: Vec<u8>,
    /// What is in one of the packs.
    known: BTreeSet<Oid>,
    count: u32,
    deflate: Compress,
    /// Room for what comes out of that.
    piece: Vec<u8>,
}

impl<'a> Objects<'a> {
    /// For a commit that changes so many files.
    pub(super) fn new(store: &'a Store, files: usize) -> Self {
        // The cache is read a few times and then thrown away: time counts more than room.
        let pack = || Pack {
            bytes: HEAD.to_vec(),
            known: BTreeSet::new(),
            count: 0,
            deflate: Compress::new(Compression::fast(), true),
            piece: vec![0; PIECE],
        };
        Self { store, pack: (files >= MANY).then(pack) }
    }

    /// Takes one; its id.
    pub(super) fn add(&mut self, kind: ObjectType, content: &[u8]) -> Result<Oid, GitError> {
        let Some(pack) = &mut self.pack else {
            return self.store.repo.odb().and_then(|odb| odb.write(kind, content)).map_err(unwritten);
        };
        let id = id(kind, content)?;
        if pack.known.insert(id) {
            pack.push(kind, content)?;
        }
        if pack.bytes.len() >= PACK {
            pack.write(self.store)?;
        }
        Ok(id)
    }

    /// From here on all of them can be read.
    pub(super) fn finish(self) -> Result<(), GitError> {
        match self.pack {
            Some(mut pack) if pack.count > 0 => pack.write(self.store),
            Some(_) | None => Ok(()),
        }
    }
}

impl Pack {
    fn push(&mut self, kind: ObjectType, content: &[u8]) -> Result<(), GitError> {
        head(&mut self.bytes, kind, content.len());
        self.deflate.reset();
        let mut rest = content;
        loop {
            let (taken, given) = (self.deflate.total_in(), self.deflate.total_out());
            let status = self.deflate.compress(rest, &mut self.piece, FlushCompress::Finish);
            let moved = |now: u64, before: u64| usize::try_from(now - before).unwrap_or(usize::MAX);
            rest = rest.get(moved(self.deflate.total_in(), taken)..).unwrap_or_default();
            let squeezed = self.piece.get(..moved(self.deflate.total_out(), given));
            self.bytes.extend_from_slice(squeezed.unwrap_or_default());
            match status {
                Ok(Status::StreamEnd) => break,
                Ok(Status::Ok) => {}
                Ok(Status::BufError) => return Err(GitError::local("packing a commit", "it does not come to an end")),
                Err(error) => return Err(GitError::local("packing a commit", error)),
            }
        }
        self.count += 1;
        Ok(())
    }

    /// Hands the pack to the library, which reads all of it again and writes its index.
    fn write(&mut self, store: &Store) -> Result<(), GitError> {
        if let Some(count) = self.bytes.get_mut(8..12) {
            count.copy_from_slice(&self.count.to_be_bytes());
        }
        let sum = digest(&SHA1_FOR_LEGACY_USE_ONLY, &self.bytes);
        let odb = store.repo.odb().map_err(unwritten)?;
        let mut writer = odb.packwriter().map_err(unwritten)?;
        for piece in [self.bytes.as_slice(), sum.as_ref()] {
            writer.write_all(piece).map_err(|_| unwritten(git2::Error::last_error(-1)))?;
        }
        writer.commit().map_err(unwritten)?;
        self.bytes.truncate(HEAD.len());
        self.count = 0;
        Ok(())
    }
}

/// The id of an object: the SHA-1 of its kind, its length and its bytes. The library computes it again from the pack,
/// and has nothing under this id where it differs.
fn id(kind: ObjectType, content: &[u8]) -> Result<Oid, GitError> {
    let mut sum = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    sum.update(format!("{kind} {}\0", content.len()).as_bytes());
    sum.update(content);
    Oid::from_bytes(sum.finish().as_ref()).map_err(unwritten)
}

/// Kind and size before an object in a pack: three bits of kind, then the size from its low end, four bits and then
/// seven in each byte, all but the last of which have their top bit set.
fn head(bytes: &mut Vec<u8>, kind: ObjectType, size: usize) {
    let kind = match kind {
        ObjectType::Commit => 1,
        ObjectType::Tree => 2,
        ObjectType::Blob | ObjectType::Any => 3,
        ObjectType::Tag => 4,
    };
    let mut byte = (kind << 4) | (size & 0xf) as u8;
    let mut rest = size >> 4;
    while rest > 0 {
        bytes.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    bytes.push(byte);
}

pub(super) fn unwritten(error: git2::Error) -> GitError {
    GitError::local("writing a commit", error.message())
}
