//! The invariants, restated over the world's own history. Nothing in here asks the planner what it
//! meant; what counts is what the world was, what the bot was shown, and what it then did.

mod approval;
mod back;
mod books;
mod climb;
mod early;
mod expiry;
mod force;
mod freeze;
mod keys;
mod landing;
mod live;
mod merge;
mod open;
mod rest;
mod shown;
mod slices;
mod soak;

use std::collections::{BTreeMap, BTreeSet};

use decide::ClusterName;
use decide::ledger::{Change, ForceEvidence, Ledger, Part, Purpose};
use decide::plan::{Action, Identity, Plan, Urgency};
use decide::snapshot::{LedgerState, Pull, PullState, Read, Snapshot};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use self::shown::{Held, free_places, heard, shown_base, shown_base_of, shown_places};
use crate::releases::plain;
use crate::tally::Tally;
use crate::world::{Spot, World};

pub use live::held;

/// What the checkers keep of a run, whatever the bot forgets.
#[derive(Default)]
pub struct Watch {
    /// Broken invariants, each with its name.
    pub broken: Vec<String>,
    pub tally: Tally,
    /// Spans in which the bot looked and the hub did not answer.
    outages: Vec<(Timestamp, Timestamp)>,
    outage_since: Option<Timestamp>,
    deadlines: BTreeMap<(Spot, String, u64), Timestamp>,
    /// Pull requests opened and writes made for a release on a tier.
    opened: BTreeMap<(Spot, Version, Vec<ClusterName>), u32>,
    /// How often a release of a plugin stalled: the tiers above take theirs back, and get it anew.
    stalls: BTreeMap<decide::PluginName, u32>,
    writes: BTreeMap<(Spot, Version), u32>,
    /// The bot's merges of the last hour.
    changed: Vec<merge::Changed>,
    /// Openings of the plan that is being carried out.
    opening_now: u32,
    busy_plans: u32,
    /// Plans in a row that noted a transition.
    noting_plans: u32,
    losses: u32,
    /// The push of which the deadlines are kept.
    read: Option<u64>,
    /// Merges asked for without the missing approvals.
    pub forced: u32,
    looks: u64,
    /// Something waits for people, at the end.
    pub waiting: bool,
    lately: live::Lately,
    tries: landing::Tries,
}

/// What the bot may rest on, as long as its ledger holds it: kept with every push, and gone with it.
#[derive(Clone, Default)]
pub struct Kept {
    /// By what our clock shows, which it does not know to be wrong, and with what is wrong of it set right.
    soaks: BTreeMap<(Spot, Version), [soak::Clock; 2]>,
    /// Releases that met the soak of a tier.
    met: BTreeMap<(Spot, Version), Timestamp>,
    /// Members as they were when the wave began.
    members: BTreeMap<(Spot, Version), Vec<ClusterName>>,
    /// Releases that failed on a tier, as the bot was shown.
    failed: BTreeMap<(Spot, Version), Timestamp>,
    /// Releases with whose health something was wrong on a tier at some look, or of which somebody said so.
    doubts: BTreeSet<(Spot, Version)>,
    /// Releases that people took off a tier altogether.
    taken_off: BTreeSet<(Spot, Version)>,
    /// Releases whose clusters had all left a tier, and that runs on whoever came since.
    anew: BTreeSet<(Spot, Version)>,
    /// Versions that came back to clusters of a tier by a rollback.
    backs: BTreeSet<(Spot, Version, ClusterName)>,
    /// What people froze by command.
    freezes: Vec<freeze::Commanded>,
    /// From when a grace period counts on a pull request.
    grace: BTreeMap<(Spot, u64), Timestamp>,
}

/// Plans that do something in a row, beyond which the bot counts as restless.
const RESTLESS: u32 = 30;
/// The same of plans that note a transition, which is a push of the ledger each: more than a fleet ever changes.
const MOST_NOTES: u32 = 200;
/// Writes at the hub for one release on one tier, or one slice of it, beyond which the bot counts as restless.
const MOST_WRITES: u32 = 40;

impl Watch {
    fn fails(&mut self, world: &mut World, what: String) {
        world.note(format!("BROKEN {what}"));
        self.broken.push(what);
    }

    pub fn hub_missed(&mut self, now: Timestamp) {
        self.outage_since = self.outage_since.or(Some(now));
    }

    pub fn hub_answered(&mut self, now: Timestamp) {
        if let Some(since) = self.outage_since.take() {
            self.outages.push((since, now));
        }
    }

    /// The process died with so many of them in its memory alone.
    pub fn forgets_outages(&mut self, unpushed: usize) {
        self.outages.truncate(self.outages.len().saturating_sub(unpushed));
    }

