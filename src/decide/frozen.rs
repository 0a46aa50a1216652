//! Freezes that people set and lift by commands on pull requests (policy, section 5). Those of the
//! file are in the policy; what both of them stop is in `gate::freeze`.

use alloc::vec::Vec;

use jiff::SignedDuration;

use crate::commands::{Freezing, Word};
use crate::facts::Common;
use crate::ledger::{Entry, Frozen, Lifted, Thawed};
use crate::plan::{Record, Urgency};
use crate::snapshot::{FreezeScope, LedgerState, Pull};
use crate::{PluginName, PullNumber};

/// What commands have frozen, and what of that is new to the ledger.
pub(crate) struct Freezes {
    /// Every freeze that the ledger holds or is about to; one whose author's rights could not be read
    /// stops as well, and is not remembered.
    pub all: Vec<Frozen>,
    /// What to remember.
    pub entries: Vec<Record>,
}

/// Goes through what was said on every pull request, in the order in which it was said.
pub(crate) fn read(common: &Common<'_>) -> Freezes {
    let ledger = &common.snapshot.ledger;
    let mut freezes = Freezes { all: ledger.freezes.clone(), entries: Vec::new() };
    let intact = matches!(common.snapshot.ledger_state, LedgerState::Intact { .. });
    let all = common.commands.all();
    let said = all.flat_map(|(plugin, pull, commands)| commands.freezes.iter().map(move |word| (plugin, pull, word)));
    let mut said: Vec<(&PluginName, &Pull, &Word<'_, Freezing<'_>>)> = said.collect();
    said.sort_by_key(|(_, pull, word)| (word.at, pull.number));
    for (plugin, pull, word) in said {
        match word.what {
            Freezing::Freeze { scope, lasts, why, sure } => {
                let frozen = frozen(plugin, pull, word, (scope, lasts, why));
                if freezes.all.iter().any(|known| is(known, &frozen)) {
                    continue;
                }
                if intact && sure {
                    freezes.remember(Entry::Frozen(frozen.clone()));
                }
                freezes.all.push(frozen);
            }
            Freezing::Unfreeze if intact => freezes.lift(plugin, pull, word),
            Freezing::Unfreeze => {}
        }
    }
    freezes
}

impl Freezes {
    fn remember(&mut self, entry: Entry) {
        self.entries.push(Record { entry, urgency: Urgency::Transition });
    }

    /// Lifts every freeze that stops the pull request on which the command stands.
    fn lift(&mut self, plugin: &PluginName, pull: &Pull, word: &Word<'_, Freezing<'_>>) {
        let lifted = Lifted { by: word.by.clone(), at: word.at };
        let mut thawed = Vec::new();
        let stops = |frozen: &Frozen| frozen.covers(plugin, &pull.tier) && frozen.at <= word.at;
        for frozen in self.all.iter_mut().filter(|frozen| stops(frozen) && frozen.lifted.is_none()) {
            frozen.lifted = Some(lifted.clone());
            let (pull, at, by) = (frozen.pull, frozen.at, frozen.by.clone());
            thawed.push(Thawed { pull, at, by, lifted: lifted.clone() });
        }
        thawed.into_iter().for_each(|thawed| self.remember(Entry::Thawed(thawed)));
    }
}

fn frozen(
    plugin: &PluginName,
    pull: &Pull,
    word: &Word<'_, Freezing<'_>>,
    (scope, lasts, why): (FreezeScope, Option<SignedDuration>, &str),
) -> Frozen {
    let (plugin, tier) = match scope {
        FreezeScope::Everything => (None, None),
        FreezeScope::Tier => (None, Some(pull.tier.clone())),
        FreezeScope::Plugin => (Some(plugin.clone()), None),
    };
    Frozen {
        plugin,
        tier,
        by: word.by.clone(),
        at: word.at,
        why: why.into(),
        until: lasts.map(|lasts| word.at + lasts),
        pull: pull.number,
        lifted: None,
    }
}

