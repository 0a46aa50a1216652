//! What a replay is judged by: how many releases came how far, how long they took, how long a plugin
//! waited, how many pull requests people saw.

use std::collections::{BTreeMap, BTreeSet};

use decide::{Plan, PluginName, TierName, Version, WaveState};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::rehearse::diary::{Note, Noted};

/// The figures of one replay.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Releases that could climb: no pre-releases.
    pub releases: usize,
    /// One per tier, in order of promotion.
    pub tiers: Vec<TierFigures>,
    /// One per plugin, in the order of names.
    pub plugins: Vec<PluginFigures>,
    /// Breaking steps that were taken, each of which a person has acknowledged.
    pub acknowledged: usize,
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

/// The figures of one plugin.
#[derive(Clone, Debug)]
pub struct PluginFigures {
    /// Its name.
    pub name: PluginName,
    /// Its releases that could climb.
    pub releases: usize,
    /// How many of them were merged on each tier.
    pub reached: Vec<usize>,
    /// Since when something newer is out and nothing reaches the last tier, at the end of the history.
    pub waits: Option<Timestamp>,
    /// What was still climbing then, the foremost first.
    pub climbs: Vec<Climbing>,
}

/// A release that was still climbing when the history ended.
#[derive(Clone, Debug)]
pub struct Climbing {
    /// Which.
    pub version: Version,
    /// The tier that it had come to, or waits for.
    pub tier: TierName,
    /// What it waits for, in the words of its pull request.
    pub why: Option<String>,
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

    /// Releases that were still climbing when the history ended.
    pub fn climbing(&self) -> usize {
        self.plugins.iter().map(|plugin| plugin.climbs.len()).sum()
    }

    /// The last tier.
    pub fn top(&self) -> Option<&TierFigures> {
        self.tiers.last()
    }
}

/// A merge: when, of which plugin, on which tier, which release.
type Landing = (Timestamp, PluginName, TierName, Version);

/// How a release came out.
struct Released {
    at: Timestamp,
    breaking: bool,
}

/// Counts while a replay goes on.
pub(super) struct Count {
    tiers: Vec<TierName>,
    span: (Timestamp, Timestamp),
    released: BTreeMap<PluginName, BTreeMap<Version, Released>>,
    climbs: BTreeMap<PluginName, Vec<Climbing>>,
    landed: Vec<Landing>,
    pulls: usize,
    forced: usize,
    restless: Vec<Timestamp>,
    /// Plugins whose releases are given up for each newer one: none of them waits for a free tier.
    restarts: BTreeSet<PluginName>,
    /// Plugins that were taken out, and when.
    removed: BTreeMap<PluginName, Timestamp>,
}

impl Count {
    pub fn new(tiers: Vec<TierName>, span: (Timestamp, Timestamp)) -> Self {
        Self {
            tiers,
            span,
            released: BTreeMap::new(),
            climbs: BTreeMap::new(),
            landed: Vec::new(),
            pulls: 0,
            forced: 0,
            restless: Vec::new(),
            restarts: BTreeSet::new(),
            removed: BTreeMap::new(),
        }
    }

    pub fn released(&mut self, plugin: &PluginName, version: &Version, breaking: bool, at: Timestamp) {
        if !version.is_prerelease() {
            let released = self.released.entry(plugin.clone()).or_default();
            released.insert(version.clone(), Released { at, breaking });
        }
    }

    /// The last plan says what still climbs, tier by tier from the bottom up.
    pub fn ends(&mut self, plan: &Plan) {
        for wave in plan.waves.iter().rev() {
            let Some(version) = wave.version.clone().filter(|_| climbs(&wave.state)) else { continue };
            let here = |(_, plugin, tier, landed): &Landing| {
                (plugin, landed) == (&wave.plugin, &version) && self.tiers.last() == Some(tier)
            };
            let known = self.climbs.entry(wave.plugin.clone()).or_default();
            if self.landed.iter().any(here) || known.iter().any(|known| known.version == version) {
                continue;
            }
            let why = wave.blocker().map(|finding| finding.because.to_string());
            known.push(Climbing { version, tier: wave.tier.clone(), why });
        }
    }

    pub fn removed(&mut self, plugin: &PluginName, at: Timestamp) {
        self.removed.insert(plugin.clone(), at);
    }

    pub fn restarts(&mut self, plugin: &PluginName) {
        self.restarts.insert(plugin.clone());
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
        let mut release_times: Vec<Timestamp> = self.all().map(|(_, _, released)| released.at).collect();
        release_times.sort();
        let plugins: Vec<(PluginFigures, Vec<Wait>)> = self.released.keys().map(|plugin| self.plugin(plugin)).collect();
        let waits = plugins.iter().flat_map(|(_, waits)| waits);
        Figures {
            releases: release_times.len(),
            tiers,
            acknowledged: self.acknowledged(),
            pulls: self.pulls,
            forced: self.forced,
            longest_wait: waits.max_by_key(|wait| wait.lasted).cloned(),
            plugins: plugins.into_iter().map(|(figures, _)| figures).collect(),
            span: self.span,
            released: self.by_month(&release_times),
            release_times,
            restless: self.restless,
        }
    }

