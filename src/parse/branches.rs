//! The names of the bot's own branches. Nobody else's branch begins as they do, and no policy file names one of them as a
//! base branch.

/// What the head branch of each of the bot's pull requests begins with.
pub const PREFIX: &str = "coldframe/";
/// The branch of the ledger.
pub const LEDGER: &str = "coldframe-ledger";
/// The branch that remembers how far people were told.
pub const NOTIFIED: &str = "coldframe-notified";
/// The branch of the pull request that proposes a policy to a repository without one.
pub const ONBOARDING: &str = "coldframe-onboarding";
