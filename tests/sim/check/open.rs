//! Opening and moving pull requests: S3, S4 as far as a plan shows it, S15, and the cap of open ones.

use std::collections::BTreeSet;

use decide::ClusterName;
use decide::ledger::Purpose;
use decide::model::{Next, OnFailure};
use decide::plan::Proposal;
use decide::snapshot::{PullState, Snapshot};
use semver::Version;

use super::merge::is_open;
use super::{Kept, Watch, back, plain, slices, soak};
use crate::pulls::PullRequest;
use crate::world::{Spot, World};

/// The bot may take a pull request back and open another one later, but not again and again.
const MOST_OPENINGS: u32 = 3;

/// Before the name of a cluster that a wave is for because it is ahead of its tier.
pub(super) const EARLY: &str = "early ";

impl Watch {
    /// A pull request is about to be opened, or the open one `moved` is about to get another commit.
    pub fn opens(
        &mut self,
        world: &mut World,
        kept: &mut Kept,
        shown: &Snapshot,
        proposal: &Proposal,
        moved: Option<u64>,
    ) {
        let spot = (proposal.plugin.clone(), proposal.tier.clone());
        let version = plain(&proposal.to);
        self.writes_once_more(world, &spot, &version);
        let spelled = world.release(&spot.0, &version).map(|release| release.shown.version.clone());
        if let Some(spelled) = spelled.filter(|spelled| spelled.as_str() != proposal.to.as_str()) {
            self.fails(
                world,
                format!("S4 writes {} for {} on {}, which is spelled {spelled}", proposal.to, spot.0, spot.1),
            );
        }
        let back = back::of(proposal);
        match &back {
            Some(of) => self.may_go_back(world, kept, shown, proposal, of),
            // Written once more on the present base it was opened long ago; a merge asks again.
            None if anew(world, &version, proposal, moved) => {}
            None => {
                let whose = (&proposal.part.purpose, proposal.members.as_slice());
                self.in_their_turn(world, (kept, shown), (&spot, &version), whose, "opens");
            }
        }
        self.may_begin(world, kept, shown, proposal, moved.is_some());
        self.respects_no(world, shown, &spot, &version);
        self.leaves_failed_alone(world, kept, &spot, &version);
        self.keeps_digest(world, shown, &spot, &version);
        let again = anew(world, &version, proposal, moved);
        if !again {
            let whose = (&proposal.part.purpose, proposal.members.as_slice());
            self.is_accepted(world, shown, (&spot, &version), whose);
        }
        if back.is_none() && moved.is_none() {
            self.opens_in_its_window(world, shown, proposal);
            self.is_verified_below(world, proposal);
        }
        if back.is_none() {
            self.no_downgrade(world, shown, &spot, &version, &proposal.members);
        }
        if !again {
            self.earlier_slices_are_healthy(world, shown, &spot, &version, &proposal.part, "opens");
        }
        self.fixes_members(world, kept, shown, proposal, moved);
        if back.is_none() && moved.is_none() && proposal.written.is_none() && !cut_off(world, shown, proposal) {
            self.moves_by_label(world, shown, proposal);
        }
        if moved.is_none() {
            self.one_pull_request(world, shown, &spot, proposal);
        }
    }

    /// S9: in the windows for opening, but for a hotfix, what somebody asked for, what had begun and what goes on.
    fn opens_in_its_window(&mut self, world: &mut World, shown: &Snapshot, proposal: &Proposal) {
        let Some(windows) = &shown.policy.opening else { return };
        let begun = proposal.part.slice > 0 || proposal.written.is_some() || cut_off(world, shown, proposal);
        let wished = shown.plugins[&proposal.plugin].open_now.get(&proposal.tier) == Some(&proposal.to);
        let hotfix = !crate::words::hotfixes(world, &proposal.plugin, &plain(&proposal.to)).is_empty();
        if !begun && !wished && !hotfix && !is_open(windows, world.ours()) {
            let what =
                format!("S9 opens {} {} on {} while that is closed", proposal.plugin, proposal.to, proposal.tier);
            self.fails(world, what);
        }
    }

