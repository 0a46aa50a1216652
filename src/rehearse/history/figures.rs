//! What a replay is judged by: how many releases came how far, how long they took, how long a plugin
//! waited, how many pull requests people saw.

use std::collections::BTreeMap;

use decide::{PluginName, TierName, Version};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::rehearse::world::{Note, Noted};

/// The figures of one replay.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Releases that could climb: no pre-releases.
    pub releases: usize,
    /// One per tier, in order of promotion.
    pub tiers: Vec<TierFigures>,
    /// Pull requests that were opened.
    pub pulls: usize,
    /// Merges without the missing approvals.
    pub forced: usize,
    /// The longest time in which something newer was out and nothing reached the last tier.
    pub longest_wait: Option<Wait>,
    /// From the first to the last event.
    pub span: (Timestamp, Timestamp),
    /// Releases by month, from the first month on.
    pub released: Vec<usize>,
    /// When each release came out, in order.
    pub release_times: Vec<Timestamp>,
    /// Instants at which the planner found no rest; none is right.
    pub restless: Vec<Timestamp>,
}

/// The figures of one tier.
#[derive(Clone, Debug)]
pub struct TierFigures {
    /// Its name.
    pub name: TierName,
    /// Releases that were merged there.
    pub reached: usize,
    /// From release to merge, in the middle of all of them.
    pub median: Option<SignedDuration>,
    /// The longest of these.
    pub worst: Option<SignedDuration>,
    /// Merges by month.
    pub months: Vec<usize>,
    /// When each was merged, in order.
    pub times: Vec<Timestamp>,
}

/// A plugin that waited.
#[derive(Clone, Debug)]
pub struct Wait {
    /// Which.
    pub plugin: PluginName,
    /// How long.
    pub lasted: SignedDuration,
    /// It still waited when the history ended.
    pub unfinished: bool,
}

impl Figures {
    /// Pull requests in a week.
    pub fn pulls_a_week(&self) -> f64 {
        let seconds = self.span.1.duration_since(self.span.0).as_secs_f64();
        if seconds > 0.0 { self.pulls as f64 * 7.0 * 86_400.0 / seconds } else { 0.0 }
    }

    /// The last tier.
    pub fn top(&self) -> Option<&TierFigures> {
        self.tiers.last()
    }
}

/// Counts while a replay goes on.
pub(super) struct Count {
    tiers: Vec<TierName>,
    span: (Timestamp, Timestamp),
    released: BTreeMap<(PluginName, Version), Timestamp>,
    landed: Vec<(Timestamp, PluginName, TierName, Version)>,
    pulls: usize,
    forced: usize,
    restless: Vec<Timestamp>,
    /// Plugins that were taken out, and when.
    removed: BTreeMap<PluginName, Timestamp>,
}

impl Count {
    pub fn new(tiers: Vec<TierName>, span: (Timestamp, Timestamp)) -> Self {
        Self {
            tiers,
            span,
            released: BTreeMap::new(),
            landed: Vec::new(),
            pulls: 0,
            forced: 0,
            restless: Vec::new(),
            removed: BTreeMap::new(),
        }
    }

    pub fn released(&mut self, plugin: &PluginName, version: &Version, at: Timestamp) {
        if !version.is_prerelease() {
            self.released.insert((plugin.clone(), version.clone()), at);
        }
    }

    pub fn removed(&mut self, plugin: &PluginName, at: Timestamp) {
        self.removed.insert(plugin.clone(), at);
    }

    pub fn restless(&mut self, at: Timestamp) {
        self.restless.push(at);
    }

    pub fn diary(&mut self, diary: &[Note]) {
        for note in diary {
            match &note.what {
                Noted::Opened { moved: false, .. } => self.pulls += 1,
                Noted::Merged { spot, version, forced, .. } => {
                    self.forced += usize::from(*forced);
                    self.landed.push((note.at, spot.0.clone(), spot.1.clone(), version.clone()));
                }
                Noted::Opened { .. }
                | Noted::Closed { .. }
                | Noted::Notice { .. }
                | Noted::Entry(_)
                | Noted::Said(_) => {}
            }
        }
    }

