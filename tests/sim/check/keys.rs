//! P3: what the rarer keys ask of an opening or a merge: pins (S5), `after`, `cooldown`, `next: every`, pauses,
//! announcements, tiers that follow by themselves.

use decide::ledger::{Purpose, Wait};
use decide::model::{Empty, Next, OnFailure};
use decide::plan::{Action, Proposal};
use decide::snapshot::{CommandKind, Pull, Read, Snapshot};
use decide::{ClusterName, PluginName};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::{Kept, Watch, early, plain, shown_base};
use crate::runs::Run;
use crate::world::{Spot, World};

impl Watch {
    /// What has to hold before a pull request is opened or gets another release.
    pub(super) fn may_begin(
        &mut self,
        world: &mut World,
        kept: &Kept,
        shown: &Snapshot,
        proposal: &Proposal,
        moved: bool,
    ) {
        let spot = (proposal.plugin.clone(), proposal.tier.clone());
        let version = plain(&proposal.to);
        if world.tier(&spot).follows {
            self.fails(world, format!("P3 opens {} {version} on {}, which follows by itself", spot.0, spot.1));
        }
        self.leaves_pinned(world, shown, &spot, &version, &proposal.members);
        if moved || proposal.written.is_some() {
            return;
        }
        // What comes back ran there before, and waits for no other plugin.
        if !matches!(proposal.part.purpose, Purpose::RollBack { .. }) {
            self.comes_after(world, (kept, shown), (&spot, &version), true);
        }
        if proposal.part.slice == 0 && proposal.part.purpose == Purpose::Promotion {
            self.tier_is_free(world, (kept, shown), &spot, &version);
        }
        if proposal.part.slice > 0 {
            self.paused(world, &spot, &version, proposal);
        } else if proposal.part.purpose == Purpose::Promotion && world.tier_index(&spot.1) == 0 {
            self.cooled(world, shown, &spot, &version);
            self.skips_none(world, kept, shown, &spot, &version);
        }
    }

    /// S5: pinned clusters are none of the bot's.
    pub(super) fn leaves_pinned(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        spot: &Spot,
        version: &Version,
        members: &[ClusterName],
    ) {
        self.leaves_shared_places(world, shown, spot, version, "writes");
        if let Some(pinned) = members.iter().find(|name| is_pinned(shown, &spot.0, name, world.ours())) {
            self.fails(world, format!("S5 moves {pinned} to {} {version} on {}, though it is pinned", spot.0, spot.1));
        }
    }

    /// S5: where a file is everybody's, a cluster that is pinned or ahead keeps the bot from all of it.
    pub(super) fn leaves_shared_places(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        spot: &Spot,
        version: &Version,
        does: &str,
    ) {
        let shared = world.base[spot].iter().any(|place| place.cluster.is_none());
        let here = shown.clusters.known().into_iter().flatten();
        let mut here = here.filter(|cluster| cluster.labels["tier"] == spot.1.as_str());
        let pinned = here.find(|cluster| is_pinned(shown, &spot.0, &cluster.name, world.ours()));
        let apart = pinned.map(|cluster| cluster.name.clone());
        let apart = apart.or_else(|| early::ahead(shown, spot, world.ours()).into_iter().next());
        if let Some(apart) = apart.filter(|_| shared) {
            self.fails(world, format!("S5 {does} {} {version} on {}, where {apart} stays apart", spot.0, spot.1));
        }
    }

    /// `after`: the plugins before it are done on this tier when it opens, and run what is asked also when it
    /// merges.
    pub(super) fn comes_after(
        &mut self,
        world: &mut World,
        (kept, shown): (&Kept, &Snapshot),
        (spot, version): (&Spot, &Version),
        opens: bool,
    ) {
        let policy = shown.policy.plugins.iter().find(|known| known.name == spot.0).unwrap();
        let mut missing = Vec::new();
        for after in &policy.after {
            let there = (after.plugin.clone(), spot.1.clone());
            let mut versions = shown_base(world, shown, &there).unwrap_or_default();
            versions.dedup();
            let one = versions.first().cloned();
            let (tier, known) = (world.tier(&there), shown.plugins[&there.0].base.known());
            if versions.is_empty() && !tier.follows && after.version.is_some() {
                // Where everybody is pinned, what they are pinned to runs.
                let held = known.and_then(|base| base.get(&there.1)).into_iter().flatten();
                versions = held.map(|place| place.version.known().map_or(Version::new(0, 0, 0), plain)).collect();
                if versions.is_empty() {
                    missing.push(format!("{} runs nothing", after.plugin));
                }
            } else if versions.len() > 1 && opens {
                missing.push(format!("{} is under way", after.plugin));
            }
            // The only versions that are asked for in these worlds, as Helm users write it: no pre-release is one.
            let enough = |running: &Version| *running >= Version::new(1, 0, 1) && running.pre.is_empty();
            if after.version.is_some() && !versions.iter().all(enough) {
                missing.push(format!("{} runs {one:?}", after.plugin));
            }
            if let Some(one) = one.filter(|_| opens && world.losses == 0) {
                let by_bot = world.base[&there].iter().any(|place| place.by_bot && place.version == one);
                if by_bot && !kept.met.contains_key(&(there, one.clone())) {
                    missing.push(format!("{} {one} has not finished", after.plugin));
                }
            }
        }
        for what in missing {
            // Not "merges": that ends by the clock alone (`live`).
            let does = if opens { "opens" } else { "takes" };
            self.fails(world, format!("P3 {does} {} {version} on {}, though {what}", spot.0, spot.1));
        }
    }

