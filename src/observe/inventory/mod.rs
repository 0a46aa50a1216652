//! Which clusters there are. One file per inventory.

pub mod file;
