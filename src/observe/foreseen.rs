//! What the next look will find of pull requests that are about to be opened, so that each is opened with the text that
//! it would get then. It is for texts alone: nothing is done because of it.

use decide::plan::{Plan, Proposal, WaveReport};
use decide::snapshot::{Read, ReviewDecision};
use decide::{PluginName, PullNumber, Sha, TierName};
use jiff::Timestamp;

use super::context::Context;
use super::{Beside, Seen, again, base, difference, pulls};
use crate::hub::{BranchRules, HubPull, Reviews};

/// Numbers that no hub gives begin with these figures; there is room for a hundred thousand of them.
const FIGURES: &str = "184467440737095";
/// The first of them.
const FIRST: u64 = 18_446_744_073_709_500_000;

/// The plan of the next look.
pub struct Foreseen {
    plan: Plan,
}

/// What will be planned when these are open, each with this head. None where nobody can say: what the hub will find
/// missing is not known, or nothing is opened.
pub async fn foresee(
    context: &mut Context,
    seen: &Seen,
    opening: &[(&Proposal, &Sha)],
    now: Timestamp,
) -> Option<Foreseen> {
    if opening.is_empty() {
        return None;
    }
    let mut snapshot = seen.snapshot.clone();
    snapshot.ledger = context.repo.ledger.as_ref()?.ledger().clone();
    for ((proposal, head), number) in opening.iter().zip(FIRST..) {
        let page = page(context, seen, proposal, head, (PullNumber(number), now)).await?;
        let mut cache = std::mem::take(&mut context.memory.hub);
        let pull = again(context, seen, &page, &mut cache).await;
        let rules = cache.rules(&context.repo.hub, &page.base, now).await;
        context.memory.hub = cache;
        let mut pull = pull?;
        pull.review_decision = decision(context, rules.known()?, &pull.owned)?;
        let Read::Known(pulls) = &mut snapshot.plugins.get_mut(&proposal.plugin)?.pulls else { return None };
        pulls.push(pull);
    }
    Some(Foreseen { plan: decide::plan(&snapshot, now) })
}

/// Whether a number only stands for one that the hub is yet to give.
pub(super) fn is_to_come(number: PullNumber) -> bool {
    number.0 >= FIRST
}

impl Foreseen {
    /// Title and text of what is opened for a tier, and what they tell. None where they would name a number that only
    /// stands for the one that the hub will give.
    pub fn texts(
        &self,
        seen: &Seen,
        (plugin, tier): (&PluginName, &TierName),
        head: &Sha,
        beside: Beside<'_>,
    ) -> Option<(&WaveReport, String, String)> {
        let opened = |wave: &&WaveReport| wave.pull.is_some_and(is_to_come);
        let mut waves = self.plan.waves.iter().filter(opened);
        let wave = waves.find(|wave| wave.plugin == *plugin && wave.tier == *tier)?;
        let (title, body) = (seen.title(wave), seen.body(&self.plan, wave, head, beside).ok()?);
        (!title.contains(FIGURES) && !body.contains(FIGURES)).then_some((wave, title, body))
    }
}

/// The page of one, as the hub will show it.
async fn page(
    context: &mut Context,
    seen: &Seen,
    proposal: &Proposal,
    head: &Sha,
    (number, now): (PullNumber, Timestamp),
) -> Option<HubPull> {
    difference::of_head(context, head).await;
    let commit = head.clone();
    let message = context.repo.git(move |store, _| Ok(store.raw(&commit)?.message)).await.ok()?;
    let base = base::branch_of(&seen.loaded, &proposal.tier, &context.repo.repository.default_branch);
    let branch = pulls::branch(&proposal.plugin, &proposal.tier);
    let bot = context.repo.hub.bot().clone();
    let labels = seen.loaded.wiring.pulls.labels.clone();
    Some(HubPull::opening((number, bot, now), (base, &branch), head.clone(), message, labels))
}

/// What the hub will say of its reviews, of which there are none yet.
fn decision(
    context: &Context,
    rules: &BranchRules,
    owned: &Read<Vec<decide::snapshot::OwnedPath>>,
) -> Option<ReviewDecision> {
    let Reviews { approvals, code_owners } = *rules.reviews.known()?;
    let missing = approvals || (code_owners && !owned.known()?.is_empty());
    // Who may merge past them is asked about all the other rules then, of a pull request that is there.
    if missing && context.repo.hub.has_bypass() && !rules.demands.known()?.is_empty() {
        return None;
    }
    Some(if missing { ReviewDecision::Required } else { ReviewDecision::NotRequired })
}
