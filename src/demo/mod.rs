//! The sandbox: a GitHub, a chart registry and clusters over loopback HTTP. It imports nothing of the bot.

pub mod clock;
pub mod github;
