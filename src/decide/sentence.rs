//! The sentence of an entry: what a person reads in the history of the ledger branch. `{}` is the
//! short form for a headline, `{:#}` adds times and reasons. Which entries there are is `ledger`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use jiff::Timestamp;

use crate::ledger::{Change, Entry, ForceEvidence, Grace, Labelled, Landed, Part, Purpose, Refusal};
use crate::reason::spell;
use crate::{Digest, Reason, Version};

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seen { plugin, seen } => {
                write!(f, "{plugin} {}: first seen", seen.version)?;
                if f.alternate() {
                    write!(f, " at {:.0}{}", seen.first_seen, with(seen.digest.as_ref()))?;
                }
                Ok(())
            }
            Self::Wave { plugin, tier, version, change } => {
                write!(f, "{plugin} {version} on {tier}: ")?;
                change.fmt(f)
            }
            Self::Outage(outage) => {
                write!(f, "the hub was out of reach for {}", spell(outage.from.duration_until(outage.to)))?;
                if f.alternate() {
                    write!(f, ", from {:.0} to {:.0}; grace periods stood still", outage.from, outage.to)?;
                }
                Ok(())
            }
            Self::Frozen(frozen) => {
                let scope = match (&frozen.plugin, &frozen.tier) {
                    (Some(plugin), _) => plugin.to_string(),
                    (None, Some(tier)) => format!("tier {tier}"),
                    (None, None) => "everything".to_string(),
                };
                write!(f, "{scope} frozen by {}", frozen.by)?;
                if f.alternate() {
                    let until = frozen.until.map(|until| format!(", until {until:.0}")).unwrap_or_default();
                    write!(f, " on {} at {:.0}{until}", frozen.pull, frozen.at)?;
                }
                Ok(())
            }
            Self::Thawed(thawed) => {
                write!(f, "the freeze by {} lifted by {}", thawed.by, thawed.lifted.by)?;
                if f.alternate() {
                    write!(f, " at {:.0}; it was set on {} at {:.0}", thawed.lifted.at, thawed.pull, thawed.at)?;
                }
                Ok(())
            }
            Self::Hotfix { plugin, said } => {
                write!(f, "{plugin} {}: made a hotfix by {}", said.hotfix.version, said.by)?;
                if f.alternate() {
                    let soak = said.hotfix.soak.map(|soak| format!(", with a soak of {}", spell(soak)));
                    let through = if said.hotfix.through_windows { ", through windows" } else { "" };
                    write!(f, " on {} at {:.0}{}{through}", said.pull, said.at, soak.unwrap_or_default())?;
                }
                Ok(())
            }
            Self::Labelled { plugin, labelled: Labelled { pull, tier, version, at } } => {
                write!(f, "{plugin} {version}: kept from the tiers above {tier} by a label")?;
                if f.alternate() { write!(f, " on {pull}, seen at {at:.0}") } else { Ok(()) }
            }
            Self::Unlabelled { plugin, pull } => write!(f, "{plugin}: the label is off {pull}"),
            Self::Stopped(stop) => {
                write!(f, "everything stops: {} did not land as planned", stop.pull)?;
                if f.alternate() {
                    write!(f, ", head {}, found out at {:.0}", stop.head.short(), stop.at)?;
                }
                Ok(())
            }
            Self::Rebuilt(rebuild) => {
                write!(f, "what became of {} settled by {}", rebuild.cited.short(), rebuild.by)?;
                if f.alternate() {
                    write!(f, " on {} at {:.0}", rebuild.pull, rebuild.at)?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())?;
        if f.alternate() { f.write_str(&self.detail()) } else { Ok(()) }
    }
}

