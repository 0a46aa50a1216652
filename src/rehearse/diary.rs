//! What happened in a rehearsal, for whoever tells or counts it. What will happen is in `world`.

use decide::{Person, PluginName, TierName, Version};
use jiff::{SignedDuration, Timestamp};

/// A plugin on a tier.
pub(crate) type Spot = (PluginName, TierName);

/// Something that happened.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub at: Timestamp,
    pub what: Noted,
}

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum Noted {
    /// In words.
    Said(String),
    /// A pull request was opened, or moved to another release.
    Opened { spot: Spot, version: Version, pull: u64, moved: bool, clusters: usize },
    /// A pull request was merged.
    Merged { spot: Spot, version: Version, pull: u64, by: Person, forced: bool },
    /// The bot closed a pull request.
    Closed { pull: u64, why: String },
    /// People were told that a deadline comes near.
    Notice { spot: Spot, version: Version, before: SignedDuration, deadline: Timestamp },
    /// An entry of the bot's memory.
    Entry(Box<decide::Entry>),
}