fn is(one: &Frozen, other: &Frozen) -> bool {
    let id = |frozen: &Frozen| -> (PullNumber, jiff::Timestamp) { (frozen.pull, frozen.at) };
    id(one) == id(other) && one.by == other.by
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::plan::{Gate, Verdict};
    use crate::snapshot::{Command, CommandKind, Read, Snapshot};
    use crate::testing::*;
    use alloc::string::{String, ToString};
    use alloc::vec;
    use jiff::SignedDuration;

    fn say(world: &mut Snapshot, minutes: i64, what: CommandKind, allowed: Read<bool>) {
        edit(world, |pull| pull.commands.push(Command { by: "noor".into(), at: ago(minutes), what, allowed }));
    }

    fn freeze(scope: FreezeScope, hours: Option<i64>) -> CommandKind {
        CommandKind::Freeze { scope, lasts: hours.map(SignedDuration::from_hours), why: "incident 42".into() }
    }

    fn entries(world: &Snapshot) -> Vec<String> {
        crate::plan(world, noon()).entries.iter().map(|record| record.entry.to_string()).collect()
    }

    #[test]
    fn a_command_freezes_what_it_names() {
        let yes = Read::Known(true);
        for (scope, hours, allowed, stops) in [
            (FreezeScope::Everything, None, yes.clone(), true),
            (FreezeScope::Tier, None, yes.clone(), true),
            (FreezeScope::Plugin, None, yes.clone(), true),
            (FreezeScope::Tier, Some(2), yes.clone(), true),
            (FreezeScope::Tier, Some(1), yes.clone(), false),
            (FreezeScope::Tier, None, Read::Known(false), false),
            (FreezeScope::Tier, None, Read::Unread("503".into()), true),
        ] {
            let mut world = ready();
            say(&mut world, 60, freeze(scope, hours), allowed.clone());
            let finding = says(&world, Gate::Freeze);
            assert_eq!(!finding.verdict.lets_through(), stops, "{scope:?} for {hours:?}, allowed {allowed:?}");
            assert_eq!(!merges(&crate::plan(&world, noon())), stops);
            let remembered = entries(&world).iter().any(|entry| entry.contains("frozen by noor"));
            assert_eq!(remembered, allowed == Read::Known(true), "{:?}", entries(&world));
        }
    }

    /// It outlives the pull request on which it was said, is remembered once, and stops other tiers and
    /// plugins only where its scope says so.
    #[test]
    fn it_is_remembered() {
        let mut world = ready();
        say(&mut world, 60, freeze(FreezeScope::Tier, None), Read::Known(true));
        for record in crate::plan(&world, noon()).entries {
            world.ledger.apply(&record.entry);
            world.ledger.apply(&record.entry);
        }
        assert_eq!((world.ledger.freezes.len(), entries(&world)), (1, vec![]));
        edit(&mut world, |pull| pull.commands.clear());
        let finding = says(&world, Gate::Freeze);
        assert_eq!(finding.because.to_string(), "frozen by noor with a command: incident 42");
        world.ledger.freezes[0].tier = Some("qa".into());
        assert_eq!(says(&world, Gate::Freeze).verdict, Verdict::Pass);
        world.ledger.freezes[0] = Frozen { tier: None, plugin: Some("dns".into()), ..world.ledger.freezes[0].clone() };
        assert_eq!(says(&world, Gate::Freeze).verdict, Verdict::Pass);
    }

    #[test]
    fn another_command_lifts_it() {
        let lifted = |minutes: i64, allowed: Read<bool>| {
            let mut world = ready();
            say(&mut world, 60, freeze(FreezeScope::Everything, None), Read::Known(true));
            say(&mut world, minutes, CommandKind::Unfreeze, allowed);
            let merged = merges(&crate::plan(&world, noon()));
            for record in crate::plan(&world, noon()).entries {
                world.ledger.apply(&record.entry);
            }
            assert_eq!(entries(&world), [""; 0], "said once");
            assert_eq!(merges(&crate::plan(&world, noon())), merged, "and remembered as it was");
            merged
        };
        assert!(lifted(30, Read::Known(true)));
        assert!(!lifted(90, Read::Known(true)), "before it was frozen");
        assert!(!lifted(30, Read::Known(false)));
        assert!(!lifted(30, Read::Unread("503".into())));
    }

    /// Of a freeze in the file and one by a command people wait for the one that ends last.
    #[test]
    fn whichever_ends_last_is_named() {
        let named = |file: Option<i64>, hours: Option<i64>| {
            let mut world = ready();
            let until = file.map(|hours| noon() + SignedDuration::from_hours(hours));
            let freeze_of_file = crate::model::Freeze { why: "audit".into(), until, ..Default::default() };
            world.policy.freezes.push(freeze_of_file);
            say(&mut world, 60, freeze(FreezeScope::Everything, hours), Read::Known(true));
            let finding = says(&world, Gate::Freeze);
            (finding.because.to_string(), finding.verdict)
        };
        let (file, command) = ("frozen: audit".to_string(), "frozen by noor with a command: incident 42".to_string());
        let after = |hours| Verdict::Wait { until: Some(noon() + SignedDuration::from_hours(hours)) };
        let endless = Verdict::Wait { until: None };
        // The command was given an hour ago.
        assert_eq!(named(Some(1), Some(3)), (command.clone(), after(2)));
        assert_eq!(named(Some(2), Some(3)), (file.clone(), after(2)), "both at once: the file's");
        assert_eq!(named(Some(3), Some(3)), (file.clone(), after(3)));
        assert_eq!(named(None, Some(3)), (file, endless));
        assert_eq!(named(Some(3), None), (command, endless));
    }

    /// Two freezes that were said at the same time, or on the same pull request, are two.
    #[test]
    fn each_command_is_a_freeze_of_its_own() {
        let count = |minutes: i64, by: &str| {
            let mut world = ready();
            say(&mut world, 60, freeze(FreezeScope::Tier, None), Read::Known(true));
            for record in crate::plan(&world, noon()).entries {
                world.ledger.apply(&record.entry);
            }
            let (what, allowed) = (freeze(FreezeScope::Plugin, None), Read::Known(true));
            edit(&mut world, |pull| {
                pull.commands.push(Command { by: by.into(), at: ago(minutes), what, allowed });
            });
            for record in crate::plan(&world, noon()).entries {
                world.ledger.apply(&record.entry);
            }
            world.ledger.freezes.len()
        };
        assert_eq!((count(60, "noor"), count(59, "noor"), count(60, "maria")), (1, 2, 2));
    }

    /// With a ledger that cannot be believed nothing is remembered, and what is said stops all the same.
    #[test]
    fn a_lost_ledger_lifts_nothing() {
        let mut world = ready();
        say(&mut world, 60, freeze(FreezeScope::Everything, None), Read::Known(true));
        for record in crate::plan(&world, noon()).entries {
            world.ledger.apply(&record.entry);
        }
        say(&mut world, 30, CommandKind::Unfreeze, Read::Known(true));
        world.ledger_state = crate::snapshot::LedgerState::Unread("503".into());
        assert_eq!(entries(&world), [""; 0]);
        assert!(!says(&world, Gate::Ledger).verdict.lets_through());
    }
}
