//! Texts of Helm and GnuPG (`tests/fixtures/openpgp/make.sh`), and what is not signed by whom it should be.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use super::*;

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/openpgp");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn day(text: &str) -> Timestamp {
    format!("{text}T00:00:00Z").parse().unwrap()
}

/// The digest that Helm wrote.
fn package() -> Digest {
    let text = fixture("helm.prov");
    let line = text.lines().find_map(|line| line.strip_prefix("  loki-1.0.0.tgz: ")).unwrap();
    Digest::new(line)
}

fn says(file: &str, key: &str, at: &str) -> Result<Option<Timestamp>, String> {
    let keys = openpgp::certificates(&fixture(key)).unwrap();
    verified(file, ("loki", &"1.0.0".parse().unwrap()), &package(), &keys, day(at))
}

#[test]
fn a37_a_provenance_file_is_signed_by_a_key_of_the_policy() {
    let good = |file: &str, key: &str| says(&fixture(file), key, "2026-12-01");
    assert_eq!(good("helm.prov", "rsa.asc"), Ok(Some(day("2028-01-01"))), "signed by Helm");
    assert_eq!(good("subkey.prov", "subkey.asc"), Ok(Some(day("2027-01-01"))), "by a subkey");
    assert_eq!(good("both.prov", "rsa.asc"), Ok(Some(day("2028-01-01"))), "by two");
    for (file, key, at, why) in [
        ("helm.prov", "subkey.asc", "2026-12-01", "it is signed by another key than the policy has; it names "),
        ("subkey.prov", "rsa.asc", "2026-12-01", "it is signed by another key than the policy has; it names "),
        ("helm.prov", "rsa.asc", "2028-01-02", "the key of Acme Charts <charts@acme.example> expired at 2028-01-01"),
        ("subkey.prov", "subkey.asc", "2027-01-02", "the key of Acme Edge <edge@acme.example> expired at 2027-01-01"),
        ("short.prov", "rsa.asc", "2026-07-02", "its signature expired at 2026-07-01T00:00:00Z"),
        ("sha1.prov", "rsa.asc", "2026-12-01", "its signature is made with SHA-1, which is too weak"),
        ("revoked.prov", "revoked.asc", "2026-12-01", "the key of Acme Before <before@acme.example> was revoked"),
        ("helm.prov", "rsa.asc", "2026-01-02", "its signature says that it was made at 2026-"),
    ] {
        let said = says(&fixture(file), key, at).unwrap_err();
        assert!(said.starts_with(why), "{file} with {key}: {said}");
    }
}

#[test]
fn a37_a_provenance_file_is_about_this_package_and_this_version() {
    let keys = openpgp::certificates(&fixture("rsa.asc")).unwrap();
    let about = |chart: &str, version: &str, package: &Digest| {
        let version: Version = version.parse().unwrap();
        verified(&fixture("helm.prov"), (chart, &version), package, &keys, day("2026-12-01"))
    };
    assert!(about("loki", "1.0.0", &package()).is_ok());
    let not = |name: &str| Err(format!("its provenance file is not about {name}"));
    assert_eq!(about("loki", "2.0.0", &package()), not("loki-2.0.0.tgz"), "an old one under a new number");
    assert_eq!(about("tempo", "1.0.0", &package()), not("tempo-1.0.0.tgz"));
    let other = Digest::new(format!("sha256:{}", "a".repeat(64)));
    assert_eq!(about("loki", "1.0.0", &other), Err("its provenance file is about another package".to_string()));
    let said = verified("<html>", ("loki", &"1.0.0".parse().unwrap()), &package(), &keys, day("2026-12-01"));
    assert!(said.unwrap_err().starts_with("its provenance file cannot be read: there is no `-----BEGIN PGP SIGNED"));
}

#[test]
fn a37_a_provenance_file_that_was_bent_is_refused() {
    for (file, key) in [("helm.prov", "rsa.asc"), ("subkey.prov", "subkey.asc")] {
        let text = fixture(file);
        let begins = text.find("\n\n").unwrap() + 2;
        // The last lines of armor hold a checksum, which proves nothing.
        let ends = text.find("\n=").or_else(|| text.find("\n-----END")).unwrap();
        let good = says(&text, key, "2026-12-01").unwrap();
        let mut held = Vec::new();
        for at in begins..ends {
            let mut bent = text.clone().into_bytes();
            bent[at] = if bent[at] == b'x' { b'y' } else { b'x' };
            let Ok(bent) = String::from_utf8(bent) else { continue };
            if says(&bent, key, "2026-12-01").is_ok_and(|said| said == good) {
                held.push(at);
            }
        }
        // What is not signed: the headers of the armor, and facts that nobody has to believe.
        let inside = |at: &usize| *at < text.find("-----BEGIN PGP SIGNATURE").unwrap();
        assert_eq!(held.iter().filter(|at| inside(at)).count(), 0, "{file}: {held:?}");
        assert!(held.len() < 60, "{file}: {} of {}", held.len(), ends - begins);
    }
}