    fn all(&self) -> impl Iterator<Item = (&PluginName, &Version, &Released)> {
        let of_plugin = self.released.iter();
        of_plugin.flat_map(|(plugin, all)| all.iter().map(move |(version, released)| (plugin, version, released)))
    }

    /// Steps that are breaking, by number or by a mark of what came out on the way. A release is acknowledged once,
    /// on whichever tier it is first met.
    fn acknowledged(&self) -> usize {
        let mut runs: BTreeMap<(&PluginName, &TierName), &Version> = BTreeMap::new();
        let mut acknowledged = BTreeSet::new();
        for (_, plugin, tier, version) in &self.landed {
            let Some(from) = runs.insert((plugin, tier), version).filter(|from| *from < version) else { continue };
            let mut way = self.released.get(plugin).into_iter().flat_map(|all| all.range(from..=version));
            if version.breaks_after(from) || way.any(|(on_it, released)| on_it > from && released.breaking) {
                acknowledged.insert((plugin, version));
            }
        }
        acknowledged.len()
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
                let released = self.released.get(*plugin)?.get(*version)?;
                Some(at.duration_since(released.at))
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

    /// One plugin, and each of its waits: from when something newer was out, or from the last merge on the last tier,
    /// to the next merge there.
    fn plugin(&self, name: &PluginName) -> (PluginFigures, Vec<Wait>) {
        let released = self.released.get(name);
        let mut out: Vec<(Timestamp, &Version)> =
            released.into_iter().flatten().map(|(version, released)| (released.at, version)).collect();
        out.sort();
        let landed: Vec<&Landing> = self.landed.iter().filter(|(_, plugin, _, _)| plugin == name).collect();
        let reached = |tier: &TierName| {
            let here = landed.iter().filter(|(_, _, there, _)| there == tier);
            here.map(|(_, _, _, version)| version).collect::<BTreeSet<_>>().len()
        };
        let mut figures = PluginFigures {
            name: name.clone(),
            releases: out.len(),
            reached: self.tiers.iter().map(reached).collect(),
            waits: None,
            climbs: self.climbs.get(name).cloned().unwrap_or_default(),
        };
        if !self.removed.contains_key(name) && !self.restarts.contains(name) {
            self.behind_others(&landed, &mut figures.climbs);
        }
        let (mut waits, mut last): (Vec<Wait>, Option<(Timestamp, &Version)>) = (Vec::new(), None);
        for (at, _, _, version) in landed.iter().filter(|(_, _, tier, _)| self.tiers.last() == Some(tier)) {
            if let Some(since) = waiting_since(&out, last) {
                waits.push(Wait { plugin: name.clone(), lasted: at.duration_since(since), unfinished: false });
            }
            last = Some((*at, version));
        }
        if let Some(since) = waiting_since(&out, last) {
            // A plugin that was taken out waits for nothing any more.
            let removed = self.removed.get(name).filter(|removed| **removed >= since);
            let lasted = removed.unwrap_or(&self.span.1).duration_since(since);
            waits.push(Wait { plugin: name.clone(), lasted, unfinished: removed.is_none() });
            figures.waits = removed.is_none().then_some(since);
        }
        (figures, waits)
    }
}

impl Count {
    /// Joins what has come to a tier and is next for the one above it, which another release still occupies: no
    /// pull request tells of that.
    fn behind_others(&self, landed: &[&Landing], climbs: &mut Vec<Climbing>) {
        let newest =
            |tier: &TierName| landed.iter().filter(|(_, _, here, _)| here == tier).map(|(_, _, _, it)| it).max();
        for pair in self.tiers.windows(2) {
            let [tier, above] = pair else { continue };
            let next = newest(tier).filter(|version| newest(above).is_none_or(|above| *version > above));
            if let Some(version) = next.filter(|version| !climbs.iter().any(|known| known.version == **version)) {
                let why = Some(format!("{above} has another release"));
                climbs.push(Climbing { version: version.clone(), tier: tier.clone(), why });
            }
        }
        let place = |climbing: &Climbing| self.tiers.iter().position(|tier| *tier == climbing.tier);
        climbs.sort_by_key(|climbing| std::cmp::Reverse(place(climbing)));
    }
}

/// Whether a release in this state is on its way.
fn climbs(state: &WaveState) -> bool {
    match state {
        WaveState::Waiting | WaveState::Open { .. } | WaveState::Converging { .. } | WaveState::Soaking { .. } => true,
        WaveState::Idle { .. }
        | WaveState::Finished { .. }
        | WaveState::Failed { .. }
        | WaveState::Rejected { .. }
        | WaveState::Superseded { .. }
        | WaveState::Withdrawn { .. } => false,
    }
}

/// Since when something newer than what landed last is out and waits.
fn waiting_since(out: &[(Timestamp, &Version)], last: Option<(Timestamp, &Version)>) -> Option<Timestamp> {
    let newer = out.iter().filter(|(_, version)| last.is_none_or(|(_, landed)| *version > landed));
    let first = newer.map(|(at, _)| *at).min()?;
    Some(last.map_or(first, |(at, _)| at.max(first)))
}
