//! Approvals: whose yes counts, and for which commit. Only people's, given after the bot wrote the
//! head, for that very head, by somebody who may still write; never the bot's own.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::about;
use super::asked::AskedOpen;
use super::inherited::{Inherited, inherited};
use crate::facts::Facts;
use crate::ledger::Wave;
use crate::model::{Merge, OnFailure, Tier};
use crate::obstacle::{Lasts, Obstacle};
use crate::plan::{Finding, Gate, Identity, Verdict};
use crate::snapshot::{LedgerGuard, LedgerState, Pull, Read, Review, ReviewDecision, ReviewVerdict, UnmetRule};
use crate::{Person, Reason, TierName, slice};

/// Who merges a wave: a rollback as the tier's `onFailure` says, everything else by the step.
pub(crate) fn rule(tier: &Tier, wave: &Wave) -> Merge {
    match (wave.rolls_back(), tier.on_failure) {
        (Some(_), OnFailure::RollBack { merge }) => merge,
        // The file does not ask for it any more; the wave is about to be taken back.
        (Some(_), OnFailure::Hold | OnFailure::Stall) => Merge::Manual,
        (None, _) => tier.merge.of(wave.from.as_ref(), &wave.version),
    }
}

pub(crate) fn finding(open: &AskedOpen<'_>) -> Finding {
    let AskedOpen { facts, tier, wave, pull, .. } = *open;
    let objections = objections(pull);
    if !objections.is_empty() {
        return Finding::wait(Gate::Approvals, Reason::ChangesRequested { by: objections });
    }
    let rule = rule(tier, wave);
    if open.status.added && rule != Merge::Manual {
        return counted(facts, tier, wave, pull, Given::to_what_was_added(facts, pull));
    }
    match rule {
        Merge::Automatic => automatic(facts, pull),
        Merge::Approved => approved(facts, tier, wave, pull),
        Merge::Manual => Finding::wait(Gate::Approvals, Reason::ManualMerge),
    }
}

/// Who asks for the merge: the ordinary identity, unless branch rules want a review that the policy
/// does not.
pub(crate) fn identity(facts: &Facts<'_>, tier: &Tier, wave: &Wave, pull: &Pull) -> Identity {
    let waived = match rule(tier, wave) {
        Merge::Automatic => true,
        Merge::Approved => !inherited(facts, tier, wave).is_empty(),
        Merge::Manual => false,
    };
    let passes = waived && review_missing(pull) && barred(facts, pull).is_none();
    if passes { Identity::Bypass } else { Identity::Ordinary }
}

/// Why a review that branch rules ask for may not be passed: nobody is there who could, others write the ledger,
/// or more than the review would be skipped. A bypass passes every rule of a ruleset, not the one that is meant.
pub(crate) fn barred(facts: &Facts<'_>, pull: &Pull) -> Option<Obstacle> {
    if !review_missing(pull) {
        return None;
    }
    if !facts.snapshot.hub.bypass {
        return Some(Obstacle::refused(Reason::BypassMissing));
    }
    let unmet = |one: &UnmetRule| Reason::RuleUnmet { rule: one.rule.clone(), why: one.why.clone() };
    open_ledger(facts).map(Obstacle::refused).or_else(|| match &pull.unmet {
        Read::Known(rules) => rules.first().map(unmet).map(Obstacle::refused),
        Read::Unread(why) => {
            let why = Reason::Unread { what: "what branch rules ask for".into(), why: why.clone() };
            Some(Obstacle::new(Lasts::Unread, why))
        }
    })
}

/// Why nothing is forced and no branch rule is bypassed: on a ledger that others can write unnoticed rests nothing
/// that people would otherwise have to look at.
pub(crate) fn open_ledger(facts: &Facts<'_>) -> Option<Reason> {
    let open = |why: &str| Some(Reason::LedgerOpen { why: why.to_string() });
    match &facts.snapshot.ledger_state {
        LedgerState::Intact { guarded: LedgerGuard::Sealed } => None,
        LedgerState::Intact { guarded: LedgerGuard::Open(why) } => open(why),
        LedgerState::Lost { .. } | LedgerState::Unread(_) => open("the ledger cannot be believed"),
    }
}

