//! The saved corpus of every fuzz target, run through what libFuzzer runs, on the stable toolchain; and the inputs that
//! libFuzzer begins with. `tests/fuzz.sh` looks for more.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, clippy::wildcard_enum_match_arm)]

mod heavy;
mod seeds;
#[path = "../../fuzz/targets/mod.rs"]
mod targets;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use targets::{TARGETS, Target};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz").join(name)
}

fn entries(folder: &Path) -> BTreeMap<String, PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.unwrap().path()).map(|path| (name(&path), path)).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Says which input it is where something does not hold.
fn run(target: &Target, input: &[u8], what: &str) {
    let held = std::panic::catch_unwind(|| (target.run)(input));
    assert!(held.is_ok(), "{}: {what} does not hold; the reason stands above", target.name);
}

#[test]
fn the_saved_corpus_holds() {
    for target in &TARGETS {
        let files = entries(&folder("corpus").join(target.name));
        assert!(files.len() >= 5, "{}: {} inputs; tests/fuzz.sh finds some", target.name, files.len());
        for (file, path) in files {
            run(target, &std::fs::read(path).unwrap(), &file);
        }
    }
}

#[test]
fn every_target_has_its_parts() {
    let known: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_string()).collect();
    assert_eq!(known.len(), TARGETS.len(), "a name stands twice");
    let manifest = std::fs::read_to_string(folder("Cargo.toml")).unwrap();
    let binaries = manifest.split("[[bin]]\nname = \"").skip(1).map(|rest| rest.split('"').next().unwrap().to_string());
    assert_eq!(binaries.collect::<BTreeSet<_>>(), known, "binaries of tests/fuzz/Cargo.toml");
    assert_eq!(entries(&folder("corpus")).into_keys().collect::<BTreeSet<_>>(), known, "the folders of the corpus");
    let dictionaries = entries(&folder("dict")).into_keys().map(|file| file.replace(".dict", ""));
    assert_eq!(dictionaries.collect::<BTreeSet<_>>(), known, "the dictionaries");
}

/// Where `COLDFRAME_FUZZ_SEEDS` names a folder, they are written there.
#[test]
fn what_fuzzing_begins_with_holds() {
    let out = std::env::var_os("COLDFRAME_FUZZ_SEEDS").map(PathBuf::from);
    let seeds = seeds::seeds();
    assert!(seeds.len() > 300, "{} seeds", seeds.len());
    for (index, (of, text)) in seeds.iter().enumerate() {
        let target = TARGETS.iter().find(|target| target.name == *of).expect("a target of this name");
        if let Some(out) = &out {
            std::fs::create_dir_all(out.join(of)).unwrap();
            std::fs::write(out.join(of).join(format!("{index:04}")), text).unwrap();
        }
        run(target, text.as_bytes(), text);
    }
}
