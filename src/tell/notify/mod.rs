//! What people are told of beside the pull request: what is new between two ledgers, and what does not
//! go on. Each notifier has a file for its form; who is told and how it travels is in `act/notify.rs`.

mod issue;
mod mail;
mod slack;
mod teams;
#[cfg(test)]
pub(crate) mod tests;
mod webhook;

use std::collections::{BTreeMap, BTreeSet};

use decide::ledger::{Ledger, PluginLedger, Purpose, Wave};
use decide::plan::{Finding, Gate, Plan, Verdict, WaveReport, WaveState};
use decide::reason::spell;
use decide::{PluginName, Policy, PullNumber, Reason, Sha, TierName, Version};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::{Links, inert, words};
use crate::policy::wiring::{Event, Notify};

pub use issue::{issue, issue_ids};
pub use mail::{Mail, mail};
pub use slack::slack;
pub use teams::teams;
pub use webhook::{CONTENT_TYPE, webhook};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Of which kind it is.
    pub event: Event,
    /// The plugin.
    pub plugin: PluginName,
    /// The tier.
    pub tier: TierName,
    /// The release.
    pub version: Version,
    /// When it happened; none = it is so now.
    pub at: Option<Timestamp>,
    /// The pull request that it is about.
    pub pull: Option<PullNumber>,
    /// What happened: what follows upon `cert-manager 1.15.0 on gold`.
    pub text: String,
}

impl News {
    /// `cert-manager 1.15.0 on gold`.
    pub fn subject(&self) -> String {
        format!("{} {} on {}", self.plugin, self.version, self.tier)
    }

    /// `dev.coldframe.finished`.
    fn kind(&self) -> String {
        let event = serde_json::to_value(self.event).unwrap_or_default();
        format!("dev.coldframe.{}", event.as_str().unwrap_or_default())
    }

    /// What is told a second time, after a crash or because nobody answered, has the id that it had; `since`, the ledger of
    /// which people know, tells what is so again from what is so still.
    pub fn id(&self, links: &Links, since: Option<&Sha>) -> String {
        let moment = self.at.map(|at| at.to_string()).or_else(|| since.map(ToString::to_string)).unwrap_or_default();
        digest(&[links.repo.as_str(), &self.kind(), &self.subject(), &moment, &self.text].join("\n"))
    }

    /// Whether somebody wants to be told of it.
    pub fn is_for(&self, notify: &Notify) -> bool {
        notify.on.contains(&self.event)
            && (notify.tiers.is_empty() || notify.tiers.contains(&self.tier))
            && (notify.plugins.is_empty() || notify.plugins.contains(&self.plugin))
    }
}

/// A release that does not go on, by what people were told of it once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocked {
    /// The plugin.
    pub plugin: PluginName,
    /// The tier.
    pub tier: TierName,
    /// The release.
    pub version: Version,
    /// What keeps it.
    pub gate: Gate,
}

/// A short name for a text.
pub fn digest(text: &str) -> String {
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
    hash.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// What people know.
pub struct Known<'a> {
    /// The ledger that they were told of.
    pub ledger: &'a Ledger,
    /// What they were told that does not go on.
    pub blocked: &'a BTreeSet<Blocked>,
}

impl Known<'_> {
    /// What is news to them and somebody of `whom` wants to know, when `ledger` is remembered now and `stuck`
    /// (of [`blocked`]) does not go on. `zone` is that in which the times of a tier are shown.
    pub fn news(
        &self,
        ledger: &Ledger,
        stuck: BTreeMap<Blocked, News>,
        policy: &Policy,
        whom: &[Notify],
        zone: impl Fn(&PluginName, &TierName) -> TimeZone,
    ) -> Vec<News> {
        let mut news = since(self.ledger, ledger, policy, zone);
        news.extend(stuck.into_iter().filter(|(key, _)| !self.blocked.contains(key)).map(|(_, news)| news));
        news.retain(|news| wanted(news, whom));
        news
    }
}

/// What does not go on now, and by itself never will, with what is told of it; as far as somebody wants to know.
pub fn blocked(plan: &Plan, whom: &[Notify]) -> BTreeMap<Blocked, News> {
    plan.waves.iter().filter_map(stuck).filter(|(_, news)| wanted(news, whom)).collect()
}

fn wanted(news: &News, whom: &[Notify]) -> bool {
    whom.iter().any(|notify| news.is_for(notify))
}

/// What a ledger remembers that an earlier one did not, in the order of its plugins and tiers.
fn since(
    before: &Ledger,
    after: &Ledger,
    policy: &Policy,
    zone: impl Fn(&PluginName, &TierName) -> TimeZone,
) -> Vec<News> {
    let mut news = Vec::new();
    for plugin in &policy.plugins {
        let Some(page) = after.plugins.get(&plugin.name) else { continue };
        let earlier = before.plugins.get(&plugin.name);
        for (index, tier) in plugin.tiers.iter().enumerate() {
            let next = plugin.tiers.get(index + 1).map(|next| &next.name);
            for wave in page.tiers.get(&tier.name).into_iter().flatten() {
                let was = earlier.and_then(|page| same(page, &tier.name, wave));
                let spot = (&plugin.name, &tier.name);
                news.extend(of_wave(was, wave, spot, &zone(spot.0, spot.1)));
                news.extend(next.and_then(|next| upcoming(was, wave, spot, next)));
            }
        }
    }
    news
}