    /// P3: what the bot brought to the tier below has finished there when the workflow has succeeded that verifies that tier.
    fn is_verified_below(&mut self, world: &mut World, proposal: &Proposal) {
        let version = plain(&proposal.to);
        let policy = world.policy.plugins.iter().find(|policy| policy.name == proposal.plugin);
        let tiers = policy.map_or(&[][..], |policy| policy.tiers.as_slice());
        let at = tiers.iter().position(|tier| tier.name == proposal.tier).unwrap_or(0);
        let below = tiers[..at].iter().rev().find(|tier| !world.members(&tier.name).is_empty());
        let Some((below, verify)) = below.and_then(|tier| Some((tier, tier.verify.as_ref()?))) else { return };
        let spot = (proposal.plugin.clone(), below.name.clone());
        // Who came late gets what the others were found with.
        let climbed = |pull: &&PullRequest| {
            let head = pull.bot_heads.last().and_then(|head| world.written.get(head));
            pull.spot == spot
                && pull.version == version
                && pull.closed.as_ref().is_some_and(|closed| closed.merged.is_some())
                && head.is_some_and(|commit| commit.part.purpose == Purpose::Promotion)
        };
        let there = world.base[&spot].iter().any(|place| place.version == version && place.by_bot);
        let ours = there && world.pulls.iter().any(|pull| climbed(&pull));
        // A ledger that was lost has forgotten who brought it there, and what took too long.
        if !ours || world.losses > 0 || proposal.part.purpose != Purpose::Promotion || proposal.part.slice > 0 {
            return;
        }
        let (since, late) = (world.scenario.start, below.on_failure == OnFailure::Stall);
        let (workflow, name) = (verify.workflow.clone(), below.name.clone());
        let did = world.runs.iter().any(|run| run.verifies(&spot, &version, &workflow, (since, world.now), late));
        if !did {
            let what = format!("P3 opens {} {version} on {} before {name} is verified", spot.0, proposal.tier);
            self.fails(world, what);
        }
    }

