//! A breaking step waits, on the first tier, for a person to acknowledge the migration notes.
//! Breaking is by number, as the author marked it, or by the facts that a comparison of the charts found.
//! A required value that a member lacks is no matter of words: nothing passes it.

use alloc::vec::Vec;

use super::asked::AskedOpen;
use crate::facts::Facts;
use crate::ledger::Wave;
use crate::plan::{Finding, Gate};
use crate::snapshot::{BreakingFact, MissingValue};
use crate::{Reason, Version};

pub(crate) fn finding(open: &AskedOpen<'_>) -> Finding {
    let AskedOpen { facts, wave, .. } = *open;
    let missing = missing(facts, wave);
    if !missing.is_empty() {
        return Finding::fail(Gate::Breaking, Reason::RequiredValueMissing { missing });
    }
    let Some(from) = &wave.from else { return Finding::pass(Gate::Breaking, Reason::NotBreaking) };
    if !is_breaking(facts, from, &wave.version) {
        return Finding::pass(Gate::Breaking, Reason::NotBreaking);
    }
    // The word holds for the release: it is given once, on the pull request of whichever tier.
    let mut words = facts.all_commands().flat_map(|(_, commands)| &commands.acknowledged);
    match words.find(|word| *word.what == wave.version) {
        Some(word) => Finding::pass(Gate::Breaking, Reason::Acknowledged { by: word.by.clone() }),
        None => {
            let because = Reason::BreakingUnacknowledged {
                from: from.clone(),
                to: wave.version.clone(),
                facts: breaking_facts(facts, from, &wave.version),
            };
            Finding::wait(Gate::Breaking, because)
        }
    }
}

/// Whether the step is breaking by number or by its author's mark.
pub(crate) fn is_breaking(facts: &Facts<'_>, from: &Version, to: &Version) -> bool {
    let marked = |version: &Version| version > from && version <= to;
    to.breaks_after(from)
        || facts
            .releases()
            .is_ok_and(|releases| releases.iter().any(|release| release.marked_breaking && marked(&release.version)))
        || !breaking_facts(facts, from, to).is_empty()
}

/// The breaking facts of every release on the way.
fn breaking_facts(facts: &Facts<'_>, from: &Version, to: &Version) -> Vec<BreakingFact> {
    let releases = facts.releases().unwrap_or_default().iter();
    let between = releases.filter(|release| release.version > *from && release.version <= *to);
    between.flat_map(|release| release.breaking.clone()).collect()
}