    /// A plan was made from what was shown.
    pub fn planned(&mut self, world: &mut World, kept: &mut Kept, snapshot: &Snapshot, plan: &Plan) {
        self.opening_now = 0;
        self.looks += 1;
        self.count(plan);
        if let Some(alarm) = &plan.alarm
            && alarm.at <= world.ours()
        {
            self.fails(world, format!("ALARM an alarm for {} that is not in the future: {}", alarm.at, alarm.why));
        }
        if plan.actions.is_empty() {
            self.busy_plans = 0;
        }
        self.forgets_the_lost(world);
        if !matches!(snapshot.ledger_state, LedgerState::Intact { .. }) && !plan.actions.is_empty() {
            self.fails(world, format!("S16 acts without a ledger that can be believed: {:?}", plan.actions));
        }
        for record in &plan.entries {
            if let decide::ledger::Entry::Wave { plugin, change: Change::Stalled(_), .. } = &record.entry {
                *self.stalls.entry(plugin.clone()).or_default() += 1;
            }
            if let decide::ledger::Entry::Rebuilt(given) = &record.entry
                && given.by.as_str() == crate::pulls::STRANGER
            {
                self.fails(world, format!("S16 {} gives the ledger up, who may not", given.by));
            }
            if let decide::ledger::Entry::Rebuilt(given) = &record.entry
                && !crate::words::gives_up(world, given)
            {
                self.fails(
                    world,
                    format!("S16 {} is given up, and {} spoke of an earlier loss", given.cited, given.by),
                );
            }
        }
        self.stops_after_a_lie(world, snapshot, plan);
        self.says_why(world, plan);
        std::mem::take(&mut world.starved).into_iter().for_each(|what| self.fails(world, format!("L7 {what}")));
        if matches!(snapshot.ledger_state, LedgerState::Intact { .. }) {
            freeze::heard(kept, snapshot);
        }
        self.members_begin(world, kept, snapshot);
    }

    /// What was announced went with the ledger where nothing at the hub repeats it.
    fn forgets_the_lost(&mut self, world: &World) {
        if self.losses != world.losses {
            self.losses = world.losses;
            self.deadlines.clear();
            // So did the outages that stood nowhere else.
            let known = world.branch.tip().map_or(&[][..], |tip| tip.ledger.outages.as_slice());
            self.outages.retain(|(from, to)| known.iter().any(|outage| outage.from <= *to && outage.to >= *from));
        }
    }

    /// What the bot saw is in its memory now, and with the next push in its ledger.
    pub fn recorded(
        &mut self,
        world: &mut World,
        kept: &mut Kept,
        (snapshot, looked, ours): (&Snapshot, Timestamp, Timestamp),
        ledger: &Ledger,
    ) {
        if !matches!(snapshot.ledger_state, LedgerState::Intact { .. }) {
            return;
        }
        for plugin in &snapshot.policy.plugins {
            for tier in &plugin.tiers {
                let spot = (plugin.name.clone(), tier.name.clone());
                self.doubts(world, kept, (snapshot, ours), &spot, tier);
                self.soaks_on(world, kept, (snapshot, ours), &spot, tier);
                self.grace_runs(kept, (snapshot, looked), &spot, tier);
            }
        }
        // Between the look and this the process may have stalled while the ledger was rolled back.
        self.forgets_the_lost(world);
        self.deadlines_stand(world);
        self.books_are_true(world, kept, ledger);
    }

    /// A merge is about to be asked for.
    pub fn merges(&mut self, world: &mut World, kept: &Kept, shown: &Snapshot, action: &Action) {
        let Action::Merge { plugin, tier, version, pull, head, forced, via } = action else { return };
        let spot = (plugin.clone(), tier.clone());
        let version = plain(version);
        let Some(seen) =
            shown.plugins[plugin].pulls.known().and_then(|all| all.iter().find(|seen| seen.number == *pull))
        else {
            self.fails(world, format!("S6 merges {pull}, which it was not shown"));
            return;
        };
        let seen = seen.clone();
        if *via == Identity::Bypass && seen.unmet.known().is_none_or(|unmet| !unmet.is_empty()) {
            self.fails(world, format!("S8 merges {pull} past {:?}", seen.unmet));
        }
        if !seen.lacks.is_empty() {
            self.fails(world, format!("S8 merges {pull}, which lacks {:?}", seen.lacks));
        }
        if seen.misplaced.is_some() {
            self.fails(world, format!("S6 merges {pull}, which goes to another branch"));
        }
        if seen.behind != Read::Known(false) {
            self.fails(world, format!("S8 merges {pull}, which is behind its base branch"));
        }
        self.is_true_at_the_call(world, pull.0);
        // A head that was refused before is tried again for as long as it is; how often within a day, its tries count.
        if !self.tries.contains_key(head.as_str()) {
            self.writes_once_more(world, &spot, &version);
        }
        self.is_in_the_books(world, &spot, &version, &seen, head);
        let (part, members) = match world.written.get(head.as_str()) {
            Some(commit) => (commit.part.clone(), commit.members.clone()),
            None => (Part::default(), Vec::new()),
        };
        self.may_merge(world, (kept, shown), (&spot, &version), &seen, (&part, &members), forced.as_ref());
    }

