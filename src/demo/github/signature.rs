//! Who signs commits, and whose a commit is: the two forms of mail addresses that the hub knows, and the hub's own
//! key. What a commit holds is in `git`.

use std::sync::LazyLock;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::git::{Git, Signature};
use super::state::World;

/// The key of the hub: it signs what it commits itself, and knows no other.
static KEY: LazyLock<Option<Ed25519KeyPair>> = LazyLock::new(|| Ed25519KeyPair::generate().ok());
const BEGIN: &str = "-----BEGIN PGP SIGNATURE-----\n\n";
const END: &str = "\n-----END PGP SIGNATURE-----\n";

/// The hub's own account, under which it commits what people do in the browser.
pub const WEB_FLOW: &str = "web-flow";

/// Who commits what people do in the browser.
pub fn hub_signature() -> Signature {
    Signature { name: "GitHub".to_owned(), email: "noreply@localhost".to_owned() }
}

impl World {
    /// The name and mail address that an account's commits carry.
    pub fn signature(&self, login: &str) -> Signature {
        let id = self.account(login).map_or(0, |account| account.id);
        Signature { name: login.to_owned(), email: format!("{id}+{login}@users.noreply.localhost") }
    }
}

/// The account behind a commit's mail address, by the hub's noreply form.
pub fn login_of(world: &World, email: &str) -> Option<String> {
    if *email == *hub_signature().email {
        return Some(WEB_FLOW.to_owned());
    }
    let (local, _) = email.split_once("@users.noreply.")?;
    let login = local.split_once('+').map_or(local, |(_, login)| login);
    world.account(login).map(|account| account.login.clone())
}

/// What the hub says of the signature of a commit.
pub struct Verification {
    /// Whether it is one that it knows.
    pub verified: bool,
    /// `valid`, `unsigned`, `unknown_key`.
    pub reason: &'static str,
    /// The signature.
    pub signature: Option<String>,
    /// What was signed.
    pub payload: Option<String>,
}

/// A commit like this one with the hub's signature; gives its id.
pub fn sign(git: &Git, sha: &str) -> anyhow::Result<String> {
    let (payload, key) = (git.raw_commit(sha)?, KEY.as_ref());
    let key = key.ok_or_else(|| anyhow::anyhow!("the hub has no key"))?;
    let armored = format!("{BEGIN}{}{END}", STANDARD.encode(key.sign(payload.as_bytes())));
    let (header, message) =
        payload.split_once("\n\n").ok_or_else(|| anyhow::anyhow!("{sha} is no commit with a message"))?;
    // As the hub writes it: the line end of the signature leaves a last line with nothing but a space.
    git.write_commit(&format!("{header}\ngpgsig {}\n\n{message}", armored.replace('\n', "\n ")))
}

/// Whether the hub knows who signed a commit.
pub fn verification(git: &Git, sha: &str) -> anyhow::Result<Verification> {
    let raw = git.raw_commit(sha)?;
    let unsigned = Verification { verified: false, reason: "unsigned", signature: None, payload: None };
    let Some((header, message)) = raw.split_once("\n\n") else { return Ok(unsigned) };
    let Some((before, signed)) = header.split_once("\ngpgsig ") else { return Ok(unsigned) };
    let signature = signed.replace("\n ", "\n");
    let payload = format!("{before}\n\n{message}");
    let bytes = signature.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
    let bytes = bytes.and_then(|text| STANDARD.decode(text).ok());
    let ours = KEY.as_ref().zip(bytes).is_some_and(|(key, bytes)| {
        UnparsedPublicKey::new(&ED25519, key.public_key()).verify(payload.as_bytes(), &bytes).is_ok()
    });
    let reason = if ours { "valid" } else { "unknown_key" };
    Ok(Verification { verified: ours, reason, signature: Some(signature), payload: Some(payload) })
}

/// Whether the hub knows who signed every commit of `head` that `base` does not have.
pub fn all_verified(git: &Git, base: &str, head: &str) -> bool {
    let verified = |commit: &super::git::Commit| verification(git, &commit.sha).is_ok_and(|found| found.verified);
    git.log(&[&format!("{base}..{head}")]).is_ok_and(|commits| commits.iter().all(verified))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_what_the_hub_signed_is_verified() {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::create(&folder.path().join("r.git"), "main", "#!/bin/sh\n").unwrap();
        let tree = git.write_tree(None, &[("a", Some(b"a\n"))]).unwrap();
        let who = Signature { name: "A".into(), email: "a@example.com".into() };
        let now = "2026-11-27T04:00:00Z".parse().unwrap();
        let plain = git.commit_tree(&tree, &[], &who, &who, now, "A change\n\nWhy.").unwrap();
        let signed = sign(&git, &plain).unwrap();
        let found = verification(&git, &signed).unwrap();
        assert!(found.verified && found.reason == "valid");
        assert_eq!(found.payload.unwrap(), git.raw_commit(&plain).unwrap());
        assert_eq!(git.commit(&signed).unwrap().message, "A change\n\nWhy.");
        assert_eq!(verification(&git, &plain).unwrap().reason, "unsigned");
        // The signature of one commit on another one.
        let forged = git.raw_commit(&signed).unwrap().replace("A change", "Another change");
        let forged = git.write_commit(&forged).unwrap();
        assert_eq!(verification(&git, &forged).unwrap().reason, "unknown_key");
        let tip = git.commit_tree(&tree, &[&signed], &who, &who, now, "More").unwrap();
        assert!(!all_verified(&git, &signed, &tip) && all_verified(&git, &signed, &signed));
    }
}
