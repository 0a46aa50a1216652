//! What a pull request's text is made from.

use std::collections::BTreeSet;

use decide::plan::{Climb, WaveReport};
use decide::{Person, Plan, Sha, TierName, Version};

use super::{Links, ReleaseNote, overtaking};
use crate::policy::wiring::{Body, PullRequests};
use crate::tell::{Task, ticked_tasks};

/// Everything that stands on a pull request.
#[derive(Clone, Debug)]
pub struct PullFacts<'a> {
    /// The wave that it is for.
    pub wave: &'a WaveReport,
    /// The climb of its release.
    pub climb: Option<&'a Climb>,
    /// A newer release that is on its way up, and how high it is.
    pub overtaking: Option<(&'a Version, &'a TierName)>,
    /// Addresses and the policy's words on the tiers.
    pub links: &'a Links,
    /// Release notes of the steps between, newest first.
    pub notes: &'a [ReleaseNote],
    /// What people have to do for it.
    pub tasks: &'a [Task],
    /// Which of that somebody has ticked, by its id.
    pub ticked: BTreeSet<String>,
    /// Who has switched on that the hub merges it by itself.
    pub auto_merge: Option<&'a Person>,
    /// Its place in the merge queue, and who put it there.
    pub queued: Option<(u64, Option<&'a Person>)>,
    /// What its commit changes, told by [`changes`](super::changes()), where that is more than anybody reads.
    pub changes: Option<&'a str>,
    /// What the policy adds to every text, with its placeholders.
    pub note: Option<&'a str>,
    /// How the policy arranges the text; none = as the bot does.
    pub body: Option<&'a Body>,
    /// The head that a box offers to write anew, and what became of it when it was ticked last.
    pub rebase: Option<(&'a Sha, Option<&'a str>)>,
}

impl<'a> PullFacts<'a> {
    /// Picks out of a plan what belongs to this wave.
    pub fn of(plan: &'a Plan, wave: &'a WaveReport, links: &'a Links, notes: &'a [ReleaseNote]) -> Self {
        let climb = plan
            .climbs
            .iter()
            .find(|climb| climb.plugin == wave.plugin && Some(&climb.version) == wave.version.as_ref());
        Self {
            wave,
            climb,
            overtaking: overtaking(plan, wave),
            links,
            notes,
            tasks: &[],
            ticked: BTreeSet::new(),
            auto_merge: None,
            queued: None,
            changes: None,
            note: None,
            body: None,
            rebase: None,
        }
    }

    /// The same with what its commit changes.
    #[must_use]
    pub fn changing(self, changes: Option<&'a str>) -> Self {
        Self { changes, ..self }
    }

    /// The same with what people have to do, and what of it stands as ticked in its text now.
    #[must_use]
    pub fn asking(self, tasks: &'a [Task], text: Option<&str>) -> Self {
        Self { tasks, ticked: text.map(ticked_tasks).unwrap_or_default(), ..self }
    }

    /// The same with what the policy says of the text.
    #[must_use]
    pub fn written_for(self, pulls: &'a PullRequests) -> Self {
        Self { note: pulls.note.as_deref(), body: pulls.body.as_ref(), ..self }
    }

    /// The same with a box that offers to write this head anew, and what became of it when it was ticked last.
    #[must_use]
    pub fn offering(self, head: &'a Sha, heard: Option<&'a str>) -> Self {
        Self { rebase: Some((head, heard)), ..self }
    }

    /// The same with who has switched on that the hub merges it by itself.
    #[must_use]
    pub fn merging_by_itself(self, auto_merge: Option<&'a Person>) -> Self {
        Self { auto_merge, ..self }
    }

    /// The same with its place in the merge queue, and who put it there; none where the bot did.
    #[must_use]
    pub fn queued(self, queued: Option<(u64, Option<&'a Person>)>) -> Self {
        Self { queued, ..self }
    }
}
