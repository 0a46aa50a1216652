//! Signatures of charts that others made: by keys in the documented form of cosign, and without a key by Sigstore's own client
//! for JavaScript. What is signed was pushed by Helm, and lies in a Docker registry.

use std::sync::Arc;

use coldframe::observe::chart::{Found, Signers, Source, Trust};
use coldframe::policy::wiring::{Keyless, Signed};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::charts::{Shed, describe, oci, plain, registry};
use crate::peers::{Running, node, python, script};

const WORKFLOW: &str = "https://github.com/acme/charts/.github/workflows/release.yaml@refs/tags/v{version}";
const ISSUER: &str = "https://token.actions.githubusercontent.com";

/// Releases in a registry, none of them signed.
struct Pushed {
    _shed: Shed,
    running: Running,
    host: String,
    source: Box<dyn Source>,
    found: Vec<Found>,
}

impl Pushed {
    async fn new(count: usize) -> Self {
        let shed = Shed::new();
        let (running, host) = registry(&shed, "open", false).await;
        let versions: Vec<String> = (0..count).map(|minor| format!("1.{minor}.0")).collect();
        let remote = format!("oci://{host}/charts");
        let push = |version: &String| json!({"do": "push", "archive": shed.package(version, 2).0, "remote": remote});
        shed.helm(&Value::Array(versions.iter().map(push).collect()));
        let source = oci(&host, &plain(&host));
        let mut found = Vec::new();
        for version in &versions {
            found.push(describe(&*source, version).await);
        }
        Self { _shed: shed, running, host, source, found }
    }

    fn digest(&self, at: usize) -> String {
        self.found[at].digest.as_ref().unwrap().to_string()
    }

    /// A step of a script that signs one of them, with what is more to it.
    fn step(&self, at: usize, more: Value) -> Value {
        let mut step = json!({"host": self.host, "repository": "charts/seedling", "digest": self.digest(at)});
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        step
    }

    async fn says(&self, at: usize, signers: &Signers) -> Result<(), String> {
        self.source.signed(&self.found[at], signers).await.unwrap().map(drop)
    }
}

