//! The sandbox: a GitHub, a chart registry and clusters over loopback HTTP. It imports nothing of the bot.

// A world, not the bot: it runs git and servers of its own.
#![allow(clippy::disallowed_methods)]

pub mod board;
pub mod charts;
pub mod clock;
pub mod clusters;
pub mod github;
mod loopback;
#[cfg(test)]
mod puppet;
pub mod story;
mod world;

pub use loopback::free_port;
pub use world::{Options, Settings, World};
