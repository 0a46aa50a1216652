//! What people said in comments on our pull requests, folded once into what counts: by somebody who may, or of whom
//! nobody knows whether they may. What a command does is decided where it is asked for.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use crate::model::Hotfix;
use crate::snapshot::{CommandKind, FreezeScope, Pull, Read, Snapshot};
use crate::{Person, PluginName, PullNumber, Version};

/// The commands on every pull request that has some, in the order in which they were read.
pub(crate) struct AllCommands<'a>(BTreeMap<&'a PluginName, Vec<(&'a Pull, Commands<'a>)>>);

/// The commands on one pull request, each kind in the order in which they were given.
pub(crate) struct Commands<'a> {
    /// Who holds the pull request, and why. The last word counts; a hold whose author's rights could not be read does.
    pub hold: Option<Word<'a, &'a str>>,
    /// That it goes on.
    pub resumes: Vec<Word<'a, ()>>,
    /// That the release has failed, and why.
    pub failures: Vec<Word<'a, &'a str>>,
    /// Why nobody knows whether somebody who says that the release has failed may say so.
    pub doubt: Option<&'a str>,
    /// That it shall merge now.
    pub forces: Vec<Word<'a, Force<'a>>>,
    /// Releases whose migration notes were read.
    pub acknowledged: Vec<Word<'a, &'a Version>>,
    /// Releases that are hotfixes.
    pub hotfixes: Vec<Word<'a, &'a Hotfix>>,
    /// What is frozen, or not any more.
    pub freezes: Vec<Word<'a, Freezing<'a>>>,
    /// Lost commits of the ledger, or merges that went wrong, that are given up.
    pub rebuilds: Vec<Word<'a, &'a str>>,
}

/// Something that a person said.
#[derive(Clone, Copy)]
pub(crate) struct Word<'a, What> {
    pub by: &'a Person,
    /// When, by the hub's clock.
    pub at: Timestamp,
    pub what: What,
}

/// `/coldframe force <why>`.
#[derive(Clone, Copy)]
pub(crate) struct Force<'a> {
    pub why: &'a str,
    /// Why nobody knows whether this person may.
    pub unread: Option<&'a str>,
}

/// `/coldframe freeze` or `/coldframe unfreeze`.
#[derive(Clone, Copy)]
pub(crate) enum Freezing<'a> {
    Freeze {
        scope: FreezeScope,
        /// For how long; none = until somebody lifts it.
        lasts: Option<SignedDuration>,
        why: &'a str,
        /// Whether this person may for sure.
        sure: bool,
    },
    Unfreeze,
}

static NONE: Commands<'static> = Commands::none();

impl<'a> AllCommands<'a> {
    pub(crate) fn of(snapshot: &'a Snapshot) -> Self {
        let some = |pull: &&Pull| !pull.commands.is_empty();
        let read = snapshot.plugins.iter().filter_map(|(plugin, facts)| {
            let pulls = facts.pulls.known()?.iter().filter(some);
            Some((plugin, pulls.map(|pull| (pull, Commands::on(pull))).collect()))
        });
        Self(read.collect())
    }

    /// Everything that was said, about whichever plugin.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'a PluginName, &'a Pull, &Commands<'a>)> {
        self.0.iter().flat_map(|(plugin, pulls)| pulls.iter().map(|(pull, commands)| (*plugin, *pull, commands)))
    }

    /// What was said on the pull requests of one plugin.
    pub(crate) fn of_plugin(&self, plugin: &PluginName) -> impl Iterator<Item = (PullNumber, &Commands<'a>)> {
        self.0.get(plugin).into_iter().flatten().map(|(pull, commands)| (pull.number, commands))
    }

    /// What was said on one pull request of a plugin.
    pub(crate) fn on(&self, plugin: &PluginName, pull: &Pull) -> &Commands<'a> {
        self.of_plugin(plugin).find(|(number, _)| *number == pull.number).map_or(&NONE, |(_, commands)| commands)
    }
}

impl<'a> Commands<'a> {
    const fn none() -> Self {
        Self {
            hold: None,
            resumes: Vec::new(),
            failures: Vec::new(),
            doubt: None,
            forces: Vec::new(),
            acknowledged: Vec::new(),
            hotfixes: Vec::new(),
            freezes: Vec::new(),
            rebuilds: Vec::new(),
        }
    }