fn by_keys(keys: &str) -> Signers {
    let signed = Signed { keys: Some(keys.to_owned()), ..Signed::default() };
    Signers { signed, trust: Arc::new(Trust::pinned().unwrap()), now: Timestamp::now() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a37_signatures_by_keys_lie_beside_a_chart() {
    let pushed = Pushed::new(4).await;
    let steps = json!([
        pushed.step(0, json!({"keys": ["ours"]})),
        pushed.step(1, json!({"keys": ["theirs", "ours"]})),
        pushed.step(2, json!({"keys": ["ours"], "about": pushed.digest(0)})),
    ]);
    let keys = script(python(), "cosign.py", &steps);
    let [ours, theirs] = ["ours", "theirs"].map(|name| keys[name].as_str().unwrap().to_owned());
    let both = format!("{theirs}{ours}");
    for (at, key, said) in [
        (0, &ours, Ok(())),
        (0, &both, Ok(())),
        (0, &theirs, Err("it is signed by another key than the policy has")),
        (1, &ours, Ok(())),
        (2, &ours, Err("its signature is about another digest")),
        (3, &ours, Err("nobody has signed it")),
    ] {
        assert_eq!(pushed.says(at, &by_keys(key)).await, said.map_err(String::from), "{at}");
    }
    assert_eq!(pushed.source.versions().await.unwrap().len(), 4, "a signature is no version");
    let Pushed { running, source, found, .. } = pushed;
    drop(running);
    assert!(source.signed(&found[0], &by_keys(&ours)).await.is_err(), "what cannot be read is not known");
}

/// In the form of cosign 3 (a bundle among what refers to the chart), and in the one before.
#[tokio::test(flavor = "multi_thread")]
async fn a37_signatures_without_a_key_name_who_signed() {
    let pushed = Pushed::new(12).await;
    let identity = |at: usize| WORKFLOW.replace("{version}", &format!("1.{at}.0"));
    let signed = |at: usize, more: Value| {
        let mut given = json!({"identity": identity(at), "issuer": ISSUER});
        given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        pushed.step(at, given)
    };
    let other = "https://github.com/mallory/charts/.github/workflows/release.yaml@refs/tags/v1.4.0";
    let steps = json!([
        signed(0, json!({})),
        signed(1, json!({"form": "simple"})),
        signed(2, json!({"identity": identity(1)})),
        signed(3, json!({"issuer": "https://issuer.example"})),
        signed(4, json!({"identity": other, "form": "simple"})),
        signed(5, json!({"by": "strange"})),
        signed(6, json!({"by": "expired"})),
        signed(7, json!({"about": pushed.digest(0)})),
        signed(8, json!({"statement": "https://cosign.sigstore.dev/attestation/vuln/v1"})),
        signed(9, json!({"by": "key"})),
        signed(10, json!({"by": "key", "logged": true})),
        signed(11, json!({"by": "key", "about": pushed.digest(0)})),
    ]);
    let made = script(node(), "sigstore.mjs", &steps);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), made["root"].to_string()).unwrap();
    let trust = Arc::new(Trust::open(file.path()).unwrap());
    let keyless = Keyless { identity: WORKFLOW.to_owned(), issuer: ISSUER.to_owned() };
    let signed = Signed { keyless: Some(keyless.clone()), ..Signed::default() };
    let signers = Signers { signed, trust, now: Timestamp::now() };
    for (at, says) in [
        (0, None),
        (1, None),
        (
            2,
            Some(
                "it is signed by https://github.com/acme/charts/.github/workflows/release.yaml@refs/tags/v1.1.0, and the",
            ),
        ),
        (3, Some("its signer is known to https://issuer.example, and the policy asks for https://token")),
        (4, Some("it is signed by https://github.com/mallory/")),
        (5, Some("its signature does not hold: ")),
        (6, Some("its signature does not hold: ")),
        (7, Some("its signature does not hold: ")),
        (8, Some("what is signed is no statement of cosign")),
    ] {
        let said = pushed.says(at, &signers).await;
        println!("{at}: {said:?}");
        assert_eq!(said.is_ok(), says.is_none(), "{at}: {said:?}");
        assert!(says.is_none_or(|says| said.as_ref().is_err_and(|said| said.starts_with(says))), "{at}: {said:?}");
    }
    // Sigstore's own root knows nothing of these authorities, and a key is not theirs.
    let public = Signers { trust: Arc::new(Trust::pinned().unwrap()), ..signers.clone() };
    assert!(pushed.says(0, &public).await.is_err() && pushed.says(1, &public).await.is_err());
    // A bundle by a key, as cosign 3 makes one, is that key's and nobody's certificate.
    let key = made["key"].as_str().unwrap();
    for (at, said) in [(9, Ok(())), (10, Ok(())), (11, Err("its signature is about another digest"))] {
        assert_eq!(pushed.says(at, &by_keys(key)).await, said.map_err(String::from), "{at}");
    }
    assert!(pushed.says(9, &signers).await.is_err(), "there is no certificate");
    let either = Signed { keys: Some(key.to_owned()), ..signers.signed.clone() };
    let either = Signers { signed: either, ..signers.clone() };
    assert_eq!((pushed.says(0, &either).await, pushed.says(9, &either).await), (Ok(()), Ok(())));
    for at in [0, 1] {
        assert!(pushed.says(at, &by_keys(key)).await.is_err(), "{at} is not signed by that key");
    }
    let keys = script(python(), "cosign.py", &json!([pushed.step(8, json!({"keys": ["theirs"]}))]));
    let theirs = by_keys(keys["theirs"].as_str().unwrap());
    assert!(pushed.says(9, &theirs).await.is_err_and(|why| why.contains("another key")));
}
