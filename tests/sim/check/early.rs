//! P3: clusters that are ahead of their tier (`early`). They may get what has finished the first tier, as long
//! as the file says so; the tier's own turn is not theirs.

use decide::ClusterName;
use decide::ledger::Purpose;
use decide::snapshot::Snapshot;
use jiff::Timestamp;
use semver::Version;

use super::{Kept, Watch, keys, shown_base};
use crate::world::{Spot, World};

/// The clusters that the file that was shown puts ahead of a tier at an instant, pinned ones left out.
pub(super) fn ahead(shown: &Snapshot, spot: &Spot, now: Timestamp) -> Vec<ClusterName> {
    let Some(policy) = shown.policy.plugins.iter().find(|known| known.name == spot.0) else { return Vec::new() };
    let Some(tier) = policy.tiers.iter().skip(1).find(|tier| tier.name == spot.1) else { return Vec::new() };
    let names = tier.early.iter().filter(|early| early.until.is_none_or(|until| now < until));
    // In these worlds an entry names one cluster.
    let names: Vec<&String> = names.filter_map(|early| early.select.match_labels.get("name")).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let here = shown.clusters.known().into_iter().flatten();
    let here =
        here.filter(|cluster| cluster.labels["tier"] == spot.1.as_str() && names.contains(&&cluster.labels["name"]));
    let here = here.map(|cluster| cluster.name.clone());
    here.filter(|name| !keys::is_pinned(shown, &spot.0, name, now)).collect()
}

impl Watch {
    /// S1 and S2 for some clusters of a tier: the tier below has finished the release and holds it; the first
    /// tier is enough for clusters that are all ahead of their tier now.
    pub(super) fn in_their_turn(
        &mut self,
        world: &mut World,
        (kept, shown): (&Kept, &Snapshot),
        (spot, version): (&Spot, &Version),
        (purpose, members): (&Purpose, &[ClusterName]),
        does: &str,
    ) {
        let merges = does == "merges";
        if *purpose == Purpose::Early {
            let ahead = ahead(shown, spot, world.ours());
            let first = keys::first_with_clusters(world, shown, spot);
            let there = || shown_base(world, shown, &first).unwrap_or_default().into_iter().max();
            let finished = kept.met.contains_key(&(first.clone(), version.clone()));
            let may = world.tier_index(&spot.1) > 0 && members.iter().all(|name| ahead.contains(name)) && finished;
            // Where its clusters are gone, and their files with them, or do not tell at this look what they run, it
            // has finished it all the same.
            let gone = shown_base(world, shown, &first).is_none_or(|there| there.is_empty());
            if may && (!merges || gone || there().is_some_and(|there| there >= *version)) {
                return;
            }
            if !merges {
                let what = format!("P3 {does} {} {version} on {} for {members:?} before their turn", spot.0, spot.1);
                self.fails(world, what);
            }
        }
        self.climbs_in_order(world, kept, shown, spot, version, does);
        if merges {
            self.not_ahead(world, shown, spot, version);
        }
    }
}
