//! Hotfixes (policy, section 3): which waves are some, and what they may that others may not. They
//! never skip the proof of their version, and the order of the tiers stays.

use alloc::borrow::Cow;

use crate::desk::Desk;
use crate::gate::window;
use crate::ledger::{PluginLedger, Purpose, Wave};
use crate::model::{Hotfix, PluginPolicy, Tier};
use crate::plan::{Finding, Gate, Verdict};
use crate::{Reason, TierName, Version};

/// The entry of the file that makes a version a hotfix.
pub(crate) fn entry<'a>(policy: &'a PluginPolicy, version: &Version) -> Option<&'a Hotfix> {
    policy.hotfixes.iter().find(|hotfix| hotfix.version == *version)
}

/// Whether a wave is one: its version is named in the file, or it takes a failed release back.
pub(crate) fn is_one(policy: &PluginPolicy, wave: &Wave) -> bool {
    let takes_back = match &wave.part.purpose {
        Purpose::RollBack { .. } => true,
        Purpose::Promotion | Purpose::CatchUp | Purpose::Early => false,
    };
    takes_back || entry(policy, &wave.version).is_some()
}

/// The rules of a tier for a version: a hotfix may have a shorter soak of its own.
pub(crate) fn rules<'a>(policy: &PluginPolicy, tier: &'a Tier, version: &Version) -> Cow<'a, Tier> {
    match entry(policy, version).and_then(|hotfix| hotfix.soak) {
        Some(soak) if soak < tier.soak.min => {
            let mut tier = tier.clone();
            tier.soak.min = soak;
            Cow::Owned(tier)
        }
        Some(_) | None => Cow::Borrowed(tier),
    }
}

/// Lets a hotfix through closed windows where the file says so; the operator's windows are not the
/// file's to open. What is merged by force waits for all of them.
pub(crate) fn through_windows(desk: &Desk<'_>, wave: &Wave, findings: &mut [Finding]) {
    let Some(hotfix) = entry(desk.policy, &wave.version).filter(|hotfix| hotfix.through_windows) else { return };
    let closed = findings.iter_mut().find(|finding| finding.gate == Gate::Window && !finding.verdict.lets_through());
    if let Some(closed) = closed {
        let operators = window::operators(desk);
        if !operators.verdict.lets_through() {
            *closed = operators;
            return;
        }
        let because = Reason::HotfixThroughWindows { why: hotfix.why.clone(), closed: closed.because.clone().into() };
        *closed = Finding::new(Gate::Window, Verdict::Waived { since: wave.begun }, because);
    }
}

/// Whether the grace period of a wave starts anew although its pull request was there before: people
/// were told about another release.
pub(crate) fn restarts_clock(policy: &PluginPolicy, page: &PluginLedger, tier: &TierName, wave: &Wave) -> bool {
    let moved = page.tiers.get(tier).into_iter().flatten().any(|older| {
        older.superseded.as_ref().is_some_and(|superseded| superseded.by == wave.version)
            && older.pull.as_ref().map(|pull| pull.number) == wave.pull.as_ref().map(|pull| pull.number)
    });
    moved && is_one(policy, wave)
}