impl Change {
    fn headline(&self) -> String {
        match self {
            Self::Found { .. } => "found on the base branch, which nobody had recorded".to_string(),
            Self::Intent { part: Part { purpose: Purpose::RollBack { of }, .. }, .. } => {
                format!("about to be proposed as the rollback of {of}")
            }
            Self::Intent { from, part, .. } => {
                let place = from.as_ref().map(|from| format!("in place of {from}"));
                let place = place.unwrap_or_else(|| "for the first time".to_string());
                format!("{}about to be proposed {place}", portion(part))
            }
            Self::Announced(announced) => format!("pull request {} is open", announced.number),
            Self::Shown(head) => format!("its pull request holds {}", head.commit.short()),
            Self::Grace(Grace { giving: Some(giving), .. }) => {
                format!("about to give notice, {} before the deadline", spell(giving.before))
            }
            Self::Grace(grace) => {
                format!("merges without the missing approvals after {:.0}, unless somebody says no", grace.deadline)
            }
            Self::GraceEnded => "no grace period any more".to_string(),
            Self::Merging(merging) if merging.forced.is_some() => "about to be merged by force".to_string(),
            Self::Merging(_) => "about to be merged".to_string(),
            Self::Refused { kind, .. } => match kind {
                Refusal::No => "not merged by the hub".to_string(),
                Refusal::Flawed => "not merged, its commit is to be written anew".to_string(),
                Refusal::Unanswered => "not merged, as far as can be seen: the hub did not answer".to_string(),
                Refusal::FalseYes => "not merged, though the hub said so".to_string(),
            },
            Self::Left { clusters: gone } => format!("{} left the tier", clusters(gone.len())),
            Self::Landed(_) => "landed".to_string(),
            Self::Converged(_) => "every cluster is healthy on it".to_string(),
            Self::Dispatching(_) => "about to be verified by a workflow".to_string(),
            Self::Verified { .. } => "verified by a workflow".to_string(),
            Self::Soaked(soaked) => format!("healthy for {}", spell(soaked.healthy_for)),
            Self::LetThrough(_) => "let through though not all were healthy for the whole soak".to_string(),
            Self::Finished(_) => "finished".to_string(),
            Self::Stalled(_) => "failed, and nothing new starts until all are healthy on it".to_string(),
            Self::Resumed(_) => "all are healthy on it again, the soak begins anew".to_string(),
            Self::Failed(_) => "failed".to_string(),
            Self::Rejected(rejected) => {
                format!("{} closed {}, which says no", who(rejected.by.as_ref()), rejected.pull)
            }
            Self::Superseded(superseded) => format!("{} takes its place", superseded.by),
            Self::Withdrawn(withdrawn) => format!("taken back: {}", plain(&withdrawn.why)),
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::Found { members, digest, landed } => {
                format!("; {} {}{}", clusters(members.len()), since(landed), with(digest.as_ref()))
            }
            Self::Intent { digest, members, head, .. } => {
                let at = head.at;
                format!(
                    "; {}, commit {} written at {at:.0}{}",
                    clusters(members.len()),
                    head.commit.short(),
                    with(digest.as_ref())
                )
            }
            Self::Announced(announced) => format!(" since {:.0}", announced.at),
            Self::Shown(head) => format!(" since {:.0}", head.at),
            Self::Grace(grace) => format!("; counted from {:.0}, {}", grace.since, notices(grace.notices.len())),
            Self::GraceEnded => "; the policy has none for it".to_string(),
            Self::Merging(merging) => {
                let why = merging.forced.as_ref().map(evidence).unwrap_or_default();
                format!(" at {:.0}, head {}{why}", merging.at, merging.head.short())
            }
            Self::Refused { head, at, .. } => format!(" at {at:.0}, head {}", head.short()),
            Self::Left { clusters } => {
                format!(": {}", clusters.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            }
            Self::Landed(landed) => format!(" {}", since(landed)),
            Self::Converged(at) | Self::Finished(at) | Self::Resumed(at) => format!(" at {at:.0}"),
            Self::Dispatching(verification) => format!(" at {:.0}, run {}", verification.at, verification.id),
            Self::Verified { id, at } => format!(" at {at:.0}, run {id}"),
            Self::Soaked(soaked) => {
                let still = if soaked.paused { ", standing still there" } else { "" };
                format!(", observed until {:.0}{still}", soaked.until)
            }
            Self::LetThrough(through) => {
                let (after, members) = (through.after, through.members.clone());
                format!(" at {:.0}: {}", through.at, plain(&Reason::SoakOverdue { after, members }))
            }
            Self::Failed(failed) | Self::Stalled(failed) => format!(" at {:.0}: {}", failed.at, plain(&failed.why)),
            Self::Rejected(rejected) => at(rejected.at),
            Self::Superseded(superseded) => at(superseded.at),
            Self::Withdrawn(withdrawn) => at(withdrawn.at),
        }
    }
}

fn portion(part: &Part) -> String {
    match part.purpose {
        Purpose::CatchUp => "for clusters that catch up ".to_string(),
        Purpose::Early => "for clusters ahead of their tier ".to_string(),
        Purpose::Promotion | Purpose::RollBack { .. } if part.slices() > 1 => {
            format!("slice {} of {} ", part.slice + 1, part.slices())
        }
        Purpose::Promotion | Purpose::RollBack { .. } => String::new(),
    }
}

fn at(at: Timestamp) -> String {
    format!(" at {at:.0}")
}

fn who(by: Option<&crate::Person>) -> String {
    by.map_or_else(|| "somebody".to_string(), ToString::to_string)
}

fn clusters(count: usize) -> String {
    if count == 1 { "1 cluster".to_string() } else { format!("{count} clusters") }
}

fn notices(count: usize) -> String {
    match count {
        0 => "no notice sent yet".to_string(),
        1 => "1 notice sent".to_string(),
        _ => format!("{count} notices sent"),
    }
}

fn with(digest: Option<&Digest>) -> String {
    digest.map(|digest| format!(", digest {digest}")).unwrap_or_default()
}

fn since(landed: &Landed) -> String {
    let commit = landed.commit.as_ref().map(|commit| format!(" by commit {}", commit.short())).unwrap_or_default();
    let by = landed.by.as_ref().map(|by| format!(", merged by {by}")).unwrap_or_default();
    format!("at {:.0}{commit}{by}", landed.at)
}

fn evidence(forced: &ForceEvidence) -> String {
    let told = notices(forced.notices.len());
    let why = match (&forced.said, forced.deadline) {
        (Some(said), _) => format!("{} said so at {:.0}", said.by, said.at),
        (None, Some(deadline)) => format!("the deadline {deadline:.0} passed, {told}"),
        (None, None) => told,
    };
    format!("; {why}; waived: {}; policy {}", forced.waived, forced.policy.short())
}

/// The reason in its one wording, but without what clusters said: a commit message carries no text
/// from outside. The ledger's page keeps it, as data.
fn plain(why: &Reason) -> String {
    let mut why = why.clone();
    hush(&mut why);
    why.to_string()
}

fn hush(why: &mut Reason) {
    if let Reason::MembersBehind { members }
    | Reason::MembersUnknown { members }
    | Reason::MembersFailed { members, .. }
    | Reason::SoakOverdue { members, .. }
    | Reason::PastProgressDeadline { members, .. } = why
    {
        for member in members {
            member.evidence.clear();
        }
    } else if let Reason::ReleaseHeld { why: inner, .. }
    | Reason::ForceBlocked { by: inner }
    | Reason::ForceWaits { why: inner, .. }
    | Reason::HealthLost { why: inner }
    | Reason::Stalled { why: inner }
    | Reason::RollsBack { why: inner, .. }
    | Reason::NoRollBack { why: inner } = why
    {
        hush(inner);
    } else if let Reason::FailedBy { why, .. } | Reason::MergeRefused { why, .. } | Reason::Stopped { why, .. } = why {
        why.clear();
    }
}

/// How much an entry matters to somebody who reads one line; the larger the more.
pub fn weight(entry: &Entry) -> u8 {
    match entry {
        Entry::Stopped(_) => 101,
        Entry::Rebuilt(_) => 100,
        Entry::Frozen(_) | Entry::Thawed(_) => 97,
        Entry::Hotfix { .. } | Entry::Labelled { .. } | Entry::Unlabelled { .. } => 93,
        Entry::Wave { change, .. } => match change {
            Change::Rejected(_) => 95,
            Change::Failed(_) | Change::Stalled(_) => 90,
            Change::Resumed(_) => 78,
            Change::Merging(merging) if merging.forced.is_some() => 85,
            Change::LetThrough(_) => 82,
            Change::Finished(_) => 80,
            Change::Landed(_) => 75,
            Change::Found { .. } => 70,
            Change::Merging(_) => 65,
            Change::Refused { .. } => 64,
            Change::Intent { .. } => 60,
            Change::Grace(_) => 55,
            Change::Announced(_) => 50,
            Change::Shown(_) => 48,
            Change::Withdrawn(_) => 88,
            Change::Superseded(_) => 45,
            Change::Verified { .. } => 42,
            Change::Converged(_) | Change::Dispatching(_) => 40,
            Change::Left { .. } => 38,
            Change::GraceEnded => 35,
            Change::Soaked(_) => 10,
        },
        Entry::Outage(_) => 30,
        Entry::Seen { .. } => 20,
    }
}

/// Whether two entries speak of the same moving thing, so that the later makes the earlier needless.
pub fn replaces(later: &Entry, earlier: &Entry) -> bool {
    let soak = |entry: &Entry| match entry {
        Entry::Wave { plugin, tier, version, change: Change::Soaked(_) } => {
            Some((plugin.clone(), tier.clone(), version.clone()))
        }
        Entry::Wave { .. }
        | Entry::Seen { .. }
        | Entry::Outage(_)
        | Entry::Rebuilt(_)
        | Entry::Stopped(_)
        | Entry::Frozen(_)
        | Entry::Thawed(_)
        | Entry::Hotfix { .. }
        | Entry::Labelled { .. }
        | Entry::Unlabelled { .. } => None,
    };
    let same = |(plugin, tier, version): (_, _, Version)| soak(earlier) == Some((plugin, tier, version));
    soak(later).is_some_and(same)
}

#[cfg(test)]
mod tests;