    /// S4: the clusters of the tier as they were when the wave began, and no others.
    fn fixes_members(
        &mut self,
        world: &mut World,
        kept: &mut Kept,
        shown: &Snapshot,
        proposal: &Proposal,
        moved: Option<u64>,
    ) {
        let spot = (proposal.plugin.clone(), proposal.tier.clone());
        let key = (spot.clone(), plain(&proposal.to));
        let goes_on = proposal.written.is_some()
            || moved.is_some_and(|number| {
                let known = world.pulls.iter().find(|pull| pull.number == number);
                known.is_some_and(|pull| pull.bot_version == key.1 && !taken_over(world, pull, proposal))
            });
        if !goes_on {
            self.is_published(world, shown, &spot, &key.1);
        }
        let selected = soak::selected(world, shown, &spot);
        if back::of(proposal).is_some() {
            let present = soak::present(world, shown, &spot);
            if !proposal.members.iter().all(|name| present.contains(name)) && proposal.written.is_none() {
                let what = format!("S4 {} {} on {} takes back {:?}", spot.0, key.1, spot.1, proposal.members);
                self.fails(world, what);
            }
            return;
        }
        if proposal.part.purpose == Purpose::Early {
            return; // whose turn it is says who may be among them
        }
        if proposal.part.purpose == Purpose::CatchUp {
            // Who came late, and nobody who moved with the others. Who they are was fixed when it was opened.
            let known = kept.members.get(&key).cloned().unwrap_or_default();
            let pull = world.pulls.iter().find(|pull| goes_on && Some(pull.number) == moved);
            let before = pull.and_then(|pull| world.written.get(pull.bot_heads.last()?)).map(|commit| &commit.members);
            let fixed = |name: &ClusterName| before.is_some_and(|before| before.contains(name));
            // Whom a climb was opened for that never came there has not moved with the others.
            let moved = |name: &ClusterName| {
                let at = |held: &(Spot, Option<ClusterName>, Version)| {
                    held.0 == spot && held.2 == key.1 && held.1.as_ref().is_none_or(|cluster| cluster == name)
                };
                known.contains(name) && world.first_held.keys().any(at)
            };
            let late = |name: &ClusterName| fixed(name) || (selected.contains(name) && !moved(name));
            if !proposal.members.iter().all(late) {
                let what = format!("S4 {} {} on {} catches up {:?}", spot.0, key.1, spot.1, proposal.members);
                self.fails(world, what);
            }
            return;
        }
        if moved.is_none() && proposal.written.is_none() && cut_off(world, shown, proposal) {
            return; // the same once more, without who has gone
        }
        let later = proposal.part.slice > 0;
        // A climb of which everybody has left begins anew with those who are there.
        let fixed = kept.members.get(&key).filter(|all| (goes_on || later) && !all.is_empty()).cloned();
        let selected_now = selected.clone();
        let all = fixed.unwrap_or(selected);
        let slice = proposal.part.partition.get(proposal.part.slice as usize);
        let of_slice = |name: &&ClusterName| slice.is_none_or(|slice| slice.contains(name));
        let mut wanted: Vec<ClusterName> = all.iter().filter(of_slice).cloned().collect();
        let mut proposed = proposal.members.clone();
        if proposal.written.is_some() {
            // The commit is there; who has left since is in it still.
            proposed.retain(|name| all.contains(name));
        }
        wanted.sort();
        proposed.sort();
        // After a lost ledger the climb may begin anew, with those who are there now. So does one that was taken back.
        let page = shown.ledger.plugins.get(&spot.0).and_then(|page| page.tiers.get(&spot.1));
        let mut waves = page.into_iter().flatten();
        let last = waves.rfind(|wave| plain(&wave.version) == key.1);
        let taken_back = last.is_some_and(|wave| wave.withdrawn().is_some());
        let mut anew: Vec<ClusterName> = selected_now.iter().filter(of_slice).cloned().collect();
        anew.sort();
        let begins_anew = (world.losses > 0 || taken_back) && proposed == anew;
        if proposed != wanted && !begins_anew {
            let what = format!("S4 {} {} on {} is for {:?}, not {wanted:?}", spot.0, key.1, spot.1, proposal.members);
            self.fails(world, what);
        }
        kept.members.insert(key, if proposed == wanted { all } else { selected_now });
    }

    /// S3 (and S15): one pull request for a plugin and a tier, and one opening for each release.
    fn one_pull_request(&mut self, world: &mut World, shown: &Snapshot, spot: &Spot, proposal: &Proposal) {
        let version = &plain(&proposal.to);
        let pulls = shown.plugins[&spot.0].pulls.known();
        let open = |pull: &&decide::snapshot::Pull| pull.tier == spot.1 && pull.state == PullState::Open;
        if let Some(pull) = pulls.into_iter().flatten().find(open) {
            self.fails(world, format!("S3 opens {} {version} on {} beside {}", spot.0, spot.1, pull.number));
        }
        let all = shown.plugins.values().filter_map(|facts| facts.pulls.known()).flatten();
        let open = all.filter(|pull| pull.state == PullState::Open).count() as u32 + self.opening_now;
        self.opening_now += 1;
        if let Some(most) = world.policy.limits.open_pulls.filter(|most| open >= *most) {
            self.fails(world, format!("S18 opens {} {version} on {} beside {open} of {most}", spot.0, spot.1));
        }
        if world.open_pull(spot).is_none() {
            let slices = slices::most(world, spot);
            // Whoever comes late brings a pull request of their own.
            // And each failed release a way back of its own.
            let late = match &proposal.part.purpose {
                Purpose::CatchUp => proposal.members.clone(),
                Purpose::RollBack { of } => vec![ClusterName::new(format!("back from {of}"))],
                Purpose::Early => {
                    proposal.members.iter().map(|name| ClusterName::new(format!("{EARLY}{name}"))).collect()
                }
                Purpose::Promotion => Vec::new(),
            };
            // It comes again after each newer release to which its pull request was moved and which was given up;
            // under `restart` a hotfix does after any.
            let policy = shown.policy.plugins.iter().find(|known| known.name == spot.0).unwrap();
            let again = match policy.next {
                Next::Restart => world.releases[&spot.0].len() as u32,
                Next::NewestFinished | Next::Every => took_its_place(world, spot, version),
            };
            // What failed elsewhere a lost ledger forgets, and it comes until it fails there once more.
            let again = again + world.losses;
            // What the file turns away is taken back, and comes when the file takes it again.
            let again = again + world.turns.get(&spot.0).copied().unwrap_or(0);
            // So it is while it stalls on a tier below.
            let again = again + self.stalls.get(&spot.0).copied().unwrap_or(0);
            let opened = self.opened.entry((spot.clone(), version.clone(), late)).or_default();
            *opened += 1;
            // Each time all of its climb comes, whatever somebody set back by hand.
            if *opened > (MOST_OPENINGS + again) * slices {
                self.fails(world, format!("S15 opens {} {version} on {} for the fourth time", spot.0, spot.1));
            }
        }
    }
}

