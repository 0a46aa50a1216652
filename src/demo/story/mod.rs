//! The story: what lies in the config repo, who acts when, and what must have come of it. Its events
//! fire on states of the world, never on seconds.

pub mod chronicle;
pub mod expectations;
pub mod fleet;
pub mod history;
pub mod people;
pub mod scene;