    /// `cooldown`: so long after the first release that is taken together with this one came out, at least.
    fn cooled(&mut self, world: &mut World, shown: &Snapshot, spot: &Spot, version: &Version) {
        let policy = shown.policy.plugins.iter().find(|known| known.name == spot.0).unwrap();
        let (cooldown, hotfix) = (policy.cooldown, is_hotfix(world, spot, version));
        let begun = self.opened.keys().any(|(there, known, _)| there == spot && known >= version);
        let running = shown_base(world, shown, spot).unwrap_or_default().into_iter().max();
        if cooldown.is_zero() || hotfix || begun || running.is_none() || world.losses > 0 {
            return;
        }
        let newer = world.releases[&spot.0].values().filter(|release| Some(&release.version) > running.as_ref());
        let first = newer.filter(|release| release.version <= *version || !release.yanked).map(|r| r.published).min();
        if first.is_some_and(|first| world.now < first + cooldown - slack(world)) {
            self.fails(world, format!("P3 opens {} {version} on {} within the cooldown", spot.0, spot.1));
        }
    }

    /// `next: every`: no release that nothing is wrong with is passed over.
    fn skips_none(&mut self, world: &mut World, kept: &Kept, shown: &Snapshot, spot: &Spot, version: &Version) {
        let policy = shown.policy.plugins.iter().find(|known| known.name == spot.0).unwrap();
        if policy.next != Next::Every || is_hotfix(world, spot, version) || world.losses > 0 {
            return;
        }
        let Some(running) = shown_base(world, shown, spot).unwrap_or_default().into_iter().max() else { return };
        let now = world.ours() + SignedDuration::from_hours(3);
        // Whatever a person put there and took off again has had its turn, too; and what was passed by it has: after
        // what failed a tier is free for a newer release only.
        let held = |known: &Version| {
            let mut here = world.first_held.keys().filter(|(there, _, _)| there == spot);
            here.any(|(_, _, held)| held == known || (held > known && *held > running))
        };
        let written = |pull: &crate::pulls::PullRequest, known: &Version| {
            let mut commits = pull.bot_heads.iter().filter_map(|head| world.written.get(head));
            pull.spot.0 == spot.0 && commits.any(|commit| commit.version == *known)
        };
        let tried = |known: &Version| world.pulls.iter().any(|pull| written(pull, known)) || held(known);
        // What somebody put on another tier, where it fared badly, climbs nowhere.
        let ill = |known: &Version| {
            let mut said = kept.failed.keys().chain(&kept.doubts).chain(&kept.taken_off);
            said.any(|(there, what)| there.0 == spot.0 && what == known)
        };
        let clean = |known: &Version| {
            let release = &world.releases[&spot.0][known];
            let listed = shown.plugins[&spot.0].releases.known().into_iter().flatten();
            let asked = !policy.checks.is_empty() || policy.signed;
            let checked = !asked || (release.green && world.now >= release.checked);
            let checked = checked && world.now >= release.complete;
            listed.into_iter().any(|release| plain(&release.version) == *known && release.blocks.is_empty())
                && !release.retagged
                && checked
                && !tried(known)
                && !ill(known)
                && !super::expiry::to_be_left(shown, &spot.0, known, now)
                && policy.blocks.is_empty()
                && !world.releases[&spot.0]
                    .values()
                    .any(|other| other.version < *known && other.first_digest == release.first_digest)
        };
        // A merge of which nothing came counts as taken off again.
        let waves = shown.ledger.plugins.get(&spot.0).and_then(|page| page.tiers.get(&spot.1));
        let failed = kept.failed.keys().any(|(there, _)| there == spot)
            || waves.into_iter().flatten().any(|wave| wave.failed().is_some());
        let accepted = world.accepted(&spot.0);
        let between = accepted.into_iter().filter(|known| *known > running && known < version);
        let skipped = between.filter(clean).min();
        if let Some(skipped) = skipped.filter(|_| !failed) {
            self.fails(world, format!("P3 opens {} {version} on {} and skips {skipped}", spot.0, spot.1));
        }
    }