    /// What counts of the comments on a pull request. What only lets something through counts from people who may;
    /// what stops something counts as long as nobody knows whether they may, too.
    fn on(pull: &'a Pull) -> Self {
        let mut all = Self::none();
        for command in &pull.commands {
            let said = Word { by: &command.by, at: command.at, what: () };
            let (may, unread) = match &command.allowed {
                Read::Known(false) => continue,
                Read::Known(true) => (true, None),
                Read::Unread(why) => (false, Some(why.as_str())),
            };
            match &command.what {
                CommandKind::Hold { why } => all.hold = Some(said.with(why)),
                CommandKind::Resume if may => {
                    all.hold = None;
                    all.resumes.push(said);
                }
                CommandKind::Fail { why } if may => all.failures.push(said.with(why)),
                // As long as nobody knows whether it counts, nothing merges; then it is a verdict.
                CommandKind::Fail { why } => {
                    all.hold = Some(said.with(why));
                    all.doubt = all.doubt.or(unread);
                }
                CommandKind::Freeze { scope, lasts, why } => {
                    let freeze = Freezing::Freeze { scope: *scope, lasts: *lasts, why, sure: may };
                    all.freezes.push(said.with(freeze));
                }
                CommandKind::Unfreeze if may => all.freezes.push(said.with(Freezing::Unfreeze)),
                CommandKind::Hotfix(hotfix) if may => all.hotfixes.push(said.with(hotfix)),
                CommandKind::Force { why } => all.forces.push(said.with(Force { why, unread })),
                CommandKind::Acknowledge { version } if may => all.acknowledged.push(said.with(version)),
                CommandKind::Rebuild { cited } if may => all.rebuilds.push(said.with(cited)),
                CommandKind::Resume
                | CommandKind::Unfreeze
                | CommandKind::Hotfix(_)
                | CommandKind::Acknowledge { .. }
                | CommandKind::Rebuild { .. } => {}
            }
        }
        all
    }
}

impl<'a> Word<'a, ()> {
    fn with<What>(self, what: What) -> Word<'a, What> {
        Word { by: self.by, at: self.at, what }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::snapshot::Command;
    use crate::testing::*;

    fn commands() -> [CommandKind; 10] {
        let hotfix = Hotfix { version: version("1.1.0"), why: "cve".into(), soak: None, through_windows: false };
        [
            CommandKind::Resume,
            CommandKind::Hold { why: "wait".into() },
            CommandKind::Fail { why: "bad".into() },
            CommandKind::Freeze { scope: FreezeScope::Tier, lasts: None, why: "audit".into() },
            CommandKind::Unfreeze,
            CommandKind::Hotfix(hotfix),
            CommandKind::Force { why: "now".into() },
            CommandKind::Acknowledge { version: version("1.1.0") },
            CommandKind::Rebuild { cited: "0123456".into() },
            CommandKind::Hold { why: "still".into() },
        ]
    }

    /// How many of each kind count, by the rights of whoever gives them.
    #[test]
    fn who_may_not_says_nothing_and_who_may_perhaps_only_stops() {
        for (allowed, expected) in [
            (Read::Known(true), [1, 1, 1, 0, 1, 1, 1, 2, 1]),
            (Read::Unread("503".into()), [1, 0, 0, 1, 1, 0, 0, 1, 0]),
            (Read::Known(false), [0; 9]),
        ] {
            let give = |what| Command { by: "noor".into(), at: ago(5), what, allowed: allowed.clone() };
            let pull = Pull { commands: commands().map(give).into(), ..pull() };
            let all = Commands::on(&pull);
            let counts = [
                usize::from(all.hold.is_some()),
                all.resumes.len(),
                all.failures.len(),
                usize::from(all.doubt.is_some()),
                all.forces.len(),
                all.acknowledged.len(),
                all.hotfixes.len(),
                all.freezes.len(),
                all.rebuilds.len(),
            ];
            assert_eq!(counts, expected, "{allowed:?}");
            assert_eq!(all.hold.map(|word| word.what), (expected[0] == 1).then_some("still"));
            assert!(all.forces.iter().all(|word| word.what.unread.is_some() == (allowed != Read::Known(true))));
        }
    }
}
