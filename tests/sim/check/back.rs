//! The way back from a failed release (`onFailure: rollBack`): when the bot may open it, and what it holds.

use decide::ClusterName;
use decide::ledger::Purpose;
use decide::model::OnFailure;
use decide::plan::Proposal;
use decide::snapshot::Snapshot;
use semver::Version;

use super::{Kept, Watch, plain};
use crate::pulls::BOT;
use crate::world::{Spot, World};

/// The release that a proposal takes back; none for any other proposal.
pub(super) fn of(proposal: &Proposal) -> Option<Version> {
    match &proposal.part.purpose {
        Purpose::RollBack { of } => Some(plain(of)),
        Purpose::Promotion | Purpose::CatchUp | Purpose::Early => None,
    }
}

impl Watch {
    /// A way back goes from a release that something was wrong with to the one before it, and is no way
    /// back of a way back.
    pub(super) fn may_go_back(
        &mut self,
        world: &mut World,
        kept: &mut Kept,
        shown: &Snapshot,
        proposal: &Proposal,
        of: &Version,
    ) {
        let spot = (proposal.plugin.clone(), proposal.tier.clone());
        let to = plain(&proposal.to);
        let policy = shown.policy.plugins.iter().find(|known| known.name == spot.0).unwrap();
        let tier = policy.tiers.iter().find(|tier| tier.name == spot.1).unwrap();
        let mut wrong = Vec::new();
        if !matches!(tier.on_failure, OnFailure::RollBack { .. }) {
            wrong.push("the file asks for none".to_string());
        }
        if to >= *of {
            wrong.push("that is no way back".to_string());
        }
        if !kept.doubts.contains(&(spot.clone(), of.clone())) {
            wrong.push("nothing was wrong with it".to_string());
        }
        if self.breaks(world, shown, &spot, &to, of) {
            wrong.push("that breaks".to_string());
        }
        // Who got it by a climb of its own, such as one that was late, may go back though others came to it by a
        // way back.
        let came_back = |member: &ClusterName| kept.backs.contains(&(spot.clone(), of.clone(), member.clone()));
        if proposal.written.is_none() && proposal.members.iter().any(came_back) {
            wrong.push("it came back by a rollback itself".to_string());
        }
        let refused = world.pulls.iter().any(|pull| {
            let closed = pull.closed.as_ref().is_some_and(|end| end.merged.is_none() && end.by != BOT);
            pull.spot == spot && closed && world.purpose(pull.number).is_some_and(|known| plain(&known) == *of)
        });
        if refused && world.losses == 0 && proposal.written.is_none() {
            wrong.push("a person said no to that".to_string());
        }
        for why in wrong {
            let what = format!("B1 takes {} {of} on {} back to {to}, though {why}", spot.0, spot.1);
            self.fails(world, what);
        }
        kept.backs.extend(proposal.members.iter().map(|member| (spot.clone(), to.clone(), member.clone())));
    }

    /// Whether the step between two releases is marked as breaking, or its numbers say so.
    pub(super) fn breaks(&self, _world: &World, shown: &Snapshot, spot: &Spot, from: &Version, to: &Version) -> bool {
        let by_number = from.major != to.major || (from.major == 0 && from.minor != to.minor);
        let listed = shown.plugins[&spot.0].releases.known().into_iter().flatten();
        let mut between = listed.filter(|release| {
            let version = plain(&release.version);
            version > *from && version <= *to
        });
        by_number || between.any(|release| release.marked_breaking || !release.breaking.is_empty())
    }
}