/// The same as what the gate says.
fn waits(Obstacle { lasts, why }: Obstacle) -> Finding {
    match lasts {
        Lasts::Unread => Finding::new(Gate::Approvals, Verdict::Unknown, why),
        Lasts::Unlisted | Lasts::Pending | Lasts::Failed | Lasts::Outside | Lasts::Refused => {
            Finding::wait(Gate::Approvals, why)
        }
    }
}

/// Whether the hub would refuse an ordinary merge for want of a review.
pub(crate) fn review_missing(pull: &Pull) -> bool {
    match pull.review_decision {
        ReviewDecision::Required | ReviewDecision::ChangesRequested => true,
        ReviewDecision::NotRequired | ReviewDecision::Approved => false,
    }
}

/// Who asked for changes and has not taken it back, whatever commit it was about: people, Apps, and who is
/// not there any more. Rights that could not be read count here: an objection is never overlooked.
pub(crate) fn objections(pull: &Pull) -> Vec<Person> {
    let status = latest(pull);
    status
        .into_values()
        .filter(|review| review.verdict == ReviewVerdict::ChangesRequested)
        .filter(|review| review.may_write != Read::Known(false))
        .map(|review| review.by.clone())
        .collect()
}

/// The last word of each reviewer; a mere comment takes nothing back.
fn latest(pull: &Pull) -> BTreeMap<&Person, &Review> {
    let mut latest = BTreeMap::new();
    for review in pull.reviews.iter().filter(|review| review.verdict != ReviewVerdict::Commented) {
        latest.insert(&review.by, review);
    }
    latest
}

fn automatic(facts: &Facts<'_>, pull: &Pull) -> Finding {
    match barred(facts, pull) {
        Some(obstacle) => waits(obstacle),
        None => Finding::pass(Gate::Approvals, Reason::ApprovalNotAsked),
    }
}

fn approved(facts: &Facts<'_>, tier: &Tier, wave: &Wave, pull: &Pull) -> Finding {
    let given = |others| Given { yes: valid(facts, wave, pull), others, more: 0 };
    let with_inherited = || counted(facts, tier, wave, pull, given(inherited(facts, tier, wave)));
    let Some(why) = open_ledger(facts) else { return with_inherited() };
    // Only the ledger says for which release a pull request was approved; whoever may write could say so there.
    let own = counted(facts, tier, wave, pull, given(Vec::new()));
    if own.verdict != Verdict::Pass && with_inherited().verdict == Verdict::Pass {
        waits(Obstacle::refused(why))
    } else {
        own
    }
}

/// Whose yes counts.
struct Given {
    /// Given on this pull request.
    yes: Vec<Person>,
    /// Given elsewhere.
    others: Vec<Inherited>,
    /// How many have to say yes beyond what the tier asks for.
    more: u32,
}

impl Given {
    /// To what people added to a commit of the bot. Git does not tell who pushed it, and their own yes is one of them: two
    /// have to say it, and one more where the tier asks for more. What was said elsewhere was about other content.
    fn to_what_was_added(facts: &Facts<'_>, pull: &Pull) -> Self {
        let about_it = |review: &Review| review.commit == pull.head;
        Self { yes: said_yes(facts, pull, about_it), others: Vec::new(), more: 1 }
    }
}

