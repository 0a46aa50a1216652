//! Our pull requests with everything that surrounds them: what they change, whose that is, what the rules ask. All of
//! them for a look, and one of them once more before it is merged.

use std::collections::{BTreeMap, BTreeSet};

use decide::snapshot::{Pull, Read};
use decide::{Ledger, PluginName, Sha, TierName};
use jiff::Timestamp;

use super::base::{self, Base, Line};
use super::difference::{self, Difference};
use super::hub_cache::HubCache;
use super::{Seen, Spot, added, owners, pulls};
use crate::clock;
use crate::hub::{HubPull, RepoHub};
use crate::ledger::Branch;
use crate::observe::context::Context;
use crate::policy::Loaded;

/// What one pull request is read with.
struct Ground<'a> {
    hub: &'a RepoHub,
    ledger: Option<&'a Ledger>,
    loaded: &'a Loaded,
    spots: &'a BTreeMap<(PluginName, TierName), Vec<Spot>>,
    /// The base branch of its tier, and what that holds.
    branch: &'a str,
    line: Result<&'a Line, &'a str>,
    difference: Option<&'a Read<Difference>>,
    now: Timestamp,
}

/// Every pull request of the page, by plugin.
pub(super) async fn all(
    context: &mut Context,
    page: &[HubPull],
    base: &Base,
    now: Timestamp,
) -> BTreeMap<PluginName, Vec<Pull>> {
    let differences = difference::of_heads(context, page).await;
    let hub = context.repo.hub.clone();
    let ledger = context.repo.ledger.as_ref().map(Branch::ledger);
    let hub_cache = &mut context.memory.hub;
    let mut planned: BTreeMap<PluginName, Vec<Pull>> = BTreeMap::new();
    for pull in page {
        let Some((plugin, tier)) = pulls::subject(&pull.branch) else { continue };
        let (branch, line) = (base.branch(&tier), base.line(&tier));
        let (loaded, spots) = (&base.loaded, &base.spots);
        let difference = differences.get(&pull.head);
        let ground = Ground { hub: &hub, ledger, loaded, spots, branch, line, difference, now };
        let read = one(pull, (&plugin, tier), &ground, hub_cache).await;
        planned.entry(plugin).or_default().push(read);
    }
    added::ask(context, base, &mut planned).await;
    planned
}

/// One pull request of a look once more: with rights, owners and rules as they are in `fresh`. None where it is none of
/// ours, or its base branch was not read.
pub async fn again(context: &Context, seen: &Seen, last: &HubPull, fresh: &mut HubCache) -> Option<Pull> {
    let (plugin, tier) = pulls::subject(&last.branch)?;
    let branch = base::branch_of(&seen.loaded, &tier, &context.repo.repository.default_branch);
    let line = Ok(seen.lines.get(branch)?.known()?);
    let difference = context.memory.differences.get(&last.head).cloned().map(Read::Known);
    let ledger = context.repo.ledger.as_ref().map(Branch::ledger);
    let (hub, difference) = (&context.repo.hub, difference.as_ref());
    let (loaded, spots, now) = (&*seen.loaded, &seen.spots, clock::now());
    let ground = Ground { hub, ledger, loaded, spots, branch, line, difference, now };
    Some(one(last, (&plugin, tier), &ground, fresh).await)
}

async fn one(
    pull: &HubPull,
    (plugin, tier): (&PluginName, TierName),
    ground: &Ground<'_>,
    hub_cache: &mut HubCache,
) -> Pull {
    let &Ground { hub, ledger, branch, difference, now, .. } = ground;
    let rules = hub_cache.rules(hub, branch, now).await;
    let nowhere = |why: &str| (Sha::from(""), Read::Unread(why.to_string()));
    let (commit, file) = ground.line.map_or_else(nowhere, |line| (line.commit.clone(), line.owners.clone()));
    let owners = owners::Owners { hub, commit: &commit, file: &file, now };
    let up_to_date = match difference {
        Some(Read::Known(difference)) => Read::Known(difference.parent == commit),
        Some(Read::Unread(why)) => Read::Unread(why.clone()),
        None => Read::Unread("nobody looked".to_string()),
    };
    let (owners, rules, up_to_date) = (&owners, &rules, &up_to_date);
    let policy = ground.loaded.policy.plugins.iter().find(|known| known.name == *plugin);
    let on_tier = policy.and_then(|policy| policy.tiers.iter().find(|known| known.name == tier));
    let team = on_tier.and_then(|tier| tier.approvals.team.as_deref());
    let people = &ground.loaded.wiring.people;
    let around = pulls::Around { hub, people, branch, owners, team, rules, up_to_date, now };
    let of_plugin = ground.spots.iter().filter(|((name, _), _)| name == plugin);
    let files = |of_tier: Option<&TierName>| -> BTreeSet<String> {
        let spots = of_plugin.clone().filter(|((_, name), _)| of_tier.is_none_or(|tier| name == tier));
        spots.flat_map(|(_, spots)| spots).map(|spot| spot.file.clone()).collect()
    };
    let ours = added::wrote(ledger, plugin, &tier, &pull.head);
    let paths = pulls::Paths::of(difference, ours, files(Some(&tier)), files(None));
    pulls::planned(pull, tier, &paths, &around, hub_cache).await
}
