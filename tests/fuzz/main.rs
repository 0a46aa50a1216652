//! The binary of every fuzz target: its name says which one it runs.
#![no_main]

mod targets;

use targets::{TARGETS, Target};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let is_it = |target: &&Target| target.name == env!("CARGO_BIN_NAME");
    TARGETS.iter().find(is_it).map(|target| (target.run)(input)).expect("a target of this name");
});