/// How many newer releases the bot wrote to pull requests that had held this one.
fn took_its_place(world: &World, spot: &Spot, version: &Version) -> u32 {
    let held = |pull: &crate::pulls::PullRequest| -> Vec<Version> {
        pull.bot_heads.iter().filter_map(|head| Some(world.written.get(head)?.version.clone())).collect()
    };
    let held = world.pulls.iter().filter(|pull| pull.spot == *spot).map(held).filter(|held| held.contains(version));
    let newer: BTreeSet<Version> = held.flatten().filter(|held| held > version).collect();
    newer.len() as u32
}

/// Whether a pull request that is open already only gets the same slice once more, on the present base.
fn anew(world: &World, version: &Version, proposal: &Proposal, moved: Option<u64>) -> bool {
    let pull = world.pulls.iter().find(|pull| Some(pull.number) == moved);
    let written = pull.and_then(|pull| world.written.get(pull.bot_heads.last()?));
    written.is_some_and(|commit| commit.version == *version && commit.part == proposal.part)
}

/// Whether the tier's own turn takes the pull request of clusters ahead of it, be it with the same release (somebody
/// had put an older one back): it begins with everybody who is there.
fn taken_over(world: &World, pull: &crate::pulls::PullRequest, proposal: &Proposal) -> bool {
    let written = pull.bot_heads.last().and_then(|head| world.written.get(head));
    proposal.part.purpose != Purpose::Early && written.is_some_and(|commit| commit.part.purpose == Purpose::Early)
}

/// Whether an opening was cut off before anything was shown of it, and this one is for those of its members who
/// are still there.
fn cut_off(world: &World, shown: &Snapshot, proposal: &Proposal) -> bool {
    let page = shown.ledger.plugins.get(&proposal.plugin);
    let mut waves = page.and_then(|page| page.tiers.get(&proposal.tier)).into_iter().flatten();
    let Some(wave) = waves.rfind(|wave| plain(&wave.version) == plain(&proposal.to)) else { return false };
    let ended = wave.landed().is_some()
        || wave.superseded().is_some()
        || wave.withdrawn().is_some()
        || wave.rejected().is_some();
    let begun = !wave.heads.is_empty() && wave.pull.is_none() && wave.part.slice == proposal.part.slice;
    let present = soak::present(world, shown, &(proposal.plugin.clone(), proposal.tier.clone()));
    let mut here: Vec<_> = wave.members.iter().filter(|name| present.contains(name)).cloned().collect();
    let mut proposed = proposal.members.clone();
    here.sort();
    proposed.sort();
    begun && !ended && wave.failed().is_none() && here == proposed
}
