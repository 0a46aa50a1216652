//! The Action's step that fetches the binary, as bash runs it. The whole Action is run in `tests/action`.

use std::path::Path;
use std::process::Command;

const BINARY: &[u8] = b"#!/bin/sh\necho coldframe\n";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const NAME: &str = "coldframe-x86_64-unknown-linux-gnu";

fn hex(bytes: &[u8]) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The script of that step.
fn script() -> String {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("action.yml")).unwrap();
    let action: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    let steps = action["runs"]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["name"] == "fetch and verify the binary").unwrap();
    step["run"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a42_a_pinned_commit_of_the_action_takes_the_binary_whose_checksum_it_carries() {
    // Beside the good binary lies a checksum that somebody else wrote.
    let files = |uri: axum::http::Uri| {
        let found = match uri.path() {
            path if path == format!("/good/{NAME}") => Ok(BINARY.to_vec()),
            path if path == format!("/forged/{NAME}") => Ok(b"#!/bin/sh\necho forged\n".to_vec()),
            path if path == format!("/good/{NAME}.sha256") => Ok(hex(BINARY).into_bytes()),
            path if path == format!("/forged/{NAME}.sha256") => Ok(hex(b"#!/bin/sh\necho forged\n").into_bytes()),
            _ => Err(axum::http::StatusCode::NOT_FOUND),
        };
        std::future::ready(found)
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(files)).await });
    let carried = format!("# of a release\nv9.9.9\n{}  {NAME}\n", hex(BINARY));
    let empty = "# no release yet\n";
    // The ref, what the commit carries, the version asked for, the folder; what is said, or that it is taken.
    let cases = [
        (COMMIT, carried.as_str(), "", "good", None),
        (COMMIT, &carried, "v9.9.9", "good", None),
        (COMMIT, &carried, "", "forged", Some("nothing was run")),
        (COMMIT, &carried, "v1.0.0", "forged", Some("carries no checksum")),
        (COMMIT, empty, "", "forged", Some("carries no checksum")),
        (COMMIT, empty, "v9.9.9", "good", Some("carries no checksum")),
        ("v9.9.9", &carried, "", "forged", Some("nothing was run")),
        // A tag that carries none is believed as it always was.
        ("v9.9.9", empty, "", "good", None),
    ];
    for (of, carries, version, folder, said) in cases {
        let at = tempfile::tempdir().unwrap();
        std::fs::write(at.path().join("checksums"), carries).unwrap();
        let mut bash = Command::new("bash");
        bash.arg("-c").arg(script()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        bash.envs([("RUNNER_OS", "Linux"), ("RUNNER_ARCH", "X64"), ("CHECKSUM", ""), ("ACTION_REPOSITORY", "a/b")]);
        bash.env("ACTION_REF", of).env("VERSION", version).env("SERVER", "https://github.com");
        bash.env("DOWNLOAD_URL", format!("{url}/{folder}")).env("RUNNER_TEMP", at.path()).env("ACTION_PATH", at.path());
        let output = tokio::task::block_in_place(|| bash.output().unwrap());
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        match said {
            None => assert!(output.status.success(), "{of} {folder}: {text}"),
            Some(said) => assert!(!output.status.success() && text.contains(said), "{of} {folder} {said}: {text}"),
        }
    }
}
