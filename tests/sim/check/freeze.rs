//! S9: freezes that stop a merge, of the file and by command. A commanded one holds from the look at which it
//! is seen until somebody who may lifts it on a pull request that it stops, whatever lists show later.

use decide::ClusterName;
use decide::snapshot::{Command, CommandKind, FreezeScope, Pull, Read, Snapshot};
use decide::{PluginName, PullNumber, TierName};
use jiff::Timestamp;

use super::{Kept, Watch};
use crate::world::{Spot, World};

/// A freeze by command, as the bot was shown it.
#[derive(Clone)]
pub(super) struct Commanded {
    pull: PullNumber,
    at: Timestamp,
    plugin: Option<PluginName>,
    tier: Option<TierName>,
    until: Option<Timestamp>,
    lifted: bool,
}

impl Commanded {
    fn of(plugin: &PluginName, pull: &Pull, command: &Command) -> Option<Self> {
        let CommandKind::Freeze { scope, lasts, .. } = &command.what else { return None };
        Some(Self {
            pull: pull.number,
            at: command.at,
            plugin: (*scope == FreezeScope::Plugin).then(|| plugin.clone()),
            tier: (*scope == FreezeScope::Tier).then(|| pull.tier.clone()),
            until: lasts.map(|lasts| command.at + lasts),
            lifted: false,
        })
    }

    fn covers(&self, plugin: &PluginName, tier: &TierName) -> bool {
        self.plugin.as_ref().is_none_or(|own| own == plugin) && self.tier.as_ref().is_none_or(|own| own == tier)
    }
}

/// Commands that were shown, in the order in which they were given.
fn commands(shown: &Snapshot) -> Vec<(&PluginName, &Pull, &Command)> {
    let of_freezes = |command: &&Command| matches!(command.what, CommandKind::Freeze { .. } | CommandKind::Unfreeze);
    let mut all = Vec::new();
    for (plugin, facts) in &shown.plugins {
        for pull in facts.pulls.known().into_iter().flatten() {
            all.extend(pull.commands.iter().filter(of_freezes).map(|command| (plugin, pull, command)));
        }
    }
    all.sort_by_key(|(_, pull, command)| (command.at, pull.number));
    all
}

/// What a look showed of such commands by people who may.
pub(super) fn heard(kept: &mut Kept, shown: &Snapshot) {
    for (plugin, pull, command) in commands(shown).into_iter().filter(|(.., said)| said.allowed == Read::Known(true)) {
        let known = |frozen: &Commanded| (frozen.pull, frozen.at) == (pull.number, command.at);
        match Commanded::of(plugin, pull, command) {
            Some(frozen) if !kept.freezes.iter().any(known) => kept.freezes.push(frozen),
            Some(_) => {}
            None => {
                let stops = |frozen: &&mut Commanded| frozen.covers(plugin, &pull.tier) && frozen.at <= command.at;
                kept.freezes.iter_mut().filter(stops).for_each(|frozen| frozen.lifted = true);
            }
        }
    }
}

impl Watch {
    /// No merge in a freeze of its scope.
    pub(super) fn not_frozen(
        &mut self,
        world: &mut World,
        (kept, shown): (&Kept, &Snapshot),
        spot: &Spot,
        members: &[ClusterName],
    ) {
        let now = world.ours();
        let labels = |name: &ClusterName| {
            let known = shown.clusters.known().into_iter().flatten().find(|cluster| cluster.name == *name);
            known.map(|cluster| &cluster.labels)
        };
        let in_file = shown.policy.freezes.iter().any(|freeze| {
            // In these worlds a freeze of clusters names one.
            let selects = |select: &decide::selector::Selector| {
                let of = |name: &&ClusterName| {
                    labels(name).is_none_or(|labels| labels.get("name") == select.match_labels.get("name"))
                };
                members.iter().any(|name| of(&name))
            };
            (freeze.tiers.is_empty() || freeze.tiers.contains(&spot.1))
                && (freeze.plugins.is_empty() || freeze.plugins.contains(&spot.0))
                && freeze.select.as_ref().is_none_or(selects)
                && freeze.until.is_none_or(|until| now < until)
        });
        let holds = |frozen: &Commanded| {
            frozen.covers(&spot.0, &spot.1) && !frozen.lifted && frozen.until.is_none_or(|until| world.now < until)
        };
        // Nobody knows whether who froze it may: then it is frozen.
        let known = |frozen: &Commanded| kept.freezes.iter().any(|of| (of.pull, of.at) == (frozen.pull, frozen.at));
        let unsure = commands(shown).into_iter().filter(|(.., said)| matches!(said.allowed, Read::Unread(_)));
        let mut unsure = unsure.filter_map(|(plugin, pull, said)| Commanded::of(plugin, pull, said));
        let commanded = kept.freezes.iter().any(holds) || unsure.any(|frozen| !known(&frozen) && holds(&frozen));
        if in_file || commanded {
            let by = if commanded { " by command" } else { "" };
            self.fails(world, format!("S9 merges {} on {} in a freeze{by}", spot.0, spot.1));
        }
    }
}
