//! What a newer release does to the wave that is on a tier: whether its pull request is given up, or moves. Which
//! release comes next is in `next_release`.

use crate::cooldown::cooling;
use crate::facts::Facts;
use crate::gate::asked::PullStatus;
use crate::gate::hold;
use crate::ledger::{Purpose, Wave};
use crate::model::Next;
use crate::next_release::{abandoned_for, candidate};
use crate::snapshot::{Pull, PullState};
use crate::{Reason, Version, hotfix};

/// Why an open wave is given up for a newer release under `restart`. On the first tier the pull
/// request moves instead, unless people were already told when this release would be merged. Who came
/// late or is ahead takes no climb's place: that pull request moves when the newer one is ready for it.
pub(crate) fn given_up(facts: &Facts<'_>, tier_index: usize, wave: &Wave, pull: Option<&Pull>) -> Option<Reason> {
    match wave.part.purpose {
        Purpose::Promotion | Purpose::RollBack { .. } => {}
        Purpose::CatchUp | Purpose::Early => return None,
    }
    let by = abandoned_for(facts, wave)?;
    let merged = pull.is_some_and(|pull| pull.state != PullState::Open);
    let held = pull.is_some_and(|pull| hold::is_held(facts, pull));
    let moves = tier_index == 0 && (held || !pull.is_some_and(|pull| told(wave, pull)));
    (!merged && !moves).then_some(Reason::Superseded { by })
}

/// Whether a release may come to a tier though the wave on it has not finished.
pub(crate) fn passes(facts: &Facts<'_>, tier_index: usize, occupant: &Wave) -> bool {
    let Some(candidate) = candidate(facts, tier_index).filter(|candidate| *candidate > occupant.version) else {
        return false;
    };
    abandoned_for(facts, occupant).is_some() || hotfix::entry(facts, &candidate).is_some()
}

/// A newer version that moves this pull request: while nobody has approved it and no notice was sent,
/// and while the branch is ours. `every` skips none; under `restart` an approval keeps nothing.
pub(crate) fn overtaking(
    facts: &Facts<'_>,
    tier_index: usize,
    wave: &Wave,
    pull: &Pull,
    status: &PullStatus,
) -> Option<Version> {
    let candidate = candidate(facts, tier_index)?;
    if !status.ours() || pull.state != PullState::Open {
        return None;
    }
    // The tier's own turn takes the pull request of clusters that are ahead of it.
    if wave.part.purpose == Purpose::Early {
        let stays = status.held || status.approved_by_anybody || told(wave, pull);
        return (!stays && cooling(facts, tier_index, &candidate).is_none()).then_some(candidate);
    }
    let newer = candidate > wave.version;
    // A hotfix moves any: what was approved and announced was another release.
    if hotfix::entry(facts, &candidate).is_some() && (newer || !hotfix::is_one(facts, wave)) {
        return (candidate != wave.version).then_some(candidate);
    }
    if cooling(facts, tier_index, &candidate).is_some() {
        return None;
    }
    let stays = match facts.policy.next {
        // A tier that has begun to move goes to the end of that release.
        Next::NewestFinished => status.approved_by_anybody || wave.part.slice > 0,
        Next::Every => true,
        Next::Restart => false,
    };
    let free = !status.held && !told(wave, pull) && !stays;
    (free && newer).then_some(candidate)
}

/// Whether people were told when this pull request would be merged by force.
fn told(wave: &Wave, pull: &Pull) -> bool {
    wave.grace.as_ref().is_some_and(|grace| !grace.notices.is_empty()) || !pull.notices.is_empty()
}