/// Values that this release requires and members of the wave lack.
fn missing(facts: &Facts<'_>, wave: &Wave) -> Vec<MissingValue> {
    let releases = facts.releases().unwrap_or_default().iter();
    let missing =
        releases.filter(|release| release.version == wave.version).flat_map(|release| &release.missing_values);
    missing.filter(|missing| wave.members.contains(&missing.cluster)).cloned().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::plan::Verdict;
    use crate::snapshot::{Breaking, Command, CommandKind, Read, Release, Snapshot};
    use crate::testing::{facts, *};
    use alloc::string::{String, ToString};
    use alloc::vec;

    fn say(world: &mut Snapshot, to: &str, allowed: Read<bool>) {
        let what = CommandKind::Acknowledge { version: version(to) };
        edit(world, |pull| pull.commands = vec![Command { by: "maria".into(), at: ago(5), what, allowed }]);
    }

    fn mark(world: &mut Snapshot) {
        let marked = Release { marked_breaking: true, ..release("1.1.0") };
        facts(world).releases = Read::Known(vec![release("1.0.0"), marked]);
    }

    #[test]
    fn a_breaking_step_waits_for_the_right_word() {
        table(
            Gate::Breaking,
            ready,
            &[
                ("a minor step", |_| {}, Verdict::Pass, "not a breaking step"),
                ("marked by its author", mark, WAIT, "1.0.0 to 1.1.0 may break"),
                (
                    "what it runs was marked, and what is newer",
                    |w| {
                        let marked = |text: &str| Release { marked_breaking: true, ..release(text) };
                        facts(w).releases = Read::Known(vec![marked("1.0.0"), release("1.1.0"), marked("1.2.0")]);
                    },
                    Verdict::Pass,
                    "not a breaking step",
                ),
                (
                    "acknowledged",
                    |w| {
                        mark(w);
                        say(w, "1.1.0", Read::Known(true));
                    },
                    Verdict::Pass,
                    "maria acknowledged",
                ),
                (
                    "acknowledged for another version",
                    |w| {
                        mark(w);
                        say(w, "1.2.0", Read::Known(true));
                    },
                    WAIT,
                    "1.0.0 to 1.1.0",
                ),
                (
                    "by somebody who may not",
                    |w| {
                        mark(w);
                        say(w, "1.1.0", Read::Known(false));
                    },
                    WAIT,
                    "1.0.0 to 1.1.0",
                ),
                (
                    "by somebody whose rights are not known",
                    |w| {
                        mark(w);
                        say(w, "1.1.0", Read::Unread("503".into()));
                    },
                    WAIT,
                    "1.0.0 to 1.1.0",
                ),
            ],
        );
    }

    fn fact(world: &mut Snapshot, of: &str, what: Breaking) {
        let breaking = vec![BreakingFact { what, at: ago(60) }];
        let with = Release { breaking, ..release(of) };
        let mut releases: Vec<Release> =
            ["1.0.0", "1.1.0"].into_iter().filter(|name| *name != of).map(release).collect();
        releases.push(with);
        facts(world).releases = Read::Known(releases);
    }

    #[test]
    fn every_fact_waits_for_the_word_and_the_word_is_for_this_version() {
        let option = || "ingress.host".into();
        let all = [
            (Breaking::OptionRequired { option: option() }, "`ingress.host` is required and has no default"),
            (Breaking::OptionRemoved { option: option() }, "`ingress.host`, which the config sets, is gone"),
            (Breaking::OptionRetyped { option: option() }, "`ingress.host`, which the config sets, has another type"),
            (Breaking::Annotated { words: "CRDs".into() }, "its author marked it: CRDs"),
            (Breaking::CommitMarked { words: String::new() }, "a commit marks it"),
            (
                Breaking::KubeVersion { asks: ">=1.30".into(), members: vec!["bronze-1".into(), "b".into()] },
                "it asks for Kubernetes >=1.30, which excludes bronze-1, b",
            ),
        ];
        for (what, words) in all {
            let mut world = ready();
            fact(&mut world, "1.1.0", what.clone());
            let finding = says(&world, Gate::Breaking);
            assert_eq!(finding.verdict, WAIT, "{what:?}");
            let expected = alloc::format!("1.0.0 to 1.1.0 may break ({words}), and nobody");
            assert!(finding.because.to_string().starts_with(&expected), "{}", finding.because);
            say(&mut world, "1.2.0", Read::Known(true));
            assert_eq!(says(&world, Gate::Breaking).verdict, WAIT, "acknowledged for another version: {what:?}");
            say(&mut world, "1.1.0", Read::Known(true));
            assert_eq!(says(&world, Gate::Breaking).verdict, Verdict::Pass, "{what:?}");
            let mut world = ready();
            fact(&mut world, "1.0.0", what);
            assert_eq!(says(&world, Gate::Breaking).verdict, Verdict::Pass, "it runs already");
        }
    }

    #[test]
    fn a_required_value_that_a_member_lacks_is_no_matter_of_words() {
        let lacking = |cluster: &str| {
            let mut world = ready();
            let missing_values = vec![MissingValue { cluster: cluster.into(), option: "ingress.host".into() }];
            facts(&mut world).releases = Read::Known(vec![Release { missing_values, ..release("1.1.0") }]);
            say(&mut world, "1.1.0", Read::Known(true));
            world
        };
        let finding = says(&lacking("bronze-1"), Gate::Breaking);
        assert_eq!(finding.verdict, Verdict::Fail);
        assert_eq!(finding.because.to_string(), "a required value is missing: `ingress.host` for bronze-1");
        assert!(!merges(&crate::plan(&lacking("bronze-1"), noon())));
        assert_eq!(says(&lacking("gold-7"), Gate::Breaking).verdict, Verdict::Pass, "no member of this wave");
        // A first install breaks nothing, and lacks what it lacks.
        let mut world = lacking("bronze-1");
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap().from = None;
        assert_eq!(says(&world, Gate::Breaking).verdict, Verdict::Fail);
    }

    #[test]
    fn numbers_that_break() {
        for (from, to, breaks) in
            [("1.9.0", "2.0.0", true), ("0.3.1", "0.4.0", true), ("0.3.1", "0.3.2", false), ("1.1.0", "1.2.0", false)]
        {
            assert_eq!(version(to).breaks_after(&version(from)), breaks, "{from} to {to}");
        }
    }
}
