//! The sentence of an entry: what a person reads in the history of the ledger branch. `{}` is the
//! short form for a headline, `{:#}` adds times and reasons. Which entries there are is `ledger`.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use jiff::Timestamp;

use crate::ledger::{Change, Entry, ForceEvidence, Landed, Part, Purpose};
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
            Self::Rebuilt(rebuild) => {
                write!(f, "lost ledger commit {} given up by {}", rebuild.cited.short(), rebuild.by)?;
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
            Self::Intent { from: Some(from), .. } => format!("about to be proposed in place of {from}"),
            Self::Intent { from: None, .. } => "about to be proposed for the first time".to_string(),
            Self::Announced(announced) => format!("pull request {} is open", announced.number),
            Self::Grace(grace) => {
                format!("merges without the missing approvals after {:.0}, unless somebody says no", grace.deadline)
            }
            Self::GraceEnded => "no grace period any more".to_string(),
            Self::Merging(merging) if merging.forced.is_some() => "about to be merged by force".to_string(),
            Self::Merging(_) => "about to be merged".to_string(),
            Self::Landed(_) => "landed".to_string(),
            Self::Converged(_) => "every cluster is healthy on it".to_string(),
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
            Self::Grace(grace) => format!("; counted from {:.0}, {}", grace.since, notices(grace.notices.len())),
            Self::GraceEnded => "; the policy has none for it".to_string(),
            Self::Merging(merging) => {
                let why = merging.forced.as_ref().map(evidence).unwrap_or_default();
                format!(" at {:.0}, head {}{why}", merging.at, merging.head.short())
            }
            Self::Landed(landed) => format!(" {}", since(landed)),
            Self::Converged(at) | Self::Finished(at) | Self::Resumed(at) => format!(" at {at:.0}"),
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
    format!(
        "; the deadline {:.0} passed, {}; waived: {}; policy {}",
        forced.deadline,
        notices(forced.notices.len()),
        forced.waived,
        forced.policy.short()
    )
}

/// The reason in its one wording, but without what clusters said: a commit message carries no text
/// from outside (design: invariant S24). The ledger's page keeps it, as data.
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
    | Reason::HealthLost { why: inner }
    | Reason::Stalled { why: inner }
    | Reason::RollsBack { why: inner, .. }
    | Reason::NoRollBack { why: inner } = why
    {
        hush(inner);
    } else if let Reason::FailedBy { why, .. } = why {
        why.clear();
    }
}