/// The newest of these versions that is a hotfix.
pub(crate) fn newest(desk: &Desk<'_>, versions: &[Version]) -> Option<Version> {
    versions.iter().filter(|version| entry(desk.policy, version).is_some()).max().cloned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::WaveState;
    use crate::conveyor::tests::{doings, finished_above, on_qa, publish, soaking};
    use crate::ledger::{Change, Grace, Soaked};
    use crate::snapshot::{SentNotice, Snapshot};
    use crate::testing::*;
    use crate::window::{Range, Windows};
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;
    use jiff::SignedDuration;

    fn fix(world: &mut Snapshot, text: &str, change: fn(&mut Hotfix)) {
        let mut hotfix =
            Hotfix { version: version(text), why: "CVE-2026-1".into(), soak: None, through_windows: false };
        change(&mut hotfix);
        world.policy.plugins[0].hotfixes.push(hotfix);
    }

    /// Each world, what the plan does without the entry for 1.2.0, and with it.
    #[test]
    fn a_hotfix_passes_what_climbs() {
        type Case = (&'static str, fn(&mut Snapshot), &'static [&'static str], &'static [&'static str]);
        let merge = &["merge 1.1.0 on bronze"][..];
        let moved = &["move bronze to 1.2.0"][..];
        let cases: [Case; 8] = [
            ("the one on the tier soaks", soaking, &[], &["open 1.2.0 on qa"]),
            ("the open one is approved", finished_above, merge, moved),
            (
                "people were told of the open one",
                |w| {
                    *w = unapproved();
                    finished_above(w);
                    let before = SignedDuration::from_mins(10);
                    edit(w, |pull| pull.notices = vec![SentNotice { before, at: ago(5) }]);
                },
                &[],
                moved,
            ),
            (
                "the open one is held",
                |w| {
                    finished_above(w);
                    edit(w, |pull| pull.draft = true);
                },
                &[],
                moved,
            ),
            (
                "somebody pushed to the branch",
                |w| {
                    finished_above(w);
                    edit(w, |pull| pull.head = "eeeeeeeeee".into());
                },
                &[],
                &[],
            ),
            (
                "it has not finished the tier below: the order stays",
                |w| {
                    finished_above(w);
                    let page = w.ledger.plugins.get_mut(&"app".into()).unwrap();
                    page.tiers.get_mut(&"qa".into()).unwrap().last_mut().unwrap().finished = None;
                },
                merge,
                merge,
            ),
            (
                "a newer release is there: the hotfix first",
                |w| publish(w, &["1.0.0", "1.1.0", "1.2.0", "1.3.0"]),
                &["open 1.3.0 on qa", "merge 1.1.0 on bronze"],
                &["open 1.2.0 on qa", "merge 1.1.0 on bronze"],
            ),
            (
                "within the cooldown",
                |w| {
                    w.policy.plugins[0].cooldown = SignedDuration::from_hours(1);
                    publish(w, &["1.0.0", "1.1.0", "1.2.0"]);
                },
                merge,
                &["open 1.2.0 on qa", "merge 1.1.0 on bronze"],
            ),
        ];
        for (name, change, without, with) in cases {
            let mut world = ready();
            change(&mut world);
            assert_eq!(doings(&world), without, "{name}");
            fix(&mut world, "1.2.0", |_| {});
            assert_eq!(doings(&world), with, "{name}, with a hotfix");
        }
    }

    /// The pull request was moved from 1.0.5, about which people were told, to 1.1.0.
    #[test]
    fn a_hotfix_restarts_the_clock() {
        let since = |hotfix: bool| {
            let mut world = unapproved();
            if hotfix {
                fix(&mut world, "1.1.0", |_| {});
            }
            let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
            let waves = page.tiers.get_mut(&"bronze".into()).unwrap();
            let mut older = waves.last().unwrap().clone();
            older.version = version("1.0.5");
            older.superseded = Some(crate::ledger::Superseded { at: ago(1), by: version("1.1.0") });
            older.grace = Some(Grace { since: ago(70), deadline: ago(10), notices: Vec::new() });
            waves.insert(1, older);
            let before = SignedDuration::from_mins(10);
            edit(&mut world, |pull| pull.notices = vec![SentNotice { before, at: ago(20) }]);
            let plan = crate::plan(&world, noon());
            let wave = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
            let grace = wave.grace.clone().unwrap();
            (grace.since, grace.notices.len(), merges(&plan))
        };
        assert_eq!(since(false), (ago(70), 1, true));
        assert_eq!(since(true), (noon(), 0, false));
    }

    #[test]
    fn its_own_soak_is_only_ever_shorter() {
        let state = |change: Option<fn(&mut Hotfix)>| {
            let mut world = landed(vec![healthy("1.1.0")]);
            if let Some(change) = change {
                fix(&mut world, "1.1.0", change);
            }
            remember(&mut world, Change::Converged(ago(20)));
            let healthy_for = SignedDuration::from_mins(20);
            let soaked = Soaked { healthy_for, begun: Some(ago(20)), until: noon(), paused: false, ailing: None };
            remember(&mut world, Change::Soaked(soaked));
            let plan = crate::plan(&world, noon());
            plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap().state.clone()
        };
        let hour =
            |state: WaveState| matches!(state, WaveState::Soaking { of, .. } if of == SignedDuration::from_hours(1));
        assert!(hour(state(None)) && hour(state(Some(|_| {}))));
        assert!(hour(state(Some(|fix| fix.soak = Some(SignedDuration::from_hours(5))))));
        let short = state(Some(|fix| fix.soak = Some(SignedDuration::from_mins(10))));
        assert!(matches!(short, WaveState::Finished { .. }), "{short:?}");
    }

    #[test]
    fn closed_windows_let_it_through_and_freezes_do_not() {
        let closed: fn(&mut Snapshot) = |world| {
            let open = vec![Range { days: vec![1], from: 0, to: 60 }];
            bronze(world).windows = Some(Windows { open, ..Windows::always(jiff::tz::TimeZone::UTC) });
        };
        let through: fn(&mut Hotfix) = |fix| fix.through_windows = true;
        let world = |change: fn(&mut Hotfix)| {
            let mut world = ready();
            closed(&mut world);
            fix(&mut world, "1.1.0", change);
            world
        };
        assert!(!merges(&crate::plan(&world(|_| {}), noon())));
        assert!(merges(&crate::plan(&world(through), noon())));
        let finding = says(&world(through), Gate::Window);
        assert!(matches!(finding.verdict, Verdict::Waived { .. }));
        assert_eq!(finding.because.to_string(), "a hotfix (CVE-2026-1), though the window of the tier is closed");
        let mut frozen = world(through);
        freeze_all(&mut frozen);
        assert!(!merges(&crate::plan(&frozen, noon())));
        // Force waives approvals and nothing else: it waits for the window.
        let mut over = unapproved();
        let since = ago(70);
        remember(&mut over, Change::Grace(Grace { since, deadline: ago(10), notices: Vec::new() }));
        let before = SignedDuration::from_mins(10);
        edit(&mut over, |pull| pull.notices = vec![SentNotice { before, at: ago(20) }]);
        assert!(merges(&crate::plan(&over, noon())));
        closed(&mut over);
        fix(&mut over, "1.1.0", through);
        assert!(!merges(&crate::plan(&over, noon())));
    }

    /// Without proof of its version nothing finishes, hotfix or not.
    #[test]
    fn it_needs_the_proof_of_its_version() {
        let mut world = landed(vec![healthy("1.0.0")]);
        fix(&mut world, "1.1.0", |fix| fix.soak = Some(SignedDuration::ZERO));
        on_qa(&mut world, "1.1.0", Change::Finished(ago(60)));
        let plan = crate::plan(&world, noon());
        let bronze = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
        assert!(matches!(bronze.state, WaveState::Converging { healthy: 0, .. }), "{:?}", bronze.state);
    }
}
