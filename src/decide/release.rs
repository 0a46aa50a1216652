//! Which releases may climb: accepted by the policy, not stopped, not refused. Which of them a tier
//! takes next is in `conveyor`, when its pull request may merge in `gate`.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::desk::Desk;
use crate::model::{Empty, Tier};
use crate::snapshot::{Cluster, CommandKind, PullState, Read, Release};
use crate::{Digest, Reason, Version, rollback};

/// Why a version must not climb (further) on this tier; none when it may.
pub(crate) fn stopped(desk: &Desk<'_>, rung: usize, version: &Version) -> Option<Reason> {
    unaccepted(desk, rung, version).or_else(|| held(desk, version)).or_else(|| rejected(desk, rung, version))
}

/// Why the policy or the source refuses a version on this tier.
pub(crate) fn unaccepted(desk: &Desk<'_>, rung: usize, version: &Version) -> Option<Reason> {
    let tier = desk.policy.tiers.get(rung)?;
    let constraints = [desk.policy.constraint.as_ref(), tier.constraint.as_ref()];
    if let Some(constraint) = constraints.into_iter().flatten().find(|constraint| !constraint.allows(version)) {
        return Some(Reason::OutsideConstraint { constraint: constraint.as_str().to_string() });
    }
    if version.is_prerelease() && constraints.iter().all(Option::is_none) {
        return Some(Reason::OutsideConstraint { constraint: "no pre-releases".to_string() });
    }
    let release = match find(desk, version) {
        Ok(release) => release,
        Err(why) => return Some(*why),
    };
    let pinned = desk.page.seen(version).and_then(|seen| seen.digest.clone());
    match (pinned, release.digest.clone()) {
        (Some(pinned), Some(found)) if pinned != found => {
            Some(Reason::DigestChanged { version: version.clone(), pinned, found })
        }
        _ => None,
    }
}

pub(crate) fn find<'a>(desk: &Desk<'a>, version: &Version) -> Result<&'a Release, Box<Reason>> {
    let unread = |what: String, why: &str| Box::new(Reason::Unread { what, why: why.to_string() });
    let releases = desk.releases().map_err(|why| unread("the list of releases".to_string(), why))?;
    let found = releases.iter().find(|release| release.version == *version);
    found.ok_or_else(|| unread(alloc::format!("release {version}"), "the source does not list it"))
}

/// A release that failed on any tier climbs no further anywhere; one that stalls there not until all
/// are healthy on it.
pub(crate) fn held(desk: &Desk<'_>, version: &Version) -> Option<Reason> {
    desk.policy.tiers.iter().find_map(|tier| {
        let wave = desk.page.wave(&tier.name, version)?;
        let failed = wave.failed.as_ref().or(wave.stalled.as_ref())?;
        Some(Reason::ReleaseHeld { version: version.clone(), tier: tier.name.clone(), why: failed.why.clone().into() })
    })
}

/// Somebody says on one of its pull requests that a release has failed, and whether they may could not
/// be read: nothing more is done with it until that is known.
pub(crate) fn doubted<'a>(desk: &Desk<'a>, version: &Version) -> Option<&'a str> {
    let pulls = desk.facts?.pulls.known()?;
    let of_release = pulls.iter().filter(|pull| pull.version.as_ref() == Some(version));
    of_release.flat_map(|pull| &pull.commands).find_map(|command| match (&command.what, &command.allowed) {
        (CommandKind::Fail { .. }, Read::Unread(why)) => Some(why.as_str()),
        _ => None,
    })
}

/// A person's no on this tier or one below.
pub(crate) fn rejected(desk: &Desk<'_>, rung: usize, version: &Version) -> Option<Reason> {
    desk.policy
        .tiers
        .iter()
        .take(rung + 1)
        .find_map(|tier| noes(desk, tier).into_iter().find(|(said_no_to, _)| said_no_to == version).map(|(_, why)| why))
}

/// Every no on a tier: as the ledger has it, and as the hub shows it (the ledger may have been
/// lost). A closing by the bot itself is no no.
pub(crate) fn noes(desk: &Desk<'_>, tier: &Tier) -> Vec<(Version, Reason)> {
    let mut noes = Vec::new();
    for wave in desk.page.tiers.get(&tier.name).into_iter().flatten() {
        if let Some(no) = wave.rejected.as_ref().filter(|_| rollback::of(wave).is_none()) {
            noes.push((wave.version.clone(), Reason::Rejected { by: no.by.clone(), pull: no.pull }));
        }
    }
    for pull in desk.pulls(&tier.name).unwrap_or_default() {
        if let (PullState::Closed { by, .. }, Some(version)) = (&pull.state, &pull.version)
            && by.as_ref() != Some(&desk.snapshot.hub.bot)
            && !rollback::was(desk, &tier.name, pull.number)
        {
            noes.push((version.clone(), Reason::Rejected { by: by.clone(), pull: pull.number }));
        }
    }
    noes
}

/// Versions that have finished a tier and were not found wanting afterwards.
pub(crate) fn finished(desk: &Desk<'_>, rung: usize) -> Vec<Version> {
    let Some(tier) = desk.policy.tiers.get(rung) else { return Vec::new() };
    if is_passed(desk, tier) {
        let accepted = |release: &&Release| unaccepted(desk, rung, &release.version).is_none();
        return match rung.checked_sub(1) {
            Some(below) => finished(desk, below),
            None => {
                let releases = desk.releases().unwrap_or_default().iter().filter(accepted);
                releases.map(|release| release.version.clone()).collect()
            }
        };
    }
    let waves = desk.page.tiers.get(&tier.name).into_iter().flatten();
    waves.filter(|wave| wave.finished.is_some() && wave.failed.is_none()).map(|wave| wave.version.clone()).collect()
}

/// Whether releases pass a tier as if they had finished it: it has no cluster at all, and the policy
/// says so. A tier that only has pinned clusters has some.
pub(crate) fn is_passed(desk: &Desk<'_>, tier: &Tier) -> bool {
    let nobody = |clusters: &Vec<Cluster>| !clusters.iter().any(|cluster| tier.select.matches(&cluster.labels));
    match tier.empty {
        Empty::Error => false,
        Empty::Pass => desk.snapshot.clusters.known().is_some_and(nobody),
    }
}

/// Whether a version has finished a tier.
pub(crate) fn has_finished(desk: &Desk<'_>, rung: usize, version: &Version) -> bool {
    finished(desk, rung).contains(version)
}

/// The digest that was pinned for a version.
pub(crate) fn pinned(desk: &Desk<'_>, version: &Version) -> Option<Digest> {
    desk.page.seen(version).and_then(|seen| seen.digest.clone())
}
