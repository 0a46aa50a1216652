//! Versions that clusters must leave (`deprecated`, `expires`, `maxLive`, pins that have ended): nobody is
//! brought to them, and who is on them is brought up without the approvals, after notices (policy, section 6).

use decide::ledger::Purpose;
use decide::model::{Force, PluginPolicy, Tier};
use decide::snapshot::Snapshot;
use decide::{ClusterName, PluginName};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::{Watch, plain, shown_base_of};
use crate::pulls::PullRequest;
use crate::releases::{self, inside};
use crate::world::{Spot, World};

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Whether a version is deprecated, or one that clusters must have left by now.
pub(super) fn to_be_left(shown: &Snapshot, plugin: &PluginName, version: &Version, now: Timestamp) -> bool {
    let policy = shown.policy.plugins.iter().find(|known| known.name == *plugin).unwrap();
    releases::to_be_left(policy, version, now)
}

/// The grace period of a pull request that began at `since`: the tier's, and what is left of it where its
/// clusters must leave what they run. Nothing presses anybody to a pre-release, or ahead of a tier.
pub(super) fn asked(
    world: &World,
    shown: &Snapshot,
    (pull, since): (&PullRequest, Timestamp),
    tier: &Tier,
) -> Option<Force> {
    let purpose = world.written.get(pull.bot_heads.last()?).map(|commit| commit.part.purpose.clone());
    if purpose == Some(Purpose::Early) {
        return None;
    }
    let own = tier.force.clone();
    let policy = shown.policy.plugins.iter().find(|known| known.name == pull.spot.0)?;
    let mut by = dated(world, shown, policy, pull);
    let days = own.as_ref().map_or(DAY * 30, |own| own.after);
    by.extend(crowded(world, shown, policy, pull).then(|| since + days));
    by.extend(unpinned(world, policy, pull).filter(|_| purpose == Some(Purpose::CatchUp)));
    let Some(by) = by.into_iter().min().filter(|_| pull.bot_version.pre.is_empty()) else { return own };
    let left = by.duration_since(since).max(SignedDuration::ZERO);
    let usual = Force { after: SignedDuration::MAX, notice: vec![DAY * 14, DAY * 3, DAY] };
    let own = own.unwrap_or(usual);
    Some(Force { after: own.after.min(left), ..own })
}

/// Versions older than its own on the files that a pull request writes.
fn left_behind(world: &World, shown: &Snapshot, pull: &PullRequest) -> Vec<Version> {
    let there = shown_base_of(world, shown, &pull.spot, &pull.members).unwrap_or_default();
    there.into_iter().filter(|there| *there < pull.bot_version).collect()
}

/// When the file says that what runs there must be left.
fn dated(world: &World, shown: &Snapshot, policy: &PluginPolicy, pull: &PullRequest) -> Vec<Timestamp> {
    let there = left_behind(world, shown, pull);
    let presses = policy.expires.iter().filter(|expiry| there.iter().any(|there| inside(&expiry.versions, there)));
    presses.map(|expiry| expiry.at).collect()
}

/// Whether as many newer versions run as may run at once.
fn crowded(world: &World, shown: &Snapshot, policy: &PluginPolicy, pull: &PullRequest) -> bool {
    let Some(most) = policy.max_live else { return false };
    let tiers = shown.plugins[&policy.name].base.known().into_iter().flatten();
    let all = tiers.flat_map(|(_, places)| places).filter_map(|place| place.version.known().map(plain));
    let mut live: Vec<Version> = all
        .chain(
            world
                .base
                .iter()
                .filter(|((name, _), _)| *name == policy.name)
                .flat_map(|(_, places)| places.iter().map(|place| place.version.clone())),
        )
        .collect();
    live.sort();
    live.dedup();
    let newer = |there: &Version| live.iter().filter(|live| *live > there).count();
    left_behind(world, shown, pull).iter().any(|there| newer(there) >= most as usize)
}

/// When the last pin of its clusters ended, where all of them had one.
fn unpinned(world: &World, policy: &PluginPolicy, pull: &PullRequest) -> Option<Timestamp> {
    let ended = |name: &ClusterName| {
        let pins = policy.pins.iter().filter(|pin| crate::rules::holds(pin, name, Timestamp::MIN));
        pins.filter_map(|pin| pin.until).filter(|until| *until <= world.ours()).max()
    };
    let ended: Option<Vec<Timestamp>> = pull.members.iter().map(ended).collect();
    ended?.into_iter().max()
}

impl Watch {
    /// Nobody is brought to a version that everybody should leave.
    pub(super) fn nobody_has_to_leave_it(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        spot: &Spot,
        version: &Version,
    ) {
        if to_be_left(shown, &spot.0, version, world.ours()) {
            self.fails(world, format!("P2 takes {} {version} to {}, which is to be left", spot.0, spot.1));
        }
    }
}
