//! What has to happen, and soon: L3, L7 and the occupied tier, L8 and L9. That everything arrives in the end is
//! in `rest`.

use std::collections::BTreeMap;

use decide::PluginName;
use decide::ledger::Part;
use decide::model::{Merge, Next};
use decide::plan::{Action, Plan};
use decide::snapshot::{CheckState, Landing, LedgerState, PullState, Read, RequiredCheck, ReviewDecision, Snapshot};
use jiff::SignedDuration;
use semver::Version;

use super::{Kept, Watch, expiry, keys, plain, shown_base, slices};
use crate::pulls::BOT;
use crate::scenario::Mode;
use crate::world::{Spot, World};

/// For so long everything that a merge needs may be there before it is asked for.
const SOON: SignedDuration = SignedDuration::from_mins(5);

/// The longest that a refused merge is left alone (`docs/attacks.md`, F32).
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_hours(6);

/// What keeps a merge back and ends by the clock alone: windows, announcements, the hourly cap.
const BY_THE_CLOCK: [&str; 3] = ["S9 merges", "P3 merges", "S18 "];

/// What is moved to another release, or written once more, was announced a moment ago.
const NOT_TOLD: &str = "P3 merges what people were not told of";

/// How open pull requests stood at the look before.
#[derive(Default)]
pub(super) struct Lately {
    /// Since when each of these heads lacks nothing.
    ready: BTreeMap<String, jiff::Timestamp>,
    /// Heads that only the clock kept back.
    timed: Vec<String>,
    looked: Option<jiff::Timestamp>,
}

impl Watch {
    /// L3: what lacks nothing for five minutes is asked for; and who waits for the clock alone is woken by it.
    pub fn asks_in_time(&mut self, world: &mut World, kept: &Kept, shown: &Snapshot, plan: &Plan) {
        let intact = matches!(shown.ledger_state, LedgerState::Intact { .. });
        // Of what a clock that was off has dated nobody knows here when it ends.
        let exact = keys::slack(world) < SOON;
        // Of a merge that did not land as planned it is waited for the proof, and then for a person's word.
        let told = |lie: &crate::merges::Lie| {
            let mut stops = shown.ledger.stops.iter();
            stops.any(|stop| stop.head.as_str() == lie.head && stop.at >= lie.at && stop.cleared.is_some())
        };
        let stands = shown.ledger.stop().is_some()
            || world.merges.lies.iter().any(|lie| lie.losses == world.losses && !told(lie));
        if !world.is_calm() || world.scenario.mode != Mode::Answered || !intact || !exact {
            return;
        }
        let before = std::mem::take(&mut self.lately);
        if stands {
            return;
        }
        self.lately.looked = Some(world.now);
        let asked = |head: &str| {
            plan.actions.iter().any(|action| matches!(action, Action::Merge { head: of, .. } if of.as_str() == head))
        };
        let open =
            world.pulls.iter().filter(|pull| pull.is_open() && pull.ours && pull.bot_heads.last() == Some(&pull.head));
        let open: Vec<(u64, Spot, String)> =
            open.map(|pull| (pull.number, pull.spot.clone(), pull.head.clone())).collect();
        for (number, spot, head) in open {
            // Room in the hour is kept for what waits for longer.
            if self.is_not_its_turn(world, (kept, shown), number) {
                continue;
            }
            // What the hub has refused is left alone for a while.
            let refused = world.merges.refused.get(&spot);
            if refused.is_some_and(|last| world.now < *last + LONGEST_PAUSE + SOON) {
                continue;
            }
            if world.rule_of(number) == Merge::Manual || world.purpose(number).is_some() {
                continue;
            }
            let missing = self.missing(world, kept, shown, number);
            if missing.is_empty() {
                let since = before.ready.get(&head).copied().unwrap_or(world.now);
                if !asked(&head) && world.now > since + SOON {
                    self.fails(
                        world,
                        format!("L3 nothing is missing for #{number} of {} on {} since {since}", spot.0, spot.1),
                    );
                }
                if before.timed.contains(&head) && before.looked.is_some_and(|looked| looked + SOON < world.now) {
                    let now = world.now;
                    world.now = now - SOON;
                    let late = self.missing(world, kept, shown, number).is_empty();
                    world.now = now;
                    if late {
                        self.fails(world, format!("L3 nobody woke the bot for #{number} of {} on {}", spot.0, spot.1));
                    }
                }
                self.lately.ready.insert(head, since);
            } else if missing.iter().all(|what| BY_THE_CLOCK.iter().any(|kind| what.starts_with(kind))) {
                self.lately.timed.push(head);
            }
        }
    }

