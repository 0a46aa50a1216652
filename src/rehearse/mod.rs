//! Rehearsals: the real planner in a small world of its own. A story is scripted by a person and told
//! day by day; a history of releases is replayed and counted. Nothing of the real world is touched, and
//! no decision is made in here: what happens is what `decide` says about the facts of that world.

mod course;
mod diary;
mod fleet;
mod hand;
pub mod history;
mod hub;
mod rights;
mod setup;
pub mod story;
mod trouble;
mod workflows;
mod world;

pub use history::{History, Replay};
pub use story::{Told, tell};
