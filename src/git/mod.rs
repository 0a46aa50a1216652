//! Objects, commits and pushes in a bare repository, without a checkout. What is written and why is
//! decided elsewhere; pull requests and everything else of the hub's API is in `hub`.
//!
//! Everything here waits on disk or network: call it from `spawn_blocking`, never on a runtime's
//! own thread.

mod changes;
mod checkout;
mod error;
mod files;
mod folder;
mod landing;
mod objects;
mod push;
mod raw;
mod read;
mod remote;
mod session;
mod setup;
mod signed;
mod store;
mod tags;
#[cfg(test)]
pub mod testing;
mod texts;
mod transport;
mod tree;
mod write;

pub use changes::{Changes, Hunk};
pub use checkout::Checkout;
pub use error::GitError;
pub use files::Content;
pub use landing::Asked;
pub use push::{Move, Pushed};
pub use raw::Raw;
pub use remote::Access;
pub use signed::TreeDraft;
pub use store::Store;
pub use tags::Refs;
pub use write::{Author, Draft, FileChange};