    /// Whether others that wait for nothing but room under the hourly cap, too, come first and leave none.
    fn is_not_its_turn(&self, world: &mut World, (kept, shown): (&Kept, &Snapshot), number: u64) -> bool {
        let Some(cap) = world.policy.limits.clusters_per_hour else { return false };
        let own = world.pulls.iter().find(|pull| pull.number == number).unwrap();
        let (own, opened) = (own.members.len(), own.opened_at);
        let others = world.pulls.iter().filter(|pull| pull.is_open() && pull.number != number);
        let others: Vec<(u64, usize, bool)> = others
            .map(|pull| {
                let urgent = keys::is_hotfix(world, &pull.spot, &pull.bot_version);
                let back = world.purpose(pull.number).is_some();
                (pull.number, pull.members.len(), urgent || back || (pull.opened_at, pull.number) < (opened, number))
            })
            .collect();
        let hour = SignedDuration::from_hours(1);
        // Who is to move counts, also where somebody has put the version already: nobody notes that.
        let lately = self.changed.iter().filter(|merge| world.now < merge.at + hour).map(|merge| merge.members);
        // What the bot had asked for counts, though a person has merged it or written it by hand, or the hub has merged
        // it and said that it had not; so does what the hub merged in its name unasked.
        let waves = shown.ledger.plugins.values().flat_map(|page| page.tiers.values()).flatten();
        let by_hand = waves.filter(|wave| {
            let lately = |at| world.now < at + hour + keys::slack(world);
            let known = |at| self.changed.iter().any(|merge| merge.at == at);
            wave.landed().is_some_and(|landed| {
                let by_bot = landed.by.as_ref().is_some_and(|by| by.as_str() == BOT);
                (by_bot || wave.merging.is_some()) && lately(landed.at) && !(by_bot && known(landed.at))
            })
        });
        let mut taken = lately.sum::<usize>() + by_hand.map(|wave| wave.members.len()).sum::<usize>();
        taken += affirmed_in_vain(world, shown);
        for (number, members, first) in others {
            let back = world.purpose(number).is_some();
            // Whether people have to be told anew of what was written anew, the bot knows better.
            let waits = |what: &String| what.starts_with("S18 ") || what == NOT_TOLD;
            if first && (back || self.missing(world, kept, shown, number).iter().all(waits)) {
                taken += members;
            }
        }
        taken + own > cap as usize
    }

