//! Whether a merge was allowed at that moment: S7, S8, S9, S18, and breaking steps.

use decide::ledger::{ForceEvidence, Ledger};
use decide::model::Merge;
use decide::snapshot::{
    CheckState, CommandKind, LedgerGuard, LedgerState, Mergeable, Pull, PullState, Read, ReviewVerdict, Snapshot,
};
use decide::window::Windows;
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::Watch;
use crate::people::who_merges;
use crate::pulls::{BOT, OWNERS};
use crate::world::{Spot, World};

impl Watch {
    /// S7: an ordinary merge has the approvals that the policy asks for, for this very head.
    pub(super) fn approved(&mut self, world: &mut World, seen: &Pull, spot: &Spot, version: &Version) {
        let tier = world.tier(spot).clone();
        let from = world.base[spot].iter().map(|place| place.version.clone()).min().unwrap();
        let rule = who_merges(&tier, &from, version);
        if rule == Merge::Manual {
            self.fails(world, format!("S7 merges {}, which the policy leaves to a person", seen.number));
        }
        if !objectors(seen).is_empty() {
            self.fails(world, format!("S7 merges {} over a request for changes", seen.number));
        }
        if rule != Merge::Approved {
            return;
        }
        let head_at = world.pulls.iter().find(|pull| pull.number == seen.number.0).map(|pull| pull.bot_wrote_at);
        let mut yes: Vec<&str> = Vec::new();
        for review in &seen.reviews {
            let last = last_word(seen, review.by.as_str());
            let counts = last == Some(ReviewVerdict::Approved)
                && review.verdict == ReviewVerdict::Approved
                && review.human
                && review.by.as_str() != BOT
                && review.may_write == Read::Known(true)
                && review.commit == seen.head
                && head_at.is_some_and(|written| review.at >= written);
            if counts && !yes.contains(&review.by.as_str()) {
                yes.push(review.by.as_str());
            }
        }
        let owner = !tier.approvals.code_owners || yes.iter().any(|by| OWNERS.contains(by));
        if !owner || yes.len() < tier.approvals.at_least as usize {
            self.fails(world, format!("S7 merges {} with the approvals of {yes:?} only", seen.number));
        }
    }

    /// S8: everything that a merge without the missing approvals needs.
    pub(super) fn may_be_forced(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        seen: &Pull,
        spot: &Spot,
        evidence: &ForceEvidence,
        pushed: &Ledger,
    ) {
        let mut missing: Vec<String> = Vec::new();
        let now = world.now;
        let tier = world.tier(spot).clone();
        let truth = world.pulls.iter().find(|pull| pull.number == seen.number.0).cloned();
        match (&tier.force, truth) {
            (Some(force), Some(pull)) => {
                let clock = pull.opened_at + force.after + self.out_of_reach(pull.opened_at, now);
                if now < clock {
                    missing.push(format!("the deadline is {clock}"));
                }
                if evidence.deadline > now {
                    missing.push(format!("its own evidence names the deadline {}", evidence.deadline));
                }
                for before in &force.notice {
                    match pull.notices.iter().find(|sent| sent.before == *before) {
                        None => missing.push(format!("the notice {before:#} ahead was never sent")),
                        Some(sent) if now < sent.at + *before => {
                            missing.push(format!("the notice {before:#} ahead was sent at {}", sent.at))
                        }
                        Some(_) => {}
                    }
                }
            }
            (None, _) => missing.push("the policy has no force here".to_string()),
            (_, None) => missing.push("there is no such pull request".to_string()),
        }
        let from = world.base[spot].iter().map(|place| place.version.clone()).min().unwrap();
        let to = world.pulls.iter().find(|pull| pull.number == seen.number.0).map(|pull| pull.bot_version.clone());
        if to.is_some_and(|to| who_merges(&tier, &from, &to) == Merge::Manual) {
            missing.push("the policy leaves this merge to a person".to_string());
        }
        if held(seen) || seen.draft {
            missing.push("it is held".to_string());
        }
        if !objectors(seen).is_empty() {
            missing.push("changes are requested".to_string());
        }
        if seen.mergeable != Mergeable::Yes || seen.state != PullState::Open {
            missing.push("it cannot be merged".to_string());
        }
        if seen.checks.known().is_none_or(|all| all.iter().any(|check| check.state != CheckState::Success)) {
            missing.push("a required check is not green".to_string());
        }
        if shown.hub.skew.abs() > SignedDuration::from_secs(30) {
            missing.push("the clocks differ".to_string());
        }
        if shown.policy_problem.is_some() {
            missing.push("the policy file is broken".to_string());
        }
        if shown.ledger_state != (LedgerState::Intact { guarded: LedgerGuard::BotsOnly }) {
            missing.push("others can push the ledger".to_string());
        }
        let waves = pushed.plugins.get(&spot.0).and_then(|page| page.tiers.get(&spot.1)).into_iter().flatten();
        let written = waves.into_iter().filter_map(|wave| wave.merging.as_ref());
        if !written.into_iter().any(|merging| merging.head == seen.head && merging.forced.as_ref() == Some(evidence)) {
            missing.push("the evidence was not recorded before".to_string());
        }
        for what in missing {
            self.fails(world, format!("S8 forces {} of {} on {}, but {what}", seen.number, spot.0, spot.1));
        }
    }

