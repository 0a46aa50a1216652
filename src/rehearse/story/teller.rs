//! The telling: what happened, day by day, in the words that the other pages use.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use decide::ledger::{Change, Ledger};
use decide::plan::{Gate, Pinned, Plan, Verdict, WaveReport, WaveState};
use decide::reason::spell;
use decide::{Entry, Reason, Version};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::rehearse::diary::{Note, Noted, Spot};
use crate::rehearse::world::BOT;

// Writing into a String cannot fail, so that its results are let go.

/// Tells a story into a text.
pub(super) struct Teller {
    zone: TimeZone,
    out: String,
    day: Option<Date>,
    minute: String,
    /// Lines name the plugin only where there is more than one.
    several: bool,
    /// What was last said about what each tier waits for.
    standing: BTreeMap<Spot, String>,
    /// What was last said about clusters that stay behind.
    pinned: BTreeMap<Spot, String>,
}

impl Teller {
    pub fn new(title: &str, zone: TimeZone, several: bool) -> Self {
        let mut out = String::new();
        if !title.is_empty() {
            let _ = writeln!(out, "{title}\n{}", "=".repeat(title.chars().count()));
        }
        Self {
            zone,
            out,
            day: None,
            minute: String::new(),
            several,
            standing: BTreeMap::new(),
            pinned: BTreeMap::new(),
        }
    }