    /// Everything that has to hold when a merge is asked for.
    fn may_merge(
        &mut self,
        world: &mut World,
        (kept, shown): (&Kept, &Snapshot),
        (spot, version): (&Spot, &Version),
        seen: &Pull,
        (part, members): (&Part, &[ClusterName]),
        forced: Option<&ForceEvidence>,
    ) {
        let back = matches!(part.purpose, Purpose::RollBack { .. });
        if !back {
            self.in_their_turn(world, (kept, shown), (spot, version), (&part.purpose, members), "merges");
            self.no_downgrade(world, shown, spot, version, members);
            self.breaking_is_acknowledged(world, shown, spot, version, members);
            self.values_are_set(world, shown, spot, version, members);
        }
        self.leaves_pinned(world, shown, spot, version, members);
        self.announced_long_ago(world, shown, seen, spot);
        self.respects_no(world, shown, spot, version);
        self.leaves_failed_alone(world, kept, spot, version);
        self.keeps_digest(world, shown, spot, version);
        self.is_accepted(world, shown, (spot, version), (&part.purpose, members));
        self.is_published(world, shown, spot, version);
        self.earlier_slices_are_healthy(world, shown, spot, version, part, "merges");
        self.knows_everything(world, shown, seen, spot, forced.is_some());
        self.in_the_open(world, shown, spot, (version, members, forced.is_some()));
        self.not_frozen(world, (kept, shown), spot, members);
        self.leaves_shared_places(world, shown, spot, version, "merges");
        self.within_the_hour(world, kept, spot, version, seen.number.0);
        match forced {
            None => self.approved(world, shown, seen, spot, version),
            Some(evidence) => {
                self.forced += 1;
                if back {
                    self.fails(world, format!("S8 forces {} of {} on {}, a way back", seen.number, spot.0, spot.1));
                }
                self.may_be_forced(world, kept, shown, seen, spot, evidence);
            }
        }
    }

    /// A notice is about to be given: once, and on a pull request that is open.
    pub fn tells(&mut self, world: &mut World, kept: &Kept, shown: &Snapshot, action: &Action) {
        let Action::Notice { plugin, tier, version, pull, before, deadline, .. } = action else { return };
        let seen = pull_of(shown, plugin, pull.0);
        // A period that was switched off and on again gives its notices anew.
        let since = kept.grace.get(&((plugin.clone(), tier.clone()), pull.0)).copied().unwrap_or(Timestamp::MIN);
        // So does one whose clock a lost ledger forgot: it began anew, with a later deadline to tell of.
        let spot = (plugin.clone(), tier.clone());
        let own = world.tier(&spot).force.clone();
        let pull_there = world.pulls.iter().find(|known| known.number == pull.0).cloned();
        let begun = |there: &crate::pulls::PullRequest| if since == Timestamp::MAX { there.opened_at } else { since };
        let asked = |at: Option<Timestamp>| {
            let there = pull_there.as_ref()?;
            expiry::asked(world, shown, (there, at.unwrap_or_else(|| begun(there))), world.tier(&spot))
        };
        // And one that a hotfix has moved, whatever came after it: people were told of another release.
        let truth = world.pulls.iter().find(|known| known.number == pull.0);
        let held = truth.into_iter().flat_map(|known| &known.bot_heads).filter_map(|head| world.written.get(head));
        let hotfix = held.map(|commit| &commit.version).filter(|held| keys::is_hotfix(world, &spot, held)).count();
        let anew = match own {
            _ if world.losses == 0 && hotfix == 0 => since,
            // The date of an expiry does not say when the clock began, nor does it where that may be past it.
            own if own != asked(None) || own != asked(Some(world.ours())) => {
                // Said again while the hub's list lagged behind, it was not said anew; nor is this one, where the
                // list still lacks what was said a moment ago.
                let lagged = SignedDuration::from_mins(10);
                let shown = seen.into_iter().flat_map(|seen| &seen.notices).filter(|sent| sent.before == *before);
                let shown = shown.map(|sent| sent.at).max();
                let lacks = |at: Timestamp| Some(at) > shown && world.now < at + lagged;
                let told = truth.into_iter().flat_map(|known| &known.told).filter(|told| !lacks(told.at));
                let mut told: Vec<_> = told.filter(|told| told.before == *before && told.at >= since).collect();
                told.dedup_by(|later, earlier| later.at < earlier.at + lagged);
                let again = told.len();
                if again > world.losses as usize + hotfix { Timestamp::MIN } else { Timestamp::MAX }
            }
            own => own.map_or(since, |force| *deadline - force.after),
        };
        let clock = since.max(anew);
        let sent = |seen: &Pull| seen.notices.iter().any(|sent| sent.before == *before && sent.at >= clock);
        let twice = seen.is_some_and(sent);
        if twice || !seen.is_some_and(|seen| seen.state == PullState::Open) {
            self.fails(world, format!("S15 gives the notice {before:#} ahead on {pull}, which has it or is not open"));
        }
        self.writes_once_more(world, &(plugin.clone(), tier.clone()), &plain(version));
    }

