//! Reads every fact of a repository into one snapshot. What follows from it is decided in `decide`.

pub mod chart;
pub mod cluster;
pub mod inventory;
pub mod net;
pub mod signal;
