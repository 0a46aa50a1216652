//! Approvals that another tier's pull request carries over (`approvals.covers`): of the same release with
//! the same digest, given for what was merged there, by people who still may. Whether they suffice
//! here is asked in `approvals`; health still gates each tier.

use alloc::vec::Vec;

use super::approvals::{objections, valid};
use crate::facts::Facts;
use crate::ledger::{Purpose, Wave};
use crate::model::{Each, Tier};
use crate::proof::own_pull;
use crate::snapshot::PullState;
use crate::{Person, TierName};

/// Whose approvals count here too, and on which tier each was given.
pub(crate) fn covering(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Vec<(Person, TierName)> {
    if wave.digest.is_none() || wave.part.purpose != Purpose::Promotion {
        return Vec::new();
    }
    let below = facts.policy.tiers.iter().take_while(|other| other.name != tier.name);
    let covering = below.filter(|other| other.approvals.covers.contains(&tier.name));
    covering.flat_map(|other| given(facts, other, wave).into_iter().map(|by| (by, other.name.clone()))).collect()
}

/// The approvals on the merged pull requests of the same release on another tier. A standing request
/// for changes there voids them, as it would here.
fn given(facts: &Facts<'_>, other: &Tier, wave: &Wave) -> Vec<Person> {
    let same = |there: &&Wave| {
        there.version == wave.version && there.digest == wave.digest && there.part.purpose == Purpose::Promotion
    };
    let mut waves = facts.page.tiers.get(&other.name).into_iter().flatten();
    let Some(last) = waves.rfind(same).filter(|there| there.landed().is_some()) else {
        return Vec::new();
    };
    let mut slices = facts.page.landed_with(&other.name, last);
    match other.approvals.each {
        Each::Tier => {}
        // Each slice asks anew there: only the last yes is one for all of it.
        Each::Slice => slices = slices.into_iter().next_back().into_iter().collect(),
    }
    let pulls = facts.pulls(&other.name).unwrap_or_default();
    let mut given: Vec<Person> = Vec::new();
    for (there, pull) in slices.into_iter().filter_map(|there| Some((there, own_pull(there, &pulls)?))) {
        if !objections(pull).is_empty() {
            return Vec::new();
        }
        // What somebody brought to the base branch by hand, while its pull request was closed, nobody
        // approved: who did may have known more, or less, than those who said yes.
        if !matches!(pull.state, PullState::Merged { .. }) {
            continue;
        }
        given.extend(valid(facts, there, pull).into_iter().filter(|by| !given.contains(by)).collect::<Vec<_>>());
    }
    given
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use crate::plan::{Action, Gate, Identity, Verdict};
    use crate::snapshot::{
        LedgerGuard, LedgerState, Pull, PullState, Read, Review, ReviewDecision, ReviewVerdict, Snapshot,
    };
    use crate::testing::*;
    use crate::{PullNumber, Reason};
    use alloc::string::ToString;
    use alloc::vec;

    /// Approved on qa, which covers bronze; nobody has said anything on bronze.
    fn covered() -> Snapshot {
        let mut world = ready();
        world.policy.plugins[0].tiers[0].approvals.covers = vec!["qa".into(), "bronze".into()];
        edit(&mut world, |pull| {
            pull.reviews.clear();
            pull.review_decision = ReviewDecision::NotRequired;
        });
        let review = Review { at: ago(695), commit: "bbbbbbbbbb".into(), ..approval("maria") };
        let below = Pull {
            number: PullNumber(3),
            tier: "qa".into(),
            state: PullState::Merged { at: ago(690), by: BOT.into(), commit: "dd".into() },
            head: "bbbbbbbbbb".into(),
            opened_at: ago(699),
            reviews: vec![review],
            ..pull()
        };
        if let Read::Known(pulls) = &mut facts(&mut world).pulls {
            pulls.push(below);
        }
        world
    }

    /// Whoever may write could say on the ledger that an approval was for this release.
    fn open(world: &mut Snapshot) {
        world.ledger_state = LedgerState::Intact { guarded: LedgerGuard::Open("a plain token".into()) };
    }

    fn below(world: &mut Snapshot) -> &mut Pull {
        match &mut facts(world).pulls {
            Read::Known(pulls) => &mut pulls[1],
            Read::Unread(_) => unreachable!(),
        }
    }

    fn wave<'a>(world: &'a mut Snapshot, tier: &str) -> &'a mut crate::ledger::Wave {
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        page.tiers.get_mut(&tier.into()).unwrap().last_mut().unwrap()
    }

    #[test]
    fn one_approval_covers_the_tiers_that_are_named() {
        table(
            Gate::Approvals,
            covered,
            &[
                ("named", |_| {}, Verdict::Pass, "approved by maria, with what was given on qa"),
                (
                    "not named",
                    |w| w.policy.plugins[0].tiers[0].approvals.covers = vec!["qa".into()],
                    WAIT,
                    "waits for an approval",
                ),
                (
                    "of another head",
                    |w| below(w).reviews[0].commit = "eeeeeeeeee".into(),
                    WAIT,
                    "waits for an approval",
                ),
                (
                    "brought there by hand, and its pull request closed",
                    |w| below(w).state = PullState::Closed { at: ago(690), by: Some(BOT.into()) },
                    WAIT,
                    "waits for an approval",
                ),
                ("taken back", |w| below(w).reviews[0].verdict = ReviewVerdict::Dismissed, WAIT, "waits for"),
                ("who may not any more", |w| below(w).reviews[0].may_write = Read::Known(false), WAIT, "waits for"),
                ("another digest", |w| wave(w, "qa").digest = Some("sha256:22".into()), WAIT, "waits for an approval"),
                (
                    "no digest to compare",
                    |w| {
                        wave(w, "qa").digest = None;
                        wave(w, "bronze").digest = None;
                    },
                    WAIT,
                    "waits for an approval",
                ),
                (
                    "somebody objected there since",
                    |w| {
                        let change = Review { verdict: ReviewVerdict::ChangesRequested, ..approval("noor") };
                        below(w).reviews.push(change);
                    },
                    WAIT,
                    "waits for an approval",
                ),
                (
                    "somebody objects here",
                    |w| {
                        edit(w, |pull| {
                            pull.reviews = vec![Review { verdict: ReviewVerdict::ChangesRequested, ..approval("noor") }]
                        })
                    },
                    WAIT,
                    "noor requested changes",
                ),
                ("no owner here", |w| below(w).reviews[0].by = "eve".into(), WAIT, "waits for an approval by @acme"),
                ("two are asked for", |w| bronze(w).approvals.at_least = 2, WAIT, "waits for an approval"),
                (
                    "others can write the ledger",
                    open,
                    WAIT,
                    "nothing is forced, no branch rule is passed and no approval carried",
                ),
                (
                    "others can write it, and somebody approves here",
                    |w| {
                        open(w);
                        edit(w, |pull| pull.reviews = vec![approval("noor")]);
                    },
                    Verdict::Pass,
                    "approved by noor",
                ),
                (
                    "others can write it, and what is lent would not do",
                    |w| {
                        open(w);
                        bronze(w).approvals.at_least = 2;
                    },
                    WAIT,
                    "waits for 2 approvals",
                ),
                (
                    "two are asked for, one here and one there",
                    |w| {
                        bronze(w).approvals.at_least = 2;
                        edit(w, |pull| pull.reviews = vec![approval("noor")]);
                    },
                    Verdict::Pass,
                    "approved by noor, maria, with what was given on qa",
                ),
            ],
        );
    }

    /// A review that branch rules ask for on this very pull request needs the second App.
    #[test]
    fn branch_rules_that_ask_for_a_review_here_are_passed_by_the_second_app_only() {
        let asked = |bypass| {
            let mut world = covered();
            edit(&mut world, |pull| pull.review_decision = ReviewDecision::Required);
            world.hub.bypass = bypass;
            world
        };
        let via = crate::plan(&asked(true), noon()).actions.iter().find_map(|action| match action {
            Action::Merge { via, forced: None, .. } => Some(*via),
            _ => None,
        });
        assert_eq!(via, Some(Identity::Bypass));
        let finding = says(&asked(false), Gate::Approvals);
        assert_eq!((finding.verdict, finding.because.to_string()), (WAIT, Reason::BypassMissing.to_string()));
    }
}
