//! Carries out what was planned, and stops at the first refusal. What to do is decided in `decide`.

pub mod edit;