    /// What an ordinary merge of a pull request lacks now, by every rule there is.
    fn missing(&self, world: &mut World, kept: &Kept, shown: &Snapshot, number: u64) -> Vec<String> {
        let pull = world.pulls.iter().find(|pull| pull.number == number).unwrap();
        let (spot, version, head) = (pull.spot.clone(), pull.bot_version.clone(), pull.head.clone());
        // Of what was moved to another release people are told anew.
        let lately = world.now < pull.bot_wrote_at + world.tier(&spot).announce;
        let seen = super::pull_of(shown, &spot.0, number).filter(|seen| seen.state == PullState::Open);
        let Some(seen) = seen.filter(|seen| seen.head.as_str() == head).cloned() else {
            return vec!["it was not shown".to_string()];
        };
        let (part, members) = match world.written.get(&head) {
            Some(commit) => (commit.part.clone(), commit.members.clone()),
            None => (Part::default(), Vec::new()),
        };
        let mut trial = Watch { outages: self.outages.clone(), changed: self.changed.clone(), ..Watch::default() };
        let diarist = std::mem::replace(&mut world.diarist, false);
        trial.may_merge(world, (kept, shown), (&spot, &version), &seen, (&part, &members), None);
        if lately {
            trial.broken.push(NOT_TOLD.to_string());
        }
        // What was given up for a newer release, and not moved to it in time, moves when that one has its turn.
        let waves = shown.ledger.plugins.get(&spot.0).and_then(|page| page.tiers.get(&spot.1));
        let given_up = waves
            .into_iter()
            .flatten()
            .any(|wave| wave.superseded().is_some() && wave.heads.iter().any(|known| known.commit.as_str() == head));
        trial.comes_after(world, (kept, shown), (&spot, &version), given_up);
        if given_up && goes_first(world, shown, &spot) {
            trial.broken.push("a plugin before it has a pull request open".to_string());
        }
        if world.policy.limits.clusters_per_hour.is_some_and(|cap| members.len() > cap as usize) {
            trial.broken.push("it is larger than the cap".to_string());
        }
        if slices::may_recover(world, shown, &spot, &version, &part) {
            trial.broken.push("somebody of an earlier slice may recover yet".to_string());
        }
        if seen.behind != Read::Known(false) {
            trial.broken.push("it is behind its base branch".to_string());
        }
        let red = |check: &RequiredCheck| check.state != CheckState::Success;
        if seen.checks.known().is_none_or(|all| all.iter().any(red)) {
            trial.broken.push("a check is not green".to_string());
        }
        if matches!(seen.review_decision, ReviewDecision::Required | ReviewDecision::ChangesRequested) {
            trial.broken.push("the hub asks for a review".to_string());
        }
        world.diarist = diarist;
        trial.broken
    }

    /// A tier is occupied from the first opening to the end of the soak (L7: what follows closely starves nobody).
    pub(super) fn tier_is_free(
        &mut self,
        world: &mut World,
        (kept, shown): (&Kept, &Snapshot),
        spot: &Spot,
        version: &Version,
    ) {
        let policy = shown.policy.plugins.iter().find(|known| known.name == spot.0).unwrap();
        if policy.next == Next::Restart || keys::is_hotfix(world, spot, version) || world.losses > 0 {
            return;
        }
        let Some(mut there) = shown_base(world, shown, spot) else { return };
        there.dedup();
        let [running] = there.as_slice() else { return };
        let key = (spot.clone(), running.clone());
        // Who came in the place of all whom it moved is nobody's climb, and so is who left and came back.
        if kept.anew.contains(&key) {
            return;
        }
        let members = kept.members.get(&key).map_or(&[][..], Vec::as_slice);
        let by_bot = world.pulls.iter().any(|pull| {
            let merged = pull.closed.as_ref().is_some_and(|end| end.merged.is_some() && end.by == BOT);
            let moved = || pull.members.iter().any(|name| members.contains(name));
            pull.spot == *spot
                && pull.bot_version == *running
                && merged
                && world.purpose(pull.number).is_none()
                // Who was ahead of its tier, and is not any more, is on what was no climb of the tier.
                && !world.is_early(pull.number)
                && moved()
        });
        // What a person brought back is nobody's climb.
        let by_bot = by_bot && world.base[spot].iter().any(|place| place.by_bot);
        // So is what a person took off another tier: it has failed there, and climbs nowhere.
        let wrong = kept.failed.keys().chain(&kept.doubts).chain(&kept.taken_off);
        let doubted = wrong.into_iter().any(|((plugin, _), what)| *plugin == spot.0 && what == running);
        let release = world.release(&spot.0, running).filter(|release| !release.yanked && !release.retagged);
        // A label on a pull request of a tier below keeps it from where it has not come yet.
        let labelled = shown
            .ledger
            .plugins
            .get(&spot.0)
            .is_some_and(|page| page.labelled.iter().any(|known| plain(&known.version) == *running));
        let good = release.filter(|release| release.complete <= world.now).is_some_and(|release| {
            policy.checks.is_empty() && !policy.signed || release.green && release.checked <= world.now
        }) && world.accepted(&spot.0).contains(running)
            && policy.blocks.is_empty()
            && !labelled
            && !expiry::to_be_left(shown, &spot.0, running, world.ours());
        // So has what the hub said that it merged, and did not.
        let refused = world.pulls.iter().any(|pull| {
            let nothing_came = matches!(pull.landing, Some(Landing::Absent));
            pull.spot.0 == spot.0
                && pull.bot_version == *running
                && pull.closed.as_ref().is_some_and(|end| end.merged.is_none() || nothing_came)
        });
        // Its next slice was given up for a release that had to go first.
        let given_up = world.pulls.iter().any(|pull| {
            let mut held = pull.bot_heads.iter().filter_map(|head| world.written.get(head));
            pull.spot == *spot && pull.bot_version > *running && held.any(|commit| commit.version == *running)
        });
        // A newer one had taken its place when it was merged all the same, or until a person brought it back.
        let by_hand = world.base[spot].iter().any(|place| !place.by_bot);
        let wave = shown.ledger.plugins.get(&spot.0).and_then(|page| {
            let mut waves = page.tiers.get(&spot.1)?.iter();
            waves.rfind(|wave| plain(&wave.version) == *running)
        });
        let given_up = given_up
            || wave.is_some_and(|wave| {
                let ends = wave.superseded().zip(wave.landed());
                ends.is_some_and(|(superseded, landed)| by_hand || superseded.at <= landed.at)
            });
        if by_bot && !doubted && good && !refused && !given_up && !kept.met.contains_key(&key) {
            self.fails(world, format!("P3 opens {} {version} on {}, which {running} occupies", spot.0, spot.1));
        }
    }

