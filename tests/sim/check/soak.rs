//! Who is healthy on what, and for how long: the soak of policy section 4 over what was shown, look
//! by look. An upper bound of what the bot may count.

use std::collections::BTreeSet;

use decide::ClusterName;
use decide::model::{OnFailure, Tier};
use decide::snapshot::{CommandKind, Health, PullState, Read, Reading, Snapshot};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::open::EARLY;
use super::{Held, Kept, Watch, books, early, free_places, heard, keys, plain, shown_base, shown_places};
use crate::world::{Spot, World};

/// How far a release on the base branch of a tier has come.
#[derive(Clone)]
pub(super) struct Clock {
    total: SignedDuration,
    until: Timestamp,
    paused: bool,
    /// How many seconds our clock was off at that look.
    off: i64,
}

/// What a look showed of the members.
#[derive(Default)]
struct Look {
    members: u32,
    healthy: u32,
    /// Not read, or too long ago.
    unknown: u32,
    /// Not working, on this version.
    ill: u32,
    /// Given up by its controller.
    given_up: u32,
    /// The oldest healthy answer, and since when the youngest state lasts.
    oldest: Option<Timestamp>,
    since: Option<Timestamp>,
    since_unknown: bool,
}

impl Watch {
    /// Moves the clocks of a tier by one look, and notes releases that met the soak or failed.
    pub(super) fn soaks_on(
        &mut self,
        world: &mut World,
        kept: &mut Kept,
        (shown, now): (&Snapshot, Timestamp),
        spot: &Spot,
        tier: &Tier,
    ) {
        let standing = standing(world, kept, shown, spot);
        if !standing.is_empty() {
            kept.soaks.retain(|(there, version), _| there != spot || standing.contains(version));
        }
        for version in &standing {
            let key = (spot.clone(), version.clone());
            let look = looked_at(world, (shown, now), spot, &kept.members[&key], version, tier);
            // Of several only the newest is sure to be judged by the bot, too.
            if Some(version) == standing.iter().max() {
                self.fails_on(world, kept, &key, &look, now, tier);
            }
            soaks(world, kept, &key, &look, now, tier);
        }
    }

    /// Notes a release of which too many members were given up, while that still counts.
    fn fails_on(
        &self,
        world: &World,
        kept: &mut Kept,
        key: &(Spot, Version),
        look: &Look,
        now: Timestamp,
        tier: &Tier,
    ) {
        // The books have one wave of a release on a tier at a time: where that is of clusters ahead of the turn,
        // what somebody else puts on all of the turn begins none.
        let ahead = |whose: &[ClusterName]| whose.iter().any(|name| name.as_str().starts_with(EARLY));
        let mut opened = self.opened.keys().filter(|(there, known, _)| *there == key.0 && *known == key.1);
        let by_bot = |place: &crate::places::Place| place.by_bot || place.since <= world.scenario.start;
        if opened.any(|(_, _, whose)| ahead(whose)) && !world.places_of(&key.0, &kept.members[key]).any(by_bot) {
            return;
        }
        // Who came late is judged apart.
        let late = |(there, known, late): &(Spot, Version, Vec<ClusterName>)| {
            *there == key.0 && *known == key.1 && !late.is_empty()
        };
        let alone = !self.opened.keys().any(late);
        let watched = kept.met.get(key).is_none_or(|met| alone && now < *met + tier.watch);
        if look.given_up > tier.health.max_failures && watched && tier.on_failure != OnFailure::Stall {
            kept.failed.entry(key.clone()).or_insert(now);
        }
    }