    pub fn done(mut self) -> Figures {
        self.landed.sort();
        let tiers = self.tiers.iter().map(|tier| self.tier(tier)).collect();
        let mut release_times: Vec<Timestamp> = self.released.values().copied().collect();
        release_times.sort();
        Figures {
            releases: self.released.len(),
            tiers,
            pulls: self.pulls,
            forced: self.forced,
            longest_wait: self.longest_wait(),
            span: self.span,
            released: self.by_month(&release_times),
            release_times,
            restless: self.restless,
        }
    }

    fn tier(&self, tier: &TierName) -> TierFigures {
        let of_tier: Vec<_> = self.landed.iter().filter(|(_, _, name, _)| name == tier).collect();
        let mut first: BTreeMap<(&PluginName, &Version), Timestamp> = BTreeMap::new();
        for (at, plugin, _, version) in &of_tier {
            first.entry((plugin, version)).or_insert(*at);
        }
        let mut lags: Vec<SignedDuration> = first
            .iter()
            .filter_map(|((plugin, version), at)| {
                let released = self.released.get(&((*plugin).clone(), (*version).clone()))?;
                Some(at.duration_since(*released))
            })
            .collect();
        lags.sort();
        let mut times: Vec<Timestamp> = first.values().copied().collect();
        times.sort();
        TierFigures {
            name: tier.clone(),
            reached: first.len(),
            median: lags.get(lags.len() / 2).copied(),
            worst: lags.last().copied(),
            months: self.by_month(&times),
            times,
        }
    }

    fn by_month(&self, times: &[Timestamp]) -> Vec<usize> {
        let month = |at: Timestamp| {
            let day = at.to_zoned(TimeZone::UTC).date();
            i64::from(day.year()) * 12 + i64::from(day.month()) - 1
        };
        let (from, to) = (month(self.span.0), month(self.span.1));
        let mut months = vec![0; usize::try_from(to - from + 1).unwrap_or(1)];
        for at in times {
            let index = usize::try_from(month(*at) - from).unwrap_or(0);
            if let Some(count) = months.get_mut(index) {
                *count += 1;
            }
        }
        months
    }

    /// Over all plugins: from when something newer was out, or from the last merge on the last tier, to
    /// the next merge there.
    fn longest_wait(&self) -> Option<Wait> {
        let top = self.tiers.last()?;
        let mut waits: Vec<Wait> = Vec::new();
        let mut plugins: Vec<&PluginName> = self.released.keys().map(|(plugin, _)| plugin).collect();
        plugins.dedup();
        for plugin in plugins {
            let of_plugin = self.released.iter().filter(|((name, _), _)| name == plugin);
            let mut out: Vec<(Timestamp, &Version)> = of_plugin.map(|((_, version), at)| (*at, version)).collect();
            out.sort();
            let landed = self.landed.iter().filter(|(_, name, tier, _)| name == plugin && tier == top);
            let mut last: Option<(Timestamp, &Version)> = None;
            for (at, _, _, version) in landed {
                if let Some(since) = waiting_since(&out, last) {
                    waits.push(Wait { plugin: plugin.clone(), lasted: at.duration_since(since), unfinished: false });
                }
                last = Some((*at, version));
            }
            if let Some(since) = waiting_since(&out, last) {
                // A plugin that was taken out waits for nothing any more.
                let removed = self.removed.get(plugin).filter(|removed| **removed >= since);
                let lasted = removed.unwrap_or(&self.span.1).duration_since(since);
                waits.push(Wait { plugin: plugin.clone(), lasted, unfinished: removed.is_none() });
            }
        }
        waits.into_iter().max_by_key(|wait| wait.lasted)
    }
}

/// Since when something newer than what landed last is out and waits.
fn waiting_since(out: &[(Timestamp, &Version)], last: Option<(Timestamp, &Version)>) -> Option<Timestamp> {
    let newer = out.iter().filter(|(_, version)| last.is_none_or(|(_, landed)| *version > landed));
    let first = newer.map(|(at, _)| *at).min()?;
    Some(last.map_or(first, |(at, _)| at.max(first)))
}