    pub fn close(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// `Mon 23 Nov 2026 09:00`.
    pub fn time(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%a %-d %b %Y %H:%M").to_string()
    }

    /// One line of its day.
    pub fn line(&mut self, at: Timestamp, text: &str) {
        let local = at.to_zoned(self.zone.clone());
        if self.day != Some(local.date()) {
            let _ = writeln!(self.out, "\n{}", local.strftime("%a %-d %b %Y"));
            self.day = Some(local.date());
            self.minute.clear();
        }
        let minute = local.strftime("%H:%M").to_string();
        let shown = if minute == self.minute { "     " } else { &minute };
        let _ = writeln!(self.out, "  {shown}  {text}");
        self.minute = minute;
    }

    fn what(&self, (plugin, tier): &Spot, version: &Version) -> String {
        if self.several { format!("{plugin} {version} on {tier}") } else { format!("{version} on {tier}") }
    }

    /// Tells one note of the diary.
    pub fn note(&mut self, note: &Note, ledger: &Ledger) {
        let text = match &note.what {
            Noted::Said(text) => format!("▸ {text}"),
            Noted::Opened { spot, version, pull, moved, clusters } => {
                let many = if *clusters == 1 { "1 cluster".to_string() } else { format!("{clusters} clusters") };
                let verb = if *moved { "is moved to" } else { "is opened for" };
                format!("pull request #{pull} {verb} {}, {many}", self.what(spot, version))
            }
            Noted::Merged { spot, version, pull, by, forced } => {
                let who = if by.as_str() == BOT { "the bot" } else { by.as_str() };
                let how = if *forced { " by force, without the missing approvals" } else { "" };
                format!("#{pull} is merged by {who}{how}: {}", self.what(spot, version))
            }
            Noted::Closed { pull, why, .. } => format!("#{pull} is closed by the bot: {why}"),
            Noted::Notice { spot, version, before, deadline } => {
                let (what, deadline) = (self.what(spot, version), self.time(*deadline));
                format!("notice {} ahead: {what} will be merged without approval at {deadline}", spell(*before))
            }
            Noted::Entry(entry) => match self.entry(entry, ledger) {
                Some(text) => text,
                None => return,
            },
        };
        self.line(note.at, &text);
    }

    /// Entries that say something beside what the hub shows; what nobody brought is not told.
    fn entry(&self, entry: &Entry, ledger: &Ledger) -> Option<String> {
        let Entry::Wave { plugin, tier, version, change } = entry else { return None };
        let wave = ledger.plugins.get(plugin)?.wave(tier, version)?;
        wave.head()?;
        let what = self.what(&(plugin.clone(), tier.clone()), version);
        Some(match change {
            Change::Converged(_) => format!("{what}: {}", healthy(wave.members.len())),
            Change::Verified { .. } => format!("{what} is verified"),
            Change::Finished(_) => format!("{what} has finished"),
            Change::Failed(failed) => format!("{what} has failed: {}", failed.why),
            Change::Stalled(failed) => format!("{what} stalls, nothing new starts: {}", failed.why),
            Change::Resumed(_) => format!("{what}: all are healthy again"),
            Change::LetThrough(past) => {
                format!("{what} waits no longer after {}, though not all answered", spell(past.after))
            }
            Change::Rejected(_) => format!("{what} was refused by a person: it is not proposed there again"),
            Change::Superseded(superseded) => format!("{what} is overtaken by {}", superseded.by),
            Change::Withdrawn(withdrawn) => format!("{what} is taken back: {}", withdrawn.why),
            Change::Left { clusters } => {
                let names: Vec<&str> = clusters.iter().map(|name| name.as_str()).collect();
                format!("{what} goes on without {}, which left", names.join(", "))
            }
            Change::Found { .. }
            | Change::Intent { .. }
            | Change::Announced(_)
            | Change::Shown(_)
            | Change::Grace(_)
            | Change::Refused { .. }
            | Change::GraceEnded
            | Change::Merging(_)
            | Change::Landed(_)
            | Change::Dispatching(_)
            | Change::Soaked(_) => return None,
        })
    }

    /// Tells what each tier waits for, where that is new.
    pub fn standing(&mut self, now: Timestamp, plan: &Plan, ledger: &Ledger) {
        for wave in &plan.waves {
            let spot = (wave.plugin.clone(), wave.tier.clone());
            self.pinned(now, wave, &spot);
            // What was there before the story is nobody's climb.
            let page = ledger.plugins.get(&wave.plugin);
            let kept = wave.version.as_ref().and_then(|version| page?.wave(&wave.tier, version));
            let climbs = kept.is_none_or(|kept| kept.head().is_some());
            let rests = matches!(wave.state, WaveState::Idle { .. } | WaveState::Finished { .. });
            let text = match (rests, climbs) {
                (true, _) => self.stands_still(wave, &spot),
                (false, true) => self.waits_for(wave, &spot),
                (false, false) => String::new(),
            };
            let known = self.standing.get(&spot).map_or("", String::as_str);
            if text == known {
                continue;
            }
            if !text.is_empty() {
                self.line(now, &text);
            }
            self.standing.insert(spot, text);
        }
    }

    /// Tells which clusters the policy keeps on a version, where that is new.
    fn pinned(&mut self, now: Timestamp, wave: &WaveReport, spot: &Spot) {
        let one = |pin: &Pinned| {
            let until = pin.until.map(|at| format!(" until {}", self.time(at))).unwrap_or_default();
            let version = pin.version.as_ref().map_or("what it has", Version::as_str);
            format!("{} stays on {version}{until}: {}", pin.cluster, pin.why)
        };
        let text = wave.pinned.iter().map(one).collect::<Vec<_>>().join("; ");
        if self.pinned.get(spot).map_or("", String::as_str) != text {
            if !text.is_empty() {
                self.line(now, &format!("  … {text}"));
            }
            self.pinned.insert(spot.clone(), text);
        }
    }

    /// What keeps a tier from taking anything, where no wave is there that could say it.
    fn stands_still(&self, wave: &WaveReport, (plugin, tier): &Spot) -> String {
        let of_tier = wave.findings.iter().filter(|finding| matches!(finding.gate, Gate::Release | Gate::Ledger));
        // What failed elsewhere was said there.
        let mut new = of_tier.filter(|finding| !matches!(finding.because, Reason::ReleaseHeld { .. }));
        let Some(finding) = new.find(|finding| !finding.verdict.lets_through()) else { return String::new() };
        let where_to = if self.several { format!("{plugin} on {tier}") } else { tier.to_string() };
        format!("  … {where_to}: {}", finding.because)
    }

    fn waits_for(&self, wave: &WaveReport, spot: &Spot) -> String {
        let Some(version) = &wave.version else { return String::new() };
        let what = self.what(spot, version);
        let Some(finding) = wave.blocker() else { return String::new() };
        let until = match finding.verdict {
            Verdict::Wait { until: Some(until) } => format!(" until {}", self.time(until)),
            Verdict::Wait { until: None }
            | Verdict::Pass
            | Verdict::Fail
            | Verdict::Unknown
            | Verdict::Waived { .. } => String::new(),
        };
        match &wave.state {
            WaveState::Open { .. } | WaveState::Waiting => format!("  … {what}{until}: {}", finding.because),
            WaveState::Soaking { .. } if finding.gate == Gate::Verification => {
                format!("  … {what}{until}: {}", finding.because)
            }
            WaveState::Soaking { paused: false, .. } => format!("  … {what} soaks{until}"),
            WaveState::Soaking { paused: true, .. } => format!("  … {what} stands still: {}", finding.because),
            WaveState::Converging { .. } if matches!(finding.verdict, Verdict::Unknown) => {
                format!("  … {what}: {}", finding.because)
            }
            // All that have moved are healthy, and the next slice waits for something else.
            WaveState::Converging { .. } if finding.gate < Gate::Health => {
                format!("  … {what}{until}: {}", finding.because)
            }
            WaveState::Converging { .. }
            | WaveState::Idle { .. }
            | WaveState::Finished { .. }
            | WaveState::Failed { .. }
            | WaveState::Rejected { .. }
            | WaveState::Superseded { .. }
            | WaveState::Withdrawn { .. } => String::new(),
        }
    }
}

fn healthy(members: usize) -> String {
    match members {
        1 => "its cluster is healthy on it".to_string(),
        2 => "both clusters are healthy on it".to_string(),
        many => format!("all {many} clusters are healthy on it"),
    }
}