    /// S9: no merge of the bot outside a window or inside a freeze; and none that is held.
    pub(super) fn in_the_open(&mut self, world: &mut World, shown: &Snapshot, spot: &Spot) {
        let now = world.now;
        let plugin = shown.policy.plugins.iter().find(|plugin| plugin.name == spot.0).unwrap();
        let tier = plugin.tiers.iter().find(|tier| tier.name == spot.1).unwrap();
        let windows = [&shown.policy.windows, &plugin.windows, &tier.windows];
        if let Some(closed) = windows.into_iter().flatten().find(|windows| !is_open(windows, now)) {
            self.fails(world, format!("S9 merges {} on {} outside {closed:?}", spot.0, spot.1));
        }
        let frozen = shown.policy.freezes.iter().any(|freeze| {
            (freeze.tiers.is_empty() || freeze.tiers.contains(&spot.1))
                && (freeze.plugins.is_empty() || freeze.plugins.contains(&spot.0))
                && freeze.until.is_none_or(|until| now < until)
        });
        if frozen {
            self.fails(world, format!("S9 merges {} on {} in a freeze", spot.0, spot.1));
        }
        let pulls = shown.plugins[&spot.0].pulls.known().into_iter().flatten();
        if pulls
            .into_iter()
            .any(|pull| pull.tier == spot.1 && pull.state == PullState::Open && (held(pull) || pull.draft))
        {
            self.fails(world, format!("S9 merges {} on {} though it is held", spot.0, spot.1));
        }
    }

    /// A breaking step waits for somebody who acknowledges it.
    pub(super) fn breaking_is_acknowledged(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        spot: &Spot,
        version: &Version,
    ) {
        let base = shown.plugins[&spot.0].base.known().and_then(|base| base.get(&spot.1)).cloned().unwrap_or_default();
        let from = base.iter().filter_map(|place| place.version.known()).map(super::plain).min();
        let by_number =
            from.is_some_and(|from| from.major != version.major || (from.major == 0 && from.minor != version.minor));
        let marked = world.release(&spot.0, version).is_some_and(|release| release.shown.marked_breaking);
        let acknowledged = world.pulls.iter().filter(|pull| pull.spot.0 == spot.0).flat_map(|pull| &pull.commands).any(|command| {
            let names_it = matches!(&command.what, CommandKind::Acknowledge { version: named } if super::plain(named) == *version);
            names_it && command.allowed == Read::Known(true)
        });
        if (by_number || marked) && !acknowledged {
            self.fails(world, format!("S8 merges the breaking {} {version} on {} unacknowledged", spot.0, spot.1));
        }
    }

    /// S18: clusters whose version the bot's merges change in any sixty minutes.
    pub(super) fn within_the_hour(&mut self, world: &mut World, spot: &Spot, version: &Version) {
        let now = world.now;
        let members = world.scenario.members(&spot.1).len() as u32;
        let all_there = world.base[spot].iter().all(|place| place.version == *version);
        self.changed.retain(|(at, _)| now < *at + SignedDuration::from_hours(1));
        let changed: u32 = self.changed.iter().map(|(_, count)| count).sum();
        let Some(cap) = world.policy.limits.clusters_per_hour else { return };
        if !all_there && changed + members > cap {
            self.fails(world, format!("S18 {} clusters in an hour, {cap} is the limit", changed + members));
        }
        self.changed.push((now, members));
    }
}

fn last_word(seen: &Pull, by: &str) -> Option<ReviewVerdict> {
    let of_them = seen.reviews.iter().filter(|review| review.by.as_str() == by);
    of_them.filter(|review| review.verdict != ReviewVerdict::Commented).map(|review| review.verdict).next_back()
}

/// People with write access whose last word asks for changes.
fn objectors(seen: &Pull) -> Vec<&str> {
    let people = seen.reviews.iter().filter(|review| review.human && review.may_write == Read::Known(true));
    people
        .map(|review| review.by.as_str())
        .filter(|by| last_word(seen, by) == Some(ReviewVerdict::ChangesRequested))
        .collect()
}

fn held(seen: &Pull) -> bool {
    let mut held = false;
    for command in seen.commands.iter().filter(|command| command.allowed == Read::Known(true)) {
        match command.what {
            CommandKind::Hold { .. } => held = true,
            CommandKind::Resume => held = false,
            CommandKind::Acknowledge { .. } | CommandKind::Fail { .. } | CommandKind::Rebuild { .. } => {}
        }
    }
    held
}

/// Whether a merge may happen at an instant, by the local time at that instant.
fn is_open(windows: &Windows, at: Timestamp) -> bool {
    let open_at = |at: Timestamp| {
        let local = at.to_zoned(windows.zone.clone());
        let (today, yesterday) = (local.weekday(), local.weekday().previous());
        let minute = local.hour() as u16 * 60 + local.minute() as u16;
        let closed = windows.closed.iter().any(|days| (days.from..=days.to).contains(&local.date()));
        let inside = windows.open.iter().any(|range| {
            let on = |day: jiff::civil::Weekday| range.days.contains(&(day.to_monday_one_offset() as u8));
            let wraps = range.to <= range.from;
            let late = on(today) && minute >= range.from && (wraps || minute < range.to);
            late || (wraps && on(yesterday) && minute < range.to)
        });
        !closed && (windows.open.is_empty() || inside)
    };
    open_at(at) && open_at(at + windows.room)
}
