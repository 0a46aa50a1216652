//! What is worked out once for all plugins of a repository: whom selectors select, and what people said in comments.

use jiff::Timestamp;

use crate::commands::AllCommands;
use crate::fleet::Fleet;
use crate::snapshot::Snapshot;

/// What is known before any plugin is decided.
pub(crate) struct Common<'a> {
    pub snapshot: &'a Snapshot,
    pub now: Timestamp,
    pub fleet: Fleet,
    pub commands: AllCommands<'a>,
}

impl<'a> Common<'a> {
    pub(crate) fn of(snapshot: &'a Snapshot, now: Timestamp) -> Self {
        Self { snapshot, now, fleet: Fleet::of(snapshot), commands: AllCommands::of(snapshot) }
    }
}
