//! What happened so far, as the ledger has it: each entry of it as a sentence with its time.

use decide::PluginLedger;
use decide::ledger::{Closed, Purpose, State, Wave};
use decide::plan::WaveState;
use decide::reason::spell;
use decide::{TierName, Version};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::super::{inert, words};
use super::pieces::{Link, Time, time};

/// One thing that happened.
#[derive(Serialize)]
pub(crate) struct Moment {
    at: Time,
    release: Option<Link>,
    tier: Option<Link>,
    what: String,
}

/// Something that happened, before it is shown.
pub(crate) struct Happened<'a> {
    pub(crate) at: Timestamp,
    pub(crate) version: &'a Version,
    pub(crate) tier: Option<&'a TierName>,
    what: String,
    /// By which it is put in order. The hub's clock tells seconds, and may be behind ours: nothing comes of a wave
    /// before it began.
    order: i64,
}

impl Happened<'_> {
    /// As a page shows it that says by itself what it is about, or else with what that is.
    pub(crate) fn shown(self, release: Option<Link>, tier: Option<Link>, zone: &TimeZone, now: Timestamp) -> Moment {
        Moment { at: time(self.at, zone, now), release, tier, what: self.what }
    }
}

/// Everything that is known of a plugin, oldest first.
pub(crate) fn of_plugin(page: &PluginLedger) -> Vec<Happened<'_>> {
    let mut all: Vec<Happened<'_>> = Vec::new();
    let mut add = |at: Timestamp, version, what: String| {
        all.push(Happened { at, version, tier: None, what, order: at.as_second() });
    };
    for seen in &page.releases {
        add(seen.first_seen, &seen.version, "first seen at its source".to_string());
    }
    for said in &page.hotfixes {
        let why = inert::line(&said.hotfix.why);
        add(said.at, &said.hotfix.version, format!("{} made it a hotfix: {why}", said.by));
    }
    for (tier, wave) in page.tiers.iter().flat_map(|(tier, waves)| waves.iter().map(move |wave| (tier, wave))) {
        all.extend(of_wave(wave).into_iter().map(|happened| Happened { tier: Some(tier), ..happened }));
    }
    all.sort_by_key(|happened| happened.order); // stable: causes stay before effects of the same second
    all
}

/// What happened to one wave, oldest first.
pub(crate) fn of_wave(wave: &Wave) -> Vec<Happened<'_>> {
    let mut all: Vec<Happened<'_>> = Vec::new();
    let mut add = |at: Timestamp, what: String| {
        let order = at.max(wave.begun).as_second();
        all.push(Happened { at, version: &wave.version, tier: None, what, order });
    };
    add(wave.begun, format!("{}, with {}", begun(wave), words::count(wave.members.len(), "cluster")));
    if let Some(pull) = &wave.pull {
        add(pull.at, format!("pull request {} was opened", pull.number));
    }
    if let Some(grace) = &wave.grace {
        add(grace.since, "the grace period began".to_string());
        for notice in &grace.notices {
            add(notice.at, format!("people were told, {} before the deadline", spell(notice.before)));
        }
    }
    if let Some(merging) = &wave.merging {
        let how = merging
            .forced
            .as_ref()
            .map_or_else(String::new, |forced| format!(" by force, waived: {}", inert::line(&forced.waived)));
        add(merging.at, format!("the bot asked for the merge{how}"));
    }
    if let Some(landed) = wave.landed() {
        let by = landed.by.as_ref().map_or_else(String::new, |by| format!(", merged by {by}"));
        add(landed.at, format!("it landed on the base branch{by}"));
    }
    for verification in &wave.verifications {
        if let Some(at) = verification.passed {
            add(at, "a workflow verified what had moved".to_string());
        }
    }
    if let Some(at) = wave.converged {
        add(at, "every cluster was healthy on it".to_string());
    }
    if let Some(through) = &wave.let_through {
        add(
            through.at,
            format!("it was let through after {}: what was missing is not waited for", spell(through.after)),
        );
    }
    ended(wave, &mut add);
    all.sort_by_key(|happened| happened.order);
    all
}

/// What came of a wave in the end.
fn ended(wave: &Wave, add: &mut impl FnMut(Timestamp, String)) {
    if let Some(at) = wave.finished() {
        add(at, "it finished this tier".to_string());
    }
    if let Some(stalled) = wave.stalled() {
        add(stalled.at, format!("the tier stands still: {}", stalled.why));
    }
    if let Some(failed) = wave.failed() {
        add(failed.at, format!("it failed: {}", failed.why));
    }
    if let Some(rejected) = wave.rejected() {
        let what = rejected.by.as_ref().map_or_else(
            || format!("{} was closed, which says no", rejected.pull),
            |by| format!("{by} closed {}, which says no", rejected.pull),
        );
        add(rejected.at, what);
    }
    if let Some(newer) = wave.superseded() {
        add(newer.at, format!("{} took its place", newer.by));
    }
    if let Some(withdrawn) = wave.withdrawn() {
        add(withdrawn.at, format!("the bot took it back: {}", withdrawn.why));
    }
}

fn begun(wave: &Wave) -> String {
    match &wave.part.purpose {
        Purpose::Promotion => {
            words::slice(&wave.part).map_or_else(|| "the wave began".to_string(), |slice| format!("{slice} began"))
        }
        Purpose::CatchUp => "the catch-up of late clusters began".to_string(),
        Purpose::Early => "it began ahead of its tier".to_string(),
        Purpose::RollBack { of } => format!("the way back from {of} began"),
    }
}

/// Where a wave of the past stands, as its state would have been reported.
pub(crate) fn stood(wave: &Wave) -> WaveState {
    match wave.state() {
        State::Open => WaveState::Open { pull: wave.pull.as_ref().map(|pull| pull.number), since: wave.begun },
        State::Closed(Closed::Rejected(no)) => WaveState::Rejected { at: no.at, by: no.by.clone(), pull: no.pull },
        State::Closed(Closed::Superseded(newer)) | State::Overtaken(newer) => {
            WaveState::Superseded { at: newer.at, by: newer.by.clone() }
        }
        State::Closed(Closed::Withdrawn(back)) => WaveState::Withdrawn { at: back.at, why: back.why.clone() },
        State::Landed(landed) | State::LandedAnyway(landed) => WaveState::Converging { landed: landed.at, healthy: 0 },
        State::Finished(at) => WaveState::Finished { at },
        State::Failed(failed) => WaveState::Failed { at: failed.at, why: failed.why.clone() },
    }
}
