//! Whether any merge was allowed at that moment: S9, S13, S18, and breaking steps.

use decide::ClusterName;
use decide::model::Merge;
use decide::snapshot::{CommandKind, Mergeable, Pull, PullState, Read, Snapshot};
use decide::window::Windows;
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::{Kept, Watch, plain, shown_base, shown_base_of};
use crate::world::{Spot, World};

impl Watch {
    /// S13: nothing that a merge rests on was unread.
    pub(super) fn knows_everything(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        seen: &Pull,
        spot: &Spot,
        forced: bool,
    ) {
        let facts = &shown.plugins[&spot.0];
        let owners =
            world.tier(spot).approvals.code_owners && world.rule_of(seen.number.0) == Merge::Approved && !forced;
        let team = world.tier(spot).approvals.team.is_some() && world.rule_of(seen.number.0) == Merge::Approved;
        let unread = [
            ("the team", team && !forced && seen.team.known().is_none()),
            ("the inventory", shown.clusters.known().is_none()),
            ("the releases", facts.releases.known().is_none()),
            ("the base branch", shown_base(world, shown, spot).is_none()),
            ("the required checks", seen.checks.known().is_none()),
            ("whether it merges", seen.mergeable != Mergeable::Yes),
            ("the code owners", owners && seen.owned.known().is_none()),
        ];
        for (what, _) in unread.into_iter().filter(|(_, unread)| *unread) {
            self.fails(world, format!("S13 merges {} without knowing {what}", seen.number));
        }
    }

    /// S9: no merge of the bot outside a window, none that is held, and none by a policy that is not the newest.
    pub(super) fn in_the_open(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        spot: &Spot,
        (version, members, forced): (&Version, &[ClusterName], bool),
    ) {
        let now = world.ours();
        let plugin = shown.policy.plugins.iter().find(|plugin| plugin.name == spot.0).unwrap();
        let tier = plugin.tiers.iter().find(|tier| tier.name == spot.1).unwrap();
        let through = crate::words::hotfixes(world, &spot.0, version).iter().any(|hotfix| hotfix.through_windows);
        let own = [&shown.policy.windows, &plugin.windows, &tier.windows].into_iter().flatten();
        let listed = |name: &ClusterName| shown.clusters.known()?.iter().find(|cluster| cluster.name == *name);
        let labels: Vec<_> = members.iter().filter_map(listed).map(|cluster| &cluster.labels).collect();
        let of_clusters = shown.policy.maintenance.iter();
        let of_clusters =
            of_clusters.filter(|maintenance| labels.iter().any(|labels| maintenance.select.matches(labels)));
        // A hotfix may be let through the file's windows, not through the operator's.
        let own = own.chain(of_clusters.map(|maintenance| &maintenance.windows)).filter(|_| !through || forced);
        let mut windows = own.chain(&shown.policy.operator_windows);
        if let Some(closed) = windows.find(|windows| !is_open(windows, now)) {
            self.fails(world, format!("S9 merges {} on {} outside {closed:?}", spot.0, spot.1));
        }
        let pulls = shown.plugins[&spot.0].pulls.known().into_iter().flatten();
        if pulls
            .into_iter()
            .any(|pull| pull.tier == spot.1 && pull.state == PullState::Open && (held(pull) || pull.draft))
        {
            self.fails(world, format!("S9 merges {} on {} though it is held", spot.0, spot.1));
        }
        if let Some(why) = &shown.policy_problem {
            self.fails(world, format!("S9 merges {} on {} though the policy file is broken: {why}", spot.0, spot.1));
        }
    }

    /// A breaking step waits for somebody who acknowledges it.
    pub(super) fn breaking_is_acknowledged(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        spot: &Spot,
        version: &Version,
        members: &[ClusterName],
    ) {
        let from = shown_base_of(world, shown, spot, members).into_iter().flatten().min();
        let marked = from.as_ref().is_some_and(|from| self.breaks(world, shown, spot, from, version));
        let acknowledged =
            world.pulls.iter().filter(|pull| pull.spot.0 == spot.0).flat_map(|pull| &pull.commands).any(|command| {
                let names_it =
                    matches!(&command.what, CommandKind::Acknowledge { version: named } if plain(named) == *version);
                names_it && command.allowed == Read::Known(true)
            });
        if marked && !acknowledged {
            self.fails(world, format!("S8 merges the breaking {} {version} on {} unacknowledged", spot.0, spot.1));
        }
    }