/// How much an entry matters to somebody who reads one line; the larger the more.
pub fn weight(entry: &Entry) -> u8 {
    match entry {
        Entry::Rebuilt(_) => 100,
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
            Change::Intent { .. } => 60,
            Change::Grace(_) => 55,
            Change::Announced(_) => 50,
            Change::Withdrawn(_) => 88,
            Change::Superseded(_) => 45,
            Change::Converged(_) => 40,
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
        Entry::Wave { .. } | Entry::Seen { .. } | Entry::Outage(_) | Entry::Rebuilt(_) => None,
    };
    let same = |(plugin, tier, version): (_, _, Version)| soak(earlier) == Some((plugin, tier, version));
    soak(later).is_some_and(same)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use alloc::vec;
    use alloc::vec::Vec;

    use jiff::SignedDuration;

    use super::*;
    use crate::ledger::{
        Announced, Failed, Grace, Head, LetThrough, Merging, Outage, Rebuild, Rejected, Seen, Soaked, Superseded,
    };
    use crate::reason::MemberTrouble;
    use crate::{ClusterName, PullNumber, Sha};

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    fn wave(change: Change) -> Entry {
        Entry::Wave { plugin: "cert-manager".into(), tier: "silver".into(), version: version("1.15.0"), change }
    }

    fn commit() -> Sha {
        Sha::new("abcdef0123".repeat(4))
    }

    #[test]
    fn every_entry_has_a_sentence() {
        let at: Timestamp = "2026-11-21T09:12:00.5Z".parse().unwrap();
        let hour = SignedDuration::from_hours(1);
        let members: Vec<ClusterName> = vec!["eu-1".into(), "eu-2".into()];
        let landed = Landed { at, commit: Some(commit()), by: Some("pat".into()) };
        let trouble = MemberTrouble {
            cluster: "eu-2".into(),
            what: "degraded".to_string(),
            evidence: "@everybody\nFixes #1".to_string(),
            since: None,
        };
        let why = Reason::MembersFailed { members: vec![trouble.clone()], tolerated: 0 };
        let forced = ForceEvidence {
            deadline: at,
            notices: vec![],
            held: vec![],
            waived: "1 approval".to_string(),
            policy: commit(),
        };
        let merging = |forced| Change::Merging(Merging { head: commit(), at, forced });
        let digest = Some(Digest::new("sha256:12"));
        let intent = |from| Change::Intent {
            from,
            digest: digest.clone(),
            part: crate::ledger::Part::default(),
            members: members.clone(),
            head: Head { commit: commit(), at },
        };
        let wave_cases = [
            (
                Change::Found { members: members.clone(), digest: None, landed: landed.clone() },
                "found on the base branch, which nobody had recorded",
                "; 2 clusters at 2026-11-21T09:12:00Z by commit abcdef0, merged by pat",
            ),
            (
                intent(Some(version("1.14.7"))),
                "about to be proposed in place of 1.14.7",
                "; 2 clusters, commit abcdef0 written at 2026-11-21T09:12:00Z, digest sha256:12",
            ),
            (
                Change::Intent {
                    from: Some(version("1.15.1")),
                    digest: None,
                    part: Part { purpose: Purpose::RollBack { of: version("1.15.1") }, ..Part::default() },
                    members: members.clone(),
                    head: Head { commit: commit(), at },
                },
                "about to be proposed as the rollback of 1.15.1",
                "; 2 clusters, commit abcdef0 written at 2026-11-21T09:12:00Z",
            ),
            (Change::Resumed(at), "all are healthy on it again, the soak begins anew", " at 2026-11-21T09:12:00Z"),
            (
                Change::Stalled(Failed { at, why: why.clone() }),
                "failed, and nothing new starts until all are healthy on it",
                " at 2026-11-21T09:12:00Z: eu-2 is degraded; 1 failed, 0 tolerated",
            ),
            (
                intent(None),
                "about to be proposed for the first time",
                "; 2 clusters, commit abcdef0 written at 2026-11-21T09:12:00Z, digest sha256:12",
            ),
            (
                Change::Announced(Announced { number: PullNumber(7), at }),
                "pull request #7 is open",
                " since 2026-11-21T09:12:00Z",
            ),
            (
                Change::Grace(Grace { since: at, deadline: at, notices: vec![] }),
                "merges without the missing approvals after 2026-11-21T09:12:00Z, unless somebody says no",
                "; counted from 2026-11-21T09:12:00Z, no notice sent yet",
            ),
            (Change::GraceEnded, "no grace period any more", "; the policy has none for it"),
            (merging(None), "about to be merged", " at 2026-11-21T09:12:00Z, head abcdef0"),
            (
                merging(Some(forced)),
                "about to be merged by force",
                " at 2026-11-21T09:12:00Z, head abcdef0; the deadline 2026-11-21T09:12:00Z passed, \
                 no notice sent yet; waived: 1 approval; policy abcdef0",
            ),
            (Change::Landed(landed), "landed", " at 2026-11-21T09:12:00Z by commit abcdef0, merged by pat"),
            (Change::Converged(at), "every cluster is healthy on it", " at 2026-11-21T09:12:00Z"),
            (
                Change::Soaked(Soaked { healthy_for: hour, until: at, paused: true, ailing: None, begun: None }),
                "healthy for 1 h",
                ", observed until 2026-11-21T09:12:00Z, standing still there",
            ),
            (
                Change::LetThrough(LetThrough {
                    at,
                    after: hour,
                    members: vec![MemberTrouble { what: "not read lately".to_string(), ..trouble.clone() }],
                }),
                "let through though not all were healthy for the whole soak",
                " at 2026-11-21T09:12:00Z: let through after 1 h without: eu-2 is not read lately",
            ),
            (Change::Finished(at), "finished", " at 2026-11-21T09:12:00Z"),
            (
                Change::Failed(Failed { at, why }),
                "failed",
                " at 2026-11-21T09:12:00Z: eu-2 is degraded; 1 failed, 0 tolerated",
            ),
            (
                Change::Failed(Failed { at, why: Reason::FailedBy { by: "pat".into(), why: "Fixes #1".into() } }),
                "failed",
                " at 2026-11-21T09:12:00Z: pat says that it failed",
            ),
            (
                Change::Rejected(Rejected { at, by: None, pull: PullNumber(7) }),
                "somebody closed #7, which says no",
                " at 2026-11-21T09:12:00Z",
            ),
            (
                Change::Superseded(Superseded { at, by: version("1.15.1") }),
                "1.15.1 takes its place",
                " at 2026-11-21T09:12:00Z",
            ),
        ];
        for (change, headline, detail) in wave_cases {
            let entry = wave(change);
            assert_eq!(entry.to_string(), format!("cert-manager 1.15.0 on silver: {headline}"));
            assert_eq!(format!("{entry:#}"), format!("cert-manager 1.15.0 on silver: {headline}{detail}"));
        }
        let seen = Seen { version: version("1.15.0"), digest, first_seen: at };
        let other_cases = [
            (
                Entry::Seen { plugin: "cert-manager".into(), seen },
                "cert-manager 1.15.0: first seen",
                " at 2026-11-21T09:12:00Z, digest sha256:12",
            ),
            (
                Entry::Outage(Outage { from: at, to: at + hour }),
                "the hub was out of reach for 1 h",
                ", from 2026-11-21T09:12:00Z to 2026-11-21T10:12:00Z; grace periods stood still",
            ),
            (
                Entry::Rebuilt(Rebuild { cited: commit(), by: "pat".into(), at, pull: PullNumber(7) }),
                "lost ledger commit abcdef0 given up by pat",
                " on #7 at 2026-11-21T09:12:00Z",
            ),
        ];
        for (entry, headline, detail) in other_cases {
            assert_eq!(entry.to_string(), headline);
            assert_eq!(format!("{entry:#}"), format!("{headline}{detail}"));
        }
    }

    #[test]
    fn a_later_soak_replaces_an_earlier_one_of_the_same_wave_only() {
        let at: Timestamp = "2026-11-21T09:12:00Z".parse().unwrap();
        let soak = |hours| {
            wave(Change::Soaked(Soaked {
                healthy_for: SignedDuration::from_hours(hours),
                until: at,
                paused: false,
                ailing: None,
                begun: None,
            }))
        };
        let mut other = soak(1);
        if let Entry::Wave { tier, .. } = &mut other {
            *tier = "gold".into();
        }
        assert!(replaces(&soak(2), &soak(1)));
        assert!(!replaces(&soak(2), &other));
        assert!(!replaces(&soak(2), &wave(Change::Finished(at))));
        assert!(!replaces(&wave(Change::Finished(at)), &wave(Change::Finished(at))));
    }
}
