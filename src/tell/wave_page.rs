//! The page of one wave: gates, clusters, what happened so far. The ladder that leads here is in
//! `dashboard`.

use decide::ledger::Wave;
use decide::plan::{WaveReport, WaveState};
use decide::reason::spell;
use decide::{PluginName, TierName};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::climb::{Forced, forced};
use super::dashboard::{Bar, Time, bar, refresh_seconds, time};
use super::page::overtaking;
use super::{TellError, View, inert, render, words};

/// The most clusters on one page; the unhealthy ones come first.
const MEMBERS: usize = 2_000;

/// Where the page of a wave is, beside the dashboard.
pub fn wave_href(view: &View, plugin: &PluginName, tier: &TierName) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("repository", &view.name);
    query.append_pair("plugin", plugin.as_str());
    query.append_pair("tier", tier.as_str());
    format!("wave?{}", query.finish())
}

#[derive(Serialize)]
struct Page {
    refresh: i64,
    title: String,
    repository: String,
    plugin: String,
    version: String,
    tier: String,
    tier_index: u32,
    of: u32,
    slice: Option<String>,
    tone: &'static str,
    mark: &'static str,
    word: &'static str,
    since: Option<Time>,
    from: String,
    digest: String,
    pull: Option<String>,
    url: String,
    why: Option<String>,
    who: Option<String>,
    overtaking: Option<String>,
    bar: Option<Bar>,
    tiers: Vec<Chip>,
    gates: Vec<Gate>,
    members: Vec<Cluster>,
    more: usize,
    counts: Vec<Count>,
    troubled: Vec<Cluster>,
    moments: Vec<Moment>,
    forced: Option<Forced>,
    looked: Time,
}

#[derive(Serialize)]
struct Chip {
    tier: String,
    tone: &'static str,
    mark: &'static str,
    word: &'static str,
    href: String,
    here: bool,
}

#[derive(Serialize)]
struct Gate {
    gate: String,
    tone: &'static str,
    mark: &'static str,
    verdict: &'static str,
    because: String,
    until: Option<Time>,
    who: String,
}

#[derive(Serialize)]
struct Cluster {
    name: String,
    tone: &'static str,
    mark: &'static str,
    state: &'static str,
    evidence: String,
    since: Option<Time>,
}

#[derive(Serialize)]
struct Count {
    number: usize,
    tone: &'static str,
    mark: &'static str,
    state: &'static str,
}

#[derive(Serialize)]
struct Moment {
    at: Time,
    what: String,
}

/// The page of the present wave of a tier.
///
/// # Errors
/// When the plan has no such plugin or tier; else only when a built-in template is broken.
pub fn wave_page(view: &View, plugin: &PluginName, tier: &TierName, now: Timestamp) -> Result<String, TellError> {
    let found = view.plan.waves.iter().find(|wave| wave.plugin == *plugin && wave.tier == *tier);
    let wave = found.ok_or_else(|| TellError::not_in_plan(&view.plan, plugin, Some(tier)))?;
    render::html("wave", &page(view, wave, now))
}

fn page(view: &View, wave: &WaveReport, now: Timestamp) -> Page {
    let zone = view.links.zone(&wave.plugin, &wave.tier);
    let look = words::wave(wave);
    let end = words::end(&wave.state);
    let first = words::first(wave).filter(|_| words::before_landing(&wave.state));
    let why = end.or_else(|| first.map(|finding| finding.because.clone()));
    let all: Vec<Cluster> = clusters(wave, &zone, now);
    let more = all.len().saturating_sub(MEMBERS);
    let running = words::version(wave);
    Page {
        refresh: refresh_seconds([view], now),
        title: words::name(wave),
        repository: view.name.clone(),
        plugin: wave.plugin.to_string(),
        version: running.map_or_else(String::new, ToString::to_string),
        tier: wave.tier.to_string(),
        tier_index: wave.tier_index,
        of: wave.of,
        slice: words::slice(&wave.part).map(|slice| format!("{slice}{}", words::portion(wave))),
        tone: look.tone.class(),
        mark: look.mark,
        word: look.word,
        // Since when somebody stops an open one, or nothing does, is not when it was opened.
        since: words::since(&wave.state).filter(|_| look == words::state(&wave.state)).map(|at| time(at, &zone, now)),
        from: wave.from.as_ref().map_or_else(String::new, ToString::to_string),
        digest: wave.digest.as_ref().map_or_else(String::new, ToString::to_string),
        pull: wave.pull.map(|pull| pull.to_string()),
        url: wave.pull.map_or_else(String::new, |pull| view.links.pull(pull)),
        who: why.as_ref().and_then(decide::Reason::unblock),
        overtaking: overtaking(&view.plan, wave)
            .filter(|_| matches!(wave.state, WaveState::Failed { .. }))
            .map(|(version, tier)| format!("{version} is on {tier} now and may overtake it.")),
        why: why.map(|why| why.to_string()),
        bar: bar(wave, &zone, now),
        tiers: tiers(view, wave),
        gates: wave.findings.iter().map(|finding| gate(finding, &zone, now)).collect(),
        counts: counts(&all),
        troubled: clusters(wave, &zone, now)
            .into_iter()
            .filter(|cluster| !cluster.evidence.is_empty())
            .take(200)
            .collect(),
        members: all.into_iter().take(MEMBERS).collect(),
        more,
        moments: moments(view, wave, &zone, now),
        forced: forced(wave, &zone),
        looked: time(view.looked, &zone, now),
    }
}

