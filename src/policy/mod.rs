//! The policy file: YAML in, a resolved policy out, every error at once with file, line, column and
//! the likely fix. What the policy means is decided in `decide`.

pub mod wiring;
