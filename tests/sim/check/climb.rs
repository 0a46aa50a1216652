//! Which release may be where: S1, S2, S10, S12, S20, and that a failed release stays where it is.

use decide::ClusterName;
use decide::ledger::Purpose;
use decide::snapshot::{CheckState, PullState, Snapshot};
use semver::Version;

use super::{Kept, Watch, keys, plain, shown_base, shown_base_of};
use crate::pulls::{BOT, PullRequest};
use crate::releases::inside;
use crate::world::{Spot, World};

impl Watch {
    /// S1: before a release is opened or merged on a tier, it has met the soak of the tier below.
    pub(super) fn climbs_in_order(
        &mut self,
        world: &mut World,
        kept: &Kept,
        shown: &Snapshot,
        spot: &Spot,
        version: &Version,
        does: &str,
    ) {
        let Some(below) = keys::below(world, shown, spot) else { return };
        let key = (below, version.clone());
        if !kept.met.contains_key(&key) {
            let below = &key.0.1;
            let what = format!("S1 {does} {} {version} on {}, which has not soaked on {below}", spot.0, spot.1);
            self.fails(world, what);
        }
    }

    /// S1: a release that failed a tier climbs no further.
    pub(super) fn leaves_failed_alone(&mut self, world: &mut World, kept: &Kept, spot: &Spot, version: &Version) {
        let now = world.ours();
        let failed =
            kept.failed.iter().find(|((there, what), since)| there.0 == spot.0 && what == version && **since < now);
        if let Some(((there, _), since)) = failed {
            let what =
                format!("S1 goes on with {} {version} on {}, which failed on {} at {since}", spot.0, spot.1, there.1);
            self.fails(world, what);
        }
    }

    /// S2: no tier is ahead of the tier below by the bot's doing, as far as it was shown.
    pub(super) fn not_ahead(&mut self, world: &mut World, shown: &Snapshot, spot: &Spot, version: &Version) {
        let Some(below) = keys::below(world, shown, spot) else { return };
        let there = shown_base(world, shown, &below).unwrap_or_default();
        if there.is_empty() && shown.clusters.known().is_some() {
            return; // its clusters are gone, and their files
        }
        let there = there.into_iter().max();
        if there.as_ref().is_none_or(|there| there < version) {
            let what = format!("S2 brings {} {version} to {}, while {} has {there:?}", spot.0, spot.1, below.1);
            self.fails(world, what);
        }
    }

    /// S10: what a person closed stays closed, on that tier and above.
    pub(super) fn respects_no(&mut self, world: &mut World, shown: &Snapshot, spot: &Spot, version: &Version) {
        let tier_index = world.tier_index(&spot.1);
        let seen_closed = |number: u64| {
            super::pull_of(shown, &spot.0, number).is_some_and(|pull| matches!(pull.state, PullState::Closed { .. }))
        };
        let no = world.pulls.iter().find(|pull| {
            pull.spot.0 == spot.0
                && pull.bot_version == *version
                && world.tier_index(&pull.spot.1) <= tier_index
                && closed_by_a_person(world, pull)
                // Closing a way back says no to that, not to the version it holds.
                && world.purpose(pull.number).is_none()
                && seen_closed(pull.number)
                // Whose release it was is known from the head or from the ledger; without both, from nothing.
                && (pull.ours || world.losses == 0)
        });
        if let Some(pull) = no {
            let what = format!(
                "S10 goes on with {} {version} on {}, though a person closed #{} on {}",
                spot.0, spot.1, pull.number, pull.spot.1
            );
            self.fails(world, what);
        }
    }

    /// S12: a commit of the bot never lowers a version.
    pub(super) fn no_downgrade(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        spot: &Spot,
        version: &Version,
        members: &[ClusterName],
    ) {
        if shown_base_of(world, shown, spot, members).into_iter().flatten().any(|there| there > *version) {
            self.fails(world, format!("S12 takes {} on {} back to {version}", spot.0, spot.1));
        }
    }

    /// S20: one digest for all tiers; a second one under the same version stops the release.
    pub(super) fn keeps_digest(&mut self, world: &mut World, shown: &Snapshot, spot: &Spot, version: &Version) {
        let pinned = shown.ledger.plugins.get(&spot.0).into_iter().flat_map(|page| &page.releases);
        let pinned =
            pinned.into_iter().find(|seen| plain(&seen.version) == *version).and_then(|seen| seen.digest.clone());
        let now = shown.plugins[&spot.0].releases.known().into_iter().flatten();
        let now = now
            .into_iter()
            .find(|release| plain(&release.version) == *version)
            .and_then(|release| release.digest.clone());
        if let (Some(pinned), Some(now)) = (pinned, now)
            && pinned != now
        {
            let what = format!("S20 goes on with {} {version} on {}, whose content changed", spot.0, spot.1);
            self.fails(world, what);
        }
    }