fn counted(facts: &Facts<'_>, tier: &Tier, wave: &Wave, pull: &Pull, given: Given) -> Finding {
    let Given { mut yes, others, more } = given;
    let inherited = !others.is_empty();
    let mut tiers: Vec<TierName> = Vec::new();
    for (by, given_on) in others.into_iter().filter(|(by, _)| !yes.contains(by)).collect::<Vec<_>>() {
        yes.push(by);
        tiers.extend(given_on);
    }
    tiers.dedup();
    let mut owners: Vec<String> = Vec::new();
    if tier.approvals.code_owners {
        let owned = match &pull.owned {
            Read::Known(owned) => owned,
            Read::Unread(why) => return Finding::unread(Gate::Approvals, "the code owners", why),
        };
        let mine = owned.iter().filter(|path| slice::concerns(facts, tier, wave, &path.path));
        for path in mine.filter(|path| !yes.iter().any(|person| path.people.contains(person))) {
            owners.extend(path.owners.iter().filter(|owner| !owners.contains(owner)).cloned().collect::<Vec<_>>());
        }
    }
    let of_team = match (&tier.approvals.team, &pull.team) {
        (None, _) => yes.len(),
        (Some(_), Read::Known(members)) => yes.iter().filter(|person| members.contains(person)).count(),
        (Some(team), Read::Unread(why)) => {
            return Finding::unread(Gate::Approvals, &format!("the members of {team}"), why);
        }
    };
    let count = |people: usize| u32::try_from(people).unwrap_or(u32::MAX);
    let mut missing = tier.approvals.at_least.saturating_sub(count(of_team));
    if more > 0 {
        missing = missing.max((tier.approvals.at_least.max(1) + more).saturating_sub(count(yes.len())));
    }
    if let Some(team) = tier.approvals.team.clone().filter(|_| missing > 0) {
        return Finding::wait(Gate::Approvals, Reason::NeedsTeam { team, missing, owners });
    }
    if !owners.is_empty() || (missing == 0 && !inherited && review_missing(pull)) {
        missing = missing.max(1);
    }
    // A person asks the hub for what was added to.
    if let Some(obstacle) = barred(facts, pull).filter(|_| missing == 0 && more == 0) {
        // What was inherited suffices here; the hub counts only what is said on this pull request.
        return waits(obstacle);
    }
    if missing == 0 && !tiers.is_empty() {
        return Finding::pass(Gate::Approvals, Reason::Covered { by: yes, tiers });
    }
    if missing == 0 {
        return Finding::pass(Gate::Approvals, Reason::Approved { by: yes });
    }
    if owners.is_empty() && tier.approvals.code_owners {
        owners = everybody(pull);
    }
    Finding::wait(Gate::Approvals, Reason::NeedsApproval { owners, missing })
}

/// The owners to name when their approval is there but more are asked for.
fn everybody(pull: &Pull) -> Vec<String> {
    let mut owners: Vec<String> = Vec::new();
    for path in pull.owned.known().into_iter().flatten() {
        owners.extend(path.owners.iter().filter(|owner| !owners.contains(owner)).cloned().collect::<Vec<_>>());
    }
    owners
}

/// People whose approval counts for the head as it is.
pub(crate) fn valid(facts: &Facts<'_>, wave: &Wave, pull: &Pull) -> Vec<Person> {
    let slack = facts.snapshot.hub.skew.abs().as_secs(); // beside that, the hub's times have whole seconds
    let about_it = |review: &Review| {
        about::same(facts, wave, pull)
            .any(|head| head.commit == review.commit && review.at.as_second() + slack >= head.at.as_second())
    };
    said_yes(facts, pull, about_it)
}

/// People whose last word is an approval about the right commit.
fn said_yes(facts: &Facts<'_>, pull: &Pull, about_it: impl Fn(&Review) -> bool) -> Vec<Person> {
    let by_people = |review: &&Review| review.human && review.by != facts.snapshot.hub.bot;
    latest(pull)
        .into_values()
        .filter(|review| review.verdict == ReviewVerdict::Approved && review.may_write == Read::Known(true))
        .filter(by_people)
        .filter(|review| about_it(review))
        .map(|review| review.by.clone())
        .collect()
}

#[cfg(test)]
mod tests;
