//! A folder as git writes it down. What is put there is in `write`.

use std::cmp::Ordering;

use git2::Oid;

/// The mode of a folder.
pub(super) const FOLDER: i32 = 0o040_000;

/// One entry of a tree object.
pub(super) struct Entry<'a> {
    /// One of the modes that git writes.
    pub mode: i32,
    /// The name, of any bytes but `/` and NUL.
    pub name: &'a [u8],
    /// What stands there.
    pub id: Oid,
}

impl Entry<'_> {
    /// git's order: a folder stands where its name with a `/` behind it would.
    fn order(&self, other: &Self) -> Ordering {
        let end = |entry: &Self| (entry.mode == FOLDER).then_some(b'/');
        self.name.iter().copied().chain(end(self)).cmp(other.name.iter().copied().chain(end(other)))
    }
}

/// The tree object of these entries.
pub(super) fn tree(mut entries: Vec<Entry<'_>>) -> Vec<u8> {
    entries.sort_by(Entry::order);
    let mut bytes = Vec::with_capacity(entries.iter().map(|entry| entry.name.len() + 28).sum());
    for Entry { mode, name, id } in entries {
        bytes.extend_from_slice(format!("{mode:o} ").as_bytes());
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(id.as_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn entries_are_in_the_order_of_git() {
        let id = Oid::from_str(&"61".repeat(20)).unwrap();
        let entry = |mode, name: &'static str| Entry { mode, name: name.as_bytes(), id };
        let bytes =
            tree(vec![entry(0o100_644, "a0"), entry(FOLDER, "a"), entry(0o100_644, "a.b"), entry(0o100_755, "a-")]);
        let id = "a".repeat(20);
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            format!("100755 a-\0{id}100644 a.b\0{id}40000 a\0{id}100644 a0\0{id}")
        );
        assert_eq!(tree(Vec::new()), b"");
    }
}