    /// Policy, section 2: inside the constraint, no pre-release unless asked for.
    pub(super) fn is_accepted(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        (spot, version): (&Spot, &Version),
        (purpose, members): (&Purpose, &[ClusterName]),
    ) {
        // Clusters ahead of their tier take a step of their own, from what they run.
        let running = match purpose {
            Purpose::Early => shown_base_of(world, shown, spot, members),
            Purpose::Promotion | Purpose::CatchUp | Purpose::RollBack { .. } => shown_base(world, shown, spot),
        };
        let back = matches!(purpose, Purpose::RollBack { .. });
        self.may_take_the_step(world, shown, (spot, version, back), &running.unwrap_or_default());
        self.nobody_has_to_leave_it(world, shown, spot, version);
        if world.tier(spot).constraint.as_ref().is_some_and(|all| !inside(all, version)) {
            self.fails(world, format!("P2 takes {} {version} to {}, which the tier refuses", spot.0, spot.1));
        }
        if !world.accepted(&spot.0).contains(version) && world.release(&spot.0, version).is_some_and(|r| !r.yanked) {
            self.fails(world, format!("P2 takes {} {version} to {}, which the policy refuses", spot.0, spot.1));
        }
    }

    /// Policy, section 2: no blocked edge, green checks, a signature, and content that is not there already.
    fn may_take_the_step(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        (spot, version, back): (&Spot, &Version, bool),
        running: &[Version],
    ) {
        let policy = shown.policy.plugins.iter().find(|known| known.name == spot.0).unwrap();
        let older = |there: &&Version| *there < version;
        let blocked = policy.blocks.iter().any(|block| {
            // Blocks of these worlds name one version, and come from below 1.3.0 where they name a start.
            let to = block.to.as_str().trim_start_matches('=') == version.to_string();
            let start = |there: &Version| block.from.is_none() || *there < Version::new(1, 3, 0);
            let here = block.above.as_ref().is_none_or(|above| world.tier_index(&spot.1) > world.tier_index(above));
            to && here && running.iter().filter(older).any(start)
        });
        let listed = shown.plugins[&spot.0].releases.known().into_iter().flatten();
        let release = listed.into_iter().find(|release| plain(&release.version) == *version);
        let state = |name: &String| {
            let checks = release.and_then(|release| release.checks.known());
            checks.into_iter().flatten().find(|check| check.name == *name).map(|check| check.state)
        };
        // What ran before comes back whatever is asked of what is new.
        let red =
            !back && release.is_some() && policy.checks.iter().any(|name| state(name) != Some(CheckState::Success));
        let unsigned = !back
            && policy.signed
            && release.is_some_and(|release| release.unsigned != decide::snapshot::Read::Known(None));
        let digest = |version: &Version| {
            let pinned = !super::books::unpinned(shown, &spot.0, version);
            world.release(&spot.0, version).filter(|_| pinned).map(|release| release.first_digest.clone())
        };
        let newer = running.iter().max().is_some_and(|highest| highest < version);
        // What was published again before the bot first saw it has other content for the bot.
        let again = |version: &Version| world.release(&spot.0, version).is_some_and(|release| release.retagged);
        let retagged = again(version) || running.iter().any(again);
        let own = digest(version);
        let same = newer && !retagged && own.is_some() && running.iter().all(|there| digest(there) == own);
        let of_author = release.into_iter().flat_map(|release| &release.blocks);
        let start = |there: &Version, from: bool| !from || *there < Version::new(1, 3, 0);
        let annotated = of_author
            .into_iter()
            .any(|block| running.iter().filter(older).any(|there| start(there, block.from.is_some())));
        let labelled = crate::words::is_labelled(world, shown, spot, version);
        let blocked = blocked || annotated || labelled;
        let torn = release.is_some_and(|release| release.incomplete.is_some());
        for (wrong, why) in [
            (blocked, "is blocked"),
            (red, "has checks that are not green"),
            (unsigned, "is not signed"),
            (same, "is there"),
            (torn, "is not complete"),
        ] {
            if wrong {
                self.fails(world, format!("P2 takes {} {version} to {}, which {why}", spot.0, spot.1));
            }
        }
    }

    /// Policy, section 2: what is no longer published is not taken up.
    pub(super) fn is_published(&mut self, world: &mut World, shown: &Snapshot, spot: &Spot, version: &Version) {
        let listed = shown.plugins[&spot.0].releases.known().into_iter().flatten();
        if !listed.into_iter().any(|release| plain(&release.version) == *version) {
            self.fails(world, format!("P2 takes {} {version} to {}, which is not published", spot.0, spot.1));
        }
    }
}

/// A person's no. Closing a pull request whose release is on the base branch already says no to
/// nothing.
pub(super) fn closed_by_a_person(world: &World, pull: &PullRequest) -> bool {
    let landed = world.landed(&pull.spot, &pull.bot_version, &pull.members);
    pull.closed.as_ref().is_some_and(|closed| {
        closed.merged.is_none() && closed.by != BOT && landed.is_none_or(|landed| landed > closed.at)
    })
}
