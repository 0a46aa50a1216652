//! Keys and texts of GnuPG and Helm (`tests/fixtures/openpgp/make.sh`), and what is wrong with others. Whether signatures
//! hold is asked in `observe/chart/provenance`; here every one does, so that all else has to stand on its own.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use super::*;

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/openpgp");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn day(text: &str) -> Timestamp {
    format!("{text}T00:00:00Z").parse().unwrap()
}

fn believed(text: &str, key: &str, at: &str) -> Result<Good, Refusal> {
    signed_text(text, &certificates(&fixture(key)).unwrap(), |_| true, day(at))
}

#[test]
fn keys_are_read_with_whose_they_are() {
    let of = |name: &str| certificates(&fixture(name)).map(|keys| keys.into_iter().map(|key| key.owner).collect());
    let owner = |text: &str| Ok(vec![text.to_string()]);
    assert_eq!(of("rsa.asc"), owner("Acme Charts <charts@acme.example>"));
    assert_eq!(of("subkey.asc"), owner("Acme Edge <edge@acme.example>"));
    let both = format!("{}\nand\n{}", fixture("rsa.asc"), fixture("subkey.asc"));
    assert_eq!(certificates(&both).unwrap().len(), 2);
    assert_eq!(certificates(&both.replace('\n', "\r\n")).unwrap().len(), 2);
    for (name, why) in [
        ("nistp256.asc", "it is neither RSA of 2,048 to 8,192 bits nor Ed25519"),
        ("rsa1024.asc", "it is neither RSA of 2,048 to 8,192 bits nor Ed25519"),
        ("sha1.asc", "what its owner says of it is missing, or signed with a hash that is too weak"),
    ] {
        assert_eq!(of(name), Err::<Vec<String>, _>(Refusal::Unusable(why)), "{name}");
    }
}

#[test]
fn what_is_no_key_is_refused() {
    let key = fixture("rsa.asc");
    let (begin, end) = ("-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----");
    for (text, why) in [
        (String::new(), Refusal::NoBlock("PUBLIC KEY BLOCK")),
        (key.replace(end, ""), Refusal::NoBlock("PUBLIC KEY BLOCK")),
        (key.replace("PUBLIC", "PRIVATE"), Refusal::Private),
        (format!("{begin}\n\n{end}"), Refusal::Broken("there is no key in it")),
        (format!("{begin}\n{end}"), Refusal::Broken("no empty line before its base64")),
        (format!("{begin}\n\n*\n{end}"), Refusal::Broken("what should be base64 is not")),
        (format!("{begin}\n\nAAAA\n{end}"), Refusal::Broken("a packet does not begin as one")),
        (format!("{begin}\n\nuA==\n{end}"), Refusal::Broken("it ends too early")),
        (format!("{begin}\n\nwgA=\n{end}"), Refusal::Broken("it does not begin with a key")),
        (format!("{begin}\n\nxgEE\n{end}"), Refusal::Broken("it ends too early")),
        (format!("{begin}\n\nxgEF\n{end}"), Refusal::Unusable("it is not of version 4")),
        (format!("{begin}\n\n5A==\n{end}"), Refusal::Broken("it ends too early")),
        (" ".repeat(300_000), Refusal::TooLarge(262_144)),
    ] {
        assert_eq!(certificates(&text).map(|_| ()), Err(why), "{text:.200}");
    }
}

#[test]
fn a37_only_what_is_signed_is_read() {
    let text = fixture("subkey.prov");
    let good = believed(&text, "subkey.asc", "2026-07-01").unwrap();
    assert!(good.text.starts_with("- a dash\nblanks\napiVersion: v2\n") && good.text.ends_with('\n'), "{}", good.text);
    assert_eq!(good.until, Some("2027-01-01T00:00:00Z".parse().unwrap()), "that of the subkey");
    assert_eq!(believed(&text.replace('\n', "\r\n"), "subkey.asc", "2026-07-01"), Ok(good));
    for (from, to, why) in [
        ("-----BEGIN PGP SIGNED", "\n-----BEGIN PGP SIGNED", Refusal::NoBlock("SIGNED MESSAGE")),
        ("SIGNED MESSAGE-----", "SIGNED MESSAGE----- ", Refusal::NoBlock("SIGNED MESSAGE")),
        ("Hash:", "Comment:", Refusal::Broken("something else than `Hash:` stands before its text")),
        ("- - a dash", "-- a dash", Refusal::Broken("a line begins with a dash that is not escaped")),
        (
            "-----BEGIN PGP SIGNATURE",
            "- -----BEGIN PGP SIGNATURE",
            Refusal::Broken("a line begins with a dash that is not escaped"),
        ),
        ("-----", "_____", Refusal::NoBlock("SIGNED MESSAGE")),
        ("-----END PGP", "-----AND PGP", Refusal::NoBlock("SIGNATURE")),
    ] {
        assert_eq!(believed(&text.replace(from, to), "subkey.asc", "2026-07-01"), Err(why), "{to}");
    }
}

#[test]
fn keys_and_signatures_have_their_time() {
    let until = |text: &str, key: &str, at: &str| believed(&fixture(text), key, at).map(|good| good.until);
    let (subkey, rsa) = (Some(day("2027-01-01")), Some(day("2028-01-01")));
    assert_eq!(until("subkey.prov", "subkey.asc", "2026-06-01"), Ok(subkey));
    assert_eq!(until("subkey.prov", "subkey.asc", "2026-05-01"), Err(Refusal::Time(day("2026-06-01"))));
    assert_eq!(until("both.prov", "rsa.asc", "2026-06-02"), Ok(rsa));
    let owner = "Acme Charts <charts@acme.example>".to_string();
    let expired = Refusal::KeyExpired { owner, at: day("2028-01-01") };
    assert_eq!(until("both.prov", "rsa.asc", "2028-01-01"), Err(expired));
    assert_eq!(until("short.prov", "rsa.asc", "2026-06-30"), Ok(Some(day("2026-07-01"))));
    assert_eq!(until("short.prov", "rsa.asc", "2026-07-01"), Err(Refusal::SignatureExpired(day("2026-07-01"))));
    let before = "Acme Before <before@acme.example>".to_string();
    assert_eq!(until("revoked.prov", "revoked.asc", "2026-06-02"), Err(Refusal::Revoked(before)));
    let weak = Refusal::Form("is made with SHA-1, which is too weak");
    assert_eq!(until("sha1.prov", "rsa.asc", "2026-06-02"), Err(weak));
    let names = |why: &Refusal| matches!(why, Refusal::OtherKey(Some(id)) if id.len() == 40);
    assert!(until("subkey.prov", "rsa.asc", "2026-06-02").is_err_and(|why| names(&why)), "a key of another kind");
}

#[test]
fn nothing_that_is_bent_makes_it_fall() {
    let files = ["rsa.asc", "subkey.asc", "revoked.asc", "helm.prov", "both.prov", "subkey.prov"].map(fixture);
    let keys: Vec<Certificate> = files.iter().filter_map(|text| certificates(text).ok()).flatten().collect();
    assert_eq!(keys.len(), 3);
    let mut random = 1_u64;
    for turn in 0..20_000 {
        let mut bytes = files[turn % files.len()].clone().into_bytes();
        for _ in 0..=turn % 3 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(random >> 33).unwrap() % bytes.len();
            bytes[at] = b"ABCDwgz/+=\n-A 0"[usize::try_from(random >> 20).unwrap() % 15];
        }
        let text = String::from_utf8(bytes).unwrap();
        drop(certificates(&text));
        drop(signed_text(&text, &keys, |_| true, day("2026-07-01")));
    }
}