    /// Whatever is wrong with a version on some cluster of a tier, whoever moved it there: only that may bring
    /// back what ran before.
    pub(super) fn doubts(
        &mut self,
        world: &World,
        kept: &mut Kept,
        (shown, now): (&Snapshot, Timestamp),
        spot: &Spot,
        tier: &Tier,
    ) {
        let readings = &shown.plugins[&spot.0].readings;
        for place in &world.base[spot] {
            let members = place.cluster.clone().map_or_else(|| world.members(&spot.1), |cluster| vec![cluster]);
            let late = now + keys::slack(world) >= place.since + tier.health.progress_deadline;
            let well = |member: &ClusterName| {
                let reading = readings.of(member).first().map(decide::readings::Row::reading);
                reading.is_some_and(|reading| match reading.health {
                    Health::Healthy => same_content(world, shown, spot, &place.version, &reading) && !late,
                    Health::Degraded | Health::Failed => false,
                    _ => !late,
                })
            };
            let fine = |member: &ClusterName| {
                let reading = readings.of(member).first().map(decide::readings::Row::reading);
                reading.is_some_and(|reading| {
                    reading.health == Health::Healthy
                        && reading.running.as_ref().map(plain).as_ref() == Some(&place.version)
                        && same_content(world, shown, spot, &place.version, &reading)
                        && reading.observed_at + tier.health.max_age >= now
                })
            };
            if !members.iter().all(|member| well(member) || fine(member)) {
                kept.doubts.insert((spot.clone(), place.version.clone()));
            }
            // Where the tier follows by itself, what counts is what a cluster runs still.
            let runs = |member: &ClusterName| {
                readings.of(member).first().and_then(|row| row.reading().running.as_ref().map(plain))
            };
            let ill = members.iter().filter(|member| tier.follows && !well(member));
            kept.doubts.extend(ill.filter_map(runs).map(|version| (spot.clone(), version)));
            // Somebody took it off a cluster.
            if !place.by_bot && place.since > world.scenario.start {
                let above = world.base[spot].iter().map(|other| other.version.clone());
                kept.doubts.extend(above.filter(|other| *other > place.version).map(|other| (spot.clone(), other)));
            }
        }
        kept.taken_off.extend(taken_off(world, spot).into_iter().map(|version| (spot.clone(), version)));
        // A workflow that verifies it says so, or says nothing for too long.
        let doubted = world.base[spot].iter().map(|place| &place.version);
        let doubted = doubted.filter(|version| world.runs.iter().any(|run| run.doubts(spot, version)));
        kept.doubts.extend(doubted.map(|version| (spot.clone(), version.clone())));
        // Somebody who may says so.
        let pulls = shown.plugins[&spot.0].pulls.known().into_iter().flatten().filter(|pull| pull.tier == spot.1);
        for pull in pulls {
            let Some(truth) = world.pulls.iter().find(|known| known.number == pull.number.0) else { continue };
            let says = |command: &&decide::snapshot::Command| {
                matches!(command.what, CommandKind::Fail { .. }) && command.allowed == Read::Known(true)
            };
            let Some(said) = pull.commands.iter().filter(says).map(|command| command.at).max() else { continue };
            if said < truth.bot_wrote_at {
                continue;
            }
            let key = (spot.clone(), truth.bot_version.clone());
            // It was said of the release, whoever closed the pull request or pushed to its branch since.
            kept.doubts.insert(key.clone());
            // At the very moment at which the bot moved it on, it may have been said of the release before.
            let counts = matches!(pull.state, PullState::Open | PullState::Merged { .. }) && said > truth.bot_wrote_at;
            let shown = truth.bot_heads.last().is_some_and(|head| *head == pull.head.as_str());
            if counts && shown && world.losses == 0 && world.purpose(truth.number).is_none() {
                kept.failed.entry(key).or_insert(now);
            }
        }
    }

