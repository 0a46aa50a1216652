//! A freeze stops every merge in scope at once: automatic, approved, by force, of a hotfix, of a rollback; and so does
//! a policy file with errors, since what the people who wrote it want is not known. Nothing waives it.

use super::asked::AskedOpen;
use crate::Reason;
use crate::facts::Facts;
use crate::ledger::Wave;
use crate::model::{Freeze, Tier};
use crate::plan::{Finding, Gate, Verdict};

pub(crate) fn finding(open: &AskedOpen<'_>) -> Finding {
    let AskedOpen { facts, tier, wave, .. } = *open;
    if let Some(broken) = broken(facts) {
        return Finding::wait(Gate::Freeze, broken);
    }
    let of_file = of_file(facts, tier, wave);
    let commanded = facts
        .shared
        .freezes
        .iter()
        .filter(|frozen| frozen.holds(facts.hub_now()) && frozen.covers(facts.plugin(), &tier.name));
    let Some(frozen) = commanded.max_by_key(|frozen| (frozen.until.is_none(), frozen.until)) else { return of_file };
    if let Verdict::Wait { until } = of_file.verdict
        && (until.is_none(), until) >= (frozen.until.is_none(), frozen.until)
    {
        return of_file;
    }
    let because = Reason::FrozenByCommand { why: frozen.why.clone(), by: frozen.by.clone() };
    Finding::new(Gate::Freeze, Verdict::Wait { until: frozen.until }, because)
}

/// What is wrong with the newest policy file, by its first mistake.
pub(super) fn broken(facts: &Facts<'_>) -> Option<Reason> {
    let why = facts.snapshot.policy_problem.as_ref()?;
    Some(Reason::PolicyBroken { why: why.lines().next().unwrap_or_default().into() })
}