    /// A release whose required values a cluster lacks does not come to that cluster.
    pub(super) fn values_are_set(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        spot: &Spot,
        version: &Version,
        members: &[ClusterName],
    ) {
        let listed = shown.plugins[&spot.0].releases.known().into_iter().flatten();
        let of_release = listed.filter(|release| plain(&release.version) == *version);
        let missing = of_release.flat_map(|release| &release.missing_values);
        if let Some(missing) = missing.into_iter().find(|missing| members.contains(&missing.cluster)) {
            self.fails(world, format!("S8 merges {} {version} on {} without {missing}", spot.0, spot.1));
        }
    }

    /// S18: clusters whose version the bot's merges change in any sixty minutes; a wave larger than the
    /// cap has an hour for itself.
    pub(super) fn within_the_hour(
        &mut self,
        world: &mut World,
        kept: &Kept,
        spot: &Spot,
        version: &Version,
        number: u64,
    ) {
        let now = world.now;
        self.changed.retain(|merge| now < merge.at + SignedDuration::from_hours(1));
        let others: u32 = self.changed.iter().map(|merge| merge.clusters).sum();
        let own = clusters_to_change(world, kept, spot, version, number);
        let Some(cap) = world.policy.limits.clusters_per_hour else { return };
        if own > 0 && others > 0 && others + own > cap {
            self.fails(world, format!("S18 {} clusters in an hour, {cap} is the limit", others + own));
        }
    }

    /// The bot's merge goes through: it is counted.
    pub fn merged(&mut self, world: &World, kept: &Kept, spot: &Spot, version: &Version, number: u64) {
        let clusters = clusters_to_change(world, kept, spot, version, number);
        self.changed.push(Changed { at: world.now, clusters, members: world.moved_by(number).len() });
    }
}

/// A merge of the bot.
#[derive(Clone)]
pub(super) struct Changed {
    pub at: Timestamp,
    /// Clusters that it changed.
    pub clusters: u32,
    /// Those that it was for, on which somebody may have put the same before.
    pub members: usize,
}

/// Clusters that a merge of this version brings another one: those of its pull request, and where a
/// file is everybody's all that the tier had when its wave began.
fn clusters_to_change(world: &World, kept: &Kept, spot: &Spot, version: &Version, number: u64) -> u32 {
    let all = kept.members.get(&(spot.clone(), version.clone())).map_or(0, Vec::len) as u32;
    let moved = world.moved_by(number);
    let places = world.places_of(spot, &moved).filter(|place| place.version != *version);
    places.map(|place| if place.cluster.is_some() { 1 } else { all }).sum::<u32>().min(moved.len() as u32)
}

pub(super) fn held(seen: &Pull) -> bool {
    let mut held = false;
    for command in seen.commands.iter().filter(|command| command.allowed == Read::Known(true)) {
        match command.what {
            CommandKind::Hold { .. } => held = true,
            CommandKind::Resume => held = false,
            CommandKind::Acknowledge { .. }
            | CommandKind::Fail { .. }
            | CommandKind::Rebuild { .. }
            | CommandKind::Freeze { .. }
            | CommandKind::Hotfix(_)
            | CommandKind::Force { .. }
            | CommandKind::Unfreeze => {}
        }
    }
    held
}

/// Whether a cron window is open: its schedule, which in these worlds names one minute of a day and perhaps
/// weekdays, fired less than its length ago.
fn fired_lately(cron: &decide::window::Cron, zone: &jiff::tz::TimeZone, at: Timestamp) -> bool {
    let fields: Vec<&str> = cron.cron.as_str().split(' ').collect();
    let number = |text: &str| text.parse::<i8>().unwrap();
    let on = |day: jiff::civil::Weekday| match fields[4].split_once('-') {
        _ if fields[4] == "*" => true,
        Some((from, to)) => (number(from)..=number(to)).contains(&day.to_sunday_zero_offset()),
        None => number(fields[4]) == day.to_sunday_zero_offset(),
    };
    let today = at.to_zoned(zone.clone()).date();
    (0..=2).any(|back| {
        let date = today - jiff::Span::new().days(back);
        let named = date.at(number(fields[1]), number(fields[0]), 0, 0);
        // In a gap no clock shows it; in an overlap the first time counts.
        let fired = match zone.to_ambiguous_timestamp(named).offset() {
            jiff::tz::AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(named),
            jiff::tz::AmbiguousOffset::Fold { before, .. } => before.to_timestamp(named),
            jiff::tz::AmbiguousOffset::Gap { .. } => return false,
        };
        on(date.weekday()) && fired.is_ok_and(|fired| fired <= at && at < fired + cron.lasts)
    })
}

/// Whether a merge may happen at an instant, by the local time at that instant.
pub(super) fn is_open(windows: &Windows, at: Timestamp) -> bool {
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
        let free = windows.open.is_empty() && windows.cron.is_empty();
        !closed && (free || inside || windows.cron.iter().any(|cron| fired_lately(cron, &windows.zone, at)))
    };
    open_at(at) && open_at(at + windows.room)
}
