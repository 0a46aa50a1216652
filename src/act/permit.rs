//! Permits to merge. They cannot be made anywhere else: making one reads the whole hub again at
//! that moment and asks the planner whether it would still do the very same thing.

use decide::plan::{Action, Identity};
use decide::{PullNumber, Sha};

use crate::rooms::Rooms;
use crate::{clock, observe};

/// Leave to merge one head of one pull request now, with the approvals that the policy asks for.
pub(super) struct MergePermit {
    pull: PullNumber,
    head: Sha,
    via: Identity,
}

/// Leave to merge one head of one pull request now, without the missing approvals.
pub(super) struct ForcePermit {
    pull: PullNumber,
    head: Sha,
    via: Identity,
}

/// One of the two.
pub(super) enum Permit {
    /// An ordinary merge.
    Merge(MergePermit),
    /// A forced one.
    Force(ForcePermit),
}

impl Permit {
    /// What may be merged, at which head, by whom.
    pub(super) fn terms(&self) -> (PullNumber, &Sha, Identity) {
        match self {
            Self::Merge(MergePermit { pull, head, via }) | Self::Force(ForcePermit { pull, head, via }) => {
                (*pull, head, *via)
            }
        }
    }

    /// Looks at everything again, nothing from memory, and plans again. Only where the new plan has
    /// the same merge of the same head by the same identity, forced or not as before, there is a
    /// permit; else the reason why not.
    pub(super) async fn obtain(rooms: &mut Rooms, planned: &Action) -> anyhow::Result<Result<Self, String>> {
        rooms.memory.hub.forget();
        let seen = observe::observe(rooms).await?;
        let again = decide::plan(&seen.snapshot, clock::now());
        Ok(again.actions.iter().find_map(|action| Self::for_same(planned, action)).ok_or_else(|| {
            let blocked = again.waves.iter().find(|wave| Some(wave.pull) == pull_of(planned).map(Some));
            let why = blocked.and_then(|wave| wave.blocker()).map(|finding| finding.because.to_string());
            why.unwrap_or_else(|| "the second look would not merge it".to_string())
        }))
    }

    fn for_same(planned: &Action, again: &Action) -> Option<Self> {
        let Action::Merge { pull, head, via, forced, plugin, tier, version } = again else { return None };
        let Action::Merge {
            pull: pull_before,
            head: head_before,
            via: via_before,
            forced: forced_before,
            plugin: plugin_before,
            tier: tier_before,
            version: version_before,
        } = planned
        else {
            return None;
        };
        let same = pull == pull_before
            && head == head_before
            && via == via_before
            && forced.as_ref().map(|evidence| &evidence.said) == forced_before.as_ref().map(|evidence| &evidence.said)
            && (plugin, tier, version) == (plugin_before, tier_before, version_before);
        same.then(|| match forced {
            Some(_) => Self::Force(ForcePermit { pull: *pull, head: head.clone(), via: *via }),
            None => Self::Merge(MergePermit { pull: *pull, head: head.clone(), via: *via }),
        })
    }
}

fn pull_of(action: &Action) -> Option<PullNumber> {
    match action {
        Action::Merge { pull, .. } => Some(*pull),
        Action::Open(_)
        | Action::Update { .. }
        | Action::Close { .. }
        | Action::Notice { .. }
        | Action::Dispatch { .. } => None,
    }
}