fn of_file(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Finding {
    let freezes = facts.snapshot.policy.freezes.iter();
    let here =
        freezes.filter(|freeze| freeze.covers(facts.plugin(), &tier.name, facts.now) && selects(facts, freeze, wave));
    // Of several the one that ends last is the one that people wait for; one without an end most of all.
    match here.max_by_key(|freeze| (freeze.until.is_none(), freeze.until)) {
        None => Finding::pass(Gate::Freeze, Reason::NotFrozen),
        Some(freeze) => Finding::new(
            Gate::Freeze,
            Verdict::Wait { until: freeze.until },
            Reason::Frozen { why: freeze.why.clone(), by: freeze.by.clone() },
        ),
    }
}

/// Whether a member of the wave is among the frozen clusters. One whose labels cannot be read may
/// be.
fn selects(facts: &Facts<'_>, freeze: &Freeze, wave: &Wave) -> bool {
    let Some(select) = &freeze.select else { return true };
    if facts.snapshot.clusters.known().is_none() {
        return true;
    }
    wave.members.iter().any(|member| facts.labels(member).is_none_or(|labels| select.matches(labels)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::ledger::{Change, Grace};
    use crate::model::{Force, Hotfix, Merge, MergeRule};
    use crate::selector::Selector;
    use crate::snapshot::{Read, Snapshot};
    use crate::testing::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use jiff::SignedDuration;

    fn freeze(world: &mut Snapshot, change: impl FnOnce(&mut Freeze)) {
        let mut freeze = Freeze { why: "incident 42".into(), ..Freeze::default() };
        change(&mut freeze);
        world.policy.freezes.push(freeze);
    }

    #[test]
    fn a_freeze_stops_what_is_in_its_scope() {
        let later = Verdict::Wait { until: Some(at("2026-11-24T00:00:00Z")) };
        table(
            Gate::Freeze,
            ready,
            &[
                ("none", |_| {}, Verdict::Pass, "no freeze"),
                ("no policy to go by", |w| w.policy_problem = Some("line 3".into()), WAIT, "nothing is merged: "),
                ("everything", |w| freeze(w, |_| {}), WAIT, "frozen: incident 42"),
                ("by somebody", |w| freeze(w, |f| f.by = Some("noor".into())), WAIT, "frozen by noor: incident 42"),
                ("this tier", |w| freeze(w, |f| f.tiers = vec!["bronze".into()]), WAIT, "frozen"),
                ("another tier", |w| freeze(w, |f| f.tiers = vec!["qa".into()]), Verdict::Pass, "no freeze"),
                ("this plugin", |w| freeze(w, |f| f.plugins = vec!["app".into()]), WAIT, "frozen"),
                ("another plugin", |w| freeze(w, |f| f.plugins = vec!["dns".into()]), Verdict::Pass, "no freeze"),
                ("a cluster of the wave", |w| freeze(w, |f| f.select = Some(labelled("bronze"))), WAIT, "frozen"),
                ("other clusters", |w| freeze(w, |f| f.select = Some(labelled("qa"))), Verdict::Pass, "no freeze"),
                (
                    "a member that the inventory does not list any more",
                    |w| {
                        freeze(w, |f| f.select = Some(labelled("qa")));
                        w.clusters = Read::Known(Vec::new());
                    },
                    WAIT,
                    "frozen",
                ),
                (
                    "of two the one without an end is named",
                    |w| {
                        freeze(w, |f| f.why = "incident 7".into());
                        freeze(w, |f| f.until = Some(at("2026-11-24T00:00:00Z")));
                    },
                    WAIT,
                    "frozen: incident 7",
                ),
                (
                    "of two the later end counts",
                    |w| {
                        freeze(w, |f| f.until = Some(at("2026-11-23T18:00:00Z")));
                        freeze(w, |f| f.until = Some(at("2026-11-24T00:00:00Z")));
                    },
                    later,
                    "frozen",
                ),
                ("with an end", |w| freeze(w, |f| f.until = Some(at("2026-11-24T00:00:00Z"))), later, "frozen"),
                ("over since this instant", |w| freeze(w, |f| f.until = Some(noon())), Verdict::Pass, "no freeze"),
            ],
        );
    }

    fn labelled(tier: &str) -> Selector {
        Selector { match_labels: [("tier".into(), tier.into())].into(), match_expressions: Vec::new() }
    }

    #[test]
    fn nothing_passes_it() {
        let day = SignedDuration::from_hours(24);
        let forced = noon() + SignedDuration::from_hours(2);
        let mut automatic = unapproved();
        bronze(&mut automatic).merge = MergeRule::all(Merge::Automatic);
        let mut over = unapproved();
        bronze(&mut over).force = Some(Force { after: SignedDuration::from_hours(1), notice: vec![] });
        remember(&mut over, Change::Grace(Grace { since: ago(30), deadline: forced, notices: vec![], giving: None }));
        let mut hotfix = ready();
        let through = Hotfix { version: version("1.1.0"), why: "CVE".into(), soak: None, through_windows: true };
        hotfix.policy.plugins[0].hotfixes.push(through);
        let cases = [
            ("approved", ready(), noon()),
            ("automatic", automatic, noon()),
            ("by force", over, forced),
            ("a hotfix", hotfix, noon()),
        ];
        for (name, mut world, now) in cases {
            assert!(merges(&crate::plan(&world, now)), "{name} merges without a freeze");
            freeze(&mut world, |freeze| freeze.until = Some(now + day));
            let plan = crate::plan(&world, now);
            assert!(!merges(&plan), "{name}");
            let alarm = plan.alarm.unwrap_or_else(|| panic!("{name} has no alarm"));
            assert!(alarm.at <= now + day, "{name} looks again when it ends");
            assert!(!merges(&crate::plan(&world, now + day - SignedDuration::from_secs(1))), "{name}, a second before");
            assert!(merges(&crate::plan(&world, now + day)), "{name}, when it ends");
        }
    }

    #[test]
    fn the_bot_wakes_when_it_ends() {
        let mut world = ready();
        freeze(&mut world, |freeze| freeze.until = Some(at("2026-11-24T00:00:00Z")));
        let alarm = crate::plan(&world, noon()).alarm.unwrap();
        assert_eq!(alarm.at, at("2026-11-24T00:00:00Z"));
        assert!(matches!(alarm.why, Reason::Frozen { .. }));
    }
}