    /// The members of a wave are fixed when it begins: what the bot finds on the base branch begins at
    /// the first look at which it can read the inventory.
    pub(super) fn members_begin(&mut self, world: &World, kept: &mut Kept, shown: &Snapshot) {
        if shown.clusters.known().is_none() || !world.branch.lost().is_empty() {
            return;
        }
        for spot in world.base.keys() {
            // Who leaves the tier counts no more, and comes back as somebody new.
            let here = present(world, shown, spot);
            if shown.clusters.known().is_some_and(|clusters| !clusters.is_empty()) {
                let of_tier = kept.members.iter_mut().filter(|((there, _), _)| there == spot);
                of_tier.for_each(|(_, members)| members.retain(|name| here.contains(name)));
            }
            // Not while it is open whose some of them are.
            if in_two_tiers(shown, spot) {
                continue;
            }
            if let Some(version) = shown_base(world, shown, spot).and_then(uniform) {
                // Of an empty tier it begins with the first cluster that comes.
                let mut selected = selected(world, shown, spot);
                selected.retain(|name| !world.is_bare(spot, name));
                let key = (spot.clone(), version);
                // So it does, and soaks anew, where everybody has left.
                if !selected.is_empty() && kept.members.get(&key).is_none_or(Vec::is_empty) {
                    if kept.members.contains_key(&key) {
                        kept.anew.insert(key.clone());
                    }
                    kept.soaks.remove(&key);
                    kept.members.insert(key, selected);
                }
            }
        }
    }
}

/// Whether a cluster of the tier is selected by another tier of its plugin, too, as the bot was shown.
fn in_two_tiers(shown: &Snapshot, spot: &Spot) -> bool {
    let Some(plugin) = shown.policy.plugins.iter().find(|plugin| plugin.name == spot.0) else { return false };
    shown.clusters.known().into_iter().flatten().any(|cluster| {
        let takes = || plugin.tiers.iter().filter(|tier| tier.select.matches(&cluster.labels));
        takes().count() > 1 && takes().any(|tier| tier.name == spot.1)
    })
}

/// Moves the clock of a release by one look, and notes that it met the soak.
fn soaks(world: &World, kept: &mut Kept, key: &(Spot, Version), look: &Look, now: Timestamp, tier: &Tier) {
    let ((spot, version), rule) = (key, &tier.health);
    let landed = world.landed(spot, version, &kept.members[key]);
    let overdue = tier.soak.max.zip(landed).is_some_and(|(max, landed)| now + keys::slack(world) >= landed + max);
    if overdue && look.ill <= rule.max_failures {
        kept.met.entry(key.clone()).or_insert(now);
    }
    let tolerated = look.unknown.min(rule.max_unknown) + (look.members - look.healthy).min(rule.max_failures);
    let together = look.healthy > 0 && look.healthy + tolerated >= look.members;
    let begun = |oldest| Clock { total: SignedDuration::ZERO, until: oldest, paused: false, off: world.off() };
    let [shown, set] = match (kept.soaks.get(key).cloned(), together, look.oldest) {
        (None, true, Some(oldest)) => [begun(oldest), begun(oldest)],
        (Some([shown, set]), true, Some(oldest)) => {
            let moved = |clock: Clock| clock.moved(look, oldest, rule.max_age);
            let (unset, set) = (moved(set.clone()), moved(set.set(world.off())));
            let set = if unset.total > set.total { Clock { off: set.off, ..unset } } else { set };
            [moved(shown), set]
        }
        (Some([shown, set]), _, _) => {
            let total = |clock: &Clock| if look.ill > rule.max_failures { SignedDuration::ZERO } else { clock.total };
            let stands = |clock: Clock| Clock { total: total(&clock), paused: true, ..clock };
            [stands(shown), stands(set.set(world.off()))]
        }
        (None, _, _) => return,
    };
    let hotfixes = crate::words::hotfixes(world, &spot.0, version);
    let soaks = hotfixes.iter().filter_map(|hotfix| hotfix.soak);
    let asked = soaks.chain([tier.soak.min]).min().unwrap_or(tier.soak.min);
    if together && shown.total.max(set.total) >= asked {
        kept.met.entry(key.clone()).or_insert(now);
    }
    kept.soaks.insert(key.clone(), [shown, set]);
}