fn stuck(wave: &WaveReport) -> Option<(Blocked, News)> {
    let climbs = match wave.state {
        WaveState::Waiting | WaveState::Open { .. } | WaveState::Converging { .. } | WaveState::Soaking { .. } => true,
        WaveState::Idle { .. }
        | WaveState::Finished { .. }
        | WaveState::Failed { .. }
        | WaveState::Rejected { .. }
        | WaveState::Superseded { .. }
        | WaveState::Withdrawn { .. } => false,
    };
    let version = wave.version.clone()?;
    let finding = wave.blocker().filter(|finding| climbs && needs_somebody(finding))?;
    let help = finding.because.unblock().map(|who| format!(". It can be unblocked by {who}")).unwrap_or_default();
    let news = News {
        event: Event::Blocked,
        plugin: wave.plugin.clone(),
        tier: wave.tier.clone(),
        version: version.clone(),
        at: None,
        pull: wave.pull,
        text: format!("does not go on: {}{help}", finding.because),
    };
    let (plugin, tier) = (wave.plugin.clone(), wave.tier.clone());
    Some((Blocked { plugin, tier, version, gate: finding.gate }, news))
}

/// Whether somebody has to do what nobody is asked for by other ways: reviewers are asked at the hub, and
/// what a tier, a window or a soak waits for comes by itself.
fn needs_somebody(finding: &Finding) -> bool {
    let person = matches!(
        finding.because,
        Reason::ChangesRequested { .. }
            | Reason::BypassMissing
            | Reason::Held { .. }
            | Reason::Draft
            | Reason::NeedsResume
            | Reason::HeadEdited { .. }
            | Reason::HeadAdded { .. }
            | Reason::MergedElsewhere { .. }
            | Reason::ChecksFailed { .. }
            | Reason::RulesLack { .. }
            | Reason::BreakingUnacknowledged { .. }
    );
    person || finding.verdict == Verdict::Fail
}

/// The same wave as another ledger has it.
fn same<'a>(page: &'a PluginLedger, tier: &TierName, wave: &Wave) -> Option<&'a Wave> {
    let is = |other: &&Wave| {
        other.version == wave.version
            && other.begun == wave.begun
            && other.part.purpose == wave.part.purpose
            && other.part.slice == wave.part.slice
    };
    page.tiers.get(tier)?.iter().find(is)
}

/// What is new in one wave.
fn of_wave(was: Option<&Wave>, wave: &Wave, (plugin, tier): (&PluginName, &TierName), zone: &TimeZone) -> Vec<News> {
    let mut news = Vec::new();
    let mut add = |event: Event, at: Timestamp, text: String| {
        news.push(News {
            event,
            plugin: plugin.clone(),
            tier: tier.clone(),
            version: wave.version.clone(),
            at: Some(at),
            pull: wave.pull.as_ref().map(|pull| pull.number),
            text,
        });
    };
    let notices = was.and_then(|was| was.grace.as_ref()).map_or(&[][..], |grace| grace.notices.as_slice());
    if let Some(grace) = &wave.grace
        && let Some(notice) = grace.notices.iter().rfind(|notice| !notices.contains(notice))
    {
        let deadline = words::when(grace.deadline, zone);
        let text = format!(
            "will be merged without the missing approvals at {deadline} ({} ahead), unless somebody approves, holds or closes it before",
            spell(notice.before)
        );
        add(Event::Notice, notice.at, text);
    }
    if let Some(landed) = wave.landed().filter(|_| was.is_none_or(|was| was.landed().is_none())) {
        if wave.merging.as_ref().is_some_and(|merging| merging.forced.is_some()) {
            add(Event::Forced, landed.at, "was merged without the missing approvals".to_string());
        }
        if let Purpose::RollBack { of } = &wave.part.purpose {
            add(Event::RolledBack, landed.at, format!("is back: {of} failed there"));
        }
    }
    if let Some(failed) = wave.failed().filter(|_| was.is_none_or(|was| was.failed().is_none())) {
        add(Event::Failed, failed.at, format!("has failed: {}", failed.why));
    }
    if let Some(stalled) = wave.stalled().filter(|_| was.is_none_or(|was| was.stalled().is_none())) {
        add(Event::Failed, stalled.at, format!("stalls, and nothing new starts there: {}", stalled.why));
    }
    // What nobody brought was there before anybody looked.
    let new = wave.finished().filter(|_| climbs(wave) && was.is_none_or(|was| was.finished().is_none()));
    if let Some(at) = new {
        add(Event::Finished, at, "has finished".to_string());
    }
    news
}

/// The tier above, when the last slice of a wave begins to soak.
fn upcoming(
    was: Option<&Wave>,
    wave: &Wave,
    (plugin, tier): (&PluginName, &TierName),
    next: &TierName,
) -> Option<News> {
    let at = wave.converged.filter(|_| was.is_none_or(|was| was.converged.is_none()))?;
    let whole = wave.part.slice as usize + 1 == wave.part.slices();
    (climbs(wave) && whole).then(|| News {
        event: Event::Upcoming,
        plugin: plugin.clone(),
        tier: next.clone(),
        version: wave.version.clone(),
        at: Some(at),
        pull: None,
        text: format!("comes next: it soaks on {tier}"),
    })
}

/// Whether the bot brought it there as a step of a release's climb.
fn climbs(wave: &Wave) -> bool {
    wave.part.purpose == Purpose::Promotion && wave.head().is_some()
}
