//! Provenance files that real Helm wrote, by keys of GnuPG, beside packages that a plain server and a Docker registry
//! have. Helm's own word on each is asked for, too.

use std::sync::Arc;

use coldframe::observe::chart::{Mirrors, Signers, Source, Trust, source};
use coldframe::policy::wiring::{Chart, Signed};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::charts::{Shed, describe, file, oci, plain, registry};
use crate::peers::{python, script, serve};

fn by(key: &Value, now: Timestamp) -> Signers {
    let signed = Signed { pgp: Some(key.as_str().unwrap().to_owned()), ..Signed::default() };
    Signers { signed, trust: Arc::new(Trust::pinned().unwrap()), now }
}

/// A release of a chart, signed by the key of that name.
fn signed(shed: &Shed, version: &str, key: Option<&str>) -> String {
    let archive = shed.package(version, 2).0;
    if let Some(key) = key {
        let keyring = shed.path("keys").join(format!("{key}.key"));
        shed.helm(&json!([{"do": "sign", "archive": archive, "key": key, "keyring": keyring}]));
    }
    archive.display().to_string()
}

/// The index as Helm writes it, but that one version is said to be the package of another.
fn index(shed: &Shed, host: &str) {
    let folder = shed.path("charts");
    shed.helm(&json!([{"do": "index", "folder": folder, "url": format!("http://{host}")}]));
    let path = folder.join("index.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let entry = |version: &str| {
        let at = text.find(&format!("seedling-{version}.tgz")).unwrap();
        let digest = text[..at].rfind("digest: ").unwrap();
        text[digest..].lines().next().unwrap().to_owned()
    };
    let lies = text.replace(&entry("1.4.0"), &entry("1.0.0")).replace("seedling-1.4.0.tgz", "seedling-1.0.0.tgz");
    std::fs::write(&path, lies).unwrap();
}

async fn says(source: &dyn Source, version: &str, signers: &Signers) -> Result<Option<Timestamp>, String> {
    source.signed(&describe(source, version).await, signers).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a37_provenance_files_of_helm_lie_beside_a_package() {
    let shed = Shed::new();
    let keys = script(python(), "openpgp.py", &json!(shed.path("keys")));
    let now = Timestamp::now();
    let (ours, theirs) = (by(&keys["ours"], now), by(&keys["theirs"], now));
    let first = signed(&shed, "1.0.0", Some("ours"));
    let archives = [
        first.clone(),
        signed(&shed, "1.1.0+build.5", Some("theirs")),
        signed(&shed, "1.2.0", None),
        signed(&shed, "1.3.0", None),
        signed(&shed, "1.4.0", None),
    ];
    let beside = |archive: &str| format!("{archive}.prov");
    // Of another package, as somebody who cannot sign would put it there.
    std::fs::copy(beside(&first), beside(&archives[3])).unwrap();

    // Helm says the same of what it made.
    let keyring = shed.path("keys").join("ours.pgp");
    std::fs::write(&keyring, unarmored(&keys["ours"])).unwrap();
    let verify = archives.each_ref().map(|archive| json!({"do": "verify", "archive": archive, "keyring": keyring}));
    let told = shed.helm(&json!(verify));
    let good: Vec<bool> = told.iter().map(|told| told["good"] == true).collect();
    assert_eq!(good, [true, false, false, false, false], "{told:?}");

    let host = serve(axum::Router::new().fallback(file).with_state(shed.path("charts"))).await;
    index(&shed, &host);
    let chart = Chart::Http { repository: format!("http://{host}"), name: "seedling".to_owned() };
    let from_index = source(&chart, &plain(&host), &Mirrors::default()).unwrap();
    from_index.versions().await.unwrap();
    let (_running, place) = registry(&shed, "open", false).await;
    let push = |archive: &String| json!({"do": "push", "archive": archive, "remote": format!("oci://{place}/charts")});
    shed.helm(&json!(archives[..4].iter().map(push).collect::<Vec<_>>()));
    let from_registry = oci(&place, &plain(&place));

    for source in [&*from_index, &*from_registry] {
        assert!(says(source, "1.0.0", &ours).await.is_ok());
        assert!(says(source, "1.1.0+build.5", &theirs).await.is_ok());
        for (version, signers, why) in [
            ("1.0.0", &theirs, "it is signed by another key than the policy has; it names "),
            ("1.1.0+build.5", &ours, "it is signed by another key than the policy has; it names "),
            ("1.2.0", &ours, "nobody has signed it"),
            ("1.3.0", &ours, "its provenance file is not about seedling-1.3.0.tgz"),
            (
                "1.0.0",
                &by(&keys["expired"], now + SignedDuration::from_hours(48)),
                "the key of ours <ours@acme.example> ex",
            ),
            ("1.0.0", &by(&keys["revoked"], now), "the key of ours <ours@acme.example> was revoked by its owner"),
        ] {
            let said = says(source, version, signers).await.unwrap_err();
            println!("{version}: {said}");
            assert!(said.starts_with(why), "{version}: {said}");
        }
    }
    let said = says(&*from_index, "1.4.0", &ours).await;
    assert_eq!(said, Err("its provenance file is not about seedling-1.4.0.tgz".to_owned()), "an old one again");
    // A key of cosign beside it changes nothing.
    let mut either = ours.clone();
    either.signed.keys = Some("-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n".to_owned());
    assert!(says(&*from_registry, "1.0.0", &either).await.is_ok());
    assert_eq!(says(&*from_registry, "1.2.0", &either).await, Err("nobody has signed it".to_owned()));
}

/// What Helm takes for a keyring: no armor.
fn unarmored(key: &Value) -> Vec<u8> {
    use base64::Engine as _;
    let lines = key.as_str().unwrap().lines().skip_while(|line| !line.is_empty());
    let base64: String = lines.take_while(|line| !line.starts_with(['=', '-'])).collect();
    base64::engine::general_purpose::STANDARD.decode(base64).unwrap()
}