fn gate(finding: &decide::Finding, zone: &TimeZone, now: Timestamp) -> Gate {
    let look = words::verdict(finding);
    Gate {
        gate: finding.gate.to_string(),
        tone: look.tone.class(),
        mark: look.mark,
        verdict: look.word,
        because: finding.because.to_string(),
        until: words::until(finding).map(|at| time(at, zone, now)),
        who: words::who(finding).unwrap_or_default(),
    }
}

/// The ladder as chips, each a link to its own wave.
fn tiers(view: &View, wave: &WaveReport) -> Vec<Chip> {
    let climb = view
        .plan
        .climbs
        .iter()
        .find(|climb| climb.plugin == wave.plugin && Some(&climb.version) == wave.version.as_ref());
    let chips = climb.map_or(&[][..], |climb| &climb.tiers).iter().map(|at| {
        let here = at.tier == wave.tier;
        let look = if here { words::wave(wave) } else { words::state(&at.state) };
        let idle = matches!(at.state, WaveState::Idle { .. }) && !here;
        Chip {
            tier: at.tier.to_string(),
            tone: look.tone.class(),
            mark: look.mark,
            word: if idle { "not yet" } else { look.word },
            href: wave_href(view, &wave.plugin, &at.tier),
            here,
        }
    });
    chips.collect()
}

/// The clusters, those that need somebody first.
fn clusters(wave: &WaveReport, zone: &TimeZone, now: Timestamp) -> Vec<Cluster> {
    let mut members: Vec<_> = wave.members.iter().collect();
    members.sort_by_key(|member| words::member(&member.state).tone);
    let one = |member: decide::plan::Member| {
        let look = words::member(&member.state);
        let (since, evidence) = words::member_facts(&member.state);
        Cluster {
            name: member.cluster.to_string(),
            tone: look.tone.class(),
            mark: look.mark,
            state: look.word,
            evidence,
            since: since.map(|at| time(at, zone, now)),
        }
    };
    members.into_iter().map(one).collect()
}

/// How many clusters are in each state, in the order of the grid.
fn counts(clusters: &[Cluster]) -> Vec<Count> {
    let mut counts: Vec<Count> = Vec::new();
    for cluster in clusters {
        match counts.iter_mut().find(|count| count.state == cluster.state) {
            Some(count) => count.number += 1,
            None => counts.push(Count { number: 1, tone: cluster.tone, mark: cluster.mark, state: cluster.state }),
        }
    }
    counts
}

/// What happened so far, oldest first, as the ledger has it.
fn moments(view: &View, wave: &WaveReport, zone: &TimeZone, now: Timestamp) -> Vec<Moment> {
    let kept = wave.version.as_ref().and_then(|version| view.wave(&wave.plugin, &wave.tier, version));
    let mut moments = kept.map_or_else(Vec::new, happened);
    moments.sort_by_key(|(at, _)| *at); // stable: causes stay before effects of the same second
    moments.into_iter().map(|(at, what)| Moment { at: time(at, zone, now), what }).collect()
}

fn happened(wave: &Wave) -> Vec<(Timestamp, String)> {
    let clusters = words::count(wave.members.len(), "cluster");
    let mut moments = vec![(wave.begun, format!("the wave began, with {clusters}"))];
    moments.extend(wave.pull.as_ref().map(|pull| (pull.at, format!("pull request {} was opened", pull.number))));
    if let Some(grace) = &wave.grace {
        moments.push((grace.since, "the grace period began".to_string()));
        let notice = |notice: &decide::snapshot::SentNotice| {
            (notice.at, format!("people were told, {} before the deadline", spell(notice.before)))
        };
        moments.extend(grace.notices.iter().map(notice));
    }
    moments.extend(wave.merging.as_ref().map(|merging| match &merging.forced {
        Some(forced) => {
            (merging.at, format!("the bot asked for the merge by force, waived: {}", inert::line(&forced.waived)))
        }
        None => (merging.at, "the bot asked for the merge".to_string()),
    }));
    moments.extend(wave.landed().map(|landed| match &landed.by {
        Some(by) => (landed.at, format!("it landed on the base branch, merged by {by}")),
        None => (landed.at, "it landed on the base branch".to_string()),
    }));
    moments.extend(wave.converged.map(|at| (at, "every cluster was healthy on it".to_string())));
    moments.extend(wave.finished().map(|at| (at, "it finished this tier".to_string())));
    moments.extend(wave.failed().map(|failed| (failed.at, format!("it failed: {}", failed.why))));
    moments.extend(wave.rejected().map(|rejected| match &rejected.by {
        Some(by) => (rejected.at, format!("{by} closed {}, which says no", rejected.pull)),
        None => (rejected.at, format!("{} was closed, which says no", rejected.pull)),
    }));
    moments.extend(wave.superseded().map(|newer| (newer.at, format!("{} took its place", newer.by))));
    moments
}