impl Clock {
    /// The same instant by our clock, where that was set back since. Where it was set forth, the time between was watched
    /// for all that the bot can know.
    fn set(self, off: i64) -> Self {
        Self { until: self.until + SignedDuration::from_secs((off - self.off).min(0)), off, ..self }
    }

    /// One more look at which all were healthy. The time since the look before counts as far as it was
    /// watched or as the clusters' own times prove that nothing happened in it; never out of a pause.
    fn moved(self, look: &Look, oldest: Timestamp, max_age: SignedDuration) -> Self {
        if oldest <= self.until {
            return Self { paused: false, ..self };
        }
        let gap = oldest.duration_since(self.until);
        let proven = match look.since {
            _ if self.paused => SignedDuration::ZERO,
            Some(since) if !look.since_unknown && since <= self.until => gap,
            // Times that are still to come by our clock, which was set back, prove nothing.
            Some(since) if !look.since_unknown && since <= oldest => oldest.duration_since(since),
            _ if gap <= max_age => gap,
            _ => SignedDuration::ZERO,
        };
        Self { total: self.total + proven, until: oldest, paused: false, ..self }
    }
}

fn looked_at(
    world: &World,
    (shown, now): (&Snapshot, Timestamp),
    spot: &Spot,
    members: &[ClusterName],
    version: &Version,
    tier: &Tier,
) -> Look {
    let present = |name: &ClusterName| {
        shown.clusters.known().is_none_or(|clusters| clusters.iter().any(|cluster| cluster.name == *name))
    };
    let wanted = version.to_string();
    let mut look = Look::default();
    for member in members.iter().filter(|member| present(member)) {
        if world.places_of(spot, std::slice::from_ref(member)).next().is_none() && shown.clusters.known().is_none() {
            continue; // its file went with it, and who else would tell while nobody can read the inventory?
        }
        look.members += 1;
        let readings = shown.plugins[&spot.0].readings.of(member);
        let place = world.places_of(spot, std::slice::from_ref(member)).next().map(|place| place.cluster.clone());
        // A process that stalls after its look was shown a file that has gone since.
        let place = place.or_else(|| was_shown(shown, spot, member).then(|| Some(member.clone())));
        let Some(landed) = place.and_then(|at| world.first_held.get(&(spot.clone(), at, version.clone()))) else {
            look.unknown += 1;
            continue;
        };
        let Some(reading) = readings.first().map(decide::readings::Row::reading) else {
            look.unknown += 1;
            continue;
        };
        let fresh = reading.observed_at + tier.health.max_age >= now;
        // It was read by our own clock.
        let before = reading.observed_at + keys::slack(world) < *landed;
        if !fresh || reading.health == Health::Unknown {
            look.unknown += 1;
            continue;
        }
        if before {
            continue; // it will answer again
        }
        let this =
            reading.running.as_ref().is_some_and(|running| running.as_str() == wanted || plain(running) == *version);
        match reading.health {
            Health::Healthy if this && same_content(world, shown, spot, version, &reading) => {
                look.healthy += 1;
                look.oldest = Some(look.oldest.map_or(reading.observed_at, |oldest| oldest.min(reading.observed_at)));
                look.since = look.since.max(reading.since);
                look.since_unknown |= reading.since.is_none();
            }
            Health::Degraded if this => look.ill += 1,
            Health::Failed if this => {
                look.ill += 1;
                look.given_up += u32::from(reading.observed_at == now);
            }
            _ => {}
        }
    }
    look
}

/// Whether the base branch held a file of this cluster's on the tier, as the bot saw it.
fn was_shown(shown: &Snapshot, spot: &Spot, member: &ClusterName) -> bool {
    let places = shown.plugins[&spot.0].base.known().and_then(|base| base.get(&spot.1));
    places.into_iter().flatten().any(|place| place.cluster.as_ref() == Some(member))
}