    /// Pauses between slices: the time has passed, or somebody has said the word.
    fn paused(&mut self, world: &mut World, spot: &Spot, version: &Version, proposal: &Proposal) {
        let part = &proposal.part;
        let earlier: Vec<ClusterName> = part.partition.iter().take(part.slice as usize).flatten().cloned().collect();
        let moved = world.places_of(spot, &earlier).filter(|place| place.version == *version && place.by_bot);
        let Some(since) = moved.map(|place| place.since).max() else { return };
        let pauses = part.pauses.get(part.slice as usize).into_iter().flatten();
        let (mut length, mut asked) = (SignedDuration::ZERO, false);
        let mut verified = true;
        for pause in pauses {
            match pause {
                Wait::Pause(Some(pause)) => length += *pause,
                Wait::Pause(None) => asked = true,
                Wait::Verify(verify) => {
                    let since = since - slack(world);
                    // Under `stall` what took too long fails nothing: the slice waits until it succeeds. A ledger that
                    // was lost has forgotten that it took too long, and finds that it succeeded.
                    let late = world.tier(spot).on_failure == OnFailure::Stall || world.losses > 0;
                    let did = |run: &Run| run.verifies(spot, version, &verify.workflow, (since, world.now), late);
                    verified &= world.runs.iter().any(did);
                }
            }
        }
        if !verified {
            self.fails(world, format!("P3 opens {} {version} on {} before a workflow has verified it", spot.0, spot.1));
        }
        let says = |pull: &crate::pulls::PullRequest| {
            pull.commands.iter().any(|command| {
                command.what == CommandKind::Resume
                    && command.allowed == Read::Known(true)
                    && command.at + slack(world) >= since
            })
        };
        let said = world.pulls.iter().filter(|pull| pull.spot == *spot).any(says);
        if (asked && !said) || world.now + slack(world) < since + length {
            self.fails(world, format!("P3 opens {} {version} on {} before its pause is over", spot.0, spot.1));
        }
    }

    /// S15: a workflow is dispatched once for each intent.
    pub fn dispatches(&mut self, world: &mut World, action: &Action) {
        let Action::Dispatch { workflow, verification, .. } = action else { return };
        if world.dispatch(action) {
            self.fails(world, format!("S15 dispatches {workflow} twice as {}", verification.id));
        }
    }

    /// `announce`: nothing is merged sooner after people were told.
    pub(super) fn announced_long_ago(&mut self, world: &mut World, shown: &Snapshot, seen: &Pull, spot: &Spot) {
        let policy = shown.policy.plugins.iter().find(|known| known.name == spot.0).unwrap();
        let announce = policy.tiers.iter().find(|tier| tier.name == spot.1).unwrap().announce;
        if !announce.is_zero() && world.now + slack(world) < seen.opened_at + announce {
            self.fails(
                world,
                format!("P3 merges {} of {} on {} too soon after it was announced", seen.number, spot.0, spot.1),
            );
        }
    }
}

/// How far our clock may be off now, or may have been.
pub(super) fn slack(world: &World) -> SignedDuration {
    let skews = world.scenario.happenings.iter().any(|(at, what)| {
        matches!(what, crate::scenario::Happening::Skew { minutes, .. }
            if *at <= world.now && world.now <= *at + SignedDuration::from_mins(*minutes as i64) + SignedDuration::from_hours(48))
    });
    SignedDuration::from_secs(if skews { 7_200 } else { 1 })
}

/// Whether a release is a hotfix, by the file or by somebody's word.
pub(super) fn is_hotfix(world: &World, spot: &Spot, version: &Version) -> bool {
    !crate::words::hotfixes(world, &spot.0, version).is_empty()
}

/// The tier below that releases have to finish: one without clusters is passed where the file says so.
pub(super) fn below(world: &World, shown: &Snapshot, spot: &Spot) -> Option<Spot> {
    let policy = shown.policy.plugins.iter().find(|known| known.name == spot.0)?;
    let clusters = shown.clusters.known();
    let mut tier_index = world.tier_index(&spot.1);
    loop {
        tier_index = tier_index.checked_sub(1)?;
        let tier = &policy.tiers[tier_index];
        let nobody = clusters.is_some_and(|all| !all.iter().any(|cluster| tier.select.matches(&cluster.labels)));
        if tier.empty == Empty::Error || !nobody {
            return Some((spot.0.clone(), tier.name.clone()));
        }
    }
}

/// The lowest tier that releases have to finish, or the first one where all below this tier are passed.
pub(super) fn first_with_clusters(world: &World, shown: &Snapshot, spot: &Spot) -> Spot {
    let lowest = (spot.0.clone(), world.scenario.tiers()[0].name.clone());
    std::iter::successors(below(world, shown, spot), |spot| below(world, shown, spot)).last().unwrap_or(lowest)
}

/// Whether the file that was shown pins a cluster for a plugin.
pub(super) fn is_pinned(shown: &Snapshot, plugin: &PluginName, cluster: &ClusterName, now: Timestamp) -> bool {
    let policy = shown.policy.plugins.iter().find(|known| known.name == *plugin);
    policy.is_some_and(|policy| policy.pins.iter().any(|pin| crate::rules::holds(pin, cluster, now)))
}
