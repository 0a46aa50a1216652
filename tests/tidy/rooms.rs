//! The order of the rooms: each imports only those that stand before it, so that any of them can be read, and tested,
//! without those behind it.

use super::source::{File, has_word};

/// From the ground up. Below all of them stand the packages, which the compiler keeps apart.
const ORDER: [&str; 23] = [
    "clock", "secret", "process", "proxies", "metrics", "trace", "git", "seal", "ledger", "hub", "command", "tell",
    "repo", "observe", "act", "tick", "rehearse", "init", "onboard", "wake", "cli", "lib", "main",
];

/// Rooms that are packages.
pub const PACKAGES: [&str; 11] = [
    "decide",
    "jsonpath",
    "edit",
    "parse",
    "kubeconfig",
    "inventory",
    "signal",
    "compare",
    "openpgp",
    "policy",
    "demo",
];

/// Imports of a room that stands behind.
pub fn imports_go_down(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    let product = |file: &&File| file.is_rust() && file.within("src/") && !file.is_for_tests();
    for file in files.iter().filter(product) {
        let room = file.path.split('/').nth(1).unwrap_or_default().trim_end_matches(".rs");
        if PACKAGES.contains(&room) {
            continue;
        }
        let Some(own) = ORDER.iter().position(|one| *one == room) else {
            problems.push(format!("{}: `{room}` has no place in the order of tests/tidy/rooms.rs", file.path));
            continue;
        };
        for (number, line) in file.product() {
            for above in &ORDER[own + 1..] {
                if imports(line, above) {
                    problems.push(format!("{}:{number} `{room}` imports `{above}`, which stands above it", file.path));
                }
            }
        }
    }
    problems
}

/// `crate::hub`, and `hub` in a `use crate::{…}` list.
fn imports(line: &str, room: &str) -> bool {
    let grouped = || line.find("crate::{").is_some_and(|at| has_word(&line[at..], room));
    has_word(line, &format!("crate::{room}")) || grouped()
}

#[test]
fn an_import_upwards_is_found() {
    let found = |path: &str, text: &str| imports_go_down(&[File::new(path.to_string(), text.to_string())]).len();
    assert_eq!(found("src/git/mod.rs", "use crate::hub::RepoHub;\nuse crate::{clock, tell};\n"), 2);
    assert_eq!(found("src/hub/mod.rs", "use crate::git::Store;\nuse policy::wiring;\n// crate::act\n"), 0);
    assert_eq!(found("src/act/mod.rs", "use crate::observe::Seen;\n#[cfg(test)]\nmod t { use crate::cli; }\n"), 0);
    assert_eq!(found("src/attic/mod.rs", ""), 1, "it has no place yet");
}