/// Releases that stood on files of a tier, of which people hold something older in all by now.
fn taken_off(world: &World, spot: &Spot) -> BTreeSet<Version> {
    if !world.base[spot].iter().any(|place| !place.by_bot && place.since > world.scenario.start) {
        return BTreeSet::new();
    }
    let held = world.first_held.keys().filter(|(there, _, _)| there == spot);
    let held: Vec<_> = held.map(|(_, cluster, version)| (cluster, version)).collect();
    let taken = |version: &Version| {
        let mut places = world.base[spot].iter().filter(|place| held.contains(&(&place.cluster, version))).peekable();
        places.peek().is_some() && places.all(|place| !place.by_bot && place.version < *version)
    };
    held.iter().map(|(_, version)| *version).filter(|version| taken(version)).cloned().collect()
}

/// Where the cluster names the digest of what it runs, it is the one that was published first; of a release
/// whose source named none at first sight nothing can be compared.
fn same_content(world: &World, shown: &Snapshot, spot: &Spot, version: &Version, reading: &Reading) -> bool {
    let first = world.release(&spot.0, version).map(|release| &release.first_digest);
    reading.digest.is_none() || reading.digest.as_ref() == first || books::unpinned(shown, &spot.0, version)
}

/// The clusters whose turn is the tier's: those that it selects, and that are not ahead of it.
pub(super) fn selected(world: &World, shown: &Snapshot, spot: &Spot) -> Vec<ClusterName> {
    let ahead = early::ahead(shown, spot, world.ours());
    let mut selected = present(world, shown, spot);
    selected.retain(|name| !ahead.contains(name));
    selected
}

/// The clusters that a tier selects in the inventory that was shown, pinned ones left out.
pub(super) fn present(world: &World, shown: &Snapshot, spot: &Spot) -> Vec<ClusterName> {
    let clusters = shown.clusters.known().into_iter().flatten();
    let free = |cluster: &&decide::snapshot::Cluster| {
        cluster.labels["tier"] == spot.1.as_str() && !keys::is_pinned(shown, &spot.0, &cluster.name, world.ours())
    };
    clusters.filter(free).map(|cluster| cluster.name.clone()).collect()
}

/// The versions that stand on the files of all clusters of their climb, whoever came since. Members who are
/// ahead of the tier by now are asked where nobody else is left: they were fixed before. Beside them the tier's
/// turn may run another version, by itself.
fn standing(world: &World, kept: &Kept, shown: &Snapshot, spot: &Spot) -> BTreeSet<Version> {
    // Who came to a tier that follows by itself and says nothing yet keeps nobody else from it.
    let heard = if world.tier(spot).follows { heard(world, shown, spot) } else { Vec::new() };
    let spoken = || heard.iter().filter_map(|(name, says)| Some((Some(name.clone()), says.clone()?))).collect();
    let (places, all) = match (shown_places(world, shown, spot), free_places(world, shown, spot)) {
        (Some(places), Some(all)) => (places, all),
        _ => (spoken(), spoken()),
    };
    let stands = |version: &&Version| {
        let Some(members) = kept.members.get(&(spot.clone(), (*version).clone())) else { return false };
        if heard.iter().any(|(name, says)| says.is_none() && members.contains(name)) {
            return false;
        }
        let own = |(at, _): &&Held| at.as_ref().is_none_or(|name| members.contains(name));
        let nobody = !places.iter().any(|held| own(&held));
        let mut own = if nobody { &all } else { &places }.iter().filter(own).peekable();
        own.peek().is_some() && own.all(|(_, there)| there == *version)
    };
    all.iter().map(|(_, version)| version).filter(stands).cloned().collect()
}

fn uniform(versions: Vec<Version>) -> Option<Version> {
    let first = versions.first()?.clone();
    versions.iter().all(|version| *version == first).then_some(first)
}
