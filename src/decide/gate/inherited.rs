//! Approvals of other pull requests that a wave rests on. Here those of the first slice of the same climb, as the hub
//! still shows them; those of other tiers are in `covers`. Whose approval counts at all is in `approvals`.

use alloc::vec::Vec;

use super::{approvals, covers};
use crate::facts::Facts;
use crate::ledger::Wave;
use crate::model::{Each, Tier};
use crate::snapshot::PullState;
use crate::{Person, TierName};

/// Who approved elsewhere, and on which other tier; none = an earlier slice of this one.
pub(crate) type Inherited = (Person, Option<TierName>);

/// Approvals of other pull requests that count for this one.
pub(crate) fn inherited(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Vec<Inherited> {
    let earlier = approvers(facts, tier, wave).into_iter().map(|by| (by, None));
    earlier.chain(covers::covering(facts, tier, wave).into_iter().map(|(by, on)| (by, Some(on)))).collect()
}

/// People whose approval of the first slice counts for this one: from the same version to the same,
/// with the same content. An objection there ends that.
fn approvers(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Vec<Person> {
    match tier.approvals.each {
        // Before the first slice nothing has landed, and nobody's approval is found.
        Each::Tier => {}
        Each::Slice => return Vec::new(),
    }
    let slices = facts.page.landed_with(&tier.name, wave);
    let same = |first: &&Wave| {
        first.part.slice == 0 && first.from == wave.from && first.digest == wave.digest && first.digest.is_some()
    };
    let Some(first) = slices.into_iter().find(same) else { return Vec::new() };
    let Some(number) = first.pull.as_ref().map(|pull| pull.number) else { return Vec::new() };
    let pulls = facts.pulls(&tier.name).unwrap_or_default();
    let pull = pulls.into_iter().find(|pull| pull.number == number && matches!(pull.state, PullState::Merged { .. }));
    match pull {
        Some(pull) if approvals::objections(pull).is_empty() => approvals::valid(facts, first, pull),
        Some(_) | None => Vec::new(),
    }
}
