//! What the base branch proves, cluster by cluster: our version has landed, somebody put another one
//! there, somebody took it off again. What clusters make of it is in `member`.

use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use crate::clusters::Finder;
use crate::facts::{Base, Facts, Noted};
use crate::ledger::{Change, Failed, Landed, State, Superseded, Wave};
use crate::model::Tier;
use crate::plan::Alarm;
use crate::proof::own_pull;
use crate::slice::{self, Astray};
use crate::snapshot::PullState;
use crate::{ClusterName, Reason, Version, proof, rollback};

/// What a tier runs wherever anything is installed.
fn alike(base: &Base) -> Option<&Version> {
    match base {
        Base::Uniform(running) => Some(running),
        Base::Mixed { lowest, highest } if lowest == highest => Some(highest),
        Base::Mixed { .. } | Base::Unread(_) | Base::Empty => None,
    }
}

/// Waves whose version stands on the places of all their clusters.
pub(crate) fn arrivals(facts: &Facts<'_>, tier: &Tier) -> Vec<Noted> {
    let pulls = facts.pulls(&tier.name).unwrap_or_default();
    let arrived = |wave: &&Wave| {
        let awaited = own_pull(wave, &pulls).is_some_and(|pull| proof::is_awaited(wave, pull));
        !awaited && slice::is_there(facts, tier, wave)
    };
    let present = facts.page.present(&tier.name, |wave| wave.landed().is_none()).filter(arrived);
    present.map(|wave| Noted::new(&wave.version, Change::Landed(landing(facts, tier, wave)))).collect()
}

/// Landed waves that somebody overtook or took back.
pub(crate) fn departures(facts: &Facts<'_>, tier: &Tier) -> Vec<Noted> {
    // What is over has been taken back only where something older stands.
    let stands = facts.everywhere(&tier.name).filter(|_| !tier.follows);
    let passed = |wave: &Wave| wave.is_over() && stands.as_ref().is_some_and(|stands| *stands >= wave.version);
    let begun = |wave: &Wave| {
        let begun = match wave.state() {
            State::Landed(_) | State::LandedAnyway(_) | State::Overtaken(_) => true,
            State::Open => wave.part.slice > 0,
            State::Finished(_) => wave.landed().is_some() || wave.part.slice > 0,
            State::Closed(_) => wave.may_come_again(),
            State::Failed(_) => false,
        };
        begun && !passed(wave)
    };
    let gone = |wave: &Wave| match slice::astray(facts, tier, wave)? {
        // We did: a rollback of ours has landed.
        Astray::Back(to) if to.iter().all(|to| rollback::explains(facts, &tier.name, to, &wave.version)) => None,
        Astray::Back(_) => {
            let why = Reason::Reverted { version: wave.version.clone() };
            Some(Noted::new(&wave.version, Change::Failed(Failed { at: facts.now, why })))
        }
        Astray::Past(by) if matches!(wave.state(), State::Landed(_)) => {
            Some(Noted::new(&wave.version, Change::Superseded(Superseded { at: facts.now, by })))
        }
        Astray::Past(_) => None,
    };
    facts.page.present(&tier.name, begun).filter_map(gone).collect()
}

/// For so long the hub may show a pull request as merged before git shows what came of it.
const LAG: SignedDuration = SignedDuration::from_mins(10);

/// A pull request that the hub has shown as merged for a while, though the base branch does not hold
/// its version: somebody took it off again before we looked. Before that, when to look again.
pub(crate) fn merged_and_gone(facts: &Facts<'_>, tier: &Tier) -> (Option<Noted>, Option<Alarm>) {
    let Some((wave, at)) = merged_and_absent(facts, tier) else { return (None, None) };
    let why = Reason::Reverted { version: wave.version.clone() };
    let gone = || Noted::new(&wave.version, Change::Failed(Failed { at: facts.now, why }));
    ((facts.now >= at + LAG).then(gone), facts.alarm(at + LAG, Reason::LookAgain))
}

/// The wave of a tier whose pull request was merged, and when, where the base branch does not hold its version.
fn merged_and_absent<'a>(facts: &'a Facts<'_>, tier: &Tier) -> Option<(&'a Wave, Timestamp)> {
    let wave = facts.page.climbing(&tier.name)?;
    // Of whom everybody has left nothing can be seen on the base branch.
    let own = facts.still(tier, &wave.own());
    let unseen = match facts.base(&tier.name) {
        Base::Unread(_) => true,
        Base::Empty => !facts.sees(&tier.name, &own),
        Base::Uniform(_) | Base::Mixed { .. } => false,
    };
    if own.is_empty() || unseen || slice::is_there(facts, tier, wave) {
        return None;
    }
    let pulls = facts.pulls(&tier.name).unwrap_or_default();
    let PullState::Merged { at, .. } = &own_pull(wave, &pulls)?.state else { return None };
    Some((wave, *at))
}

/// When and by whom a wave landed: as its merged pull request says, else as of this look.
fn landing(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Landed {
    let pulls = facts.pulls(&tier.name).unwrap_or_default();
    match own_pull(wave, &pulls).map(|pull| &pull.state) {
        Some(PullState::Merged { at, by, commit }) => {
            Landed { at: *at, commit: Some(commit.clone()), by: Some(by.clone()) }
        }
        Some(PullState::Open | PullState::Closed { .. }) | None => Landed { at: facts.now, commit: None, by: None },
    }
}

/// A version on the base branch that nobody recorded counts as landed now (house rule 3), and so does one of
/// which everybody has left before it finished, for those who are there in their place. From here on it is
/// spelled as its release is: whoever says that it runs may have added metadata, or left out the `v`.
pub(crate) fn adopted(facts: &Facts<'_>, tier: &Tier) -> Option<Noted> {
    let base = facts.base(&tier.name);
    let running = alike(&base)?;
    if facts.page.wave(&tier.name, running).is_some_and(|wave| !wave.is_deserted()) {
        return None;
    }
    // Members are fixed now: not while it is open whose some of them are.
    if facts.in_two_tiers(tier).is_some() {
        return None;
    }
    // A tier that is empty, or of which every cluster is pinned, waits for the first one that is not.
    let selected = facts.selected(tier)?;
    // Who has nothing installed yet runs nothing.
    let vacant = facts.places(&tier.name).into_iter().filter(|place| place.vacant);
    let vacant: Vec<ClusterName> = vacant.filter_map(|place| place.cluster.clone()).collect();
    let mut vacant = Finder::new(&vacant);
    let members: Vec<ClusterName> = selected.iter().filter(|name| !vacant.has(name)).cloned().collect();
    if members.is_empty() {
        return None;
    }
    let seen = facts.page.seen(running);
    let digest = seen.and_then(|seen| seen.digest.clone());
    let version = seen.map_or_else(|| running.clone(), |seen| seen.version.clone());
    let landed = Landed { at: facts.now, commit: None, by: None };
    Some(Noted::new(&version, Change::Found { members, digest, landed }))
}

#[cfg(test)]
mod tests;
