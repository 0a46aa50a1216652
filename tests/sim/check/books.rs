//! What the ledger says is true, and there before the effect: S6, S11, S16, S22.

use decide::PluginName;
use decide::Sha;
use decide::ledger::{Ledger, Purpose};
use decide::snapshot::{Pull, Snapshot};
use semver::Version;

use super::{Kept, Watch, plain};
use crate::world::{Spot, World};

impl Watch {
    /// S6, S22: the merged head is the one that was shown, that the bot wrote for this release on this
    /// tier, and the ledger branch held commit and intent before.
    pub(super) fn is_in_the_books(
        &mut self,
        world: &mut World,
        spot: &Spot,
        version: &Version,
        seen: &Pull,
        head: &Sha,
    ) {
        let number = seen.number;
        let holds = world.written.get(head.as_str()).map(|commit| &commit.version);
        if seen.head != *head || holds != Some(version) {
            self.fails(world, format!("S6 merges {number} at {head}, which is not what it wrote and was shown"));
        }
        let pushed = world.branch.tip().map(|push| &push.ledger);
        let waves = pushed.and_then(|ledger| ledger.plugins.get(&spot.0)).and_then(|page| page.tiers.get(&spot.1));
        let mut of_release = waves.into_iter().flatten().filter(|wave| plain(&wave.version) == *version);
        let in_the_books = of_release.any(|wave| {
            wave.heads.iter().any(|known| known.commit == *head)
                && wave.merging.as_ref().is_some_and(|merging| merging.head == *head)
        });
        if !in_the_books {
            self.fails(world, format!("S22 merges {number} at {head}, and the ledger knows nothing of it"));
        }
    }

    /// S11: what the ledger says of the newest waves happened.
    pub(super) fn books_are_true(&mut self, world: &mut World, kept: &Kept, ledger: &Ledger) {
        let mut untrue = Vec::new();
        for (plugin, page) in &ledger.plugins {
            for (tier, waves) in &page.tiers {
                let Some(wave) = waves.last() else { continue };
                let spot = (plugin.clone(), tier.clone());
                if let Some(no) = wave.rejected() {
                    let pull = world.pulls.iter().find(|pull| pull.number == no.pull.0 && pull.spot == spot);
                    let said = |pull: &crate::pulls::PullRequest| {
                        pull.closed.as_ref().is_some_and(|closed| closed.merged.is_none())
                    };
                    if !pull.is_some_and(said) {
                        untrue.push(format!(
                            "S11 {plugin} {} on {tier} is no longer wanted, says the ledger, and nobody closed {}",
                            wave.version, no.pull
                        ));
                    }
                }
                let apart = matches!(wave.part.purpose, Purpose::RollBack { .. } | Purpose::Early);
                if wave.finished().is_some() && !apart && !kept.met.contains_key(&(spot, plain(&wave.version))) {
                    untrue.push(format!("S1 {plugin} {} counts as finished on {tier} without its soak", wave.version));
                }
            }
        }
        untrue.into_iter().for_each(|what| self.fails(world, what));
    }
}

/// Whether no digest was pinned for a version: its source named none at first sight, or it was never listed.
pub(super) fn unpinned(shown: &Snapshot, plugin: &PluginName, version: &Version) -> bool {
    let page = shown.ledger.plugins.get(plugin);
    let seen = page.and_then(|page| page.releases.iter().find(|seen| plain(&seen.version) == *version));
    seen.is_none_or(|seen| seen.digest.is_none())
}
