//! Each entry with its headline and its details.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use alloc::vec;

use jiff::SignedDuration;

use super::*;
use crate::ledger::{
    Announced, Failed, Frozen, Grace, Head, LetThrough, Lifted, Merging, Outage, Rebuild, Rejected, Seen, Soaked,
    Superseded, Thawed,
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
        deadline: Some(at),
        said: None,
        notices: vec![],
        held: vec![],
        waived: "1 approval".to_string(),
        policy: commit(),
    };
    let merging = |forced| Change::Merging(Merging { head: commit(), at, base: None, forced });
    let digest = Some(Digest::new("sha256:12"));
    let intent = |from| Change::Intent {
        from,
        digest: digest.clone(),
        part: crate::ledger::Part::default(),
        members: members.clone(),
        head: Head { commit: commit(), at, repeats: false },
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
                head: Head { commit: commit(), at, repeats: false },
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
            Change::Grace(Grace { since: at, deadline: at, notices: vec![], giving: None }),
            "merges without the missing approvals after 2026-11-21T09:12:00Z, unless somebody says no",
            "; counted from 2026-11-21T09:12:00Z, no notice sent yet",
        ),
        (
            Change::Shown(Head { commit: commit(), at, repeats: false }),
            "its pull request holds abcdef0",
            " since 2026-11-21T09:12:00Z",
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
    let frozen = Frozen {
        plugin: None,
        tier: Some("gold".into()),
        by: "noor".into(),
        at,
        why: "Fixes #1".to_string(),
        until: Some(at + hour),
        pull: PullNumber(7),
        lifted: None,
    };
    let hotfix = crate::model::Hotfix {
        version: version("1.15.1"),
        why: "Fixes #1".to_string(),
        soak: Some(hour),
        through_windows: true,
    };
    let said = crate::ledger::Hotfixed { hotfix, by: "noor".into(), at, pull: PullNumber(7) };
    let labelled = crate::ledger::Labelled { pull: PullNumber(7), tier: "gold".into(), version: version("1.15.1"), at };
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
            Entry::Frozen(frozen.clone()),
            "tier gold frozen by noor",
            " on #7 at 2026-11-21T09:12:00Z, until 2026-11-21T10:12:00Z",
        ),
        (
            Entry::Frozen(Frozen { tier: None, until: None, ..frozen }),
            "everything frozen by noor",
            " on #7 at 2026-11-21T09:12:00Z",
        ),
        (
            Entry::Labelled { plugin: "cert-manager".into(), labelled },
            "cert-manager 1.15.1: kept from the tiers above gold by a label",
            " on #7, seen at 2026-11-21T09:12:00Z",
        ),
        (
            Entry::Unlabelled { plugin: "cert-manager".into(), pull: PullNumber(7) },
            "cert-manager: the label is off #7",
            "",
        ),
        (
            Entry::Hotfix { plugin: "cert-manager".into(), said },
            "cert-manager 1.15.1: made a hotfix by noor",
            " on #7 at 2026-11-21T09:12:00Z, with a soak of 1 h, through windows",
        ),
        (
            Entry::Thawed(Thawed {
                pull: PullNumber(7),
                at,
                by: "noor".into(),
                lifted: Lifted { by: "pat".into(), at: at + hour },
            }),
            "the freeze by noor lifted by pat",
            " at 2026-11-21T10:12:00Z; it was set on #7 at 2026-11-21T09:12:00Z",
        ),
        (
            Entry::Rebuilt(Rebuild { cited: commit(), by: "pat".into(), at, pull: PullNumber(7) }),
            "what became of abcdef0 settled by pat",
            " on #7 at 2026-11-21T09:12:00Z",
        ),
        (
            Entry::Stopped(crate::ledger::Stop {
                pull: PullNumber(7),
                head: commit(),
                at,
                why: "it also changes `CODEOWNERS`".into(),
                cleared: None,
            }),
            "everything stops: #7 did not land as planned",
            ", head abcdef0, found out at 2026-11-21T09:12:00Z",
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

/// A title has room for one line: what matters most comes first.
#[test]
fn what_a_person_or_force_did_weighs_most() {
    let at: Timestamp = "2026-11-21T09:12:00Z".parse().unwrap();
    let forced = ForceEvidence {
        deadline: Some(at),
        said: None,
        notices: vec![crate::snapshot::SentNotice { before: SignedDuration::from_hours(1), at }],
        held: vec![],
        waived: "1 approval".to_string(),
        policy: commit(),
    };
    let merging = |forced| wave(Change::Merging(Merging { head: commit(), at, base: None, forced }));
    let landed = wave(Change::Landed(Landed { at, commit: None, by: None }));
    let finished = wave(Change::Finished(at));
    let order = [wave(Change::Converged(at)), merging(None), landed, finished, merging(Some(forced.clone()))];
    assert!(order.is_sorted_by(|one, other| weight(one) < weight(other)), "{:?}", order.each_ref().map(weight));
    assert!(evidence(&forced).contains("passed, 1 notice sent; waived: 1 approval"), "{}", evidence(&forced));
}

#[test]
fn which_part_of_a_climb_is_named() {
    let part = |purpose: Purpose, slice: u32, slices: usize| {
        let partition = (0..slices).map(|_| vec!["eu-1".into()].into()).collect();
        portion(&Part { purpose, slice, partition, ..Part::default() })
    };
    assert_eq!(part(Purpose::Promotion, 0, 0), "");
    assert_eq!(part(Purpose::Promotion, 0, 1), "");
    assert_eq!(part(Purpose::Promotion, 1, 3), "slice 2 of 3 ");
    assert_eq!(part(Purpose::CatchUp, 0, 0), "for clusters that catch up ");
    assert_eq!(part(Purpose::Early, 0, 0), "for clusters ahead of their tier ");
}
