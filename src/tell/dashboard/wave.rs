//! The page of one wave: gates, clusters, what happened so far. The ladder that leads here is in
//! `dashboard`.

use decide::plan::{WaveReport, WaveState};
use decide::{PluginName, TierName};
use jiff::Timestamp;
use serde::Serialize;

use super::super::climb::{Forced, forced};
use super::super::page::overtaking;
use super::super::{TellError, View, render, words};
use super::choice::{self, Form};
use super::clusters::{self, Group, Troubled};
use super::moments::{self, Moment};
use super::paths::Paths;
use super::pieces::{Bar, Frame, Gate, Link, Time, bar, gates, time};

/// The most clusters of which it is said what is wrong.
const TROUBLED: usize = 200;

#[derive(Serialize)]
struct Page {
    frame: Frame,
    plugin: Link,
    version: Option<Link>,
    tier: Link,
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
    groups: Vec<Group>,
    troubled: Vec<Troubled>,
    more: usize,
    moments: Vec<Moment>,
    forced: Option<Forced>,
    choice: Option<Form>,
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

/// The page of the present wave of a tier. Whoever has signed in may choose a version there.
///
/// # Errors
/// When the plan has no such plugin or tier; else only when a built-in template is broken.
pub fn wave_page(
    view: &View,
    plugin: &PluginName,
    tier: &TierName,
    signed_in: bool,
    now: Timestamp,
) -> Result<String, TellError> {
    let found = view.plan.waves.iter().find(|wave| wave.plugin == *plugin && wave.tier == *tier);
    let wave = found.ok_or_else(|| TellError::not_in_plan(&view.plan, plugin, Some(tier)))?;
    render::html("wave", &page(view, wave, signed_in, now))
}

fn page(view: &View, wave: &WaveReport, signed_in: bool, now: Timestamp) -> Page {
    let paths = Paths::below(5);
    let zone = view.links.zone(&wave.plugin, &wave.tier);
    let look = words::wave(wave);
    let end = words::end(&wave.state);
    let first = words::first(wave).filter(|_| words::before_landing(&wave.state));
    let why = end.or_else(|| first.map(|finding| finding.because.clone()));
    let (troubled, more) =
        clusters::worst(clusters::ill(wave), TROUBLED, |one| clusters::troubled(one, None, &zone, now));
    let plugin = Link { text: wave.plugin.to_string(), href: paths.plugin(view, &wave.plugin) };
    let kept = wave.version.as_ref().and_then(|version| view.wave(&wave.plugin, &wave.tier, version));
    let happened = kept.map_or_else(Vec::new, moments::of_wave);
    Page {
        frame: Frame::of(view, &paths, &words::name(wave), vec![plugin.clone()], now),
        plugin,
        version: words::version(wave)
            .map(|version| Link { text: version.to_string(), href: paths.release(view, &wave.plugin, version) }),
        tier: Link { text: wave.tier.to_string(), href: paths.tier(view, &wave.tier) },
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
        tiers: tiers(view, wave, &paths),
        gates: gates(wave, &zone, now),
        groups: clusters::of_wave(wave, clusters::NAMES, &zone),
        troubled,
        more,
        moments: happened.into_iter().map(|happened| happened.shown(None, None, &zone, now)).collect(),
        forced: forced(wave, &zone),
        choice: signed_in.then(|| choice::form(view, wave)),
    }
}

/// The ladder as chips, each a link to its own wave.
fn tiers(view: &View, wave: &WaveReport, paths: &Paths) -> Vec<Chip> {
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
            href: paths.wave(view, &wave.plugin, &at.tier),
            here,
        }
    });
    chips.collect()
}