    /// L5: a plan was carried out; whether anything new came of it.
    pub fn acted(&mut self, world: &mut World, plan: &Plan, something: bool) {
        self.busy_plans += u32::from(something);
        if self.busy_plans > RESTLESS {
            self.busy_plans = 0;
            self.fails(world, format!("L5 {RESTLESS} plans in a row did something: {:?}", plan.actions));
        }
        let notes = plan.entries.iter().any(|record| record.urgency == Urgency::Transition);
        self.noting_plans = if notes { self.noting_plans + 1 } else { 0 };
        if self.noting_plans > MOST_NOTES {
            self.noting_plans = 0;
            self.fails(world, format!("L5 {MOST_NOTES} plans in a row noted something: {:?}", plan.entries.first()));
        }
    }

    /// S3 once more, at the hub itself.
    pub fn after_effect(&mut self, world: &mut World) {
        let mut open: BTreeMap<&Spot, u32> = BTreeMap::new();
        world.pulls.iter().filter(|pull| pull.is_open()).for_each(|pull| *open.entry(&pull.spot).or_default() += 1);
        let twice = open.into_iter().find(|(_, count)| *count > 1).map(|(spot, _)| spot.clone());
        if let Some((plugin, tier)) = twice {
            self.fails(world, format!("S3 two open pull requests for {plugin} on {tier}"));
        }
    }

    /// L5: no more writes for one release on one tier than its troubles explain.
    fn writes_once_more(&mut self, world: &mut World, spot: &Spot, version: &Version) {
        // What the hub refuses for days is tried again all that time; how often within a day is counted apart.
        if world.merges.refusing.get(spot).is_some_and(|until| world.now < *until) {
            return;
        }
        let most = MOST_WRITES * slices::most(world, spot);
        let writes = self.writes.entry((spot.clone(), version.clone())).or_default();
        *writes += 1;
        if *writes == most {
            self.fails(world, format!("L5 {most} writes for {} {version} on {}", spot.0, spot.1));
        }
    }

    fn count(&mut self, plan: &Plan) {
        for action in &plan.actions {
            self.tally.variant("action", action);
            if let Action::Close { why, .. } = action {
                self.tally.reason(why);
            }
        }
        for record in &plan.entries {
            if let decide::ledger::Entry::Wave { change, .. } = &record.entry {
                self.tally.variant("change", change);
                match change {
                    Change::Failed(failed) | Change::Stalled(failed) => self.tally.reason(&failed.why),
                    Change::Withdrawn(withdrawn) => self.tally.reason(&withdrawn.why),
                    _ => {}
                }
            }
        }
        // Reasons are many; those of idle looks are counted at every fifth.
        if plan.entries.is_empty() && plan.actions.is_empty() && !self.looks.is_multiple_of(5) {
            return;
        }
        for wave in &plan.waves {
            self.tally.variant("state", &wave.state);
            wave.findings.iter().for_each(|finding| self.tally.reason(&finding.because));
        }
        if let Some(alarm) = &plan.alarm {
            self.tally.reason(&alarm.why);
        }
    }
}

fn pull_of<'a>(shown: &'a Snapshot, plugin: &decide::PluginName, number: u64) -> Option<&'a Pull> {
    shown.plugins[plugin].pulls.known()?.iter().find(|pull| pull.number.0 == number)
}

/// Time between two instants in which the bot knew that the hub was out of reach.
fn out_of_reach(outages: &[(Timestamp, Timestamp)], from: Timestamp, to: Timestamp) -> SignedDuration {
    let spans = outages.iter().map(|(start, end)| ((*start).max(from), (*end).min(to)));
    spans
        .filter(|(start, end)| start < end)
        .fold(SignedDuration::ZERO, |sum, (start, end)| sum + end.duration_since(start))
}