    /// L8: whoever begins anew with what the ledger says, at rest, has nothing to do.
    pub fn begins_anew(&mut self, world: &mut World, plan: &Plan) {
        if !plan.actions.is_empty() || !plan.entries.is_empty() {
            let what = format!("L8 a process that begins anew does something: {:?} {:?}", plan.actions, plan.entries);
            self.fails(world, what);
        }
    }

    /// L9: the ledger was lost at rest, and given up; nothing else came of that.
    pub fn forgets_nothing(&mut self, world: &mut World, base: &BTreeMap<Spot, Vec<Version>>, pulls: usize) {
        if held(world) != *base || world.pulls.len() != pulls {
            self.fails(world, format!("L9 a lost ledger moves the base branch: {:?} was {base:?}", held(world)));
        }
    }
}

/// Whether a plugin that goes before this one is about to move on the same tier.
fn goes_first(world: &World, shown: &Snapshot, spot: &Spot) -> bool {
    let policy = shown.policy.plugins.iter().find(|known| known.name == spot.0).unwrap();
    let first = |plugin: &PluginName| policy.after.iter().any(|after| after.plugin == *plugin);
    world.pulls.iter().any(|pull| pull.is_open() && pull.ours && pull.spot.1 == spot.1 && first(&pull.spot.0))
}

/// What the base branch holds.
pub fn held(world: &World) -> BTreeMap<Spot, Vec<Version>> {
    let versions = |places: &Vec<crate::places::Place>| places.iter().map(|place| place.version.clone()).collect();
    world.base.iter().map(|(spot, places)| (spot.clone(), versions(places))).collect()
}

/// Clusters of what the hub says that it has merged, and git has nothing of: who asked for it counts it for an hour, as
/// nobody knows which of them is behind.
fn affirmed_in_vain(world: &World, shown: &Snapshot) -> usize {
    let pages = shown.ledger.plugins.iter();
    let waves = pages.flat_map(|(plugin, page)| page.tiers.values().flatten().map(move |wave| (plugin, wave)));
    let in_vain = waves.filter(|(plugin, wave)| {
        let Some(asked) = wave.asked().filter(|_| wave.landed().is_none()) else { return false };
        let pulls = shown.plugins.get(*plugin).and_then(|facts| facts.pulls.known());
        let merged =
            |pull: &&decide::snapshot::Pull| pull.head == asked.head && matches!(pull.state, PullState::Merged { .. });
        let nothing = pulls.and_then(|pulls| pulls.iter().find(merged)).map(|pull| &pull.landing);
        nothing == Some(&Read::Known(Landing::Absent))
            && world.now < asked.at + SignedDuration::from_hours(1) + keys::slack(world)
    });
    in_vain.map(|(_, wave)| wave.members.len()).sum()
}
