//! Keyed hashes on the bot's own commits, so that nobody else can write one that is taken for ours: those of the
//! ledger branch, and those of promotions. The key is the operator's and never in the repository. What a commit
//! without one means is decided where it is read.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::hmac;
use decide::Sha;

use crate::git::{Raw, Store};
use crate::secret::Secret;

/// The trailer that holds the hash, with the line end before it.
pub const TRAILER: &str = "\nColdframe-Seal: ";

/// What a commit is for: a hash of one kind is none of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A commit of the ledger branch.
    Ledger,
    /// The head of a pull request.
    Promotion,
}

/// The keys of one repository; none = nothing is sealed, and nothing is known to be ours.
#[derive(Clone, Default)]
pub struct Seal {
    keys: Arc<[hmac::Key]>,
    repository: u64,
}

impl Seal {
    /// Seals by the first of these secrets and knows those of the others, for as long as one is replaced by another.
    #[must_use]
    pub fn new(secrets: &[Secret]) -> Self {
        let derive = |secret: &Secret| {
            let given = hmac::Key::new(hmac::HMAC_SHA256, secret.reveal().as_bytes());
            // An App's private key signs its logins; what seals is derived from it and opens nothing else.
            hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&given, b"coldframe seal 1").as_ref())
        };
        Self { keys: secrets.iter().map(derive).collect(), repository: 0 }
    }

    /// The same for one repository: what was sealed for another one says nothing here.
    #[must_use]
    pub fn of(&self, repository: u64) -> Self {
        Self { keys: Arc::clone(&self.keys), repository }
    }

    /// Whether there is a key.
    pub fn is_there(&self) -> bool {
        !self.keys.is_empty()
    }

    /// The message with its seal as the last trailer; as it is where there is no key.
    pub fn put(&self, kind: Kind, tree: &str, parents: &[Sha], message: &str) -> String {
        let message = message.trim_end();
        match self.keys.first() {
            None => format!("{message}\n"),
            Some(key) => {
                let tag = hmac::sign(key, &self.content(kind, tree, parents, message));
                let digits: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
                format!("{message}{TRAILER}{digits}\n")
            }
        }
    }

    /// Whether one of the keys has sealed this commit.
    pub fn is_on(&self, kind: Kind, commit: &Raw) -> bool {
        let Some((message, digits)) = commit.message.rsplit_once(TRAILER) else { return false };
        let Some(tag) = bytes(digits.trim_end_matches('\n')) else { return false };
        let content = self.content(kind, &commit.tree, &commit.parents, message);
        self.keys.iter().any(|key| hmac::verify(key, &content, &tag).is_ok())
    }

    /// What is hashed: everything that makes the commit, its history through its parents, but author and time.
    fn content(&self, kind: Kind, tree: &str, parents: &[Sha], message: &str) -> Vec<u8> {
        let kind = match kind {
            Kind::Ledger => "ledger",
            Kind::Promotion => "promotion",
        };
        let mut text = format!("coldframe {kind}\nrepository {}\ntree {tree}\n", self.repository);
        for parent in parents {
            text.push_str(&format!("parent {parent}\n"));
        }
        text.push('\n');
        text.push_str(message);
        text.into_bytes()
    }

    /// The newest commit from `tip` on back, along first parents, that is sealed; none within a thousand.
    pub fn newest(&self, store: &Store, kind: Kind, tip: &Sha) -> Option<Sha> {
        let mut at = tip.clone();
        for _ in 0..1000 {
            let raw = store.raw(&at).ok()?;
            if self.is_on(kind, &raw) {
                return Some(at);
            }
            at = raw.parents.first()?.clone();
        }
        None
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").field("keys", &self.keys.len()).field("repository", &self.repository).finish()
    }
}

/// Bytes of lower-case hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let plain = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let pairs = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok());
    pairs.collect::<Option<Vec<u8>>>().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn raw(seal: &Seal, kind: Kind) -> Raw {
        let (tree, parents) = ("1".repeat(40), vec![Sha::new("2".repeat(40))]);
        let message = seal.put(kind, &tree, &parents, "a headline\n\n- a line\n\nColdframe-Writer: 1\n");
        Raw { tree, parents, message, ..Raw::default() }
    }

    fn seal(secrets: &[&str]) -> Seal {
        Seal::new(&secrets.iter().map(|secret| Secret::new(secret)).collect::<Vec<_>>()).of(7)
    }

    #[test]
    fn only_the_very_commit_is_sealed() {
        let seal = seal(&["a key"]);
        let good = raw(&seal, Kind::Ledger);
        assert!(seal.is_on(Kind::Ledger, &good));
        assert!(
            good.message.starts_with("a headline\n\n- a line\n\nColdframe-Writer: 1\nColdframe-Seal: "),
            "{}",
            good.message
        );
        let digits = good.message.rsplit_once(": ").unwrap().1.trim_end().to_string();
        let with = |message: String| Raw { message, ..good.clone() };
        for (name, other) in [
            ("another tree", Raw { tree: "3".repeat(40), ..good.clone() }),
            ("another parent", Raw { parents: vec![Sha::new("3".repeat(40))], ..good.clone() }),
            ("no parent", Raw { parents: Vec::new(), ..good.clone() }),
            ("other words", with(good.message.replace("a line", "a lie"))),
            ("words after it", with(format!("{}Fixes: this\n", good.message))),
            ("half of it", with(good.message.replace(&digits, &digits[..32]))),
            ("upper case", with(good.message.replace(&digits, &digits.to_uppercase()))),
            ("none", with("a headline\n".to_string())),
            ("an empty one", with(good.message.replace(&digits, ""))),
        ] {
            assert!(!seal.is_on(Kind::Ledger, &other), "{name}");
        }
        assert!(!seal.is_on(Kind::Promotion, &good), "of another kind");
        assert!(!seal.of(8).is_on(Kind::Ledger, &good), "of another repository");
    }

    #[test]
    fn a_key_is_replaced_by_another() {
        let (old, new, both) = (seal(&["old"]), seal(&["new"]), seal(&["new", "old"]));
        assert!(both.is_on(Kind::Ledger, &raw(&old, Kind::Ledger)));
        assert!(new.is_on(Kind::Ledger, &raw(&both, Kind::Ledger)), "the first one seals");
        assert!(!new.is_on(Kind::Ledger, &raw(&old, Kind::Ledger)));
        assert!(!seal(&[]).is_on(Kind::Ledger, &raw(&old, Kind::Ledger)));
        assert_eq!(seal(&[]).put(Kind::Ledger, "1", &[], "as it is\n"), "as it is\n");
        assert!(!seal(&[]).is_there() && both.is_there());
    }
}
